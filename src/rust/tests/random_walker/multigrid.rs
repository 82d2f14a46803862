//! The iterative solver against the direct one.

use super::model::{seeded, Picture};
use cudafactor::algo::random_walker::segment_graph;
use cudafactor::algo::random_walker_graph::Graph;
use cudafactor::algo::random_walker_multigrid::{segment_graph_multigrid, Accuracy, Iterated};
use cudafactor::backend::cpu::CpuDevice;

const ACCURACY: Accuracy = Accuracy {
    tol: 1e-9,
    maxit: 200,
};

/// Both answers' labels and probabilities must agree.
fn agree(picture: &Picture, seeds: &[i32], beta: f64, threads: usize, within: f64) -> Iterated {
    let graph = Graph::new(picture.image(), seeds, beta).unwrap();
    let (n, k) = (graph.pixels(), graph.labels().len());
    let (mut labels, mut all) = (vec![0; n], vec![0.0; n * k]);
    segment_graph(&graph, &mut labels, Some(&mut all)).unwrap();
    let (mut found, mut probabilities) = (vec![7; n], vec![0.5; n * k]);
    let device = CpuDevice::new(threads);
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
        for threads in [1, 2] {
            let done = agree(&picture, &seeds, 130.0, threads, 1e-7);
            assert!(done.iterations < 60, "{dims:?} {done:?}");
        }
        if n > 100 {
            // Pixels that are left out, in a band with a gap, and some of them alone.
            for p in (n / 3..n / 3 + dims[0].min(30)).chain([5, 50]) {
                seeds[p] = -1;
            }
            seeds[n / 3] = 0;
            agree(&picture, &seeds, 90.0, 2, 1e-7);
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
    agree(&picture, &seeds, 30.0, 2, 1e-7);
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
            2,
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
