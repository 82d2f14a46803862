//! Loads the code of the kernels onto the GPU.
//!
//! The library contains packed PTX. A family is unpacked at first use, and the driver compiles it
//! for the GPU. The parameters of a kernel are read from its PTX, so that a launch with other
//! arguments is an error.

use std::collections::HashMap;
use std::ffi::CString;
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::OnceLock;

use cudarc::driver::sys;
use lzma_rust2::LzmaReader;

use super::context::{check, Context};
use super::kernels::{Family, Kernel, LoadedKernel, ParameterKind};
use crate::base::error::{Error, Result};
use crate::base::reserve;

/// A family's code on the GPU, which is never unloaded, and the parameters of its kernels.
#[derive(Debug)]
pub(crate) struct Module {
    handle: sys::CUmodule,
    parameters: HashMap<String, Vec<ParameterKind>>,
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

/// Unpacks the PTX text that `tools/kernels.py` packed.
pub(crate) fn unpack(packed: &[u8]) -> Result<String> {
    let failed = |e: std::io::Error| Error::Internal {
        what: format!("kernel text does not unpack: {e}"),
    };
    let mut text = String::new();
    LzmaReader::new_mem_limit(packed, u32::MAX, None)
        .and_then(|mut reader| reader.read_to_string(&mut text))
        .map_err(failed)?;
    Ok(text)
}

/// The kinds of the parameters of every kernel in PTX text. A kernel with a parameter of another
/// kind is left out.
pub(crate) fn parameters(ptx: &str) -> HashMap<String, Vec<ParameterKind>> {
    let entry = |text: &str| {
        let (name, rest) = text.split_once('(')?;
        let (list, _) = rest.split_once(')')?;
        let kinds = list.lines().filter(|l| l.contains(".param")).map(kind);
        Some((name.to_string(), kinds.collect::<Option<_>>()?))
    };
    ptx.split(".entry ").skip(1).filter_map(entry).collect()
}

fn kind(parameter: &str) -> Option<ParameterKind> {
    [
        (".u64", ParameterKind::Long),
        (".u32", ParameterKind::Int),
        (".f64", ParameterKind::Double),
        (".f32", ParameterKind::Float),
    ]
    .into_iter()
    .find_map(|(name, kind)| parameter.contains(name).then_some(kind))
}

impl Context {
    /// Loads a family's module. The driver caches the compiled code.
    ///
    /// Errors: [`Error::HostMemory`] if the compiler has too little memory;
    /// [`Error::DeviceUnavailable`] if the module does not load.
    pub(super) fn load_family(&self, family: Family) -> Result<Module> {
        if !reserve::is_free(COMPILER) {
            return Err(Error::HostMemory {
                needed: COMPILER as u64,
            });
        }
        let packed = family.ptx(self.properties.capability);
        let text = unpack(packed.ok_or_else(|| Error::Internal {
            what: format!("kernels {family:?} are not for this GPU"),
        })?)?;
        let parameters = parameters(&text);
        let text = CString::new(text).map_err(|_| Error::Internal {
            what: "kernel text with a null byte".to_string(),
        })?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the image is null-terminated PTX text that outlives the call.
        let code = unsafe { sys::cuModuleLoadData(&mut handle, text.as_ptr().cast()) };
        self.check(code, "cuModuleLoadData")
            .map_err(|e| match self.usable() {
                Ok(()) => Error::DeviceUnavailable {
                    reason: format!("the kernels do not load on GPU {}: {e}", self.ordinal),
                },
                // The GPU has failed, perhaps in an earlier launch.
                Err(_) => e,
            })?;
        Ok(Module { handle, parameters })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// On every kind of GPU, each family for it unpacks to code for that GPU in which every kernel
    /// can be started.
    #[test]
    fn every_family_unpacks() {
        for (major, minor) in [(6, 0), (7, 5), (8, 0), (8, 9), (9, 0), (12, 0)] {
            for family in Family::ALL {
                let Some(packed) = family.ptx((major, minor)) else {
                    let clusters = [Family::LuPanel, Family::LuFollow].contains(&family);
                    let oldest = if clusters { 9 } else { 8 };
                    assert!(major < oldest, "{family:?}");
                    continue;
                };
                let text = unpack(packed).unwrap();
                let target = text.split(".target sm_").nth(1).unwrap();
                let target: i32 = target.lines().next().unwrap().parse().unwrap();
                assert!(target <= 10 * major + minor, "{family:?}");
                let entries = text.matches(".entry ").count();
                assert!(entries > 0, "{family:?}");
                assert_eq!(parameters(&text).len(), entries, "{family:?}");
            }
        }
    }

    #[test]
    fn parameters_are_read_in_order() {
        let ptx =
            ".visible .entry first(\n\t.param .u64 a,\n\t.param .f32 b\n)\n{ ld.param.u32 x; }\n\
            .visible .entry second(\n\n)\n{}\n.visible .entry third(\n\t.param .b8 c[4]\n)\n{}\n";
        let found = parameters(ptx);
        assert_eq!(
            found.get("first"),
            Some(&vec![ParameterKind::Long, ParameterKind::Float])
        );
        assert_eq!(found.get("second"), Some(&vec![]));
        assert_eq!(found.get("third"), None);
    }

    #[test]
    fn what_is_cut_short_does_not_unpack() {
        let packed = Family::Norms.ptx((6, 0)).unwrap();
        assert!(unpack(&packed[..packed.len() / 2]).is_err());
        assert!(unpack(&[]).is_err());
    }
}
