//! potrf on hard matrices.

use super::common::calls::factor;
use super::common::matrices::random;
use super::common::residual::product;
use super::common::{changed, few, for_each_device, Host};
use super::exact::{self, Residual};
use super::positive::{hard, nearly_dependent, tiny_pivot, Range};
use super::textbook::{self, Division};
use super::{allowed, orders, portable};
use cudafactor::base::error::Error;
use cudafactor::base::matrix::{Part, Uplo};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::dense::Device;

for_each_device!(
    residuals_are_the_textbooks,
    batches_are_as_good,
    long_sums_are_taken_off_in_parts
);

#[test]
fn inverses_are_found_out() {
    blocks_are_told_apart::<f64>();
    blocks_are_told_apart::<f32>();
}

/// That the judgement is worth something: blocks with substitution pass everywhere, and blocks with
/// explicit inverses do not where a tiny pivot is within a block and rows follow below it.
fn blocks_are_told_apart<T: Scalar>() {
    let n = 129;
    for hard in hard::<T>(n) {
        let a = hard.make::<T>(n);
        let answer = textbook::blocked(&a, 64, Division::Substitution);
        let fault = fault(&a, reference(&a), &answer);
        assert!(fault.is_none(), "{}: {}", hard.name, fault.unwrap());
    }
    for gap in Range::of::<T>().gaps {
        // The residuals grow by about the reciprocal of the gap, and a random combination hides
        // some of it.
        let mut cases = vec![];
        if gap < 4e-3 {
            cases.push(("tiny pivot", tiny_pivot(n, gap, 21)));
        }
        if gap < 1e-3 {
            cases.push(("dependent", nearly_dependent(n, 29, gap)));
        }
        for (name, a) in cases {
            let a = Host::<T>::from_fn(n, n, |i, j| a[(i, j)]);
            for block in [16, 32, 64, 128] {
                let answer = textbook::blocked(&a, block, Division::Inverse);
                let fault = fault(&a, reference(&a), &answer);
                assert!(
                    fault.is_some(),
                    "{name} {gap:e}: inverses of order {block} pass"
                );
            }
        }
    }
}

/// The textbook's residual; where rounding makes the matrix indefinite, that of a matrix raised out
/// of it.
fn reference<T: Scalar>(a: &Host<T>) -> Residual {
    let mut lift = 0.0;
    loop {
        let raised = diagonal_times(a, a.rows, 1.0 + lift);
        if let Ok(r) = textbook::cholesky(&raised) {
            return exact::cholesky(&raised, &r);
        }
        lift = (2.0 * lift).max(a.rows as f64 * T::EPS);
    }
}

/// The leading minor of order `k` with its diagonal multiplied by `factor`.
fn diagonal_times<T: Scalar>(a: &Host<T>, k: usize, factor: f64) -> Host<T> {
    Host::from_fn(k, k, |i, j| {
        let x = a.at(i.min(j), i.max(j));
        if i == j {
            x * factor
        } else {
            x
        }
    })
}

/// What is wrong with an upper factor, or with the answer that there is none.
///
/// A factor has to have residuals like the textbook's. "Not positive definite" is right where
/// taking from the diagonal what rounding may add to it, `(k + 1) eps a_ii`, makes that leading
/// minor so for the textbook.
fn fault<T: Scalar>(
    a: &Host<T>,
    reference: Residual,
    answer: &Result<Host<T>, usize>,
) -> Option<String> {
    let n = a.rows;
    match answer {
        Ok(r) => {
            let found = exact::cholesky(a, r);
            let norm = allowed(reference.norm, n);
            let entries = allowed(reference.entries, n + 1);
            // Written so that NaN is a fault.
            let fine = found.norm <= norm && found.entries <= entries;
            (!fine).then(|| {
                format!(
                    "{found:?}, the textbook's {reference:?}, allowed {norm:.3} and {entries:.3}"
                )
            })
        }
        Err(order) => {
            let lowered = diagonal_times(a, *order, 1.0 - (order + 1) as f64 * T::EPS);
            textbook::cholesky(&lowered)
                .is_ok()
                .then(|| format!("stopped at {order}, where the matrix is definite"))
        }
    }
}

