//! Products in tiles, with every way of splitting. Entries are integers and sums exact, so that one
//! wrong or missing term is found.

use crate::backend::cuda::driver::buffer::Buffer;
use crate::backend::cuda::driver::code::{parameters, unpack};
use crate::backend::cuda::driver::kernels::ParameterKind;
use crate::backend::cuda::gemm::tiled::*;
use crate::backend::cuda::matrix::views::Matrix;
use crate::base::matrix::Part;

/// None without a GPU, or on one that has other kernels for products of this type.
fn context<T: Scalar>() -> Option<&'static Context> {
    let family = match is_single::<T>() {
        true => Family::ProductSingle,
        false => Family::Product,
    };
    Context::for_test().filter(|ctx| ctx.has(family))
}

/// Whether only the smallest cases are wanted: under compute-sanitizer, which slows kernels a
/// thousandfold.
fn few() -> bool {
    std::env::var("CUDAFACTOR_TEST_SHAPES").as_deref() == Ok("few")
}

fn entry<T: Scalar>(i: usize, j: usize) -> T {
    T::from_f64(((i * 37 + j * 101 + i * j) % 31) as f64 - 15.0)
}

/// A matrix inside a larger one, so that it begins at an offset and has gaps; transposed in memory
/// or not.
struct Placed<T: Scalar> {
    outer: faer::Mat<T>,
    device: Matrix<'static, T>,
    at: usize,
    rows: usize,
    cols: usize,
    transposed: bool,
}

impl<T: Scalar> Placed<T> {
    fn new(
        ctx: &'static Context,
        (rows, cols): (usize, usize),
        (at, gap): (usize, usize),
        transposed: bool,
    ) -> Self {
        let (r, c) = if transposed {
            (cols, rows)
        } else {
            (rows, cols)
        };
        let outer = faer::Mat::from_fn(r + at + gap, c + at, |i, j| entry(i + rows, j));
        let device = Matrix::from_host(ctx, outer.as_ref(), Part::All).unwrap();
        Placed {
            outer,
            device,
            at,
            rows,
            cols,
            transposed,
        }
    }

    fn view(&self) -> View<T> {
        let outer = self.device.view();
        let outer = if self.transposed { outer.t() } else { outer };
        outer.sub(self.at, self.at, self.rows, self.cols)
    }

    fn host(&self) -> faer::Mat<T> {
        let at = |i, j| match self.transposed {
            true => self.outer[(j + self.at, i + self.at)],
            false => self.outer[(i + self.at, j + self.at)],
        };
        faer::Mat::from_fn(self.rows, self.cols, at)
    }

    /// Checks every element of the larger matrix: `want` inside, and unchanged around it.
    fn check(&self, ctx: &'static Context, want: impl Fn(usize, usize) -> T, label: &str) {
        let mut got = self.outer.clone();
        self.device.read(ctx, got.as_mut()).unwrap();
        for j in 0..got.ncols() {
            for i in 0..got.nrows() {
                let (r, c) = if self.transposed { (j, i) } else { (i, j) };
                let inside = r >= self.at
                    && c >= self.at
                    && r < self.rows + self.at
                    && c < self.cols + self.at;
                let want = if inside {
                    want(r - self.at, c - self.at)
                } else {
                    self.outer[(i, j)]
                };
                assert!(
                    got[(i, j)] == want,
                    "{label}, ({r}, {c}): {:?} is not {want:?}",
                    got[(i, j)]
                );
            }
        }
    }
}

/// The shapes of tile of a type.
fn shapes<T: Scalar>() -> Vec<TileShape> {
    let all = TileShape::ALL.into_iter();
    all.filter(|s| s.element() == size_of::<T>()).collect()
}

/// The chosen way, and every other one.
fn ways(shapes: &[TileShape]) -> Vec<Option<(TileShape, bool)>> {
    let all = shapes.iter().flat_map(|s| [(*s, false), (*s, true)]);
    std::iter::once(None).chain(all.map(Some)).collect()
}

fn update<T: Scalar>(triangle: UpdatedPart, alpha: f64, beta: f64) -> Update<T> {
    Update {
        alpha: T::from_f64(alpha),
        beta: T::from_f64(beta),
        triangle,
        ..Update::assign()
    }
}

