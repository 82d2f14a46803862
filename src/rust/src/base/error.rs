//! The error type of the crate. An error carries facts; `R/conditions.R` writes the sentences that
//! a user reads.

/// Why a computation stopped. Inputs are never modified by a call that returns an error.
#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    /// The leading minor of this order (1-based, as LAPACK's `info`) is not positive.
    NotPositiveDefinite { order: usize },
    /// The same for matrix `index` (1-based) of a batch, the first with this fault.
    NotPositiveDefiniteIn { index: usize, order: usize },
    /// Conjugate gradients met a vector v with `v'Av <= 0` for `argument`, a matrix (A) or the
    /// inverse of a preconditioner (M), in this iteration of column `column` (1-based) of the
    /// right-hand sides; the cosine of the angle between v and Av.
    Indefinite {
        argument: &'static str,
        column: usize,
        iteration: usize,
        cosine: f64,
    },
    /// A matrix must be symmetric and is not.
    NotSymmetric { argument: &'static str },
    /// Products with `x`, which must be symmetric, are those of a matrix A with this
    /// `||A - A'|| / ||A||`.
    Asymmetric { relative: f64 },
    /// Products with the transpose, `Atrans`, are not those of the transpose of `x`: they differ by
    /// this share.
    NotTransposed { relative: f64 },
    /// A sparse Cholesky factorization met a pivot that is not positive, in its own order of rows.
    IndefinitePivot,
    /// `U[index, index]` (1-based) is exactly zero.
    Singular { index: usize },
    /// The estimated reciprocal condition number is below the tolerance.
    IllConditioned { rcond: f64 },
    /// An iteration for eigenvalues or singular values, named as LAPACK's, has no result that
    /// passes its check.
    NotConverged { routine: &'static str },
    /// A shape or argument that the caller should have checked.
    Dimension { what: String },
    /// An argument with a value that makes no sense here.
    Argument {
        argument: &'static str,
        what: String,
    },
    /// A handle with no matrix behind it in this process: freed, or else restored from a file or
    /// sent by another process.
    Stale { freed: bool },
    /// No such device, no driver, or a driver that refuses to start; says which.
    DeviceUnavailable { reason: String },
    /// The operand has an entry that is NaN or infinite, and must have none.
    NonFinite,
    /// The same for this argument of an operation with several.
    NonFiniteIn { argument: &'static str },
    /// The device has too little memory: bytes asked for, free, and in all; bytes held by matrices
    /// that outlive a call, and how many these are.
    DeviceMemory {
        needed: u64,
        free: u64,
        total: u64,
        held: u64,
        objects: u64,
        device: usize,
    },
    /// A driver call or a kernel failed; the device may be unusable from here on. `earlier` names
    /// the GPU if it failed in an earlier call.
    DeviceFailed {
        call: String,
        code: i32,
        name: String,
        earlier: Option<usize>,
    },
    /// The host could not allocate this many bytes of workspace.
    HostMemory { needed: u64 },
    /// The system could not open, read or write a file; says what was tried, and in the system's
    /// words why it failed.
    File { path: String, what: String },
    /// The file to be created exists.
    FileExists { path: String },
    /// A file is open elsewhere: in another process, or behind another handle of this one.
    FileInUse { path: String },
    /// The tile in this block row and block column (1-based) is not what was written.
    Corrupt {
        path: String,
        row: usize,
        col: usize,
    },
    /// Not a file of tiles that this version can use on this machine; says why.
    FileFormat { path: String, what: String },
    /// The disk has too little room for a file: bytes asked for, and free.
    DiskSpace {
        path: String,
        needed: u64,
        /// `None` where the system does not say.
        free: Option<u64>,
    },
    /// An R function was left by a jump (longjmp), which continues when the native routine has
    /// returned.
    Jumped,
    /// The user asked to stop.
    Interrupted,
    /// A bug in this package.
    Internal { what: String },
}

/// Bytes of the stack of a thread.
pub(crate) const STACK: usize = 2 << 20;

pub type Result<T> = std::result::Result<T, Error>;

/// A field of an error, for an R condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Field {
    Number(f64),
    Text(String),
}

impl Error {
    /// Whether memory was too small, of a GPU or of the host: it may suffice later.
    pub fn is_lack_of_memory(&self) -> bool {
        matches!(self, Error::DeviceMemory { .. } | Error::HostMemory { .. })
    }

    /// The same error, from a part of a batch that begins after `before` matrices of the whole
    /// batch.
    pub fn in_batch(self, before: usize) -> Self {
        match self {
            Error::NotPositiveDefinite { order } => Error::NotPositiveDefiniteIn {
                index: before + 1,
                order,
            },
            Error::NotPositiveDefiniteIn { index, order } => Error::NotPositiveDefiniteIn {
                index: before + index,
                order,
            },
            other => other,
        }
    }

    /// The stem of the R condition class, `cudafactor_error_<kind>`.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::NotPositiveDefinite { .. } | Error::NotPositiveDefiniteIn { .. } => {
                "not_positive_definite"
            }
            Error::Indefinite { .. } | Error::IndefinitePivot => "indefinite",
            Error::NotSymmetric { .. } | Error::Asymmetric { .. } => "not_symmetric",
            Error::Singular { .. } | Error::IllConditioned { .. } => "singular",
            Error::NotConverged { .. } => "not_converged",
            Error::Dimension { .. } => "dimension",
            Error::Argument { .. } | Error::NotTransposed { .. } => "argument",
            Error::Stale { .. } => "stale",
            Error::NonFinite | Error::NonFiniteIn { .. } => "non_finite",
            Error::DeviceUnavailable { .. } => "device_unavailable",
            Error::DeviceMemory { .. } => "device_memory",
            Error::DeviceFailed { .. } => "device_failed",
            Error::HostMemory { .. } => "host_memory",
            Error::File { .. } => "file",
            Error::FileExists { .. } => "file_exists",
            Error::FileInUse { .. } => "file_in_use",
            Error::Corrupt { .. } => "file_corrupt",
            Error::FileFormat { .. } => "file_format",
            Error::DiskSpace { .. } => "disk_space",
            Error::Jumped => "jumped",
            Error::Interrupted => "interrupted",
            Error::Internal { .. } => "internal",
        }
    }

    /// The named facts the R condition carries.
    pub fn fields(&self) -> Vec<(&'static str, Field)> {
        use Field::{Number, Text};
        match self {
            Error::NotPositiveDefinite { order } => vec![("order", Number(*order as f64))],
            Error::NotPositiveDefiniteIn { index, order } => vec![
                ("index", Number(*index as f64)),
                ("order", Number(*order as f64)),
            ],
            Error::Indefinite {
                argument,
                column,
                iteration,
                cosine,
            } => vec![
                ("argument", Text((*argument).to_owned())),
                ("column", Number(*column as f64)),
                ("iteration", Number(*iteration as f64)),
                ("cosine", Number(*cosine)),
            ],
            Error::Asymmetric { relative } => vec![
                ("argument", Text("x".to_owned())),
                ("asymmetry", Number(*relative)),
            ],
            Error::NotTransposed { relative } => vec![
                ("argument", Text("Atrans".to_owned())),
                ("difference", Number(*relative)),
            ],
            Error::IndefinitePivot => vec![("argument", Text("A".to_owned()))],
            Error::Singular { index } => vec![("index", Number(*index as f64))],
            Error::IllConditioned { rcond } => vec![("rcond", Number(*rcond))],
            Error::NotConverged { routine } => vec![("routine", Text((*routine).to_owned()))],
            Error::NonFinite => vec![("argument", Text("x".to_owned()))],
            Error::DeviceMemory {
                needed,
                free,
                total,
                held,
                objects,
                device,
            } => vec![
                ("needed", Number(*needed as f64)),
                ("free", Number(*free as f64)),
                ("total", Number(*total as f64)),
                ("held", Number(*held as f64)),
                ("objects", Number(*objects as f64)),
                ("device", Number(*device as f64)),
            ],
            Error::DeviceFailed {
                call, code, name, ..
            } => vec![
                ("failed_call", Text(call.clone())),
                ("code", Number(f64::from(*code))),
                ("name", Text(name.clone())),
            ],
            Error::HostMemory { needed } => vec![("needed", Number(*needed as f64))],
            Error::File { path, .. }
            | Error::FileExists { path }
            | Error::FileInUse { path }
            | Error::FileFormat { path, .. } => vec![("path", Text(path.clone()))],
            Error::Corrupt { path, row, col } => vec![
                ("path", Text(path.clone())),
                ("row", Number(*row as f64)),
                ("col", Number(*col as f64)),
            ],
            Error::DiskSpace { path, needed, free } => vec![
                ("path", Text(path.clone())),
                ("needed", Number(*needed as f64)),
                ("free", Number(free.map_or(f64::NAN, |free| free as f64))),
            ],
            Error::DeviceUnavailable { reason } => vec![("reason", Text(reason.clone()))],
            Error::Stale { freed } => {
                let reason = if *freed { "freed" } else { "elsewhere" };
                vec![("reason", Text(reason.to_owned()))]
            }
            Error::Argument { argument, .. }
            | Error::NonFiniteIn { argument }
            | Error::NotSymmetric { argument } => {
                vec![("argument", Text((*argument).to_owned()))]
            }
            Error::Dimension { .. }
            | Error::Jumped
            | Error::Interrupted
            | Error::Internal { .. } => vec![],
        }
    }
}

impl std::error::Error for Error {}
