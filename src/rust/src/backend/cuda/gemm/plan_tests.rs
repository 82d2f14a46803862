//! Plans on a machine like the H200: the plan measured to be fastest is chosen, and each plan can
//! be carried out.

use crate::backend::cuda::gemm::plan::*;

const H200: Machine = Machine {
    multiprocessors: 132,
    rate: 256.0 * 1.98e9,
    resident: [1, 3, 4, 3, 3, 2, 6, 2],
    shares: true,
};
fn work(m: usize, n: usize, k: usize, triangle: bool) -> ProductSize {
    ProductSize { m, n, k, triangle }
}

fn chosen(work: ProductSize, shapes: &[TileShape]) -> (TileShape, bool) {
    let plan = ProductPlan::choose(&H200, &work, shapes).unwrap();
    (plan.shape, plan.streamed)
}

/// The fastest ways by measurement.
#[test]
fn chooses_what_was_measured_to_be_fastest() {
    let square = |n| chosen(work(n, n, n, false), &TileShape::SQUARE);
    assert_eq!(square(256), (TileShape::Tiny, false));
    assert_eq!(square(512), (TileShape::Tiny, false));
    assert_eq!(square(768), (TileShape::Small, true));
    assert_eq!(square(1024), (TileShape::Small, false));
    assert_eq!(square(1280), (TileShape::Large, true));
    assert_eq!(square(1536), (TileShape::Large, true));
    assert_eq!(square(2048).0, TileShape::Large);
    assert_eq!(square(2560), (TileShape::Large, true));
    assert_eq!(square(4096), (TileShape::Large, true));
    let cross = |n, k| chosen(work(n, n, k, true), &TileShape::SQUARE);
    assert_eq!(cross(1024, 1024), (TileShape::Tiny, false));
    assert_eq!(cross(2048, 2048), (TileShape::Small, false));
    assert_eq!(cross(64, 1_000_000), (TileShape::Small, true));
    assert_eq!(cross(256, 10_000), (TileShape::Small, true));
    assert_eq!(
        chosen(work(2048, 32, 2048, false), &TileShape::SQUARE),
        (TileShape::Tiny, true)
    );
    for n in [8192, 16384] {
        let slim = chosen(work(n, 32, n, false), &TileShape::WITH_SLIM);
        assert_eq!(slim, (TileShape::Slim, true), "{n}");
    }
    assert_eq!(
        chosen(work(8192, 8192, 64, false), &TileShape::SQUARE).0,
        TileShape::Small
    );
    let single = |n| chosen(work(n, n, n, false), &TileShape::SINGLE);
    assert_eq!(single(256).0, TileShape::SmallSingle);
    assert_eq!(single(4096), (TileShape::LargeSingle, true));
    assert_eq!(single(8192).0, TileShape::LargeSingle);
    let thin = [TileShape::Tall];
    assert_eq!(
        chosen(work(1_000_000, 8, 8, false), &thin),
        (TileShape::Tall, false)
    );
    assert_eq!(
        chosen(work(50, 1, 1_000_000, false), &thin),
        (TileShape::Tall, true)
    );
}

#[test]
fn shapes_that_do_not_fit_are_not_chosen() {
    let small = Machine {
        resident: [0, 1, 0, 1, 1, 0, 1, 0],
        ..H200
    };
    let none = Machine {
        resident: [0; 8],
        ..H200
    };
    let w = work(4096, 4096, 4096, false);
    let plan = ProductPlan::choose(&small, &w, &TileShape::SQUARE).unwrap();
    assert_eq!(plan.shape, TileShape::Small);
    assert_eq!(plan.blocks, 132);
    assert_eq!(ProductPlan::choose(&none, &w, &TileShape::SQUARE), None);
    let plan = ProductPlan::choose(&small, &w, &TileShape::SINGLE).unwrap();
    assert_eq!(plan.shape, TileShape::SmallSingle);
    let never = Machine {
        shares: false,
        ..H200
    };
    let plan =
        ProductPlan::choose(&never, &work(64, 64, 1 << 20, true), &TileShape::SQUARE).unwrap();
    assert!(!plan.streamed);
}

/// Launches follow one another without gaps. Every block of a launch has work, and none waits for a
/// block that does not exist.
#[test]
fn launches_make_all_tiles_once() {
    for shape in TileShape::ALL {
        for streamed in [false, true] {
            for (m, n, k) in [
                (1, 1, 1),
                (64, 64, 1 << 20),
                (1000, 300, 50),
                (5000, 5000, 100),
                (40_000, 40_000, 16),
            ] {
                for triangle in [false, true] {
                    let w = work(m, if triangle { m } else { n }, k, triangle);
                    let plan = ProductPlan::new(&H200, &w, shape, streamed).unwrap();
                    for operations in [1.0, 1e9, 1e12, 1e15] {
                        let mut next = 0;
                        for l in plan.launches(&w, operations) {
                            assert_eq!(l.first, next);
                            assert!(l.tiles > 0 && l.streamed <= l.tiles);
                            assert!(l.blocks > 0 && l.blocks <= plan.blocks);
                            assert!(streamed || l.streamed == 0);
                            assert!(l.streamed == 0 || l.streamed * slabs(&w) >= l.blocks);
                            assert!(l.streamed > 0 || l.blocks <= l.tiles);
                            next += l.tiles;
                        }
                        assert_eq!(next, tiles(&w, shape));
                    }
                }
            }
        }
    }
}

#[test]
fn long_sums_are_cut() {
    let plan = ProductPlan::new(&H200, &work(64, 64, 1, false), TileShape::Small, false).unwrap();
    let depth = plan.depth(10_000_000, 1e12);
    assert!(depth < 10_000_000 && depth % SLAB == 0);
    assert!(plan.round() * depth as f64 <= 1e12);
    assert_eq!(plan.depth(100, 1e12), 100);
    assert_eq!(plan.depth(100, 1.0), 100);
    assert_eq!(plan.depth(10_000, 1.0), 64 * SLAB);
}
