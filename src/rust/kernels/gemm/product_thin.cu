// arch: sm_80 sm_90
// Products in double precision on tensor cores, for few columns or few rows. Tiles that are 16 or
// 32 wide in one direction leave memory, not arithmetic on absent columns, as the limit. Tiles of
// order 32 fill all multiprocessors when a product has too few larger ones.
#include "store_f64.cuh"
#include "multiply.cuh"

INSTANCE(tiles_multiply_tall_nn_f64, double, 3, 128, 16, 4, 4, 1, tile::LINES, tile::DEPTH)
INSTANCE(tiles_multiply_tall_tn_f64, double, 3, 128, 16, 4, 4, 1, tile::DEPTH, tile::DEPTH)
INSTANCE(tiles_multiply_tall_nt_f64, double, 3, 128, 16, 4, 4, 1, tile::LINES, tile::LINES)
INSTANCE(tiles_multiply_wide_nn_f64, double, 3, 16, 128, 4, 1, 4, tile::LINES, tile::DEPTH)

INSTANCE(tiles_multiply_slim_nn_f64, double, 2, 128, 32, 4, 4, 1, tile::LINES, tile::DEPTH)

LAYOUTS(tiles_multiply_tiny, f64, double, 4, 32, 32, 4, 2, 2)
