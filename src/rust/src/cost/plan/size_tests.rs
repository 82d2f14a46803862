//! Each threshold one below, at it and one above.

use super::*;

const FREE: GpuLimits = GpuLimits {
    own_memory: true,
    memory: f64::INFINITY,
    together: false,
};

fn short(memory: f64) -> GpuLimits {
    GpuLimits { memory, ..FREE }
}

fn ways(several: Option<Several>, whole: bool, tiles: bool) -> CholeskyWays {
    CholeskyWays {
        several,
        whole,
        tiles,
    }
}

#[test]
fn cholesky_goes_whole_by_tiles_or_to_several() {
    let together = GpuLimits {
        together: true,
        ..FREE
    };
    let (asked, fits) = (Some(Several::Asked), Some(Several::IfAllFits));
    let (small, one) = (ways(None, true, false), ways(None, true, true));
    // Order, bytes of an element, limits.
    for (n, size, limits, wanted) in [
        (8191, 8, FREE, small),
        (8192, 8, FREE, one),
        (8193, 4, FREE, one),
        (16_383, 8, together, one),
        (16_384, 8, together, ways(asked, true, true)),
        (16_385, 4, together, ways(asked, true, true)),
        (16_385, 8, FREE, one),
        (39_999, 8, FREE, one),
        (40_000, 8, FREE, ways(fits, true, true)),
        (40_001, 8, FREE, ways(fits, true, true)),
        (40_001, 4, FREE, one),
        (40_001, 8, together, ways(asked, true, true)),
        // A limit has small matrices counted, too.
        (8191, 8, short(80e9), one),
        (1000, 8, short(1e6), ways(None, false, true)),
        (40_000, 8, short(1e9), ways(None, false, true)),
    ] {
        assert_eq!(cholesky(n, size, limits), wanted, "{n} {size} {limits:?}");
        let host = GpuLimits {
            own_memory: false,
            ..limits
        };
        assert_eq!(cholesky(n, size, host), small, "{n} {size} on the CPU");
    }
    let need = Task::Cholesky.on_gpu(9000, 8);
    assert_eq!(cholesky(9000, 8, short(need)), one);
    assert_eq!(
        cholesky(9000, 8, short(need - 1.0)),
        ways(None, false, true)
    );
}

#[test]
fn systems_go_whole_or_by_tiles() {
    use SolveWays::{TilesThenWhole, Whole, WholeThenTiles};
    let need = Task::Solve.on_gpu(5000, 4);
    for (n, size, limits, wanted) in [
        (4095, 8, FREE, Whole),
        (4096, 8, FREE, WholeThenTiles),
        (4097, 4, FREE, WholeThenTiles),
        (100, 8, short(80e9), WholeThenTiles),
        (100, 8, short(1e6), TilesThenWhole),
        (5000, 4, short(need), WholeThenTiles),
        (5000, 4, short(need - 1.0), TilesThenWhole),
    ] {
        assert_eq!(solve(n, size, limits), wanted, "{n} {size} {limits:?}");
        let host = GpuLimits {
            own_memory: false,
            ..limits
        };
        assert_eq!(solve(n, size, host), Whole, "{n} {size} on the CPU");
    }
}

#[test]
fn products_go_in_parts_where_memory_is_short() {
    assert_eq!(product(1e12, 8, FREE), None);
    // A quarter is for workspace, where that is less than what footprints add.
    assert_eq!(product(75.0, 8, short(800.0)), None);
    assert_eq!(product(76.0, 8, short(800.0)), Some(75.0));
    let left = (80e9 - SLACK) / 4.0;
    assert_eq!(product(left, 4, short(80e9)), None);
    assert_eq!(product(left + 1.0, 4, short(80e9)), Some(left));
    let host = GpuLimits {
        own_memory: false,
        ..short(800.0)
    };
    assert_eq!(product(1e12, 8, host), None);
    assert_eq!(product_after_shortage(1600.0, 8), 100.0);
}

