//! The memory that a computation of a given order takes at its peak, and the largest order for
//! which there is enough.

/// What is computed of square matrices: of a Cholesky factor and so on. Solving is for as many
/// right-hand sides as there are rows, as for an inverse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    Cholesky,
    Lu,
    Qr,
    Solve,
    Product,
    Crossprod,
}

impl Task {
    pub const ALL: [(&'static str, Task); 6] = [
        ("chol", Task::Cholesky),
        ("lu", Task::Lu),
        ("qr", Task::Qr),
        ("solve", Task::Solve),
        ("product", Task::Product),
        ("crossprod", Task::Crossprod),
    ];

    /// Bytes on a GPU for elements of `size` bytes: operands and results, and workspace that must
    /// be had. What makes a computation faster and is done without where there is no room for it is
    /// not counted.
    pub fn on_gpu(self, n: usize, size: usize) -> f64 {
        let n = n as f64;
        // Square matrices, and numbers for each row or column.
        let (squares, lines) = match self {
            // A factor takes the place of its matrix. Inverses of a triangle's diagonal blocks, of
            // order 128.
            Task::Cholesky => (1.0, 256.0),
            // A panel of 128 columns, and lists of exchanges.
            Task::Lu => (1.0, 256.0),
            // Reflectors of up to four panels of 128 columns, and twice their products with the
            // other columns; a panel that is made column by column.
            Task::Qr => (1.0, 3.0 * 512.0 + 128.0 + 256.0),
            // The factor and the unknowns.
            Task::Solve => (2.0, 256.0),
            Task::Product => (3.0, 0.0),
            Task::Crossprod => (2.0, 0.0),
        };
        (squares * n * n + lines * n) * size as f64 + SLACK
    }

    /// Bytes of host memory: R's operands and results, and copies in between.
    pub fn on_cpu(self, n: usize, size: usize) -> f64 {
        let n = n as f64;
        let (doubles, own) = match self {
            Task::Cholesky | Task::Lu | Task::Crossprod => (2.0, 0.0),
            // Columns are kept until it is known which of them move to the end.
            Task::Qr => (2.0, 1.0),
            // The factor.
            Task::Solve => (2.0, 1.0),
            Task::Product => (3.0, 0.0),
        };
        // R has doubles only: others are copies.
        let copies = if size == size_of::<f64>() {
            0.0
        } else {
            doubles
        };
        n * n * (doubles * size_of::<f64>() as f64 + (own + copies) * size as f64) + SLACK
    }
}

/// For code of kernels, what allocations are rounded up to, small workspace.
pub const SLACK: f64 = (192 << 20) as f64;

/// The largest order a matrix can have in R.
const MOST: usize = i32::MAX as usize;

/// The largest order whose `need` does not exceed `free`, 0 where there is none. A larger order
/// needs more.
pub fn largest(free: f64, need: impl Fn(usize) -> f64) -> usize {
    let fits = |n: usize| n == 0 || need(n) <= free;
    let (mut low, mut high) = (0, MOST);
    if fits(high) {
        return high;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_order_fits_and_the_next_does_not() {
        for (name, task) in Task::ALL {
            for size in [4, 8] {
                for free in [0.3e9, 24e9, 80e9, 1e15] {
                    for need in [Task::on_gpu, Task::on_cpu] {
                        let n = largest(free, |n| need(task, n, size));
                        assert!(n > 0, "{name}");
                        assert!(need(task, n, size) <= free, "{name}");
                        assert!(need(task, n + 1, size) > free, "{name}");
                    }
                }
                let none = largest(1e6, |n| task.on_gpu(n, size));
                assert_eq!(none, 0, "{name}");
            }
        }
        assert_eq!(largest(f64::INFINITY, |n| n as f64), MOST);
    }

    #[test]
    fn most_of_the_memory_is_the_matrices() {
        let squares = |task: Task| {
            (24e9 / 8.0 / (largest(24e9, |n| task.on_gpu(n, 8)) as f64).powi(2)).floor()
        };
        assert_eq!(squares(Task::Cholesky), 1.0);
        assert_eq!(squares(Task::Lu), 1.0);
        assert_eq!(squares(Task::Qr), 1.0);
        assert_eq!(squares(Task::Solve), 2.0);
        assert_eq!(squares(Task::Product), 3.0);
        assert_eq!(squares(Task::Crossprod), 2.0);
        // Half the bytes for an element.
        let chol = |size| largest(24e9, |n| Task::Cholesky.on_gpu(n, size)) as f64;
        assert!((chol(4) / chol(8) - 2f64.sqrt()).abs() < 0.01);
    }
}
