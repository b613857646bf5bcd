//! The protocol: little-endian frames, read with every length checked before anything is allocated for it.
//!
//! Request: `[u32 body_len][u8 opcode][u32 n_bars][u32 n_combos][f64 × n_bars][6 × i64 × n_combos]`; `body_len` counts what follows it.
//! An echo is `[u32 body_len][u8 1][bytes]`. Reply: `[u32 body_len][u8 status][payload]`; status 0 and `[f64 profits][i64 trades]`
//! or the echoed bytes, status 1 and a line of UTF-8 that says what was wrong.
//!
//! After a frame whose length cannot be believed the connection ends, since nothing after it can be; after any other bad frame the
//! rest of it is read away and the connection goes on.

use std::io::{self, Read, Write};

pub const MAX_BODY: usize = 64 << 20;
pub const MAX_COMBINATIONS: usize = 1 << 20;
pub const MAX_WINDOW: i64 = 1 << 20;
const HEAD: usize = 9;
const COMBINATION: usize = 48;

pub const SWEEP: u8 = 0;
pub const ECHO: u8 = 1;
pub const LOAD: u8 = 2;
pub const RUN: u8 = 3;
pub const OPEN: u8 = 4;
pub const BAR: u8 = 5;
pub const CLOCK: u8 = 6;

/// Windows of one combination: half, full, smooth, third, mid, period.
#[derive(Clone, Copy)]
pub struct Combination(pub [usize; 6]);

#[derive(Clone, Copy, Default)]
pub struct Outcome {
    pub profit: f64,
    pub trades: i64,
}

pub enum Request {
    Echo(Vec<u8>),
    Work { opcode: u8, closes: Vec<f64>, combinations: Vec<Combination> },
}

pub enum Fault {
    /// The peer has gone, or the frame cannot be believed: answer, if that is possible, and end the connection.
    Fatal(String),
    /// The frame was read to its end and refused.
    Refused(String),
    /// The peer closed between two frames.
    End,
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Fault::Fatal(match error.kind() {
            io::ErrorKind::UnexpectedEof => "short body: the connection ended inside a frame".to_string(),
            _ => format!("reading failed: {error}"),
        })
    }
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
}

/// Reads one request.
pub fn read_request(stream: &mut impl Read) -> Result<Request, Fault> {
    let mut length = [0; 4];
    match stream.read(&mut length[..1])? {
        0 => return Err(Fault::End),
        _ => stream.read_exact(&mut length[1..])?,
    }
    let body = u32_at(&length, 0);
    if body == 0 || body > MAX_BODY {
        return Err(Fault::Fatal(format!("body_len {body} is not in 1..={MAX_BODY}")));
    }
    let mut opcode = [0; 1];
    stream.read_exact(&mut opcode)?;
    match opcode[0] {
        ECHO => {
            let mut bytes = Vec::new();
            stream.take(body as u64 - 1).read_to_end(&mut bytes)?;
            if bytes.len() < body - 1 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            Ok(Request::Echo(bytes))
        }
        SWEEP | LOAD | RUN | OPEN | BAR | CLOCK => read_work(stream, opcode[0], body),
        other => refuse(stream, body - 1, format!("unknown opcode {other}")),
    }
}

fn read_work(stream: &mut impl Read, opcode: u8, body: usize) -> Result<Request, Fault> {
    if body < HEAD {
        return refuse(stream, body - 1, format!("body_len {body} is shorter than the {HEAD} bytes of a head"));
    }
    let mut counts = [0; 8];
    stream.read_exact(&mut counts)?;
    let (bars, combos) = (u32_at(&counts, 0), u32_at(&counts, 4));
    let rest = body - HEAD;
    if combos > MAX_COMBINATIONS || bars as u64 * 8 + combos as u64 * COMBINATION as u64 != rest as u64 {
        return refuse(stream, rest, format!("{bars} bars and {combos} combinations do not make a body of {body} bytes"));
    }
    let closes = read_closes(stream, bars)?;
    let mut windows = vec![0; combos * COMBINATION];
    stream.read_exact(&mut windows)?;
    if let Some(at) = closes.iter().position(|close| !(close.is_finite() && *close > 0.0)) {
        return Err(Fault::Refused(format!("close {at} is {}, not a positive number", closes[at])));
    }
    let mut combinations = Vec::with_capacity(combos);
    for (index, bytes) in windows.chunks_exact(COMBINATION).enumerate() {
        let mut six = [0; 6];
        for (at, eight) in bytes.chunks_exact(8).enumerate() {
            let window = i64::from_le_bytes(eight.try_into().expect("eight bytes"));
            if !(1..=MAX_WINDOW).contains(&window) {
                return Err(Fault::Refused(format!("window {at} of combination {index} is {window}, not in 1..={MAX_WINDOW}")));
            }
            six[at] = window as usize;
        }
        if six[0] > six[1] || six[3] > six[5] || six[4] > six[5] {
            return Err(Fault::Refused(format!("combination {index}: half is at most full, third and mid at most period")));
        }
        combinations.push(Combination(six));
    }
    Ok(Request::Work { opcode, closes, combinations })
}

/// Reads straight into the numbers' own memory: a second copy of the bars is never held.
fn read_closes(stream: &mut impl Read, bars: usize) -> io::Result<Vec<f64>> {
    let mut closes = vec![0.0f64; bars];
    // Any bytes are some f64.
    let bytes = unsafe { std::slice::from_raw_parts_mut(closes.as_mut_ptr().cast::<u8>(), bars * 8) };
    stream.read_exact(bytes)?;
    if cfg!(target_endian = "big") {
        closes.iter_mut().for_each(|close| *close = f64::from_bits(close.to_bits().swap_bytes()));
    }
    Ok(closes)
}

fn refuse(stream: &mut impl Read, rest: usize, why: String) -> Result<Request, Fault> {
    let passed = io::copy(&mut stream.take(rest as u64), &mut io::sink())?;
    if passed < rest as u64 {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Err(Fault::Refused(why))
}

/// A reply's bytes, head included.
pub fn reply(status: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(5 + payload.len());
    bytes.extend_from_slice(&(payload.len() as u32 + 1).to_le_bytes());
    bytes.push(status);
    bytes.extend_from_slice(payload);
    bytes
}

pub fn outcomes(found: &[Outcome]) -> Vec<u8> {
    let mut payload = Vec::with_capacity(found.len() * 16);
    found.iter().for_each(|outcome| payload.extend_from_slice(&outcome.profit.to_le_bytes()));
    found.iter().for_each(|outcome| payload.extend_from_slice(&outcome.trades.to_le_bytes()));
    reply(0, &payload)
}

pub fn write(stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}
