use std::cell::Cell;
use std::time::Duration;

use super::model::segment;
use super::model::{seeded, Picture};
use cudafactor::algo::segmentation::graph::Graph;
use cudafactor::algo::segmentation::image::Image;
use cudafactor::algo::segmentation::seeds::{labels, whole};
use cudafactor::base::error::Error;
use cudafactor::base::interrupt;

#[test]
fn pixels_that_are_left_out_cut_the_graph() {
    let picture = Picture::new([10, 12, 1], 1, 5);
    let mut seeds = seeded(120, &[(0, 1), (57, 2), (119, 3)]);
    for p in [1, 15, 16, 17, 44, 70, 71, 72] {
        seeds[p] = -1;
    }
    picture.agree(&seeds, 130.0, 1e-11);
    // Any label below 0 leaves out.
    let other: Vec<i32> = seeds.iter().map(|s| if *s < 0 { -7 } else { *s }).collect();
    assert_eq!(
        picture.segment(&other, 130.0),
        picture.segment(&seeds, 130.0)
    );
}

#[test]
fn numbers_that_are_no_seeds_are_refused() {
    let missing = Error::NonFiniteIn { argument: "seeds" };
    assert_eq!(
        whole(&[3.0, 0.0, -1.0, 2147483647.0]),
        Ok(vec![3, 0, -1, i32::MAX])
    );
    for x in [f64::NAN, f64::INFINITY] {
        assert_eq!(whole(&[1.0, x]), Err(missing.clone()));
    }
    for x in [0.5, 2147483648.0, -2147483648.0] {
        assert!(
            matches!(whole(&[1.0, x]), Err(Error::Argument { .. })),
            "{x}"
        );
    }
    assert_eq!(labels(&[0, 7, 7, -3, 2, 7]), Ok(vec![2, 7]));
    assert_eq!(labels(&[5, i32::MIN]), Err(missing.clone()));
    let image = Image {
        values: &[0.0; 4],
        dims: [2, 2, 1],
        channels: 1,
        spacing: [1.0; 3],
    };
    let segmented = segment(image, &[1, 0, i32::MIN, 2], 130.0, false);
    assert_eq!(segmented, Err(missing));
}

#[test]
fn islands_without_a_seed_have_no_label() {
    let picture = Picture::new([9, 9, 1], 1, 5);
    let mut seeds = seeded(81, &[(40, 6), (80, 2)]);
    // Column 1 is left out: column 0 is an island.
    (9..18).for_each(|p| seeds[p] = -1);
    let answer = picture.segment(&seeds, 130.0);
    assert!(answer.labels[..18].iter().all(|l| *l == -1));
    assert!(answer.labels[18..].iter().all(|l| *l == 2 || *l == 6));
    let p = answer.probabilities.unwrap();
    assert!((0..18).all(|i| p[i] == 0.0 && p[81 + i] == 0.0));
    // The rest is as if the island were left out.
    (0..9).for_each(|p| seeds[p] = -1);
    picture.agree(&seeds, 130.0, 1e-11);
}

#[test]
fn seeds_that_touch_nothing_unknown_come_back() {
    let picture = Picture::new([8, 8, 1], 1, 5);
    let mut seeds = seeded(64, &[(0, 9), (8, 9), (40, 4), (63, 2)]);
    for p in [1, 9, 16, 17] {
        seeds[p] = -1;
    }
    let answer = picture.agree(&seeds, 130.0, 1e-11);
    assert_eq!(answer.values, [2, 4, 9]);
    assert_eq!((answer.labels[0], answer.labels[8]), (9, 9));
    assert!((18..64).all(|p| answer.labels[p] != 9));
}

#[test]
fn parts_with_seeds_of_their_own_are_solved_each() {
    let picture = Picture::new([10, 11, 1], 1, 8);
    let mut seeds = seeded(110, &[(3, 1), (108, 2), (60, 5)]);
    (50..60).for_each(|p| seeds[p] = -1);
    let answer = picture.agree(&seeds, 130.0, 1e-11);
    assert!(answer.labels[..50].iter().all(|l| *l == 1));
    // The line between the halves is left out, so that nothing is eliminated there.
    let picture = Picture::new([21, 8, 1], 1, 8);
    let mut seeds = seeded(168, &[(3, 1), (20, 2), (60, 5), (150, 4), (167, 3)]);
    (0..7).for_each(|c| seeds[21 * c + 10] = -1);
    picture.agree(&seeds, 130.0, 1e-9);
    seeds[157] = -1;
    picture.agree(&seeds, 130.0, 1e-9);
}

#[test]
fn nothing_to_seek_and_one_label_are_trivial() {
    let picture = Picture::new([6, 7, 1], 1, 8);
    let all: Vec<i32> = (0..42)
        .map(|p| if p == 4 { -1 } else { 3 + p % 2 })
        .collect();
    let answer = picture.agree(&all, 130.0, 1e-15);
    assert_eq!(answer.labels, all);
    let one = picture.agree(&seeded(42, &[(17, i32::MAX)]), 130.0, 1e-11);
    assert!(one.labels.iter().all(|l| *l == i32::MAX));
    assert!(one.probabilities.unwrap().iter().all(|p| *p == 1.0));
    let single = Picture::new([1, 1, 1], 1, 8);
    assert_eq!(single.segment(&[3], 130.0).labels, [3]);
}

