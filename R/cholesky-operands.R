# Checks of the operands of chol_update(), chol_downdate(), chol_drop() and chol_insert().

# The factor `r`: a square matrix of doubles, or a gpu_matrix.
as_changing_factor <- function(r, lower, call) {
  # The fast path, for loops.
  if (is_resident(r) && r@Dim[[1L]] == r@Dim[[2L]]) {
    check_full_rank(r, call)
    return(r)
  }
  # A character vector may be a file name; a character matrix is not.
  if (!is.character(r) || is.null(dim(r))) {
    refuse_no_factor(r, call)
  }
  refuse_factorization(r, "r", factor_in_words, call)
  if (is_in_tiles(r)) {
    abort_type(
      "'r' must be a factor in memory, not on disk or of chol_gpus(): use as.matrix(r)",
      call
    )
  }
  if (isS4(r)) {
    check_stated_triangle(r, lower, call)
  }
  if (length(dim(r)) > 2L) {
    abort_dimension(
      sprintf(
        "'r' (%s) must be a square matrix, not an array of more dimensions",
        paste(dim(r), collapse = " x ")
      ),
      call
    )
  }
  r <- as_real_operand(r, "r", factor_in_words, call)
  d <- dim(r)
  if (d[[1L]] != d[[2L]]) {
    abort_dimension(renamed(base_text("'a' (%d x %d) must be square", d[[1L]], d[[2L]]), "r"), call)
  }
  check_full_rank(r, call)
  r
}

factor_in_words <- "a Cholesky factor, as chol() gives it"

# Matrices of package Matrix know their triangle. Its other triangle would read as the diagonal
# alone.
check_stated_triangle <- function(r, lower, call) {
  if (inherits(r, "symmetricMatrix")) {
    abort_type(
      sprintf("'r' must be %s, not a symmetric matrix: use chol(r)", factor_in_words), call
    )
  }
  if (inherits(r, "triangularMatrix") && (r@uplo == "L") != lower) {
    kind <- if (lower) "upper" else "lower"
    text <- sprintf("'lower' must be %s, as 'r' is %s triangular: or use t(r)", !lower, kind)
    abort_argument("lower", text, call)
  }
}

# Rows of a pivoted factor beyond its rank have no meaning.
check_full_rank <- function(r, call) {
  rank <- attr(r, "rank", exact = TRUE)
  if (!is.null(attr(r, "pivot", exact = TRUE)) && is.numeric(rank) && isTRUE(rank < dim(r)[[1L]])) {
    text <- sprintf(
      "'r' must have full rank, and its rank is %d of %d: use its leading %d rows and columns",
      as.integer(rank), dim(r)[[1L]], as.integer(rank)
    )
    abort("singular", text, call, index = as.integer(rank) + 1L)
  }
}

# The columns as a matrix; a vector is one column.
as_columns <- function(x, argument, call) {
  if (is_resident(x)) {
    return(x)
  }
  what <- "a vector or a matrix of numbers"
  if (describes_matrix(x) || is_gpu_factor(x)) {
    abort_not_numbers(x, argument, what, call)
  }
  refuse_factorization(x, argument, what, call)
  as_real_operand(x, argument, what, call)
}

# Factorizations of package Matrix are not matrices, except triangular Cholesky factors.
refuse_factorization <- function(x, argument, what, call) {
  if (isS4(x) && inherits(x, "MatrixFactorization") &&
    !(inherits(x, "CholeskyFactorization") && inherits(x, "triangularMatrix"))) {
    abort_not_numbers(x, argument, what, call)
  }
}

# Text and factors are not numbers, as in base R's crossprod().
as_real_operand <- function(x, argument, what, call) {
  if (is_resident(x) || is.double(x) && is.matrix(x) && !is.object(x)) {
    return(x)
  }
  check_numbers(x, argument, what, call)
  plain <- as_matrix(if (isS4(x)) as_plain(x, call) else x, call)
  if (is.factor(plain) || !typeof(plain) %in% c("double", "integer", "logical", "complex")) {
    abort_not_numbers(if (is.data.frame(x)) plain else x, argument, what, call)
  }
  as_double(refuse_complex(plain, call), call)
}

abort_not_numbers <- function(x, argument, what, call) {
  given <- if (is.object(x)) c("class", class(x)[[1L]]) else c("type", typeof(x))
  given <- sprintf("%s \"%s\"", given[[1L]], given[[2L]])
  abort_type(sprintf("'%s' must be %s, not of %s", argument, what, given), call)
}
