//! A GPU's memory: limits, garbage that is looked for before memory is short, and how much is there
//! afterwards.

use cudafactor::device::blas::Blas;
use cudafactor::device::lapack::Lapack;

use cudafactor::device::memory::Memory;
use std::cell::RefCell;

use cudafactor::backend::cuda::CudaDevice;
use cudafactor::backend::cuda::Matrix;
use cudafactor::base;
use cudafactor::base::accounting::{MemoryShare, Search};
use cudafactor::base::error::{Error, Result};
use cudafactor::base::matrix::{Diag, Part, Side, Trans, Uplo};
use cudafactor::base::processor::Processor;
use cudafactor::cost::footprint::{largest, Task};

use crate::alone;
use crate::common::calls::works;
use crate::common::{gpu, matrices, Host};

#[test]
fn too_large_a_matrix_is_an_error_with_numbers() {
    let _turn = alone();
    let Some(gpu) = gpu() else { return };
    for n in [1 << 20, 1 << 31, usize::MAX] {
        let refused = Memory::<f64>::zeros(&gpu, n, n).err();
        let Some(Error::DeviceMemory {
            needed,
            free,
            total,
            ..
        }) = refused
        else {
            panic!("{n}: {refused:?}");
        };
        assert!(needed > total && free <= total && total > 0, "{n}");
    }
    works(&gpu);
}

#[test]
fn a_filled_device_recovers() {
    let _turn = alone();
    let Some(gpu) = gpu() else { return };
    let (_, total) = gpu.memory().unwrap();
    // Pieces of a sixteenth of the memory, until there is no more.
    let rows = (total / 16 / 8) as usize;
    let mut held = Vec::new();
    let refused = loop {
        match Memory::<f64>::zeros(&gpu, rows, 1) {
            Ok(m) => held.push(m),
            Err(e) => break e,
        }
        assert!(held.len() <= 16);
    };
    assert!(matches!(refused, Error::DeviceMemory { .. }), "{refused:?}");
    drop(held);
    drop(Memory::<f64>::zeros(&gpu, rows, 4).unwrap());
    works(&gpu);
}

/// What is kept for a host language in [`garbage_is_looked_for_before_memory_is_short`], and which
/// searches were asked for.
#[derive(Default)]
struct Kept {
    matrices: Vec<(Matrix<'static, f64>, MemoryShare)>,
    searches: Vec<Search>,
}

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
}

#[test]
fn garbage_is_looked_for_before_memory_is_short() {
    let _turn = alone();
    let Some(gpu) = gpu() else { return };
    gpu.release().unwrap();
    let place = Processor::Cuda(0);
    let before = gpu.usage().unwrap();
    let rows = (before.total / 8 / 8) as usize;
    base::accounting::install(|search| {
        KEPT.with_borrow_mut(|kept| {
            kept.searches.push(search);
            // The garbage of this test is old.
            if search == Search::Full {
                kept.matrices.clear();
            }
        });
    });
    let keep = |matrix| {
        let share = MemoryShare::new(place, 8 * rows as u64);
        KEPT.with_borrow_mut(|kept| kept.matrices.push((matrix, share)));
    };
    for _ in 0..20 {
        keep(Memory::<f64>::zeros(&gpu, rows, 1).unwrap());
    }
    let searches = KEPT.with_borrow(|kept| kept.searches.clone());
    assert!(searches.len() >= 4, "{searches:?}");
    assert!(
        searches
            .chunks(2)
            .all(|c| c == [Search::Light, Search::Full]),
        "{searches:?}"
    );

    // What is still wanted is no garbage.
    base::accounting::install(|_| ());
    let refused = loop {
        match Memory::<f64>::zeros(&gpu, rows, 1) {
            Ok(matrix) => keep(matrix),
            Err(e) => break e,
        }
    };
    let (bytes, objects) = base::accounting::held(place);
    assert!(objects > 0 && bytes == 8 * rows as u64 * objects);
    assert_eq!(gpu.usage().unwrap().allocated, before.allocated + bytes);
    match refused {
        Error::DeviceMemory {
            needed,
            held,
            objects: of,
            ..
        } => {
            assert_eq!((needed, held, of), (8 * rows as u64, bytes, objects));
        }
        other => panic!("{other:?}"),
    }
    KEPT.with_borrow_mut(|kept| kept.matrices.clear());
    assert_eq!(base::accounting::held(place), (0, 0));
    assert_eq!(gpu.usage().unwrap().allocated, before.allocated);
    works(&gpu);
}

#[test]
fn ten_thousand_rounds_leave_memory_where_it_was() {
    let _turn = alone();
    let Some(gpu) = gpu() else { return };
    let a = matrices::random::<f64>(60, 60, 3);
    let round = |i: usize| {
        let x = Memory::<f64>::zeros(&gpu, 1 + i % 700, 100).unwrap();
        let y = gpu.load_temporary(a.view(), Part::Upper).unwrap();
        drop((x, y));
    };
    // The first makes what a context keeps.
    works(&gpu);
    round(0);
    gpu.release().unwrap();
    let before = gpu.usage().unwrap();
    (0..10_000).for_each(round);
    assert_eq!(gpu.usage().unwrap().allocated, before.allocated);
    gpu.release().unwrap();
    assert_eq!(gpu.usage().unwrap(), before);
    // What was given back is made anew.
    works(&gpu);
}

