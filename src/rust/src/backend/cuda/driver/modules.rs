//! Loads the code of the kernels onto the GPU.
//!
//! The library contains machine code for the usual GPUs, and PTX for all, both packed. A family is
//! unpacked at first use. Machine code is loaded in milliseconds; PTX the driver compiles first.
//! The parameters of a kernel are known from its PTX, so that a launch with other arguments is an
//! error.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::OnceLock;

use cudarc::driver::sys::{self, CUresult};

use super::code::{damaged, parameters, unpack, unpack_code, Parameters};
use super::context::{check, Context};
use super::kernels::{Family, Kernel, LoadedKernel};
use crate::base::error::{Error, Result};
use crate::base::reserve;

/// A family's code on the GPU, which is never unloaded, and the parameters of its kernels.
#[derive(Debug)]
pub(crate) struct Module {
    handle: sys::CUmodule,
    parameters: Parameters,
    /// Whether the driver compiled it.
    pub compiled: bool,
}

// SAFETY: a module handle is valid on any thread while the module, which is never unloaded, lives.
unsafe impl Send for Module {}
// SAFETY: as above; the handle is only passed on to the driver.
unsafe impl Sync for Module {}

/// Bytes of dynamic shared memory that every kernel may use; more must be allowed first.
const SHARED_ALWAYS: usize = 48 << 10;

/// Bytes of address space that the driver's compiler of PTX needs. With less it fails, or ends the
/// process.
const COMPILER: usize = 256 << 20;

/// Codes of a driver that does not take machine code for this GPU.
fn is_refused(code: CUresult) -> bool {
    matches!(
        code,
        CUresult::CUDA_ERROR_INVALID_IMAGE
            | CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
            | CUresult::CUDA_ERROR_INVALID_SOURCE
    )
}

impl Context {
    /// Loads a family's module: machine code, or PTX where the library has no machine code for this
    /// GPU or the driver refuses it. The driver caches what it compiles.
    ///
    /// Errors: [`Error::HostMemory`] if the compiler has too little memory;
    /// [`Error::DeviceUnavailable`] if the module does not load.
    pub(super) fn load_family(&self, family: Family) -> Result<Module> {
        if let Some((packed, arch)) = family.machine_code(self.properties.capability) {
            let (code, parameters) = unpack_code(packed, arch)?;
            match self.load_image(&code) {
                Ok(handle) => {
                    return Ok(Module {
                        handle,
                        parameters,
                        compiled: false,
                    })
                }
                Err(code) if is_refused(code) => {}
                Err(code) => return Err(self.not_loaded(code)),
            }
        }
        if !reserve::is_free(COMPILER) {
            return Err(Error::HostMemory {
                needed: COMPILER as u64,
            });
        }
        let packed = family.ptx(self.properties.capability);
        let (packed, _) = packed.ok_or_else(|| Error::Internal {
            what: format!("kernels {family:?} are not for this GPU"),
        })?;
        let text = unpack(packed)?;
        let parameters = parameters(&text);
        let text = CString::new(text).map_err(damaged)?;
        let handle = self
            .load_image(text.as_bytes_with_nul())
            .map_err(|code| self.not_loaded(code))?;
        Ok(Module {
            handle,
            parameters,
            compiled: true,
        })
    }

    /// Loads machine code, or PTX text that ends with a null byte. The context must be current.
    fn load_image(&self, image: &[u8]) -> std::result::Result<sys::CUmodule, CUresult> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the image is an ELF file from our assembler or null-terminated text, and outlives
        // the call.
        match unsafe { sys::cuModuleLoadData(&mut handle, image.as_ptr().cast()) } {
            CUresult::CUDA_SUCCESS => Ok(handle),
            code => Err(code),
        }
    }

    fn not_loaded(&self, code: CUresult) -> Error {
        let e = match self.check(code, "cuModuleLoadData") {
            Ok(()) => damaged("the driver reports no error"),
            Err(e) => e,
        };
        match self.usable() {
            Ok(()) => Error::DeviceUnavailable {
                reason: format!("the kernels do not load on GPU {}: {e}", self.ordinal),
            },
            // The GPU has failed, perhaps in an earlier launch.
            Err(_) => e,
        }
    }

    /// Finds a kernel in its loaded module.
    pub(super) fn find_function(
        &self,
        module: &Module,
        kernel: Kernel,
        suffix: &str,
    ) -> Result<LoadedKernel> {
        let name = kernel.full_name(suffix);
        let missing = || Error::Internal {
            what: format!("there is no kernel {name}"),
        };
        let params = module.parameters.get(&name).ok_or_else(missing)?.clone();
        let text = CString::new(name.as_str()).map_err(|_| missing())?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the module is loaded and the name is null-terminated.
        let code = unsafe { sys::cuModuleGetFunction(&mut handle, module.handle, text.as_ptr()) };
        check(code, "cuModuleGetFunction")?;
        Ok(LoadedKernel {
            handle,
            params,
            allowed: AtomicUsize::new(SHARED_ALWAYS),
            large_clusters: AtomicBool::new(false),
            resident: OnceLock::new(),
        })
    }
}
