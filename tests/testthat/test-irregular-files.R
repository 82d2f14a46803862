# Names that are none of regular files are refused by all that takes the name of a file, and nothing
# waits for them.

test_that("folders, pipes and devices are refused at once", {
  skip_on_os("windows")
  folder <- tempfile("folder")
  dir.create(folder)
  on.exit(unlink(folder, recursive = TRUE))
  pipe <- file.path(folder, "pipe.npy")
  skip_if(system2("mkfifo", pipe) != 0, "there is no mkfifo here")
  tiles <- file.path(folder, "k.tiles")
  k <- tile_matrix(diag(3), tiles, triangle = TRUE)
  r <- chol_file(tile_matrix(diag(3), file.path(folder, "r.tiles"), triangle = TRUE))
  g <- as_gpu(diag(2), "cpu")
  calls <- list(
    open_tile_matrix = function(file) open_tile_matrix(file),
    tile_matrix = function(file) tile_matrix(diag(2), file),
    raw = function(file) matrix_file(file, dim = 1, format = "raw"),
    npy = function(file) matrix_file(file, format = "npy"),
    bigmemory = function(file) matrix_file(file, format = "bigmemory"),
    hdf5 = function(file) matrix_file(file, format = "hdf5"),
    write = function(file) write_matrix_file(k, file, format = "raw"),
    restore = function(file) gpu_restore(file),
    save = function(file) gpu_save(g, file),
    chol_file = function(file) chol_file(k, file),
    resume = function(file) chol_file(k, file, resume = TRUE),
    chol_update = function(file) chol_update(r, 1:3, file = file),
    mps = function(file) lp_read_mps(file)
  )
  for (file in c(folder, pipe, "/dev/zero", "/dev/null")) {
    for (name in names(calls)) {
      setTimeLimit(elapsed = 20, transient = TRUE)
      expect_error(calls[[name]](file), class = "cudafactor_error", info = paste(name, file))
    }
  }
  setTimeLimit()
  expect_identical(sort(list.files(folder)), c("k.tiles", "pipe.npy", "r.tiles"))
  expect_error(open_tile_matrix(pipe), "a named pipe, not a regular file",
    class = "cudafactor_error_file")
  expect_error(gpu_save(g, folder), "a folder, not a regular file", class = "cudafactor_error_file")
})

npy <- function(file, shape, values, more = raw()) {
  text <- sprintf("{'descr': '<f8', 'fortran_order': True, 'shape': %s, }\n", shape)
  con <- file(file, "wb")
  on.exit(close(con))
  writeBin(c(as.raw(c(0x93, utf8ToInt("NUMPY"), 1, 0)),
    as.raw(c(nchar(text) %% 256, nchar(text) %/% 256)), charToRaw(text)), con)
  writeBin(c(writeBin(values, raw(), endian = "little"), more), con)
}

test_that("a .npy file has the length that its header tells", {
  file <- tempfile(c("", ""), fileext = c(".npy", ".tiles"))
  on.exit(unlink(file))
  npy(file[[1]], "(2, 2)", c(1, 2, 3, 4))
  expect_identical(as.matrix(tile_matrix(matrix_file(file[[1]]), file[[2]])),
    matrix(c(1, 2, 3, 4), 2))
  npy(file[[1]], "(2, 2)", c(1, 2, 3, 4), as.raw(0))
  expect_error(matrix_file(file[[1]]), "takes", class = "cudafactor_error_file_format")
  npy(file[[1]], "(0, 99999999999)", numeric())
  unlink(file[[2]])
  e <- tryCatch(as.matrix(tile_matrix(matrix_file(file[[1]]), file[[2]])), error = identity)
  expect_s3_class(e, "cudafactor_error_dimension")
})
