//! Cholesky factorization of a matrix in a file of tiles, in place or into a second file, with what
//! is needed to go on after any end.

use std::ops::Range;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::algo::tiled::cholesky::factor;
use crate::algo::tiled::engine::peers::reach_all;
use crate::algo::tiled::engine::room::{Room, Traffic};
use crate::algo::tiled::engine::work::{Tiles, Work};
use crate::base::error::{Error, Result};
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::base::spawn;
use crate::device::async_copy::AsyncCopy;
use crate::tiles::meter::Meter;
use crate::tiles::meter::Meters;
use crate::tiles::plan::LEAST_SLOTS;
use crate::tiles::{Buffer, Layout, Shape, State, TileFile};

/// A matrix, and the file where its factor comes to be: another one, or the same.
pub struct Files<'a, T> {
    /// The matrix, where the factor goes to another file.
    pub from: Option<&'a TileFile<T>>,
    pub to: &'a TileFile<T>,
    /// Whether a tile was stored, or is about to be.
    begun: Mutex<bool>,
}

/// The number that a tile of one layout has in another one of the same matrix.
fn place(layout: &Layout, other: &Layout, tile: usize) -> Result<usize> {
    let (i, j) = layout.position(tile);
    other.index(i, j).ok_or_else(|| Error::Internal {
        what: format!("tile {tile} is not in the matrix's file"),
    })
}

/// What a file of the whole matrix has below the diagonal is not looked at, and no part of the
/// factor.
fn clear_below<T: Scalar>(tile: &mut Buffer<T>, order: usize) {
    for j in 0..order {
        tile[j * order + j + 1..(j + 1) * order].fill(T::from_f64(0.0));
    }
}

/// Time after which what was stored is made durable, so that it is not lost where the process is
/// killed.
const LOST_AT_MOST: Duration = Duration::from_millis(500);

impl<'a, T: Scalar> Files<'a, T> {
    pub fn new(from: Option<&'a TileFile<T>>, to: &'a TileFile<T>) -> Self {
        Files {
            from,
            to,
            begun: Mutex::new(false),
        }
    }

    /// Whether anything was done to the file.
    pub fn have_begun(&self) -> bool {
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes what is stored durable again and again, until it is over. A failure is that of the
    /// next tile, too.
    fn keep(&self, over: &Over) {
        while !over.within(LOST_AT_MOST) {
            let _ = self.to.commit();
        }
    }
}

/// The end of a factorization, which a thread waits for.
#[derive(Default)]
struct Over(Mutex<bool>, Condvar);

impl Over {
    fn within(&self, time: Duration) -> bool {
        let over = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.1.wait_timeout_while(over, time, |over| !*over);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Tells of the end, after a panic, too.
struct Telling<'a>(&'a Over);

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
            // As long as no tile is stored, the matrix is one.
            self.to.set_state(State::Factoring)?;
            *begun = true;
        }
        drop(begun);
        self.to.write(tile, from, step)
    }
}

/// Bytes of memory for tiles, of the host and of each device, and how fast the devices are beside
/// one another.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    pub host: u64,
    pub devices: Vec<u64>,
    pub speeds: Vec<f64>,
}

/// What was done.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The devices' names.
    pub devices: Vec<String>,
    /// Tiles that were copied, and the bytes of one.
    pub traffic: Traffic,
    pub tile_bytes: u64,
    pub operations: f64,
    pub seconds: f64,
    pub times: Times,
    /// Tiles that memory had room for.
    pub room: Room,
}

/// Seconds in which tiles were loaded and stored, by any thread, and in which devices had nothing
/// to compute, on average.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Times {
    pub loading: f64,
    pub storing: f64,
    pub idle: f64,
    /// While something was copied to or from a device.
    pub copying: f64,
}

impl Times {
    fn of(meters: &Meters) -> Times {
        let idle: f64 = meters.idle.iter().map(Meter::seconds).sum();
        Times {
            loading: meters.loading.seconds(),
            storing: meters.storing.seconds(),
            idle: idle / meters.idle.len().max(1) as f64,
            copying: meters.copying.seconds(),
        }
    }
}

