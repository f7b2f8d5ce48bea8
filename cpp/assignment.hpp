// Linear assignment by shortest augmenting paths: a permutation with the smallest total cost.
//
// Rows enter one after another. Each search is Dijkstra's over the columns with reduced costs
// c(i, j) - u(i) - v(j) >= 0, and the duals u, v keep them so. O(n^3), O(n) memory beside the
// costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "parallel.hpp"

namespace rankwright {

// `cost` is n x n by rows; column_of[i] becomes the column of row i. Any v is a start; the closer
// to the duals of the columns, the fewer searches are left.
inline void assign(const double* cost, std::size_t n, std::vector<double> v,
                   std::int32_t* column_of) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    constexpr std::int32_t none = -1;
    std::vector<double> u(n), distance(n);
    std::vector<std::int32_t> row_of(n, none), previous(n), open(n), closed(n);
    std::fill_n(column_of, n, none);

    // Each row reduced to its smallest cost, whose column it takes while that is free.
    for (std::size_t i = 0; i < n; ++i) {
        const double* costs = cost + i * n;
        std::size_t at = 0;
        u[i] = inf;
        for (std::size_t j = 0; j < n; ++j) {
            const double reduced = costs[j] - v[j];
            if (reduced < u[i]) {
                u[i] = reduced;
                at = j;
            }
        }
        if (row_of[at] != none) continue;
        row_of[at] = static_cast<std::int32_t>(i);
        column_of[i] = static_cast<std::int32_t>(at);
    }

    for (std::size_t start = 0; start < n; ++start) {
        if (column_of[start] != none) continue;
        if (auto* between = checkpoint.load()) between();
        for (std::size_t j = 0; j < n; ++j) {
            distance[j] = inf;
            open[j] = static_cast<std::int32_t>(j);
        }
        std::size_t n_open = n, n_closed = 0;
        std::int32_t row = static_cast<std::int32_t>(start), sink = none;
        double reached = 0;
        while (sink == none) {
            const double* costs = cost + static_cast<std::size_t>(row) * n;
            const double offset = reached - u[row];
            double best = inf;
            std::size_t at = 0;
            for (std::size_t k = 0; k < n_open; ++k) {
                const std::int32_t j = open[k];
                const double through = offset + (costs[j] - v[j]);
                if (through < distance[j]) {
                    distance[j] = through;
                    previous[j] = row;
                }
                // Among equal distances a free column ends the search.
                if (distance[j] < best || (distance[j] == best && row_of[j] == none)) {
                    best = distance[j];
                    at = k;
                }
            }
            reached = best;
            const std::int32_t j = open[at];
            open[at] = open[--n_open];
            closed[n_closed++] = j;
            if (row_of[j] == none) {
                sink = j;
            } else {
                row = row_of[j];
            }
        }
        u[start] += reached;
        for (std::size_t k = 0; k + 1 < n_closed; ++k) {  // all but the sink, whose slack is 0
            const std::int32_t j = closed[k];
            u[row_of[j]] += reached - distance[j];
            v[j] -= reached - distance[j];
        }
        for (std::int32_t j = sink;;) {
            const std::int32_t i = previous[j];
            row_of[j] = i;
            std::swap(column_of[i], j);
            if (i == static_cast<std::int32_t>(start)) break;
        }
    }
}

}  // namespace rankwright
