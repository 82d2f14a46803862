//! Sparse symmetric matrices by rows: products, relaxation, and the ways between levels.

use super::sparse_coarse::{aggregate, coarsen, numbered};
use crate::backend::cpu::matrix::views::require;
use crate::backend::cpu::matrix::views::CpuMat;
use crate::backend::cpu::multigrid::csr::{look, HostAggregates, HostCsr};
use crate::backend::cpu::multigrid::slices::{in_parts, numbers, numbers_mut};
use crate::backend::cpu::CpuDevice;
use crate::base::error::{Error, Result};
use crate::base::scalar::{room, try_zeroed};
use crate::device::sparse::{each_product, Columns, Rows, Sparse, Stored};
use crate::device::stencil::Step;

fn broken(what: &str) -> Error {
    Error::Dimension {
        what: format!("a sparse matrix has {what}"),
    }
}

/// An error unless the parts fit together, rows ascend, and what is read is finite.
fn check(a: &Columns<'_>, n: usize) -> Result<()> {
    let len = i32::try_from(a.index.len()).ok();
    let ends = a.starts.first() == Some(&0) && a.starts.last().copied() == len;
    if !ends || a.values.len() != a.index.len() || a.starts.windows(2).any(|w| w[0] > w[1]) {
        return Err(broken("parts that do not fit together"));
    }
    let mut finite = true;
    for j in 0..n {
        look(j)?;
        let at = a.starts[j] as usize..a.starts[j + 1] as usize;
        let (index, values) = (&a.index[at.clone()], &a.values[at]);
        let ascending = index.windows(2).all(|w| w[0] < w[1]);
        let inside = |i: &i32| usize::try_from(*i).is_ok_and(|i| i < n);
        if !ascending || !index.first().is_none_or(inside) || !index.last().is_none_or(inside) {
            return Err(broken("rows that are out of order or range"));
        }
        let entries = index.iter().zip(values);
        finite &= entries
            .filter(|(i, _)| a.stored.reads(**i as usize, j))
            .all(|(_, v)| v.is_finite());
    }
    if finite {
        Ok(())
    } else {
        Err(Error::NonFiniteIn { argument: "A" })
    }
}

/// Calls `f` with row, column and value of all entries that are read, by columns.
fn each(a: &Columns<'_>, n: usize, mut f: impl FnMut(usize, usize, f64)) -> Result<()> {
    for j in 0..n {
        look(j)?;
        for e in a.starts[j] as usize..a.starts[j + 1] as usize {
            let i = a.index[e] as usize;
            if a.stored.reads(i, j) {
                f(i, j, a.values[e]);
            }
        }
    }
    Ok(())
}

/// Whether each entry is its mirror image.
fn is_symmetric(a: &Columns<'_>, n: usize) -> Result<bool> {
    let mut same = true;
    each(a, n, |i, j, v| {
        let at = a.starts[i] as usize..a.starts[i + 1] as usize;
        let place = a.index[at.clone()].binary_search(&(j as i32));
        let image = place.map_or(0.0, |p| a.values[at.start + p]);
        same &= image == v;
    })?;
    Ok(same)
}

fn copy<T: Clone>(x: &[T]) -> Result<Vec<T>> {
    let mut out = room(x.len())?;
    out.extend_from_slice(x);
    Ok(out)
}

fn load(a: &Columns<'_>) -> Result<Rows> {
    let n = a.starts.len().saturating_sub(1);
    check(a, n)?;
    if a.stored == Stored::All {
        if !is_symmetric(a, n)? {
            return Err(Error::NotSymmetric { argument: "A" });
        }
        return Ok(Rows {
            starts: copy(a.starts)?,
            index: copy(a.index)?,
            values: copy(a.values)?,
        });
    }
    if a.index.len() > i32::MAX as usize / 2 {
        return Err(broken("too many entries"));
    }
    let mut starts: Vec<i32> = try_zeroed(n + 1)?;
    each(a, n, |i, j, _| {
        starts[j + 1] += 1;
        starts[i + 1] += i32::from(i != j);
    })?;
    (0..n).for_each(|j| starts[j + 1] += starts[j]);
    let len = starts[n] as usize;
    let (mut index, mut values) = (try_zeroed(len)?, try_zeroed(len)?);
    // Columns are gone through in order, so that places within rows ascend whatever is stored.
    let mut next = copy(&starts)?;
    let mut put = |i: usize, j: usize, v: f64| {
        let at = next[i] as usize;
        index[at] = j as i32;
        values[at] = v;
        next[i] += 1;
    };
    each(a, n, |i, j, v| {
        put(j, i, v);
        if i != j {
            put(i, j, v);
        }
    })?;
    Ok(Rows {
        starts,
        index,
        values,
    })
}

