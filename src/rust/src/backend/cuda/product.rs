//! Products in double precision on the tensor cores (`kernels/product.cu`).

use std::mem::size_of;

use super::buffer::Buffer;
use super::context::{lock, Context};
use super::gemm::{Triangle, Update, FENCE_FLOPS};
use super::kernels::{args, Family, Kernel};
use super::memory::View;
use super::product_plan::{Launch, Machine, Plan, Shape, Work, SLAB};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

const fn pair(large: &'static str, small: &'static str) -> [Kernel; 2] {
    [
        Kernel::new(Family::Product, large),
        Kernel::new(Family::Product, small),
    ]
}

/// By the layouts of A and B (lines and depth, depth and depth, lines and lines), then by shape of tile.
const KERNELS: [[Kernel; 2]; 3] = [
    pair("tiles_multiply_large_nn", "tiles_multiply_small_nn"),
    pair("tiles_multiply_large_tn", "tiles_multiply_small_tn"),
    pair("tiles_multiply_large_nt", "tiles_multiply_small_nt"),
];

/// How an operand lies in memory: its lines (rows of A, columns of B) side by side, or the steps of its depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Lines,
    Depth,
}

/// An operand as the kernels read it.
#[derive(Debug, Clone, Copy)]
struct Operand {
    ptr: u64,
    layout: Layout,
    /// Elements from one line or step to the next, along the dimension that is not contiguous.
    ld: i64,
}

impl Operand {
    /// `lines` and `depth`: the size and the stride of each dimension. None where neither is contiguous.
    fn of(ptr: u64, lines: (usize, i64), depth: (usize, i64)) -> Option<Operand> {
        // The stride of a dimension of one element means nothing.
        let layout = if depth.1 == 1 && (lines.1 != 1 || lines.0 == 1) {
            Layout::Depth
        } else if lines.1 == 1 || lines.0 == 1 {
            Layout::Lines
        } else if depth.0 == 1 {
            Layout::Depth
        } else {
            return None;
        };
        let ld = match layout {
            Layout::Lines => depth.1,
            Layout::Depth => lines.1,
        };
        Some(Operand { ptr, layout, ld })
    }
}

/// Memory for the sums of tiles that several blocks share, made at first use and kept.
pub(super) struct Sums {
    partial: Buffer,
    flags: Buffer,
    /// What a block's flag is when its sum is there; another number in each launch.
    epoch: i32,
    blocks: usize,
}

impl Sums {
    fn new(ctx: &'static Context) -> Result<Sums> {
        let multiprocessors = ctx.properties.multiprocessors;
        let most = |s: Shape| s.most_resident() * multiprocessors;
        let elements = Shape::ALL.map(|s| most(s) * s.order() * s.order());
        let blocks = Shape::ALL.map(most).into_iter().max().unwrap_or(0);
        Ok(Sums {
            partial: Buffer::of::<f64>(ctx, elements.into_iter().max().unwrap_or(0))?,
            flags: Buffer::zeroed::<i32>(ctx, blocks)?,
            epoch: 0,
            blocks,
        })
    }

    /// The epoch of the next launch.
    fn next(&mut self) -> Result<i32> {
        if self.epoch == i32::MAX {
            self.flags.clear(self.blocks * size_of::<i32>())?;
            self.epoch = 0;
        }
        self.epoch += 1;
        Ok(self.epoch)
    }
}

/// Which tiles of C are made and where they go, as the kernels count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Region {
    Full = 0,
    Lower = 1,
    Upper = 2,
    /// The lower triangle, stored twice: a symmetric matrix.
    Both = 3,
}

/// `C <- alpha A B + beta C` or one triangle of it. False where the tensor cores cannot be used: nothing is done.
pub(super) fn multiply<T: Scalar>(
    ctx: &'static Context,
    update: Update<T>,
    a: View<T>,
    b: View<T>,
    c: View<T>,
) -> Result<bool> {
    let Some(product) = Product::of(ctx, update, a, b, c)? else {
        return Ok(false);
    };
    product.run(update.triangle, ctx.properties.launch_operations())?;
    Ok(true)
}

/// `C <- A A'`, exactly symmetric. False where the tensor cores cannot be used: nothing is done.
pub(super) fn square<T: Scalar>(ctx: &'static Context, a: View<T>, c: View<T>) -> Result<bool> {
    let Some(product) = Product::of(ctx, Update::assign(), a, a.t(), c)? else {
        return Ok(false);
    };
    product.region(Region::Both, ctx.properties.launch_operations())?;
    Ok(true)
}

/// A product that the kernels can make.
#[derive(Clone, Copy)]
struct Product<T> {
    ctx: &'static Context,
    update: Update<T>,
    a: View<T>,
    b: View<T>,
    c: View<T>,
}

impl<T: Scalar> Product<T> {
    fn of(
        ctx: &'static Context,
        update: Update<T>,
        a: View<T>,
        b: View<T>,
        c: View<T>,
    ) -> Result<Option<Self>> {
        let product = Product {
            ctx,
            update,
            a,
            b,
            c,
        };
        let largest = i32::MAX as usize - 128;
        let sizes = c.rows <= largest && c.cols <= largest && a.cols <= largest;
        let usable = size_of::<T>() == size_of::<f64>()
            && Family::Product.ptx(ctx.properties.capability).is_some()
            && sizes
            && product.operands().is_some();
        Ok(usable.then_some(product))
    }

