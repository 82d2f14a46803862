use crate::cost::integers::IntegerRates;
use crate::cost::model::*;

/// A machine with an H200, 16 cores of a Xeon and OpenBLAS, faster than that of `auto.md`.
const XEON: Cpu = Cpu {
    threads: 16,
    rate: 75e9,
};

const H200: Gpu = Gpu {
    rates: (54e12, 52e12),
    step: 1.0,
    bus: 42e9,
    start: 60e-6,
    integers: IntegerRates::NONE,
};

fn takes_gpu(work: &Work) -> bool {
    pays(work, false, &XEON, &H200, MARGIN)
}

/// Milliseconds: OpenBLAS on the 16 cores (LU and QR: our own, where it ran), and the GPU from R
/// matrix to R matrix.
const MEASURED: [(Verb, usize, f64, f64); 12] = [
    (Verb::Product, 512, 0.34, 0.45),
    (Verb::Product, 1024, 2.0, 0.86),
    (Verb::Product, 2048, 14.8, 2.66),
    (Verb::Product, 4096, 120.0, 8.4),
    (Verb::Cholesky, 512, 2.6, 0.55),
    (Verb::Cholesky, 1024, 3.13, 0.82),
    (Verb::Cholesky, 2048, 20.97, 2.25),
    (Verb::Cholesky, 4096, 92.9, 7.8),
    (Verb::Lu, 1024, 6.72, 1.45),
    (Verb::Lu, 2048, 27.5, 3.8),
    (Verb::Lu, 4096, 109.5, 12.9),
    (Verb::Qr, 1024, 9.88, 1.8),
];

#[test]
fn the_choice_is_the_faster_of_the_measured() {
    for (verb, n, cpu, gpu) in MEASURED {
        let taken = takes_gpu(&Work::square(verb, n));
        assert_eq!(taken, gpu < cpu, "{verb:?} {n}: {gpu} ms or {cpu}");
    }
}

/// The model's times are the measured ones within a factor of two, so that shapes between them are
/// judged well.
#[test]
fn times_are_about_those_measured() {
    let near = |model: f64, ms: f64, what: &str| {
        let ratio = 1e3 * model / ms;
        assert!((0.5..2.0).contains(&ratio), "{what}: {ratio}");
    };
    for (verb, n, ms) in [
        (Verb::Product, 2048, 14.8),
        (Verb::Product, 4096, 120.0),
        (Verb::Cholesky, 1024, 3.13),
        (Verb::Lu, 1024, 6.72),
        (Verb::Qr, 1024, 9.88),
    ] {
        near(XEON.seconds(&Work::square(verb, n), false), ms, "CPU");
    }
    // Two cores of an EPYC: `eigen-cpu-2.md`.
    let epyc = Cpu {
        threads: 2,
        rate: 40e9,
    };
    for (work, ms) in [
        (Work::eigen(512, true), 38.0),
        (Work::eigen(1024, false), 88.0),
        (Work::eigen(1024, true), 203.0),
        (Work::eigen(2048, false), 513.0),
        (Work::eigen(2048, true), 1301.0),
        (Work::svd((512, 512), (512, 512)), 94.0),
        (Work::svd((1024, 1024), (0, 0)), 132.0),
        (Work::svd((1024, 1024), (1024, 1024)), 448.0),
        (Work::svd((2048, 2048), (0, 0)), 1456.0),
        (Work::svd((2048, 2048), (2048, 2048)), 2640.0),
    ] {
        near(epyc.seconds(&work, false), ms, "CPU");
    }
    for (verb, n, _, ms) in MEASURED {
        near(
            H200.seconds(&Work::square(verb, n), false),
            ms,
            "host to host",
        );
    }
    let on_device = |verb, n| {
        let work = Work::square(verb, n);
        H200.seconds(
            &Work {
                read: 0.0,
                written: 0.0,
                ..work
            },
            false,
        ) - H200.start
    };
    for (verb, n, ms) in [
        (Verb::Product, 8192, 19.8),
        (Verb::Cholesky, 512, 0.103),
        (Verb::Cholesky, 2048, 0.353),
        (Verb::Cholesky, 16384, 30.3),
        (Verb::Lu, 512, 0.289),
        (Verb::Lu, 4096, 6.23),
        (Verb::Lu, 16384, 100.3),
        (Verb::Qr, 1024, 0.835),
        (Verb::Qr, 8192, 25.2),
        (Verb::Qr, 16384, 138.6),
        (Verb::Triangular, 512, 0.065),
        (Verb::Triangular, 16384, 85.1),
        (Verb::Eigen, 1024, 6.4),
        (Verb::Eigen, 2048, 17.9),
        (Verb::Eigen, 4096, 75.5),
        (Verb::Eigen, 8192, 257.0),
        (Verb::Eigen, 16384, 1103.0),
        (Verb::Svd, 1024, 12.7),
        (Verb::Svd, 2048, 31.1),
        (Verb::Svd, 4096, 139.0),
        (Verb::Svd, 8192, 619.0),
        (Verb::Svd, 16384, 3690.0),
    ] {
        near(on_device(verb, n), ms, "GPU");
    }
}

