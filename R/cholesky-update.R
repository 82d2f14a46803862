# Cholesky factors of matrices to which a product of few columns is added, or from which it is
# subtracted.

#' Updates and downdates of a Cholesky factor
#'
#' `chol_update(r, v)` is `chol(crossprod(r) + tcrossprod(v))`, and `chol_downdate(r, v)` is
#' `chol(crossprod(r) - tcrossprod(v))`. Both change the upper triangular factor \eqn{R} of
#' \eqn{A = R^T R}{A = R'R} without forming \eqn{A}. For order \eqn{n} and
#' \eqn{k} columns of `v`, an update takes about \eqn{2 n^2 k} operations and a downdate
#' \eqn{3 n^2 k} with its check, instead of \eqn{n^3/3}.
#'
#' Observations are columns of `v`: for rows `x` of data, use `t(x)`. For a pivoted factor, which
#' must have full rank, use `v[attr(r, "pivot"), ]`. To add or remove rows and columns of \eqn{A},
#' see [chol_drop()] and [chol_insert()].
#'
#' A downdate must leave a positive definite matrix, which is checked before the factor is changed.
#' The article *Updating factors* (`vignettes/articles/updating-factors.Rmd` in the sources) defines
#' the margin of a downdate. It also has costs, accuracy, loops on a GPU and factors on disk.
#'
#' If package Matrix is loaded, its `updown("+", C, L)` and `updown("-", C, L)` update and downdate
#' a [gpu_matrix] `L`, an upper factor.
#'
#' @section In place:
#' `in_place = TRUE` replaces the values of the [gpu_matrix] `r`. **Every name that refers to it
#' sees the change**: copies by assignment, function arguments, and what [as_gpu()] gives for `r`.
#' `r[, ]` is an independent copy. After an error or an interrupt `r` is unchanged.
#'
#' @section On disk:
#' If `r` is a `tile_matrix` that [chol_file()] made, the new factor is written to `file`, with the
#' same tile size. `r` is not changed. After an error or an interrupt `file` does not exist.
#'
#' @section Errors:
#' * `cudafactor_error_not_positive_definite`: a downdate leaves a leading minor of order `order`
#'   that is not positive. `r` is unchanged.
#' * `cudafactor_error_singular`: a diagonal entry of `r` is zero (field `index`), or a pivoted
#'   factor has a rank below \eqn{n} (`index` is the rank plus one).
#' * `cudafactor_error_non_finite`: NA, NaN or Inf in `v`, or in the triangle of `r` that is read.
#' * `cudafactor_error_dimension`: `r` is not square, or `v` does not have \eqn{n} rows.
#' * `cudafactor_error_type`: an operand is not numeric, or `r` is a symmetric matrix of package
#'   Matrix, another factorization such as [qr()], or a factor of [chol_gpus()].
#' * `cudafactor_error_argument`: `in_place` without a `gpu_matrix`; operands on different devices
#'   or of different precision; `lower` contradicts a triangular matrix of package Matrix. For a
#'   factor on disk: no new `file`, a file without a factor, `lower`, `in_place`, or too little
#'   memory.
#' * Errors of files: see [cudafactor_conditions].
#'
#' A margin below 1.5e-8 (3.5e-4 in single precision) is the
#' warning `cudafactor_warning_ill_conditioned`, with field `margin`. It comes after the change.
#'
#' @section Device:
#' `"auto"` estimates times as [cudafactor-options] tells. A [gpu_matrix] is updated on its own
#' device. For a factor on disk `"auto"` is the GPU, if it should be faster, from order 2048 and 64
#' columns on. GPUs of compute capability below 8.0 have no kernels for it: the processor
#' changes the factor, unless `v` has more than half as many columns as rows.
#'
#' @param r The factor: a square \eqn{n \times n}{n x n} matrix or [gpu_matrix], or a `tile_matrix`
#'   that [chol_file()] made. Only one triangle is read; its diagonal may have negative entries.
#' @param v The columns to add or remove: a vector of length \eqn{n}, or a matrix or [gpu_matrix]
#'   with \eqn{n} rows and any number of columns.
#' @param lower Is `r` the lower factor, \eqn{L} with \eqn{A = L L^T}{A = LL'}? Then so is the
#'   result.
#' @param in_place Should the values of `r`, a [gpu_matrix], be replaced?
#' @param file For a factor on disk, the name of a new file for the result.
#' @param host_memory,gpu_memory For a factor on disk, limits for its panels: bytes, or text such as
#'   `"8GB"` or `"512MiB"`. `NULL` means part of what is free.
#' @param precision `"double"` or `"single"`, for ordinary matrices; other factors have a precision
#'   already.
#' @inheritParams gpu_matmult
#' @return A double matrix with the dimnames of `r`, a positive diagonal, and zeros in the other
#' triangle. If `r` or `v` is a [gpu_matrix], a `gpu_matrix`. With `in_place = TRUE`, `r`,
#' invisibly. For a factor on disk, a new `tile_matrix`. If `v` has no columns, the triangle of `r`
#' unchanged. Attributes `pivot` and `rank` are dropped.
#' @aliases updown updown,character,ANY,gpu_matrix-method updown,logical,ANY,gpu_matrix-method
#' @concept rank-k update
#' @concept rank-one update
#' @seealso [chol_drop()], [chol_insert()], [chol_solve()], [gpu_chol()]
#' @examples
#' # A regression to which ten observations are added, and from which the first is removed
#' x <- cbind(1, matrix(rnorm(90), 30))
#' r <- chol(crossprod(x[1:20, ]))
#' r <- chol_update(r, t(x[21:30, ]))
#' r <- chol_downdate(r, x[1, ])
#' all.equal(crossprod(r), crossprod(x[-1, ]))
#'
#' # In a loop, on the GPU if there is one
#' g <- as_gpu(r)
#' for (row in 21:30) chol_downdate(g, x[row, ], in_place = TRUE)
#' all.equal(as.matrix(crossprod(g)), crossprod(x[2:20, ]))
#' @export
chol_update <- function(r, v, lower = FALSE, in_place = FALSE,
                        device = getOption("cudafactor.device", "auto"), precision = "double",
                        file = NULL, host_memory = NULL, gpu_memory = NULL) {
  call <- sys.call()
  if (missing(r) || missing(v)) {
    abort_missing(if (missing(r)) "r" else "v", call)
  }
  memory <- list(host_memory = host_memory, gpu_memory = gpu_memory, device = device)
  change_factor(r, v, FALSE, lower, in_place, precision, file, memory, call)
}

