// Dense verbs of plain double matrices, the usual operands, in one call from R: checks, settings,
// result and computation. A small matrix takes microseconds, as long as the steps in R would.
#include <R.h>
#include <Rinternals.h>
#include "plain.h"
#include "results.h"
#include "settings.h"

// A matrix by columns. Rust has the same structure.
struct plain_matrix {
  const double *values;
  int rows, columns;
};

// In Rust (r/plain.rs): fill `out`, and return a reply, or a null pointer if there is nothing to
// say. They jump nowhere.
SEXP cudafactor_plain_product(const double *how, int tx, struct plain_matrix x, int ty,
                              struct plain_matrix y, double *out);
SEXP cudafactor_plain_crossprod(const double *how, int transposed, struct plain_matrix x,
                                double *out);
SEXP cudafactor_plain_chol(const double *how, struct plain_matrix x, double *out);
SEXP cudafactor_plain_solve(const double *how, struct plain_matrix a, struct plain_matrix b,
                            double tol, double *out);
SEXP cudafactor_plain_lu(const double *how, struct plain_matrix x, double *out, int *ipiv,
                         int *perm, double *norm1, int *zero);
SEXP cudafactor_plain_qr(const double *how, struct plain_matrix x, double tol, double *out,
                         int *rank, double *qraux, int *pivot);

// Whether a value is a double matrix without a class.
static int is_plain(SEXP x, struct plain_matrix *m) {
  if (TYPEOF(x) != REALSXP || Rf_isObject(x)) return 0;
  const SEXP dim = Rf_getAttrib(x, R_DimSymbol);
  if (TYPEOF(dim) != INTSXP || LENGTH(dim) != 2) return 0;
  // REAL() would copy a vector that shares its memory with another.
  *m = (struct plain_matrix){REAL_RO(x), INTEGER_RO(dim)[0], INTEGER_RO(dim)[1]};
  return 1;
}

// As is_plain(), of a vector too, which is one column; `vector` tells which.
static int is_plain_side(SEXP x, struct plain_matrix *m, int *vector) {
  *vector = 0;
  if (is_plain(x, m)) return 1;
  if (TYPEOF(x) != REALSXP || Rf_isObject(x) || XLENGTH(x) > INT_MAX) return 0;
  if (Rf_getAttrib(x, R_DimSymbol) != R_NilValue) return 0;
  *m = (struct plain_matrix){REAL_RO(x), (int)XLENGTH(x), 1};
  *vector = 1;
  return 1;
}

// Whether a value is one number.
static int is_number(SEXP x) {
  return TYPEOF(x) == REALSXP && XLENGTH(x) == 1 && !ISNAN(REAL_RO(x)[0]);
}

// What R gets: the result, with the reply if there is one. `out` is protected.
static SEXP with_reply(SEXP reply, SEXP out) {
  if (reply == NULL) return out;
  PROTECT(reply);
  const SEXP both = Rf_allocVector(VECSXP, 2);
  SET_VECTOR_ELT(both, 0, reply);
  SET_VECTOR_ELT(both, 1, out);
  UNPROTECT(1);
  return both;
}

SEXP plain_product(SEXP args) {
  args = CDR(args);
  const int tx = Rf_asLogical(CAR(args)), ty = Rf_asLogical(CADR(args));
  args = CDDR(args);
  const SEXP x = CAR(args), y = CADR(args);
  args = CDDR(args);
  double how[SETTINGS];
  struct plain_matrix a, b;
  const int symmetric = y == R_NilValue && tx != ty;
  if (!is_plain(x, &a)) return R_NilValue;
  if (!symmetric && !is_plain(y, &b)) return R_NilValue;
  if (symmetric) b = a;
  if (!symmetric && (tx ? a.rows : a.columns) != (ty ? b.columns : b.rows)) return R_NilValue;
  if (!read_settings(CAR(args), CADR(args), how)) return R_NilValue;
  const int rows = tx ? a.columns : a.rows, columns = ty ? b.rows : b.columns;
  const SEXP out = PROTECT(symmetric ? result_matrix(rows, rows) : result_matrix(rows, columns));
  const SEXP both = with_reply(
    symmetric ? cudafactor_plain_crossprod(how, tx, a, REAL(out))
              : cudafactor_plain_product(how, tx, a, ty, b, REAL(out)),
    out);
  UNPROTECT(1);
  return both;
}

SEXP plain_chol(SEXP args) {
  args = CDR(args);
  const SEXP x = CAR(args);
  double how[SETTINGS];
  struct plain_matrix a;
  if (!is_plain(x, &a) || a.rows != a.columns || a.rows == 0) return R_NilValue;
  if (!read_settings(CADR(args), CADDR(args), how)) return R_NilValue;
  const SEXP out = PROTECT(result_vector(REALSXP, XLENGTH(x)));
  SHALLOW_DUPLICATE_ATTRIB(out, x);
  const SEXP both = with_reply(cudafactor_plain_chol(how, a, REAL(out)), out);
  UNPROTECT(1);
  return both;
}

