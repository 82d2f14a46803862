# Cholesky factors spread over the memory of several GPUs: tiles, each a matrix on a device.

#' Cholesky factor in the memory of several GPUs
#'
#' `chol_gpus(x)` factors a symmetric positive definite matrix as [gpu_chol()] does,
#' \eqn{R^T R = x}{R'R = x}. The upper triangular \eqn{R} stays in the memory of all GPUs together.
#' It is for orders such as 100000, whose factor does not fit on one GPU and need not be copied to
#' the host. [chol_solve()], `determinant()` and other functions use it there: see [gpu_factor].
#'
#' The upper triangle is cut into square tiles. The order of a tile is 2048 if each GPU then has
#' some six rows of tiles. Else it is the largest of 1024, 512, 256 and 128 with which it has, or
#' 128. Tiles at the lower and right edge are filled up with the identity.
#'
#' The factor is in double precision and not pivoted. A [gpu_matrix], also in single precision, is
#' copied to the host first. Only the dimnames of `x` are kept, while `chol()` keeps all attributes.
#'
#' `gpu_free(r)` releases the memory, and so does the garbage collector. In a loop that makes one
#' factor after another, call `gpu_free(r)` at the end of each iteration. Else the last factor takes
#' memory until R collects it.
#'
#' @section Errors:
#' * `cudafactor_error_not_positive_definite`: the leading minor of order `order` is not positive,
#'   NaN included.
#' * `cudafactor_error_dimension`: `x` is not square or has no rows.
#' * `cudafactor_error_type`: `x` is complex, not numeric, on disk, or not a matrix.
#' * `cudafactor_error_argument`: `devices` are not GPU numbers, cannot reach one another's memory,
#'   or together have too little for the factor; `x` is a factor already.
#' * `cudafactor_error_device_unavailable`: a GPU of that number does not exist.
#' * `cudafactor_error_device_memory`: a GPU ran out of memory although there seemed to be enough.
#' * Other errors of the device: see [cudafactor_conditions].
#'
#' @section Accuracy:
#' As for [gpu_chol()] in double precision.
#'
#' @section Device:
#' `"auto"` uses all GPUs together, for any order of `x`, or the CPU if there are none. On the CPU,
#' and with `"cpu"`, the tiles are in host memory, and the answers are the same.
#'
#' @param x A square numeric matrix or [gpu_matrix], or an object that `as.matrix()` makes one; only
#'   its upper triangle is read.
#' @param devices Numbers of GPUs, counted from 0, that work together, for `device = "auto"` or
#'   `"cuda"`. `NULL` means, with `"auto"`, those of option `cudafactor.devices` or all; with
#'   `"cuda"`, the first.
#' @param device `"auto"` (all GPUs, see `devices`), `"cpu"`, `"cuda"` (the first GPU) or `"cuda:1"`
#'   (the second, and so on).
#' @return An object of class [gpu_factor], a list of
#' \describe{
#'   \item{`tiles`}{the tiles of the upper triangle, column by column and each from the top, as
#'     [gpu_matrix] objects in double precision. Entries below the diagonal of a tile on the
#'     diagonal have no meaning;}
#'   \item{`n`, `tile`}{the order of the matrix, and that of a tile;}
#'   \item{`devices`}{the devices of the tiles, such as `c("cuda:0", "cuda:1")`, each once;}
#'   \item{`dimnames`}{the dimnames of `x`.}
#' }
#' @seealso [gpu_factor] for functions that use the factor; [gpu_chol()] for a factor on the host;
#' [chol_file()] for matrices larger than all memory; [chol_solve()]
#' @examples
#' place <- seq(0, 1, length.out = 300)
#' y <- sin(9 * place)
#' x <- gpu_covariance(place, kernel = "exponential", range = 0.2, nugget = 0.1)
#' r <- chol_gpus(x)
#' r
#'
#' w <- chol_solve(r, y)
#' all.equal(w, solve(x, y))
#'
#' # The log-likelihood of a Gaussian process
#' -sum(y * w) / 2 - c(determinant(r)$modulus) - 150 * log(2 * pi)
#'
#' # Its prediction at other places, and the variance there, whose prior value is 1
#' k0 <- gpu_covariance(place, c(0.111, 0.222), kernel = "exponential", range = 0.2)
#' crossprod(k0, w)
#' 1 - colSums(backsolve(r, k0, transpose = TRUE)^2)
#'
#' # The same variance, from the weights of the observations
#' 1 - colSums(k0 * chol_solve(r, k0))
#'
#' all.equal(as.matrix(r), chol(x))
#' gpu_free(r)
#' @export
chol_gpus <- function(x, devices = NULL, device = getOption("cudafactor.device", "auto")) {
  call <- sys.call()
  if (missing(x)) {
    abort_missing("x", call)
  }
  spread_factor(x, devices, device, NULL, call)
}