/// Tiles' worth of a device's memory that solutions and products take besides.
const BESIDE: usize = 2;
/// Tiles that there must be room for, of the host or of a device.
pub const LEAST_ROOM: usize = LEAST_SLOTS + BESIDE;

/// Threads that load, and as many that store.
const THREADS: usize = 4;

/// Makes the factor, on all of the devices together. A file in which this was interrupted is gone
/// on with where `resume` says so. The matrix's file is untouched, unless it is the factor's.
pub fn factor_files<T: Scalar, D: AsyncCopy<T>>(
    devs: &[D],
    files: &Files<'_, T>,
    budget: &Budget,
    resume: bool,
) -> Result<Report> {
    let start = Instant::now();
    let layout = *files.to.layout();
    let tile_bytes = files.to.buffer()?.bytes().len() as u64;
    let names = devs.iter().map(D::name).collect();
    if is_complete(files, resume)? {
        return Ok(Report {
            devices: names,
            traffic: Traffic::default(),
            tile_bytes,
            operations: 0.0,
            seconds: 0.0,
            times: Times::default(),
            room: Room {
                host: 0,
                devices: Vec::new(),
                peers: false,
            },
        });
    }
    progress::phase("planning");
    for file in [Some(files.to), files.from].into_iter().flatten() {
        progress::watch(file.counter());
    }
    let mut room = room(devs, budget, tile_bytes, &layout)?;
    room.peers = reach_all::<T, D>(devs)?;
    let work = Work::new(files, &room, &budget.speeds)?;
    progress::phase("factorizing");
    let over = Over::default();
    let made = thread::scope(|scope| {
        let _telling = Telling(&over);
        let keep = || files.keep(&over);
        spawn::scoped(scope, keep)?;
        factor(devs, files, &work, THREADS)
    });
    let meters = match made {
        Ok(meters) => {
            progress::phase("finishing");
            files.to.set_state(State::Factor)?;
            meters
        }
        Err(Error::NotPositiveDefinite { order }) => {
            files.to.set_state(State::NotPositiveDefinite {
                order: order as u64,
            })?;
            return Err(Error::NotPositiveDefinite { order });
        }
        Err(e) => {
            // What is stored is kept where that is possible; the first failure says more than the
            // second would.
            let _ = files.to.commit();
            return Err(e);
        }
    };
    Ok(Report {
        devices: names,
        traffic: work.traffic(),
        tile_bytes,
        operations: work.operations(),
        seconds: start.elapsed().as_secs_f64(),
        times: Times::of(&meters),
        room,
    })
}

/// Whether there is nothing left to go on with; an error where there is nothing to be factored, or
/// another matrix is.
fn is_complete<T: Scalar>(files: &Files<'_, T>, resume: bool) -> Result<bool> {
    let to = files.to;
    let layout = to.layout();
    if let Some(from) = files.from {
        begun_from(from, to)?;
    }
    let dimension = |what| Err(Error::Dimension { what });
    if layout.shape() != Shape::Triangle {
        let what = "the upper triangle of a square matrix is needed, and the file has all of one";
        return dimension(format!("{}: {what}", to.path().display()));
    }
    let same = |other: &Layout| {
        let extents = |l: &Layout| (l.rows(), l.cols(), l.tile());
        extents(other) == extents(layout)
    };
    if !files.from.is_none_or(|from| same(from.layout())) {
        let what = "the file is for a matrix of another order, or in other tiles";
        return dimension(format!("{}: {what}", to.path().display()));
    }
    let matrix = files.from.unwrap_or(to);
    let has = |tile| to.has(tile);
    match to.state() {
        State::Factor if resume => Ok(true),
        State::Factor => refused("x", to, FACTOR),
        State::NotPositiveDefinite { order } => Err(Error::NotPositiveDefinite {
            order: order as usize,
        }),
        State::Factoring if !resume => refused(
            "resume",
            to,
            "the file holds a factorization that was interrupted: resume = TRUE goes on with it",
        ),
        State::Factoring if files.from.is_none() && !(0..layout.tiles()).all(has) => refused(
            "x",
            to,
            "the file is the second one of a factorization that was interrupted: chol_file(x, \
             file = , resume = TRUE) of the matrix x and this file goes on with it",
        ),
        State::Matrix | State::Factoring => {
            let there = |tile| place(layout, matrix.layout(), tile).is_ok_and(|t| matrix.has(t));
            let missing = |tile: &usize| !(there(*tile) || has(*tile));
            match (0..layout.tiles()).find(missing) {
                Some(tile) => {
                    let (i, j) = layout.position(tile);
                    let (i, j) = (i + 1, j + 1);
                    let what =
                        format!("the tile in row {i} and column {j} of tiles was never written");
                    refused("x", matrix, &what)
                }
                None => Ok(false),
            }
        }
    }
}

