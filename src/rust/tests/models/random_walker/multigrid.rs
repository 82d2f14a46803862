//! The iterative solver against the direct one.

use super::model::{seeded, Picture};
use cudafactor::algo::segmentation::accuracy::{Accuracy, Iterated};
use cudafactor::algo::segmentation::graph::Graph;
use cudafactor::algo::segmentation::image::Image;
use cudafactor::algo::segmentation::iterative::segment_graph_iterative;
use cudafactor::algo::segmentation::multigrid::segment_graph_multigrid;
use cudafactor::algo::segmentation::random_walker::segment_graph;
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::threads::share;

const ACCURACY: Accuracy = Accuracy {
    tol: 1e-9,
    maxit: 200,
};

/// Both answers' labels and probabilities must agree.
fn agree(picture: &Picture, seeds: &[i32], beta: f64, within: f64) -> Iterated {
    let graph = Graph::new(picture.image(), seeds, beta).unwrap();
    let (n, k) = (graph.pixels(), graph.labels().len());
    let (mut labels, mut all) = (vec![0; n], vec![0.0; n * k]);
    segment_graph(&graph, &mut labels, Some(&mut all)).unwrap();
    let (mut found, mut probabilities) = (vec![7; n], vec![0.5; n * k]);
    let device = CpuDevice::new(1);
    let done = segment_graph_multigrid(
        &device,
        &graph,
        ACCURACY,
        &mut found,
        Some(&mut probabilities),
    )
    .unwrap();
    for p in 0..n {
        let of = |k: usize| all[k * n + p];
        for k in 0..k {
            let off = (probabilities[k * n + p] - of(k)).abs();
            assert!(
                off < within,
                "pixel {p}, label {k}: off by {off:e}, {done:?}"
            );
        }
        let mut sorted: Vec<f64> = (0..k).map(of).collect();
        sorted.sort_by(f64::total_cmp);
        if k < 2 || sorted[k - 1] - sorted[k - 2] > 1e-6 {
            assert_eq!(found[p], labels[p], "pixel {p}");
        }
    }
    assert!(done.error <= ACCURACY.tol, "{done:?}");
    done
}

#[test]
fn images_and_volumes_of_any_shape() {
    for dims in [
        [1, 1, 1],
        [2, 1, 1],
        [1, 40, 1],
        [700, 1, 1],
        [1, 1, 600],
        [33, 17, 1],
        [64, 65, 1],
        [3, 5, 40],
        [12, 13, 14],
        [1, 20, 31],
        [40, 1, 15],
    ] {
        let picture = Picture::new(dims, 1, 5);
        let n = picture.pixels();
        let mut seeds = seeded(n, &[(n - 1, 3), (n / 2, 9), (0, 2)]);
        let done = agree(&picture, &seeds, 130.0, 1e-7);
        assert!(done.iterations < 60, "{dims:?} {done:?}");
        if n > 100 {
            // Pixels that are left out, in a band with a gap, and some of them alone.
            for p in (n / 3..n / 3 + dims[0].min(30)).chain([5, 50]) {
                seeds[p] = -1;
            }
            seeds[n / 3] = 0;
            agree(&picture, &seeds, 90.0, 1e-7);
        }
    }
}

/// More than are solved for at a time; one touches no pixel whose label is sought.
#[test]
fn many_labels() {
    let picture = Picture::new([60, 50, 1], 2, 8);
    let places: Vec<(usize, i32)> = (0..11)
        .map(|k| (37 + 263 * k, 2 * (k as i32 % 6) + 1))
        .collect();
    let mut seeds = seeded(3000, &places);
    for (p, label) in [(1000, 40), (999, 1), (1001, 1), (940, 1), (1060, 1)] {
        seeds[p] = label;
    }
    seeds[2900..2950].fill(-7);
    agree(&picture, &seeds, 30.0, 1e-7);
}

