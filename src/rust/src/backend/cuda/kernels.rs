//! The kernels' code and what they take.
//!
//! The PTX is made by `tools/kernels.py` from `kernels/*.cu` and travels inside the library. A kernel's parameters are
//! read off its PTX, so that a launch with other arguments is refused instead of being undefined.

use std::ffi::CString;
use std::sync::atomic::AtomicUsize;
use std::sync::OnceLock;

use cudarc::driver::sys;

use super::context::{check, Context};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

/// A family of kernels that is loaded together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Family {
    Gemm,
    Product,
    ProductThin,
    ProductSingle,
    Triangular,
    TriangularTiles,
    Cholesky,
    CholeskyBatch,
    CholeskyTiles,
    Lu,
    Qr,
    Pivot,
    Norms,
    Precision,
}

impl Family {
    pub(super) const ALL: [Family; 14] = [
        Family::Gemm,
        Family::Product,
        Family::ProductThin,
        Family::ProductSingle,
        Family::Triangular,
        Family::TriangularTiles,
        Family::Cholesky,
        Family::CholeskyBatch,
        Family::CholeskyTiles,
        Family::Lu,
        Family::Qr,
        Family::Pivot,
        Family::Norms,
        Family::Precision,
    ];

    /// The code for a device of that compute capability; none where the family needs a newer one.
    pub(super) fn ptx(self, (major, _): (i32, i32)) -> Option<&'static str> {
        Some(match self {
            Family::Gemm => include_str!("../../../kernels/ptx/gemm.ptx"),
            Family::Product => match major {
                9.. => include_str!("../../../kernels/ptx/product.sm_90.ptx"),
                8 => include_str!("../../../kernels/ptx/product.sm_80.ptx"),
                _ => return None,
            },
            Family::ProductThin => match major {
                9.. => include_str!("../../../kernels/ptx/product_thin.sm_90.ptx"),
                8 => include_str!("../../../kernels/ptx/product_thin.sm_80.ptx"),
                _ => return None,
            },
            Family::ProductSingle => match major {
                8.. => include_str!("../../../kernels/ptx/product_f32.sm_80.ptx"),
                _ => return None,
            },
            Family::Triangular => include_str!("../../../kernels/ptx/triangular.ptx"),
            Family::TriangularTiles => match major {
                9.. => include_str!("../../../kernels/ptx/triangular_tiles.sm_90.ptx"),
                8 => include_str!("../../../kernels/ptx/triangular_tiles.sm_80.ptx"),
                _ => return None,
            },
            Family::Cholesky => include_str!("../../../kernels/ptx/cholesky.ptx"),
            Family::CholeskyBatch => include_str!("../../../kernels/ptx/cholesky_batch.ptx"),
            Family::CholeskyTiles => match major {
                9.. => include_str!("../../../kernels/ptx/cholesky_tiles.sm_90.ptx"),
                8 => include_str!("../../../kernels/ptx/cholesky_tiles.sm_80.ptx"),
                _ => return None,
            },
            Family::Lu => include_str!("../../../kernels/ptx/lu.ptx"),
            Family::Qr => include_str!("../../../kernels/ptx/qr.ptx"),
            Family::Pivot => include_str!("../../../kernels/ptx/pivot.ptx"),
            Family::Norms => include_str!("../../../kernels/ptx/norms.ptx"),
            Family::Precision => include_str!("../../../kernels/ptx/precision.ptx"),
        })
    }
}

/// One kernel: `name` without the suffix of the element type, which `typed` kernels have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Kernel {
    pub family: Family,
    pub name: &'static str,
    pub typed: bool,
}

impl Kernel {
    pub(super) const fn new(family: Family, name: &'static str) -> Self {
        Kernel {
            family,
            name,
            typed: true,
        }
    }

    pub(super) const fn untyped(family: Family, name: &'static str) -> Self {
        Kernel {
            family,
            name,
            typed: false,
        }
    }

    fn full_name(self, suffix: &str) -> String {
        if self.typed {
            format!("{}_{suffix}", self.name)
        } else {
            self.name.to_string()
        }
    }
}

/// The types a kernel's parameter can have in PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    Long,
    Float,
    Double,
}

/// One argument, as the eight bytes a parameter is read from (the lower four for the short kinds).
#[derive(Debug, Clone, Copy)]
pub(super) struct Arg {
    pub kind: Kind,
    pub bits: u64,
}

pub(super) trait IntoArg {
    fn arg(self) -> Arg;
}

impl IntoArg for i32 {
    fn arg(self) -> Arg {
        Arg {
            kind: Kind::Int,
            bits: u64::from(self as u32),
        }
    }
}

