//! Factors that pass by in panels of columns.

use cudafactor::device::async_copy::AsyncCopy;

use super::*;

/// As [`FactorUpdate::update_factor`], so many columns at a time.
fn in_panels<T: Scalar, D: FactorUpdate<T>>(
    dev: &D,
    change: Change,
    r: &Host<T>,
    v: &Host<T>,
    width: usize,
) -> Result<Host<T>> {
    let (n, k) = (v.rows, v.cols);
    let mut out = Host::<T>::from_fn(n, n, |i, j| if i > j { 7e30 } else { 0.0 });
    let mut all = dev.reflections(change, n, k)?;
    for first in (0..n).step_by(width) {
        let cols = width.min(n - first);
        let from = r.view().submatrix(0, first, first + cols, cols);
        let mut panel = dev.load_temporary(from, Part::All)?;
        let mut rows = dev.load_temporary(v.view().subrows(first, cols), Part::All)?;
        dev.update_panel(&mut all, first, &mut panel, &mut rows)?;
        let whole = Block::leading(first + cols, cols);
        let mut got = Host::<T>::from_fn(whole.rows, whole.cols, |_, _| 0.0);
        dev.read_block(&panel, whole, got.view_mut())?;
        for j in 0..cols {
            for i in 0..=first + j {
                out.set(i, first + j, got.at(i, j));
            }
            let below = first + j + 1..first + cols;
            assert!(
                below.clone().all(|i| got.at(i, j).is_nan()),
                "below the diagonal"
            );
        }
    }
    Ok(out)
}

pub fn panel_by_panel<T: Scalar, D: FactorUpdate<T>>(dev: &D) {
    let sizes = [
        (1, 1),
        (PANEL - 1, 5),
        (PANEL, 1),
        (PANEL + 1, 16),
        (2 * PANEL + 130, 2),
        (3 * PANEL + 7, 4),
    ];
    for (n, k) in sizes {
        if !dev.has_update() {
            continue;
        }
        let v = matrices::random::<T>(n, k, 90);
        let mut whole = factor::<T>(n);
        for change in [Change::Up, Change::Down] {
            let from = whole.clone();
            let mut made = dev.load_temporary(from.view(), Part::All).unwrap();
            let mut lost = dev.load_temporary(v.view(), Part::All).unwrap();
            dev.update_factor(change, &mut made, &mut lost).unwrap();
            dev.read(&made, whole.view_mut()).unwrap();
            for width in [PANEL, 2 * PANEL] {
                let got = in_panels(dev, change, &from, &v, width).unwrap();
                let mut apart = 0.0f64;
                for j in 0..n {
                    for i in 0..=j {
                        apart = apart.max((got.at(i, j) - whole.at(i, j)).abs());
                    }
                }
                // The processor's reflections are the same in any panels.
                let most = if dev.name() == "cpu" {
                    0.0
                } else {
                    1e3 * T::EPS
                };
                assert!(apart <= most, "{n} {k} {change:?} {width}: {apart}");
            }
        }
    }
    // Without columns nothing changes.
    if dev.has_update() {
        let (r, none) = (factor::<T>(5), Host::<T>::from_fn(5, 0, |_, _| 0.0));
        let got = in_panels(dev, Change::Down, &r, &none, PANEL).unwrap();
        assert!((0..5).all(|j| (0..=j).all(|i| got.at(i, j) == r.at(i, j))));
    }
}

pub fn panels_say_which_minor_is_lost<T: Scalar, D: FactorUpdate<T>>(dev: &D) {
    let (n, lost) = (PANEL + 60, PANEL + 33);
    if !dev.has_update() {
        return;
    }
    let one = Host::<T>::from_fn(n, n, |i, j| match i.cmp(&j) {
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => 1.0,
        std::cmp::Ordering::Greater => f64::NAN,
    });
    let v = Host::<T>::from_fn(n, 3, |i, j| if i == lost && j == 1 { 1.5 } else { 0.0 });
    match in_panels(dev, Change::Down, &one, &v, PANEL) {
        Err(Error::NotPositiveDefinite { order }) => assert_eq!(order, lost + 1),
        other => panic!("{:?}", other.map(|_| ())),
    }
}

/// Memory that has room for panels of these tests, and not for a factor in one go.
const LITTLE: f64 = 100e6;

