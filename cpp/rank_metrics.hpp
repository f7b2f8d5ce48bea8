// Ranking metrics of one query, each formula once.
//
// A query comes as its labels in rank order and the blocks of tied scores (ranking.hpp). Every
// formula below is the exact expectation over the orders of the tied documents; a block of one
// document makes it the ordinary definition. The other tie rules put each block into one order
// first (`settle_ties`). A metric that is undefined on a query (no relevant document, no pair)
// returns NaN.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "parallel.hpp"
#include "ranking.hpp"

namespace rankwright {

enum class Ties { average, order, worst, best };

inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// One query: documents in rank order; blocks of tied documents.
struct RankedQuery {
    std::span<const double> labels;
    std::span<const std::uint8_t> tied;
    bool has_ties;
    std::size_t index = 0;  // among the queries

    std::size_t size() const { return labels.size(); }
    std::size_t block_end(std::size_t begin) const {
        std::size_t end = begin + 1;
        while (has_ties && end < tied.size() && tied[end]) ++end;
        return end;
    }
};

// 1/r for r = 1, 2, ...; a table, because metrics need one for every document.
class Reciprocals {
    std::vector<double> table_;

  public:
    std::span<const double> up_to(std::size_t n) {
        while (table_.size() < n) table_.push_back(1 / static_cast<double>(table_.size() + 1));
        return table_;
    }
};

// ---- DCG and its relatives: linear in the gain at each rank ----

// Gain of a label: a table for grades, the function for everything else.
class Gain {
    bool exponential_;
    std::array<double, 64> table_;

  public:
    explicit Gain(bool exponential) : exponential_(exponential) {
        for (int y = 0; y < 64; ++y) table_[y] = exponential ? std::exp2(y) - 1 : y;
    }
    double operator()(double y) const {
        if (!exponential_) return y;
        const auto grade = static_cast<unsigned>(std::min(y, 63.0));
        return grade == y ? table_[grade] : std::exp2(y) - 1;
    }
};

inline std::size_t depth_of(std::size_t k, std::size_t m) { return k == 0 ? m : std::min(k, m); }

// sum over ranks r <= k of gain(y_(r)) d(r); a tied document has its block's mean gain.
template <class GainOf>
double discounted_gain(const RankedQuery& query, std::size_t k, std::span<const double> discount,
                       const GainOf& gain) {
    const std::size_t depth = depth_of(k, query.size());
    double sum = 0;
    for (std::size_t begin = 0; begin < depth;) {
        const std::size_t end = query.block_end(begin);
        double mean = 0;
        for (std::size_t r = begin; r < end; ++r) mean += gain(query.labels[r]);
        if (end - begin > 1) mean /= static_cast<double>(end - begin);
        for (std::size_t r = begin; r < std::min(end, depth); ++r) sum += mean * discount[r];
        begin = end;
    }
    return sum;
}

// The best value that discounted_gain can have.
class IdealGain {
    std::vector<double> gains_;

  public:
    double operator()(std::span<const double> labels, std::size_t k,
                      std::span<const double> discount, const Gain& gain) {
        const std::size_t depth = depth_of(k, labels.size());
        // Two histograms: counting one grade many times in a row would wait for each store.
        std::array<std::array<std::uint32_t, 64>, 2> count{};
        bool grades = true;
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const auto grade = static_cast<unsigned>(std::min(labels[i], 63.0));
            ++count[i % 2][grade];
            grades &= grade == labels[i];
        }
        double sum = 0;
        if (grades) {
            std::size_t r = 0;
            for (std::size_t grade = 63; grade > 0 && r < depth; --grade) {
                for (std::size_t i = 0; i < count[0][grade] + count[1][grade] && r < depth; ++i) {
                    sum += gain(static_cast<double>(grade)) * discount[r++];
                }
            }
            return sum;
        }
        gains_.assign(labels.begin(), labels.end());
        std::partial_sort(gains_.begin(), gains_.begin() + depth, gains_.end(), std::greater<>());
        for (std::size_t r = 0; r < depth; ++r) sum += gain(gains_[r]) * discount[r];
        return sum;
    }
};

// ---- binary relevance ----

