//! Tiles in place; or, for tests of devices with separate memory, copied at once.

use std::ops::Range;

use faer::MatMut;

use crate::backend::cpu::matrix::views::CpuMat;
use crate::backend::cpu::CpuDevice;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::Uplo;
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::device::lapack::Lapack;
use crate::tiles::buffer::Pages;

/// The numbers of a matrix of the device's own.
fn own<'m, T>(matrix: &'m mut CpuMat<'_, T>) -> Result<&'m mut [T]> {
    match matrix {
        CpuMat::Own { data, .. } => Ok(data),
        _ => Err(Error::Internal {
            what: "a tile is copied to memory that is not the device's".into(),
        }),
    }
}

/// Where they begin, for somebody who reads them.
fn start<T>(matrix: &CpuMat<'_, T>) -> Result<(*const T, usize)> {
    match matrix {
        CpuMat::Own { data, .. } => Ok((data.as_ptr(), data.len())),
        _ => Err(Error::Internal {
            what: "a tile is copied from memory that is not the device's".into(),
        }),
    }
}

fn outside() -> Error {
    Error::Internal {
        what: "entries that a tile does not have were to be copied".into(),
    }
}

impl<T: Scalar> AsyncCopy<T> for CpuDevice {
    type Mark = ();
    type Outcome = ();

    fn has_own_memory(&self) -> bool {
        self.apart
    }

    fn with(&self, numbers: &[usize], _: bool) -> Result<Vec<Self>> {
        let count = if self.apart { numbers.len().max(1) } else { 1 };
        Ok(vec![self.clone(); count])
    }

    fn free(&self) -> Result<u64> {
        Ok(crate::backend::cpu::memory().map_or(u64::MAX, |(free, _)| free))
    }

    fn speed(&self) -> f64 {
        1.0
    }

    fn in_place<'a>(&self, home: MatMut<'a, T>) -> Result<CpuMat<'a, T>> {
        Ok(CpuMat::Home(home))
    }

    fn pages(&self, count: usize, bytes: usize, _: usize) -> Result<Vec<Pages>> {
        let new = |_| interrupt::poll().and_then(|()| Pages::new(bytes));
        (0..count).map(new).collect()
    }

    unsafe fn keep(&self, _: Pages) {}

    fn mark(&self) -> Result<()> {
        Ok(())
    }

    unsafe fn send(
        &self,
        from: *const T,
        to: &mut CpuMat<'_, T>,
        entries: Range<usize>,
        _: &[&()],
    ) -> Result<()> {
        let to = own(to)?.get_mut(entries).ok_or_else(outside)?;
        to.copy_from_slice(std::slice::from_raw_parts(from, to.len()));
        Ok(())
    }

    unsafe fn fetch(
        &self,
        from: &mut CpuMat<'_, T>,
        entries: Range<usize>,
        to: *mut T,
        _: &[&()],
    ) -> Result<()> {
        let (from, numbers) = start(from)?;
        if entries.end > numbers {
            return Err(outside());
        }
        std::ptr::copy_nonoverlapping(from.add(entries.start), to, entries.len());
        Ok(())
    }

    fn reaches(&self, other: &Self) -> Result<bool> {
        Ok(self.reached && other.reached)
    }

    fn place(&self, matrix: &mut CpuMat<'_, T>) -> Result<usize> {
        Ok(start(matrix)?.0 as usize)
    }

    unsafe fn copy(&self, _: &Self, place: usize, to: &mut CpuMat<'_, T>, _: &[&()]) -> Result<()> {
        let to = own(to)?;
        std::ptr::copy_nonoverlapping(place as *const T, to.as_mut_ptr(), to.len());
        Ok(())
    }

    fn follow(&self, (): &()) -> Result<()> {
        Ok(())
    }

    fn is_past(&self, (): &()) -> Result<bool> {
        Ok(true)
    }

    fn start_potrf(&self, a: &mut CpuMat<'_, T>) -> Result<()> {
        self.potrf(Uplo::Upper, a)
    }

    fn outcome(&self, (): &()) -> Result<()> {
        Ok(())
    }

    fn drain(&self) {}
}
