//! The plan of the call that runs, as a value that can be shown.
//!
//! A call that is to show its plan gives it to [`begin`]. Whoever carries it out says with
//! [`refine`] what was known only later: free memory, and the way that was taken. Nothing is kept,
//! and nothing asked, of other calls.

use std::cell::RefCell;
use std::fmt;

use crate::base::processor::Processor;
use crate::cost::plan::device::{Choice, Reason};
use crate::cost::work::{Operands, Work};

/// In how many parts the matrices of a call go to its device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// Each is loaded whole; on the CPU they stay where they are.
    Whole,
    /// They are on the device.
    Resident,
    /// By blocks of columns, while others are computed with.
    Streamed { blocks: usize, columns: usize },
    /// A product by blocks of its result.
    Parts { rows: usize, columns: usize },
    /// By tiles of this order, on these processors.
    Tiled {
        processors: Vec<Processor>,
        tile: usize,
    },
    /// A factor that is updated by panels of so many columns.
    Panels { columns: usize },
}

impl Way {
    /// One word for a program that reads a plan.
    pub fn name(&self) -> &'static str {
        match self {
            Way::Whole => "whole",
            Way::Resident => "resident",
            Way::Streamed { .. } => "streamed",
            Way::Parts { .. } => "parts",
            Way::Tiled { .. } => "tiled",
            Way::Panels { .. } => "panels",
        }
    }
}

/// Where and how a call computes, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct CallPlan {
    pub operands: Operands,
    pub single: bool,
    pub processor: Processor,
    pub reason: Reason,
    /// Threads on the CPU.
    pub threads: usize,
    pub way: Way,
    /// Bytes of the operands and the result.
    pub bytes: f64,
    /// Bytes of the GPU's memory that were free when it was opened.
    pub free: Option<f64>,
}

impl CallPlan {
    /// The plan after its first step.
    pub fn new(choice: Choice, work: &Work, single: bool, threads: usize) -> CallPlan {
        CallPlan {
            operands: work.operands,
            single,
            processor: choice.processor,
            reason: choice.reason,
            threads,
            way: Way::Whole,
            bytes: (work.read + work.written) * if single { 4.0 } else { 8.0 },
            free: None,
        }
    }

    /// Says where the call computes in fact.
    pub fn settle(&mut self, processor: Processor) {
        if self.processor != processor {
            self.move_to(processor, Reason::OnlyCpu);
        }
    }

    /// Says that the CPU takes the GPU's place.
    pub fn fall_back(&mut self, why: String) {
        self.move_to(Processor::Cpu, Reason::FellBack(why));
    }

    fn move_to(&mut self, processor: Processor, reason: Reason) {
        self.processor = processor;
        self.reason = reason;
        self.way = Way::Whole;
    }

    /// Seconds that the model predicts, on the CPU and on the GPU.
    pub fn predicted(&self) -> (Option<f64>, Option<f64>) {
        match self.reason {
            Reason::Model { cpu, gpu } | Reason::Breakeven { cpu, gpu } => (Some(cpu), Some(gpu)),
            Reason::NoFasterGpu { cpu } => (Some(cpu), None),
            _ => (None, None),
        }
    }

    /// The processors, of which tiles may need several.
    fn processors(&self) -> &[Processor] {
        match &self.way {
            Way::Tiled { processors, .. } if self.processor != Processor::Cpu => processors,
            _ => std::slice::from_ref(&self.processor),
        }
    }
}

thread_local! {
    static CURRENT: RefCell<Option<CallPlan>> = const { RefCell::new(None) };
}

/// Keeps the plan of the call that begins.
pub fn begin(plan: CallPlan) {
    CURRENT.replace(Some(plan));
}

/// The plan of the call that ends or is set aside, if it was to be kept.
pub fn take() -> Option<CallPlan> {
    CURRENT.take()
}

/// Puts back what [`take`] set aside.
pub fn put_back(plan: Option<CallPlan>) {
    CURRENT.replace(plan);
}

/// Whether the plan of this call is kept.
pub fn is_kept() -> bool {
    CURRENT.with_borrow(Option::is_some)
}

