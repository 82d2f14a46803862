use super::*;
use crate::backend::cuda::matrix::views::Matrix;
use crate::backend::cuda::spectral::cases::{cases, judge};

#[test]
fn eigenpairs_are_accurate() {
    eigenpairs_are_accurate_in::<f64>();
    eigenpairs_are_accurate_in::<f32>();
}

fn eigenpairs_are_accurate_in<T: Scalar>() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    for (leaf, n) in [
        (LEAF, 1),
        (LEAF, 2),
        (LEAF, 31),
        (32, 32),
        (32, 33),
        (ROWS, 64),
        (8, 129),
        (LEAF, 129),
        (LEAF, 500),
        (LEAF, 1500),
    ] {
        for (name, d, e) in cases(n) {
            let (d, e) = (narrowed::<T>(&d), narrowed::<T>(&e));
            let q = Matrix::<T>::new(ctx, n, n).unwrap();
            let found = vectors_by(ctx, leaf, &d, &e, q.view()).unwrap();
            let mut vectors = faer::Mat::<T>::zeros(n, n);
            q.read(ctx, vectors.as_mut()).unwrap();
            let [wide_d, wide_e] =
                [&d, &e].map(|x| x.iter().map(|x| x.to_f64()).collect::<Vec<_>>());
            let what = format!("{name} {n} {}", T::SUFFIX);
            judge(&what, T::EPS, &wide_d, &wide_e, &found, &vectors);
            let alone = values(ctx, &d, &e).unwrap();
            let norm = 3.0
                * wide_d
                    .iter()
                    .chain(&wide_e)
                    .fold(0f64, |m, x| m.max(x.abs()));
            for (x, y) in alone.iter().zip(&found) {
                let apart = (x.to_f64() - y.to_f64()).abs();
                assert!(
                    apart <= 60.0 * T::EPS * norm.max(1e-300),
                    "{what}: {x:?} {y:?}"
                );
            }
        }
    }
}

#[test]
fn wrong_arguments_are_errors() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    assert_eq!(values(ctx, &[1.0, f64::NAN], &[0.0]), Err(Error::NonFinite));
    assert!(values(ctx, &[1.0, 2.0], &[]).is_err());
    assert_eq!(values::<f64>(ctx, &[], &[]), Ok(Vec::new()));
    let q = Matrix::<f64>::new(ctx, 2, 3).unwrap();
    assert!(vectors(ctx, &[1.0, 2.0], &[0.5], q.view()).is_err());
}
