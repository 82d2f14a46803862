//! A linear program as its user states it.

/// `min objective'x` where rows and columns are within their bounds, which are lower and upper
/// ones.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'p> {
    pub objective: &'p [f64],
    pub rows: (&'p [f64], &'p [f64]),
    pub columns: (&'p [f64], &'p [f64]),
}