#[test]
fn iterations_do_not_grow_with_the_image() {
    let count = |side: usize| {
        let picture = Picture::new([side, side, 1], 1, 3);
        let n = picture.pixels();
        agree(
            &picture,
            &seeded(n, &[(7, 1), (n - 9, 2), (n / 2, 3)]),
            130.0,
            1e-7,
        )
        .iterations
    };
    let (small, large) = (count(40), count(320));
    assert!(large <= 2 * small + 4, "{small} {large}");
}

#[test]
fn what_does_not_converge_says_so() {
    let picture = Picture::new([50, 40, 1], 1, 1);
    let graph = Graph::new(picture.image(), seeded(2000, &[(0, 1), (1999, 2)]), 130.0).unwrap();
    let mut labels = vec![0; 2000];
    let few = Accuracy {
        tol: 1e-9,
        maxit: 1,
    };
    let done = segment_graph_multigrid(&CpuDevice::new(1), &graph, few, &mut labels, None).unwrap();
    assert_eq!((done.iterations, done.error), (1, f64::INFINITY));
    assert!(labels.iter().all(|l| [1, 2].contains(l)));
}

/// A number from 0 to 1 that looks drawn at random.
fn drawn(place: usize) -> f64 {
    let mut x = (place as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> 11) as f64 / (1u64 << 53) as f64
}

