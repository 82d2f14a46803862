//! Sparse matrices on a GPU: products compared with what memory allows, the setup of algebraic
//! multigrid stage by stage, and an iteration.
//!
//! `sparse [SIDE [TERABYTES]]` prints Markdown. SIDE: points along each side of the plane grid
//! (1000); the grid in space has about as many. TERABYTES: what the GPU's memory moves in a second
//! (4.1), for the floors: 12 bytes for each entry, 4 for each row and 16 for the entries of both
//! vectors.

use cudafactor::device::memory::Memory;
use std::process::ExitCode;
use std::time::Instant;

use cudafactor::algo::krylov::outcome::Stopping;
use cudafactor::algo::multigrid::algebraic::Algebraic;
use cudafactor::algo::systems::preconditioner::Built;
use cudafactor::algo::systems::resident::pcg_resident;
use cudafactor::backend::cuda::CudaDevice;
use cudafactor::base::error::Result;
use cudafactor::base::matrix::Part;
use cudafactor::base::sparse::symmetric::Stored;
use cudafactor::device::elementwise::Elementwise;
use cudafactor::device::multigrid::{LevelOperator, Step};
use cudafactor::device::sparse::{Columns, Sparse, DOMINANT};
use cudafactor::device::stencil::{Grid, Reach};
use faer::MatRef;

/// Runs that are timed together, after one that is not.
const REPEATS: usize = 50;

/// A matrix by columns, of all entries.
struct Matrix {
    starts: Vec<i32>,
    index: Vec<i32>,
    values: Vec<f64>,
}

impl Matrix {
    /// Poisson's equation on a grid, with neighbours along axes or all.
    fn new(grid: Grid, reach: Reach) -> Self {
        let forwards = grid.forwards(reach);
        let backwards = forwards.iter().rev().map(|o| o.map(|x| -x));
        let steps: Vec<_> = backwards
            .chain([[0; 3]])
            .chain(forwards.iter().copied())
            .collect();
        let diagonal = (steps.len() - 1) as f64;
        let (mut starts, mut index, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..grid.points() {
            let beside = steps
                .iter()
                .filter_map(|step| grid.place(grid.beside(i, *step)));
            for j in beside {
                index.push(j as i32);
                values.push(if i == j { diagonal } else { -1.0 });
            }
            starts.push(index.len() as i32);
        }
        Matrix {
            starts,
            index,
            values,
        }
    }

    fn columns(&self) -> Columns<'_> {
        Columns {
            starts: &self.starts,
            index: &self.index,
            values: &self.values,
            stored: Stored::All,
        }
    }
}

type Vector = <CudaDevice as Memory<f64>>::Mat<'static>;

fn vector(dev: &CudaDevice, n: usize) -> Result<Vector> {
    let mut state = 1u64;
    let next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let all: Vec<f64> = std::iter::repeat_with(next).take(n).collect();
    dev.load_temporary(MatRef::from_column_major_slice(&all, n, 1), Part::All)
}

/// Seconds of one run.
fn timed(dev: &CudaDevice, repeats: usize, mut f: impl FnMut() -> Result<()>) -> Result<f64> {
    f()?;
    dev.synchronize()?;
    let start = Instant::now();
    for _ in 0..repeats {
        f()?;
    }
    dev.synchronize()?;
    Ok(start.elapsed().as_secs_f64() / repeats as f64)
}

/// Seconds of the only run, and what it gave.
fn once<R>(dev: &CudaDevice, f: impl FnOnce() -> Result<R>) -> Result<(f64, R)> {
    dev.synchronize()?;
    let start = Instant::now();
    let made = f()?;
    dev.synchronize()?;
    Ok((start.elapsed().as_secs_f64(), made))
}

fn products(dev: &CudaDevice, name: &str, a: &Matrix, memory: f64) -> Result<()> {
    let (n, entries) = (a.starts.len() - 1, a.index.len());
    let csr = dev.sparse_load(a.columns())?;
    let x = vector(dev, n)?;
    let mut out = dev.blank(n, 1)?;
    let (mut p, b) = (vector(dev, n)?, vector(dev, n)?);
    let product = timed(dev, REPEATS, || csr.residual(dev, None, &x, &mut out))?;
    let step = Step {
        rate: 0.5,
        momentum: 0.1,
    };
    let relax = timed(dev, REPEATS, || {
        csr.relax(dev, &b, Some(&x), step, &mut p, &mut out)
    })?;
    let bytes = (12 * entries + 4 * n) as f64;
    let floor = |numbers: usize| (bytes + (8 * numbers * n) as f64) / memory;
    println!(
        "| {name} | {n} | {:.1} | {:.1} | {:.2} | {:.1} | {:.2} |",
        entries as f64 / n as f64,
        1e6 * product,
        product / floor(2),
        1e6 * relax,
        relax / floor(6)
    );
    Ok(())
}

