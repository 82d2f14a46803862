# lp_ipm() as a solver of package ROI.

test_that("ROI solves linear problems by lp_ipm()", {
  skip_if_not_installed("ROI")
  problem <- ROI::OP(
    ROI::L_objective(c(2, 4, 3), names = c("a", "b", "c")),
    ROI::L_constraint(
      matrix(c(3, 2, 1, 4, 1, 3, 2, 2, 2), 3), rep("<=", 3), c(60, 40, 80)
    ), maximum = TRUE
  )
  expect_true("cudafactor" %in% names(ROI::ROI_registered_solvers()))
  s <- ROI::ROI_solve(problem, "cudafactor")
  expect_equal(s$objval, 230 / 3, tolerance = 1e-7)
  expect_equal(ROI::solution(s), c(a = 0, b = 20 / 3, c = 50 / 3), tolerance = 1e-6)
  expect_equal(ROI::solution(s, "aux")$dual, c(5 / 6, 2 / 3, 0), tolerance = 1e-6)
  expect_equal(unname(ROI::solution(s, "dual")), c(-11 / 6, 0, 0), tolerance = 1e-6)
  expect_identical(s$status$code, 0L)
  few <- ROI::ROI_solve(problem, "cudafactor", control = list(max_iter = 1))
  expect_identical(few$status$code, 1L)
  bounded <- ROI::OP(
    ROI::L_objective(c(1, -1)), NULL,
    bounds = ROI::V_bound(li = 1, lb = -3, ui = 2, ub = 5, nobj = 2)
  )
  expect_equal(ROI::ROI_solve(bounded, "cudafactor")$objval, -8, tolerance = 1e-7)
  none <- ROI::OP(ROI::L_objective(1), ROI::L_constraint(matrix(1), "<=", -1))
  expect_identical(ROI::ROI_solve(none, "cudafactor")$status$code, 1L)
})
