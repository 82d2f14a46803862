//! Aggregates of the rows of a sparse matrix, and the matrix of aggregates.

use super::sparse::{HostAggregates, HostCsr};
use crate::error::Result;
use crate::scalar::try_zeroed;
use crate::sparse::{priority, Rows, DOMINANT, ROUNDS};

/// What is left, and what takes no part; else the first row of the aggregate.
const LEFT: i32 = -1;
const APART: i32 = -2;

/// The strongest neighbour of a row among those that `counts` says, if there is one.
fn strongest(a: &HostCsr, i: usize, counts: impl Fn(usize) -> bool) -> Option<usize> {
    let (index, values) = a.row(i);
    let own = a.diagonal[i].sqrt();
    let mut best: Option<(u64, usize)> = None;
    for (j, v) in index.iter().zip(values) {
        let j = *j as usize;
        if j == i || *v >= 0.0 || !counts(j) {
            continue;
        }
        let strength = -v / (own * a.diagonal[j].sqrt());
        if strength > 0.0 {
            let p = priority(i as u32, j as u32, strength);
            if best.is_none_or(|(most, _)| p > most) {
                best = Some((p, j));
            }
        }
    }
    best.map(|(_, j)| j)
}

fn is_dominant(a: &HostCsr, i: usize) -> bool {
    let (index, values) = a.row(i);
    let others = index.iter().zip(values).filter(|(j, _)| **j as usize != i);
    others.map(|(_, v)| v.abs()).sum::<f64>() <= DOMINANT * a.own[i]
}

pub(super) fn aggregate(a: &HostCsr) -> HostAggregates {
    let n = a.order();
    let start = |i| if is_dominant(a, i) { APART } else { LEFT };
    let mut root: Vec<i32> = (0..n).map(start).collect();
    let mut left: Vec<usize> = (0..n).filter(|i| root[*i] == LEFT).collect();
    let mut best = vec![None; n];
    for _ in 0..ROUNDS {
        for i in &left {
            best[*i] = strongest(a, *i, |j| root[j] == LEFT);
        }
        for i in &left {
            if let Some(j) = best[*i].filter(|j| best[*j] == Some(*i)) {
                root[*i] = j.min(*i) as i32;
            }
        }
        left.retain(|i| root[*i] == LEFT);
    }
    let joined: Vec<i32> = left
        .iter()
        .map(|i| strongest(a, *i, |j| root[j] >= 0).map_or(*i as i32, |j| root[j]))
        .collect();
    left.iter().zip(joined).for_each(|(i, to)| root[*i] = to);
    let (mut number, mut count) = (vec![0; n], 0);
    for (i, root) in root.iter().enumerate() {
        if *root == i as i32 {
            number[i] = count as i32;
            count += 1;
        }
    }
    let of = |k: &i32| usize::try_from(*k).map_or(-1, |k| number[k]);
    numbered(root.iter().map(of).collect(), count)
}

/// With the members of each.
pub(super) fn numbered(aggregate: Vec<i32>, count: usize) -> HostAggregates {
    let mut starts = vec![0; count + 1];
    let known = |k: &i32| usize::try_from(*k).ok();
    for k in aggregate.iter().filter_map(known) {
        starts[k + 1] += 1;
    }
    (0..count).for_each(|k| starts[k + 1] += starts[k]);
    let mut next = starts.clone();
    let mut members = vec![0; starts[count]];
    for (i, k) in aggregate.iter().enumerate() {
        if let Some(k) = known(k) {
            members[next[k]] = i as u32;
            next[k] += 1;
        }
    }
    HostAggregates {
        aggregate,
        starts,
        members,
    }
}

/// Entries of a coarse row are added up in the order in which the members' rows have them.
pub(super) fn coarsen(a: &HostCsr, of: &HostAggregates, scale: f64) -> Result<Rows> {
    let count = of.count();
    let mut out = Rows {
        starts: vec![0; count + 1],
        index: Vec::new(),
        values: Vec::new(),
    };
    let (mut sums, mut met) = (try_zeroed::<f64>(count)?, vec![usize::MAX; count]);
    for k in 0..count {
        let first = out.index.len();
        for i in of.of(k) {
            let (index, values) = a.row(*i as usize);
            for (j, v) in index.iter().zip(values) {
                let Ok(to) = usize::try_from(of.aggregate[*j as usize]) else {
                    continue;
                };
                if met[to] == k {
                    sums[to] += v;
                } else {
                    met[to] = k;
                    sums[to] = *v;
                    out.index.push(to as i32);
                }
            }
        }
        out.index[first..].sort_unstable();
        let found = out.index[first..].iter().map(|to| sums[*to as usize]);
        out.values.extend(found.map(|sum| scale * sum));
        out.starts[k + 1] = out.index.len() as i32;
    }
    Ok(out)
}
