//! Factorizations by several devices.

use cudafactor::base::error::Error;
use cudafactor::base::scalar::Scalar;
use cudafactor::device::async_copy::AsyncCopy;

use super::interrupted::goes_on;
use super::{in_place, in_place_on, positive};

/// What one device makes, several make, bit for bit; in any memory.
fn several_make_what_one_makes<T: Scalar, D: AsyncCopy<T>>(devs: [D; 3], one: &D) {
    for tile in [16, 40] {
        for n in [1, tile, tile + 1, 4 * tile, 9 * tile + 5] {
            let a = positive::<T>(n);
            let (r, _) = in_place(one, &a, tile, (1000, 1000)).unwrap();
            for count in 1..=devs.len() {
                for room in [(1000, 1000), (3, 3), (5, 8), (30, 6)] {
                    let (s, report) = in_place_on(&devs[..count], &a, tile, room).unwrap();
                    assert!(crate::common::same(&r, &s), "{n} {tile} {count} {room:?}");
                    assert_eq!(report.slots.devices.len(), count);
                    assert!(report.traffic.sent >= report.traffic.stored);
                }
            }
            let mut bad = a.clone();
            bad.set(n - 1, n - 1, -1.0);
            for count in 1..=devs.len() {
                let failed = in_place_on(&devs[..count], &bad, tile, (12, 5)).err();
                assert_eq!(failed, Some(Error::NotPositiveDefinite { order: n }));
            }
        }
    }
}

mod several_make_what_one_makes {
    #[test]
    fn cpus_apart() {
        use cudafactor::backend::cpu::CpuDevice;
        let reached = [(); 3].map(|()| CpuDevice::with_separate_memory(1));
        super::goes_on::<f64, _>(&reached);
        super::several_make_what_one_makes::<f64, _>(reached, &CpuDevice::new(1));
        let unreached = [(); 3].map(|()| CpuDevice::without_peer_access(1));
        super::several_make_what_one_makes::<f32, _>(unreached, &CpuDevice::new(1));
    }

    /// The first GPU takes every part where there are no others.
    #[cfg(feature = "cuda")]
    #[test]
    fn gpus() {
        use cudafactor::backend::cuda::CudaDevice;
        if let Some(gpu) = crate::common::gpu() {
            let devs = [0, 1, 2].map(|d| CudaDevice::open(d).unwrap_or(gpu));
            super::several_make_what_one_makes::<f64, _>(devs, &gpu);
            super::several_make_what_one_makes::<f32, _>(devs, &gpu);
        }
    }
}
