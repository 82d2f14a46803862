//! Preconditioned conjugate gradients and incomplete Cholesky factors: against direct solutions,
//! textbook recurrences and closed forms.

mod alone;
mod columns;
mod counts;
mod direct;
mod ends;
mod given;
mod hard;
mod incomplete;
mod interrupt;
mod operators;
mod poisson;
mod problem;
mod resident;
mod shifted;
mod symmetry;
mod table;
mod whole;
