//! Loads the code of the kernels onto the GPU.
//!
//! The library contains machine code for the usual GPUs, and PTX for all, both packed. A family is
//! unpacked at first use. Machine code is loaded in milliseconds. What the driver compiles from PTX
//! is kept in a file for later sessions.
//! The parameters of a kernel are known from its PTX, so that a launch with other arguments is an
//! error.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::OnceLock;

use cudarc::driver::sys::{self, CUresult};

use super::code::{damaged, parameters, unpack, unpack_code, Parameters};
use super::context::{check, Context};
use super::kept::Place;
use super::kernels::{Family, Kernel, LoadedKernel};
use super::version::driver_text;
use crate::base::error::{Error, Result};
use crate::base::reserve;

/// A family's code on the GPU, which is never unloaded, and the parameters of its kernels.
#[derive(Debug)]
pub(crate) struct Module {
    handle: sys::CUmodule,
    parameters: Parameters,
    /// Whether the driver compiled it in this session.
    pub compiled: bool,
}

impl Module {
    fn new(handle: sys::CUmodule, parameters: Parameters, compiled: bool) -> Module {
        Module {
            handle,
            parameters,
            compiled,
        }
    }
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
    /// Loads a family's module: machine code of the library, or else what the driver compiles from
    /// PTX now or has compiled in an earlier session.
    ///
    /// Errors: [`Error::HostMemory`] if the compiler has too little memory;
    /// [`Error::DeviceUnavailable`] if the module does not load.
    pub(super) fn load_family(&self, family: Family) -> Result<Module> {
        if let Some((packed, arch)) = family.machine_code(self.properties.capability) {
            let (code, parameters) = unpack_code(packed, arch)?;
            match self.load_image(&code) {
                Ok(handle) => return Ok(Module::new(handle, parameters, false)),
                Err(code) if is_refused(code) => {}
                Err(code) => return Err(self.not_loaded(code)),
            }
        }
        let packed = family.ptx(self.properties.capability);
        let (packed, _) = packed.ok_or_else(|| Error::Internal {
            what: format!("kernels {family:?} are not for this GPU"),
        })?;
        let (major, minor) = self.properties.capability;
        let arch = 10 * major + minor;
        let place = self.place_of(family, packed, arch);
        if let Some((code, parameters)) = place.as_ref().and_then(|p| p.read(arch)) {
            if let Ok(handle) = self.load_image(&code) {
                return Ok(Module::new(handle, parameters, false));
            }
        }
        if !reserve::is_free(COMPILER) {
            return Err(Error::HostMemory {
                needed: COMPILER as u64,
            });
        }
        let text = unpack(packed)?;
        let parameters = parameters(&text);
        let text = CString::new(text).map_err(damaged)?;
        let handle = match self.compile(text.as_bytes_with_nul()) {
            Ok(code) => {
                let loaded = self.load_image(&code);
                if let (Ok(_), Some(place)) = (&loaded, place) {
                    place.write(arch, &code, &parameters);
                }
                loaded
            }
            // The driver's loader compiles, too.
            Err(_) => self.load_image(text.as_bytes_with_nul()),
        };
        let handle = handle.map_err(|code| self.not_loaded(code))?;
        Ok(Module::new(handle, parameters, true))
    }

    /// Where the machine code that the driver compiles for this GPU is kept.
    fn place_of(&self, family: Family, ptx: &[u8], arch: i32) -> Option<Place> {
        // The driver compiles for the real GPU, and not for one that a test pretends to have.
        #[cfg(any(test, feature = "testing"))]
        if super::belief::belief().is_some() {
            return None;
        }
        Place::of(family.stem(), ptx, arch, &driver_text())
    }

    /// Compiles PTX text that ends with a null byte. The context must be current.
    fn compile(&self, text: &[u8]) -> std::result::Result<Vec<u8>, CUresult> {
        let ok = |code| match code {
            CUresult::CUDA_SUCCESS => Ok(()),
            code => Err(code),
        };
        let none = std::ptr::null_mut::<sys::CUjit_option>();
        let (mut state, mut code, mut bytes) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
        // SAFETY: no options are passed; the text outlives the call that reads it; the driver's
        // copy of the machine code is copied before the state that owns it is destroyed.
        unsafe {
            ok(sys::cuLinkCreate_v2(
                0,
                none,
                std::ptr::null_mut(),
                &mut state,
            ))?;
            let added = ok(sys::cuLinkAddData_v2(
                state,
                sys::CUjitInputType::CU_JIT_INPUT_PTX,
                text.as_ptr().cast_mut().cast(),
                text.len(),
                c"kernels".as_ptr(),
                0,
                none,
                std::ptr::null_mut(),
            ));
            let made = added
                .and_then(|()| ok(sys::cuLinkComplete(state, &mut code, &mut bytes)))
                .map(|()| std::slice::from_raw_parts(code.cast::<u8>(), bytes).to_vec());
            let _ = sys::cuLinkDestroy(state);
            made
        }
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
