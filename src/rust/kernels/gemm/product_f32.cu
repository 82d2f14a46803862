// arch: sm_80
// Products in single precision, in square tiles. Large tiles run two at a time on a multiprocessor;
// small tiles are for products with few tiles.
#include "store_f32.cuh"
#include "multiply.cuh"

LAYOUTS(tiles_multiply_large, f32, float, 2, 128, 128, 5, 2, 2, 8)
LAYOUTS(tiles_multiply_small, f32, float, 6, 64, 64, 5, 2, 1, 4)
