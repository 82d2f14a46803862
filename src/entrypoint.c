// What Rust cannot do safely in an R package: allocate R memory, which may jump past Rust frames,
// and ask R for a pending interrupt, which jumps too. The symbols of the Rust library are registered by extendr.
#include <stdlib.h>
#include <string.h>
#include <R.h>
#include <Rinternals.h>
#include <R_ext/Rdynload.h>
#include "results.h"

void R_init_cudafactor_extendr(void *dll);
void register_extendr_panic_hook(void);

// .External(alloc_matrix, nrow, ncol): an uninitialised double matrix. R raises its own error when memory is short.
static SEXP alloc_matrix(SEXP args) {
  const double m = Rf_asReal(CADR(args)), n = Rf_asReal(CADDR(args));
  if (!(m >= 0 && m <= INT_MAX && n >= 0 && n <= INT_MAX)) {
    Rf_error("a matrix extent is missing, negative or above 2^31 - 1");
  }
  const SEXP out = PROTECT(result_vector((R_xlen_t)m * (R_xlen_t)n));
  const SEXP dim = PROTECT(Rf_allocVector(INTSXP, 2));
  INTEGER(dim)[0] = (int)m;
  INTEGER(dim)[1] = (int)n;
  Rf_setAttrib(out, R_DimSymbol, dim);
  UNPROTECT(2);
  return out;
}

// .External(release_results): gives back the memory kept of results that are gone; the number of bytes.
static SEXP release_results(SEXP args) {
  (void)args;
  return Rf_ScalarReal((double)results_release());
}

// .External(kept_results): the bytes kept.
static SEXP kept_results(SEXP args) {
  (void)args;
  return Rf_ScalarReal((double)results_kept());
}

// .External(square_orders, list): the number of rows of each element that is a plain square double matrix, NA for others.
static SEXP square_orders(SEXP args) {
  const SEXP list = CADR(args);
  const R_xlen_t count = XLENGTH(list);
  const SEXP orders = PROTECT(Rf_allocVector(INTSXP, count));
  for (R_xlen_t i = 0; i < count; ++i) {
    const SEXP x = VECTOR_ELT(list, i);
    const SEXP d = TYPEOF(x) == REALSXP && !Rf_isObject(x) ? Rf_getAttrib(x, R_DimSymbol) : R_NilValue;
    const int square = TYPEOF(d) == INTSXP && LENGTH(d) == 2 && INTEGER(d)[0] == INTEGER(d)[1];
    INTEGER(orders)[i] = square ? INTEGER(d)[0] : NA_INTEGER;
  }
  UNPROTECT(1);
  return orders;
}

// .External(alloc_alike, list): for each double vector of the list an uninitialised one of the same length and attributes.
static SEXP alloc_alike(SEXP args) {
  const SEXP from = CADR(args);
  const R_xlen_t count = XLENGTH(from);
  const SEXP to = PROTECT(Rf_allocVector(VECSXP, count));
  for (R_xlen_t i = 0; i < count; ++i) {
    const SEXP x = VECTOR_ELT(from, i);
    const SEXP y = Rf_allocVector(REALSXP, XLENGTH(x));
    SET_VECTOR_ELT(to, i, y);
    SHALLOW_DUPLICATE_ATTRIB(y, x);
  }
  UNPROTECT(1);
  return to;
}

// What tells our handles from the external pointers of others.
SEXP cudafactor_handle_tag(void) { return Rf_install("cudafactor_handle"); }

void cudafactor_release(void *address);

static void finalize_handle(SEXP handle) {
  void *address = R_ExternalPtrAddr(handle);
  if (address == NULL) return;
  R_ClearExternalPtr(handle);
  cudafactor_release(address);
}

// .External(new_handle): an empty handle, for Rust to put a matrix behind it.
static SEXP new_handle(SEXP args) {
  (void)args;
  const SEXP handle = PROTECT(R_MakeExternalPtr(NULL, cudafactor_handle_tag(), R_NilValue));
  R_RegisterCFinalizerEx(handle, finalize_handle, FALSE);
  UNPROTECT(1);
  return handle;
}

// A number from an option, `unset` where there is none, -1 where it is not a number that can be used.
static double number_option(const char *name, double unset) {
  const SEXP value = Rf_GetOption1(Rf_install(name));
  if (value == R_NilValue) return unset;
  if (!(Rf_isReal(value) || (Rf_isInteger(value) && !Rf_isFactor(value))) || XLENGTH(value) != 1) return -1;
  const double number = Rf_asReal(value);
  return number >= 0 ? number : -1;
}

