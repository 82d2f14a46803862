//! Times of our kernels and of cuBLAS and cuSOLVER, in one process, on data that is already on the
//! GPU.
//!
//! `gpu_peers [--routines gemm,syrk,...] [--repeats 10] [--doubles] [n ...]` prints a Markdown
//! table row by row. With `--doubles` no product is computed from integers. Orders take the place
//! of a routine's own; tall matrices are chosen by their number of columns. It writes a CSV to the
//! file `CUDAFACTOR_BENCH_OUT` and the table with its circumstances to `CUDAFACTOR_BENCH_MD`, where
//! these are set; `CUDAFACTOR_COMMIT` names the commit. The peers are found at run time
//! (`libcublas.so`, `libcusolver.so`, any suffix of 11 to 13); the package itself never loads them.
//! Answers are compared before anything is timed, and a difference that rounding does not explain
//! is no row but a failure, which the exit status tells.

mod peers;

use std::cell::RefCell;
use std::collections::HashMap;
use std::process::{Command, ExitCode};

use cudafactor::backend::cuda::driver::probe;
use cudafactor::backend::cuda::CudaDevice;
use cudafactor::base::emulation::{self, Emulation};
use cudafactor::base::matrix::{Trans, Uplo};

use peers::cases::Bench;
use peers::eigen::{eigen, singular, tall_singular};
use peers::eigen_batch::eigen_batched;
use peers::factors::{cholesky, cholesky_batched, triangular};
use peers::library::Peers;
use peers::lu::{cholesky_beside_lu, lu};
use peers::products::{crossprod, product};
use peers::qr::{orthogonal, qr, tall_qr};
use peers::report::{Report, Row};
use peers::vectors;
use peers::Outcome;

const USAGE: &str = "gpu_peers [--routines gemm,syrk,...] [--repeats 10] [--doubles] [n ...]";

/// At this order variants are measured too: transposed operands, the other triangle.
const VARIANTS: usize = 4096;

/// Matrices in a batch, and the largest order of them that is measured.
const BATCH: usize = 1000;
const BATCH_LARGEST: usize = 512;

/// Matrices in a batch of eigenproblems, and the largest order of ours in one launch.
const EIGEN_BATCH: usize = 512;
const EIGEN_LARGEST: usize = 166;

/// Rows of tall matrices, by their columns.
const TALL: [(usize, usize); 3] = [(1_000_000, 64), (200_000, 256), (100_000, 1000)];

/// A routine's name and its orders, or numbers of columns.
struct Entry {
    name: &'static str,
    sizes: &'static [usize],
}

const SIZES: [usize; 7] = [512, 1024, 2048, 4096, 8192, 16384, 32768];
/// All but the largest.
const FEWER: &[usize] = SIZES.split_at(6).0;
const TALL_SIZES: [usize; 3] = [TALL[0].1, TALL[1].1, TALL[2].1];

const fn entry(name: &'static str, sizes: &'static [usize]) -> Entry {
    Entry { name, sizes }
}

/// Orders of eigenvalues and singular values.
const SPECTRAL: [usize; 5] = [1024, 2048, 4096, 8192, 16384];

const ROUTINES: [Entry; 27] = [
    entry("gemm", &SIZES),
    entry("syrk", SIZES.split_at(1).1),
    entry("trsm", FEWER),
    entry("gemv", FEWER),
    entry("trsv", FEWER),
    entry("potrf", &SIZES),
    entry("getrf", FEWER),
    entry("geqrf", FEWER),
    entry("geqrf_tall", &TALL_SIZES),
    entry("orgqr", &[4096, 8192]),
    entry("chol_lu", &[1024, 2048, 4096, 8192, 16384]),
    entry("sgemm", FEWER),
    entry("sgemv", FEWER),
    entry("strsv", FEWER),
    entry("spotrf", FEWER),
    entry("strsm", FEWER),
    entry("sgetrf", FEWER),
    entry("sgeqrf", FEWER),
    entry("sgeqrf_tall", &TALL_SIZES),
    entry("potrf_batched", &[64, 256]),
    entry("spotrf_batched", &[64, 256]),
    entry("syevd", &SPECTRAL),
    entry("syevd_values", &SPECTRAL),
    entry("gesvdp", &SPECTRAL),
    entry("svd_tall", &[64, 1000]),
    entry("syev_batched", &[16, 32, 64, 128]),
    entry("syev_batched_values", &[32, 128]),
];

