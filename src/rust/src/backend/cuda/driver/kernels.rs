//! Lists the families of kernels and their PTX, and defines the arguments that a kernel can take.

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::OnceLock;

use cudarc::driver::sys;

use crate::base::scalar::Scalar;

// Generated.
#[rustfmt::skip]
#[path = "../../../../kernels/images.rs"]
mod images;

/// The families of kernels with the stems of their sources.
macro_rules! families {
    ($($name:ident => $stem:literal,)*) => {
        /// A family of kernels that is loaded together.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum Family {
            $($name,)*
        }

        impl Family {
            pub(crate) const ALL: [Family; [$($stem,)*].len()] = [$(Family::$name,)*];

            /// The name of its source without the ending.
            pub(super) fn stem(self) -> &'static str {
                match self {
                    $(Family::$name => $stem,)*
                }
            }
        }
    };
}

families! {
    Gemm => "gemm",
    Product => "product",
    ProductThin => "product_thin",
    ProductSingle => "product_f32",
    ProductVector => "product_vector",
    Emulated => "emulated",
    PlanesTensor => "planes_tensor",
    PlanesHopper => "planes_hopper",
    Triangular => "triangular",
    TriangularTiles => "triangular_tiles",
    TriangularVector => "triangular_vector",
    Cholesky => "cholesky",
    CholeskyBatch => "cholesky_batch",
    CholeskyTiles => "cholesky_tiles",
    CholeskyUpdate => "cholesky_update",
    Lu => "lu",
    LuPanel => "lu_panel",
    LuFollow => "lu_follow",
    LuPipeline => "lu_pipeline",
    Qr => "qr",
    QrPanel => "qr_panel",
    QrPipeline => "qr_pipeline",
    QrDivide => "qr_divide",
    QrBatch => "qr_batch",
    Pivot => "pivot",
    Chase => "chase",
    ChaseBack => "chase_back",
    ChaseBackTiles => "chase_back_tiles",
    OneStage => "one_stage",
    BandPanel => "band_panel",
    EigenBatch => "eigen_batch",
    Norms => "norms",
    Precision => "precision",
    Elementwise => "elementwise",
    Fold => "fold",
    Movement => "movement",
    Covariance => "covariance",
    Stencil => "stencil",
    StencilCoarse => "stencil_coarse",
    Columns => "columns",
    Sparse => "sparse",
    SparseLoad => "sparse_load",
    SparseCoarse => "sparse_coarse",
    Tridiagonal => "tridiagonal",
}

impl Family {
    /// The oldest driver that can read its code, in the numbers of the driver.
    pub(crate) fn driver(self) -> i32 {
        match self {
            Family::LuPanel => 12010,
            _ => 12000,
        }
    }

    /// Whether it uses tensor cores in double precision.
    pub(crate) fn is_double_on_tensor_cores(self) -> bool {
        matches!(
            self,
            Family::Product
                | Family::ProductThin
                | Family::TriangularTiles
                | Family::CholeskyTiles
                | Family::CholeskyUpdate
                | Family::LuPanel
                | Family::LuFollow
                | Family::QrDivide
                | Family::ChaseBackTiles
        )
    }

    /// Whether it uses tensor cores in double precision, and portable kernels of another family
    /// compute the same. Reflections of a Cholesky factor have no such twin: the factor of the
    /// formed matrix is less accurate.
    pub(crate) fn has_portable_twin(self) -> bool {
        self.is_double_on_tensor_cores() && self != Family::CholeskyUpdate
    }

    /// Whether its code runs on GPUs of one compute capability alone (`sm_90a`).
    pub(super) fn is_exact(self) -> bool {
        self == Family::PlanesHopper
    }

    /// Whether the library has code for a device of that compute capability.
    pub(crate) fn is_for(self, capability: (i32, i32)) -> bool {
        self.machine_code(capability).is_some() || self.ptx(capability).is_some()
    }

    /// The packed PTX for a device of that compute capability, and the architecture it is for; none
    /// if the family needs a newer device.
    pub(crate) fn ptx(self, (major, minor): (i32, i32)) -> Option<(&'static [u8], i32)> {
        let device = 10 * major + minor;
        let for_device = |(stem, arch, _): &&(&str, i32, &[u8])| match self.is_exact() {
            true => *stem == self.stem() && *arch == device,
            false => *stem == self.stem() && *arch <= device,
        };
        let all = images::PTX.iter().chain(images::OLDER_PTX);
        let newest = all.filter(for_device).max_by_key(|i| i.1)?;
        Some((newest.2, newest.1))
    }

    /// The packed machine code for a device of that compute capability, and the architecture it is
    /// for; none if the library has no machine code for such a device.
    pub(crate) fn machine_code(self, (major, minor): (i32, i32)) -> Option<(&'static [u8], i32)> {
        let arch = match (major, minor) {
            (7, 5..) => 75,
            (8, _) => 80,
            (9, _) => 90,
            (10, _) => 100,
            (12, _) => 120,
            _ => return None,
        };
        // A family that needs 8.0 has no code for 7.5.
        let found = images::CUBINS
            .iter()
            .find(|i| i.0 == self.stem() && i.1.contains(&arch))?;
        Some((found.2, arch))
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
