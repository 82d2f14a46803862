//! Sparse symmetric matrices by rows: products, relaxation, and the ways between levels.

use super::sparse_coarse::{aggregate, coarsen, numbered};
use crate::backend::cpu::matrix::views::require;
use crate::backend::cpu::matrix::views::CpuMat;
use crate::backend::cpu::multigrid::csr::{HostAggregates, HostCsr};
use crate::backend::cpu::multigrid::slices::{in_parts, numbers, numbers_mut};
use crate::backend::cpu::CpuDevice;
use crate::base::error::{Error, Result};
use crate::base::sparse::csc::Csc;
use crate::base::sparse::symmetric::{Stored, Symmetric};
use crate::base::sparse::view::{copied, look, wrong, Place};
use crate::device::multigrid::{Interpolation, LevelOperator, Step};
use crate::device::sparse::{Columns, Sparse};

/// All entries of a matrix from the host. What they must be stands at [`Sparse::sparse_load`].
fn load(a: &Columns<'_>) -> Result<Symmetric> {
    let of = a.view();
    of.check()?;
    let finite = |j: usize| {
        let (rows, values) = of.column(j);
        let read = rows.iter().zip(values);
        let mut read = read.filter(|(i, _)| a.stored.reads(i.at(), j));
        read.all(|(_, v)| v.is_finite())
    };
    if !(0..of.columns()).all(finite) {
        return Err(Error::NonFiniteIn { argument: "A" });
    }
    if a.stored == Stored::All && !of.is_symmetric()? {
        return Err(Error::NotSymmetric { argument: "A" });
    }
    if a.stored != Stored::All && a.index.len() > i32::MAX as usize / 2 {
        return Err(wrong("has too many entries"));
    }
    Symmetric::of(of, a.stored)
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

    fn sparse_read(&self, a: &HostCsr) -> Result<Csc<i32>> {
        a.all().copy()
    }

    fn sparse_order(&self, a: &HostCsr) -> usize {
        a.order()
    }

    fn sparse_diagonal(&self, a: &HostCsr) -> Result<Vec<f64>> {
        copied(&a.own)
    }

    fn sparse_scaled(&self, a: &HostCsr, by: &Mat) -> Result<HostCsr> {
        let (n, by) = (a.order(), numbers(by)?);
        require(by.len() == n, "vectors and matrix do not fit")?;
        let mut rows = a.all().copy()?;
        for (i, mine) in by.iter().enumerate() {
            look(i)?;
            for e in rows.starts[i]..rows.starts[i + 1] {
                rows.values[e] = mine * rows.values[e] * by[rows.index[e].at()];
            }
        }
        HostCsr::new(Symmetric::of_all(rows))
    }

    fn sparse_aggregate(&self, a: &HostCsr, apart: f64) -> Result<HostAggregates> {
        aggregate(a, apart)
    }

    fn sparse_count(&self, of: &HostAggregates) -> usize {
        of.count()
    }

    #[cfg(feature = "testing")]
    fn sparse_members(&self, of: &HostAggregates) -> Result<Vec<i32>> {
        copied(&of.aggregate)
    }

    fn sparse_compose(
        &self,
        inner: &HostAggregates,
        outer: &HostAggregates,
    ) -> Result<HostAggregates> {
        let same = inner.count() == outer.aggregate.len();
        require(same, "aggregates do not fit")?;
        let mut aggregate = copied(&inner.aggregate)?;
        for k in &mut aggregate {
            *k = usize::try_from(*k).map_or(-1, |k| outer.aggregate[k]);
        }
        numbered(aggregate, outer.count())
    }

    fn sparse_coarsen(&self, a: &HostCsr, of: &HostAggregates, scale: f64) -> Result<HostCsr> {
        let same = of.aggregate.len() == a.order();
        require(same, "aggregates and matrix do not fit")?;
        HostCsr::new(Symmetric::of_all(coarsen(a, of, scale)?))
    }

    fn sparse_inherit(&self, a: &HostCsr, of: &HostAggregates, coarse: &mut HostCsr) -> Result<()> {
        let fits = of.aggregate.len() == a.order() && of.count() == coarse.order();
        require(fits, "aggregates and matrices do not fit")?;
        for (k, d) in coarse.diagonal.iter_mut().enumerate() {
            *d = of.of(k).iter().map(|i| a.diagonal[*i as usize]).sum();
        }
        Ok(())
    }
}