inline std::size_t count_relevant(std::span<const double> labels, double threshold) {
    return std::count_if(labels.begin(), labels.end(), [=](double y) { return y >= threshold; });
}

// Average precision: the sum of precisions at the relevant ranks up to k over the number R of
// relevant documents, or over min(R, k). In a block of n documents, r of them relevant, behind a
// documents with R relevant, rank a + i holds a relevant document with probability r/n, and then R
// + 1 + (i-1)(r-1)/(n-1) are relevant up to there (McSherry & Najork 2008).
inline double average_precision(const RankedQuery& query, std::size_t k, double threshold,
                                bool by_cutoff, Reciprocals& reciprocals) {
    const std::size_t n_relevant = count_relevant(query.labels, threshold);
    if (n_relevant == 0) return kUndefined;
    const std::size_t depth = depth_of(k, query.size());
    const auto reciprocal = reciprocals.up_to(depth);
    double sum = 0, hits = 0;
    for (std::size_t begin = 0; begin < depth;) {
        const std::size_t end = query.block_end(begin);
        if (end - begin == 1) {
            const double relevant = query.labels[begin] >= threshold;  // arithmetic, not a branch
            hits += relevant;
            sum += relevant * hits * reciprocal[begin];
        } else {
            const double n = static_cast<double>(end - begin);
            const double r = static_cast<double>(
                count_relevant(query.labels.subspan(begin, end - begin), threshold));
            if (r > 0) {
                for (std::size_t i = 0; i < std::min(end, depth) - begin; ++i) {
                    const double before = static_cast<double>(i) * (r - 1) / (n - 1);
                    sum += r / n * (hits + 1 + before) * reciprocal[begin + i];
                }
                hits += r;
            }
        }
        begin = end;
    }
    return sum / static_cast<double>(by_cutoff && k > 0 ? std::min(n_relevant, k) : n_relevant);
}

// How many relevant documents stand among the first `depth`.
inline double relevant_up_to(const RankedQuery& query, std::size_t depth, double threshold) {
    depth = std::min(depth, query.size());
    double hits = 0;
    for (std::size_t begin = 0; begin < depth;) {
        const std::size_t end = query.block_end(begin);
        const auto r = static_cast<double>(
            count_relevant(query.labels.subspan(begin, end - begin), threshold));
        const auto n = static_cast<double>(end - begin);
        hits += r * (static_cast<double>(std::min(end, depth) - begin) / n);
        begin = end;
    }
    return hits;
}

// 1/R sum over relevant documents of 1 - min(n, R) / min(R, N), n being the irrelevant documents
// above one. Of b irrelevant documents tied with it, any number from 0 to b stands above it with
// the same probability.
inline double binary_preference(const RankedQuery& query, double threshold, double n_relevant,
                                double n_irrelevant) {
    if (n_relevant == 0) return kUndefined;
    const double scale = std::min(n_relevant, n_irrelevant);
    double sum = 0, above = 0;
    for (std::size_t begin = 0; begin < query.size();) {
        const std::size_t end = query.block_end(begin);
        const auto r = static_cast<double>(
            count_relevant(query.labels.subspan(begin, end - begin), threshold));
        const double b = static_cast<double>(end - begin) - r;
        if (r > 0) {
            const double least = std::min(above, n_relevant);
            const double rising = std::min(b, n_relevant - least);  // until R is reached
            const double total = (rising + 1) * (least + rising / 2) + (b - rising) * n_relevant;
            sum += scale > 0 ? r * (1 - total / (b + 1) / scale) : r;
        }
        above += b;
        begin = end;
    }
    return sum / n_relevant;
}

// sum over ranks i of weight(i) P(the first relevant document stands at rank i).
template <class Weight>
double first_relevant(const RankedQuery& query, std::size_t k, double threshold,
                      const Weight& weight) {
    if (count_relevant(query.labels, threshold) == 0) return kUndefined;
    const std::size_t depth = depth_of(k, query.size());
    for (std::size_t begin = 0; begin < depth;) {
        const std::size_t end = query.block_end(begin);
        const std::size_t r = count_relevant(query.labels.subspan(begin, end - begin), threshold);
        if (r > 0) {
            double sum = 0, none_yet = 1;
            double left = static_cast<double>(end - begin);
            for (std::size_t i = begin; i < std::min(end, depth) && none_yet > 0; ++i, --left) {
                sum += none_yet * (static_cast<double>(r) / left) * weight(i + 1);
                none_yet *= 1 - static_cast<double>(r) / left;
            }
            return sum;
        }
        begin = end;
    }
    return 0;
}

