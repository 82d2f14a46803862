# How matrices on a device or on disk are compared and identified. The identity is the protected
# value of an external pointer: serialization sees it, identical() does not. See
# new_identity_bytes() in src/entrypoint.c.

# testthat compares with package waldo, which would compare slots and fields instead of values.
set_proxies <- function() {
  proxy <- function(x, path) list(object = as.matrix(x), path = sprintf("as.matrix(%s)", path))
  for (class in c("gpu_matrix", "gpu_factor", "tile_matrix")) {
    registerS3method("compare_proxy", class, proxy, asNamespace("waldo"))
  }
}

#' @method all.equal gpu_factor
#' @export
all.equal.gpu_factor <- function(target, current, ...) {
  all.equal(as.matrix(target), plain(current), ...)
}

#' @method all.equal tile_matrix
#' @export
all.equal.tile_matrix <- function(target, current, ...) {
  all.equal(as.matrix(target), plain(current), ...)
}