const FACTOR: &str = "the file holds a Cholesky factor already";

fn refused<T: Scalar, R>(argument: &'static str, file: &TileFile<T>, what: &str) -> Result<R> {
    Err(Error::Argument {
        argument,
        what: format!("{}: {what}", file.path().display()),
    })
}

/// Fails where a file does not hold a matrix whose factor may come to be in a second one.
pub fn has_matrix<T: Scalar>(from: &TileFile<T>) -> Result<()> {
    match from.state() {
        State::Matrix => Ok(()),
        State::Factor => refused("x", from, FACTOR),
        State::Factoring => refused(
            "x",
            from,
            "the file holds a factorization that was interrupted: chol_file(resume = TRUE) goes \
             on with it in place, and a second file is not for it",
        ),
        State::NotPositiveDefinite { order } => Err(Error::NotPositiveDefinite {
            order: order as usize,
        }),
    }
}

/// The same, and where the second file was not begun from that matrix.
fn begun_from<T: Scalar>(from: &TileFile<T>, to: &TileFile<T>) -> Result<()> {
    has_matrix(from)?;
    if to.origin() == Some(from.fingerprint()) {
        return Ok(());
    }
    if to.origin().is_none() {
        return refused(
            "file",
            to,
            "the file holds a matrix, or what became of it in place, not a factor or a \
             factorization that was begun from another file",
        );
    }
    Err(Error::FileFormat {
        path: to.path().display().to_string(),
        what: format!(
            "the file was begun from another matrix, not from the one in {}: choose another file \
             for its factor, or unlink() this one first",
            from.path().display()
        ),
    })
}

/// Slots for tiles, no more than there are tiles. Fewer than [`LEAST_SLOTS`] are an error.
fn room<T: Scalar, D: AsyncCopy<T>>(
    devs: &[D],
    budget: &Budget,
    tile_bytes: u64,
    layout: &Layout,
) -> Result<Room> {
    let most = layout.tiles().max(LEAST_SLOTS) as u64;
    let of = |bytes: u64, argument: &'static str, beside: usize| {
        let all = (bytes / tile_bytes) as usize;
        let least = LEAST_SLOTS + beside;
        if all < least {
            return Err(Error::Argument {
                argument,
                what: format!(
                    "{bytes} bytes are too few: {least} tiles of {tile_bytes} bytes are needed"
                ),
            });
        }
        Ok((all - beside).min(most as usize))
    };
    let own = |(dev, bytes): (&D, &u64)| dev.own_memory(*bytes);
    let devices = devs.iter().zip(&budget.devices).filter_map(own);
    Ok(Room {
        host: of(budget.host, "host_memory", 0)?,
        devices: devices
            .map(|bytes| of(bytes, "gpu_memory", BESIDE))
            .collect::<Result<_>>()?,
        peers: false,
    })
}

#[cfg(test)]
mod tests {
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
