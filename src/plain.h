#ifndef CUDAFACTOR_PLAIN_H
#define CUDAFACTOR_PLAIN_H

#include <Rinternals.h>

// Calls with plain double matrices. Each returns the result; list(reply, result) if Rust has
// something to say; or NULL if an operand is not plain, if dimensions do not conform, or if a
// setting is wrong. After NULL nothing has happened, and R's code for all operands takes over.

// .External(plain_product, tx, ty, x, y, device, precision): op(x) op(y), where tx and ty tell
// whether op transposes. With y = NULL, x'x or xx'.
SEXP plain_product(SEXP args);

// .External(plain_chol, x, device, precision): the factor, with the attributes of x.
SEXP plain_chol(SEXP args);

// .External(plain_solve, a, b, tol, device, precision): the solution, a vector if b is one. With
// b = NULL, the inverse. Without names.
SEXP plain_solve(SEXP args);

// .External(plain_lu, x, device, precision): the object of class "gpu_lu".
SEXP plain_lu(SEXP args);

// .External(plain_qr, x, tol, device, precision): the object of class "qr", whose columns have the
// names of the columns of x in the same order, also if they have moved.
SEXP plain_qr(SEXP args);

#endif
