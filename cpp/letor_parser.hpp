// LETOR / SVMlight text to arrays, in two passes over chunks of whole lines.
//
//     line    = label [ "qid:" id ] { index ":" value } [ "#" comment ]
//
// Pass one (the constructor) counts rows and entries and looks at the first and last index of each
// line; the caller then allocates, and pass two (`parse`) writes every chunk to its own rows.
// Indices normally increase along a line, so the first and last tell the range; a line that proves
// otherwise makes pass two return `rescan`, and `scan_all_indices` finds the true range.
//
// Lines of blanks or comments only are no rows. '\r' is a blank. Reading never goes more than
// kPadding bytes past a line: the last lines are parsed from a padded copy.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "decimal.hpp"
#include "parallel.hpp"

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
    qid_missing,     // some lines have a qid, this one has none
    rescan           // indices do not increase, and leave the range of pass one
};

struct LetorError {
    LetorFault fault = LetorFault::none;
    std::int64_t line = 0;    // from 1
    std::int64_t index = -1;  // feature index as written, where one was read
    std::string text;         // the token at fault
};

struct Span {
    std::int64_t begin, end;
};

struct LetorOptions {
    std::int64_t first_index = 1;  // index of the first feature: 0 or 1
    std::int64_t n_features = 0;
    bool fixed_width = false;  // n_features is the caller's wish, not the result of pass one
    bool allow_nan = false;
};

namespace letor {

inline constexpr std::int64_t kMaxIndex = std::numeric_limits<std::int32_t>::max() - 1;

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
inline bool is_line_end(char c) { return c == '\n' || c == '#'; }
inline bool is_separator(char c) { return is_blank(c) || is_line_end(c); }

inline const char* skip_blanks(const char* p) {
    while (is_blank(*p)) ++p;
    return p;
}
inline const char* skip_token(const char* p) {
    while (!is_separator(*p)) ++p;
    return p;
}
inline const char* next_line(const char* p, const char* end) {
    const void* newline = std::memchr(p, '\n', end - p);
    return newline ? static_cast<const char*>(newline) + 1 : end;
}
// How often c occurs. Bytes are counted in bytes as long as they cannot overflow: std::count widens
// every comparison to 64 bits.
inline std::int64_t count_char(const char* p, const char* end, char c) {
    constexpr std::ptrdiff_t width = 16;
    std::int64_t total = 0;
    while (end - p >= width) {
        std::array<std::uint8_t, width> lanes{};
        for (auto n = std::min<std::ptrdiff_t>((end - p) / width, 255); n > 0; --n, p += width) {
            for (std::ptrdiff_t i = 0; i < width; ++i) lanes[i] += p[i] == c;
        }
        total += std::accumulate(lanes.begin(), lanes.end(), std::int64_t(0));
    }
    return total + std::count(p, end, c);
}

inline bool starts_with_qid(const char* p) { return std::memcmp(p, "qid:", 4) == 0; }

// Reads an index and its colon; returns the position behind them, or nullptr.
inline const char* read_index(const char* p, std::int64_t& index) {
    const char* begin = p;
    std::int64_t value = 0;
    for (; is_digit(*p); ++p)
        value = std::min<std::int64_t>(10 * value + (*p - '0'), kMaxIndex + 1);
    index = value;
    return p > begin && *p == ':' ? p + 1 : nullptr;
}

// Writes a row of a dense matrix; entries come with increasing columns.
template <class Float>
class DenseSink {
    Float* row_;
    std::int64_t n_features_;
    std::int64_t next_ = 0;

  public:
    DenseSink(Float* X, std::int64_t n_features, std::int64_t row, std::int64_t)
        : row_(X + row * n_features), n_features_(n_features) {}
    void put(std::int64_t column, Float value) {
        for (; next_ < column; ++next_) row_[next_] = 0;
        row_[next_++] = value;
    }
    void finish_row() {
        std::fill(row_ + next_, row_ + n_features_, Float(0));
        row_ += n_features_;
        next_ = 0;
    }
    void restart_row() { next_ = 0; }

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
// counted the colons before it.
template <class Float, class Index>
class SparseSink {
    SparseArrays<Float, Index> out_;
    std::int64_t row_, begin_, next_;

