//! What backends say they have done is about what the call has to do, and never goes backwards.

use std::cell::RefCell;
use std::ops::Range;
use std::time::Duration;

use crate::common::place::Place;
use crate::common::{for_each_device, Host};
use cudafactor::algo::dense::qr_apply::{self, ReflectorForm, Reflectors};
use cudafactor::algo::dense::{cholesky, host_to_host, lu, matmult, qr, solve, triangular};
use cudafactor::algo::tiled;
use cudafactor::algo::tiled::cholesky_file::{factor_files, Budget, Files};
use cudafactor::algo::tiled::cholesky_host::factor_by_tiles;
use cudafactor::algo::tiled::engine::factor_plan::FactorPlan;
use cudafactor::algo::tiled::engine::slot_budget::SlotBudget;
use cudafactor::algo::tiled::engine::tiles::Tiles;
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::error::Result;
use cudafactor::base::interrupt;
use cudafactor::base::matrix::{Trans, Uplo};
use cudafactor::base::progress::{self, OnTiles, Report};
use cudafactor::base::scalar::Scalar;
use cudafactor::cost::work::Work;
use cudafactor::device::async_copy::AsyncCopy;
use cudafactor::device::dense::Device;
use cudafactor::tiles::{Buffer, Layout, Shape, TileFile};
use faer::MatMut;

/// Above the orders of which GPUs and CPU make one step.
const N: usize = 700;

thread_local! {
    static SHARES: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
}

fn note(report: Option<Report>) {
    if let Some(r) = report {
        assert!(r.rate > 0.0 && r.left >= 0.0);
        SHARES.with(|s| s.borrow_mut().push(r.share));
    }
}

/// Runs a call that does this work with a result of order N, and looks at what it counted.
fn counted<T: Scalar, D: Device<T>>(
    dev: &D,
    what: &str,
    work: Work,
    f: impl FnOnce(MatMut<'_, T>) -> Result<()>,
) {
    let mut out = Host::<T>::from_fn(N, N, |_, _| 0.0);
    SHARES.with(|s| s.borrow_mut().clear());
    let call = progress::begin(work.flops, dev.name() != "cpu", 0.0, note);
    f(out.view_mut()).unwrap();
    let share = progress::queued() / progress::total();
    drop(call);
    assert!((0.6..1.2).contains(&share), "{what} counted {share}");
    SHARES.with(|s| {
        let shares = s.borrow();
        assert!(!shares.is_empty(), "{what} told nothing");
        assert!(shares.is_sorted() && shares.iter().all(|s| (0.0..=1.0).contains(s)));
    });
}

fn all_of_it_is_counted<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let entry = |i: usize, j: usize| ((i * i + 3 * j) as f64).sin();
    let x = Host::<T>::from_fn(N, N, |i, j| entry(i, j) + if i == j { 50.0 } else { 0.0 });
    let s = Host::<T>::from_fn(N, N, |i, j| if i == j { N as f64 } else { 1.0 });
    let (x, s, no) = (x.view(), s.view(), Trans::No);

    counted(dev, "product", Work::product(N, N, N), |out| {
        matmult::product(dev, (no, x), (no, x), f64::INFINITY, out)
    });
    counted(dev, "crossprod", Work::crossprod(N, N), |out| {
        matmult::self_product(dev, Trans::Yes, x, f64::INFINITY, out)
    });
    counted(dev, "chol", Work::cholesky(N), |out| {
        host_to_host::potrf(dev, s, out)
    });
    counted(dev, "pivoted chol", Work::cholesky_pivoted(N), |out| {
        cholesky::factor_pivoted(dev, s, -1.0, out).map(|_| ())
    });
    counted(dev, "chol2inv", Work::cholesky_inverse(N), |out| {
        cholesky::inverse(dev, s, out)
    });
    counted(dev, "lu", Work::lu((N, N)), |out| {
        lu::factor(dev, x, out).map(|_| ())
    });
    counted(dev, "solve", Work::solve(N, N, true), |out| {
        solve::solve(dev, x, lu::Rhs::Given(s), 0.0, out)
    });
    counted(dev, "backsolve", Work::triangular(N, N, 1.0), |out| {
        triangular::solve(dev, Uplo::Upper, no, s, x, out)
    });
    counted(dev, "qr", Work::qr((N, N)), |out| {
        qr::linpack(dev, x, 1e-7, out).map(|_| ())
    });
    counted(dev, "pivoted qr", Work::qr_pivoted((N, N)), |out| {
        qr::lapack(dev, x, out).map(|_| ())
    });

    let mut factor = Host::<T>::from_fn(N, N, |_, _| 0.0);
    let object = qr::lapack(dev, x, factor.view_mut()).unwrap();
    let reflectors = || Reflectors {
        form: ReflectorForm::Lapack,
        matrix: factor.view(),
        qraux: &object.qraux,
    };
    counted(dev, "qr.qy", Work::reflectors((N, N), N, true), |out| {
        qr_apply::apply(dev, no, reflectors(), s, out)
    });
    counted(dev, "qr.Q", Work::reflectors((N, N), N, false), |out| {
        qr_apply::form(dev, reflectors(), out)
    });
}

