// arch: sm_80 sm_90
// Products in double precision on tensor cores, in square tiles. Large tiles run one at a time on a
// multiprocessor. Small tiles run three at a time, for products with few tiles or a small k.
#include "store_f64.cuh"
#include "multiply.cuh"

LAYOUTS(tiles_multiply_large, f64, double, 1, 128, 128, 4, 4, 2)
LAYOUTS(tiles_multiply_small, f64, double, 3, 64, 64, 4, 2, 2)
