//! Covariances in files of tiles.

use super::*;

pub(super) fn files_have_the_same_bits<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let tile = 32;
    for n in [0, 1, tile - 1, tile, tile + 1, 5 * tile + 3] {
        let x = scattered(n, 2, 3);
        let scale = scales(&[0.5, 1.5]);
        let k = function(Correlation::Matern32, 1.25, 0.5);
        let want = all_of::<T, D>(dev, &k, points(&x, &scale), None);
        for shape in [Shape::Triangle, Shape::Full] {
            let place = Place::new("covariance");
            let layout = Layout::new(n, n, tile, shape).unwrap();
            let file = TileFile::<T>::create(&place, layout).unwrap();
            write(dev, &k, points(&x, &scale), &file).unwrap();
            file.commit().unwrap();
            drop(file);
            let file = TileFile::<T>::open(&place, Access::Read).unwrap();
            let mut buffer = file.buffer().unwrap();
            for t in 0..layout.tiles() {
                file.read(t, &mut buffer).unwrap();
                let (bi, bj) = layout.position(t);
                let (rows, cols) = layout.dimensions(bi, bj);
                for (at, value) in buffer[..tile * tile].iter().enumerate() {
                    let (i, j) = (at % tile, at / tile);
                    let want = match i < rows && j < cols {
                        true => want.at(bi * tile + i, bj * tile + j),
                        false => 0.0,
                    };
                    let value: f64 = (*value).into();
                    assert_eq!(value, want, "{n} {shape:?} {t} ({i}, {j})");
                }
            }
        }
    }
    // Fewer points than the file has rows, and more.
    for n in [4, 6] {
        let x = scattered(n, 1, 0);
        let scale = scales(&[1.0]);
        let place = Place::new("covariance");
        let layout = Layout::new(5, 5, 2, Shape::Triangle).unwrap();
        let file = TileFile::<T>::create(&place, layout).unwrap();
        let k = function(Correlation::Exponential, 1.0, 0.0);
        let failed = write(dev, &k, points(&x, &scale), &file);
        assert!(matches!(failed, Err(Error::Dimension { .. })));
    }
}

pub(super) fn an_interrupt_ends_it<T: Scalar, D: AsyncCopy<T>>(dev: &D) {
    let x = scattered(200, 2, 3);
    let scale = scales(&[0.5, 1.5]);
    let k = function(Correlation::Matern32, 1.0, 0.0);
    let place = Place::new("covariance");
    let layout = Layout::new(200, 200, 8, Shape::Triangle).unwrap();
    let file = TileFile::<T>::create(&place, layout).unwrap();
    interrupt::install(|| true);
    let stopped = write(dev, &k, points(&x, &scale), &file);
    interrupt::install(|| false);
    assert_eq!(stopped, Err(Error::Interrupted));
    // Nobody is left that writes, and nothing is in the way of a second try.
    write(dev, &k, points(&x, &scale), &file).unwrap();
    assert!((0..layout.tiles()).all(|tile| file.has(tile)));
}
