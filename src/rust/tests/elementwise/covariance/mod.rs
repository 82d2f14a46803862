//! Covariances of points, against the formulas written out anew, and in files of tiles.

mod edges;
mod files;

use crate::common::place::Place;
use crate::common::{for_each_device, same, written, Host};
use cudafactor::algo::tiled::covariance::{matrix, matrix_resident, write};
use cudafactor::base::error::Error;
use cudafactor::base::interrupt;
use cudafactor::base::matrix::Block;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::async_copy::AsyncCopy;
use cudafactor::device::covariance::{scales, Correlation, Covariance, Points};
use cudafactor::device::dense::Device;
use cudafactor::tiles::{Access, Layout, Shape, TileFile};
use edges::{
    close_points_keep_their_distance, ends_of_the_range, shapes_that_do_not_fit,
    the_nugget_is_on_the_diagonal_alone,
};
use files::{an_interrupt_ends_it, files_have_the_same_bits};

for_each_device!(
    known_values,
    every_size_and_dimension,
    blocks_of_a_larger_matrix,
    close_points_keep_their_distance,
    ends_of_the_range,
    the_nugget_is_on_the_diagonal_alone,
    shapes_that_do_not_fit,
    files_have_the_same_bits,
    an_interrupt_ends_it,
);

const ALL: [Correlation; 4] = [
    Correlation::Exponential,
    Correlation::Matern32,
    Correlation::Matern52,
    Correlation::SquaredExponential,
];

fn function(correlation: Correlation, variance: f64, nugget: f64) -> Covariance {
    Covariance {
        correlation,
        variance,
        nugget,
    }
}

/// Points that are nowhere the same, from -1 to 1 in every dimension.
fn scattered(n: usize, dimensions: usize, seed: usize) -> Host<f64> {
    Host::spread(n, dimensions, 3, |i, k| {
        let x = (i * 37 + k * 101 + seed * 17) as f64 * 0.618_033_988_749_895;
        2.0 * (x - x.floor()) - 1.0
    })
}

fn points<'a>(x: &'a Host<f64>, scales: &'a [f64]) -> Points<'a> {
    Points {
        coordinates: x.view(),
        scales,
    }
}

/// As the field's books have it, with divisions, and the distance.
fn expected(
    correlation: Correlation,
    (x, i): (&Host<f64>, usize),
    (y, j): (&Host<f64>, usize),
    ranges: &[f64],
) -> (f64, f64) {
    let squares = ranges.iter().enumerate();
    let h2: f64 = squares
        .map(|(k, r)| ((x.at(i, k) - y.at(j, k)) / r).powi(2))
        .sum();
    let h = h2.sqrt();
    let (a, b) = (3f64.sqrt() * h, 5f64.sqrt() * h);
    let value = match correlation {
        Correlation::Exponential => (-h).exp(),
        Correlation::Matern32 => (1.0 + a) * (-a).exp(),
        Correlation::Matern52 => (1.0 + b + 5.0 * h2 / 3.0) * (-b).exp(),
        Correlation::SquaredExponential => (-h2 / 2.0).exp(),
    };
    (value, h)
}

/// What rounding may do: the exponential of a rounded number has an error that grows with the
/// number.
fn close<T: Scalar>(got: f64, want: f64, h: f64) -> bool {
    let size = match h.is_finite() {
        true => 8.0 + 10.0 * h + 4.0 * h * h,
        false => 8.0,
    };
    let smallest = if T::EPS > 1e-10 { 1e-37 } else { 1e-307 };
    (got - want).abs() <= (size * f64::EPSILON + T::EPS) * want.abs() + smallest
}

fn all_of<T: Scalar, D: Device<T>>(
    dev: &D,
    k: &Covariance,
    x: Points<'_>,
    y: Option<Points<'_>>,
) -> Host<T> {
    let (rows, cols) = (x.coordinates.nrows(), y.unwrap_or(x).coordinates.nrows());
    let mut out = Host::<T>::spread(rows, cols, 2, |_, _| f64::NAN);
    matrix(dev, k, x, y, out.view_mut()).unwrap();
    out.assert_padding_untouched();
    out
}

