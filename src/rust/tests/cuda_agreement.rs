//! Every verb once on the GPU and once on the CPU, at sizes that cross a tile, a panel and a block,
//! with equal answers up to rounding. Small enough for compute-sanitizer, which runs over this
//! file: `CUDAFACTOR_TEST_SHAPES=few` takes the smallest shapes only, because its race check slows
//! kernels a thousandfold.
#![cfg(feature = "cuda")]

use cudafactor::device::lapack::Lapack;
use cudafactor::device::memory::Memory;
mod common;

use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::matrix::{Change, Diag, Part, Side, Trans, Uplo};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;
use faer::Mat;

use common::{few, gpu, matrices, Host};

fn shapes() -> Vec<(usize, usize)> {
    if few() {
        vec![(33, 7), (35, 40), (66, 35)]
    } else {
        vec![
            (1, 1),
            (33, 7),
            (7, 33),
            (66, 35),
            (65, 130),
            (130, 65),
            (600, 40),
            (200, 300),
        ]
    }
}

/// What a device answers, one matrix after another under its name.
type Answers = Vec<(String, Mat<f64>)>;

struct Run<'d, D, T> {
    dev: &'d D,
    answers: Answers,
    scalar: std::marker::PhantomData<T>,
}

impl<T: Scalar, D: Device<T>> Run<'_, D, T> {
    fn keep(&mut self, name: impl Into<String>, a: &D::Mat<'_>) {
        let (m, n) = self.dev.shape(a);
        let mut host = Host::<T>::from_fn(m, n, |_, _| f64::NAN);
        self.dev.read(a, host.view_mut()).unwrap();
        self.answers.push((name.into(), host.wide()));
    }

    fn numbers(&mut self, name: &str, v: &[f64]) {
        self.answers
            .push((name.into(), Mat::from_fn(v.len(), 1, |i, _| v[i])));
    }

    fn copy(&self, a: &Host<T>) -> D::Mat<'static> {
        self.dev.load_temporary(a.view(), Part::All).unwrap()
    }

    fn products(&mut self, m: usize, n: usize) {
        let (x, y) = (matrices::random::<T>(m, n, 1), matrices::random(m, n, 2));
        let (a, b) = (self.copy(&x), self.copy(&y));
        let (one, half) = (T::from_f64(1.0), T::from_f64(-0.5));
        for (ta, tb) in [(Trans::No, Trans::Yes), (Trans::Yes, Trans::No)] {
            let order = if ta.is_yes() { n } else { m };
            let mut c = self.copy(&matrices::random(order, order, 3));
            self.dev.gemm(half, ta, &a, tb, &b, one, &mut c).unwrap();
            self.keep(format!("gemm {ta:?} {tb:?}"), &c);
            self.dev.syrk(ta, &a, &mut c).unwrap();
            self.keep(format!("syrk {ta:?}"), &c);
        }
        let square = self.copy(&matrices::random(n, n, 4));
        let mut c = self.dev.zeros(m, n).unwrap();
        for t in [Trans::No, Trans::Yes] {
            self.dev
                .gemm(one, Trans::No, &a, t, &square, T::from_f64(0.0), &mut c)
                .unwrap();
            self.keep(format!("gemm No {t:?}, square"), &c);
        }
    }

    fn triangles(&mut self, n: usize, q: usize) {
        let t = matrices::random::<T>(n, n, 5);
        let well = Host::<T>::from_fn(n, n, |i, j| {
            t.at(i, j) / n as f64 + if i == j { 2.0 } else { 0.0 }
        });
        let a = self.copy(&well);
        for side in [Side::Left, Side::Right] {
            for uplo in [Uplo::Upper, Uplo::Lower] {
                for trans in [Trans::No, Trans::Yes] {
                    for diag in [Diag::Unit, Diag::NonUnit] {
                        let (r, c) = if side == Side::Left { (n, q) } else { (q, n) };
                        let mut b = self.copy(&matrices::random(r, c, 6));
                        self.dev
                            .trsm(side, uplo, trans, diag, n, &a, &mut b)
                            .unwrap();
                        self.keep(format!("trsm {side:?} {uplo:?} {trans:?} {diag:?}"), &b);
                    }
                }
            }
        }
    }

    fn definite(&mut self, n: usize) {
        let r = matrices::random::<T>(n, n, 7);
        let spd = Host::<T>::from_fn(n, n, |i, j| {
            r.at(i.min(j), i.max(j))
                + if i == j {
                    2.0 * n as f64 + i as f64
                } else {
                    0.0
                }
        });
        for uplo in [Uplo::Upper, Uplo::Lower] {
            let mut a = self.copy(&spd);
            self.dev.potrf(uplo, &mut a).unwrap();
            self.keep(format!("potrf {uplo:?}"), &a);
        }
        let mut a = self.dev.load_temporary(spd.view(), Part::Upper).unwrap();
        let info = self.dev.pstrf(-1.0, &mut a).unwrap();
        self.keep("pstrf", &a);
        let jpvt: Vec<f64> = info.jpvt.iter().map(|&j| j as f64).collect();
        self.numbers("pstrf's pivots", &jpvt);
    }

    fn updates(&mut self, n: usize) {
        let r = matrices::random::<T>(n, n, 12);
        let factor = Host::<T>::from_fn(n, n, |i, j| {
            r.at(i, j) / (n as f64).sqrt() + if i == j { 3.0 } else { 0.0 }
        });
        for k in [1, 5, 20, 70] {
            let v = matrices::scaled(&matrices::random::<T>(n, k, 13), 0.5 / (n * k) as f64);
            for change in [Change::Up, Change::Down] {
                let mut a = self.dev.load_temporary(factor.view(), Part::Upper).unwrap();
                let mut v = self.copy(&v);
                self.dev.update_factor(change, &mut a, &mut v).unwrap();
                self.keep(format!("chud {change:?} by {k}"), &a);
            }
        }
    }

    fn factors(&mut self, m: usize, n: usize) {
        let x = matrices::random::<T>(m, n, 8);
        let mut a = self.copy(&x);
        let info = self.dev.getrf(&mut a).unwrap();
        self.keep("getrf", &a);
        for trans in [Trans::No, Trans::Yes] {
            let mut b = self.copy(&matrices::random(m, 3, 9));
            self.dev.laswp(trans, &info.ipiv, &mut b).unwrap();
            self.keep(format!("laswp {trans:?}"), &b);
        }
        self.dev.refill(x.view(), Part::All, &mut a).unwrap();
        let tau = self.dev.geqrf(&mut a).unwrap();
        self.keep("geqrf", &a);
        for trans in [Trans::No, Trans::Yes] {
            let mut c = self.copy(&matrices::random(m, 5, 10));
            self.dev.ormqr(trans, &a, &tau, &mut c).unwrap();
            self.keep(format!("ormqr {trans:?}"), &c);
        }
        let mut q = self.dev.zeros(m, m.min(n)).unwrap();
        self.dev.orgqr(&a, &tau, &mut q).unwrap();
        self.keep("orgqr", &q);
        self.dev.refill(x.view(), Part::All, &mut a).unwrap();
        self.dev.geqp3(&mut a).unwrap();
        self.keep("geqp3", &a);
        // A repeated column, which moves to the end.
        let repeated = Host::<T>::from_fn(m, n, |i, j| x.at(i, if j == 2 { 0 } else { j }));
        self.dev.refill(repeated.view(), Part::All, &mut a).unwrap();
        let info = self.dev.qrdc2(1e-4, &mut a).unwrap();
        let jpvt: Vec<f64> = info.jpvt.iter().map(|&j| j as f64).collect();
        self.numbers("qrdc2's pivots", &jpvt);
    }

    fn questions(&mut self, m: usize, n: usize) {
        let a = self.copy(&matrices::random::<T>(m, n, 11));
        let norm = self.dev.norm1(&a).unwrap();
        self.numbers("norm1", &[norm]);
        let norms = self.dev.column_norms(&a).unwrap();
        self.numbers("column norms", &norms);
        let diagonal: Vec<f64> = self
            .dev
            .diagonal(&a)
            .unwrap()
            .into_iter()
            .map(Into::into)
            .collect();
        self.numbers("diagonal", &diagonal);
        let mut i = self.dev.zeros(n, n).unwrap();
        self.dev.set_identity(&mut i).unwrap();
        self.keep("identity", &i);
    }
}

