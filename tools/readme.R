# Runs the R blocks of README.md in order in this session.
# Usage: Rscript tools/readme.R [library that holds the package]
# The exit status is 1 where a block fails, and the first line of its block is named.

library_path <- commandArgs(trailingOnly = TRUE)
if (length(library_path)) .libPaths(c(library_path, .libPaths()))

lines <- readLines("README.md", encoding = "UTF-8")
begins <- which(lines == "```r")
ends <- vapply(begins, function(begin) begin + which(lines[-seq_len(begin)] == "```")[1L], 0)
if (!length(begins) || anyNA(ends)) stop("README.md has no R blocks, or one without an end")

# Plots are drawn, and no file is left.
grDevices::pdf(NULL)
for (k in seq_along(begins)) {
  block <- lines[seq_len(ends[[k]] - begins[[k]] - 1) + begins[[k]]]
  tryCatch(
    # Values print, as at the prompt, where a print method can fail.
    source(exprs = parse(text = block, keep.source = FALSE), echo = TRUE, local = globalenv()),
    error = function(e) {
      cat(sprintf("README.md:%d: block %d of %d failed: ", begins[[k]], k, length(begins)),
        conditionMessage(e), "\n", sep = "")
      quit(status = 1)
    }
  )
}
cat(sprintf("test result: ok. %d passed; 0 failed\n", length(begins)))
