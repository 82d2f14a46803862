//! Deflation: which eigenpairs of two halves stay when the halves are joined.

/// Rows and columns of a merge: `start..mid` and `mid..end`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    pub start: usize,
    pub mid: usize,
    pub end: usize,
}

/// Columns x and y become `c x + s y` and `c y - s x`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rotation {
    pub x: usize,
    pub y: usize,
    pub c: f64,
    pub s: f64,
}

/// What is left of a merge. Columns are those of the whole matrix.
#[derive(Debug, Clone)]
pub(crate) struct Merge {
    pub place: Place,
    pub rho: f64,
    /// Columns of the poles, by ascending values.
    pub poles: Vec<usize>,
    /// The poles whose vectors have rows in the first half, and in the second.
    pub halves: [Vec<i32>; 2],
    /// Columns that stay.
    pub deflated: Vec<usize>,
    /// In each, the y of a rotation is the x of the next one.
    pub chains: Vec<Vec<Rotation>>,
}

/// Deflates the merge at `place` with the off-diagonal entry `off`, in a matrix of norm about 1.
/// On entry z has the halves' outer rows; on
/// return z has norm 1 and is rotated, as d is.
///
/// An entry of z is negligible if its part of `rho z z'` is below the tolerance. Two neighbours are
/// rotated so that one entry of z vanishes, if the off-diagonal entry that D gains is below it.
pub(crate) fn deflate(place: Place, off: f64, eps: f64, d: &mut [f64], z: &mut [f64]) -> Merge {
    let Place { start, mid, end } = place;
    // Both rows have norm 1.
    let rho = 2.0 * off.abs();
    let scale = 0.5f64.sqrt();
    let (mut largest_d, mut largest_z) = (0f64, 0f64);
    for i in start..end {
        z[i] *= if i >= mid { scale.copysign(off) } else { scale };
        largest_z = largest_z.max(z[i].abs());
        largest_d = largest_d.max(d[i].abs());
    }
    // LAPACK's tolerance; its eps is the unit roundoff.
    let tolerance = 4.0 * eps * largest_d.max(largest_z);
    // In which halves a vector has rows.
    let mut rows: Vec<[bool; 2]> = (start..end).map(|i| [i < mid, i >= mid]).collect();
    let (mut poles, mut deflated) = (Vec::new(), Vec::new());
    let mut chains: Vec<Vec<Rotation>> = Vec::new();
    let mut chain: Vec<Rotation> = Vec::new();
    let mut before: Option<usize> = None;
    for i in ascending(start, &d[start..end]) {
        if rho * z[i].abs() <= tolerance {
            deflated.push(i);
            continue;
        }
        if let Some(p) = before {
            let length = z[i].hypot(z[p]);
            let (c, s) = (z[i] / length, -z[p] / length);
            if ((d[i] - d[p]) * c * s).abs() <= tolerance {
                (z[i], z[p]) = (length, 0.0);
                let (low, high) = (d[p], d[i]);
                d[p] = low * c * c + high * s * s;
                d[i] = low * s * s + high * c * c;
                let joined = [0, 1].map(|h| rows[i - start][h] || rows[p - start][h]);
                rows[i - start] = joined;
                chain.push(Rotation { x: p, y: i, c, s });
                deflated.push(p);
            } else {
                poles.push(p);
                if !chain.is_empty() {
                    chains.push(std::mem::take(&mut chain));
                }
            }
        }
        before = Some(i);
    }
    poles.extend(before);
    if !chain.is_empty() {
        chains.push(chain);
    }
    let having = |half: usize| {
        let number = |(k, i): (usize, &usize)| rows[*i - start][half].then_some(k as i32);
        poles.iter().enumerate().filter_map(number).collect()
    };
    let halves = [having(0), having(1)];
    Merge {
        place,
        rho,
        poles,
        halves,
        deflated,
        chains,
    }
}

/// The columns `start..` by ascending values; equal ones keep their order.
pub(crate) fn ascending(start: usize, values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (start..start + values.len()).collect();
    order.sort_by(|a, b| values[a - start].total_cmp(&values[b - start]));
    order
}
