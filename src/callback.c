// Functions of R that a computation in Rust calls. What they signal, and where they jump to, is
// their business: the jump is caught here, before it passes Rust's frames, and goes on once those
// have returned.
#include <limits.h>
#include <setjmp.h>
#include <string.h>
#include "callback.h"

struct application {
  SEXP function;
  const double *x;
  double *out;
  int rows, columns, results;
  jmp_buf before;
};

static SEXP apply(void *data) {
  const struct application *a = data;
  const R_xlen_t length = (R_xlen_t)a->rows * a->columns;
  const R_xlen_t wanted = (R_xlen_t)a->results * a->columns;
  const SEXP x = PROTECT(Rf_allocMatrix(REALSXP, a->rows, a->columns));
  memcpy(REAL(x), a->x, sizeof(double) * (size_t)length);
  const SEXP y = PROTECT(Rf_eval(PROTECT(Rf_lang2(a->function, x)), R_GlobalEnv));
  if (TYPEOF(y) != REALSXP || XLENGTH(y) != wanted)
    Rf_error("a function did not give as many numbers as were wanted");
  memcpy(a->out, REAL(y), sizeof(double) * (size_t)wanted);
  UNPROTECT(3);
  return R_NilValue;
}

static void leave(void *data, Rboolean jumped) {
  if (jumped) longjmp(((struct application *)data)->before, 1);
}

int cudafactor_apply(SEXP function, SEXP continuation, const double *x, double *out, size_t rows,
                     size_t columns, size_t results) {
  if (rows > INT_MAX || columns > INT_MAX || results > INT_MAX) return 0;
  struct application a;
  a.function = function;
  a.x = x;
  a.out = out;
  a.rows = (int)rows;
  a.columns = (int)columns;
  a.results = (int)results;
  // R_UnwindProtect() has put R's own stacks back when it calls leave().
  if (setjmp(a.before)) return -1;
  R_UnwindProtect(apply, &a, leave, &a, continuation);
  return 1;
}

SEXP new_continuation(SEXP args) {
  (void)args;
  return R_MakeUnwindCont();
}

SEXP resume_jump(SEXP args) {
  R_ContinueUnwind(CADR(args));
  return R_NilValue;
}
