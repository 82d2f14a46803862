//! Identities: bytes that name one state of one matrix, unique in all processes.

use std::hash::{BuildHasher, RandomState};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

pub const BYTES: usize = 16;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Bytes that no other call returns. The keys of the hash come from the system's source of
/// randomness. A forked process inherits keys and count, so its process ID and the time are hashed
/// as well.
pub fn fresh() -> [u8; BYTES] {
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let time = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |time| time.as_nanos());
    let facts = (count, process::id(), time);
    let half = |_| RandomState::new().hash_one(facts).to_le_bytes();
    let mut bytes = [0; BYTES];
    for (to, half) in bytes.chunks_exact_mut(8).zip((0..2).map(half)) {
        to.copy_from_slice(&half);
    }
    bytes
}

/// The bytes as hexadecimal digits.
pub fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_identity_comes_twice() {
        let each = |_| std::thread::spawn(|| (0..1000).map(|_| fresh()).collect::<Vec<_>>());
        let threads: Vec<_> = (0..4).map(each).collect();
        let all: Vec<_> = threads
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect();
        let different: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(different.len(), 4000);
        assert_eq!(text(&[1, 0xab]), "01ab");
    }
}
