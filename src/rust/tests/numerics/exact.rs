//! Residuals of which no digit is lost to the arithmetic that forms them.

use super::common::Host;
use cudafactor::base::scalar::Scalar;

/// A sum in twice the double precision (Ogita, Rump and Oishi's compensated dot product).
#[derive(Debug, Clone, Copy)]
pub struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    pub fn from(x: f64) -> Self {
        Sum { high: x, low: 0.0 }
    }

    #[inline(always)]
    pub fn add(&mut self, x: f64) {
        let sum = self.high + x;
        let taken = sum - self.high;
        self.low += (self.high - (sum - taken)) + (x - taken);
        self.high = sum;
    }

    /// By Veltkamp's halves, which are faster than a call of `fma` on a machine whose processor is
    /// not asked for one.
    #[inline(always)]
    pub fn add_product(&mut self, x: f64, y: f64) {
        let p = x * y;
        self.add(p);
        let ((a, b), (c, d)) = (halves(x), halves(y));
        self.low += ((a * c - p) + a * d + b * c) + b * d;
    }

    pub fn value(self) -> f64 {
        self.high + self.low
    }
}

/// Two numbers of 26 bits that add up to `x`.
#[inline(always)]
fn halves(x: f64) -> (f64, f64) {
    let c = x * ((1u64 << 27) + 1) as f64;
    let high = c - (c - x);
    (high, x - high)
}

/// `b - x'y`, without an error that would count in precision T: where that is single, double
/// precision is enough.
fn remainder<T: Scalar>(b: f64, x: &[f64], y: &[f64]) -> f64 {
    if T::EPS > 1e-10 {
        return x.iter().zip(y).fold(b, |sum, (x, y)| sum - x * y);
    }
    let mut sum = Sum::from(b);
    for (x, y) in x.iter().zip(y) {
        sum.add_product(-*x, *y);
    }
    sum.value()
}

/// The larger of two, NaN if either is.
pub fn worst(x: f64, y: f64) -> f64 {
    if x > y || x.is_nan() {
        x
    } else {
        y
    }
}

/// The columns in double precision.
pub fn columns<T: Scalar>(a: &Host<T>) -> Vec<Vec<f64>> {
    (0..a.cols)
        .map(|j| (0..a.rows).map(|i| a.at(i, j)).collect())
        .collect()
}

pub fn transposed<T: Scalar>(a: &Host<T>) -> Host<T> {
    Host::from_fn(a.cols, a.rows, |i, j| a.at(j, i))
}

/// Ends the state in which faer's assembly leaves a processor: the upper halves of its vector
/// registers in use, whereupon every scalar instruction waits for the one before it, and the loops
/// here take six times as long.
pub fn tidy_registers() {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: the processor has the instruction, and no value is kept in what it clears.
        unsafe { std::arch::x86_64::_mm256_zeroupper() }
    }
}

/// Two measures of `A - R'R` in units of what rounding does.
#[derive(Debug, Clone, Copy)]
pub struct Residual {
    /// In the 1-norm, divided by `n eps ||A||`.
    pub norm: f64,
    /// The worst entry, divided by `(n + 1) eps sqrt(a_ii a_jj)`. The theorem on Cholesky's method
    /// allows each `gamma_{n+1} |R'||R|`, at most one half of this unit, whatever the order of the
    /// sums. Scaling rows and columns does not change it.
    pub entries: f64,
}

/// Of an upper triangle `r` of which nothing else is read; of `a` too only that triangle is.
pub fn cholesky<T: Scalar>(a: &Host<T>, r: &Host<T>) -> Residual {
    tidy_registers();
    let n = a.rows;
    let columns: Vec<Vec<f64>> = (0..n)
        .map(|j| (0..=j).map(|i| r.at(i, j)).collect())
        .collect();
    let roots: Vec<f64> = (0..n).map(|j| a.at(j, j).sqrt()).collect();
    let (mut errors, mut sizes) = (vec![0.0; n], vec![0.0; n]);
    let mut entries = 0.0;
    for j in 0..n {
        for i in 0..=j {
            let e = remainder::<T>(a.at(i, j), &columns[i], &columns[j]).abs();
            let size = a.at(i, j).abs();
            entries = worst(e / (roots[i] * roots[j]), entries);
            errors[j] += e;
            sizes[j] += size;
            if i < j {
                errors[i] += e;
                sizes[i] += size;
            }
        }
    }
    let unit = n as f64 * T::EPS;
    Residual {
        norm: errors.into_iter().fold(0.0, worst) / (sizes.into_iter().fold(0.0, worst) * unit),
        entries: entries / (unit + T::EPS),
    }
}

/// Of `PA - LU`: the 1-norm divided by `max(m, n) eps ||A||`, and the worst entry divided by
/// `min(m, n) eps |L||U|`, where the theorem on Gaussian elimination allows one half, whatever the
/// growth.
pub fn lu<T: Scalar>(a: &Host<T>, factor: &Host<T>, ipiv: &[usize]) -> Residual {
    tidy_registers();
    let (m, n, k) = (a.rows, a.cols, ipiv.len());
    let mut order: Vec<usize> = (0..m).collect();
    for (i, &p) in ipiv.iter().enumerate() {
        order.swap(i, p);
    }
    let one = |i: usize, j: usize| if i == j { 1.0 } else { factor.at(i, j) };
    let rows: Vec<Vec<f64>> = (0..m)
        .map(|i| (0..k.min(i + 1)).map(|j| one(i, j)).collect())
        .collect();
    let (mut error, mut norm, mut entries) = (0.0, 0.0, 0.0);
    for (j, u) in columns(factor).iter().enumerate() {
        let (mut errors, mut sizes) = (0.0, 0.0);
        for (i, l) in rows.iter().enumerate() {
            let used = l.len().min(j + 1);
            let (l, u) = (&l[..used], &u[..used]);
            let b = a.at(order[i], j);
            let e = remainder::<T>(b, l, u).abs();
            let size: f64 = l.iter().zip(u).map(|(l, u)| (l * u).abs()).sum();
            entries = worst(if e == 0.0 { 0.0 } else { e / size }, entries);
            errors += e;
            sizes += b.abs();
        }
        error = worst(errors, error);
        norm = worst(sizes, norm);
    }
    Residual {
        norm: if error == 0.0 {
            0.0
        } else {
            error / (norm * m.max(n) as f64 * T::EPS)
        },
        entries: entries / (k as f64 * T::EPS),
    }
}

/// The worst entry of `MX - B` divided by `n eps |M||X|`, M a triangle of which the rest is zero:
/// substitution stays below one half, row by row, whatever the condition.
pub fn triangular<T: Scalar>(m: &Host<T>, lower: bool, x: &Host<T>, b: &Host<T>) -> f64 {
    tidy_registers();
    let n = m.rows;
    let rows = columns(&transposed(m));
    let mut largest = 0.0;
    for (j, x) in columns(x).iter().enumerate() {
        for (i, row) in rows.iter().enumerate() {
            let used = if lower { 0..i + 1 } else { i..n };
            let (row, x) = (&row[used.clone()], &x[used]);
            let e = remainder::<T>(b.at(i, j), row, x).abs();
            let size: f64 = row.iter().zip(x).map(|(m, x)| (m * x).abs()).sum();
            largest = worst(if e == 0.0 { 0.0 } else { e / size }, largest);
        }
    }
    largest / (n as f64 * T::EPS)
}
