//! Points close together or far apart, the nugget, and shapes that are refused.

use super::*;

/// By the expansion `x'x + y'y - 2 x'y` nothing would be left of these distances.
pub(super) fn close_points_keep_their_distance<T: Scalar, D: Device<T>>(dev: &D) {
    let step = 2f64.powi(-24);
    let x = Host::<f64>::from_fn(9, 2, |i, k| 1e8 + (i * (k + 1)) as f64 * step);
    let ranges = [1e-7, 3e-7];
    let scale = scales(&ranges);
    for correlation in ALL {
        let k = function(correlation, 1.0, 0.0);
        let out = all_of::<T, D>(dev, &k, points(&x, &scale), None);
        for i in 0..9 {
            let (want, h) = expected(correlation, (&x, i), (&x, 0), &ranges);
            // The points are where they are said to be.
            assert!(i == 0 || h > 0.0);
            assert!(close::<T>(out.at(i, 0), want, h), "{correlation:?} {i}");
        }
    }
}

pub(super) fn ends_of_the_range<T: Scalar, D: Device<T>>(dev: &D) {
    let at = [0.0, 1e-300, 1.0, 1.0, -1e200, 1e308];
    let x = Host::<f64>::from_fn(at.len(), 2, |i, k| if k == 0 { at[i] } else { 0.0 });
    for correlation in ALL {
        let k = function(correlation, 3.0, 0.0);
        let all = |range: f64| {
            let scale = scales(&[range, 1.0]);
            all_of::<T, D>(dev, &k, points(&x, &scale), None)
        };
        for range in [5e-324, 1e-308, 1e-5, 1.0] {
            let out = all(range);
            assert!(out.all(|v| (0.0..=3.0).contains(&v)));
            for i in 0..at.len() {
                assert_eq!(out.at(i, i), 3.0);
            }
            // Two points in one place, and far ones.
            assert_eq!(out.at(2, 3), 3.0);
            assert_eq!(out.at(0, 4), 0.0);
            assert_eq!(out.at(4, 5), 0.0);
            assert_eq!(out.at(0, 2) == 0.0, range < 1.0);
        }
        // So wide that all are one; the last one's distance is a number still.
        let out = all(1e306);
        for j in 0..5 {
            assert_eq!(out.at(0, j), 3.0);
        }
        assert_eq!(out.at(0, 5), out.at(5, 0));
        assert!(out.at(0, 5) < 1e-30);
    }
}

pub(super) fn the_nugget_is_on_the_diagonal_alone<T: Scalar, D: Device<T>>(dev: &D) {
    // The second and the third are in one place.
    let x = Host::<f64>::from_fn(4, 1, |i, _| [0.0, 0.5, 0.5, 2.0][i]);
    let scale = scales(&[1.0]);
    for correlation in ALL {
        let with = function(correlation, 2.0, 0.125);
        let without = function(correlation, 2.0, 0.0);
        let bare = all_of::<T, D>(dev, &without, points(&x, &scale), None);
        let out = all_of::<T, D>(dev, &with, points(&x, &scale), None);
        let want = Host::<T>::from_fn(4, 4, |i, j| if i == j { 2.125 } else { bare.at(i, j) });
        assert!(same(&out, &want));
        assert_eq!(out.at(1, 2), 2.0);
        let cross = all_of::<T, D>(dev, &with, points(&x, &scale), Some(points(&x, &scale)));
        assert!(same(&cross, &bare));
    }
}

pub(super) fn shapes_that_do_not_fit<T: Scalar, D: Device<T>>(dev: &D) {
    let (x, y) = (scattered(5, 2, 0), scattered(5, 3, 0));
    let (two, three) = (scales(&[1.0, 1.0]), scales(&[1.0, 1.0, 1.0]));
    let dimension = |e| matches!(e, Error::Dimension { .. });
    assert!(dev
        .points(points(&x, &three))
        .map(|_| ())
        .is_err_and(dimension));
    let k = function(Correlation::Exponential, 1.0, 0.0);
    let (px, py) = (
        dev.points(points(&x, &two)).unwrap(),
        dev.points(points(&y, &three)).unwrap(),
    );
    let mut out = dev.zeros(5, 5).unwrap();
    let whole = Block::leading(5, 5);
    for (y, block) in [
        (&py, whole),
        (&px, Block { row: 1, ..whole }),
        (&px, Block { col: 1, ..whole }),
        (&px, Block::leading(6, 5)),
    ] {
        assert!(dev
            .covariance(&k, &px, y, block, &mut out)
            .is_err_and(dimension));
    }
    let mut small = dev.zeros(5, 4).unwrap();
    assert!(dev
        .covariance(&k, &px, &px, whole, &mut small)
        .is_err_and(dimension));
}