    fn operands(&self) -> Option<(Operand, Operand)> {
        let (a, b) = (self.a, self.b);
        Some((
            Operand::of(a.ptr, (a.rows, a.rs), (a.cols, a.cs))?,
            Operand::of(b.ptr, (b.cols, b.cs), (b.rows, b.rs))?,
        ))
    }

    /// `C' <- alpha B'A' + beta C'`, the same product.
    fn t(self) -> Self {
        Product {
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
        Product {
            a: self.a.sub(i, 0, rows, depth),
            b: self.b.sub(0, j, depth, cols),
            c: self.c.sub(i, j, rows, cols),
            ..self
        }
    }

    /// A triangle of a matrix that is not square is a triangle of a square one and a rectangle.
    fn run(self, triangle: Triangle, operations: f64) -> Result<()> {
        let (m, n) = (self.c.rows, self.c.cols);
        let order = m.min(n);
        match triangle {
            Triangle::Full => self.region(Region::Full, operations),
            Triangle::Lower => {
                self.part(0, 0, order, order)
                    .region(Region::Lower, operations)?;
                self.part(order, 0, m - order, order)
                    .region(Region::Full, operations)
            }
            Triangle::Upper => {
                self.part(0, 0, order, order)
                    .region(Region::Upper, operations)?;
                self.part(0, order, order, n - order)
                    .region(Region::Full, operations)
            }
        }
    }

    /// One region, in launches of about so many operations.
    fn region(self, region: Region, operations: f64) -> Result<()> {
        if self.c.is_empty() {
            return Ok(());
        }
        let Some((a, b)) = self.operands() else {
            return Err(Error::Internal {
                what: "a product has operands that are not contiguous".to_string(),
            });
        };
        let kernels = match (a.layout, b.layout) {
            (Layout::Lines, Layout::Depth) => &KERNELS[0],
            (Layout::Depth, Layout::Depth) => &KERNELS[1],
            (Layout::Lines, Layout::Lines) => &KERNELS[2],
            (Layout::Depth, Layout::Lines) => {
                let region = match region {
                    Region::Lower => Region::Upper,
                    Region::Upper => Region::Lower,
                    other => other,
                };
                return self.t().region(region, operations);
            }
        };
        let work = |depth| Work {
            m: self.c.rows,
            n: self.c.cols,
            k: depth,
            triangle: region != Region::Full,
        };
        let machine = self.machine(kernels)?;
        let mut sums = lock(&self.ctx.sums);
        if sums.is_none() {
            // Too little memory is no failure: tiles are not shared then.
            *sums = Sums::new(self.ctx).ok();
        }
        let Some(plan) = Plan::choose(&machine, &work(self.a.cols), sums.is_some()) else {
            return Err(Error::Internal {
                what: "no kernel for products fits the GPU".to_string(),
            });
        };
        let step = plan.depth(self.a.cols, operations);
        for from in (0..self.a.cols).step_by(step) {
            let depth = step.min(self.a.cols - from);
            let part = Product {
                a: self.a.sub(0, from, self.a.rows, depth),
                b: self.b.sub(from, 0, depth, self.b.cols),
                update: Update {
                    beta: if from == 0 {
                        self.update.beta
                    } else {
                        T::from_f64(1.0)
                    },
                    ..self.update
                },
                ..self
            };
            for launch in plan.launches(&work(depth), operations) {
                part.start(kernels, plan.shape, launch, region, sums.as_mut())?;
                let order = plan.shape.order() as f64;
                if 2.0 * order * order * launch.tiles as f64 * depth as f64 > FENCE_FLOPS {
                    self.ctx.fence()?;
                }
            }
        }
        Ok(())
    }

    fn machine(&self, kernels: &[Kernel; 2]) -> Result<Machine> {
        let mut resident = [0; 2];
        for shape in Shape::ALL {
            let index = shape as usize;
            if shape.shared() <= self.ctx.properties.shared {
                let blocks =
                    self.ctx
                        .resident::<T>(kernels[index], shape.threads(), shape.shared())?;
                resident[index] = blocks.min(shape.most_resident());
            }
        }
        Ok(Machine {
            multiprocessors: self.ctx.properties.multiprocessors,
            rate: self.ctx.properties.tensor_rate(),
            resident,
        })
    }

    fn start(
        &self,
        kernels: &[Kernel; 2],
        shape: Shape,
        launch: Launch,
        region: Region,
        sums: Option<&mut Sums>,
    ) -> Result<()> {
        let Some((a, b)) = self.operands() else {
            return Ok(());
        };
        let (partial, flags, epoch) = match sums {
            Some(s) if launch.streamed > 0 => (s.partial.ptr, s.flags.ptr, s.next()?),
            _ => (0, 0, 0),
        };
        let slabs = launch.streamed * self.a.cols.div_ceil(SLAB);
        let (alpha, beta): (f64, f64) = (self.update.alpha.into(), self.update.beta.into());
        self.ctx.launch_shared::<T>(
            kernels[shape as usize],
            (launch.blocks, 1),
            shape.threads(),
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
                alpha,
                a.ptr,
                a.ld,
                b.ptr,
                b.ld,
                beta,
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
