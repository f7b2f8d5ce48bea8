// Predtron's loop: predict, and on a mistake  Theta <- Theta - eta s (rep(sigma~) - rep(sigma_y))
// x^T.
//
//   augmented    sigma~ = argmax L(sigma, y) + <rep(sigma), t>,  s = 1     (Algorithm 1)
//   predicted    sigma~ = the prediction,                        s = 1
//   loss_driven  sigma~ = the prediction,                        s = its loss
//
// A round is one row with t = W x in R^d, or one query of rows with t = X w, one score per row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "iterate.hpp"
#include "links.hpp"
#include "parallel.hpp"
#include "problems.hpp"

namespace rankwright {

enum class Mode { augmented, predicted, loss_driven };

struct RoundResult {
    double loss = 0;        // of the prediction
    double comparator = 0;  // what a guarantee charges the comparator, 0 without a mistake
};

// One round: the direction rep(sigma~) - rep(sigma_y), scaled by the mode, unless the loss is 0.
//
// A comparator with scores u is charged
//   augmented    max_sigma L(sigma, y) - <rep(sigma_y) - rep(sigma), u>
//   predicted    xi = max(0, 1 - <rep(sigma_y) - rep(sigma~), u>)
//   loss_driven  xi times the loss.
class Round {
    const Problem& problem_;
    const Mode mode_;
    std::vector<std::int32_t> sigma_, correct_;
    std::vector<double> rep_;

  public:
    Round(const Problem& problem, Mode mode) : problem_(problem), mode_(mode) {}

    RoundResult operator()(Scores t, const double* y, const double* u, double* direction) {
        const std::size_t n = t.size(), n_codes = problem_.n_codes() ? problem_.n_codes() : n;
        sigma_.resize(n_codes);
        correct_.resize(n_codes);
        rep_.resize(n);
        problem_.predict(t, y, sigma_);
        RoundResult result{problem_.loss(sigma_, y), 0};
        if (!(result.loss > 0)) return {};
        problem_.correct(y, t.data(), correct_);
        problem_.represent(correct_, rep_.data());
        const auto gap = [&](const double* rep) {  // <rep(sigma_y) - rep, u>
            double sum = 0;
            for (std::size_t k = 0; k < n; ++k) sum += (rep_[k] - rep[k]) * u[k];
            return sum;
        };
        if (u && mode_ == Mode::augmented) {
            problem_.augmented({u, n}, y, sigma_);
            problem_.represent(sigma_, direction);
            result.comparator = problem_.loss(sigma_, y) - gap(direction);
        }
        if (mode_ == Mode::augmented) problem_.augmented(t, y, sigma_);
        problem_.represent(sigma_, direction);
        const double scale = mode_ == Mode::loss_driven ? result.loss : 1.0;
        if (u && mode_ != Mode::augmented)
            result.comparator = scale * std::max(0.0, 1 - gap(direction));
        for (std::size_t k = 0; k < n; ++k) direction[k] = scale * (direction[k] - rep_[k]);
        return result;
    }
};

// W <- W - eta sum_i g_i x_i^T behind the link, and the mean of W. iterate.w is Theta if the link
// is plain, and W otherwise, which is kept up to date only if there is a mean.
inline void apply_update(const Rows& rows, std::size_t first, std::size_t n, const double* g,
                         double eta, LinkedWeights& weights, Iterate& iterate) {
    iterate.begin_update();
    const bool averaged = iterate.mean == Mean::averaged;
    const double age = static_cast<double>(iterate.round - 1);
    weights.update(rows, first, n, g, eta);
    if (weights.is_plain()) {
        for (std::size_t i = 0; averaged && i < n; ++i) {
            const double* gi = g + i * weights.d();
            if (!weights.is_zero(gi))
                weights.add(rows, first + i, -eta * age, gi, iterate.sum.data());
        }
    } else if (iterate.mean != Mean::none) {
        std::vector<double> before;
        if (averaged) before.assign(iterate.w.begin(), iterate.w.end());
        weights.write(iterate.w.data());
        for (std::size_t j = 0; averaged && j < before.size(); ++j)
            iterate.sum[j] += age * (iterate.w[j] - before[j]);
    }
}

// What a pass learns from. `indptr` has the rows of each query; if it is empty, each row is a
// round. `labels` has problem.n_labels() values for each row (or d, for rankings of labels), or one
// for each document; `comparator` has the scores of each row, or is null.
struct Stream {
    const Rows& rows;
    std::span<const std::int64_t> indptr, order;
    const double* labels;
    std::size_t label_width;
    const double* comparator;
};

// The rounds in the stream's order; returns the number of updates.
inline std::int64_t predtron(const Problem& problem, Mode mode, double eta, const Stream& stream,
                             LinkedWeights& weights, Iterate& iterate, double* losses,
                             double* charges) {
    const bool queries = !stream.indptr.empty();
    const std::size_t d = weights.d();
    Round round(problem, mode);
    std::vector<double> t, direction, scratch(d);
    const std::size_t between = queries ? 1 : kRowsBetweenChecks;
    return each_round(stream.order, iterate, between, [&](std::size_t r, std::size_t at) {
        const std::size_t first = queries ? stream.indptr[at] : at;
        const std::size_t n = queries ? stream.indptr[at + 1] - first : 1;
        t.resize(queries ? n : d);
        direction.resize(t.size());
        for (std::size_t i = 0; i < n; ++i)
            weights.scores(stream.rows, first + i, t.data() + i * d, scratch.data());
        const double* y = stream.labels + first * stream.label_width;
        const double* u = stream.comparator ? stream.comparator + first * d : nullptr;
        RoundResult result;
        if (n > 0) result = round(t, y, u, direction.data());
        losses[r] = result.loss;
        charges[r] = result.comparator;
        if (result.loss == 0) return false;
        apply_update(stream.rows, first, n, direction.data(), eta, weights, iterate);
        return true;
    });
}

}  // namespace rankwright