fn answers<T: Scalar, D: Device<T>>(dev: &D, m: usize, n: usize) -> Answers {
    let mut run = Run {
        dev,
        answers: Vec::new(),
        scalar: std::marker::PhantomData::<T>,
    };
    run.products(m, n);
    run.triangles(n, m.min(40));
    run.definite(n);
    // The race check takes flags in shared memory for races.
    if !few() {
        run.updates(n);
    }
    run.factors(m, n);
    run.questions(m, n);
    run.answers
}

fn agree<T: Scalar>() {
    let Some(gpu) = gpu() else { return };
    let cpu = CpuDevice::new(2);
    for (m, n) in shapes() {
        let (got, want) = (answers::<T, _>(&gpu, m, n), answers::<T, _>(&cpu, m, n));
        assert_eq!(got.len(), want.len());
        for ((name, g), (_, w)) in got.iter().zip(&want) {
            // Growth of a few hundred over one rounding: LU of a random matrix is the worst of
            // these.
            let tolerance = 500.0 * T::EPS * (m.max(n) as f64).sqrt() * (1.0 + w.norm_max());
            let off = (g - w).norm_max();
            assert!(off <= tolerance, "{name} of {m} x {n}: off by {off:e}");
        }
    }
}

#[test]
fn double() {
    agree::<f64>();
}

#[test]
fn single() {
    agree::<f32>();
}

/// Past 65,536 rows the panels of a tall matrix are cut into more pieces as they get shorter.
fn tall_panels_agree<T: Scalar>() {
    let Some(gpu) = gpu() else { return };
    if few() {
        return;
    }
    let (m, n) = (65_600, 96);
    let cpu = CpuDevice::new(2);
    let x = matrices::random::<T>(m, n, 12);
    let mut a = gpu.load_temporary(x.view(), Part::All).unwrap();
    let mut b = CpuDevice::new(2)
        .load_temporary(x.view(), Part::All)
        .unwrap();
    gpu.geqrf(&mut a).unwrap();
    cpu.geqrf(&mut b).unwrap();
    let (mut got, mut want) = (
        Host::<T>::from_fn(m, n, |_, _| f64::NAN),
        Host::<T>::from_fn(m, n, |_, _| f64::NAN),
    );
    gpu.read(&a, got.view_mut()).unwrap();
    cpu.read(&b, want.view_mut()).unwrap();
    let tolerance = 500.0 * T::EPS * (m as f64).sqrt() * (1.0 + want.wide().norm_max());
    let off = (got.wide() - want.wide()).norm_max();
    assert!(off <= tolerance, "off by {off:e}");
}

#[test]
fn tall_double() {
    tall_panels_agree::<f64>();
}

#[test]
fn tall_single() {
    tall_panels_agree::<f32>();
}
