//! The CPU as a device with memory of its own, so that what brings tiles to a device is tested
//! without one. It computes at once, and copies as late as it may: when somebody waits for the
//! copy, or has asked for it twice.

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
use faer::{MatMut, MatRef};

type Inner<'a, T> = <CpuDevice as Memory<T>>::Mat<'a>;

pub struct Away<'a, T: Scalar> {
    // Copies change it behind a shared reference.
    inner: RefCell<Inner<'a, T>>,
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
            numbers: rows * cols,
            held: self.held.clone(),
        }
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

    const HOST: bool = false;

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
        Ok(self.away(self.cpu.load_into(a, part, home)?))
    }

    fn output<'a>(&self, home: MatMut<'a, T>) -> Result<Away<'a, T>> {
        Ok(self.away(self.cpu.output(home)?))
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

    fn store(&self, _: Away<'_, T>) -> Result<()> {
        unimplemented!()
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

impl<T: Scalar> Blas<T> for Apart<T> {
    fn gemm(
        &self,
        alpha: T,
        ta: Trans,
        a: &Away<'_, T>,
        tb: Trans,
        b: &Away<'_, T>,
        beta: T,
        c: &mut Away<'_, T>,
    ) -> Result<()> {
        let (a, b) = (a.inner.borrow(), b.inner.borrow());
        self.cpu
            .gemm(alpha, ta, &a, tb, &b, beta, c.inner.get_mut())
    }

    fn syrk(&self, _: Trans, _: &Away<'_, T>, _: &mut Away<'_, T>) -> Result<()> {
        unimplemented!()
    }

    fn trsm(
        &self,
        side: Side,
        uplo: Uplo,
        trans: Trans,
        diag: Diag,
        k: usize,
        a: &Away<'_, T>,
        b: &mut Away<'_, T>,
    ) -> Result<()> {
        let b = b.inner.get_mut();
        <CpuDevice as Blas<T>>::trsm(&self.cpu, side, uplo, trans, diag, k, &a.inner.borrow(), b)
    }

    fn norm1(&self, a: &Away<'_, T>) -> Result<f64> {
        <CpuDevice as Blas<T>>::norm1(&self.cpu, &a.inner.borrow())
    }

    fn column_norms(&self, a: &Away<'_, T>) -> Result<Vec<f64>> {
        <CpuDevice as Blas<T>>::column_norms(&self.cpu, &a.inner.borrow())
    }

    fn diagonal(&self, a: &Away<'_, T>) -> Result<Vec<T>> {
        self.cpu.diagonal(&a.inner.borrow())
    }
}

impl<T: Scalar> Lapack<T> for Apart<T> {
    fn potrf(&self, uplo: Uplo, a: &mut Away<'_, T>) -> Result<()> {
        <CpuDevice as Lapack<T>>::potrf(&self.cpu, uplo, a.inner.get_mut())
    }

    fn pstrf(&self, _: f64, _: &mut Away<'_, T>) -> Result<PivotedCholesky> {
        unimplemented!()
    }

    fn getrf(&self, _: &mut Away<'_, T>) -> Result<LuInfo> {
        unimplemented!()
    }

    fn laswp(&self, _: Trans, _: &[usize], _: &mut Away<'_, T>) -> Result<()> {
        unimplemented!()
    }

    fn geqrf(&self, _: &mut Away<'_, T>) -> Result<Vec<T>> {
        unimplemented!()
    }

    fn scale_trapezoids(&self, _: &[T], _: &[T], _: &mut Away<'_, T>) -> Result<()> {
        unimplemented!()
    }

    fn geqp3(&self, _: &mut Away<'_, T>) -> Result<PivotedQr<T>> {
        unimplemented!()
    }

    fn qrdc2(&self, _: f64, _: &mut Away<'_, T>) -> Result<PivotedQr<T>> {
        unimplemented!()
    }

    fn ormqr(&self, _: Trans, _: &Away<'_, T>, _: &[T], _: &mut Away<'_, T>) -> Result<()> {
        unimplemented!()
    }

    fn orgqr(&self, _: &Away<'_, T>, _: &[T], _: &mut Away<'_, T>) -> Result<()> {
        unimplemented!()
    }
}

impl<T: Scalar> Batched<T> for Apart<T> {
    fn batch_bytes(&self, all: usize) -> Result<usize> {
        Ok(all)
    }

    fn potrf_batched(&self, _: &mut Away<'_, T>) -> Result<()> {
        unimplemented!()
    }

    fn takes(&self, _: ProblemShape) -> bool {
        false
    }

    fn qrls_batched(&self, _: f64, _: Problems<'_, Away<'_, T>>) -> Result<Ranks> {
        unimplemented!()
    }
}

impl<T: Scalar> Streamed<T> for Apart<T> {}

impl<T: Scalar> FactorUpdate<T> for Apart<T> {
    type Reflections = <CpuDevice as FactorUpdate<T>>::Reflections;

    fn reflections(&self, change: Change, n: usize, k: usize) -> Result<Self::Reflections> {
        <CpuDevice as FactorUpdate<T>>::reflections(&self.cpu, change, n, k)
    }

    fn update_panel(
        &self,
        all: &mut Self::Reflections,
        first: usize,
        panel: &mut Away<'_, T>,
        v: &mut Away<'_, T>,
    ) -> Result<()> {
        let (panel, v) = (panel.inner.get_mut(), v.inner.get_mut());
        self.cpu.update_panel(all, first, panel, v)
    }
}

impl<T: Scalar> CovarianceMatrix<T> for Apart<T> {
    type Points<'a> = Points<'a>;

    fn points<'a>(&self, _: Points<'a>) -> Result<Points<'a>> {
        unimplemented!()
    }

    fn covariance(
        &self,
        _: &Covariance,
        _: &Points<'_>,
        _: &Points<'_>,
        _: Block,
        _: &mut Away<'_, T>,
    ) -> Result<()> {
        unimplemented!()
    }
}

