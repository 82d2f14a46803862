//! GPUs that read one another's memory.

use std::collections::HashMap;
use std::sync::Mutex;

use cudarc::driver::sys::{self, CUresult};
use faer::{MatMut, MatRef};

use crate::backend::cuda::driver::context::{lock, Context};
use crate::backend::cuda::matrix::views::Matrix;
use crate::base::error::{Error, Result};
use crate::base::matrix::Part;

/// What was found out of a pair of GPUs.
#[derive(Clone, Copy)]
struct PeerAccess {
    /// The reader reads the owner's memory over the bus or a link of their own.
    direct: bool,
    /// A copy arrives, if need be through the host's memory.
    copied: bool,
}

/// By the numbers of reader and owner, and whether a direct way was allowed.
type Pairs = HashMap<(usize, usize, bool), PeerAccess>;

static KNOWN: Mutex<Option<Pairs>> = Mutex::new(None);

/// Whether a GPU can read another's memory directly; it may from then on. No GPU does where the
/// environment variable `CUDAFACTOR_PEERS` is 0. What has failed is tried again another time.
pub(crate) fn reaches(reader: &'static Context, owner: &'static Context) -> Result<bool> {
    let known = known(reader, owner)?;
    Ok(known.direct)
}

/// Whether copies arrive from another GPU's memory. The driver takes them through the host's
/// memory where there is no direct way, as between most gaming cards.
pub(crate) fn copies(reader: &'static Context, owner: &'static Context) -> Result<bool> {
    let known = known(reader, owner)?;
    Ok(known.direct || known.copied)
}

fn known(reader: &'static Context, owner: &'static Context) -> Result<PeerAccess> {
    let allowed = std::env::var("CUDAFACTOR_PEERS").as_deref() != Ok("0");
    if reader.ordinal == owner.ordinal {
        return Ok(PeerAccess {
            direct: allowed,
            copied: true,
        });
    }
    let key = (reader.ordinal, owner.ordinal, allowed);
    let found = lock(&KNOWN)
        .as_ref()
        .and_then(|known| known.get(&key).copied());
    if let Some(found) = found {
        return Ok(found);
    }
    match look(reader, owner, allowed) {
        Ok(found) => {
            let mut known = lock(&KNOWN);
            known.get_or_insert_with(HashMap::new).insert(key, found);
            Ok(found)
        }
        Err(Error::Interrupted) => Err(Error::Interrupted),
        Err(_) => Ok(PeerAccess {
            direct: false,
            copied: false,
        }),
    }
}

fn look(reader: &'static Context, owner: &'static Context, allowed: bool) -> Result<PeerAccess> {
    let connected = allowed && is_connected(reader, owner);
    if connected {
        match arrives(reader, owner) {
            Ok(true) => {
                return Ok(PeerAccess {
                    direct: true,
                    copied: true,
                })
            }
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            _ => {}
        }
    }
    let none = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE;
    let _ = allow(reader, owner, none);
    Ok(PeerAccess {
        direct: false,
        copied: arrives(reader, owner)?,
    })
}

/// Whether the driver says so, and lets it.
fn is_connected(reader: &Context, owner: &Context) -> bool {
    if owner.pool.handle.is_null() || reader.pool.handle.is_null() || reader.bind().is_err() {
        return false;
    }
    let (mut from, mut to, mut can) = (0, 0, 0);
    // SAFETY: the driver is initialised; out-parameters are valid.
    let codes = unsafe {
        [
            sys::cuDeviceGet(&mut from, reader.ordinal as i32),
            sys::cuDeviceGet(&mut to, owner.ordinal as i32),
            sys::cuDeviceCanAccessPeer(&mut can, from, to),
        ]
    };
    let known = codes.iter().all(|code| *code == CUresult::CUDA_SUCCESS);
    let flags = sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    known && can != 0 && allow(reader, owner, flags)
}

fn allow(reader: &Context, owner: &Context, flags: sys::CUmemAccess_flags) -> bool {
    if owner.pool.handle.is_null() {
        return false;
    }
    // SAFETY: the structure is plain data for which zeros are valid.
    let mut access: sys::CUmemAccessDesc = unsafe { std::mem::zeroed() };
    access.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = reader.ordinal as i32;
    access.flags = flags;
    // SAFETY: the pool is the owner's and never destroyed; one description is given.
    unsafe { sys::cuMemPoolSetAccess(owner.pool.handle, &access, 1) == CUresult::CUDA_SUCCESS }
}

/// Numbers of a matrix for trial.
const TRIAL: usize = 1 << 20;

/// Whether a copy brings what it should. There are machines where every call succeeds, and nothing,
/// or something else, arrives.
fn arrives(reader: &'static Context, owner: &'static Context) -> Result<bool> {
    let pattern = |k: usize| (k * 7919 % 10_007) as f64 + 0.5;
    let sent: Vec<f64> = (0..TRIAL).map(pattern).collect();
    let mut found = vec![0.0; TRIAL];
    let column = |all| MatRef::from_column_major_slice(all, TRIAL, 1);
    let from = Matrix::<f64>::from_host(owner, column(&sent), Part::All)?;
    owner.wait()?;
    let to = Matrix::<f64>::from_host(reader, column(&found), Part::All)?;
    reader.wait()?;
    // SAFETY: both matrices have so many numbers, and nobody uses them meanwhile.
    unsafe { copy(reader, owner, from.view().ptr, to.view().ptr, to.bytes()) }?;
    // SAFETY: a stream of that context, which is current.
    let code = unsafe { sys::cuStreamSynchronize(reader.across) };
    reader.check(code, "cuStreamSynchronize")?;
    to.read(
        reader,
        MatMut::from_column_major_slice_mut(&mut found, TRIAL, 1),
    )?;
    Ok(found == sent)
}

/// Starts a copy from the owner's memory to the reader's, in the stream for such copies.
///
/// # Safety
/// So many bytes lie at both addresses, and stay until the copy is done.
pub(crate) unsafe fn copy(
    reader: &Context,
    owner: &Context,
    from: sys::CUdeviceptr,
    to: sys::CUdeviceptr,
    bytes: usize,
) -> Result<()> {
    reader.bind()?;
    let code = sys::cuMemcpyPeerAsync(to, reader.handle, from, owner.handle, bytes, reader.across);
    reader.check(code, "cuMemcpyPeer")
}
