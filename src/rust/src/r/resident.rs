//! Matrices that stay on their device between calls, behind the external pointers of R's
//! `gpu_matrix`.
//!
//! R makes an empty handle in C (`new_handle()` in `entrypoint.c`), with a symbol as its tag that
//! no other package uses. Rust puts a [`Held`] behind it, and R's finalizer gives it back. Behind a
//! handle that came out of a file, or whose matrix was freed, there is none: [`Error::Stale`].

use crate::device::memory::Memory;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::panic::{catch_unwind, AssertUnwindSafe};

use extendr_api::prelude::*;

use crate::base::accounting::Share;
use crate::base::error::{Error, Result};
use crate::base::identity;
use crate::base::matrix::{Block, Part};
use crate::base::processor::Processor;
use crate::base::progress;
use crate::base::scalar::Scalar;
use crate::cost::work::Work;
use crate::r::args::{self, Out};
use crate::r::reply::{reply, reply_even_if_short, show_progress};
use crate::r::session::in_between;
use crate::r::target::{check_free, on_device, How};

extern "C" {
    /// In `entrypoint.c`.
    fn cudafactor_handle_tag() -> *mut c_void;
    fn R_ExternalPtrAddr(x: *mut c_void) -> *mut c_void;
    fn R_ExternalPtrTag(x: *mut c_void) -> *mut c_void;
    fn R_SetExternalPtrAddr(x: *mut c_void, address: *mut c_void);
}

/// A matrix and the machine it is on.
///
/// The type of the matrix follows from the machine and the precision, which dispatch reads before
/// it asks for the matrix. Threads of the CPU belong to each call, since a forked child has none.
pub struct Held {
    processor: Processor,
    single: bool,
    shape: (usize, usize),
    matrix: Box<dyn Any>,
}

impl Held {
    pub fn target(&self) -> Processor {
        self.processor
    }

    pub fn single(&self) -> bool {
        self.single
    }

    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    pub fn bytes(&self) -> usize {
        let (rows, cols) = self.shape;
        rows * cols * if self.single { 4 } else { 8 }
    }

    /// The matrix, for a device of this machine and precision.
    pub fn matrix<T: Scalar, D: Memory<T>>(&self, _: &D) -> Result<&D::Mat<'static>>
    where
        D::Mat<'static>: 'static,
    {
        self.matrix.downcast_ref().ok_or_else(other_type)
    }

    /// As [`Held::matrix`], to be changed. Its shape stays.
    pub fn matrix_mut<T: Scalar, D: Memory<T>>(&mut self, _: &D) -> Result<&mut D::Mat<'static>>
    where
        D::Mat<'static>: 'static,
    {
        self.matrix.downcast_mut().ok_or_else(other_type)
    }
}

fn other_type() -> Error {
    Error::Internal {
        what: "a matrix has another type than its machine and precision say".to_owned(),
    }
}

