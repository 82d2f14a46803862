//! Errors as text, for programs that are not R.

use std::fmt;

use crate::base::error::Error;

const GIB: f64 = (1u64 << 30) as f64;
const MIB: f64 = (1u64 << 20) as f64;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotPositiveDefinite { order } => {
                write!(f, "the leading minor of order {order} is not positive")
            }
            Error::NotPositiveDefiniteIn { index, order } => write!(
                f,
                "matrix {index}: the leading minor of order {order} is not positive"
            ),
            Error::Indefinite {
                argument,
                column,
                iteration,
                cosine,
            } => write!(
                f,
                "'{argument}' is not positive definite: in iteration {iteration} for right-hand \
                 side {column} a vector and its product have an angle of cosine \
                 {cosine:.3e}"
            ),
            Error::NotSymmetric { argument } => write!(f, "'{argument}' is not symmetric"),
            Error::Asymmetric { relative } => {
                write!(f, "'x' is not symmetric: its asymmetry is {relative:.1e}")
            }
            Error::NotTransposed { relative } => write!(
                f,
                "'Atrans' is not the transpose of 'x': products differ by {relative:.1e}"
            ),
            Error::IndefinitePivot => write!(
                f,
                "'A' is not positive definite: its Cholesky factorization met a pivot that is not \
                 positive"
            ),
            Error::Singular { index } => write!(f, "U[{index},{index}] is exactly zero"),
            Error::IllConditioned { rcond } => {
                write!(f, "the reciprocal condition number is {rcond:e}")
            }
            Error::NotConverged { routine } => write!(f, "{routine} did not converge"),
            Error::Dimension { what } | Error::Argument { what, .. } => write!(f, "{what}"),
            Error::Stale { freed: true } => write!(f, "the matrix was freed"),
            Error::Stale { freed: false } => write!(f, "the matrix lives in another session"),
            Error::NonFinite => write!(f, "an entry is NaN or infinite"),
            Error::NonFiniteIn { argument } => {
                write!(f, "an entry of '{argument}' is NaN or infinite")
            }
            Error::DeviceUnavailable { reason } => write!(f, "{reason}"),
            Error::DeviceMemory {
                needed,
                free,
                total,
                held,
                objects,
                device,
            } => write!(
                f,
                "cannot allocate {:.1} GiB on GPU {device} ({:.1} of {:.1} GiB free; {:.1} GiB \
                 held by {objects} matrices)",
                *needed as f64 / GIB,
                *free as f64 / GIB,
                *total as f64 / GIB,
                *held as f64 / GIB
            ),
            Error::DeviceFailed {
                call,
                code,
                name,
                earlier: None,
            } => write!(f, "the GPU driver failed in {call}: {name} (code {code})"),
            Error::DeviceFailed {
                call,
                code,
                name,
                earlier: Some(device),
            } => write!(
                f,
                "GPU {device} cannot be used any more in this session, and what it held is lost: \
                 its driver failed in {call} \
                 with {name} (code {code})"
            ),
            Error::HostMemory { needed: 0 } => write!(f, "cannot allocate workspace on the host"),
            Error::HostMemory { needed } => {
                let (unit, name) = match *needed as f64 >= GIB {
                    true => (GIB, "GiB"),
                    false => (MIB, "MiB"),
                };
                let size = *needed as f64 / unit;
                write!(
                    f,
                    "cannot allocate {size:.1} {name} of workspace on the host"
                )
            }
            Error::File { path, what } => write!(f, "{path}: {what}"),
            Error::FileExists { path } => write!(f, "{path}: the file exists"),
            Error::FileInUse { path } => write!(
                f,
                "{path}: the file is in use, by another process or another handle of this one"
            ),
            Error::Corrupt { path, row, col } => write!(
                f,
                "{path}: the tile in block row {row} and block column {col} is damaged: its \
                 checksum is not that of what was \
                 written"
            ),
            Error::FileFormat { path, what } => write!(f, "{path}: {what}"),
            Error::DiskSpace { path, needed, free } => {
                let needed = *needed as f64 / GIB;
                write!(f, "{path}: {needed:.1} GiB are needed on the disk")?;
                match free {
                    Some(free) => write!(f, ", {:.1} GiB are free", *free as f64 / GIB),
                    None => Ok(()),
                }
            }
            Error::Jumped => write!(f, "a function was left by a jump"),
            Error::Interrupted => write!(f, "interrupted by the user"),
            Error::Internal { what } => write!(f, "{what}"),
        }
    }
}
