// Loss-augmented argmax for rankings: similarity to the scores minus DCG at its largest.
//
//     max over permutations pi of  sum_i t_i f(pi_i) - G_i D(pi_i)
//
// t are scores, G gains (over the best DCG), f the representation (over its length), strictly
// decreasing, D the discount, non-increasing; pi_i from 0. Inside one grade (equal gains) the order
// by t is optimal, so only the merge of the sorted grades is to be found. Routes, in the order in
// which they are tried:
//
//   sort     one grade, or f = a D + b: the cost has rank one, sort by a t_i - G_i     O(m log m)
//   pool     two grades, linear f, convex D: each row concave, pool adjacent violators O(m log m)
//   rows     two grades, any f: rows of how many of each grade are placed              O(r (m - r))
//   assign   everything else: an assignment problem                                    O(m^3)
//
// Ties prefer the larger loss, that is, lower gains first.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "assignment.hpp"

namespace rankwright {

enum class Route { automatic, sort, pool, rows, assign };

// What is known about f and D once and for all; both have a value for each position.
struct PositionTables {
    std::span<const double> f, discount;
    bool affine = false;  // f = a D + b
    double slope = 0;     // that a
    bool linear = false;  // f falls by the same amount at each position
    bool convex = false;  // D falls by less and less

    PositionTables(std::span<const double> f_, std::span<const double> discount_)
        : f(f_), discount(discount_) {
        const std::size_t n = f.size();
        if (n < 2) return;
        const double step = f[0] - f[1], fall = discount[0] - discount[1];
        linear = convex = true;
        slope = fall > 0 ? step / fall : 0;
        affine = fall > 0;
        const double offset = f[0] - slope * discount[0];
        for (std::size_t p = 0; p < n; ++p) {
            const double size = std::abs(f[p]) + std::abs(f[0]);
            affine = affine && std::abs(slope * discount[p] + offset - f[p]) <= 1e-13 * size;
            linear =
                linear && std::abs(f[0] - step * static_cast<double>(p) - f[p]) <= 1e-13 * size;
            if (p >= 2) {
                const double before = discount[p - 2] - discount[p - 1];
                convex = convex && discount[p - 1] - discount[p] <= before;
            }
        }
    }
};

class RankingArgmax {
    const PositionTables& tables_;
    const double scale_;  // f(p) is tables_.f[p] * scale_
    std::span<const double> t_, gains_;
    const double gain_scale_;
    std::vector<std::int32_t> order_;    // documents by decreasing gain, then decreasing score
    std::vector<std::size_t> first_of_;  // where each grade begins in order_, and one end
    std::int32_t* position_;

    double f(std::size_t p) const { return tables_.f[p] * scale_; }
    double gain(std::size_t i) const { return gains_[i] * gain_scale_; }
    std::size_t n_grades() const { return first_of_.size() - 1; }
    std::size_t size_of(std::size_t grade) const { return first_of_[grade + 1] - first_of_[grade]; }

    void place(const std::vector<std::int32_t>& order) {
        for (std::size_t p = 0; p < order.size(); ++p)
            position_[order[p]] = static_cast<std::int32_t>(p);
    }

    void sort_by_key() {
        const double slope = n_grades() == 1 ? 1.0 : tables_.slope * scale_;
        std::vector<double> key(t_.size());
        for (std::size_t i = 0; i < key.size(); ++i)
            key[i] = slope * t_[i] - (n_grades() == 1 ? 0.0 : gain(i));
        std::sort(order_.begin(), order_.end(), [&](auto a, auto b) {
            if (key[a] != key[b]) return key[a] > key[b];
            return gains_[a] != gains_[b] ? gains_[a] < gains_[b] : a < b;
        });
        place(order_);
    }

