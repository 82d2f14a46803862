//! Updates and downdates of Cholesky factors.

mod panels;
mod range;
mod resident;

use crate::common::{for_each_device, matrices, residual, same, Host};
use cudafactor::algo::update;
use cudafactor::algo::update::factor::{
    update, update_in_place, update_lower, update_lower_resident, update_resident,
};
use cudafactor::algo::update::host::update_by_panels;
use cudafactor::base::error::{Error, Result};
use cudafactor::base::matrix::{Block, Change, Part, Uplo};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::elementwise::Elementwise;
use cudafactor::device::memory::Memory;
use cudafactor::device::update::{FactorUpdate, PANEL};
use faer::Mat;

use panels::{
    larger_than_the_device, panel_by_panel, panels_say_which_minor_is_lost, refused_panel_by_panel,
};
use range::{beyond_the_range, ends_of_the_range, far_apart};
use resident::{
    changed_in_place, lower_factors, matrices_on_the_device, not_stopped_half_way,
    refused_on_the_device,
};

for_each_device!(
    makes_the_factor,
    goes_up_and_back,
    says_which_minor_is_lost,
    says_how_much_is_lost,
    what_is_no_number_is_refused,
    matrices_on_the_device,
    lower_factors,
    changed_in_place,
    not_stopped_half_way,
    refused_on_the_device,
    ends_of_the_range,
    far_apart,
    beyond_the_range,
    panel_by_panel,
    panels_say_which_minor_is_lost,
    larger_than_the_device,
    refused_panel_by_panel,
);

/// The processor as a device with separate memory.
mod apart {
    use cudafactor::backend::cpu::CpuDevice;

    #[test]
    fn larger_than_the_device() {
        super::larger_than_the_device::<f64, _>(&CpuDevice::with_separate_memory(2));
        super::larger_than_the_device::<f32, _>(&CpuDevice::with_separate_memory(1));
    }

    #[test]
    fn refused_panel_by_panel() {
        super::refused_panel_by_panel::<f64, _>(&CpuDevice::with_separate_memory(2));
    }
}

/// Orders around the blocks of the devices, and numbers of columns around what they hold in
/// registers.
const ORDERS: [usize; 13] = [1, 2, 15, 16, 17, 33, 112, 113, 127, 128, 129, 200, 300];
const RANKS: [usize; 9] = [0, 1, 3, 4, 5, 16, 31, 64, 65];

/// A factor with NaN where nothing may be read, and rows of both signs.
fn factor<T: Scalar>(n: usize) -> Host<T> {
    let r = matrices::random::<f64>(n, n, 71);
    Host::from_fn(n, n, |i, j| {
        let sign = if i % 3 == 1 { -1.0 } else { 1.0 };
        match i.cmp(&j) {
            std::cmp::Ordering::Less => sign * r.at(i, j) / (n as f64).sqrt(),
            std::cmp::Ordering::Equal => sign * (1.5 + r.at(i, j)),
            std::cmp::Ordering::Greater => f64::NAN,
        }
    })
}

fn upper<T: Scalar>(r: &Host<T>) -> Mat<f64> {
    Mat::from_fn(r.rows, r.rows, |i, j| if i <= j { r.at(i, j) } else { 0.0 })
}

/// `R'R + by V V'`.
fn product<T: Scalar>(r: &Host<T>, v: &Host<T>, by: f64) -> Host<f64> {
    let (r, v) = (upper(r), v.wide());
    let rr = residual::product(r.transpose(), r.as_ref());
    let vv = residual::product(v.as_ref(), v.transpose());
    Host::from_fn(r.nrows(), r.nrows(), |i, j| rr[(i, j)] + by * vv[(i, j)])
}

fn changed<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(
    dev: &D,
    change: Change,
    r: &Host<T>,
    v: &Host<T>,
) -> Result<(Host<T>, f64)> {
    let mut out = Host::<T>::from_fn(r.rows, r.cols, |_, _| 7e30).with_gap(2);
    let before = (r.clone(), v.clone());
    let margin = update(dev, change, r.view(), v.view(), out.view_mut());
    assert!(
        same(&before.0, r) && same(&before.1, v),
        "input was changed"
    );
    margin.map(|margin| (out, margin))
}

fn is_factor<T: Scalar>(r: &Host<T>, of: &Host<f64>, times: f64, what: &str) {
    let n = r.rows;
    for j in 0..n {
        assert!(r.at(j, j) > 0.0, "{what}: diagonal {j}");
        assert!((j + 1..n).all(|i| r.at(i, j) == 0.0), "{what}: below");
    }
    let wide = Host::<f64>::from_fn(n, n, |i, j| r.at(i, j));
    let error = residual::cholesky(of, &wide) * f64::EPSILON / T::EPS;
    assert!(error < times * residual::BACKWARD, "{what}: {error}");
}

