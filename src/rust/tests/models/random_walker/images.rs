use super::model::segment;
use super::model::{seeded, Picture};
use cudafactor::base::error::Error;

#[test]
fn gray_images_agree_with_the_model() {
    for dims in [[11, 14, 1], [1, 40, 1], [37, 1, 1], [25, 6, 1]] {
        let picture = Picture::new(dims, 1, 7);
        let n = picture.pixels();
        let seeds = seeded(n, &[(2, 1), (3, 1), (n / 2, 2), (n - 1, 3)]);
        picture.agree(&seeds, 130.0, 1e-9);
        picture.agree(&seeds, 0.0, 1e-11);
    }
}

#[test]
fn channels_volumes_and_spacing_agree_with_the_model() {
    for (dims, channels) in [
        ([9, 12, 1], 3),
        ([5, 6, 7], 1),
        ([4, 5, 6], 2),
        ([1, 8, 9], 1),
    ] {
        let mut picture = Picture::new(dims, channels, 3);
        let n = picture.pixels();
        let seeds = seeded(n, &[(0, 4), (n / 3, 2), (n - 2, 9)]);
        let plain = picture.agree(&seeds, 130.0, 1e-9);
        picture.spacing = [0.7, 2.0, 1.5];
        let spaced = picture.agree(&seeds, 130.0, 1e-9);
        assert_ne!(plain.probabilities, spaced.probabilities);
    }
}

#[test]
fn a_constant_image_has_equal_weights() {
    for value in [0.0, 0.1] {
        let mut picture = Picture::new([7, 7, 1], 1, 1);
        picture.values.fill(value);
        let answer = picture.segment(&seeded(49, &[(21, 5), (27, 3)]), 130.0);
        let p = answer.probabilities.unwrap();
        assert_eq!(answer.values, [3, 5]);
        // Seeds at the ends of the fourth column: mirror images.
        assert!((0..7).all(|i| (p[21 + i] - p[49 + 27 - i]).abs() < 1e-12));
        // What is as far from both is the lower label's.
        let answer = picture.segment(&seeded(49, &[(3, 5), (45, 3)]), 130.0);
        assert!((21..28).all(|p| answer.labels[p] == 3));
        assert!((0..21).all(|p| answer.labels[p] == 5));
    }
}

#[test]
fn edges_at_the_smallest_weight_keep_their_accuracy() {
    // Two flat halves with a step between that leaves only the smallest weights; the left one has
    // no seed but through it.
    let mut picture = Picture::new([12, 12, 1], 1, 1);
    for (p, v) in picture.values.iter_mut().enumerate() {
        *v = if p < 72 { 0.0 } else { 1.0 };
    }
    let seeds = seeded(144, &[(72 + 3, 1), (143, 2)]);
    let answer = picture.segment(&seeds, 1000.0);
    let p = answer.probabilities.unwrap();
    // Every crossing is as likely as any other from a half whose walks are long: the mean of the
    // probabilities beyond the step.
    let beyond = (72..84).map(|q| p[q]).sum::<f64>() / 12.0;
    assert!(
        (0..72).all(|q| (p[q] - beyond).abs() < 1e-7),
        "{} {beyond}",
        p[0]
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    let picture = Picture::new([4, 5, 1], 1, 1);
    let seeds = seeded(20, &[(0, 1), (19, 2)]);
    let argument = |e: Error| match e {
        Error::Argument { argument, .. } | Error::NonFiniteIn { argument } => argument,
        Error::Dimension { .. } => "dimension",
        _ => "other",
    };
    let refused = |picture: &Picture, seeds: &[i32], beta| {
        argument(segment(picture.image(), seeds, beta, false).unwrap_err())
    };
    assert_eq!(refused(&picture, &seeds, f64::NAN), "beta");
    assert_eq!(refused(&picture, &seeds, -1.0), "beta");
    assert_eq!(refused(&picture, &[0; 20], 1.0), "seeds");
    assert_eq!(refused(&picture, &[-1; 20], 1.0), "seeds");
    assert_eq!(refused(&picture, &seeds[1..], 1.0), "dimension");
    for bad in [f64::NAN, f64::INFINITY, 1e200] {
        let mut picture = picture.clone();
        picture.values[7] = bad;
        assert_eq!(refused(&picture, &seeds, 1.0), "image");
    }
    let mut narrow = picture.clone();
    narrow.spacing[1] = 0.0;
    assert_eq!(refused(&narrow, &seeds, 1.0), "spacing");
    let mut short = picture.clone();
    short.values.pop();
    assert_eq!(refused(&short, &seeds, 1.0), "dimension");
}