    // c_i = number of the lower grade above document i of the higher one, nondecreasing in i.
    // Exchanging i with the j-th of the lower grade gains
    //     Delta(i, j) = (t_i - t_j) (f(p) - f(p + 1)) - g (D(p) - D(p + 1)),  p = i + j,
    // which rises with j if f is linear and D convex; for a block of i the sum telescopes.
    void pool() {
        const std::size_t r = first_of_[1], s = order_.size() - r;
        const double fall = f(0) - f(1);
        const double g = gain(order_[0]) - gain(order_[r]);
        std::vector<double> sum(r + 1, 0.0);
        for (std::size_t i = 0; i < r; ++i) sum[i + 1] = sum[i] + t_[order_[i]];
        const auto block_gain = [&](std::size_t first, std::size_t last, std::size_t j) {
            const double n = static_cast<double>(last - first);
            return (sum[last] - sum[first] - n * t_[order_[r + j]]) * fall -
                   g * (tables_.discount[first + j] - tables_.discount[last + j]);
        };
        struct Block {
            std::size_t first, last, above;
        };
        const auto best = [&](std::size_t first, std::size_t last) {
            std::size_t low = 0, high = s;  // how many j have block_gain <= 0
            while (low < high) {
                const std::size_t middle = (low + high) / 2;
                if (block_gain(first, last, middle) <= 0)
                    low = middle + 1;
                else
                    high = middle;
            }
            return Block{first, last, low};
        };
        std::vector<Block> blocks;
        for (std::size_t i = 0; i < r; ++i) {
            Block block = best(i, i + 1);
            while (!blocks.empty() && blocks.back().above > block.above) {
                block = best(blocks.back().first, block.last);
                blocks.pop_back();
            }
            blocks.push_back(block);
        }
        std::vector<std::uint8_t> taken(order_.size(), 0);
        for (const Block& block : blocks) {
            for (std::size_t i = block.first; i < block.last; ++i) {
                position_[order_[i]] = static_cast<std::int32_t>(i + block.above);
                taken[i + block.above] = 1;
            }
        }
        std::size_t p = 0;
        for (std::size_t j = r; j < order_.size(); ++j, ++p) {
            while (taken[p]) ++p;
            position_[order_[j]] = static_cast<std::int32_t>(p);
        }
    }

    // value[i] = best value of the first p positions if i of them hold the smaller grade. Within a
    // position all i are independent, so the loop over them is one of vectors.
    void rows() {
        const std::size_t m = order_.size(), r = first_of_[1];
        const bool higher_is_small = 2 * r <= m, prefer_small = !higher_is_small;
        const std::int32_t* small = order_.data() + (higher_is_small ? 0 : r);
        const std::int32_t* large = order_.data() + (higher_is_small ? r : 0);
        const std::size_t a = std::min(r, m - r), b = m - a;
        if (static_cast<double>(m) * static_cast<double>(a + 1) > 2e9) {
            throw std::invalid_argument(
                "the loss-augmented argmax of a query this long needs representation 'dcg' or "
                "'-i', or mode 'predicted' or 'loss_driven'");
        }
        const double g_small = gain(small[0]), g_large = gain(large[0]);
        constexpr double lowest = -std::numeric_limits<double>::infinity();
        // t of the large grade in reverse, so that the entry for i moves forward with i.
        std::vector<double> t_small(a + 1), t_large(b), value(a + 2, lowest), next(a + 2, lowest);
        for (std::size_t i = 0; i < a; ++i) t_small[i + 1] = t_[small[i]];
        for (std::size_t j = 0; j < b; ++j) t_large[b - 1 - j] = t_[large[j]];
        std::vector<std::uint8_t> took_small(m * (a + 1));
        value[1] = 0;  // entry i is at i + 1
        for (std::size_t p = 0; p < m; ++p) {
            const double fp = f(p), add_small = -g_small * tables_.discount[p],
                         add_large = -g_large * tables_.discount[p];
            const std::size_t low = p >= b ? p + 1 - b : 0, high = std::min(a, p + 1);
            std::uint8_t* took = took_small.data() + p * (a + 1);
            const double* old = value.data() + 1;
            // Document p - i of the large grade is entry b - 1 - p + i.
            const double* t_other = t_large.data() + b - 1 - p;
            const auto settle = [&](std::size_t i, double with_small, double with_large) {
                // On a tie the lower gain comes first.
                const bool take = prefer_small ? with_small >= with_large : with_small > with_large;
                took[i] = take;
                next[i + 1] = take ? with_small : with_large;
            };
            std::size_t i = low;
            if (i == 0) settle(i++, lowest, old[0] + t_other[0] * fp + add_large);
            const std::size_t both = std::min(a, p);
            for (; i <= both; ++i) {
                settle(i, old[i - 1] + t_small[i] * fp + add_small,
                       old[i] + t_other[i] * fp + add_large);
            }
            if (i == p + 1 && i <= high) settle(i, old[p] + t_small[i] * fp + add_small, lowest);
            if (low > 0) next[low] = lowest;
            std::swap(value, next);
        }
        std::size_t i = a;
        for (std::size_t p = m; p-- > 0;) {
            if (took_small[p * (a + 1) + i]) {
                position_[small[--i]] = static_cast<std::int32_t>(p);
            } else {
                position_[large[p - i]] = static_cast<std::int32_t>(p);
            }
        }
    }

