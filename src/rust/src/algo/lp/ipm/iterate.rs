//! A primal-dual interior-point method for linear programs in standard form: the homogeneous
//! self-dual embedding, which ends in an optimum or in a proof that there is none, with Mehrotra's
//! predictor and corrector and up to two of Gondzio's correctors on one factorization, and steps of
//! their own for primal and dual variables.
//!
//! Mehrotra (1992), "On the implementation of a primal-dual interior point method"; Xu, Hung and Ye
//! (1996), "A simplified homogeneous and self-dual linear programming algorithm"; Gondzio (1996),
//! "Multiple centrality corrections in a primal-dual method for linear programming"; Colombo and
//! Gondzio (2008), "Further development of multiple centrality correctors for interior point
//! methods", whose weights of the second-order term are searched where the full one leaves a short
//! step.

use std::time::{Duration, Instant};

use super::newton::{centred, evenly, recentred, step, steps, Changes, Newton, Steps};
use super::point::{By, Data, Point, Residuals};
use super::start::start;
use super::stop::{Holds, Measures, StoppingCriteria, Verdict};
use crate::algo::lp::normal::equations::NormalEquations;
use crate::algo::lp::vectors::space::Vectors;
use crate::base::error::{Error, Result};
use crate::base::interrupt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Optimal,
    Infeasible,
    Unbounded,
    IterationLimit,
    TimeLimit,
    Interrupted,
    /// Steps or numbers gave out before the tolerance was reached.
    Stalled,
}

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub iterations: usize,
    pub time: Option<Duration>,
    /// When time began to count.
    pub began: Instant,
}

/// One line of the iteration's log.
#[derive(Debug, Clone, Copy, Default)]
pub struct Record {
    pub measures: Measures,
    pub mu: f64,
    pub tau: f64,
    pub kappa: f64,
    /// Of the step that led here.
    pub steps: Steps,
    pub centring: f64,
    pub correctors: usize,
}

pub struct Outcome<V> {
    pub status: Status,
    pub point: Point<V>,
    pub measures: Measures,
    pub log: Vec<Record>,
    pub seconds: Seconds,
}

/// What iterations took, forming the normal equations and factoring them as parts of it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Seconds {
    pub iterating: f64,
    pub forming: f64,
    pub factoring: f64,
}

/// Gondzio's correctors in an iteration, at most, and what one must gain in the sum of both steps.
const CORRECTORS: usize = 2;
const GAIN: f64 = 0.02;
/// Of the way to the boundary: at least, and at most.
const DAMPING: (f64, f64) = (0.95, 0.9995);
/// Of tau to kappa, which is 0 in the limit where there is a proof: rounding has long had the last
/// word.
const NO_POINT: f64 = 1e-40;

struct Iteration<'i, N: NormalEquations> {
    n: &'i mut N,
    data: &'i Data<N::V>,
    at: Point<N::V>,
    /// Complementary products, that of tau and kappa among them.
    count: f64,
}

