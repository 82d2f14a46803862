//! The external pointers of R's `gpu_matrix`, and the matrices behind them.
//!
//! R makes an empty handle in C (`new_handle()` in `entrypoint.c`), with a symbol as its tag that
//! no other package uses. [`EmptyHandle::fill`] puts a [`ResidentMatrix`] behind it, and R's
//! finalizer frees that. A handle that was read from a file, or whose matrix was freed, has none:
//! [`Error::Stale`].

use std::cell::RefCell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::panic::{catch_unwind, AssertUnwindSafe};

use extendr_api::prelude::*;

use crate::base::accounting::MemoryShare;
use crate::base::error::{Error, Result};
use crate::base::identity;
use crate::r::resident::ResidentMatrix;
use crate::r::session::is_reentrant;
use crate::r::target::check_free;

extern "C" {
    /// In `entrypoint.c`.
    fn cudafactor_handle_tag() -> *mut c_void;
    fn R_ExternalPtrAddr(x: *mut c_void) -> *mut c_void;
    fn R_ExternalPtrTag(x: *mut c_void) -> *mut c_void;
    fn R_SetExternalPtrAddr(x: *mut c_void, address: *mut c_void);
}

/// Whether an R value is a handle of ours, filled or not.
fn is_handle(x: &Robj) -> bool {
    // SAFETY: an external pointer has a tag.
    x.rtype() == Rtype::ExternalPtr
        && unsafe { R_ExternalPtrTag(x.get().cast()) == cudafactor_handle_tag() }
}

/// What a handle points to: a matrix and its share of the counted memory, until they are freed.
struct Content(Option<(ResidentMatrix, MemoryShare)>);

fn content(x: &Robj) -> Option<*mut Content> {
    if !is_handle(x) {
        return None;
    }
    // SAFETY: a handle with our tag is empty, or points to what `EmptyHandle::fill` put there; that
    // is dropped with the handle.
    let address = unsafe { R_ExternalPtrAddr(x.get().cast()) }.cast::<Content>();
    (!address.is_null()).then_some(address)
}

/// The matrix behind a handle, which the caller of the native routine keeps alive.
pub fn resident(x: &Robj) -> Result<&ResidentMatrix> {
    let address = content(x).ok_or(Error::Stale { freed: false })?;
    // SAFETY: as `content` says; nothing takes the matrix away while a native routine computes with
    // it.
    match unsafe { &(*address).0 } {
        Some((a, _)) => check_free(a.target()).map(|()| a),
        None => Err(Error::Stale { freed: true }),
    }
}

thread_local! {
    /// Operands of running routines that call functions of the user.
    static PINNED: RefCell<Vec<*mut Content>> = const { RefCell::new(Vec::new()) };
}

fn is_pinned(address: *mut Content) -> bool {
    PINNED.with_borrow(|all| all.contains(&address))
}

/// Protects the matrix behind a handle from changes and from being freed until this is dropped: for
/// a routine that calls functions of the user.
pub struct Pin(*mut Content);

impl Pin {
    /// `None` for a handle without a matrix.
    pub fn new(x: &Robj) -> Option<Self> {
        let address = content(x)?;
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

/// Removes the matrix from its handle. `None` where the handle has none, or a running routine may
/// compute with it.
pub fn take(x: &Robj) -> Option<ResidentMatrix> {
    let address = content(x).filter(|a| !is_reentrant() && !is_pinned(*a))?;
    // SAFETY: as `content` says, and no running native routine has a reference to it.
    unsafe { (*address).0.take() }.map(|(a, _)| a)
}

/// The content of a handle during a change; it goes back when this is dropped.
struct Taken {
    address: *mut Content,
    matrix: Option<(ResidentMatrix, MemoryShare)>,
}

impl Drop for Taken {
    fn drop(&mut self) {
        // SAFETY: as `content` says: the caller of the native routine, which still runs, keeps the
        // handle alive.
        unsafe { (*self.address).0 = self.matrix.take() }
    }
}

/// Gives `change` exclusive access to the matrix behind a handle. The handle is empty meanwhile, so
/// that R code which runs in between finds no half-changed matrix.
///
/// # Errors
/// The handle is stale, R code of a finalizer calls this, or a running routine uses the matrix.
pub fn changing<V>(x: &Robj, change: impl FnOnce(&mut ResidentMatrix) -> Result<V>) -> Result<V> {
    let address = content(x).ok_or(Error::Stale { freed: false })?;
    if is_reentrant() {
        return Err(Error::DeviceUnavailable {
            reason:
                "a finalizer or an event handler cannot change a matrix, because it runs during \
                     another computation"
                    .to_owned(),
        });
    }
    if is_pinned(address) {
        return Err(Error::Argument {
            argument: "x",
            what:
                "a function that a computation calls cannot change the matrix of that computation"
                    .to_owned(),
        });
    }
    // SAFETY: as `content` says, and no other native routine has a reference to it.
    let matrix = unsafe { (*address).0.take() };
    let mut taken = Taken { address, matrix };
    match &mut taken.matrix {
        Some((a, _)) => change(a),
        None => Err(Error::Stale { freed: true }),
    }
}

/// An empty handle that R made for a result of this call.
pub struct EmptyHandle<'a> {
    handle: *mut c_void,
    owner: PhantomData<&'a Robj>,
}

impl<'a> EmptyHandle<'a> {
    pub fn new(x: &'a Robj) -> Result<Self> {
        // SAFETY: a handle is an external pointer.
        if is_handle(x) && unsafe { R_ExternalPtrAddr(x.get().cast()) }.is_null() {
            return Ok(EmptyHandle {
                handle: unsafe { x.get() }.cast(),
                owner: PhantomData,
            });
        }
        Err(Error::Internal {
            what: "a native routine was called without an empty handle".to_owned(),
        })
    }

    pub fn fill(self, a: ResidentMatrix) {
        let place = a.target();
        let share = MemoryShare::new(place, a.bytes() as u64);
        let content = Box::new(Content(Some((a, share))));
        // SAFETY: the handle is empty, and its finalizer frees the content.
        unsafe { R_SetExternalPtrAddr(self.handle, Box::into_raw(content).cast()) }
    }
}

/// R's finalizer: drops the content of a handle.
///
/// # Safety
/// `address` is one that [`EmptyHandle::fill`] put behind a handle, and is not used again.
#[no_mangle]
pub unsafe extern "C" fn cudafactor_release(address: *mut c_void) {
    let a = Box::from_raw(address.cast::<Content>());
    // A panic loses memory, and R goes on.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(a)));
}

/// Writes a unique identity.
///
/// # Safety
/// `bytes` points to as many writable bytes as an identity has.
#[no_mangle]
pub unsafe extern "C" fn cudafactor_identity(bytes: *mut u8) {
    let identity = identity::fresh();
    std::ptr::copy_nonoverlapping(identity.as_ptr(), bytes, identity.len());
}
