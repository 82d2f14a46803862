//! State is restored after a panic, and the number of queued steps is limited.

use crate::backend::cuda::driver::streams::*;

#[test]
fn variables_are_restored_after_a_panic() {
    let panicked = std::panic::catch_unwind(|| {
        let _outer = Restored::replacing(&LEFT, 3);
        let _inner = Restored::replacing(&LEFT, 5);
        assert_eq!(LEFT.get(), 7);
    });
    assert!(panicked.is_err());
    assert_eq!(LEFT.get(), 0);
}

/// What is waited for, step by step, when steps of these lengths are queued one after the other,
/// and what is left at the end. Each has its number in place of an event, and nothing is asked of
/// it.
fn queue(steps: &[f64]) -> (Vec<Vec<usize>>, Vec<usize>) {
    let mut fences = Fences::default();
    let number = |step: &Step| step.end.0 as usize;
    let mut waits = Vec::new();
    for (i, &launches) in steps.iter().enumerate() {
        fences.queued.push_back(Step {
            end: Event(i as sys::CUevent),
            done: progress::mark(),
            launches,
        });
        waits.push(std::iter::from_fn(|| fences.excess().map(|step| number(&step))).collect());
    }
    assert!(fences.free.is_empty());
    (waits, fences.queued.iter().map(number).collect())
}

#[test]
fn few_short_steps_are_ahead() {
    let none = Vec::new;
    let (waited, left) = queue(&[0.0; 4]);
    assert_eq!(waited, [none(), none(), none(), none()]);
    assert_eq!(left, [0, 1, 2, 3]);
    let (waited, left) = queue(&[0.0; 7]);
    assert_eq!(waited[..4], [none(), none(), none(), none()]);
    assert_eq!(waited[4..], [[0], [1], [2]]);
    assert_eq!(left, [3, 4, 5, 6]);
    // Together as long as one of the longest, which is not too long.
    assert_eq!(queue(&[0.25; 4]).1, [0, 1, 2, 3]);
}

#[test]
fn long_steps_are_ahead_one_by_one() {
    for alone in [1.0, 1.5, 40.0] {
        assert_eq!(queue(&[alone]), (vec![vec![]], vec![0]));
    }
    assert_eq!(queue(&[1.0, 1.0]), (vec![vec![], vec![0]], vec![1]));
    assert_eq!(queue(&[0.5, 0.5]), (vec![vec![], vec![]], vec![0, 1]));
    // No more than it takes: the oldest are waited for until the others are short enough.
    let (waited, left) = queue(&[0.25, 0.25, 0.5, 0.5]);
    assert_eq!(waited[3], [0, 1]);
    assert_eq!(left, [2, 3]);
    let (waited, left) = queue(&[0.25, 0.25, 0.25, 2.0, 0.0]);
    assert_eq!(waited[3..], [vec![0, 1, 2], vec![3]]);
    assert_eq!(left, [4]);
}
