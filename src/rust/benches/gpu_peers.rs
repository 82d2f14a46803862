//! Time of our kernels beside cuBLAS and cuSOLVER, in one process, on data that is already on the GPU.
//!
//! `gpu_peers [--routines gemm,syrk,...] [--repeats 10] [n ...]` prints a Markdown table row by row. It writes a CSV
//! to the file `CUDAFACTOR_BENCH_OUT` and the table with its circumstances to `CUDAFACTOR_BENCH_MD`, where these
//! are set; `CUDAFACTOR_COMMIT` names the commit. The peers are found at run time (`libcublas.so`, `libcusolver.so`, any suffix
//! of 11 to 13); the package itself never loads them. Answers are compared before anything is timed, and a difference that
//! rounding does not explain is no row but a failure, which the exit status tells.

mod peers;

use std::cell::RefCell;
use std::collections::HashMap;
use std::process::{Command, ExitCode};

use cudafactor::backend::cuda::{probe, CudaDevice};
use cudafactor::matrix::{Trans, Uplo};

use peers::cases::Bench;
use peers::factors::{cholesky, cholesky_batched, general, triangular};
use peers::library::Peers;
use peers::products::{crossprod, product};
use peers::report::{Report, Row};
use peers::solver::Routine;
use peers::Outcome;

const USAGE: &str = "gpu_peers [--routines gemm,syrk,...] [--repeats 10] [n ...]";

/// At this order variants are measured too: transposed operands, the other triangle.
const VARIANTS: usize = 4096;

/// Matrices in a batch, and the largest order of them that is measured.
const BATCH: usize = 1000;
const BATCH_LARGEST: usize = 512;

/// A routine's name, its orders, and whether it runs without being asked for.
struct Entry {
    name: &'static str,
    sizes: &'static [usize],
    always: bool,
}

const SIZES: [usize; 7] = [512, 1024, 2048, 4096, 8192, 16384, 32768];

const fn entry(name: &'static str, sizes: &'static [usize], always: bool) -> Entry {
    Entry {
        name,
        sizes,
        always,
    }
}

const ROUTINES: [Entry; 11] = [
    entry("gemm", &SIZES, true),
    entry("syrk", &[1024, 2048, 4096, 8192, 16384, 32768], true),
    entry("trsm", &[512, 1024, 2048, 4096, 8192, 16384], true),
    entry("potrf", &SIZES, true),
    entry("sgemm", &[512, 1024, 2048, 4096, 8192, 16384], true),
    entry("spotrf", &[512, 1024, 2048, 4096, 8192, 16384], true),
    entry("strsm", &[512, 1024, 2048, 4096, 8192, 16384], true),
    entry("potrf_batched", &[64, 256], true),
    entry("spotrf_batched", &[64, 256], true),
    entry("getrf", &[1024, 4096, 8192], false),
    entry("geqrf", &[1024, 4096, 8192], false),
];

struct Options {
    routines: Vec<&'static Entry>,
    repeats: usize,
    sizes: Vec<usize>,
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut o = Options {
        routines: ROUTINES.iter().filter(|e| e.always).collect(),
        repeats: 10,
        sizes: Vec::new(),
    };
    while let Some(arg) = args.next() {
        match arg.as_str() {
            // What cargo passes to every benchmark.
            "--bench" => {}
            "--routines" => {
                let list = args.next().ok_or("--routines needs names")?;
                let find = |name| {
                    let known = || ROUTINES.map(|e| e.name).join(", ");
                    let unknown = || format!("no routine {name}; there are {}", known());
                    ROUTINES.iter().find(|e| e.name == name).ok_or_else(unknown)
                };
                o.routines = list.split(',').map(find).collect::<Result<_, _>>()?;
            }
            "--repeats" => {
                let number = args.next().and_then(|n| n.parse().ok());
                o.repeats = number
                    .filter(|n| *n > 0)
                    .ok_or("--repeats needs a number")?;
            }
            n => match n.parse() {
                Ok(n) if n > 0 => o.sizes.push(n),
                _ => return Err(format!("{n} is not a size")),
            },
        }
    }
    Ok(o)
}

