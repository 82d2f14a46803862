// Products in double precision on the tensor cores, in square tiles: large ones, of which a multiprocessor has one at a time, and
// small ones, three at a time, for products with few tiles or little depth.
#include "multiply_f64.cuh"

LAYOUTS(tiles_multiply_large, 1, 128, 128, 4, 4, 2)
LAYOUTS(tiles_multiply_small, 3, 64, 64, 4, 2, 2)
