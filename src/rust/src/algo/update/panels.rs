//! Updates of Cholesky factors that are larger than a device's memory, panel of columns by panel,
//! once from left to right.
//!
//! A panel needs its rows of V and the reflections of the rows above it, O(n k) numbers in all, and
//! nothing of the panels before it.

use std::collections::VecDeque;
use std::time::Duration;

use faer::{ColRef, MatMut, MatRef};

use crate::algo::tiled::engine::queue::Drained;
use crate::algo::tiled::factor::Factor;
use crate::algo::tiled::memory::{too_few, Budget};
use crate::algo::tiled::solve::{solve, System};
use crate::algo::update::checks::check_column;
use crate::algo::update::margin::margin_by;
use crate::algo::update::window::{Cut, Pieces, Window};
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::matrix::{Block, Change, Part};
use crate::base::progress;
use crate::base::scalar::{try_zeroed, Scalar};
use crate::cost::footprint::SLACK;
use crate::cost::plan::call::{take_way, Way};
use crate::device::async_copy::AsyncCopy;

/// Panels in a device's memory: one is uploaded, one is computed with, one is downloaded.
pub(super) const ON_DEVICE: usize = 3;
const LEAST_ON_DEVICE: usize = 2;

/// The resources of an update.
pub(crate) struct Means {
    pub(crate) cut: Cut,
    /// Slots of host memory for panels.
    pub(crate) slots: usize,
    /// Threads that load, and as many that store.
    pub(crate) threads: usize,
    /// Panels in the device's memory at once. `None` for a device that computes with panels in host
    /// memory.
    pub(crate) on_device: Option<usize>,
}

/// How many panels fit into so many bytes of a device's memory; an error of `argument` where that
/// is too little.
pub(crate) fn on_device<T: Scalar>(
    cut: Cut,
    k: usize,
    bytes: u64,
    argument: &'static str,
) -> Result<usize> {
    // V and its copies, and the reflections.
    let lines = 8 * k as u64 * cut.n as u64 * size_of::<T>() as u64;
    let beside = lines.saturating_add(SLACK as u64 / 4);
    let each = cut.bytes::<T>().max(1);
    let count = (bytes.saturating_sub(beside) / each) as usize;
    if count < LEAST_ON_DEVICE {
        let least = beside.saturating_add(each.saturating_mul(LEAST_ON_DEVICE as u64));
        return Err(too_few(argument, bytes, least));
    }
    Ok(count.min(ON_DEVICE))
}

/// Updates the factor that is loaded in pieces, with a positive diagonal in the result, which is
/// stored in pieces. After an error the stored pieces are no factor.
pub(crate) fn change<T, D, P>(
    dev: &D,
    change: Change,
    pieces: &P,
    v: MatRef<'_, T>,
    means: &Means,
) -> Result<()>
where
    T: Scalar,
    D: AsyncCopy<T>,
    P: Pieces<T>,
    P::Scratch: Send,
{
    let (n, k) = v.shape();
    if n == 0 {
        return Ok(());
    }
    let mut all = dev.reflections(change, n, k)?;
    let v = dev.load_temporary(v, Part::All)?;
    let cut = means.cut;
    take_way(|| Way::Panels { columns: cut.width });
    let slots = cut.slots(dev, means.slots)?;
    let window = Window::new(cut, &slots, pieces);
    let step = |p: usize, home: &mut D::Mat<'_>| {
        let (first, cols) = cut.panel(p);
        let mut rows = dev.zeros(cols, k)?;
        let block = Block {
            row: first,
            col: 0,
            rows: cols,
            cols: k,
        };
        dev.copy_block(&v, block, &mut rows, (0, 0))?;
        dev.update_panel(&mut all, first, home, &mut rows)?;
        // Each entry of the triangle takes part in k of them.
        let entries = cols as f64 * (first as f64 + cols as f64 / 2.0);
        progress::advance(4.0 * k as f64 * entries);
        Ok(())
    };
    window.run(pieces, means.threads, || match means.on_device {
        None => in_place(dev, cut, &window, step),
        Some(most) => by_copies(dev, cut, &window, most, step),
    })
}

