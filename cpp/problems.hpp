// Predtron's prediction tasks: representation, prediction, loss and loss-augmented argmax.
//
// A prediction is a code of integers: one class, one bit per label, or one position (from 0) per
// document. A label is an array of doubles: one class, one 0 or 1 per label, or one gain per
// document. pred(t) = argmax_sigma <rep(sigma), t>, |rep(sigma)| = 1. Among equally good
// predictions the one with the largest loss is taken when the label is known; every bound holds for
// it. Nothing here is changed by use, so that one problem may serve several threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "argmax.hpp"

namespace rankwright {

using Scores = std::span<const double>;
using Prediction = std::span<std::int32_t>;
using Coded = std::span<const std::int32_t>;

class Problem {
  public:
    virtual ~Problem() = default;
    // Number of scores, and length of a prediction's code; 0 is "as many as labels".
    virtual std::size_t n_scores() const { return 0; }
    virtual std::size_t n_codes() const { return 0; }
    virtual std::size_t n_labels() const { return 0; }
    // y may be null: then ties are broken without it.
    virtual void predict(Scores t, const double* y, Prediction sigma) const = 0;
    virtual double loss(Coded sigma, const double* y) const = 0;
    // One of the correct predictions; with scores the one that they prefer.
    virtual void correct(const double* y, const double* t, Prediction sigma) const = 0;
    // argmax_sigma L(sigma, y) + <rep(sigma), t>
    virtual void augmented(Scores t, const double* y, Prediction sigma) const = 0;
    virtual void represent(Coded sigma, double* rep) const = 0;
};

// Two classes 0 and 1, rep = -1 and 1; a mistake on class y costs alpha_y.
class BinaryProblem : public Problem {
    double alpha_[2];

  public:
    BinaryProblem(double alpha0, double alpha1) : alpha_{alpha0, alpha1} {}
    std::size_t n_scores() const override { return 1; }
    std::size_t n_codes() const override { return 1; }
    std::size_t n_labels() const override { return 1; }

    void predict(Scores t, const double* y, Prediction sigma) const override {
        sigma[0] = t[0] > 0 || (t[0] == 0 && y && *y == 0);
    }
    double loss(Coded sigma, const double* y) const override {
        return sigma[0] == *y ? 0 : alpha_[*y > 0];
    }
    void correct(const double* y, const double*, Prediction sigma) const override {
        sigma[0] = static_cast<std::int32_t>(*y);
    }
    void augmented(Scores t, const double* y, Prediction sigma) const override {
        const double margin = *y > 0 ? t[0] : -t[0];
        const bool wrong = alpha_[*y > 0] - 2 * margin >= 0;
        sigma[0] = (*y > 0) != wrong;
    }
    void represent(Coded sigma, double* rep) const override { rep[0] = sigma[0] ? 1 : -1; }
};

// Classes 0..K-1 on basis vectors, any loss matrix (prediction x label), and, if there are costs
// for it, the prediction K to reject. By its representation, sum_j e_j / sqrt K, it is one among
// the others. By the surrogate, it is taken where rejecting costs no more than the surrogate for
// every label,
//     beta_y <= phi(t, y) = max_k L(k, y) + t_k - t_y,
// so that the surrogate still bounds the loss.
class ClassProblem : public Problem {
    std::size_t n_;
    std::vector<double> loss_;
    std::vector<double> reject_;
    bool by_surrogate_;

    bool rejects(Scores t) const {
        for (std::size_t y = 0; y < n_; ++y) {
            double most = t[0] + loss_[y];
            for (std::size_t k = 1; k < n_; ++k) most = std::max(most, t[k] + loss_[k * n_ + y]);
            if (most - t[y] < reject_[y]) return false;
        }
        return true;
    }

    // argmax of weight * L + <rep, t>; on a tie the larger loss, then the lower class.
    std::int32_t best(Scores t, const double* y, double weight) const {
        const double* losses = loss_.data() + (y ? static_cast<std::size_t>(*y) : 0);
        const auto loss_of = [&](std::size_t k) { return y ? losses[k * n_] : 0.0; };
        std::size_t chosen = 0;
        double most = weight * loss_of(0) + t[0];
        for (std::size_t k = 1; k < n_; ++k) {
            const double value = weight * loss_of(k) + t[k];
            if (value > most || (value == most && loss_of(k) > loss_of(chosen))) {
                most = value;
                chosen = k;
            }
        }
        if (!reject_.empty() && !by_surrogate_) {
            const double cost = y ? reject_[static_cast<std::size_t>(*y)] : 0.0;
            const double sum = std::accumulate(t.begin(), t.end(), 0.0);
            const double value = weight * cost + sum / std::sqrt(static_cast<double>(n_));
            // Without a label, no evidence is a reason to reject.
            if (value > most || (value == most && (!y || cost > loss_of(chosen)))) chosen = n_;
        }
        return static_cast<std::int32_t>(chosen);
    }

