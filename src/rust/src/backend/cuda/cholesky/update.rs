//! Rank-k updates of factors by reflections of rows (`kernels/cholesky/cholesky_update.cu`).
//!
//! Columns of V are taken into account some at a time: a pass over the factor for each launch's
//! worth of them. A launch may have some columns of the factor alone, for it finds the reflections
//! of the rows above in memory, where earlier launches have left them.

use std::mem::size_of;

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::guards::require;
use crate::backend::cuda::driver::kernels::{args, Family, Kernel};
use crate::backend::cuda::elementwise::fold::largest_there;
use crate::backend::cuda::matrix::views::View;
use crate::backend::cuda::panel::column_pipeline::blank;
use crate::base::error::{Error, Result};
use crate::base::matrix::Change;
use crate::base::scalar::Scalar;

/// Columns of the factor of a warp, warps of a block with columns, of which there is one more, and
/// rows whose reflections are made together.
const COLUMNS: usize = 16;
const WORKERS: usize = 7;
const ROWS: usize = 8;
/// Blocks of rows whose reflections a block of threads keeps in shared memory.
const RING: usize = 8;
/// Tiles of the factor that each warp has loaded or is loading.
const AHEAD: usize = 4;

/// Whether the change of a factor of order n by k columns takes at most some tenths of a second, so
/// that no check for interrupts is needed.
pub(crate) fn is_short(n: usize, k: usize) -> bool {
    (n as f64).powi(2) * k as f64 <= SHORT
}

const SHORT: f64 = 1e11;

/// Columns of the factor in every launch but the last are a multiple of this.
pub(crate) const UNIT: usize = 32;

/// A kernel for so many columns of V, and seconds that a column of the factor takes where these,
/// one after the other, are what takes longest: on an H200.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pass {
    kernel: Kernel,
    most: usize,
    seconds: f64,
}

const fn pass(name: &'static str, most: usize, seconds: f64) -> Pass {
    Pass {
        kernel: Kernel::new(Family::CholeskyUpdate, name),
        most,
        seconds,
    }
}

static PASSES: [Pass; 4] = [
    pass("factor_update_blocks8", 8, 140e-9),
    pass("factor_update_blocks16", 16, 150e-9),
    pass("factor_update_blocks32", 32, 190e-9),
    pass("factor_update_blocks64", 64, 260e-9),
];

impl Pass {
    /// The smallest of them that takes `cols` columns, or the largest.
    fn of(cols: usize) -> Pass {
        let [.., largest] = PASSES;
        PASSES
            .into_iter()
            .find(|p| cols <= p.most)
            .unwrap_or(largest)
    }

    /// Numbers of the reflections of a row, as `Layout` in the kernel has them: a column of Y, a
    /// row of L and a sign.
    fn numbers(&self) -> usize {
        self.most + ROWS + 1
    }

    /// Bytes of shared memory of a block, `Shared` in the kernel.
    fn shared(&self) -> usize {
        let slot = ROWS * (self.most + ROWS + 2) + ROWS;
        let triangle = ROWS * ROWS;
        let bench = self.most * (ROWS + 2) + 5 * triangle;
        let numbers =
            RING * slot + WORKERS * AHEAD * COLUMNS * ROWS + 2 * bench + 2 * triangle + RING;
        let flags = WORKERS + 2;
        (numbers * size_of::<f64>() + flags * size_of::<i32>()).next_multiple_of(16)
    }

    /// Words of the reflections of `rows` rows.
    fn words(&self, rows: usize) -> usize {
        rows.next_multiple_of(UNIT) * self.numbers() * (size_of::<f64>() / size_of::<u32>())
    }
}

/// The reflections of all rows in one pass.
struct Made {
    pass: Pass,
    cols: usize,
    messages: Buffer,
}

/// The reflections of the rows of a factor that have been changed so far.
pub struct Reflections {
    change: Change,
    rows: usize,
    /// The first row that is not changed yet.
    next: usize,
    passes: Vec<Made>,
    /// For each pass the order of the first minor that is not positive, or [`NONE`].
    orders: Buffer,
    /// Blocks of a launch that have started.
    turns: Buffer,
}

const NONE: i32 = i32::MAX;

/// Whether the GPU supports the kernels of reflections.
pub(crate) fn is_there(ctx: &'static Context) -> bool {
    let [.., largest] = PASSES;
    ctx.has(Family::CholeskyUpdate) && largest.shared() <= ctx.properties.shared
}

/// Whether reflections for V of `k` columns are faster than forming the matrix of order n and
/// factoring it.
pub(crate) fn pays(n: usize, k: usize) -> bool {
    let [.., largest] = PASSES;
    let each = (k / largest.most) as f64 * largest.seconds;
    let last = match k % largest.most {
        0 => 0.0,
        cols => Pass::of(cols).seconds,
    };
    let n = n as f64;
    n * (each + last) < START + n.powi(3) / RATE
}

/// The time to form the matrix and factor it: a constant in seconds, and cubes of its order per
/// second.
const START: f64 = 430e-6;
const RATE: f64 = 34e12;

