//! Linear programs and segmentation by random walks. One test sets an environment variable. So no
//! test here opens a GPU, whose driver could read the environment at the same time.

#[path = "../common/mod.rs"]
mod common;
mod lp_ipm;
mod random_walker;
