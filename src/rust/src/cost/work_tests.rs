use super::*;

#[test]
fn operations_are_the_textbooks() {
    assert_eq!(Work::product(2, 3, 4).flops, 48.0);
    assert_eq!(Work::crossprod(3, 5).flops, 45.0);
    assert_eq!(qr_flops((9, 3)), 2.0 * 9.0 * (9.0 - 1.0));
    // 2 n^3 / 3 - n^2 / 2 for a square matrix.
    assert!((lu_flops((6, 6)) - (2.0 * 216.0 / 3.0 - 18.0)).abs() < 1e-9);
    assert_eq!(Work::cholesky_batch(3, 9.0 * 100.0).count, 100.0);
    let up = Work::cholesky_update(12, 2, Change::Up);
    assert_eq!((up.flops, up.read, up.written), (576.0, 96.0, 144.0));
    let down = Work::cholesky_update(12, 2, Change::Down);
    assert_eq!(down.flops, 864.0);
    // Reflections by many columns are not made.
    let many = Work::cholesky_update(12, 24, Change::Up);
    assert_eq!(many.flops, 144.0 * 24.0 + 2.0 * 12.0 * 12.0 * 4.0);
}

#[test]
fn nothing_is_no_work() {
    for (_, verb) in Verb::NAMED {
        let work = Work::square(verb, 0);
        assert_eq!((work.flops, work.read, work.written), (0.0, 0.0, 0.0));
    }
    assert_eq!(Work::cholesky_batch(0, 0.0).flops, 0.0);
}

#[test]
fn decompositions_have_their_operations() {
    let n = 6.0_f64;
    assert_eq!(Work::eigen(6, false).flops, 4.0 / 3.0 * n * n * n);
    assert_eq!(Work::eigen(6, false).written, 0.0);
    assert_eq!(Work::eigen(6, true).written, n * n);
    let (one, batch) = (Work::eigen(6, true), Work::eigen_batch(6, 10, true));
    assert_eq!((batch.flops, batch.count), (10.0 * one.flops, 10.0));
    assert_eq!(
        (batch.entries, batch.steps),
        (10.0 * one.entries, one.steps)
    );
    assert_eq!(Work::eigen_batch(500, 10, false).steps, 5000.0);
    assert_eq!(Work::eigen_batch(6, 0, true).flops, 0.0);
    // QR of 100 x 6 and Q times a square matrix, and the square one.
    let tall = Work::svd((100, 6), (6, 6));
    assert_eq!(tall.flops, 4.0 * 100.0 * n * n + 9.0 * n * n * n);
    assert_eq!(Work::svd((6, 100), (6, 6)).flops, tall.flops);
    assert_eq!(tall.written, 100.0 * n + n * n);
    assert!(Work::svd((100, 6), (0, 0)).flops < tall.flops);
}
