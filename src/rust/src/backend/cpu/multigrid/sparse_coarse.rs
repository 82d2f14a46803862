//! Aggregates of the rows of a sparse matrix, and the matrix of aggregates.

use crate::backend::cpu::multigrid::csr::{HostAggregates, HostCsr};
use crate::base::error::Result;
use crate::base::scalar::{filled, reserve, room, try_zeroed};
use crate::base::sparse::csc::Csc;
use crate::base::sparse::view::look;
use crate::device::sparse::{priority, FAINT, ROUNDS, WEAK};

/// What is left, and what takes no part; else the first row of the aggregate.
const LEFT: i32 = -1;
const APART: i32 = -2;

/// The strongest neighbour of a row among those that `counts` says, if there is one that is not
/// weak: where something `relaxes` beside the row's strongest, else by itself.
fn strongest(
    a: &HostCsr,
    i: usize,
    relaxes: bool,
    counts: impl Fn(usize) -> bool,
) -> Option<usize> {
    let (index, values) = a.matrix.row(i);
    let own = a.diagonal[i].sqrt();
    let (mut best, mut top): (Option<(u64, usize)>, f32) = (None, 0.0);
    for (j, v) in index.iter().zip(values) {
        let j = *j as usize;
        if j == i || *v >= 0.0 {
            continue;
        }
        let strength = -v / (own * a.diagonal[j].sqrt());
        if strength > 0.0 {
            top = top.max(strength as f32);
            let p = priority(i as u32, j as u32, strength);
            if counts(j) && best.is_none_or(|(most, _)| p > most) {
                best = Some((p, j));
            }
        }
    }
    let least = if relaxes { WEAK * top } else { FAINT };
    let best = best.filter(|(most, _)| f32::from_bits((most >> 32) as u32) >= least);
    best.map(|(_, j)| j)
}

fn is_apart(a: &HostCsr, i: usize, apart: f64) -> bool {
    let (index, values) = a.matrix.row(i);
    let others = index.iter().zip(values).filter(|(j, _)| **j as usize != i);
    others.map(|(_, v)| v.abs()).sum::<f64>() <= apart * a.own[i]
}

pub(crate) fn aggregate(a: &HostCsr, apart: f64) -> Result<HostAggregates> {
    let n = a.order();
    let (mut root, mut left) = (filled(n, LEFT)?, room(n)?);
    for (i, root) in root.iter_mut().enumerate() {
        look(i)?;
        if is_apart(a, i, apart) {
            *root = APART;
        } else {
            left.push(i);
        }
    }
    let relaxes = apart >= 0.0;
    let mut best = filled(n, None)?;
    for _ in 0..ROUNDS {
        for (at, i) in left.iter().enumerate() {
            look(at)?;
            best[*i] = strongest(a, *i, relaxes, |j| root[j] == LEFT);
        }
        for i in &left {
            if let Some(j) = best[*i].filter(|j| best[*j] == Some(*i)) {
                root[*i] = j.min(*i) as i32;
            }
        }
        left.retain(|i| root[*i] == LEFT);
    }
    // Whatever joins does so at once: a row that has joined draws no other.
    for i in &left {
        best[*i] = strongest(a, *i, relaxes, |j| root[j] >= 0);
    }
    let of = |i: usize| best[i].map_or(i as i32, |j| root[j]);
    let mut joined: Vec<i32> = room(left.len())?;
    joined.extend(left.iter().map(|i| of(*i)));
    left.iter().zip(joined).for_each(|(i, to)| root[*i] = to);
    let (mut number, mut count) = (try_zeroed::<i32>(n)?, 0);
    for (i, root) in root.iter().enumerate() {
        if *root == i as i32 {
            number[i] = count as i32;
            count += 1;
        }
    }
    for k in &mut root {
        *k = usize::try_from(*k).map_or(-1, |k| number[k]);
    }
    numbered(root, count)
}

/// With the members of each.
pub(crate) fn numbered(aggregate: Vec<i32>, count: usize) -> Result<HostAggregates> {
    let mut starts = filled(count + 1, 0usize)?;
    let known = |k: &i32| usize::try_from(*k).ok();
    for k in aggregate.iter().filter_map(known) {
        starts[k + 1] += 1;
    }
    (0..count).for_each(|k| starts[k + 1] += starts[k]);
    let mut next = filled(count + 1, 0usize)?;
    next.copy_from_slice(&starts);
    let mut members = try_zeroed::<u32>(starts[count])?;
    for (i, k) in aggregate.iter().enumerate() {
        if let Some(k) = known(k) {
            members[next[k]] = i as u32;
            next[k] += 1;
        }
    }
    Ok(HostAggregates {
        aggregate,
        starts,
        members,
    })
}

/// Entries of a coarse row are added up in the order in which the members' rows have them.
pub(crate) fn coarsen(a: &HostCsr, of: &HostAggregates, scale: f64) -> Result<Csc<i32>> {
    let count = of.count();
    let mut out = Csc {
        rows: count,
        starts: filled(count + 1, 0)?,
        index: Vec::new(),
        values: Vec::new(),
    };
    let (mut sums, mut met) = (try_zeroed::<f64>(count)?, filled(count, usize::MAX)?);
    for k in 0..count {
        look(k)?;
        let first = out.index.len();
        for i in of.of(k) {
            let (index, values) = a.matrix.row(*i as usize);
            reserve(&mut out.index, index.len())?;
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
        reserve(&mut out.values, out.index.len() - first)?;
        let found = out.index[first..].iter().map(|to| sums[*to as usize]);
        out.values.extend(found.map(|sum| scale * sum));
        out.starts[k + 1] = out.index.len();
    }
    Ok(out)
}
