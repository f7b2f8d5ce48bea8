#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <vector>

#include "letor_parser.hpp"
#include "letor_writer.hpp"
#include "parallel_read.hpp"
#include "python.hpp"

namespace rankwright {

namespace {

constexpr const char* fault_name(LetorFault fault) {
    switch (fault) {
        case LetorFault::label: return "label";
        case LetorFault::label_finite: return "label_finite";
        case LetorFault::entry: return "entry";
        case LetorFault::index_large: return "index_large";
        case LetorFault::index_zero: return "index_zero";
        case LetorFault::value: return "value";
        case LetorFault::value_finite: return "value_finite";
        case LetorFault::value_overflow: return "value_overflow";
        case LetorFault::duplicate: return "duplicate";
        case LetorFault::qid_long: return "qid_long";
        case LetorFault::qid_nul: return "qid_nul";
        case LetorFault::doc_id_long: return "doc_id_long";
        case LetorFault::doc_id_nul: return "doc_id_nul";
        case LetorFault::line_end: return "line_end";
        case LetorFault::rescan: return "rescan";
        default: return "none";
    }
}

// (fault, line, feature index, offending text)
using Fault = std::tuple<const char*, std::int64_t, std::int64_t, nb::bytes>;

std::optional<Fault> as_fault(const LetorError& error) {
    if (error.fault == LetorFault::none) return std::nullopt;
    return Fault{fault_name(error.fault), error.line, error.index,
                 nb::bytes(error.text.data(), error.text.size())};
}

template <class Float>
std::optional<Fault> parse_dense(LetorText& text, OutMatrix<Float> X, Out<double> y,
                                 Out<std::int64_t> qid, const LetorOptions& options) {
    const auto n = static_cast<std::size_t>(text.n_rows);
    require(X.shape(0) == n && y.size() == n && qid.size() == n, "arrays must have n_rows rows");
    require(X.shape(1) == static_cast<std::size_t>(options.n_features),
            "X must have n_features columns");
    LetorError error;
    {
        WithoutGil others_run;
        error = text.parse_dense<Float>(options, X.data(), y.data(), qid.data());
    }
    return as_fault(error);
}

template <class Float, class Index>
std::optional<Fault> parse_sparse(LetorText& text, Out<Float> data, Out<Index> indices,
                                  Out<Index> indptr, Out<double> y, Out<std::int64_t> qid,
                                  const LetorOptions& options) {
    const auto n = static_cast<std::size_t>(text.n_rows),
               e = static_cast<std::size_t>(text.n_entries);
    require(y.size() == n && qid.size() == n && indptr.size() == n + 1,
            "arrays must have n_rows rows");
    require(data.size() == e && indices.size() == e, "arrays must have n_entries entries");
    LetorError error;
    {
        WithoutGil others_run;
        const letor::SparseArrays<Float, Index> out{data.data(), indices.data(), indptr.data()};
        error = text.parse_sparse<Float, Index>(options, out, y.data(), qid.data());
    }
    return as_fault(error);
}

// (ids, each ended by a newline; first row of each)
using Runs = std::tuple<nb::bytes, Result<std::int64_t>>;

Runs as_runs(const IdRuns& ids) {
    return {nb::bytes(ids.text.data(), ids.text.size()),
            make_array<std::int64_t>(ids.starts.size(), [&](std::int64_t* out) {
                std::copy(ids.starts.begin(), ids.starts.end(), out);
            })};
}

template <class Rows>
nb::bytes format_rows(const Rows& X, std::size_t n_rows, In<std::int64_t> rows, In<double> y,
                      In<std::int64_t> query, nb::bytes qid_text, In<std::int64_t> qid_offsets,
                      std::optional<nb::bytes> comment_text, In<std::int64_t> comment_offsets,
                      std::int64_t first_index, int n_threads) {
    require(y.size() == n_rows && query.size() == n_rows,
            "y and query must have a value for each row");
    require(!comment_text || comment_offsets.size() == n_rows + 1,
            "comments need one offset more than rows");
    LetorLines lines{rows.data(),  static_cast<std::int64_t>(rows.size()), y.data(),
                     query.data(), {qid_text.c_str(), qid_offsets.data()}, {},
                     first_index};
    if (comment_text) lines.comments = {comment_text->c_str(), comment_offsets.data()};
    std::string text;
    {
        WithoutGil others_run;
        text = format_letor(lines, X, n_threads);
    }
    return nb::bytes(text.data(), text.size());
}

template <class Float>
nb::bytes format_dense(InMatrix<Float> X, In<std::int64_t> rows, In<double> y,
                       In<std::int64_t> query, nb::bytes qid_text, In<std::int64_t> qid_offsets,
                       std::optional<nb::bytes> comment_text, In<std::int64_t> comment_offsets,
                       std::int64_t first_index, int n_threads) {
    const DenseRows<Float> matrix{X.data(), static_cast<std::int64_t>(X.shape(1))};
    return format_rows(matrix, X.shape(0), rows, y, query, qid_text, qid_offsets, comment_text,
                       comment_offsets, first_index, n_threads);
}

template <class Float, class Index>
nb::bytes format_sparse(In<Float> data, In<Index> indices, In<Index> indptr, In<std::int64_t> rows,
                        In<double> y, In<std::int64_t> query, nb::bytes qid_text,
                        In<std::int64_t> qid_offsets, std::optional<nb::bytes> comment_text,
                        In<std::int64_t> comment_offsets, std::int64_t first_index, int n_threads) {
    const SparseRows<Float, Index> matrix{data.data(), indices.data(), indptr.data()};
    return format_rows(matrix, indptr.size() - 1, rows, y, query, qid_text, qid_offsets,
                       comment_text, comment_offsets, first_index, n_threads);
}

// Numbers as Python writes them, one in a line.
nb::bytes format_lines(In<double> values, int n_threads) {
    constexpr std::size_t step = 1 << 12;
    const std::size_t n = values.size();
    std::vector<std::string> parts((n + step - 1) / step);
    std::string text;
    {
        WithoutGil others_run;
        parallel_for(parts.size(), n_threads, [&](std::size_t i) {
            std::string& part = parts[i];
            char number[kMaxNumberLength];
            for (std::size_t j = i * step; j < std::min(n, (i + 1) * step); ++j) {
                part.append(number, write_repr(number, values.data()[j]) - number);
                part += '\n';
            }
        });
        for (const std::string& part : parts) text += part;
    }
    return nb::bytes(text.data(), text.size());
}

#define RANKWRIGHT_ROWS                                                                 \
    "rows"_a, "y"_a, "query"_a, "qid_text"_a, "qid_offsets"_a, "comment_text"_a.none(), \
        "comment_offsets"_a, "first_index"_a, "n_threads"_a

template <class Float, class Index>
void bind_sparse(nb::module_& m, nb::class_<LetorText>& text) {
    text.def("parse_sparse", &parse_sparse<Float, Index>, "data"_a.noconvert(),
             "indices"_a.noconvert(), "indptr"_a.noconvert(), "y"_a.noconvert(),
             "qid"_a.noconvert(), "options"_a);
    m.def("format_sparse", &format_sparse<Float, Index>, "data"_a.noconvert(),
          "indices"_a.noconvert(), "indptr"_a.noconvert(), RANKWRIGHT_ROWS);
}

template <class Float>
void bind_dense(nb::module_& m, nb::class_<LetorText>& text) {
    text.def("parse_dense", &parse_dense<Float>, "X"_a.noconvert(), "y"_a.noconvert(),
             "qid"_a.noconvert(), "options"_a);
    m.def("format_dense", &format_dense<Float>, "X"_a.noconvert(), RANKWRIGHT_ROWS);
}

}  // namespace

void bind_letor(nb::module_& m) {
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const std::system_error& error) {
            errno = error.code().value();
            PyErr_SetFromErrno(PyExc_OSError);
        }
    });
