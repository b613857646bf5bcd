//! Two byte rings in memory that both processes have mapped: requests one way, replies the other.
//!
//! Contract, shared with `ring.py`: each ring is a head of four u64 on cache lines of their own (bytes written, bytes read, the reader
//! waits, the writer waits), then the data. Who finds nothing to do spins, then says that it waits and sleeps on an eventfd; who makes
//! progress wakes the other if it said so. A sleep lasts [`NAP_MS`] at most, so that a wake-up lost to a reordered store only costs that.
//! The mapping has no name in any file system, and goes with the last process that has it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::atomic::{fence, AtomicU64, Ordering::*};

const LINE: usize = 64;
pub const HEAD: usize = 4 * LINE;
const NAP_MS: i32 = 50;
const LOOKS_BETWEEN_YIELDS: u32 = 64;

#[repr(C)]
struct PollFd {
    fd: i32,
    events: i16,
    revents: i16,
}

unsafe extern "C" {
    fn mmap(addr: *mut u8, length: usize, prot: i32, flags: i32, fd: i32, offset: i64) -> *mut u8;
    fn poll(fds: *mut PollFd, count: usize, timeout: i32) -> i32;
}

/// Waits until nobody has the other end of the pipe behind `fd`; for ever, if it is no pipe.
pub fn wait_for_hang_up(fd: i32) {
    let mut waiting = PollFd { fd, events: 0, revents: 0 };
    while unsafe { poll(&mut waiting, 1, -1) } <= 0 {}
}

/// Maps `length` bytes of the file behind `fd`.
pub fn map(fd: i32, length: usize) -> io::Result<*mut u8> {
    const READ_WRITE: i32 = 3;
    const SHARED: i32 = 1;
    let address = unsafe { mmap(std::ptr::null_mut(), length, READ_WRITE, SHARED, fd, 0) };
    if address as isize == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(address)
}

/// One direction, seen from one end.
pub struct Ring {
    base: *mut u8,
    capacity: usize,
    spins: u32,
    filled: File,
    drained: File,
}

impl Ring {
    /// `base` is the ring's head; the eventfds say that bytes were put in, and that bytes were taken out.
    pub fn new(base: *mut u8, capacity: usize, spins: u32, filled: i32, drained: i32) -> Self {
        unsafe { Ring { base, capacity, spins, filled: File::from_raw_fd(filled), drained: File::from_raw_fd(drained) } }
    }

    fn word(&self, index: usize) -> &AtomicU64 {
        unsafe { &*self.base.add(index * LINE).cast::<AtomicU64>() }
    }

    fn data(&self, at: u64) -> (*mut u8, usize) {
        let offset = at as usize % self.capacity;
        (unsafe { self.base.add(HEAD + offset) }, self.capacity - offset)
    }

    fn wait(&self, ready: impl Fn() -> bool, flag: usize, event: &File) {
        for look in 1..=self.spins {
            if ready() {
                return;
            }
            if look % LOOKS_BETWEEN_YIELDS == 0 {
                // Two processes that spin on one processor get out of each other's way.
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        while !ready() {
            self.word(flag).store(1, SeqCst);
            fence(SeqCst);
            if !ready() {
                let mut waiting = PollFd { fd: event.as_raw_fd(), events: 1, revents: 0 };
                if unsafe { poll(&mut waiting, 1, NAP_MS) } > 0 {
                    let _ = (&*event).read(&mut [0; 8]);
                }
            }
            self.word(flag).store(0, SeqCst);
        }
    }

    fn wake(&self, flag: usize, event: &File) {
        fence(SeqCst);
        if self.word(flag).load(SeqCst) != 0 {
            let _ = (&*event).write(&1u64.to_ne_bytes());
        }
    }
}

impl Read for Ring {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let read = self.word(1).load(Relaxed);
        self.wait(|| self.word(0).load(Acquire) != read, 2, &self.filled);
        let there = (self.word(0).load(Acquire) - read) as usize;
        let (from, straight) = self.data(read);
        let count = there.min(straight).min(into.len());
        unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), count) };
        self.word(1).store(read + count as u64, Release);
        self.wake(3, &self.drained);
        Ok(count)
    }
}

impl Write for Ring {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        if from.is_empty() {
            return Ok(0);
        }
        let written = self.word(0).load(Relaxed);
        self.wait(|| written - self.word(1).load(Acquire) < self.capacity as u64, 3, &self.drained);
        let free = self.capacity - (written - self.word(1).load(Acquire)) as usize;
        let (into, straight) = self.data(written);
        let count = free.min(straight).min(from.len());
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), into, count) };
        self.word(0).store(written + count as u64, Release);
        self.wake(2, &self.filled);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
