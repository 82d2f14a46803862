//! How much there is to do: operations, numbers that are read and written, columns that follow one
//! another.

use std::fmt;

use crate::base::matrix::Change;
use crate::cost::flops::{
    apply_flops, area, cholesky_flops, eigen_flops, lu_flops, qr_flops, ProductSize,
};

/// What is done, as far as it decides how fast it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Product,
    /// A product with its own transpose.
    Crossprod,
    Cholesky,
    Lu,
    Qr,
    /// LU and right-hand sides.
    Solve,
    /// Triangular systems, and what reflectors do to a matrix.
    Triangular,
    /// An update of a Cholesky factor, by reflections of single rows.
    Update,
    /// A factorization that looks for the largest of all that is left before each column.
    Pivoted,
    /// Eigenvalues of a symmetric matrix.
    Eigen,
    /// Singular values.
    Svd,
}

impl Verb {
    /// Those that a user can name, in the order of `settings.c`.
    pub const NAMED: [(&'static str, Verb); 8] = [
        ("product", Verb::Product),
        ("crossprod", Verb::Crossprod),
        ("chol", Verb::Cholesky),
        ("lu", Verb::Lu),
        ("qr", Verb::Qr),
        ("solve", Verb::Solve),
        ("eigen", Verb::Eigen),
        ("svd", Verb::Svd),
    ];
}

/// The dimensions of what a call computes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operands {
    Unknown,
    Matrix(usize, usize),
    /// The dimensions of the operands of a product.
    Product((usize, usize), (usize, usize)),
    /// The order of a system, and its right-hand sides.
    System(usize, usize),
    /// The number of matrices, and their dimensions.
    Batch(usize, (usize, usize)),
    Pixels(usize),
}

/// As `20 x 30`.
impl fmt::Display for Operands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Operands::Unknown => write!(f, "operands"),
            Operands::Matrix(m, n) => write!(f, "{m} x {n}"),
            Operands::Product((m, k), (l, n)) => write!(f, "{m} x {k} by {l} x {n}"),
            Operands::System(n, 1) => write!(f, "{n} x {n}, 1 right-hand side"),
            Operands::System(n, rhs) => write!(f, "{n} x {n}, {rhs} right-hand sides"),
            Operands::Batch(count, (m, n)) => write!(f, "{count} of {m} x {n}"),
            Operands::Pixels(count) => write!(f, "{count} pixels"),
        }
    }
}

/// One call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    pub verb: Verb,
    pub operands: Operands,
    pub flops: f64,
    /// Numbers that go to the device, and that come back.
    pub read: f64,
    pub written: f64,
    /// Columns of one matrix that follow one another.
    pub steps: f64,
    /// Numbers in the matrices that are factored, or in right-hand sides.
    pub entries: f64,
    /// How many matrices there are.
    pub count: f64,
}

impl Work {
    fn new(verb: Verb, flops: f64, (read, written): (f64, f64)) -> Work {
        Work {
            verb,
            operands: Operands::Unknown,
            flops,
            read,
            written,
            steps: 0.0,
            entries: 0.0,
            count: 1.0,
        }
    }

    /// One matrix that is factored.
    fn factors(mut self, (m, n): (usize, usize)) -> Work {
        self.operands = Operands::Matrix(m, n);
        self.steps = m.min(n) as f64;
        self.entries = area((m, n));
        self
    }

    /// The same work, judged as so many operations: infinitely many are for a GPU wherever there is
    /// one, none are for the CPU.
    pub fn counted_as(self, flops: f64) -> Work {
        Work { flops, ..self }
    }

    /// With a matrix of these dimensions.
    pub fn of(self, (m, n): (usize, usize)) -> Work {
        self.with(Operands::Matrix(m, n))
    }

    pub fn with(self, operands: Operands) -> Work {
        Work { operands, ..self }
    }

    fn of_entries(self, entries: f64) -> Work {
        Work { entries, ..self }
    }

    /// An m by k matrix times a k by n one.
    pub fn product(m: usize, n: usize, k: usize) -> Work {
        let flops = 2.0 * area((m, n)) * k as f64;
        Work::new(
            Verb::Product,
            flops,
            (area((m, k)) + area((k, n)), area((m, n))),
        )
        .with(Operands::Product((m, k), (k, n)))
    }

