# A gpu_matrix from data, and the question whether an object is one.

#' @rdname gpu_matrix
#' @param data,nrow,ncol,byrow,dimnames As in [base::matrix()].
#' @examples
#' z <- gpu_matrix(0, 3, 2)
#' is_gpu_matrix(z)
#' is_gpu_matrix(as.matrix(z))
#' @export
gpu_matrix <- function(data = NA, nrow = 1, ncol = 1, byrow = FALSE, dimnames = NULL,
                       device = getOption("cudafactor.device", "auto"), precision = "double") {
  call <- sys.call()
  # matrix() derives the dimension that is missing from the other one and the length of `data`.
  shape <- c(if (!missing(nrow)) list(nrow = nrow), if (!missing(ncol)) list(ncol = ncol))
  arguments <- c(list(data = data), shape, list(byrow = byrow, dimnames = dimnames))
  upload_matrix(as_user(call, do.call(matrix, arguments)), device, precision, call)
}

#' @rdname gpu_matrix
#' @export
is_gpu_matrix <- function(x) is_resident(x)
