//! What streams through a Cholesky factor in a file: `chol_solve`, `backsolve`, `chol2inv_diag`, `determinant`.

use extendr_api::prelude::*;

use crate::algo::cholesky_file::LEAST_ROOM;
use crate::algo::tiled_factor::Factor;
use crate::algo::tiled_inverse::inverse_diagonal;
use crate::algo::tiled_memory::Budget;
use crate::algo::tiled_solve::{solve, System};
use crate::backend::cpu::CpuDevice;
use crate::error::{Error, Result};
use crate::progress;
use crate::r::args::{self, Out};
use crate::r::cholesky_file::{bytes, host_bytes, LEAST_ON_GPU};
use crate::r::reply::{reply, show_progress};
use crate::r::target::{check_free, note_fallback, set_last, How, Target};
use crate::r::tile_matrix::{by_element, open_known, path};
use crate::scalar::Scalar;
use crate::tiles::kind;
use crate::tiles::machine::TileMachine;
use crate::work::cholesky_flops;

/// With `device = "auto"` the CPU solves for fewer right-hand sides: reading the file takes longer than to compute with it.
const LEAST_COLUMNS: usize = 64;

/// Bytes of memory for tiles that the user asked for; NaN where nothing was said.
struct Wanted {
    host: f64,
    device: f64,
}

fn wanted(memory: &Robj) -> Result<Wanted> {
    match *args::doubles(memory)? {
        [host, device] => Ok(Wanted { host, device }),
        _ => Err(Error::Internal {
            what: "a native routine was called without budgets of memory".to_owned(),
        }),
    }
}

/// What is done with a factor, on any device.
trait Task<T: Scalar> {
    fn operations(&self) -> f64;
    /// What it is called while the user waits.
    fn phase(&self) -> &'static str;
    fn is_large(&self) -> bool;
    /// Bytes that are needed beside tiles, for a column.
    fn column(&self) -> u64;
    fn run<D: TileMachine<T>>(&mut self, dev: &D, budget: Budget) -> Result<()>;
}

fn on<T: Scalar>(
    target: Target,
    factor: &Factor<'_, T>,
    wanted: &Wanted,
    how: &How,
    task: &mut impl Task<T>,
) -> Result<()> {
    check_free(target)?;
    let later = target != Target::Cpu;
    let _shown = progress::begin(task.operations(), later, how.delay, show_progress);
    progress::phase(task.phase());
    progress::watch(factor.counter());
    // The parts of tiles at the edge take two more on a device.
    let least = (2 + LEAST_ROOM as u64) * factor.tile_bytes()? + task.column();
    let host = host_bytes(wanted.host, least);
    match target {
        Target::Cpu => {
            set_last(target);
            let budget = Budget { host, device: host };
            task.run(&CpuDevice::new(how.threads), budget)
        }
        #[cfg(feature = "cuda")]
        Target::Cuda(ordinal) => {
            let dev = crate::backend::cuda::CudaDevice::open(ordinal)?;
            set_last(target);
            let usage = dev.usage()?;
            let free = (usage.free + usage.pooled) as f64;
            let device = bytes(wanted.device, 0.75 * free, least);
            task.run(&dev, Budget { host, device })
        }
        #[cfg(not(feature = "cuda"))]
        Target::Cuda(_) => crate::r::target::no_cuda(),
    }
}

fn carry_out<T: Scalar>(
    factor: &Factor<'_, T>,
    wanted: &Wanted,
    how: &How,
    task: &mut impl Task<T>,
) -> Result<()> {
    let work = if task.is_large() { f64::INFINITY } else { 0.0 };
    match on(how.target(work), factor, wanted, how, task) {
        Err(e) if how.may_fall_back(&e) => {
            note_fallback(&e);
            on(Target::Cpu, factor, wanted, how, task)
        }
        done => done,
    }
}

/// `out = op(R)^-1 b`
struct Solve<'a, T> {
    factor: &'a Factor<'a, T>,
    system: System,
    b: &'a [f64],
    dim: (usize, usize),
    out: &'a mut [f64],
}

impl<T: Scalar> Task<T> for Solve<'_, T> {
    fn operations(&self) -> f64 {
        let n = self.factor.order() as f64;
        self.system.sweeps() * n * n * self.dim.1 as f64
    }

    fn phase(&self) -> &'static str {
        "solving"
    }

    fn is_large(&self) -> bool {
        self.factor.order() >= LEAST_ON_GPU && self.dim.1 >= LEAST_COLUMNS
    }

    fn column(&self) -> u64 {
        (self.factor.order() * size_of::<T>()) as u64
    }

    fn run<D: TileMachine<T>>(&mut self, dev: &D, budget: Budget) -> Result<()> {
        let b = T::borrow_host(self.b)?;
        let odim = (self.factor.order(), self.dim.1);
        let (factor, system, dim) = (self.factor, self.system, self.dim);
        T::fill_host(self.out, |out| {
            let (b, out) = (args::view(&b, dim), args::view_mut(out, odim));
            solve(dev, factor, system, b, out, budget).map(|_| ())
        })
    }
}