impl IntoArg for i64 {
    fn arg(self) -> Arg {
        Arg {
            kind: Kind::Long,
            bits: self as u64,
        }
    }
}

/// Device addresses.
impl IntoArg for u64 {
    fn arg(self) -> Arg {
        Arg {
            kind: Kind::Long,
            bits: self,
        }
    }
}

impl IntoArg for usize {
    fn arg(self) -> Arg {
        Arg {
            kind: Kind::Long,
            bits: self as u64,
        }
    }
}

impl IntoArg for f64 {
    fn arg(self) -> Arg {
        Arg {
            kind: Kind::Double,
            bits: self.to_bits(),
        }
    }
}

/// A number of the kernel's element type.
pub(super) fn scalar<T: Scalar>(x: T) -> Arg {
    let wide: f64 = x.into();
    if std::mem::size_of::<T>() == 8 {
        wide.arg()
    } else {
        Arg {
            kind: Kind::Float,
            bits: u64::from((wide as f32).to_bits()),
        }
    }
}

impl IntoArg for Arg {
    fn arg(self) -> Arg {
        self
    }
}

/// The arguments of a launch, in the order of the kernel's parameters.
macro_rules! args {
    ($($x:expr),* $(,)?) => { [$($crate::backend::cuda::kernels::IntoArg::arg($x)),*] };
}
pub(super) use args;

/// A kernel ready to start.
#[derive(Debug)]
pub(super) struct Function {
    pub handle: sys::CUfunction,
    pub params: Vec<Kind>,
    /// Bytes of dynamic shared memory that a launch may have.
    pub allowed: AtomicUsize,
    /// Blocks that one multiprocessor holds, once asked.
    pub resident: OnceLock<usize>,
}

/// Dynamic shared memory that every kernel may have; more must be allowed.
const SHARED_ALWAYS: usize = 48 << 10;

// SAFETY: a function handle is a process-wide name of loaded code, valid on any thread while its module, which is
// never unloaded, lives.
unsafe impl Send for Function {}
// SAFETY: as above; the handle is only passed on to the driver.
unsafe impl Sync for Function {}

/// The kinds of the parameters of `entry` in PTX text; `None` when there is no such kernel.
pub(super) fn parameters(ptx: &str, entry: &str) -> Option<Vec<Kind>> {
    let start = ptx.find(&format!(".entry {entry}("))?;
    let list = ptx.get(start..)?;
    let list = list.get(..list.find(')')?)?;
    list.lines()
        .filter(|l| l.contains(".param"))
        .map(|l| {
            if l.contains(".u64") {
                Some(Kind::Long)
            } else if l.contains(".u32") {
                Some(Kind::Int)
            } else if l.contains(".f64") {
                Some(Kind::Double)
            } else if l.contains(".f32") {
                Some(Kind::Float)
            } else {
                None
            }
        })
        .collect()
}

impl Context {
    fn ptx(&self, family: Family) -> Result<&'static str> {
        let missing = || Error::Internal {
            what: format!("kernels {family:?} are not for this GPU"),
        };
        family.ptx(self.properties.capability).ok_or_else(missing)
    }

    /// Loads a family's module. The driver compiles it for the GPU, and keeps the result in its own cache.
    pub(super) fn load_family(&self, family: Family) -> Result<sys::CUmodule> {
        let text = CString::new(self.ptx(family)?).map_err(|_| Error::Internal {
            what: "kernel text with a null byte".to_string(),
        })?;
        let mut module = std::ptr::null_mut();
        // SAFETY: the image is null-terminated PTX text that outlives the call.
        let code = unsafe { sys::cuModuleLoadData(&mut module, text.as_ptr().cast()) };
        self.check(code, "cuModuleLoadData")
            .map_err(|e| Error::DeviceUnavailable {
                reason: format!("the kernels do not load on GPU {}: {e}", self.ordinal),
            })?;
        Ok(module)
    }

    /// Looks a kernel up in its loaded module.
    pub(super) fn find_function(
        &self,
        module: sys::CUmodule,
        kernel: Kernel,
        suffix: &str,
    ) -> Result<Function> {
        let name = kernel.full_name(suffix);
        let missing = || Error::Internal {
            what: format!("there is no kernel {name}"),
        };
        let params = parameters(self.ptx(kernel.family)?, &name).ok_or_else(missing)?;
        let text = CString::new(name.as_str()).map_err(|_| missing())?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the module is loaded and the name is null-terminated.
        let code = unsafe { sys::cuModuleGetFunction(&mut handle, module, text.as_ptr()) };
        check(code, "cuModuleGetFunction")?;
        Ok(Function {
            handle,
            params,
            allowed: AtomicUsize::new(SHARED_ALWAYS),
            resident: OnceLock::new(),
        })
    }
}
