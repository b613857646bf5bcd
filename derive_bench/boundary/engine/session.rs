//! One connection: requests in, replies out, and what a client has loaded in between.

use crate::frame::{self, outcomes, read_request, reply, Fault, Outcome, Request};
use crate::kernel::{sweep, Stream};
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

#[derive(Default)]
struct Loaded {
    closes: Vec<f64>,
    fed: Vec<f64>,
    streams: Vec<Stream>,
    spent: Duration,
}

impl Loaded {
    fn answer(&mut self, request: Request) -> Result<Vec<u8>, String> {
        let (opcode, closes, combinations) = match request {
            Request::Echo(bytes) => return Ok(reply(0, &bytes)),
            Request::Work { opcode, closes, combinations } => (opcode, closes, combinations),
        };
        match (opcode, closes.len(), combinations.len()) {
            (frame::SWEEP, _, _) => Ok(self.timed(|_| sweep(&closes, &combinations))),
            (frame::LOAD, _, 0) => {
                self.closes = closes;
                Ok(reply(0, &[]))
            }
            (frame::RUN, 0, _) => Ok(self.timed(|loaded| sweep(&loaded.closes, &combinations))),
            (frame::OPEN, 0, _) => {
                self.fed = Vec::new();
                self.streams = combinations.into_iter().map(Stream::new).collect();
                Ok(reply(0, &[]))
            }
            (frame::BAR, 1, 0) => Ok(self.timed(|loaded| {
                loaded.fed.push(closes[0]);
                loaded.streams.iter_mut().map(|stream| stream.step(&loaded.fed)).collect()
            })),
            (frame::CLOCK, 0, 0) => {
                let spent = std::mem::take(&mut self.spent);
                Ok(reply(0, &(spent.as_nanos() as u64).to_le_bytes()))
            }
            (opcode, bars, combos) => Err(format!("opcode {opcode} does not take {bars} bars with {combos} combinations")),
        }
    }

    fn timed(&mut self, compute: impl FnOnce(&mut Self) -> Vec<Outcome>) -> Vec<u8> {
        let begin = Instant::now();
        let found = compute(self);
        self.spent += begin.elapsed();
        outcomes(&found)
    }
}

/// Serves one client until it goes.
pub fn serve(reader: &mut impl Read, writer: &mut impl Write) -> io::Result<()> {
    let mut loaded = Loaded::default();
    loop {
        match read_request(reader) {
            Ok(request) => match loaded.answer(request) {
                Ok(bytes) => frame::write(writer, &bytes)?,
                Err(why) => frame::write(writer, &reply(1, why.as_bytes()))?,
            },
            Err(Fault::Refused(why)) => frame::write(writer, &reply(1, why.as_bytes()))?,
            Err(Fault::Fatal(why)) => {
                // The peer may be gone already.
                let _ = frame::write(writer, &reply(1, why.as_bytes()));
                return Ok(());
            }
            Err(Fault::End) => return Ok(()),
        }
    }
}
