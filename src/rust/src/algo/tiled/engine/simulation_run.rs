//! One plan, carried out.

use crate::algo::tiled::engine::merge::simulation::*;

#[path = "simulation_actions.rs"]
mod actions;
use actions::*;

/// The strips of a device's place.
fn all_of(work: &FactorPlan, device: usize, slot: usize) -> Vec<Loc> {
    let strips = 0..work.strips.each();
    strips.map(|strip| Loc::Dev(device, slot, strip)).collect()
}

fn tile_no(work: &FactorPlan, at: (usize, usize)) -> usize {
    work.layout.index(at.0, at.1).unwrap()
}

/// Carries a plan out, what is possible next chosen by chance, and looks at every step, and at what
/// is made.
pub(super) fn simulate(m: &M, work: &FactorPlan, stays: bool, rng: &mut Rng) {
    let mut s = prepared(m, work, rng);
    let bias: Vec<usize> = (0..8).map(|_| 1 + rng.below(6)).collect();
    loop {
        let acts = enabled(&s, &bias);
        if acts.is_empty() {
            break;
        }
        let (k, a, b) = acts[rng.below(acts.len())];
        match k {
            0 => take(&mut s, a),
            1 | 2 => load_or_store(&mut s, k, a),
            3 => begin(&mut s, a, b),
            4 => start(&mut s, a, b),
            5 => end(&mut s, a, b),
            6 => retire(&mut s, a),
            _ => unreachable!(),
        }
    }
    assert!(
        s.done.iter().all(|d| *d),
        "stuck: {:?}",
        s.done.iter().filter(|d| !**d).count()
    );
    check_factor(&s, stays);
}

/// Nothing has begun, and all of the matrix is on the disk.
fn prepared<'a>(m: &M, work: &'a FactorPlan, rng: &mut Rng) -> Sim<'a> {
    let slots = work.room.host.max(LEAST_SLOTS);
    let plan = &work.host;
    let mut before = plan.before(&work.requests, slots);
    let step_of: HashMap<usize, usize> = plan
        .ops
        .iter()
        .enumerate()
        .filter_map(|(x, op)| match op {
            Op::Run { request, .. } => Some((*request, x)),
            _ => None,
        })
        .collect();
    for (later, earlier) in &work.after {
        before[step_of[later]].push(step_of[earlier]);
    }
    let nd = work.devices.len();
    let mut queues: Vec<[VecDeque<(usize, usize)>; 4]> = vec![Default::default(); nd];
    for (x, op) in plan.ops.iter().enumerate() {
        let Op::Run { request, .. } = op else {
            continue;
        };
        let (device, step) = work.by[*request];
        let kind = match work.devices[device].plan.ops[step] {
            Op::Load { .. } if work.peers.contains_key(request) => 0,
            Op::Load { .. } => 1,
            Op::Run { .. } => 2,
            Op::Store { .. } => 3,
        };
        queues[device][kind].push_back((x, step));
    }
    let ops = work.devices.iter().map(|d| vec![0; d.plan.ops.len()]);
    let mut left: Vec<Vec<usize>> = ops.collect();
    for (device, queues) in queues.iter().enumerate() {
        for (_, step) in queues.iter().flatten() {
            left[device][*step] += 1;
        }
    }
    let nt = 1 + rng.below(3);
    let mut s = Sim {
        work,
        before,
        done: vec![false; plan.ops.len()],
        content: HashMap::new(),
        reading: HashMap::new(),
        writing: HashMap::new(),
        events: Vec::new(),
        streams: (0..nd).map(|_| Default::default()).collect(),
        marks: work
            .room
            .devices
            .iter()
            .map(|n| vec![Marks::default(); (*n).max(LEAST_SLOTS)])
            .collect(),
        queues,
        left,
        under_way: vec![Vec::new(); nd],
        computing: vec![VecDeque::new(); nd],
        loads: plan
            .ops
            .iter()
            .enumerate()
            .filter(|(_, o)| matches!(o, Op::Load { .. }))
            .map(|(x, _)| x)
            .collect(),
        stores: plan
            .ops
            .iter()
            .enumerate()
            .filter(|(_, o)| matches!(o, Op::Store { .. }))
            .map(|(x, _)| x)
            .collect(),
        next: [0, 0],
        threads: (0..2 * nt).map(|t| (t % 2, None)).collect(),
        many: 1 + rng.below(24),
        window: [1, 3, 20, 256][rng.below(4)],
    };
    for strip in 0..work.strips.count() {
        let (tile, _) = work.strips.position(strip);
        s.content
            .insert(Loc::Disk(strip), Some((strip, m.step(tile))));
    }
    s
}

/// What can be done next, as often as it is likely: its kind and two numbers.
fn enabled(s: &Sim<'_>, bias: &[usize]) -> Vec<(u8, usize, usize)> {
    let nd = s.work.devices.len();
    let mut acts: Vec<(u8, usize, usize)> = Vec::new();
    let mut push = |a: (u8, usize, usize)| {
        for _ in 0..bias[a.0 as usize] {
            acts.push(a)
        }
    };
    for (t, (kind, state)) in s.threads.iter().enumerate() {
        match state {
            None => {
                let l = if *kind == 0 {
                    s.loads.len()
                } else {
                    s.stores.len()
                };
                if s.next[*kind] < l {
                    push((0, t, 0));
                }
            }
            Some((x, false)) => {
                if s.before[*x].iter().all(|y| s.done[*y]) {
                    push((1, t, 0));
                }
            }
            Some((_, true)) => push((2, t, 0)),
        }
    }
    for d in 0..nd {
        for q in 0..4 {
            if s.first_ready(d, q).is_some() {
                push((3, d, q));
            }
            if let Some(op) = s.streams[d][q].front() {
                if !op.started {
                    if op.deps.iter().all(|e| s.events[*e]) {
                        push((4, d, q));
                    }
                } else {
                    push((5, d, q));
                }
            }
        }
        if s.under_way[d].iter().any(|(_, e)| s.events[*e])
            || s.computing[d].front().is_some_and(|(_, e)| s.events[*e])
        {
            push((6, d, 0));
        }
    }
    acts
}

/// Every tile has had all steps, on the disk or in the memory of its device.
fn check_factor(s: &Sim<'_>, stays: bool) {
    let work = s.work;
    for strip in (0..work.strips.count()).filter(|_| !stays) {
        let (i, _) = work.layout.position(work.strips.position(strip).0);
        let want = Some((strip, i as u32 + 1));
        assert_eq!(s.content[&Loc::Disk(strip)], want);
    }
    if stays {
        let mut found = vec![0; work.layout.tiles()];
        for (d, share) in work.devices.iter().enumerate() {
            let mut own = vec![false; work.layout.tiles()];
            for t in &share.tasks {
                own[tile_no(work, work.tasks[*t].target())] = true;
            }
            let mut holds = vec![None; s.marks[d].len()];
            for op in &share.plan.ops {
                if let Op::Load { tile, slot } = op {
                    holds[*slot] = Some(*tile);
                }
            }
            for (p, t) in holds.iter().enumerate() {
                if let Some(t) = t.filter(|t| own[*t]) {
                    found[t] += 1;
                    for (loc, strip) in all_of(work, d, p).iter().zip(work.strips.of(t)) {
                        let made = Some((strip, work.layout.position(t).0 as u32 + 1));
                        assert_eq!(s.content[loc], made);
                    }
                }
            }
        }
        assert!(found.iter().all(|f| *f == 1), "{found:?}");
    }
}
