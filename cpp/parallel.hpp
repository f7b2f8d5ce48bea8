// A small blocking thread pool: no OpenMP, no spinning, safe after fork and under concurrent calls.
//
// parallel_for(n, threads, f) calls f(i) once for each i in [0, n) on at most `threads` threads,
// the caller among them. Tasks are handed out in increasing order, so whatever a task computes must
// depend on its index alone; then every thread count gives the same bits. If tasks throw, the
// exception of the lowest index is rethrown: tasks below it have all been started before it, and
// they finish.
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
        std::atomic<bool> stopped{false};
        std::mutex mutex;
        std::condition_variable finished;
        std::size_t n_done = 0;
        std::size_t failed = std::numeric_limits<std::size_t>::max();
        std::exception_ptr error;

        Job(const std::function<void(std::size_t)>& f, std::size_t n) : task(f), n_tasks(n) {}

        // The task itself lives on the caller's stack: it is touched only for indices below
        // n_tasks, and the caller leaves only after n_tasks of them are done.
        void work(void (*between)()) {
            for (std::size_t i; (i = next.fetch_add(1)) < n_tasks;) {
                std::exception_ptr thrown;
                if (!stopped.load(std::memory_order_relaxed)) {
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
                    stopped = true;
                }
                if (++n_done == n_tasks) finished.notify_all();
            }
        }
    };

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
        if (helpers > 0) {
            std::lock_guard lock(mutex_);
            for (; n_workers_ < helpers; ++n_workers_) std::thread([this] { serve(); }).detach();
            for (int i = 0; i < helpers; ++i) queue_.push_back(job);
            wake_.notify_all();
        }
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
