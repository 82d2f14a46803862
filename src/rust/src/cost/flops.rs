//! Operations of factorizations, products and applications of reflectors, from their dimensions.

pub(super) fn area((m, n): (usize, usize)) -> f64 {
    m as f64 * n as f64
}

/// The size of a product: C has m x n entries, of which only a triangle may be wanted, with what is
/// below it or to its right.
#[derive(Debug, Clone, Copy)]
pub struct ProductSize {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub triangle: bool,
}

impl ProductSize {
    pub fn operations(&self) -> f64 {
        let mut entries = area((self.m, self.n));
        if self.triangle {
            entries -= (self.m.min(self.n) as f64).powi(2) / 2.0;
        }
        2.0 * entries * self.k as f64
    }
}

/// Operations of an n by n Cholesky factorization.
pub fn cholesky_flops(n: usize) -> f64 {
    (n as f64).powi(3) / 3.0
}

/// Operations of an m by n LU factorization.
pub fn lu_flops((m, n): (usize, usize)) -> f64 {
    let (m, n, k) = (m as f64, n as f64, m.min(n) as f64);
    2.0 * k * (m * n - (m + n) * k / 2.0 + k * k / 3.0) - k * (m - k / 2.0)
}

/// Operations of an m by n QR factorization: `2 n^2 (m - n / 3)` where m is not less than n.
pub fn qr_flops((m, n): (usize, usize)) -> f64 {
    let (m, n, k) = (m as f64, n as f64, m.min(n) as f64);
    4.0 * k * (m * n - (m + n) * k / 2.0 + k * k / 3.0)
}

/// Operations of the eigenvalues of a symmetric matrix of order n, and of its vectors.
pub fn eigen_flops(n: usize, vectors: bool) -> f64 {
    let each = if vectors { 14.0 } else { 4.0 };
    each / 3.0 * area((n, n)) * n as f64
}

/// Operations of k reflectors of m rows, each a row shorter than the one before, on a matrix of n
/// columns.
pub fn reflect_flops((m, k): (usize, usize), n: usize) -> f64 {
    let (m, n, k) = (m as f64, n as f64, k as f64);
    4.0 * n * k * (m - k / 2.0)
}

/// Operations of k reflectors of m rows on the identity's first n columns, of which each reflector
/// meets one less.
pub fn form_flops((m, k): (usize, usize), n: usize) -> f64 {
    let (m, n, k) = (m as f64, n as f64, k as f64);
    4.0 * k * (m * n - (m + n) * k / 2.0 + k * k / 3.0)
}

/// What a call is said to take that applies so many reflectors of m rows to a matrix of n columns:
/// no less than [`reflect_flops`].
pub fn apply_flops(m: usize, reflectors: usize, n: usize) -> f64 {
    4.0 * m as f64 * reflectors as f64 * n as f64
}
