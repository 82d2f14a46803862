//! Linear programs and segmentation by random walks. One test sets an environment variable; no test here opens a GPU, whose driver
//! could read the environment at that moment.

mod lp_ipm;
mod random_walker;
