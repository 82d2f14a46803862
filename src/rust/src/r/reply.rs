//! Replies to R: `NULL` when there is nothing to say, `list(ok = )`, or `list(err = )`.

use std::ffi::{c_char, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::{null, null_mut};

use extendr_api::prelude::*;
use extendr_api::SEXP;

use crate::base;
use crate::base::accounting::Search;
use crate::base::error::{Error, Field, Result};
use crate::base::interrupt;
use crate::base::progress::Report;
use crate::base::reserve;
use crate::cost::plan::call::{self, CallPlan};
use crate::r::session::{in_r, is_reentrant, take_failure};

extern "C" {
    /// 1 when the user asked R to stop. In `entrypoint.c`; jumps nowhere.
    fn cudafactor_interrupt_pending() -> i32;
    /// Has R look for garbage, with 1 among all objects. In `entrypoint.c`; jumps nowhere.
    fn cudafactor_collect(full: i32);
    /// Draws a bar on R's stderr, or takes it away where the share is negative; `phase` is text
    /// that ends with a zero, or null. In `entrypoint.c`; jumps nowhere.
    fn cudafactor_show_progress(
        share: f64,
        rate: f64,
        left: f64,
        phase: *const c_char,
        bytes: f64,
        copies: i32,
    );
}

fn collect(search: Search) {
    // SAFETY: called on R's thread only (the hook is installed per thread, by `reply`). It may run
    // finalizers, which drop matrices: no borrow of one that R may free is alive, since R keeps the
    // arguments of the call that runs.
    in_r(|| unsafe { cudafactor_collect(i32::from(search == Search::Full)) });
}

/// Whether the user asked R to stop.
pub fn interrupt_pending() -> bool {
    // SAFETY: called on R's thread only (the hook is installed per thread, by `reply`).
    in_r(|| unsafe { cudafactor_interrupt_pending() != 0 })
}

/// What `progress::begin` is given.
pub fn show_progress(report: Option<Report>) {
    let (share, rate, left) = report.map_or((-1.0, 0.0, 0.0), |r| (r.share, r.rate, r.left));
    let tiles = report.and_then(|r| r.tiles);
    let text = tiles.and_then(|f| CString::new(f.phase).ok());
    let phase = text.as_ref().map_or(null(), |text| text.as_ptr());
    let (bytes, copies) = tiles.map_or((0.0, false), |f| (f.bytes as f64, f.copies));
    // SAFETY: called on R's thread, which began the call that is reported; the text lives until
    // then.
    in_r(|| unsafe { cudafactor_show_progress(share, rate, left, phase, bytes, copies.into()) });
}

/// An R value for a field of a reply.
pub trait Answer {
    /// Whether the answer is always R's `NULL`.
    const IS_NULL: bool = false;
    fn answer(self) -> Robj;
}

impl Answer for () {
    const IS_NULL: bool = true;
    fn answer(self) -> Robj {
        ().into()
    }
}

impl Answer for List {
    fn answer(self) -> Robj {
        list!(ok = self).into()
    }
}

/// 0-based positions as R's 1-based integers.
pub fn positions(v: &[usize]) -> Vec<i32> {
    v.iter().map(|&i| (i + 1) as i32).collect()
}

fn failure(e: &Error) -> Robj {
    let (names, values): (Vec<&str>, Vec<Robj>) = e
        .fields()
        .into_iter()
        .map(|(name, field)| match field {
            Field::Number(v) => (name, Robj::from(v)),
            Field::Text(t) => (name, Robj::from(t)),
        })
        .unzip();
    let fields = List::from_names_and_values(names, values)
        .map(Robj::from)
        .unwrap_or_else(|_| List::new(0).into());
    list!(err = list!(kind = e.kind(), message = e.to_string(), fields = fields)).into()
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    if let Some(s) = payload.downcast_ref::<&str>() {
        (*s).to_owned()
    } else if let Some(s) = payload.downcast_ref::<String>() {
        s.clone()
    } else {
        "a panic without a message".to_owned()
    }
}

/// Runs a native routine and turns its outcome, a panic included, into a reply.
pub fn reply<A: Answer>(routine: impl FnOnce() -> Result<A>) -> Robj {
    reply_even_if_short(with_reserve(routine))
}

/// As [`reply`], of a routine that gives memory back, or tells of it: one that needs none.
pub fn reply_even_if_short<A: Answer>(routine: impl FnOnce() -> Result<A>) -> Robj {
    let answer = answer(attempt(routine));
    with_news(answer, call::take(), take_failure())
}

/// As [`reply`], for C: a null pointer if there is nothing to say. The value is not protected.
pub fn reply_to_c<A: Answer>(routine: impl FnOnce() -> Result<A>) -> SEXP {
    let outcome = attempt(with_reserve(routine));
    let (plan, failed) = (call::take(), take_failure());
    let silent = A::IS_NULL && outcome.is_ok() && plan.is_none() && failed.is_none();
    if silent {
        refill();
        return null_mut();
    }
    // SAFETY: on R's thread; the caller protects the value before it allocates.
    unsafe { with_news(answer(outcome), plan, failed).get() }
}

/// The routine, with the reserve of memory filled up before.
fn with_reserve<A>(routine: impl FnOnce() -> Result<A>) -> impl FnOnce() -> Result<A> {
    || {
        // What runs in the middle of another call may not say that memory is plenty again.
        if !is_reentrant() {
            reserve::renew().or_else(|_| {
                base::accounting::relieve(Search::Full);
                reserve::renew()
            })?;
        }
        routine()
    }
}

/// Runs a routine on R's thread. A panic is an error.
fn attempt<A>(routine: impl FnOnce() -> Result<A>) -> Result<A> {
    interrupt::install(interrupt_pending);
    base::accounting::install(collect);
    catch_unwind(AssertUnwindSafe(routine)).unwrap_or_else(|payload| {
        reserve::check()?;
        Err(Error::Internal {
            what: panic_text(payload.as_ref()),
        })
    })
}

fn answer<A: Answer>(outcome: Result<A>) -> Robj {
    let answer = match outcome {
        Ok(a) => a.answer(),
        Err(e) => failure(&e),
    };
    refill();
    answer
}

/// Fills the reserve up again: the next call allocates before it comes here, for its arguments.
fn refill() {
    if !is_reentrant() {
        let _ = reserve::renew();
    }
}

/// The reply with the plan of the call, and with what the user is to be told of a failed GPU.
fn with_news(answer: Robj, plan: Option<CallPlan>, failed: Option<String>) -> Robj {
    let answer = match plan {
        None => answer,
        Some(plan) => with_field(&answer, "plan", shown(&plan)),
    };
    match failed {
        None => answer,
        Some(text) => with_field(&answer, "warning", text.into()),
    }
}

/// A plan as R's list: the sentence, and what a program may want to know. NA where it is unknown.
fn shown(plan: &CallPlan) -> Robj {
    let number = |x: Option<f64>| x.map_or(Rfloat::na(), Rfloat::from);
    let (cpu, gpu) = plan.predicted();
    list!(
        text = plan.to_string(),
        device = plan.processor.name(),
        way = plan.way.name(),
        cpu_seconds = number(cpu),
        gpu_seconds = number(gpu),
        free_bytes = number(plan.free)
    )
    .into()
}

/// When the library is loaded: fills the reserve up, and has extendr make its list of protected
/// objects, which takes megabytes. 0 where there is no memory for that.
#[no_mangle]
pub extern "C" fn cudafactor_prepare() -> i32 {
    if reserve::renew().is_err() {
        return 0;
    }
    drop(Robj::from(()));
    1
}

/// The reply with one more field.
fn with_field(answer: &Robj, name: &str, value: Robj) -> Robj {
    let (mut names, mut values): (Vec<&str>, Vec<Robj>) = answer
        .as_list()
        .map(|l| l.iter().unzip())
        .unwrap_or_default();
    names.push(name);
    values.push(value);
    List::from_names_and_values(names, values)
        .map(Robj::from)
        .unwrap_or_else(|_| ().into())
}
