//! Lists the families of kernels and their PTX, and defines the arguments that a kernel can take.

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::OnceLock;

use cudarc::driver::sys;

use crate::base::scalar::Scalar;

/// PTX that `tools/kernels.py` made and packed.
macro_rules! packed {
    ($name:literal) => {
        include_bytes!(concat!("../../../../kernels/ptx/", $name, ".ptx.lzma"))
    };
}

/// A family of kernels that is loaded together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Family {
    Gemm,
    Product,
    ProductThin,
    ProductSingle,
    ProductVector,
    Triangular,
    TriangularTiles,
    TriangularVector,
    Cholesky,
    CholeskyBatch,
    CholeskyTiles,
    CholeskyUpdate,
    Lu,
    LuPanel,
    LuFollow,
    LuPipeline,
    Qr,
    QrPanel,
    QrPipeline,
    QrDivide,
    QrBatch,
    Pivot,
    Norms,
    Precision,
    Elementwise,
    Fold,
    Movement,
    Covariance,
    Stencil,
    StencilCoarse,
    Columns,
    Sparse,
    SparseLoad,
    SparseCoarse,
}

impl Family {
    pub(crate) const ALL: [Family; 34] = [
        Family::Gemm,
        Family::Product,
        Family::ProductThin,
        Family::ProductSingle,
        Family::ProductVector,
        Family::Triangular,
        Family::TriangularTiles,
        Family::TriangularVector,
        Family::Cholesky,
        Family::CholeskyBatch,
        Family::CholeskyTiles,
        Family::CholeskyUpdate,
        Family::Lu,
        Family::LuPanel,
        Family::LuFollow,
        Family::LuPipeline,
        Family::Qr,
        Family::QrPanel,
        Family::QrPipeline,
        Family::QrDivide,
        Family::QrBatch,
        Family::Pivot,
        Family::Norms,
        Family::Precision,
        Family::Elementwise,
        Family::Fold,
        Family::Movement,
        Family::Covariance,
        Family::Stencil,
        Family::StencilCoarse,
        Family::Columns,
        Family::Sparse,
        Family::SparseLoad,
        Family::SparseCoarse,
    ];

    /// The oldest driver that can read its code, in the numbers of the driver.
    pub(crate) fn driver(self) -> i32 {
        match self {
            Family::LuPanel => 12010,
            _ => 12000,
        }
    }

    /// The packed code for a device of that compute capability; none if the family needs a newer
    /// one.
    pub(crate) fn ptx(self, (major, _): (i32, i32)) -> Option<&'static [u8]> {
        Some(match self {
            Family::Gemm => packed!("gemm"),
            Family::Product => match major {
                9.. => packed!("product.sm_90"),
                8 => packed!("product.sm_80"),
                _ => return None,
            },
            Family::ProductThin => match major {
                9.. => packed!("product_thin.sm_90"),
                8 => packed!("product_thin.sm_80"),
                _ => return None,
            },
            Family::ProductSingle => match major {
                8.. => packed!("product_f32.sm_80"),
                _ => return None,
            },
            Family::ProductVector => packed!("product_vector"),
            Family::Triangular => packed!("triangular"),
            Family::TriangularTiles => match major {
                9.. => packed!("triangular_tiles.sm_90"),
                8 => packed!("triangular_tiles.sm_80"),
                _ => return None,
            },
            Family::TriangularVector => packed!("triangular_vector"),
            Family::Cholesky => packed!("cholesky"),
            Family::CholeskyBatch => packed!("cholesky_batch"),
            Family::CholeskyTiles => match major {
                9.. => packed!("cholesky_tiles.sm_90"),
                8 => packed!("cholesky_tiles.sm_80"),
                _ => return None,
            },
            Family::CholeskyUpdate => match major {
                9.. => packed!("cholesky_update.sm_90"),
                8 => packed!("cholesky_update.sm_80"),
                _ => return None,
            },
            Family::Lu => packed!("lu"),
            Family::LuPanel => match major {
                9.. => packed!("lu_panel.sm_90"),
                _ => return None,
            },
            Family::LuFollow => match major {
                9.. => packed!("lu_follow.sm_90"),
                _ => return None,
            },
            Family::LuPipeline => match major {
                8.. => packed!("lu_pipeline.sm_80"),
                _ => return None,
            },
            Family::Qr => packed!("qr"),
            Family::QrPanel => packed!("qr_panel"),
            Family::QrPipeline => match major {
                8.. => packed!("qr_pipeline.sm_80"),
                _ => return None,
            },
            Family::QrDivide => match major {
                9.. => packed!("qr_divide.sm_90"),
                8 => packed!("qr_divide.sm_80"),
                _ => return None,
            },
            Family::QrBatch => packed!("qr_batch"),
            Family::Pivot => packed!("pivot"),
            Family::Norms => packed!("norms"),
            Family::Precision => packed!("precision"),
            Family::Elementwise => packed!("elementwise"),
            Family::Fold => packed!("fold"),
            Family::Movement => packed!("movement"),
            Family::Covariance => packed!("covariance"),
            Family::Stencil => packed!("stencil"),
            Family::StencilCoarse => packed!("stencil_coarse"),
            Family::Columns => packed!("columns"),
            Family::Sparse => packed!("sparse"),
            Family::SparseLoad => packed!("sparse_load"),
            Family::SparseCoarse => packed!("sparse_coarse"),
        })
    }
}