struct Options {
    routines: Vec<&'static Entry>,
    repeats: usize,
    sizes: Vec<usize>,
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut o = Options {
        routines: ROUTINES.iter().collect(),
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
            "--doubles" => emulation::want(Emulation::Never),
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
        "gemv" | "sgemv" => {
            for trans in [No, Yes] {
                emit(if routine == "gemv" {
                    vectors::product::<f64>(bench, trans, n)
                } else {
                    vectors::product::<f32>(bench, trans, n)
                });
            }
        }
        "trsv" | "strsv" => {
            for (trans, lines) in [(No, 1), (Yes, 1), (No, 2), (No, 4)] {
                emit(if routine == "trsv" {
                    vectors::triangular::<f64>(bench, trans, n, lines)
                } else {
                    vectors::triangular::<f32>(bench, trans, n, lines)
                });
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
        "getrf" => emit(lu::<f64>(bench, n)),
        "sgetrf" => emit(lu::<f32>(bench, n)),
        "geqrf" => emit(qr::<f64>(bench, n)),
        "sgeqrf" => emit(qr::<f32>(bench, n)),
        "geqrf_tall" | "sgeqrf_tall" => match TALL.into_iter().find(|(_, cols)| *cols == n) {
            Some(shape) if routine == "geqrf_tall" => emit(tall_qr::<f64>(bench, shape)),
            Some(shape) => emit(tall_qr::<f32>(bench, shape)),
            None => eprintln!("{routine}: left out at n = {n}, not among {TALL_SIZES:?}"),
        },
        "orgqr" => emit(orthogonal(bench, n)),
        "chol_lu" => emit(cholesky_beside_lu(bench, n)),
        "syevd" => emit(eigen(bench, n, true)),
        "syevd_values" => emit(eigen(bench, n, false)),
        "gesvdp" => emit(singular(bench, n)),
        "svd_tall" => emit(tall_singular(bench, n)),
        "syev_batched" | "syev_batched_values" if n > EIGEN_LARGEST => {
            eprintln!("{routine}: left out at n = {n}, above {EIGEN_LARGEST}");
        }
        "syev_batched" => emit(eigen_batched(bench, EIGEN_BATCH, n, true)),
        "syev_batched_values" => emit(eigen_batched(bench, EIGEN_BATCH, n, false)),
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
        "# Our kernels compared with cuBLAS and cuSOLVER, data on the device

- gpu: {}, driver {}
- peers: {}, default math mode, in the same process and stream
- precision: double where no other is named; single without TF32
- timing: device events in that stream around each run; medians of {repeats} runs after warm-up \
(3 rounds and 0.2 s, but not above 2 s), ours and the \
peer's in turn. Operands are restored on the device between runs, outside the time. Products of \
less than about 1 ms are called \
up to 50 times in a row between the events. Ours bring to the host, within the time, what they \
return there: Cholesky its outcome, LU its pivots, \
QR the factors of its reflectors. The peer's stay on the device
- crossprod is A'A with both triangles written; its rates count n^3 operations for ours, 2 n^3 \
for the peer's product; dsyrk writes one triangle
- Cholesky of many matrices at once: ours also writes zeros below the diagonals
- operations counted: n^3 / 3 for Cholesky, 2 n^3 / 3 for LU, 2 n^2 (m - n / 3) for QR of m x n, \
4 n^3 / 3 for Q, 14 n^3 / 3 for eigenvectors, 4 n^3 / 3 for eigenvalues, 28 n^3 / 3 for \
singular vectors
- eigenvalues and singular values: the difference is the largest one of values, over the largest \
value; the stages of ours by the host's clock
- tall SVD: beside our own routines on the same data; the difference is \
||A V s - U D s|| / ||A V s|| for a vector s of ones
- LU: where pivots differ, rounding having chosen between two candidates, the difference is not \
that of L and U but our residual, \
||(PA - LU) s|| / ||A s|| for a vector s of random signs. QR: the difference is that of R. Q: \
both sides have the same reflectors
- Cholesky beside LU: our own two, on one positive definite matrix; the difference is that of the \
factors, brought to the same scale
- difference: Frobenius norm of the difference of the answers over that of the peer's, taken \
before the timing; every entry of up to 4096^2, one \
column of each 64 of larger answers. A ratio above 1 means that ours is faster
- program: `cargo bench --no-default-features --features cuda --bench gpu_peers` \
(`bench/dense/gpu-peers.sh`)
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
