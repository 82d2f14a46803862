//! Deferred row exchanges: which of them each block of columns gets.

use crate::backend::cuda::lu::exchange::*;
use crate::backend::cuda::lu::pipeline::pipelines;

/// A block of columns gets exactly the lists that are applied after it, in order. None moves rows
/// above the first row in the table.
fn blocks_have_later_lists<T: Scalar>(m: usize, n: usize, wide: usize, capacity: usize) {
    let what = format!("{m} {n} {wide} {capacity}");
    let k = m.min(n);
    let plan = PipelinePlan::new(pipelines::<T>(), (m, n), CLUSTER_PANEL, capacity);
    let late = Late::new(&plan, wide);
    let table = late.table();
    let pair = |i: usize| (table[2 * i] as usize, table[2 * i + 1] as usize);
    let mut lists = Vec::new();
    for first in (0..plan.tail).step_by(CLUSTER_PANEL) {
        lists.push((first, CLUSTER_PANEL.min(plan.tail - first)));
    }
    lists.extend(plan.launches().iter().map(|(first, _, n)| (*first, *n)));
    let blocks = late.blocks.len();
    assert_eq!(table.len(), 2 * (blocks + lists.len()), "{what}");
    let words = k.next_multiple_of(CLUSTER_PANEL) / PANEL * LIST_WORDS;
    let mut free = 0;
    for (i, (first, pivots)) in lists.iter().enumerate() {
        let (place, room) = pair(blocks + i);
        assert_eq!(place, first / PANEL * LIST_WORDS, "{what}");
        assert!(place >= free && room >= 2 * pivots, "{what}");
        assert!(room <= 4 * MOVING_THREADS, "{what}");
        free = place + 1 + 2 * room;
        assert!(free <= words, "{what}");
    }
    let mut column = 0;
    for (b, &(first, end)) in late.blocks.iter().enumerate() {
        assert_eq!(first, column, "{what}");
        column = end;
        assert!(first < end && end < k, "{what}");
        let (top, list) = pair(b);
        assert_eq!(top, end, "{what}");
        assert_eq!(lists[list].0, end, "{what}");
    }
    // The last columns, those of the last list, are in no block.
    let (first, pivots) = lists[lists.len() - 1];
    assert_eq!(first + pivots, k, "{what}");
    assert!(
        column <= first && (plan.tail == k || column == first),
        "{what}"
    );
}

#[test]
fn blocks_are_told_of_later_lists() {
    let sizes = [
        1, 127, 128, 129, 300, 2049, 2300, 4097, 6144, 6145, 8192, 16_384,
    ];
    for m in sizes {
        for n in sizes {
            for wide in [CLUSTER_PANEL, 3 * CLUSTER_PANEL, 4 * CLUSTER_PANEL] {
                for capacity in [0, 128, 1056] {
                    blocks_have_later_lists::<f64>(m, n, wide, capacity);
                    blocks_have_later_lists::<f32>(m, n, wide, capacity);
                }
            }
        }
    }
}

/// Exchanges are deferred if there is more than one block of columns, and a column fits.
#[test]
fn cuda_exchanges_are_deferred_where_columns_fit() {
    let Some(ctx) = Context::for_test() else {
        return;
    };
    let wide = 4 * CLUSTER_PANEL;
    let deferred = |m: usize, n: usize| {
        let plan = PipelinePlan::none(pipelines::<f64>(), (m, n));
        let a = View::<f64>::new(0, m, n, m);
        Deferred::new(ctx, &a, &plan, wide).unwrap().is_some()
    };
    assert!(deferred(3000, wide + 1));
    assert!(!deferred(3000, wide));
    assert!(!deferred(1 << 20, 3000));
}