SEXP plain_solve(SEXP args) {
  args = CDR(args);
  const SEXP a = CAR(args), b = CADR(args), tol = CADDR(args);
  args = CDR(CDDR(args));
  double how[SETTINGS];
  struct plain_matrix m, side = {NULL, 0, 0};
  int vector = 0;
  if (!is_plain(a, &m) || m.rows != m.columns || m.rows == 0) return R_NilValue;
  const int inverse = b == R_NilValue;
  if (!inverse && !is_plain_side(b, &side, &vector)) return R_NilValue;
  if (!inverse && (side.rows != m.rows || side.columns == 0)) return R_NilValue;
  if (!is_number(tol) || !read_settings(CAR(args), CADR(args), how)) return R_NilValue;
  const SEXP out = PROTECT(vector ? result_vector(REALSXP, m.rows)
                                  : result_matrix(m.rows, inverse ? m.rows : side.columns));
  const SEXP both =
    with_reply(cudafactor_plain_solve(how, m, side, REAL_RO(tol)[0], REAL(out)), out);
  UNPROTECT(1);
  return both;
}

// A list of components with names, and a class. The components are to be set.
static SEXP new_object(const char *const *names, int count, const char *class) {
  const SEXP object = PROTECT(Rf_allocVector(VECSXP, count));
  const SEXP all = PROTECT(Rf_allocVector(STRSXP, count));
  for (int i = 0; i < count; ++i) SET_STRING_ELT(all, i, Rf_mkChar(names[i]));
  Rf_setAttrib(object, R_NamesSymbol, all);
  Rf_setAttrib(object, R_ClassSymbol, PROTECT(Rf_mkString(class)));
  UNPROTECT(3);
  return object;
}

// A new vector as a component, which protects it.
static SEXP component(SEXP object, int i, SEXP vector) {
  SET_VECTOR_ELT(object, i, vector);
  return vector;
}

SEXP plain_lu(SEXP args) {
  enum { LU, IPIV, PERM, SINGULAR, NORM1, DIMNAMES, PRECISION, COUNT };
  static const char *const names[COUNT] = {"lu",    "ipiv",     "perm",     "singular",
                                           "norm1", "dimnames", "precision"};
  args = CDR(args);
  double how[SETTINGS];
  struct plain_matrix x;
  if (!is_plain(CAR(args), &x)) return R_NilValue;
  if (!read_settings(CADR(args), CADDR(args), how)) return R_NilValue;
  const SEXP f = PROTECT(new_object(names, COUNT, "gpu_lu"));
  const SEXP out = component(f, LU, result_matrix(x.rows, x.columns));
  const int least = x.rows < x.columns ? x.rows : x.columns;
  const SEXP ipiv = component(f, IPIV, Rf_allocVector(INTSXP, least));
  const SEXP perm = component(f, PERM, Rf_allocVector(INTSXP, x.rows));
  const SEXP singular = component(f, SINGULAR, Rf_allocVector(INTSXP, 1));
  double norm1 = NA_REAL;
  const SEXP reply = cudafactor_plain_lu(how, x, REAL(out), INTEGER(ipiv), INTEGER(perm), &norm1,
                                         INTEGER(singular));
  const SEXP both = PROTECT(with_reply(reply, f));
  if (x.rows == x.columns) component(f, NORM1, Rf_ScalarReal(norm1));
  component(f, DIMNAMES, Rf_getAttrib(CAR(args), R_DimNamesSymbol));
  component(f, PRECISION, CADDR(args));
  UNPROTECT(2);
  return both;
}

SEXP plain_qr(SEXP args) {
  enum { QR, RANK, QRAUX, PIVOT, COUNT };
  static const char *const names[COUNT] = {"qr", "rank", "qraux", "pivot"};
  args = CDR(args);
  const SEXP tol = CADR(args);
  double how[SETTINGS];
  struct plain_matrix x;
  if (!is_plain(CAR(args), &x) || !is_number(tol)) return R_NilValue;
  if (!read_settings(CADDR(args), CADR(CDDR(args)), how)) return R_NilValue;
  const SEXP f = PROTECT(new_object(names, COUNT, "qr"));
  const SEXP out = component(f, QR, result_vector(REALSXP, XLENGTH(CAR(args))));
  SHALLOW_DUPLICATE_ATTRIB(out, CAR(args));
  const SEXP rank = component(f, RANK, Rf_allocVector(INTSXP, 1));
  const SEXP qraux = component(f, QRAUX, Rf_allocVector(REALSXP, x.columns));
  const SEXP pivot = component(f, PIVOT, Rf_allocVector(INTSXP, x.columns));
  const SEXP both = with_reply(cudafactor_plain_qr(how, x, REAL_RO(tol)[0], REAL(out),
                                                   INTEGER(rank), REAL(qraux), INTEGER(pivot)),
                               f);
  UNPROTECT(1);
  return both;
}
