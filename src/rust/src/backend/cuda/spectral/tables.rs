//! The merges of a level as the arrays that kernels read.

use crate::base::deflate::Merge;

/// A product: rows `row..` of the columns `col..` of Q become A times S, both in the workspace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Product {
    pub half: usize,
    pub rows: usize,
    pub depth: usize,
    pub cols: usize,
    /// Offsets of A and S in the workspace.
    pub a: usize,
    pub s: usize,
    pub row: usize,
    pub col: usize,
}

/// The layouts are those that `kernels/spectral` describes. Merges that deflate entirely are left
/// out, save for their rotations.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub chains: Vec<i32>,
    pub columns: Vec<i32>,
    pub rotations: Vec<f64>,
    pub owner: Vec<i32>,
    pub merges: Vec<i32>,
    pub lists: Vec<i32>,
    pub rho: Vec<f64>,
    pub d: Vec<f64>,
    pub z: Vec<f64>,
    /// Where S of each merge is in the workspace.
    pub places: Vec<u64>,
    /// Copies from Q to the workspace, and back.
    pub out: Vec<u64>,
    pub back: Vec<u64>,
    pub products: Vec<Product>,
    /// Elements of workspace.
    pub workspace: usize,
}

/// `ld`: elements from column to column of Q.
pub(super) fn tables(level: &[Merge], d: &[f64], z: &[f64], ld: usize) -> Tables {
    let mut t = Tables::default();
    for merge in level {
        let place = merge.place;
        for chain in &merge.chains {
            let first = t.rotations.len() / 2;
            let order = place.end - place.start;
            t.chains
                .extend([first, chain.len(), place.start, order].map(|x| x as i32));
            for r in chain {
                t.columns.extend([r.x as i32, r.y as i32]);
                t.rotations.extend([r.c, r.s]);
            }
        }
    }
    let level: Vec<&Merge> = level.iter().filter(|m| !m.poles.is_empty()).collect();
    t.lists = vec![0; 2 * level.len()];
    for (w, merge) in level.iter().enumerate() {
        let (place, k) = (merge.place, merge.poles.len());
        let sizes = [0, 1].map(|h| merge.halves[h].len());
        let (first, order) = (t.d.len(), place.end - place.start);
        t.owner.extend(std::iter::repeat_n(w as i32, k));
        t.merges
            .extend([first, k, sizes[0], sizes[1]].map(|x| x as i32));
        t.rho.push(merge.rho);
        t.d.extend(merge.poles.iter().map(|&i| d[i]));
        t.z.extend(merge.poles.iter().map(|&i| z[i]));
        let mut copy = |out: &mut Vec<u64>, row: usize, col: usize, rows: usize, back: bool| {
            let (q, work) = ((row + col * ld) as u64, t.workspace as u64);
            out.extend(match back {
                false => [q, work, rows as u64],
                true => [work, q, rows as u64],
            });
            if !back {
                t.workspace += rows;
            }
        };
        let mut offsets = [0; 2];
        let spans = [(place.start, place.mid), (place.mid, place.end)];
        for half in 0..2 {
            let (row, end) = spans[half];
            let mut at = None;
            for &p in &merge.halves[half] {
                let before = t.out.len();
                let mut out = std::mem::take(&mut t.out);
                copy(&mut out, row, merge.poles[p as usize], end - row, false);
                at.get_or_insert(out[before + 1] as usize);
                t.out = out;
            }
            offsets[half] = at.unwrap_or(0);
        }
        for (j, &col) in merge.deflated.iter().enumerate() {
            let to = place.start + k + j;
            copy(&mut t.back, place.start, to, order, true);
            copy(&mut t.out, place.start, col, order, false);
        }
        t.places.push(t.workspace as u64);
        for half in 0..2 {
            t.lists[2 * w + half] = t.lists.len() as i32;
            t.lists.extend(&merge.halves[half]);
            t.products.push(Product {
                half,
                rows: spans[half].1 - spans[half].0,
                depth: sizes[half],
                cols: k,
                a: offsets[half],
                s: t.workspace,
                row: spans[half].0,
                col: place.start,
            });
        }
        t.workspace += k * sizes[0].max(sizes[1]);
    }
    t
}

#[cfg(test)]
#[path = "tables_tests.rs"]
mod tests;
