//! A thread that writes tiles while its caller computes the next one.

use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError, SyncSender};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::buffer::Buffer;
use super::file::TileFile;
use crate::base::error::{Error, Result};
use crate::base::interrupt;
use crate::base::scalar::Scalar;
use crate::base::spawn;

/// One is filled, one is written, and one is ready for whoever is done first.
const BUFFERS: usize = 3;

/// A file, and tiles that are being written to it.
pub struct Behind<T: Scalar> {
    file: Arc<TileFile<T>>,
    tile_bytes: u64,
    /// Memory that nobody uses, and how many there are in all.
    idle: Vec<Buffer<T>>,
    buffers: usize,
    thread: Option<Thread<T>>,
    failed: Option<Error>,
}

struct Thread<T> {
    /// A forked child has no such thread.
    process: u32,
    full: SyncSender<(usize, Buffer<T>)>,
    free: Receiver<(Buffer<T>, Result<()>)>,
    under_way: usize,
    handle: JoinHandle<()>,
}

impl<T: Scalar> Behind<T> {
    pub fn new(file: Arc<TileFile<T>>) -> Result<Self> {
        let first = file.buffer()?;
        Ok(Behind {
            tile_bytes: first.bytes().len() as u64,
            idle: vec![first],
            file,
            buffers: 1,
            thread: None,
            failed: None,
        })
    }

    pub fn tile_bytes(&self) -> u64 {
        self.tile_bytes
    }

    /// Memory for a tile. Waits while all of it is being written.
    pub fn buffer(&mut self) -> Result<Buffer<T>> {
        self.is_ours()?;
        self.collect();
        loop {
            self.check()?;
            if let Some(buffer) = self.idle.pop() {
                return Ok(buffer);
            }
            if self.buffers < BUFFERS {
                let buffer = self.file.buffer()?;
                self.buffers += 1;
                return Ok(buffer);
            }
            self.await_one()?;
        }
    }

    /// Writes a tile, as yet without a step of a factorization. What becomes of it a later call
    /// says, [`Behind::finish`] at the latest.
    pub fn write(&mut self, tile: usize, buffer: Buffer<T>) -> Result<()> {
        self.check()?;
        self.is_ours()?;
        if self.thread.is_none() {
            self.thread = start(self.file.clone());
        }
        let Some(thread) = &mut self.thread else {
            // No thread can be had: it is done here.
            let done = self.file.write(tile, &buffer, 0);
            self.idle.push(buffer);
            self.failed = done.clone().err();
            return done;
        };
        if thread.full.send((tile, buffer)).is_err() {
            return Err(ended());
        }
        thread.under_way += 1;
        Ok(())
    }

    /// Waits until all is written, and says whether it is.
    pub fn finish(&mut self) -> Result<()> {
        self.is_ours()?;
        while self.thread.as_ref().is_some_and(|t| t.under_way > 0) {
            self.await_one()?;
        }
        self.check()
    }

    /// A forked child has no thread, and the file is its parent's.
    fn is_ours(&self) -> Result<()> {
        match &self.thread {
            Some(thread) if thread.process != std::process::id() => Err(Error::FileInUse {
                path: self.file.path().display().to_string(),
            }),
            _ => Ok(()),
        }
    }

    fn check(&self) -> Result<()> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    fn written(&mut self, (buffer, done): (Buffer<T>, Result<()>)) {
        self.idle.push(buffer);
        if let Some(thread) = &mut self.thread {
            thread.under_way -= 1;
        }
        if let Err(e) = done {
            self.failed.get_or_insert(e);
        }
    }

    fn collect(&mut self) {
        while let Some(one) = self.thread.as_ref().and_then(|t| t.free.try_recv().ok()) {
            self.written(one);
        }
    }

    fn await_one(&mut self) -> Result<()> {
        loop {
            interrupt::poll()?;
            let Some(thread) = &self.thread else {
                return Err(ended());
            };
            match thread.free.recv_timeout(Duration::from_millis(20)) {
                Ok(one) => {
                    self.written(one);
                    return Ok(());
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(ended()),
            }
        }
    }
}

fn ended() -> Error {
    Error::Internal {
        what: "the thread that writes tiles has ended".into(),
    }
}

fn start<T: Scalar>(file: Arc<TileFile<T>>) -> Option<Thread<T>> {
    let (full, filled) = sync_channel::<(usize, Buffer<T>)>(BUFFERS);
    let (done, free) = sync_channel(BUFFERS);
    let work = move || {
        for (tile, buffer) in filled {
            let result = file.write(tile, &buffer, 0);
            if done.send((buffer, result)).is_err() {
                return;
            }
        }
    };
    let handle = spawn::owned(work).ok()?;
    Some(Thread {
        process: std::process::id(),
        full,
        free,
        under_way: 0,
        handle,
    })
}

/// Waits until nobody but its owner has the file.
impl<T: Scalar> Drop for Behind<T> {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        if thread.process != std::process::id() {
            std::mem::forget(thread);
            return;
        }
        drop(thread.full);
        let _ = thread.handle.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiles::{Access, Layout, Shape};

    #[test]
    fn tiles_are_written_whole_and_in_any_number() {
        let path = std::env::temp_dir().join(format!("cudafactor-behind-{}", std::process::id()));
        crate::tiles::direct::remove(&path);
        let layout = Layout::new(40, 24, 8, Shape::Full).unwrap();
        let file = Arc::new(TileFile::<f64>::create(&path, layout).unwrap());
        let mut behind = Behind::new(file.clone()).unwrap();
        assert_eq!(behind.finish(), Ok(()));
        for tile in 0..layout.tiles() {
            let mut buffer = behind.buffer().unwrap();
            buffer.fill(tile as f64);
            behind.write(tile, buffer).unwrap();
        }
        assert_eq!(behind.finish(), Ok(()));
        assert!(behind.buffers <= BUFFERS && behind.idle.len() == behind.buffers);
        drop(behind);
        let file = Arc::try_unwrap(file).ok().unwrap();
        file.commit().unwrap();
        drop(file);
        let file = TileFile::<f64>::open(&path, Access::Read).unwrap();
        let mut buffer = file.buffer().unwrap();
        for tile in 0..layout.tiles() {
            file.read(tile, &mut buffer).unwrap();
            assert!(buffer[..64].iter().all(|x| *x == tile as f64));
        }
        // To a file that is open for reading nothing is written, which is told later.
        let mut behind = Behind::new(Arc::new(file)).unwrap();
        let buffer = behind.buffer().unwrap();
        behind.write(0, buffer).unwrap();
        let error = behind.finish();
        assert!(error.is_err());
        assert_eq!(behind.buffer().map(|_| ()), error);
        assert_eq!(behind.finish(), error);
        crate::tiles::direct::remove(&path);
    }
}