/// Makes a [`Held`] of a matrix of the device.
pub trait Holds<T: Scalar>: Memory<T> {
    fn hold(&self, a: Self::Mat<'static>) -> Held;
}

impl<T: Scalar, D: Memory<T>> Holds<T> for D
where
    D::Mat<'static>: 'static,
{
    fn hold(&self, a: Self::Mat<'static>) -> Held {
        Held {
            processor: self.processor(),
            single: size_of::<T>() == size_of::<f32>(),
            shape: self.shape(&a),
            matrix: Box::new(a),
        }
    }
}

/// Whether an R value is a handle of ours, filled or not.
fn is_handle(x: &Robj) -> bool {
    // SAFETY: an external pointer has a tag.
    x.rtype() == Rtype::ExternalPtr
        && unsafe { R_ExternalPtrTag(x.get().cast()) == cudafactor_handle_tag() }
}

/// What is behind a handle: a matrix and its part of the count, until they are given back before
/// the handle is.
struct Holding(Option<(Held, Share)>);

fn holding(x: &Robj) -> Option<*mut Holding> {
    if !is_handle(x) {
        return None;
    }
    // SAFETY: behind a handle with our tag is nothing, or what `Slot::fill` put there, which is
    // dropped with the handle.
    let address = unsafe { R_ExternalPtrAddr(x.get().cast()) }.cast::<Holding>();
    (!address.is_null()).then_some(address)
}

/// The matrix behind a handle, which the caller of the native routine keeps alive.
pub fn held(x: &Robj) -> Result<&Held> {
    let address = holding(x).ok_or(Error::Stale { freed: false })?;
    // SAFETY: as `holding` says; nothing takes the matrix away while a native routine computes with
    // it.
    match unsafe { &(*address).0 } {
        Some((a, _)) => check_free(a.target()).map(|()| a),
        None => Err(Error::Stale { freed: true }),
    }
}

thread_local! {
    /// What routines compute with that call functions of R's meanwhile.
    static PINNED: RefCell<Vec<*mut Holding>> = const { RefCell::new(Vec::new()) };
}

fn is_pinned(address: *mut Holding) -> bool {
    PINNED.with_borrow(|all| all.contains(&address))
}

/// Keeps the matrix behind a handle there, and as it is, until this is dropped: for a routine that
/// calls functions of R's.
pub struct Pin(*mut Holding);

impl Pin {
    /// None where there is no matrix.
    pub fn new(x: &Robj) -> Option<Self> {
        let address = holding(x)?;
        PINNED.with_borrow_mut(|all| all.push(address));
        Some(Pin(address))
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        PINNED.with_borrow_mut(|all| {
            if let Some(at) = all.iter().rposition(|a| *a == self.0) {
                all.swap_remove(at);
            }
        });
    }
}

/// Takes the matrix away from its handle, if it is still there and cannot be an operand of a
/// routine that runs.
pub fn take(x: &Robj) -> Option<Held> {
    let address = holding(x).filter(|a| !in_between() && !is_pinned(*a))?;
    // SAFETY: as `holding` says, and no native routine that runs has a reference to what is there.
    unsafe { (*address).0.take() }.map(|(a, _)| a)
}

/// What was taken from behind a handle, until it goes back there.
struct Away {
    address: *mut Holding,
    matrix: Option<(Held, Share)>,
}

impl Drop for Away {
    fn drop(&mut self) {
        // SAFETY: as `holding` says: the caller of the native routine, which still runs, keeps the
        // handle alive.
        unsafe { (*self.address).0 = self.matrix.take() }
    }
}

/// Lets `change` have the matrix behind a handle for itself. Meanwhile nothing is there, so that R
/// code that comes in between finds none, instead of one half changed.
pub fn changing<V>(x: &Robj, change: impl FnOnce(&mut Held) -> Result<V>) -> Result<V> {
    let address = holding(x).ok_or(Error::Stale { freed: false })?;
    if in_between() {
        return Err(Error::DeviceUnavailable {
            reason: "a finalizer or an event handler, which comes in between another computation, \
                     cannot change a matrix"
                .to_owned(),
        });
    }
    if is_pinned(address) {
        return Err(Error::Argument {
            argument: "x",
            what: "the matrix cannot be changed by a function that a computation with it calls"
                .to_owned(),
        });
    }
    // SAFETY: as `holding` says, and no other native routine has a reference to what is there.
    let matrix = unsafe { (*address).0.take() };
    let mut away = Away { address, matrix };
    match &mut away.matrix {
        Some((a, _)) => change(a),
        None => Err(Error::Stale { freed: true }),
    }
}

/// An empty handle that R made for a result of this call.
pub struct Slot<'a> {
    handle: *mut c_void,
    owner: PhantomData<&'a Robj>,
}

impl<'a> Slot<'a> {
    pub fn new(x: &'a Robj) -> Result<Self> {
        // SAFETY: a handle is an external pointer.
        if is_handle(x) && unsafe { R_ExternalPtrAddr(x.get().cast()) }.is_null() {
            return Ok(Slot {
                handle: unsafe { x.get() }.cast(),
                owner: PhantomData,
            });
        }
        Err(Error::Internal {
            what: "a native routine was called without an empty handle".to_owned(),
        })
    }

