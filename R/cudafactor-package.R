#' cudafactor: matrix factorizations on NVIDIA GPUs
#'
#' Base R's `chol()`, `qr()`, `solve()`, `determinant()`, `%*%` and their family, computed on an NVIDIA GPU where there is one
#' and it pays, with the same answers on the CPU where there is none. Results, attributes and error texts are base R's.
#'
#' | base R | cudafactor |
#' |---|---|
#' | `x %*% y`, `crossprod()`, `tcrossprod()` | [gpu_matmult()], [gpu_crossprod()], [gpu_tcrossprod()] |
#' | `chol()`, `chol2inv()` | [gpu_chol()], [gpu_chol2inv()] |
#' | `chol(crossprod(r) + tcrossprod(v))`, or `-`; `Matrix::updown()` | [chol_update()], [chol_downdate()] |
#' | `chol(a[-i, -i])`, or with new rows and columns | [chol_drop()], [chol_insert()] |
#' | `qr()`, `qr.Q()`, `qr.qy()`, `qr.qty()` | [gpu_qr()], [gpu_qr.Q()], [gpu_qr.qy()], [gpu_qr.qty()] |
#' | `lm.fit()` | [gpu_lm_fit()] |
#' | `mapply(lm.fit, designs, responses)` | [gpu_lm_fit()] of arrays of extents `c(n, p, k)` and `c(n, k)` |
#' | `solve()`, `determinant()` | [gpu_solve()], [gpu_determinant()] |
#' | `Matrix::lu()` | [gpu_lu()] |
#' | `backsolve()`, `forwardsolve()` | [gpu_backsolve()], [gpu_forwardsolve()] |
#' | `chol()`, of a matrix that one GPU does not hold | [chol_gpus()], whose factor stays on several; [gpu_chol()] |
#' | `chol()`, of a matrix on disk | [chol_file()] of what [tile_matrix()] wrote |
#' | `Rglpk_solve_LP()` | [lp_ipm()] |
#' | `random_walker()` of Python's scikit-image | [random_walker()] |
#' | `exp(-as.matrix(dist(x)))` and its kin | [gpu_covariance()]; [lazy_covariance()] for [tile_matrix()] |
#' | `x %*% y` and its kin, of a matrix on disk | `x %*% y` and its kin, or [gpu_matmult()]: [tile_matrix_products] |
#' | `solve()`, `diag(chol2inv())`, of its factor | [chol_solve()], [chol2inv_diag()], [tile_matrix_solve] |
#' | any of these, on matrices that stay on the GPU | the same, of what [as_gpu()] made |
#'
#' Attaching the package opens no driver. [gpu_sitrep()] shows what the machine offers, [cudafactor-options] how the place of a
#' computation is chosen, [gpu_benchmark()] where a GPU pays, [gpu_mem()] who holds how much memory, and [cudafactor_conditions]
#' what errors are signalled. [gpu_save()] and [gpu_restore()] keep what is on a device in files.
#'
#' `vignette("getting-started", "cudafactor")` has a tour, `vignette("resident", "cudafactor")` one of matrices that stay on a GPU.
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
#'   \item{`cudafactor.min_flops`}{smallest number of floating-point operations for which `"auto"` takes the GPU. Where unset, a
#'     model decides.}
#'   \item{`cudafactor.breakeven`}{measured orders from which the GPU pays, as [gpu_benchmark()] finds them: a vector with some of
#'     the names `product`, `crossprod`, `chol`, `lu`, `qr`, `solve`. Inf stands for never, NA for what the model says.}
#'   \item{`cudafactor.progress`}{whether calls longer than two seconds draw a bar, with the rate and the time that is left, on
#'     stderr: `TRUE`, `FALSE`, or the number of seconds after which. Where unset, `TRUE` in an interactive session and `FALSE`
#'     elsewhere. Calls that make, factor or solve with matrices on disk, as [chol_file()], show besides what they are at (planning, writing, factorizing,
#'     finishing, solving, inverting, checking, updating) and how many bytes were read from files and written to them; where [tile_matrix()] only copies, the rate is of bytes.
#'     So do [gpu_chol()] and [gpu_solve()] where they take a matrix part by part, with the bytes that come from it and go to the factor.}
#'   \item{`cudafactor.gpu_memory`}{bytes of each GPU's memory, such as `8e9`, that [gpu_chol()], [gpu_matmult()], [gpu_crossprod()], [gpu_tcrossprod()], [chol_update()], [chol_downdate()] and
#'     [gpu_solve()] of a symmetric positive definite matrix may take for ordinary matrices: those that need more go part by part. Where unset, what is free.}
#'   \item{`cudafactor.devices`}{numbers of GPUs, counted from 0, such as `c(0, 2)`: `device = "auto"` uses these, where unset all. Several work together in
#'     [chol_file()], [chol_gpus()], and in [gpu_chol()] of an ordinary matrix of 40000 rows and more where they reach one another's memory, of 16384 and more where they are named here; everything else takes the first of them.}
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
#' * `device = "auto"` takes the first GPU where there is one that should be faster, else the CPU. A model estimates the time of
#'   the call on both, from its operations and its transfers, the threads in force and what the GPU says of itself:
#'   multiprocessors, clock, and how fast it is in double precision, which few GPUs are. The GPU must be faster by a quarter.
#'   Calls of fewer than 1e7 operations stay on the CPU, and so do those for which no known GPU would pay; they open no driver.
#'   What the model leaves out: the first call opens the driver, which takes a fraction of a second, and the first use of a kernel
#'   on a machine takes seconds, in which the driver compiles it.
#' * Orders in `cudafactor.breakeven` take the place of the model's own break-even, for other shapes too; `cudafactor.min_flops`,
#'   where set, that of both.
#' * A [gpu_matrix] is computed with where it is, whatever `device` says.
#' * In a process forked from one that used the GPU, such as `parallel::mclapply()` makes, `"auto"` stays on the CPU.
#'
#' `gpu_last_device()` tells where the last computation ran, [gpu_benchmark()] where the GPU begins to pay.
#'
#' @examples
#' old <- options(cudafactor.device = "cpu", cudafactor.threads = 1)
#' gpu_crossprod(matrix(1:6, 3))
#' gpu_last_device()
#' options(old)
#' @name cudafactor-options
#' @aliases cudafactor.device cudafactor.gpu_memory cudafactor.devices cudafactor.min_flops cudafactor.breakeven cudafactor.progress cudafactor.threads CUDAFACTOR_NUM_THREADS
NULL
