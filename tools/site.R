# Builds the site in build/site with the installed package. Fails if _pkgdown.yml lacks a help page
# or an article, if an article stops with an error, or if a page links to a file that is not there.

# No look-ups on the network: none of these pages needs one.
options(pkgdown.internet = FALSE)
pkgdown::check_pkgdown()
pkgdown::build_site(
  examples = FALSE, install = FALSE, new_process = FALSE, preview = FALSE
)

site <- file.path("build", "site")

# The page of all measurements, which README.md links to, with the files it is made of.
if (file.exists("bench/RESULTS.md")) {
  dir.create(file.path(site, "bench"))
  file.copy("bench/results", file.path(site, "bench"), recursive = TRUE)
  rmarkdown::pandoc_convert(
    normalizePath("bench/RESULTS.md"), "html",
    output = file.path(normalizePath(site), "bench", "RESULTS.html"),
    options = c("--standalone", "--metadata", "pagetitle=Measurements")
  )
}

# pkgdown leaves links to sources as they are. Debian's pkgdown has MathJax from the local disk.
edits <- c(
  "\"vignettes/(articles/)?([-a-z]+)\\.Rmd\"" = "\"articles/\\2.html\"",
  "\"(\\.\\./)+(man|reference)/figures/" = "\"../reference/figures/",
  "\"man/figures/" = "\"reference/figures/",
  "\"bench/RESULTS\\.md\"" = "\"bench/RESULTS.html\"",
  "\"file:///usr/share/javascript/mathjax/" =
    "\"https://cdnjs.cloudflare.com/ajax/libs/mathjax/2.7.5/"
)
pages <- list.files(site, "[.]html$", recursive = TRUE)
for (page in file.path(site, pages)) {
  text <- readLines(page, encoding = "UTF-8", warn = FALSE)
  edited <- text
  for (pattern in names(edits)) edited <- gsub(pattern, edits[[pattern]], edited)
  if (!identical(edited, text)) writeLines(edited, page, useBytes = TRUE)
}

# The files that a page of the site links to and that are missing.
missing_links <- function(page) {
  lines <- readLines(file.path(site, page), encoding = "UTF-8", warn = FALSE)
  text <- paste(lines, collapse = "\n")
  links <- regmatches(text, gregexpr("(href|src)=\"[^\"#?]+", text))[[1]]
  links <- unique(sub("^(href|src)=\"", "", links))
  links <- links[!grepl("^([a-z]+:|//)", links)]
  there <- file.exists(file.path(site, dirname(page), links))
  if (all(there)) character() else paste(page, "->", links[!there])
}
broken <- unlist(lapply(pages, missing_links))
if (length(broken)) {
  stop(
    "a page of the site must link to files that exist; these are missing:\n",
    paste(broken, collapse = "\n")
  )
}
