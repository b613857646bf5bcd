//! The sweep: for each combination of windows, seven weighted moving averages and a stop-and-reverse walk over the bars.
//!
//! Contract: the same operations in the same order as `kernel.py`, which says what they mean. With none of the `--cfg` below the
//! results are those of the compiled Python, bit for bit. Each `--cfg` changes one thing, to see what that thing costs:
//!
//! - `unchecked`: indexing without bounds checks
//! - `alloc`: a new array for each of the seven averages, instead of two that are kept
//! - `shape`: the inner loop walks a slice by iterator instead of by index
//! - `reassoc`: four partial sums, as a compiler makes them that may reorder additions
//! - `simd`: the partial sums in AVX2 registers, by hand
//! - `threads`: combinations spread over the processors

use crate::frame::{Combination, Outcome};

/// Percentage points that a round trip costs.
pub const FEE: f64 = 0.09;

#[inline(always)]
fn divisor(window: usize) -> f64 {
    (window * (window + 1)) as f64 / 2.0
}

/// The weighted sum of the `window` values that end at `last`, the newest with the greatest weight, over the sum of weights.
#[inline(always)]
pub fn average(values: &[f64], window: usize, last: usize) -> f64 {
    weighted(values, window, last + 1 - window) / divisor(window)
}

#[cfg(not(any(unchecked, shape, reassoc, simd)))]
#[inline(always)]
fn weighted(values: &[f64], window: usize, first: usize) -> f64 {
    let mut total = 0.0;
    for j in 0..window {
        total += values[first + j] * (j + 1) as f64;
    }
    total
}

#[cfg(unchecked)]
#[inline(always)]
fn weighted(values: &[f64], window: usize, first: usize) -> f64 {
    debug_assert!(first + window <= values.len());
    let mut total = 0.0;
    for j in 0..window {
        // Every caller starts at the window's first full bar and ends with the data.
        total += unsafe { *values.get_unchecked(first + j) } * (j + 1) as f64;
    }
    total
}

#[cfg(shape)]
#[inline(always)]
fn weighted(values: &[f64], window: usize, first: usize) -> f64 {
    let mut total = 0.0;
    let mut weight = 0.0;
    for value in &values[first..first + window] {
        weight += 1.0;
        total += value * weight;
    }
    total
}

#[cfg(reassoc)]
#[inline(always)]
fn weighted(values: &[f64], window: usize, first: usize) -> f64 {
    let slice = &values[first..first + window];
    let mut sums = [0.0; 4];
    let mut weights = [1.0, 2.0, 3.0, 4.0];
    let fours = slice.chunks_exact(4);
    let rest = fours.remainder();
    for four in fours {
        for lane in 0..4 {
            sums[lane] += four[lane] * weights[lane];
            weights[lane] += 4.0;
        }
    }
    let mut total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (lane, value) in rest.iter().enumerate() {
        total += value * weights[lane];
    }
    total
}

#[cfg(simd)]
#[inline(always)]
fn weighted(values: &[f64], window: usize, first: usize) -> f64 {
    // The build is made for processors with AVX2, and is refused on others before it gets here.
    unsafe { weighted_avx2(&values[first..first + window]) }
}

#[cfg(simd)]
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn weighted_avx2(slice: &[f64]) -> f64 {
    use std::arch::x86_64::*;
    let fours = slice.len() / 4;
    let mut sums = _mm256_setzero_pd();
    let mut weights = _mm256_setr_pd(1.0, 2.0, 3.0, 4.0);
    let step = _mm256_set1_pd(4.0);
    for four in 0..fours {
        let loaded = _mm256_loadu_pd(slice.as_ptr().add(four * 4));
        sums = _mm256_add_pd(sums, _mm256_mul_pd(loaded, weights));
        weights = _mm256_add_pd(weights, step);
    }
    let mut lanes = [0.0; 4];
    _mm256_storeu_pd(lanes.as_mut_ptr(), sums);
    let mut total = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    for (index, value) in slice.iter().enumerate().skip(fours * 4) {
        total += value * (index + 1) as f64;
    }
    total
}

/// A position that is reversed at each crossing. `profit` is in percentage points, fees taken off; an open position is not booked.
#[derive(Clone, Copy, Default)]
pub struct Walk {
    position: i64,
    entry: f64,
    pub outcome: Outcome,
}

impl Walk {
    #[inline(always)]
    pub fn step(&mut self, price: f64, fast: f64, slow: f64) {
        let wanted = if fast > slow {
            1
        } else if fast < slow {
            -1
        } else {
            self.position
        };
        if wanted != self.position {
            if self.position != 0 {
                self.outcome.profit += self.position as f64 * (price - self.entry) / self.entry * 100.0 - FEE;
                self.outcome.trades += 1;
            }
            self.position = wanted;
            self.entry = price;
        }
    }
}

/// Arrays as long as the data, kept from one combination to the next.
#[cfg(not(alloc))]
pub struct Scratch {
    raw: Vec<f64>,
    slow: Vec<f64>,
}