/// Solves the problem. `yardstick` says when a point is good enough, and `holds` whether that holds
/// for the problem as it was given; if not, the iteration goes on.
pub fn solve<N: NormalEquations>(
    n: &mut N,
    data: &Data<N::V>,
    yardstick: &StoppingCriteria<N::V>,
    limits: Limits,
    holds: &Holds<'_, N>,
) -> Result<Outcome<N::V>> {
    let of = n.dimensions();
    let (began, before) = (Instant::now(), n.spent());
    let at = start(n, data)?;
    let count = (of.bounded + of.capped.len() + 1) as f64;
    let mut it = Iteration { n, data, at, count };
    let mut log: Vec<Record> = Vec::new();
    let mut best: Option<(Measures, Point<N::V>)> = None;
    let mut record = Record::default();
    let status = loop {
        let looked = it.look(yardstick, holds);
        let (r, measures, verdict) = match looked {
            Ok(found) => found,
            Err(e) => match gave_out(&e) {
                Some(status) if best.is_some() => break status,
                _ => return Err(e),
            },
        };
        if !measures.is_finite() {
            break Status::Stalled;
        }
        record.measures = measures;
        (record.mu, record.tau, record.kappa) = (r.mu, it.at.tau, it.at.kappa);
        log.push(record);
        let status = match verdict {
            Verdict::GoOn => None,
            Verdict::Optimal => Some(Status::Optimal),
            Verdict::Infeasible => Some(Status::Infeasible),
            Verdict::Unbounded => Some(Status::Unbounded),
        };
        let better = |b: &(Measures, _)| measures.worst() < b.0.worst();
        if status.is_some() || best.as_ref().is_none_or(better) {
            best = Some((measures, it.at.copy(it.n)?));
        }
        if let Some(status) = status {
            break status;
        }
        // Neither a point nor a proof gets better from here on.
        if it.at.tau < NO_POINT * it.at.kappa {
            break Status::Stalled;
        }
        if log.len() > limits.iterations {
            break Status::IterationLimit;
        }
        if limits.time.is_some_and(|t| limits.began.elapsed() >= t) {
            break Status::TimeLimit;
        }
        match interrupt::poll().and_then(|()| it.step(&r, &mut record)) {
            Ok(true) => continue,
            // From the same point once more, with better factors.
            Ok(false) if it.n.coarsen(false)? => {}
            Ok(false) => break Status::Stalled,
            Err(e) => match gave_out(&e) {
                Some(Status::Stalled) if it.n.coarsen(false)? => {}
                Some(status) => break status,
                None => return Err(e),
            },
        }
        log.pop();
    };
    match best {
        Some((measures, point)) => Ok(Outcome {
            seconds: {
                let spent = it.n.spent();
                Seconds {
                    iterating: began.elapsed().as_secs_f64(),
                    forming: (spent.forming - before.forming).as_secs_f64(),
                    factoring: (spent.factoring - before.factoring).as_secs_f64(),
                }
            },
            status,
            point,
            measures,
            log,
        }),
        None => Err(Error::NonFinite),
    }
}

/// What a failure in the middle means, where the best point so far is still of use.
fn gave_out(e: &Error) -> Option<Status> {
    match e {
        Error::Interrupted => Some(Status::Interrupted),
        Error::NonFinite | Error::NotPositiveDefinite { .. } => Some(Status::Stalled),
        _ => None,
    }
}

type Looked<V> = (Residuals<V>, Measures, Verdict);

