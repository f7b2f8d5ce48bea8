// A small blocking thread pool: no OpenMP, no spinning, safe after fork and under concurrent calls.
//
// parallel_for(n, threads, f) calls f(i) once for each i in [0, n) on at most `threads` threads,
// the caller among them. Tasks are handed out in increasing order, so whatever a task computes must
// depend on its index alone; then every thread count gives the same bits. If tasks throw, the
// exception of the lowest index is rethrown: a task is left out only after one below it has thrown,
// so those below the lowest have all run.
//
// There are at most kPerCore threads for each core, whatever is asked for. Where the system gives
// fewer, or no memory for the queue, those that there are do the work, if need be the caller alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace rankwright {

// Called by the thread that called parallel_for, between tasks; throws to stop (Ctrl-C).
inline std::atomic<void (*)()> checkpoint{nullptr};

class Pool {
    struct Job {
        const std::function<void(std::size_t)>& task;
        const std::size_t n_tasks;
        std::atomic<std::size_t> next{0};
        std::atomic<std::size_t> failed{std::numeric_limits<std::size_t>::max()};  // the lowest
        std::mutex mutex;
        std::condition_variable finished;
        std::size_t n_done = 0;
        std::exception_ptr error;

        Job(const std::function<void(std::size_t)>& f, std::size_t n) : task(f), n_tasks(n) {}

        // The task itself lives on the caller's stack: it is touched only for indices below
        // n_tasks, and the caller leaves only after n_tasks of them are done.
        void work(void (*between)()) {
            for (std::size_t i; (i = next.fetch_add(1)) < n_tasks;) {
                std::exception_ptr thrown;
                if (i < failed.load(std::memory_order_relaxed)) {
                    try {
                        if (between) between();
                        task(i);
                    } catch (...) {
                        thrown = std::current_exception();
                    }
                }
                std::lock_guard lock(mutex);
                if (thrown && i < failed) {
                    failed = i;
                    error = std::move(thrown);
                }
                if (++n_done == n_tasks) finished.notify_all();
            }
        }
    };

    static constexpr int kPerCore = 4;
    // Counted when the module is loaded: a forked child must not find the count half done.
    inline static const int kMost =
        kPerCore * std::max(1, static_cast<int>(std::thread::hardware_concurrency()));

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<std::shared_ptr<Job>> queue_;
    int n_workers_ = 0;

    void serve() {
        for (;;) {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [this] { return !queue_.empty(); });
            auto job = std::move(queue_.front());
            queue_.pop_front();
            lock.unlock();
            job->work(nullptr);
        }
    }

    // Puts a job into the queue once for each thread that may help with it. From the first time on
    // its task may be running, so nothing may be thrown here.
    void offer(const std::shared_ptr<Job>& job, int helpers) noexcept {
        std::lock_guard lock(mutex_);
        helpers = std::min(helpers, kMost - 1);
        try {
            for (; n_workers_ < helpers; ++n_workers_) std::thread([this] { serve(); }).detach();
        } catch (const std::exception&) {  // no more threads
        }
        try {
            for (int i = std::min(helpers, n_workers_); i > 0; --i) queue_.push_back(job);
        } catch (const std::bad_alloc&) {
        }
        wake_.notify_all();
    }

    // Never destroyed: its threads sleep until the process ends. A forked child has none of them,
    // and perhaps a locked mutex, so it starts over with a fresh pool.
    static Pool*& slot() {
        static Pool* pool = [] {
#if !defined(_WIN32)
            pthread_atfork(nullptr, nullptr, [] { slot() = new Pool; });
#endif
            return new Pool;
        }();
        return pool;
    }

  public:
    static Pool& instance() { return *slot(); }

    void run(std::size_t n_tasks, int n_threads, const std::function<void(std::size_t)>& task) {
        auto job = std::make_shared<Job>(task, n_tasks);
        const int helpers = static_cast<int>(std::min<std::size_t>(n_threads, n_tasks)) - 1;
        if (helpers > 0) offer(job, helpers);
        job->work(checkpoint.load());
        std::unique_lock lock(job->mutex);
        job->finished.wait(lock, [&] { return job->n_done == n_tasks; });
        // Moved: a worker that is late to let go of the job must not be the one to destroy it.
        if (job->error) std::rethrow_exception(std::move(job->error));
    }
};

template <class Task>
void parallel_for(std::size_t n_tasks, int n_threads, Task&& task) {
    if (n_tasks > 0) Pool::instance().run(n_tasks, n_threads, std::ref(task));
}

}  // namespace rankwright
