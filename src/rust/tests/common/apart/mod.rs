//! The CPU as a device with separate memory, so that what brings tiles to a device is tested
//! without one. It computes at once, and copies as late as it may: when somebody waits for the
//! copy, or has asked for it twice.

mod copies;
mod dense;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::error::Result;
use cudafactor::base::matrix::{Block, Change, Diag, Part, Side, Trans, Uplo};
use cudafactor::base::processor::Processor;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::async_copy::AsyncCopy;
use cudafactor::device::batched::Batched;
use cudafactor::device::batched::{ProblemShape, Problems, Ranks};
use cudafactor::device::blas::Blas;
use cudafactor::device::covariance::CovarianceMatrix;
use cudafactor::device::covariance::{Covariance, Points};
use cudafactor::device::dense::Device;
use cudafactor::device::lapack::Lapack;
use cudafactor::device::lapack::{LuInfo, PivotedCholesky, PivotedQr};
use cudafactor::device::memory::Memory;
use cudafactor::device::streamed::Streamed;
use cudafactor::device::update::FactorUpdate;
use cudafactor::tiles::buffer::Pages;
use faer::{Mat, MatMut, MatRef};

type Inner<'a, T> = <CpuDevice as Memory<T>>::Mat<'a>;

pub struct Away<'a, T: Scalar> {
    // Copies change it behind a shared reference.
    inner: RefCell<Inner<'a, T>>,
    /// Where `store` copies it.
    home: RefCell<Option<MatMut<'a, T>>>,
    numbers: usize,
    held: Rc<Cell<usize>>,
}

impl<T: Scalar> Drop for Away<'_, T> {
    fn drop(&mut self) {
        self.held.set(self.held.get() - self.numbers);
    }
}

struct Copy<T: Scalar> {
    from: *const T,
    to: *const Away<'static, T>,
}

pub struct Apart<T: Scalar> {
    cpu: CpuDevice,
    copies: RefCell<VecDeque<Copy<T>>>,
    /// Copies that were begun, that are done, and whether the oldest of the others has been asked
    /// for.
    begun: Cell<usize>,
    done: Cell<usize>,
    asked: Cell<bool>,
    held: Rc<Cell<usize>>,
    most: Cell<usize>,
}

// SAFETY: one thread alone uses it; a driver for several devices is not tested with it.
unsafe impl<T: Scalar> Sync for Apart<T> {}

impl<T: Scalar> Apart<T> {
    pub fn new() -> Self {
        Apart {
            cpu: CpuDevice::new(2),
            copies: RefCell::new(VecDeque::new()),
            begun: Cell::new(0),
            done: Cell::new(0),
            asked: Cell::new(false),
            held: Rc::new(Cell::new(0)),
            most: Cell::new(0),
        }
    }

    /// The most bytes of matrices at once since the last time.
    pub fn most_bytes(&self) -> usize {
        self.most.replace(self.held.get()) * size_of::<T>()
    }

    fn away<'a>(&self, inner: Inner<'a, T>) -> Away<'a, T> {
        let (rows, cols) = <CpuDevice as Memory<T>>::shape(&self.cpu, &inner);
        self.held.set(self.held.get() + rows * cols);
        self.most.set(self.most.get().max(self.held.get()));
        Away {
            inner: RefCell::new(inner),
            home: RefCell::new(None),
            numbers: rows * cols,
            held: self.held.clone(),
        }
    }

    fn at_home<'a>(away: Away<'a, T>, home: MatMut<'a, T>) -> Away<'a, T> {
        away.home.replace(Some(home));
        away
    }

    fn copy_until(&self, mark: usize) {
        while self.done.get() < mark {
            let copy = self.copies.borrow_mut().pop_front().unwrap();
            // SAFETY: as whoever began the copy has promised.
            let to = unsafe { &*copy.to };
            let mut to = to.inner.borrow_mut();
            let (rows, cols) = <CpuDevice as Memory<T>>::shape(&self.cpu, &to);
            // SAFETY: as above.
            let from = unsafe { MatRef::from_raw_parts(copy.from, rows, cols, 1, rows as isize) };
            self.cpu.refill(from, Part::All, &mut to).unwrap();
            self.done.set(self.done.get() + 1);
            self.asked.set(false);
        }
    }
}

