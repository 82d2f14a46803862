//! How much memory the host has.

/// Bytes free and in all, as Linux tells them: of the machine, or of the container this process
/// runs in where that may use less. A limit of the process's address space (`ulimit -v`) bounds
/// what is free. None on other systems.
pub fn memory() -> Option<(u64, u64)> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let free = kilobytes(&text, "MemAvailable:")?;
    let total = kilobytes(&text, "MemTotal:")?;
    let (free, total) = match container() {
        Some((left, limit)) if limit < total => (free.min(left), limit),
        _ => (free, total),
    };
    Some((free.min(address_space().unwrap_or(free)), total))
}

/// What a limit of this process's address space leaves of it; `None` without a limit.
fn address_space() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: the out-parameter is valid.
        let code = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
        if code != 0 || limit.rlim_cur == libc::RLIM_INFINITY {
            return None;
        }
        let text = std::fs::read_to_string("/proc/self/status").ok()?;
        Some(limit.rlim_cur.saturating_sub(kilobytes(&text, "VmSize:")?))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// The number behind `name` on a separate line, given in KiB.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    let number = line.split_whitespace().next()?;
    number.parse::<u64>().ok()?.checked_mul(1024)
}

/// What a container's limit leaves, and the limit. Pages of files count as free: the system drops
/// them when memory is wanted.
fn container() -> Option<(u64, u64)> {
    let read = |name: &str| std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok();
    let limit = read("memory.max")?.trim().parse::<u64>().ok()?;
    let used = read("memory.current")?.trim().parse::<u64>().ok()?;
    let files = read("memory.stat").and_then(|stat| {
        let line = stat
            .lines()
            .find_map(|l| l.strip_prefix("inactive_file "))?;
        line.trim().parse::<u64>().ok()
    });
    let kept = used.saturating_sub(files.unwrap_or(0));
    Some((limit.saturating_sub(kept), limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_their_names() {
        let text = "MemTotal:       100 kB\nMemFree:  7 kB\nMemAvailable:   42 kB\nBroken: x kB\n";
        assert_eq!(kilobytes(text, "MemTotal:"), Some(102_400));
        assert_eq!(kilobytes(text, "MemAvailable:"), Some(43_008));
        assert_eq!(kilobytes(text, "Broken:"), None);
        assert_eq!(kilobytes(text, "Swap:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_has_memory() {
        let (free, total) = memory().unwrap();
        assert!(free > 0 && free <= total, "{free} of {total}");
    }
}