  public:
    SparseSink(SparseArrays<Float, Index> out, std::int64_t, std::int64_t row, std::int64_t entry)
        : out_(out), row_(row), begin_(entry), next_(entry) {}
    void put(std::int64_t column, Float value) {
        out_.data[next_] = value;
        out_.indices[next_++] = static_cast<Index>(column);
    }
    void finish_row() {
        begin_ = next_;
        out_.indptr[++row_] = static_cast<Index>(next_);
    }
    void restart_row() { next_ = begin_; }
};

// The texts "1:", "2:", ... as words, so that a line which lists every feature in order needs one
// comparison for an index instead of a digit loop.
class IndexTexts {
    struct Text {
        std::uint64_t word = 1, mask = 0;  // matches nothing
        int length = 0;

        int match(const char* p) const { return (load8(p) & mask) == word ? length : 0; }
    };
    std::vector<Text> texts_;

  public:
    IndexTexts(std::int64_t first_index, std::int64_t n_features) {
        constexpr std::int64_t most = 4096;
        texts_.resize(std::min(n_features, most) + 1);
        for (std::size_t i = 0; i + 1 < texts_.size(); ++i) {
            const std::string text =
                std::to_string(first_index + static_cast<std::int64_t>(i)) + ":";
            Text& t = texts_[i];
            t.length = static_cast<int>(text.size());
            t.word = 0;
            std::memcpy(&t.word, text.data(), text.size());
            t.mask = (std::uint64_t(1) << (8 * t.length)) - 1;
        }
    }
    // Length of the text of feature `column` if p starts with it, else 0.
    int match(const char* p, std::int64_t column) const { return at(column).match(p); }

    // Reads entries "index:value " as long as they are plain and list every feature from `column`
    // on, into out; returns how many, and moves p behind them. This is nearly all of a dense file,
    // and has nothing to do but find digits.
    template <class Float>
    std::int64_t read_run(const char*& p, std::int64_t column, Float* out) const {
        const Text* text = &at(column);
        Float* const begin = out;
        const char* here = p;
        while (const int length = text->match(here)) {
            const char* next = read_plain(here + length, *out);
            if (!next) break;
            here = next;
            ++out;
            ++text;
        }
        p = here;
        return out - begin;
    }

  private:
    const Text& at(std::int64_t column) const {
        return texts_[std::min<std::size_t>(column, texts_.size() - 1)];
    }
};

}  // namespace letor

class LetorText {
    struct Chunk {
        const char* begin;
        const char* end;
        std::int64_t offset;                     // of begin in the text
        std::int64_t n_rows = 0, n_entries = 0;  // found by pass one
        std::int64_t first_row = 0, first_entry = 0;
        std::int64_t min_index = std::numeric_limits<std::int64_t>::max(), max_index = -1;
        bool qid_is_integer = true;  // found by scan_all_indices
    };
    struct Found {  // what pass two learns of a chunk
        LetorFault fault = LetorFault::none;
        const char* where = nullptr;
        std::int64_t index = -1;
        std::int64_t n_entries = 0, n_with_qid = 0;
        const char* first_without_qid = nullptr;
        bool qid_is_integer = true;
    };

    std::string_view text_;
    int n_threads_;
    std::string tail_;  // padded copy of the last lines
    std::vector<Chunk> chunks_;
    bool qid_is_integer_ = true, has_qid_ = false;

  public:
    std::int64_t n_rows = 0, n_entries = 0, min_index = 0, max_index = -1;

    LetorText(std::string_view text, int n_threads, std::size_t chunk_bytes = std::size_t(1) << 20)
        : text_(text), n_threads_(n_threads) {
        cut(std::max<std::size_t>(chunk_bytes, 1));
        parallel_for(chunks_.size(), n_threads_, [&](std::size_t c) { scan(chunks_[c], false); });
        add_up();
    }

    bool has_qid() const { return has_qid_; }
    bool qid_is_integer() const { return qid_is_integer_; }

    // Pass one again, looking at every index and qid; for files whose indices do not increase, and
    // for those that are parsed in pieces.
    void scan_all_indices() {
        parallel_for(chunks_.size(), n_threads_, [&](std::size_t c) { scan(chunks_[c], true); });
        add_up();
        qid_is_integer_ = std::all_of(chunks_.begin(), chunks_.end(),
                                      [](const Chunk& chunk) { return chunk.qid_is_integer; });
    }

