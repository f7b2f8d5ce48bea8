// The thread pool and the kernels that use it, from many threads at once: stress ROUNDS FORKS
//
// Built with -fsanitize=thread it sees races whether or not they change a number (but not after
// FORKS, whose threads that sanitizer cannot follow). What must hold in each round besides:
//
// - every task runs once, whoever nests or calls at the same time;
// - of tasks that throw, the lowest is heard of, and those below it have run;
// - every number of threads gives the same bits;
// - a forked child has a pool that works.
//
// `stress race` races on purpose: what does not report it would report nothing.

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "exact_sums.hpp"
#include "forest_contributions.hpp"
#include "forest_scores.hpp"
#include "layers.hpp"
#include "pairs.hpp"
#include "parallel.hpp"
#include "products.hpp"
#include "rank_metrics.hpp"
#include "ranking.hpp"
#include "slam.hpp"
#include "weights.hpp"

using namespace rankwright;

namespace {

void require(bool holds, const char* rule) {
    if (holds) return;
    std::fprintf(stderr, "violated: %s\n", rule);
    std::_Exit(1);
}

// ---- the pool ----

void check_every_task_runs_once(int n_threads) {
    constexpr std::size_t n = 40, m = 5;
    std::vector<int> runs(n * m);
    parallel_for(n, n_threads, [&](std::size_t i) {
        parallel_for(m, n_threads, [&](std::size_t j) { ++runs[i * m + j]; });
    });
    for (const int count : runs) require(count == 1, "every task runs once");
}

void check_the_lowest_exception_is_heard_of(int n_threads, std::size_t lowest) {
    std::vector<char> done(100);
    try {
        parallel_for(done.size(), n_threads, [&](std::size_t i) {
            if (i >= lowest && i % 3 == lowest % 3) throw std::runtime_error(std::to_string(i));
            done[i] = 1;
        });
        require(false, "an exception is rethrown");
    } catch (const std::runtime_error& error) {
        require(error.what() == std::to_string(lowest), "the lowest exception is heard of");
    }
    for (std::size_t i = 0; i < lowest; ++i) require(done[i], "tasks below it have run");
}

void check_fork() {
    const pid_t child = fork();
    require(child >= 0, "a process can be forked");
    if (child == 0) {
        check_every_task_runs_once(3);
        std::_Exit(0);
    }
    int status = 0;
    require(waitpid(child, &status, 0) == child && status == 0, "the child's pool works");
}

// ---- the kernels ----

struct Sample {
    std::vector<std::int64_t> indptr{0};
    std::vector<double> y, scores, v;
    std::vector<float> X;
    static constexpr std::size_t n_features = 7;

    Sample() {
        std::mt19937_64 random(1);
        for (int q = 0; q < 300; ++q) {
            indptr.push_back(indptr.back() + static_cast<std::int64_t>(random() % 90));
        }
        for (std::int64_t row = 0; row < indptr.back(); ++row) {
            y.push_back(static_cast<double>(random() % 5));
            scores.push_back(static_cast<double>(random() % 1000) / 10);
            v.push_back(static_cast<double>(random() % 100) / 100);
            for (std::size_t j = 0; j < n_features; ++j) {
                X.push_back(static_cast<float>(random() % 100));
            }
        }
    }
};

// Trees of three leaves over the features of a sample.
struct Trees {
    std::vector<std::int64_t> node_begin{0}, leaf_begin{0}, node_count, leaf_count, set_begin{0};
    std::vector<std::int32_t> feature, left, right;
    std::vector<std::uint8_t> missing;
    std::vector<double> cut64, leaf_value;
    std::vector<float> cut32;

    Trees() {
        std::mt19937_64 random(2);
        for (int t = 0; t < 40; ++t) {
            for (int node = 0; node < 2; ++node) {
                feature.push_back(static_cast<std::int32_t>(random() % Sample::n_features));
                cut64.push_back(static_cast<double>(random() % 100));
                cut32.push_back(static_cast<float>(cut64.back()));
                missing.push_back(static_cast<std::uint8_t>(random() % 5));
                left.push_back(node == 0 ? 1 : ~1);
                right.push_back(node == 0 ? ~0 : ~2);
                node_count.push_back(3 - node);
            }
            for (int leaf = 0; leaf < 3; ++leaf) {
                leaf_value.push_back(static_cast<double>(random() % 1000) / 7);
                leaf_count.push_back(1);
            }
            node_begin.push_back(static_cast<std::int64_t>(feature.size()));
            leaf_begin.push_back(static_cast<std::int64_t>(leaf_value.size()));
        }
    }

