// One line of LETOR text to a row.
//
//     line    = label [ "qid:" id ] { index ":" value } [ "#" comment ]
//
// Blanks are spaces and tabs. A line ends with '\n' or "\r\n".
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decimal.hpp"
#include "instruction_sets.hpp"
#include "letor_batch.hpp"
#include "letor_tokens.hpp"

namespace rankwright {

enum class LetorFault {
    none,
    label,           // the label is not a number
    label_finite,    // the label is NaN or infinite
    entry,           // not index:value
    index_large,     // the index does not fit the number of features, or 31 bits
    index_zero,      // index 0 in a 1-based file
    value,           // the value is not a number
    value_finite,    // the value is NaN or infinite
    value_overflow,  // the value is finite but too large for float32
    duplicate,       // an index twice in one line
    qid_long,        // the qid has more than longest_id characters
    qid_nul,         // the qid ends with NUL, which arrays of strings drop
    doc_id_long,     // as for the qid
    doc_id_nul,
    line_end,  // '\r' without '\n' behind it
    rescan     // indices do not increase, and leave the range of pass one
};

struct LetorError {
    LetorFault fault = LetorFault::none;
    std::int64_t line = 0;    // from 1
    std::int64_t index = -1;  // feature index as written, where one was read
    std::string text;         // the token at fault
};

struct LetorOptions {
    std::int64_t first_index = 1;  // index of the first feature: 0 or 1
    std::int64_t n_features = 0;
    bool fixed_width = false;  // n_features is the caller's wish, not the result of pass one
    bool allow_nan = false;
    bool doc_ids = false;            // to be kept
    std::int64_t longest_id = 1000;  // in characters
    InstructionSet instructions = instruction_set();
};

// Ids of successive rows, equal neighbours once: id i, ended by '\n', is of the rows from starts[i]
// to starts[i + 1].
struct IdRuns {
    std::string text;
    std::vector<std::int64_t> starts;

    // Says if the id is another one than that of the row before.
    bool add(std::int64_t row, std::string_view id) {
        if (!starts.empty() && id == last()) return false;
        last_ = text.size();
        text += id;
        text += '\n';
        starts.push_back(row);
        return true;
    }
    void add_all(const IdRuns& other) {
        std::size_t begin = 0;
        for (const std::int64_t row : other.starts) {
            const std::size_t end = other.text.find('\n', begin);
            add(row, std::string_view(other.text).substr(begin, end - begin));
            begin = end + 1;
        }
    }
    std::string_view last() const {
        return std::string_view(text).substr(last_, text.size() - 1 - last_);
    }

  private:
    std::size_t last_ = 0;
};

namespace letor {

// Writes a row of a dense matrix; entries come with increasing columns.
template <class Float>
class DenseSink {
    Float* row_;
    std::int64_t n_features_;
    std::int64_t next_ = 0;

  public:
    DenseSink(Float* X, std::int64_t n_features, std::int64_t row, std::int64_t, std::int64_t)
        : row_(X + row * n_features), n_features_(n_features) {}
    void put(std::int64_t column, Float value) {
        for (; next_ < column; ++next_) row_[next_] = 0;
        row_[next_++] = value;
    }
    void put_all(const std::int32_t* columns, const Float* values, std::int64_t n) {
        if (columns[n - 1] - columns[0] == n - 1) {
            std::fill(row_ + next_, row_ + columns[0], Float(0));
            std::copy(values, values + n, row_ + columns[0]);
            next_ = columns[0] + n;
        } else {
            for (std::int64_t i = 0; i < n; ++i) put(columns[i], values[i]);
        }
    }
    void finish_row() {
        std::fill(row_ + next_, row_ + n_features_, Float(0));
        row_ += n_features_;
        next_ = 0;
    }
    void restart_row() { next_ = 0; }
    bool is_full() const { return true; }  // its rows are counted, not its entries

    // Where the next columns go, one after the other; `advance` tells how many were written.
    Float* next() { return row_ + next_; }
    void advance(std::int64_t n) { next_ += n; }
};

template <class Float, class Index>
struct SparseArrays {
    Float* data;
    Index* indices;
    Index* indptr;
};

// Appends to the arrays of a CSR matrix. A chunk knows where its entries begin because pass one
// counted the colons before it, and puts no more of them there than were counted.
template <class Float, class Index>
class SparseSink {
    SparseArrays<Float, Index> out_;
    std::int64_t row_, begin_, next_, end_;
    bool overflow_ = false;

