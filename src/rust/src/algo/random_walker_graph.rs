//! The graph of an image whose pixels are joined to their neighbours, and its Laplacian reduced to the pixels without a seed.

use super::lp_csc::Csc;
use super::random_walker_image::{weights, wrong, Image, AT_ONCE};
use super::random_walker_system::{Link, System};
use crate::error::{Error, Result};
use crate::interrupt;

/// The class of a pixel that is not in the graph, and of one without a seed; smaller classes are numbers of labels.
const OUT: u32 = u32::MAX;
pub(super) const UNKNOWN: u32 = u32::MAX - 1;

/// An empty vector with room for `len` entries.
pub(super) fn room<T>(len: usize) -> Result<Vec<T>> {
    let mut v = Vec::new();
    v.try_reserve_exact(len).map_err(|_| Error::HostMemory {
        needed: (len as u64).saturating_mul(size_of::<T>() as u64),
    })?;
    Ok(v)
}

pub(super) fn filled<T: Clone>(len: usize, value: T) -> Result<Vec<T>> {
    let mut v = room(len)?;
    v.resize(len, value);
    Ok(v)
}

/// What is beside a pixel.
pub(super) enum Neighbour {
    Unknown,
    /// With the number of its label.
    Seed(u32),
}

/// The grid of an image with a weight on every pair of neighbours, and what is known of its pixels.
#[derive(Debug)]
pub struct Graph {
    dims: [usize; 3],
    /// Of an axis, the weight between each pixel and the next along it; empty where that has one pixel.
    weights: [Vec<f64>; 3],
    classes: Vec<u32>,
    /// In ascending order.
    labels: Vec<i32>,
    unreached: usize,
}

impl Graph {
    /// The graph of an image and its seeds: labels above 0, 0 where the label is sought, below 0 where a pixel is left out. A pixel that no seed reaches is left out as well.
    ///
    /// Neighbours whose values differ by `d_c` in channel c have the weight `exp(-beta sum_c d_c^2 / (10 s sqrt(C))) + 1e-10`, `s` the standard deviation of all values and `C` the
    /// number of channels.
    ///
    /// # Errors
    /// [`Error::Dimension`] where sizes do not fit together, [`Error::Argument`] for a `beta`, `spacing` or `seeds` that make no sense (without any label, for one), and
    /// [`Error::NonFiniteIn`] for an image with NaN or infinite values.
    pub fn new(image: Image<'_>, seeds: &[i32], beta: f64) -> Result<Self> {
        let pixels = image.check()?;
        if seeds.len() != pixels {
            return Err(Error::Dimension {
                what: "seeds and image differ in size".into(),
            });
        }
        if !(beta.is_finite() && beta >= 0.0) {
            return Err(wrong("beta", "must be finite and not negative"));
        }
        let (labels, classes) = classes(seeds)?;
        let deviation = image.deviation()?;
        let channels = (image.channels as f64).sqrt();
        // Where all pixels are equal there is no difference to scale.
        let scale = match 10.0 * deviation * channels {
            s if s > 0.0 => -beta / s,
            _ => 0.0,
        };
        let mut graph = Graph {
            dims: image.dims,
            weights: [Vec::new(), Vec::new(), Vec::new()],
            classes,
            labels,
            unreached: 0,
        };
        for axis in 0..3 {
            if image.dims[axis] > 1 {
                graph.weights[axis] = weights(&image, axis, scale)?;
            }
        }
        graph.leave_islands_out()?;
        Ok(graph)
    }

    /// The extents of the grid.
    pub fn dims(&self) -> [usize; 3] {
        self.dims
    }

    /// Every label there is, in ascending order.
    pub fn labels(&self) -> &[i32] {
        &self.labels
    }

    pub fn pixels(&self) -> usize {
        self.classes.len()
    }

    /// How many pixels were to get a label, but no seed reaches them.
    pub fn unreached(&self) -> usize {
        self.unreached
    }

    /// Whether the label of this pixel is sought.
    pub fn is_unknown(&self, pixel: usize) -> bool {
        self.classes[pixel] == UNKNOWN
    }

    /// The number of a seed's label.
    pub fn seed(&self, pixel: usize) -> Option<usize> {
        let class = self.classes[pixel];
        (class < UNKNOWN).then_some(class as usize)
    }

    /// Calls `f` with the class and number of every neighbour in the graph, and the weight between.
    #[inline]
    fn neighbours(&self, pixel: usize, mut f: impl FnMut(usize, f64)) {
        let (mut stride, mut rest) = (1, pixel);
        for (extent, weights) in self.dims.iter().zip(&self.weights) {
            let at = rest % extent;
            rest /= extent;
            if at > 0 {
                f(pixel - stride, weights[pixel - stride]);
            }
            if at + 1 < *extent {
                f(pixel + stride, weights[pixel]);
            }
            stride *= extent;
        }
    }

    /// Calls `f` with what is beside a pixel in the graph, and the weight between.
    pub(super) fn beside(&self, pixel: usize, mut f: impl FnMut(Neighbour, f64)) {
        self.neighbours(pixel, |q, weight| match self.classes[q] {
            OUT => {}
            UNKNOWN => f(Neighbour::Unknown, weight),
            label => f(Neighbour::Seed(label), weight),
        });
    }