/// `out = diag((R'R)^-1)`
struct InverseDiagonal<'a, T> {
    factor: &'a Factor<'a, T>,
    out: &'a mut [f64],
}

impl<T: Scalar> Task<T> for InverseDiagonal<'_, T> {
    fn operations(&self) -> f64 {
        cholesky_flops(self.factor.order())
    }

    fn phase(&self) -> &'static str {
        "inverting"
    }

    fn is_large(&self) -> bool {
        self.factor.order() >= LEAST_ON_GPU
    }

    fn column(&self) -> u64 {
        // Of one column alone every tile is read for too little arithmetic.
        (self.factor.order() * self.factor.tile() * size_of::<T>()) as u64
    }

    fn run<D: TileMachine<T>>(&mut self, dev: &D, budget: Budget) -> Result<()> {
        inverse_diagonal(dev, self.factor, self.out, budget).map(|_| ())
    }
}

fn system(x: &Robj) -> Result<System> {
    match x.as_str() {
        Some("backward") => Ok(System::Backward),
        Some("forward") => Ok(System::Forward),
        Some("both") => Ok(System::Both),
        _ => Err(Error::Internal {
            what: "a native routine was called without a kind of system".to_owned(),
        }),
    }
}

#[allow(clippy::too_many_arguments)]
fn solve_file<T: Scalar>(
    file: &str,
    dim: (usize, usize),
    k: usize,
    system: System,
    b: &Robj,
    bdim: (usize, usize),
    out: &Robj,
    (wanted, how): (&Wanted, &How),
) -> Result<()> {
    let file = open_known::<T>(file, dim)?;
    let factor = Factor::new(&file, k)?;
    if k > bdim.0 {
        return Err(Error::Dimension {
            what: "invalid 'k' argument".to_owned(),
        });
    }
    let mut out = Out::new(out, (k, bdim.1))?;
    let mut task = Solve {
        factor: &factor,
        system,
        b: args::matrix(b, bdim)?,
        dim: bdim,
        out: out.slice(),
    };
    carry_out(&factor, wanted, how, &mut task)
}

/// out = the solution with the leading `k` rows and columns of the factor in a file of these extents; `which` is "backward", "forward" or "both"
#[extendr]
#[allow(clippy::too_many_arguments)]
fn native_tiles_solve(
    file: Robj,
    dim: Robj,
    k: Robj,
    which: Robj,
    b: Robj,
    bdim: Robj,
    out: Robj,
    memory: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (dim, bdim, k) = (args::dims(&dim)?, args::dims(&bdim)?, args::size(&k)?);
        let (file, which) = (path(&file)?, system(&which)?);
        let wanted = wanted(&memory)?;
        by_element!(kind(file)?.element, |T| solve_file::<T>(
            file,
            dim,
            k,
            which,
            &b,
            bdim,
            &out,
            (&wanted, &how)
        ))
    })
}

fn inverse_of_file<T: Scalar>(
    file: &str,
    dim: (usize, usize),
    out: &mut [f64],
    (wanted, how): (&Wanted, &How),
) -> Result<()> {
    let file = open_known::<T>(file, dim)?;
    let factor = Factor::new(&file, dim.0)?;
    let mut task = InverseDiagonal {
        factor: &factor,
        out,
    };
    carry_out(&factor, wanted, how, &mut task)
}

/// out = the diagonal of the inverse of the matrix whose factor is in a file of these extents
#[extendr]
fn native_tiles_inverse_diagonal(
    file: Robj,
    dim: Robj,
    out: Robj,
    memory: Robj,
    how: Robj,
) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (dim, wanted, file) = (args::dims(&dim)?, wanted(&memory)?, path(&file)?);
        let mut out = Out::new(&out, (dim.0, 1))?;
        by_element!(kind(file)?.element, |T| inverse_of_file::<T>(
            file,
            dim,
            out.slice(),
            (&wanted, &how)
        ))
    })
}

fn diagonal_of_file<T: Scalar>(file: &str, dim: (usize, usize), out: &mut [f64]) -> Result<()> {
    let file = open_known::<T>(file, dim)?;
    let diagonal = Factor::new(&file, dim.0)?.diagonal()?;
    for (to, from) in out.iter_mut().zip(diagonal) {
        *to = from.into();
    }
    Ok(())
}

/// out = the diagonal of the factor in a file of these extents
#[extendr]
fn native_tiles_factor_diagonal(file: Robj, dim: Robj, out: Robj) -> Robj {
    reply(|| {
        let (dim, file) = (args::dims(&dim)?, path(&file)?);
        let mut out = Out::new(&out, (dim.0, 1))?;
        by_element!(kind(file)?.element, |T| diagonal_of_file::<T>(
            file,
            dim,
            out.slice()
        ))
    })
}

extendr_module! {
    mod tile_solve;
    fn native_tiles_solve;
    fn native_tiles_inverse_diagonal;
    fn native_tiles_factor_diagonal;
}
