//! Tests with too little GPU memory: chosen requests of a thread for buffers are refused.

use crate::algo::dense::host_to_host;
use crate::device::lapack::Lapack;
use crate::device::memory::Memory;
use crate::device::streamed::Streamed;
use std::cell::RefCell;
use std::ops::Range;

use faer::{Mat, MatRef};

use super::context::Context;
use crate::backend::cuda::CudaDevice;
use crate::base::error::{Error, Result};
use crate::base::matrix::{Part, Trans};
use crate::cost::plan::size;

/// The numbers of the requests to refuse, and the number of requests so far.
struct Refused {
    numbers: Range<usize>,
    asked: usize,
}

thread_local! {
    static REFUSED: RefCell<Option<Refused>> = const { RefCell::new(None) };
}

/// Counts a request for a buffer, and tells whether to refuse it.
pub(super) fn refuses_this() -> bool {
    REFUSED.with_borrow_mut(|refused| {
        refused.as_mut().is_some_and(|r| {
            r.asked += 1;
            r.numbers.contains(&(r.asked - 1))
        })
    })
}

/// Runs `f` while the requests of these numbers, counted from 0, are refused to this thread. Also
/// returns the number of its requests.
fn refusing<R>(numbers: Range<usize>, f: impl FnOnce() -> R) -> (R, usize) {
    REFUSED.set(Some(Refused { numbers, asked: 0 }));
    let result = f();
    let asked = REFUSED.take().map_or(0, |r| r.asked);
    (result, asked)
}

#[test]
fn buffers_are_refused_by_their_numbers() {
    let ask = || [(); 5].map(|()| refuses_this());
    assert_eq!(ask(), [false; 5]);
    assert_eq!(refusing(1..3, ask), ([false, true, true, false, false], 5));
    assert_eq!(refusing(0..usize::MAX, ask), ([true; 5], 5));
    assert_eq!(refusing(0..0, ask), ([false; 5], 5));
    assert_eq!(ask(), [false; 5]);
}

/// The results of a verb, and the number of its requests for buffers.
type Answer = (Result<Vec<Mat<f64>>>, usize);

/// A diagonally dominant matrix, so that LU exchanges no rows; its upper triangle is that of a
/// positive definite matrix.
fn matrix(m: usize, n: usize) -> Mat<f64> {
    Mat::from_fn(m, n, |i, j| match i == j {
        true => m as f64,
        false => ((i * 7919 + j * 104_729 + i * j) % 1009) as f64 / 500.0 - 1.0,
    })
}

fn column<T: Copy>(values: &[T], number: impl Fn(T) -> f64) -> Mat<f64> {
    Mat::from_fn(values.len(), 1, |i, _| number(values[i]))
}

/// Equal up to rounding; a NaN equals nothing.
fn close(got: &[Mat<f64>], want: &[Mat<f64>]) -> bool {
    let one = |(g, w): (&Mat<f64>, &Mat<f64>)| {
        let most = 1e5 * f64::EPSILON * w.norm_max();
        let near = |i, j| (g[(i, j)] - w[(i, j)]).abs() <= most;
        g.shape() == w.shape() && (0..w.ncols()).all(|j| (0..w.nrows()).all(|i| near(i, j)))
    };
    got.len() == want.len() && got.iter().zip(want).all(one)
}

