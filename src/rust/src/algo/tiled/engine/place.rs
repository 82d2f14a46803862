//! A tile's place in a device's memory.

use std::rc::Rc;

use crate::base::error::Result;

/// A matrix of the device, and what is on its way from or to it; `K` marks moments in what the
/// device has been given to do.
pub(crate) struct Place<M, K> {
    pub(crate) matrix: M,
    /// What was computed with it last.
    computed: Option<Rc<K>>,
    /// The copy that fills it, not yet waited for by what is computed.
    arriving: Option<Rc<K>>,
    /// The copy that it is read by.
    leaving: Option<Rc<K>>,
}

impl<M, K> Place<M, K> {
    /// Made at that moment.
    pub(crate) fn new(matrix: M, made: Rc<K>) -> Self {
        Place {
            matrix,
            computed: Some(made),
            arriving: None,
            leaving: None,
        }
    }

    /// A copy to it, which `start` starts after some moments; its end.
    pub(crate) fn fill(&mut self, start: impl FnOnce(&mut M, &[&K]) -> Result<K>) -> Result<Rc<K>> {
        let before = [&self.computed, &self.leaving];
        let after: Vec<&K> = before.into_iter().filter_map(|k| k.as_deref()).collect();
        let mark = Rc::new(start(&mut self.matrix, &after)?);
        self.leaving = None;
        self.arriving = Some(mark.clone());
        Ok(mark)
    }

    /// A copy from it, likewise.
    pub(crate) fn read(&mut self, start: impl FnOnce(&mut M, &[&K]) -> Result<K>) -> Result<Rc<K>> {
        let after: Vec<&K> = self.computed.as_deref().into_iter().collect();
        let mark = Rc::new(start(&mut self.matrix, &after)?);
        self.leaving = Some(mark.clone());
        Ok(mark)
    }

    /// What is computed with it has to come after this.
    pub(crate) fn arriving(&mut self) -> Option<Rc<K>> {
        self.arriving.take()
    }

    /// What changes it has to come after this.
    pub(crate) fn leaving(&mut self) -> Option<Rc<K>> {
        self.leaving.take()
    }

    /// Something is computed with it until then.
    pub(crate) fn used(&mut self, until: Rc<K>) {
        self.computed = Some(until);
    }
}
