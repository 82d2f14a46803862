//! Tasks of a call, as its devices choose: where, and in how much memory.

use super::{triangle, written, SYSTEMS};
use crate::common::devices::{Devices, GPU};
use crate::common::place::Place;
use crate::common::{matrices, Host};
use cudafactor::algo::tiled::factor::Factor;
use cudafactor::algo::tiled::file_task::{carry_out, FileTask, WantedMemory};
use cudafactor::algo::tiled::product::Stored;
use cudafactor::algo::tiled::solve::System;
use cudafactor::algo::tiled::tasks::{InverseDiagonal, Product, Solve};
use cudafactor::algo::tiled::tile_source::TileSource;
use cudafactor::algo::update::file::least_memory;
use cudafactor::algo::update::file_task::Update;
use cudafactor::base::error::{Error, Result};
use cudafactor::base::matrix::{Change, Trans};
use cudafactor::base::processor::Processor;
use cudafactor::tiles::{Access, TileFile};
use faer::Mat;

const CPU: Processor = Processor::Cpu;
const N: usize = 100;
const COLUMNS: usize = 3;

const ANY: WantedMemory = WantedMemory {
    host: f64::NAN,
    device: f64::NAN,
};

/// The CPU; a GPU that is named, whose memory may be apart; one that fails and is replaced.
fn all_devices(apart: bool) -> [(Devices, &'static [Processor]); 4] {
    let gpu = || Devices {
        apart,
        ..Devices::gpu()
    };
    let failing = Devices {
        fails: true,
        recovers: true,
        ..gpu()
    };
    [
        (Devices::cpu(), &[CPU]),
        // Too small for "auto".
        (Devices::auto(), &[CPU]),
        (gpu(), &[GPU]),
        (failing, &[GPU, CPU]),
    ]
}

/// Carries a task out on all kinds of devices, with the usual memory and with too little.
fn everywhere(apart: bool, mut run: impl FnMut(&Devices, &WantedMemory) -> Result<()>) {
    for (devices, ran) in all_devices(apart) {
        run(&devices, &ANY).unwrap();
        assert_eq!(devices.ran(), ran);
        let few = WantedMemory { host: 10.0, ..ANY };
        let e = run(&devices, &few).unwrap_err();
        assert!(matches!(
            e,
            Error::Argument {
                argument: "host_memory",
                ..
            }
        ));
        let few = WantedMemory {
            device: 10.0,
            ..ANY
        };
        let on_gpu = apart && devices.ran().last() == Some(&GPU);
        match run(&devices, &few) {
            Err(Error::Argument { argument, .. }) => {
                assert_eq!((argument, on_gpu), ("gpu_memory", true))
            }
            done => assert_eq!((done, on_gpu), (Ok(()), false)),
        }
        devices.ran();
    }
}

fn close(x: &[f64], expected: &Mat<f64>) {
    let columns = x.chunks_exact(expected.nrows()).enumerate();
    for (j, column) in columns {
        for (i, x) in column.iter().enumerate() {
            let off = (x - expected[(i, j)]).abs();
            assert!(off < 1e-12 * expected.norm_max(), "off by {off:e}");
        }
    }
}

fn by_columns(a: &Host<f64>) -> Vec<f64> {
    (0..a.cols)
        .flat_map(|j| (0..a.rows).map(move |i| a.at(i, j)))
        .collect()
}

#[test]
fn products() {
    let r = triangle::<f64>(N);
    let place = Place::new("tasks");
    let file = written(&place, &r, 32);
    let x = Stored::new(&file).unwrap();
    let y = matrices::random::<f64>(N, COLUMNS, 3);
    let (wide, values) = (r.wide(), by_columns(&y));
    for op in [Trans::No, Trans::Yes] {
        let expected = match op {
            Trans::No => &wide * y.wide(),
            Trans::Yes => wide.transpose() * y.wide(),
        };
        everywhere(true, |devices, wanted| {
            let mut out = vec![f64::NAN; N * COLUMNS];
            let mut task = Product {
                x: &x,
                tile: 32,
                op,
                y: &values,
                ydim: (N, COLUMNS),
                out: &mut out,
                odim: (N, COLUMNS),
            };
            carry_out(devices, wanted, &mut task)?;
            close(&out, &expected);
            Ok(())
        });
    }
}

#[test]
fn systems() {
    let r = triangle::<f64>(N);
    let place = Place::new("tasks");
    let file = written(&place, &r, 32);
    let factor = Factor::new(&file, N).unwrap();
    let x = matrices::random::<f64>(N, COLUMNS, 3).wide();
    let wide = r.wide();
    for system in SYSTEMS {
        let b = match system {
            System::Backward => &wide * &x,
            System::Forward => wide.transpose() * &x,
            System::Both => wide.transpose() * (&wide * &x),
        };
        let b = by_columns(&Host::from_fn(N, COLUMNS, |i, j| b[(i, j)]));
        everywhere(true, |devices, wanted| {
            let mut out = vec![f64::NAN; N * COLUMNS];
            let mut task = Solve {
                factor: &factor,
                system,
                b: &b,
                dim: (N, COLUMNS),
                out: &mut out,
            };
            carry_out(devices, wanted, &mut task)?;
            close(&out, &x);
            Ok(())
        });
    }
}

#[test]
fn inverses() {
    let place = Place::new("tasks");
    let file = written(&place, &triangle::<f64>(N), 32);
    let factor = Factor::new(&file, N).unwrap();
    let mut first = None;
    everywhere(true, |devices, wanted| {
        let mut out = vec![f64::NAN; N];
        let mut task = InverseDiagonal {
            factor: &factor,
            out: &mut out,
        };
        carry_out(devices, wanted, &mut task)?;
        let expected = first.get_or_insert_with(|| Mat::from_fn(N, 1, |i, _| out[i]));
        close(&out, expected);
        Ok(())
    });
    assert!(first.is_some_and(|x| x.norm_max().is_finite()));
}

#[test]
fn updates() {
    let r = triangle::<f64>(N);
    let place = Place::new("tasks");
    let file = written(&place, &r, 32);
    let v = matrices::random::<f64>(N, COLUMNS, 3);
    let values = by_columns(&v);
    let product = r.wide().transpose() * r.wide() + v.wide() * v.wide().transpose();
    // The device whose memory is apart has no updates.
    everywhere(false, |devices, wanted| {
        let to = Place::new("tasks");
        let mut task = Update {
            from: &file,
            to: to.0.to_str().unwrap(),
            change: Change::Up,
            v: &values,
            k: COLUMNS,
            least: least_memory(&file)?,
            margin: 1.0,
        };
        carry_out(devices, wanted, &mut task)?;
        let made = TileFile::<f64>::open(&to, Access::Read)?;
        let made = crate::common::triangle_file::upper_triangle(&made).wide();
        let made = made.transpose() * &made;
        close(
            &by_columns(&Host::from_fn(N, N, |i, j| made[(i, j)])),
            &product,
        );
        Ok(())
    });
}

/// Large work, which "auto" brings to a GPU.
#[test]
fn sizes_for_a_gpu() {
    let n = 2048;
    let r = Host::<f64>::from_fn(n, n, |i, j| match (i == j, i < j) {
        (true, _) => 2.0,
        (_, true) => 1.0 / n as f64,
        _ => 0.0,
    });
    let place = Place::new("tasks");
    let file = written(&place, &r, 512);
    let x = Stored::new(&file).unwrap();
    for (columns, at) in [(1, CPU), (64, GPU)] {
        let (y, mut out) = (vec![1.0; n * columns], vec![0.0; n * columns]);
        let mut task = Product {
            x: &x,
            tile: 512,
            op: Trans::No,
            y: &y,
            ydim: (n, columns),
            out: &mut out,
            odim: (n, columns),
        };
        assert_eq!(task.is_large(), at == GPU);
        assert!(task.tile_bytes().unwrap() >= x.layout().tile() as u64);
        let devices = Devices {
            gpu_from: Some(1e8),
            ..Devices::auto()
        };
        carry_out(&devices, &ANY, &mut task).unwrap();
        assert_eq!(devices.ran(), [at]);
        assert!(out.iter().all(|x| *x >= 2.0));
    }
}
