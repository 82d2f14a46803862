//! The actions of threads, devices and copies, each with what it must find.

use super::*;

/// A thread that loads or stores takes its next step.
pub(super) fn take(s: &mut Sim<'_>, a: usize) {
    let kind = s.threads[a].0;
    let list = if kind == 0 { &s.loads } else { &s.stores };
    let x = list[s.next[kind]];
    s.next[kind] += 1;
    s.threads[a].1 = Some((x, false));
}

/// It begins the step, or ends it.
pub(super) fn load_or_store(s: &mut Sim<'_>, k: u8, a: usize) {
    let (work, plan) = (s.work, &s.work.host);
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

/// A device's driver begins a step: a copy or a task.
pub(super) fn begin(s: &mut Sim<'_>, a: usize, b: usize) {
    let (work, plan) = (s.work, &s.work.host);
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

/// The first copy or task of a queue starts.
pub(super) fn start(s: &mut Sim<'_>, a: usize, b: usize) {
    let (work, plan) = (s.work, &s.work.host);
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

/// It ends.
pub(super) fn end(s: &mut Sim<'_>, a: usize, b: usize) {
    let op = s.streams[a][b].pop_front().unwrap();
    s.end(&op.reads, &op.writes, &op.values);
    s.events[op.event] = true;
}

/// The driver finishes the steps that have ended.
pub(super) fn retire(s: &mut Sim<'_>, a: usize) {
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
