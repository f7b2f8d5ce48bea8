// LETOR text to arrays, in two passes over chunks of whole lines.
//
// Pass one (the constructor) counts rows and entries and looks at the first and last index of each
// line; the caller then allocates, and pass two (`parse`) writes every chunk to its own rows.
// Indices normally increase along a line, so the first and last tell the range; a line that proves
// otherwise makes pass two return `rescan`, and `scan_all_indices` finds the true range.
//
// The text must not change between the passes, so it is never a file that others can write to but
// the caller's own copy of a piece of one. Should it change all the same, a chunk writes no more
// rows and entries than pass one counted in it, and throws TextChanged.
//
// The text ends with a newline, and kPadding bytes behind it must be readable. Lines of blanks or
// comments only are no rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "letor_row.hpp"
#include "parallel.hpp"

namespace rankwright {

struct TextChanged : std::logic_error {
    TextChanged() : std::logic_error("the text changed while it was parsed") {}
};

class LetorText {
    struct Chunk {
        const char* begin;
        const char* end;
        std::int64_t n_lines = 0, n_rows = 0, n_entries = 0;  // found by pass one
        std::int64_t first_line = 0, first_row = 0, first_entry = 0;
        std::int64_t min_index = std::numeric_limits<std::int64_t>::max(), max_index = -1;
        bool qid_is_integer = true;  // found by scan_all_indices
    };
    struct Found {  // what pass two learns of a chunk
        LetorError error;
        std::int64_t n_with_qid = 0, first_without_qid = 0;
        bool qid_is_integer = true;
        IdRuns qids, doc_ids;
    };

    std::string_view text_;
    int n_threads_;
    std::vector<Chunk> chunks_;
    IdRuns qids_, doc_ids_;
    bool qid_is_integer_ = true, has_qid_ = false;
    std::int64_t first_without_qid_ = 0;

  public:
    std::int64_t n_lines = 0, n_rows = 0, n_entries = 0, min_index = 0, max_index = -1;

    LetorText(std::string_view text, int n_threads, std::size_t chunk_bytes = kChunkBytes)
        : text_(text), n_threads_(n_threads) {
        cut(std::max<std::size_t>(chunk_bytes, 1));
        parallel_for(chunks_.size(), n_threads_, [&](std::size_t c) { scan(chunks_[c], false); });
        add_up();
    }

    // A chunk and what is written of it fit the second-level cache.
    static constexpr std::size_t kChunkBytes = std::size_t(1) << 18;

    // A sum by which a change of the text is noticed.
    std::uint64_t checksum() const {
        std::vector<std::uint64_t> sums(chunks_.size());
        parallel_for(chunks_.size(), n_threads_, [&](std::size_t c) {
            sums[c] = letor::checksum(chunks_[c].begin, chunks_[c].end);
        });
        std::uint64_t total = text_.size();
        for (const std::uint64_t sum : sums) total = mix(total ^ sum);
        return total;
    }

    // Known after parsing, and of the rows before a fault.
    bool has_qid() const { return has_qid_; }
    bool qid_is_integer() const { return qid_is_integer_; }
    std::int64_t first_without_qid() const { return first_without_qid_; }  // its line, or 0
    // Ids of all rows; document ids if they were asked for.
    const IdRuns& qids() const { return qids_; }
    const IdRuns& doc_ids() const { return doc_ids_; }

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

    // The arrays hold n_entries entries.
    template <class Float, class Index>
    LetorError parse_sparse(const LetorOptions& options, letor::SparseArrays<Float, Index> out,
                            double* y, std::int64_t* qid) {
        out.indptr[0] = 0;
        return parse<letor::SparseSink<Float, Index>, Float>(options, out, y, qid);
    }

  private:
    // Chunks of whole lines.
    void cut(std::size_t chunk_bytes) {
        const char* end = text_.data() + text_.size();
        for (const char* p = text_.data(); p < end;) {
            const std::size_t left = end - p;
            const char* stop = left > chunk_bytes ? letor::next_line(p + chunk_bytes, end) : end;
            chunks_.push_back({p, stop});
            p = stop;
        }
    }