static int is_string(SEXP value) {
  return TYPEOF(value) == STRSXP && XLENGTH(value) == 1 && STRING_ELT(value, 0) != NA_STRING;
}

// The number of a device: -1 for "auto", -2 for "cpu", the GPU's number for "cuda" and "cuda:<number>", -3 for anything else.
static int device_number(const char *name) {
  if (strcmp(name, "auto") == 0) return -1;
  if (strcmp(name, "cpu") == 0) return -2;
  if (strcmp(name, "cuda") == 0) return 0;
  if (strncmp(name, "cuda:", 5) != 0) return -3;
  const char *digits = name + 5;
  const size_t length = strlen(digits);
  if (length == 0 || length > 6 || strspn(digits, "0123456789") != length) return -3;
  return (int)strtol(digits, NULL, 10);
}

// .External(settings, device, precision): c(device, single, threads, min_flops) as the native routines read them, or NULL
// when an argument or an option is not what it should be; the R function says which. In C because every call needs it.
static SEXP settings(SEXP args) {
  const SEXP device = CADR(args), precision = CADDR(args);
  if (!is_string(device) || !is_string(precision)) return R_NilValue;
  const int number = device_number(CHAR(STRING_ELT(device, 0)));
  const char *name = CHAR(STRING_ELT(precision, 0));
  const int single = strcmp(name, "single") == 0;
  if (number == -3 || (!single && strcmp(name, "double") != 0)) return R_NilValue;
  const double threads = number_option("cudafactor.threads", 0), min_flops = number_option("cudafactor.min_flops", 2e9);
  if (threads < 0 || min_flops < 0) return R_NilValue;
  const SEXP how = Rf_allocVector(REALSXP, 4);
  double *v = REAL(how);
  v[0] = number;
  v[1] = single;
  v[2] = threads;
  v[3] = min_flops;
  return how;
}

// An error that the check for an interrupt raised, such as setTimeLimit()'s, until R takes it; NULL for none.
static SEXP raised = NULL;

static SEXP check_interrupt(void *unused) {
  (void)unused;
  R_CheckUserInterrupt();
  return R_NilValue;
}

static SEXP keep_error(SEXP condition, void *unused) {
  (void)unused;
  if (raised == NULL) {
    R_PreserveObject(condition);
    raised = condition;
  }
  return R_NilValue;
}

static void check_and_keep(void *unused) {
  (void)unused;
  R_tryCatchError(check_interrupt, NULL, keep_error, NULL);
}

// Whether the user asked to stop while garbage was looked for.
static int stopped = 0;

// gc(verbose, reset, full)
static void collect(void *full) {
  const SEXP no = PROTECT(Rf_ScalarLogical(FALSE)), all = PROTECT(Rf_ScalarLogical(*(int *)full));
  Rf_eval(PROTECT(Rf_lang4(Rf_install("gc"), no, no, all)), R_BaseEnv);
  UNPROTECT(3);
}

// Has R look for garbage. In a context of its own, because finalizers may be R code, which can be interrupted.
void cudafactor_collect(int full) {
  if (R_ToplevelExec(collect, &full) == FALSE) stopped = 1;
}

// 1 when the user asked to stop, or an error did: the check runs in a context of its own, so that its jump ends here.
int cudafactor_interrupt_pending(void) {
  if (stopped) {
    stopped = 0;
    return 1;
  }
  return R_ToplevelExec(check_and_keep, NULL) == FALSE || raised != NULL;
}

// .External(take_raised): the error that stopped the last computation, or NULL when the user did.
static SEXP take_raised(SEXP args) {
  (void)args;
  if (raised == NULL) return R_NilValue;
  const SEXP condition = raised;
  raised = NULL;
  R_ReleaseObject(condition);
  return condition;
}

static const R_ExternalMethodDef external_methods[] = {
    {"alloc_matrix", (DL_FUNC)&alloc_matrix, 2},
    {"release_results", (DL_FUNC)&release_results, 0},
    {"kept_results", (DL_FUNC)&kept_results, 0},
    {"alloc_alike", (DL_FUNC)&alloc_alike, 1},
    {"new_handle", (DL_FUNC)&new_handle, 0},
    {"square_orders", (DL_FUNC)&square_orders, 1},
    {"settings", (DL_FUNC)&settings, 2},
    {"take_raised", (DL_FUNC)&take_raised, 0},
    {NULL, NULL, 0}};

void R_init_cudafactor(DllInfo *dll) {
  R_init_cudafactor_extendr(dll);
  R_registerRoutines(dll, NULL, NULL, NULL, external_methods);
  R_useDynamicSymbols(dll, FALSE);
  register_extendr_panic_hook();
}