type Mat = CpuMat<'static, f64>;

fn columns(x: &[f64], rows: usize) -> Vec<&[f64]> {
    x.chunks_exact(rows.max(1)).collect()
}

fn fits(n: usize, len: usize, others: &[usize]) -> Result<()> {
    require(
        others.iter().all(|o| *o == len) && len % n.max(1) == 0,
        "vectors and matrix do not fit",
    )
}

impl Sparse for CpuDevice {
    type Csr = HostCsr;
    type Aggregates = HostAggregates;

    fn sparse_load(&self, a: Columns<'_>) -> Result<HostCsr> {
        HostCsr::new(load(&a)?)
    }

    fn sparse_read(&self, a: &HostCsr) -> Result<Rows> {
        let Rows {
            starts,
            index,
            values,
        } = &a.rows;
        Ok(Rows {
            starts: copy(starts)?,
            index: copy(index)?,
            values: copy(values)?,
        })
    }

    fn sparse_order(&self, a: &HostCsr) -> usize {
        a.order()
    }

    fn sparse_diagonal(&self, a: &HostCsr) -> Result<Vec<f64>> {
        copy(&a.own)
    }

    fn sparse_scaled(&self, a: &HostCsr, by: &Mat) -> Result<HostCsr> {
        let (n, by) = (a.order(), numbers(by)?);
        require(by.len() == n, "vectors and matrix do not fit")?;
        let mut rows = self.sparse_read(a)?;
        for (i, mine) in by.iter().enumerate() {
            look(i)?;
            for e in rows.starts[i] as usize..rows.starts[i + 1] as usize {
                rows.values[e] = mine * rows.values[e] * by[rows.index[e] as usize];
            }
        }
        HostCsr::new(rows)
    }

    fn sparse_residual(&self, a: &HostCsr, b: Option<&Mat>, x: &Mat, out: &mut Mat) -> Result<()> {
        let n = a.order();
        let b = b.map(numbers).transpose()?;
        let (x, out) = (numbers(x)?, numbers_mut(out)?);
        fits(n, x.len(), &[out.len(), b.map_or(x.len(), <[f64]>::len)])?;
        let (x, b) = (columns(x, n), b.map(|b| columns(b, n)));
        let work = a.work(x.len());
        let outs = out.chunks_exact_mut(n.max(1));
        in_parts(outs, 1, self.threads(), work, &|part| {
            let (first, mut out) = (part.first, part.columns);
            let rows = first..first + out.first().map_or(0, |o| o.len());
            each_product(
                rows,
                |i| a.row(i),
                &x,
                |i, c, product| {
                    out[c][i - first] = b.as_ref().map_or(product, |b| b[c][i] - product);
                },
            );
        })
    }

    fn sparse_relax(
        &self,
        a: &HostCsr,
        b: &Mat,
        x: Option<&Mat>,
        step: Step,
        p: &mut Mat,
        out: &mut Mat,
    ) -> Result<()> {
        let n = a.order();
        let x = x.map(numbers).transpose()?;
        let (b, p, out) = (numbers(b)?, numbers_mut(p)?, numbers_mut(out)?);
        let others = [p.len(), out.len(), x.map_or(b.len(), <[f64]>::len)];
        fits(n, b.len(), &others)?;
        let (x, b) = (x.map(|x| columns(x, n)), columns(b, n));
        let (work, count) = (a.work(b.len()), b.len());
        // Those of p, then those of the result.
        let all = p
            .chunks_exact_mut(n.max(1))
            .chain(out.chunks_exact_mut(n.max(1)));
        in_parts(all, 1, self.threads(), work, &|mut part| {
            let (p, out) = part.columns.split_at_mut(count);
            let (first, rows) = (part.first, p.first().map_or(0, |p| p.len()));
            let Some(x) = &x else {
                for (c, (p, out)) in p.iter_mut().zip(out).enumerate() {
                    for (i, (p, out)) in (first..).zip(p.iter_mut().zip(out.iter_mut())) {
                        *p = step.rate / a.diagonal[i] * b[c][i];
                        *out = *p;
                    }
                }
                return;
            };
            each_product(
                first..first + rows,
                |i| a.row(i),
                x,
                |i, c, product| {
                    let p = &mut p[c][i - first];
                    let before = match step.momentum {
                        0.0 => 0.0,
                        momentum => momentum * *p,
                    };
                    *p = before + step.rate / a.diagonal[i] * (b[c][i] - product);
                    out[c][i - first] = x[c][i] + *p;
                },
            );
        })
    }

