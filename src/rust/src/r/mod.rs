//! The glue to R: the only module that knows extendr.
//!
//! Every function here is called from one R function of the same verb, after that function has
//! checked shapes and types and allocated the result (`out`), which is filled in place. A
//! failure goes back as a value, never as an R error: raising one from here
//! would jump over Rust frames. `plain` is called by C (`plain.c`), without extendr.

mod args;
mod callback;
mod chol_gpus;
mod cholesky;
mod cholesky_file;
mod cholesky_update;
mod covariance;
mod device;
mod dispatch;
mod eigen;
mod elementwise;
mod gpu_matrix;
mod handle;
mod ichol;
mod lanczos;
mod lm;
mod lp_ipm;
mod lp_mps;
mod lu;
mod matmult;
mod matrix_file;
mod memory;
mod movement;
mod norm;
mod on_resident;
mod operand;
mod pcg;
mod pcg_operands;
mod plain;
mod qr;
mod qr_resident;
mod random_walker;
mod reply;
mod resident;
mod save;
mod session;
mod sparse;
mod target;
mod tile_matrix;
mod tile_parts;
mod tile_product;
mod tile_solve;
mod tile_task;
mod tile_update;
mod tile_writer;
mod triangular;

use extendr_api::prelude::*;

extendr_module! {
    mod cudafactor;
    use chol_gpus;
    use cholesky;
    use cholesky_file;
    use cholesky_update;
    use covariance;
    use device;
    use eigen;
    use elementwise;
    use ichol;
    use lanczos;
    use lm;
    use lp_ipm;
    use lp_mps;
    use lu;
    use matmult;
    use matrix_file;
    use memory;
    use movement;
    use norm;
    use pcg;
    use qr;
    use qr_resident;
    use random_walker;
    use gpu_matrix;
    use save;
    use tile_matrix;
    use tile_product;
    use tile_solve;
    use tile_update;
    use tile_writer;
    use triangular;
}
