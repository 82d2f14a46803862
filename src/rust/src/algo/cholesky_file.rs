//! Cholesky factorization of a matrix in a file of tiles, in place or into a second file, with what is needed to go on after any end.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::algo::cholesky_tiled::factor;
use crate::algo::tiled_peers::reach_all;
use crate::algo::tiled_work::{Room, Tiles, Traffic, Work};
use crate::error::{Error, Result};
use crate::progress;
use crate::scalar::Scalar;
use crate::tiles::line::Meters;
use crate::tiles::machine::TileMachine;
use crate::tiles::meter::Meter;
use crate::tiles::plan::LEAST_SLOTS;
use crate::tiles::{Buffer, Layout, Shape, State, TileFile};

/// A matrix, and the file where its factor comes to be: another one, or the same.
pub struct Files<'a, T> {
    /// The matrix, where the factor goes to another file.
    pub from: Option<&'a TileFile<T>>,
    pub to: &'a TileFile<T>,
    /// When what was stored was made durable last; none before the first tile is stored.
    durable: Mutex<Option<Instant>>,
}

/// What was done since is lost where the process is killed.
const LOST_AT_MOST: Duration = Duration::from_millis(500);

impl<'a, T: Scalar> Files<'a, T> {
    pub fn new(from: Option<&'a TileFile<T>>, to: &'a TileFile<T>) -> Self {
        Files {
            from,
            to,
            durable: Mutex::new(None),
        }
    }
}

impl<T: Scalar> Tiles<T> for Files<'_, T> {
    fn layout(&self) -> Layout {
        *self.to.layout()
    }

    fn step(&self, tile: usize) -> u32 {
        self.to.step(tile)
    }

    fn load(&self, tile: usize, into: &mut Buffer<T>) -> Result<()> {
        match self.from {
            Some(from) if !self.to.has(tile) => from.read(tile, into),
            _ => self.to.read(tile, into),
        }
    }

    fn store(&self, tile: usize, from: &Buffer<T>, step: u32) -> Result<()> {
        let mut durable = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        let due = match *durable {
            // As long as no tile is stored, the matrix is one.
            None => {
                self.to.set_state(State::Factoring)?;
                *durable = Some(Instant::now());
                false
            }
            Some(last) => last.elapsed() > LOST_AT_MOST,
        };
        if due {
            *durable = Some(Instant::now());
        }
        drop(durable);
        self.to.write(tile, from, step)?;
        if due {
            self.to.commit()?;
        }
        Ok(())
    }
}

/// Bytes of memory for tiles, of the host and of each device, and how fast the devices are beside one another.
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

/// Seconds in which tiles were loaded and stored, by any thread, and in which devices had nothing to compute, on average.
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

/// Makes the factor, on all of the devices together. A file in which this was interrupted is gone on with where `resume` says so. The matrix's file is untouched,
/// unless it is the factor's.
pub fn factor_files<T: Scalar, D: TileMachine<T>>(
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
    let in_host = devs.iter().any(TileMachine::is_host);
    let mut room = room(budget, tile_bytes, &layout, in_host)?;
    room.peers = reach_all::<T, D>(devs)?;
    let work = Work::new(files, &room, &budget.speeds)?;
    progress::phase("factorizing");
    let meters = match factor(devs, files, &work, THREADS) {
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
            // What is done is kept where that is possible; the first failure says more than the second would.
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

/// Whether there is nothing left to go on with; an error where there is nothing to be factored, or another matrix is.
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
    if !files.from.is_none_or(|from| from.layout() == layout) {
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
        State::Matrix if files.from.is_some() && (0..layout.tiles()).any(has) => refused(
            "file",
            to,
            "the file holds a matrix, not a factorization that was interrupted",
        ),
        State::Factoring if files.from.is_none() && !(0..layout.tiles()).all(has) => refused(
            "x",
            to,
            "the file is the second one of a factorization that was interrupted: chol_file(x, file = , resume = TRUE) of the matrix x and this file goes on with it",
        ),
        State::Matrix | State::Factoring => {
            let missing = |tile: &usize| !(matrix.has(*tile) || has(*tile));
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

/// Fails where the first file holds no matrix, or another one than that which the second was begun from. What made files
/// without a word of that did not know more.
fn begun_from<T: Scalar>(from: &TileFile<T>, to: &TileFile<T>) -> Result<()> {
    match from.state() {
        State::Matrix => {}
        State::Factor => return refused("x", from, FACTOR),
        State::Factoring => {
            return refused(
                "x",
                from,
                "the file holds a factorization that was interrupted: chol_file(resume = TRUE) goes on with it in place, and a second file is not for it",
            )
        }
        State::NotPositiveDefinite { order } => {
            return Err(Error::NotPositiveDefinite {
                order: order as usize,
            })
        }
    }
    if to
        .origin()
        .is_none_or(|origin| origin == from.fingerprint())
    {
        return Ok(());
    }
    Err(Error::FileFormat {
        path: to.path().display().to_string(),
        what: format!(
            "the file was begun from another matrix, not from the one in {}: choose another file for its factor, or unlink() this one first",
            from.path().display()
        ),
    })
}

/// Tiles that there is room for. A few of them is the least; more than there are are of no use.
fn room(budget: &Budget, tile_bytes: u64, layout: &Layout, in_host: bool) -> Result<Room> {
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
    let devices = budget.devices.iter().filter(|_| !in_host);
    Ok(Room {
        host: of(budget.host, "host_memory", 0)?,
        devices: devices
            .map(|bytes| of(*bytes, "gpu_memory", BESIDE))
            .collect::<Result<_>>()?,
        peers: false,
    })
}