  public:
    ClassProblem(std::size_t n, std::span<const double> loss, std::span<const double> reject,
                 bool by_surrogate)
        : n_(n),
          loss_(loss.begin(), loss.end()),
          reject_(reject.begin(), reject.end()),
          by_surrogate_(by_surrogate && !reject_.empty()) {}
    std::size_t n_scores() const override { return n_; }
    std::size_t n_codes() const override { return 1; }
    std::size_t n_labels() const override { return 1; }

    void predict(Scores t, const double* y, Prediction sigma) const override {
        sigma[0] = by_surrogate_ && rejects(t) ? static_cast<std::int32_t>(n_) : best(t, y, 0);
    }
    double loss(Coded sigma, const double* y) const override {
        const auto k = static_cast<std::size_t>(sigma[0]), label = static_cast<std::size_t>(*y);
        return k == n_ ? reject_[label] : loss_[k * n_ + label];
    }
    void correct(const double* y, const double*, Prediction sigma) const override {
        sigma[0] = static_cast<std::int32_t>(*y);
    }
    void augmented(Scores t, const double* y, Prediction sigma) const override {
        sigma[0] = best(t, y, 1);
    }
    void represent(Coded sigma, double* rep) const override {
        const bool reject = static_cast<std::size_t>(sigma[0]) == n_;
        std::fill_n(rep, n_, reject ? 1 / std::sqrt(static_cast<double>(n_)) : 0.0);
        if (!reject) rep[sigma[0]] = 1;
    }
};

enum class SubsetLoss { hamming, subset, error_set };

// Subsets of m labels, rep_j = +-1 / sqrt m.
class LabelsProblem : public Problem {
    std::size_t m_;
    SubsetLoss kind_;
    double unit_;

  public:
    LabelsProblem(std::size_t m, SubsetLoss kind)
        : m_(m), kind_(kind), unit_(1 / std::sqrt(static_cast<double>(m))) {}
    std::size_t n_scores() const override { return m_; }
    std::size_t n_codes() const override { return m_; }
    std::size_t n_labels() const override { return m_; }

    void predict(Scores t, const double* y, Prediction sigma) const override {
        for (std::size_t j = 0; j < m_; ++j) sigma[j] = t[j] > 0 || (t[j] == 0 && y && y[j] == 0);
    }
    double loss(Coded sigma, const double* y) const override {
        double missing = 0, extra = 0;
        for (std::size_t j = 0; j < m_; ++j) {
            missing += y[j] != 0 && !sigma[j];
            extra += y[j] == 0 && sigma[j];
        }
        if (kind_ == SubsetLoss::hamming) return missing + extra;
        return kind_ == SubsetLoss::subset ? missing + extra > 0 : missing * extra;
    }
    void correct(const double* y, const double*, Prediction sigma) const override {
        for (std::size_t j = 0; j < m_; ++j) sigma[j] = y[j] != 0;
    }
    // Flipping label j away from y costs 2 y_j t_j / sqrt m (y_j = +-1) of similarity.
    void augmented(Scores t, const double* y, Prediction sigma) const override {
        const auto cost = [&](std::size_t j) { return (y[j] != 0 ? 2 : -2) * t[j] * unit_; };
        if (kind_ == SubsetLoss::hamming) {
            for (std::size_t j = 0; j < m_; ++j) sigma[j] = (y[j] != 0) != (cost(j) <= 1);
        } else if (kind_ == SubsetLoss::subset) {
            std::size_t cheapest = 0;
            bool wrong = false;
            for (std::size_t j = 0; j < m_; ++j) {
                const bool flip = cost(j) <= 0;
                wrong |= flip;
                sigma[j] = (y[j] != 0) != flip;
                if (cost(j) < cost(cheapest)) cheapest = j;
            }
            if (!wrong && cost(cheapest) <= 1) sigma[cheapest] = !sigma[cheapest];
        } else {
            error_set(y, cost, sigma);
        }
    }
    void represent(Coded sigma, double* rep) const override {
        for (std::size_t j = 0; j < m_; ++j) rep[j] = sigma[j] ? unit_ : -unit_;
    }

