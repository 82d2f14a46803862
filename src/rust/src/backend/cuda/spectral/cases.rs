//! Tridiagonal matrices for tests, and the judgement of a result.

use crate::base::scalar::Scalar;

/// Numbers that look random, in (-1, 1).
fn random(i: usize, j: usize) -> f64 {
    let mut z = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (j as u64 + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 30)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z = (z ^ (z >> 27)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Name, diagonal and off-diagonal.
pub(crate) fn cases(n: usize) -> Vec<(&'static str, Vec<f64>, Vec<f64>)> {
    let mut all = Vec::new();
    let mut add = |name, d: &dyn Fn(usize) -> f64, e: &dyn Fn(usize) -> f64| {
        let d: Vec<f64> = (0..n).map(d).collect();
        all.push((name, d, (1..n).map(|i| e(i - 1)).collect::<Vec<f64>>()));
    };
    let grade = |i: usize| 10f64.powf(-12.0 * i as f64 / n as f64);
    add("random", &|i| random(i, 0), &|i| random(i, 1));
    add("small", &|i| 1e-30 * random(i, 0), &|i| {
        1e-30 * random(i, 1)
    });
    add("large", &|i| 1e30 * random(i, 0), &|i| 1e30 * random(i, 1));
    let glue = |i: usize, g: f64| if i % 21 == 20 { g } else { 1.0 };
    let wilkinson = |i: usize| ((i % 21) as f64 - 10.0).abs();
    add("Wilkinson, glued", &wilkinson, &|i| glue(i, 1e-8));
    add("Wilkinson, hardly glued", &wilkinson, &|i| glue(i, 1e-14));
    add("equal, tiny", &|_| 3.0, &|i| 1e-9 * random(i, 1));
    add("identity", &|_| 1.0, &|_| 0.0);
    add("zero", &|_| 0.0, &|_| 0.0);
    add("graded down", &grade, &|i| {
        0.3 * (grade(i) * grade(i + 1)).sqrt()
    });
    let up = |i: usize| grade(n - 1 - i);
    add("graded up", &up, &|i| 0.3 * (up(i) * up(i + 1)).sqrt());
    add("(1, 2, 1)", &|_| 2.0, &|_| 1.0);
    add("(-1, 0, -1)", &|_| 0.0, &|_| -1.0);
    add(
        "clustered",
        &|i| (1 + i % 3) as f64 + 1e-13 * random(i, 0),
        &|i| 1e-5 * random(i, 1),
    );
    add(
        "two clusters",
        &|i| if i % 2 == 0 { 1.0 } else { -1.0 },
        &|_| 1e-3,
    );
    add("all deflates", &|i| (i + 1) as f64, &|_| 1e-17);
    add("none deflates", &|_| 0.0, &|i| {
        ((i + 1) as f64 / 2.0).sqrt()
    });
    all
}

/// Order, residual and orthogonality of values and vectors.
pub(crate) fn judge<T: Scalar>(
    what: &str,
    eps: f64,
    d: &[f64],
    e: &[f64],
    values: &[T],
    vectors: &faer::Mat<T>,
) {
    let n = d.len();
    let wide = |x: T| x.to_f64();
    let off = |i: usize| e.get(i).copied().unwrap_or(0.0);
    let before = |i: usize| if i > 0 { e[i - 1] } else { 0.0 };
    let row = |i: usize| d[i].abs() + off(i).abs() + before(i).abs();
    let norm = (0..n).map(row).fold(0.0, f64::max);
    assert!(
        values.windows(2).all(|w| wide(w[0]) <= wide(w[1])),
        "{what}: order"
    );
    let q = faer::Mat::<f64>::from_fn(n, n, |i, j| wide(vectors[(i, j)]));
    let gram = q.transpose() * &q;
    for j in 0..n {
        let mut square = 0.0;
        for i in 0..n {
            let mut r = (d[i] / norm.max(1e-300) - wide(values[j]) / norm.max(1e-300)) * q[(i, j)];
            if i > 0 {
                r += before(i) / norm.max(1e-300) * q[(i - 1, j)];
            }
            if i + 1 < n {
                r += off(i) / norm.max(1e-300) * q[(i + 1, j)];
            }
            square += r * r;
            let lost = (gram[(i, j)] - f64::from(u8::from(i == j))).abs();
            assert!(
                lost < (100.0 + n as f64 / 10.0) * eps,
                "{what}: orthogonality {lost:e}"
            );
        }
        let residual = square.sqrt();
        assert!(residual < 60.0 * eps, "{what}: residual {residual:e}");
    }
}
