//! Matrices that are hard for QR.

use super::*;

/// Condition numbers as powers of ten, up to beyond 1 / eps.
pub(super) fn conditions<T: Scalar>() -> Vec<f64> {
    let last = if T::EPS > 1e-10 { 8 } else { 16 };
    (0..=last).map(f64::from).collect()
}

/// `sum of s_k u_k v_k'` with orthogonal u and v, made of reflections.
pub(super) fn with_condition(m: usize, n: usize, digits: f64, seed: u64) -> Mat<f64> {
    let k = m.min(n);
    let mut a = Mat::<f64>::from_fn(m, n, |i, j| match i == j {
        true => 10f64.powf(-digits * i as f64 / (k.max(2) - 1) as f64),
        false => 0.0,
    });
    let mut random = Random::new(seed);
    for _ in 0..3 {
        a = reflected(&a, &mut random);
        a = reflected(&a.transpose().to_owned(), &mut random)
            .transpose()
            .to_owned();
    }
    a
}

pub(super) fn reflected(a: &Mat<f64>, random: &mut Random) -> Mat<f64> {
    let v = Mat::<f64>::from_fn(a.nrows(), 1, |_, _| random.normal());
    let factor = 2.0 / v.squared_norm_l2();
    let w = product(v.transpose(), a.as_ref());
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| {
        a[(i, j)] - factor * v[(i, 0)] * w[(0, j)]
    })
}

/// Matrices with a reputation.
pub(super) fn hard<T: Scalar>(m: usize, n: usize) -> Vec<(String, Host<T>)> {
    let base = matrices::random::<f64>(m, n, 61);
    let mut all = vec![(
        "random".to_string(),
        Host::from_fn(m, n, |i, j| base.at(i, j)),
    )];
    for near in [100.0, 1.0, 1e-2] {
        let mu = near * T::EPS.sqrt();
        let of = |i: usize, j: usize| match i {
            0 => 1.0,
            _ if i == j + 1 => mu,
            _ => 0.0,
        };
        all.push((format!("Laeuchli {mu:.0e}"), Host::from_fn(m, n, of)));
    }
    let (s, c) = (0.9f64, 0.19f64.sqrt());
    let kahan = |i: usize, j: usize| match i.cmp(&j) {
        std::cmp::Ordering::Less => -c * s.powi(i as i32),
        std::cmp::Ordering::Equal => s.powi(i as i32),
        std::cmp::Ordering::Greater => 0.0,
    };
    all.push(("Kahan".into(), Host::from_fn(m, n, kahan)));
    let mixed = product(
        matrices::random::<f64>(m, n, 62).wide().as_ref(),
        Mat::from_fn(n, n, kahan).as_ref(),
    );
    all.push((
        "mixed Kahan".into(),
        Host::from_fn(m, n, |i, j| mixed[(i, j)]),
    ));
    let point = |i: usize| 2.0 * (i as f64 + 0.5) / m as f64 - 1.0;
    all.push((
        "Vandermonde".into(),
        Host::from_fn(m, n, |i, j| point(i).powi(j as i32)),
    ));
    let twin = |j: usize| if j % 10 == 9 { j - 1 } else { j };
    all.push((
        "duplicates".into(),
        Host::from_fn(m, n, |i, j| base.at(i, twin(j))),
    ));
    let late = |j: usize| if j == 2 * n / 3 && j > 0 { 0 } else { j };
    all.push((
        "one duplicate".into(),
        Host::from_fn(m, n, |i, j| base.at(i, late(j))),
    ));
    all.push((
        "nearly one".into(),
        Host::from_fn(m, n, |i, j| {
            base.at(i, late(j)) + 10.0 * T::EPS * base.at(i, j)
        }),
    ));
    all.push((
        "zero columns".into(),
        Host::from_fn(m, n, |i, j| if j % 50 == 20 { 0.0 } else { base.at(i, j) }),
    ));
    all.push((
        "graded rows".into(),
        Host::from_fn(m, n, |i, j| {
            base.at(i, j) * 10f64.powf(-20.0 * i as f64 / m as f64)
        }),
    ));
    all.push((
        "dominant".into(),
        Host::from_fn(m, n, |i, j| {
            base.at(i, j) + if i == j { m as f64 } else { 0.0 }
        }),
    ));
    let far = if T::EPS > 1e-10 { 1e25 } else { 1e200 };
    for by in [1.0 / far, far] {
        all.push((
            format!("times {by:e}"),
            Host::from_fn(m, n, |i, j| base.at(i, j) * by),
        ));
    }
    all
}
