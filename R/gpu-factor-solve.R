# Triangular systems and products with a factor spread over several GPUs. Right-hand sides and
# operands are in host memory, in blocks of as many rows as a tile.

# Cuts `values` into blocks of rows, one for each row of tiles. Padding rows of the last block are
# zero.
cut_rows <- function(values, r, columns) {
  attributes(values) <- list(dim = c(r$n, columns))
  lapply(seq_len(ceiling(r$n / r$tile)), function(k) {
    rows <- tile_span(k, r$n, r$tile)
    block <- matrix(0, r$tile, columns)
    block[seq_along(rows), ] <- values[rows, ]
    block
  })
}

joined_rows <- function(blocks, r) {
  out <- matrix(0, r$n, ncol(blocks[[1L]]))
  for (k in seq_along(blocks)) {
    rows <- tile_span(k, r$n, r$tile)
    out[rows, ] <- blocks[[k]][seq_along(rows), ]
  }
  out
}

# Groups of products: enough to keep all devices busy, few enough to need little memory.
in_turns <- function(places, r) split(places, (seq_along(places) - 1L) %/% (4L * length(r$devices)))

# The leading `n` rows and columns of the factor as a list, with the same tiles.
leading <- function(r, n) {
  r <- unclass(asS4(r, FALSE))
  r$n <- n
  r
}

# Solves R x = b ("backward"), R'x = b ("forward") or both in turn, for the leading n rows and
# columns. Padding rows of the last block must stay zero, whatever the tiles hold there.
solve_spread <- function(r, n, b, columns, which, call) {
  check_spread(r, call)
  r <- leading(r, n)
  blocks <- cut_rows(b, r, columns)
  m <- length(blocks)
  beyond <- seq_len(r$tile)[-seq_along(tile_span(m, n, r$tile))]
  filled <- function(block, k) {
    if (k == m) block[beyond, ] <- 0
    block
  }
  for (transpose in switch(which, both = c(TRUE, FALSE), forward = TRUE, backward = FALSE)) {
    for (j in if (transpose) seq_len(m) else rev(seq_len(m))) {
      solved <- solve_triangle_resident(
        r$tiles[[tile_place(j, j)]], blocks[[j]], r$tile, TRUE, transpose, call
      )
      blocks[[j]] <- filled(fetch(solved, call), j)
      others <- if (transpose) seq_len(m)[-seq_len(j)] else seq_len(j - 1L)
      for (some in in_turns(others, r)) {
        products <- lapply(some, function(k) {
          place <- if (transpose) tile_place(j, k) else tile_place(k, j)
          product_resident(
            r$tiles[[place]], blocks[[j]], if (transpose) "crossprod" else "matmult", call
          )
        })
        for (p in seq_along(some)) {
          k <- some[[p]]
          blocks[[k]] <- filled(blocks[[k]] - fetch(products[[p]], call), k)
        }
      }
    }
  }
  joined_rows(blocks, r)
}

# R y or R'y for a double matrix y.
multiply_spread <- function(r, transpose, y, call) {
  check_spread(r, call)
  blocks <- cut_rows(y, r, ncol(y))
  m <- length(blocks)
  # Base R also multiplies by the zeros of the other triangle, which makes NaN of values that are
  # not finite.
  nothing <- lapply(blocks, function(block) colSums(0 * block))
  out <- lapply(seq_len(m), function(k) {
    others <- if (transpose) seq_len(m)[-seq_len(k)] else seq_len(k - 1L)
    matrix(Reduce(`+`, nothing[others], numeric(ncol(y))), r$tile, ncol(y), byrow = TRUE)
  })
  for (k in seq_len(m)) {
    for (some in in_turns(if (transpose) seq_len(k) else k:m, r)) {
      products <- lapply(some, function(j) {
        place <- if (transpose) tile_place(j, k) else tile_place(k, j)
        tile <- if (j == k) upper_tile(r, k, call) else r$tiles[[place]]
        product_resident(tile, blocks[[j]], if (transpose) "crossprod" else "matmult", call)
      })
      for (product in products) out[[k]] <- out[[k]] + fetch(product, call)
    }
  }
  joined_rows(out, r)
}

# A tile of the diagonal with zeros below its diagonal, where its entries have no meaning.
upper_tile <- function(r, k, call) {
  tile <- r$tiles[[tile_place(k, k)]]
  block <- fetch(tile, call)
  block[lower.tri(block)] <- 0
  upload_beside(block, dim(block), NULL, tile, call)
}

#' @rdname gpu_factor
#' @method solve gpu_factor
#' @export
solve.gpu_factor <- function(a, b, ...) {
  call <- sys.call()
  memory <- budget(list(...), call)
  if (missing(b)) {
    b <- diag(a$n)
    dimnames(b) <- list(NULL, a$dimnames[[1L]])
  }
  solve_tiles(a, as_side(b, call), "backward", memory, "a", "solve", call)
}

#' @rdname gpu_factor
#' @aliases backsolve,gpu_factor,gpu_matrix-method forwardsolve,gpu_factor,gpu_matrix-method
#' @export
setMethod("backsolve", signature("gpu_factor", "ANY"),
  function(r, x, k = ncol(r), upper.tri = TRUE, transpose = FALSE, ...) {
    call <- sys.call()
    solve_triangle_tiles(r, x, k, upper.tri, transpose, budget(list(...), call), "r", call)
  }
)

#' @rdname gpu_factor
#' @export
setMethod("forwardsolve", signature("gpu_factor", "ANY"),
  function(l, x, k = ncol(l), upper.tri = FALSE, transpose = FALSE) {
    call <- sys.call()
    solve_triangle_tiles(l, x, k, upper.tri, transpose, budget(list(), call), "l", call)
  }
)

for (name in c("backsolve", "forwardsolve")) {
  setMethod(
    name, signature("gpu_factor", "gpu_matrix"), selectMethod(name, signature("gpu_factor", "ANY"))
  )
}

#' @rdname gpu_factor
#' @aliases rowSums,gpu_factor-method colSums,gpu_factor-method
#' @aliases rowMeans,gpu_factor-method colMeans,gpu_factor-method
#' @aliases norm,gpu_factor,missing-method norm,gpu_factor,ANY-method
#' @aliases rcond,gpu_factor,missing-method rcond,gpu_factor,ANY-method
#' @export
setMethod("chol2inv", "gpu_factor", function(x, ...) gpu_chol2inv(gathered(x, sys.call()), ...))

# Methods for each class of the other operand, which take precedence over those of other packages.
tiles_product <- function(op) {
  force(op)
  if (op == "matmult") {
    function(x, y) operate_tiles(x, y, "matmult", sys.call())
  } else {
    function(x, y = NULL, ...) operate_tiles(x, y, op, sys.call())
  }
}
for (name in c("%*%", "crossprod", "tcrossprod")) {
  method <- tiles_product(if (name == "%*%") "matmult" else name)
  for (other in c("ANY", "gpu_matrix", "tile_matrix", "gpu_factor")) {
    setMethod(name, signature("gpu_factor", other), method)
    setMethod(name, signature(other, "gpu_factor"), method)
  }
}
rm(name, method, other)
