# lp_read_mps(): a small file for each rule of the format. Expected values are those that HiGHS 1.16
# reads, unless a comment says why not.

test_that("a free file gives the arguments of lp_ipm(), with names", {
  p <- read(small())
  expect_identical(
    dense(p), matrix(c(1, 1, 0, 1, 0, 1), 3, dimnames = list(c("R1", "R2", "R3"), c("X", "Y")))
  )
  expect_identical(p$obj, c(X = 1, Y = 2))
  expect_identical(p$dir, c("<=", ">=", "=="))
  expect_identical(p$rhs, c(R1 = 4, R2 = 1, R3 = 2))
  expect_identical(full(p), list(lower = c(0, 0), upper = c(Inf, Inf)))
  expect_false(p$max)
  expect_null(p$range)
  expect_identical(p$constant, 0)
  expect_identical(attr(p, "name"), "P")
  expect_identical(attr(p, "objective"), "C")
  r <- do.call(lp_ipm, p)
  expect_equal(r$solution, c(X = 1, Y = 2), tolerance = 1e-6)
  expect_named(r$dual, c("R1", "R2", "R3"))
  expect_named(r$slack, c("R1", "R2", "R3"))
  expect_named(r$solution_dual, c("X", "Y"))
})

test_that("a right-hand side of the objective is minus its constant", {
  p <- read(small(after = " RHS C -10"))
  expect_identical(p$constant, 10)
  expect_equal(do.call(lp_ipm, p)$optimum, 15, tolerance = 1e-7)
  p <- read(small("OBJSENSE MAX", after = " RHS C -10"))
  expect_true(p$max)
  expect_equal(do.call(lp_ipm, p)$optimum, 16, tolerance = 1e-7)
  # HiGHS takes that of a row of type N that it drops as the objective's.
  p <- read(small(r = c("ROWS", " N C", " N D", rows[-(1:2)]), after = " RHS D 5"))
  expect_identical(p$constant, 0)
})

test_that("OBJSENSE is on the same line or the next one, in any case", {
  senses <- list(
    "OBJSENSE MAX", "OBJSENSE MAXIMIZE", "objsense maximise", c("OBJSENSE", "    MAX"),
    c("OBJSENSE", " Maximize"), c("OBJSENSE MIN", " MAX")
  )
  for (before in senses) expect_true(read(small(before))$max, info = before[[1L]])
  for (before in list(
    "OBJSENSE MIN", c("OBJSENSE", "    MINIMIZE"), "NAME"
  )) expect_false(read(small(before))$max)
  e <- signalled(small(c("NAME P", "OBJSENSE", " UP")))
  expect_s3_class(e, "cudafactor_error_file_format")
  expect_identical(e$line, 3)
})

test_that("the first row of type N is the objective, or that of OBJNAME", {
  r <- c("ROWS", " N C", " N D", " L R1")
  c <- c("COLUMNS", " X C 1 D 5", " X R1 1")
  b <- c("RHS", " RHS R1 4")
  p <- read(small(r = r, c = c, b = b))
  expect_identical(list(p$obj, attr(p, "objective"), p$mat$nrow), list(c(X = 1), "C", 1L))
  # HiGHS disregards OBJNAME.
  for (before in list(c("OBJNAME", "    D"), "OBJNAME D")) {
    p <- read(small(before, r = r, c = c, b = b))
    expect_identical(list(p$obj, attr(p, "objective")), list(c(X = 5), "D"))
  }
  expect_match(
    conditionMessage(signalled(small("OBJNAME R1", r = r, c = c, b = b))), ":11: OBJNAME names 'R1'"
  )
  w <- signalled(small(r = c("ROWS", " L R1"), c = c("COLUMNS", " X R1 1"), b = b))
  expect_s3_class(w, "cudafactor_warning_argument")
  p <- suppressWarnings(read(small(r = c("ROWS", " L R1"), c = c("COLUMNS", " X R1 1"), b = b)))
  expect_identical(p$obj, c(X = 0))
})

