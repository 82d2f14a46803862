//! Columns of a matrix on the host without their centres.

use crate::base::threads::{join, share};

/// `out` = each column of x without its value. There are as many columns as values, and `out` has
/// as many entries as x.
pub fn subtract(x: &[f64], values: &[f64], out: &mut [f64], threads: usize) {
    let threads = share(threads, out.len() as f64);
    if threads < 2 || values.len() < 2 {
        let rows = (out.len() / values.len().max(1)).max(1);
        let columns = x.chunks_exact(rows).zip(out.chunks_exact_mut(rows));
        for ((from, to), value) in columns.zip(values) {
            to.iter_mut()
                .zip(from)
                .for_each(|(to, from)| *to = from - value);
        }
        return;
    }
    let half = values.len() / 2;
    let at = out.len() / values.len() * half;
    let ((x1, x2), (y1, y2)) = (x.split_at(at), out.split_at_mut(at));
    let (left, right) = values.split_at(half);
    join(
        threads,
        |t| subtract(x1, left, y1, t),
        |t| subtract(x2, right, y2, t),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_has_its_value() {
        for (rows, columns) in [(0, 3), (1, 1), (3, 0), (20_000, 7), (5, 8001)] {
            let x: Vec<f64> = (0..rows * columns).map(|i| i as f64).collect();
            let values: Vec<f64> = (0..columns).map(|j| (j * rows) as f64).collect();
            for threads in [1, 4] {
                let mut out = vec![f64::NAN; x.len()];
                subtract(&x, &values, &mut out, threads);
                let want = |(i, y): (usize, &f64)| *y == (i % rows.max(1)) as f64;
                assert!(out.iter().enumerate().all(want), "{rows} {columns}");
            }
        }
    }
}