#[test]
fn updates_count_what_they_take() {
    let squares = |uplo, factors| (update_bytes(uplo, (1000, 0), 8, factors) - SLACK) / 8e6;
    assert_eq!(squares(Uplo::Upper, false), 1.0);
    assert_eq!(squares(Uplo::Lower, false), 2.0);
    assert_eq!(squares(Uplo::Upper, true), 3.0);
    assert_eq!(squares(Uplo::Lower, true), 4.0);
    let with_v = update_bytes(Uplo::Upper, (1000, 10), 4, false) - SLACK;
    assert_eq!(with_v, 4e6 + 4.0 * 8e4);
}

#[test]
fn tiles_are_the_largest_for_which_there_is_room() {
    let bounds = (5, 1 << 10);
    let bytes = |tile: usize, places: usize| places * tile * tile * 8;
    let order = |n, devices, free| tile_order(n, 8, devices, free, bounds);
    assert_eq!(order(40_000, 1, bytes(2048, 14)), 2048);
    assert_eq!(order(40_000, 1, bytes(2048, 14) - 1), 1024);
    // Rows for each device.
    assert_eq!(order(6 * 2048, 1, usize::MAX), 2048);
    assert_eq!(order(5 * 2048, 1, usize::MAX), 1024);
    assert_eq!(order(6 * 2048, 2, usize::MAX), 1024);
    assert_eq!(order(12 * 2048, 2, usize::MAX), 2048);
    // The smallest that can be planned, where none is good.
    assert_eq!(order(300, 3, bytes(128, 5)), 128);
    assert_eq!(order(100_000, 8, bytes(128, 5)), 128);
    assert_eq!(order(200_000, 1, bytes(256, 5)), 256);
    // Never larger than the matrix.
    assert_eq!(order(100, 1, usize::MAX), 100);
    assert_eq!(order(0, 1, usize::MAX), 1);
    assert_eq!(usable(1000, f64::INFINITY), 900.0);
    assert_eq!(usable(1000, 10.0), 10.0);
}

#[test]
fn matrices_of_64_mib_are_streamed() {
    // 2^23 doubles are 64 MiB.
    let rows = 1 << 13;
    for (what, count) in [
        (Streamed::Cholesky, 4),
        (Streamed::Lu, 2),
        (Streamed::LuSolve, 4),
        (Streamed::Qr, 2),
        (Streamed::Crossprod, 4),
        (Streamed::Update, 8),
    ] {
        assert_eq!(what.blocks((rows, 1023), 8), None);
        assert_eq!(what.blocks((rows, 1024), 8).map(|b| b.len()), Some(count));
        assert!(what.blocks((rows, 1025), 8).is_some());
        assert_eq!(what.blocks((rows, 1025), 4), None);
        assert_eq!(what.blocks((rows, 2048), 4).map(|b| b.len()), Some(count));
        // One block is no stream.
        assert_eq!(what.blocks((1 << 20, 1), 8), None);
        assert_eq!(what.blocks((100, 100), 8), None);
    }
    let square = Streamed::Cholesky.blocks((1 << 14, 1 << 14), 8);
    assert_eq!(square.map(|b| b.len()), Some(4));
}

#[test]
fn blocks_are_all_columns_once() {
    for cols in [1, 127, 128, 129, 1000, 4096] {
        for count in [0, 1, 2, 3, 4, 100] {
            let mut next = 0;
            for (first, width) in column_blocks(cols, count) {
                assert_eq!(first, next);
                assert!(width > 0);
                next += width;
            }
            assert_eq!(next, cols);
        }
    }
    assert!(column_blocks(0, 4).is_empty());
}

#[test]
fn products_come_back_by_panels() {
    // 2^20 doubles are 8 MiB.
    assert_eq!(product_panel((1024, 1023), 8), None);
    assert_eq!(product_panel((1024, 1024), 8), Some(1024));
    assert_eq!(product_panel((1024, 1025), 8), Some(1024));
    // An eighth, up to 64 MiB.
    assert_eq!(product_panel((4096, 4096), 8), Some(512));
    assert_eq!(product_panel((32_768, 32_768), 8), Some(256));
    assert_eq!(product_panel((1 << 24, 300), 8), Some(128));
    assert_eq!(product_panel((1 << 24, 100), 8), Some(100));
}
