#' What this machine offers
#'
#' `gpu_available()` tells if the driver shows a GPU, and `gpu_info()` lists the GPUs.
#' `gpu_sitrep()` shows every step from the driver to a working GPU, with a remedy if one fails. It
#' loads every kernel. Where the package has no machine code for a GPU, the driver compiles all
#' of them, which takes a minute. `gpu_last_device()` tells where the last computation of this
#' session ran.
#'
#' `gpu_available()`, `gpu_info()`, `gpu_sitrep()` and [gpu_mem()] open the driver, and need none.
#' Computations open it for `device = "cuda"`, and for `"auto"` if a GPU could be faster.
#'
#' @section Errors:
#' A missing or broken GPU is not an error in these functions.
#' @param x An object of class `"gpu_sitrep"`.
#' @param ... Ignored.
#' @return `gpu_available()`: `TRUE` or `FALSE`.
#'
#' `gpu_info()`: a data frame with a row for each GPU. Columns are `device` (the value for
#' `device =`), `name`, `compute_capability`, `memory_total` and `memory_free` (bytes), `driver`
#' (the driver's CUDA version), `multiprocessors`, `single_per_double` (how many times as fast
#' single precision is as double precision, by the data sheet: 32 or 64 on graphics cards) and
#' `integers_from`. That is the order from which products of square matrices in double precision
#' are estimated to be faster from 8-bit integers, Inf for never; see [cudafactor-options]. Without
#' a GPU it has no rows; a GPU that cannot be opened is left out.
#'
#' `gpu_sitrep()`: an object of class `"gpu_sitrep"` with a `print()` method. It is a list of
#' `probes` (a data frame of `step`, `ok`, `detail`, `fix`), `gpus` (as `gpu_info()`), `options` and
#' `versions`. `probes` also has a row for each option that is invalid, or that names a GPU that is
#' not there.
#'
#' `options` are the settings in force, see [cudafactor-options]: `device`, `threads`, `min_flops`,
#' `emulation`, `measured` and `auto`. All but `device` and `measured` are NA if an option is
#' invalid, and `min_flops` is NA if it is unset. `measured` tells if `cudafactor.breakeven` is set.
#' `auto` is a matrix with a row for each operation and columns
#' `double` and `single`. It has the order from which `device = "auto"` takes a GPU for square
#' matrices, in steps of 19 %, from 64. Inf means none up to 46340.
#'
#' `gpu_last_device()`: `"cpu"`, `"cuda:0"` and so on; `NA` before the first computation.
#' @seealso [cudafactor-options]
#' @examples
#' gpu_available()
#' gpu_info()
#' gpu_sitrep()
#' gpu_matmult(diag(2), diag(2))
#' gpu_last_device()
#' @name gpu_available
NULL

#' @rdname gpu_available
#' @export
gpu_available <- function() {
  count <- tryCatch(native_gpu_count()$ok$count, error = function(e) 0L)
  isTRUE(count > 0L)
}

#' @rdname gpu_available
#' @export
gpu_info <- function() {
  if (!gpu_available()) {
    return(gpu_table(list()))
  }
  gpu_table(unwrap(native_gpu_info(), sys.call()))
}

gpu_table <- function(facts) {
  data.frame(
    device = as.character(facts$device),
    name = as.character(facts$name),
    compute_capability = as.character(facts$compute_capability),
    memory_total = as.double(facts$memory_total),
    memory_free = as.double(facts$memory_free),
    driver = as.character(facts$driver),
    multiprocessors = as.integer(facts$multiprocessors),
    single_per_double = as.double(facts$single_per_double),
    integers_from = as.double(facts$integers_from),
    stringsAsFactors = FALSE
  )
}

#' @rdname gpu_available
#' @export
gpu_sitrep <- function() {
  call <- sys.call()
  probes <- unwrap(native_gpu_probe(), call)
  device <- getOption("cudafactor.device", "auto")
  probes <- data.frame(probes[c("step", "ok", "detail", "fix")], stringsAsFactors = FALSE)
  where <- tryCatch(how(device, "double", call), cudafactor_error = identity)
  settled <- !inherits(where, "condition")
  gpus <- tryCatch(gpu_info(), cudafactor_error = function(e) gpu_table(list()))
  probes <- rbind(if (settled) absent_gpus(device, gpus) else invalid_options(device), probes)
  structure(class = "gpu_sitrep", list(
    probes = probes,
    gpus = gpus,
    options = list(
      device = device,
      threads = if (settled) unwrap(native_threads(where), call)$threads else NA_integer_,
      # settings.c has NaN where the option is unset.
      min_flops = if (settled && !is.nan(where[[4L]])) where[[4L]] else NA_real_,
      emulation = if (settled) {
        tolower(getOption("cudafactor.emulation", "auto"))
      } else {
        NA_character_
      },
      measured = !is.null(getOption("cudafactor.breakeven")),
      auto = vapply(c(double = "double", single = "single"), function(precision) {
        auto_orders(if (settled) how("auto", precision, call), call)
      }, numeric(length(benchmark_verbs)))
    ),
    versions = list(
      cudafactor = unname(getNamespaceVersion("cudafactor")),
      R = as.character(getRversion()),
      platform = R.version$platform
    )
  ))
}

