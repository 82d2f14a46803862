//! Which columns form a launch, and that the buffers of a launch are large enough.

use crate::backend::cuda::lu::exchange::MOVING_THREADS;
use crate::backend::cuda::lu::work::CLUSTER_PANEL;
use crate::backend::cuda::lu::work::LIST_WORDS;
use crate::backend::cuda::panel::column_pipeline::*;
use crate::backend::cuda::{lu, qr};

/// Launches follow one another to the last pivot, each with room on the blocks, for its rows, its
/// list and its messages.
fn launches_fit<T>(all: &'static Pipelines, rows: usize, cols: usize, multiprocessors: usize) {
    let what = format!("{rows} {cols} {multiprocessors}");
    let plan = PipelinePlan::new(all, (rows, cols), CLUSTER_PANEL, STRIPE * multiprocessors);
    let k = rows.min(cols);
    let [_, smaller, largest] = all;
    assert!(plan.capacity <= STRIPE * multiprocessors, "{what}");
    assert!(plan.tail <= k, "{what}");
    if plan.tail < k {
        assert!(plan.tail % CLUSTER_PANEL == 0, "{what}");
        // Not one panel later than it has to be.
        assert!(rows - plan.tail <= largest.rows, "{what}");
        let before = rows - plan.tail + CLUSTER_PANEL;
        assert!(plan.tail == 0 || before > largest.rows, "{what}");
    } else if multiprocessors >= 4 {
        assert!(rows - k + CLUSTER_PANEL > largest.rows, "{what}");
    }
    let (mut next, mut list_end) = (plan.tail, 0);
    for (first, width, pivots) in plan.launches() {
        assert_eq!(first, next, "{what}");
        assert_eq!(width, plan.width(first), "{what}");
        assert!(0 < pivots && pivots <= width, "{what}");
        assert!(width <= plan.capacity && first + width <= cols, "{what}");
        let left = rows - first;
        let p = Pipeline::of(all, left).unwrap();
        assert!(left <= p.rows, "{what}");
        assert!(p.words::<T>(pivots) <= plan.words::<T>(), "{what}");
        let list = first / UNIT * LIST_WORDS;
        assert!(first % UNIT == 0 && list >= list_end, "{what}");
        list_end = list + 1 + 2 * (2 * pivots);
        assert!(2 * pivots <= 4 * MOVING_THREADS, "{what}");
        next = first + width;
        if next < k {
            assert!(pivots == width && width % UNIT == 0, "{what}");
            // The kernel for the most rows has no columns that a smaller one could have.
            if left > smaller.rows {
                assert!(rows - next + UNIT > smaller.rows, "{what}");
            }
        }
    }
    assert!(plan.tail == k || (k..=cols).contains(&next), "{what}");
    let words = k.next_multiple_of(CLUSTER_PANEL) / UNIT * LIST_WORDS;
    assert!(list_end <= words, "{what}");
}

#[test]
fn launches_of_pipelines_fit() {
    let sizes = [
        1, 2, 7, 8, 9, 31, 32, 33, 100, 128, 255, 512, 513, 863, 864, 865, 1000, 1023, 1024, 1025,
        1055, 1056, 1057, 1100, 2047, 2048, 2049, 2175, 2176, 2177, 2300, 3000, 4095, 4096, 4097,
        4224, 4225, 5000, 9000, 20_000, 100_003,
    ];
    for rows in sizes {
        for cols in sizes {
            for multiprocessors in [1, 3, 4, 16, 30, 108, 132, 148, 400] {
                let sms = multiprocessors;
                launches_fit::<f64>(lu::pipeline::pipelines::<f64>(), rows, cols, sms);
                launches_fit::<f32>(lu::pipeline::pipelines::<f32>(), rows, cols, sms);
                launches_fit::<f64>(qr::pipeline::pipelines::<f64>(), rows, cols, sms);
                launches_fit::<f32>(qr::pipeline::pipelines::<f32>(), rows, cols, sms);
            }
        }
    }
}

#[test]
fn pipelines_of_some_sizes() {
    let launches = |rows, cols| {
        PipelinePlan::new(lu::pipeline::pipelines::<f64>(), (rows, cols), 128, 1056).launches()
    };
    assert_eq!(launches(5, 5), [(0, 5, 5)]);
    assert_eq!(launches(40, 900), [(0, 900, 40)]);
    assert_eq!(launches(500, 3000), [(0, 500, 500)]);
    assert_eq!(launches(2048, 1056), [(0, 1056, 1056)]);
    assert_eq!(launches(1100, 1100), [(0, 96, 96), (96, 1004, 1004)]);
    assert_eq!(launches(2048, 2048), [(0, 1024, 1024), (1024, 1024, 1024)]);
    assert_eq!(launches(2049, 100), []);
    assert_eq!(
        launches(4096, 4096),
        [(2048, 1024, 1024), (3072, 1024, 1024)]
    );
    let single =
        PipelinePlan::new(lu::pipeline::pipelines::<f32>(), (4096, 4096), 128, 1056).launches();
    assert_eq!(
        single,
        [
            (0, 1056, 1056),
            (1056, 992, 992),
            (2048, 1056, 1056),
            (3104, 992, 992)
        ]
    );
}

/// A kernel's shared memory does not have to be asked for.
#[test]
fn pipelines_need_little_shared_memory() {
    for all in [
        lu::pipeline::pipelines::<f64>(),
        lu::pipeline::pipelines::<f32>(),
    ] {
        assert!(all.iter().all(|p| p.shared <= 48 << 10));
    }
}
