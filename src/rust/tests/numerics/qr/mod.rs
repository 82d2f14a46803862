//! geqrf on hard matrices: as close to A and as orthogonal as LAPACK's algorithm on the CPU leaves
//! it, with its signs.

mod hard;

use super::common::matrices::{self, Random};
use super::common::residual::{self, norm1, product};
use super::common::{changed, few, for_each_device, written, Host};
use super::portable;
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::matrix::{Part, Trans};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;
use faer::Mat;
use hard::{conditions, hard, with_condition};

for_each_device!(
    as_good_as_lapack,
    scales_of_columns_do_not_matter,
    any_condition,
    triangle_and_signs_agree,
    what_is_no_number_stays_behind,
    zero_below_the_diagonal_is_not_reflected,
    factors_repeat,
);

/// What is no more than half as much again as LAPACK's, or than this, is as good: loss of
/// orthogonality and residual in units of `n eps`, the worst column's residual in units of
/// `sqrt(m) eps`. Small matrices have a few roundings more than they have rows: Householder's
/// method leaves residuals of up to 6 eps of 2 x 2, LAPACK's too.
const FLOORS: [f64; 3] = [4.0, 0.5, 3.0];
const ROUNDINGS: f64 = 8.0;

/// Around panels of 32 and of 128 columns, tall and wide.
fn shapes() -> Vec<(usize, usize)> {
    if few() {
        return vec![(65, 33)];
    }
    let square = [1, 2, 31, 32, 33, 127, 128, 129, 256, 257, 400];
    let mut all: Vec<(usize, usize)> = square.into_iter().map(|n| (n, n)).collect();
    all.extend([
        (129, 128),
        (130, 127),
        (300, 129),
        (4000, 64),
        // More rows than are resident at once.
        (36000, 33),
        (900, 260),
        (33, 130),
        (128, 257),
        (129, 400),
    ]);
    all
}

struct Answer<T> {
    factor: Host<T>,
    tau: Vec<T>,
    q: Host<T>,
}

/// The factor, and Q with all of its columns, as far as they are wanted for R.
fn factored<T: Scalar, D: Device<T>>(device: &D, a: &Host<T>) -> Answer<T> {
    let (factor, tau) = changed(device, a, Part::All, |x| device.geqrf(x)).unwrap();
    let (m, k) = (a.rows, a.rows.min(a.cols));
    let identity = Host::<T>::from_fn(m, k, |i, j| f64::from(u8::from(i == j)));
    let (q, ()) = changed(device, &identity, Part::All, |c| {
        device.ormqr(Trans::No, &device.load(factor.view())?, &tau, c)
    })
    .unwrap();
    Answer { factor, tau, q }
}

/// Loss of orthogonality; residual; the largest residual of a column beside that column.
fn errors<T: Scalar>(a: &Host<T>, x: &Answer<T>) -> [f64; 3] {
    [
        residual::orthogonality(&x.q),
        residual::qr(a, &x.q, &x.factor),
        worst_column(a, x),
    ]
}

fn worst_column<T: Scalar>(a: &Host<T>, x: &Answer<T>) -> f64 {
    let k = x.q.cols;
    // Columns of length one in the largest entry, so that none overflows or vanishes.
    let scale = |j: usize| (0..a.rows).map(|i| a.at(i, j).abs()).fold(0.0, f64::max);
    let scales: Vec<f64> = (0..a.cols)
        .map(|j| if scale(j) > 0.0 { 1.0 / scale(j) } else { 1.0 })
        .collect();
    let of = |x: f64, j: usize| x * scales[j];
    let r = Mat::from_fn(k, a.cols, |i, j| {
        if i <= j {
            of(x.factor.at(i, j), j)
        } else {
            0.0
        }
    });
    let left = Mat::from_fn(a.rows, a.cols, |i, j| of(a.at(i, j), j));
    let apart = &left - &product(x.q.wide().as_ref(), r.as_ref());
    let worst = (0..a.cols).map(|j| {
        let (error, size) = (apart.col(j).norm_l2(), left.col(j).norm_l2());
        if error == 0.0 {
            0.0
        } else {
            error / (size * (a.rows as f64).sqrt() * T::EPS)
        }
    });
    worst.fold(0.0, f64::max)
}

fn judge<T: Scalar, D: Device<T>>(device: &D, what: &str, a: &Host<T>) {
    let got = errors(a, &factored(device, a));
    let lapack = errors(a, &factored(&CpuDevice::new(1), a));
    for (i, kind) in ["orthogonality", "residual", "column"].iter().enumerate() {
        let floor = FLOORS[i] + ROUNDINGS / a.rows.max(a.cols) as f64;
        let allowed = portable() * (1.5 * lapack[i]).max(floor);
        assert!(
            got[i] <= allowed,
            "{what} {}x{}: {kind} {:.2} of at most {allowed:.2}, LAPACK's {:.2}; all {got:.2?}, \
             LAPACK's {lapack:.2?}",
            a.rows,
            a.cols,
            got[i],
            lapack[i]
        );
    }
}

fn as_good_as_lapack<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in shapes() {
        for (name, a) in hard::<T>(m, n) {
            judge(device, &name, &a);
        }
    }
}

