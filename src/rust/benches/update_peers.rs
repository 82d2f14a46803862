//! Peers of the updates of Cholesky factors, as far as they are Rust: faer's own routine, and
//! copies of a triangle to the GPU and back.
//!
//! `update_peers PART=ORDER,...:RANK,... ...` prints CSV:
//! `name,change,n,k,median_s,least_s,error,error_eps`, the last two empty. Parts are those of
//! `bench/updates/chol-update.sh`: in `paper` and `cpu` faer changes a lower factor where it is,
//! with one thread; in `cpu` our reflections do too, of an upper factor, with all threads, without
//! the copies and checks that R's call makes; in `host` the upper triangle of a matrix goes to the
//! GPU, and from there to another matrix. Other parts have nothing here.

use cudafactor::device::memory::Memory;
use cudafactor::device::update::FactorUpdate;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::matrix::{Change, Part};
use faer::linalg::cholesky::llt::update::rank_r_update_clobber;
use faer::{Col, Mat};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "update_peers PART=ORDER,...:RANK,... ...";

/// Runs that count, after one that does not; and of those that take longer than a second.
const REPEATS: usize = 7;
const FEWER: usize = 3;

/// Uniform on [0, 1), the same each time.
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn matrix(&mut self, rows: usize, cols: usize) -> Mat<f64> {
        Mat::from_fn(rows, cols, |_, _| self.next())
    }
}

struct Case {
    part: String,
    orders: Vec<usize>,
    ranks: Vec<usize>,
}

fn case(argument: &str) -> Outcome<Case> {
    let (part, sizes) = argument.split_once('=').ok_or(USAGE)?;
    let (orders, ranks) = sizes.split_once(':').unwrap_or((sizes, ""));
    let numbers = |list: &str| -> Outcome<Vec<usize>> {
        let given = list.split(',').filter(|n| !n.is_empty());
        Ok(given.map(str::parse).collect::<Result<_, _>>()?)
    };
    Ok(Case {
        part: part.to_string(),
        orders: numbers(orders)?,
        ranks: numbers(ranks)?,
    })
}

/// Prints the median and the least of these seconds.
fn say(name: &str, n: usize, k: usize, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let median = (times[(times.len() - 1) / 2] + times[times.len() / 2]) / 2.0;
    println!("{name},{n},{k},{median:.9},{:.9},,", times[0]);
}

/// The first column of `L L'`.
fn first_column(l: &Mat<f64>) -> Vec<f64> {
    l.col(0).iter().map(|x| x * l[(0, 0)]).collect()
}

/// Whether the first column of a changed factor belongs to the matrix that it should: `is` and
/// `was` of the factors, `by` times that of `V V'`.
fn changed(is: &[f64], was: &[f64], v: &Mat<f64>, by: f64) -> bool {
    (0..v.nrows()).all(|i| {
        let product: f64 = (0..v.ncols()).map(|j| v[(i, j)] * v[(0, j)]).sum();
        (is[i] - was[i] - by * product).abs() <= 1e-10 * (was[i].abs() + product)
    })
}

/// A lower factor, and what it is changed by.
fn problem(n: usize, k: usize) -> (Mat<f64>, Mat<f64>) {
    let mut random = Uniform(1);
    let scale = 1.0 / (n as f64).sqrt();
    let l = Mat::from_fn(n, n, |i, j| match i.cmp(&j) {
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => 2.0 + random.next(),
        std::cmp::Ordering::Greater => scale * (random.next() - 0.5),
    });
    (l, random.matrix(n, k))
}

/// Times of changes up by V and down again; `change` gives its seconds.
fn up_and_down(
    name: &str,
    n: usize,
    k: usize,
    mut change: impl FnMut(Change) -> Outcome<f64>,
) -> Outcome<()> {
    let warm = change(Change::Up)?.max(change(Change::Down)?);
    let (mut up, mut down) = (Vec::new(), Vec::new());
    for _ in 0..if warm > 1.0 { FEWER } else { REPEATS } {
        up.push(change(Change::Up)?);
        down.push(change(Change::Down)?);
    }
    say(&format!("{name},up"), n, k, up);
    say(&format!("{name},down"), n, k, down);
    Ok(())
}

fn faer(n: usize, k: usize) -> Outcome<()> {
    let (mut l, v) = problem(n, k);
    let mut w = v.clone();
    let was = first_column(&l);
    let mut checked = false;
    up_and_down("faer", n, k, |change| {
        w.copy_from(&v);
        let by = match change {
            Change::Up => 1.0,
            Change::Down => -1.0,
        };
        let mut alpha = Col::from_fn(k, |_| by);
        let start = Instant::now();
        rank_r_update_clobber(l.as_mut(), w.as_mut(), alpha.as_mut().as_diagonal_mut())
            .map_err(|e| format!("faer, n = {n}, k = {k}: {e:?}"))?;
        black_box(&l);
        let seconds = start.elapsed().as_secs_f64();
        if !checked && !changed(&first_column(&l), &was, &v, by) {
            return Err(format!("faer, n = {n}, k = {k}: this is not the factor").into());
        }
        checked = true;
        Ok(seconds)
    })
}

fn ours(n: usize, k: usize) -> Outcome<()> {
    let dev = CpuDevice::new(0);
    let (l, v) = problem(n, k);
    let r = l.transpose().to_owned();
    let mut r = dev.load_temporary(r.as_ref(), Part::Upper)?;
    let mut w = dev.load_temporary(v.as_ref(), Part::All)?;
    up_and_down("cpu_there", n, k, |change| {
        dev.refill(v.as_ref(), Part::All, &mut w)?;
        let start = Instant::now();
        dev.update_factor(change, &mut r, &mut w)?;
        black_box(&r);
        Ok(start.elapsed().as_secs_f64())
    })
}

/// The upper triangle to the GPU and back, by the way that operands and results of R take; the
/// memory of the result is used again.
#[cfg(feature = "cuda")]
fn pass(n: usize) -> Outcome<()> {
    use cudafactor::backend::cuda::CudaDevice;

    let dev = match CudaDevice::open(0) {
        Ok(dev) => dev,
        Err(e) => {
            println!("# no GPU: {e}");
            return Ok(());
        }
    };
    let from = vec![1.0; n * n];
    let mut to = vec![0.0; n * n];
    let mut times = Vec::new();
    for _ in 0..REPEATS + 2 {
        let a = faer::MatRef::from_column_major_slice(&from, n, n);
        let home = faer::MatMut::from_column_major_slice_mut(&mut to, n, n);
        let start = Instant::now();
        let there = dev.load_into(a, Part::Upper, home)?;
        dev.store_part(there, Part::Upper)?;
        times.push(start.elapsed().as_secs_f64());
    }
    if to[n * (n - 1)] != 1.0 || (n > 1 && to[1] != 0.0) {
        return Err(format!("n = {n}: this is not the triangle").into());
    }
    say("pass,", n, 0, times.split_off(2));
    Ok(())
}

#[cfg(not(feature = "cuda"))]
fn pass(_: usize) -> Outcome<()> {
    println!("# no GPU: built without");
    Ok(())
}

fn run() -> Outcome<()> {
    for argument in std::env::args().skip(1).filter(|a| a != "--bench") {
        let Case {
            part,
            orders,
            ranks,
        } = case(&argument)?;
        for n in orders {
            match part.as_str() {
                "paper" => ranks.iter().try_for_each(|k| faer(n, *k))?,
                "cpu" => ranks.iter().try_for_each(|k| {
                    faer(n, *k)?;
                    ours(n, *k)
                })?,
                "host" => pass(n)?,
                _ => {}
            }
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