/// Adds to the plan of this call, if it is kept.
pub fn refine(change: impl FnOnce(&mut CallPlan)) {
    CURRENT.with_borrow_mut(|plan| plan.as_mut().map(change));
}

/// Says which way the matrices go. A call that streams several matrices tells of the first.
pub fn take_way(way: impl FnOnce() -> Way) {
    refine(|plan| {
        let way = way();
        let again = matches!(
            (&plan.way, &way),
            (Way::Streamed { .. }, Way::Streamed { .. })
        );
        if !again {
            plan.way = way;
        }
    });
}

fn seconds(s: f64) -> String {
    match s {
        s if s < 1e-3 => format!("{:.0} us", 1e6 * s),
        s if s < 1.0 => format!("{:.3} s", s),
        s => format!("{s:.1} s"),
    }
}

fn bytes(b: f64) -> String {
    match b {
        b if b < 1e6 => format!("{:.1} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

fn because(f: &mut fmt::Formatter<'_>, reason: &Reason, on_cpu: bool) -> fmt::Result {
    match reason {
        Reason::Asked => write!(f, "as 'device' says"),
        Reason::ForGpu => write!(f, "a GPU was found"),
        Reason::NoGpu => write!(f, "no GPU was found"),
        Reason::Small => write!(f, "too little work for a GPU"),
        Reason::MinFlops => write!(f, "by option cudafactor.min_flops"),
        Reason::NoFasterGpu { cpu } => {
            write!(f, "predicted {}, which no GPU would beat", seconds(*cpu))
        }
        Reason::Model { cpu, gpu } | Reason::Breakeven { cpu, gpu } => {
            let (here, there, other) = match on_cpu {
                true => (cpu, gpu, "GPU"),
                false => (gpu, cpu, "CPU"),
            };
            let (here, there) = (seconds(*here), seconds(*there));
            write!(f, "predicted {here}; on the {other} {there}")?;
            match reason {
                Reason::Breakeven { .. } => write!(f, "; by option cudafactor.breakeven"),
                _ => Ok(()),
            }
        }
        Reason::Resident => write!(f, "where the operand is"),
        Reason::OnlyCpu => write!(f, "the method is for the CPU"),
        Reason::FellBack(why) => write!(f, "the GPU could not do it: {why}"),
    }
}

/// As `8192 x 8192, double: on the CPU with 2 threads (no GPU was found)`.
impl fmt::Display for CallPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precision = if self.single { "single" } else { "double" };
        match self.operands {
            Operands::Unknown => write!(f, "{precision}: on ")?,
            operands => write!(f, "{operands}, {precision}: on ")?,
        }
        let on_cpu = self.processor == Processor::Cpu;
        if on_cpu {
            let s = if self.threads == 1 { "" } else { "s" };
            write!(f, "the CPU with {} thread{s}", self.threads)?;
        } else {
            let processors = self.processors();
            let numbers: Vec<String> = processors.iter().map(|p| number(*p)).collect();
            let s = if numbers.len() == 1 { "" } else { "s" };
            write!(f, "GPU{s} {}", numbers.join(", "))?;
        }
        write!(f, " (")?;
        because(f, &self.reason, on_cpu)?;
        write!(f, ")")?;
        match &self.way {
            Way::Whole if on_cpu => {}
            Way::Resident => {}
            Way::Whole => write!(f, ", loaded whole")?,
            Way::Streamed { blocks, columns } => {
                write!(f, ", streamed in {blocks} blocks of {columns} columns")?;
            }
            Way::Parts { rows, columns } => {
                write!(f, ", in parts of {rows} x {columns} of the result")?;
            }
            Way::Tiled { tile, .. } => write!(f, ", by tiles of {tile} x {tile}")?,
            Way::Panels { columns } => write!(f, ", by panels of {columns} columns")?,
        }
        match self.free {
            Some(free) if !on_cpu && self.bytes > 0.0 => {
                let (all, free) = (bytes(self.bytes), bytes(free));
                write!(f, "; {all} of operands and result, {free} free")
            }
            _ => Ok(()),
        }
    }
}

fn number(processor: Processor) -> String {
    match processor {
        Processor::Cpu => "CPU".to_owned(),
        Processor::Cuda(ordinal) => ordinal.to_string(),
    }
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;
