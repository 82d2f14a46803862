//! Tiles are computed with where they lie.

use faer::MatMut;

use super::matrix::CpuMat;
use super::CpuDevice;
use crate::error::{Error, Result};
use crate::scalar::Scalar;
use crate::tiles::machine::TileMachine;

fn no_copies<R>() -> Result<R> {
    Err(Error::Internal {
        what: "the CPU was asked to copy a tile to itself".into(),
    })
}

impl<T: Scalar> TileMachine<T> for CpuDevice {
    type Mark = ();

    fn is_host(&self) -> bool {
        true
    }

    fn in_place<'a>(&self, home: MatMut<'a, T>) -> Result<CpuMat<'a, T>> {
        Ok(CpuMat::Home(home))
    }

    unsafe fn pin(&self, _: *mut T, _: usize) -> Result<()> {
        no_copies()
    }

    unsafe fn unpin(&self, _: *mut T) {}

    fn mark(&self) -> Result<()> {
        no_copies()
    }

    unsafe fn send(&self, _: *const T, _: &CpuMat<'_, T>, _: &[&()]) -> Result<()> {
        no_copies()
    }

    unsafe fn fetch(&self, _: &CpuMat<'_, T>, _: *mut T, _: &[&()]) -> Result<()> {
        no_copies()
    }

    fn follow(&self, (): &()) -> Result<()> {
        no_copies()
    }

    fn is_past(&self, (): &()) -> Result<bool> {
        no_copies()
    }

    fn drain(&self) {}
}
