//! Sparse matrices that multiply, whatever is stored of them, and the arithmetic of blocks.

use cudafactor::algo::krylov::blocks::{Blocks, Operator};
use cudafactor::algo::krylov::device_blocks::OnDevice;
use cudafactor::algo::krylov::host_blocks::{Host, HostBlock};
use cudafactor::backend::cpu::CpuDevice;
use cudafactor::base::sparse::symmetric::{Stored, Symmetric};

use super::problem::{block, dense, lower, poisson, upper, view};

fn product(a: &Symmetric, x: &HostBlock, threads: usize) -> HostBlock {
    let host = Host::new(threads);
    let mut out = HostBlock::new(x.shape().0, x.shape().1, vec![9.0; x.values().len()]).unwrap();
    a.multiply(&host, x, &mut out).unwrap();
    out
}

#[test]
fn one_triangle_is_as_good_as_both() {
    for sides in [vec![0], vec![1], vec![2], vec![19, 13], vec![5, 6, 7]] {
        let a = poisson(&sides);
        let all = Symmetric::new(&a, Stored::All).unwrap();
        let below = Symmetric::new(&lower(&a), Stored::Lower).unwrap();
        let above = Symmetric::new(&upper(&a), Stored::Upper).unwrap();
        // What is in the other triangle is not read.
        let half = Symmetric::new(&a, Stored::Lower).unwrap();
        assert_eq!(all.diagonal(), Ok(vec![2.0 * sides.len() as f64; a.rows]));
        for k in [0, 1, 3, 4, 7, 9] {
            let x = block(a.rows, k, 5);
            let out = product(&all, &x, 1);
            for other in [&below, &above, &half] {
                assert_eq!(product(other, &x, 1), out);
            }
            let expected = dense(&a) * view(&x);
            for c in 0..k {
                let pairs = out.column(c).iter().zip(expected.col(c).iter());
                pairs.for_each(|(o, e)| assert!((o - e).abs() <= 1e-14));
            }
        }
    }
}

/// Enough work for threads, and columns alone have the same product.
#[test]
fn threads_change_nothing() {
    let n = 1100 * 1000;
    let a = Symmetric::new(&poisson(&[1100, 1000]), Stored::All).unwrap();
    let x = block(n, 5, 2);
    let out = product(&a, &x, 1);
    assert!(product(&a, &x, 2) == out);
    assert!(product(&a, &x, 3) == out);
    let host = Host::new(2);
    for c in [0, 4] {
        let one = product(&a, &host.gather(&x, &[c]).unwrap(), 2);
        assert!(one.values() == out.column(c));
    }
    let dots = Host::new(1).dots(&x, &out).unwrap();
    let norms = Host::new(1).norms(&x).unwrap();
    for (threads, share) in [(2, 2), (5, 4)] {
        let host = Host::new(threads);
        assert_eq!(host.share(n), share);
        assert_eq!(host.dots(&x, &out).unwrap(), dots);
        assert_eq!(host.norms(&x).unwrap(), norms);
    }
}

/// The host's blocks and a device's, side by side.
#[test]
fn the_same_arithmetic_on_a_device() {
    let (cpu, host) = (CpuDevice::new(2), Host::new(2));
    let dev = OnDevice::<f64, _>::new(&cpu);
    let (x, y) = (block(37, 5, 1), block(37, 5, 2));
    let (u, mut v) = (dev.bring(view(&x)).unwrap(), dev.bring(view(&y)).unwrap());
    let mut w = y.clone();
    let near = |a: &[f64], b: &[f64]| {
        assert_eq!(a.len(), b.len());
        let pairs = a.iter().zip(b);
        pairs.for_each(|(a, b)| assert!((a - b).abs() <= 1e-14 * 40.0, "{a} {b}"));
    };
    near(&host.dots(&x, &w).unwrap(), &dev.dots(&u, &v).unwrap());
    near(&host.norms(&x).unwrap(), &dev.norms(&u).unwrap());
    let by = [1.0, -0.5, 0.0, 3.0, 2.0];
    host.add(&x, &by, &mut w).unwrap();
    dev.add(&u, &by, &mut v).unwrap();
    near(w.values(), &dev.fetch(&v).unwrap());
    host.add_to(&x, &by, &mut w).unwrap();
    dev.add_to(&u, &by, &mut v).unwrap();
    near(w.values(), &dev.fetch(&v).unwrap());
    // One step of both, by a device's composition and in one pass.
    let (mut xs, mut rs) = (host.copy(&w).unwrap(), host.copy(&y).unwrap());
    let (mut us, mut vs) = (dev.copy(&v).unwrap(), dev.bring(view(&y)).unwrap());
    let norms = host.advance(&by, (&x, &mut xs), (&w, &mut rs)).unwrap();
    let others = dev.advance(&by, (&u, &mut us), (&v, &mut vs)).unwrap();
    near(&norms, &others);
    near(xs.values(), &dev.fetch(&us).unwrap());
    near(rs.values(), &dev.fetch(&vs).unwrap());
    assert_eq!(norms, host.norms(&rs).unwrap());
    host.subtract(&x, &mut w).unwrap();
    dev.subtract(&u, &mut v).unwrap();
    near(w.values(), &dev.fetch(&v).unwrap());
    let (s, t) = (host.scaled(&w, &by).unwrap(), dev.scaled(&v, &by).unwrap());
    near(s.values(), &dev.fetch(&t).unwrap());
    let d: Vec<f64> = (0..37).map(f64::from).collect();
    let (e, f) = (host.column(&d).unwrap(), dev.column(&d).unwrap());
    let (mut s, mut t) = (host.copy(&w).unwrap(), dev.copy(&v).unwrap());
    host.multiply_rows(&e, &x, &mut s).unwrap();
    dev.multiply_rows(&f, &u, &mut t).unwrap();
    near(s.values(), &dev.fetch(&t).unwrap());
    let (s, t) = (
        host.gather(&x, &[3, 0]).unwrap(),
        dev.gather(&u, &[3, 0]).unwrap(),
    );
    near(s.values(), &dev.fetch(&t).unwrap());
    host.scatter(&s, &[1, 4], &mut w).unwrap();
    dev.scatter(&t, &[1, 4], &mut v).unwrap();
    near(w.values(), &dev.fetch(&v).unwrap());
    assert_eq!(w.column(4), x.column(0));
}

#[test]
fn norms_do_not_overflow() {
    let host = Host::new(1);
    let norm = |x: &[f64]| host.norms(&host.column(x).unwrap()).unwrap()[0];
    assert!((norm(&[3e200, -4e200]) / 5e200 - 1.0).abs() < 1e-15);
    assert!((norm(&[3e-200, -4e-200]) / 5e-200 - 1.0).abs() < 1e-15);
    assert_eq!(norm(&[0.0, 0.0]), 0.0);
    assert!(norm(&[f64::NAN, 1e300, f64::INFINITY]).is_nan());
    assert_eq!(norm(&[1.0, f64::NEG_INFINITY]), f64::INFINITY);
}

#[test]
fn shapes_are_looked_at() {
    let long = super::problem::only(&poisson(&[5]), |_, _| true);
    let mut short = long.clone();
    short.starts.truncate(4);
    short.index.truncate(short.starts[3]);
    short.values.truncate(short.starts[3]);
    let e = Symmetric::new(&short, Stored::All).err().unwrap();
    assert_eq!(e.kind(), "dimension");
}
