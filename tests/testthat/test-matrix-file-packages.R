# Files of packages bigmemory and hdf5r, which are the judges where they are installed.

tile <- 7L

folder_for_test <- function() {
  folder <- tempfile("formats")
  dir.create(folder)
  folder
}

read_back <- function(x, ...) {
  file <- tempfile(fileext = ".tiles")
  on.exit(unlink(file))
  as.matrix(tile_matrix(x, file, tile = tile, ...))
}

description <- function(..., before = "") {
  facts <- utils::modifyList(list(
    sharedType = "\"FileBacked\"", filename = "\"x.bin\"", dirname = "\"/tmp/\"", totalRows = "3L",
    totalCols = "4L", rowOffset = "c(0, 3)", colOffset = "c(0, 4)",
    nrow = "3", ncol = "4", rowNames = "NULL", colNames = "NULL", type = "\"double\"",
    separated = "FALSE"
  ), list(...))
  sprintf(
    "%snew(\"big.matrix.descriptor\", description = list(%s))", before,
    paste(names(facts), unlist(facts), sep = " = ", collapse = ", ")
  )
}

test_that("descriptions are read without the package, and without running anything", {
  folder <- folder_for_test()
  on.exit(unlink(folder, recursive = TRUE))
  desc <- file.path(folder, "x.desc")
  x <- matrix(1:12 + 0.5, 3)
  writeBin(as.vector(x), file.path(folder, "x.bin"))
  try_with <- function(...) {
    writeLines(description(...), desc)
    matrix_file(desc)
  }
  expect_identical(read_back(try_with()), x)
  expect_identical(dim(try_with(rowNames = "c(\"a\", NA, \"c\")")), 3:4)
  expect_identical(
    dimnames(try_with(rowNames = "c(\"a\", NA, \"c\")")), list(c("a", NA, "c"), NULL)
  )
  part <- try_with(rowOffset = "1:2", nrow = "2L", colOffset = "c(1, 3)", ncol = "3")
  expect_identical(read_back(part), x[2:3, 2:4])
  # What would run something says so by a file.
  ran <- file.path(folder, "ran")
  evil <- c(
    sprintf("system(\"touch '%s'\")", ran), sprintf("file.create(\"%s\")", ran), sprintf(
      "{file.create(\"%s\"); 3}", ran
    ),
    sprintf("(function() file.create(\"%s\"))()", ran), sprintf("c(0, file.create(\"%s\"))", ran),
    sprintf("c(0, 3, x = c(base::file.create(\"%s\")))", ran),
    sprintf(
      "structure(3, class = file.create(\"%s\"))", ran
    ), sprintf("numeric(file.create(\"%s\"))", ran), sprintf("1:file.create(\"%s\")", ran),
    sprintf(
      "-file.create(\"%s\")", ran
    ), "quote(x)", "T", "c", "1:1e300", "\\(x) x", "NULL$a", "\"a\"()", "1i"
  )
  for (code in evil) {
    for (field in c(
      "sharedType", "filename", "totalRows", "rowOffset", "nrow", "colNames", "type", "separated",
      "more"
    )) {
      if (field == "more" && code == "1i") next
      fact <- structure(list(code), names = field)
      expect_error(
        do.call(try_with, fact), class = "cudafactor_error_file_format", info = paste(field, code)
      )
    }
  }
  for (before in c(
    sprintf("file.create(\"%s\"); ", ran), sprintf("file.create(\"%s\")\n", ran),
    sprintf("new <- function(...) file.create(\"%s\")\n", ran)
  )) {
    expect_error(try_with(before = before), class = "cudafactor_error_file_format")
  }
  for (text in c("", "1", "new", "new()", "new(\"a\")", "new(\"big.matrix.descriptor\")",
    "new(\"big.matrix.descriptor\", description = 1)",
    "new(\"big.matrix.descriptor\", description = list())",
    "new(\"big.matrix.descriptor\", description = list(1))", "list(", "\xff\xfe", strrep("c(", 1e4),
    "new(\"big.matrix.descriptor\", list(a = 1))",
    "methods::new(\"big.matrix.descriptor\", description = list(a = 1))")) {
    writeLines(text, desc, useBytes = TRUE)
    expect_error(matrix_file(desc), class = "cudafactor_error_file_format")
  }
  saveRDS(list(1), desc)
  expect_error(matrix_file(desc), "binary", class = "cudafactor_error_file_format")
  wrong <- list(
    sharedType = "\"SharedMemory\"", filename = "\"../x.bin\"", filename = "\"/etc/passwd\"",
    filename = "\"..\"", filename = "\"\"", filename = "NULL",
    filename = "NA_character_", totalRows = "NA", totalRows = "-3", totalRows = "c(3, 3)",
    totalRows = "1e300", rowOffset = "c(1, 3)", colOffset = "c(0, 5)", nrow = "4", ncol = "\"4\"",
    type = "\"complex\"", type = "\"quad\"", type = "8", separated = "NA", separated = "1",
    rowNames = "\"a\"", colNames = "1:4"
  )
  for (k in seq_along(wrong)) {
    expect_error(
      do.call(try_with, wrong[k]), class = "cudafactor_error_file_format",
      info = paste(names(wrong)[[k]], wrong[[k]])
    )
  }
  expect_error(try_with(totalRows = "30", totalCols = "40"), class = "cudafactor_error_file_format")
  expect_error(try_with(filename = "\"none.bin\""), class = "cudafactor_error_file")
  # The files of separated columns are there only when they are read.
  expect_error(read_back(try_with(separated = "TRUE")), class = "cudafactor_error_file")
  expect_false(file.exists(ran))
})