/// Functions that work in blocks need buffers in addition to the matrix. If one is refused, they
/// work without blocks. If memory is too small even for that, they return an error. The operand is
/// unchanged.
fn gives_way(name: &str, x: &Mat<f64>, verb: impl Fn(MatRef<'_, f64>, Range<usize>) -> Answer) {
    let before = x.clone();
    let (want, asked) = verb(x.as_ref(), 0..0);
    let want = want.unwrap();
    assert!(asked > 0, "{name}");
    let mut moments = vec![0, 1, asked / 4, asked / 2, asked - 1];
    moments.retain(|&at| at < asked);
    moments.dedup();
    for at in moments {
        // While another test holds the staging memory, no verb works in blocks, and none can fall
        // back.
        let mut refused = Vec::new();
        let done = (0..2000).find_map(|_| match verb(x.as_ref(), at..at + 1).0 {
            Ok(done) => Some(done),
            Err(e) => {
                refused.push(e);
                std::thread::sleep(std::time::Duration::from_millis(5));
                None
            }
        });
        let done = done.unwrap_or_else(|| panic!("{name}, {at} of {asked}: {:?}", refused[0]));
        assert!(close(&done, &want), "{name}, {at} of {asked}");
        for e in refused {
            assert!(matches!(e, Error::DeviceMemory { .. }), "{name}: {e:?}");
        }
        match verb(x.as_ref(), at..usize::MAX).0 {
            Ok(done) => assert!(at > 0 && close(&done, &want), "{name}, from {at}"),
            Err(Error::DeviceMemory {
                needed,
                free,
                total,
                ..
            }) => assert!(needed > 0 && free <= total, "{name}, from {at}"),
            Err(e) => panic!("{name}, from {at} of {asked}: {e:?}"),
        }
        assert!(*x == before, "{name}, from {at}: the operand");
    }
    let (again, _) = verb(x.as_ref(), 0..0);
    assert!(close(&again.unwrap(), &want), "{name}: afterwards");
}

/// Order of a square matrix that is worth blocks.
const ORDER: usize = 2944;

fn gpu() -> Option<CudaDevice> {
    let ctx = Context::for_test()?;
    assert!(size::Streamed::Cholesky.blocks((ORDER, ORDER), 8).is_some());
    Some(CudaDevice { ctx })
}

#[test]
fn cholesky_gives_way() {
    let Some(gpu) = gpu() else { return };
    gives_way("chol", &matrix(ORDER, ORDER), |x, numbers| {
        let mut out = Mat::full(ORDER, ORDER, 7.0);
        let (done, asked) = refusing(numbers, || host_to_host::potrf(&gpu, x, out.as_mut()));
        (done.map(|()| vec![out]), asked)
    });
}

#[test]
fn lu_gives_way() {
    let Some(gpu) = gpu() else { return };
    gives_way("lu", &matrix(ORDER, ORDER), |x, numbers| {
        let mut a = Memory::<f64>::zeros(&gpu, ORDER, ORDER).unwrap();
        let (done, asked) = refusing(numbers, || host_to_host::getrf(&gpu, x, &mut a));
        let answer = done.map(|(info, norm)| {
            assert_eq!(info.zero, None);
            let mut factors = Mat::zeros(ORDER, ORDER);
            gpu.read(&a, factors.as_mut()).unwrap();
            let exchanges = column(&info.ipiv, |p| p as f64);
            vec![factors, exchanges, column(&[norm], |v| v)]
        });
        (answer, asked)
    });
}

#[test]
fn solutions_give_way() {
    let Some(gpu) = gpu() else { return };
    let mut lu = gpu
        .load_temporary(matrix(ORDER, ORDER).as_ref(), Part::All)
        .unwrap();
    let ipiv = gpu.getrf(&mut lu).unwrap().ipiv;
    for given in [true, false] {
        gives_way("solve", &matrix(ORDER, ORDER), |b, numbers| {
            let mut out = Mat::full(ORDER, ORDER, 7.0);
            let (done, asked) = refusing(numbers, || {
                host_to_host::getrs(&gpu, &lu, &ipiv, given.then_some(b), out.as_mut())
            });
            (done.map(|()| vec![out]), asked)
        });
    }
}

#[test]
fn qr_gives_way() {
    let Some(gpu) = gpu() else { return };
    let (m, n) = (34_000, 256);
    assert!(size::Streamed::Qr.blocks((m, n), 8).is_some());
    gives_way("qr", &matrix(m, n), |x, numbers| {
        let mut out = Mat::full(m, n, 7.0);
        let mut finish = |_: usize, _: &[f64], _: &[f64], tau: &[f64]| Some(tau.to_vec());
        let (done, asked) = refusing(numbers, || {
            if let Some(tau) = gpu.geqrf_streamed(x, out.as_mut(), &mut finish)? {
                return Ok(tau);
            }
            let mut a = gpu.load_into(x, Part::All, out.as_mut())?;
            let tau = gpu.geqrf(&mut a)?;
            gpu.scale_trapezoids(&tau, &[], &mut a)?;
            gpu.store(a)?;
            Ok(tau)
        });
        (done.map(|tau| vec![out, column(&tau, |v| v)]), asked)
    });
}

#[test]
fn crossproducts_give_way() {
    let Some(gpu) = gpu() else { return };
    let (m, n) = (17_000, 512);
    assert!(size::Streamed::Crossprod.blocks((m, n), 8).is_some());
    gives_way("crossprod", &matrix(m, n), |x, numbers| {
        let mut out = Mat::full(n, n, 7.0);
        let (done, asked) = refusing(numbers, || {
            host_to_host::syrk(&gpu, Trans::Yes, x, out.as_mut())
        });
        (done.map(|()| vec![out]), asked)
    });
}