  public:
    SparseSink(SparseArrays<Float, Index> out, std::int64_t, std::int64_t row, std::int64_t entry,
               std::int64_t n_entries)
        : out_(out), row_(row), begin_(entry), next_(entry), end_(entry + n_entries) {}
    void put(std::int64_t column, Float value) {
        if (next_ == end_) [[unlikely]] {
            overflow_ = true;
            return;
        }
        out_.data[next_] = value;
        out_.indices[next_++] = static_cast<Index>(column);
    }
    void put_all(const std::int32_t* columns, const Float* values, std::int64_t n) {
        if (n > end_ - next_) [[unlikely]] {
            overflow_ = true;
            return;
        }
        std::copy(values, values + n, out_.data + next_);
        std::copy(columns, columns + n, out_.indices + next_);
        next_ += n;
    }
    void finish_row() {
        begin_ = next_;
        out_.indptr[++row_] = static_cast<Index>(next_);
    }
    void restart_row() { next_ = begin_; }
    bool is_full() const { return next_ == end_ && !overflow_; }
};

// Parses the lines of a chunk, one after the other, until the first fault.
template <class Sink, class Float>
class RowParser {
    const LetorOptions& options_;
    const IndexTexts& texts_;
    Sink& sink_;
    const char *begin_, *end_;  // of the chunk
    EntryBatch<Float> batch_;
    int trust_;  // how many more rows may prove that batches do not pay here
    std::vector<std::pair<std::int64_t, Float>> scratch_;
    std::int64_t qid_ = 0;  // of the last row

  public:
    LetorFault fault = LetorFault::none;
    const char* where = nullptr;  // the fault is
    std::int64_t index = -1;      // of the feature at fault
    const char* first_without_qid = nullptr;
    std::int64_t n_with_qid = 0;
    bool qid_is_integer = true;
    IdRuns qids, doc_ids;

    RowParser(const LetorOptions& options, const IndexTexts& texts, Sink& sink, const char* begin,
              const char* end)
        : options_(options),
          texts_(texts),
          sink_(sink),
          begin_(begin),
          end_(end),
          batch_(options.instructions),
          trust_(batch_.runs_here() ? 32 : 0) {}

    // Parses a row up to its comment or the end of its line, and returns that place.
    const char* parse_row(const char* p, std::int64_t row, double& y, std::int64_t& qid) {
        const char* label = p = skip_blanks(p);
        p = read_number(p, y);
        if (!p || !is_separator(*p)) return fail(LetorFault::label, label);
        if (!std::isfinite(y)) return fail(LetorFault::label_finite, label);

        p = skip_blanks(p);
        if (starts_with_qid(p)) {
            const char* begin = p + 4;
            p = skip_token(begin);
            const std::string_view id(begin, p - begin);
            if (id.empty()) return fail(LetorFault::entry, begin - 4);
            if (qids.add(row, id)) {
                if (is_longer(id, options_.longest_id)) return fail(LetorFault::qid_long, begin);
                if (id.back() == '\0') return fail(LetorFault::qid_nul, begin);
                qid_is_integer = read_qid(begin, p, qid_) && qid_is_integer;
            }
            qid = qid_;
            ++n_with_qid;
        } else {
            qid = 0;
            if (!first_without_qid) first_without_qid = label;
        }
        return parse_entries(p, label);
    }

    // Looks at the rest of a line, from the end of its row on; returns the next line. `row` is -1
    // where the line has none.
    const char* finish_line(const char* p, const char* end, std::int64_t row) {
        const char* next = *p == '\n' ? p + 1 : next_line(p, end);
        if (*p != '\n') {
            const void* bare = std::memchr(p, '\r', next - p);
            if (bare && static_cast<const char*>(bare) + 2 != next)
                return fail(LetorFault::line_end, p);
        }
        if (options_.doc_ids && row >= 0) {
            const std::string_view id = *p == '#' ? doc_id(p, next - 1) : std::string_view();
            if (is_longer(id, options_.longest_id)) return fail(LetorFault::doc_id_long, id.data());
            if (!id.empty() && id.back() == '\0') return fail(LetorFault::doc_id_nul, id.data());
            doc_ids.add(row, id);
        }
        return next;
    }