fn makes_the_factor<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    for n in ORDERS {
        let r = factor::<T>(n);
        for k in RANKS.into_iter().chain([n, n + 3]).filter(|k| *k > 0) {
            let v = matrices::random::<T>(n, k, 72);
            let v = matrices::scaled(&v, 1.0 / (k as f64).sqrt());
            let (up, margin) = changed(dev, Change::Up, &r, &v).unwrap();
            assert_eq!(margin, 1.0);
            is_factor(&up, &product(&r, &v, 1.0), 1.0, &format!("{n} up {k}"));
            let (down, _) = changed(dev, Change::Down, &up, &v).unwrap();
            let what = format!("{n} down {k}");
            is_factor(&down, &product(&up, &v, -1.0), 10.0, &what);
        }
    }
    // Few columns have longer blocks.
    for (n, k) in [(1024, 1), (1030, 2)] {
        let (r, v) = (factor::<T>(n), matrices::random::<T>(n, k, 73));
        let (up, _) = changed(dev, Change::Up, &r, &v).unwrap();
        is_factor(&up, &product(&r, &v, 1.0), 1.0, &format!("{n} up {k}"));
        let (down, _) = changed(dev, Change::Down, &up, &v).unwrap();
        is_factor(
            &down,
            &product(&up, &v, -1.0),
            10.0,
            &format!("{n} down {k}"),
        );
    }
    // Nothing to take into account, and nothing at all.
    let r = factor::<T>(5);
    let none = Host::<T>::from_fn(5, 0, |_, _| 0.0);
    let (out, _) = changed(dev, Change::Down, &r, &none).unwrap();
    assert!((0..5).all(|j| (0..=j).all(|i| out.at(i, j) == r.at(i, j))));
    let empty = Host::<T>::from_fn(0, 0, |_, _| 0.0);
    for k in [0, 2] {
        let v = Host::<T>::from_fn(0, k, |_, _| 0.0);
        assert!(changed(dev, Change::Up, &empty, &v).is_ok());
        assert!(changed(dev, Change::Down, &empty, &v).is_ok());
    }
}

fn goes_up_and_back<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    let n = 70;
    let (one, start) = (Host::<T>::from_fn(n, n, |_, _| 0.0), factor::<T>(n));
    let (start, _) = changed(dev, Change::Up, &start, &one).unwrap();
    let mut r = start.clone();
    let rounds = 50;
    for round in 0..rounds {
        let v = matrices::random::<T>(n, 1 + round % 6, 80 + round as u64);
        r = changed(dev, Change::Up, &r, &v).unwrap().0;
        r = changed(dev, Change::Down, &r, &v).unwrap().0;
    }
    let mut worst = 0.0f64;
    for j in 0..n {
        for i in 0..=j {
            worst = worst.max((r.at(i, j) - start.at(i, j)).abs());
        }
    }
    assert!(worst < 200.0 * rounds as f64 * T::EPS, "{}", worst / T::EPS);
}

fn says_which_minor_is_lost<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    let n = 150;
    let r = Host::<T>::from_fn(
        n,
        n,
        |i, j| if i == j { 2.0 } else { f64::from(i < j) / 64.0 },
    );
    for order in [1, 2, 16, 17, 128, 129, 150] {
        for k in [1, 7, n + 1] {
            // More of one direction than there is.
            let mut v = Host::<T>::from_fn(n, k, |_, _| 0.0);
            v.set(order - 1, k - 1, 2.5);
            let failed = changed(dev, Change::Down, &r, &v).err();
            assert_eq!(failed, Some(Error::NotPositiveDefinite { order }), "{k}");
            assert!(changed(dev, Change::Up, &r, &v).is_ok());
        }
    }
}

/// The margin of one column along an axis is known.
fn says_how_much_is_lost<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    let n = 40;
    let r = Host::<T>::from_fn(n, n, |i, j| f64::from(u8::from(i == j)));
    for left in [0.9, 0.1, 1e-3] {
        let mut v = Host::<T>::from_fn(n, 3, |_, _| 0.0);
        v.set(20, 1, (1.0f64 - left).sqrt());
        let (down, margin) = changed(dev, Change::Down, &r, &v).unwrap();
        assert!(
            (margin / left - 1.0).abs() < 1e4 * T::EPS,
            "{left}: {margin}"
        );
        assert!((down.at(20, 20) / left.sqrt() - 1.0).abs() < 1e4 * T::EPS);
    }
    // What remains is rounding.
    let mut v = Host::<T>::from_fn(n, 1, |_, _| 0.0);
    v.set(20, 0, 1.0 - T::EPS);
    let failed = changed(dev, Change::Down, &r, &v).err();
    assert_eq!(failed, Some(Error::NotPositiveDefinite { order: 21 }));
}

fn what_is_no_number_is_refused<T: Scalar, D: Elementwise<T> + FactorUpdate<T>>(dev: &D) {
    let n = 20;
    let (r, v) = (factor::<T>(n), matrices::random::<T>(n, 2, 3));
    for x in [f64::NAN, f64::INFINITY] {
        let (mut bad_r, mut bad_v) = (r.clone(), v.clone());
        bad_r.set(3, 7, x);
        bad_v.set(19, 1, x);
        for change in [Change::Up, Change::Down] {
            for (r, v, which) in [(&bad_r, &v, "r"), (&r, &bad_v, "v")] {
                let failed = changed(dev, change, r, v).err();
                assert_eq!(failed, Some(Error::NonFiniteIn { argument: which }));
            }
        }
    }
    let mut zero = r.clone();
    zero.set(4, 4, 0.0);
    let failed = changed(dev, Change::Up, &zero, &v).err();
    assert_eq!(failed, Some(Error::Singular { index: 5 }));
    let short = matrices::random::<T>(n - 1, 2, 3);
    let failed = changed(dev, Change::Up, &r, &short).err();
    assert!(matches!(failed, Some(Error::Dimension { .. })));
}

fn on<T: Scalar, D: Memory<T>>(dev: &D, x: &Host<T>) -> D::Mat<'static> {
    dev.load_temporary(x.view(), Part::All).unwrap()
}

fn transposed<T: Scalar>(x: &Host<T>) -> Host<T> {
    Host::from_fn(x.cols, x.rows, |i, j| x.at(j, i))
}

fn read<T: Scalar, D: Memory<T>>(dev: &D, a: &D::Mat<'_>) -> Host<T> {
    let (rows, cols) = dev.shape(a);
    let mut found = Host::<T>::from_fn(rows, cols, |_, _| 7e30);
    dev.read(a, found.view_mut()).unwrap();
    found
}
