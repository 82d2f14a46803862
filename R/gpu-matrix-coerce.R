# Coercions of a gpu_matrix to the classes of package Matrix.

# A method for each class to which Matrix coerces a plain matrix: which these are differs with its
# version.
set_coercions <- function(noted) {
  known <- findMethodSignatures("coerce")
  targets <- known[known[, 1L] == "matrix", 2L]
  for (class in targets[vapply(targets, is_of_matrix, NA)]) {
    set_coercion(class, noted)
  }
}

# Whether package Matrix defines a class.
is_of_matrix <- function(class) {
  definition <- getClassDef(class)
  !is.null(definition) && identical(definition@package, "Matrix")
}

set_coercion <- function(class, noted) {
  # The next turn of the caller's loop has another class.
  force(class)
  setAs("gpu_matrix", class, function(from) as(as.matrix(from), class), where = noted)
}