/// One kernel: `name` without the suffix of the element type, which `typed` kernels have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Kernel {
    pub family: Family,
    pub name: &'static str,
    pub typed: bool,
}

impl Kernel {
    pub(crate) const fn new(family: Family, name: &'static str) -> Self {
        Kernel {
            family,
            name,
            typed: true,
        }
    }

    pub(crate) const fn untyped(family: Family, name: &'static str) -> Self {
        Kernel {
            family,
            name,
            typed: false,
        }
    }

    pub(super) fn full_name(self, suffix: &str) -> String {
        if self.typed {
            format!("{}_{suffix}", self.name)
        } else {
            self.name.to_string()
        }
    }
}

/// The types a kernel's parameter can have in PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterKind {
    Int,
    Long,
    Float,
    Double,
}

/// One argument, as the eight bytes a parameter is read from (the lower four for the short kinds).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arg {
    pub kind: ParameterKind,
    pub bits: u64,
}

pub(crate) trait IntoArg {
    fn arg(self) -> Arg;
}

impl IntoArg for i32 {
    fn arg(self) -> Arg {
        Arg {
            kind: ParameterKind::Int,
            bits: u64::from(self as u32),
        }
    }
}

impl IntoArg for i64 {
    fn arg(self) -> Arg {
        Arg {
            kind: ParameterKind::Long,
            bits: self as u64,
        }
    }
}

/// Device addresses.
impl IntoArg for u64 {
    fn arg(self) -> Arg {
        Arg {
            kind: ParameterKind::Long,
            bits: self,
        }
    }
}

impl IntoArg for usize {
    fn arg(self) -> Arg {
        Arg {
            kind: ParameterKind::Long,
            bits: self as u64,
        }
    }
}

impl IntoArg for f64 {
    fn arg(self) -> Arg {
        Arg {
            kind: ParameterKind::Double,
            bits: self.to_bits(),
        }
    }
}

/// A number of the kernel's element type.
pub(crate) fn scalar<T: Scalar>(x: T) -> Arg {
    let wide: f64 = x.into();
    if std::mem::size_of::<T>() == 8 {
        wide.arg()
    } else {
        Arg {
            kind: ParameterKind::Float,
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
    ($($x:expr),* $(,)?) => { [$($crate::backend::cuda::driver::kernels::IntoArg::arg($x)),*] };
}
pub(crate) use args;

/// A loaded kernel.
#[derive(Debug)]
pub(crate) struct LoadedKernel {
    pub handle: sys::CUfunction,
    pub params: Vec<ParameterKind>,
    /// Bytes of dynamic shared memory that a launch may have.
    pub allowed: AtomicUsize,
    /// Whether clusters of more blocks than every device supports are allowed.
    pub large_clusters: AtomicBool,
    /// Blocks that one multiprocessor holds, after the first query.
    pub resident: OnceLock<usize>,
}

// SAFETY: a function handle is a process-wide name of loaded code, valid on any thread while its
// module, which is never unloaded, lives.
unsafe impl Send for LoadedKernel {}
// SAFETY: as above; the handle is only passed on to the driver.
unsafe impl Sync for LoadedKernel {}