impl<T: Scalar> Memory<T> for Apart<T> {
    type Mat<'a> = Away<'a, T>;

    const BORROWS: bool = false;

    fn processor(&self) -> Processor {
        Processor::Cuda(0)
    }

    fn name(&self) -> String {
        "apart".to_owned()
    }

    fn load<'a>(&self, a: MatRef<'a, T>) -> Result<Away<'a, T>> {
        Ok(self.away(self.cpu.load(a)?))
    }

    fn load_into<'a>(
        &self,
        a: MatRef<'_, T>,
        part: Part,
        home: MatMut<'a, T>,
    ) -> Result<Away<'a, T>> {
        let inner: Inner<'a, T> = self.cpu.load_temporary(a, part)?;
        Ok(Apart::at_home(self.away(inner), home))
    }

    fn output<'a>(&self, home: MatMut<'a, T>) -> Result<Away<'a, T>> {
        // Undefined entries: whoever reads them finds out.
        let nan = Mat::from_fn(home.nrows(), home.ncols(), |_, _| T::from_f64(f64::NAN));
        let inner: Inner<'a, T> = self.cpu.load_temporary(nan.as_ref(), Part::All)?;
        Ok(Apart::at_home(self.away(inner), home))
    }

    fn zeros(&self, rows: usize, cols: usize) -> Result<Away<'static, T>> {
        Ok(self.away(self.cpu.zeros(rows, cols)?))
    }

    fn load_temporary(&self, a: MatRef<'_, T>, part: Part) -> Result<Away<'static, T>> {
        Ok(self.away(self.cpu.load_temporary(a, part)?))
    }

    fn refill(&self, from: MatRef<'_, T>, part: Part, to: &mut Away<'_, T>) -> Result<()> {
        self.cpu.refill(from, part, to.inner.get_mut())
    }

    fn set_identity(&self, a: &mut Away<'_, T>) -> Result<()> {
        <CpuDevice as Memory<T>>::set_identity(&self.cpu, a.inner.get_mut())
    }

    fn keep_part(&self, part: Part, a: &mut Away<'_, T>) -> Result<()> {
        <CpuDevice as Memory<T>>::keep_part(&self.cpu, part, a.inner.get_mut())
    }

    fn store(&self, a: Away<'_, T>) -> Result<()> {
        match a.home.take() {
            Some(home) => self.cpu.read(&a.inner.borrow(), home),
            None => Ok(()),
        }
    }

    fn store_part(&self, _: Away<'_, T>, _: Part) -> Result<()> {
        unimplemented!()
    }

    fn read(&self, a: &Away<'_, T>, out: MatMut<'_, T>) -> Result<()> {
        self.cpu.read(&a.inner.borrow(), out)
    }

    fn read_block(&self, a: &Away<'_, T>, block: Block, out: MatMut<'_, T>) -> Result<()> {
        self.cpu.read_block(&a.inner.borrow(), block, out)
    }

    fn duplicate(&self, _: &Away<'_, T>, _: Part) -> Result<Away<'static, T>> {
        unimplemented!()
    }

    fn copy_block(
        &self,
        from: &Away<'_, T>,
        block: Block,
        to: &mut Away<'_, T>,
        at: (usize, usize),
    ) -> Result<()> {
        let to = to.inner.get_mut();
        <CpuDevice as Memory<T>>::copy_block(&self.cpu, &from.inner.borrow(), block, to, at)
    }

    fn shape(&self, a: &Away<'_, T>) -> (usize, usize) {
        <CpuDevice as Memory<T>>::shape(&self.cpu, &a.inner.borrow())
    }
}
