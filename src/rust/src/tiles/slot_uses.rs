//! Which slots of a file may be written.

/// The number of uses of each slot: by the table in memory, by tables on the disk, and by threads
/// that read or write it. A slot without uses is free.
pub(super) struct SlotUses {
    uses: Vec<u32>,
    free: Vec<u32>,
}

impl SlotUses {
    /// The slots in `used` are in use, as often as they occur. [`SlotUses::take`] begins with the
    /// first free slot, so that a new file is written from front to back.
    pub fn new(slots: u32, used: impl Iterator<Item = u32>) -> Self {
        let mut uses = vec![0; slots as usize];
        for slot in used {
            uses[slot as usize] += 1;
        }
        let free = (0..slots)
            .rev()
            .filter(|slot| uses[*slot as usize] == 0)
            .collect();
        SlotUses { uses, free }
    }

    /// A free slot, which the caller uses from now on.
    pub fn take(&mut self) -> Option<u32> {
        let slot = self.free.pop()?;
        self.uses[slot as usize] = 1;
        Some(slot)
    }

    /// Adds a use of a slot that is in use.
    pub fn keep(&mut self, slot: u32) {
        self.uses[slot as usize] += 1;
    }

    /// Ends a use of the slot.
    pub fn release(&mut self, slot: u32) {
        let uses = &mut self.uses[slot as usize];
        *uses -= 1;
        if *uses == 0 {
            self.free.push(slot);
        }
    }
}
