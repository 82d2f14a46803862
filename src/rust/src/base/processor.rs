//! [`Processor`] names a device: the CPU, or a GPU by its number.

/// A device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processor {
    Cpu,
    /// A GPU by its number, from 0.
    Cuda(usize),
}

impl Processor {
    /// As the user writes it: `"cpu"`, `"cuda:0"`.
    pub fn name(self) -> String {
        match self {
            Processor::Cpu => "cpu".to_owned(),
            Processor::Cuda(i) => format!("cuda:{i}"),
        }
    }
}
