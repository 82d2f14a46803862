# The NETLIB problems of the folder shared/data, which is not in the repository.

netlib_folder <- function() {
  folders <- c(
    Sys.getenv("CUDAFACTOR_DATA"), "../shared/data", "../../../shared/data",
    "../../../../shared/data"
  )
  folders <- file.path(folders[nzchar(folders)], "netlib")
  Find(function(folder) file.exists(file.path(folder, "optima.csv")), folders)
}

netlib <- function(name, folder) {
  file <- Find(file.exists, file.path(folder, paste0(name, c(".mps", ".mps.gz"))))
  lp_read_mps(file)
}

skip_without_netlib <- function() {
  skip_if(
    is.null(netlib_folder()), "no folder data/netlib: set CUDAFACTOR_DATA to the folder of the data"
  )
}

ten <- c(
  "adlittle", "afiro", "agg2", "agg3", "bandm", "beaconfd", "blend", "e226", "sc50b", "sctap1"
)

test_that("all files read alike in the fixed and in the free format, with known sizes", {
  skip_without_netlib()
  folder <- netlib_folder()
  known <- utils::read.csv(file.path(folder, "optima.csv"))
  known <- known[nzchar(known$file) & !is.na(known$m), ]
  for (k in seq_len(nrow(known))) {
    file <- file.path(folder, known$file[[k]])
    p <- lp_read_mps(file)
    expect_identical(p, lp_read_mps(file, "fixed"), info = file)
    expect_identical(p, lp_read_mps(file, "free"), info = file)
    # HiGHS, which counted them, leaves out coefficients up to 1e-9.
    expect_identical(
      c(p$mat$nrow, p$mat$ncol, sum(abs(p$mat$v) > 1e-9)),
      c(known$m[[k]], known$n[[k]], known$nnz[[k]]), info = file
    )
    expect_identical(sum(p$dir == "=="), known$n_eq[[k]], info = file)
    expect_equal(
      p$constant, if (is.na(known$file_constant[[k]])) 0 else known$file_constant[[k]], info = file
    )
  }
})

test_that("all solvable problems are solved to 1e-8, in few iterations", {
  skip_without_netlib()
  folder <- netlib_folder()
  known <- utils::read.csv(file.path(folder, "optima.csv"))
  known <- known[known$status == "optimal", ]
  iterations <- integer()
  for (name in known$name) {
    p <- netlib(name, folder)
    r <- do.call(lp_ipm, p)
    row <- known[known$name == name, ]
    expect_identical(r$status, 0L, info = name)
    expect_lte(max(r$residuals), 1e-8)
    optimum <- row$reference_optimum
    expect_lte(abs(r$optimum - optimum) / abs(optimum), 1e-7, label = name)
    iterations[[name]] <- r$iterations
  }
  expect_length(iterations, 28L)
  expect_lte(max(iterations[ten]), 22L)
  expect_lte(sum(iterations), 1.15 * 465)
})

test_that("the ten of the paper are solved as dense problems, too", {
  skip_without_netlib()
  skip_if_not_installed("slam")
  folder <- netlib_folder()
  known <- utils::read.csv(file.path(folder, "optima.csv"))
  for (name in ten) {
    p <- netlib(name, folder)
    p$mat <- as_gpu(as.matrix(p$mat))
    r <- do.call(lp_ipm, p)
    row <- known[known$name == name, ]
    expect_identical(r$status, 0L, info = name)
    optimum <- row$reference_optimum
    expect_lte(abs(r$optimum - optimum) / abs(optimum), 1e-7, label = name)
  }
})

test_that("infeasible and unbounded problems are proved to be so", {
  skip_without_netlib()
  skip_if_not_installed("slam")
  folder <- netlib_folder()
  for (name in c("galenet", "itest2", "klein1", "forest6")) {
    p <- netlib(name, folder)
    r <- do.call(lp_ipm, p)
    expect_identical(r$status, 1L, info = name)
    y <- r$certificate$rows
    a <- as.matrix(p$mat)
    combined <- drop(y %*% a)
    combined[abs(combined) < 1e-7] <- 0
    upper <- rep(Inf, ncol(a))
    upper[p$bounds$upper$ind] <- p$bounds$upper$val
    lower <- numeric(ncol(a))
    lower[p$bounds$lower$ind] <- p$bounds$lower$val
    reach <- sum(ifelse(combined > 0, combined * upper, ifelse(combined < 0, combined * lower, 0)))
    small <- abs(y) < 1e-7
    wrong <- !small & (p$dir == "<=" & y > 0 | p$dir == ">=" & y < 0)
    expect_false(any(wrong), info = name)
    expect_gt(sum(y * p$rhs) - reach, 0.5)
  }
  expect_identical(do.call(lp_ipm, netlib("gas11", folder))$status, 2L)
  p <- netlib("stocfor1", folder)
  p$max <- TRUE
  r <- do.call(lp_ipm, p)
  expect_identical(r$status, 2L)
  expect_equal(sum(p$obj * r$certificate$ray), 1, tolerance = 1e-6)
})