pub fn larger_than_the_device<T: Scalar, D: AsyncCopy<T> + Elementwise<T>>(dev: &D) {
    for (n, k) in [
        (0, 1),
        (1, 1),
        (7, 9),
        (PANEL, 3),
        (PANEL + 1, 0),
        (2 * PANEL + 5, 17),
    ] {
        if !dev.has_update() {
            continue;
        }
        let (r, v) = (factor::<T>(n), matrices::random::<T>(n, k, 91));
        let mut known = r.clone();
        for change in [Change::Up, Change::Down] {
            let from = known.clone();
            known = {
                let mut made = dev.load_temporary(from.view(), Part::Upper).unwrap();
                let mut lost = dev.load_temporary(v.view(), Part::All).unwrap();
                dev.update_factor(change, &mut made, &mut lost).unwrap();
                let mut known = Host::<T>::from_fn(n, n, |_, _| 0.0);
                dev.read(&made, known.view_mut()).unwrap();
                known
            };
            for uplo in [Uplo::Upper, Uplo::Lower] {
                let given = match uplo {
                    Uplo::Upper => {
                        Host::from_fn(n, n, |i, j| if i > j { f64::NAN } else { from.at(i, j) })
                    }
                    Uplo::Lower => {
                        Host::from_fn(n, n, |i, j| if i < j { f64::NAN } else { from.at(j, i) })
                    }
                };
                let before = given.clone();
                let mut out = Host::<T>::from_fn(n, n, |_, _| 7e30).with_gap(3);
                let what = (uplo, change);
                let abreast = (uplo == Uplo::Upper).then_some(2);
                let margin = update_by_panels(
                    dev,
                    what,
                    (LITTLE, abreast),
                    given.view(),
                    v.view(),
                    out.view_mut(),
                );
                let margin = margin.unwrap();
                assert!(same(&before, &given), "input was changed");
                out.assert_padding_untouched();
                assert!(margin <= 1.0 && (change == Change::Down || margin == 1.0));
                let out = match uplo {
                    Uplo::Upper => out.with_gap(0),
                    Uplo::Lower => transposed(&out),
                };
                if dev.name() == "cpu" || k == 0 {
                    assert!(same(&out, &known), "{n} {k} {what:?}");
                } else {
                    let by = if change == Change::Up { 1.0 } else { -1.0 };
                    is_factor(
                        &out,
                        &product(&from, &v, by),
                        10.0,
                        &format!("{n} {k} {what:?}"),
                    );
                }
                // The same where the device's memory decides.
                let mut chosen = Host::<T>::from_fn(n, n, |_, _| 7e30);
                let other = chosen_way(dev, what, LITTLE, (&given, &v), &mut chosen).unwrap();
                let exactly = dev.has_own_memory() && dev.update_pays(n, k);
                assert!(
                    (other / margin - 1.0).abs() < 1e6 * T::EPS,
                    "{other} {margin}"
                );
                if exactly && dev.name() == "cpu" {
                    let chosen = match uplo {
                        Uplo::Upper => chosen,
                        Uplo::Lower => transposed(&chosen),
                    };
                    assert!(same(&chosen, &known) && other == margin);
                }
            }
        }
    }
}

pub fn refused_panel_by_panel<T: Scalar, D: AsyncCopy<T> + Elementwise<T>>(dev: &D) {
    let (n, k) = (PANEL + 70, 2);
    if !dev.has_update() {
        return;
    }
    let (r, v) = (factor::<T>(n), matrices::random::<T>(n, k, 92));
    let refused = |change, r: &Host<T>, v: &Host<T>| {
        let mut out = Host::<T>::from_fn(n, n, |_, _| 0.0);
        let what = (Uplo::Upper, change);
        let done = update_by_panels(
            dev,
            what,
            (LITTLE, None),
            r.view(),
            v.view(),
            out.view_mut(),
        );
        done.map(|_| ()).unwrap_err()
    };
    for (value, at) in [
        (f64::NAN, (3, PANEL + 9)),
        (f64::INFINITY, (PANEL + 8, PANEL + 8)),
    ] {
        let mut wrong = r.clone();
        wrong.set(at.0, at.1, value);
        for change in [Change::Up, Change::Down] {
            let what = Error::NonFiniteIn { argument: "r" };
            assert_eq!(refused(change, &wrong, &v), what);
        }
    }
    let mut wrong = v.clone();
    wrong.set(n - 1, 1, f64::NAN);
    let what = Error::NonFiniteIn { argument: "v" };
    assert_eq!(refused(Change::Up, &r, &wrong), what);
    let mut wrong = r.clone();
    wrong.set(PANEL + 2, PANEL + 2, 0.0);
    wrong.set(PANEL + 1, PANEL + 1, 0.0);
    let what = Error::Singular { index: PANEL + 2 };
    assert_eq!(refused(Change::Up, &wrong, &v), what);
    // More than there is cannot be taken away; which minor is lost.
    let one = Host::<T>::from_fn(n, n, |i, j| if i == j { 1.0 } else { 0.0 });
    let lost = PANEL + 33;
    let much = Host::<T>::from_fn(n, k, |i, j| if i == lost && j == 1 { 1.5 } else { 0.0 });
    let what = Error::NotPositiveDefinite { order: lost + 1 };
    assert_eq!(refused(Change::Down, &one, &much), what);
    // Memory that has room for nothing.
    if dev.has_own_memory() {
        let mut out = Host::<T>::from_fn(n, n, |_, _| 0.0);
        let what = (Uplo::Upper, Change::Up);
        let none = chosen_way(dev, what, 1e6, (&r, &v), &mut out).unwrap_err();
        assert!(matches!(
            none,
            Error::Argument {
                argument: "cudafactor.gpu_memory",
                ..
            }
        ));
    }
}

fn chosen_way<T: Scalar, D: AsyncCopy<T> + Elementwise<T>>(
    dev: &D,
    what: (Uplo, Change),
    memory: f64,
    (r, v): (&Host<T>, &Host<T>),
    out: &mut Host<T>,
) -> Result<f64> {
    update::host::update(dev, what, memory, r.view(), v.view(), out.view_mut())
}
