// Gains that fade with repetition: the c-th document about a subtopic adds (1 - alpha)^(c-1).
//
// alpha-DCG and ERR-IA are sums over subtopics t and ranks r of D(r) [document r covers t]
// (1 - alpha)^(documents before it that cover t). Subtopics do not see each other, so that the mean
// over the orders of tied documents is taken one subtopic and one block at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace rankwright {

// Of a block of n tied documents from rank `begin` on (from 0), `covering` of them about the
// subtopic and `before` such documents above the block:
//
//     sum_j D(begin + j) covering/n (1 - alpha)^before f(j),   f(j) = E[(1 - alpha)^H],
//
// H being how many of K = covering - 1 are among j drawn from N = n - 1. With that hypergeometric
// H, f(j) = 2F1(-j, -K; -N; alpha), for which Gauss' relation between neighbours is
//
//     (N - j) f(j+1) = (N - 2j - (K - j) alpha) f(j) + j (1 - alpha) f(j-1).
//
// Upwards it damps errors while the factor of f(j) is positive, downwards from f(N) where it is
// negative: each half is computed in its direction.
class NoveltyGain {
    std::span<const double> discount_;
    double alpha_;
    std::vector<double> f_;

    void fade(std::size_t n, std::size_t covering, std::size_t wanted) {
        const double N = static_cast<double>(n - 1), K = static_cast<double>(covering - 1);
        const double keep = 1 - alpha_;
        const auto factor = [&](double j) { return N - 2 * j - (K - j) * alpha_; };
        f_.assign(n, 1.0);
        std::size_t j = 0;
        for (; j + 1 < wanted && (keep == 0 || factor(static_cast<double>(j)) > 0); ++j) {
            const double i = static_cast<double>(j), last = j > 0 ? f_[j - 1] : 0.0;
            f_[j + 1] = (factor(i) * f_[j] + i * keep * last) / (N - i);
        }
        if (j + 1 >= wanted) return;
        const std::size_t turn = j;
        f_[n - 1] = std::pow(keep, K);
        if (n > 1 && n - 2 > turn) {
            f_[n - 2] = f_[n - 1] + (K > 0 ? K / N * (std::pow(keep, K - 1) - f_[n - 1]) : 0.0);
        }
        for (j = n - 2; j > turn + 1; --j) {
            const double i = static_cast<double>(j);
            f_[j - 1] = ((N - i) * f_[j + 1] - factor(i) * f_[j]) / (i * keep);
        }
    }

  public:
    NoveltyGain(std::span<const double> discount, double alpha)
        : discount_(discount), alpha_(alpha) {}

    double operator()(std::size_t begin, std::size_t n, std::size_t covering, std::size_t before) {
        if (begin >= discount_.size()) return 0;
        const double faded = std::pow(1 - alpha_, static_cast<double>(before));
        if (n == 1) return discount_[begin] * faded;
        const std::size_t wanted = std::min(n, discount_.size() - begin);
        fade(n, covering, wanted);
        double sum = 0;
        for (std::size_t j = 0; j < wanted; ++j) sum += discount_[begin + j] * f_[j];
        return sum * faded * static_cast<double>(covering) / static_cast<double>(n);
    }
};

// out[q] = gain of the documents of query q, each next one being that which adds most. The best
// order of all is out of reach (the problem is NP-hard); this one is what trec's ndeval takes. Of
// documents that add the same, the first row comes first or, if not `by_row`, the first by its
// subtopics, so that rows do not matter.
//
// Document d covers subtopics[documents[d] .. documents[d+1]), in rising order; query q has
// documents indptr[q] .. indptr[q+1].
inline void greedy_gains(std::span<const std::int64_t> documents,
                         std::span<const std::int64_t> subtopics,
                         std::span<const std::int64_t> indptr, std::span<const double> discount,
                         double alpha, bool by_row, double* out) {
    const std::int64_t most =
        std::accumulate(subtopics.begin(), subtopics.end(), std::int64_t{-1},
                        [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
    std::vector<double> left(most + 1, 1.0);  // what the next document about a subtopic adds
    const auto covered = [&](std::int64_t d) {
        return subtopics.subspan(documents[d], documents[d + 1] - documents[d]);
    };
    struct Alike {  // documents about the same subtopics: they add the same
        std::span<const std::int64_t> subtopics;
        std::size_t n;
    };
    std::vector<Alike> waiting;
    std::vector<std::int64_t> order;
    for (std::size_t q = 0; q + 1 < indptr.size(); ++q) {
        order.resize(indptr[q + 1] - indptr[q]);
        std::iota(order.begin(), order.end(), indptr[q]);
        if (!by_row) {
            std::ranges::sort(order, [&](std::int64_t a, std::int64_t b) {
                return std::ranges::lexicographical_compare(covered(a), covered(b));
            });
        }
        waiting.clear();
        for (const std::int64_t d : order) {
            if (waiting.empty() || !std::ranges::equal(waiting.back().subtopics, covered(d))) {
                waiting.push_back({covered(d), 0});
            }
            ++waiting.back().n;
        }
        double sum = 0;
        const std::size_t depth = std::min(order.size(), discount.size());
        for (std::size_t r = 0; r < depth; ++r) {
            double best = -1;
            auto chosen = waiting.begin();
            for (auto next = waiting.begin(); next != waiting.end(); ++next) {
                double gain = 0;
                for (const std::int64_t t : next->subtopics) gain += left[t];
                if (gain > best + 1e-12) {  // sums in another order are no difference
                    best = gain;
                    chosen = next;
                }
            }
            sum += discount[r] * best;
            for (const std::int64_t t : chosen->subtopics) left[t] *= 1 - alpha;
            if (--chosen->n == 0) waiting.erase(chosen);
        }
        for (std::int64_t d = indptr[q]; d < indptr[q + 1]; ++d) {
            for (const std::int64_t t : covered(d)) left[t] = 1;
        }
        out[q] = sum;
    }
}

}  // namespace rankwright