test_that("bigmemory's matrices are read, by their files and as objects", {
  skip_if_not_installed("bigmemory")
  old <- options(bigmemory.typecast.warning = FALSE)
  folder <- folder_for_test()
  on.exit({
    options(old)
    unlink(folder, recursive = TRUE)
  })
  set.seed(1)
  for (type in c("double", "float", "integer", "short", "char", "raw")) {
    for (separated in c(FALSE, TRUE)) {
      m <- 3L * tile + 2L
      n <- tile + 1L
      x <- matrix(as.double(sample.int(99, m * n, TRUE)), m, n)
      name <- paste0(type, separated)
      make <- function(backed) {
        arguments <- list(m, n, type = type, separated = separated)
        if (backed) {
          arguments <- c(arguments, list(
            backingfile = paste0(name, ".bin"), descriptorfile = paste0(name, ".desc"),
            backingpath = folder, dimnames = list(paste0("r", 1:m), NULL)
          ))
        }
        big <- do.call(bigmemory::big.matrix, arguments)
        values <- if (type == "raw") array(as.raw(x), dim(x)) else x
        for (j in 1:n) big[, j] <- values[, j]
        big
      }
      if (!(type %in% c("raw", "float"))) {
        x[3, 2] <- NA
      }
      big <- make(TRUE)
      bigmemory::flush(big)
      f <- matrix_file(file.path(folder, paste0(name, ".desc")))
      named <- x
      rownames(named) <- paste0("r", 1:m)
      expect_identical(read_back(f), named, info = name)
      expect_identical(dimnames(f), dimnames(named))
      expect_identical(read_back(big), named, info = name)
      expect_identical(read_back(make(FALSE)), x, info = name)
      part <- bigmemory::sub.big.matrix(
        big, firstRow = 2, lastRow = m - 1, firstCol = 3, lastCol = n - 1
      )
      dput(bigmemory::describe(part), desc <- file.path(folder, paste0(name, "part.desc")))
      expect_identical(read_back(matrix_file(desc)), named[2:(m - 1), 3:(n - 1)], info = name)
      expect_identical(read_back(part), named[2:(m - 1), 3:(n - 1)], info = name)
      expect_error(tile_matrix(big, tempfile(), dim = dim(x)), class = "cudafactor_error_argument")
    }
  }
})

test_that("bigmemory attaches what is written for it", {
  folder <- folder_for_test()
  on.exit(unlink(folder, recursive = TRUE))
  set.seed(2)
  x <- random_matrix(2L * tile + 1L, tile)
  for (precision in c("double", "single")) {
    y <- tile_matrix(
      x, file.path(folder, paste0(precision, ".tiles")), tile = tile, precision = precision
    )
    f <- write_matrix_file(y, desc <- file.path(folder, paste0(precision, ".desc")))
    expect_identical(dim(f), dim(x))
    expect_null(dimnames(f))
    rows <- list(paste0("row", seq_len(nrow(x))), NULL)
    named <- tile_matrix(
      `dimnames<-`(x, rows), file.path(folder, paste0(precision, "-named.tiles")), tile = tile
    )
    expect_identical(
      dimnames(write_matrix_file(named, file.path(folder, paste0(precision, "-named.desc")))), rows
    )
    expect_identical(read_back(f, precision = precision), as.matrix(y))
    if (requireNamespace("bigmemory", quietly = TRUE)) {
      big <- bigmemory::attach.big.matrix(desc)
      expect_identical(big[, ], as.matrix(y))
      expect_identical(bigmemory::typeof(big), if (precision == "double") "double" else "float")
    }
  }
  y <- tile_matrix(matrix(0, 0, 3), file.path(folder, "none.tiles"))
  expect_error(
    write_matrix_file(y, file.path(folder, "none.desc")), class = "cudafactor_error_dimension"
  )
  expect_error(
    write_matrix_file(y, file.path(folder, "a.bin"), format = "bigmemory"),
    class = "cudafactor_error_dimension"
  )
  # A name that has .bin before .desc, as bigmemory makes it.
  y <- tile_matrix(diag(3), file.path(folder, "three.tiles"))
  write_matrix_file(y, file.path(folder, "three.bin.desc"))
  expect_identical(read_back(matrix_file(file.path(folder, "three.bin.desc"))), diag(3))
  expect_true(file.exists(file.path(folder, "three.bin")))
})