/// Flat regions that hang on by weights of 1e-10, of all sizes, and weights over ten orders of
/// magnitude: a residual tells nothing of their probabilities, and the grid's multigrid does not
/// know them.
#[test]
fn regions_that_hardly_hang_on() {
    let step = |inside: bool| f64::from(u8::from(inside));
    type Value<'v> = &'v dyn Fn(usize, usize, usize) -> f64;
    let images: [(&str, [usize; 3], Value<'_>); 9] = [
        ("checkerboard", [36, 36, 1], &|x, y, _| {
            step((x / 4 + y / 4) % 2 == 1)
        }),
        ("square", [36, 36, 1], &|x, y, _| {
            step((8..18).contains(&x) && (8..18).contains(&y))
        }),
        ("square in a large one", [100, 100, 1], &|x, y, _| {
            step((8..18).contains(&x) && (8..18).contains(&y))
        }),
        ("cubes", [28, 28, 28], &|x, y, z| {
            step(x % 4 > 1 && y % 4 > 1 && z % 4 > 1)
        }),
        ("half of the pixels", [150, 150, 1], &|x, y, _| {
            step(drawn(x + 150 * y) < 0.5)
        }),
        ("most of the pixels", [150, 150, 1], &|x, y, _| {
            step(drawn(x + 150 * y) < 0.9)
        }),
        ("most of a volume", [20, 20, 20], &|x, y, z| {
            step(drawn(x + 20 * (y + 20 * z)) < 0.7)
        }),
        ("noise", [20, 20, 20], &|x, y, z| {
            drawn(x + 20 * (y + 20 * z))
        }),
        ("fibres", [20, 20, 20], &|_, y, z| drawn(y + 20 * z)),
    ];
    for (name, dims, value) in images {
        let n: usize = dims.iter().product();
        let at = |p: usize| value(p % dims[0], p / dims[0] % dims[1], p / dims[0] / dims[1]);
        let values: Vec<f64> = (0..n).map(at).collect();
        let image = Image {
            values: &values,
            dims,
            channels: 1,
            spacing: [1.0; 3],
        };
        let seeds = seeded(n, &[(0, 1), (n - 1, 2), (n / 2 + dims[0] / 2, 3)]);
        let graph = Graph::new(image, seeds, 130.0).unwrap();
        let (mut labels, mut all) = (vec![0; n], vec![0.0; 3 * n]);
        segment_graph(&graph, &mut labels, Some(&mut all)).unwrap();
        let (mut found, mut probabilities) = (vec![7; n], vec![0.5; 3 * n]);
        let done = segment_graph_iterative(
            &CpuDevice::new(1),
            &graph,
            (
                Accuracy {
                    maxit: 500,
                    ..ACCURACY
                },
                false,
            ),
            &mut found,
            Some(&mut probabilities),
        )
        .unwrap();
        assert!(done.error <= ACCURACY.tol, "{name}: {done:?}");
        let off = all.iter().zip(&probabilities).map(|(a, b)| (a - b).abs());
        let off = off.fold(0.0, f64::max);
        assert!(off < 1e-8, "{name}: off by {off:e}, {done:?}");
    }
}

/// Two iterations are not enough, and nobody is told that they were.
#[test]
fn what_hangs_on_and_does_not_converge_says_so() {
    let values: Vec<f64> = (0..8000).map(drawn).collect();
    let image = Image {
        values: &values,
        dims: [20, 20, 20],
        channels: 1,
        spacing: [1.0; 3],
    };
    let graph = Graph::new(image, seeded(8000, &[(0, 1), (7999, 2)]), 130.0).unwrap();
    let mut labels = vec![0; 8000];
    let few = Accuracy {
        tol: 1e-9,
        maxit: 2,
    };
    let done = segment_graph_iterative(&CpuDevice::new(1), &graph, (few, true), &mut labels, None)
        .unwrap();
    assert_eq!((done.iterations, done.error), (2, f64::INFINITY));
    assert!(labels.iter().all(|l| [1, 2].contains(l)));
}

/// How many threads there are for what says no number.
const THREADS: &str = "CUDAFACTOR_NUM_THREADS";

/// An image in two bands, whose labels are in two turns: each step has enough work for two threads,
/// and these make no difference.
#[test]
fn two_threads_give_the_answer_of_one() {
    let picture = Picture::new([2100, 1001, 1], 1, 6);
    let n = picture.pixels();
    assert!(n > 1 << 21 && share(2, 8.0 * n as f64) > 1);
    let places: Vec<(usize, i32)> = (0..60)
        .map(|k| (35_000 * k + 77, 1 + k as i32 % 6))
        .collect();
    let mut seeds = seeded(n, &places);
    seeds[1_000_000..1_003_000].fill(-1);
    let few = Accuracy {
        tol: 1e-9,
        maxit: 1,
    };
    let before = std::env::var_os(THREADS);
    let answer = |threads: usize| {
        // For what is done outside of the device. Other tests may see it, and give the same
        // answers.
        std::env::set_var(THREADS, threads.to_string());
        let graph = Graph::new(picture.image(), &seeds[..], 130.0).unwrap();
        let (mut labels, mut all) = (vec![0; n], vec![0.5; 6 * n]);
        let device = CpuDevice::new(threads);
        let done =
            segment_graph_multigrid(&device, &graph, few, &mut labels, Some(&mut all)).unwrap();
        (done, labels, all)
    };
    let (one, two) = (answer(1), answer(2));
    match before {
        Some(before) => std::env::set_var(THREADS, before),
        None => std::env::remove_var(THREADS),
    }
    assert_eq!(one.0, two.0);
    assert!(one.1 == two.1);
    assert!(one
        .2
        .iter()
        .zip(&two.2)
        .all(|(a, b)| a.to_bits() == b.to_bits()));
    assert!((1..=6).all(|l| one.1.contains(&l)));
}

/// Many seeds of one label leave little to the other, whose residual is large beside its error.
#[test]
fn an_estimate_that_is_small_enough_stands_before_residuals_are() {
    let picture = Picture::new([50, 40, 1], 1, 1);
    let mut seeds = seeded(2000, &[(0, 1), (1999, 2)]);
    seeds.iter_mut().skip(1000).step_by(3).for_each(|s| *s = 3);
    let graph = Graph::new(picture.image(), &seeds[..], 0.0).unwrap();
    let run = |maxit: usize| {
        let accuracy = Accuracy { maxit, ..ACCURACY };
        let mut labels = vec![0; 2000];
        segment_graph_multigrid(&CpuDevice::new(1), &graph, accuracy, &mut labels, None).unwrap()
    };
    let whole = run(200);
    let shorter = run(whole.iterations - 1);
    assert_eq!(shorter.iterations, whole.iterations - 1);
    assert!(shorter.error <= ACCURACY.tol, "{shorter:?}");
    assert!(shorter.error > whole.error, "{whole:?}");
}
