//! What a GPU does apart from computing: interrupts, copies, what it says of itself.

use cudafactor::device::blas::Blas;
use cudafactor::device::lapack::Lapack;

use cudafactor::device::memory::Memory;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cudafactor::backend::cuda::driver::probe;
use cudafactor::backend::cuda::CudaDevice;
use cudafactor::backend::cuda::Matrix;
use cudafactor::base::error::{Error, Result};
use cudafactor::base::interrupt;
use cudafactor::base::matrix::{Part, Trans};

use crate::alone;
use crate::common::calls::works;
use crate::common::{changed, gpu, matrices, same, Host};

static STOP: AtomicBool = AtomicBool::new(false);

/// Between launches there is a place to stop; these have many. The user asks while nothing runs, so
/// that the first such place is where it ends: the result's home is not written, and the same call
/// makes the same factor afterwards.
#[test]
fn an_interrupt_stops_a_factorization_between_launches() {
    let _turn = alone();
    let Some(gpu) = gpu() else { return };
    interrupt::install(|| STOP.load(Ordering::SeqCst));
    type Verb = fn(&CudaDevice, &mut Matrix<'_, f64>) -> Result<()>;
    let verbs: [(&str, Verb); 4] = [
        ("getrf", |gpu, x| gpu.getrf(x).map(drop)),
        ("geqrf", |gpu, x| gpu.geqrf(x).map(drop)),
        ("geqp3", |gpu, x| gpu.geqp3(x).map(drop)),
        ("pstrf", |gpu, x| gpu.pstrf(-1.0, x).map(drop)),
    ];
    let n = 700;
    let a = Host::<f64>::from_fn(n, n, |i, j| if i == j { n as f64 } else { 1.0 });
    for (name, verb) in verbs {
        let (before, ()) = changed(&gpu, &a, Part::All, |x| verb(&gpu, x)).unwrap();

        let mut home = Host::<f64>::from_fn(n, n, |_, _| f64::NAN);
        let mut x = gpu.load_into(a.view(), Part::All, home.view_mut()).unwrap();
        STOP.store(true, Ordering::SeqCst);
        // Longer than the time for which one answer counts.
        std::thread::sleep(Duration::from_millis(100));
        let stopped = verb(&gpu, &mut x);
        STOP.store(false, Ordering::SeqCst);
        assert_eq!(stopped, Err(Error::Interrupted), "{name}");
        drop(x);
        assert!(home.all(f64::is_nan), "{name}");

        works(&gpu);
        let (after, ()) = changed(&gpu, &a, Part::All, |x| verb(&gpu, x)).unwrap();
        assert!(same(&before, &after), "{name}");
    }
}

#[test]
fn copies_stay_on_the_device_in_order() {
    let _turn = alone();
    let Some(gpu) = gpu() else { return };
    let a = matrices::random::<f64>(130, 70, 5);
    let from = gpu.load(a.view()).unwrap();
    let mut to = Memory::<f64>::zeros(&gpu, 130, 70).unwrap();
    assert_ne!(from.address(), to.address());
    gpu.copy(&from, &mut to).unwrap();
    let mut got = Host::<f64>::from_fn(130, 70, |_, _| f64::NAN);
    gpu.read(&to, got.view_mut()).unwrap();
    assert_eq!(got.wide(), a.wide());

    let mut other = Memory::<f64>::zeros(&gpu, 70, 130).unwrap();
    let refused = gpu.copy(&from, &mut other);
    assert!(
        matches!(refused, Err(Error::Dimension { .. })),
        "{refused:?}"
    );
    let mut empty = Memory::<f64>::zeros(&gpu, 0, 70).unwrap();
    let none = Memory::<f64>::zeros(&gpu, 0, 70).unwrap();
    gpu.copy(&none, &mut empty).unwrap();
}

#[test]
fn timed_work_is_done_and_its_value_returned() {
    let _turn = alone();
    let Some(gpu) = gpu() else { return };
    let a = matrices::random::<f64>(200, 200, 6);
    let operand = gpu.load(a.view()).unwrap();
    let mut c = Memory::<f64>::zeros(&gpu, 200, 200).unwrap();
    let work = || gpu.syrk(Trans::Yes, &operand, &mut c);
    let (done, ms) = gpu.timed(work).unwrap();
    assert_eq!(done, Ok(()));
    assert!(ms.is_finite() && ms > 0.0, "{ms}");
    let mut got = Host::<f64>::from_fn(200, 200, |_, _| f64::NAN);
    gpu.read(&c, got.view_mut()).unwrap();
    let want = a.wide().transpose() * a.wide();
    assert!((want - got.wide()).norm_max() < 1e-11);
}

#[test]
fn every_probe_passes() {
    let _turn = alone();
    let Some(gpu) = gpu() else { return };
    let steps = probe::probe();
    assert!(
        steps.len() >= 6 && steps.iter().all(|s| s.ok && s.fix.is_empty()),
        "{steps:?}"
    );
    let count = probe::device_count();
    let info = probe::info();
    assert!(count > 0 && info.len() == count);
    assert_eq!(Memory::<f64>::name(&gpu), "cuda:0");
    assert!(info
        .iter()
        .all(|g| g.memory_free <= g.memory_total && g.multiprocessors > 0));
}

#[test]
fn a_gpu_that_is_not_there() {
    let _turn = alone();
    let refused = CudaDevice::open(probe::device_count() + 7).err();
    assert!(
        matches!(refused, Some(Error::DeviceUnavailable { .. })),
        "{refused:?}"
    );
    let steps = probe::probe();
    assert!(!steps.is_empty());
    assert!(steps.iter().all(|s| s.ok == s.fix.is_empty()), "{steps:?}");
}