    /// The size of one product; None for other work.
    pub fn product_size(&self) -> Option<ProductSize> {
        let size = match (self.verb, self.operands) {
            (Verb::Product, Operands::Product((m, k), (_, n))) => ProductSize {
                m,
                n,
                k,
                triangle: false,
            },
            (Verb::Crossprod, Operands::Matrix(k, n)) => ProductSize {
                m: n,
                n,
                k,
                triangle: true,
            },
            _ => return None,
        };
        (size.operations() == self.flops).then_some(size)
    }

    /// Products of an m by n matrix that stays on its device with so many columns.
    pub fn repeated((m, n): (usize, usize), columns: usize) -> Work {
        let flops = 2.0 * area((m, n)) * columns as f64;
        Work::new(Verb::Product, flops, (area((m, n)), 0.0)).of((m, n))
    }

    /// The n by n product of a matrix and its transpose, with sums of k.
    pub fn crossprod(n: usize, k: usize) -> Work {
        let flops = area((n, n)) * k as f64;
        Work::new(Verb::Crossprod, flops, (area((n, k)), area((n, n)))).of((k, n))
    }

    /// Only a triangle is read.
    pub fn cholesky(n: usize) -> Work {
        let all = area((n, n));
        Work::new(Verb::Cholesky, cholesky_flops(n), (all / 2.0, all)).factors((n, n))
    }

    /// As many Cholesky factorizations as `flops` and the numbers in all the matrices say.
    pub fn cholesky_batch(n: usize, flops: f64) -> Work {
        let count = (flops / cholesky_flops(n).max(1.0)).round().max(1.0);
        let all = count * area((n, n));
        let one = Work::new(Verb::Cholesky, flops, (all, all)).factors((n, n));
        Work {
            entries: all,
            count,
            ..one.with(Operands::Batch(count as usize, (n, n)))
        }
    }

    pub fn cholesky_pivoted(n: usize) -> Work {
        let all = area((n, n));
        Work::new(Verb::Pivoted, cholesky_flops(n), (all / 2.0, all)).factors((n, n))
    }

    /// The inverse from a Cholesky factor.
    pub fn cholesky_inverse(n: usize) -> Work {
        let all = area((n, n));
        Work::new(Verb::Triangular, 2.0 * cholesky_flops(n), (all / 2.0, all)).factors((n, n))
    }

    pub fn lu(dim: (usize, usize)) -> Work {
        Work::new(Verb::Lu, lu_flops(dim), (area(dim), area(dim))).factors(dim)
    }

    /// LU of which only the diagonal is wanted.
    pub fn determinant(n: usize) -> Work {
        Work {
            written: 0.0,
            ..Work::lu((n, n))
        }
    }

    /// Systems of order n with so many right-hand sides; without them, the inverse.
    pub fn solve(n: usize, rhs: usize, given: bool) -> Work {
        let flops = lu_flops((n, n)) + 2.0 * area((n, n)) * rhs as f64;
        let b = area((n, rhs));
        let read = area((n, n)) + if given { b } else { 0.0 };
        let work = Work::new(Verb::Solve, flops, (read, b)).factors((n, n));
        work.with(Operands::System(n, rhs))
    }

    /// `passes` triangular systems of order n with so many right-hand sides.
    pub fn triangular(n: usize, rhs: usize, passes: f64) -> Work {
        let flops = passes * area((n, n)) * rhs as f64;
        let b = area((n, rhs));
        let work = Work::new(Verb::Triangular, flops, (area((n, n)) + b, b));
        let work = work.factors((n, n)).of_entries(b);
        work.with(Operands::System(n, rhs))
    }

    /// The factor of a matrix of order n to which a product of k columns is added, or from which it
    /// is taken: that of a triangular system of them, but that the factor comes back, and that
    /// another factorization is made where that is less.
    pub fn cholesky_update(n: usize, k: usize, change: Change) -> Work {
        let system = area((n, n)) * k as f64;
        let reflections = (2.0 * system).min(system + cholesky_flops(n) * 2.0);
        let flops = match change {
            Change::Up => reflections,
            // With the system that tells whether there is a factor.
            Change::Down => reflections + system,
        };
        let all = area((n, n));
        let work = Work::new(Verb::Update, flops, (all / 2.0 + area((n, k)), all));
        work.factors((n, n)).of_entries(area((n, k)))
    }

    pub fn qr(dim: (usize, usize)) -> Work {
        Work::new(Verb::Qr, qr_flops(dim), (area(dim), area(dim))).factors(dim)
    }

    pub fn qr_pivoted(dim: (usize, usize)) -> Work {
        Work {
            verb: Verb::Pivoted,
            ..Work::qr(dim)
        }
    }

