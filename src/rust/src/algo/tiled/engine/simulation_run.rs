//! One plan, carried out.

use crate::algo::tiled::engine::merge::simulation::*;

/// The strips of a device's place.
fn all_of(work: &Work, device: usize, slot: usize) -> Vec<Loc> {
    let strips = 0..work.strips.each();
    strips.map(|strip| Loc::Dev(device, slot, strip)).collect()
}

fn tile_no(work: &Work, at: (usize, usize)) -> usize {
    work.layout.index(at.0, at.1).unwrap()
}

/// Carries a plan out, what is possible next chosen by chance, and looks at every step, and at what
/// is made.
pub(super) fn simulate(m: &M, work: &Work, stays: bool, rng: &mut Rng) {
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
    let bias: Vec<usize> = (0..8).map(|_| 1 + rng.below(6)).collect();
    loop {
        // collect enabled actions: (kind, a, b)
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
        if acts.is_empty() {
            break;
        }
        let (k, a, b) = acts[rng.below(acts.len())];
        match k {
            0 => {
                let kind = s.threads[a].0;
                let list = if kind == 0 { &s.loads } else { &s.stores };
                let x = list[s.next[kind]];
                s.next[kind] += 1;
                s.threads[a].1 = Some((x, false));
            }
            1 | 2 => {
                let x = s.threads[a].1.unwrap().0;
                let (from, to) = match &plan.ops[x] {
                    Op::Load { tile, slot } => (Loc::Disk(*tile), Loc::Host(*slot)),
                    Op::Store { tile, slot, .. } => (Loc::Host(*slot), Loc::Disk(*tile)),
                    _ => unreachable!(),
                };
                if k == 1 {
                    let v = s.start(&[from], &[to]);
                    if let Op::Store { tile, request, .. } = &plan.ops[x] {
                        let task = work.task_of(*request).unwrap();
                        assert_eq!(v[0], Some((*tile, task.step())), "stored");
                    }
                    s.threads[a].1 = Some((x, true));
                } else {
                    let v = s.content[&from];
                    s.end(&[from], &[to], &[v]);
                    s.done[x] = true;
                    s.threads[a].1 = None;
                }
            }
            3 => {
                let at = s.first_ready(a, b).unwrap();
                let (x, step) = s.queues[a][b].remove(at).unwrap();
                s.left[a][step] -= 1;
                let Op::Run {
                    request,
                    slots: homes,
                } = &plan.ops[x]
                else {
                    unreachable!()
                };
                let share = &work.devices[a];
                let e = s.event();
                let asked = work.requests[*request].tiles.first();
                let part = asked.map_or(0, |(strip, _)| strip % work.strips.each());
                match &share.plan.ops[step] {
                    Op::Load { slot, .. } => {
                        let (reads, writes) = match work.peers.get(request) {
                            Some(p) => (all_of(work, p.device, p.slot), all_of(work, a, *slot)),
                            None => (vec![Loc::Host(homes[0])], vec![Loc::Dev(a, *slot, part)]),
                        };
                        let m = &mut s.marks[a][*slot];
                        let deps = [m.computed, m.leaving].into_iter().flatten().collect();
                        m.leaving = None;
                        m.arriving = Some(e);
                        s.streams[a][b].push_back(SOp {
                            x,
                            deps,
                            reads,
                            writes,
                            task: None,
                            event: e,
                            started: false,
                            values: Vec::new(),
                        });
                        s.under_way[a].push((x, e));
                    }
                    Op::Store { slot, .. } => {
                        let m = &mut s.marks[a][*slot];
                        let deps = m.computed.into_iter().collect();
                        m.leaving = Some(e);
                        s.streams[a][b].push_back(SOp {
                            x,
                            deps,
                            reads: vec![Loc::Dev(a, *slot, part)],
                            writes: vec![Loc::Host(homes[0])],
                            task: None,
                            event: e,
                            started: false,
                            values: Vec::new(),
                        });
                        s.under_way[a].push((x, e));
                    }
                    Op::Run { request, slots } => {
                        let task = work.tasks[share.tasks[*request]];
                        let mut deps: Vec<usize> = slots
                            .iter()
                            .filter_map(|p| s.marks[a][*p].arriving.take())
                            .collect();
                        deps.extend(s.marks[a][slots[0]].leaving.take());
                        for p in slots {
                            s.marks[a][*p].computed = Some(e);
                        }
                        s.streams[a][2].push_back(SOp {
                            x,
                            deps,
                            reads: slots[1..]
                                .iter()
                                .flat_map(|p| all_of(work, a, *p))
                                .collect(),
                            writes: all_of(work, a, slots[0]),
                            task: Some(task),
                            event: e,
                            started: false,
                            values: Vec::new(),
                        });
                        s.computing[a].push_back((x, e));
                    }
                }
            }
            4 => {
                let mut op = s.streams[a][b].front().unwrap().clone();
                let v = s.start(&op.reads, &op.writes);
                let each = work.strips.each();
                op.values = match op.task {
                    None => {
                        // a copy
                        if let (Loc::Dev(from, ..), true) = (op.reads[0], b == 0) {
                            assert_ne!(from, a);
                            assert_eq!(v.len(), each);
                            for v in &v {
                                let (strip, step) = v.expect("a peer copies a tile");
                                let (i, _) = work.layout.position(strip / each);
                                assert_eq!(step as usize, i + 1, "peer copies finished");
                            }
                        }
                        let plan_tile = {
                            let Op::Run { request, .. } = &plan.ops[op.x] else {
                                unreachable!()
                            };
                            let (d, st) = work.by[*request];
                            match &work.devices[d].plan.ops[st] {
                                Op::Load { tile, .. } | Op::Store { tile, .. } => *tile,
                                _ => unreachable!(),
                            }
                        };
                        let strips: Vec<_> = v.iter().map(|v| v.unwrap().0).collect();
                        let wanted = match strips.len() {
                            1 => {
                                let host = [&op.reads, &op.writes].into_iter().flatten();
                                let mut parts = host.filter_map(|loc| match loc {
                                    Loc::Dev(_, _, part) => Some(plan_tile * each + part),
                                    _ => None,
                                });
                                vec![parts.next().unwrap()]
                            }
                            _ => work.strips.of(plan_tile).collect(),
                        };
                        assert_eq!(strips, wanted, "the tile that was planned");
                        v
                    }
                    Some(task) => {
                        let own = work.strips.of(tile_no(work, task.target()));
                        for (loc, strip) in op.writes.iter().zip(own.clone()) {
                            let target = s.content.get(loc).copied().flatten();
                            assert_eq!(target, Some((strip, task.step() - 1)), "{task:?}");
                        }
                        for (at, v) in task.sources().zip(v.chunks(each)) {
                            for (strip, v) in work.strips.of(tile_no(work, at)).zip(v) {
                                let wanted = Some((strip, at.0 as u32 + 1));
                                assert_eq!(*v, wanted, "{task:?} source");
                            }
                        }
                        own.map(|strip| Some((strip, task.step()))).collect()
                    }
                };
                op.started = true;
                *s.streams[a][b].front_mut().unwrap() = op;
            }
            5 => {
                let op = s.streams[a][b].pop_front().unwrap();
                s.end(&op.reads, &op.writes, &op.values);
                s.events[op.event] = true;
            }
            6 => {
                let mut copied = Vec::new();
                let events = &s.events;
                s.under_way[a].retain(|(x, e)| {
                    if events[*e] {
                        copied.push(*x);
                    }
                    !events[*e]
                });
                while s.computing[a].front().is_some_and(|(_, e)| s.events[*e]) {
                    let (x, _) = s.computing[a].pop_front().unwrap();
                    s.done[x] = true;
                }
                for x in copied {
                    s.done[x] = true;
                }
            }
            _ => unreachable!(),
        }
    }
    assert!(
        s.done.iter().all(|d| *d),
        "stuck: {:?}",
        s.done.iter().filter(|d| !**d).count()
    );
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
