//! A slot for a tile in a device's memory.

use std::rc::Rc;

use crate::base::error::Result;

/// A matrix of the device, and the copies from and to it that are in flight. `K` marks positions in
/// the device's queue.
pub(crate) struct DeviceSlot<M, K> {
    pub(crate) matrix: M,
    /// The end of the last computation with it.
    computed: Option<Rc<K>>,
    /// The end of the copy that fills it, until a computation waits for it.
    arriving: Option<Rc<K>>,
    /// The end of the copy that reads it.
    leaving: Option<Rc<K>>,
}

impl<M, K> DeviceSlot<M, K> {
    /// For a matrix that exists once the mark is past.
    pub(crate) fn new(matrix: M, made: Rc<K>) -> Self {
        DeviceSlot {
            matrix,
            computed: Some(made),
            arriving: None,
            leaving: None,
        }
    }

    /// Calls `start` for a copy to it, with the marks that come before, and returns its end.
    pub(crate) fn fill(&mut self, start: impl FnOnce(&mut M, &[&K]) -> Result<K>) -> Result<Rc<K>> {
        let before = [&self.computed, &self.leaving];
        let after: Vec<&K> = before.into_iter().filter_map(|k| k.as_deref()).collect();
        let mark = Rc::new(start(&mut self.matrix, &after)?);
        self.leaving = None;
        self.arriving = Some(mark.clone());
        Ok(mark)
    }

    /// As [`DeviceSlot::fill`], for a copy from it.
    pub(crate) fn read(&mut self, start: impl FnOnce(&mut M, &[&K]) -> Result<K>) -> Result<Rc<K>> {
        let after: Vec<&K> = self.computed.as_deref().into_iter().collect();
        let mark = Rc::new(start(&mut self.matrix, &after)?);
        self.leaving = Some(mark.clone());
        Ok(mark)
    }

    /// What a computation that reads it waits for.
    pub(crate) fn arriving(&mut self) -> Option<Rc<K>> {
        self.arriving.take()
    }

    /// What a computation that changes it waits for as well.
    pub(crate) fn leaving(&mut self) -> Option<Rc<K>> {
        self.leaving.take()
    }

    /// A computation uses it until then.
    pub(crate) fn used(&mut self, until: Rc<K>) {
        self.computed = Some(until);
    }
}
