//! Threads that wait for work by spinning first and sleeping later.
//!
//! A token of a small language model is some 200 operations of 10 to 100 µs: waking a sleeping
//! thread for each would cost as much as the work. So a thread that ran out of work keeps looking
//! for about a tenth of a millisecond before it sleeps, and the one that calls [`Pool::run`] works
//! along.
//!
//! ```text
//!              caller                               worker
//!   job = f, next = 0                       looks at `state` ...
//!   state = (epoch + 1, OPEN, 0)  ------->  open, and an epoch not yet seen:
//!   takes tasks from `next`                 state += 1 (joined), takes tasks from `next`
//!   state &= !OPEN                          state -= 1 (left)
//!   waits until nobody is joined
//! ```
//!
//! A worker that does not get a core in time finds the job closed and does nothing: the caller
//! waits for those that joined, never for those that sleep. That matters where other processes
//! want the cores too.
//!
//! Always holds: a job is borrowed only while its caller is inside [`Pool::run`]; a task that
//! panics ends its job, the panic continues in the caller, and the pool goes on.

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;

/// Looks at `state` before a worker sleeps; each takes 15 to 40 ns, so about 0.1 ms.
const LOOKS: u32 = 4_000;

/// Looks before a caller that waits for the last task gives its core away.
const CALLER_LOOKS: u32 = 1_000;

/// Most threads a pool may have; a bound against a mistyped configuration.
pub const MOST_THREADS: usize = 1 << 10;

/// `state`: the workers in the job, whether more may join, and which job it is.
const JOINED: u64 = 0xffff;
const OPEN: u64 = 1 << 16;
const EPOCH: u64 = 1 << 17;

