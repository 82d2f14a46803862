//! Products in tiles: in double precision on the tensor cores (`kernels/gemm/product.cu`,
//! `product_thin.cu`), in single precision with every operation rounded to it (`product_f32.cu`).

use std::mem::size_of;

use super::plan::{tiles, Launch, Machine, ProductPlan};
use super::shapes::{kernel, TileShape, SLAB};
use super::split_k;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::{args, scalar, Family, Kernel};
use crate::backend::cuda::driver::split_k::SplitKWorkspace;
use crate::backend::cuda::gemm::update::{Update, UpdatedPart, FENCED};
use crate::backend::cuda::matrix::operand::{KernelOperand, OperandLayout};
use crate::backend::cuda::matrix::views::View;
use crate::base::error::{Error, Result};
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::cost::flops::ProductSize;

fn is_single<T: Scalar>() -> bool {
    size_of::<T>() == size_of::<f32>()
}

/// Shapes that can make any product of that type.
fn square_shapes<T: Scalar>() -> &'static [TileShape] {
    if is_single::<T>() {
        &TileShape::SINGLE
    } else {
        &TileShape::SQUARE
    }
}

/// Which tiles of C are computed and where they are stored, with the numbers that kernels use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Region {
    Full = 0,
    Lower = 1,
    Upper = 2,
    /// The lower triangle, stored twice: a symmetric matrix.
    Both = 3,
}

impl Region {
    /// The same tiles seen in the transpose.
    fn t(self) -> Self {
        match self {
            Region::Lower => Region::Upper,
            Region::Upper => Region::Lower,
            other => other,
        }
    }
}

/// How a product is split: the operations of a launch, and, unless a plan chooses them, a shape and
/// whether tiles are shared.
#[derive(Clone, Copy)]
struct ProductSplit {
    operations: f64,
    way: Option<(TileShape, bool)>,
}

impl ProductSplit {
    fn best<T: Scalar>(ctx: &Context) -> Self {
        ProductSplit {
            operations: ctx.properties.launch_operations::<T>(),
            way: None,
        }
    }
}

/// Whether the GPU has such kernels.
pub(crate) fn has_kernels<T: Scalar>(ctx: &Context) -> bool {
    let single = is_single::<T>();
    ctx.has([Family::Product, Family::ProductSingle][usize::from(single)])
}

/// `C <- alpha A B + beta C` or one triangle of it. False, with nothing done, if no kernel is for
/// it or none is faster.
pub(crate) fn multiply<T: Scalar>(
    ctx: &'static Context,
    update: Update<T>,
    a: View<T>,
    b: View<T>,
    c: View<T>,
) -> Result<bool> {
    let Some(product) = TiledProduct::of(ctx, update, a, b, c) else {
        return Ok(false);
    };
    if is_single::<T>() && c.rows.min(c.cols) <= TileShape::THIN {
        return Ok(false);
    }
    product.run(ProductSplit::best::<T>(ctx))?;
    Ok(true)
}

/// `C <- A A'`, exactly symmetric. False, with nothing done, if there is no kernel for it.
pub(crate) fn square<T: Scalar>(ctx: &'static Context, a: View<T>, c: View<T>) -> Result<bool> {
    let Some(product) = TiledProduct::of(ctx, Update::assign(), a, a.t(), c) else {
        return Ok(false);
    };
    product.region(Region::Both, ProductSplit::best::<T>(ctx))?;
    Ok(true)
}

/// A product that the kernels can make.
#[derive(Clone, Copy)]
struct TiledProduct<T> {
    ctx: &'static Context,
    update: Update<T>,
    a: View<T>,
    b: View<T>,
    c: View<T>,
}