#[test]
fn renamed_labels_rename_the_answer() {
    let picture = Picture::new([20, 21, 1], 1, 2);
    let places = [(5, 1), (200, 2), (333, 3), (419, 4), (100, 2)];
    let names = [0, 70, 3, 1000, 8];
    let renamed = places.map(|(p, l)| (p, names[l as usize]));
    let first = picture.segment(&seeded(420, &places), 130.0);
    let second = picture.segment(&seeded(420, &renamed), 130.0);
    assert_eq!(second.values, [3, 8, 70, 1000]);
    for (a, b) in first.labels.iter().zip(&second.labels) {
        assert_eq!(names[*a as usize], *b);
    }
    let (p, q) = (first.probabilities.unwrap(), second.probabilities.unwrap());
    for (k, name) in (0..4).zip(&names[1..]) {
        let at = second.values.binary_search(name).unwrap();
        for i in 0..420 {
            assert!((p[k * 420 + i] - q[at * 420 + i]).abs() < 1e-12);
        }
    }
}

#[test]
fn many_labels_are_solved_in_blocks() {
    let picture = Picture::new([30, 31, 1], 1, 4);
    let places: Vec<(usize, i32)> = (0..21).map(|k| (11 + 43 * k, 1 + k as i32)).collect();
    let seeds = seeded(930, &places);
    let answer = picture.agree(&seeds, 130.0, 1e-11);
    let plain = segment(picture.image(), &seeds, 130.0, false).unwrap();
    assert_eq!(plain.probabilities, None);
    assert_eq!(plain.labels, answer.labels);
}

/// Pixels are gone through some at a time, and the last ones of an axis have no next one. Only the
/// last pixel has no seed, and beside it are those of labels 1, 2 and so on.
#[test]
fn large_images_are_gone_through_to_their_ends() {
    for dims in [
        [1025, 1024, 1],
        [300, 300, 12],
        [600, 600, 3],
        [1 << 20, 2, 1],
    ] {
        let pixels: usize = dims.iter().product();
        let values: Vec<f64> = (0..pixels).map(|p| (p * 37 % 101) as f64 / 101.0).collect();
        let image = Image {
            values: &values,
            dims,
            channels: 1,
            spacing: [1.0; 3],
        };
        let (last, beta) = (pixels - 1, 20.0);
        let mut seeds = vec![1; pixels];
        seeds[last] = 0;
        let mean = values.iter().sum::<f64>() / pixels as f64;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / pixels as f64;
        let (mut weights, mut stride) = (Vec::new(), 1);
        for length in dims {
            if length > 1 {
                let beside = last - stride;
                let d = values[last] - values[beside];
                weights.push((-beta * d * d / (10.0 * variance.sqrt())).exp() + 1e-10);
                seeds[beside] = weights.len() as i32;
            }
            stride *= length;
        }
        let answer = segment(image, &seeds, beta, true).unwrap();
        let all = answer.probabilities.unwrap();
        let sum: f64 = weights.iter().sum();
        let mut best = 0;
        for (k, w) in weights.iter().enumerate() {
            let p = all[k * pixels + last];
            assert!((p - w / sum).abs() < 1e-9, "{dims:?}, label {k}: {p}");
            best = if *w > weights[best] { k } else { best };
        }
        assert!(weights.windows(2).all(|w| (w[0] - w[1]).abs() > 1e-3));
        assert_eq!(answer.labels[last], 1 + best as i32);
        assert!(answer.labels[..last] == seeds[..last]);
    }
}

#[test]
fn weights_that_leave_the_range_are_refused() {
    let values = [0.0, 0.0, 1e-3, 1e-3];
    let image = Image {
        values: &values,
        dims: [2, 2, 1],
        channels: 1,
        spacing: [1.0; 3],
    };
    let refused = |image, beta| match segment(image, &[1, 0, 0, 2], beta, false) {
        Err(Error::Argument { argument, .. }) => argument,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(image, 1e308), "beta");
    let values = [0.0, 0.0, 1.0, 1.0];
    let spacing = [1e-170, 1.0, 1.0];
    let near = Image {
        values: &values,
        spacing,
        ..image
    };
    assert_eq!(refused(near, 130.0), "spacing");
    assert_eq!(refused(near, 0.0), "spacing");
}

/// A squared difference beyond the range of numbers is as good as the largest number, which 0
/// makes 0.
#[test]
fn differences_beyond_the_range_count_for_nothing_without_beta() {
    let image = Image {
        values: &[9e153, -9e153, 0.0],
        dims: [3, 1, 1],
        channels: 1,
        spacing: [1.0; 3],
    };
    let half = segment(image, &[1, 0, 2], 0.0, true).unwrap();
    let p = half.probabilities.unwrap();
    assert!(
        (p[1] - 0.5).abs() < 1e-15 && (p[4] - 0.5).abs() < 1e-15,
        "{p:?}"
    );
    let far = segment(image, &[1, 0, 2], 130.0, true).unwrap();
    assert!(far.probabilities.unwrap().iter().all(|p| p.is_finite()));
}

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

/// How often the user is asked while a graph of 1025 x 1025 pixels is made with one seed, at the
/// end.
fn looks(first: i32) -> usize {
    let made = move || {
        // So long that each look asks again.
        interrupt::install(|| {
            std::thread::sleep(Duration::from_millis(60));
            ASKED.set(ASKED.get() + 1);
            false
        });
        let values = vec![0.5; 1025 * 1025];
        let image = Image {
            values: &values,
            dims: [1025, 1025, 1],
            channels: 1,
            spacing: [1.0; 3],
        };
        let seeds = seeded(values.len(), &[(0, first), (values.len() - 1, 1)]);
        Graph::new(image, seeds, 1.0).unwrap();
        ASKED.get()
    };
    // A separate thread, as the question stays installed.
    std::thread::spawn(made).join().unwrap()
}

/// Only where a pixel is left out those that a seed reaches are sought: two looks are for the
/// pixels that may be a seed, and one is for those that the last pixel reaches.
#[test]
fn the_wish_to_stop_is_heard_among_pixels_that_a_seed_reaches() {
    assert_eq!(looks(-1), looks(0) + 3);
}
