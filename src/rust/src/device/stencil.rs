//! The contract for symmetric operators on grids, whose points are joined to their neighbours, and
//! for the steps of multigrid with them.
//!
//! An operator is a matrix with a row for each point and couplings as columns:
//! `(A x)_i = e_i x_i + sum_j w_ij (x_i - x_j)` over the neighbours j of i. The first column has
//! the excess e, what a row sums up to; the others have w towards the neighbours that
//! [`Grid::forwards`] lists, the other half being the same numbers seen from there. So nothing is
//! lost by cancellation of a part of the grid that only small couplings join to the rest. Couplings
//! that leave the grid are not read.
//!
//! Interpolation is Dendy's (1982, Black box multigrid, J. Comput. Phys. 48:366): every second
//! point of each axis is a point of the coarse grid; at others the operator, collapsed onto the
//! axes along which the point lies between coarse ones, says how these are weighted. With each
//! coarse point go those up to one further along each axis, its cell. A weight is named by the
//! cell, and by a number in base 3 with a digit for each axis: 0 where the point is not between, 1
//! and 2 where it is, for the weight of the coarse point below and above.

use crate::base::error::Result;
use crate::device::elementwise::Elementwise;
use crate::device::multigrid::{Interpolation, LevelOperator, Step};

/// Dimensions of a grid, of which the first varies fastest; those that are not needed are 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    pub dims: [usize; 3],
}

/// Which points are neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// One step along one axis.
    Axes,
    /// At most one step along each.
    All,
}

/// Steps along the axes, or from a point to its neighbour.
pub type Offset = [isize; 3];

impl Grid {
    pub fn points(&self) -> usize {
        self.dims.iter().product()
    }

    /// Axes that count: two, or three where there are slices.
    pub fn axes(&self) -> usize {
        if self.dims[2] > 1 {
            3
        } else {
            2
        }
    }

    /// Every second point of each axis.
    pub fn coarse(&self) -> Grid {
        Grid {
            dims: self.dims.map(|n| n.div_ceil(2)),
        }
    }

    /// All steps to neighbours and to the point itself, in order of the points.
    pub fn around(&self) -> Vec<Offset> {
        let deep = if self.axes() == 3 { -1..=1 } else { 0..=0 };
        let plane = |z| (-1..=1).flat_map(move |y| (-1..=1).map(move |x| [x, y, z]));
        deep.flat_map(plane).collect()
    }

    /// Steps to the neighbours that come later in the order of points, which couplings are stored
    /// for.
    pub fn forwards(&self, reach: Reach) -> Vec<Offset> {
        match reach {
            Reach::Axes => [[1, 0, 0], [0, 1, 0], [0, 0, 1]][..self.axes()].to_vec(),
            Reach::All => {
                let all = self.around();
                all[all.len() / 2 + 1..].to_vec()
            }
        }
    }

    /// Columns of an operator.
    pub fn entries(&self, reach: Reach) -> usize {
        1 + self.forwards(reach).len()
    }

    /// How many weights of interpolation there are to a cell, that of the coarse point itself,
    /// which is 1, left out.
    pub fn weights(&self) -> usize {
        3usize.pow(self.axes() as u32) - 1
    }

    /// Where a point is that is beside the one of this number; perhaps outside.
    pub fn beside(&self, place: usize, offset: Offset) -> Offset {
        let [x, y, _] = self.dims;
        let at = [place % x, place / x % y, place / x / y];
        [0, 1, 2].map(|a| at[a] as isize + offset[a])
    }

    /// The number of a point, if the grid has it.
    pub fn place(&self, at: Offset) -> Option<usize> {
        let inside = |a: usize| (0..self.dims[a] as isize).contains(&at[a]);
        let [x, y, z] = at.map(|c| c as usize);
        (0..3)
            .all(inside)
            .then(|| x + self.dims[0] * (y + self.dims[1] * z))
    }
}

/// A symmetric operator, `entries` of `points()` rows and `entries(reach)` columns.
#[derive(Debug)]
pub struct Operator<M> {
    pub grid: Grid,
    pub reach: Reach,
    pub entries: M,
}

/// The weights of the interpolation to a grid from its coarse grid: a row for each point of that,
/// `weights()` columns.
#[derive(Debug)]
pub struct Weights<M> {
    pub grid: Grid,
    pub entries: M,
}