impl<T: Scalar> TiledProduct<T> {
    fn of(
        ctx: &'static Context,
        update: Update<T>,
        a: View<T>,
        b: View<T>,
        c: View<T>,
    ) -> Option<Self> {
        let product = TiledProduct {
            ctx,
            update,
            a,
            b,
            c,
        };
        let largest = i32::MAX as usize - 128;
        let sizes = c.rows <= largest && c.cols <= largest && a.cols <= largest;
        // As `region` chooses it.
        let thin = update.triangle == UpdatedPart::Full && c.rows.min(c.cols) <= TileShape::THIN;
        let family = match (is_single::<T>(), thin) {
            (true, _) => Family::ProductSingle,
            (false, true) => Family::ProductThin,
            (false, false) => Family::Product,
        };
        let usable = ctx.has(family) && sizes && product.operands().is_some();
        usable.then_some(product)
    }

    fn operands(&self) -> Option<(KernelOperand, KernelOperand)> {
        let (a, b) = (self.a, self.b);
        Some((
            KernelOperand::of(a.ptr, (a.rows, a.rs), (a.cols, a.cs))?,
            KernelOperand::of(b.ptr, (b.cols, b.cs), (b.rows, b.rs))?,
        ))
    }

    /// `C' <- alpha B'A' + beta C'`, the same product.
    fn t(self) -> Self {
        TiledProduct {
            a: self.b.t(),
            b: self.a.t(),
            c: self.c.t(),
            update: Update {
                triangle: self.update.triangle.t(),
                ..self.update
            },
            ..self
        }
    }

    /// The rows `i..i + rows` and the columns `j..j + cols` of C.
    fn part(self, i: usize, j: usize, rows: usize, cols: usize) -> Self {
        let depth = self.a.cols;
        TiledProduct {
            a: self.a.sub(i, 0, rows, depth),
            b: self.b.sub(0, j, depth, cols),
            c: self.c.sub(i, j, rows, cols),
            ..self
        }
    }

    /// A triangle of a matrix that is not square is a triangle of a square one and a rectangle.
    fn run(self, cut: ProductSplit) -> Result<()> {
        let (m, n) = (self.c.rows, self.c.cols);
        let order = m.min(n);
        match self.update.triangle {
            UpdatedPart::Full => self.region(Region::Full, cut),
            UpdatedPart::Lower => {
                self.part(0, 0, order, order).region(Region::Lower, cut)?;
                self.part(order, 0, m - order, order)
                    .region(Region::Full, cut)
            }
            UpdatedPart::Upper => {
                self.part(0, 0, order, order).region(Region::Upper, cut)?;
                self.part(0, order, order, n - order)
                    .region(Region::Full, cut)
            }
        }
    }

    fn region(self, region: Region, cut: ProductSplit) -> Result<()> {
        let (m, n) = (self.c.rows, self.c.cols);
        if self.c.is_empty() {
            return Ok(());
        }
        let (a, b) = self.operands().ok_or_else(|| unusable("layout"))?;
        let thin = region == Region::Full
            && m.min(n) <= TileShape::THIN
            && cut.way.is_none()
            && !is_single::<T>();
        let slim = region == Region::Full
            && n <= TileShape::SLIM
            && (a.layout, b.layout) == (OperandLayout::Lines, OperandLayout::Depth)
            && self.ctx.has(Family::ProductThin)
            && !is_single::<T>();
        let shapes: &[TileShape] = match (thin, cut.way) {
            (false, Some((shape, _))) => &[shape],
            (true, _) if n <= TileShape::THIN => &[TileShape::Tall],
            (true, _) => &[TileShape::Wide],
            _ if slim => &TileShape::WITH_SLIM,
            _ => square_shapes::<T>(),
        };
        // All shapes offered have kernels for the same layouts, and the transpose has one where
        // they have none.
        if shapes
            .iter()
            .any(|s| kernel(*s, a.layout, b.layout).is_none())
        {
            return self.t().region(region.t(), cut);
        }
        let work = |depth| ProductSize {
            m,
            n,
            k: depth,
            triangle: region != Region::Full,
        };
        let machine = self.machine(shapes, a.layout, b.layout)?;
        let plan = match cut.way {
            Some((shape, streamed)) => {
                ProductPlan::new(&machine, &work(self.a.cols), shape, streamed)
            }
            None => ProductPlan::choose(&machine, &work(self.a.cols), shapes),
        };
        let plan = plan.ok_or_else(|| unusable("shape"))?;
        let kernel = kernel(plan.shape, a.layout, b.layout).ok_or_else(|| unusable("kernel"))?;
        let step = plan.depth(self.a.cols, cut.operations);
        let longest = self.ctx.properties.launch_operations::<T>();
        for from in (0..self.a.cols).step_by(step) {
            let work = work(step.min(self.a.cols - from));
            let part = self.steps(from, work.k);
            for launch in plan.launches(&work, cut.operations) {
                part.start(kernel, plan.shape, launch, region)?;
                let share = launch.tiles as f64 / tiles(&work, plan.shape) as f64;
                progress::advance(share * work.operations());
                let launches = launch.operations(&work, plan.shape) / longest;
                if launches > FENCED {
                    self.ctx.fence_after(launches)?;
                }
            }
        }
        Ok(())
    }

