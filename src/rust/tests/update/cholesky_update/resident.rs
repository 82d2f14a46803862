//! Factors on a device.

use super::*;

pub(super) fn matrices_on_the_device<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    for (n, k) in [(60, 3), (60, 60), (5, 0)] {
        let (r, v) = (factor::<T>(n), matrices::random::<T>(n, k, 9));
        let clean = Host::<T>::from_fn(n, n, |i, j| if i <= j { r.at(i, j) } else { 0.0 });
        for change in [Change::Up, Change::Down] {
            let on = |x: &Host<T>| dev.load_temporary(x.view(), Part::All).unwrap();
            let there = update_resident(dev, change, &on(&clean), &on(&v));
            let here = changed(dev, change, &r, &v);
            match (there, here) {
                (Ok((there, margin)), Ok((here, same_margin))) => {
                    let mut found = Host::<T>::from_fn(n, n, |_, _| 7e30);
                    dev.read(&there, found.view_mut()).unwrap();
                    assert!(same(&found, &here), "{n} {k}");
                    assert_eq!(margin, same_margin);
                }
                (there, here) => assert_eq!(there.err(), here.err()),
            }
        }
    }
}

/// The upper factor's transpose, whatever the shape of V.
pub(super) fn lower_factors<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    for (n, k) in [(0, 2), (1, 1), (33, 3), (130, 5), (20, 20), (5, 0)] {
        let (r, v) = (factor::<T>(n), matrices::random::<T>(n, k, 9));
        let l = transposed(&r);
        let (want, _) = changed(dev, Change::Up, &r, &v).unwrap();
        let mut out = Host::<T>::from_fn(n, n, |_, _| 7e30).with_gap(2);
        update_lower(dev, Change::Up, l.view(), v.view(), out.view_mut()).unwrap();
        assert!(same(&transposed(&out), &want), "{n} {k}");
        let (up, up_v) = (on(dev, &out), on(dev, &v));
        let there = update_lower_resident(dev, Change::Down, &up, &up_v);
        let here = changed(dev, Change::Down, &want, &v);
        match (there, here) {
            (Ok((there, margin)), Ok((here, same_margin))) => {
                assert!(same(&transposed(&read(dev, &there)), &here), "{n} {k}");
                assert_eq!(margin, same_margin);
            }
            (there, here) => assert_eq!(there.err(), here.err()),
        }
    }
}

pub(super) fn changed_in_place<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    let (r, v) = (factor::<T>(40), matrices::random::<T>(40, 3, 9));
    let clean = Host::<T>::from_fn(40, 40, |i, j| if i <= j { r.at(i, j) } else { 0.0 });
    for uplo in [Uplo::Upper, Uplo::Lower] {
        let as_asked = |x: &Host<T>| match uplo {
            Uplo::Upper => x.clone(),
            Uplo::Lower => transposed(x),
        };
        let mut there = on(dev, &as_asked(&clean));
        let there_v = on(dev, &v);
        update_in_place(dev, uplo, Change::Up, &mut there, &there_v).unwrap();
        let (want, _) = changed(dev, Change::Up, &r, &v).unwrap();
        assert!(same(&read(dev, &there), &as_asked(&want)));
        let much = on(dev, &matrices::scaled(&v, 1e3));
        let failed = update_in_place(dev, uplo, Change::Down, &mut there, &much);
        assert!(matches!(failed, Err(Error::NotPositiveDefinite { .. })));
        assert!(same(&read(dev, &there), &as_asked(&want)));
        let bad = Host::<T>::from_fn(40, 3, |i, j| if i == 39 && j == 1 { f64::NAN } else { 1.0 });
        let failed = update_in_place(dev, uplo, Change::Up, &mut there, &on(dev, &bad));
        assert_eq!(failed, Err(Error::NonFiniteIn { argument: "v" }));
        assert!(same(&read(dev, &there), &as_asked(&want)));
        // Again and back, as matrices of their own.
        let little = on(dev, &matrices::scaled(&v, 0.1));
        let mut other = read(dev, &there);
        for change in [Change::Up, Change::Up, Change::Down] {
            let (made, _) = match uplo {
                Uplo::Upper => update_resident(dev, change, &on(dev, &other), &little).unwrap(),
                Uplo::Lower => {
                    update_lower_resident(dev, change, &on(dev, &other), &little).unwrap()
                }
            };
            other = read(dev, &made);
            update_in_place(dev, uplo, change, &mut there, &little).unwrap();
            assert!(same(&read(dev, &there), &other), "{uplo:?} {change:?}");
        }
        // What is in the other triangle is no part of a factor.
        let mut spoiled = on(dev, &as_asked(&r));
        update_in_place(dev, uplo, Change::Up, &mut spoiled, &there_v).unwrap();
        assert!(same(&read(dev, &spoiled), &as_asked(&want)));
        let mut infinite = clean.clone();
        infinite.set(3, 7, f64::INFINITY);
        let mut there = on(dev, &as_asked(&infinite));
        let failed = update_in_place(dev, uplo, Change::Up, &mut there, &there_v);
        assert_eq!(failed, Err(Error::NonFiniteIn { argument: "r" }));
        assert!(same(&read(dev, &there), &as_asked(&infinite)));
    }
}