    // A ranking that no exchange of neighbours improves gives duals close to the optimal ones: from
    // one position to the next they change by what the two documents there would pay on average.
    void assignment() {
        const std::size_t m = order_.size();
        const double fall = tables_.discount[0] - tables_.discount[m - 1];
        const double slope = fall > 0 ? (f(0) - f(m - 1)) / fall : 1;
        std::sort(order_.begin(), order_.end(), [&](auto a, auto b) {
            return slope * t_[a] - gain(a) > slope * t_[b] - gain(b);
        });
        const auto step = [&](std::int32_t document, std::size_t p) {  // cost of p + 1 over p
            return gain(document) * (tables_.discount[p + 1] - tables_.discount[p]) -
                   t_[document] * (f(p + 1) - f(p));
        };
        for (std::size_t pass = 0, moved = 1; moved > 0 && pass < m; ++pass) {
            moved = 0;
            for (std::size_t p = 0; p + 1 < m; ++p) {
                if (step(order_[p], p) < step(order_[p + 1], p)) {
                    std::swap(order_[p], order_[p + 1]);
                    ++moved;
                }
            }
        }
        std::vector<double> cost(m * m), v(m, 0.0);
        for (std::size_t p = 0; p + 1 < m; ++p)
            v[p + 1] = v[p] + (step(order_[p], p) + step(order_[p + 1], p)) / 2;
        for (std::size_t i = 0; i < m; ++i) {
            const double t = t_[order_[i]], g = gain(order_[i]);
            for (std::size_t p = 0; p < m; ++p)
                cost[i * m + p] = g * tables_.discount[p] - t * f(p);
        }
        std::vector<std::int32_t> column(m);
        assign(cost.data(), m, std::move(v), column.data());
        for (std::size_t i = 0; i < m; ++i) position_[order_[i]] = column[i];
    }

  public:
    RankingArgmax(const PositionTables& tables, double scale, std::span<const double> t,
                  std::span<const double> gains, double gain_scale, std::int32_t* position)
        : tables_(tables),
          scale_(scale),
          t_(t),
          gains_(gains),
          gain_scale_(gain_scale),
          order_(t.size()),
          position_(position) {
        std::iota(order_.begin(), order_.end(), 0);
        std::sort(order_.begin(), order_.end(), [&](auto x, auto y) {
            if (gains_[x] != gains_[y]) return gains_[x] > gains_[y];
            return t_[x] != t_[y] ? t_[x] > t_[y] : x < y;
        });
        for (std::size_t i = 0; i < order_.size(); ++i) {
            if (i == 0 || gains_[order_[i]] != gains_[order_[i - 1]]) first_of_.push_back(i);
        }
        first_of_.push_back(order_.size());
    }

    Route chosen() const {
        if (order_.size() < 2 || n_grades() == 1 || tables_.affine) return Route::sort;
        if (n_grades() == 2) {
            return tables_.linear && tables_.convex ? Route::pool : Route::rows;
        }
        return Route::assign;
    }

    // Another route than the chosen one serves to compare; it must be one that is exact here.
    void run(Route route = Route::automatic) {
        if (route == Route::automatic) route = chosen();
        if (order_.empty()) return;
        const bool two = n_grades() == 2;
        const bool exact = route == Route::assign || (route == Route::rows && two) ||
                           (route == Route::pool && two && tables_.linear && tables_.convex) ||
                           (route == Route::sort && (n_grades() == 1 || tables_.affine));
        if (!exact) throw std::invalid_argument("this route is not exact for these labels");
        switch (route) {
            case Route::sort: return sort_by_key();
            case Route::pool: return pool();
            case Route::rows: return rows();
            default: return assignment();
        }
    }
};

inline Route parse_route(std::string_view name) {
    constexpr std::string_view names[] = {"auto", "sort", "pool", "rows", "assign"};
    for (std::size_t i = 0; i < std::size(names); ++i) {
        if (names[i] == name) return static_cast<Route>(i);
    }
    throw std::invalid_argument("route must be auto, sort, pool, rows or assign");
}

inline std::string_view route_name(Route route) {
    constexpr std::string_view names[] = {"auto", "sort", "pool", "rows", "assign"};
    return names[static_cast<std::size_t>(route)];
}

}  // namespace rankwright
