// The compiled module. Only this file and bind_*.cpp know Python: arrays in, arrays out, GIL
// released in between.

#include <chrono>

#include "parallel.hpp"
#include "python.hpp"

namespace rankwright {

namespace {

// Ctrl-C: looks at pending signals about ten times a second.
void check_signals() {
    using clock = std::chrono::steady_clock;
    static thread_local clock::time_point last = clock::now();
    const auto now = clock::now();
    if (now - last < std::chrono::milliseconds(100)) return;
    last = now;
    WithGil python;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

}  // namespace rankwright

NB_MODULE(_kernels, m) {
    m.doc() = "Native kernels. Arguments are checked for shape only; see the Python callers.";
#if defined(NDEBUG)
    // Objects that outlive the interpreter, in a daemon thread for instance, are no news to users.
    rankwright::nb::set_leak_warnings(false);
#endif
    rankwright::checkpoint = rankwright::check_signals;
    rankwright::bind_letor(m);
    rankwright::bind_products(m);
    rankwright::bind_forest(m);
    rankwright::bind_metrics(m);
    rankwright::bind_losses(m);
    rankwright::bind_solvers(m);
    rankwright::bind_online(m);
    rankwright::bind_problems(m);
}
