/* Updates and downdates of rank k by qrupdate, which knows rank one: column after column of V.
 * Called by .C of chol-update.R, and timed here, since .C copies.
 *   R CMD SHLIB -o qrupdate.so bench/updates/chol-update-qrupdate.c -lqrupdate
 *       (Debian: libqrupdate-dev, which brings R's own BLAS)
 */
#include <time.h>

void dch1up_(const int *n, double *r, const int *ldr, double *u, double *w);
void dch1dn_(const int *n, double *r, const int *ldr, double *u, double *w, int *info);

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* R of n x n becomes the factor of R'R + VV' or, where `down`, R'R - VV'; V of n x k is lost; `w`
 * has room for n. `info` is qrupdate's, of the first column that has no downdate, and zero where
 * all have one. */
void qrupdate_columns(const int *n, const int *k, const int *down, double *r, double *v, double *w,
                      double *seconds, int *info) {
  double start = now();
  *info = 0;
  for (int j = 0; j < *k && *info == 0; j++) {
    double *u = v + (size_t)*n * (size_t)j;
    if (*down)
      dch1dn_(n, r, n, u, w, info);
    else
      dch1up_(n, r, n, u, w);
  }
  *seconds = now() - start;
}