    /// The part of the sums from step `from` on; but for the first part, it is added to what is
    /// there.
    fn steps(self, from: usize, depth: usize) -> Self {
        let beta = match from {
            0 => self.update.beta,
            _ => T::from_f64(1.0),
        };
        TiledProduct {
            a: self.a.sub(0, from, self.a.rows, depth),
            b: self.b.sub(from, 0, depth, self.b.cols),
            update: Update {
                beta,
                ..self.update
            },
            ..self
        }
    }

    fn machine(&self, shapes: &[TileShape], a: OperandLayout, b: OperandLayout) -> Result<Machine> {
        let mut resident = [0; 8];
        for shape in shapes {
            let shared = shape.shared();
            let Some(kernel) = kernel(*shape, a, b) else {
                continue;
            };
            if shared <= self.ctx.properties.shared {
                let traits = shape.traits();
                let blocks = self.ctx.resident::<T>(kernel, traits.threads, shared)?;
                resident[*shape as usize] = blocks.min(traits.resident);
            }
        }
        Ok(Machine {
            multiprocessors: self.ctx.multiprocessors(),
            rate: self.ctx.properties.product_rate::<T>(),
            resident,
            shares: split_k::prepare(self.ctx)?,
        })
    }

    fn start(
        &self,
        kernel: Kernel,
        shape: TileShape,
        launch: Launch,
        region: Region,
    ) -> Result<()> {
        let (a, b) = self.operands().ok_or_else(|| unusable("layout"))?;
        let (partial, flags, epoch) = if launch.streamed > 0 {
            SplitKWorkspace::claim(self.ctx)?
        } else {
            (0, 0, 0)
        };
        let slabs = launch.streamed * self.a.cols.div_ceil(SLAB);
        self.ctx.launch_shared::<T>(
            kernel,
            (launch.blocks, 1),
            shape.traits().threads,
            shape.shared(),
            &args![
                self.c.rows as i32,
                self.c.cols as i32,
                self.a.cols,
                launch.first as i32,
                launch.tiles as i32,
                launch.streamed as i32,
                slabs / launch.blocks,
                (slabs % launch.blocks) as i32,
                scalar(self.update.alpha),
                a.ptr,
                a.ld,
                b.ptr,
                b.ld,
                scalar(self.update.beta),
                self.c.ptr,
                self.c.rs,
                self.c.cs,
                region as i32,
                partial,
                flags,
                epoch,
                self.update.stop
            ],
        )
    }
}

fn unusable(what: &str) -> Error {
    Error::Internal {
        what: format!("a product has no usable {what}"),
    }
}

#[cfg(test)]
#[path = "tiled_tests.rs"]
mod tests;