/// Memory for the reflections of `rows` rows, for V of `k` columns.
pub(crate) fn reflections(
    ctx: &'static Context,
    change: Change,
    rows: usize,
    k: usize,
) -> Result<Reflections> {
    require(
        rows <= i32::MAX as usize - UNIT,
        "update of a factor: too many rows",
    )?;
    if !is_there(ctx) {
        return Err(Error::Internal {
            what: "this GPU has no reflections of a factor".into(),
        });
    }
    let [.., largest] = PASSES;
    let mut passes = Vec::new();
    for first in (0..k).step_by(largest.most) {
        let cols = largest.most.min(k - first);
        let pass = Pass::of(cols);
        let words = pass.words(rows);
        let messages = Buffer::of::<u32>(ctx, words)?;
        messages.fill_words(blank::<f64>(), words)?;
        passes.push(Made {
            pass,
            cols,
            messages,
        });
    }
    let orders = Buffer::of::<i32>(ctx, passes.len())?;
    orders.fill_words(NONE as u32, passes.len())?;
    Ok(Reflections {
        change,
        rows,
        next: 0,
        passes,
        orders,
        turns: Buffer::of::<u32>(ctx, 1)?,
    })
}

/// Changes the columns from `first` on, all rows of them down to the diagonal, as the reflections
/// of the rows above do and those that are made here. `v`: the columns' rows of V. An error leaves
/// them half changed.
pub(crate) fn change<T: Scalar>(
    ctx: &'static Context,
    all: &mut Reflections,
    first: usize,
    panel: View<T>,
    v: View<T>,
) -> Result<()> {
    require(
        first == all.next
            && first + panel.cols == panel.rows
            && panel.rows <= all.rows
            && first % UNIT == 0
            && v.rows == panel.cols
            && v.cols == all.passes.iter().map(|p| p.cols).sum::<usize>(),
        "update of a factor: shapes do not fit",
    )?;
    if panel.cols == 0 {
        return Ok(());
    }
    // No change may follow a failure.
    all.next = usize::MAX;
    match launch(ctx, all, first, panel, v, (0, 0.0))? {
        NONE => {
            all.next = panel.rows;
            Ok(())
        }
        order => Err(Error::NotPositiveDefinite {
            order: order.unsigned_abs() as usize,
        }),
    }
}

/// Adds V V' to a factor where no magnitude in V is above `most`; else nothing is changed, and that
/// is false. The GPU does not wait for an answer.
pub(crate) fn change_guarded<T: Scalar>(
    ctx: &'static Context,
    most: f64,
    r: View<T>,
    v: View<T>,
) -> Result<bool> {
    require(
        r.rows == r.cols && r.rows == v.rows && !v.is_empty(),
        "update of a factor: shapes do not fit",
    )?;
    let mut all = reflections(ctx, Change::Up, r.rows, v.cols)?;
    let largest = largest_there(ctx, v)?;
    match launch(ctx, &mut all, 0, r, v, (largest.ptr, most))? {
        NONE => Ok(true),
        REFUSED => Ok(false),
        order => Err(Error::NotPositiveDefinite {
            order: order.unsigned_abs() as usize,
        }),
    }
}

/// What a launch says that has found V too large.
const REFUSED: i32 = 0;

/// All passes over some columns, where the number at the first address is not above the second one,
/// if there is an address. The least order of a minor that is not positive.
fn launch<T: Scalar>(
    ctx: &'static Context,
    all: &mut Reflections,
    first: usize,
    panel: View<T>,
    v: View<T>,
    (guard, most): (u64, f64),
) -> Result<i32> {
    let kind: f64 = match all.change {
        Change::Up => 1.0,
        Change::Down => -1.0,
    };
    let mut column = 0;
    for (i, made) in all.passes.iter().enumerate() {
        let Made { pass, cols, .. } = made;
        let order = all.orders.ptr + (i * size_of::<i32>()) as u64;
        let part = v.sub(0, column, v.rows, *cols);
        all.turns.fill_words(0, 1)?;
        ctx.launch_shared::<T>(
            pass.kernel,
            (panel.cols.div_ceil(WORKERS * COLUMNS), 1),
            32 * (WORKERS as u32 + 1),
            pass.shared(),
            &args![
                first as i32,
                panel.cols as i32,
                panel.ptr,
                panel.ld(),
                part.ptr,
                part.ld(),
                *cols as i32,
                kind,
                made.messages.ptr,
                all.turns.ptr,
                order,
                guard,
                most
            ],
        )?;
        column += cols;
    }
    let mut orders = vec![NONE; all.passes.len()];
    if is_short(panel.rows, column) {
        all.orders.to_slice_in(ctx.stream_now(), &mut orders)?;
    } else {
        all.orders.to_slice(&mut orders)?;
    }
    Ok(orders.into_iter().min().unwrap_or(NONE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_take_what_they_say() {
        for (cols, most) in [
            (1, 8),
            (8, 8),
            (9, 16),
            (17, 32),
            (33, 64),
            (64, 64),
            (500, 64),
        ] {
            assert_eq!(Pass::of(cols).most, most);
        }
    }

    /// What the kernel's structure comes to, by the compiler, and what the smallest GPUs have for
    /// it.
    #[test]
    fn shared_memory_is_as_in_the_kernel() {
        assert_eq!(PASSES.map(|p| p.shared()), [45936, 51312, 62064, 83568]);
        assert!(PASSES.iter().all(|p| p.shared() <= 99 << 10));
    }

    #[test]
    fn another_factorization_is_chosen_for_many_columns() {
        assert!(pays(500, 1) && pays(2000, 16) && pays(5000, 64) && pays(32768, 512));
        assert!(!pays(2000, 2000) && !pays(5000, 5000));
    }
}
