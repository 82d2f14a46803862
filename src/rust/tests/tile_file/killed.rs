//! A process that writes is killed, again and again. What it said was committed is there, and every
//! tile is whole.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use cudafactor::tiles::{Access, Layout, Shape, TileFile};

use super::{fill, steps, Place, Random, TILE};

/// Tells the child what file to write to.
const CHILD: &str = "CUDAFACTOR_TEST_TILE_FILE";

const THREADS: usize = 3;

/// Writes tiles until it is killed. The threads share the tiles out among them; each tile's step is
/// one more each time. After a commit it prints the steps that were written before it.
#[test]
fn child() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let file = TileFile::<f64>::open(path, Access::Write).unwrap();
    let tiles = file.layout().tiles();
    let done: Vec<AtomicU32> = (0..tiles).map(|t| AtomicU32::new(file.step(t))).collect();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (file, done) = (&file, &done);
            scope.spawn(move || {
                let mut buffer = file.buffer().unwrap();
                let mut random = Random(u64::from(std::process::id()) + thread as u64);
                loop {
                    let tile = random.below(tiles);
                    if tile % THREADS != thread {
                        continue;
                    }
                    let step = done[tile].load(Ordering::Relaxed) + 1;
                    fill(&mut buffer, tile, step);
                    file.write(tile, &buffer, step).unwrap();
                    done[tile].store(step, Ordering::Release);
                }
            });
        }
        loop {
            let before: Vec<String> = done
                .iter()
                .map(|step| step.load(Ordering::Acquire).to_string())
                .collect();
            file.commit().unwrap();
            let mut out = std::io::stdout().lock();
            writeln!(out, "committed {}", before.join(" ")).unwrap();
            out.flush().unwrap();
        }
    });
}

#[test]
fn what_was_committed_outlives_the_process() {
    let place = Place::new("killed");
    let layout = Layout::new(5 * TILE + 3, 5 * TILE + 3, TILE, Shape::Triangle).unwrap();
    drop(TileFile::<f64>::create(&place, layout).unwrap());
    let mut random = Random(5);
    let mut least = vec![0; layout.tiles()];
    let mut commits = 0;
    for _ in 0..50 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["killed::child", "--exact", "--nocapture"])
            .env(CHILD, &place.0)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let reader = std::thread::spawn(move || {
            let committed = lines
                .map_while(Result::ok)
                .filter_map(|line| Some(line.split_once("committed ")?.1.to_owned()));
            committed.collect::<Vec<_>>()
        });
        std::thread::sleep(Duration::from_micros(10_000 + random.below(60_000) as u64));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
        let lines = reader.join().unwrap();
        commits += lines.len();

        let file = TileFile::<f64>::open(&place, Access::Write).unwrap();
        let found: Vec<u32> = steps(&file).into_iter().map(|s| s.unwrap_or(0)).collect();
        // The last line may have been cut off by the kill: then it has fewer numbers, or a last one
        // of fewer digits.
        let last = lines
            .iter()
            .rev()
            .find(|line| line.split(' ').count() == least.len());
        if let Some(line) = last {
            for (least, step) in least.iter_mut().zip(line.split(' ')) {
                *least = step.parse().unwrap();
            }
        }
        for (found, least) in found.iter().zip(&least) {
            assert!(found >= least, "{found} after {least}");
        }
        least = found;
    }
    assert!(commits > 50 && least.iter().all(|step| *step > 0));
}
