// What Rust cannot do safely in an R package: allocate R memory, which may jump past Rust frames,
// ask R for a pending interrupt, which jumps too, and print. The symbols of the Rust library are
// registered by extendr. Most routines are static and in this one file, since the table at its end
// registers them.
#include <stdio.h>
#include <string.h>
#include <R.h>
#include <Rinternals.h>
#include <R_ext/Rdynload.h>
#include "callback.h"
#include "plain.h"
#include "results.h"
#include "settings.h"

void R_init_cudafactor_extendr(void *dll);
void register_extendr_panic_hook(void);
int cudafactor_prepare(void);

// .External(alloc_matrix, nrow, ncol): an uninitialised double matrix. R raises its own error when
// memory is short.
static SEXP alloc_matrix(SEXP args) {
  const double m = Rf_asReal(CADR(args)), n = Rf_asReal(CADDR(args));
  if (!(m >= 0 && m <= INT_MAX && n >= 0 && n <= INT_MAX)) {
    Rf_error("a dimension of a matrix is missing, negative or above 2^31 - 1");
  }
  return result_matrix((int)m, (int)n);
}

// .External(alloc_integers, length): an uninitialised integer vector.
static SEXP alloc_integers(SEXP args) {
  const double n = Rf_asReal(CADR(args));
  if (!(n >= 0 && n <= R_XLEN_T_MAX)) Rf_error("a length is missing, negative or too large");
  return result_vector(INTSXP, (R_xlen_t)n);
}

// .External(release_results): gives back the memory kept of results that are gone; the number of
// bytes.
static SEXP release_results(SEXP args) {
  (void)args;
  return Rf_ScalarReal((double)results_release());
}

// .External(kept_results): the bytes kept.
static SEXP kept_results(SEXP args) {
  (void)args;
  return Rf_ScalarReal((double)results_kept());
}

// .External(square_orders, list): the number of rows of each element that is a plain square double
// matrix, NA for others.
static SEXP square_orders(SEXP args) {
  const SEXP list = CADR(args);
  const R_xlen_t count = XLENGTH(list);
  const SEXP orders = PROTECT(Rf_allocVector(INTSXP, count));
  for (R_xlen_t i = 0; i < count; ++i) {
    const SEXP x = VECTOR_ELT(list, i);
    const SEXP d =
      TYPEOF(x) == REALSXP && !Rf_isObject(x) ? Rf_getAttrib(x, R_DimSymbol) : R_NilValue;
    const int square = TYPEOF(d) == INTSXP && LENGTH(d) == 2 && INTEGER(d)[0] == INTEGER(d)[1];
    INTEGER(orders)[i] = square ? INTEGER(d)[0] : NA_INTEGER;
  }
  UNPROTECT(1);
  return orders;
}

// .External(alloc_alike, list): for each double vector of the list an uninitialised one of the same
// length and attributes.
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

// In Rust: fills 16 bytes.
void cudafactor_identity(unsigned char *bytes);

// What no other state of a matrix has. R serializes it with an external pointer whose protected
// value it is, so that whoever tells objects apart by a hash of that sees whose values are meant.
static SEXP new_identity_bytes(void) {
  const SEXP bytes = Rf_allocVector(RAWSXP, 16);
  cudafactor_identity(RAW(bytes));
  return bytes;
}

// .External(new_identity): an external pointer to nothing, with an identity.
static SEXP new_identity(SEXP args) {
  (void)args;
  const SEXP bytes = PROTECT(new_identity_bytes());
  const SEXP pointer = R_MakeExternalPtr(NULL, Rf_install("cudafactor_identity"), bytes);
  UNPROTECT(1);
  return pointer;
}

// .External(set_identity, pointer, identity): another identity, that of text or, for NULL, a new
// one.
static SEXP set_identity(SEXP args) {
  const SEXP pointer = CADR(args), given = CADDR(args);
  // An object that came out of a file of an earlier version may have something else.
  if (TYPEOF(pointer) == EXTPTRSXP) {
    const SEXP identity = PROTECT(TYPEOF(given) == STRSXP ? given : new_identity_bytes());
    R_SetExternalPtrProtected(pointer, identity);
    UNPROTECT(1);
  }
  return R_NilValue;
}

