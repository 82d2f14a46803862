#' cudafactor: matrix factorizations on NVIDIA GPUs
#'
#' Base R's `chol()`, `qr()`, `solve()`, `determinant()`, `%*%` and related functions on an NVIDIA
#' GPU. Without a GPU, or if a GPU would be slower, they run on the CPU with the same answers.
#' Results, attributes and error messages are base R's.
#'
#' | base R | cudafactor |
#' |---|---|
#' | `x %*% y` | [gpu_matmult()] |
#' | `crossprod()`, `tcrossprod()` | [gpu_crossprod()], [gpu_tcrossprod()] |
#' | `chol()`, `chol2inv()` | [gpu_chol()], [gpu_chol2inv()] |
#' | `chol(crossprod(r) + tcrossprod(v))`; `Matrix::updown()` | [chol_update()], [chol_downdate()] |
#' | `chol(a[-i, -i])`, or with new rows and columns | [chol_drop()], [chol_insert()] |
#' | `qr()`, `qr.Q()` | [gpu_qr()], [gpu_qr.Q()] |
#' | `qr.qy()`, `qr.qty()` | [gpu_qr.qy()], [gpu_qr.qty()] |
#' | `lm.fit()` | [gpu_lm_fit()] |
#' | `mapply(lm.fit, designs, responses)` | [gpu_lm_fit()] of arrays |
#' | `solve()`, `determinant()` | [gpu_solve()], [gpu_determinant()] |
#' | `Matrix::lu()` | [gpu_lu()] |
#' | `eigen()`, `svd()`, `norm()` | [gpu_eigen()], [gpu_svd()], [gpu_norm()] |
#' | `apply(x, 3, chol)`, `apply(x, 3, eigen)` | [gpu_chol()], [gpu_eigen()] of arrays |
#' | `prcomp()`, `MASS::ginv()` | [gpu_prcomp()], [gpu_ginv()] |
#' | `backsolve()`, `forwardsolve()` | [gpu_backsolve()], [gpu_forwardsolve()] |
#' | `chol()` of a matrix too large for one GPU | [chol_gpus()], [gpu_chol()] |
#' | `chol()` of a matrix on disk | [chol_file()] of a [tile_matrix()] |
#' | `x %*% y` with a matrix on disk | `x %*% y`, [gpu_matmult()]: [tile_matrix_products] |
#' | `solve()` with a factor on disk | [chol_solve()], [tile_matrix_solve] |
#' | `diag(chol2inv())` | [chol2inv_diag()] |
#' | `exp(-as.matrix(dist(x)))` | [gpu_covariance()]; [lazy_covariance()] for a [tile_matrix()] |
#' | `Rglpk_solve_LP()` | [lp_ipm()] |
#' | `random_walker()` of Python's scikit-image | [random_walker()] |
#' | any of these, with matrices that stay on the GPU | the same functions, after [as_gpu()] |
#'
#' [gpu_sitrep()] shows what the machine offers, and [cudafactor-options] how a device is chosen.
#' [gpu_benchmark()] measures where a GPU pays, and [gpu_mem()] shows who holds GPU memory.
#' [cudafactor_conditions] lists the errors. [gpu_save()] and [gpu_restore()] keep matrices on a
#' device in files. Attaching the package does not open the GPU driver.
#'
#' Signs of eigenvectors and singular vectors are not base R's, but follow a rule: see
#' [gpu_eigen()].
#'
#' @section Names:
#' A name that begins with `gpu_` is a twin of a function of a package that comes with R, such as
#' [gpu_chol()] for `chol()`, or a whole model computed on the device. It also marks functions about
#' the device itself, such as [gpu_info()]. Other names state a method, such as [pcg()], or the
#' object that is made, such as [tile_matrix()].
#'
#' @section Tours:
#' `vignette("getting-started", "cudafactor")` is the place to start.
#' `vignette("resident", "cudafactor")` shows matrices that stay on a GPU.
#'
#' @useDynLib cudafactor, .registration = TRUE
#' @keywords internal
"_PACKAGE"

