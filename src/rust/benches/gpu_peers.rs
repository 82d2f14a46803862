//! Time of our kernels beside cuBLAS and cuSOLVER, in one process, on data that is already on the GPU.
//!
//! `gpu_peers [n ...]` prints a Markdown table and, with `CUDAFACTOR_BENCH_OUT` set, writes a CSV. The peers are
//! found at run time (`libcublas.so`, `libcusolver.so`, any suffix of 11 to 13); the package itself never loads them.
//! Both sides work in place, are timed by a host clock up to a finished device, and must agree before they are timed.

mod peers;

use std::time::Instant;

use cudafactor::backend::cuda::CudaDevice;
use cudafactor::device::Device;
use cudafactor::matrix::{Part, Trans, Uplo};
use faer::{Mat, MatRef};

use peers::{Buffer, Peers};

const REPEATS: usize = 10;

/// A reproducible matrix with entries in (-1, 1).
fn random(n: usize, seed: u64) -> Mat<f64> {
    let mut s = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    Mat::from_fn(n, n, |_, _| {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        (s >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    })
}

/// Symmetric with a diagonal that dominates, so that it is positive definite at no cost.
fn definite(n: usize) -> Mat<f64> {
    let r = random(n, 3);
    Mat::from_fn(n, n, |i, j| {
        if i == j {
            2.0 * n as f64
        } else {
            r[(i.min(j), i.max(j))]
        }
    })
}

fn median(mut t: Vec<f64>) -> f64 {
    t.sort_by(f64::total_cmp);
    t[t.len() / 2]
}

/// The largest difference relative to the largest entry, over the entries `keep` names.
fn difference(a: MatRef<'_, f64>, b: &[f64], keep: impl Fn(usize, usize) -> bool) -> f64 {
    let (m, n) = (a.nrows(), a.ncols());
    let (mut worst, mut scale) = (0.0f64, 0.0f64);
    for j in 0..n {
        for i in 0..m {
            if keep(i, j) {
                worst = worst.max((a[(i, j)] - b[j * m + i]).abs());
                scale = scale.max(b[j * m + i].abs());
            }
        }
    }
    worst / scale
}

struct Row {
    routine: &'static str,
    n: usize,
    ours_ms: f64,
    peer_ms: f64,
    flops: f64,
    difference: f64,
}

impl Row {
    fn tflops(&self, ms: f64) -> f64 {
        self.flops / ms / 1e9
    }
}

/// Times `run` after `prepare`, which is left out of the time, alternating with the peer.
fn interleave(
    mut prepare: impl FnMut(),
    mut ours: impl FnMut(),
    mut prepare_peer: impl FnMut(),
    mut peer: impl FnMut(),
) -> (f64, f64) {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for i in 0..REPEATS + 2 {
        prepare();
        let t = Instant::now();
        ours();
        let mine = t.elapsed().as_secs_f64() * 1e3;
        prepare_peer();
        let t = Instant::now();
        peer();
        let theirs = t.elapsed().as_secs_f64() * 1e3;
        if i >= 2 {
            a.push(mine);
            b.push(theirs);
        }
    }
    (median(a), median(b))
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn gemm(dev: &CudaDevice, peers: &Peers, n: usize) -> Outcome<Row> {
    let (a, b) = (random(n, 1), random(n, 2));
    let mut got = Mat::<f64>::zeros(n, n);
    let (da, db) = (dev.load(a.as_ref())?, dev.load(b.as_ref())?);
    let mut dc = Device::<f64>::zeros(dev, n, n)?;
    let (pa, pb, pc) = (Buffer::of(&a)?, Buffer::of(&b)?, Buffer::zeros(n * n)?);
    dev.gemm(1.0, Trans::No, &da, Trans::No, &db, 0.0, &mut dc)?;
    dev.read(&dc, got.as_mut())?;
    peers.dgemm(n, &pa, &pb, &pc)?;
    let difference = difference(got.as_ref(), &pc.read(n * n)?, |_, _| true);
    let (ours_ms, peer_ms) = interleave(
        || {},
        || {
            dev.gemm(1.0, Trans::No, &da, Trans::No, &db, 0.0, &mut dc)
                .expect("gemm");
            dev.synchronize().expect("synchronize");
        },
        || {},
        || peers.dgemm(n, &pa, &pb, &pc).expect("dgemm"),
    );
    Ok(Row {
        routine: "matmult / cublasDgemm",
        n,
        ours_ms,
        peer_ms,
        flops: 2.0 * (n as f64).powi(3),
        difference,
    })
}

/// One factorization: ours on a matrix refilled before each run, the peer's on a copied buffer.
#[allow(clippy::too_many_arguments)]
fn factor(
    dev: &CudaDevice,
    a: &Mat<f64>,
    routine: &'static str,
    flops: f64,
    keep: impl Fn(usize, usize) -> bool,
    ours: impl Fn(&CudaDevice, &mut <CudaDevice as Device<f64>>::Mat<'static>),
    peer: impl Fn(&Buffer),
) -> Outcome<Row> {
    let n = a.nrows();
    let master = Buffer::of(a)?;
    let work = Buffer::zeros(n * n)?;
    let mut da = dev.load_temporary(a.as_ref(), Part::All)?;
    ours(dev, &mut da);
    let mut got = Mat::<f64>::zeros(n, n);
    dev.read(&da, got.as_mut())?;
    work.copy_from(&master)?;
    peer(&work);
    let difference = difference(got.as_ref(), &work.read(n * n)?, keep);
    let cell = std::cell::RefCell::new(da);
    let (ours_ms, peer_ms) = interleave(
        || {
            let mut da = cell.borrow_mut();
            dev.refill(a.as_ref(), Part::All, &mut da).expect("refill");
            dev.synchronize().expect("synchronize");
        },
        || {
            ours(dev, &mut cell.borrow_mut());
            dev.synchronize().expect("synchronize");
        },
        || work.copy_from(&master).expect("copy"),
        || peer(&work),
    );
    Ok(Row {
        routine,
        n,
        ours_ms,
        peer_ms,
        flops,
        difference,
    })
}

fn rows(dev: &CudaDevice, peers: &Peers, n: usize) -> Outcome<Vec<Row>> {
    let cube = (n as f64).powi(3);
    let (spd, general) = (definite(n), random(n, 5));
    Ok(vec![
        gemm(dev, peers, n)?,
        factor(
            dev,
            &spd,
            "chol / cusolverDnDpotrf (lower)",
            cube / 3.0,
            |i, j| i >= j,
            |d, a| d.potrf(Uplo::Lower, a).expect("potrf"),
            |b| peers.dpotrf_lower(n, b).expect("dpotrf"),
        )?,
        factor(
            dev,
            &general,
            "lu / cusolverDnDgetrf",
            2.0 * cube / 3.0,
            |_, _| true,
            |d, a| {
                d.getrf(a).expect("getrf");
            },
            |b| peers.dgetrf(n, b).expect("dgetrf"),
        )?,
        factor(
            dev,
            &general,
            "qr / cusolverDnDgeqrf",
            4.0 * cube / 3.0,
            |i, j| i <= j,
            |d, a| {
                d.geqrf(a).expect("geqrf");
            },
            |b| peers.dgeqrf(n, b).expect("dgeqrf"),
        )?,
    ])
}

fn main() -> Outcome<()> {
    let mut sizes: Vec<usize> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![1024, 4096, 8192];
    }
    let dev = match CudaDevice::open(0) {
        Ok(dev) => dev,
        Err(e) => {
            println!("no GPU to measure: {e}");
            return Ok(());
        }
    };
    let peers = Peers::load()?;
    let mut csv =
        String::from("routine,n,ours_ms,peer_ms,ours_tflops,peer_tflops,ratio,difference\n");
    println!("| ours / peer | n | ours ms | peer ms | ours TFLOP/s | peer TFLOP/s | peer time / ours | largest difference |");
    println!("|---|---|---|---|---|---|---|---|");
    for n in sizes {
        for r in rows(&dev, &peers, n)? {
            let (o, p) = (r.tflops(r.ours_ms), r.tflops(r.peer_ms));
            let ratio = r.peer_ms / r.ours_ms;
            println!(
                "| {} | {} | {:.3} | {:.3} | {o:.2} | {p:.2} | {ratio:.2} | {:.1e} |",
                r.routine, r.n, r.ours_ms, r.peer_ms, r.difference
            );
            csv += &format!(
                "{},{},{:.4},{:.4},{o:.3},{p:.3},{ratio:.3},{:.2e}\n",
                r.routine, r.n, r.ours_ms, r.peer_ms, r.difference
            );
        }
    }
    if let Ok(path) = std::env::var("CUDAFACTOR_BENCH_OUT") {
        std::fs::write(path, csv)?;
    }
    Ok(())
}
