//! Factors in files that change by a product, into second files.

use super::{triangle, written};
use crate::common::place::Place;
use crate::common::triangle_file::upper_triangle;
use crate::common::{for_each_device, matrices, residual, same, Host};
use cudafactor::algo::tiled::memory::Budget;
use cudafactor::algo::update::file::{least_memory, update};
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::error::{Error, Result};
use cudafactor::base::interrupt;
use cudafactor::base::matrix::{Change, Part};
use cudafactor::base::scalar::Scalar;
use cudafactor::device::async_copy::AsyncCopy;
use cudafactor::device::update::PANEL;
use cudafactor::tiles::{Access, Layout, State, TileFile};

for_each_device!(
    a_file_of_the_changed_factor,
    no_file_where_there_is_none,
    what_ends_it
);

/// The processor as a device with separate memory.
mod apart {
    use super::CpuDevice;

    #[test]
    fn a_file_of_the_changed_factor() {
        super::a_file_of_the_changed_factor::<f64, _>(&CpuDevice::with_separate_memory(2));
        super::a_file_of_the_changed_factor::<f32, _>(&CpuDevice::with_separate_memory(1));
    }

    #[test]
    fn no_file_where_there_is_none() {
        super::no_file_where_there_is_none::<f64, _>(&CpuDevice::with_separate_memory(2));
    }
}

const ROOMY: Budget = Budget {
    host: 1 << 30,
    device: 1 << 30,
};

fn made<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    change: Change,
    from: &TileFile<T>,
    to: &Place,
    v: &Host<T>,
    budget: Budget,
) -> Result<(TileFile<T>, f64)> {
    let make = || TileFile::create(to, *from.layout());
    let margin = update(dev, change, from, make, v.view(), budget)?;
    Ok((TileFile::open(to, Access::Read)?, margin))
}

fn by_reflections<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    change: Change,
    r: &Host<T>,
    v: &Host<T>,
) -> Host<T> {
    let mut known = Host::<T>::from_fn(r.rows, r.cols, |_, _| 0.0);
    let mut made = dev.load_temporary(r.view(), Part::Upper).unwrap();
    let mut lost = dev.load_temporary(v.view(), Part::All).unwrap();
    dev.update_factor(change, &mut made, &mut lost).unwrap();
    dev.read(&made, known.view_mut()).unwrap();
    known
}

fn a_file_of_the_changed_factor<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    if !dev.has_update() {
        return;
    }
    let shapes = [
        (1, 8, 1),
        (7, 8, 2),
        (8, 8, 3),
        (9, 8, 9),
        (30, 8, 0),
        (PANEL, 100, 2),
        (PANEL + 1, PANEL + 1, 5),
        (2 * PANEL + 9, 64, 1),
        (1200, 500, 7),
    ];
    for (n, tile, k) in shapes {
        let (r, v) = (triangle::<T>(n), matrices::random::<T>(n, k, 31));
        let first = Place::new("chol-update");
        let mut from = written(&first, &r, tile);
        let mut places = vec![first];
        let mut start = r.clone();
        for change in [Change::Up, Change::Down] {
            let known = by_reflections(dev, change, &start, &v);
            // With as much as it cannot do without, too.
            let mut hardly = ROOMY;
            hardly.host = least_memory(&from)
                .unwrap()
                .max(3 * from.buffer().unwrap().bytes().len() as u64);
            let mut last = None;
            for budget in [hardly, ROOMY] {
                let place = Place::new("chol-update");
                let before = from.moved().0;
                let (file, margin) = made(dev, change, &from, &place, &v, budget).unwrap();
                assert!(margin <= 1.0 && margin > 0.0);
                if change == Change::Up {
                    let bytes = from.buffer().unwrap().bytes().len() * from.layout().tiles();
                    assert_eq!(from.moved().0 - before, bytes as u64);
                }
                assert_eq!(file.state(), State::Factor);
                assert_eq!((file.origin(), file.layout()), (None, from.layout()));
                let got = upper_triangle(&file);
                if dev.name() == "cpu" {
                    assert!(same(&got, &known), "{n} {tile} {k} {change:?}");
                } else {
                    let wide = |a: &Host<T>| Host::<f64>::from_fn(n, n, |i, j| a.at(i, j)).wide();
                    let of = residual::product(wide(&known).transpose(), wide(&known).as_ref());
                    let of = Host::from_fn(n, n, |i, j| of[(i, j)]);
                    let wide = Host::<f64>::from_fn(n, n, |i, j| got.at(i, j));
                    let error = residual::cholesky(&of, &wide) * f64::EPSILON / T::EPS;
                    assert!(error < 10.0 * residual::BACKWARD, "{n} {tile} {k}: {error}");
                }
                last = Some((file, place));
            }
            let (file, place) = last.unwrap();
            assert!(
                same(&upper_triangle(&from), &start),
                "the first file was changed"
            );
            from = file;
            places.push(place);
            start = known;
        }
    }
}

