// arch: sm_80 sm_90
// Products in double precision on the tensor cores, in square tiles: large ones, of which a
// multiprocessor has one at a time, and small ones, three at a time, for products with few tiles or
// little depth.
#include "store_f64.cuh"
#include "multiply.cuh"

LAYOUTS(tiles_multiply_large, f64, double, 1, 128, 128, 4, 4, 2)
LAYOUTS(tiles_multiply_small, f64, double, 3, 64, 64, 4, 2, 2)
