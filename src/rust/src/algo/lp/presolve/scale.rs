//! Scaling of a linear program: rows and columns of the matrix towards a largest magnitude of 1
//! (Ruiz), then right-hand sides and costs, all by powers of 2, which round nothing.

use crate::algo::lp::normal::equations::NormalEquations;
use crate::base::error::Result;
use crate::base::sparse::csc::Csc;

const SWEEPS: usize = 10;
/// Where all logarithms of magnitudes are as small another sweep would hardly change the nearest
/// powers of 2.
const NEAR_ONE: f64 = 0.02;

#[derive(Debug, Clone, Default)]
pub struct Scales {
    pub rows: Vec<f64>,
    pub bounded: Vec<f64>,
    pub free: Vec<f64>,
    /// Of right-hand sides and bounds, and of costs.
    pub rhs: f64,
    pub cost: f64,
}

fn power_of_2(x: f64) -> f64 {
    x.log2().round_ties_even().exp2()
}

/// By what to multiply rows and columns.
pub fn scale<N: NormalEquations>(n: &mut N) -> Result<Scales> {
    let of = n.dimensions();
    let mut s = Scales {
        rows: vec![1.0; of.rows],
        bounded: vec![1.0; of.bounded],
        free: vec![1.0; of.free],
        rhs: 1.0,
        cost: 1.0,
    };
    for _ in 0..SWEEPS {
        let (rows, bounded, free) = n.magnitudes(&s.rows, &s.bounded, &s.free)?;
        divide_by_roots(&mut s.rows, &rows);
        divide_by_roots(&mut s.bounded, &bounded);
        divide_by_roots(&mut s.free, &free);
        let mut all = rows.iter().chain(&bounded).chain(&free);
        if all.all(|x| *x == 0.0 || (x.ln()).abs() < NEAR_ONE) {
            break;
        }
    }
    for list in [&mut s.rows, &mut s.bounded, &mut s.free] {
        list.iter_mut().for_each(|x| *x = power_of_2(*x));
    }
    n.rescale(&s.rows, &s.bounded, &s.free)?;
    Ok(s)
}

/// Scales of rows and columns of a matrix in host memory, as powers of 2.
pub fn scales_of(a: &Csc) -> (Vec<f64>, Vec<f64>) {
    let (mut rows, mut columns) = (vec![1.0; a.rows], vec![1.0; a.columns()]);
    for _ in 0..SWEEPS {
        let (mut of_rows, mut of_columns) =
            (vec![0.0_f64; rows.len()], vec![0.0_f64; columns.len()]);
        for (j, of_column) in of_columns.iter_mut().enumerate() {
            let (index, values) = a.column(j);
            for (i, v) in index.iter().zip(values) {
                let size = (v * rows[*i] * columns[j]).abs();
                *of_column = of_column.max(size);
                of_rows[*i] = of_rows[*i].max(size);
            }
        }
        divide_by_roots(&mut rows, &of_rows);
        divide_by_roots(&mut columns, &of_columns);
    }
    for list in [&mut rows, &mut columns] {
        list.iter_mut().for_each(|x| *x = power_of_2(*x));
    }
    (rows, columns)
}

fn divide_by_roots(all: &mut [f64], magnitudes: &[f64]) {
    for (x, magnitude) in all.iter_mut().zip(magnitudes) {
        if *magnitude > 0.0 {
            *x /= magnitude.sqrt();
        }
    }
}

/// What brings the largest of these magnitudes down to about 1.
pub fn towards_one<'a>(all: impl Iterator<Item = &'a f64>) -> f64 {
    let largest = all.fold(1e-300, |s: f64, x| s.max(x.abs()));
    1.0 / power_of_2(largest).max(1.0)
}
