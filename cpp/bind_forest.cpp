#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decimal.hpp"
#include "forest.hpp"
#include "forest_codes.hpp"
#include "forest_contributions.hpp"
#include "forest_scores.hpp"
#include "instruction_sets.hpp"
#include "python.hpp"

namespace rankwright {

namespace {

// The forest with the instructions to walk it with.
struct Scorer {
    Forest forest;
    InstructionSet set;
};

std::unique_ptr<Scorer> new_scorer(std::size_t n_features, In<std::int64_t> node_begin,
                                   In<std::int64_t> leaf_begin, In<std::int32_t> feature,
                                   In<std::uint8_t> missing, In<double> cut64, In<float> cut32,
                                   In<std::int32_t> left, In<std::int32_t> right,
                                   In<double> leaf_value, In<std::int64_t> set_begin,
                                   In<std::uint32_t> set_words, const std::string& instructions) {
    const std::size_t n = feature.size();
    require(node_begin.size() > 0 && leaf_begin.size() == node_begin.size() &&
                node_begin.data()[node_begin.size() - 1] == static_cast<std::int64_t>(n) &&
                leaf_begin.data()[leaf_begin.size() - 1] ==
                    static_cast<std::int64_t>(leaf_value.size()) &&
                missing.size() == n && cut64.size() == n && cut32.size() == n && left.size() == n &&
                right.size() == n && set_begin.size() > 0,
            "not a forest");
    const TreeArrays trees{view(node_begin), view(leaf_begin), view(feature),  view(left),
                           view(right),      view(missing),    view(cut64),    view(cut32),
                           view(leaf_value), view(set_begin),  view(set_words)};
    const InstructionSet set = instruction_set(instructions);
    return std::unique_ptr<Scorer>(new Scorer{Forest(trees, n_features), set});
}

void require_fit(const Scorer& scorer, const Rows& X, std::size_t n_trees) {
    require(X.n_features == scorer.forest.n_features, "X must have the forest's features");
    require(n_trees <= scorer.forest.n_trees, "there are not so many trees");
}

// The trees are those that the scorer was made of.
Result<double> contributions(const Scorer& scorer, const Rows& X, In<std::int64_t> node_begin,
                             In<std::int64_t> leaf_begin, In<std::int32_t> left,
                             In<std::int32_t> right, In<std::int64_t> node_count,
                             In<std::int64_t> leaf_count, In<double> leaf_value, int threads) {
    require_fit(scorer, X, 0);
    const std::size_t n = scorer.forest.places.size(), n_trees = scorer.forest.n_trees;
    require(node_begin.size() == n_trees + 1 && leaf_begin.size() == n_trees + 1 &&
                left.size() == n && right.size() == n && node_count.size() == n &&
                leaf_count.size() == n + n_trees && leaf_value.size() == n + n_trees,
            "not the scorer's forest");
    const CountedTrees trees{view(node_begin), view(leaf_begin), view(left),      view(right),
                             view(node_count), view(leaf_count), view(leaf_value)};
    return make_array<double>(X.n_rows * X.n_features, [&](double* out) {
        ForestContributions(scorer.forest, trees).write(X, out, threads, scorer.set);
    });
}

// Numbers with blanks between them, each the double nearest to its text; nothing else may be there.
Result<double> read_numbers(std::string_view text) {
    std::string padded(text);
    padded.append(kPadding, ' ');
    const char* end = padded.data() + text.size();
    std::vector<double> values;
    for (const char* p = padded.data();; ++p) {
        while (p < end && *p == ' ') ++p;
        if (p >= end) break;
        p = read_number(p, values.emplace_back());
        require(p != nullptr && *p == ' ', "text must be numbers with blanks between them");
    }
    return make_array<double>(values.size(),
                              [&](double* out) { std::copy(values.begin(), values.end(), out); });
}

}  // namespace

void bind_forest(nb::module_& m) {
    m.def("read_numbers", &read_numbers, "text"_a, "The numbers of a text, as doubles.");
    m.def(
        "instruction_sets",
        [] {
            std::vector<std::string> here;
            for (const auto& [set, name] : kInstructionSets) {
                if (runs_here(set)) here.emplace_back(name);
            }
            return here;
        },
        "Vector instructions of this processor that kernels know, the best first.");
    nb::class_<Walkers>(m, "Walkers", "Documents with their sums over the trees so far.")
        .def("add", &Walkers::add, "first"_a, "last"_a, nb::call_guard<WithoutGil>())
        .def("sums", [](const Walkers& docs) {
            return make_array<double>(
                docs.n_docs, [&](double* out) { std::copy_n(docs.sums(), docs.n_docs, out); });
        });
    nb::class_<Scorer>(m, "ForestScorer", "A forest, compiled for scoring.")
        .def(nb::new_(&new_scorer), "n_features"_a, "node_begin"_a.noconvert(),
             "leaf_begin"_a.noconvert(), "feature"_a.noconvert(), "missing"_a.noconvert(),
             "cut64"_a.noconvert(), "cut32"_a.noconvert(), "left"_a.noconvert(),
             "right"_a.noconvert(), "leaf_value"_a.noconvert(), "set_begin"_a.noconvert(),
             "set_words"_a.noconvert(), "instructions"_a = "")
        .def(
            "scores",
            [](const Scorer& scorer, const Rows& X, std::size_t n_trees, int threads) {
                require_fit(scorer, X, n_trees);
                return make_array<double>(X.n_rows, [&](double* out) {
                    forest_scores(scorer.forest, X, n_trees, out, threads, scorer.set);
                });
            },
            "X"_a, "n_trees"_a, "threads"_a)
        .def(
            "top",
            [](const Scorer& scorer, const Rows& X, In<std::int64_t> indptr, std::size_t k,
               std::size_t n_trees, In<double> added, int threads) {
                require_fit(scorer, X, n_trees);
                require(indptr.size() > 0 &&
                            indptr.data()[indptr.size() - 1] == static_cast<std::int64_t>(X.n_rows),
                        "indptr must end at the last row");
                require(added.size() == 0 || added.size() == X.n_rows, "added must fit X");
                const double* const more = added.size() == 0 ? nullptr : added.data();
                return make_array<double>(X.n_rows, [&](double* out) {
                    parallel_for(indptr.size() - 1, threads, [&](std::size_t q) {
                        forest_top(scorer.forest, X, indptr.data()[q], indptr.data()[q + 1],
                                   n_trees, k, more, out, scorer.set);
                    });
                });
            },
            "X"_a, "indptr"_a.noconvert(), "k"_a, "n_trees"_a, "added"_a.noconvert(), "threads"_a)
        .def("contributions", &contributions, "X"_a, "node_begin"_a.noconvert(),
             "leaf_begin"_a.noconvert(), "left"_a.noconvert(), "right"_a.noconvert(),
             "node_count"_a.noconvert(), "leaf_count"_a.noconvert(), "leaf_value"_a.noconvert(),
             "threads"_a)
        .def(
            "walkers",
            [](const Scorer& scorer, const Rows& X) {
                require_fit(scorer, X, 0);
                return std::make_unique<Walkers>(scorer.forest, X, 0, X.n_rows, scorer.set);
            },
            "X"_a, nb::keep_alive<0, 1>(), nb::call_guard<WithoutGil>());
}

}  // namespace rankwright
