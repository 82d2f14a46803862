//! What tells a matrix in a file of tiles from another one.

use super::{shape_number, Element};
use crate::tiles::layout::Layout;

/// What tells a matrix from another one: of its dimensions, its tiles' order and numbers, and their
/// checksums in the order of the layout, by FNV-1a of 64 bits. It is never zero, and does not
/// depend on where in its file a tile is, nor on how often it was written.
pub(in crate::tiles) fn fingerprint(
    element: Element,
    layout: &Layout,
    sums: impl Iterator<Item = u32>,
) -> u64 {
    let facts = [
        element.bytes() as u64,
        u64::from(shape_number(layout.shape())),
        layout.rows() as u64,
        layout.cols() as u64,
        layout.tile() as u64,
    ];
    let facts = facts.into_iter().flat_map(u64::to_le_bytes);
    let hash = facts
        .chain(sums.flat_map(u32::to_le_bytes))
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
    hash.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiles::layout::Shape;

    #[test]
    fn a_fingerprint_is_that_of_one_matrix() {
        let layout = |n, tile, shape| Layout::new(n, n, tile, shape).unwrap();
        let of = |element, layout: &Layout, sums: &[u32]| {
            fingerprint(element, layout, sums.iter().copied())
        };
        let usual = layout(70, 70, Shape::Triangle);
        // FNV-1a of those 44 bytes, which files keep for years.
        assert_eq!(of(Element::F64, &usual, &[7]), 0xf60f_ae5b_d7ae_ab5d);
        let all = [
            of(Element::F64, &usual, &[7]),
            of(Element::F32, &usual, &[7]),
            of(Element::F64, &usual, &[8]),
            of(Element::F64, &layout(70, 70, Shape::Full), &[7]),
            of(Element::F64, &layout(69, 69, Shape::Triangle), &[7]),
            of(
                Element::F64,
                &layout(70, 33, Shape::Triangle),
                &[7, 8, 9, 10, 11, 12],
            ),
            of(
                Element::F64,
                &layout(70, 33, Shape::Triangle),
                &[8, 7, 9, 10, 11, 12],
            ),
        ];
        let different: std::collections::HashSet<u64> = all.into_iter().collect();
        assert_eq!(different.len(), all.len());
    }
}
