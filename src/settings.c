// Where and how a call is to run, read off its arguments and R's options. In C because every call
// needs it, the smallest too.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <R.h>
#include <Rinternals.h>
#include "settings.h"

// Whether a value is a vector of numbers: not of a factor's.
static int is_numbers(SEXP value) {
  return TYPEOF(value) == REALSXP || (TYPEOF(value) == INTSXP && !Rf_isFactor(value));
}

// The options, whose symbols are looked up once.
enum option {
  THREADS, MIN_FLOPS, PROGRESS, GPU_MEMORY, DEVICES, VERBOSE, BREAKEVEN, EMULATION, OPTIONS
};
static const char *const option_names[OPTIONS] = {
  "cudafactor.threads", "cudafactor.min_flops", "cudafactor.progress", "cudafactor.gpu_memory",
  "cudafactor.devices", "cudafactor.verbose",   "cudafactor.breakeven", "cudafactor.emulation"};

static SEXP option_value(enum option which) {
  static SEXP symbols[OPTIONS];
  if (symbols[which] == NULL) symbols[which] = Rf_install(option_names[which]);
  return Rf_GetOption1(symbols[which]);
}

// A number from an option, `unset` where there is none, -1 where it is not a number that can be
// used.
static double number_option(enum option which, double unset) {
  const SEXP value = option_value(which);
  if (value == R_NilValue) return unset;
  if (!is_numbers(value) || XLENGTH(value) != 1) return -1;
  const double number = Rf_asReal(value);
  return number >= 0 ? number : -1;
}

static int is_string(SEXP value) {
  return TYPEOF(value) == STRSXP && XLENGTH(value) == 1 && STRING_ELT(value, 0) != NA_STRING;
}

// The number of a device: -1 for "auto", -2 for "cpu", the GPU's number for "cuda" and
// "cuda:<number>", -3 for anything else.
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

// Seconds after which a call shows its progress, from option cudafactor.progress: TRUE stands for
// 2, FALSE for never, and where it is not set it is TRUE in an interactive session. -1 where it is
// none of these and no number of seconds.
static double progress_delay(void) {
  static int interactive = -1;
  const SEXP value = option_value(PROGRESS);
  const double usual = 2;
  if (value == R_NilValue) {
    if (interactive < 0) {
      const SEXP question = PROTECT(Rf_lang1(Rf_install("interactive")));
      interactive = Rf_asLogical(Rf_eval(question, R_BaseEnv)) == TRUE;
      UNPROTECT(1);
    }
    return interactive ? usual : R_PosInf;
  }
  if (TYPEOF(value) == LGLSXP && XLENGTH(value) == 1 && LOGICAL(value)[0] != NA_LOGICAL) {
    return LOGICAL(value)[0] ? usual : R_PosInf;
  }
  return number_option(PROGRESS, usual);
}

// Option cudafactor.verbose: does a call show its plan? FALSE where it is not set, -1 where it is
// neither TRUE nor FALSE.
static double shows_plan(void) {
  const SEXP value = option_value(VERBOSE);
  if (value == R_NilValue) return 0;
  if (TYPEOF(value) != LGLSXP || XLENGTH(value) != 1 || LOGICAL(value)[0] == NA_LOGICAL) return -1;
  return LOGICAL(value)[0] != 0;
}

// Option cudafactor.emulation: 0 for "auto" or unset, 1 for "never", 2 for "always", -1 for
// anything else.
static double emulation(void) {
  static const char *const words[] = {"auto", "never", "always"};
  const SEXP value = option_value(EMULATION);
  if (value == R_NilValue) return 0;
  if (!is_string(value)) return -1;
  for (int i = 0; i < 3; ++i)
    if (strcmp(CHAR(STRING_ELT(value, 0)), words[i]) == 0) return i;
  return -1;
}