// ---- ERR ----

// Expected reciprocal rank with stop probability p(y) = (2^y - 1) / 2^max_grade:
// sum_r (1/r) p(y_(r)) prod_{j<r} (1 - p(y_(j))).
//
// In a block of n tied documents, c of them with p > 0, two things are independent: the order of
// those c and the ranks they take. The t-th of them stops the user with probability e_{t-1} - e_t,
// where e_t is the mean over all t-subsets of the product of (1 - p); and it stands at the i-th
// place of the block with probability C(i-1, t-1) C(n-i, c-t) / C(n, c).
class ExpectedReciprocalRank {
    std::size_t k_;
    double scale_;
    std::vector<double> means_, q_;
    Reciprocals reciprocals_;

    // Up to here, e_t of all documents costs less than the places of those with p > 0.
    static constexpr std::size_t kSmallBlock = 32;

    // e_0 .. e_most of the values q, by adding one value at a time:
    // e_t <- (1 - t/(n+1)) e_t + t/(n+1) q e_{t-1}.
    void subset_means(std::span<const double> q, std::size_t most) {
        const auto reciprocal = reciprocals_.up_to(q.size());
        means_.assign(most + 1, 0.0);
        means_[0] = 1;
        for (std::size_t n = 0; n < q.size(); ++n) {
            for (std::size_t t = std::min(n + 1, most); t > 0; --t) {
                const double share = static_cast<double>(t) * reciprocal[n];
                means_[t] = (1 - share) * means_[t] + share * q[n] * means_[t - 1];
            }
        }
    }

    // E[1 / (begin + place of the t-th of c among n)], places beyond the cutoff counting 0. The
    // probabilities rise to a mode and fall; they are summed from there both ways, relative to it.
    static double mean_reciprocal(std::size_t begin, std::size_t n, std::size_t c, std::size_t t,
                                  std::size_t depth) {
        constexpr double negligible = 1e-20;
        const std::size_t first = t, last = n - (c - t);
        if (first == last) return begin + t <= depth ? 1 / static_cast<double>(begin + t) : 0.0;
        const std::size_t mode = c > 1 ? std::clamp((t - 1) * n / (c - 1) + 1, first, last) : first;
        double total = 0, sum = 0;
        const auto add = [&](std::size_t i, double p) {
            total += p;
            if (begin + i <= depth) sum += p / static_cast<double>(begin + i);
        };
        const auto ratio = [=](std::size_t i) {  // P(i + 1) / P(i)
            const auto up = static_cast<double>(i) * static_cast<double>(n - i - c + t);
            return up / (static_cast<double>(i - t + 1) * static_cast<double>(n - i));
        };
        double p = 1;
        for (std::size_t i = mode; p > negligible; p *= ratio(i++)) {
            add(i, p);
            if (i == last) break;
        }
        p = 1;
        for (std::size_t i = mode; i > first; --i) {
            p /= ratio(i - 1);
            if (p <= negligible) break;
            add(i - 1, p);
        }
        return sum / total;
    }

  public:
    ExpectedReciprocalRank(std::size_t k, double max_grade)
        : k_(k), scale_(std::exp2(-max_grade)) {}

