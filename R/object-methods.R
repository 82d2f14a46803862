# format(), summary(), head(), tail() and plot() of objects that are not plain data. Base R's
# default methods would show how such an object is stored: the elements of its list, or its slots.

# Each sentence names the functions that give plain data. Those of matrices in tiles are in
# unsupported-generics.R.
plain_data_texts <- c(
  lazy_covariance = "as.matrix() evaluates the matrix, and x[i, j] a part of it",
  matrix_file = "tile_matrix(x, file) reads the matrix into a file of tiles",
  gpu_qr_factor = "qr.R() and qr.Q() give R and Q, and as.qr() gives a plain \"qr\" object",
  gpu_lu = "lu_expand() gives L, U and P as matrices",
  ichol = "x$L is the factor, and as.matrix() gives the matrix L L'"
)

abort_shown <- function(class, generic, call) {
  if (class %in% names(unavailable_texts)) {
    abort_unavailable(class, call)
  }
  text <- "there is no '%s' for an object of class \"%s\": %s"
  abort_type(sprintf(text, generic, class, plain_data_texts[[class]]), call)
}

# The functions that each class refuses. head() and tail() of the others read the corner they need.
refused_views <- list(
  gpu_factor = c("head", "tail", "plot"),
  tile_matrix = "plot",
  lazy_covariance = c("summary", "plot"),
  matrix_file = c("summary", "head", "tail", "plot"),
  gpu_qr_factor = c("summary", "head", "tail", "plot"),
  gpu_lu = c("summary", "head", "tail", "plot"),
  ichol = c("summary", "head", "tail", "plot")
)

register_object_methods <- function() {
  for (class in names(refused_views)) {
    for (generic in refused_views[[class]]) {
      where <- if (generic %in% c("head", "tail")) asNamespace("utils") else baseenv()
      registerS3method(generic, class, view_refusal(class, generic), where)
    }
  }
}

view_refusal <- function(class, generic) {
  # The next turn of the caller's loop has another name.
  force(class)
  force(generic)
  function(...) abort_shown(class, generic, group_call(sys.call(), generic))
}

# The text that print() shows.
printed <- function(x, ...) utils::capture.output(print(x))

#' @export
format.gpu_qr_factor <- printed

#' @export
format.gpu_lu <- printed

#' @export
format.ichol <- printed

#' @export
str.gpu_qr_factor <- function(object, ...) cat("", format(object), "\n")
