//! Finds out whether there is a GPU that this package can use, and the reason if there is none.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Mutex, OnceLock, PoisonError};

use cudarc::driver::sys::{self, CUresult};

use super::context::{check, error_name, Context};
use super::version::{dotted, driver_text, driver_version};
use crate::base::error::{Error, Result};
use crate::device::report::{GpuInfo, ProbeStep};

/// CUDA 12.0, which driver 525 brought.
const OLDEST_DRIVER: i32 = 12000;

/// The process in which the driver started, if it did.
static STARTED: Mutex<Option<u32>> = Mutex::new(None);

fn unavailable(reason: impl Into<String>) -> Error {
    Error::DeviceUnavailable {
        reason: reason.into(),
    }
}

/// The error in a forked child.
pub(crate) fn forked() -> Error {
    unavailable(
        "a GPU opened before fork() cannot be used in the child process: use device = \"cpu\" \
         there, or workers that are \
         new R sessions (parallel::makeCluster(type = \"PSOCK\"), future::multisession, mirai)",
    )
}

/// Starts the driver, once in a process. An error if it is missing, too old or refuses.
pub(crate) fn driver() -> Result<()> {
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    match *started {
        Some(pid) if pid == std::process::id() => return Ok(()),
        Some(_) => return Err(forked()),
        None => {}
    }
    // A library with missing symbols makes the binding panic; that must not reach the caller.
    catch_unwind(AssertUnwindSafe(|| start(&mut started))).unwrap_or_else(|_| {
        Err(unavailable(
            "the NVIDIA driver library lacks functions of CUDA 12.0",
        ))
    })
}

fn start(started: &mut Option<u32>) -> Result<()> {
    // Searched once: if the library is missing, the search through all its names takes more than a
    // millisecond.
    static PRESENT: OnceLock<bool> = OnceLock::new();
    // SAFETY: loads the driver library if it is there; its initialisers are the vendor's.
    if !PRESENT.get_or_init(|| unsafe { sys::is_culib_present() }) {
        return Err(unavailable(
            "no NVIDIA driver is installed (libcuda cannot be loaded)",
        ));
    }
    let version = driver_version();
    if version < OLDEST_DRIVER {
        return Err(unavailable(format!(
            "the NVIDIA driver is too old: it supports CUDA {}, and 12.0 (driver 525) is needed",
            dotted(version)
        )));
    }
    // SAFETY: the library is present; the flags must be 0.
    let code = unsafe { sys::cuInit(0) };
    if code != CUresult::CUDA_SUCCESS {
        return Err(unavailable(format!(
            "the NVIDIA driver does not start: {}",
            error_name(code)
        )));
    }
    *started = Some(std::process::id());
    Ok(())
}

/// Number of devices that the started driver shows.
pub(super) fn count_devices() -> Result<usize> {
    let mut count = 0;
    // SAFETY: the driver is initialised; the out-parameter is valid.
    check(
        unsafe { sys::cuDeviceGetCount(&mut count) },
        "cuDeviceGetCount",
    )?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// Number of GPUs that this process can use; 0 if anything fails.
pub fn device_count() -> usize {
    shown().saturating_sub(Context::count_failed())
}

/// Number of GPUs that the driver shows, including those that have failed.
fn shown() -> usize {
    driver().and_then(|()| count_devices()).unwrap_or(0)
}

/// Every GPU that can be opened; [`probe`] says what is wrong with the others. Empty if anything
/// fails.
pub fn info() -> Vec<GpuInfo> {
    (0..shown()).filter_map(|i| describe(i).ok()).collect()
}

fn describe(ordinal: usize) -> Result<GpuInfo> {
    let name = name(ordinal)?;
    let ctx = Context::open(ordinal)?;
    let (free, total) = ctx.memory()?;
    let (major, minor) = ctx.properties.capability;
    Ok(GpuInfo {
        ordinal,
        name,
        compute_capability: format!("{major}.{minor}"),
        memory_total: total,
        memory_free: free,
        driver: driver_text(),
        multiprocessors: ctx.properties.multiprocessors,
        single_per_double: ctx.properties.single_per_double(),
        integers_from: ctx.properties.integer_rates().from_order(),
    })
}

fn name(ordinal: usize) -> Result<String> {
    let mut device = 0;
    let mut name = [0u8; 256];
    // SAFETY: the driver is initialised; out-parameters are valid and the name's length is passed.
    unsafe {
        check(sys::cuDeviceGet(&mut device, ordinal as i32), "cuDeviceGet")?;
        check(
            sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as i32, device),
            "cuDeviceGetName",
        )?;
    }
    let text = name.split(|b| *b == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).into_owned())
}

