// What Rust cannot do safely in an R package: allocate R memory, which may jump past Rust frames,
// and ask R for a pending interrupt, which jumps too. The symbols of the Rust library are registered by extendr.
#include <R.h>
#include <Rinternals.h>
#include <R_ext/Rdynload.h>

void R_init_cudafactor_extendr(void *dll);
void register_extendr_panic_hook(void);

// .External(alloc_matrix, nrow, ncol): an uninitialised double matrix. R raises its own error when memory is short.
static SEXP alloc_matrix(SEXP args) {
  const double m = Rf_asReal(CADR(args)), n = Rf_asReal(CADDR(args));
  if (!(m >= 0 && m <= INT_MAX && n >= 0 && n <= INT_MAX)) {
    Rf_error("a matrix extent is missing, negative or above 2^31 - 1");
  }
  return Rf_allocMatrix(REALSXP, (int)m, (int)n);
}

static void check_interrupt(void *unused) {
  (void)unused;
  R_CheckUserInterrupt();
}

// 1 when the user asked to stop: the check runs in a context of its own, so that its jump ends here.
int cudafactor_interrupt_pending(void) {
  return R_ToplevelExec(check_interrupt, NULL) == FALSE;
}

static const R_ExternalMethodDef external_methods[] = {
    {"alloc_matrix", (DL_FUNC)&alloc_matrix, 2}, {NULL, NULL, 0}};

void R_init_cudafactor(DllInfo *dll) {
  R_init_cudafactor_extendr(dll);
  R_registerRoutines(dll, NULL, NULL, NULL, external_methods);
  R_useDynamicSymbols(dll, FALSE);
  register_extendr_panic_hook();
}