    pub fn fill(self, a: Held) {
        let place = a.target();
        let share = Share::new(place, a.bytes() as u64);
        let holding = Box::new(Holding(Some((a, share))));
        // SAFETY: the handle is empty, and the finalizer takes what is put there.
        unsafe { R_SetExternalPtrAddr(self.handle, Box::into_raw(holding).cast()) }
    }
}

/// R's finalizer: drops what was behind a handle.
///
/// # Safety
/// `address` is one that [`Slot::fill`] put behind a handle, and is not used again.
#[no_mangle]
pub unsafe extern "C" fn cudafactor_release(address: *mut c_void) {
    let a = Box::from_raw(address.cast::<Holding>());
    // What a panic leaves behind is lost memory; R goes on.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(a)));
}

/// Writes an identity that nothing else has.
///
/// # Safety
/// So many bytes may be written there.
#[no_mangle]
pub unsafe extern "C" fn cudafactor_identity(bytes: *mut u8) {
    let identity = identity::fresh();
    std::ptr::copy_nonoverlapping(identity.as_ptr(), bytes, identity.len());
}

/// For two operands that cannot meet; the R functions see to it that they do.
pub fn apart() -> Error {
    Error::Argument {
        argument: "y",
        what: "the operands are on different devices or of different precision: bring them \
               together with as_gpu()"
            .to_owned(),
    }
}

/// Runs `$body`, a `Result`, with `$dev` the device of a [`Held`], `$t` its element type and `$a`
/// its matrix. [`Holds`] makes what stays there of a result.
macro_rules! on_held {
    ($how:expr, $held:expr, |$dev:ident, $t:ident, $a:ident| $body:expr) => {{
        use $crate::r::resident::Held;
        let how: &$crate::r::target::How = $how;
        let held: &Held = $held;
        $crate::r::session::set_last(held.target());
        $crate::backend::dispatch::on_typed_processor!(
            held.target(),
            held.single(),
            how.threads,
            |$dev, $t| {
                let $a = held.matrix::<$t, _>($dev)?;
                $body
            }
        )
    }};
}
pub(crate) use on_held;

/// Shows the progress of work where a matrix is, until what it gives is dropped. A GPU may still be
/// at work then.
pub fn watch(how: &How, a: &Held, work: impl Into<Work>) -> progress::Call {
    let later = a.target() != Processor::Cpu;
    let work = work.into();
    how.plan_there(a.target(), a.single(), &work);
    progress::begin(work.flops, later, how.delay, show_progress)
}

/// Puts the matrix that `$body` makes, on the device of one or two [`Held`], behind the handle
/// `$out`, and shows the progress of this `$work`.
macro_rules! make_held {
    ($how:expr, $work:expr, $out:expr, $x:expr, |$dev:ident, $t:ident, $a:ident| $body:expr) => {{
        use $crate::r::resident::{on_held, watch, Held, Holds, Slot};
        let how = $crate::r::target::How::parse($how)?;
        let slot = Slot::new($out)?;
        let x: &Held = $x;
        let _shown = watch(&how, x, $work);
        let made = on_held!(&how, x, |$dev, $t, $a| {
            $body.map(|made| Holds::<$t>::hold($dev, made))
        })?;
        slot.fill(made);
        Ok(())
    }};
    (
        $how:expr, $work:expr, $out:expr, $x:expr, $y:expr,
        |$dev:ident, $t:ident, $a:ident, $b:ident| $body:expr
    ) => {{
        use $crate::r::resident::{on_pair, watch, Held, Holds, Slot};
        let how = $crate::r::target::How::parse($how)?;
        let slot = Slot::new($out)?;
        let x: &Held = $x;
        let _shown = watch(&how, x, $work);
        let made = on_pair!(&how, x, $y, |$dev, $t, $a, $b| {
            $body.map(|made| Holds::<$t>::hold($dev, made))
        })?;
        slot.fill(made);
        Ok(())
    }};
}
pub(crate) use make_held;

