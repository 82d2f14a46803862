//! What backends say they have done is about what the call has to do, and never goes backwards.

mod common;

use std::cell::RefCell;

use common::{for_each_device, Host};
use cudafactor::algo::qr_apply::{self, Form, Reflectors};
use cudafactor::algo::{cholesky, lu, matmult, qr, solve, triangular};
use cudafactor::device::Device;
use cudafactor::error::Result;
use cudafactor::matrix::{Trans, Uplo};
use cudafactor::progress::{self, Report};
use cudafactor::scalar::Scalar;
use cudafactor::tiles::machine::TileMachine;
use cudafactor::work::Work;
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

fn all_of_it_is_counted<T: Scalar, D: TileMachine<T>>(dev: &D) {
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
        cholesky::factor(dev, s, out)
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
        form: Form::Lapack,
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

/// Columns that depend on each other are factored a second time: that was not foreseen, and is counted.
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

for_each_device!(all_of_it_is_counted, a_second_factorization_is_counted);