    template <class Float>
    LetorError parse_dense(const LetorOptions& options, Float* X, double* y, std::int64_t* qid) {
        return parse<letor::DenseSink<Float>, Float>(options, X, y, qid);
    }

    // The arrays hold n_entries entries; indptr[n_rows] tells how many were written.
    template <class Float, class Index>
    LetorError parse_sparse(const LetorOptions& options, letor::SparseArrays<Float, Index> out,
                            double* y, std::int64_t* qid) {
        out.indptr[0] = 0;
        return parse<letor::SparseSink<Float, Index>, Float>(options, out, y, qid);
    }

    // Where each row's qid stands in the text.
    void qid_spans(Span* out) const {
        each_row(out, [](const char* p, const char*) {
            p = letor::skip_blanks(letor::skip_token(letor::skip_blanks(p)));
            if (!letor::starts_with_qid(p)) return std::pair(p, p);
            return std::pair(p + 4, letor::skip_token(p + 4));
        });
    }

    // Where each row's document id stands: the X of "# docid = X ...", else the whole comment,
    // trimmed.
    void doc_id_spans(Span* out) const {
        each_row(out, [](const char* p, const char* line_end) {
            const void* mark = std::memchr(p, '#', line_end - p);
            if (!mark) return std::pair(line_end, line_end);
            const char* begin = letor::skip_blanks(static_cast<const char*>(mark) + 1);
            const char* end = line_end;
            while (end > begin && letor::is_blank(end[-1])) --end;
            if (end - begin > 5 && std::memcmp(begin, "docid", 5) == 0) {
                const char* value = letor::skip_blanks(begin + 5);
                if (*value == '=') {
                    begin = letor::skip_blanks(value + 1);
                    value = begin;
                    while (value < end && !letor::is_blank(*value)) ++value;
                    end = std::max(value, begin);
                }
            }
            return std::pair(begin, end);
        });
    }

  private:
    // Chunks of whole lines. Behind the end of every line but the last ones there are kPadding
    // bytes of text; the last ones are copied, ended by a newline and padded.
    void cut(std::size_t chunk_bytes) {
        const char* begin = text_.data();
        const char* end = begin + text_.size();
        const char* last = begin + (text_.size() > kPadding ? text_.size() - kPadding : 0);
        while (last > begin && last[-1] != '\n') --last;

        for (const char* p = begin; p < last;) {
            const std::size_t left = last - p;
            const char* stop = left > chunk_bytes ? letor::next_line(p + chunk_bytes, last) : last;
            chunks_.push_back({p, stop, p - begin});
            p = stop;
        }
        if (last < end) {
            tail_.assign(last, end);
            tail_ += '\n';
            const std::size_t size = tail_.size();
            tail_.append(kPadding, '\0');
            chunks_.push_back({tail_.data(), tail_.data() + size, last - begin});
        }
    }

    // Is there a row on the line that starts at p?
    static bool is_row(const char* p) { return !letor::is_line_end(*letor::skip_blanks(p)); }

    static void scan(Chunk& chunk, bool every_index) {
        chunk.n_rows = chunk.n_entries = 0;
        for (const char* p = chunk.begin; p < chunk.end;) {
            const char* end = letor::next_line(p, chunk.end);
            if (is_row(p)) {
                ++chunk.n_rows;
                scan_row(chunk, p, end, every_index);
            }
            p = end;
        }
    }

    static void scan_row(Chunk& chunk, const char* p, const char* end, bool every_index) {
        const auto note = [&chunk](const char* begin) {
            std::int64_t index;
            if (!letor::read_index(begin, index)) return;
            chunk.min_index = std::min(chunk.min_index, index);
            chunk.max_index = std::max(chunk.max_index, index);
        };
        if (const void* mark = std::memchr(p, '#', end - p)) end = static_cast<const char*>(mark);
        p = letor::skip_blanks(letor::skip_token(letor::skip_blanks(p)));
        if (letor::starts_with_qid(p)) {
            std::int64_t qid;
            if (every_index) read_qid(p + 4, qid, chunk.qid_is_integer);
            p = letor::skip_blanks(letor::skip_token(p));
        }
        if (p >= end || letor::is_line_end(*p)) return;
        chunk.n_entries += letor::count_char(p, end, ':');
        if (every_index) {
            for (; p < end && !letor::is_line_end(*p); p = letor::skip_blanks(letor::skip_token(p)))
                note(p);
            return;
        }
        note(p);
        const char* last = end;
        while (last > p && letor::is_separator(last[-1])) --last;
        while (last > p && !letor::is_separator(last[-1])) --last;
        note(last);
    }