test_that("ranges have HiGHS's signs, wherever the section is", {
  ranges <- c("RANGES", " G R1 -2 R2 -3", " G R3 5")
  limits <- function(p) cudafactor:::lp_rows(p$dir, p$rhs, p$range, 3L, NULL)[c("lower", "upper")]
  expected <- list(lower = c(2, 1, 2), upper = c(4, 4, 7))
  expect_identical(limits(read(small(after = ranges))), expected)
  # HiGHS loses a range that comes before its right-hand side.
  expect_identical(limits(read(small(b = c(ranges, rhs)))), expected)
  below <- limits(read(small(after = c("RANGES", " G R3 -5"))))
  expect_identical(below, list(lower = c(-Inf, 1, -3), upper = c(4, Inf, 2)))
  none <- limits(read(small(after = c("RANGES", " G R3 0", " G C 3"))))
  expect_identical(none, list(lower = c(-Inf, 1, 2), upper = c(4, Inf, 2)))
})

test_that("bounds of all kinds are read", {
  kinds <- c(
    A = "LO B A 3", B = "UP B B 3", D = "FX B D 3", E = "FR B E", F = "MI B F", G = "PL B G",
    H = "up B H 1D1", I = "UP B I 1e30", J = "MI B J 7"
  )
  c <- c("COLUMNS", sprintf(" %s R1 1", names(kinds)))
  p <- read(small(c = c, after = c("BOUNDS", paste0(" ", kinds))))
  expect_identical(full(p), list(
    lower = c(3, 0, 3, -Inf, -Inf, 0, 0, 0, -Inf), upper = c(
      Inf, 3, 3, Inf, Inf, Inf, 10, 1e30, Inf
    )
  ))
  p <- read(small(after = c("BOUNDS", " MI B X", " UP B X -2", " LO B Y -3", " UP B Y -1")))
  expect_identical(full(p), list(lower = c(-Inf, -3), upper = c(-2, -1)))
  expect_match(
    conditionMessage(signalled(small(after = c("BOUNDS", " XX B X 1")))), "no kind of bound 'XX'"
  )
  expect_match(conditionMessage(signalled(small(after = c("BOUNDS", " UP B X")))), ":16: ")
})

test_that("a negative upper bound without a lower one makes that infinite, with a warning", {
  # So does HiGHS for the fixed format; in the free one it keeps 0, and nothing is between the
  # bounds.
  file <- small(after = c("BOUNDS", " UP B X -3"))
  expect_warning(
    p <- read(file), ":16: column 'X' has a negative upper bound",
    class = "cudafactor_warning_argument"
  )
  expect_identical(full(p), list(lower = c(-Inf, 0), upper = c(-3, Inf)))
  p <- read(small(after = c("BOUNDS", " UP B X -3", " LO B X 0")))
  expect_identical(full(p)$lower, c(0, 0))
})

test_that("names of sets may be missing", {
  p <- read(
    small(
      b = c("RHS", " R1 4 R2 1", " R3 2"),
      after = c("RANGES", " R1 3", "BOUNDS", " UP X 3", " FR Y")
    )
  )
  expect_identical(p$rhs, c(R1 = 4, R2 = 1, R3 = 2))
  expect_identical(p$range, c(3, NA, NA))
  expect_identical(full(p), list(lower = c(0, -Inf), upper = c(3, Inf)))
  # The problem's name behind that of the set.
  expect_identical(read(small(b = c("RHS", " RHS P R1 4")))$rhs[["R1"]], 4)
})

