//! Copies that are late.

use super::*;

impl<T: Scalar> AsyncCopy<T> for Apart<T> {
    /// How many copies must be done; what is computed is.
    type Mark = usize;
    type Outcome = ();

    fn has_own_memory(&self) -> bool {
        true
    }
    fn with(&self, numbers: &[usize], _: bool) -> Result<Vec<Self>> {
        Ok(numbers.iter().map(|_| Apart::new()).collect())
    }
    fn free(&self) -> Result<u64> {
        Ok(1 << 30)
    }
    fn speed(&self) -> f64 {
        1.0
    }
    fn in_place<'a>(&self, _: MatMut<'a, T>) -> Result<Away<'a, T>> {
        unimplemented!()
    }
    fn pages(&self, count: usize, bytes: usize, _: usize) -> Result<Vec<Pages>> {
        (0..count).map(|_| Pages::new(bytes)).collect()
    }

    unsafe fn keep(&self, _: Pages) {
        assert!(self.copies.borrow().is_empty());
    }

    fn mark(&self) -> Result<usize> {
        Ok(0)
    }
    unsafe fn send(
        &self,
        from: *const T,
        to: &mut Away<'_, T>,
        entries: Range<usize>,
        _: &[&usize],
    ) -> Result<usize> {
        assert_eq!(entries, 0..to.numbers);
        let to = std::ptr::from_mut(to).cast_const().cast();
        self.copies.borrow_mut().push_back(Copy { from, to });
        self.begun.set(self.begun.get() + 1);
        Ok(self.begun.get())
    }
    unsafe fn fetch(
        &self,
        _: &mut Away<'_, T>,
        _: Range<usize>,
        _: *mut T,
        _: &[&usize],
    ) -> Result<usize> {
        unimplemented!()
    }
    fn follow(&self, mark: &usize) -> Result<()> {
        self.copy_until(*mark);
        Ok(())
    }
    fn is_past(&self, mark: &usize) -> Result<bool> {
        if *mark > self.done.get() && self.asked.replace(true) {
            self.copy_until(self.done.get() + 1);
        }
        Ok(*mark <= self.done.get())
    }
    fn start_potrf(&self, _: &mut Away<'_, T>) -> Result<()> {
        unimplemented!()
    }
    fn outcome(&self, (): &()) -> Result<()> {
        unimplemented!()
    }
    fn drain(&self) {
        self.copy_until(self.begun.get());
    }
}
