//! Many threads, few free slots.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{mpsc, Arc};
use std::time::Duration;

use cudafactor::tiles::{Access, Layout, Shape, TileFile};

use super::{fill, step_of, steps, Place, Random, TILE};

/// Runs threads to their end, which comes unless they wait for one another.
fn run(threads: Vec<Box<dyn FnOnce() + Send>>) {
    let (done, all) = mpsc::channel();
    let count = threads.len();
    for thread in threads {
        let done = done.clone();
        std::thread::spawn(move || {
            thread();
            let _ = done.send(());
        });
    }
    drop(done);
    for _ in 0..count {
        all.recv_timeout(Duration::from_secs(120))
            .expect("a thread hangs or has failed");
    }
}

#[test]
fn threads_write_read_and_commit_the_same_tiles() {
    let place = Place::new("threads");
    // Four free slots, for more threads.
    let layout = Layout::new(3 * TILE, 3 * TILE, TILE, Shape::Triangle).unwrap();
    let file = Arc::new(TileFile::<f64>::create(&place, layout).unwrap());
    let tiles = layout.tiles();
    let next = Arc::new(AtomicU32::new(1));
    let mut threads: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for thread in 0..12 {
        let (file, next) = (file.clone(), next.clone());
        threads.push(Box::new(move || {
            let mut random = Random(thread);
            let mut buffer = file.buffer().unwrap();
            for _ in 0..150 {
                let tile = random.below(tiles);
                if thread % 3 == 0 {
                    if file.has(tile) {
                        file.read(tile, &mut buffer).unwrap();
                        step_of(&buffer, tile, file.layout());
                    }
                } else {
                    let step = next.fetch_add(1, Ordering::Relaxed);
                    fill(&mut buffer, tile, step);
                    file.write(tile, &buffer, step).unwrap();
                }
                if random.below(40) == 0 {
                    file.commit().unwrap();
                }
            }
        }));
    }
    run(threads);
    file.commit().unwrap();
    let last = steps(&file);
    drop(file);
    let file = TileFile::<f64>::open(&place, Access::Write).unwrap();
    assert_eq!(steps(&file), last);
}

#[test]
fn more_writers_than_slots_wait_for_one_another() {
    let place = Place::new("writers");
    let layout = Layout::new(TILE, TILE, TILE, Shape::Full).unwrap();
    let file = Arc::new(TileFile::<f64>::create(&place, layout).unwrap());
    let threads = (0..16)
        .map(|step| {
            let file = file.clone();
            Box::new(move || {
                let mut buffer = file.buffer().unwrap();
                fill(&mut buffer, 0, step);
                for _ in 0..50 {
                    file.write(0, &buffer, step).unwrap();
                }
            }) as Box<dyn FnOnce() + Send>
        })
        .collect();
    run(threads);
    assert!(steps(&file)[0].is_some());
}