test_that("a second set adds to the first one, with a warning, and the first number counts", {
  caught <- character()
  collect <- function(file) {
    caught <<- character()
    withCallingHandlers(read(file), cudafactor_warning_argument = function(w) {
      caught <<- c(caught, sub("^.*mps:", "", conditionMessage(w)))
      invokeRestart("muffleWarning")
    })
  }
  p <- collect(small(b = c("RHS", " RHS R1 4", " RHS2 R1 9 R3 7", " RHS2 C 3")))
  expect_identical(p$rhs, c(R1 = 4, R2 = 0, R3 = 7))
  expect_identical(p$constant, -3)
  expect_length(caught, 2L)
  expect_match(caught[[1L]], "^14: 'RHS2' is a second set.*\\(and 1 more\\)$")
  expect_match(caught[[2L]], "^14: row 'R1' has two values")
  p <- collect(small(after = c("RANGES", " A R1 1 R3 -2", " B R1 3 R2 4")))
  expect_identical(p$range, c(1, 4, -2))
  expect_length(caught, 2L)
  p <- collect(small(after = c("BOUNDS", " UP A X 1", " UP B X 2", " UP B Y 5", " FX B X 9")))
  expect_identical(full(p), list(lower = c(0, 0), upper = c(1, 5)))
  expect_length(caught, 2L)
  p <- collect(small(c = c("COLUMNS", " X C 1 R1 1", " X R1 7 C 3", " Y R1 1")))
  expect_identical(dense(p)["R1", ], c(X = 1, Y = 1))
  expect_identical(p$obj, c(X = 1, Y = 0))
  expect_match(caught, "^9: column 'X' has a row twice.*\\(and 1 more\\)$")
})

test_that("entries of rows and bounds of columns that do not exist are told of", {
  c <- c("COLUMNS", " X C 1 RR 1", " X R1 2")
  file <- small(c = c, b = c("RHS", " RHS R1 4 QQ 3"))
  expect_warning(
    p <- read(file), ":8: there is no row 'RR'.*\\(and 1 more\\)",
    class = "cudafactor_warning_argument"
  )
  expect_identical(dense(p)[, "X"], c(R1 = 2, R2 = 0, R3 = 0))
  expect_warning(p <- read(small(after = c("BOUNDS", " UP B Q 5"))), "column 'Q' is in BOUNDS only")
  expect_identical(p$obj, c(X = 1, Y = 2, Q = 0))
  expect_identical(full(p)$upper, c(Inf, Inf, 5))
})

test_that("rows and columns that are defined twice are errors", {
  # HiGHS warns, and has two of one name.
  e <- signalled(small(r = c(rows, " L R1")))
  expect_s3_class(e, "cudafactor_error_file_format")
  expect_identical(e$line, 7)
  e <- signalled(small(c = c(columns, " X R3 1")))
  expect_identical(e$line, 12)
})

test_that("integer variables are an error, or relaxed when that is asked for", {
  c <- c(
    "COLUMNS", " M1 'MARKER' 'INTORG'", " X C 1 R1 1", " Z C 1 R1 1", " M2 'MARKER' 'INTEND'",
    " Y C 2 R1 1"
  )
  bounds <- c("BOUNDS", " UP B X 4")
  e <- signalled(small(c = c, after = bounds))
  expect_s3_class(e, "cudafactor_error_file_format")
  expect_match(conditionMessage(e), "2 integer variables, the first one 'X': relax = TRUE")
  p <- read(small(c = c, after = bounds), relax = TRUE)
  # Without a bound, whole numbers are 0 or 1.
  expect_identical(full(p), list(lower = c(0, 0, 0), upper = c(4, 1, Inf)))
  expect_identical(attr(p, "integers"), c("X", "Z"))
  for (bound in c(" BV B X", " LI B X 2", " UI B X 5")) {
    expect_s3_class(signalled(small(after = c("BOUNDS", bound))), "cudafactor_error_file_format")
  }
  p <- read(small(after = c("BOUNDS", " BV B X", " LI B Y 2", " UI B Y 5")), relax = TRUE)
  expect_identical(full(p), list(lower = c(0, 2), upper = c(1, 5)))
  expect_match(
    conditionMessage(signalled(small(after = c("BOUNDS", " SC B X 3")), relax = TRUE)),
    ":16: column 'X'"
  )
  expect_match(conditionMessage(signalled(small(c = c[-5]), relax = TRUE)), "INTEND")
  expect_match(conditionMessage(signalled(small(c = c[-2]), relax = TRUE)), "INTORG")
})