// .External(new_handle): an empty handle, for Rust to put a matrix behind it.
static SEXP new_handle(SEXP args) {
  (void)args;
  const SEXP identity = PROTECT(new_identity_bytes());
  const SEXP handle = PROTECT(R_MakeExternalPtr(NULL, cudafactor_handle_tag(), identity));
  R_RegisterCFinalizerEx(handle, finalize_handle, FALSE);
  UNPROTECT(2);
  return handle;
}

// What tells files that are being written from other external pointers.
SEXP cudafactor_writer_tag(void) { return Rf_install("cudafactor_writer"); }

void cudafactor_release_writer(void *address);

static void finalize_writer(SEXP handle) {
  void *address = R_ExternalPtrAddr(handle);
  if (address == NULL) return;
  R_ClearExternalPtr(handle);
  cudafactor_release_writer(address);
}

// .External(new_writer): an empty handle, for Rust to put a file behind it that is being written.
static SEXP new_writer(SEXP args) {
  (void)args;
  const SEXP handle = PROTECT(R_MakeExternalPtr(NULL, cudafactor_writer_tag(), R_NilValue));
  R_RegisterCFinalizerEx(handle, finalize_writer, FALSE);
  UNPROTECT(1);
  return handle;
}

// An error that the check for an interrupt raised, such as setTimeLimit()'s, until R takes it; NULL
// for none.
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

// Starts R's garbage collector. In a separate context, because finalizers may be R code, which can
// be interrupted.
void cudafactor_collect(int full) {
  if (R_ToplevelExec(collect, &full) == FALSE) stopped = 1;
}

// 1 when the user asked to stop, or an error did: the check runs in a separate context, so that its
// jump ends here.
int cudafactor_interrupt_pending(void) {
  if (stopped) {
    stopped = 0;
    return 1;
  }
  return R_ToplevelExec(check_and_keep, NULL) == FALSE || raised != NULL;
}

struct vector_request {
  SEXPTYPE type;
  R_xlen_t length;
  // Whether R has begun to allocate it: what is signalled before is another's.
  int begun;
  // Preserved, so that it outlives the context that it was made in; NULL for none.
  SEXP made;
};

static SEXP make_vector(void *data) {
  struct vector_request *r = data;
  r->begun = 1;
  const SEXP made = PROTECT(result_vector(r->type, r->length));
  R_PreserveObject(made);
  UNPROTECT(1);
  r->made = made;
  return R_NilValue;
}

static SEXP no_vector(SEXP condition, void *data) {
  return ((struct vector_request *)data)->begun ? R_NilValue : keep_error(condition, NULL);
}

static void try_vector(void *data) { R_tryCatchError(make_vector, data, no_vector, data); }

// An uninitialised vector of doubles or integers, which the caller releases by R_ReleaseObject().
// NULL if memory is short, or if the user asked to stop, which the next check for an interrupt
// reports. In a separate context, so that R's error ends here.
SEXP cudafactor_vector(int doubles, size_t length) {
  if (length > (size_t)R_XLEN_T_MAX) return NULL;
  struct vector_request r = {doubles ? REALSXP : INTSXP, (R_xlen_t)length, 0, NULL};
  if (R_ToplevelExec(try_vector, &r) == FALSE) stopped = 1;
  return r.made;
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

struct progress {
  double share, rate, left;
  // NULL where the work has nothing to do with files.
  const char *phase;
  double bytes;
  int copies;
};

static void time_left(double seconds, char *text, size_t size) {
  const double s = seconds < 0.5 ? 0 : seconds > 3.6e6 ? 3.6e6 : seconds + 0.5;
  const int whole = (int)s, hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0) {
    snprintf(text, size, "%d:%02d:%02d", hours, minutes, whole % 60);
  } else {
    snprintf(text, size, "%d:%02d", minutes, whole % 60);
  }
}

// A number with the largest of two units, powers of 1000, of which the larger one is `unit`.
static void with_unit(double number, double unit, const char *smaller, const char *larger,
                      char *text, size_t size) {
  const int large = number >= unit;
  snprintf(text, size, "%.1f %s", number / (large ? unit : unit / 1e3), large ? larger : smaller);
}

