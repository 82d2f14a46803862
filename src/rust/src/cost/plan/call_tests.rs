//! What plans say, and that none is kept unless it was begun.

use super::*;

fn plan(processor: Processor, reason: Reason, work: &Work) -> CallPlan {
    CallPlan::new(Choice { processor, reason }, work, false, 2)
}

const GPU: Processor = Processor::Cuda(0);

#[test]
fn a_plan_is_a_sentence() {
    let work = Work::cholesky(8192);
    let cpu = |reason| plan(Processor::Cpu, reason, &work).to_string();
    let head = "8192 x 8192, double: on the CPU with 2 threads ";
    for (reason, why) in [
        (Reason::NoGpu, "(no GPU was found)"),
        (Reason::Asked, "(as 'device' says)"),
        (Reason::Small, "(too little work for a GPU)"),
        (
            Reason::NoFasterGpu { cpu: 2e-4 },
            "(predicted 200 us, which no GPU would beat)",
        ),
        (
            Reason::Model {
                cpu: 0.01,
                gpu: 0.009,
            },
            "(predicted 0.010 s; on the GPU 0.009 s)",
        ),
    ] {
        assert_eq!(cpu(reason), format!("{head}{why}"));
    }

    let mut there = plan(
        GPU,
        Reason::Model {
            cpu: 5.25,
            gpu: 0.125,
        },
        &work,
    );
    let head = "8192 x 8192, double: on GPU 0 (predicted 0.125 s; on the CPU 5.2 s)";
    assert_eq!(there.to_string(), format!("{head}, loaded whole"));
    there.free = Some(78e9);
    there.way = Way::Streamed {
        blocks: 4,
        columns: 2048,
    };
    let memory = "; 805.3 MB of operands and result, 78.0 GB free";
    assert_eq!(
        there.to_string(),
        format!("{head}, streamed in 4 blocks of 2048 columns{memory}")
    );
    there.way = Way::Tiled {
        processors: vec![GPU, Processor::Cuda(2)],
        tile: 1024,
    };
    assert_eq!(
        there.to_string(),
        format!("{head}, by tiles of 1024 x 1024{memory}").replace("GPU 0", "GPUs 0, 2")
    );
    there.fall_back("too little memory".to_owned());
    assert_eq!(
        there.to_string(),
        "8192 x 8192, double: on the CPU with 2 threads \
         (the GPU could not do it: too little memory)"
    );
}

#[test]
fn operands_are_told() {
    let single = |work: Work| {
        let choice = Choice {
            processor: Processor::Cpu,
            reason: Reason::Small,
        };
        let told = CallPlan::new(choice, &work, true, 1).to_string();
        told.split(", single: on the CPU with 1 thread (")
            .next()
            .map(str::to_owned)
    };
    let told = |text: &str| Some(text.to_owned());
    assert_eq!(single(Work::product(2, 3, 4)), told("2 x 4 by 4 x 3"));
    assert_eq!(single(Work::crossprod(3, 5)), told("5 x 3"));
    assert_eq!(
        single(Work::cholesky_batch(3, 9.0 * 100.0)),
        told("100 of 3 x 3")
    );
    assert_eq!(
        single(Work::solve(4, 2, true)),
        told("4 x 4, 2 right-hand sides")
    );
    assert_eq!(
        single(Work::solve(4, 1, true)),
        told("4 x 4, 1 right-hand side")
    );
    assert_eq!(single(Work::from(1.0).of((7, 8))), told("7 x 8"));
}

#[test]
fn the_plan_that_is_kept_is_that_of_the_call() {
    assert_eq!(take(), None);
    take_way(|| unreachable!("nobody asked"));
    begin(plan(GPU, Reason::ForGpu, &Work::lu((5, 5))));
    assert!(is_kept());
    let streamed = |blocks| Way::Streamed { blocks, columns: 1 };
    take_way(|| streamed(2));
    take_way(|| streamed(4));
    // Another call in between.
    let aside = take();
    assert_eq!(aside.as_ref().map(|p| p.way.clone()), Some(streamed(2)));
    put_back(aside);
    take_way(|| Way::Panels { columns: 3 });
    refine(|p| p.settle(GPU));
    refine(|p| assert_eq!(p.way.name(), "panels"));
    refine(|p| p.settle(Processor::Cpu));
    let plan = take().expect("a plan was begun");
    assert_eq!((plan.reason, plan.way), (Reason::OnlyCpu, Way::Whole));
    assert!(!is_kept());
}