impl LevelOperator<CpuDevice> for HostCsr {
    fn residual(&self, dev: &CpuDevice, b: Option<&Mat>, x: &Mat, out: &mut Mat) -> Result<()> {
        let n = self.order();
        let b = b.map(numbers).transpose()?;
        let (x, out) = (numbers(x)?, numbers_mut(out)?);
        fits(n, x.len(), &[out.len(), b.map_or(x.len(), <[f64]>::len)])?;
        let (x, b) = (columns(x, n), b.map(|b| columns(b, n)));
        let work = self.work(x.len());
        let outs = out.chunks_exact_mut(n.max(1));
        in_parts(outs, 1, dev.threads(), work, &|part| {
            let (first, mut out) = (part.first, part.columns);
            let rows = first..first + out.first().map_or(0, |o| o.len());
            self.matrix.each_product(rows, &x, |i, c, product| {
                out[c][i - first] = b.as_ref().map_or(product, |b| b[c][i] - product);
            });
        })
    }

    fn relax(
        &self,
        dev: &CpuDevice,
        b: &Mat,
        x: Option<&Mat>,
        step: Step,
        p: &mut Mat,
        out: &mut Mat,
    ) -> Result<()> {
        let n = self.order();
        let x = x.map(numbers).transpose()?;
        let (b, p, out) = (numbers(b)?, numbers_mut(p)?, numbers_mut(out)?);
        let others = [p.len(), out.len(), x.map_or(b.len(), <[f64]>::len)];
        fits(n, b.len(), &others)?;
        let (x, b) = (x.map(|x| columns(x, n)), columns(b, n));
        let (work, count) = (self.work(b.len()), b.len());
        // Those of p, then those of the result.
        let all = p
            .chunks_exact_mut(n.max(1))
            .chain(out.chunks_exact_mut(n.max(1)));
        in_parts(all, 1, dev.threads(), work, &|mut part| {
            let (p, out) = part.columns.split_at_mut(count);
            let (first, rows) = (part.first, p.first().map_or(0, |p| p.len()));
            let Some(x) = &x else {
                for (c, (p, out)) in p.iter_mut().zip(out).enumerate() {
                    for (i, (p, out)) in (first..).zip(p.iter_mut().zip(out.iter_mut())) {
                        *p = step.rate / self.diagonal[i] * b[c][i];
                        *out = *p;
                    }
                }
                return;
            };
            let rows = first..first + rows;
            self.matrix.each_product(rows, x, |i, c, product| {
                let p = &mut p[c][i - first];
                let before = match step.momentum {
                    0.0 => 0.0,
                    momentum => momentum * *p,
                };
                *p = before + step.rate / self.diagonal[i] * (b[c][i] - product);
                out[c][i - first] = x[c][i] + *p;
            });
        })
    }
}

impl Interpolation<CpuDevice> for HostAggregates {
    fn restrict(&self, dev: &CpuDevice, x: &Mat, out: &mut Mat) -> Result<()> {
        let (rows, count) = (self.aggregate.len(), self.count());
        let (x, out) = (columns(numbers(x)?, rows), numbers_mut(out)?);
        require(
            out.len() == x.len() * count,
            "vectors and aggregates do not fit",
        )?;
        let work = (rows * x.len()) as f64;
        let outs = out.chunks_exact_mut(count.max(1));
        in_parts(outs, 1, dev.threads(), work, &|part| {
            for (c, out) in part.columns.into_iter().enumerate() {
                for (k, out) in (part.first..).zip(out) {
                    *out = self.of(k).iter().map(|i| x[c][*i as usize]).sum();
                }
            }
        })
    }

    fn prolong(&self, dev: &CpuDevice, x: &Mat, out: &mut Mat) -> Result<()> {
        let (rows, count) = (self.aggregate.len(), self.count());
        let (x, out) = (numbers(x)?, numbers_mut(out)?);
        let outs = out.chunks_exact_mut(rows.max(1));
        require(
            x.len() == outs.len() * count,
            "vectors and aggregates do not fit",
        )?;
        let work = (rows * outs.len()) as f64;
        in_parts(outs, 1, dev.threads(), work, &|part| {
            for (c, out) in part.columns.into_iter().enumerate() {
                let x = &x[c * count..(c + 1) * count];
                for (k, out) in self.aggregate[part.first..].iter().zip(out) {
                    if let Ok(k) = usize::try_from(*k) {
                        *out += x[k];
                    }
                }
            }
        })
    }
}
