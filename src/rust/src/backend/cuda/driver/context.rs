//! [`Context`]: one GPU with its driver context, streams, kernels and memory pool. It is opened at
//! first use and never closed.

use std::array;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use cudarc::driver::sys::{self, CUresult};

use super::buffer::Buffer;
use super::kernels::{Family, Kernel, LoadedKernel};
use super::modules::Module;
use super::pool::{self, Pool};
use super::probe;
use super::properties::Properties;
use super::split_k::SplitKWorkspace;
use super::staging::Staging;
use super::streams::Fences;
use crate::base::error::{Error, Result};
use crate::tiles::buffer::Pages;

pub(crate) struct Context {
    pub ordinal: usize,
    pub properties: Properties,
    pub handle: sys::CUcontext,
    pub stream: sys::CUstream,
    /// The second stream, for [`Context::beside`]. Its kernels have priority over those of the
    /// first.
    pub side: sys::CUstream,
    /// Copies from and to staging memory.
    pub up: sys::CUstream,
    pub down: sys::CUstream,
    /// Copies from other GPUs' memory.
    pub across: sys::CUstream,
    /// Made at first use.
    pub staging: Mutex<Option<Staging>>,
    /// Pinned memory for tiles that no call uses, all of one size.
    pub kept: Mutex<Vec<Pages>>,
    /// Whether an attempt to pin memory failed.
    pub unpinned: AtomicBool,
    pub pool: Pool,
    pid: u32,
    /// What came of the attempt to load each family, if there was one.
    modules: [Mutex<Option<Result<&'static Module>>>; Family::ALL.len()],
    functions: Mutex<HashMap<(Kernel, &'static str), &'static LoadedKernel>>,
    pub fences: Mutex<Fences>,
    /// Workspace of products in the first stream, and of those in the second.
    pub sums: [Mutex<Option<SplitKWorkspace>>; 2],
    /// Constants of products from integers, made at first use.
    pub moduli: Mutex<Option<Buffer>>,
    /// Bytes in buffers.
    pub allocated: AtomicU64,
    failed: Mutex<Option<Error>>,
}

// SAFETY: driver handles may be used from any thread; each use makes the context current on its
// thread first.
unsafe impl Send for Context {}
// SAFETY: as above; mutable state is behind mutexes.
unsafe impl Sync for Context {}

pub(crate) static CONTEXTS: Mutex<Vec<&'static Context>> = Mutex::new(Vec::new());

pub(crate) fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

/// None if the lock is taken.
pub(crate) fn try_lock<T>(m: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match m.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(e)) => Some(e.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Turns a code of the driver into a result.
pub(crate) fn check(code: CUresult, call: &str) -> Result<()> {
    if code == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    Err(Error::DeviceFailed {
        call: call.to_string(),
        code: code as i32,
        name: error_name(code),
        earlier: None,
    })
}

pub(super) fn error_name(code: CUresult) -> String {
    let mut text = std::ptr::null();
    // SAFETY: the driver is loaded, since it gave this code; on success it stores the address of a
    // static string.
    let known = unsafe { sys::cuGetErrorName(code, &mut text) } == CUresult::CUDA_SUCCESS
        && !text.is_null();
    if known {
        // SAFETY: a null-terminated string in the driver's static memory.
        unsafe { std::ffi::CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    } else {
        format!("{code:?}")
    }
}

/// Codes after which a context is unusable.
fn is_fatal(code: CUresult) -> bool {
    let c = code as i32;
    // 214 uncorrectable ECC error, 220 NVLink, 226 contained error; 700-721 illegal access,
    // time-out, failed launch; 999 unknown. 704 and 705 (peer access), 708 and 709 (context state),
    // 712 and 713 (host registration) and 720 (a launch of more blocks than can be resident) do no
    // harm.
    matches!(c, 214 | 220 | 226 | 700..=703 | 706 | 707 | 710 | 711 | 714..=719 | 721 | 999)
}

impl Context {
    /// The context of a GPU, opened on the first call.
    pub(crate) fn open(ordinal: usize) -> Result<&'static Context> {
        let mut all = lock(&CONTEXTS);
        if let Some(c) = all.iter().find(|c| c.ordinal == ordinal) {
            c.usable()?;
            return Ok(c);
        }
        probe::driver()?;
        let count = probe::count_devices()?;
        if ordinal >= count {
            return Err(Error::DeviceUnavailable {
                reason: format!("there is no GPU {ordinal}: {count} found, counted from 0"),
            });
        }
        let c = Context::create(ordinal).map_err(|e| Error::DeviceUnavailable {
            reason: format!("GPU {ordinal} cannot be opened: {e}"),
        })?;
        let c: &'static Context = Box::leak(Box::new(c));
        all.push(c);
        Ok(c)
    }

    fn create(ordinal: usize) -> Result<Context> {
        let mut device = 0;
        // SAFETY: the driver is initialised; the out-parameter is valid.
        check(
            unsafe { sys::cuDeviceGet(&mut device, ordinal as i32) },
            "cuDeviceGet",
        )?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: as above.
        check(
            unsafe { sys::cuDevicePrimaryCtxRetain(&mut handle, device) },
            "cuDevicePrimaryCtxRetain",
        )?;
        Context::around(ordinal, device, handle).inspect_err(|_| {
            // SAFETY: retained above. If nobody else in this process uses it, it goes with its
            // streams and its pool.
            let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(device) };
        })
    }

    /// The rest of [`Context::create`], in the driver's context.
    fn around(ordinal: usize, device: sys::CUdevice, handle: sys::CUcontext) -> Result<Context> {
        let mut streams = [std::ptr::null_mut(); 4];
        let mut side = std::ptr::null_mut();
        // SAFETY: out-parameters are valid; the primary context is not released while a Context has
        // it.
        unsafe {
            check(sys::cuCtxSetCurrent(handle), "cuCtxSetCurrent")?;
            let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
            for stream in &mut streams {
                check(sys::cuStreamCreate(stream, flags), "cuStreamCreate")?;
            }
            let (mut least, mut greatest) = (0, 0);
            let code = sys::cuCtxGetStreamPriorityRange(&mut least, &mut greatest);
            check(code, "cuCtxGetStreamPriorityRange")?;
            let code = sys::cuStreamCreateWithPriority(&mut side, flags, greatest);
            check(code, "cuStreamCreateWithPriority")?;
        }
        Ok(Context {
            ordinal,
            properties: Properties::of(device)?,
            handle,
            stream: streams[0],
            side,
            up: streams[1],
            down: streams[2],
            across: streams[3],
            staging: Mutex::default(),
            kept: Mutex::default(),
            unpinned: AtomicBool::new(false),
            pool: pool::create(device, ordinal)?,
            pid: std::process::id(),
            modules: array::from_fn(|_| Mutex::default()),
            functions: Mutex::default(),
            fences: Mutex::default(),
            sums: Default::default(),
            moduli: Mutex::default(),
            allocated: AtomicU64::new(0),
            failed: Mutex::default(),
        })
    }

    /// GPU 0 for a test, or None with the reason printed. If `CUDAFACTOR_REQUIRE_GPU` is 1, the
    /// test fails without a GPU.
    #[cfg(test)]
    pub(crate) fn for_test() -> Option<&'static Context> {
        match Context::open(0) {
            Ok(ctx) => Some(ctx),
            Err(e) if std::env::var("CUDAFACTOR_REQUIRE_GPU").as_deref() == Ok("1") => {
                panic!("a GPU is required: {e}")
            }
            Err(e) => {
                eprintln!("skipped: {e}");
                None
            }
        }
    }

    /// Whether this process opened the context; a forked child did not.
    pub(crate) fn is_ours(&self) -> bool {
        self.pid == std::process::id()
    }

    pub(crate) fn usable(&self) -> Result<()> {
        if !self.is_ours() {
            return Err(probe::forked());
        }
        match &*lock(&self.failed) {
            Some(e) => Err(self.since(e)),
            None => Ok(()),
        }
    }

    /// The error of every call after the one that met the failure.
    fn since(&self, failure: &Error) -> Error {
        let mut failure = failure.clone();
        if let Error::DeviceFailed { earlier, .. } = &mut failure {
            *earlier = Some(self.ordinal);
        }
        failure
    }

    /// How many GPUs have failed since they were opened.
    pub(super) fn count_failed() -> usize {
        let failed = |c: &&&Context| lock(&c.failed).is_some();
        lock(&CONTEXTS).iter().filter(failed).count()
    }

    /// Makes the context current on this thread. Every driver call needs this first.
    pub(crate) fn bind(&self) -> Result<()> {
        self.usable()?;
        // SAFETY: the handle is a retained primary context.
        self.check(
            unsafe { sys::cuCtxSetCurrent(self.handle) },
            "cuCtxSetCurrent",
        )
    }

    /// Runs `f` with the context current, and then restores the previous one.
    pub(super) fn visit(&self, f: impl FnOnce()) -> Result<()> {
        self.usable()?;
        let mut own = std::ptr::null_mut();
        // SAFETY: the handle is a retained primary context, and is taken off again.
        self.check(
            unsafe { sys::cuCtxPushCurrent_v2(self.handle) },
            "cuCtxPushCurrent",
        )?;
        f();
        // SAFETY: as above.
        self.check(
            unsafe { sys::cuCtxPopCurrent_v2(&mut own) },
            "cuCtxPopCurrent",
        )
    }

    /// Like [`check`]; remembers a failure that makes the context unusable.
    pub(crate) fn check(&self, code: CUresult, call: &str) -> Result<()> {
        let result = check(code, call);
        if let Err(e) = &result {
            if is_fatal(code) {
                lock(&self.failed).get_or_insert_with(|| e.clone());
            }
        }
        result
    }

    pub(crate) fn function(
        &self,
        kernel: Kernel,
        suffix: &'static str,
    ) -> Result<&'static LoadedKernel> {
        self.bind()?;
        if let Some(f) = lock(&self.functions).get(&(kernel, suffix)) {
            return Ok(f);
        }
        let f = self.find_function(self.module(kernel.family)?, kernel, suffix)?;
        // Never freed, like the module it belongs to.
        let f: &'static LoadedKernel = Box::leak(Box::new(f));
        lock(&self.functions).insert((kernel, suffix), f);
        Ok(f)
    }

    /// Whether a family has code for this GPU that is worth running on it, and that loads.
    pub(crate) fn has(&self, family: Family) -> bool {
        // Memory may suffice later, for this code as for the code in its place.
        let loads = |f| match self.module(f) {
            Ok(_) => true,
            Err(e) => e.is_lack_of_memory(),
        };
        self.suits(family) && loads(family)
    }

    /// Whether a family has code for this GPU that is worth running on it.
    pub(super) fn suits(&self, family: Family) -> bool {
        let properties = &self.properties;
        family.driver() <= properties.driver
            && (properties.double_on_tensor_cores() || !family.has_portable_twin())
            && family.is_for(properties.capability)
    }

    /// A family's code, loaded on the first call. A family that did not load is not tried again.
    pub(crate) fn module(&self, family: Family) -> Result<&'static Module> {
        self.bind()?;
        let mut known = lock(&self.modules[family as usize]);
        if let Some(outcome) = &*known {
            return outcome.clone();
        }
        let loaded = self.load_family(family);
        let loaded = loaded.map(|module| &*Box::leak(Box::new(module)));
        if !loaded.as_ref().is_err_and(Error::is_lack_of_memory) {
            *known = Some(loaded.clone());
        }
        loaded
    }
}
