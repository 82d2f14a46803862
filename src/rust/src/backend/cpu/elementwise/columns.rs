//! Columns times numbers, and their inner products.

use faer::{MatMut, MatRef};

use crate::backend::cpu::elementwise::entries::{each_chunk, ARITHMETIC};
use crate::backend::cpu::matrix::views::{columns, require};
use crate::base::columns::dot;
use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::scalar::Scalar;
use crate::base::threads::share;
use crate::device::elementwise::Scaling;

pub(crate) fn scale<T: Scalar>(
    x: MatRef<'_, T>,
    by: &[f64],
    how: Scaling,
    y: MatMut<'_, T>,
    threads: usize,
) -> Result<()> {
    let fits = x.shape() == y.shape() && by.len() == x.ncols();
    require(fits, "non-conformable arrays")?;
    let x = columns(x)?;
    each_chunk(y, threads, ARITHMETIC, &|j, i, y: &mut [T]| {
        let from = &x.col(j).as_slice()[i..i + y.len()];
        for (y, x) in y.iter_mut().zip(from) {
            let (x, before): (f64, f64) = ((*x).into(), (*y).into());
            *y = T::from_f64(match how {
                Scaling::Replace => by[j] * x,
                Scaling::Add => before + by[j] * x,
                Scaling::Onto => x + by[j] * before,
            });
        }
    })
}

pub(crate) fn dots<T: Scalar>(
    x: MatRef<'_, T>,
    y: MatRef<'_, T>,
    threads: usize,
) -> Result<Vec<f64>> {
    require(x.shape() == y.shape(), "non-conformable arrays")?;
    let threads = share(threads, ARITHMETIC * x.nrows() as f64);
    let (x, y) = (columns(x)?, columns(y)?);
    let of = |j| {
        interrupt::poll()?;
        Ok(dot(x.col(j).as_slice(), y.col(j).as_slice(), threads))
    };
    (0..x.ncols()).map(of).collect()
}