    /// The reflectors of an m by n matrix applied to a matrix of `cols` columns, which is read if
    /// it is `given`.
    pub fn reflectors((m, n): (usize, usize), cols: usize, given: bool) -> Work {
        let c = area((m, cols));
        let read = area((m, n)) + if given { c } else { 0.0 };
        let flops = apply_flops(m, m.min(n), cols);
        let work = Work::new(Verb::Triangular, flops, (read, c));
        work.factors((m, n)).of_entries(c)
    }

    /// Eigenvalues of a symmetric matrix, of which only a triangle is read, and their vectors if
    /// they are wanted.
    pub fn eigen(n: usize, vectors: bool) -> Work {
        let all = area((n, n));
        let written = if vectors { all } else { 0.0 };
        Work::new(Verb::Eigen, eigen_flops(n, vectors), (all, written)).factors((n, n))
    }

    /// As [`Work::eigen`], for `count` matrices. A GPU solves large ones one after the other.
    pub fn eigen_batch(n: usize, count: usize, vectors: bool) -> Work {
        let (one, all) = (Work::eigen(n, vectors), count as f64);
        let steps = one.steps * if n > EIGEN_TOGETHER { all } else { 1.0 };
        Work {
            operands: Operands::Batch(count, (n, n)),
            flops: all * one.flops,
            read: all * one.read,
            written: all * one.written,
            steps,
            entries: all * one.entries,
            count: all.max(1.0),
            ..one
        }
    }

    /// Singular values, and so many columns of U and of V.
    pub fn svd((m, n): (usize, usize), (left, right): (usize, usize)) -> Work {
        let (long, short) = (m.max(n) as f64, m.min(n) as f64);
        let square = short * short;
        // QR of what is tall, and Q times a square matrix.
        let (each, passes) = if left + right > 0 {
            (9.0, 2.0)
        } else {
            (8.0 / 3.0, 1.0)
        };
        let flops = 2.0 * passes * long * square + each * square * short;
        let written = area((m, left)) + area((n, right));
        let work = Work::new(Verb::Svd, flops, (area((m, n)), written)).factors((m, n));
        work.of_entries(square)
    }

    /// `count` least-squares fits of q responses to m by n designs.
    pub fn least_squares((m, n): (usize, usize), q: usize, count: usize) -> Work {
        let (x, y, all) = (area((m, n)), area((m, q)), count as f64);
        let flops = qr_flops((m, n)) + apply_flops(m, n, q);
        let written = x + 2.0 * y + area((n, q));
        let one = Work::new(Verb::Qr, all * flops, (all * (x + y), all * written)).factors((m, n));
        Work {
            entries: all * (x + y),
            count: all.max(1.0),
            operands: match count {
                1 => one.operands,
                _ => Operands::Batch(count, (m, n)),
            },
            ..one
        }
    }

    /// A linear program of m rows and n columns, of some iterations that form a product and factor
    /// it.
    pub fn linear_program(m: usize, n: usize) -> Work {
        let each = area((m, m)) * n as f64 + cholesky_flops(m) + 40.0 * area((m, n));
        let numbers = (area((m, n)), (m + n) as f64);
        let work = Work::new(Verb::Crossprod, LP_ITERATIONS * each, numbers);
        Work {
            steps: LP_ITERATIONS * m as f64,
            entries: LP_ITERATIONS * area((m, m)),
            ..work.of((m, n))
        }
    }

    /// The verb with square operands of order n.
    pub fn square(verb: Verb, n: usize) -> Work {
        match verb {
            Verb::Product => Work::product(n, n, n),
            Verb::Crossprod => Work::crossprod(n, n),
            Verb::Cholesky => Work::cholesky(n),
            Verb::Lu => Work::lu((n, n)),
            Verb::Qr => Work::qr((n, n)),
            Verb::Solve => Work::solve(n, n, false),
            Verb::Triangular => Work::triangular(n, n, 1.0),
            Verb::Update => Work::cholesky_update(n, n, Change::Up),
            Verb::Pivoted => Work::qr_pivoted((n, n)),
            Verb::Eigen => Work::eigen(n, true),
            Verb::Svd => Work::svd((n, n), (n, n)),
        }
    }
}

/// The largest order of matrices that a GPU solves together: its shared memory holds one.
const EIGEN_TOGETHER: usize = 166;

/// Iterations that a linear program is thought to take.
const LP_ITERATIONS: f64 = 15.0;

/// Operations of which nothing more is known.
impl From<f64> for Work {
    fn from(flops: f64) -> Work {
        Work::new(Verb::Product, flops, (0.0, 0.0))
    }
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