/// Columns that depend on each other are factored a second time: that was not foreseen, and is
/// counted.
fn a_second_factorization_is_counted<T: Scalar, D: Device<T>>(dev: &D) {
    let x = Host::<T>::from_fn(N, N, |i, _| 1.0 + (i as f64).cos());
    let mut out = Host::<T>::from_fn(N, N, |_, _| 0.0);
    let work = Work::qr((N, N));
    let call = progress::begin(work.flops, dev.name() != "cpu", 0.0, note);
    let rank = qr::linpack(dev, x.view(), 1e-5, out.view_mut())
        .unwrap()
        .rank;
    let share = progress::queued() / progress::total();
    assert_eq!((rank, progress::total()), (1, 2.0 * work.flops));
    drop(call);
    assert!((0.9..1.1).contains(&share), "{share}");
}

thread_local! {
    static TOLD: RefCell<Vec<(f64, OnTiles)>> = const { RefCell::new(Vec::new()) };
}

fn note_files(report: Option<Report>) {
    if let Some(r) = report {
        let files = r.tiles.expect("a call on tiles");
        TOLD.with(|t| t.borrow_mut().push((r.share, files)));
    }
}

fn told() -> Vec<(f64, OnTiles)> {
    TOLD.with(|t| t.borrow_mut().drain(..).collect())
}

/// The identity, of which every tile takes a while to come.
struct Slow(Layout);

const WHILE: Duration = Duration::from_millis(650);

impl<T: Scalar> Tiles<T> for Slow {
    fn layout(&self) -> Layout {
        self.0
    }

    fn step(&self, _: usize) -> u32 {
        0
    }

    fn load(&self, _: usize, _: Range<usize>, into: &mut Buffer<T>) -> Result<()> {
        std::thread::sleep(WHILE);
        into.fill(T::from_f64(0.0));
        (0..self.0.rows()).for_each(|i| into[i * (self.0.tile() + 1)] = T::from_f64(1.0));
        Ok(())
    }

    fn store(&self, _: usize, _: Range<usize>, _: &Buffer<T>, _: u32) -> Result<()> {
        std::thread::sleep(WHILE);
        Ok(())
    }
}