    void add_up() {
        n_rows = n_entries = 0;
        min_index = std::numeric_limits<std::int64_t>::max();
        max_index = -1;
        for (Chunk& chunk : chunks_) {
            chunk.first_row = n_rows;
            chunk.first_entry = n_entries;
            n_rows += chunk.n_rows;
            n_entries += chunk.n_entries;
            min_index = std::min(min_index, chunk.min_index);
            max_index = std::max(max_index, chunk.max_index);
        }
        if (max_index < 0) min_index = 1;  // no entry at all
    }

    template <class Sink, class Float, class Out>
    LetorError parse(const LetorOptions& options, Out out, double* y, std::int64_t* qid) {
        const letor::IndexTexts texts(options.first_index, options.n_features);
        std::vector<Found> found(chunks_.size());
        parallel_for(chunks_.size(), n_threads_, [&](std::size_t c) {
            const Chunk& chunk = chunks_[c];
            Sink sink(out, options.n_features, chunk.first_row, chunk.first_entry);
            std::vector<std::pair<std::int64_t, Float>> scratch;
            std::int64_t row = chunk.first_row;
            for (const char* p = chunk.begin; p < chunk.end;) {
                if (is_row(p)) {
                    p = parse_row(p, options, texts, sink, scratch, y[row], qid[row], found[c]);
                    if (found[c].fault != LetorFault::none) return;
                    sink.finish_row();
                    ++row;
                }
                p = *p == '\n' ? p + 1 : letor::next_line(p, chunk.end);
            }
        });
        return judge(found);
    }

    // Parses one row; returns its end. On a fault, notes it and returns anything.
    template <class Sink, class Float>
    static const char* parse_row(const char* p, const LetorOptions& options,
                                 const letor::IndexTexts& texts, Sink& sink,
                                 std::vector<std::pair<std::int64_t, Float>>& scratch, double& y,
                                 std::int64_t& qid, Found& found) {
        const auto fail = [&found](LetorFault fault, const char* where, std::int64_t index = -1) {
            found.fault = fault;
            found.where = where;
            found.index = index;
            return where;
        };
        const char* label = p = letor::skip_blanks(p);
        p = read_number(p, y);
        if (!p || !letor::is_separator(*p)) return fail(LetorFault::label, label);
        if (!std::isfinite(y)) return fail(LetorFault::label_finite, label);

        p = letor::skip_blanks(p);
        if (letor::starts_with_qid(p)) {
            if (letor::is_separator(p[4])) return fail(LetorFault::entry, p);
            p = read_qid(p + 4, qid, found.qid_is_integer);
            ++found.n_with_qid;
        } else {
            qid = 0;
            if (!found.first_without_qid) found.first_without_qid = label;
        }
        const char* features = p;

        std::int64_t expected = 0;  // column
        bool increasing = true;
        for (;;) {
            p = letor::skip_blanks(p);
            if constexpr (requires { sink.next(); }) {
                if (increasing) {
                    const std::int64_t n = texts.read_run(p, expected, sink.next());
                    sink.advance(n);
                    expected += n;
                    p = letor::skip_blanks(p);
                }
            }
            if (letor::is_line_end(*p)) break;
            const char* entry = p;
            std::int64_t column = expected;
            if (const int length = texts.match(p, expected)) [[likely]] {
                p += length;
            } else {
                std::int64_t index;
                p = letor::read_index(p, index);
                if (!p) return fail(LetorFault::entry, entry);
                column = index - options.first_index;
                if (column < 0 || column >= options.n_features || index > letor::kMaxIndex) {
                    const bool knowable = options.fixed_width || index > letor::kMaxIndex;
                    if (!knowable) return fail(LetorFault::rescan, entry, index);
                    return fail(column < 0 ? LetorFault::index_zero : LetorFault::index_large,
                                entry, index);
                }
                if (increasing && column < expected) {
                    // Out of order: start the row again, collecting its entries for sorting.
                    increasing = false;
                    scratch.clear();
                    sink.restart_row();
                    p = features;
                    expected = 0;
                    continue;
                }
            }
            Float value;
            const char* end = read_number(p, value);
            const std::int64_t index = column + options.first_index;
            if (!end || !letor::is_separator(*end)) return fail(LetorFault::value, entry, index);
            if (!std::isfinite(value)) [[unlikely]] {
                p += *p == '-' || *p == '+';
                const bool digits = is_digit(*p) || *p == '.';
                // A number too large for the type is not the infinity that allow_nan allows.
                if (digits) return fail(LetorFault::value_overflow, entry, index);
                if (!options.allow_nan) return fail(LetorFault::value_finite, entry, index);
            }
            p = end;
            if (increasing) [[likely]] {
                sink.put(column, value);
                expected = column + 1;
            } else {
                scratch.emplace_back(column, value);
            }
        }
        if (!increasing) {
            const auto by_column = [](const auto& a, const auto& b) { return a.first < b.first; };
            std::stable_sort(scratch.begin(), scratch.end(), by_column);
            for (std::size_t i = 0; i < scratch.size(); ++i) {
                const auto [column, value] = scratch[i];
                if (i > 0 && scratch[i - 1].first == column) {
                    return fail(LetorFault::duplicate, label, column + options.first_index);
                }
                sink.put(column, value);
            }
        }
        return p;
    }

