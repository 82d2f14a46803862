//! The choice of a device, and that small work asks for no GPU.

use super::*;
use crate::cost::integers::IntegerRates;
use std::cell::Cell;

/// A machine with so many GPUs, which counts how often it was asked for them.
struct Made {
    gpus: usize,
    asked: Cell<usize>,
}

const H200: Gpu = Gpu {
    rates: (54e12, 52e12),
    step: 1.0,
    bus: 42e9,
    start: 60e-6,
    integers: IntegerRates::NONE,
};

impl Hardware for Made {
    fn cpu(&self) -> Cpu {
        Cpu {
            threads: 16,
            rate: 75e9,
        }
    }

    fn gpus(&self) -> usize {
        self.asked.set(self.asked.get() + 1);
        self.gpus
    }

    fn first_gpu(&self) -> Option<Gpu> {
        (self.gpus() > 0).then_some(H200)
    }
}

fn with(gpus: usize) -> Made {
    Made {
        gpus,
        asked: Cell::new(0),
    }
}

fn asked(request: DeviceRequest, chosen: u64) -> DeviceSettings {
    DeviceSettings {
        request,
        single: false,
        min_flops: f64::NAN,
        chosen,
        breakeven: [f64::NAN; Verb::NAMED.len()],
    }
}

fn auto() -> DeviceSettings {
    asked(DeviceRequest::Auto, 0)
}

#[test]
fn a_default_request_for_gpus_keeps_all_of_them() {
    let how = auto().for_gpu(&with(3));
    assert_eq!(
        how.choose(&1.0.into(), &with(3)).processor,
        Processor::Cuda(0)
    );
    assert_eq!(how.shared_by(&with(3)), [0, 1, 2]);
    assert!(!how.together());
}

#[test]
fn named_gpus_are_kept() {
    let how = asked(DeviceRequest::Auto, 0b110).for_gpu(&with(3));
    assert_eq!(
        how.choose(&1.0.into(), &with(3)).processor,
        Processor::Cuda(1)
    );
    assert_eq!(how.shared_by(&with(3)), [1, 2]);
    assert!(how.together());
}

#[test]
fn one_device_stays_one() {
    let one = DeviceRequest::Exactly(Processor::Cuda(1));
    let how = asked(one, 0).for_gpu(&with(3));
    assert_eq!(
        how.choose(&1.0.into(), &with(3)).processor,
        Processor::Cuda(1)
    );
    assert_eq!(how.shared_by(&with(3)), [1]);
    let how = auto().for_gpu(&with(0));
    assert_eq!(how.choose(&1.0.into(), &with(0)).processor, Processor::Cpu);
    assert!(how.shared_by(&with(0)).is_empty());
}

/// On a graphics card the GPU may never pay in double precision, and pays in single.
#[test]
fn measured_orders_are_those_of_double_precision() {
    let mut settings = auto();
    settings.breakeven = [f64::INFINITY; Verb::NAMED.len()];
    let work = Work::square(Verb::Product, 4096);
    assert_eq!(settings.choose(&work, &with(1)).processor, Processor::Cpu);
    settings.single = true;
    assert_eq!(
        settings.choose(&work, &with(1)).processor,
        Processor::Cuda(0)
    );
}

#[test]
fn sizes_for_a_gpu() {
    assert!(suits_sparse(SPARSE_ROWS, 1) && !suits_sparse(SPARSE_ROWS - 1, 1));
    assert!(!suits_sparse(SPARSE_ROWS, SPARSE_ENTRIES));
    assert!(suits_sparse(SPARSE_ROWS, SPARSE_ENTRIES - 1));
    assert!(suits_file(2048, 64) && suits_file(2049, 65));
    assert!(!suits_file(2047, 64) && !suits_file(2048, 63));
}

#[test]
fn the_reason_is_that_of_the_rule_that_decided() {
    let gpu = Processor::Cuda(0);
    let min_flops = |min_flops| DeviceSettings {
        min_flops,
        ..auto()
    };
    let mut breakeven = auto();
    breakeven.breakeven[2] = 100.0;
    let never = DeviceSettings {
        breakeven: [f64::INFINITY; Verb::NAMED.len()],
        ..auto()
    };
    let flops = |flops: f64| Work::from(flops);
    // Settings, work, GPUs; the processor, the reason, and whether a GPU was asked for.
    let table = [
        (auto(), flops(TRIVIAL - 1.0), 1, Processor::Cpu, "Small", 0),
        (
            auto(),
            Work::product(1_000_000, 1, 10),
            1,
            Processor::Cpu,
            "NoFasterGpu",
            0,
        ),
        (auto(), Work::cholesky(8192), 0, Processor::Cpu, "NoGpu", 1),
        (auto(), Work::cholesky(8192), 1, gpu, "Model", 1),
        (auto(), flops(f64::MAX), 0, Processor::Cpu, "NoGpu", 1),
        (auto(), flops(f64::MAX), 1, gpu, "ForGpu", 1),
        (auto(), flops(f64::INFINITY), 1, gpu, "ForGpu", 1),
        (
            min_flops(10.0),
            flops(9.0),
            1,
            Processor::Cpu,
            "MinFlops",
            0,
        ),
        (min_flops(10.0), flops(10.0), 1, gpu, "MinFlops", 1),
        (min_flops(10.0), flops(10.0), 0, Processor::Cpu, "NoGpu", 1),
        (
            min_flops(f64::INFINITY),
            flops(f64::MAX),
            1,
            Processor::Cpu,
            "MinFlops",
            0,
        ),
        (
            min_flops(f64::INFINITY),
            flops(f64::INFINITY),
            1,
            gpu,
            "ForGpu",
            1,
        ),
        (breakeven, Work::cholesky(600), 1, gpu, "Breakeven", 1),
        (
            never,
            Work::cholesky(8192),
            1,
            Processor::Cpu,
            "Breakeven",
            1,
        ),
        (
            asked(DeviceRequest::Exactly(gpu), 0),
            flops(1.0),
            0,
            gpu,
            "Asked",
            0,
        ),
    ];
    for (settings, work, gpus, processor, reason, times) in table {
        let hardware = with(gpus);
        let choice = settings.choose(&work, &hardware);
        assert_eq!(choice.processor, processor, "{reason} {work:?}");
        let told = format!("{:?}", choice.reason);
        assert!(told.starts_with(reason), "{told} instead of {reason}");
        assert_eq!(hardware.asked.get(), times, "{reason} {work:?}");
    }
}
