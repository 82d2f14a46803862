//! The factor of a matrix of which rows and columns are taken out, or that gets new ones.
//!
//! With rows and columns in three groups, `A = R'R` is
//!
//! ```text
//! A12 = R11'R12    A22 = R12'R12 + R22'R22    A23 = R12'R13 + R22'R23
//! A33 = R13'R13 + R23'R23 + R33'R33
//! ```
//!
//! Without the second group R11 and R13 stay, and the third block's factor is that of
//! `R33'R33 + R23'R23`, an update. With it back again, they give R12, R22 and R23 one after the
//! other, and a downdate brings R33 (Gill, Golub, Murray & Saunders 1974, "Methods for modifying
//! matrix factorizations").

use faer::{MatMut, MatRef};

use super::triangle;
use super::triangle::transposed;
use crate::algo::update::change::change_factor;
use crate::algo::update::checks::{check_factor, check_finite};
use crate::algo::update::margin::margin;
use crate::base::error::{Error, Result};
use crate::base::matrix::{Block, Change, Diag, Part, Side, Trans, Uplo};
use crate::base::scalar::Scalar;
use crate::device::elementwise::{Elementwise, Index};
use crate::device::memory::Memory;
use crate::device::update::FactorUpdate;

/// The factor without these rows and columns, which are counted from 0, in order, and named once.
/// Of `r` the triangle `uplo` is read, and the other is zero in `out`.
pub fn without<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    uplo: Uplo,
    r: MatRef<'_, T>,
    dropped: &[usize],
    out: MatMut<'_, T>,
) -> Result<()> {
    check(r.shape(), dropped)?;
    let r = triangle::load(dev, uplo, r)?;
    let made = take_out(dev, r, dropped)?;
    triangle::store(dev, uplo, made, out)
}

/// As [`without`], of a matrix on the device.
pub fn without_resident<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    uplo: Uplo,
    r: &D::Mat<'_>,
    dropped: &[usize],
) -> Result<D::Mat<'static>> {
    check(dev.shape(r), dropped)?;
    let r = triangle::copy(dev, uplo, r)?;
    let made = take_out(dev, r, dropped)?;
    triangle::give(dev, uplo, made)
}

/// The factor with the columns of `x` as new ones of the matrix from row and column `at` on, which
/// x has rows of, too: those of its m columns in rows `at` to `at + m` are the new block on the
/// diagonal, of which the upper triangle is read. Gives what [`update`](super::factor::update) says
/// of the downdate that it takes; [`Error::NotPositiveDefinite`] with the order of the minor of the
/// larger matrix.
pub fn with<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    uplo: Uplo,
    r: MatRef<'_, T>,
    at: usize,
    x: MatRef<'_, T>,
    out: MatMut<'_, T>,
) -> Result<f64> {
    check_new(r.shape(), at, x.shape())?;
    let r = triangle::load(dev, uplo, r)?;
    let x = dev.load(x)?;
    let (made, margin) = put_in(dev, &r, at, &x)?;
    triangle::store(dev, uplo, made, out)?;
    Ok(margin)
}

/// As [`with`], of matrices on the device.
pub fn with_resident<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    uplo: Uplo,
    r: &D::Mat<'_>,
    at: usize,
    x: &D::Mat<'_>,
) -> Result<(D::Mat<'static>, f64)> {
    check_new(dev.shape(r), at, dev.shape(x))?;
    let r = triangle::copy(dev, uplo, r)?;
    let (made, margin) = put_in(dev, &r, at, x)?;
    Ok((triangle::give(dev, uplo, made)?, margin))
}

fn refuse(what: &str) -> Result<()> {
    Err(Error::Dimension { what: what.into() })
}

fn check((rows, cols): (usize, usize), dropped: &[usize]) -> Result<()> {
    if rows != cols {
        return refuse("the factor must be square");
    }
    let ordered = dropped.windows(2).all(|pair| pair[0] < pair[1]);
    if !ordered || dropped.last().is_some_and(|last| *last >= rows) {
        return refuse("the rows to be dropped are not those of the factor in order");
    }
    Ok(())
}

fn check_new((rows, cols): (usize, usize), at: usize, x: (usize, usize)) -> Result<()> {
    if rows != cols || at > rows || x.0 != rows + x.1 {
        return refuse("the new rows do not fit the factor");
    }
    Ok(())
}

fn list(places: impl Iterator<Item = usize>) -> Result<Vec<i32>> {
    let place = |i| {
        i32::try_from(i).map_err(|_| Error::Dimension {
            what: "the factor has too many rows".into(),
        })
    };
    places.map(place).collect()
}