/// While tiles come and go, too, the user sees that something happens.
fn who_waits_for_a_disk_is_told<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    interrupt::install(|| false);
    let matrix = Slow(Layout::new(16, 16, 16, Shape::Triangle).unwrap());
    let room = SlotBudget {
        host: 3,
        devices: if dev.has_own_memory() {
            vec![3]
        } else {
            vec![]
        },
        peers: false,
    };
    let work = FactorPlan::new::<T>(&matrix, &room, &[1.0]).unwrap();
    let call = progress::begin(work.operations(), dev.has_own_memory(), 0.0, note_files);
    progress::phase("factorizing");
    tiled::cholesky::factor(std::slice::from_ref(dev), &matrix, &work, 1).unwrap();
    drop(call);
    let shares: Vec<f64> = told().into_iter().map(|(share, _)| share).collect();
    let waiting = shares.iter().filter(|share| **share == 0.0).count();
    let done = shares.iter().filter(|share| **share == 1.0).count();
    assert!(waiting >= 2 && done >= 2, "{shares:?}");
    assert_eq!(waiting + done, shares.len());
}

/// A factorization in a file tells what it is at, and counts what it reads and writes.
fn bytes_of_files_are_counted<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let (n, tile) = (256, 32);
    let layout = Layout::new(n, n, tile, Shape::Triangle).unwrap();
    let place = Place::new("progress");
    let file = TileFile::<T>::create(&place, layout).unwrap();
    let mut buffer = file.buffer().unwrap();
    for k in 0..layout.tiles() {
        let (i, j) = layout.position(k);
        buffer.fill(T::from_f64(0.0));
        if i == j {
            (0..tile).for_each(|t| buffer[t * (tile + 1)] = T::from_f64(1.0));
        }
        file.write(k, &buffer, 0).unwrap();
    }
    let before = file.moved();
    let each = buffer.bytes().len() as u64;
    let budget = Budget {
        host: 4 * each,
        devices: vec![6 * each],
        speeds: vec![1.0],
    };
    let call = progress::begin(1.0, dev.has_own_memory(), 0.0, note_files);
    let files = Files::new(None, &file);
    factor_files(std::slice::from_ref(dev), &files, &budget, false).unwrap();
    // A report is due again.
    std::thread::sleep(Duration::from_millis(210));
    progress::tick();
    let share = progress::queued() / progress::total();
    drop(call);
    assert!((0.6..1.2).contains(&share), "{share}");
    let (read, written) = file.moved();
    let told = told();
    let (_, last) = told.last().unwrap();
    assert_eq!(last.phase, "finishing");
    assert_eq!(last.bytes, read - before.0 + written - before.1);
    assert!(read - before.0 > layout.tiles() as u64 * each);
    assert!(told.is_sorted_by_key(|(_, files)| files.bytes));
}

/// A matrix in host memory that goes to devices by tiles: each tile that comes and goes counts.
#[test]
fn tiles_of_host_memory_are_counted() {
    let (n, tile) = (512, 128);
    let a = Host::<f64>::from_fn(n, n, |i, j| f64::from(u8::from(i == j)));
    let mut r = Host::<f64>::from_fn(n, n, |_, _| 0.0);
    let devs = [CpuDevice::with_separate_memory(2)];
    let bytes = tile * tile * size_of::<f64>();
    let call = progress::begin(1.0, true, 0.0, note_files);
    factor_by_tiles(&devs, 5.0 * bytes as f64, a.view(), r.view_mut()).unwrap();
    std::thread::sleep(Duration::from_millis(210));
    progress::tick();
    drop(call);
    let told = told();
    let (share, last) = told.last().unwrap();
    assert!(*share > 0.9 && last.phase == "factorizing");
    // Ten tiles, each of which comes and goes once at least.
    let moved = last.bytes as usize / bytes;
    assert!(
        moved >= 20 && last.bytes as usize == moved * bytes,
        "{moved}"
    );
}

#[test]
fn where_memory_is_the_devices_own() {
    who_waits_for_a_disk_is_told::<f64, _>(&CpuDevice::with_separate_memory(2));
    bytes_of_files_are_counted::<f32, _>(&CpuDevice::with_separate_memory(2));
}

for_each_device!(
    all_of_it_is_counted,
    a_second_factorization_is_counted,
    who_waits_for_a_disk_is_told,
    bytes_of_files_are_counted,
);
