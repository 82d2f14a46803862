//! Products from integers: `C <- alpha A B + beta C`, whole or one triangle.

use std::mem::size_of;

use super::job::{Doubles, EmulatedProduct};
use super::kernel::multiplier;
use super::lines::{self, Operand};
use super::plan::{allowed, Integers};
use crate::backend::cuda::driver::buffer::where_there_is_room;
use crate::backend::cuda::driver::context::Context;
use crate::backend::cuda::driver::kernels::Family;
use crate::backend::cuda::gemm::update::{Bound, Update, UpdatedPart};
use crate::backend::cuda::matrix::operand::KernelOperand;
use crate::backend::cuda::matrix::views::View;
use crate::base::emulation::{wanted, Emulation};
use crate::base::error::Result;
use crate::base::scalar::Scalar;
use crate::cost::flops::ProductSize;
use crate::cost::integers::USUAL;

/// The kernels have sizes of 32 bits, and round them up to whole tiles.
const LARGEST: usize = i32::MAX as usize - 256;

/// `C <- alpha A B + beta C` or one triangle of it. False, with nothing done, if that does not pay,
/// if the error might exceed the bound, or without a kernel or memory for it. Blocks of C whose
/// bound is not proven are left to `doubles`.
pub(crate) fn multiply<T: Scalar>(
    ctx: &'static Context,
    update: Update<T>,
    (a, b, c): (View<T>, View<T>, View<T>),
    doubles: Doubles<'_, T>,
) -> Result<bool> {
    multiply_as(wanted(), ctx, update, (a, b, c), doubles)
}

pub(super) fn multiply_as<T: Scalar>(
    wanted: Emulation,
    ctx: &'static Context,
    update: Update<T>,
    (a, b, c): (View<T>, View<T>, View<T>),
    doubles: Doubles<'_, T>,
) -> Result<bool> {
    if wanted == Emulation::Never || size_of::<T>() != size_of::<f64>() || ctx.is_beside() {
        return Ok(false);
    }
    // Before operands are measured.
    let size = ProductSize {
        m: c.rows,
        n: c.cols,
        k: a.cols,
        triangle: update.triangle != UpdatedPart::Full,
    };
    let rates = ctx.properties.integer_rates();
    let waits = update.bound == Bound::Entries;
    let pays = |moduli| {
        let faster = || rates.pays(&size, moduli, waits);
        rates.bytes > 0.0 && (wanted == Emulation::Always || faster())
    };
    if c.is_empty() || a.cols == 0 || !pays(USUAL) || c.rows.max(c.cols).max(a.cols) > LARGEST {
        return Ok(false);
    }
    if c.rs != 1 && c.cs == 1 {
        let update = Update {
            triangle: update.triangle.t(),
            ..update
        };
        return prepare(ctx, update, (b.t(), a.t(), c.t()), doubles, (wanted, pays));
    }
    prepare(ctx, update, (a, b, c), doubles, (wanted, pays))
}

fn prepare<T: Scalar>(
    ctx: &'static Context,
    update: Update<T>,
    (a, b, c): (View<T>, View<T>, View<T>),
    doubles: Doubles<'_, T>,
    (wanted, pays): (Emulation, impl Fn(usize) -> bool),
) -> Result<bool> {
    let left = KernelOperand::of(a.ptr, (a.rows, a.rs), (a.cols, a.cs));
    let right = KernelOperand::of(b.ptr, (b.cols, b.cs), (b.rows, b.rs));
    let (Some(left), Some(right), Some(kernel)) = (left, right, multiplier(ctx)) else {
        return Ok(false);
    };
    if !ctx.has(Family::Emulated) {
        return Ok(false);
    }
    let operand = |at, lines| Operand {
        at,
        lines,
        depth: a.cols,
    };
    let (left, right) = (operand(left, a.rows), operand(right, b.cols));
    let square = (a.ptr, a.rows, a.rs, a.cs) == (b.ptr, b.cols, b.cs, b.rs);
    let measured = lines::measure(ctx, &left, (!square).then_some(&right), update.stop);
    let Some(measured) = where_there_is_room(measured)? else {
        return Ok(false);
    };
    let always = wanted == Emulation::Always;
    let product = |integers, lengths, stop| EmulatedProduct {
        ctx,
        multiply: kernel,
        integers,
        left,
        right,
        square,
        lengths,
        update: Update { stop, ..update },
        a,
        b,
        c,
        always,
        doubles,
    };
    if update.bound != Bound::Entries {
        let usual = Integers::usual();
        // Rounded down.
        let allowed = allowed(a.cols, update.bound) as f32 * (1.0 - f32::EPSILON);
        let decision = measured.decide(ctx, (usual.bits.0, allowed), update.stop);
        let Some(decision) = where_there_is_room(decision)? else {
            return Ok(false);
        };
        let stop = decision.cancels_integers();
        if !product(usual, measured.lengths, stop).run()? {
            return Ok(false);
        }
        let stop = decision.cancels_doubles();
        doubles(ctx, Update { stop, ..update }, a, b, c)?;
        return Ok(true);
    }
    let (facts_a, facts_b) = measured.facts()?;
    let chosen = Integers::choose(a.cols, &facts_a, &facts_b, update.bound);
    // A plane of magnitudes costs as much as a modulus.
    let cost = |integers: &Integers| integers.moduli + usize::from(integers.proof.is_some());
    let Some(integers) = chosen.filter(|integers| pays(cost(integers))) else {
        return Ok(false);
    };
    product(integers, measured.lengths, update.stop).run()
}
