#ifndef CUDAFACTOR_RESULTS_H
#define CUDAFACTOR_RESULTS_H

#include <Rinternals.h>

// An uninitialised vector of doubles or of integers. R raises its own error when memory is short.
SEXP result_vector(SEXPTYPE type, R_xlen_t length);

// An uninitialised double matrix, likewise.
SEXP result_matrix(int rows, int columns);

// Gives the system the memory kept of results that are gone; the number of bytes.
size_t results_release(void);

// Has R look for garbage, among all objects if `full`. In entrypoint.c.
void cudafactor_collect(int full);

// Bytes kept.
size_t results_kept(void);

#endif
