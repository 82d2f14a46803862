//! Operands of a product as the kernels on the tensor cores read them: contiguous along one
//! dimension.

/// How an operand lies in memory: its lines (rows of A, columns of B) side by side, or the steps of
/// its depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperandLayout {
    Lines,
    Depth,
}

/// An operand as the kernels read it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KernelOperand {
    pub ptr: u64,
    pub layout: OperandLayout,
    /// Elements from one line or step to the next, along the dimension that is not contiguous.
    pub ld: i64,
}

impl KernelOperand {
    /// `lines` and `depth`: the size and the stride of each dimension. None where neither is
    /// contiguous.
    pub(crate) fn of(ptr: u64, lines: (usize, i64), depth: (usize, i64)) -> Option<KernelOperand> {
        // The stride of a dimension of one element means nothing.
        let layout = if depth.1 == 1 && (lines.1 != 1 || lines.0 == 1) {
            OperandLayout::Depth
        } else if lines.1 == 1 || lines.0 == 1 {
            OperandLayout::Lines
        } else if depth.0 == 1 {
            OperandLayout::Depth
        } else {
            return None;
        };
        // Nor does its stride where it is the other dimension, and zero is a stride that keeps
        // operands aligned.
        let ld = match layout {
            OperandLayout::Lines if depth.0 == 1 => 0,
            OperandLayout::Lines => depth.1,
            OperandLayout::Depth if lines.0 == 1 => 0,
            OperandLayout::Depth => lines.1,
        };
        Some(KernelOperand { ptr, layout, ld })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_read_along_what_is_contiguous() {
        let of = |lines, depth| KernelOperand::of(8, lines, depth).map(|o| (o.layout, o.ld));
        assert_eq!(of((5, 1), (7, 6)), Some((OperandLayout::Lines, 6)));
        assert_eq!(of((5, 6), (7, 1)), Some((OperandLayout::Depth, 6)));
        assert_eq!(of((1, 1), (7, 1)), Some((OperandLayout::Depth, 0)));
        assert_eq!(of((5, 1), (1, 1)), Some((OperandLayout::Lines, 0)));
        assert_eq!(of((1, 3), (7, 6)), Some((OperandLayout::Lines, 6)));
        assert_eq!(of((5, 6), (1, 3)), Some((OperandLayout::Depth, 6)));
        assert_eq!(of((5, -1), (7, 6)), None);
        assert_eq!(of((5, 1), (7, -6)), Some((OperandLayout::Lines, -6)));
    }
}
