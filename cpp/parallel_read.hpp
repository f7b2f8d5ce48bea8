// Reading a piece of a file by several threads: copying it from the page cache costs as much as a
// fifth of parsing it.
#pragma once

#if !defined(_WIN32)

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "parallel.hpp"

namespace rankwright {

// Copies up to n bytes from `offset` on; returns how many there are: fewer only where the file
// ends.
inline std::int64_t read_at(int fd, std::int64_t offset, char* out, std::int64_t n, int n_threads) {
    constexpr std::int64_t step = 1 << 18;
    std::atomic<std::int64_t> end = n;
    parallel_for((n + step - 1) / step, n_threads, [&](std::size_t i) {
        std::int64_t at = static_cast<std::int64_t>(i) * step;
        const std::int64_t stop = std::min(at + step, n);
        while (at < stop) {
            const ssize_t got = ::pread(fd, out + at, stop - at, offset + at);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) throw std::system_error(errno, std::generic_category());
            if (got == 0) break;
            at += got;
        }
        // What lies behind the first gap is of another moment, if the file shrinks meanwhile.
        std::int64_t known = end;
        while (at < stop && at < known && !end.compare_exchange_weak(known, at)) {
        }
    });
    return end;
}

}  // namespace rankwright

#endif
