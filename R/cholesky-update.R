# Cholesky factors of matrices that change by few columns: a product is added or taken away.

#' Updates and downdates of a Cholesky factor
#'
#' `chol_update(r, v)` is `chol(crossprod(r) + tcrossprod(v))`, and `chol_downdate(r, v)` is `chol(crossprod(r) - tcrossprod(v))`, made from the factor without
#' the matrix: for the upper triangular \eqn{R} with \eqn{A = R^T R}{A = R'R} of order \eqn{n} and \eqn{k} columns in `v`, the factor of
#' \eqn{A + V V^T}{A + VV'} or \eqn{A - V V^T}{A - VV'} in about \eqn{2 n^2 k} operations instead of \eqn{n^3/3}. That is what adding or removing observations does to
#' the normal equations of a regression (\eqn{X^T X}{X'X} gains or loses \eqn{x x^T}{xx'}), and new data to a Kalman filter or a Gaussian process in
#' weight space. Observations are columns of `v`: it is `t(x)` for rows `x` of data.
#'
#' A downdate is possible while what remains is positive definite, that is where all eigenvalues of \eqn{I - P^T P}{I - P'P} are positive, \eqn{R^T P = V}{R'P = V}. This is known before
#' the factor is touched. A lower bound of the smallest of them, the *margin*, which may be up to \eqn{\min(n, k)}{min(n, k)} times too small, says how much of the matrix is left in the
#' direction that loses most: 1 where nothing is taken away, 0 on the boundary.
#'
#' Of `r` one triangle is read and nothing else: with `lower = TRUE` it is \eqn{L} with \eqn{A = L L^T}{A = LL'}, which is transposed first and back afterwards. That takes room, and the
#' whole takes several times as long where `v` has few columns: in a loop keep `t(L)`, the upper factor. A negative diagonal entry is
#' taken as it is, since \eqn{R^T R}{R'R} does not know the signs of rows.
#'
#' Of a pivoted factor, `chol(, pivot = TRUE)`, rows of `v` are in the order of the columns of `r`: give `v[attr(r, "pivot"), ]`. Attributes `pivot` and `rank` are not kept, nor does [as_gpu()] keep
#' them. Where the rank is below \eqn{n} there is no factor of all of \eqn{A} to begin with, which is an error: take the leading block of `r`, of as many rows and columns as the rank, or factor
#' a matrix that is positive definite.
#'
#' In single precision numbers beyond its range, about 3.4e38, become Inf, which is then refused as such, and tiny ones become zero, on the diagonal of `r` too.
#'
#' For a model that adds and removes cases of a covariance matrix, which are rows and columns of \eqn{A}, see [chol_drop()] and [chol_insert()].
#'
#' @section Value:
#' A double matrix with the dimnames of `r`, its diagonal positive, and exact zeros in the other triangle; where `r` or `v` is a [gpu_matrix], a `gpu_matrix`. With `in_place = TRUE`
#' `r` itself, invisibly. Of a factor on disk another one, a `tile_matrix`. Where `v` has no columns the triangle of `r` is given as it is.
#'
#' @section In place:
#' With `in_place = TRUE` the values of the `gpu_matrix` `r` are replaced, and **every name that refers to it sees the change**. An assignment such as `s <- r` makes another name for the same
#' values, and so does a function that is called with `r`. Taking [as_gpu()] of `r`, or changing the dimnames of `s` after that, copies no values either. `r[, ]` is a copy: take it before
#' where the old factor is still wanted. All this is meant for loops, which then need no assignment.
#'
#' An error leaves all of `r` as it was, and so does an interrupt. The warning of an ill-conditioned downdate comes when `r` is the new factor already, and what makes the warning an error,
#' `options(warn = 2)` or `tryCatch(, warning = )`, does not undo that.
#'
#' @section On disk:
#' A factor in a file, a `tile_matrix` that [chol_file()] has made, is read once, panel by panel, and what is made of it goes to a second file, `file`, in the same tiles, as a factor that
#' `chol_file()` could have made: [chol_solve()] and all else take it. The first file is never changed, the second one must not exist, and room for it is reserved before anything is written. Whether a downdate is
#' possible is known before, by one more reading of the factor. After an error or an interrupt there is no second file. One that the end of the process has left incomplete is no factor, and
#' [open_tile_matrix()] says so: there is nothing to go on with, `unlink()` it and call again. Nothing is changed in place on disk.
#'
#' `host_memory` is what panels may take in the host's memory: of a factor of order \eqn{n} in tiles of order \eqn{t} at least about \eqn{2 t + 1300} columns of \eqn{n} numbers, which a
#' smaller number in [tile_matrix()] makes less. `v`, and some three numbers for each of its own, are in memory besides. Without it half of what is free is used, as far as it is of use. On a GPU,
#' `gpu_memory` is for two or three panels of 448 columns, and as many numbers as `v` has some times over.
#'
#' @section Larger than the GPU:
#' A factor in R's memory that has no room on the GPU, or no room in option `cudafactor.gpu_memory`, passes through it in panels likewise, each once both ways; a downdate has it go there once more before.
#'
#' @section Which way is taken:
#' From about \eqn{k = n/2} on, on the CPU, reflections take as long as another factorization, and for \eqn{k} near \eqn{n} and beyond much longer: then \eqn{A \pm V V^T}{A +/- VV'} is
#' formed and factored. A GPU, which factors faster, does so from fewer columns on, about 60 at \eqn{n = 2000} and 600 at \eqn{n = 10000}. The outcome is the same to rounding.
#'
#' A factor in R's memory has to travel to the GPU and back, \eqn{8 n^2} bytes and more, for \eqn{2 n^2 k} operations. For \eqn{k = 1}, and other small numbers of columns, the bus decides and not the
#' GPU: it wins only where the factor lives there already, as a `gpu_matrix`. So keep it there, and update by many columns at once rather than by one after the other.
#'
#' @section Failure:
#' `cudafactor_error_not_positive_definite`: a downdate leaves a matrix whose leading minor of the order in field `order` is not positive, to the precision. `r` is as it was.
#' `cudafactor_error_singular`: a diagonal entry of `r` is zero (field `index`), or `r` is a pivoted factor whose rank is below \eqn{n} (`index` is the rank and one). `cudafactor_error_non_finite`: NA, NaN or Inf in `v` or in the triangle of `r` that is read (field `argument`).
#' `cudafactor_error_dimension`: `r` is not square, or `v` has another number of rows. `cudafactor_error_argument`: `in_place = TRUE` for a plain matrix, which is a value like any other in R;
#' operands on different devices or of different precision (field `argument` is that of the second one); a triangular matrix of package Matrix whose triangle is not the one that `lower` tells.
#' `cudafactor_error_type`: an operand is complex, text, a factor in the sense of [base::factor()], or no numbers at all; a factor of [chol_gpus()]; for `r`, a symmetric matrix of package Matrix,
#' or a factorization of another kind, such as [qr()].
#'
#' A margin below the square root of the precision (1.5e-8, or 3.5e-4 in single precision) is the warning `cudafactor_warning_ill_conditioned`, whose field `margin` is the margin.
#'
#' Of a factor on disk besides: `cudafactor_error_argument`: there is no `file`, or it is that of `r`; the file of `r` holds no factor; `lower` or `in_place`; too little memory. `cudafactor_error_file_exists`: `file` exists.
#' `cudafactor_error_disk_space`: there is no room for it. `cudafactor_error_file_corrupt`: a tile is not what was written.
#'
#' @section Accuracy:
#' \eqn{\|A \pm V V^T - \tilde R^T \tilde R\|_1 \le n \epsilon (\|A\|_1 + \|V V^T\|_1)}{||A +/- VV' - S'S|| <= n eps (||A|| + ||VV'||)} up to a small constant for the factor
#' \eqn{\tilde R}{S} that is given, tested on every device. Errors are thus those of the larger matrix of before, and what a downdate leaves may be much smaller. Rounding of size
#' \eqn{\epsilon \|R\|}{eps ||R||} in `r` or `v` becomes about \eqn{\epsilon \|R\| / \sqrt{margin}}{eps ||R|| / sqrt(margin)} in an entry of the new factor: with a margin of
#' \eqn{10^{-8}}{1e-8} four digits are gone. Of the direction that nearly vanishes itself, whose entries are
#' \eqn{\sqrt{margin}}{sqrt(margin)} times as large as before, it is twice as many. Factor the matrix again where that matters and its data are at hand.
#'
#' @section Device:
#' `"auto"` counts \eqn{2 n^2 k} operations for an update and \eqn{3 n^2 k} for a downdate, and the bytes of the matrix both ways, see [cudafactor-options]. A [gpu_matrix] is updated where it is,
#' whatever `device` says.
#' A factor on disk is the GPU's from order 2048 and 64 columns on: with fewer the disk takes longer than the CPU.
#'
#' @param r The factor, a square matrix, or a [gpu_matrix]. Only one triangle is read. Of package Matrix a triangular matrix, of which `lower` must tell the triangle that it holds. Or one on disk, a `tile_matrix` that [chol_file()] has made.
#' @param v A vector of length \eqn{n}, or a matrix with \eqn{n} rows, and a column for each observation, even none or more than \eqn{n}; a [gpu_matrix], or of package Matrix, or a data frame of
#'   numbers, too.
#' @param lower Is `r` the lower factor, \eqn{L} with \eqn{A = L L^T}{A = LL'}? The value is one then, too.
#' @param in_place Should the values of `r`, a [gpu_matrix], be replaced?
#' @param file Of a factor on disk, the name of the file for what is made of it, which must not exist.
#' @param host_memory,gpu_memory Of a factor on disk, bytes of memory for panels: numbers, or text such as `"8GB"` or `"512MiB"`. `NULL` for what is free, in part.
#' @param precision `"double"` or `"single"`, of plain matrices; a factor on disk, and a `gpu_matrix`, has its own.
#' @inheritParams gpu_matmult
#' @references Walder, C. (2010) *Rank k Cholesky Up/Down-dating on the GPU: gpucholmod V0.2*. arXiv:1011.1173.
#'
#' Stewart, G. W. (1979) The effects of rounding error on an algorithm for downdating a Cholesky factorization. *IMA Journal of Applied Mathematics* **23**, 203-213.
#'
#' Gill, P. E., Golub, G. H., Murray, W. and Saunders, M. A. (1974) Methods for modifying matrix factorizations. *Mathematics of Computation* **28**, 505-535.
#' @section updown():
#' Where package Matrix is loaded, its `updown("+", C, L)` and `updown("-", C, L)` take a [gpu_matrix] as `chol()` gives it for `L`, and are `chol_update(L, C)` and `chol_downdate(L, C)`. They have no
#' `in_place`, `lower` or `device`, and a plain matrix for `L` is Matrix's own error.
#'
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
#' # More than there is cannot be taken away
#' tryCatch(chol_downdate(r, c(100, 0, 0, 0)),
#'   cudafactor_error_not_positive_definite = function(e) e$order)
#'
#' # In a loop, on the GPU where there is one
#' g <- as_gpu(r)
#' for (row in 21:30) chol_downdate(g, x[row, ], in_place = TRUE)
#' all.equal(as.matrix(crossprod(g)), crossprod(x[2:20, ]))
#'
#' # On disk
#' files <- tempfile(c("before", "after"), fileext = ".tiles")
#' a <- crossprod(x)
#' on_disk <- chol_file(tile_matrix(a, files[1], triangle = TRUE))
#' changed <- chol_update(on_disk, t(x[1:3, ]), file = files[2])
#' all.equal(as.matrix(changed), chol(a + crossprod(x[1:3, ])))
#' unlink(files)
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

# Of a factor in a file, to another file.
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
    abort_argument("lower", "'lower' must be FALSE for a factor on disk, which is upper triangular", call)
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
    # Other values get another identity, for all names of the matrix.
    .External(set_identity, r@pointer, NULL)
    NULL
  } else {
    .External(new_handle)
  }
  done <- unwrap(
    native_held_chol_update(r@pointer, v@pointer, down, lower, handle, how_there(call)), call,
    "update"
  )
  warn_of_margin(done$margin, r@precision, call)
  if (in_place) invisible(r) else new_resident(handle, r@Dim, r@Dimnames, r@precision, r@device)
}

# Two operands of which one at least is on a device, both there; the second one is the user's
# `argument`.
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
