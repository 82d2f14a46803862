# Generics give base R's answers for ordinary data.

# An S4 generic evaluates arguments while it looks for a method. An error there becomes another
# error, without its class and call, and R's method for ordinary data names a call that the user
# did not write. So generics that R derives from base R's functions get our body: it evaluates the
# operands, as base R does, sends objects to methods, and is base R's body otherwise.
evaluated_first <- c("x", "y", "a", "b", "r", "l", "qr", "value", "type", "norm")

leave_plain <- function(generic) {
  of_base <- get(generic@generic, envir = baseenv())
  # By value: R CMD check would take the names in base R's code for our calls.
  by_value <- mget(c(".Internal", ".Fortran"), envir = baseenv())
  plain <- do.call(substitute, list(body(of_base), by_value))
  dispatch <- call("standardGeneric", as.vector(generic@generic))
  operands <- lapply(intersect(generic@signature, evaluated_first), as.name)
  is_there <- lapply(operands, function(a) bquote((!missing(.(a)) && is.object(.(a)))))
  # `|` evaluates all operands.
  any_object <- Reduce(function(a, b) call("|", a, b), is_there)
  definition <- generic@.Data
  # The environment holds the table of methods, shared by generics of one name.
  table <- environment(definition)
  if (all(names(formals(of_base)) %in% names(formals(definition)))) {
    # Defaults that this generic lacks are set in base R's body only. As formals of the generic
    # they would reach wrapped methods (see rematchDefinition() of package methods), where
    # missing() would not detect them.
    has_default <- function(formal) !identical(formal, quote(expr = ))
    defaults <- Filter(has_default, as.list(formals(of_base)))
    defaults <- defaults[!vapply(formals(definition)[names(defaults)], has_default, NA)]
    lazily <- lapply(names(defaults), function(name) {
      bquote(if (missing(.(as.name(name)))) delayedAssign(.(name), .(defaults[[name]])))
    })
    if (!"..." %in% names(formals(of_base)) && "..." %in% names(formals(definition))) {
      # Arguments that base R's function does not have.
      refuse <- as.call(list(abort_unused, quote(sys.call()), quote(substitute(list(...)))))
      lazily <- c(bquote(if (...length()) .(refuse)), lazily)
    }
    body(definition, envir = table) <- call(
      "if", any_object, dispatch, as.call(c(list(as.name("{")), lazily, list(plain)))
    )
  } else {
    body(definition, envir = table) <- call("{", any_object, dispatch)
  }
  generic@.Data <- definition
  generic
}

# Base R's error for unused arguments.
abort_unused <- function(call, arguments) {
  text <- ngettext(
    length(arguments) - 1L, "unused argument %s", "unused arguments %s", domain = "R"
  )
  stop(simpleError(sprintf(text, sub("^list", "", paste(deparse(arguments), collapse = ""))), call))
}

# A generic of a function of package stats, which evaluates its operands before dispatch.
evaluate_first <- function(generic) {
  definition <- generic@.Data
  table <- environment(definition)
  operands <- lapply(intersect(generic@signature, c("x", "y")), as.name)
  there <- lapply(operands, function(a) bquote(if (!missing(.(a))) .(a)))
  body(definition, envir = table) <- as.call(c(
    list(as.name("{")), there, call("standardGeneric", as.vector(generic@generic))
  ))
  generic@.Data <- definition
  generic
}

# When a namespace is loaded, R replaces the saved generics with the session's, and then runs
# this.
setLoadAction(function(ns) {
  for (name in getGenerics(ns)@.Data) {
    if (exists(name, baseenv(), inherits = FALSE) && is(ns[[name]], "standardGeneric")) {
      assign(name, leave_plain(ns[[name]]), envir = ns)
    } else if (exists(name, asNamespace("stats"), inherits = FALSE) &&
      is(ns[[name]], "standardGeneric")) {
      assign(name, evaluate_first(ns[[name]]), envir = ns)
    }
  }
})
