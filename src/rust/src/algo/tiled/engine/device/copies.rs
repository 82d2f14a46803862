//! Copies of tiles to a device, from it and between devices.

use std::ops::Range;
use std::rc::Rc;

use super::{Driver, ACROSS, DOWN, UP};
use crate::algo::tiled::engine::peers::Peer;
use crate::base::error::Result;
use crate::base::scalar::Scalar;
use crate::device::async_copy::AsyncCopy;
use crate::tiles::plan_executor::Store;

impl<T: Scalar, D: AsyncCopy<T>, S: Store<T>> Driver<'_, '_, T, D, S> {
    pub(super) fn is_busy(&self) -> bool {
        !self.computing.is_empty() || self.under_way.iter().any(|copies| !copies.is_empty())
    }

    /// Those of a tile that a request for a strip of it is about.
    pub(super) fn entries(&self, request: usize) -> Range<usize> {
        let strip = self.work.requests[request].tiles.first();
        let (_, columns) = self
            .work
            .strips
            .position(strip.map_or(0, |(strip, _)| *strip));
        let rows = self.work.layout.tile();
        columns.start * rows..columns.end * rows
    }

    pub(super) fn send(
        &mut self,
        x: usize,
        slot: usize,
        home: usize,
        part: Range<usize>,
    ) -> Result<()> {
        let from = self.slots.address(home);
        // SAFETY: the host's slot has a strip, and the device's the tile; steps that change either
        // wait for the end of the copy.
        let copy =
            self.places[slot].fill(|to, after| unsafe { self.dev.send(from, to, part, after) })?;
        self.is_under_way(UP, x, copy);
        Ok(())
    }

    pub(super) fn copy(&mut self, x: usize, slot: usize, peer: Peer) -> Result<()> {
        let (from, place) = self.peers.find(peer)?;
        // SAFETY: the other device has computed the tile, and changes its place only after this
        // step; it gives no memory back before this one has left.
        let copy =
            self.places[slot].fill(|to, after| unsafe { self.dev.copy(from, place, to, after) })?;
        self.is_under_way(ACROSS, x, copy);
        Ok(())
    }

    pub(super) fn fetch(
        &mut self,
        x: usize,
        slot: usize,
        home: usize,
        part: Range<usize>,
    ) -> Result<()> {
        let to = self.slots.address(home);
        // SAFETY: as of `send`.
        let copy = self.places[slot]
            .read(|from, after| unsafe { self.dev.fetch(from, part, to, after) })?;
        self.is_under_way(DOWN, x, copy);
        Ok(())
    }

    fn is_under_way(&mut self, kind: usize, x: usize, copy: Rc<D::Mark>) {
        self.under_way[kind].push_back((x, copy));
        let line = self.line;
        self.copying
            .get_or_insert_with(|| line.meters.copying.run());
    }
}
