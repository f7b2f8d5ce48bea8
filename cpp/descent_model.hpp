// What the models of coordinate descent share.
//
// A model keeps e^{m_i} relative to a reference per query, and sums a query afresh when digits run
// out.
#pragma once

#include <algorithm>
#include <cmath>

namespace rankwright {

struct Slope {
    double gradient = 0, curvature = 0;
};

// e^{m - reference} stays a number: beyond this lead a document's terms are 0 to all digits anyway.
inline constexpr double kLargestLead = 600;
// A sum of exponentials that has fallen to this share of its largest value has lost three digits,
// and a lead this large may hide the rest of the query: then the query is summed afresh.
inline constexpr double kSmallestShare = 1e-3, kRefreshLead = 300;

inline double relative_exp(double lead) { return std::exp(std::min(lead, kLargestLead)); }

}  // namespace rankwright
