//! Changes of a Cholesky factor: rank-k updates and downdates.

use faer::{MatMut, MatRef};

use crate::base::error::{Error, Result};
use crate::base::matrix::Change;
use crate::base::scalar::Scalar;
use crate::device::blas::Blas;

/// Columns of a factor that are changed together: panels of [`FactorUpdate::update_panel`] begin at
/// its multiples.
pub const PANEL: usize = 448;

/// Rank-k changes of an upper Cholesky factor by reflections of rows.
pub trait FactorUpdate<T: Scalar>: Blas<T> {
    /// The reflections of rows already changed, which are applied to later columns.
    type Reflections;

    /// Whether the device itself has the reflections, and so [`FactorUpdate::update_panel`]. Where
    /// not, [`FactorUpdate::update_factor`] takes the factor to the processor.
    fn has_update(&self) -> bool {
        false
    }
    /// Whether [`FactorUpdate::update_factor`] is faster than a new factorization, for V of `n` x
    /// `k`.
    fn update_pays(&self, _n: usize, _k: usize) -> bool {
        false
    }
    /// Whether [`FactorUpdate::update_factor`] for V of `n` x `k` takes only a moment, so that an
    /// interrupt can wait for its end.
    fn is_short_update(&self, _n: usize, _k: usize) -> bool {
        false
    }
    /// The upper factor of `R'R + V V'` or `R'R - V V'` in place of R, with a positive diagonal. V
    /// is lost.
    ///
    /// Entries of R below the diagonal are neither read nor changed.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] with the order of the minor; R is then lost.
    fn update_factor(
        &self,
        change: Change,
        r: &mut Self::Mat<'_>,
        v: &mut Self::Mat<'_>,
    ) -> Result<()>;
    /// As [`FactorUpdate::update_factor`] of an update, where V stays.
    ///
    /// V has entries. `false`, with R unchanged, where a magnitude in V is above `most` or NaN.
    fn update_guarded(
        &self,
        _most: f64,
        _r: &mut Self::Mat<'_>,
        _v: &Self::Mat<'_>,
    ) -> Result<bool> {
        Err(no_reflections())
    }
    /// As [`FactorUpdate::update_factor`], from the upper triangle of `from` in host memory to
    /// `out`, which becomes zero below the diagonal.
    ///
    /// `None`, with V unchanged, where streaming does not pay on this device. Before a downdate
    /// changes anything, `look` gets R, and an error of `look` ends the call.
    ///
    /// # Errors
    /// Also where `from` has numbers that are not finite or a zero on its diagonal.
    fn update_streamed(
        &self,
        _change: Change,
        _from: MatRef<'_, T>,
        _v: &mut Self::Mat<'_>,
        _out: MatMut<'_, T>,
        _look: &mut dyn FnMut(&Self::Mat<'static>) -> Result<()>,
    ) -> Result<Option<()>> {
        Ok(None)
    }
    /// Whether `a` is known to be an upper factor, zero below the diagonal, that can be changed
    /// without a check of its entries.
    fn is_factor(&self, _a: &Self::Mat<'_>) -> bool {
        false
    }
    /// Records what [`FactorUpdate::is_factor`] answers. Whoever changes the matrix otherwise must
    /// record `false`.
    fn set_factor(&self, _a: &mut Self::Mat<'_>, _known: bool) {}
    /// Memory for the reflections of `n` rows of a factor with `k` columns of V, still empty: O(n
    /// k) numbers.
    fn reflections(&self, change: Change, n: usize, k: usize) -> Result<Self::Reflections>;
    /// Changes the columns of a factor from `first` on, for factors that no memory holds as a
    /// whole.
    ///
    /// `panel` has these columns down to the diagonal: `first` rows and as many more as it has
    /// columns. `v` has the rows of V of these columns, which are lost. `all` has the reflections
    /// of the rows above `first`, and receives those of the panel. Panels come in order from
    /// column 0 on, each from a multiple of [`PANEL`]. After an error `all` is of no use.
    fn update_panel(
        &self,
        all: &mut Self::Reflections,
        first: usize,
        panel: &mut Self::Mat<'_>,
        v: &mut Self::Mat<'_>,
    ) -> Result<()>;
}

fn no_reflections() -> Error {
    Error::Internal {
        what: "this device has no reflections of a factor".into(),
    }
}
