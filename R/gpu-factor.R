# Factors that are spread over several GPUs: what they are, their values, and what base R's functions do not do with them.

#' @export
format.gpu_factor <- function(x, ...) {
  size <- 8 * length(x$tiles) * as.double(x$tile)^2
  gone <- switch(why_stale(x) %||% "here", here = "", freed = ", given back by gpu_free()", ", whose values are not in this session")
  sprintf("<gpu_factor> order %d, tiles of %d on %s (%s)%s", x$n, x$tile, paste(x$devices, collapse = ", "), format_bytes(size), gone)
}

#' @rdname chol_gpus
#' @export
print.gpu_factor <- function(x, ...) {
  cat(format(x), "\n", sep = "")
  invisible(x)
}

#' @rdname chol_gpus
#' @param object A factor that `chol_gpus()` made.
#' @export
setMethod("show", "gpu_factor", function(object) print.gpu_factor(object))

#' @export
str.gpu_factor <- function(object, ...) cat(" ", format(object), "\n", sep = "")

#' @export
dim.gpu_factor <- function(x) c(x$n, x$n)

#' @export
dimnames.gpu_factor <- function(x) x$dimnames

# Why the values are not in this session, NULL where they are. The tiles come and go together.
why_stale <- function(r) native_held_info(r$tiles[[1L]]@pointer)$err$fields$reason

check_spread <- function(r, call) {
  if (!is.null(reason <- why_stale(r))) {
    abort("stale", stale_factor_text(reason), call, reason = reason)
  }
}

#' @rdname chol_gpus
#' @export
as.matrix.gpu_factor <- function(x, ...) gathered(x, sys.call())

#' @export
as.array.gpu_factor <- function(x, ...) gathered(x, sys.call())

gathered <- function(x, call) {
  check_spread(x, call)
  n <- x$n
  out <- matrix(0, n, n)
  for (j in seq_len(ceiling(n / x$tile))) {
    columns <- tile_span(j, n, x$tile)
    for (i in seq_len(j)) {
      rows <- tile_span(i, n, x$tile)
      block <- fetch(x$tiles[[tile_place(i, j)]], call, c(0, length(rows)), c(0, length(columns)))
      if (i == j) block[lower.tri(block)] <- 0
      out[rows, columns] <- block
    }
  }
  dimnames(out) <- x$dimnames
  out
}

#' @rdname chol_gpus
#' @export
determinant.gpu_factor <- function(x, logarithm = TRUE, ...) determinant_spread(x, logarithm, sys.call())

determinant_spread <- function(x, logarithm, call) {
  d <- diagonal_spread(x, call)
  determinant_of_diagonal(d, seq_along(d), match(0, d, 0L), logarithm, call)
}

diagonal_spread <- function(x, call) {
  check_spread(x, call)
  on_diagonal <- seq_len(ceiling(x$n / x$tile))
  tiles <- x$tiles[tile_place(on_diagonal, on_diagonal)]
  unlist(lapply(tiles, function(t) unwrap(native_held_diagonal(t@pointer, how_there(call)), call)$values))[seq_len(x$n)]
}

#' @rdname chol_gpus
#' @export
setMethod("diag", "gpu_factor", function(x, nrow, ncol, names = TRUE) {
  call <- sys.call()
  if (!missing(nrow) || !missing(ncol)) {
    abort_argument("nrow", base_text("'nrow' or 'ncol' cannot be specified when 'x' is a matrix", domain = "R-base"), call)
  }
  out <- diagonal_spread(x, call)
  if (isTRUE(names) && !is.null(rows <- x$dimnames[[1L]]) && identical(rows, x$dimnames[[2L]])) {
    names(out) <- rows
  }
  out
})

#' @export
t.gpu_factor <- function(x) {
  text <- "the transpose of a factor of chol_gpus() is not made: t(as.matrix(x)); backsolve(r, x, transpose = TRUE) and crossprod(r, x) need none"
  abort_argument("x", text, sys.call())
}

# Base R would take the list that a factor is for its values, and change it.
abort_change <- function(call) {
  abort_argument("x", "a factor of chol_gpus() cannot be changed in part: as.matrix() of it gives a matrix that can", call)
}

whole <- function(x, value) abort_change(group_call(sys.call(), .Generic))

#' @export
`names<-.gpu_factor` <- whole

#' @export
`dim<-.gpu_factor` <- whole

#' @export
`dimnames<-.gpu_factor` <- whole

#' @export
`length<-.gpu_factor` <- whole

#' @export
`levels<-.gpu_factor` <- whole

#' @export
`$<-.gpu_factor` <- function(x, name, value) abort_change(group_call(sys.call(), "$<-"))

#' @export
`[<-.gpu_factor` <- function(x, i, j, ..., value) abort_change(group_call(sys.call(), "[<-"))

#' @export
`[[<-.gpu_factor` <- function(x, i, j, ..., value) abort_change(group_call(sys.call(), "[[<-"))

#' @rdname chol_gpus
#' @param value Nothing that could be assigned.
#' @export
setMethod("diag<-", "gpu_factor", function(x, value) abort_change(sys.call()))