/// A fixed set of threads that run the tasks of one job at a time.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let pool = kernels::Pool::new(2);
/// let sum = AtomicUsize::new(0);
/// pool.run(10, |task| {
///     sum.fetch_add(task, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 45);
/// ```
#[derive(Debug)]
pub struct Pool {
    shared: Arc<Shared>,
    /// Held by the caller whose job it is.
    turn: Mutex<()>,
    workers: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    state: AtomicU64,
    job: UnsafeCell<Job>,
    /// The first task that nobody has taken.
    next: AtomicUsize,
    stop: AtomicBool,
    /// Workers that sleep or are about to.
    asleep: AtomicUsize,
    /// What the first task that panicked left.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `job` is the only part that is not shareable by itself. It is written by the holder of
// `Pool::turn` while nobody is joined, and read by those that joined after it was published.
#[expect(unsafe_code, reason = "a job is lent to the workers")]
unsafe impl Sync for Shared {}
// SAFETY: as above; the pointer in `job` is used only while its owner waits in `Pool::run`.
#[expect(unsafe_code, reason = "a job is lent to the workers")]
unsafe impl Send for Shared {}

/// What to run: a closure on the stack of the caller, its type forgotten.
#[derive(Clone, Copy, Debug)]
struct Job {
    call: fn(*const (), usize),
    data: *const (),
    tasks: usize,
}

impl Pool {
    /// A pool in which `threads` work, the caller of [`Pool::run`] being one of them: 0 and 1 start
    /// no thread, and more than [`MOST_THREADS`] count as that many. Where the system refuses a
    /// thread the pool has fewer.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared {
            state: AtomicU64::new(0),
            job: UnsafeCell::new(Job {
                call: |_, _| (),
                data: std::ptr::null(),
                tasks: 0,
            }),
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            asleep: AtomicUsize::new(0),
            panic: Mutex::new(None),
        });
        let workers = (1..threads.min(MOST_THREADS))
            .map_while(|index| {
                let shared = Arc::clone(&shared);
                let named = thread::Builder::new().name(format!("kernels-{index}"));
                named.spawn(move || shared.work()).ok()
            })
            .collect();
        Self {
            shared,
            turn: Mutex::new(()),
            workers,
        }
    }

    /// Threads that work, the caller among them; at least 1.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Calls `task` once for each index below `tasks`, on any of the threads and in any order, and
    /// returns when all calls have returned.
    ///
    /// If another thread is running a job at this moment, or a task calls this, then the caller
    /// does the work alone.
    ///
    /// # Panics
    /// Continues the panic of a task. Tasks that had not begun by then may not run.
    pub fn run<F: Fn(usize) + Sync>(&self, tasks: usize, task: F) {
        let turn = (tasks > 1 && !self.workers.is_empty())
            .then(|| self.turn.try_lock())
            .flatten();
        let Some(_turn) = turn else {
            return (0..tasks).for_each(task);
        };
        self.publish(&task, tasks);
        let mine = catch_unwind(AssertUnwindSafe(|| self.shared.take(tasks, &task)));
        if mine.is_err() {
            self.shared.next.store(tasks, Ordering::Relaxed);
        }
        self.close();
        let theirs = self.shared.panic.lock().take();
        if let Some(panic) = mine.err().or(theirs) {
            resume_unwind(panic);
        }
    }

    fn publish<F: Fn(usize) + Sync>(&self, task: &F, tasks: usize) {
        let job = Job {
            call: call::<F>,
            data: std::ptr::from_ref(task).cast(),
            tasks,
        };
        // SAFETY: this thread has the turn, the job before is closed and all have left it.
        #[expect(unsafe_code, reason = "a job is lent to the workers")]
        unsafe {
            *self.shared.job.get() = job;
        }
        self.shared.next.store(0, Ordering::Relaxed);
        let epoch = self.shared.state.load(Ordering::Relaxed) & !(EPOCH - 1);
        let state = epoch.wrapping_add(EPOCH) | OPEN;
        // Sequentially consistent with `asleep`: a worker that does not see this job is counted
        // there, and is woken.
        self.shared.state.store(state, Ordering::SeqCst);
        if self.shared.asleep.load(Ordering::SeqCst) > 0 {
            self.wake();
        }
    }

    fn wake(&self) {
        for worker in &self.workers {
            worker.thread().unpark();
        }
    }

    /// Lets nobody else in and waits for those that are.
    fn close(&self) {
        self.shared.state.fetch_and(!OPEN, Ordering::SeqCst);
        let mut looks = 0;
        while self.shared.state.load(Ordering::Acquire) & JOINED > 0 {
            looks += 1;
            if looks > CALLER_LOOKS {
                thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.wake();
        for worker in self.workers.drain(..) {
            // A worker catches what its tasks throw, so there is nothing to learn here.
            drop(worker.join());
        }
    }
}

/// Gives the forgotten type back.
fn call<F: Fn(usize) + Sync>(data: *const (), task: usize) {
    // SAFETY: `data` is the `&F` that was published with this function; its owner waits in
    // `Pool::run` until every worker has left the job.
    #[expect(unsafe_code, reason = "a job is lent to the workers")]
    let job = unsafe { &*data.cast::<F>() };
    job(task);
}

impl Shared {
    fn work(&self) {
        let mut seen = 0;
        while let Some(state) = self.wait(seen) {
            seen = state & !(EPOCH - 1);
            if !self.join(state) {
                continue;
            }
            // SAFETY: joined while the job was open: it is published, and stays as it is until
            // this thread has left.
            #[expect(unsafe_code, reason = "a job is lent to the workers")]
            let job = unsafe { *self.job.get() };
            let done = catch_unwind(AssertUnwindSafe(|| {
                self.take(job.tasks, &|task| (job.call)(job.data, task));
            }));
            if let Err(panic) = done {
                self.next.store(job.tasks, Ordering::Relaxed);
                self.panic.lock().get_or_insert(panic);
            }
            self.state.fetch_sub(1, Ordering::Release);
        }
    }

    /// Waits for an open job after `seen`; none when the pool ends.
    fn wait(&self, seen: u64) -> Option<u64> {
        let new = || {
            let state = self.state.load(Ordering::SeqCst);
            (state & OPEN > 0 && state & !(EPOCH - 1) != seen).then_some(state)
        };
        loop {
            for _ in 0..LOOKS {
                if let Some(state) = new() {
                    return Some(state);
                }
                if self.stop.load(Ordering::Relaxed) {
                    return None;
                }
                std::hint::spin_loop();
            }
            self.asleep.fetch_add(1, Ordering::SeqCst);
            while new().is_none() && !self.stop.load(Ordering::SeqCst) {
                thread::park();
            }
            self.asleep.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Enters the job of `state` if it is still open.
    fn join(&self, mut state: u64) -> bool {
        let epoch = state & !(EPOCH - 1);
        while state & OPEN > 0 && state & !(EPOCH - 1) == epoch {
            match self.state.compare_exchange_weak(
                state,
                state + 1,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Runs tasks until none is left.
    fn take(&self, tasks: usize, task: &impl Fn(usize)) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= tasks {
                return;
            }
            task(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(pool: &Pool, tasks: usize) -> Vec<usize> {
        let calls: Vec<AtomicUsize> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
        pool.run(tasks, |task| {
            calls[task].fetch_add(1, Ordering::Relaxed);
        });
        calls.into_iter().map(AtomicUsize::into_inner).collect()
    }

    #[test]
    fn every_task_of_many_small_jobs_runs_once() {
        for threads in [0, 1, 2, 3, 8] {
            let pool = Pool::new(threads);
            assert_eq!(pool.threads(), threads.max(1));
            for job in 0..20_000 {
                let tasks = job % 17;
                assert_eq!(count(&pool, tasks), vec![1; tasks], "job {job}");
            }
        }
    }

    #[test]
    fn workers_that_fell_asleep_wake_up() {
        let pool = Pool::new(3);
        for _ in 0..20 {
            while pool.shared.asleep.load(Ordering::SeqCst) < 2 {
                thread::yield_now();
            }
            // Each task waits for another one: the caller alone would never end this.
            let barrier = std::sync::Barrier::new(3);
            pool.run(3, |_| {
                barrier.wait();
            });
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_goes_on() {
        let pool = Pool::new(4);
        for job in 0..2_000_usize {
            let bad = job % 9;
            let ended = catch_unwind(AssertUnwindSafe(|| {
                pool.run(9, |task| {
                    if task == bad {
                        resume_unwind(Box::new(task));
                    }
                });
            }));
            assert_eq!(ended.unwrap_err().downcast_ref(), Some(&bad));
            assert_eq!(count(&pool, 8), vec![1; 8]);
        }
    }

    #[test]
    fn callers_at_once_and_tasks_that_call_do_not_wait_for_each_other() {
        let pool = Pool::new(3);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for tasks in 0..500 {
                        assert_eq!(count(&pool, tasks % 23), vec![1; tasks % 23]);
                    }
                });
            }
        });
        let calls = AtomicUsize::new(0);
        pool.run(5, |_| {
            pool.run(7, |_| {
                calls.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert_eq!(calls.into_inner(), 35);
    }
}
