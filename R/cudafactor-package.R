#' cudafactor: matrix factorizations on NVIDIA GPUs
#'
#' Base R's `chol()`, `qr()`, `solve()`, `determinant()`, `%*%` and their family, computed on an NVIDIA GPU where there is one
#' and it pays, with the same answers on the CPU where there is none. Results, attributes and error texts are base R's.
#'
#' | base R | cudafactor |
#' |---|---|
#' | `x %*% y`, `crossprod()`, `tcrossprod()` | [gpu_matmult()], [gpu_crossprod()], [gpu_tcrossprod()] |
#' | `chol()`, `chol2inv()` | [gpu_chol()], [gpu_chol2inv()] |
#' | `qr()`, `qr.Q()`, `qr.qy()`, `qr.qty()` | [gpu_qr()], [gpu_qr.Q()], [gpu_qr.qy()], [gpu_qr.qty()] |
#' | `lm.fit()` | [gpu_lm_fit()] |
#' | `mapply(lm.fit, designs, responses)` | [gpu_lm_fit()] of arrays of extents `c(n, p, k)` and `c(n, k)` |
#' | `solve()`, `determinant()` | [gpu_solve()], [gpu_determinant()] |
#' | `Matrix::lu()` | [gpu_lu()] |
#' | `backsolve()`, `forwardsolve()` | [gpu_backsolve()], [gpu_forwardsolve()] |
#' | any of these, on matrices that stay on the GPU | the same, of what [as_gpu()] made |
#'
#' Attaching the package opens no driver. [gpu_sitrep()] shows what the machine offers, [cudafactor-options] how the place of a
#' computation is chosen, [cudafactor_conditions] what errors are signalled.
#'
#' @useDynLib cudafactor, .registration = TRUE
#' @keywords internal
"_PACKAGE"

#' Options, environment variables, and how a device is chosen
#'
#' Every computing function takes `device` and `precision`; what it is not told it reads here, at each call.
#'
#' @section Options:
#' \describe{
#'   \item{`cudafactor.device`}{default of `device`: `"auto"` (where unset), `"cpu"`, `"cuda"` or `"cuda:<number>"`.}
#'   \item{`cudafactor.min_flops`}{smallest number of floating-point operations for which `"auto"` takes the GPU; `2e9` where unset.}
#'   \item{`cudafactor.threads`}{threads on the CPU; 0, as where unset, leaves it to `CUDAFACTOR_NUM_THREADS`, or else to the
#'     number of cores, at most `OMP_THREAD_LIMIT`.}
#' }
#'
#' @section Environment variables:
#' \describe{
#'   \item{`CUDAFACTOR_NUM_THREADS`}{threads on the CPU where the option is not set.}
#'   \item{`OMP_THREAD_LIMIT`}{where neither is set, the most threads to use of the cores there are.}
#'   \item{`CUDA_VISIBLE_DEVICES`}{the driver's own: which GPUs it shows, and in what order. Read once, when the driver starts.}
#' }
#'
#' @section The rule:
#' * `device = "cpu"` never touches a GPU or its driver.
#' * `device = "cuda"` (the first GPU, `"cuda:0"`) or `"cuda:1"` computes there or stops with a `cudafactor_error_device`; it
#'   never turns to the CPU silently.
#' * `device = "auto"` counts the operations of the call. Below `cudafactor.min_flops` it stays on the CPU and opens no driver; from there
#'   up it takes the first GPU when one is usable, else the CPU. In a process forked from one that used the GPU, such as
#'   `parallel::mclapply()` makes, it stays on the CPU.
#'
#' `gpu_last_device()` tells where the last computation ran.
#'
#' @examples
#' old <- options(cudafactor.device = "cpu", cudafactor.threads = 1)
#' gpu_crossprod(matrix(1:6, 3))
#' gpu_last_device()
#' options(old)
#' @name cudafactor-options
#' @aliases cudafactor.device cudafactor.min_flops cudafactor.threads CUDAFACTOR_NUM_THREADS
NULL
