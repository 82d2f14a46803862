#ifndef CUDAFACTOR_CALLBACK_H
#define CUDAFACTOR_CALLBACK_H

#include <Rinternals.h>

// out = function(x), matrices by columns, `out` of `results` rows: 1. Or -1 where R jumped out of
// the function: the caller has to return to R, which goes on by resume_jump(continuation). Or 0 of
// a matrix that R cannot hold.
int cudafactor_apply(SEXP function, SEXP continuation, const double *x, double *out, size_t rows,
                     size_t columns, size_t results);

// .External(new_continuation): what a jump is kept in.
SEXP new_continuation(SEXP args);

// .External(resume_jump, continuation): goes where the jump was to go.
SEXP resume_jump(SEXP args);

#endif
