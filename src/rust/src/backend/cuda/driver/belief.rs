//! A GPU that tests pretend to have: the library then takes the kernels and the limits that it
//! takes on such a GPU. PTX runs in place of machine code. It is not in the
//! library that users install.
//!
//! `CUDAFACTOR_BELIEVE` names the compute capability, and if wanted the number of multiprocessors
//! and the GiB of memory: `8.6` or `8.6,16,6`. Nothing becomes larger than it is.

use std::sync::OnceLock;

/// The GPU that tests pretend to have. The numbers are upper limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Belief {
    pub capability: (i32, i32),
    pub multiprocessors: usize,
    /// Bytes of shared memory that a block can have.
    pub shared: usize,
    /// Bytes.
    pub memory: u64,
}

/// What the environment variable says; none if it is not set.
///
/// Panics if it says something else than the head of this file describes: a test must not run with
/// another GPU than the one it was asked for.
pub(crate) fn belief() -> Option<Belief> {
    static BELIEF: OnceLock<Option<Belief>> = OnceLock::new();
    *BELIEF.get_or_init(|| {
        let text = std::env::var("CUDAFACTOR_BELIEVE").ok()?;
        let belief = parse(&text);
        assert!(belief.is_some(), "CUDAFACTOR_BELIEVE is \"{text}\"");
        belief
    })
}

fn parse(text: &str) -> Option<Belief> {
    let words: Vec<&str> = text.split(',').collect();
    let (capability, rest) = words.split_first()?;
    let (major, minor) = capability.split_once('.')?;
    let (multiprocessors, gibibytes) = match rest {
        [] => (usize::MAX, None),
        [m] => (m.parse().ok()?, None),
        [m, g] => (m.parse().ok()?, Some(g.parse::<u64>().ok()?)),
        _ => return None,
    };
    let capability = (major.parse().ok()?, minor.parse().ok()?);
    Some(Belief {
        capability,
        multiprocessors,
        shared: shared(capability),
        memory: gibibytes.map_or(u64::MAX, |g| g << 30),
    })
}

/// Bytes of shared memory that a block can have on GPUs of a compute capability.
fn shared(capability: (i32, i32)) -> usize {
    match capability {
        (7, 5) => 64 << 10,
        (8, 0 | 7) => 163 << 10,
        (8 | 12, _) => 99 << 10,
        (9.., _) => 227 << 10,
        _ => 48 << 10,
    }
}

/// Bytes of memory that the GPU has at most.
pub(crate) fn most_memory() -> u64 {
    belief().map_or(u64::MAX, |b| b.memory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beliefs_are_read() {
        let card = parse("8.6").unwrap();
        assert_eq!(card.capability, (8, 6));
        assert_eq!((card.multiprocessors, card.memory), (usize::MAX, u64::MAX));
        let small = parse("12.0,16,6").unwrap();
        assert_eq!(small.capability, (12, 0));
        assert_eq!((small.multiprocessors, small.memory), (16, 6 << 30));
        assert_eq!((card.shared, small.shared), (99 << 10, 99 << 10));
        assert_eq!(parse("7.5").map(|b| b.shared), Some(64 << 10));
        for text in ["", "8", "8.x", "8.6,", "8.6,a", "8.6,1,2,3"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