/// More to do takes longer, and much of it is for the GPU. Between, where both take about as long,
/// either may be the faster.
#[test]
fn large_orders_are_for_the_gpu() {
    for (_, verb) in Verb::NAMED {
        let mut before = (0.0, 0.0, false);
        for n in (32..6000).step_by(17) {
            let work = Work::square(verb, n);
            let now = (
                XEON.seconds(&work, false),
                H200.seconds(&work, false),
                takes_gpu(&work),
            );
            // As many threads as there is work for take as long.
            assert!(
                now.0 >= 0.999 * before.0 && now.1 > before.1,
                "{verb:?} {n}"
            );
            assert!(now.2 || n < 1000, "{verb:?} {n}");
            assert!(!now.2 || n > 100, "{verb:?} {n}");
            before = now;
        }
    }
}

/// Little work on much memory stays where the memory is.
#[test]
fn thin_products_stay_on_the_cpu() {
    assert!(!takes_gpu(&Work::product(10_000, 1, 10_000)));
    assert!(!takes_gpu(&Work::crossprod(10, 1_000_000)));
    assert!(!takes_gpu(&Work::triangular(10_000, 1, 1.0)));
    assert!(takes_gpu(&Work::crossprod(1000, 100_000)));
}

/// A graphics card of a 64th of the rate in double precision, without products from integers.
const CARD: Gpu = Gpu {
    rates: (1.2e12, 60e12),
    step: 4.0,
    bus: 10e9,
    start: 60e-6,
    integers: IntegerRates::NONE,
};

/// It is for single precision.
#[test]
fn a_slow_gpu_is_seen() {
    let work = Work::product(4096, 4096, 4096);
    assert!(!pays(&work, false, &XEON, &CARD, MARGIN));
    assert!(pays(&work, true, &XEON, &CARD, MARGIN));
}

/// The same card with products from integers takes large products and factorizations. It is no
/// slower with them than without.
#[test]
fn integers_make_a_slow_gpu_worth_it() {
    let card = Gpu {
        integers: IntegerRates {
            doubles: 1.2e12,
            bytes: 6.6e14,
            conversions: 0.25,
        },
        ..CARD
    };
    let product = Work::square(Verb::Product, 2000);
    assert!(!pays(&product, false, &XEON, &CARD, MARGIN));
    assert!(pays(&product, false, &XEON, &card, MARGIN));
    for verb in [Verb::Product, Verb::Crossprod, Verb::Cholesky, Verb::Qr] {
        let of = |n| Work::square(verb, n);
        assert!(pays(&of(8192), false, &XEON, &card, MARGIN), "{verb:?}");
        for n in (64..9000).step_by(500) {
            let seconds = |gpu: &Gpu| gpu.seconds(&of(n), false);
            assert!(seconds(&card) <= seconds(&CARD), "{verb:?} {n}");
            let single = |gpu: &Gpu| gpu.seconds(&of(n), true);
            assert_eq!(single(&card), single(&CARD), "{verb:?} {n}");
        }
    }
}

/// What was measured decides at its own order, for the shapes near it too.
#[test]
fn a_measured_break_even_decides() {
    for n in [256.0, 700.0, 3000.0] {
        let margin = margin_at(n, Verb::Qr, false, &XEON, &H200);
        let takes = |n: f64| {
            let work = Work::square(Verb::Qr, n as usize);
            pays(&work, false, &XEON, &H200, margin)
        };
        assert!(!takes(0.9 * n) && takes(1.1 * n), "{n}");
    }
    let never = margin_at(f64::INFINITY, Verb::Qr, false, &XEON, &H200);
    assert!(!pays(&Work::qr((20000, 20000)), false, &XEON, &H200, never));
}

/// The best GPU is no slower than one that is known, so that its answer may replace the driver's.
#[test]
fn no_gpu_is_better_than_the_best() {
    for (_, verb) in Verb::NAMED {
        for n in [64, 200, 512, 2048] {
            let work = Work::square(verb, n);
            assert!(Gpu::BEST.seconds(&work, false) < H200.seconds(&work, false));
        }
    }
}
