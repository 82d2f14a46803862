//! Whether systems with a sparse matrix are solved by its complete factor or by conjugate gradients with IC(0).

use super::lp_csc::Csc;
use super::pcg_host::Host;
use super::pcg_sparse::{Sparse, Stored};
use super::sparse_cholesky::{may_pay, Ordered, SparseCholesky};
use crate::error::{Error, Result};

/// The complete factor of a matrix, `product` with all of its entries, for so many right-hand sides: where it is likely to take less time than iterations with IC(0), and can be had. It cannot
/// for want of memory, or of a matrix that is singular to rounding, with which conjugate gradients may well converge; of one that is not definite they say so themselves.
///
/// # Errors
/// [`Error::NonFiniteIn`] and [`Error::NotPositiveDefinite`] as of [`Ordered::new`], and [`Error::Interrupted`].
pub fn factor_that_pays(
    (a, stored): (&Csc, Stored),
    product: &Sparse,
    columns: usize,
    host: &Host,
) -> Result<Option<SparseCholesky>> {
    had(attempt((a, stored), product, columns, host))
}

fn attempt(
    (a, stored): (&Csc, Stored),
    product: &Sparse,
    columns: usize,
    host: &Host,
) -> Result<Option<SparseCholesky>> {
    if !may_pay(product, columns)? {
        return Ok(None);
    }
    let order = Ordered::new(a, stored)?;
    match order.pays(columns) {
        true => order.factor(host).map(Some),
        false => Ok(None),
    }
}

/// Without what cannot be had. The dimension is that of a factor whose entries have no numbers: a matrix that is not square has no product.
fn had<F>(factor: Result<Option<F>>) -> Result<Option<F>> {
    match factor {
        Err(Error::HostMemory { .. } | Error::Dimension { .. } | Error::IndefinitePivot) => {
            Ok(None)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_and_what_is_wrong() {
        let of = |e: Error| had::<()>(Err(e));
        let what = "too large".to_owned();
        assert_eq!(of(Error::HostMemory { needed: 1 }), Ok(None));
        assert_eq!(of(Error::Dimension { what }), Ok(None));
        assert_eq!(of(Error::IndefinitePivot), Ok(None));
        for e in [
            Error::Interrupted,
            Error::NotPositiveDefinite { order: 1 },
            Error::NonFiniteIn { argument: "A" },
        ] {
            assert_eq!(of(e.clone()), Err(e));
        }
        assert_eq!(had(Ok(Some(1))), Ok(Some(1)));
    }
}
