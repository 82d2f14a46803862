//! Drivers written once, generic over [`Device`](crate::device::Device).