/// The stages of all levels, which [`Algebraic::new`] goes through again.
fn stages(dev: &CudaDevice, name: &str, a: &Matrix) -> Result<()> {
    let n = a.starts.len() - 1;
    // The code of the kernels is loaded.
    drop(Algebraic::new(dev, dev.sparse_load(a.columns())?)?);
    let (load, mut csr) = once(dev, || dev.sparse_load(a.columns()))?;
    let (mut aggregate, mut coarsen, mut compose) = (0.0, 0.0, 0.0);
    loop {
        let mut passes = Vec::new();
        let before = dev.sparse_order(&csr);
        for apart in [DOMINANT, -1.0] {
            let (s, of) = once(dev, || dev.sparse_aggregate(&csr, apart))?;
            aggregate += s;
            let (s, next) = once(dev, || dev.sparse_coarsen(&csr, &of, 1.0))?;
            coarsen += s;
            passes.push(of);
            csr = next;
        }
        compose += once(dev, || dev.sparse_compose(&passes[0], &passes[1]))?.0;
        // As far as multigrid goes, which ends where rows find no partners.
        let rows = dev.sparse_order(&csr);
        if rows <= 256 || 5 * rows > 4 * before {
            break;
        }
    }
    let (all, m) = once(dev, || Algebraic::new(dev, dev.sparse_load(a.columns())?))?;
    let levels = m.levels();
    let x = vector(dev, n)?;
    let mut out = dev.blank(n, 1)?;
    let cycle = timed(dev, REPEATS, || m.apply(dev, &x, &mut out))?;
    println!(
        "| {name} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.3} | {levels:?} |",
        1e3 * load,
        1e3 * aggregate,
        1e3 * coarsen,
        1e3 * compose,
        1e3 * all,
        1e3 * cycle
    );
    Ok(())
}

fn solutions(dev: &CudaDevice, name: &str, a: &Matrix) -> Result<()> {
    let n = a.starts.len() - 1;
    let b = vector(dev, n)?;
    let stop = Stopping {
        tol: 1e-8,
        maxit: 100_000,
    };
    for made in [Built::Multigrid, Built::Jacobi, Built::None] {
        let mut least = f64::INFINITY;
        let mut iterations = 0;
        for _ in 0..3 {
            let csr = dev.sparse_load(a.columns())?;
            let (s, found) = once(dev, || pcg_resident(dev, csr, made, &b, None, stop))?;
            least = least.min(s);
            iterations = found.iterations[0];
            found.verdict()?;
            assert!(found.converged()[0], "{name} {made:?}: not converged");
        }
        println!(
            "| {name} | {made:?} | {iterations} | {:.2} | {:.4} |",
            1e3 * least,
            1e3 * least / iterations.max(1) as f64
        );
    }
    Ok(())
}

fn bench(side: usize, memory: f64) -> Result<()> {
    let dev = &CudaDevice::open(0)?;
    let depth = ((side * side) as f64).cbrt().round() as usize;
    let plane = Grid {
        dims: [side, side, 1],
    };
    let space = Grid { dims: [depth; 3] };
    let cases = [
        ("plane, 5 points", Matrix::new(plane, Reach::Axes)),
        ("space, 7 points", Matrix::new(space, Reach::Axes)),
        ("space, 27 points", Matrix::new(space, Reach::All)),
    ];
    println!(
        "| matrix | rows | entries a row | product, us | over its floor | relaxation, us | \
         over its floor |\n|:---|---:|---:|---:|---:|---:|---:|"
    );
    for (name, a) in &cases {
        products(dev, name, a, memory)?;
    }
    println!(
        "\n| matrix | upload, ms | aggregates | coarser matrices | members | upload and all \
         levels | a cycle | levels |\n|:---|---:|---:|---:|---:|---:|---:|:---|"
    );
    for (name, a) in &cases {
        stages(dev, name, a)?;
    }
    println!(
        "\n| matrix | preconditioner | iterations | with setup, ms | each |\n\
         |:---|:---|---:|---:|---:|"
    );
    for (name, a) in &cases[..2] {
        solutions(dev, name, a)?;
    }
    Ok(())
}

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let side = given.first().and_then(|a| a.parse().ok()).unwrap_or(1000);
    let memory: f64 = given.get(1).and_then(|a| a.parse().ok()).unwrap_or(4.1);
    match bench(side, 1e12 * memory) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
