//! Factors of files, as the devices of a call choose: where, in which file, and what is left after
//! a failure.

use super::cholesky_file::{positive, written};
use crate::common::devices::{Devices, GPU};
use crate::common::place::Place;
use crate::common::triangle_file::upper_triangle;
use crate::common::{residual, Host};
use cudafactor::algo::tiled::cholesky_file::Report;
use cudafactor::algo::tiled::factor_file::{factor_file, Request};
use cudafactor::algo::tiled::file_task::WantedMemory;
use cudafactor::base::error::{Error, Result};
use cudafactor::base::processor::Processor;
use cudafactor::tiles::{Access, State, TileFile};

const CPU: Processor = Processor::Cpu;

const ANY: WantedMemory = WantedMemory {
    host: f64::NAN,
    device: f64::NAN,
};

fn request(memory: WantedMemory) -> Request<'static> {
    Request {
        resume: false,
        memory,
        gpus: &|| vec![0],
        all: false,
    }
}

fn text(place: &Place) -> &str {
    place.0.to_str().unwrap()
}

fn factored(
    devices: &Devices,
    from: &Place,
    n: usize,
    to: Option<&Place>,
    memory: WantedMemory,
) -> Result<(Report, Processor)> {
    let request = request(memory);
    factor_file::<f64>(devices, (text(from), (n, n)), to.map(text), &request)
}

fn check(a: &Host<f64>, place: &Place) {
    let file = TileFile::<f64>::open(place, Access::Read).unwrap();
    assert_eq!(file.state(), State::Factor);
    let off = residual::cholesky(a, &upper_triangle(&file));
    assert!(off < 20.0, "{off}");
}

#[test]
fn places_of_factors() {
    let n = 100;
    let a = positive::<f64>(n);
    let fails = |devices| Devices {
        fails: true,
        recovers: true,
        ..devices
    };
    for (devices, at, ran) in [
        (Devices::cpu(), CPU, &[CPU][..]),
        // Too small for "auto".
        (Devices::auto(), CPU, &[CPU]),
        (Devices::gpu(), GPU, &[GPU]),
        (fails(Devices::gpu()), CPU, &[GPU, CPU]),
    ] {
        for second in [false, true] {
            let (from, to) = (Place::new("factor-file"), Place::new("factor-file"));
            drop(written(&from, &a, 32));
            let to = second.then_some(&to);
            let (_, processor) = factored(&devices, &from, n, to, ANY).unwrap();
            assert_eq!((processor, &devices.ran()[..]), (at, ran));
            check(&a, to.unwrap_or(&from));
            if second {
                let file = TileFile::<f64>::open(&from, Access::Read).unwrap();
                assert_eq!(file.state(), State::Matrix);
            }
        }
    }
}

#[test]
fn auto_takes_a_gpu_for_a_large_matrix() {
    let n = 2048;
    let a = Host::<f64>::from_fn(n, n, |i, j| {
        let apart = i.abs_diff(j) as f64;
        (-apart / 4.0).exp() + if i == j { 1.0 } else { 0.0 }
    });
    let from = Place::new("factor-file");
    drop(written(&from, &a, 512));
    let devices = Devices::auto();
    let (_, processor) = factored(&devices, &from, n, None, ANY).unwrap();
    assert_eq!((processor, devices.ran()), (GPU, vec![GPU]));
}

#[test]
fn a_second_file_without_a_factor_is_removed() {
    let n = 100;
    let (from, to) = (Place::new("factor-file"), Place::new("factor-file"));
    let a = positive::<f64>(n);
    drop(written(&from, &a, 32));
    // The named GPU fails before anything was done.
    let failing = Devices {
        fails: true,
        ..Devices::gpu()
    };
    let e = factored(&failing, &from, n, Some(&to), ANY);
    assert!(matches!(e, Err(Error::DeviceFailed { .. })));
    assert!(!to.0.exists());
    // Too little memory.
    let few = WantedMemory { host: 10.0, ..ANY };
    let e = factored(&Devices::cpu(), &from, n, Some(&to), few);
    assert!(matches!(
        e,
        Err(Error::Argument {
            argument: "host_memory",
            ..
        })
    ));
    assert!(!to.0.exists());
    // No factor.
    let mut a = a;
    a.set(70, 70, -1.0);
    let from = Place::new("factor-file");
    drop(written(&from, &a, 32));
    let e = factored(&Devices::cpu(), &from, n, Some(&to), ANY);
    assert_eq!(e.err(), Some(Error::NotPositiveDefinite { order: 71 }));
    assert!(!to.0.exists());
}

#[test]
fn another_matrix_is_refused() {
    let from = Place::new("factor-file");
    drop(written(&from, &positive::<f64>(60), 32));
    let e = factored(&Devices::cpu(), &from, 61, None, ANY);
    assert!(matches!(e, Err(Error::FileFormat { .. })));
}