/// As [`on_held`], for two of one device and precision.
macro_rules! on_pair {
    ($how:expr, $x:expr, $y:expr, |$dev:ident, $t:ident, $a:ident, $b:ident| $body:expr) => {{
        let x: &$crate::r::resident::Held = $x;
        $crate::r::resident::on_both!($how, x, matrix, $y, |$dev, $t, $a, $b| $body)
    }};
}
pub(crate) use on_pair;

/// As [`on_pair`], of which the first is changed.
macro_rules! on_pair_mut {
    ($how:expr, $x:expr, $y:expr, |$dev:ident, $t:ident, $a:ident, $b:ident| $body:expr) => {{
        let x: &mut $crate::r::resident::Held = $x;
        $crate::r::resident::on_both!($how, x, matrix_mut, $y, |$dev, $t, $a, $b| $body)
    }};
}
pub(crate) use on_pair_mut;

/// What [`on_pair`] and [`on_pair_mut`] share. `$matrix` is the method that gives the first matrix.
macro_rules! on_both {
    ($how:expr, $x:ident, $matrix:ident, $y:expr,
        |$dev:ident, $t:ident, $a:ident, $b:ident| $body:expr) => {{
        let how: &$crate::r::target::How = $how;
        let y: &$crate::r::resident::Held = $y;
        $crate::r::session::set_last($x.target());
        if ($x.target(), $x.single()) != (y.target(), y.single()) {
            return Err($crate::r::resident::apart());
        }
        $crate::backend::dispatch::on_typed_processor!(
            $x.target(),
            $x.single(),
            how.threads,
            |$dev, $t| {
                let ($a, $b) = ($x.$matrix::<$t, _>($dev)?, y.matrix::<$t, _>($dev)?);
                $body
            }
        )
    }};
}
pub(crate) use on_both;

/// Brings a matrix of R's doubles to a device; `out` is the handle. "auto" is the first GPU, if
/// there is one
#[extendr]
fn native_held_new(x: Robj, dim: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let dim = args::dims(&dim)?;
        let x = args::matrix(&x, dim)?;
        let slot = Slot::new(&out)?;
        let a = on_device!(&how, Work::from(f64::INFINITY).of(dim), |dev, T| {
            let x = T::borrow_host(x)?;
            let a = dev.load_temporary(args::view(&x, dim), Part::All)?;
            Ok(Holds::<T>::hold(dev, a))
        })?;
        let device = a.target().name();
        slot.fill(a);
        Ok(list!(device = device))
    })
}

/// out = the rows and columns from..from + count; `rows` and `cols` are c(from, count), counted
/// from 0
#[extendr]
fn native_held_read(x: Robj, rows: Robj, cols: Robj, out: Robj, how: Robj) -> Robj {
    reply(|| {
        let how = How::parse(&how)?;
        let (rows, cols) = (args::dims(&rows)?, args::dims(&cols)?);
        let block = Block {
            row: rows.0,
            col: cols.0,
            rows: rows.1,
            cols: cols.1,
        };
        let dim = (block.rows, block.cols);
        let mut out = Out::new(&out, dim)?;
        on_held!(&how, held(&x)?, |dev, T, a| {
            T::fill_host(out.slice(), |out| {
                dev.read_block(a, block, args::view_mut(out, dim))
            })
        })
    })
}

/// Where a matrix is, its extents, bytes and precision
#[extendr]
fn native_held_info(x: Robj) -> Robj {
    reply(|| {
        let a = held(&x)?;
        let (rows, cols) = a.shape();
        Ok(list!(
            device = a.target().name(),
            rows = rows as f64,
            cols = cols as f64,
            bytes = a.bytes() as f64,
            single = a.single()
        ))
    })
}

/// Gives back what is behind a handle, before R's finalizer would
#[extendr]
fn native_held_free(x: Robj) -> Robj {
    reply_even_if_short(|| {
        let freed = take(&x).is_some();
        Ok(list!(freed = freed))
    })
}

extendr_module! {
    mod resident;
    fn native_held_free;
    fn native_held_new;
    fn native_held_read;
    fn native_held_info;
}