    static void scan(Chunk& chunk, bool every_index) {
        chunk.n_lines = chunk.n_rows = chunk.n_entries = 0;
        for (const char* p = chunk.begin; p < chunk.end;) {
            ++chunk.n_lines;
            if (*p == '\n') {  // a gigabyte of them is easily packed
                ++p;
                continue;
            }
            const char* end = letor::next_line(p, chunk.end);
            if (letor::is_row(p)) {
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
            const char* id = p + 4;
            p = letor::skip_token(id);
            std::int64_t qid;
            if (every_index && !letor::read_qid(id, p, qid)) chunk.qid_is_integer = false;
            p = letor::skip_blanks(p);
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
        n_lines = n_rows = n_entries = 0;
        min_index = std::numeric_limits<std::int64_t>::max();
        max_index = -1;
        for (Chunk& chunk : chunks_) {
            chunk.first_line = n_lines;
            chunk.first_row = n_rows;
            chunk.first_entry = n_entries;
            n_lines += chunk.n_lines;
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
            if (chunk.end[-1] != '\n') throw TextChanged();
            Sink sink(out, options.n_features, chunk.first_row, chunk.first_entry, chunk.n_entries);
            letor::RowParser<Sink, Float> parser(options, texts, sink, chunk.begin, chunk.end);
            parse_lines(parser, sink, chunk, y, qid);
            found[c] = {describe(chunk, parser),
                        parser.n_with_qid,
                        line_of(chunk, parser.first_without_qid),
                        parser.qid_is_integer,
                        std::move(parser.qids),
                        std::move(parser.doc_ids)};
        });
        return judge(found);
    }

    template <class Parser, class Sink>
    static void parse_lines(Parser& parser, Sink& sink, const Chunk& chunk, double* y,
                            std::int64_t* qid) {
        std::int64_t row = chunk.first_row;
        const std::int64_t end_row = row + chunk.n_rows;
        for (const char* p = chunk.begin; p < chunk.end;) {
            if (!letor::is_row(p)) {
                p = parser.finish_line(letor::skip_blanks(p), chunk.end, -1);
            } else {
                if (row == end_row) throw TextChanged();
                p = parser.parse_row(p, row, y[row], qid[row]);
                if (parser.fault != LetorFault::none) return;
                sink.finish_row();
                p = parser.finish_line(p, chunk.end, row++);
            }
            if (parser.fault != LetorFault::none) return;
        }
        if (row != end_row || !sink.is_full()) throw TextChanged();
    }

    static std::int64_t line_of(const Chunk& chunk, const char* where) {
        return where ? chunk.first_line + 1 + std::count(chunk.begin, where, '\n') : 0;
    }

    template <class Parser>
    static LetorError describe(const Chunk& chunk, const Parser& parser) {
        if (parser.fault == LetorFault::none) return {};
        constexpr std::ptrdiff_t most = 60;  // a token may be a megabyte of rubbish
        const char* end = letor::skip_token(parser.where);
        return {parser.fault, line_of(chunk, parser.where), parser.index,
                std::string(parser.where, std::min(end - parser.where, most))};
    }

    // The first fault in file order, whatever the chunks and threads: nothing behind it counts,
    // because in another cut it would not have been read.
    LetorError judge(std::vector<Found>& found) {
        std::int64_t n_with_qid = 0;
        qid_is_integer_ = true;
        first_without_qid_ = 0;
        qids_ = doc_ids_ = {};
        LetorError error;
        for (Found& f : found) {
            n_with_qid += f.n_with_qid;
            if (!first_without_qid_) first_without_qid_ = f.first_without_qid;
            qid_is_integer_ = qid_is_integer_ && f.qid_is_integer;
            qids_.add_all(std::exchange(f.qids, {}));
            doc_ids_.add_all(std::exchange(f.doc_ids, {}));
            error = std::move(f.error);
            if (error.fault != LetorFault::none) break;
        }
        has_qid_ = n_with_qid > 0;
        return error;
    }
};

}  // namespace rankwright