test_that("HDF5 datasets are read and written", {
  skip_if_not_installed("hdf5r")
  folder <- folder_for_test()
  on.exit(unlink(folder, recursive = TRUE))
  set.seed(3)
  # Each of them as rows and as columns; package hdf5r takes a second for each file.
  sizes <- c(0L, 1L, tile - 1L, tile, tile + 1L, 3L * tile + 2L)
  count <- 0
  path <- function() file.path(folder, sprintf("x%d.h5", count <<- count + 1))
  for (m in sizes) {
    for (n in rev(sizes)[match(m, sizes)]) {
      x <- random_matrix(m, n)
      for (precision in c("double", "single")) {
        y <- tile_matrix(x, tempfile(tmpdir = folder), tile = tile, precision = precision)
        f <- write_matrix_file(y, out <- path())
        expect_identical(dim(f), dim(x))
        expect_identical(matrix_file(out), f)
        expect_identical(read_back(f, precision = precision), as.matrix(y))
        file <- hdf5r::H5File$new(out, "r")
        if (m > 0 && n > 0) {
          expect_identical(file[["x"]]$read(drop = FALSE), as.matrix(y))
        }
        expect_identical(file[["x"]]$get_type()$get_size(), if (precision == "double") 8L else 4L)
        file$close_all()
      }
    }
  }
  s <- crossprod(random_matrix(20, 20)) + diag(20)
  y <- tile_matrix(s, tempfile(tmpdir = folder), tile = tile, triangle = TRUE)
  write_matrix_file(y, out <- path(), dataset = "s")
  expect_identical(read_back(matrix_file(out, dataset = "s")), s)
  expect_identical(read_back(matrix_file(out), triangle = TRUE), s)
  write_matrix_file(chol_file(y, device = "cpu"), out <- path())
  expect_identical(read_back(matrix_file(out)), as.matrix(y))
  # Of other types, in groups.
  file <- hdf5r::H5File$new(out <- path(), "w")
  file[["i"]] <- matrix(c(1L, NA, 3L, 4L, 5L, 6L), 2)
  file[["l"]] <- matrix(c(TRUE, FALSE, FALSE, TRUE), 2)
  file[["v"]] <- c(1.5, 2.5)
  file[["text"]] <- matrix("a", 1, 1)
  file[["cube"]] <- array(0, c(2, 2, 2))
  group <- file$create_group("g")
  big <- group$create_dataset(
    "big", dtype = hdf5r::h5types$H5T_STD_I64BE,
    space = hdf5r::H5S$new("simple", dims = c(2, 1), maxdims = c(2, 1)), chunk_dims = NULL
  )
  big[1:2, 1] <- c(1, 2^40)
  file$close_all()
  expect_identical(read_back(matrix_file(out, dataset = "i")), matrix(c(1, NA, 3, 4, 5, 6), 2))
  expect_identical(read_back(matrix_file(out, dataset = "l")), matrix(c(1, 0, 0, 1), 2))
  expect_identical(read_back(matrix_file(out, dataset = "v")), matrix(c(1.5, 2.5), 2))
  expect_identical(read_back(matrix_file(out, dataset = "g/big")), matrix(c(1, 2^40), 2))
  for (wrong in c("text", "cube")) {
    expect_error(matrix_file(out, dataset = wrong), class = "cudafactor_error_file_format")
  }
  for (wrong in list("none", "g", "none/none", NULL, 1, NA_character_, "")) {
    expect_error(matrix_file(out, dataset = wrong), class = "cudafactor_error_argument")
  }
  writeLines("no such file", bad <- path())
  expect_error(matrix_file(bad), class = "cudafactor_error_file_format")
  f <- matrix_file(out, dataset = "v")
  unlink(out)
  file <- hdf5r::H5File$new(out, "w")
  file[["v"]] <- c(1, 2, 3)
  file$close_all()
  made <- tempfile(tmpdir = folder)
  expect_error(tile_matrix(f, made), "another matrix", class = "cudafactor_error_file_format")
  expect_false(file.exists(made))
  unlink(out)
  expect_error(tile_matrix(f, made), class = "cudafactor_error_file")
  expect_false(file.exists(made))
})

test_that("without hdf5r the error says so", {
  # As if it were not there.
  need <- need_hdf5r
  environment(need) <- list2env(
    list(requireNamespace = function(...) FALSE), parent = environment(need)
  )
  expect_error(need(NULL), "package hdf5r must be installed", class = "cudafactor_error_argument")
})
