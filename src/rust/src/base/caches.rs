//! A bound of the last cache's size, as faer's product counts it on x86-64.
//!
//! faer reads Linux's description of the caches: the last cache's size, divided by the logical
//! processors that share it, times those that share a first cache, times the number of cores.
//! Without that description it asks the processor itself.

use std::fs::{read_dir, read_to_string};
use std::path::Path;

/// Where Linux describes the processors.
const DESCRIPTION: &str = "/sys/devices/system/cpu";

/// Size of the last cache if nothing reports it, in bytes.
const UNKNOWN: usize = 32 << 20;

/// A bound of the last cache's size in bytes, and of four times that of the cache before.
pub(crate) fn last() -> usize {
    if cfg!(not(target_arch = "x86_64")) {
        return UNKNOWN;
    }
    described(Path::new(DESCRIPTION), num_cpus::get_physical())
        .or_else(reported)
        .unwrap_or(UNKNOWN)
}

/// [`last`] as Linux describes the caches in `folder`, for `cores` cores; `None` if it does not.
fn described(folder: &Path, cores: usize) -> Option<usize> {
    let mut bound = None;
    for processor in read_dir(folder).ok()?.flatten() {
        let cache = |level: usize| Cache::read(&processor.path(), level);
        let Some(second) = cache(2) else { continue };
        bound = bound.max(Some(second.bytes.saturating_mul(4)));
        let (Some(first), Some(third)) = (cache(0), cache(3)) else {
            continue;
        };
        let count = first.sharing.saturating_mul(cores).div_ceil(third.sharing);
        bound = bound.max(Some(third.bytes.saturating_mul(count.max(1))));
    }
    bound
}

/// A cache of one processor.
struct Cache {
    bytes: usize,
    /// Number of logical processors that share it.
    sharing: usize,
}

impl Cache {
    /// The cache that Linux lists at `index` for the processor: data of the first level is 0.
    fn read(processor: &Path, index: usize) -> Option<Self> {
        let folder = processor.join(format!("cache/index{index}"));
        let text = |name: &str| read_to_string(folder.join(name)).ok();
        Some(Self {
            bytes: size(text("size")?.trim())?,
            sharing: count(text("shared_cpu_list")?.trim())?.max(1),
        })
    }
}

/// The bytes of a size such as `32768K`.
fn size(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_uppercase());
    let unit = match &text[digits.len()..] {
        "G" => 1 << 30,
        "M" => 1 << 20,
        "K" => 1 << 10,
        _ => 1,
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

/// How many numbers a list such as `0-3,8` names.
fn count(list: &str) -> Option<usize> {
    list.split(',').try_fold(0, |sum, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        Some(sum + last.checked_sub(first)? + 1)
    })
}

/// [`last`] as the processor reports it; `None` if it does not.
#[cfg(target_arch = "x86_64")]
fn reported() -> Option<usize> {
    use std::arch::x86_64::{__cpuid, __cpuid_count, CpuidResult};

    // SAFETY: every processor of this architecture has the instruction. Where `highest` is below
    // `leaf`, it answers what is ignored here.
    #[allow(unused_unsafe)]
    let ask = |leaf: u32, sub: u32| -> Option<CpuidResult> {
        let highest = unsafe { __cpuid(leaf & 0x8000_0000) }.eax;
        (leaf <= highest).then(|| unsafe { __cpuid_count(leaf, sub) })
    };
    let mut bound = 0;
    // Intel's and AMD's leaves of deterministic cache parameters.
    for leaf in [4, 0x8000_001D] {
        for answer in (0..16).map_while(|sub| ask(leaf, sub)) {
            let (kind, level) = (answer.eax & 31, answer.eax >> 5 & 7);
            if kind == 0 {
                break;
            }
            let field =
                |shift: u32, bits: u32| (answer.ebx >> shift & ((1 << bits) - 1)) as usize + 1;
            let bytes = field(22, 10) * field(12, 10) * field(0, 12) * (answer.ecx as usize + 1);
            match level {
                2 => bound = bound.max(4 * bytes),
                3 => bound = bound.max(bytes),
                _ => {}
            }
        }
    }
    // AMD's sizes in KiB and in units of 512 KiB. Intel reports no third cache here.
    if let Some(answer) = ask(0x8000_0006, 0) {
        bound = bound.max((answer.ecx >> 16) as usize * (4 << 10));
        bound = bound.max((answer.edx >> 18) as usize * (512 << 10));
    }
    (bound > 0).then_some(bound)
}

#[cfg(not(target_arch = "x86_64"))]
fn reported() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, remove_dir_all, write};
    use std::path::PathBuf;

    use super::*;

    /// A description of processors, each with its caches as `(index, size, shared_cpu_list)`.
    fn description(name: &str, processors: &[&[(usize, &str, &str)]]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("cudafactor-{name}-{}", std::process::id()));
        let _ = remove_dir_all(&root);
        create_dir_all(&root).unwrap();
        write(root.join("online"), "0-1\n").unwrap();
        for (number, caches) in processors.iter().enumerate() {
            for (index, size, list) in *caches {
                let folder = root.join(format!("cpu{number}/cache/index{index}"));
                create_dir_all(&folder).unwrap();
                write(folder.join("size"), format!("{size}\n")).unwrap();
                write(folder.join("shared_cpu_list"), format!("{list}\n")).unwrap();
            }
        }
        root
    }

    #[test]
    fn last_caches_of_all_groups_of_cores_count() {
        // Two groups of two cores with two threads each.
        let processor: &[_] = &[
            (0, "32K", "0,4"),
            (2, "512K", "0,4"),
            (3, "16384K", "0-1,4-5"),
        ];
        let root = description("groups", &[processor; 8]);
        assert_eq!(described(&root, 4), Some(32 << 20));
        // Cores of which each has a last cache of its own.
        let processor: &[_] = &[(0, "32K", "0"), (2, "512K", "0"), (3, "16M", "0")];
        let root = description("own", &[processor; 2]);
        assert_eq!(described(&root, 64), Some(1 << 30));
    }

    #[test]
    fn four_second_caches_are_the_least() {
        let processor: &[_] = &[(0, "48K", "0"), (2, "2M", "0"), (3, "4M", "0-3")];
        let root = description("second", &[processor]);
        assert_eq!(described(&root, 4), Some(8 << 20));
        let root = description("without", &[&[(0, "48K", "0"), (2, "2M", "0")]]);
        assert_eq!(described(&root, 4), Some(8 << 20));
    }

    #[test]
    fn without_a_description_the_processor_reports() {
        assert_eq!(described(Path::new("/nowhere"), 4), None);
        let root = description(
            "nothing",
            &[&[(0, "?", "0"), (2, "K", "-"), (3, "1M", "3-2")]],
        );
        assert_eq!(described(&root, 4), None);
        if cfg!(target_arch = "x86_64") {
            assert!(reported().is_none_or(|bytes| bytes >= 1 << 18));
        }
        assert!(last() >= 1 << 18);
    }

    #[test]
    fn lists_and_sizes_are_read() {
        assert_eq!(count("0-3,8"), Some(5));
        assert_eq!(count("7"), Some(1));
        assert_eq!(count("3-2"), None);
        assert_eq!(count(""), None);
        assert_eq!(size("491520K"), Some(480 << 20));
        assert_eq!(size("1G"), Some(1 << 30));
        assert_eq!(size("K"), None);
    }
}