#' Options, environment variables, and how a device is chosen
#'
#' Arguments `device` and `precision` say where and how a function computes. Option
#' `cudafactor.device` has the default of `device`. Every call reads all options.
#'
#' @section Options:
#' \describe{
#'   \item{`cudafactor.device`}{the default of `device`: `"auto"` (if unset), `"cpu"`, `"cuda"` or
#'     `"cuda:<number>"`.}
#'   \item{`cudafactor.min_flops`}{the smallest number of floating-point operations for which
#'     `"auto"` uses the GPU. If unset, a model decides.}
#'   \item{`cudafactor.breakeven`}{measured orders from which the GPU is faster, as
#'     [gpu_benchmark()] finds them: a vector with some of the names `product`, `crossprod`, `chol`,
#'     `lu`, `qr`, `solve`, `eigen`, `svd`. Inf means never, NA means that the model decides. They
#'     count for calls in double precision. `gpu_benchmark(keep = TRUE)` sets it for this and later
#'     sessions.}
#'   \item{`cudafactor.emulation`}{do GPUs compute products in double precision from 8-bit integers?
#'     `"auto"` (if unset): where that is estimated to be faster. `"never"`, or `"always"` where the
#'     bound on errors allows it. See the section Products from integers.}
#'   \item{`cudafactor.progress`}{do calls longer than two seconds show a progress bar on stderr?
#'     `TRUE`, `FALSE`, or a number of seconds to wait. If unset, `TRUE` in an interactive session
#'     and else `FALSE`. The bar has the rate and the time left. For matrices on disk it also has
#'     the phase and the bytes read and written. If [gpu_chol()] or [gpu_solve()] works part by
#'     part, it has the bytes read from the matrix and written to the factor.}
#'   \item{`cudafactor.verbose`}{does each computation show its plan by [message()]? `TRUE` or
#'     `FALSE`. If unset, `FALSE`. See the section Plans.}
#'   \item{`cudafactor.gpu_memory`}{bytes of each GPU's memory, such as `8e9`, that one call may use
#'     for ordinary matrices. A call that needs more works part by part. It holds for [gpu_chol()],
#'     [gpu_matmult()], [gpu_crossprod()], [gpu_tcrossprod()], [chol_update()], [chol_downdate()],
#'     and [gpu_solve()] of a symmetric positive definite matrix. If unset, all free memory.
#'     Workspace for products from integers comes on top: at most an eighth of the GPU's memory.}
#'   \item{`cudafactor.devices`}{numbers of the GPUs that `device = "auto"` uses, counted from 0,
#'     such as `c(0, 2)`. If unset, all. Several GPUs work together in [chol_file()] and
#'     [chol_gpus()]. In [gpu_chol()] of an ordinary matrix they do so from 16384 rows on if this
#'     option names several. Without this option `gpu_chol()` uses several GPUs from 40000 rows on,
#'     in double precision, if they reach one another's memory. Other functions use the
#'     lowest-numbered GPU.}
#'   \item{`cudafactor.threads`}{number of threads on the CPU: a whole number. More than 4096, or
#'     Inf, is taken as 4096. If 0 or unset, it is `CUDAFACTOR_NUM_THREADS`, else the number of
#'     cores, at most `OMP_THREAD_LIMIT`.}
#' }
#'
#' @section Environment variables:
#' \describe{
#'   \item{`CUDAFACTOR_NUM_THREADS`}{number of threads on the CPU if the option is not set.}
#'   \item{`OMP_THREAD_LIMIT`}{the largest number of threads if the option and
#'     `CUDAFACTOR_NUM_THREADS` are not set.}
#'   \item{`CUDA_VISIBLE_DEVICES`}{the driver's own variable: which GPUs it shows, and in what
#'     order. It is read once, when the driver starts.}
#'   \item{`CUDA_CACHE_PATH`}{the folder in which the driver keeps what it compiles. If unset, it is
#'     `~/.nv/ComputeCache`.}
#' }
#'
#' @section How a device is chosen:
#' * `device = "cpu"` never uses a GPU or its driver.
#' * `device = "cuda"` (the first GPU, `"cuda:0"`) or `"cuda:1"` computes there, or stops with a
#'   `cudafactor_error_device`. It never switches to the CPU.
#' * `device = "auto"` uses the lowest-numbered GPU of `cudafactor.devices`, if it should be faster
#'   by at least a quarter, else the CPU. A model estimates the time of the call on both. It knows
#'   the operations, the transfers, the CPU threads, and the GPU's multiprocessors, clock and speed
#'   in double precision.
#' * If the GPU that `"auto"` chose fails, has too little memory, or gives an answer that fails its
#'   check, the call runs again on the CPU.
#' * Calls of fewer than 1e7 operations stay on the CPU and do not open the driver. So do calls for
#'   which no known GPU would be faster. Sparse systems, covariances, images and matrices in files
#'   have size limits of their own.
#' * The model leaves out start-up: opening the driver takes a fraction of a second. The package has
#'   machine code for GPUs of compute capability 7.5 to 10.3 and 12. On others the first use of a
#'   kernel takes seconds, in which the driver compiles it. The driver keeps the result in its own
#'   cache. [gpu_sitrep()] compiles all kernels, which takes a minute.
#' * `cudafactor.breakeven` replaces the orders from which the model takes the GPU, for other shapes
#'   too. `cudafactor.min_flops` replaces the model, these orders and the bound of 1e7 operations.
#' * Functions compute with a [gpu_matrix] on its device, whatever `device` says. The help of
#'   [gpu_matrix] names exceptions.
#' * In a process forked from one that used the GPU, as by `parallel::mclapply()`, `"auto"` stays on
#'   the CPU.
#'
#' `gpu_last_device()` tells where the last computation ran.
#'
#' @section Products from integers:
#' The tensor cores of many GPUs multiply 8-bit integers a hundred times as fast as doubles. The
#' package scales rows and columns by powers of two and rounds them to integers. It takes the
#' remainders of these after division by each of several small numbers, at most 16 of them. Products
#' of remainders are exact, and the product follows from them (scheme II of Ozaki, Uchino and
#' Imamura, arXiv:2504.08009).
#'
#' Every product in double precision on a GPU may come from integers, if it is large enough to pay.
#' Those inside of other computations count too: factorizations, triangular systems, [gpu_solve()],
#' [gpu_lm_fit()], and [lp_ipm()] and [pcg()] with dense matrices. [gpu_info()] and [gpu_sitrep()]
#' tell from which order a GPU does it. The last bits of a result therefore depend on the option,
#' the sizes and the GPU.
#'
#' The error of each entry of a product `A %*% B` is within the bound of double precision,
#' `k 2^-53 (abs(A) %*% abs(B))` for `k` columns of `A`. Underflow is outside of this bound, as it
#' is for doubles. The package reads from the operands how many small numbers the bound takes. Where
#' the bound cannot be proven for a block of the result, that block is computed in double precision.
#' Examples are magnitudes that differ widely within a row, and rows and columns of zeros and
#' rounded numbers that hardly overlap. The whole product is computed in double precision if
#' * entries are NA, NaN or infinite,
#' * or the product may overflow.
#'
#' In [gpu_lu()] and [gpu_solve()], GPUs that are fast in double precision use it for any product of
#' which an operand contains a zero.
#'
#' Products of integers of up to about 35 bits are exact where doubles can hold them. Inside of
#' [gpu_chol()], [gpu_qr()] and the reductions of [gpu_eigen()] and [gpu_svd()] the bound is that of
#' norms of rows and columns, as their analysis asks.
#'
#' @section Plans:
#' With `options(cudafactor.verbose = TRUE)` a computation says where and how it ran, and why, such
#' as
#' ```
#' gpu_chol(): 8192 x 8192, double: on the CPU with 2 threads (no GPU was found)
#' ```
#' On a GPU the plan also tells how the matrices go there: loaded whole, streamed in blocks of
#' columns, in parts, by tiles, or by panels. It tells the bytes of the operands and the result, and
#' the free bytes of the GPU's memory. Times in a plan are predictions of the model.
#'
#' The message comes when the computation ends, before its error if it fails. A device that does not
#' exist has no plan. Work that has no
#' choice of device shows no plan, such as arithmetic of a [gpu_matrix].
#'
#' The condition has classes `cudafactor_plan`, `message` and `condition`, and fields `device`,
#' `way`, `cpu_seconds`, `gpu_seconds` and `free_bytes`. Numbers that the call did not need are NA.
#' `way` is `"whole"`, `"resident"`, `"streamed"`, `"parts"`, `"tiled"` or `"panels"`.
#'
#' @examples
#' old <- options(cudafactor.device = "cpu", cudafactor.threads = 1)
#' gpu_crossprod(matrix(1:6, 3))
#' gpu_last_device()
#'
#' old <- c(old, options(cudafactor.verbose = TRUE))
#' r <- gpu_chol(diag(3))
#' options(old)
#' @name cudafactor-options
#' @aliases cudafactor.device cudafactor.gpu_memory cudafactor.devices cudafactor.min_flops
#' @aliases cudafactor.breakeven cudafactor.progress cudafactor.threads CUDAFACTOR_NUM_THREADS
#' @aliases cudafactor.verbose cudafactor.emulation
NULL