  private:
    const char* fail(LetorFault kind, const char* place, std::int64_t feature = -1) {
        fault = kind;
        where = place;
        index = feature;
        return place;
    }

    const char* parse_entries(const char* p, const char* label) {
        const char* features = p;
        std::int64_t expected = 0;  // column
        bool increasing = true;
        p = read_batches(p, expected);
        for (;;) {
            p = skip_blanks(p);
            if constexpr (requires { sink_.next(); }) {
                if (increasing) {
                    const std::int64_t n = texts_.read_run(p, expected, sink_.next());
                    sink_.advance(n);
                    expected += n;
                    p = skip_blanks(p);
                }
            }
            if (is_line_end(*p)) break;
            const char* entry = p;
            std::int64_t column = expected;
            if (const int length = texts_.match(p, expected)) [[likely]] {
                p += length;
            } else {
                std::int64_t found;
                p = read_index(p, found);
                if (!p) return fail(LetorFault::entry, entry);
                column = found - options_.first_index;
                if (column < 0 || column >= options_.n_features || found > kMaxIndex) {
                    const bool knowable = options_.fixed_width || found > kMaxIndex;
                    if (!knowable) return fail(LetorFault::rescan, entry, found);
                    return fail(column < 0 ? LetorFault::index_zero : LetorFault::index_large,
                                entry, found);
                }
                if (increasing && column < expected) {
                    // Out of order: start the row again, collecting its entries for sorting.
                    increasing = false;
                    scratch_.clear();
                    sink_.restart_row();
                    p = features;
                    expected = 0;
                    continue;
                }
            }
            Float value;
            const std::int64_t feature = column + options_.first_index;
            const char* end = read_plain(p, value);
            if (!end) end = read_any(p, value, entry, feature);
            if (!end) return entry;
            p = end;
            if (increasing) [[likely]] {
                sink_.put(column, value);
                expected = column + 1;
            } else {
                scratch_.emplace_back(column, value);
            }
        }
        if (increasing) return p;
        const std::int64_t twice = put_sorted();
        return twice < 0 ? p : fail(LetorFault::duplicate, label, twice);
    }

    // Reads as many entries as batches do.
    const char* read_batches(const char* p, std::int64_t& expected) {
        if (trust_ == 0 || p - begin_ < batch_.kBefore) return p;
        int n;
        do {
            p = skip_blanks(p);
            n = batch_.read(p, end_, texts_, options_.first_index, options_.n_features, expected);
            if (n == 0) break;
            sink_.put_all(batch_.columns.data(), batch_.values.data(), n);
            expected = batch_.columns[n - 1] + 1;
        } while (n == batch_.kMost);
        trust_ -= !is_line_end(*p);
        return p;
    }

    // Reads the value of an entry in any spelling; on a fault, notes it and returns nullptr.
    const char* read_any(const char* p, Float& value, const char* entry, std::int64_t feature) {
        const char* end = read_number(p, value);
        if (!end || !is_separator(*end)) {
            fail(LetorFault::value, entry, feature);
            return nullptr;
        }
        if (std::isfinite(value)) return end;
        p += *p == '-' || *p == '+';
        const bool digits = is_digit(*p) || *p == '.';
        // A number too large for the type is not the infinity that allow_nan allows.
        if (!digits && options_.allow_nan) return end;
        fail(digits ? LetorFault::value_overflow : LetorFault::value_finite, entry, feature);
        return nullptr;
    }

    // Puts the collected entries; returns the feature that occurs twice, or -1.
    std::int64_t put_sorted() {
        const auto by_column = [](const auto& a, const auto& b) { return a.first < b.first; };
        std::stable_sort(scratch_.begin(), scratch_.end(), by_column);
        for (std::size_t i = 0; i < scratch_.size(); ++i) {
            const auto [column, value] = scratch_[i];
            if (i > 0 && scratch_[i - 1].first == column) return column + options_.first_index;
            sink_.put(column, value);
        }
        return -1;
    }
};

}  // namespace letor

}  // namespace rankwright
