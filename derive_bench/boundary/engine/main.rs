//! The engine: the sweep of `kernel.rs` behind a pipe, a Unix socket, a TCP socket or shared memory.
//!
//! `engine pipe`                           requests on standard input, replies on standard output, until the input ends
//! `engine unix PATH`                      listens at PATH, for one client
//! `engine tcp`                            listens on a port of 127.0.0.1 that it prints, for one client
//! `engine shm FD CAPACITY SPINS E1 E2 E3 E4`  two rings in the file behind FD, with their four eventfds
//!
//! All but `pipe` end as soon as standard input does, whatever they are doing: the parent holds its other end, and the kernel closes that
//! when the parent dies, however it dies. `pipe` ends as soon as nobody can read its replies any more. A line on standard output says
//! when clients may come.

mod frame;
mod kernel;
mod ring;
mod session;

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::fd::FromRawFd;
use std::os::unix::net::UnixListener;
use std::process::{exit, ExitCode};

fn main() -> ExitCode {
    #[cfg(simd)]
    if !std::arch::is_x86_feature_detected!("avx2") {
        eprintln!("engine: this build needs a processor with AVX2");
        return ExitCode::from(3);
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["pipe"] => serve_pipe(),
        ["unix", path] => serve_unix(path),
        ["tcp"] => serve_tcp(),
        ["shm", numbers @ ..] if numbers.len() == 7 => serve_shm(numbers),
        _ => {
            eprintln!("engine: say pipe, unix PATH, tcp, or shm FD CAPACITY SPINS and four eventfds");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("engine: {error}");
            ExitCode::FAILURE
        }
    }
}

fn end_with_parent(clean_up: impl FnOnce() + Send + 'static) {
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        clean_up();
        exit(0);
    });
}

/// Standard output as a plain file: the library's own would look for ends of lines in the replies, and write them in two pieces.
fn serve_pipe() -> io::Result<()> {
    const REPLIES: i32 = 1;
    std::thread::spawn(|| {
        ring::wait_for_hang_up(REPLIES);
        exit(0);
    });
    session::serve(&mut io::stdin().lock(), &mut unsafe { File::from_raw_fd(REPLIES) })
}

fn say_ready(what: &str) -> io::Result<()> {
    println!("ready {what}");
    io::stdout().flush()
}

fn serve_unix(path: &str) -> io::Result<()> {
    // Bound first: what removes the socket must not come before it.
    let listener = UnixListener::bind(path)?;
    let owned = path.to_string();
    end_with_parent(move || remove(&owned));
    say_ready(path)?;
    let (stream, _) = listener.accept()?;
    drop(listener);
    session::serve(&mut buffered(stream.try_clone()?), &mut &stream)
}

/// Removes the socket and the private directory it lies in, if the parent did not come to it.
fn remove(path: &str) {
    let _ = std::fs::remove_file(path);
    if let Some(folder) = std::path::Path::new(path).parent() {
        let _ = std::fs::remove_dir(folder);
    }
}

fn serve_tcp() -> io::Result<()> {
    end_with_parent(|| ());
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    say_ready(&listener.local_addr()?.port().to_string())?;
    let (stream, _) = listener.accept()?;
    drop(listener);
    stream.set_nodelay(true)?;
    session::serve(&mut buffered(stream.try_clone()?), &mut &stream)
}

/// A small buffer spares system calls for the head of a frame; large bodies go past it.
fn buffered<R: Read>(stream: R) -> BufReader<R> {
    BufReader::with_capacity(8192, stream)
}

fn serve_shm(numbers: &[&str]) -> io::Result<()> {
    let parsed: Result<Vec<usize>, _> = numbers.iter().map(|number| number.parse()).collect();
    let Ok(parsed) = parsed else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "shm takes seven numbers"));
    };
    let [fd, capacity, spins, requested, taken, replied, received] = parsed[..] else { unreachable!("seven were matched") };
    end_with_parent(|| ());
    let size = ring::HEAD + capacity;
    let base = ring::map(fd as i32, 2 * size)?;
    let mut requests = ring::Ring::new(base, capacity, spins as u32, requested as i32, taken as i32);
    let replies = unsafe { base.add(size) };
    let mut replies = ring::Ring::new(replies, capacity, spins as u32, replied as i32, received as i32);
    say_ready("shm")?;
    session::serve(&mut requests, &mut replies)
}
