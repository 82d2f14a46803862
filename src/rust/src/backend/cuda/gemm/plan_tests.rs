//! Plans on a machine like the H200: the plan measured to be fastest is chosen, and each plan can
//! be carried out.

use crate::backend::cuda::gemm::plan::*;

const H200: Machine = Machine {
    multiprocessors: 132,
    rate: 256.0 * 1.98e9,
    resident: [1, 3, 4, 3, 3, 2, 6],
    shares: true,
};
fn work(m: usize, n: usize, k: usize, triangle: bool) -> Work {
    Work { m, n, k, triangle }
}

fn chosen(work: Work, shapes: &[Shape]) -> (Shape, bool) {
    let plan = Plan::choose(&H200, &work, shapes).unwrap();
    (plan.shape, plan.streamed)
}

/// The fastest ways by measurement.
#[test]
fn chooses_what_was_measured_to_be_fastest() {
    let square = |n| chosen(work(n, n, n, false), &Shape::SQUARE);
    assert_eq!(square(256), (Shape::Tiny, false));
    assert_eq!(square(512), (Shape::Tiny, false));
    assert_eq!(square(768), (Shape::Small, true));
    assert_eq!(square(1024), (Shape::Small, false));
    assert_eq!(square(1280), (Shape::Large, true));
    assert_eq!(square(1536), (Shape::Large, true));
    assert_eq!(square(2048).0, Shape::Large);
    assert_eq!(square(2560), (Shape::Large, true));
    assert_eq!(square(4096), (Shape::Large, true));
    let cross = |n, k| chosen(work(n, n, k, true), &Shape::SQUARE);
    assert_eq!(cross(1024, 1024), (Shape::Tiny, false));
    assert_eq!(cross(2048, 2048), (Shape::Small, false));
    assert_eq!(cross(64, 1_000_000), (Shape::Small, true));
    assert_eq!(cross(256, 10_000), (Shape::Small, true));
    assert_eq!(
        chosen(work(2048, 32, 2048, false), &Shape::SQUARE),
        (Shape::Tiny, true)
    );
    assert_eq!(
        chosen(work(8192, 8192, 64, false), &Shape::SQUARE).0,
        Shape::Small
    );
    let single = |n| chosen(work(n, n, n, false), &Shape::SINGLE);
    assert_eq!(single(256).0, Shape::SmallSingle);
    assert_eq!(single(4096), (Shape::LargeSingle, true));
    assert_eq!(single(8192).0, Shape::LargeSingle);
    let thin = [Shape::Tall];
    assert_eq!(
        chosen(work(1_000_000, 8, 8, false), &thin),
        (Shape::Tall, false)
    );
    assert_eq!(
        chosen(work(50, 1, 1_000_000, false), &thin),
        (Shape::Tall, true)
    );
}

#[test]
fn shapes_that_do_not_fit_are_not_chosen() {
    let small = Machine {
        resident: [0, 1, 0, 1, 1, 0, 1],
        ..H200
    };
    let none = Machine {
        resident: [0; 7],
        ..H200
    };
    let w = work(4096, 4096, 4096, false);
    let plan = Plan::choose(&small, &w, &Shape::SQUARE).unwrap();
    assert_eq!(plan.shape, Shape::Small);
    assert_eq!(plan.blocks, 132);
    assert_eq!(Plan::choose(&none, &w, &Shape::SQUARE), None);
    let plan = Plan::choose(&small, &w, &Shape::SINGLE).unwrap();
    assert_eq!(plan.shape, Shape::SmallSingle);
    let never = Machine {
        shares: false,
        ..H200
    };
    let plan = Plan::choose(&never, &work(64, 64, 1 << 20, true), &Shape::SQUARE).unwrap();
    assert!(!plan.streamed);
}

/// Launches follow one another without gaps. Every block of a launch has work, and none waits for a
/// block that does not exist.
#[test]
fn launches_make_all_tiles_once() {
    for shape in Shape::ALL {
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
                    let plan = Plan::new(&H200, &w, shape, streamed).unwrap();
                    for operations in [1.0, 1e9, 1e12, 1e15] {
                        let mut next = 0;
                        for l in plan.launches(&w, operations) {
                            assert_eq!(l.first, next);
                            assert!(l.tiles > 0 && l.streamed <= l.tiles);
                            assert!(l.blocks > 0 && l.blocks <= plan.blocks);
                            assert!(streamed || l.streamed == 0);
                            assert!(l.streamed == 0 || l.streamed * w.slabs() >= l.blocks);
                            assert!(l.streamed > 0 || l.blocks <= l.tiles);
                            next += l.tiles;
                        }
                        assert_eq!(next, w.tiles(shape));
                    }
                }
            }
        }
    }
}

#[test]
fn long_sums_are_cut() {
    let plan = Plan::new(&H200, &work(64, 64, 1, false), Shape::Small, false).unwrap();
    let depth = plan.depth(10_000_000, 1e12);
    assert!(depth < 10_000_000 && depth % SLAB == 0);
    assert!(plan.round() * depth as f64 <= 1e12);
    assert_eq!(plan.depth(100, 1e12), 100);
    assert_eq!(plan.depth(100, 1.0), 100);
    assert_eq!(plan.depth(10_000, 1.0), 64 * SLAB);
}