/// Computed in decimal arithmetic of 45 digits.
fn known_values<T: Scalar, D: Device<T>>(dev: &D) {
    let distances = [0.125, 0.5, 1.0, 2.5, 20.0];
    let values = [
        [
            0.882_496_902_584_595_4,
            0.606_530_659_712_633_4,
            0.367_879_441_171_442_33,
            0.082_084_998_623_898_8,
            2.061_153_622_438_558e-9,
        ],
        [
            0.979_685_921_404_710_8,
            0.784_887_653_957_450_6,
            0.483_357_724_596_507_65,
            0.070_175_786_430_933_43,
            3.217_717_522_545_923e-14,
        ],
        [
            0.987_198_679_201_433_1,
            0.828_649_142_418_125_3,
            0.523_994_108_831_820_3,
            0.063_510_214_548_943_75,
            2.694_492_229_388_208e-17,
        ],
        [
            0.992_217_938_260_243_5,
            0.882_496_902_584_595_4,
            0.606_530_659_712_633_4,
            0.043_936_933_623_407_42,
            1.383_896_526_736_737_5e-87,
        ],
    ];
    let x = Host::<f64>::from_fn(distances.len(), 1, |i, _| 4.0 * distances[i]);
    let zero = Host::<f64>::from_fn(1, 1, |_, _| 0.0);
    let scale = scales(&[4.0]);
    for (correlation, values) in ALL.into_iter().zip(values) {
        let k = function(correlation, 1.0, 0.0);
        let got = all_of::<T, D>(dev, &k, points(&x, &scale), Some(points(&zero, &scale)));
        for (i, (want, h)) in values.into_iter().zip(distances).enumerate() {
            assert!(close::<T>(got.at(i, 0), want, h), "{correlation:?} {h}");
        }
    }
}

fn every_size_and_dimension<T: Scalar, D: Device<T>>(dev: &D) {
    for n in [0, 1, 2, 7, 255, 256, 257, 515] {
        for dimensions in [1, 2, 3, 7] {
            let x = scattered(n, dimensions, 0);
            let y = scattered(n / 2 + 1, dimensions, 5);
            let ranges: Vec<f64> = (0..dimensions).map(|k| 0.3 + 0.45 * k as f64).collect();
            let scale = scales(&ranges);
            for correlation in ALL {
                let k = function(correlation, 2.5, 0.0);
                let own = all_of::<T, D>(dev, &k, points(&x, &scale), None);
                let other = all_of::<T, D>(dev, &k, points(&x, &scale), Some(points(&y, &scale)));
                for (out, y) in [(&own, &x), (&other, &y)] {
                    for j in 0..out.cols {
                        for i in 0..out.rows {
                            let (want, h) = expected(correlation, (&x, i), (y, j), &ranges);
                            let got = out.at(i, j);
                            assert!(
                                close::<T>(got, 2.5 * want, h),
                                "{correlation:?} {n} {dimensions} ({i}, {j}): {got} {want}"
                            );
                        }
                    }
                }
                // Bit for bit.
                assert!(same(&own, &Host::from_fn(n, n, |i, j| own.at(j, i))));
                let there = matrix_resident::<T, D>(dev, &k, points(&x, &scale), None).unwrap();
                let mut home = Host::<T>::from_fn(n, n, |_, _| f64::NAN);
                dev.read(&there, home.view_mut()).unwrap();
                assert!(same(&own, &home));
            }
        }
    }
}

fn blocks_of_a_larger_matrix<T: Scalar, D: Device<T>>(dev: &D) {
    let (x, y) = (scattered(600, 2, 1), scattered(70, 2, 2));
    let scale = scales(&[0.7, 0.4]);
    let k = function(Correlation::Matern52, 1.5, 0.25);
    let (px, py) = (points(&x, &scale), points(&y, &scale));
    let (px, py) = (dev.points(px).unwrap(), dev.points(py).unwrap());
    let whole = written::<T, D>(dev, 600, 70, 0, |out| {
        dev.covariance(&k, &px, &py, Block::leading(600, 70), out)
    })
    .unwrap();
    for (row, col, rows, cols) in [
        (0, 0, 600, 70),
        (5, 9, 300, 20),
        (599, 69, 1, 1),
        (44, 12, 512, 1),
        (60, 60, 10, 10),
        (3, 3, 0, 5),
        (3, 3, 5, 0),
    ] {
        let block = Block {
            row,
            col,
            rows,
            cols,
        };
        for (below, beside) in [(0, 0), (1, 0), (0, 9), (300, 3)] {
            let part = written::<T, D>(dev, rows + below, cols + beside, 1, |out| {
                dev.covariance(&k, &px, &py, block, out)
            })
            .unwrap();
            let want = Host::<T>::from_fn(rows + below, cols + beside, |i, j| {
                match i < rows && j < cols {
                    true => whole.at(row + i, col + j),
                    false => 0.0,
                }
            });
            assert!(same(&part, &want), "{block:?} {below} {beside}");
        }
    }
}
