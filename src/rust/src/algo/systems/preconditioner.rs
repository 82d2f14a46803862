//! The preconditioner that a system gets: one table by what the user asked for and what the matrix
//! is.

/// What the user asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreconditionerName {
    None,
    Jacobi,
    /// IC(0), an incomplete Cholesky factor without fill.
    Ic0,
    /// The complete Cholesky factor.
    Cholesky,
    /// Algebraic multigrid.
    Amg,
    /// The fastest one for the matrix and the machine, the complete factor included.
    Auto,
    /// The same one for every right-hand side and tolerance, by kind of matrix and machine.
    Default,
}

/// What the matrix is, and where products with it are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    SparseOnHost,
    SparseOnGpu,
    /// Dense, on any device.
    Dense,
    /// A function that multiplies.
    Function,
}

/// A preconditioner that is built from the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Built {
    None,
    /// The diagonal.
    Jacobi,
    Ic0,
    Cholesky,
    /// Algebraic multigrid.
    Multigrid,
    /// [`Built::Cholesky`] where [`factor_that_pays`](super::choice::factor_that_pays) gives a
    /// factor, else [`Built::Ic0`].
    CholeskyOrIc0,
}

impl Built {
    /// The name that the user gives it.
    pub fn name(self) -> &'static str {
        match self {
            Built::None => "none",
            Built::Jacobi => "jacobi",
            Built::Ic0 => "ic0",
            Built::Multigrid => "amg",
            Built::Cholesky | Built::CholeskyOrIc0 => "cholesky",
        }
    }
}

/// What to build of a matrix. `None` where the GPU cannot build it: the host then solves the
/// system.
pub fn built_of(operand: Operand, asked: PreconditionerName) -> Option<Built> {
    use PreconditionerName as P;
    Some(match (operand, asked) {
        // A function has no entries to build another one of.
        (Operand::Function, _) | (_, P::None) => Built::None,
        (_, P::Jacobi) | (Operand::Dense, P::Default) => Built::Jacobi,
        // Without zeros in the matrix IC(0) is the complete factor, which multigrid cannot beat.
        (Operand::Dense, P::Ic0 | P::Cholesky | P::Amg | P::Auto) => Built::Cholesky,
        (Operand::SparseOnGpu, P::Ic0 | P::Cholesky) => return None,
        (Operand::SparseOnGpu, P::Amg | P::Auto | P::Default) => Built::Multigrid,
        (Operand::SparseOnHost, P::Ic0 | P::Default) => Built::Ic0,
        (Operand::SparseOnHost, P::Cholesky) => Built::Cholesky,
        (Operand::SparseOnHost, P::Amg) => Built::Multigrid,
        (Operand::SparseOnHost, P::Auto) => Built::CholeskyOrIc0,
    })
}

/// Share of nonzero entries up to which the host treats a dense matrix as a sparse one.
const SPARSE: f64 = 0.25;

/// Whether the host treats a dense matrix with these entries as a sparse one.
///
/// It stops counting where the answer is clear.
pub fn is_mostly_zero(x: &[f64]) -> bool {
    let most = (SPARSE * x.len() as f64) as usize;
    x.iter().filter(|x| **x != 0.0).nth(most).is_none()
}

#[cfg(test)]
mod tests {
    use super::PreconditionerName as P;
    use super::*;

    const ASKED: [P; 7] = [
        P::None,
        P::Jacobi,
        P::Ic0,
        P::Cholesky,
        P::Amg,
        P::Auto,
        P::Default,
    ];

    /// The table of `?pcg`.
    #[test]
    fn the_table() {
        let row = |operand| {
            ASKED.map(|asked| {
                let name = built_of(operand, asked).map(Built::name);
                name.unwrap_or("host")
            })
        };
        let host = [
            "none", "jacobi", "ic0", "cholesky", "amg", "cholesky", "ic0",
        ];
        assert_eq!(row(Operand::SparseOnHost), host);
        let gpu = ["none", "jacobi", "host", "host", "amg", "amg", "amg"];
        assert_eq!(row(Operand::SparseOnGpu), gpu);
        let factor = "cholesky";
        let dense = ["none", "jacobi", factor, factor, factor, factor, "jacobi"];
        assert_eq!(row(Operand::Dense), dense);
        assert_eq!(row(Operand::Function), ["none"; 7]);
        assert_eq!(
            built_of(Operand::SparseOnHost, P::Auto),
            Some(Built::CholeskyOrIc0)
        );
    }

    #[test]
    fn matrices_that_are_mostly_zero() {
        assert!(is_mostly_zero(&[]));
        assert!(is_mostly_zero(&[0.0, 0.0, 3.0, 0.0]));
        assert!(!is_mostly_zero(&[0.0, 1.0, 3.0, 0.0]));
        assert!(!is_mostly_zero(&[f64::NAN; 8]));
    }
}
