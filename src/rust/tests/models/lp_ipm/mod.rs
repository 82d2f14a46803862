//! Linear programs: dense and sparse, against closed forms and against what certificates and
//! optimality say of themselves.

mod choice;
mod form;
mod iteration;
mod problem;
mod proofs;
mod scales;
mod undecided;

const INF: f64 = f64::INFINITY;