/// Who wants an end is heard before a factor is changed where it is, or after.
pub(super) fn not_stopped_half_way<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    let (r, v) = (factor::<T>(300), matrices::random::<T>(300, 2, 9));
    let (want, _) = changed(dev, Change::Up, &r, &v).unwrap();
    let clean = Host::<T>::from_fn(300, 300, |i, j| if i <= j { r.at(i, j) } else { 0.0 });
    let (mut there, there_v) = (on(dev, &clean), on(dev, &v));
    cudafactor::base::interrupt::install(|| true);
    std::thread::sleep(std::time::Duration::from_millis(60));
    let outcome = update_in_place(dev, Uplo::Upper, Change::Up, &mut there, &there_v);
    cudafactor::base::interrupt::install(|| false);
    match outcome {
        Ok(_) => assert!(same(&read(dev, &there), &want)),
        Err(e) => {
            assert_eq!(e, Error::Interrupted);
            assert!(same(&read(dev, &there), &clean));
        }
    }
}

pub(super) fn refused_on_the_device<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    let (r, v) = (factor::<T>(20), matrices::random::<T>(20, 2, 3));
    let refused = |r: &Host<T>, v: &Host<T>| {
        let upper = update_resident(dev, Change::Down, &on(dev, r), &on(dev, v)).err();
        let (l, v) = (on(dev, &transposed(r)), on(dev, v));
        assert_eq!(update_lower_resident(dev, Change::Up, &l, &v).err(), upper);
        upper
    };
    let (mut bad_r, mut bad_v, mut zero) = (r.clone(), v.clone(), r.clone());
    bad_r.set(3, 7, f64::NEG_INFINITY);
    bad_v.set(19, 1, f64::NAN);
    zero.set(4, 4, 0.0);
    let not_finite = |argument| Some(Error::NonFiniteIn { argument });
    assert_eq!(refused(&bad_r, &v), not_finite("r"));
    assert_eq!(refused(&r, &bad_v), not_finite("v"));
    assert_eq!(refused(&zero, &v), Some(Error::Singular { index: 5 }));
    let short = matrices::random::<T>(19, 2, 3);
    assert!(matches!(refused(&r, &short), Some(Error::Dimension { .. })));
    // Sums of these do not fit, and they are numbers.
    let large = if T::EPS > 1e-10 { 3e38 } else { 1e308 };
    let huge = Host::<T>::from_fn(20, 1, |_, _| large);
    let failed = update_resident(dev, Change::Down, &on(dev, &r), &on(dev, &huge)).err();
    assert!(
        matches!(failed, Some(Error::NotPositiveDefinite { .. })),
        "{failed:?}"
    );
}
