//! How long work takes, roughly, here and on a GPU: what `device = "auto"` goes by.
//!
//! A call on a GPU costs a fixed time, its operands and its result over the bus, its operations,
//! and for factorizations a chain of steps, one for each column. On the CPU it is operations,
//! shared among threads, and a part that is not shared, in proportion to the matrix: panels. The
//! constants were fitted to an H200 and 16 cores of a Xeon (`bench/results`), and scaled by what
//! other machines say of themselves.

use crate::base::emulation::{wanted, Emulation};
use crate::cost::flops::ProductSize;
use crate::cost::integers::{IntegerRates, USUAL};
use crate::cost::work::{Operands, Verb, Work};

/// Fewer operations are never worth a GPU: on one thread they take less than a millisecond.
pub const TRIVIAL: f64 = 1e7;

/// The GPU must be faster by this factor where nothing was measured.
pub const MARGIN: f64 = 1.25;

/// Seconds that it takes until threads copy operands and results together.
const WAKING_COPIERS: f64 = 200e-6;

/// What the constants of a verb are.
struct Shape {
    /// Share of a product's rate that its operations reach on the CPU, and seconds of one thread
    /// for each entry.
    cpu: (f64, f64),
    /// The same share on a GPU, and seconds for each step and for each entry.
    gpu: (f64, f64, f64),
}

fn shape(verb: Verb) -> Shape {
    let (cpu, gpu) = match verb {
        Verb::Product => ((1.0, 0.0), (1.0, 0.0, 0.0)),
        Verb::Crossprod => ((0.5, 0.0), (1.0, 0.0, 0.0)),
        Verb::Cholesky => ((0.7, 2.2e-9), (0.85, 0.18e-6, 0.0)),
        Verb::Lu => ((0.7, 5e-9), (0.9, 0.6e-6, 0.17e-9)),
        // With the condition number.
        Verb::Solve => ((0.7, 15e-9), (0.9, 2.2e-6, 0.17e-9)),
        Verb::Qr => ((0.7, 8e-9), (0.9, 0.7e-6, 0.15e-9)),
        Verb::Triangular | Verb::Update => ((0.8, 1e-9), (0.9, 0.15e-6, 0.0)),
        Verb::Pivoted => ((0.1, 2e-9), (0.02, 12e-6, 0.0)),
        // `bench/results/eigen-cpu-2.md` and `gpu-peers-eigen.md`.
        Verb::Eigen => ((0.4, 35e-9), (0.33, 9e-6, 0.0)),
        Verb::Svd => ((0.5, 40e-9), (0.3, 11.5e-6, 0.0)),
    };
    Shape { cpu, gpu }
}