#' @rdname chol_update
#' @export
chol_downdate <- function(r, v, lower = FALSE, in_place = FALSE,
                          device = getOption("cudafactor.device", "auto"), precision = "double",
                          file = NULL, host_memory = NULL, gpu_memory = NULL) {
  call <- sys.call()
  if (missing(r) || missing(v)) {
    abort_missing(if (missing(r)) "r" else "v", call)
  }
  memory <- list(host_memory = host_memory, gpu_memory = gpu_memory, device = device)
  change_factor(r, v, TRUE, lower, in_place, precision, file, memory, call)
}

change_factor <- function(r, v, down, lower, in_place, precision, file, memory, call) {
  if (is_tile_matrix(r) ||
    !(is.null(file) && is.null(memory$host_memory) && is.null(memory$gpu_memory))) {
    return(change_factor_file(r, v, down, lower, in_place, file, memory, call))
  }
  change_factor_here(r, v, down, lower, in_place, memory$device, precision, call)
}

change_factor_here <- function(r, v, down, lower, in_place, device, precision, call) {
  where <- how(device, precision, call)
  lower <- triangle_flag(lower, "lower", call)
  in_place <- triangle_flag(in_place, "in_place", call)
  r <- as_changing_factor(r, lower, call)
  if (in_place && !is_resident(r)) {
    text <- sprintf(
      "'in_place = TRUE' needs a gpu_matrix; for an ordinary matrix use r <- %s(r, v)",
      if (down) "chol_downdate" else "chol_update"
    )
    abort_argument("in_place", text, call)
  }
  n <- dim(r)[[1L]]
  v <- as_columns(v, "v", call)
  check_rows_of_update(v, n, call)
  if (is_resident(r) || is_resident(v)) {
    return(change_resident(r, v, down, lower, in_place, call))
  }
  out <- .External(alloc_matrix, n, n)
  done <- unwrap(native_chol_update(r, n, v, ncol(v), down, lower, out, where), call, "update")
  warn_of_margin(done$margin, precision, call)
  dimnames(out) <- dimnames(r)
  out
}

