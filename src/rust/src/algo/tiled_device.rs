//! Tiles in a device's memory: copies beside what is computed, by a plan.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use crate::algo::cholesky_tiled::compute;
use crate::algo::tiled_work::Work;
use crate::error::Result;
use crate::interrupt;
use crate::scalar::Scalar;
use crate::tiles::line::{Line, Slots, Store};
use crate::tiles::machine::TileMachine;
use crate::tiles::plan::{Op, Plan};

/// Copies from and to memory of the slots run by themselves while this lives.
pub(super) struct Pinned<'a, T: Scalar, D: TileMachine<T>> {
    dev: &'a D,
    slots: &'a Slots<T>,
    count: usize,
}

impl<'a, T: Scalar, D: TileMachine<T>> Pinned<'a, T, D> {
    pub(super) fn new(dev: &'a D, slots: &'a Slots<T>, len: usize) -> Result<Self> {
        let mut pinned = Pinned {
            dev,
            slots,
            count: 0,
        };
        for slot in 0..slots.count() {
            interrupt::poll()?;
            // SAFETY: the slots outlive this, and are unpinned when it is dropped.
            unsafe { dev.pin(slots.address(slot), len) }?;
            pinned.count += 1;
        }
        Ok(pinned)
    }
}

impl<T: Scalar, D: TileMachine<T>> Drop for Pinned<'_, T, D> {
    fn drop(&mut self) {
        // After a panic, too.
        self.dev.drain();
        for slot in 0..self.count {
            // SAFETY: pinned above, and the device does nothing any more.
            unsafe { self.dev.unpin(self.slots.address(slot)) };
        }
    }
}

/// A tile's place in the device's memory, and what is on its way from or to it.
pub(super) struct Place<M, K> {
    matrix: M,
    /// What was computed with it last.
    pub(super) computed: Option<Rc<K>>,
    /// The copy that fills it, not yet waited for by what is computed.
    arriving: Option<Rc<K>>,
    /// The copy that it is read by.
    leaving: Option<Rc<K>>,
}

impl<M, K> Place<M, K> {
    pub(super) fn new(matrix: M) -> Self {
        Place {
            matrix,
            computed: None,
            arriving: None,
            leaving: None,
        }
    }
}

pub(super) fn on_device<T: Scalar, D: TileMachine<T>, S: Store<T>>(
    dev: &D,
    work: &Work,
    device: &Plan,
    places: &mut [Place<D::Mat<'static>, D::Mark>],
    slots: &Slots<T>,
    line: &Line<'_, T, S>,
) -> Result<()> {
    let mut under_way: VecDeque<(usize, Rc<D::Mark>)> = VecDeque::new();
    let mut computing: VecDeque<(Rc<D::Mark>, f64)> = VecDeque::new();
    for (x, op) in work.host.ops.iter().enumerate() {
        let Op::Run {
            request,
            slots: homes,
        } = op
        else {
            continue;
        };
        loop {
            interrupt::poll()?;
            retire(dev, line, &mut under_way)?;
            let seen = line.progress();
            if line.ready(x)? {
                break;
            }
            let most = if under_way.is_empty() { 20_000 } else { 50 };
            line.pause(seen, Duration::from_micros(most));
        }
        match &device.ops[*request] {
            Op::Load { slot, .. } => {
                let place = &mut places[*slot];
                let after: Vec<&D::Mark> = [&place.computed, &place.leaving]
                    .into_iter()
                    .filter_map(|mark| mark.as_deref())
                    .collect();
                // SAFETY: the host's slot and the device's have a tile, and steps that change either wait for the end of the copy.
                let mark = unsafe { dev.send(slots.address(homes[0]), &place.matrix, &after) }?;
                let mark = Rc::new(mark);
                place.leaving = None;
                place.arriving = Some(mark.clone());
                under_way.push_back((x, mark));
            }
            Op::Store { slot, .. } => {
                let place = &mut places[*slot];
                let after: Vec<&D::Mark> = place.computed.as_deref().into_iter().collect();
                // SAFETY: as above.
                let mark = unsafe { dev.fetch(&place.matrix, slots.address(homes[0]), &after) }?;
                let mark = Rc::new(mark);
                place.leaving = Some(mark.clone());
                under_way.push_back((x, mark));
            }
            Op::Run {
                request,
                slots: used,
            } => {
                for slot in used {
                    if let Some(mark) = places[*slot].arriving.take() {
                        dev.follow(&mark)?;
                    }
                }
                let task = work.tasks[*request];
                let Some((first, others)) = used.split_first() else {
                    continue;
                };
                if let Some(mark) = places[*first].leaving.take() {
                    dev.follow(&mark)?;
                }
                let (before, rest) = places.split_at_mut(*first);
                let Some((target, after)) = rest.split_first_mut() else {
                    continue;
                };
                let sources: Vec<&D::Mat<'_>> = others
                    .iter()
                    .filter_map(|s| match s.checked_sub(*first + 1) {
                        Some(s) => after.get(s),
                        None => before.get(*s),
                    })
                    .map(|place| &place.matrix)
                    .collect();
                compute(dev, &work.layout, task, &mut target.matrix, &sources)?;
                let mark = Rc::new(dev.mark()?);
                for slot in used {
                    places[*slot].computed = Some(mark.clone());
                }
                line.finish(x);
                computing.push_back((mark, task.operations(work.layout.tile())));
                await_some(dev, line, &mut under_way, &mut computing)?;
            }
        }
    }
    while !under_way.is_empty() {
        retire(dev, line, &mut under_way)?;
        interrupt::poll()?;
        line.ready(0)?;
        std::thread::sleep(Duration::from_micros(50));
    }
    Ok(())
}

/// Tasks that may wait for the device, and their operations where there are more than two: an interrupt waits for all of them.
const TASKS_AHEAD: usize = 64;
const OPERATIONS_AHEAD: f64 = 4e12;

/// Waits while too much is queued.
fn await_some<T: Scalar, D: TileMachine<T>, S: Store<T>>(
    dev: &D,
    line: &Line<'_, T, S>,
    under_way: &mut VecDeque<(usize, Rc<D::Mark>)>,
    computing: &mut VecDeque<(Rc<D::Mark>, f64)>,
) -> Result<()> {
    loop {
        let operations: f64 = computing.iter().map(|(_, operations)| operations).sum();
        let few = computing.len() <= TASKS_AHEAD && operations <= OPERATIONS_AHEAD;
        let Some((mark, _)) = computing.front() else {
            return Ok(());
        };
        if dev.is_past(mark)? {
            computing.pop_front();
        } else if few || computing.len() <= 2 {
            return Ok(());
        } else {
            retire(dev, line, under_way)?;
            interrupt::poll()?;
            std::thread::sleep(Duration::from_micros(20));
        }
    }
}

/// Finishes the steps whose copies are done.
fn retire<T: Scalar, D: TileMachine<T>, S: Store<T>>(
    dev: &D,
    line: &Line<'_, T, S>,
    under_way: &mut VecDeque<(usize, Rc<D::Mark>)>,
) -> Result<()> {
    let mut i = 0;
    // Copies up and copies down overtake each other.
    while i < under_way.len() {
        if dev.is_past(&under_way[i].1)? {
            if let Some((x, _)) = under_way.remove(i) {
                line.finish(x);
            }
        } else {
            i += 1;
        }
    }
    Ok(())
}