// The GPUs that option cudafactor.devices names, as a sum of powers of two: 0 where it is unset. -1
// where it is not a vector of different numbers, counted from 0 and below MOST_DEVICES, of which a
// double holds the sum.
enum { MOST_DEVICES = 52 };
static double chosen_devices(void) {
  const SEXP value = option_value(DEVICES);
  if (value == R_NilValue) return 0;
  if (!is_numbers(value) || XLENGTH(value) == 0) return -1;
  double sum = 0;
  char seen[MOST_DEVICES] = {0};
  for (R_xlen_t i = 0; i < XLENGTH(value); ++i) {
    const double number = TYPEOF(value) == REALSXP ? REAL(value)[i] : INTEGER(value)[i];
    if (!(number >= 0 && number < MOST_DEVICES) || number != (int)number || seen[(int)number]++)
      return -1;
    sum += ldexp(1, (int)number);
  }
  return sum;
}

// An element of an integer or logical vector, as a double.
static double whole_number(SEXP value, R_xlen_t i) {
  const int number = TYPEOF(value) == LGLSXP ? LOGICAL(value)[i] : INTEGER(value)[i];
  return number == NA_INTEGER ? NA_REAL : number;
}

// The verbs that option cudafactor.breakeven names, in the order of Verb::NAMED in cost/work.rs.
static const char *const verbs[] = {"product", "crossprod", "chol", "lu",
                                    "qr",      "solve",     "eigen", "svd"};
enum { VERBS = sizeof verbs / sizeof *verbs };
_Static_assert(SETTINGS == 9 + VERBS, "settings.h counts the settings");

// The orders from which a GPU pays, NA for verbs without one. 0 where the option is not a named
// vector of such numbers, or of NA alone, which R reads as logical.
static int read_breakeven(SEXP value, double *orders) {
  for (int v = 0; v < VERBS; ++v) orders[v] = NA_REAL;
  if (value == R_NilValue) return 1;
  const SEXP names = Rf_getAttrib(value, R_NamesSymbol);
  const int logical = TYPEOF(value) == LGLSXP;
  if (!(is_numbers(value) || logical) || TYPEOF(names) != STRSXP) return 0;
  for (R_xlen_t i = 0; i < XLENGTH(value); ++i) {
    int v = 0;
    while (v < VERBS && strcmp(CHAR(STRING_ELT(names, i)), verbs[v]) != 0) ++v;
    const double order = TYPEOF(value) == REALSXP ? REAL(value)[i] : whole_number(value, i);
    if (v == VERBS || order < 0 || (logical && !ISNAN(order))) return 0;
    orders[v] = order;
  }
  return 1;
}

int read_settings(SEXP device, SEXP precision, double *v) {
  if (!is_string(device) || !is_string(precision)) return 0;
  const int number = device_number(CHAR(STRING_ELT(device, 0)));
  const char *name = CHAR(STRING_ELT(precision, 0));
  const int single = strcmp(name, "single") == 0;
  if (number == -3 || (!single && strcmp(name, "double") != 0)) return 0;
  const double threads = number_option(THREADS, 0),
               min_flops = number_option(MIN_FLOPS, R_NaN);
  const double delay = progress_delay(),
               memory = number_option(GPU_MEMORY, R_PosInf),
               devices = chosen_devices(), verbose = shows_plan(), integers = emulation();
  if (threads < 0 || min_flops < 0 || delay < 0 || memory < 0 || devices < 0 || verbose < 0 ||
      integers < 0)
    return 0;
  // Infinity is whole: it stands for the most threads.
  if (threads != floor(threads)) return 0;
  if (!read_breakeven(option_value(BREAKEVEN), v + 8)) return 0;
  v[0] = number;
  v[1] = single;
  v[2] = threads;
  v[3] = min_flops;
  v[4] = delay;
  v[5] = memory;
  v[6] = number == -1 ? devices : 0;
  v[7] = verbose;
  v[8 + VERBS] = integers;
  return 1;
}

// .External(settings, device, precision): the settings as a vector, or NULL when one of them is
// not what it should be; the R function says which.
SEXP settings_of_call(SEXP args) {
  double v[SETTINGS];
  if (!read_settings(CADR(args), CADDR(args), v)) return R_NilValue;
  const SEXP how = Rf_allocVector(REALSXP, SETTINGS);
  memcpy(REAL(how), v, sizeof v);
  return how;
}
