//! Devices that read one another's memory.

use std::sync::{Condvar, Mutex, OnceLock, PoisonError};

use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::tiles::plan_executor::{PlanExecutor, Store};

/// A place in another device's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Peer {
    pub(crate) device: usize,
    pub(crate) slot: usize,
}

/// All devices of a factorization, where their places are, and who still needs them.
pub(crate) struct Peers<'a, D> {
    devs: &'a [D],
    places: Vec<OnceLock<Vec<usize>>>,
    /// Devices that are at work.
    working: Mutex<usize>,
    left: Condvar,
}

/// Whether each device reads all others' memory directly.
pub(crate) fn reach_all<T: Scalar, D: AsyncCopy<T>>(devs: &[D]) -> Result<bool> {
    all_pairs(devs, D::reaches)
}

/// Whether each device gets copies from all others, directly or through the host's memory.
pub(crate) fn exchange_all<T: Scalar, D: AsyncCopy<T>>(devs: &[D]) -> Result<bool> {
    all_pairs(devs, D::copies_from)
}

fn all_pairs<D>(devs: &[D], holds: impl Fn(&D, &D) -> Result<bool>) -> Result<bool> {
    for dev in devs {
        for other in devs {
            if !holds(dev, other)? {
                return Ok(false);
            }
        }
    }
    Ok(devs.len() > 1)
}

impl<'a, D> Peers<'a, D> {
    pub(crate) fn new(devs: &'a [D]) -> Self {
        Peers {
            devs,
            places: devs.iter().map(|_| OnceLock::new()).collect(),
            working: Mutex::new(0),
            left: Condvar::new(),
        }
    }

    fn enter(&self) {
        *self.working.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }

    fn leave(&self) {
        *self.working.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.left.notify_all();
    }

    /// Waits until all who entered have left: none of them copies any more.
    fn await_all(&self) {
        let working = self.working.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.left.wait_while(working, |working| *working > 0);
        drop(all.unwrap_or_else(PoisonError::into_inner));
    }

    /// Where the places of a device are, in its memory.
    pub(crate) fn tell(&self, device: usize, places: Vec<usize>) {
        if let Some(known) = self.places.get(device) {
            // Once for each device.
            let _ = known.set(places);
        }
    }

    /// The device and where its place is, which it has told before anything was computed there.
    pub(super) fn find(&self, peer: Peer) -> Result<(&'a D, usize)> {
        let places = self.places.get(peer.device).and_then(OnceLock::get);
        let place = places.and_then(|places| places.get(peer.slot));
        match (self.devs.get(peer.device), place) {
            (Some(dev), Some(place)) => Ok((dev, *place)),
            _ => Err(Error::Internal {
                what: "a device was asked for a tile before it had one".into(),
            }),
        }
    }
}

/// A device at work. Dropping it, after a failure or a panic as well, waits until the device has
/// finished and no device copies from its memory.
pub(super) struct DeviceGuard<'a, 'l, T: Scalar, D: AsyncCopy<T>, S: Store<T>> {
    dev: &'a D,
    line: &'l PlanExecutor<'a, T, S>,
    peers: &'l Peers<'a, D>,
    finished: bool,
}

impl<'a, 'l, T: Scalar, D: AsyncCopy<T>, S: Store<T>> DeviceGuard<'a, 'l, T, D, S> {
    pub(crate) fn new(
        dev: &'a D,
        line: &'l PlanExecutor<'a, T, S>,
        peers: &'l Peers<'a, D>,
    ) -> Self {
        peers.enter();
        DeviceGuard {
            dev,
            line,
            peers,
            finished: false,
        }
    }

    /// It has done its part, and the others have copied what they need of it.
    pub(crate) fn finished(mut self) {
        self.finished = true;
    }
}

impl<T: Scalar, D: AsyncCopy<T>, S: Store<T>> Drop for DeviceGuard<'_, '_, T, D, S> {
    fn drop(&mut self) {
        if !self.finished {
            // Others would wait for what does not come.
            self.line.halt();
        }
        self.dev.drain();
        self.peers.leave();
        if !self.finished {
            self.peers.await_all();
        }
    }
}