    double operator()(const RankedQuery& query, const Gain& gain) {
        const std::size_t depth = depth_of(k_, query.size());
        const auto reciprocal = reciprocals_.up_to(query.size());
        double sum = 0, going_on = 1;
        bool relevant = false;
        std::vector<double>& q = q_;
        for (const double y : query.labels) relevant |= y > 0;
        if (!relevant) return kUndefined;
        for (std::size_t begin = 0; begin < depth && going_on > 0;) {
            const std::size_t end = query.block_end(begin);
            if (end - begin == 1) {
                const double p = gain(query.labels[begin]) * scale_;
                sum += going_on * p * reciprocal[begin];
                going_on *= 1 - p;
                begin = end;
                continue;
            }
            q.clear();
            const bool small = end - begin <= kSmallBlock;
            double product = 1, largest = 0;
            for (std::size_t r = begin; r < end; ++r) {
                const double p = gain(query.labels[r]) * scale_;
                if (p > 0 || small) q.push_back(1 - p);
                product *= 1 - p;
            }
            if (small) {
                // All documents are taken together: the t-th of them stands at the t-th place.
                const std::size_t n = std::min(end, depth) - begin;
                subset_means(q, n);
                for (std::size_t t = 1; t <= n; ++t) {
                    sum += going_on * (means_[t - 1] - means_[t]) / static_cast<double>(begin + t);
                }
                going_on *= product;
                begin = end;
                continue;
            }
            for (const double value : q) largest = std::max(largest, value);
            // e_t <= largest^t: beyond `most` nothing is left to stop.
            std::size_t most = std::min(q.size(), depth - begin);
            if (largest < 1) {
                const double enough = largest > 0 ? -45 / std::log(largest) : 1;
                most = std::min(most, static_cast<std::size_t>(std::min(enough, 1e9)) + 1);
            }
            subset_means(q, most);
            for (std::size_t t = 1; t <= most; ++t) {
                sum += going_on * (means_[t - 1] - means_[t]) *
                       mean_reciprocal(begin, end - begin, q.size(), t, depth);
            }
            going_on *= product;
            begin = end;
        }
        return sum;
    }
};

// ---- pairs ----

struct PairCounts {
    double concordant = 0, discordant = 0;  // labels and scores both differ
    double labels_differ = 0, scores_differ = 0, all = 0;
};

// Counts pairs in O(m log m): a Fenwick tree over the distinct labels holds the documents above.
class PairCounter {
    std::vector<double> distinct_;
    std::vector<std::int64_t> tree_;

    void add(std::size_t i) {
        for (++i; i < tree_.size(); i += i & (~i + 1)) ++tree_[i];
    }
    std::int64_t below(std::size_t i) const {  // how many have a label index < i
        std::int64_t sum = 0;
        for (; i > 0; i -= i & (~i + 1)) sum += tree_[i];
        return sum;
    }

  public:
    PairCounts operator()(const RankedQuery& query) {
        const auto pairs = [](std::int64_t n) {
            return 0.5 * static_cast<double>(n) * static_cast<double>(n - 1);
        };
        const auto m = static_cast<std::int64_t>(query.size());
        PairCounts counts;
        counts.all = counts.labels_differ = counts.scores_differ = pairs(m);

        distinct_.assign(query.labels.begin(), query.labels.end());
        std::sort(distinct_.begin(), distinct_.end());
        for (std::size_t i = 0, j; i < distinct_.size(); i = j) {
            for (j = i + 1; j < distinct_.size() && distinct_[j] == distinct_[i];) ++j;
            counts.labels_differ -= pairs(j - i);
        }
        distinct_.erase(std::unique(distinct_.begin(), distinct_.end()), distinct_.end());
        tree_.assign(distinct_.size() + 1, 0);
        const auto index = [this](double y) {
            return std::lower_bound(distinct_.begin(), distinct_.end(), y) - distinct_.begin();
        };
        for (std::size_t begin = 0; begin < query.size();) {
            const std::size_t end = query.block_end(begin);
            counts.scores_differ -= pairs(end - begin);
            for (std::size_t r = begin; r < end; ++r) {
                const std::size_t i = index(query.labels[r]);
                const std::int64_t lower = below(i), at_most = below(i + 1);
                counts.discordant += static_cast<double>(lower);
                counts.concordant +=
                    static_cast<double>(static_cast<std::int64_t>(begin) - at_most);
            }
            for (std::size_t r = begin; r < end; ++r) add(index(query.labels[r]));
            begin = end;
        }
        return counts;
    }
};

// Share of the pairs with different labels that are in the wrong order; a tied pair costs one half.
inline double pairwise_error(const PairCounts& counts) {
    if (counts.labels_differ == 0) return kUndefined;
    const double tied = counts.labels_differ - counts.concordant - counts.discordant;
    return (counts.discordant + 0.5 * tied) / counts.labels_differ;
}