    fn sparse_aggregate(&self, a: &HostCsr, apart: f64) -> Result<HostAggregates> {
        aggregate(a, apart)
    }

    fn sparse_count(&self, of: &HostAggregates) -> usize {
        of.count()
    }

    fn sparse_members(&self, of: &HostAggregates) -> Result<Vec<i32>> {
        copy(&of.aggregate)
    }

    fn sparse_compose(
        &self,
        inner: &HostAggregates,
        outer: &HostAggregates,
    ) -> Result<HostAggregates> {
        let same = inner.count() == outer.aggregate.len();
        require(same, "aggregates do not fit")?;
        let mut aggregate = copy(&inner.aggregate)?;
        for k in &mut aggregate {
            *k = usize::try_from(*k).map_or(-1, |k| outer.aggregate[k]);
        }
        numbered(aggregate, outer.count())
    }

    fn sparse_coarsen(&self, a: &HostCsr, of: &HostAggregates, scale: f64) -> Result<HostCsr> {
        let same = of.aggregate.len() == a.order();
        require(same, "aggregates and matrix do not fit")?;
        HostCsr::new(coarsen(a, of, scale)?)
    }

    fn sparse_inherit(&self, a: &HostCsr, of: &HostAggregates, coarse: &mut HostCsr) -> Result<()> {
        let fits = of.aggregate.len() == a.order() && of.count() == coarse.order();
        require(fits, "aggregates and matrices do not fit")?;
        for (k, d) in coarse.diagonal.iter_mut().enumerate() {
            *d = of.of(k).iter().map(|i| a.diagonal[*i as usize]).sum();
        }
        Ok(())
    }

    fn sparse_restrict(&self, of: &HostAggregates, x: &Mat, out: &mut Mat) -> Result<()> {
        let (rows, count) = (of.aggregate.len(), of.count());
        let (x, out) = (columns(numbers(x)?, rows), numbers_mut(out)?);
        require(
            out.len() == x.len() * count,
            "vectors and aggregates do not fit",
        )?;
        let work = (rows * x.len()) as f64;
        let outs = out.chunks_exact_mut(count.max(1));
        in_parts(outs, 1, self.threads(), work, &|part| {
            for (c, out) in part.columns.into_iter().enumerate() {
                for (k, out) in (part.first..).zip(out) {
                    *out = of.of(k).iter().map(|i| x[c][*i as usize]).sum();
                }
            }
        })
    }

    fn sparse_prolong(&self, of: &HostAggregates, x: &Mat, out: &mut Mat) -> Result<()> {
        let (rows, count) = (of.aggregate.len(), of.count());
        let (x, out) = (numbers(x)?, numbers_mut(out)?);
        let outs = out.chunks_exact_mut(rows.max(1));
        require(
            x.len() == outs.len() * count,
            "vectors and aggregates do not fit",
        )?;
        let work = (rows * outs.len()) as f64;
        in_parts(outs, 1, self.threads(), work, &|part| {
            for (c, out) in part.columns.into_iter().enumerate() {
                let x = &x[c * count..(c + 1) * count];
                for (k, out) in of.aggregate[part.first..].iter().zip(out) {
                    if let Ok(k) = usize::try_from(*k) {
                        *out += x[k];
                    }
                }
            }
        })
    }
}