/// Whether a product or its transpose has a kernel for this way.
fn possible<T: Scalar>(p: &TiledProduct<T>, way: Option<(TileShape, bool)>) -> bool {
    let (a, b) = p.operands().unwrap();
    way.is_none_or(|(s, _)| {
        kernel(s, a.layout, b.layout).is_some() || kernel(s, b.layout, a.layout).is_some()
    })
}

/// Few operations: many launches, and depths in several parts.
const FEW_AND_ANY: [f64; 2] = [1.0, 1e15];

/// Layouts, shapes of tile, shared tiles, offsets, gaps and depths, in one launch or many.
#[test]
fn every_way_gives_the_product() {
    ways_give_the_product::<f64>();
    ways_give_the_product::<f32>();
}

fn ways_give_the_product<T: Scalar>() {
    let Some(ctx) = context::<T>() else {
        return;
    };
    for (m, n, k) in [
        (1, 1, 1),
        (130, 129, 17),
        (128, 128, 64),
        (257, 190, 50),
        (66, 300, 200),
        (300, 20, 334),
        (14, 5, 1111),
        (150, 7, 2100),
    ] {
        if few() && m * n * k > 300_000 {
            continue;
        }
        for (at, gap) in [(0, 0), (1, 0), (2, 2), (0, 1)] {
            if few() && gap > 0 {
                continue;
            }
            for layouts in 0..8 {
                let transposed = |operand: usize| layouts >> operand & 1 == 1;
                let a = Placed::<T>::new(ctx, (m, k), (at, gap), transposed(0));
                let b = Placed::<T>::new(ctx, (k, n), (at, gap), transposed(1));
                let product = &a.host() * &b.host();
                for (way, operations) in ways(&shapes::<T>())
                    .into_iter()
                    .flat_map(|w| FEW_AND_ANY.map(|o| (w, o)))
                {
                    let c = Placed::new(ctx, (m, n), (at, gap), transposed(2));
                    let before = c.host();
                    let (alpha, beta) = if at == 1 { (1.0, 0.0) } else { (-2.0, 3.0) };
                    let update = update(UpdatedPart::Full, alpha, beta);
                    let p = TiledProduct::of(ctx, update, a.view(), b.view(), c.view()).unwrap();
                    if !possible(&p, way) {
                        continue;
                    }
                    p.run(ProductSplit { operations, way }).unwrap();
                    let label = format!("{m} {n} {k} {at} {gap} {layouts} {way:?} {operations}");
                    let want = |i, j| {
                        let (x, old): (f64, f64) = (product[(i, j)].into(), before[(i, j)].into());
                        T::from_f64(alpha * x + beta * old)
                    };
                    c.check(ctx, want, &label);
                }
            }
        }
    }
}

/// Triangles of square and other matrices, and symmetric matrices from one triangle.
#[test]
fn every_way_gives_the_triangle() {
    ways_give_the_triangle::<f64>();
    ways_give_the_triangle::<f32>();
}

fn ways_give_the_triangle<T: Scalar>() {
    let Some(ctx) = context::<T>() else {
        return;
    };
    for (m, n, k) in [
        (1, 1, 3),
        (64, 64, 64),
        (100, 100, 37),
        (300, 300, 1030),
        (1300, 1300, 33),
        (200, 330, 50),
        (330, 200, 50),
    ] {
        if few() && m * n * k > 400_000 {
            continue;
        }
        for (layouts, at) in [(0, 0), (1, 1), (2, 2), (3, 0), (4, 1), (5, 0)] {
            let transposed = |operand: usize| layouts >> operand & 1 == 1;
            let a = Placed::<T>::new(ctx, (m, k), (at, at), transposed(0));
            let b = Placed::<T>::new(ctx, (k, n), (at, at), transposed(1));
            let (product, gram) = (&a.host() * &b.host(), &a.host() * a.host().transpose());
            for (way, operations) in ways(square_shapes::<T>())
                .into_iter()
                .flat_map(|w| FEW_AND_ANY.map(|o| (w, o)))
            {
                let label = format!("{m} {n} {k} {layouts} {at} {way:?} {operations}");
                let cut = ProductSplit { operations, way };
                for triangle in [UpdatedPart::Lower, UpdatedPart::Upper] {
                    let c = Placed::new(ctx, (m, n), (at, at), transposed(2));
                    let before = c.host();
                    let update = update(triangle, -1.0, 1.0);
                    let p = TiledProduct::of(ctx, update, a.view(), b.view(), c.view()).unwrap();
                    p.run(cut).unwrap();
                    let want = |i: usize, j: usize| {
                        let inside = if triangle == UpdatedPart::Lower {
                            i >= j
                        } else {
                            i <= j
                        };
                        let (x, old): (f64, f64) = (product[(i, j)].into(), before[(i, j)].into());
                        T::from_f64(old - if inside { x } else { 0.0 })
                    };
                    c.check(ctx, want, &format!("{label} {triangle:?}"));
                }
                let c = Placed::new(ctx, (m, m), (at, at), transposed(2));
                let update = Update::assign();
                let p = TiledProduct::of(ctx, update, a.view(), a.view().t(), c.view()).unwrap();
                p.region(Region::Both, cut).unwrap();
                c.check(ctx, |i, j| gram[(i, j)], &format!("{label}, symmetric"));
            }
        }
    }
}

