# The images of the folder shared/data, which is not in the repository, compared with the answers of
# scikit-image's exact mode.

segmentation_folder <- function() {
  folders <- c(
    Sys.getenv("CUDAFACTOR_DATA"), "../shared/data", "../../../shared/data",
    "../../../../shared/data"
  )
  folders <- file.path(folders[nzchar(folders)], "segmentation")
  Find(function(folder) file.exists(file.path(folder, "coins.png")), folders)
}

cases <- read.table(header = TRUE, stringsAsFactors = FALSE, text = "
image         seeds                  beta within unknowns
phantom192    phantom192_seeds        130 1e-6   34505
phantom192    phantom192_seeds       1000 1e-6   34505
phantom192    phantom192_masked_seeds 130 1e-6   18417
ct192         ct192_seeds             130 1e-6   35198
ct192         ct192_seeds            1000 1e-6   35198
cat341x256    cat341x256_seeds        130 1e-6   83963
coins         coins_seeds2            130 1e-6  100006
coins         coins_seeds2           1000 1e-5  100006
coins         coins_seeds25           130 1e-6  100006")

numbers <- function(path) {
  x <- round(255 * png::readPNG(path))
  replace(x, x == 255, -1)
}

# By label, row and column, as single precision.
reference <- function(path, space, count) {
  file <- gzfile(path, "rb")
  on.exit(close(file))
  p <- readBin(file, "double", count * prod(space), size = 4L, endian = "little")
  aperm(array(p, c(rev(space), count)), c(2, 1, 3))
}

expect_reference <- function(folder, cases, ...) {
  for (k in seq_len(nrow(cases))) {
    case <- cases[k, ]
    name <- sprintf("%s_b%d", case$seeds, case$beta)
    file <- function(stem) file.path(folder, paste0(name, "_", stem))
    seeds <- numbers(file.path(folder, paste0(case$seeds, ".png")))
    r <- random_walker(
      png::readPNG(file.path(folder, paste0(case$image, ".png"))), seeds, case$beta, prob = TRUE,
      ...
    )
    expect_identical(r$unknowns, as.double(case$unknowns), info = name)
    p <- matrix(r$probabilities, length(seeds))
    inside <- seeds >= 0
    expect_lt(max(abs(rowSums(p)[inside] - 1)), 1e-8, label = name)
    expect_true(all(p[!inside, ] == 0), info = name)
    if (file.exists(file("prob.f32.gz"))) {
      wanted <- reference(file("prob.f32.gz"), dim(seeds), ncol(p))
      expect_lt(max(abs(p - c(wanted))[inside, ]), case$within, label = name)
    }
    second <- apply(p, 1, function(p) sort(p, decreasing = TRUE)[[2L]])
    clear <- inside & apply(p, 1, max) - second > 1e-3
    labels <- numbers(file("labels.png"))
    expect_identical(sum(r$labels[clear] != labels[clear]), 0L, info = name)
    expect_true(all(r$labels[!inside] == -1L), info = name)
  }
}

test_that("probabilities and labels are those of the exact reference", {
  folder <- segmentation_folder()
  skip_if(
    is.null(folder), "no folder data/segmentation: set CUDAFACTOR_DATA to the folder of the data"
  )
  skip_if_not_installed("png")
  expect_reference(folder, cases)
})

test_that("so are those that were iterated for", {
  folder <- segmentation_folder()
  skip_if(
    is.null(folder), "no folder data/segmentation: set CUDAFACTOR_DATA to the folder of the data"
  )
  skip_if_not_installed("png")
  # With weights at the least there are, iterations do not end: there "auto" factors.
  iterated <- cases[!(cases$seeds == "coins_seeds2" & cases$beta == 1000), ]
  for_each_device(
    function(device) expect_reference(folder, iterated, method = "cg", device = device)
  )
})
