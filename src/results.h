#ifndef CUDAFACTOR_RESULTS_H
#define CUDAFACTOR_RESULTS_H

#include <Rinternals.h>

// An uninitialised double vector. R raises its own error when memory is short.
SEXP result_vector(R_xlen_t length);

// Gives the system the memory kept of results that are gone; the number of bytes.
size_t results_release(void);

// Bytes kept.
size_t results_kept(void);

#endif