/// The factor as an upper triangle, or the order of the failing minor. NaN fills the triangle that
/// is not to be read, and has to be there afterwards.
fn answer<T: Scalar, D: Device<T>>(device: &D, uplo: Uplo, a: &Host<T>) -> Result<Host<T>, usize> {
    let n = a.rows;
    let inside = |i: usize, j: usize| match uplo {
        Uplo::Upper => i <= j,
        Uplo::Lower => i >= j,
    };
    let given = Host::from_fn(
        n,
        n,
        |i, j| if inside(i, j) { a.at(i, j) } else { f64::NAN },
    );
    let r = match factor(device, uplo, &given) {
        Ok(r) => r,
        Err(Error::NotPositiveDefinite { order }) => return Err(order),
        Err(e) => panic!("{e}"),
    };
    for j in 0..n {
        for i in 0..n {
            assert!(
                inside(i, j) || r.at(i, j).is_nan(),
                "({i}, {j}) was written"
            );
        }
    }
    Ok(match uplo {
        Uplo::Upper => r,
        Uplo::Lower => exact::transposed(&r),
    })
}

fn residuals_are_the_textbooks<T: Scalar, D: Device<T>>(device: &D) {
    for n in orders() {
        for (index, hard) in hard::<T>(n).iter().enumerate() {
            let a = hard.make::<T>(n);
            let reference = reference(&a);
            let both = [Uplo::Upper, Uplo::Lower];
            // Where this takes long, one of the two.
            let uplos = if n < 400 {
                &both[..]
            } else {
                &both[index % 2..][..1]
            };
            for &uplo in uplos {
                let answer = answer(device, uplo, &a);
                let fault = fault(&a, reference, &answer);
                assert!(
                    fault.is_none(),
                    "{} {n} {uplo:?}: {}",
                    hard.name,
                    fault.unwrap()
                );
            }
        }
    }
}

/// A sum that begins with a large entry is rounded at its size for every term. Sums of parts that
/// are taken off one after the other, as in LAPACK, have a quarter of the residual here; the worst
/// of all entries is left to more luck.
fn long_sums_are_taken_off_in_parts<T: Scalar, D: Device<T>>(device: &D) {
    let n = if few() { 129 } else { 900 };
    let x = random::<f64>(n, n, 61).wide();
    let product = product(x.transpose(), x.as_ref());
    let a = Host::<T>::from_fn(n, n, |i, j| {
        product[(i.min(j), i.max(j))] + if i == j { n as f64 } else { 0.0 }
    });
    let Ok(r) = textbook::blocked(&a, 64, Division::Substitution) else {
        panic!("the textbook fails");
    };
    let blocks = exact::cholesky(&a, &r);
    for uplo in [Uplo::Upper, Uplo::Lower] {
        let Ok(r) = answer(device, uplo, &a) else {
            panic!("not positive definite");
        };
        let found = exact::cholesky(&a, &r);
        assert!(
            found.norm <= portable() * 1.5 * blocks.norm
                && found.entries <= portable() * 3.0 * blocks.entries,
            "{uplo:?}: {found:?}, in blocks {blocks:?}"
        );
    }
}

/// All hard matrices of one order at once. One that rounding makes indefinite is taken out, and the
/// others are tried again.
fn batches_are_as_good<T: Scalar, D: Device<T>>(device: &D) {
    let orders: &[usize] = if few() {
        &[5, 33]
    } else {
        &[1, 2, 5, 8, 16, 17, 31, 32, 33, 64, 65, 100, 129]
    };
    for &n in orders {
        let mut all: Vec<(String, Host<T>)> = hard::<T>(n)
            .into_iter()
            .map(|hard| (hard.name.clone(), hard.make::<T>(n)))
            .collect();
        loop {
            let batch = Host::from_fn(n, n * all.len(), |i, j| all[j / n].1.at(i, j % n));
            let answer = changed(device, &batch, Part::All, |m| device.potrf_batched(m));
            match answer {
                Ok((r, ())) => {
                    for (index, (name, a)) in all.iter().enumerate() {
                        let r = Host::from_fn(n, n, |i, j| r.at(i, index * n + j));
                        let fault = fault(a, reference(a), &Ok(r));
                        assert!(fault.is_none(), "{name} {n}: {}", fault.unwrap());
                    }
                    break;
                }
                Err(Error::NotPositiveDefiniteIn { index, order }) => {
                    let (name, a) = all.remove(index - 1);
                    let fault = fault(&a, reference(&a), &Err(order));
                    assert!(fault.is_none(), "{name} {n}: {}", fault.unwrap());
                }
                Err(e) => panic!("{e}"),
            }
        }
    }
}