/// The rows of a routine at one order, each measured when its turn comes.
fn rows(bench: &Bench<'_>, routine: &str, n: usize, mut emit: impl FnMut(Outcome<Row>)) {
    use Trans::{No, Yes};
    match routine {
        "gemm" => {
            emit(product::<f64>(bench, No, No, n));
            if n == VARIANTS {
                emit(product::<f64>(bench, Yes, No, n));
                emit(product::<f64>(bench, No, Yes, n));
            }
        }
        "syrk" => emit(crossprod::<f64>(bench, n)),
        "trsm" => {
            emit(triangular::<f64>(bench, Uplo::Lower, No, n));
            if n == VARIANTS {
                emit(triangular::<f64>(bench, Uplo::Upper, Yes, n));
            }
        }
        "potrf" => emit(cholesky::<f64>(bench, n)),
        "sgemm" => emit(product::<f32>(bench, No, No, n)),
        "strsm" => emit(triangular::<f32>(bench, Uplo::Lower, No, n)),
        "spotrf" => emit(cholesky::<f32>(bench, n)),
        // Orders given for all routines may be too large for so many matrices.
        "potrf_batched" | "spotrf_batched" if n > BATCH_LARGEST => {
            eprintln!("{routine}: left out at n = {n}, above {BATCH_LARGEST}");
        }
        "potrf_batched" => emit(cholesky_batched::<f64>(bench, BATCH, n)),
        "spotrf_batched" => emit(cholesky_batched::<f32>(bench, BATCH, n)),
        "getrf" => emit(general(bench, Routine::Getrf, n)),
        "geqrf" => emit(general(bench, Routine::Geqrf, n)),
        other => emit(Err(format!("no routine {other}").into())),
    }
}

fn today() -> String {
    let answer = Command::new("date").arg("+%F").output();
    answer.map_or("unknown".to_string(), |o| {
        String::from_utf8_lossy(&o.stdout).trim().to_string()
    })
}

/// What stands above the table.
fn head(peers: &Peers, repeats: usize) -> Outcome<String> {
    let gpu = probe::info().into_iter().next().ok_or("no GPU")?;
    let commit = std::env::var("CUDAFACTOR_COMMIT").unwrap_or_else(|_| "unknown".to_string());
    Ok(format!(
        "# Our kernels beside cuBLAS and cuSOLVER, data on the device

- gpu: {}, driver {}
- peers: {}, default math mode, in the same process and stream
- precision: double where no other is named; single without TF32
- timing: device events in that stream around each run; medians of {repeats} runs after warm-up (3 rounds and 0.2 s, but not above 2 s), ours and the \
peer's in turn. Operands are restored on the device between runs, outside the time. Products of less than about 1 ms are called \
up to 50 times in a row between the events. Our Cholesky reads its outcome back to the host within the time; the peer's is left on the device
- crossprod is A'A with both triangles written; its rates count n^3 operations for ours, 2 n^3 for the peer's product; dsyrk writes one triangle
- Cholesky of many matrices at once: ours also writes zeros below the diagonals
- difference: Frobenius norm of the difference of the answers over that of the peer's, taken before the timing; every entry of up to 4096^2, one \
column of each 64 of larger answers. A ratio above 1 means that ours is faster
- program: `cargo bench --no-default-features --features cuda --bench gpu_peers` (`inst/bench/gpu-peers.sh`)
- commit: {commit}
- date: {}
",
        gpu.name,
        gpu.driver,
        peers.versions()?,
        today()
    ))
}

fn run(options: &Options) -> Outcome<bool> {
    let dev = match CudaDevice::open(0) {
        Ok(dev) => dev,
        Err(e) => {
            println!("no GPU to measure: {e}");
            return Ok(true);
        }
    };
    let peers = Peers::load(&dev)?;
    let mut report = Report::new(head(&peers, options.repeats)?)?;
    let bench = Bench {
        dev: &dev,
        peers: &peers,
        repeats: options.repeats,
        products: RefCell::new(HashMap::new()),
    };
    for entry in &options.routines {
        let sizes = match &options.sizes[..] {
            [] => entry.sizes,
            given => given,
        };
        for n in sizes {
            let mut saved = Ok(());
            rows(&bench, entry.name, *n, |row| {
                let result = match row {
                    Ok(row) => report.add(&row),
                    Err(e) => report.fail(entry.name, *n, e.as_ref()),
                };
                if result.is_err() {
                    saved = result;
                }
            });
            saved?;
        }
    }
    Ok(!report.failed())
}

fn main() -> ExitCode {
    let options = match options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(e) => {
            eprintln!("{e}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