/// With little more than a GiB free, the order that is said to fit does, and memory is short for
/// one a quarter larger.
fn the_largest_order_fits(task: Task, work: impl Fn(&CudaDevice, usize) -> Result<()>) {
    let _turn = alone();
    let Some(gpu) = gpu() else { return };
    // Its code is loaded while there is room.
    work(&gpu, 3000).unwrap();
    gpu.release().unwrap();
    let spare = gpu.usage().unwrap().free.saturating_sub(1200 << 20);
    let held = Memory::<f64>::zeros(&gpu, (spare / 8) as usize, 1).unwrap();
    let usage = gpu.usage().unwrap();
    let free = (usage.free + usage.pooled) as f64;
    let n = largest(free, |n| task.on_gpu(n, 8));
    assert!(n > 5000, "{n}");
    let done = work(&gpu, n).and_then(|()| gpu.synchronize());
    assert_eq!(done, Ok(()), "{n}");
    let refused = work(&gpu, n + n / 4);
    assert!(
        matches!(refused, Err(Error::DeviceMemory { .. })),
        "{n}, {refused:?}"
    );
    drop(held);
    works(&gpu);
}

#[test]
fn the_largest_cholesky_factor_fits() {
    the_largest_order_fits(Task::Cholesky, |gpu, n| {
        let mut a = identity(gpu, n)?;
        gpu.potrf(Uplo::Upper, &mut a)
    });
}

#[test]
fn the_largest_lu_fits() {
    the_largest_order_fits(Task::Lu, |gpu, n| {
        gpu.getrf(&mut identity(gpu, n)?).map(drop)
    });
}

#[test]
fn the_largest_qr_fits() {
    the_largest_order_fits(Task::Qr, |gpu, n| {
        gpu.geqrf(&mut identity(gpu, n)?).map(drop)
    });
}

#[test]
fn the_largest_solution_fits() {
    the_largest_order_fits(Task::Solve, |gpu, n| {
        let mut a = identity(gpu, n)?;
        let mut x = identity(gpu, n)?;
        let info = gpu.getrf(&mut a)?;
        gpu.laswp(Trans::No, &info.ipiv, &mut x)?;
        let (left, no) = (Side::Left, Trans::No);
        gpu.trsm(left, Uplo::Lower, no, Diag::Unit, n, &a, &mut x)?;
        gpu.trsm(left, Uplo::Upper, no, Diag::NonUnit, n, &a, &mut x)
    });
}

#[test]
fn the_largest_product_fits() {
    the_largest_order_fits(Task::Product, |gpu, n| {
        let (a, b) = (identity(gpu, n)?, identity(gpu, n)?);
        let mut c = Memory::<f64>::zeros(gpu, n, n)?;
        gpu.gemm(1.0, Trans::No, &a, Trans::No, &b, 0.0, &mut c)
    });
}

#[test]
fn the_largest_crossproduct_fits() {
    the_largest_order_fits(Task::Crossprod, |gpu, n| {
        let a = identity(gpu, n)?;
        let mut c = Memory::<f64>::zeros(gpu, n, n)?;
        gpu.syrk(Trans::Yes, &a, &mut c)
    });
}

/// The identity of order n.
fn identity(gpu: &CudaDevice, n: usize) -> Result<Matrix<'static, f64>> {
    let mut a = Memory::<f64>::zeros(gpu, n, n)?;
    gpu.set_identity(&mut a)?;
    Ok(a)
}

/// A factor in single precision takes what memory there is, and asks for none that is not needed.
#[test]
fn a_full_device_factors_in_single_precision() {
    let _turn = alone();
    let Some(gpu) = gpu() else { return };
    let n = 3000;
    let a = Host::<f32>::from_fn(n, n, |i, j| 1.0 / (1.0 + i.abs_diff(j) as f64));
    let factor = || {
        let mut home = Host::<f32>::from_fn(n, n, |_, _| 0.0);
        let mut x = gpu.load_into(a.view(), Part::Upper, home.view_mut())?;
        // Once the matrix is there, this much stays free: less than its copy in double precision
        // takes.
        let spare = Memory::<f64>::zeros(&gpu, 6 << 20, 1)?;
        let mut held = Vec::new();
        let mut piece = 1 << 30;
        while piece >= 1 << 17 {
            match Memory::<f64>::zeros(&gpu, piece, 1) {
                Ok(m) => held.push(m),
                Err(Error::DeviceMemory { .. }) => piece /= 2,
                Err(e) => return Err(e),
            }
        }
        drop(spare);
        gpu.potrf(Uplo::Upper, &mut x)?;
        drop(held);
        gpu.store(x)?;
        Ok(home.wide())
    };
    // Code is loaded while there is room.
    let operand = gpu.load(a.view()).unwrap();
    let mut b = Memory::<f32>::zeros(&gpu, n, 100).unwrap();
    let mut c = Memory::<f32>::zeros(&gpu, n, n).unwrap();
    let (left, lower) = (Side::Left, Uplo::Lower);
    gpu.trsm(left, lower, Trans::No, Diag::NonUnit, n, &operand, &mut b)
        .unwrap();
    gpu.syrk(Trans::No, &operand, &mut c).unwrap();
    drop((operand, b, c));
    let whole = crate::common::calls::factor(&gpu, Uplo::Upper, &a).unwrap();
    let parts = factor().unwrap();
    for j in 0..n {
        for i in 0..=j {
            let (x, y) = (parts[(i, j)], whole.at(i, j));
            assert!((x - y).abs() < 1e-5, "({i}, {j}): {x} {y}");
        }
    }
    works(&gpu);
}
