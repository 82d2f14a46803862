//! An order in which to eliminate the pixels of a grid: geometric nested dissection.

use crate::base::error::Result;
use crate::base::interrupt;
use crate::base::scalar::room;

/// Parts with up to this many pixels are not halved.
const SMALL: usize = 16;

/// In the place of a child that is not there.
pub const NONE: u32 = u32::MAX;

/// A part of a grid: along each axis the first pixel, and the one after the last.
type Part = [(usize, usize); 3];

/// Pixels that are eliminated one after another, numbered in that order: those of a small part, or
/// those between two halves, which come before them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Node {
    pub first: u32,
    /// One after the last.
    pub end: u32,
    /// The nodes of the halves, or [`NONE`].
    pub children: [u32; 2],
}

/// Pixels in the order of their elimination. Nodes come after their children, and those of a half
/// one after another; a tree's root comes last.
#[derive(Debug, Default)]
pub struct Dissection {
    pub order: Vec<u32>,
    pub nodes: Vec<Node>,
}

/// Of a grid of `dims` (the first varies fastest) the pixels for which `wanted` holds: those of two
/// halves, of each in such an order, and after them those of the line or plane between, which a
/// 5-point or 7-point stencil cannot cross. A Cholesky factor of such a grid of n pixels has O(n
/// log n) entries in two dimensions and O(n^(4/3)) in three (George 1973, "Nested dissection of a
/// regular finite element mesh").
pub fn dissect(dims: [usize; 3], wanted: impl Fn(usize) -> bool) -> Result<Dissection> {
    let pixels = dims.iter().product();
    let count = (0..pixels).filter(|p| wanted(*p)).count();
    let mut all = Halves {
        dims,
        wanted,
        done: Dissection {
            order: room(count)?,
            nodes: Vec::new(),
        },
    };
    all.part(dims.map(|d| (0, d)))?;
    Ok(all.done)
}

/// About how many multiplications a Cholesky factor of a whole grid in that order takes, of those
/// pairs with a subtraction each: as if halves were alike, and all sides of a part but the grid's
/// own had pixels beside them that come later.
pub fn multiplications(dims: [usize; 3]) -> f64 {
    let (mut lengths, mut cuts) = (dims.map(|d| d as f64), [0.0f64; 3]);
    let (mut all, mut parts) = (0.0, 1.0);
    while lengths.iter().product::<f64>() > SMALL as f64 {
        let mut axis = 0;
        (1..3).for_each(|a| {
            if lengths[a] > lengths[axis] {
                axis = a;
            }
        });
        let face = |a: usize| lengths[(a + 1) % 3] * lengths[(a + 2) % 3];
        let own = face(axis);
        let beside: f64 = (0..3).map(|a| cuts[a].min(2.0) * face(a)).sum();
        all += parts
            * (own * own * own / 6.0 + own * own * beside / 2.0 + own * beside * beside / 2.0);
        lengths[axis] = (lengths[axis] - 1.0) / 2.0;
        cuts[axis] += 1.0;
        parts *= 2.0;
    }
    all
}

struct Halves<W> {
    dims: [usize; 3],
    wanted: W,
    done: Dissection,
}

impl<W: Fn(usize) -> bool> Halves<W> {
    /// The node that is eliminated last in a part, if that has any pixels.
    fn part(&mut self, part: Part) -> Result<u32> {
        let lengths = part.map(|(first, end)| end - first);
        let pixels: usize = lengths.iter().product();
        let mut children = [NONE; 2];
        let mut own = part;
        if pixels > SMALL {
            interrupt::poll()?;
            let mut axis = 0;
            (1..3).for_each(|a| {
                if lengths[a] > lengths[axis] {
                    axis = a;
                }
            });
            let (first, end) = part[axis];
            let middle = first + (end - first) / 2;
            own[axis] = (middle, middle + 1);
            let mut half = part;
            half[axis] = (first, middle);
            children[0] = self.part(half)?;
            half[axis] = (middle + 1, end);
            children[1] = self.part(half)?;
        }
        let first = self.done.order.len();
        self.push(own);
        let end = self.done.order.len();
        Ok(match children {
            // Nothing between the halves: one of them is all there is.
            [NONE, other] | [other, NONE] if first == end => other,
            _ => {
                self.done.nodes.push(Node {
                    first: first as u32,
                    end: end as u32,
                    children,
                });
                (self.done.nodes.len() - 1) as u32
            }
        })
    }

    fn push(&mut self, [rows, columns, slices]: Part) {
        for s in slices.0..slices.1 {
            for c in columns.0..columns.1 {
                let line = self.dims[0] * (c + self.dims[1] * s);
                for p in line + rows.0..line + rows.1 {
                    if (self.wanted)(p) {
                        self.done.order.push(p as u32);
                    }
                }
            }
        }
    }
}