/// Checks every step from this process to a GPU that computes, in order, and stops at the first one
/// after which none can follow.
pub fn probe() -> Vec<ProbeStep> {
    let mut steps = Vec::new();
    // SAFETY: loads the driver library if it is there; its initialisers are the vendor's.
    let present = catch_unwind(|| unsafe { sys::is_culib_present() }).unwrap_or(false);
    add(
        &mut steps,
        "driver library",
        present,
        if present {
            library_path()
        } else {
            "libcuda was not found".to_string()
        },
        "install the NVIDIA driver (525 or newer); in a container, start it with access to the \
         GPU (docker run --gpus all)",
    );
    if !present {
        return steps;
    }
    // A driver from which every GPU is hidden may not start.
    let visible = std::env::var("CUDA_VISIBLE_DEVICES");
    let hidden = matches!(visible.as_deref().map(str::trim), Ok("" | "-1"));
    add(
        &mut steps,
        "CUDA_VISIBLE_DEVICES",
        !hidden,
        visible.map_or_else(|_| "not set".to_string(), |v| format!("\"{v}\"")),
        "this environment variable hides every GPU: unset it before R starts",
    );
    let started = driver();
    add(
        &mut steps,
        "driver start",
        started.is_ok(),
        match &started {
            Ok(()) => driver_text(),
            Err(e) => e.to_string(),
        },
        match &started {
            Err(e) if *e == forked() => {
                "start workers as new R sessions: parallel::makeCluster(type = \"PSOCK\")"
            }
            Err(e) if e.to_string().contains("STUB_LIBRARY") => {
                "this library is a stub for compilers: take its folder, which ends with stubs, off \
                 LD_LIBRARY_PATH before R starts"
            }
            _ => {
                "see whether nvidia-smi works in a terminal; a driver older than 525 must be \
                 updated"
            }
        },
    );
    if started.is_err() {
        return steps;
    }
    let count = count_devices().unwrap_or(0);
    add(
        &mut steps,
        "GPUs",
        count > 0,
        format!("{count} found"),
        "the driver runs but shows no GPU: see CUDA_VISIBLE_DEVICES and nvidia-smi -L",
    );
    for ordinal in 0..count {
        probe_device(ordinal, &mut steps);
    }
    steps
}

fn add(steps: &mut Vec<ProbeStep>, step: &str, ok: bool, detail: String, fix: &str) {
    steps.push(ProbeStep {
        step: step.to_string(),
        ok,
        detail,
        fix: if ok { String::new() } else { fix.to_string() },
    });
}

fn probe_device(ordinal: usize, steps: &mut Vec<ProbeStep>) {
    let described = describe(ordinal);
    add(
        steps,
        &format!("GPU {ordinal}"),
        described.is_ok(),
        match &described {
            Ok(g) => format!(
                "{}, compute capability {}, {:.1} GiB ({:.1} free)",
                g.name,
                g.compute_capability,
                g.memory_total as f64 / (1u64 << 30) as f64,
                g.memory_free as f64 / (1u64 << 30) as f64
            ),
            Err(e) => e.to_string(),
        },
        match &described {
            Err(Error::DeviceFailed {
                earlier: Some(_), ..
            }) => "what went wrong is over for a new session: restart R",
            _ => "another process may hold the GPU or its memory: see nvidia-smi",
        },
    );
    if described.is_err() {
        return;
    }
    let loaded = Context::open(ordinal).and_then(Context::load_all);
    add(
        steps,
        &format!("kernels on GPU {ordinal}"),
        loaded.is_ok(),
        match &loaded {
            Ok(true) => "load; the driver has compiled them for this GPU".to_string(),
            Ok(false) => "load".to_string(),
            Err(e) => e.to_string(),
        },
        "a GPU of compute capability 6.0 or newer is needed, and the driver's PTX compiler \
         (libnvidia-ptxjitcompiler)",
    );
}

/// Path of the loaded driver library, from the system's list of mappings.
fn library_path() -> String {
    // SAFETY: the library is present, so that this only makes it stay loaded.
    let loaded = catch_unwind(|| unsafe { sys::culib() }).is_ok();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines()
        .filter_map(|l| l.split_whitespace().last())
        .find(|p| p.contains("libcuda.so"))
        .map_or_else(
            || if loaded { "loads" } else { "does not load" }.to_string(),
            str::to_string,
        )
}
