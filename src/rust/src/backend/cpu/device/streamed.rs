//! Verbs from host to host.

use crate::backend::cpu::CpuDevice;
use crate::base::scalar::Scalar;
use crate::device::streamed::Streamed;

impl<T: Scalar> Streamed<T> for CpuDevice {}