# The row of probes for options that how() refuses.
invalid_options <- function(device) {
  wrong <- wrong_setting(device, "double", TRUE)
  option_probe(paste(wrong$text, collapse = "; "), wrong$options)
}

# The rows for options that name GPUs which are not there; NULL without any.
absent_gpus <- function(device, gpus) {
  named <- list(
    cudafactor.device = if (startsWith(device, "cuda")) gpu_number(device),
    cudafactor.devices = getOption("cudafactor.devices")
  )
  rows <- lapply(names(named), function(option) {
    absent <- setdiff(named[[option]], gpu_number(gpus$device))
    if (length(absent)) {
      option_probe(sprintf(
        "the option \"%s\" is %s, and there is no GPU %s that can be opened", option,
        as_code(getOption(option)), paste(absent, collapse = " or ")
      ), option)
    }
  })
  do.call(rbind, rows)
}

# "cuda" is the first GPU.
gpu_number <- function(device) as.numeric(sub("^cuda:?", "0", device))

option_probe <- function(detail, options) {
  data.frame(step = "options", ok = FALSE, detail = detail, fix = restoring(options))
}

# When a GPU computes products from integers, for print(). `wanted` is the option's value.
integers_text <- function(gpu, wanted) {
  if (wanted == "never") {
    return("never, by option cudafactor.emulation")
  }
  if (!is.finite(gpu$integers_from)) {
    return("never, since there are no kernels for this GPU or they are not faster")
  }
  if (wanted == "always") {
    return("wherever the bound on errors allows it, by option cudafactor.emulation")
  }
  sprintf("from n = %g on, if the entries allow it", gpu$integers_from)
}

# For each operation of gpu_benchmark() the order from which "auto" takes a GPU.
auto_orders <- function(where, call) {
  orders <- floor(64 * 2^(0:38 / 4))
  vapply(names(benchmark_verbs), function(verb) {
    if (is.null(where)) {
      return(NA_real_)
    }
    on_gpu <- vapply(orders, function(n) {
      unwrap(native_device_for(verb, n, where), call)$device != "cpu"
    }, NA)
    c(orders, Inf)[[max(0L, which(!on_gpu)) + 1L]]
  }, 0)
}

# What "auto" does, in lines for print().
auto_lines <- function(auto) {
  vapply(colnames(auto), function(precision) {
    from <- auto[, precision]
    from <- ifelse(is.finite(from), paste("from n =", from), "at no n")
    text <- sprintf(
      "\"auto\" takes a GPU in %s precision for %s", precision,
      paste(rownames(auto), from, collapse = ", ")
    )
    paste(strwrap(text, 80, exdent = 2), collapse = "\n")
  }, "")
}

#' @rdname gpu_available
#' @export
print.gpu_sitrep <- function(x, ...) {
  line <- function(fmt, ...) cat(sprintf(fmt, ...), "\n", sep = "")
  line("cudafactor %s, R %s, %s", x$versions$cudafactor, x$versions$R, x$versions$platform)
  settled <- !is.na(x$options$threads)
  if (settled) {
    line("device = \"%s\", CPU threads: %s, \"auto\" takes a GPU %s",
      x$options$device, format(x$options$threads),
      if (is.na(x$options$min_flops)) {
        paste0("where it should be faster", if (x$options$measured) ", by measured orders")
      } else {
        paste("from", format(x$options$min_flops), "operations on")
      })
  }
  for (i in seq_len(nrow(x$probes))) {
    probe <- x$probes[i, ]
    line("[%s] %s: %s", if (probe$ok) "ok" else "--", probe$step, probe$detail)
    if (!probe$ok && nzchar(probe$fix)) {
      line("     fix: %s", probe$fix)
    }
  }
  for (i in seq_len(nrow(x$gpus))) {
    gpu <- x$gpus[i, ]
    line("%s: %s, compute capability %s, %.1f of %.1f GiB free", gpu$device, gpu$name,
      gpu$compute_capability, gpu$memory_free / 2^30, gpu$memory_total / 2^30)
    if (gpu$single_per_double > 2) {
      line("     %g times as fast in single as in double precision", gpu$single_per_double)
    }
    if (settled) {
      line("     products in double precision from 8-bit integers: %s",
        integers_text(gpu, x$options$emulation))
    }
  }
  if (nrow(x$gpus) > 0L && settled) {
    for (text in auto_lines(x$options$auto)) line("%s", text)
  }
  if (!settled) {
    line("Every computation that reads these options stops with an error until they are corrected.")
  } else if (nrow(x$gpus) == 0L) {
    line(if (startsWith(x$options$device, "cuda")) {
      paste(
        "No usable GPU: with this device every computation stops with an error;",
        "\"auto\" and \"cpu\" run on the CPU."
      )
    } else {
      "No GPU in use: every function runs on the CPU."
    })
  }
  invisible(x)
}

#' @rdname gpu_available
#' @export
gpu_last_device <- function() {
  device <- unwrap(native_last_device(), sys.call())$device
  if (nzchar(device)) device else NA_character_
}