/// Columns of very different size, among them one whose square leaves the range.
fn scales_of_columns_do_not_matter<T: Scalar, D: Device<T>>(device: &D) {
    let most = if T::EPS > 1e-10 { 10.0 } else { 100.0 };
    for (m, n) in shapes() {
        let base = matrices::random::<f64>(m, n, 63);
        let mut random = Random::new(64);
        for spread in [0.1 * most, most, 2.5 * most] {
            let powers: Vec<f64> = (0..n).map(|_| 10f64.powf(spread * random.next())).collect();
            let a = Host::<T>::from_fn(m, n, |i, j| base.at(i, j) * powers[j]);
            judge(device, &format!("columns over 1e{spread}"), &a);
        }
    }
}

fn any_condition<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in shapes() {
        for digits in conditions::<T>() {
            let a = with_condition(m, n, digits, 65);
            let a = Host::<T>::from_fn(m, n, |i, j| a[(i, j)]);
            judge(device, &format!("condition 1e{digits}"), &a);
        }
    }
}

/// R is determined up to the signs of its rows, as far as the condition allows; so are the signs,
/// by the choice of LAPACK.
fn triangle_and_signs_agree<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in shapes() {
        for digits in [0.0, 1.0, 2.0] {
            let a = with_condition(m, n, digits, 66);
            let a = Host::<T>::from_fn(m, n, |i, j| a[(i, j)]);
            let got = factored(device, &a);
            let lapack = factored(&CpuDevice::new(1), &a);
            let k = m.min(n);
            let of = |x: &Answer<T>| {
                Mat::from_fn(k, n, |i, j| if i <= j { x.factor.at(i, j) } else { 0.0 })
            };
            let (r, want) = (of(&got), of(&lapack));
            let off = norm1((&r - &want).as_ref()) / (norm1(want.as_ref()) * m as f64 * T::EPS);
            assert!(off < 10.0 * 10f64.powf(digits), "{m} {n} 1e{digits}: {off}");
            for (j, tau) in got.tau.iter().enumerate() {
                let tau: f64 = (*tau).into();
                let last = j + 1 == m;
                assert!(
                    if last {
                        tau == 0.0
                    } else {
                        (1.0 - T::EPS..=2.0 + T::EPS).contains(&tau)
                    },
                    "{m} {n} tau {j}: {tau}"
                );
            }
        }
    }
}

fn what_is_no_number_stays_behind<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in shapes() {
        let base = matrices::random::<T>(m, n, 67);
        for value in [f64::NAN, f64::INFINITY] {
            for column in [0, n / 2, n - 1] {
                let mut a = base.clone();
                a.set(m - 1, column, value);
                let (factor, tau) = changed(device, &a, Part::All, |x| device.geqrf(x)).unwrap();
                let what = format!("{m} {n} {value} in column {column}");
                for j in 0..column {
                    assert!(
                        (0..m).all(|i| factor.at(i, j).is_finite()),
                        "{what}: column {j}"
                    );
                    assert!(
                        j >= tau.len() || tau[j].into().is_finite(),
                        "{what}: tau {j}"
                    );
                }
                assert!(!(0..m).all(|i| factor.at(i, column).is_finite()), "{what}");
                // What is behind is reflected by it.
                if column < m.min(n) && m > 1 {
                    assert!(
                        (column + 1..n).all(|j| !(0..m).all(|i| factor.at(i, j).is_finite())),
                        "{what}: behind"
                    );
                }
            }
        }
    }
}

/// Where a column has nothing below the diagonal when its turn comes, LAPACK leaves it alone.
fn zero_below_the_diagonal_is_not_reflected<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in shapes() {
        let base = matrices::random::<T>(m, n, 68);
        let a = Host::<T>::from_fn(m, n, |i, j| if i <= j { base.at(i, j) } else { 0.0 });
        let (factor, tau) = changed(device, &a, Part::All, |x| device.geqrf(x)).unwrap();
        for j in 0..n {
            for i in 0..m {
                let (got, was) = (factor.at(i, j), a.at(i, j));
                assert!(got == was, "{m}x{n}: ({i}, {j}) is {got:e}, was {was:e}");
            }
        }
        let reflected = tau.iter().position(|t| (*t).into() != 0.0);
        assert_eq!(reflected, None, "{m}x{n}: {:?}", reflected.map(|j| tau[j]));
    }
}

fn factors_repeat<T: Scalar, D: Device<T>>(device: &D) {
    for (m, n) in shapes() {
        for (name, a) in hard::<T>(m, n).into_iter().take(3) {
            let run = || {
                let x = factored(device, &a);
                let q = written(device, m, x.tau.len(), 1, |q| {
                    device.orgqr(&device.load(x.factor.view())?, &x.tau, q)
                })
                .unwrap();
                let numbers = [&x.factor, &x.q, &q].map(|h| h.wide());
                let bits = |a: &Mat<f64>| -> Vec<u64> {
                    (0..a.ncols())
                        .flat_map(|j| (0..a.nrows()).map(move |i| a[(i, j)].to_bits()))
                        .collect()
                };
                numbers.iter().map(bits).collect::<Vec<_>>()
            };
            assert!(run() == run(), "{name} {m} {n}");
        }
    }
}