#if !defined(_WIN32)
    m.def(
        "read_at",
        [](int fd, std::int64_t offset, Out<std::uint8_t> buffer, int n_threads) {
            WithoutGil others_run;
            return read_at(fd, offset, reinterpret_cast<char*>(buffer.data()),
                           static_cast<std::int64_t>(buffer.size()), n_threads);
        },
        "fd"_a, "offset"_a, "buffer"_a.noconvert(), "n_threads"_a,
        "Fill the buffer from a file; return how many bytes there are, fewer only at its end.");
#endif
    nb::class_<LetorOptions>(m, "LetorOptions")
        .def(
            "__init__",
            [](LetorOptions* self, std::int64_t first_index, std::int64_t n_features,
               bool fixed_width, bool allow_nan, bool doc_ids, std::int64_t longest_id,
               const std::string& instructions) {
                new (self) LetorOptions{first_index,
                                        n_features,
                                        fixed_width,
                                        allow_nan,
                                        doc_ids,
                                        longest_id,
                                        instruction_set(instructions)};
            },
            "first_index"_a, "n_features"_a, "fixed_width"_a, "allow_nan"_a, "doc_ids"_a,
            "longest_id"_a, "instructions"_a = "");
    nb::class_<LetorText> text(m, "LetorText", "LETOR text after the first pass.");
    text.def(
            "__init__",
            [](LetorText* self, In<std::uint8_t> padded, std::size_t n_bytes, int n_threads,
               std::size_t chunk_bytes) {
                require(padded.size() >= n_bytes + kPadding, "the text must be padded");
                const std::string_view bytes(reinterpret_cast<const char*>(padded.data()), n_bytes);
                require(bytes.empty() || bytes.back() == '\n', "the text must end with a newline");
                WithoutGil others_run;
                new (self) LetorText(bytes, n_threads, chunk_bytes);
            },
            "padded"_a.noconvert(), "n_bytes"_a, "n_threads"_a,
            "chunk_bytes"_a = LetorText::kChunkBytes, nb::keep_alive<1, 2>())
        .def_ro("n_lines", &LetorText::n_lines)
        .def_ro("n_rows", &LetorText::n_rows)
        .def_ro("n_entries", &LetorText::n_entries)
        .def_ro("min_index", &LetorText::min_index)
        .def_ro("max_index", &LetorText::max_index)
        .def_prop_ro("has_qid", &LetorText::has_qid)
        .def_prop_ro("qid_is_integer", &LetorText::qid_is_integer)
        .def_prop_ro("first_without_qid", &LetorText::first_without_qid)
        .def("qids", [](const LetorText& t) { return as_runs(t.qids()); })
        .def("doc_ids", [](const LetorText& t) { return as_runs(t.doc_ids()); })
        .def("scan_all_indices", &LetorText::scan_all_indices, nb::call_guard<WithoutGil>())
        .def("checksum", &LetorText::checksum, nb::call_guard<WithoutGil>());
    m.def("format_lines", &format_lines, "values"_a, "n_threads"_a,
          "Numbers as Python writes them, one in a line.");
    text.attr("chunk_bytes") = LetorText::kChunkBytes;
    bind_dense<float>(m, text);
    bind_dense<double>(m, text);
    bind_sparse<float, std::int32_t>(m, text);
    bind_sparse<float, std::int64_t>(m, text);
    bind_sparse<double, std::int32_t>(m, text);
    bind_sparse<double, std::int64_t>(m, text);
}

}  // namespace rankwright
