// The integral over [0, 1] of a polynomial of degree below 2 n, exactly: sum_k weight_k f(t_k) over
// the n roots t_k of Legendre's polynomial of degree n.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace rankwright {

struct GaussLegendre {
    std::vector<double> t, rest, weight;  // rest = 1 - t

    explicit GaussLegendre(std::size_t n) : t(n), rest(n), weight(n) {
        const auto degree = static_cast<double>(n);
        for (std::size_t k = 0; k < n; ++k) {
            const auto place = static_cast<double>(k) + 0.75;
            double x = std::cos(std::numbers::pi * place / (degree + 0.5));  // of [-1, 1]
            double slope = 0;
            for (int step = 0; step < 6; ++step) {  // Newton's: from 1e-2 to rounding in four
                double before = 0, value = 1;       // the polynomials of degrees i - 1 and i
                for (double i = 0; i < degree; ++i) {
                    const double next = ((2 * i + 1) * x * value - i * before) / (i + 1);
                    before = value;
                    value = next;
                }
                slope = degree * (before - x * value) / ((1 - x) * (1 + x));
                x -= value / slope;
            }
            t[k] = (1 - x) / 2;
            weight[k] = 1 / ((1 - x) * (1 + x) * slope * slope);
        }
        for (std::size_t k = 0; k < n; ++k) rest[k] = t[n - 1 - k];
    }
};

}  // namespace rankwright
