// arch: sm_80 sm_90
// Products in double precision on the tensor cores with few columns or few rows, or few of both:
// tiles that are 16 wide in one direction, so that memory, not arithmetic on missing columns, sets
// the pace, and tiles of order 32, of which there are enough for all multiprocessors when there are
// not of others.
#include "store_f64.cuh"
#include "multiply.cuh"

INSTANCE(tiles_multiply_tall_nn_f64, double, 3, 128, 16, 4, 4, 1, tile::LINES, tile::DEPTH)
INSTANCE(tiles_multiply_tall_tn_f64, double, 3, 128, 16, 4, 4, 1, tile::DEPTH, tile::DEPTH)
INSTANCE(tiles_multiply_tall_nt_f64, double, 3, 128, 16, 4, 4, 1, tile::LINES, tile::LINES)
INSTANCE(tiles_multiply_wide_nn_f64, double, 3, 16, 128, 4, 1, 4, tile::LINES, tile::DEPTH)

LAYOUTS(tiles_multiply_tiny, f64, double, 4, 32, 32, 4, 2, 2)
