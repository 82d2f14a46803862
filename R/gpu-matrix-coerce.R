# Coercions of a gpu_matrix to the classes of package Matrix.

# A method for each class to which Matrix coerces an ordinary matrix; they depend on its version.
set_coercions <- function(noted) {
  known <- findMethodSignatures("coerce")
  targets <- known[known[, 1L] == "matrix", 2L]
  for (class in targets[vapply(targets, is_of_matrix, NA)]) {
    set_coercion(class, noted)
  }
}

# Does package Matrix define this class?
is_of_matrix <- function(class) {
  definition <- getClassDef(class)
  !is.null(definition) && identical(definition@package, "Matrix")
}

set_coercion <- function(class, noted) {
  # Evaluated now: the caller's loop changes it.
  force(class)
  setAs("gpu_matrix", class, function(from) as(as.matrix(from), class), where = noted)
}