fn no_file_where_there_is_none<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    if !dev.has_update() {
        return;
    }
    let (n, tile, k) = (100, 24, 2);
    let identity = Host::<T>::from_fn(n, n, |i, j| if i == j { 1.0 } else { 0.0 });
    let place = Place::new("chol-update");
    let file = written(&place, &identity, tile);
    let refused = |change, file: &TileFile<T>, v: &Host<T>, budget| {
        let make = || panic!("a file was made");
        update(dev, change, file, make, v.view(), budget).unwrap_err()
    };
    let v = Host::<T>::from_fn(n, k, |i, j| if (i, j) == (60, 1) { 1.5 } else { 0.0 });
    let what = Error::NotPositiveDefinite { order: 61 };
    assert_eq!(refused(Change::Down, &file, &v, ROOMY), what);
    let mut wrong = v.clone();
    wrong.set(3, 0, f64::INFINITY);
    let what = Error::NonFiniteIn { argument: "v" };
    assert_eq!(refused(Change::Up, &file, &wrong, ROOMY), what);
    let other = matrices::random::<T>(n - 1, k, 32);
    let e = refused(Change::Up, &file, &other, ROOMY);
    assert!(matches!(e, Error::Dimension { .. }));
    let few = Budget {
        host: least_memory(&file).unwrap() - 1,
        ..ROOMY
    };
    let e = refused(Change::Up, &file, &v, few);
    assert!(matches!(
        e,
        Error::Argument {
            argument: "host_memory",
            ..
        }
    ));
    if dev.has_own_memory() {
        let few = Budget {
            device: 1 << 20,
            ..ROOMY
        };
        let e = refused(Change::Up, &file, &v, few);
        assert!(matches!(
            e,
            Error::Argument {
                argument: "gpu_memory",
                ..
            }
        ));
    }
    // NaN is that, not a minor.
    let mut wrong = identity.clone();
    wrong.set(2, 70, f64::NAN);
    let spoilt = Place::new("chol-update");
    let spoilt = written(&spoilt, &wrong, tile);
    let what = Error::NonFiniteIn { argument: "r" };
    assert_eq!(refused(Change::Down, &spoilt, &v, ROOMY), what);
    // What is no factor.
    let place = Place::new("chol-update");
    let layout = Layout::new(n, n, tile, cudafactor::tiles::Shape::Triangle).unwrap();
    let file = TileFile::<T>::create(&place, layout).unwrap();
    let e = refused(Change::Up, &file, &v, ROOMY);
    assert!(matches!(e, Error::Argument { argument: "r", .. }));
}

fn what_ends_it<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    if !dev.has_update() {
        return;
    }
    let (n, tile) = (1000, 64);
    let v = matrices::random::<T>(n, 3, 33);
    let r = triangle::<T>(n);
    // Met when the file is there, which goes.
    let removed = |from: &TileFile<T>, change| {
        let to = Place::new("chol-update");
        let failed = made(dev, change, from, &to, &v, ROOMY)
            .map(|_| ())
            .unwrap_err();
        assert!(!to.0.exists());
        failed
    };
    let mut wrong = r.clone();
    wrong.set(100, 900, f64::NEG_INFINITY);
    let place = Place::new("chol-update");
    let what = Error::NonFiniteIn { argument: "r" };
    assert_eq!(removed(&written(&place, &wrong, tile), Change::Up), what);
    let mut wrong = r.clone();
    [980, 500, 501].iter().for_each(|i| wrong.set(*i, *i, 0.0));
    let place = Place::new("chol-update");
    let zero = written(&place, &wrong, tile);
    for change in [Change::Up, Change::Down] {
        assert_eq!(removed(&zero, change), Error::Singular { index: 501 });
    }
    let place = Place::new("chol-update");
    let file = written(&place, &r, tile);
    // A file that is in the way stays.
    let other = Place::new("chol-update");
    std::fs::write(&other, b"mine").unwrap();
    let failed = made(dev, Change::Up, &file, &other, &v, ROOMY).map(|_| ());
    assert!(matches!(failed, Err(Error::FileExists { .. })));
    assert_eq!(std::fs::read(&other).unwrap(), b"mine");
    // The user's wish, which is asked for in this thread alone.
    std::thread::scope(|scope| {
        let stopped = scope.spawn(|| {
            interrupt::install(|| true);
            let dev = CpuDevice::new(1);
            let to = Place::new("chol-update");
            let make = || TileFile::create(&to, *file.layout());
            let failed = update(&dev, Change::Up, &file, make, v.view(), ROOMY);
            (failed, to.0.exists())
        });
        assert_eq!(stopped.join().unwrap(), (Err(Error::Interrupted), false));
    });
}