    // Reads a qid, and says if it is no integer; it is one if its text is the usual text of one, so
    // that nothing is lost: "7", not "007".
    static const char* read_qid(const char* p, std::int64_t& qid, bool& is_integer) {
        const char* end = letor::skip_token(p);
        const char* digits = p + (*p == '-');
        const bool canonical = end - digits == 1
                                   ? is_digit(*digits) && (*digits != '0' || digits == p)
                                   : is_digit(*digits) && *digits != '0';
        qid = 0;
        const auto [stop, error] = std::from_chars(p, end, qid);
        const bool whole = stop == end && error == std::errc();
        is_integer = is_integer && canonical && whole;
        return end;
    }

    // The first fault in file order, whatever the chunks and threads: nothing behind it counts,
    // because in another cut it would not have been read.
    LetorError judge(const std::vector<Found>& found) {
        std::int64_t n_with_qid = 0;
        qid_is_integer_ = true;
        for (const Found& f : found) {
            n_with_qid += f.n_with_qid;
            qid_is_integer_ = qid_is_integer_ && f.qid_is_integer;
            if (f.fault != LetorFault::none) break;
        }
        has_qid_ = n_with_qid > 0;
        for (std::size_t c = 0; c < found.size(); ++c) {
            const Found& f = found[c];
            if (has_qid_ && f.first_without_qid && (!f.where || f.first_without_qid < f.where)) {
                return describe(chunks_[c], LetorFault::qid_missing, f.first_without_qid, -1);
            }
            if (f.fault != LetorFault::none) return describe(chunks_[c], f.fault, f.where, f.index);
        }
        return {};
    }

    LetorError describe(const Chunk& chunk, LetorFault fault, const char* where,
                        std::int64_t index) const {
        constexpr std::ptrdiff_t most = 60;  // a token may be a megabyte of rubbish
        const std::int64_t offset = chunk.offset + (where - chunk.begin);
        const std::int64_t line = 1 + std::count(text_.data(), text_.data() + offset, '\n');
        const char* end = letor::skip_token(where);
        return {fault, line, index, std::string(where, std::min(end - where, most))};
    }

    template <class Locate>
    void each_row(Span* out, Locate&& locate) const {
        parallel_for(chunks_.size(), n_threads_, [&](std::size_t c) {
            const Chunk& chunk = chunks_[c];
            Span* span = out + chunk.first_row;
            for (const char *p = chunk.begin, *next; p < chunk.end; p = next) {
                next = letor::next_line(p, chunk.end);
                if (!is_row(p)) continue;
                const auto [begin, end] = locate(p, next - 1);
                *span++ = {chunk.offset + (begin - chunk.begin),
                           chunk.offset + (end - chunk.begin)};
            }
        });
    }
};

}  // namespace rankwright
