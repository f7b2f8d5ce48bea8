// The thread pool when things go wrong: pool CHECK
//
// - preempted: a thread that stops at any place, even between taking a task and starting it, keeps
//   the promise about exceptions;
// - memory: without memory for its queue, the pool makes do with fewer threads, and no task runs
//   when parallel_for has been left;
// - threads: if the system gives no more threads, those that there are do the work;
// - most: however many are asked for, there are at most four for each core.

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "parallel.hpp"

using namespace rankwright;

namespace {

std::atomic<int> n_created{0}, n_allowed{1 << 20};  // threads
thread_local int n_new = 1 << 30;                   // allocations that still succeed
volatile sig_atomic_t n_pauses = 0;

void require(bool holds, const char* rule) {
    if (holds) return;
    std::fprintf(stderr, "violated: %s\n", rule);
    std::_Exit(1);
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) noexcept {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    if (n_created >= n_allowed) return EAGAIN;
    ++n_created;
    return create(thread, attributes, start, argument);
}

void* operator new(std::size_t size) {
    void* place = n_new-- > 0 ? std::malloc(size) : nullptr;
    if (!place) throw std::bad_alloc();
    return place;
}
[[gnu::noinline]] void operator delete(void* place) noexcept { std::free(place); }
[[gnu::noinline]] void operator delete(void* place, std::size_t) noexcept { std::free(place); }

namespace {

void check_preempted() {
    constexpr std::size_t n_tasks = 64;
    parallel_for(4, 4, [](std::size_t) {});  // its threads inherit that nothing is to be handled
    struct sigaction action = {};
    action.sa_handler = [](int) {
        const int before = errno;
        const timespec pause{0, 1'000'000};
        nanosleep(&pause, nullptr);
        n_pauses = n_pauses + 1;
        errno = before;
    };
    sigaction(SIGALRM, &action, nullptr);
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
    const itimerval often{{0, 2000}, {0, 2000}};
    setitimer(ITIMER_REAL, &often, nullptr);
    while (n_pauses < 1500) {
        std::vector<char> done(n_tasks);
        try {
            parallel_for(n_tasks, 4, [&](std::size_t i) {
                if (i >= n_tasks - 2) throw std::runtime_error(std::to_string(i));
                done[i] = 1;
            });
            require(false, "an exception is rethrown");
        } catch (const std::runtime_error& error) {
            require(error.what() == std::to_string(n_tasks - 2),
                    "the lowest exception is heard of");
        }
        for (std::size_t i = 0; i < n_tasks - 2; ++i) require(done[i], "tasks below it have run");
    }
}

void check_memory() {
    parallel_for(8, 8, [](std::size_t) {});  // the threads are there
    std::atomic<int> inside{0};
    for (int round = 0; round < 5000; ++round) {
        std::atomic<int> n_run{0};
        inside = round;
        const auto task = [&, round](std::size_t) {
            require(inside == round, "no task runs when parallel_for has been left");
            for (int i = 0; i < 200; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
            ++n_run;
        };
        n_new = 1;  // the job itself
        try {
            parallel_for(500, 8, task);
        } catch (const std::bad_alloc&) {
            require(false, "the caller can do without a queue");
        }
        n_new = 1 << 30;
        inside = -1;
        require(n_run == 500, "every task runs");
    }
}

void check_threads() {
    for (const int allowed : {0, 1, 3}) {
        n_allowed = allowed;
        for (int round = 0; round < 100; ++round) {
            std::atomic<int> n_run{0};
            parallel_for(100, 8, [&](std::size_t) { ++n_run; });
            require(n_run == 100, "every task runs");
        }
        require(n_created == allowed, "there are as many threads as there can be");
    }
}

void check_most() {
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    for (int round = 0; round < 3; ++round) {
        std::atomic<int> n_run{0};
        parallel_for(10'000, 1024, [&](std::size_t) { ++n_run; });
        require(n_run == 10'000, "every task runs");
    }
    require(n_created < 4 * cores, "there are at most four threads for each core");
}

}  // namespace

int main(int n_arguments, char** arguments) {
    const std::string_view check = n_arguments == 2 ? arguments[1] : "";
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, nullptr);
    if (check == "preempted")
        check_preempted();
    else if (check == "memory")
        check_memory();
    else if (check == "threads")
        check_threads();
    else if (check == "most")
        check_most();
    else
        return 2;
    std::printf("%s: nothing violated\n", arguments[1]);
}
