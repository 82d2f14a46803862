//! The model, solved by Gaussian elimination of all pixels' equations, and images to hold against
//! it.

use cudafactor::algo::segmentation::graph::Graph;
use cudafactor::algo::segmentation::image::Image;
use cudafactor::algo::segmentation::random_walker::segment_graph;
use cudafactor::base::error::Result;

/// The labels of all pixels.
#[derive(Debug, Clone, PartialEq)]
pub struct Segmentation {
    /// Of each pixel its label, or -1 where it is left out or no seed reaches it.
    pub labels: Vec<i32>,
    /// The labels there are, in ascending order.
    pub values: Vec<i32>,
    /// On request, for each of these labels the probabilities of all pixels: 1 or 0 of a seed, all
    /// 0 of a pixel without a label.
    pub probabilities: Option<Vec<f64>>,
}

/// Segments an image by its seeds: a label above 0, 0 where one is sought, below 0 where a pixel is
/// left out.
///
/// # Errors
/// As [`Graph::new`] and [`segment_graph`].
pub fn segment(
    image: Image<'_>,
    seeds: &[i32],
    beta: f64,
    probabilities: bool,
) -> Result<Segmentation> {
    let graph = Graph::new(image, seeds, beta)?;
    let values = graph.labels().to_vec();
    let mut labels = vec![0; graph.pixels()];
    let mut all = if probabilities {
        Some(vec![0.0; graph.pixels() * values.len()])
    } else {
        None
    };
    segment_graph(&graph, &mut labels, all.as_deref_mut())?;
    Ok(Segmentation {
        labels,
        values,
        probabilities: all,
    })
}

/// An image that owns its values.
#[derive(Clone)]
pub struct Picture {
    pub values: Vec<f64>,
    pub dims: [usize; 3],
    pub channels: usize,
    pub spacing: [f64; 3],
}

impl Picture {
    /// Values in [0, 1] that vary smoothly, with some noise.
    pub fn new(dims: [usize; 3], channels: usize, seed: u64) -> Self {
        let pixels: usize = dims.iter().product();
        let mut state = seed;
        let values = (0..pixels * channels).map(|i| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let noise = (state >> 40) as f64 / (1u64 << 24) as f64;
            0.5 + 0.3 * (0.37 * i as f64).sin() + 0.2 * (noise - 0.5)
        });
        Picture {
            values: values.collect(),
            dims,
            channels,
            spacing: [1.0; 3],
        }
    }

    pub fn pixels(&self) -> usize {
        self.dims.iter().product()
    }

    pub fn image(&self) -> Image<'_> {
        Image {
            values: &self.values,
            dims: self.dims,
            channels: self.channels,
            spacing: self.spacing,
        }
    }

    pub fn segment(&self, seeds: &[i32], beta: f64) -> Segmentation {
        segment(self.image(), seeds, beta, true).unwrap()
    }

    fn place(&self, p: usize) -> [usize; 3] {
        let [r, c, _] = self.dims;
        [p % r, p / r % c, p / (r * c)]
    }

    fn weight(&self, p: usize, q: usize, beta: f64) -> Option<f64> {
        let (a, b) = (self.place(p), self.place(q));
        let apart: Vec<usize> = (0..3).filter(|k| a[*k] != b[*k]).collect();
        let [axis] = apart[..] else { return None };
        if a[axis].abs_diff(b[axis]) != 1 {
            return None;
        }
        let n = self.values.len() as f64;
        let mean = self.values.iter().sum::<f64>() / n;
        let s = (self.values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
        let d = (0..self.channels).map(|k| {
            let k = k * self.pixels();
            ((self.values[k + p] - self.values[k + q]) / self.spacing[axis]).powi(2)
        });
        let d: f64 = d.sum();
        Some((-beta * d / (10.0 * s * (self.channels as f64).sqrt())).exp() + 1e-10)
    }

    /// The probabilities of each label for each pixel that is not left out, where every one of
    /// these reaches a seed.
    pub fn dense(&self, seeds: &[i32], beta: f64) -> Vec<(i32, Vec<f64>)> {
        let n = self.pixels();
        let mut labels: Vec<i32> = seeds.iter().copied().filter(|s| *s > 0).collect();
        labels.sort_unstable();
        labels.dedup();
        let k = labels.len();
        // Rows of [A, B]; a seed's or a lone pixel's equation says what it is.
        let mut rows = vec![vec![0.0; n + k]; n];
        for p in 0..n {
            if seeds[p] != 0 {
                rows[p][p] = 1.0;
                if let Ok(at) = labels.binary_search(&seeds[p]) {
                    rows[p][n + at] = 1.0;
                }
                continue;
            }
            for q in (0..n).filter(|q| seeds[*q] >= 0) {
                if let Some(w) = self.weight(p, q, beta) {
                    rows[p][p] += w;
                    rows[p][q] -= w;
                }
            }
        }
        for p in 0..n {
            let pivot = rows[p][p];
            assert!(pivot > 0.0);
            let row = rows[p].clone();
            for (q, other) in rows.iter_mut().enumerate() {
                let f = other[p] / pivot;
                if q != p && f != 0.0 {
                    other.iter_mut().zip(&row).for_each(|(o, r)| *o -= f * r);
                }
            }
        }
        let solution = |at: usize| (0..n).map(|p| rows[p][n + at] / rows[p][p]).collect();
        labels
            .iter()
            .enumerate()
            .map(|(at, l)| (*l, solution(at)))
            .collect()
    }

    /// Holds an answer against the dense one.
    pub fn agree(&self, seeds: &[i32], beta: f64, within: f64) -> Segmentation {
        let (dense, answer) = (self.dense(seeds, beta), self.segment(seeds, beta));
        let (n, probabilities) = (self.pixels(), answer.probabilities.as_ref().unwrap());
        assert!(dense
            .iter()
            .map(|(l, _)| *l)
            .eq(answer.values.iter().copied()));
        for p in 0..n {
            let of = |k: usize| dense[k].1[p];
            let mut best = 0;
            for k in 0..dense.len() {
                let off = (probabilities[k * n + p] - of(k)).abs();
                assert!(off < within, "pixel {p}, label {k}: off by {off:e}");
                if of(k) > of(best) + 1e-9 {
                    best = k;
                }
            }
            let sum: f64 = (0..dense.len()).map(|k| probabilities[k * n + p]).sum();
            if seeds[p] < 0 {
                assert_eq!((answer.labels[p], sum), (-1, 0.0));
            } else {
                assert_eq!(answer.labels[p], answer.values[best]);
                assert!((sum - 1.0).abs() < 1e-12);
            }
        }
        answer
    }
}

/// Seeds of these labels, at these pixels; elsewhere 0.
pub fn seeded(pixels: usize, seeds: &[(usize, i32)]) -> Vec<i32> {
    let mut all = vec![0; pixels];
    seeds.iter().for_each(|(p, l)| all[*p] = *l);
    all
}
