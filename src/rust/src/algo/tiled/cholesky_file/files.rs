//! The matrix's file and the factor's, as tiles that are loaded and stored.

use std::ops::Range;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::algo::tiled::engine::tiles::Tiles;
use crate::base::error::{Error, Result};
use crate::base::scalar::Scalar;
use crate::tiles::{Buffer, Layout, Shape, State, TileFile};

/// The file of a matrix, and the file of its factor, another one or the same.
pub struct Files<'a, T> {
    /// The matrix, where the factor goes to another file.
    pub from: Option<&'a TileFile<T>>,
    pub to: &'a TileFile<T>,
    /// Whether a tile was stored or is being stored.
    begun: Mutex<bool>,
}

/// The number that a tile of one layout has in another one of the same matrix.
pub(super) fn place(layout: &Layout, other: &Layout, tile: usize) -> Result<usize> {
    let (i, j) = layout.position(tile);
    other.index(i, j).ok_or_else(|| Error::Internal {
        what: format!("tile {tile} is not in the matrix's file"),
    })
}

/// Clears the tile below the diagonal: a file of all tiles has numbers there, which are no part of
/// the factor.
fn clear_below<T: Scalar>(tile: &mut Buffer<T>, order: usize) {
    for j in 0..order {
        tile[j * order + j + 1..(j + 1) * order].fill(T::from_f64(0.0));
    }
}

/// Time after which stored tiles are made durable, so that a process that is killed loses no more.
const LOST_AT_MOST: Duration = Duration::from_millis(500);

impl<'a, T: Scalar> Files<'a, T> {
    pub fn new(from: Option<&'a TileFile<T>>, to: &'a TileFile<T>) -> Self {
        Files {
            from,
            to,
            begun: Mutex::new(false),
        }
    }

    /// Whether the factor's file was changed.
    pub fn have_begun(&self) -> bool {
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes stored tiles durable again and again, until the factorization is over. Storing the
    /// next tile reports a failure.
    pub(super) fn keep(&self, over: &Over) {
        while !over.within(LOST_AT_MOST) {
            let _ = self.to.commit();
        }
    }
}

/// The end of a factorization, which a thread waits for.
#[derive(Default)]
pub(super) struct Over(Mutex<bool>, Condvar);

impl Over {
    fn within(&self, time: Duration) -> bool {
        let over = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.1.wait_timeout_while(over, time, |over| !*over);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Announces the end when it is dropped, after a panic as well.
pub(super) struct Telling<'a>(pub(super) &'a Over);

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        *self.0 .0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0 .1.notify_all();
    }
}

impl<T: Scalar> Tiles<T> for Files<'_, T> {
    fn layout(&self) -> Layout {
        *self.to.layout()
    }

    fn step(&self, tile: usize) -> u32 {
        self.to.step(tile)
    }

    fn load(&self, tile: usize, _: Range<usize>, into: &mut Buffer<T>) -> Result<()> {
        let from = match self.from {
            Some(from) if !self.to.has(tile) => from,
            _ => return self.to.read(tile, into),
        };
        from.read(place(self.to.layout(), from.layout(), tile)?, into)?;
        let (i, j) = self.to.layout().position(tile);
        if from.layout().shape() == Shape::Full && i == j {
            clear_below(into, from.layout().tile());
        }
        Ok(())
    }

    fn store(&self, tile: usize, _: Range<usize>, from: &Buffer<T>, step: u32) -> Result<()> {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if !*begun {
            // Until a tile is stored the file still holds the matrix.
            self.to.set_state(State::Factoring)?;
            *begun = true;
        }
        drop(begun);
        self.to.write(tile, from, step)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use super::*;
    use crate::tiles::Access;

    /// As a process would find it that comes after this one was killed.
    fn step_in_a_copy(file: &TileFile<f64>) -> u32 {
        let mut copy = file.path().to_owned();
        copy.set_extension("copy");
        std::fs::copy(file.path(), &copy).unwrap();
        let step = TileFile::<f64>::open(&copy, Access::Read).unwrap().step(0);
        std::fs::remove_file(copy).unwrap();
        step
    }

    #[test]
    fn what_is_stored_is_durable_soon_though_nothing_follows() {
        let name = format!("cudafactor-keep-{}.tiles", std::process::id());
        let path = std::env::temp_dir().join(name);
        let layout = Layout::new(8, 8, 8, Shape::Triangle).unwrap();
        let file = TileFile::<f64>::create(&path, layout).unwrap();
        let files = Files::new(None, &file);
        let over = Over::default();
        thread::scope(|scope| {
            let _telling = Telling(&over);
            scope.spawn(|| files.keep(&over));
            assert!(!files.have_begun());
            let buffer = file.buffer().unwrap();
            files.store(0, 0..8, &buffer, 1).unwrap();
            assert!(files.have_begun());
            let deadline = Instant::now() + Duration::from_secs(60);
            while step_in_a_copy(&file) == 0 {
                assert!(Instant::now() < deadline, "it was not made durable");
                thread::sleep(LOST_AT_MOST / 5);
            }
        });
        file.remove();
        assert!(!path.exists());
    }
}