// Kendall's tau-a, or tau-b, which corrects for ties on either side.
inline double kendall_tau(const PairCounts& counts, bool corrected) {
    const double scale =
        corrected ? std::sqrt(counts.labels_differ) * std::sqrt(counts.scores_differ) : counts.all;
    return scale == 0 ? kUndefined : (counts.concordant - counts.discordant) / scale;
}

// ---- domination ----

// Share of the dominating documents that stand below a document they dominate. Among its block, a
// document with d dominated ones stands below at least one of them with probability d/(d+1).
inline double domination_error(const RankedQuery& query) {
    const double lowest = *std::min_element(query.labels.begin(), query.labels.end());
    double errors = 0;
    std::size_t n_dominating = 0;
    double lowest_above = std::numeric_limits<double>::infinity();
    std::vector<double> sorted;
    for (std::size_t begin = 0; begin < query.size();) {
        const std::size_t end = query.block_end(begin);
        sorted.assign(query.labels.begin() + begin, query.labels.begin() + end);
        std::sort(sorted.begin(), sorted.end());
        for (const double y : sorted) {
            n_dominating += y > lowest;
            const auto d = std::lower_bound(sorted.begin(), sorted.end(), y) - sorted.begin();
            errors += y > lowest_above ? 1 : static_cast<double>(d) / static_cast<double>(d + 1);
        }
        lowest_above = std::min(lowest_above, sorted.front());
        begin = end;
    }
    return n_dominating == 0 ? kUndefined : errors / static_cast<double>(n_dominating);
}

// Share of the dominated documents that stand above one of their dominators: the domination error
// of the reversed ranking with reversed labels.
inline double dominated_error(const RankedQuery& query) {
    const std::size_t m = query.size();
    std::vector<double> labels(m);
    std::vector<std::uint8_t> tied(m, 0);
    for (std::size_t r = 0; r < m; ++r) {
        labels[m - 1 - r] = -query.labels[r];
        if (r > 0) tied[m - r] = query.tied[r];
    }
    return domination_error({labels, tied, query.has_ties});
}

// ---- over all queries ----

// Puts tied documents into the order that the rule wants; then nothing is tied any more. A low
// label first is the worst order for every metric here, a high label first the best.
class TieSettler {
    std::vector<double> labels_;
    std::vector<std::uint8_t> tied_;

  public:
    RankedQuery operator()(const RankedQuery& query, Ties ties) {
        if (ties == Ties::average || !query.has_ties) return query;
        labels_.assign(query.labels.begin(), query.labels.end());
        tied_.assign(query.size(), 0);
        if (ties != Ties::order) {
            for (std::size_t begin = 0; begin < query.size();) {
                const std::size_t end = query.block_end(begin);
                std::sort(labels_.begin() + begin, labels_.begin() + end);
                if (ties == Ties::best)
                    std::reverse(labels_.begin() + begin, labels_.begin() + end);
                begin = end;
            }
        }
        return {labels_, tied_, false, query.index};
    }
};

// out[q] = metric(query q) for all queries, NaN (undefined) replaced by `empty`. `make_metric` is
// called once for each task, so that a metric may keep scratch space.
template <class MakeMetric>
void each_query(const Ranking& ranking, Ties ties, double empty, int n_threads, double* out,
                const MakeMetric& make_metric) {
    const std::vector<std::size_t> cuts = cut_queries(ranking.indptr);
    const std::size_t n_rows = ranking.indptr.back();
    const std::span<const double> labels(ranking.labels.get(), n_rows);
    const std::span<const std::uint8_t> tied(ranking.tied.get(), n_rows);
    parallel_for(cuts.size() - 1, n_threads, [&](std::size_t task) {
        TieSettler settle;
        auto metric = make_metric();
        for (std::size_t q = cuts[task]; q < cuts[task + 1]; ++q) {
            const std::size_t begin = ranking.indptr[q], m = ranking.indptr[q + 1] - begin;
            const RankedQuery query{labels.subspan(begin, m), tied.subspan(begin, m),
                                    ranking.has_ties[q] != 0, q};
            const double value = m == 0 ? kUndefined : metric(settle(query, ties));
            out[q] = std::isnan(value) ? empty : value;
        }
    });
}

}  // namespace rankwright