#[cfg(not(alloc))]
impl Scratch {
    pub fn new(bars: usize) -> Self {
        Scratch { raw: vec![f64::NAN; bars], slow: vec![f64::NAN; bars] }
    }
}

#[cfg(alloc)]
pub struct Scratch;

#[cfg(alloc)]
impl Scratch {
    pub fn new(_bars: usize) -> Self {
        Scratch
    }
}

#[cfg(not(alloc))]
pub fn combination(closes: &[f64], windows: &Combination, scratch: &mut Scratch) -> Outcome {
    let [half, full, smooth, third, mid, period] = windows.0;
    let Scratch { raw, slow } = scratch;
    for i in full - 1..closes.len() {
        raw[i] = 2.0 * average(closes, half, i) - average(closes, full, i);
    }
    let slow_from = full + smooth - 2;
    slow[..slow_from.min(closes.len())].fill(f64::NAN);
    for i in slow_from..closes.len() {
        slow[i] = average(raw, smooth, i);
    }
    for i in period - 1..closes.len() {
        raw[i] = 3.0 * average(closes, third, i) - average(closes, mid, i) - average(closes, period, i);
    }
    let fast_from = 2 * period - 2;
    let mut walk = Walk::default();
    for i in 0..closes.len() {
        let fast = if i < fast_from { f64::NAN } else { average(raw, period, i) };
        walk.step(closes[i], fast, slow[i]);
    }
    walk.outcome
}

#[cfg(alloc)]
pub fn combination(closes: &[f64], windows: &Combination, _scratch: &mut Scratch) -> Outcome {
    let [half, full, smooth, third, mid, period] = windows.0;
    let bars = closes.len();
    let series = |values: &[f64], window: usize, from: usize| {
        let mut out = vec![f64::NAN; bars];
        for i in from..bars {
            out[i] = average(values, window, i);
        }
        out
    };
    let mut raw = vec![f64::NAN; bars];
    let (short, long) = (series(closes, half, half - 1), series(closes, full, full - 1));
    for i in full - 1..bars {
        raw[i] = 2.0 * short[i] - long[i];
    }
    let slow = series(&raw, smooth, full + smooth - 2);
    let mut raw = vec![f64::NAN; bars];
    let (short, middle, long) =
        (series(closes, third, third - 1), series(closes, mid, mid - 1), series(closes, period, period - 1));
    for i in period - 1..bars {
        raw[i] = 3.0 * short[i] - middle[i] - long[i];
    }
    let fast = series(&raw, period, 2 * period - 2);
    let mut walk = Walk::default();
    for i in 0..bars {
        walk.step(closes[i], fast[i], slow[i]);
    }
    walk.outcome
}

#[cfg(not(threads))]
pub fn sweep(closes: &[f64], combinations: &[Combination]) -> Vec<Outcome> {
    let mut scratch = Scratch::new(closes.len());
    combinations.iter().map(|windows| combination(closes, windows, &mut scratch)).collect()
}

#[cfg(threads)]
pub fn sweep(closes: &[f64], combinations: &[Combination]) -> Vec<Outcome> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Mutex;
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(vec![Outcome::default(); combinations.len()]);
    let workers = std::thread::available_parallelism().map_or(1, |count| count.get()).min(combinations.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut scratch = Scratch::new(closes.len());
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(windows) = combinations.get(index) else { break };
                    let outcome = combination(closes, windows, &mut scratch);
                    outcomes.lock().expect("no thread panics with the lock")[index] = outcome;
                }
            });
        }
    });
    outcomes.into_inner().expect("no thread panics with the lock")
}

/// Adds the newest value of a line, of which the last `window` are wanted; older ones are let go now and then.
fn push(line: &mut Vec<f64>, window: usize, value: f64) {
    if line.len() >= 2 * window {
        line.drain(..line.len() - window);
    }
    line.push(value);
}

/// One combination fed bar by bar: holds what the averages still need, and gives the same outcome as `combination` over the bars so far.
pub struct Stream {
    windows: Combination,
    slow_raw: Vec<f64>,
    fast_raw: Vec<f64>,
    walk: Walk,
}

impl Stream {
    pub fn new(windows: Combination) -> Self {
        Stream { windows, slow_raw: Vec::new(), fast_raw: Vec::new(), walk: Walk::default() }
    }

    /// Takes the newest bar, which `closes` ends with.
    pub fn step(&mut self, closes: &[f64]) -> Outcome {
        let [half, full, smooth, third, mid, period] = self.windows.0;
        let i = closes.len() - 1;
        if i + 1 >= full {
            push(&mut self.slow_raw, smooth, 2.0 * average(closes, half, i) - average(closes, full, i));
        }
        if i + 1 >= period {
            let newest = 3.0 * average(closes, third, i) - average(closes, mid, i) - average(closes, period, i);
            push(&mut self.fast_raw, period, newest);
        }
        let newest = |raw: &[f64], window: usize| if raw.len() < window { f64::NAN } else { average(raw, window, raw.len() - 1) };
        self.walk.step(closes[i], newest(&self.fast_raw, period), newest(&self.slow_raw, smooth));
        self.walk.outcome
    }
}
