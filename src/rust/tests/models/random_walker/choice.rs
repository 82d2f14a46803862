//! Segmentations as the devices of a call choose: by a factor or by iterations, and where.

use super::model::{seeded, Picture};
use cudafactor::algo::segmentation::accuracy::Accuracy;
use cudafactor::algo::segmentation::choice::{segment_on, Found, Method};
use cudafactor::algo::segmentation::graph::Graph;
use cudafactor::algo::segmentation::random_walker::segment_graph;
use cudafactor::base::error::Error;
use cudafactor::base::processor::Processor;

use crate::common::devices::{Devices, GPU};

const CPU: Processor = Processor::Cpu;

const ACCURACY: Accuracy = Accuracy {
    tol: 1e-6,
    maxit: 200,
};

/// Too few iterations to get anywhere.
const FEW: Accuracy = Accuracy {
    tol: 1e-9,
    maxit: 1,
};

/// A picture or a volume with three seeds.
struct Scene {
    picture: Picture,
    seeds: Vec<i32>,
}

impl Scene {
    fn new(dims: [usize; 3]) -> Self {
        let picture = Picture::new(dims, 1, 5);
        let n = picture.pixels();
        let seeds = seeded(n, &[(n - 1, 3), (n / 2, 9), (0, 2)]);
        Scene { picture, seeds }
    }

    fn graph(&self) -> Graph<'_> {
        Graph::new(self.picture.image(), &self.seeds[..], 130.0).unwrap()
    }

    /// Segments it, and compares the probabilities with those of a factor if they are accurate.
    fn segment(&self, devices: &Devices, how: (Method, Accuracy)) -> (Found, Vec<Processor>) {
        let graph = self.graph();
        let (n, k) = (graph.pixels(), graph.labels().len());
        let (mut labels, mut all) = (vec![0; n], vec![0.0; n * k]);
        let found = segment_on(devices, &graph, how, &mut labels, Some(&mut all)).unwrap();
        assert_eq!(found.unknowns, n - 3);
        if found.iterated.is_none_or(|i| i.error <= how.1.tol) {
            let (mut direct, mut exact) = (vec![0; n], vec![0.0; n * k]);
            segment_graph(&graph, &mut direct, Some(&mut exact)).unwrap();
            let off = |(a, b): (&f64, &f64)| (a - b).abs();
            let off = all.iter().zip(&exact).map(off).fold(0.0, f64::max);
            assert!(off <= 10.0 * how.1.tol, "off by {off:e}");
        }
        (found, devices.ran())
    }

    /// Where it ran, and whether by a factor.
    fn places(&self, devices: &Devices, method: Method) -> (Vec<Processor>, bool) {
        let (found, ran) = self.segment(devices, (method, ACCURACY));
        assert_eq!(found.iterated.is_none(), found.entries > 0);
        (ran, found.iterated.is_none())
    }
}

#[test]
fn small_pictures() {
    let scene = Scene::new([40, 30, 1]);
    let places = |devices: Devices, method| scene.places(&devices, method);
    for devices in [Devices::cpu, Devices::auto] {
        assert_eq!(places(devices(), Method::Auto), (vec![CPU], true));
        assert_eq!(places(devices(), Method::Direct), (vec![CPU], true));
        assert_eq!(places(devices(), Method::Iterative), (vec![CPU], false));
    }
    assert_eq!(places(Devices::gpu(), Method::Auto), (vec![GPU], false));
    // A factor is the CPU's.
    assert_eq!(places(Devices::gpu(), Method::Direct), (vec![CPU], true));
    assert_eq!(
        places(Devices::gpu(), Method::Iterative),
        (vec![GPU], false)
    );
}

#[test]
fn volumes_whose_factor_takes_long() {
    let scene = Scene::new([28, 28, 28]);
    let found = scene.places(&Devices::cpu(), Method::Auto);
    assert_eq!(found, (vec![CPU], false));
    // A few slices do not.
    let scene = Scene::new([60, 60, 2]);
    let found = scene.places(&Devices::cpu(), Method::Auto);
    assert_eq!(found, (vec![CPU], true));
}

#[test]
fn large_pictures() {
    let scene = Scene::new([400, 260, 1]);
    let found = scene.places(&Devices::cpu(), Method::Auto);
    assert_eq!(found, (vec![CPU], true));
    let found = scene.places(&Devices::auto(), Method::Auto);
    assert_eq!(found, (vec![GPU], false));
    let failing = Devices {
        fails: true,
        ..Devices::auto()
    };
    let found = scene.places(&failing, Method::Auto);
    assert_eq!(found, (vec![GPU, CPU], false));
    assert_eq!(failing.recovered.get(), 1);
}

#[test]
fn a_named_gpu_that_fails_is_not_replaced() {
    let scene = Scene::new([40, 30, 1]);
    let devices = Devices {
        fails: true,
        ..Devices::gpu()
    };
    let graph = scene.graph();
    let mut labels = vec![0; graph.pixels()];
    let how = (Method::Auto, ACCURACY);
    let e = segment_on(&devices, &graph, how, &mut labels, None);
    assert!(matches!(e, Err(Error::DeviceFailed { .. })));
    assert_eq!(devices.ran(), [GPU]);
}

/// A factor follows iterations that did not get there, unless the user asked for these.
#[test]
fn iterations_that_end_early() {
    let scene = Scene::new([40, 30, 1]);
    let (found, ran) = scene.segment(&Devices::gpu(), (Method::Auto, FEW));
    assert_eq!((found.iterated, ran), (None, vec![GPU, CPU]));
    let (found, ran) = scene.segment(&Devices::gpu(), (Method::Iterative, FEW));
    assert!(found.iterated.unwrap().error > FEW.tol);
    assert_eq!(ran, [GPU]);
}
