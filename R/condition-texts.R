# The messages of conditions: base R's if base R has one, in the user's language.

# Is this R `version` or later? Comparing versions takes longer than the rest of an error, so each
# comparison is made once.
is_r_from <- function(version) {
  if (is.null(compared_versions[[version]])) {
    compared_versions[[version]] <- getRversion() >= version
  }
  compared_versions[[version]]
}

compared_versions <- new.env(parent = emptyenv())

# R 4.3 shortened the message.
not_positive_definite_text <- function(order) {
  if (is_r_from("4.3.0")) {
    base_text("the leading minor of order %d is not positive", as.integer(order))
  } else {
    base_text("the leading minor of order %d is not positive definite", as.integer(order))
  }
}

# Prefixes `text` with the matrix (or problem) `index` of a batch and its `name`; unchanged
# without `index`.
in_batch_text <- function(fields, text, what = "matrix") {
  if (is.null(fields$index)) {
    return(text)
  }
  name <- if (is.null(fields$name)) "" else sprintf(" (\"%s\")", fields$name)
  sprintf("%s %d%s: %s", what, as.integer(fields$index), name, text)
}

rank_deficient_text <- function() {
  if (is_r_from("4.3.1")) {
    base_text("the matrix is either rank-deficient or not positive definite")
  } else {
    base_text("the matrix is either rank-deficient or indefinite")
  }
}

# The message of base R when this routine of LAPACK does not converge.
not_converged_text <- function(routine) {
  base_text("error code %d from Lapack routine '%s'", 1L, routine)
}

argument_text <- function(routine, argument, message) {
  switch(routine %||% "",
    image = sprintf("'%s' %s", argument, message),
    pcg = if (message %in% names(no_factor_texts)) no_factor_texts[[message]] else message,
    message
  )
}

# In updates, linear programs, conjugate gradients and images any argument may hold such numbers;
# base R has no message for them.
non_finite_text <- function(routine, argument) {
  if (identical(argument, "solution")) {
    paste(
      "the solution is beyond the range of numbers because 'b' is too large for 'A':",
      "divide 'b' by a power of 2, which divides the solution by it"
    )
  } else if (identical(routine, "pcg") && argument == "x") {
    paste(
      "NA/NaN/Inf or numbers out of range came up in the iteration:",
      "entries of 'A' or 'M' may be too large or too small"
    )
  } else if (identical(routine, "few")) {
    paste(
      "products with 'x' must be finite, but NA/NaN/Inf came up:",
      "check 'x' for such values, and for numbers near the ends of the range"
    )
  } else if (isTRUE(routine %in% c("update", "lp", "pcg", "image"))) {
    base_text("NA/NaN/Inf in '%s'", argument, domain = "R-stats")
  } else {
    base_text("NA/NaN/Inf in foreign function call (arg %d)", 1L)
  }
}

# Why a matrix cannot have a few eigenvalues, and what to do, by the kind of the operand.
not_symmetric_text <- function(kind, reason) {
  way <- switch(kind,
    `function` = "gpu_svd(x, k = , Atrans = , dim = ) computes singular values",
    factor = "Give the matrix that was factored; gpu_svd(x, k = ) computes singular values",
    tiles = paste(
      "gpu_svd(x, k = ) computes singular values,",
      "and gpu_eigen(as.matrix(x), symmetric = FALSE) all eigenvalues"
    ),
    paste(
      "gpu_svd(x, k = ) computes singular values,",
      "and gpu_eigen(x, symmetric = FALSE) all eigenvalues"
    )
  )
  paste0(reason, ". ", way)
}

# What products with the operand showed.
asymmetric_text <- function(kind, asymmetry) {
  what <- if (kind == "function") "must multiply by a symmetric matrix" else "must be symmetric"
  not_symmetric_text(kind, sprintf(
    "'x' %s if 'k' is given, but u'(x v) and v'(x u) differ: ||x - x'|| is about %.1g ||x||", what,
    asymmetry
  ))
}

not_transposed_text <- function(difference) {
  sprintf(
    paste(
      "'Atrans' must multiply by the transpose of 'x', but u'(x v) and v'(Atrans u) differ by",
      "%.1g of their size: check both functions"
    ),
    difference
  )
}

# A zero product has no angle.
indefinite_text <- function(fields) {
  met <- if (is.finite(fields$cosine)) {
    sprintf("the angle between a vector and its product has cosine %.3g", fields$cosine)
  } else {
    "the product of a vector is zero"
  }
  sprintf(
    "'%s' is not positive definite: in iteration %.0f for right-hand side %.0f %s", fields$argument,
    fields$iteration, fields$column, met
  )
}

singular_text <- function(routine, fields, message) {
  if (!is.null(fields$rcond)) {
    return(base_text(
      "system is computationally singular: reciprocal condition number = %g",
      if (is.na(fields$rcond)) 0 else fields$rcond
    ))
  }
  i <- as.integer(fields$index)
  switch(routine %||% "",
    solve = base_text("Lapack routine %s: system is exactly singular: U[%d,%d] = 0", "dgesv", i, i),
    chol2inv = base_text("element (%d, %d) is zero, so the inverse cannot be computed", i, i),
    backsolve = base_text("singular matrix in 'backsolve'. First zero in diagonal [%d]", i),
    update = sprintf(
      "'r' must have a nonzero diagonal, and element (%d, %d) is zero", i, i
    ),
    message
  )
}

# The message of UseMethod() if a generic has no method for `x`.
no_method_text <- function(generic, x) {
  class <- .class2(x)
  if (length(class) > 1L) {
    class <- sprintf("c(%s)", paste0("'", class, "'", collapse = ", "))
  }
  base_text("no applicable method for '%s' applied to an object of class \"%s\"", generic, class)
}

stale_text <- function(reason) {
  if (identical(reason, "freed")) {
    return("this gpu_matrix was released by gpu_free(): make it again with as_gpu()")
  }
  paste(
    "the values of this gpu_matrix are not in this R session:",
    "in the session that made it, use gpu_save() or as.matrix() first"
  )
}

# For a factor that is spread over several GPUs.
stale_factor_text <- function(reason) {
  if (identical(reason, "freed")) {
    return("this factor was released by gpu_free(): make it again with chol_gpus()")
  }
  paste(
    "the values of this factor are not in this R session:",
    "make it again with chol_gpus(), or use as.matrix() in the session that made it"
  )
}

device_unavailable_text <- function(message, otherwise = "use device = \"cpu\"") {
  paste0(message, "; see gpu_sitrep(), or ", otherwise)
}

device_memory_text <- function(fields) {
  objects <- fields$objects %||% 0
  holders <- if (objects > 0) {
    sprintf(
      "; %s held by %d gpu_matrix object%s", format_bytes(fields$held), as.integer(objects),
      if (objects == 1) "" else "s"
    )
  }
  sprintf(paste(
      "cannot allocate %s on GPU %d (%s of %s free%s); use device = \"cpu\",",
      "or free memory on the GPU: gpu_free(), gpu_mem()"
    ),
    format_bytes(fields$needed), as.integer(fields$device), format_bytes(fields$free),
    format_bytes(fields$total), holders %||% "")
}

disk_space_text <- function(fields) {
  free <- if (is.na(fields$free)) "too little" else format_bytes(fields$free)
  sprintf(
    "cannot reserve %s for %s: the disk has %s free", format_bytes(fields$needed), fields$path, free
  )
}
