//! Triangular solves with the panel of one front of a multifrontal factor, for a few right-hand sides by rows.

/// Calls `$f` with as many columns as a constant, up to eight, which is a vector of the widest registers, on registers as wide as there are.
macro_rules! by_width {
    ($columns:expr, $f:ident, $panel:expr, $rows:expr, $x:expr) => {
        by_width!($columns, $f, $panel, $rows, $x, 1, 2, 3, 4, 5, 6, 7, 8)
    };
    ($columns:expr, $f:ident, $panel:expr, $rows:expr, $x:expr, $($w:literal),*) => {
        match $columns {
            $($w => pulp::Arch::new().dispatch(
                #[inline(always)]
                || $f::<$w>($panel, $rows, $x),
            ),)*
            _ => {}
        }
    };
}

/// The most right-hand sides that are solved for together.
pub(super) const WIDEST: usize = 8;

/// `x_own <- L_own^-1 x_own`, and `L_others x_own` taken off the others. x has a row of up to [`WIDEST`] numbers for each unknown of the front.
pub(super) fn forward(panel: &[f64], rows: usize, x: &mut [f64], columns: usize) {
    if rows > 0 {
        by_width!(columns, forward_wide, panel, rows, x)
    }
}

/// `x_own <- L_own^-T (x_own - L_others' x_others)`, of such rows.
pub(super) fn backward(panel: &[f64], rows: usize, x: &mut [f64], columns: usize) {
    if rows > 0 {
        by_width!(columns, backward_wide, panel, rows, x)
    }
}

#[inline(always)]
fn less<const W: usize>(x: &mut [f64; W], l: f64, f: &[f64; W]) {
    for (x, f) in x.iter_mut().zip(f) {
        *x -= l * f;
    }
}

#[inline(always)]
fn scaled<const W: usize>(x: &mut [f64; W], pivot: f64) -> [f64; W] {
    let by = 1.0 / pivot;
    x.iter_mut().for_each(|x| *x *= by);
    *x
}

#[inline(always)]
fn forward_wide<const W: usize>(panel: &[f64], rows: usize, x: &mut [f64]) {
    let (x, _) = x.as_chunks_mut::<W>();
    let mut j = 0;
    // Four columns at a time, so that a row is fetched for four multiplications.
    let mut groups = panel.chunks_exact(4 * rows);
    for group in &mut groups {
        let l: [&[f64]; 4] = std::array::from_fn(|k| &group[k * rows + j..(k + 1) * rows]);
        let (own, rest) = x[j..].split_at_mut(4);
        let mut f = [[0.0; W]; 4];
        for k in 0..4 {
            for p in 0..k {
                less(&mut own[k], l[p][k], &f[p]);
            }
            f[k] = scaled(&mut own[k], l[k][k]);
        }
        let [a, b, c, d] = l.map(|l| &l[4..]);
        for ((((x, a), b), c), d) in rest.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            less(x, *a, &f[0]);
            less(x, *b, &f[1]);
            less(x, *c, &f[2]);
            less(x, *d, &f[3]);
        }
        j += 4;
    }
    for l in groups.remainder().chunks_exact(rows) {
        let f = scaled(&mut x[j], l[j]);
        for (x, l) in x[j + 1..].iter_mut().zip(&l[j + 1..]) {
            less(x, *l, &f);
        }
        j += 1;
    }
}

#[inline(always)]
fn backward_wide<const W: usize>(panel: &[f64], rows: usize, x: &mut [f64]) {
    let (x, _) = x.as_chunks_mut::<W>();
    let groups = panel.chunks_exact(4 * rows);
    let mut j = groups.len() * 4;
    for (k, l) in groups.remainder().chunks_exact(rows).enumerate().rev() {
        let (own, rest) = x[j + k..].split_at_mut(1);
        for (x, l) in rest.iter().zip(&l[j + k + 1..]) {
            less(&mut own[0], *l, x);
        }
        scaled(&mut own[0], l[j + k]);
    }
    for group in groups.rev() {
        j -= 4;
        let l: [&[f64]; 4] = std::array::from_fn(|k| &group[k * rows + j..(k + 1) * rows]);
        let (own, rest) = x[j..].split_at_mut(4);
        let mut sums = [[0.0; W]; 4];
        let [a, b, c, d] = l.map(|l| &l[4..]);
        for ((((x, a), b), c), d) in rest.iter().zip(a).zip(b).zip(c).zip(d) {
            less(&mut sums[0], *a, x);
            less(&mut sums[1], *b, x);
            less(&mut sums[2], *c, x);
            less(&mut sums[3], *d, x);
        }
        for k in (0..4).rev() {
            for p in k + 1..4 {
                let f = own[p];
                less(&mut own[k], l[k][p], &f);
            }
            less(&mut own[k], -1.0, &sums[k]);
            scaled(&mut own[k], l[k][k]);
        }
    }
}
