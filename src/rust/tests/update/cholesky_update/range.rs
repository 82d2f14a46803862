//! Numbers at the ends of the range, and far apart.

use super::*;

pub(super) fn ends_of_the_range<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    let n = 20;
    let r = factor::<T>(n);
    for k in [2, n + 3] {
        let v = matrices::random::<T>(n, k, 3);
        let (want, _) = changed(dev, Change::Up, &r, &v).unwrap();
        // The last leaves no room for a downdate's inverses.
        let (end, last) = if T::EPS > 1e-10 {
            (1e30, 1e36)
        } else {
            (1e300, 1e306)
        };
        for scale in [end, 1.0 / end, last] {
            let (r, v) = (matrices::scaled(&r, scale), matrices::scaled(&v, scale));
            let (up, _) = changed(dev, Change::Up, &r, &v).unwrap();
            for j in 0..n {
                for i in 0..=j {
                    let (got, want) = (up.at(i, j) / scale, want.at(i, j));
                    assert!((got - want).abs() < 1e3 * T::EPS, "{scale}: {got} {want}");
                }
            }
            if scale != last {
                let (down, _) = changed(dev, Change::Down, &up, &v).unwrap();
                assert!((0..n).all(|j| down.at(j, j) > 0.0));
            }
        }
    }
}

/// Of these neither the matrix that is formed nor a product of two entries has what the factor has.
pub(super) fn far_apart<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    let small = T::EPS.sqrt() / 100.0;
    let r = Host::<T>::from_fn(2, 2, |i, j| [[1.0, 1.0], [0.0, small]][i][j]);
    for k in [1, 2, 5] {
        let v = Host::<T>::from_fn(2, k, |_, j| if j == 0 { 1.0 } else { 0.0 });
        let (up, _) = changed(dev, Change::Up, &r, &v).unwrap();
        // By way of the matrix there is a factor at least.
        let exact = dev.update_pays(2, k);
        let left = up.at(1, 1) / small;
        assert!(
            if exact {
                (left - 1.0).abs() < 0.1
            } else {
                left > 0.0
            },
            "{k}: {left}"
        );
        assert!((up.at(0, 1) - 2f64.sqrt()).abs() < 1e-3);
    }
    let ends = if T::EPS > 1e-10 {
        [1e3, 1e30]
    } else {
        [1e10, 1e250]
    };
    for ends in [ends, ends.map(|x| 1.0 / x)] {
        let n = 8;
        let r = Host::<T>::from_fn(n, n, |i, j| {
            if i != j {
                0.0
            } else if i == 0 {
                ends[0]
            } else {
                ends[1]
            }
        });
        let v = Host::<T>::from_fn(n, 1, |i, _| match i {
            0 => ends[0],
            1 => ends[1],
            _ => 0.0,
        });
        let (up, _) = changed(dev, Change::Up, &r, &v).unwrap();
        for (i, j, want) in [(0, 0, 2.0), (0, 1, 0.5), (1, 1, 1.5)] {
            let got = up.at(i, j) / ends[j];
            assert!(
                (got / f64::sqrt(want) - 1.0).abs() < 1e2 * T::EPS,
                "{i} {j}: {got}"
            );
        }
    }
}

/// What is near the end of the range stays there, and what leaves it, as it is stored, is reported
/// with its column.
pub(super) fn beyond_the_range<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    let (most, large, less) = if T::EPS > 1e-10 {
        (f64::from(f32::MAX), 1e36, 1e30)
    } else {
        (f64::MAX, 1e306, 1e300)
    };
    let n = 45;
    let diagonal = |x: f64| Host::<T>::from_fn(n, n, |i, j| if i == j { x } else { 0.0 });
    let v = Host::<T>::from_fn(n, 1, |_, _| less);
    let (up, _) = changed(dev, Change::Up, &diagonal(large), &v).unwrap();
    for j in 0..n {
        for i in 0..=j {
            let want = if i == j { large } else { less / large * less };
            let got = up.at(i, j);
            assert!((got / want - 1.0).abs() < 1e-5, "{i} {j}: {got}");
        }
    }
    // On the diagonal, and in the first row: 1.13 and 0.42 times the largest number become of them.
    for column in [0, 5, 12, 18, 40] {
        for (part, fits) in [(0.8, false), (0.3, true)] {
            let order = column + 1;
            let want = (!fits).then_some(Error::NotPositiveDefinite { order });
            let mut r = diagonal(1.0);
            let mut v = Host::<T>::from_fn(n, 1, |_, _| 0.0);
            v.set(column, 0, part * most);
            r.set(column, column, part * most);
            let failed = changed(dev, Change::Up, &r, &v).err();
            assert_eq!(failed, want, "diagonal {column}");
            if column > 0 {
                r.set(column, column, 1.0);
                r.set(0, column, part * most);
                v.set(0, 0, 1.0);
                let failed = changed(dev, Change::Up, &r, &v).err();
                assert_eq!(failed, want, "above {column}");
            }
        }
    }
}