    TreeArrays arrays() const {
        return {node_begin, leaf_begin, feature,    left,      right, missing,
                cut64,      cut32,      leaf_value, set_begin, {}};
    }
    CountedTrees counted() const {
        return {node_begin, leaf_begin, left, right, node_count, leaf_count, leaf_value};
    }
};

// All that is computed, as one string of bytes.
std::string results(const Sample& sample, int n_threads) {
    const auto& [indptr, y, scores, v, X] = sample;
    const std::size_t n_rows = y.size(), n_queries = indptr.size() - 1;
    std::string bytes;
    const auto keep = [&](const auto& values) {
        bytes.append(reinterpret_cast<const char*>(values.data()),
                     values.size() * sizeof values[0]);
    };
    std::vector<double> by_query(n_queries), by_row(n_rows), by_feature(Sample::n_features);

    const Ranking ranking(y, scores, indptr, n_rows, n_threads);
    each_query(ranking, Ties::average, 0.0, n_threads, by_query.data(),
               [] { return [](const RankedQuery& query) { return domination_error(query); }; });
    keep(by_query);
    const Layers layers(y, indptr, n_threads);
    each_query_loss(indptr, n_threads, by_query.data(), [&] {
        return [&, best = BestBelow()](std::size_t q) mutable {
            return slam(layers, q, scores, v, 1.0, best, by_row.data());
        };
    });
    keep(by_query);
    keep(by_row);
    each_query_loss(indptr, n_threads, by_query.data(),
                    [&] { return RankHinge(layers, scores, Unweighted(), by_row.data()); });
    keep(by_query);
    keep(by_row);
    const DenseRows<float> rows(X.data(), n_rows, Sample::n_features);
    multiply(rows, by_feature.data(), 1, nullptr, by_row.data(), n_threads);
    multiply_transposed(rows, scores.data(), by_feature.data(), n_threads);
    keep(by_row);
    keep(by_feature);
    std::vector<float> rounded(n_rows);
    static const Trees trees;
    static const Forest forest(trees.arrays(), Sample::n_features);
    const InstructionSet set = instruction_set();
    forest_scores(forest, rows, forest.n_trees, by_row.data(), n_threads, set);
    keep(by_row);
    parallel_for(n_queries, n_threads, [&](std::size_t q) {
        forest_top(forest, rows, indptr[q], indptr[q + 1], forest.n_trees, 3, nullptr,
                   by_row.data(), set);
    });
    keep(by_row);
    const std::size_t n_some = 500;
    const DenseRows<float> some(X.data(), n_some, Sample::n_features);
    std::vector<double> added(n_some * Sample::n_features);
    ForestContributions(forest, trees.counted()).write(some, added.data(), n_threads, set);
    keep(added);
    const double largest = largest_weighted(scores, v, n_threads);
    require(std::isfinite(largest), "numbers are finite");
    round_to_grid(scores, v, largest, static_cast<double>(scores.size()), rounded.data(),
                  n_threads);
    keep(rounded);
    return bytes;
}

void work(const Sample& sample, const std::string& expected, int rounds, int thread) {
    for (int round = 0; round < rounds; ++round) {
        const int n_threads = 1 + (round + thread) % 5;
        check_every_task_runs_once(n_threads);
        check_the_lowest_exception_is_heard_of(n_threads, (round * 7) % 100);
        require(results(sample, n_threads) == expected, "every number of threads gives the same");
    }
}

int race() {
    int sum = 0;
    std::atomic<int> here{0};
    parallel_for(2, 2, [&](std::size_t) {
        here.fetch_add(1, std::memory_order_relaxed);
        while (here.load(std::memory_order_relaxed) < 2) std::this_thread::yield();
        ++sum;
    });
    std::printf("%d\n", sum);
    return 0;
}

}  // namespace

int main(int n_arguments, char** arguments) {
    if (n_arguments == 2 && std::strcmp(arguments[1], "race") == 0) return race();
    if (n_arguments != 3) {
        std::fprintf(stderr, "usage: %s ROUNDS FORKS | race\n", arguments[0]);
        return 2;
    }
    const int rounds = std::atoi(arguments[1]), forks = std::atoi(arguments[2]);
    const Sample sample;
    const std::string expected = results(sample, 1);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread) {
        threads.emplace_back([&, thread] { work(sample, expected, rounds, thread); });
    }
    for (int i = 0; i < forks; ++i) check_fork();  // in the middle of their work
    for (auto& thread : threads) thread.join();
    std::printf("%d rounds on 3 threads, %d forks, 0 failures\n", rounds, forks);
}
