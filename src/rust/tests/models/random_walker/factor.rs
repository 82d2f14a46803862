use super::model::{seeded, Picture};
use cudafactor::algo::segmentation::graph::Graph;
use cudafactor::algo::sparse::multifrontal::factor::Factor;
use cudafactor::algo::sparse::multifrontal::nested_dissection::{dissect, NONE};
use cudafactor::base::error::Error;
use cudafactor::base::interrupt;
use cudafactor::base::sparse::csc::Csc;

#[test]
fn a_dissection_names_each_wanted_pixel_once() {
    for dims in [[30, 17, 1], [9, 8, 10], [1, 100, 1], [3, 3, 1]] {
        let wanted = |p: usize| p % 7 != 3;
        let d = dissect(dims, wanted).unwrap();
        let mut order = d.order.clone();
        order.sort_unstable();
        let all = (0..dims.iter().product()).filter(|p| wanted(*p));
        assert!(order.iter().map(|p| *p as usize).eq(all));
        let mut end = 0;
        for (k, node) in d.nodes.iter().enumerate() {
            assert_eq!(node.first, end);
            end = node.end;
            assert!(node
                .children
                .iter()
                .all(|c| *c == NONE || (*c as usize) < k));
        }
        assert_eq!(end as usize, d.order.len());
    }
    assert!(dissect([50, 50, 1], |_| false).unwrap().nodes.is_empty());
}

/// A matrix of which both triangles are there, times a block of vectors by rows.
fn times(full: &Csc, x: &[f64], columns: usize) -> Vec<f64> {
    let mut y = vec![0.0; x.len()];
    for j in 0..full.rows {
        let (index, values) = full.column(j);
        for (i, v) in index.iter().zip(values) {
            for c in 0..columns {
                y[i * columns + c] += v * x[j * columns + c];
            }
        }
    }
    y
}

fn furthest(x: &[f64], y: &[f64]) -> f64 {
    let off = x.iter().zip(y).map(|(a, b)| (a - b).abs());
    off.fold(0.0, f64::max)
}

#[test]
fn large_fronts_and_blocks_solve_the_system() {
    for (dims, columns) in [
        ([150, 160, 1], 1),
        ([150, 160, 1], 5),
        ([61, 47, 1], 17),
        ([18, 19, 20], 3),
    ] {
        let picture = Picture::new(dims, 1, 9);
        let n = picture.pixels();
        let graph = Graph::new(picture.image(), seeded(n, &[(n / 2, 1), (1, 2)]), 90.0).unwrap();
        let d = dissect(dims, |p| graph.is_unknown(p)).unwrap();
        let system = graph.system(d.order.clone(), false).unwrap();
        let full = graph.system(d.order, true).unwrap().matrix;
        let factor = Factor::new(&system.matrix, &d.nodes).unwrap();
        assert!(factor.entries() >= full.rows);
        let wanted: Vec<f64> = (0..full.rows * columns)
            .map(|i| (0.1 * i as f64).sin())
            .collect();
        let mut x = times(&full, &wanted, columns);
        factor.solve(&mut x, columns).unwrap();
        assert!(furthest(&x, &wanted) < 1e-9);
    }
}