# Updates a factor in a file, into another file.
change_factor_file <- function(r, v, down, lower, in_place, file, memory, call) {
  if (!is_tile_matrix(r)) {
    given <- c("file", "host_memory", "gpu_memory")[c(
      !is.null(file), !is.null(memory$host_memory), !is.null(memory$gpu_memory)
    )]
    text <- sprintf("'%s' can only be used when 'r' is a factor on disk", given[[1L]])
    abort_argument(given[[1L]], text, call)
  }
  memory <- budget(memory, call)
  if (triangle_flag(lower, "lower", call)) {
    abort_argument(
      "lower", "'lower' must be FALSE for a factor on disk, which is upper triangular", call
    )
  }
  if (triangle_flag(in_place, "in_place", call)) {
    abort_argument(
      "in_place",
      "'in_place' must be FALSE for a factor on disk: the new factor goes to 'file'",
      call
    )
  }
  if (is.null(file)) {
    abort_argument(
      "file",
      "'file' must name a file for the new factor; for a result in memory use as.matrix(r)",
      call
    )
  }
  from <- .subset2(r, "path")
  file <- absolute_path(as_file(file, call))
  if (identical(file, from)) {
    abort_argument("file", "'file' must not be the file of 'r'", call)
  }
  if (file.exists(file)) {
    abort(
      "file_exists",
      sprintf("%s: the file exists: choose another name, or unlink() it first", file), call,
      path = file
    )
  }
  if (dim(r)[[1L]] != dim(r)[[2L]]) {
    abort_dimension(
      renamed(base_text("'a' (%d x %d) must be square", dim(r)[[1L]], dim(r)[[2L]]), "r"), call
    )
  }
  v <- as_columns(v, "v", call)
  check_rows_of_update(v, dim(r)[[1L]], call)
  v <- if (is_resident(v)) as.matrix(v) else v
  reply <- native_tiles_chol_update(
    from, as.double(dim(r)), file, v, ncol(v), down, memory$bytes, memory$how
  )
  done <- unwrap(reply, call, "update")
  warn_of_margin(done$margin, .subset2(r, "precision"), call)
  described(file, call)
}

check_rows_of_update <- function(v, n, call) {
  if (nrow(v) != n) {
    text <- base_text("'b' (%d x %d) must be compatible with 'a' (%d x %d)", nrow(v), ncol(v), n, n)
    text <- renamed(sub("'b'", "'v'", text, fixed = TRUE), "r")
    abort_dimension(if (ncol(v) == n) paste0(text, "; did you mean t(v)?") else text, call)
  }
}

change_resident <- function(r, v, down, lower, in_place, call) {
  pair <- both_resident(r, v, "v", call)
  r <- pair[[1L]]
  v <- pair[[2L]]
  if (in_place && identical(r@pointer, v@pointer)) {
    v <- gather(v, NULL, NULL, call)
  }
  handle <- if (in_place) {
    # New values need a new identity, for all names of the matrix.
    .External(set_identity, r@pointer, NULL)
    NULL
  } else {
    .External(new_handle)
  }
  done <- unwrap(
    native_resident_chol_update(r@pointer, v@pointer, down, lower, handle, how_there(call)), call,
    "update"
  )
  warn_of_margin(done$margin, r@precision, call)
  if (in_place) invisible(r) else new_resident(handle, r@Dim, r@Dimnames, r@precision, r@device)
}

# Copies an ordinary operand to the device of the other one. `argument` is the user's name of the
# second operand.
both_resident <- function(x, y, argument, call) {
  if (!is_resident(x)) {
    x <- upload_beside(x, dim(x), dimnames(x), y, call)
  } else if (!is_resident(y)) {
    y <- upload_beside(y, dim(y), NULL, x, call)
  }
  check_together(x, y, call, argument)
  list(x, y)
}

downdate_leaves <- "the downdate removes nearly all of the matrix in some direction (margin %.1e)"

# `margin` is 1 if nothing was taken away; `leaves` is the first half of the warning.
warn_of_margin <- function(margin, precision, call, leaves = downdate_leaves) {
  eps <- if (precision == "single") 2^-23 else .Machine$double.eps
  if (margin < sqrt(eps)) {
    lost <- sprintf(
      "about %.0f of the %.0f digits of the new factor are lost", ceiling(-log10(margin) / 2),
      floor(-log10(eps))
    )
    warn("ill_conditioned", paste0(sprintf(leaves, margin), ": ", lost), call, margin = margin)
  }
}