impl<T: Scalar> AsyncCopy<T> for Apart<T> {
    /// How many copies must be done; what is computed is.
    type Mark = usize;
    type Outcome = ();

    fn is_host(&self) -> bool {
        false
    }
    fn with(&self, _: &[usize], _: bool) -> Result<Vec<Self>> {
        unimplemented!()
    }
    fn free(&self) -> Result<u64> {
        unimplemented!()
    }
    fn speed(&self) -> f64 {
        1.0
    }
    fn in_place<'a>(&self, _: MatMut<'a, T>) -> Result<Away<'a, T>> {
        unimplemented!()
    }
    fn pin(&self, memory: Pages) -> Result<Pages> {
        Ok(memory)
    }
    unsafe fn keep(&self, _: Pages) {
        assert!(self.copies.borrow().is_empty());
    }
    fn kept(&self, _: usize) -> Option<Pages> {
        None
    }
    fn mark(&self) -> Result<usize> {
        Ok(0)
    }
    unsafe fn send(
        &self,
        from: *const T,
        to: &mut Away<'_, T>,
        entries: Range<usize>,
        _: &[&usize],
    ) -> Result<usize> {
        assert_eq!(entries, 0..to.numbers);
        let to = std::ptr::from_mut(to).cast_const().cast();
        self.copies.borrow_mut().push_back(Copy { from, to });
        self.begun.set(self.begun.get() + 1);
        Ok(self.begun.get())
    }
    unsafe fn fetch(
        &self,
        _: &mut Away<'_, T>,
        _: Range<usize>,
        _: *mut T,
        _: &[&usize],
    ) -> Result<usize> {
        unimplemented!()
    }
    fn follow(&self, mark: &usize) -> Result<()> {
        self.copy_until(*mark);
        Ok(())
    }
    fn is_past(&self, mark: &usize) -> Result<bool> {
        if *mark > self.done.get() && self.asked.replace(true) {
            self.copy_until(self.done.get() + 1);
        }
        Ok(*mark <= self.done.get())
    }
    fn start_potrf(&self, _: &mut Away<'_, T>) -> Result<()> {
        unimplemented!()
    }
    fn outcome(&self, (): &()) -> Result<()> {
        unimplemented!()
    }
    fn drain(&self) {
        self.copy_until(self.begun.get());
    }
}