/// Bytes of a number.
fn size(single: bool) -> f64 {
    if single {
        4.0
    } else {
        8.0
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cpu {
    pub threads: usize,
    /// Operations in double precision per second of one thread, in products.
    pub rate: f64,
}

impl Cpu {
    pub fn here(threads: usize) -> Cpu {
        Cpu {
            threads: threads.max(1),
            rate: thread_rate(),
        }
    }

    pub fn seconds(&self, work: &Work, single: bool) -> f64 {
        // Operations that keep a thread busy for longer than it takes to wake it: twice the
        // multiplications of `base/threads.rs`.
        const GRAIN: f64 = 8e6;
        const WAKING: f64 = 30e-6;
        const WAKING_EACH: f64 = 6e-6;
        let threads = (work.flops / GRAIN).clamp(1.0, self.threads as f64);
        let (share, entry) = shape(work.verb).cpu;
        // They share memory and caches.
        let rate = share * self.rate * threads.powf(0.85) * 8.0 / size(single);
        let alone = work.entries * entry / work.count.clamp(1.0, threads);
        let waking = match threads > 1.0 {
            true => WAKING + WAKING_EACH * threads,
            false => 0.0,
        };
        waking + work.flops / rate + alone
    }
}

/// Two multiplications and additions a cycle, in vectors as wide as there are.
#[cfg(target_arch = "x86_64")]
fn thread_rate() -> f64 {
    if std::arch::is_x86_feature_detected!("avx512f") {
        75e9
    } else if std::arch::is_x86_feature_detected!("fma") {
        40e9
    } else {
        10e9
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn thread_rate() -> f64 {
    25e9
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gpu {
    /// Operations per second in products, in double and in single precision.
    pub rates: (f64, f64),
    /// How many times longer a step takes than on the GPU of the constants.
    pub step: f64,
    /// Bytes per second of operands that come from R's memory and results that become R's, by many
    /// threads.
    pub bus: f64,
    /// Seconds of the smallest call.
    pub start: f64,
    /// What products of doubles from integers depend on.
    pub integers: IntegerRates,
}

impl Gpu {
    /// No GPU is faster for orders below 30000: what does not pay on this one needs no driver.
    pub const BEST: Gpu = Gpu {
        rates: (100e12, 200e12),
        step: 0.7,
        bus: 60e9,
        start: 40e-6,
        integers: IntegerRates::NONE,
    };

    pub fn seconds(&self, work: &Work, single: bool) -> f64 {
        let (share, step, entry) = shape(work.verb).gpu;
        let operations = match single {
            true => work.flops / (share * self.rates.1),
            false => self.seconds_of_doubles(work, share * self.rates.0),
        };
        let bytes = size(single) * (work.read + work.written);
        // Few bytes are copied by one thread; for more, others are waked.
        let alone = (2.0 * bytes / self.bus).min(WAKING_COPIERS);
        let chain = self.step * (work.steps * step + work.entries / work.count * entry);
        self.start + alone + bytes / self.bus + operations + chain
    }

    /// Seconds of operations in double precision, of which products may be from integers.
    fn seconds_of_doubles(&self, work: &Work, rate: f64) -> f64 {
        let doubles = work.flops / rate;
        if self.integers.bytes == 0.0 || wanted() == Emulation::Never {
            return doubles;
        }
        let by_integers = match work.verb {
            Verb::Product | Verb::Crossprod => work
                .product_size()
                .map(|size| self.integers.seconds(&size, USUAL, true)),
            Verb::Cholesky | Verb::Lu | Verb::Qr | Verb::Solve | Verb::Triangular => {
                self.factored_by_integers(work, doubles)
            }
            Verb::Update | Verb::Pivoted | Verb::Eigen | Verb::Svd => None,
        };
        by_integers.map_or(doubles, |seconds| seconds.min(doubles))
    }

    /// Seconds of a factorization whose deep products are from integers; None if none is. Blocks
    /// are halved: one and a half times `depth / n` of the operations are in products that are less
    /// deep.
    fn factored_by_integers(&self, work: &Work, doubles: f64) -> Option<f64> {
        // Larger orders fit into no memory.
        let n = work.steps.min(1e9) as usize;
        // Columns of the products.
        let wide = match (work.verb, work.operands) {
            (Verb::Triangular, Operands::System(_, rhs)) => (n / 2).min(rhs),
            _ => n / 2,
        };
        if work.count > 1.0 || n < 2 || wide < 2 {
            return None;
        }
        let product = |cols: usize, k: usize| ProductSize {
            m: n,
            n: cols.min(wide),
            k,
            triangle: false,
        };
        let depths = (6..).map(|bits| 1 << bits).take_while(|d| 2 * d <= n);
        let depth = { depths }.find(|d| self.integers.pays(&product(*d, *d), USUAL, false))?;
        let shallow = (1.5 * depth as f64 / n as f64).min(1.0);
        let size = product(wide, (n / 4).max(depth));
        let rate = size.operations() / self.integers.seconds(&size, USUAL, false);
        Some(shallow * doubles + (1.0 - shallow) * work.flops / rate)
    }
}

/// Whether the GPU is faster by this factor.
pub fn pays(work: &Work, single: bool, cpu: &Cpu, gpu: &Gpu, margin: f64) -> bool {
    margin * gpu.seconds(work, single) <= cpu.seconds(work, single)
}

/// The factor at which the GPU begins to pay at order `n` for square operands, as was measured.
/// Work of other shapes is judged by the same factor.
pub fn margin_at(n: f64, verb: Verb, single: bool, cpu: &Cpu, gpu: &Gpu) -> f64 {
    if !n.is_finite() {
        return f64::INFINITY;
    }
    let work = Work::square(verb, n as usize);
    cpu.seconds(&work, single) / gpu.seconds(&work, single)
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