/// All rows that go are one update of what follows the first of them: those that stay after it are
/// a triangle, and an entry left of the diagonal of one that goes is zero.
fn take_out<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    r: D::Mat<'static>,
    dropped: &[usize],
) -> Result<D::Mat<'static>> {
    check_factor(dev, &r)?;
    let (n, _) = dev.shape(&r);
    let Some(&first) = dropped.first() else {
        return Ok(r);
    };
    let mut stays = vec![true; n];
    dropped.iter().for_each(|i| stays[*i] = false);
    let kept = list((0..n).filter(|i| stays[*i]))?;
    let gone = list(dropped.iter().copied())?;
    let after = &kept[first..];
    let (size, rest) = (kept.len(), after.len());
    let part = |rows: Index<'_>, (m, n): (usize, usize)| {
        let mut out = dev.blank(m, n)?;
        dev.gather(rows, places(after), T::from_f64(0.0), &r, &mut out)?;
        Ok::<_, Error>(out)
    };
    let mut tail = part(places(after), (rest, rest))?;
    if rest > 0 {
        let mut v = transposed(dev, &part(places(&gone), (gone.len(), rest))?)?;
        change_factor(dev, Change::Up, &mut tail, &mut v)?;
    }
    if first == 0 {
        return Ok(tail);
    }
    let mut out = dev.zeros(size, size)?;
    dev.copy_block(&r, Block::leading(first, first), &mut out, (0, 0))?;
    if rest > 0 {
        let right = part(Index::From(0), (first, rest))?;
        dev.copy_block(&right, Block::leading(first, rest), &mut out, (0, first))?;
        dev.copy_block(&tail, Block::leading(rest, rest), &mut out, (first, first))?;
    }
    Ok(out)
}

/// Adjacent places need no list.
fn places(all: &[i32]) -> Index<'_> {
    let adjacent = all.windows(2).all(|pair| pair[1] == pair[0] + 1);
    match all.first().map(|first| usize::try_from(*first)) {
        Some(Ok(first)) if adjacent => Index::From(first),
        _ => Index::List(all),
    }
}

/// A copy of a block that lives on the device alone.
fn block<T: Scalar, D: Memory<T>>(
    dev: &D,
    from: &D::Mat<'_>,
    place: Block,
) -> Result<D::Mat<'static>> {
    let mut out = dev.zeros(place.rows, place.cols)?;
    if place.rows > 0 && place.cols > 0 {
        dev.copy_block(from, place, &mut out, (0, 0))?;
    }
    Ok(out)
}

/// A failure among rows that begin after so many others.
fn after<V>(rows: usize, outcome: Result<V>) -> Result<V> {
    outcome.map_err(|e| match e {
        Error::NotPositiveDefinite { order } => Error::NotPositiveDefinite {
            order: rows + order,
        },
        other => other,
    })
}

fn put_in<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    r: &D::Mat<'_>,
    at: usize,
    x: &D::Mat<'_>,
) -> Result<(D::Mat<'static>, f64)> {
    check_factor(dev, r)?;
    check_finite(dev, x, "x")?;
    let (n, m) = (dev.shape(r).0, dev.shape(x).1);
    let rest = n - at;
    let (one, minus) = (T::from_f64(1.0), T::from_f64(-1.0));
    let (left, upper, yes, no) = (Side::Left, Uplo::Upper, Trans::Yes, Trans::No);
    let place = |row, col, rows, cols| Block {
        row,
        col,
        rows,
        cols,
    };
    let mut out = dev.zeros(n + m, n + m)?;
    let put = |part: &D::Mat<'_>, out: &mut D::Mat<'_>, at| {
        let (rows, cols) = dev.shape(part);
        match rows.min(cols) {
            0 => Ok(()),
            _ => dev.copy_block(part, Block::leading(rows, cols), out, at),
        }
    };
    let first = block(dev, r, place(0, 0, at, at))?;
    put(&first, &mut out, (0, 0))?;
    drop(first);

    let mut r12 = block(dev, x, place(0, 0, at, m))?;
    let r13 = block(dev, r, place(0, at, at, rest))?;
    let mut r22 = block(dev, x, place(at, 0, m, m))?;
    let mut r23 = transposed(dev, &block(dev, x, place(at + m, 0, rest, m))?)?;
    if m > 0 && at > 0 {
        dev.trsm(left, upper, yes, Diag::NonUnit, at, r, &mut r12)?;
        dev.gemm(minus, yes, &r12, no, &r12, one, &mut r22)?;
        if rest > 0 {
            dev.gemm(minus, yes, &r12, no, &r13, one, &mut r23)?;
        }
    }
    put(&r12, &mut out, (0, at))?;
    put(&r13, &mut out, (0, at + m))?;
    drop((r12, r13));
    if m > 0 {
        after(at, dev.potrf(upper, &mut r22))?;
        r22 = dev.duplicate(&r22, Part::Upper)?;
        put(&r22, &mut out, (at, at))?;
    }

    let mut r33 = block(dev, r, place(at, at, rest, rest))?;
    let mut left_over = 1.0;
    if m > 0 && rest > 0 {
        dev.trsm(left, upper, yes, Diag::NonUnit, m, &r22, &mut r23)?;
        put(&r23, &mut out, (at, at + m))?;
        let mut v = transposed(dev, &r23)?;
        left_over = after(at + m, margin(dev, &r33, &v))?;
        after(at + m, change_factor(dev, Change::Down, &mut r33, &mut v))?;
    }
    put(&r33, &mut out, (at + m, at + m))?;
    Ok((out, left_over))
}