test_that("sections that no linear program has are errors, unless they are empty", {
  for (section in c("QUADOBJ", "QSECTION C", "SOS", "INDICATORS")) {
    e <- signalled(small(after = c(section, " X X 1")))
    expect_s3_class(e, "cudafactor_error_file_format")
    expect_identical(e$line, 16, info = section)
  }
  expect_identical(read(small(after = "QUADOBJ")), read(small()))
})

test_that("blank lines, comments, tabs, CRLF and lower case change nothing", {
  reference <- read(small())
  text <- c("NAME P", rows, columns, rhs, "ENDATA")
  expect_identical(
    read(mps_file("", "* RHS", text[1:3], "   ", "*", text[-(1:3)], "after the end")), reference
  )
  expect_identical(read(mps_file(gsub(" ", "\t", text))), reference)
  expect_identical(
    read(mps_file(sub("^(NAME|ROWS|COLUMNS|RHS|ENDATA)", "\\L\\1", text, perl = TRUE))), reference
  )
  expect_identical(read(mps_file(sub("^ ([NLGE]) ", " \\L\\1 ", text, perl = TRUE))), reference)
  expect_identical(read(mps_file(sub("^ ", "", text))), reference)
  file <- tempfile(fileext = ".mps")
  writeBin(charToRaw(paste0("\ufeff", paste(text, collapse = "\r\n"))), file)
  expect_identical(read(file), reference)
  # A column and a set with the names of sections.
  p <- read(small(c = c("COLUMNS", "RHS C 1 R1 1", "NAME R1 2"), b = c("RHS", "BOUNDS R1 4")))
  expect_identical(p$obj, c(RHS = 1, NAME = 0))
  expect_identical(p$rhs[["R1"]], 4)
})

test_that("names with blanks are read by columns, as are those of fixed files without", {
  fixed <- c(
    "NAME          MY PLAN A", "ROWS", " N  COST", " G  A NEED", " E  THE SUM", "COLUMNS",
    "    X 1       COST               2.0   A NEED             1.0",
    "    X 1       THE SUM            1.0",
    "    Y         COST               3.0   A NEED             2.0",
    "    Y         THE SUM            1.0", "RHS",
    "              A NEED             4.0   THE SUM            3.0",
    "RANGES", "    RNG       A NEED             1.5", "BOUNDS",
    " UP BND       X 1                9.0", " FR BND       Y", "ENDATA"
  )
  p <- read(mps_file(fixed))
  expect_identical(p, read(mps_file(fixed), "fixed"))
  expect_identical(attr(p, "name"), "MY PLAN A")
  expect_identical(
    dense(p), matrix(c(1, 1, 2, 1), 2, dimnames = list(c("A NEED", "THE SUM"), c("X 1", "Y")))
  )
  expect_identical(p$rhs, c("A NEED" = 4, "THE SUM" = 3))
  expect_identical(p$range, c(1.5, NA))
  expect_identical(full(p), list(lower = c(0, -Inf), upper = c(9, Inf)))
  expect_equal(do.call(lp_ipm, p)$solution, c("X 1" = 2, Y = 1), tolerance = 1e-6)
  e <- signalled(mps_file(fixed), "free")
  expect_identical(e$line, 4)
  plain <- gsub(
    "MY PLAN A", "PLAN",
    gsub("A NEED", "A_NEED", gsub("THE SUM", "THE_SUM", gsub("X 1", "X_1", fixed)))
  )
  expect_identical(read(mps_file(plain)), read(mps_file(plain), "fixed"))
  expect_identical(read(mps_file(plain)), read(mps_file(plain), "free"))
  e <- signalled(small(), "fixed")
  expect_s3_class(e, "cudafactor_error_file_format")
})
