# MPS files that are compressed, damaged or not MPS files.

test_that("compressed files are read, and damage to them is an error", {
  text <- paste0(
    c("NAME P", rows, columns, rhs, sprintf("* %s", stats::rnorm(500)), "ENDATA"), "\n",
    collapse = ""
  )
  reference <- read(small())
  for (open in list(gzfile, bzfile, xzfile)) {
    file <- tempfile()
    con <- open(file, "wb")
    writeBin(charToRaw(text), con)
    close(con)
    expect_identical(lp_read_mps(file), reference)
    bytes <- readBin(file, "raw", 1e6)
    writeBin(bytes[seq_len(length(bytes) %/% 2)], file)
    expect_error(lp_read_mps(file), class = "cudafactor_error_file_format")
    bytes[[length(bytes) %/% 2]] <- xor(bytes[[length(bytes) %/% 2]], as.raw(16))
    writeBin(bytes, file)
    expect_error(lp_read_mps(file), class = "cudafactor_error_file_format")
    unlink(file)
  }
})

test_that("damage anywhere in a bzip2 file of several streams is an error", {
  set.seed(217)
  text <- paste0(
    c("NAME P", rows, columns, rhs, sprintf("* %s", stats::rnorm(500)), "ENDATA"), "\n",
    collapse = ""
  )
  file <- tempfile()
  stream <- function(text) memCompress(charToRaw(text), "bzip2")
  bytes <- c(stream(substr(text, 1, 5000)), stream(""), stream(substr(text, 5001, nchar(text))))
  writeBin(bytes, file)
  expect_identical(lp_read_mps(file), read(small()))
  for (at in unique(round(seq(1, length(bytes), length.out = 60)))) {
    damaged <- bytes
    damaged[[at]] <- xor(damaged[[at]], as.raw(16))
    writeBin(damaged, file)
    expect_error(lp_read_mps(file), class = "cudafactor_error_file_format")
  }
  unlink(file)
})

test_that("files that are cut off, binary, or no files have classed errors, without a wait", {
  text <- c("NAME P", rows, columns, rhs)
  e <- signalled(mps_file(text))
  expect_s3_class(e, "cudafactor_error_file_format")
  expect_match(conditionMessage(e), "without ENDATA")
  expect_identical(e$line, length(text) + 0)
  expect_identical(signalled(mps_file("no such thing"))$line, 1)
  expect_match(
    conditionMessage(signalled(mps_file("NAME P", columns, "ENDATA"))), "ROWS is missing"
  )
  expect_match(
    conditionMessage(signalled(mps_file("NAME P", rows, "ENDATA"))), "COLUMNS is missing"
  )
  expect_match(
    conditionMessage(signalled(small(c = c("COLUMNS", " X R1 1.5x")))), ":8: '1.5x' is not a number"
  )
  expect_match(
    conditionMessage(signalled(small(c = c("COLUMNS", " X R1 nan")))), ":8: 'nan' is not a number"
  )
  expect_match(conditionMessage(signalled(small(c = c("COLUMNS", " X R1 1e999")))), ":8: .*finite")
  file <- tempfile()
  writeBin(raw(), file)
  expect_match(conditionMessage(signalled(file)), "empty")
  writeBin(as.raw(c(1:255, 0, 1)), file)
  expect_s3_class(signalled(file), "cudafactor_error_file_format")
  expect_s3_class(signalled(tempfile()), "cudafactor_error_file")
  expect_error(lp_read_mps(tempdir()), "a folder", class = "cudafactor_error_file")
  skip_on_os("windows")
  pipe <- tempfile()
  system2("mkfifo", pipe)
  expect_match(conditionMessage(signalled(pipe)), "not a regular file")
})

test_that("no damage to a file's text is a bug of the package", {
  set.seed(1)
  text <- charToRaw(paste0(c(
    "NAME P", rows, " N D", columns, " M 'MARKER' 'INTORG'", " Z R1 3", " M 'MARKER' 'INTEND'", rhs,
    "RANGES", " G R1 -2", "BOUNDS", " UP B X -3", " FR Y", "ENDATA"
  ), "\n", collapse = ""))
  file <- tempfile()
  on.exit(unlink(file))
  seen <- character()
  for (k in 1:400) {
    damaged <- text
    places <- sample(length(text), sample(3, 1))
    damaged[places] <- as.raw(sample(c(10, 32, 39, 45, 65, 200, 0:255), length(places), TRUE))
    writeBin(if (k %% 4 == 0) damaged[seq_len(sample(length(text), 1))] else damaged, file)
    type <- c("auto", "fixed", "free")[[k %% 3 + 1]]
    e <- tryCatch(suppressWarnings(lp_read_mps(file, type, relax = TRUE)), error = identity)
    seen <- c(seen, if (inherits(e, "error")) class(e)[[1L]] else "read")
  }
  expect_setequal(seen, c("read", "cudafactor_error_file_format"))
})

test_that("arguments that make no sense are errors", {
  expect_error(lp_read_mps(), class = "cudafactor_error_argument")
  expect_error(lp_read_mps(1), class = "cudafactor_error_argument")
  expect_error(lp_read_mps("a", "loose"), class = "cudafactor_error_argument")
  expect_error(lp_read_mps("a", relax = NA), class = "cudafactor_error_argument")
})