    /// The numbers of labels with a seed beside one of these pixels, in ascending order.
    pub(super) fn touching(&self, unknown: &[u32]) -> Result<Vec<u32>> {
        let mut touching = filled(self.labels.len(), false)?;
        for (j, p) in unknown.iter().enumerate() {
            if j % AT_ONCE == 0 {
                interrupt::poll()?;
            }
            self.beside(*p as usize, |q, _| {
                if let Neighbour::Seed(label) = q {
                    touching[label as usize] = true;
                }
            });
        }
        let labels = (0u32..).zip(touching);
        Ok(labels.filter_map(|(k, t)| t.then_some(k)).collect())
    }

    /// The matrix of the unknown pixels' system as [`crate::stencil`] has operators, on the whole grid: of other pixels the diagonal is 1.
    pub(super) fn couplings(&self, out: &mut [f64]) -> Result<()> {
        let n = self.pixels();
        let (excess, couplings) = out.split_at_mut(n);
        for (p, e) in excess.iter_mut().enumerate() {
            if p % AT_ONCE == 0 {
                interrupt::poll()?;
            }
            if !self.is_unknown(p) {
                *e = 1.0;
                continue;
            }
            self.beside(p, |q, weight| {
                if let Neighbour::Seed(_) = q {
                    *e += weight;
                }
            });
        }
        let mut stride = 1;
        let axes = self.weights.iter().zip(self.dims);
        for ((weights, extent), to) in axes.zip(couplings.chunks_exact_mut(n.max(1))) {
            interrupt::poll()?;
            for (p, w) in weights.iter().enumerate().take(n.saturating_sub(stride)) {
                if self.is_unknown(p) && self.is_unknown(p + stride) {
                    to[p] = *w;
                }
            }
            stride *= extent;
        }
        Ok(())
    }

    /// Unknown pixels that no path of unknown pixels joins to a seed have no solution.
    fn leave_islands_out(&mut self) -> Result<()> {
        // A whole grid has no islands.
        if !self.classes.contains(&OUT) {
            return Ok(());
        }
        let mut reached = filled(self.pixels(), false)?;
        let mut front = Vec::new();
        for first in 0..self.pixels() {
            if first % AT_ONCE == 0 {
                interrupt::poll()?;
            }
            if self.seed(first).is_none() {
                continue;
            }
            front.push(first);
            while let Some(pixel) = front.pop() {
                self.neighbours(pixel, |q, _| {
                    if self.is_unknown(q) && !reached[q] {
                        reached[q] = true;
                        front.push(q);
                    }
                });
            }
        }
        for (class, reached) in self.classes.iter_mut().zip(reached) {
            if *class == UNKNOWN && !reached {
                *class = OUT;
                self.unreached += 1;
            }
        }
        Ok(())
    }

    /// The pixels whose labels are sought, in ascending order.
    pub fn unknown(&self) -> Result<Vec<u32>> {
        let count = self.classes.iter().filter(|c| **c == UNKNOWN).count();
        let mut unknown = room(count)?;
        let all = (0u32..).zip(&self.classes);
        unknown.extend(all.filter(|(_, c)| **c == UNKNOWN).map(|(p, _)| p));
        Ok(unknown)
    }

    /// The equations of the unknown pixels, each named once in `order`: unknown j is pixel `order[j]`. Of the matrix all entries are made, or those on and below the diagonal.
    pub fn system(&self, order: Vec<u32>, full: bool) -> Result<System> {
        let n = order.len();
        let mut places = filled(self.pixels(), u32::MAX)?;
        for (j, p) in (0u32..).zip(&order) {
            places[*p as usize] = j;
        }
        let axes = self.weights.iter().filter(|w| !w.is_empty()).count();
        let most = (1 + axes * if full { 2 } else { 1 }) * n;
        let (mut starts, mut index, mut values) = (room(n + 1)?, room(most)?, room(most)?);
        let mut links = Vec::new();
        starts.push(0);
        for (j, p) in order.iter().enumerate() {
            if j % AT_ONCE == 0 {
                interrupt::poll()?;
            }
            let mut column = [(0, 0.0); 7];
            let (mut length, mut diagonal) = (1, 0.0);
            self.neighbours(*p as usize, |q, weight| match self.classes[q] {
                OUT => {}
                UNKNOWN => {
                    diagonal += weight;
                    let i = places[q] as usize;
                    if full || i > j {
                        column[length] = (i, -weight);
                        length += 1;
                    }
                }
                label => {
                    diagonal += weight;
                    links.push(Link {
                        unknown: j as u32,
                        label,
                        weight,
                    });
                }
            });
            column[0] = (j, diagonal);
            let column = &mut column[..length];
            column.sort_unstable_by_key(|(i, _)| *i);
            index.extend(column.iter().map(|(i, _)| *i));
            values.extend(column.iter().map(|(_, v)| *v));
            starts.push(index.len());
        }
        Ok(System {
            matrix: Csc {
                rows: n,
                starts,
                index,
                values,
            },
            order,
            links,
        })
    }
}

/// The labels there are, in ascending order, and the class of every pixel.
fn classes(seeds: &[i32]) -> Result<(Vec<i32>, Vec<u32>)> {
    let mut labels = Vec::new();
    let mut last = 0;
    for seed in seeds {
        // Seeds come in runs.
        if *seed > 0 && *seed != last {
            last = *seed;
            if let Err(at) = labels.binary_search(seed) {
                labels.insert(at, *seed);
            }
        }
    }
    if labels.is_empty() {
        return Err(wrong("seeds", "must have a label above 0 somewhere"));
    }
    let mut classes = room(seeds.len())?;
    classes.extend(seeds.iter().map(|seed| match seed {
        0 => UNKNOWN,
        s if *s < 0 => OUT,
        s => labels.binary_search(s).map_or(OUT, |at| at as u32),
    }));
    Ok((labels, classes))
}
