//! Verbs from host to host.

use crate::base::scalar::Scalar;
use crate::device::streamed::Streamed;
use crate::backend::cpu::CpuDevice;

impl<T: Scalar> Streamed<T> for CpuDevice {}