static void draw_progress(void *data) {
  const struct progress *p = data;
  // Columns of the line, and of the bar: at most, next to the facts of work on files, and at least.
  enum { LINE = 78, WIDTH = 30, BESIDE = 15, LEAST = 5 };
  char bar[WIDTH + 1], left[32], rate[32], bytes[32], moved[48] = "", facts[128], line[256];
  if (p->share < 0) {
    REprintf("\r%79s\r", "");
    R_FlushConsole();
    return;
  }
  if (p->copies) {
    with_unit(p->rate, 1e9, "MB/s", "GB/s", rate, sizeof rate);
  } else {
    with_unit(p->rate, 1e12, "GFLOP/s", "TFLOP/s", rate, sizeof rate);
  }
  if (p->phase != NULL) {
    with_unit(p->bytes, 1e9, "MB", "GB", bytes, sizeof bytes);
    snprintf(moved, sizeof moved, "  %s moved", bytes);
  }
  if (R_FINITE(p->left)) {
    time_left(p->left, left, sizeof left);
    snprintf(facts, sizeof facts, "  %s%s  %s left", rate, moved, left);
  } else {
    snprintf(facts, sizeof facts, "%s", moved);
  }
  const char *phase = p->phase == NULL ? "" : p->phase, *gap = *phase ? " " : "";
  const int room = LINE - (int)(strlen(phase) + strlen(gap) + strlen("[] 100 %") + strlen(facts)),
            most = *phase ? BESIDE : WIDTH;
  const int width = room > most ? most : room < LEAST ? LEAST : room,
            filled = (int)(p->share * width);
  for (int i = 0; i < width; ++i) bar[i] = i < filled ? '=' : i == filled ? '>' : ' ';
  bar[width] = '\0';
  snprintf(line, sizeof line, "%s%s[%s] %3d %%%s", phase, gap, bar, (int)(100 * p->share), facts);
  REprintf("\r%-*s", LINE, line);
  R_FlushConsole();
}

// Draws over the line that was drawn before, or erases it if the share is negative. In a separate
// context, since stderr may be a connection that fails.
void cudafactor_show_progress(double share, double rate, double left, const char *phase,
                              double bytes, int copies) {
  struct progress p = {share, rate, left, phase, bytes, copies};
  R_ToplevelExec(draw_progress, &p);
}

static const R_ExternalMethodDef external_methods[] = {
    {"alloc_matrix", (DL_FUNC)&alloc_matrix, 2},
    {"alloc_integers", (DL_FUNC)&alloc_integers, 1},
    {"release_results", (DL_FUNC)&release_results, 0},
    {"kept_results", (DL_FUNC)&kept_results, 0},
    {"alloc_alike", (DL_FUNC)&alloc_alike, 1},
    {"new_handle", (DL_FUNC)&new_handle, 0},
    {"new_identity", (DL_FUNC)&new_identity, 0},
    {"set_identity", (DL_FUNC)&set_identity, 2},
    {"new_writer", (DL_FUNC)&new_writer, 0},
    {"square_orders", (DL_FUNC)&square_orders, 1},
    {"settings", (DL_FUNC)&settings_of_call, 2},
    {"plain_product", (DL_FUNC)&plain_product, 6},
    {"plain_chol", (DL_FUNC)&plain_chol, 3},
    {"plain_solve", (DL_FUNC)&plain_solve, 5},
    {"plain_lu", (DL_FUNC)&plain_lu, 3},
    {"plain_qr", (DL_FUNC)&plain_qr, 4},
    {"take_raised", (DL_FUNC)&take_raised, 0},
    {"new_continuation", (DL_FUNC)&new_continuation, 0},
    {"resume_jump", (DL_FUNC)&resume_jump, 1},
    {NULL, NULL, 0}};

void R_init_cudafactor(DllInfo *dll) {
  R_init_cudafactor_extendr(dll);
  R_registerRoutines(dll, NULL, NULL, NULL, external_methods);
  R_useDynamicSymbols(dll, FALSE);
  register_extendr_panic_hook();
  if (!cudafactor_prepare())
    Rf_error("cannot allocate the memory that package 'cudafactor' keeps in reserve");
}