/// Of a picture that pixels left out cut in two, so that fronts between the halves have no
/// unknowns.
#[test]
fn right_hand_sides_that_are_zero_nearly_everywhere_solve_the_system() {
    let dims = [41, 37, 1];
    let picture = Picture::new(dims, 1, 9);
    let n = picture.pixels();
    let mut seeds = vec![0; n];
    (0..dims[0]).for_each(|row| seeds[row + dims[0] * 18] = -1);
    (0..dims[1]).for_each(|column| seeds[20 + dims[0] * column] = -1);
    for (pixel, label) in [(3, 1), (30, 1), (n - 3, 2), (n - 30, 2)] {
        seeds[pixel] = label;
    }
    let graph = Graph::new(picture.image(), &seeds, 90.0).unwrap();
    let d = dissect(dims, |p| graph.is_unknown(p)).unwrap();
    assert!(d.nodes.iter().any(|node| node.first == node.end));
    let system = graph.system(d.order.clone(), false).unwrap();
    let full = graph.system(d.order, true).unwrap().matrix;
    let factor = Factor::new(&system.matrix, &d.nodes).unwrap();
    let unknowns = full.rows;
    for (columns, places) in [
        (1, vec![]),
        (1, vec![unknowns / 3]),
        (2, vec![5, 6]),
        (3, vec![0, 3 * unknowns - 1]),
    ] {
        let mut b = vec![0.0; columns * unknowns];
        places.iter().for_each(|at| b[*at] = 1.0);
        let mut x = b.clone();
        factor.solve(&mut x, columns).unwrap();
        assert!(furthest(&times(&full, &x, columns), &b) < 1e-13);
        assert_eq!(x.iter().any(|x| *x != 0.0), !places.is_empty());
    }
    // What is not a number is not taken for nothing.
    let mut x = vec![0.0; unknowns];
    x[7] = f64::NAN;
    factor.solve(&mut x, 1).unwrap();
    assert!(x[7].is_nan());
}

#[test]
fn the_full_matrix_is_symmetric_and_sums_to_the_links() {
    let picture = Picture::new([9, 8, 3], 1, 9);
    let graph = Graph::new(
        picture.image(),
        seeded(216, &[(20, 1), (100, 2), (101, -1)]),
        90.0,
    )
    .unwrap();
    let system = graph.system(graph.unknown().unwrap(), true).unwrap();
    let a = &system.matrix;
    let entry = |i: usize, j: usize| {
        let (index, values) = a.column(j);
        index.binary_search(&i).map_or(0.0, |at| values[at])
    };
    let mut sums = vec![0.0; a.rows];
    for j in 0..a.rows {
        for (i, v) in a.column(j).0.iter().zip(a.column(j).1) {
            assert_eq!(entry(j, *i), *v);
            sums[*i] += v;
        }
    }
    system
        .links
        .iter()
        .for_each(|l| sums[l.unknown as usize] -= l.weight);
    assert!(sums.iter().all(|s| s.abs() < 1e-14));
}

#[test]
fn an_indefinite_matrix_is_refused() {
    let picture = Picture::new([60, 60, 1], 1, 9);
    let graph = Graph::new(picture.image(), seeded(3600, &[(20, 1)]), 90.0).unwrap();
    let d = dissect([60, 60, 1], |p| graph.is_unknown(p)).unwrap();
    let mut a = graph.system(d.order, false).unwrap().matrix;
    for j in [5, a.rows - 3] {
        let at = a.starts[j];
        let before = a.values[at];
        a.values[at] = -before;
        let failed = Factor::new(&a, &d.nodes).unwrap_err();
        assert!(matches!(failed, Error::NotPositiveDefinite { .. }));
        a.values[at] = before;
    }
    assert!(Factor::new(&a, &d.nodes).is_ok());
}

#[test]
fn a_factorization_on_several_threads_hears_the_user() {
    let dims = [800, 800, 1];
    let picture = Picture::new(dims, 1, 9);
    let n = picture.pixels();
    let graph = Graph::new(picture.image(), seeded(n, &[(20, 1)]), 90.0).unwrap();
    let d = dissect(dims, |p| graph.is_unknown(p)).unwrap();
    let system = graph.system(d.order, false).unwrap();
    let factor = Factor::new(&system.matrix, &d.nodes).unwrap();
    let mut x = vec![1.0; 8 * (n - 1)];
    interrupt::install(|| true);
    let stopped = Factor::new(&system.matrix, &d.nodes);
    assert_eq!(stopped.map(|_| ()), Err(Error::Interrupted));
    // A question is asked at most every 50 ms.
    std::thread::sleep(std::time::Duration::from_millis(60));
    assert_eq!(factor.solve(&mut x, 8), Err(Error::Interrupted));
}