impl<N: NormalEquations> Iteration<'_, N> {
    fn look(
        &self,
        yardstick: &StoppingCriteria<N::V>,
        holds: &Holds<'_, N>,
    ) -> Result<Looked<N::V>> {
        let r = self.residuals()?;
        let measures = yardstick.measure(self.n, &self.at, &r)?;
        let verdict = yardstick.judge(self.n, self.data, &self.at, &r, &measures, holds)?;
        Ok((r, measures, verdict))
    }

    fn residuals(&self) -> Result<Residuals<N::V>> {
        let (n, data, at) = (&*self.n, self.data, &self.at);
        let of = n.dimensions().capped;
        let mut rows = n.times(&at.x, &at.free)?;
        n.space().add(at.tau, &data.rhs, -1.0, &mut rows)?;
        let mut capped = n.space().capped(of, &at.x)?;
        n.space().add(1.0, &at.v, 1.0, &mut capped)?;
        n.space().add(at.tau, &data.upper, -1.0, &mut capped)?;
        let (mut bounded, mut free) = n.transposed_times(&at.y)?;
        n.space().add(1.0, &at.z, 1.0, &mut bounded)?;
        n.space().add(at.tau, &data.cost, -1.0, &mut bounded)?;
        n.space().add_capped(of, 1.0, &at.w, &mut bounded)?;
        n.space().add(at.tau, &data.free_cost, -1.0, &mut free)?;
        let dots = n.space().dots(&[
            (&data.cost, &at.x),
            (&data.free_cost, &at.free),
            (&data.rhs, &at.y),
            (&data.upper, &at.w),
            (&at.x, &at.z),
            (&at.v, &at.w),
        ])?;
        let (objective, dual_objective) = (dots[0] + dots[1], dots[2] - dots[3]);
        let products = dots[4] + dots[5] + at.tau * at.kappa;
        Ok(Residuals {
            rows,
            capped,
            bounded,
            free,
            gap: at.kappa + objective - dual_objective,
            mu: products / self.count,
            objective,
            dual_objective,
        })
    }

    /// One iteration; false where there is no way on.
    fn step(&mut self, r: &Residuals<N::V>, record: &mut Record) -> Result<bool> {
        let newton = Newton::new(self.n, self.data, &self.at, r)?;
        let (n, data, at) = (&*self.n, self.data, &self.at);
        let go = |share: f64, c: &Changes<N::V>| newton.direction(n, data, at, r, share, c);

        let affine = go(1.0, &centred(n, at, 0.0, None)?)?;
        let (primal, dual) = step(n, at, &affine)?;
        let least = primal.min(dual);
        let centring = ((1.0 - least).powi(2) * (1.0 - least).min(0.25)).clamp(1e-10, 1.0);
        let (share, aim) = (1.0 - centring, centring * r.mu);
        let mut d = go(share, &centred(n, at, aim, Some(&affine))?)?;
        let mut ahead = step(n, at, &d)?;
        if ahead.0.min(ahead.1) < 0.1 {
            // Less of the second-order term, which is linear in its weight.
            let mut plain = go(share, &centred(n, at, aim, None)?)?;
            let second = d.minus(n, &plain)?;
            let weights = evenly(least * least, 0.95, 7);
            let found = steps(n, at, &plain, Some((&second, &weights)))?;
            let mut chosen = None;
            for (weight, reached) in weights.iter().zip(found) {
                if reached.0 + reached.1 > 1.01 * (ahead.0 + ahead.1) {
                    (chosen, ahead) = (Some(*weight), reached);
                }
            }
            if let Some(weight) = chosen {
                plain.go_along(n, &second, weight)?;
                d = plain;
            }
        }
        let mut correctors = 0;
        while correctors < CORRECTORS && ahead.0.min(ahead.1) < 0.99 {
            let further = |s: f64| (1.08 * s + 0.08).min(1.0);
            let target = (further(ahead.0), further(ahead.1));
            let e = go(0.0, &recentred(n, at, &d, target, aim)?)?;
            let weights = evenly(target.0.min(target.1).powi(2), 1.0, 5);
            let found = steps(n, at, &d, Some((&e, &weights)))?;
            let mut chosen: Option<(f64, Steps)> = None;
            for (weight, reached) in weights.iter().zip(found) {
                if chosen.is_none_or(|(_, s)| reached.0 + reached.1 > s.0 + s.1) {
                    chosen = Some((*weight, reached));
                }
            }
            let Some((weight, reached)) = chosen else {
                break;
            };
            let longer = reached.0 >= ahead.0 && reached.1 >= ahead.1;
            if !longer || reached.0 + reached.1 < ahead.0 + ahead.1 + GAIN {
                break;
            }
            d.go_along(n, &e, weight)?;
            ahead = reached;
            correctors += 1;
        }
        let damping = (1.0 - centring).clamp(DAMPING.0, DAMPING.1);
        let taken = (damping * ahead.0, damping * ahead.1);
        (record.steps, record.centring, record.correctors) = (taken, centring, correctors);
        self.advance(&d, taken)?;
        Ok(taken.0.max(taken.1) >= 1e-10)
    }

    /// Primal and dual variables have separate steps. Each side then has a separate tau, and
    /// the side with the larger one is scaled down to the other's.
    fn advance(&mut self, d: &Point<N::V>, (primal, dual): Steps) -> Result<()> {
        let (n, at) = (&*self.n, &mut self.at);
        let (of_primal, of_dual) = (at.tau + primal * d.tau, at.tau + dual * d.tau);
        let tau = of_primal.min(of_dual);
        at.kappa += primal.min(dual) * d.kappa;
        // Neither may leave the range of ordinary numbers.
        let size = tau.max(at.kappa);
        let over_all = if (1e-4..=1e4).contains(&size) {
            1.0
        } else {
            1.0 / size
        };
        let by = |tau_of_side: f64, step: f64| {
            let keep = over_all * tau / tau_of_side;
            By {
                keep,
                add: keep * step,
            }
        };
        at.add(n, d, by(of_primal, primal), by(of_dual, dual))?;
        at.tau = over_all * tau;
        at.kappa *= over_all;
        Ok(())
    }
}
