//! Loads the code of the kernels onto the GPU.
//!
//! The library contains machine code for the usual GPUs, and PTX for all, both packed. A family is
//! unpacked at first use. Machine code is loaded in milliseconds. From PTX the driver compiles
//! machine code in seconds, and keeps it in its own cache for later sessions.
//! The parameters of a kernel are known from its PTX, so that a launch with other arguments is an
//! error.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::OnceLock;

use cudarc::driver::sys::{self, CUresult};

use super::code::{damaged, parameters, unpack, unpack_code, Parameters};
use super::context::Context;
use super::kernels::{Family, Kernel, LoadedKernel};
use crate::base::error::{Error, Result};
use crate::base::interrupt::{self, later};
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

impl Context {
    /// Loads a family's module: the library's machine code, or what the driver compiles from PTX.
    ///
    /// Errors: [`Error::DeviceMemory`] and [`Error::HostMemory`] if there is too little memory;
    /// [`Error::DeviceUnavailable`] if the module does not load.
    pub(super) fn load_family(&self, family: Family) -> Result<Module> {
        let mut refused = None;
        let code = family.machine_code(self.properties.capability);
        #[cfg(any(test, feature = "testing"))]
        let code = code.filter(|_| super::belief::belief().is_none());
        if let Some((packed, arch)) = code {
            let (code, parameters) = unpack_code(packed, arch)?;
            match self.load_image(&code) {
                Ok(handle) => return Ok(Module::new(handle, parameters, false)),
                Err(e) if self.is_final(&e) => return Err(e),
                Err(e) => refused = Some(e),
            }
        }
        let Some((packed, _)) = family.ptx(self.properties.capability) else {
            return Err(self.does_not_load(refused));
        };
        if !reserve::is_free(COMPILER) {
            return Err(Error::HostMemory {
                needed: COMPILER as u64,
            });
        }
        let text = unpack(packed)?;
        let parameters = parameters(&text);
        let text = CString::new(text).map_err(damaged)?;
        match self.load_image(text.as_bytes_with_nul()) {
            Ok(handle) => Ok(Module::new(handle, parameters, true)),
            Err(e) if self.is_final(&e) => Err(e),
            Err(e) => Err(self.does_not_load(Some(e))),
        }
    }

    /// Loads every family that suits this GPU, and tells whether the driver has compiled any in
    /// this session.
    ///
    /// Errors: as [`Context::load_family`]; [`Error::Interrupted`].
    pub(super) fn load_all(&'static self) -> Result<bool> {
        let suits = |f: &Family| self.suits(*f);
        let families: Vec<Family> = Family::ALL.into_iter().filter(suits).collect();
        // The driver compiles one family at a time, however many threads ask.
        for family in &families {
            interrupt::poll()?;
            self.module(*family)?;
        }
        let compiled = families.iter().map(|f| self.module(*f).map(|m| m.compiled));
        Ok(compiled.collect::<Result<Vec<bool>>>()?.contains(&true))
    }

    /// Whether another form of the same code cannot help.
    fn is_final(&self, e: &Error) -> bool {
        e.is_lack_of_memory() || self.usable().is_err()
    }

    fn does_not_load(&self, why: Option<Error>) -> Error {
        let why = why.map_or_else(|| "there is no code for it".to_string(), |e| e.to_string());
        Error::DeviceUnavailable {
            reason: format!("the kernels do not load on GPU {}: {why}", self.ordinal),
        }
    }

    /// Loads machine code, or PTX text that ends with a null byte, which the driver compiles. The
    /// context must be current.
    ///
    /// PTX is not linked (`cuLinkAddData`): linked code has dynamic shared memory at multiples of
    /// 16 bytes, whatever alignment the PTX asks for, and kernels then compute wrong addresses.
    fn load_image(&self, image: &[u8]) -> Result<sys::CUmodule> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the image is an ELF file from our assembler or null-terminated text, and outlives
        // the call.
        let load = || unsafe { sys::cuModuleLoadData(&mut handle, image.as_ptr().cast()) };
        // No R code may run while the family is locked: it could ask for the same one.
        match later(|| self.with_remedies(load))? {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => Err(self.too_little(image.len() as u64)?),
            code => self.check(code, "cuModuleLoadData").map(|()| handle),
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
        self.check(code, "cuModuleGetFunction")?;
        Ok(LoadedKernel {
            handle,
            params,
            allowed: AtomicUsize::new(SHARED_ALWAYS),
            large_clusters: AtomicBool::new(false),
            resident: OnceLock::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As on a GPU for which the library has no machine code.
    #[test]
    fn the_driver_compiles_what_loads() {
        let Some(ctx) = Context::for_test() else {
            return;
        };
        ctx.bind().unwrap();
        for family in [Family::Norms, Family::Precision] {
            let (packed, _) = family.ptx((6, 0)).unwrap();
            let text = unpack(packed).unwrap();
            let parameters = parameters(&text);
            let names: Vec<String> = parameters.keys().cloned().collect();
            let text = CString::new(text).unwrap();
            let handle = ctx.load_image(text.as_bytes_with_nul()).unwrap();
            for name in &names {
                let name = CString::new(name.as_str()).unwrap();
                let mut function = std::ptr::null_mut();
                // SAFETY: the module is loaded and the name is null-terminated.
                let found =
                    unsafe { sys::cuModuleGetFunction(&mut function, handle, name.as_ptr()) };
                assert_eq!(found, CUresult::CUDA_SUCCESS, "{name:?}");
            }
        }
    }

    #[test]
    fn other_text_is_an_error() {
        let Some(ctx) = Context::for_test() else {
            return;
        };
        ctx.bind().unwrap();
        let text = c".version 8.0\n.target sm_60\nnonsense".to_bytes_with_nul();
        let e = ctx.load_image(text).unwrap_err();
        assert!(matches!(e, Error::DeviceFailed { .. }), "{e:?}");
        assert_eq!(ctx.usable(), Ok(()));
    }
}
