//! Estimates the speed of a GPU from its properties, for the cost model. No context is opened.

use cudarc::driver::sys;

use super::context::check;
use super::probe;
use super::properties::Properties;
use crate::base::error::Result;
use crate::cost::model::Gpu;

/// Cycles per second of the GPU that the model's steps were measured on.
const CLOCK: f64 = 1.98e9;

/// Products reach this share of what the units could do.
const REACHED: f64 = 0.8;

/// Estimates the speed of a GPU; starts its driver.
pub fn of(ordinal: usize) -> Result<Gpu> {
    probe::driver()?;
    let mut device = 0;
    // SAFETY: the driver is started; the out-parameter is valid.
    check(
        unsafe { sys::cuDeviceGet(&mut device, ordinal as i32) },
        "cuDeviceGet",
    )?;
    Ok(model(&Properties::of(device)?))
}

fn model(p: &Properties) -> Gpu {
    let all = REACHED * p.multiprocessors as f64;
    // Kernels that any GPU can run, without tensor cores, reach half of the FP64 units of the older
    // data-centre GPUs.
    let double = match p.capability {
        (6, 0) | (7, 0) => 0.5 * p.product_rate::<f64>(),
        _ => p.product_rate::<f64>(),
    };
    // Other GPUs need a launch for each 64 columns, or for each column.
    let chain = if p.double_keeps_up() { 1.0 } else { 4.0 };
    // PCIe 5, 4 and 3, less what staging costs.
    let bus = match p.capability.0 {
        9.. => 42e9,
        8 => 20e9,
        _ => 10e9,
    };
    Gpu {
        rates: (all * double, all * p.product_rate::<f32>()),
        step: chain * CLOCK / p.clock.max(1e8),
        bus,
        start: 60e-6,
        integers: p.integer_rates(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::matrix::Change;
    use crate::cost::integers::IntegerRates;
    use crate::cost::model::{pays, Cpu, MARGIN};
    use crate::cost::work::Work;

    fn gpu(multiprocessors: usize, capability: (i32, i32), clock: f64) -> Gpu {
        model(&Properties {
            multiprocessors,
            capability,
            driver: 12040,
            clock,
            shared: 99 << 10,
            cooperative: true,
        })
    }

    #[test]
    fn rates_are_those_of_known_gpus() {
        let h200 = gpu(132, (9, 0), 1.98e9);
        assert!((50e12..60e12).contains(&h200.rates.0), "{h200:?}");
        assert!((0.99..1.01).contains(&h200.step));
        // A graphics card: fast in single precision alone.
        let card = gpu(128, (8, 9), 2.5e9);
        assert!(card.rates.0 < 2e12 && card.rates.1 > 30e12, "{card:?}");
        // A V100 has 7.8 TFLOP/s in double precision.
        let v100 = gpu(80, (7, 0), 1.53e9);
        assert!((3e12..8e12).contains(&v100.rates.0), "{v100:?}");
    }

    #[test]
    fn graphics_cards_do_singles_faster() {
        let share = |capability| {
            let p = Properties {
                multiprocessors: 16,
                capability,
                driver: 12040,
                clock: 1.8e9,
                shared: 64 << 10,
                cooperative: true,
            };
            p.single_per_double()
        };
        assert_eq!(
            [(7, 5), (8, 6), (8, 9), (12, 0)].map(share),
            [32.0, 64.0, 64.0, 64.0]
        );
        assert_eq!([(8, 0), (9, 0)].map(share), [1.0, 1.0]);
    }

    #[test]
    fn no_clock_is_no_trouble() {
        let cpu = Cpu::here(4);
        let work = Work::cholesky(4096);
        assert!(!pays(&work, false, &cpu, &gpu(0, (9, 0), 0.0), MARGIN));
    }

    /// A graphics card computes large products of doubles from integers.
    #[test]
    fn graphics_cards_take_large_doubles() {
        let cpu = Cpu {
            threads: 8,
            rate: 40e9,
        };
        // An RTX 4090 and an RTX 3060.
        for (card, from) in [
            (gpu(128, (8, 9), 2.5e9), 2048),
            (gpu(28, (8, 6), 1.78e9), 4096),
        ] {
            for work in [
                Work::product(from, from, from),
                Work::crossprod(from, from),
                Work::cholesky(2 * from),
            ] {
                assert!(pays(&work, false, &cpu, &card, MARGIN), "{work:?}");
                let never = Gpu {
                    integers: IntegerRates::NONE,
                    ..card
                };
                assert!(card.seconds(&work, false) < 0.5 * never.seconds(&work, false));
            }
            assert!(!pays(
                &Work::product(300, 300, 300),
                false,
                &cpu,
                &card,
                MARGIN
            ));
            // Reflections, and products with a vector, are no products of matrices.
            let never = Gpu {
                integers: IntegerRates::NONE,
                ..card
            };
            for work in [
                Work::cholesky_update(8000, 500, Change::Up),
                Work::triangular(8000, 1, 1.0),
            ] {
                assert_eq!(card.seconds(&work, false), never.seconds(&work, false));
            }
        }
    }

    /// The model's best GPU decides whether the driver is opened at all.
    #[test]
    fn known_gpus_are_not_better_than_the_best() {
        for g in [gpu(132, (9, 0), 1.98e9), gpu(148, (10, 0), 1.97e9)] {
            assert!(g.rates.0 <= Gpu::BEST.rates.0 && g.rates.1 <= Gpu::BEST.rates.1);
            assert!(g.step >= Gpu::BEST.step && g.bus <= Gpu::BEST.bus);
        }
    }
}
