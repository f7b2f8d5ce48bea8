// What the bind_*.cpp files share: array types, and results that Python owns.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string_view.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <thread>

#include "weights.hpp"

namespace rankwright {

namespace nb = nanobind;
using namespace nb::literals;

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using InMatrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using OutMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Result = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;

template <class T>
std::span<const T> view(const In<T>& array) {
    return {array.data(), array.size()};
}

// The kernels trust their callers; these keep a wrong call from the Python side out of memory.
inline void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

// Calls `use` with the weights of the rows; none are given as an empty array.
template <class Use>
auto with_weights(const In<double>& weights, std::size_t n_rows, const Use& use) {
    if (weights.size() == 0) return use(Unweighted());
    require(weights.size() == n_rows, "weights must have a value for each row");
    return use(view(weights));
}

// Takes Python's lock by a call of its API. Python ends threads that ask for it when it has ended
// itself, by unwinding their stacks; some functions here let nothing pass, and the process would
// abort. Such a thread waits for the end instead.
template <class Take>
auto come_back(Take&& take) {
    try {
        return take();
    } catch (...) {
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

// Lets other threads of Python run while it lives.
class WithoutGil {
    PyThreadState* const state_ = PyEval_SaveThread();

  public:
    WithoutGil() = default;
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;
    ~WithoutGil() {
        come_back([this] { PyEval_RestoreThread(state_); });
    }
};

// May call Python while it lives.
class WithGil {
    const PyGILState_STATE state_ = come_back([] { return PyGILState_Ensure(); });

  public:
    WithGil() = default;
    WithGil(const WithGil&) = delete;
    WithGil& operator=(const WithGil&) = delete;
    ~WithGil() { PyGILState_Release(state_); }
};

template <class T, class Fill>
Result<T> make_array(std::size_t size, Fill&& fill) {
    auto* data = new T[size];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    {
        WithoutGil others_run;
        fill(data);
    }
    return Result<T>(data, {size}, owner);
}

void bind_letor(nb::module_& m);
void bind_metrics(nb::module_& m);
void bind_losses(nb::module_& m);
void bind_solvers(nb::module_& m);
void bind_online(nb::module_& m);
void bind_problems(nb::module_& m);
void bind_products(nb::module_& m);
void bind_forest(nb::module_& m);

}  // namespace rankwright