/// Parts of shared tiles are added in one order, so that rounding is always the same.
#[test]
fn shared_tiles_are_the_same_every_time() {
    shared_tiles_repeat::<f64>();
    shared_tiles_repeat::<f32>();
}

fn shared_tiles_repeat<T: Scalar>() {
    let Some(ctx) = context::<T>() else {
        return;
    };
    let depth = if few() { 2000 } else { 40_000 };
    let a = faer::Mat::from_fn(70, depth, |i, j| T::from_f64(((i + 3 * j) as f64).sin()));
    let a = Matrix::from_host(ctx, a.as_ref(), Part::All).unwrap();
    for shape in square_shapes::<T>() {
        let mut first: Option<faer::Mat<T>> = None;
        for _ in 0..if few() { 2 } else { 20 } {
            let c = Matrix::<T>::zeros(ctx, 70, 70).unwrap();
            let view = a.view();
            let p = TiledProduct::of(ctx, Update::assign(), view, view.t(), c.view()).unwrap();
            let cut = ProductSplit {
                operations: 1e15,
                way: Some((*shape, true)),
            };
            p.run(cut).unwrap();
            let mut got = faer::Mat::zeros(70, 70);
            c.read(ctx, got.as_mut()).unwrap();
            assert_eq!(*first.get_or_insert_with(|| got.clone()), got, "{shape:?}");
        }
    }
}

/// A flag that is set cancels a product.
#[test]
fn stopped_products_change_nothing() {
    stopped_change_nothing::<f64>();
    stopped_change_nothing::<f32>();
}

fn stopped_change_nothing<T: Scalar>() {
    let Some(ctx) = context::<T>() else {
        return;
    };
    let flag = Buffer::from_slice(ctx, &[1i32]).unwrap();
    let a = Placed::<T>::new(ctx, (100, 100), (0, 0), false);
    for way in ways(&shapes::<T>()) {
        let c = Placed::new(ctx, (100, 100), (0, 0), false);
        let before = c.host();
        let update = Update {
            stop: flag.ptr,
            ..Update::subtract()
        };
        let p = TiledProduct::of(ctx, update, a.view(), a.view(), c.view()).unwrap();
        let cut = ProductSplit {
            operations: 1e15,
            way,
        };
        p.run(cut).unwrap();
        c.check(ctx, |i, j| before[(i, j)], &format!("{way:?}"));
    }
}

/// Each kernel is in the code for every GPU that has its family, and takes numbers of its type.
#[test]
fn every_kernel_is_there() {
    kernels_are_there::<f64>(ParameterKind::Double);
    kernels_are_there::<f32>(ParameterKind::Float);
}

fn kernels_are_there<T: Scalar>(number: ParameterKind) {
    let mut found = 0;
    for shape in shapes::<T>() {
        for a in [OperandLayout::Lines, OperandLayout::Depth] {
            for b in [OperandLayout::Lines, OperandLayout::Depth] {
                let Some(kernel) = kernel(shape, a, b) else {
                    continue;
                };
                for capability in [(8, 0), (8, 9), (9, 0), (12, 0)] {
                    let ptx = unpack(kernel.family.ptx(capability).unwrap().0).unwrap();
                    let name = format!("{}_{}", kernel.name, T::SUFFIX);
                    let kinds = &parameters(&ptx)[&name];
                    assert_eq!(kinds.iter().filter(|k| **k == number).count(), 2, "{name}");
                    found += 1;
                }
            }
        }
    }
    assert!(found > 0);
}