/// On a device that computes with panels in the slots.
fn in_place<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    cut: Cut,
    window: &Window<'_, T>,
    mut step: impl FnMut(usize, &mut D::Mat<'_>) -> Result<()>,
) -> Result<()> {
    for p in 0..cut.panels() {
        loop {
            interrupt::poll()?;
            if window.has(p)? {
                break;
            }
            window.pause(Duration::from_millis(20));
        }
        let (rows, cols) = cut.shape(p);
        // SAFETY: the panel's memory, which nobody else uses between its last piece's loading and
        // its first one's storing.
        let home =
            unsafe { MatMut::from_raw_parts_mut(window.address(p), rows, cols, 1, rows as isize) };
        step(p, &mut dev.in_place(home)?)?;
        window.computed(p);
    }
    Ok(())
}

/// A panel on a device. The copy to it or back is in flight until the mark is past.
struct PanelCopy<M, K> {
    number: usize,
    matrix: M,
    mark: K,
    /// What had been given to the device when the copy was.
    so_far: progress::ProgressMark,
}

impl<M, K> PanelCopy<M, K> {
    fn new(number: usize, matrix: M, mark: K) -> Self {
        PanelCopy {
            number,
            matrix,
            mark,
            so_far: progress::mark(),
        }
    }
}

/// On a device that has copies of panels in its own memory.
fn by_copies<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    cut: Cut,
    window: &Window<'_, T>,
    most: usize,
    mut step: impl FnMut(usize, &mut D::Mat<'_>) -> Result<()>,
) -> Result<()> {
    let mut coming: VecDeque<PanelCopy<_, _>> = VecDeque::new();
    let mut going: VecDeque<PanelCopy<_, _>> = VecDeque::new();
    // Dropped before the matrices.
    let _drained = Drained::<T, D>::new(dev);
    let (count, mut next) = (cut.panels(), 0);
    loop {
        interrupt::poll()?;
        while let Some(panel) = going.front() {
            if !dev.is_past(&panel.mark)? {
                break;
            }
            window.computed(panel.number);
            progress::reached(panel.so_far);
            going.pop_front();
        }
        if next < count && coming.len() + going.len() < most && window.has(next)? {
            let (rows, cols) = cut.shape(next);
            let mut matrix = dev.zeros(rows, cols)?;
            let made = dev.mark()?;
            // SAFETY: both have as many numbers. The slot is stored, and so filled again, after the
            // panel has gone back; the matrix stays until then.
            let mark =
                unsafe { dev.send(window.address(next), &mut matrix, 0..rows * cols, &[&made]) }?;
            coming.push_back(PanelCopy::new(next, matrix, mark));
            next += 1;
            // Whether the one after it can come, before this one keeps the device busy.
            if next < count && coming.len() + going.len() < most && window.has(next)? {
                continue;
            }
        }
        if let Some(panel) = coming.pop_front() {
            let (p, mut matrix) = (panel.number, panel.matrix);
            dev.follow(&panel.mark)?;
            step(p, &mut matrix)?;
            let done = dev.mark()?;
            let (rows, cols) = cut.shape(p);
            // SAFETY: as above; the panel has come.
            let mark =
                unsafe { dev.fetch(&mut matrix, 0..rows * cols, window.address(p), &[&done]) }?;
            going.push_back(PanelCopy::new(p, matrix, mark));
        } else if next == count && going.is_empty() {
            return Ok(());
        } else {
            let most = if going.is_empty() { 20_000 } else { 50 };
            window.pause(Duration::from_micros(most));
        }
        window.has(0)?;
    }
}

/// An error unless these numbers of a factor are finite.
pub(super) fn check_finite<T: Scalar>(entries: &[T]) -> Result<()> {
    check_column(ColRef::from_slice(entries), "r")
}

/// The margin of the downdate `R'R - V V'`, as of [`cholesky_update`](super::factor), by one more
/// pass over the factor. If there is no downdated factor `check` looks for entries of R that are
/// not finite, which would be the reason. Otherwise the update itself finds them.
pub(crate) fn margin<T: Scalar, D: AsyncCopy<T>>(
    dev: &D,
    factor: &Factor<'_, T>,
    v: MatRef<'_, T>,
    budget: Budget,
    check: impl FnOnce() -> Result<()>,
) -> Result<f64> {
    let (n, k) = v.shape();
    if n == 0 || k == 0 {
        return Ok(1.0);
    }
    let mut p = try_zeroed::<T>(n * k)?;
    let view = MatMut::from_column_major_slice_mut(&mut p, n, k);
    solve(dev, factor, System::Forward, v, view, budget)?;
    let p = dev.load_temporary(MatRef::from_column_major_slice(&p, n, k), Part::All)?;
    let margin = margin_by(dev, &p);
    if let Err(Error::NotPositiveDefinite { .. }) = margin {
        check()?;
    }
    margin
}