# `tile` is the order of a tile, or NULL for one that suits the number of GPUs.
spread_factor <- function(x, devices, device, tile, call) {
  refuse_factored(x, call)
  if (is_tile_matrix(x)) {
    abort_type("'x' must be a matrix in memory, not on disk: use chol_file()", call)
  }
  check_numbers(x, "x", "a numeric matrix", call)
  x <- if (is_resident(x)) brought_home(x, call) else as_matrix(refuse_complex(x, call), call)
  if (!(is.numeric(x) || is.logical(x))) {
    abort_type("'x' must be a numeric matrix", call)
  }
  x <- as_double(x, call)
  n <- dim(x)[[1L]]
  if (dim(x)[[2L]] != n || n == 0L) {
    abort_not_square(dim(x), call)
  }
  where <- on_devices(device, devices, call)
  on_gpus <- device != "cpu" && gpu_available()
  tile <- tile %||% tile_order(n, if (on_gpus) count_devices(devices, device) else 1L)
  make <- if (on_gpus) tiles_on_gpus else tiles_on_host
  tiles <- make(x, n, tile, where, call)
  new_gpu_factor(tiles, n, tile, dimnames(x))
}

# A factor in tiles is not factored again. Errors of an unreadable file are left to the caller.
refuse_factored <- function(x, call) {
  if (is_gpu_factor(x)) {
    check_spread(x, call)
    abort_argument(
      "x",
      paste(
        "'x' must be a matrix, not a Cholesky factor made by chol_gpus():",
        "use chol_solve(x, b), or as.matrix(x) for its values"
      ),
      call
    )
  }
  if (is_tile_matrix(x)) {
    path <- .subset2(x, "path")
    facts <- tryCatch(
      unwrap(native_tiles_info(path, TRUE), call), cudafactor_error = function(e) NULL
    )
    if (identical(facts$holds, "factor")) {
      abort_argument(
        "x", sprintf("%s: the file holds a Cholesky factor already", path),
        call
      )
    }
  }
}

#' @rdname gpu_factor
#' @export
chol.gpu_factor <- function(x, ...) refuse_factored(x, sys.call())

# S3 with the mark of an S4 class: see new_tile_matrix().
new_gpu_factor <- function(tiles, n, tile, dimnames) {
  devices <- unique(vapply(tiles, function(t) t@device, ""))
  asS4(structure(
    class = "gpu_factor",
    list(tiles = tiles, n = n, tile = tile, devices = devices, dimnames = dimnames)
  ))
}

# as.matrix() of a gpu_matrix, with the user's call in errors.
brought_home <- function(x, call) {
  out <- fetch(x, call)
  dimnames(out) <- dimnames(x)
  out
}

# The number of GPUs that on_devices() selects.
count_devices <- function(devices, device) {
  if (is.null(devices) && device == "auto") {
    devices <- getOption("cudafactor.devices") %||% seq_len(nrow(gpu_info()))
  }
  max(1L, length(devices))
}

# Large tiles make fast products. Six rows of tiles for each GPU keep all GPUs busy until shortly
# before the end.
tile_order <- function(n, gpus) {
  orders <- c(2048L, 1024L, 512L, 256L, 128L)
  enough <- orders[ceiling(n / orders) >= 6 * gpus]
  min(c(enough, 128L)[[1L]], n)
}

tiles_on_gpus <- function(x, n, tile, where, call) {
  m <- ceiling(n / tile)
  handles <- lapply(seq_len(m * (m + 1) / 2), function(i) .External(new_handle))
  done <- unwrap(native_chol_gpus(x, n, tile, handles, where), call)
  Map(
    function(handle, device) new_resident(handle, c(tile, tile), NULL, "double", device), handles,
    done$devices, USE.NAMES = FALSE
  )
}

# The same tiles in host memory. For "cuda" without a GPU, the factorization gives the error.
tiles_on_host <- function(x, n, tile, where, call) {
  r <- .External(alloc_matrix, n, n)
  reply <- native_chol(x, n, r, where)
  if (!is.null(reply)) {
    unwrap(reply, call)
  }
  m <- ceiling(n / tile)
  tiles <- vector("list", m * (m + 1) / 2)
  for (j in seq_len(m)) {
    columns <- tile_span(j, n, tile)
    for (i in seq_len(j)) {
      rows <- tile_span(i, n, tile)
      block <- if (i == j) diag(tile) else matrix(0, tile, tile)
      block[seq_along(rows), seq_along(columns)] <- r[rows, columns]
      tiles[[tile_place(i, j)]] <- upload(block, c(tile, tile), NULL, "cpu", "double", call)
    }
  }
  tiles
}

# The index of tile (i, j), counted from 1, in the list of tiles.
tile_place <- function(i, j) j * (j - 1) / 2 + i

# The rows of the matrix in block `k`, counted from 1; the last block may have fewer than `tile`.
tile_span <- function(k, n, tile) ((k - 1) * tile + 1):min(n, k * tile)

is_gpu_factor <- function(x) inherits(x, "gpu_factor")