/// Arithmetic with operators. Vectors are columns, several of them as one matrix; shapes are
/// the caller's duty, and no result is an operand.
pub trait Stencil: Elementwise<f64> + Sized {
    /// `out <- b - A x`, or `A x` where there is no b.
    fn stencil_residual(
        &self,
        a: &Operator<Self::Mat<'static>>,
        b: Option<&Self::Mat<'static>>,
        x: &Self::Mat<'static>,
        out: &mut Self::Mat<'static>,
    ) -> Result<()>;

    /// `p` as [`Step`] says, and `out <- x + p`. Without x that is 0, and nothing of p is read.
    fn stencil_relax(
        &self,
        a: &Operator<Self::Mat<'static>>,
        b: &Self::Mat<'static>,
        x: Option<&Self::Mat<'static>>,
        step: Step,
        p: &mut Self::Mat<'static>,
        out: &mut Self::Mat<'static>,
    ) -> Result<()>;

    /// The interpolation P from the coarse grid.
    fn stencil_interpolation(
        &self,
        a: &Operator<Self::Mat<'static>>,
    ) -> Result<Weights<Self::Mat<'static>>>;

    /// `P' A P`, of the coarse grid and [`Reach::All`].
    fn stencil_coarsen(
        &self,
        a: &Operator<Self::Mat<'static>>,
        weights: &Weights<Self::Mat<'static>>,
    ) -> Result<Operator<Self::Mat<'static>>>;

    /// `out <- P' x`, x of the grid and `out` of the coarse one.
    fn stencil_restrict(
        &self,
        weights: &Weights<Self::Mat<'static>>,
        x: &Self::Mat<'static>,
        out: &mut Self::Mat<'static>,
    ) -> Result<()>;

    /// `out <- out + P x`, x of the coarse grid and `out` of the grid.
    fn stencil_prolong(
        &self,
        weights: &Weights<Self::Mat<'static>>,
        x: &Self::Mat<'static>,
        out: &mut Self::Mat<'static>,
    ) -> Result<()>;
}

impl<D: Stencil> LevelOperator<D> for Operator<D::Mat<'static>> {
    fn residual(
        &self,
        dev: &D,
        b: Option<&D::Mat<'static>>,
        x: &D::Mat<'static>,
        out: &mut D::Mat<'static>,
    ) -> Result<()> {
        dev.stencil_residual(self, b, x, out)
    }

    fn relax(
        &self,
        dev: &D,
        b: &D::Mat<'static>,
        x: Option<&D::Mat<'static>>,
        step: Step,
        p: &mut D::Mat<'static>,
        out: &mut D::Mat<'static>,
    ) -> Result<()> {
        dev.stencil_relax(self, b, x, step, p, out)
    }
}

impl<D: Stencil> Interpolation<D> for Weights<D::Mat<'static>> {
    fn restrict(&self, dev: &D, x: &D::Mat<'static>, out: &mut D::Mat<'static>) -> Result<()> {
        dev.stencil_restrict(self, x, out)
    }

    fn prolong(&self, dev: &D, x: &D::Mat<'static>, out: &mut D::Mat<'static>) -> Result<()> {
        dev.stencil_prolong(self, x, out)
    }
}

#[cfg(test)]
mod tests {
    use super::{Grid, Reach};

    #[test]
    fn neighbours_are_counted() {
        let flat = Grid { dims: [5, 4, 1] };
        let deep = Grid { dims: [5, 4, 3] };
        assert_eq!(
            (flat.entries(Reach::Axes), flat.entries(Reach::All)),
            (3, 5)
        );
        assert_eq!(
            (deep.entries(Reach::Axes), deep.entries(Reach::All)),
            (4, 14)
        );
        assert_eq!((flat.weights(), deep.weights()), (8, 26));
        assert_eq!(deep.coarse(), Grid { dims: [3, 2, 2] });
        assert_eq!(flat.forwards(Reach::All)[0], [1, 0, 0]);
        assert_eq!(deep.place([4, 3, 2]), Some(59));
        assert_eq!(
            (flat.place([0, 0, 1]), flat.place([-1, 0, 0])),
            (None, None)
        );
    }
}