  private:
    // max over a, b of ab - A_a - B_b: a relevant labels left out and b others taken in, the
    // cheapest first, A and B their costs. For a given a the best b counts the costs below a.
    template <class Cost>
    void error_set(const double* y, const Cost& cost, Prediction sigma) const {
        std::vector<std::int32_t> out, in;
        for (std::size_t j = 0; j < m_; ++j) {
            sigma[j] = y[j] != 0;
            (sigma[j] ? out : in).push_back(static_cast<std::int32_t>(j));
        }
        const auto cheaper = [&](auto j, auto k) {
            return cost(j) != cost(k) ? cost(j) < cost(k) : j < k;
        };
        std::sort(out.begin(), out.end(), cheaper);
        std::sort(in.begin(), in.end(), cheaper);
        double most = 0, spent_out = 0, spent_in = 0;
        std::size_t best_a = 0, best_b = 0;
        for (std::size_t a = 0, b = 0; a <= out.size(); ++a) {
            if (a > 0) spent_out += cost(out[a - 1]);
            while (b < in.size() && cost(in[b]) <= static_cast<double>(a))
                spent_in += cost(in[b++]);
            const double value = static_cast<double>(a * b) - spent_out - spent_in;
            if (a == 0 || value > most || (value == most && a * b > best_a * best_b)) {
                most = value;
                best_a = a;
                best_b = b;
            }
        }
        for (std::size_t k = 0; k < best_a; ++k) sigma[out[k]] = 0;
        for (std::size_t k = 0; k < best_b; ++k) sigma[in[k]] = 1;
    }
};

// Rankings of m documents, rep_i = f(position of i) / |f|, L = 1 - sum_i G_i D(position of i) / Z
// with Z the best such sum. NDCG and precision at K differ in G and D only.
class RankingProblem : public Problem {
    std::vector<double> f_, discount_, length_;  // length_[m]: |f| over m positions
    PositionTables tables_;

    std::vector<std::int32_t> sorted(std::size_t m, auto before) const {
        std::vector<std::int32_t> order(m);
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), before);
        return order;
    }
    static void place(const std::vector<std::int32_t>& order, Prediction sigma) {
        for (std::size_t p = 0; p < order.size(); ++p)
            sigma[order[p]] = static_cast<std::int32_t>(p);
    }

  public:
    RankingProblem(std::span<const double> f, std::span<const double> discount)
        : f_(f.begin(), f.end()),
          discount_(discount.begin(), discount.end()),
          length_(f.size() + 1, 0.0),
          tables_(f_, discount_) {
        double squares = 0;
        for (std::size_t p = 0; p < f_.size(); ++p) {
            squares += f_[p] * f_[p];
            length_[p + 1] = std::sqrt(squares);
        }
    }
    RankingProblem(const RankingProblem&) = delete;  // tables_ looks at f_

    std::size_t most() const { return f_.size(); }
    double scale(std::size_t m) const { return 1 / length_[m]; }

    double best_sum(const double* gains, std::size_t m) const {
        std::vector<double> sorted_gains(gains, gains + m);
        std::sort(sorted_gains.begin(), sorted_gains.end(), std::greater<>());
        double sum = 0;
        for (std::size_t p = 0; p < m; ++p) sum += sorted_gains[p] * discount_[p];
        return sum;
    }

    void predict(Scores t, const double* gains, Prediction sigma) const override {
        place(sorted(t.size(),
                     [&](auto a, auto b) {
                         if (t[a] != t[b]) return t[a] > t[b];
                         return gains && gains[a] != gains[b] ? gains[a] < gains[b] : a < b;
                     }),
              sigma);
    }
    double loss(Coded sigma, const double* gains) const override {
        // Summed by position, as the best sum is: a correct ranking has a loss of exactly 0.
        std::vector<double> at(sigma.size());
        for (std::size_t i = 0; i < sigma.size(); ++i) at[sigma[i]] = gains[i];
        double sum = 0;
        for (std::size_t p = 0; p < at.size(); ++p) sum += at[p] * discount_[p];
        const double best = best_sum(gains, at.size());
        return best > 0 ? std::max(0.0, (best - sum) / best) : 0;
    }
    void correct(const double* gains, const double* t, Prediction sigma) const override {
        auto order = sorted(sigma.size(), [&](auto a, auto b) {
            if (gains[a] != gains[b]) return gains[a] > gains[b];
            return t && t[a] != t[b] ? t[a] > t[b] : a < b;
        });
        // Positions with one discount may be filled in any order: all of the first K, say.
        for (std::size_t first = 0, last = 0; t && first < order.size(); first = last) {
            while (last < order.size() && discount_[last] == discount_[first]) ++last;
            if (last - first > 1) {
                std::stable_sort(order.begin() + first, order.begin() + last,
                                 [&](auto a, auto b) { return t[a] > t[b]; });
            }
        }
        place(order, sigma);
    }
    RankingArgmax argmax(Scores t, const double* gains, std::int32_t* sigma) const {
        const std::size_t m = t.size();
        const double best = best_sum(gains, m);
        return RankingArgmax(tables_, scale(m), t, {gains, m}, best > 0 ? 1 / best : 0, sigma);
    }
    void augmented(Scores t, const double* gains, Prediction sigma) const override {
        argmax(t, gains, sigma.data()).run();
    }
    void represent(Coded sigma, double* rep) const override {
        const double unit = scale(sigma.size());
        for (std::size_t i = 0; i < sigma.size(); ++i) rep[i] = f_[sigma[i]] * unit;
    }
};

}  // namespace rankwright
