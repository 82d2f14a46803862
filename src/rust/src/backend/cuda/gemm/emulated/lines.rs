//! Measures the lines of operands (`kernels/emulated/lines.cuh`).

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, scalar, Family, Kernel};
use crate::backend::cuda::matrix::operand::{KernelOperand, OperandLayout};
use crate::base::error::Result;

const ALONG: Kernel = Kernel::new(Family::Emulated, "lines_measure_along");
const ACROSS: Kernel = Kernel::new(Family::Emulated, "lines_measure_across");
const FINISH: Kernel = Kernel::new(Family::Emulated, "lines_finish_slices");
const DECIDE: Kernel = Kernel::new(Family::Emulated, "bound_decide_lines");

/// Depth of a slice that one warp or eight threads measure: the longest, and the shortest, of which
/// a line has up to [`FEW`]. It depends on the depth alone, so that all GPUs round alike.
const LONGEST: usize = 1024;
const SHORTEST: usize = 128;
const FEW: usize = 8;

/// Logarithms of norms, sums of a row's and a column's, beyond which scales or entries of C may
/// not be normal numbers.
pub(super) const RANGE: (f32, f32) = (-800.0, 900.0);

/// Numbers of an operand in the summary.
const NUMBERS: usize = 6;

/// An operand, contiguous along one dimension.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operand {
    pub at: KernelOperand,
    pub lines: usize,
    pub depth: usize,
}

impl Operand {
    /// The operand from a line and a step of depth on.
    pub(super) fn from(&self, line: usize, step: usize) -> u64 {
        let along = match self.at.layout {
            OperandLayout::Lines => line as i64 + step as i64 * self.at.ld,
            OperandLayout::Depth => line as i64 * self.at.ld + step as i64,
        };
        self.at.ptr.wrapping_add_signed(8 * along)
    }
}

/// What is known of the lines of an operand: the largest of each number. Lines of zeros do not
/// count. Logarithms have base 2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Facts {
    /// The logarithm of the norm of a line.
    pub longest: f32,
    /// The negative logarithm of the norm.
    pub shortest: f32,
    /// The bits from the norm of a line to the lowest bit of its entries.
    pub width: f32,
    /// The logarithms of the mean magnitude and of the root of the mean square of a line, less the
    /// mean of the logarithms of its entries. 1e9 if one is zero.
    pub mean: f32,
    pub square: f32,
    pub finite: bool,
}

impl Facts {
    fn read(words: &[i32]) -> Facts {
        let number = |i: usize| {
            let word = words[i];
            f32::from_bits((word ^ (word >> 31 & 0x7fff_ffff)) as u32)
        };
        Facts {
            longest: number(0),
            shortest: number(1),
            width: number(2),
            mean: number(3),
            square: number(4),
            finite: number(5) < 0.5,
        }
    }

    /// Whether all entries are zero.
    pub(super) fn is_zero(&self) -> bool {
        self.longest < -1e8
    }
}

/// Logarithms to base 2 of the norms of the lines, in single precision.
pub(super) type Lengths = Buffer;

/// What was measured of both operands, or of one whose lines are those of both, on the device.
pub(super) struct Measured {
    pub(super) lengths: Vec<Lengths>,
    summary: Buffer,
}

/// Flags on the device, of which one cancels products from integers and the other one those in
/// double precision in their place.
pub(super) struct Decision(Buffer);

impl Decision {
    pub(super) fn cancels_integers(&self) -> u64 {
        self.0.ptr
    }

    pub(super) fn cancels_doubles(&self) -> u64 {
        self.0.ptr + 4
    }
}

impl Measured {
    /// The address of the second operand's summary.
    fn second(&self) -> u64 {
        self.summary.ptr + (4 * NUMBERS * (self.lengths.len() - 1)) as u64
    }

    /// Waits for the device.
    pub(super) fn facts(&self) -> Result<(Facts, Facts)> {
        let mut words = [0; 2 * NUMBERS];
        self.summary.to_slice(&mut words)?;
        let first = Facts::read(&words[..NUMBERS]);
        let second = match self.lengths.len() {
            1 => first,
            _ => Facts::read(&words[NUMBERS..]),
        };
        Ok((first, second))
    }

    /// Lets the device decide, so that the host need not wait. Entries must be finite and in range,
    /// and the error with so many bits at most `allowed`. `stop` cancels both.
    pub(super) fn decide(
        &self,
        ctx: &'static Context,
        (bits, allowed): (f32, f32),
        stop: u64,
    ) -> Result<Decision> {
        let flags = Buffer::of::<i32>(ctx, 2)?;
        ctx.launch::<f64>(
            DECIDE,
            1,
            1,
            32,
            &args![
                self.summary.ptr,
                self.second(),
                scalar(RANGE.0),
                scalar(RANGE.1),
                scalar(bits),
                scalar(allowed),
                flags.ptr,
                stop
            ],
        )?;
        Ok(Decision(flags))
    }
}

/// Measures both operands. `b` is none if its lines are those of `a`.
pub(super) fn measure(
    ctx: &'static Context,
    a: &Operand,
    b: Option<&Operand>,
    stop: u64,
) -> Result<Measured> {
    let operands: Vec<&Operand> = std::iter::once(a).chain(b).collect();
    let summary = Buffer::of::<i32>(ctx, 2 * NUMBERS)?;
    summary.fill(0x80, 8 * NUMBERS)?;
    let mut lengths = Vec::new();
    for (which, x) in operands.iter().enumerate() {
        let short = x.depth.div_ceil(SHORTEST).min(FEW);
        let slices = x.depth.div_ceil(LONGEST).clamp(short, 1 << 15);
        let slice = x.depth.div_ceil(slices);
        let sums = Buffer::of::<i32>(ctx, NUMBERS * slices * x.lines)?;
        let norms = Buffer::of::<f32>(ctx, x.lines)?;
        let (kernel, per_block) = match x.at.layout {
            OperandLayout::Depth => (ALONG, 8),
            OperandLayout::Lines => (ACROSS, 32),
        };
        ctx.launch::<f64>(
            kernel,
            x.lines.div_ceil(per_block),
            slices,
            256,
            &args![x.at.ptr, x.at.ld, x.lines, x.depth, slice, sums.ptr, stop],
        )?;
        ctx.launch::<f64>(
            FINISH,
            x.lines.div_ceil(256),
            1,
            256,
            &args![
                sums.ptr,
                slices,
                x.lines,
                x.depth,
                norms.ptr,
                summary.ptr + (4 * NUMBERS * which) as u64,
                stop
            ],
        )?;
        lengths.push(norms);
    }
    Ok(Measured { lengths, summary })
}
