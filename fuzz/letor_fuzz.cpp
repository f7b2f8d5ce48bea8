// Feeds LETOR text to the parser and the writer.
//
// Built with -fsanitize=fuzzer,address,undefined -DRANKWRIGHT_LIBFUZZER, which needs clang,
// libFuzzer looks for inputs that reach new code. Built without it, with
// -fsanitize=address,undefined or thread, it mutates on its own: letor_fuzz CORPUS_DIR N [SEED].
// Every input lies in a heap block of exactly its size and padding, so that any read behind them is
// seen. What must hold for each:
//
// - the outcome, fault or arrays, is the same bit for bit for every chunk size and thread count,
//   and without the instructions that only some processors have;
// - a dense matrix holds what a sparse one holds;
// - accepted numbers are those of strtof and strtod, and ids those of the text;
// - written and read again, the rows are the same;
// - if the text is another one when it is parsed than when it was counted, nothing is written
//   outside the arrays.
//
// The first input that breaks a rule is printed in hex, and the exit status is 1.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "letor_parser.hpp"
#include "letor_writer.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#include <sanitizer/common_interface_defs.h>
#define RANKWRIGHT_SANITIZED 1
#endif

using namespace rankwright;

namespace {

std::string current;  // the input under test

void print_input() {
    std::fprintf(stderr, "input of %zu bytes:", current.size());
    for (const unsigned char c : current) std::fprintf(stderr, " %02x", static_cast<unsigned>(c));
    std::fprintf(stderr, "\n");
}

void require(bool holds, const char* rule) {
    if (holds) return;
    std::fprintf(stderr, "violated: %s\n", rule);
    print_input();
    std::exit(1);
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// ---- inputs ----

class Random {
    std::mt19937_64 engine_;

  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    std::size_t below(std::size_t n) { return engine_() % n; }
    std::size_t between(std::size_t low, std::size_t high) { return low + below(high - low + 1); }
};

// clang-format off
const char* const kTokens[] = {
    "0", "-0", "+0", "1", "-1", "+1", "00", "007", "1.", ".5", "-.5", "+.5", ".", "-", "+", "e",
    "1e", "1e+", "1e5", "1E-5", "-1.5e+3", "1e38", "3.4028235e38", "3.4028236e38", "3.5e38",
    "-.5e39", "1e39", "1e308", "1.7976931348623157e308", "1.7976931348623159e308", "1e309",
    "-1e400", "1e-45", "7e-46", "7.1e-46", "1e-38", "1.1754943e-38", "5e-324", "2e-324", "1e-400",
    "0e999999999999", "1e-99999999999", "1e99999999999", "16777217", "16777219",
    "9007199254740993", "8388608.5", "0.1", "12345678", "1234567.12345678", "1234567.123456789",
    "123456789012345678901234567890", "0.000000000000000000000000000001", "nan", "-nan", "NaN",
    "inf", "-INF", "+infinity", "infinit", "nanx", "0x1p3", "1_0", "1,5", "qid:", "qid:1",
    "qid:-1", "qid:-0", "qid:01", "qid:a", "qid:999999999999999999", "qid:9223372036854775807",
    "qid:9223372036854775808", "qid:-9223372036854775808", "0:1", "1:1", "2:2", "1:", ":1", ":",
    "1:2:3", "01:1", "4095:1", "4096:1", "4097:1", "2147483646:1", "2147483647:1", "2147483648:1",
    "99999999999999999999:1", "#", "# docid = D1 x", "#docid=", "# docid", "##", "\n", "\r\n",
    "\r", "\t", " ", "\n\n", "\x0b", "\x0c",
};
// clang-format on

std::string mutate(std::string text, const std::vector<std::string>& corpus, Random& random) {
    const auto position = [&] { return random.below(text.size() + 1); };
    const auto token = [&] { return std::string(kTokens[random.below(std::size(kTokens))]); };
    // The token at or behind a random place, as (begin, length).
    const auto some_token = [&] {
        const auto blank = [](char c) { return letor::is_blank(c) || c == '\n' || c == ':'; };
        std::size_t begin = position();
        while (begin > 0 && begin < text.size() && !blank(text[begin - 1])) --begin;
        std::size_t end = begin;
        while (end < text.size() && !blank(text[end])) ++end;
        return std::pair(begin, end - begin);
    };
    for (std::size_t n = random.between(1, 4); n > 0; --n) {
        switch (random.below(9)) {
            case 0:
                if (!text.empty())
                    text[random.below(text.size())] ^= static_cast<char>(1 << random.below(8));
                break;
            case 1: text.insert(position(), 1, static_cast<char>(random.below(256))); break;
            case 2:
                if (!text.empty()) text.erase(random.below(text.size()), random.between(1, 4));
                break;
            case 3: {  // splice
                const std::string& other = corpus[random.below(corpus.size())];
                text = text.substr(0, position()) + other.substr(random.below(other.size() + 1));
                break;
            }
            case 4: {  // the same token twice
                const auto [begin, length] = some_token();
                text.insert(begin, text.substr(begin, length) + (random.below(4) ? " " : ""));
                break;
            }
            case 5: {  // another token or number in its place
                const auto [begin, length] = some_token();
                text.replace(begin, length, token());
                break;
            }
            case 6: text.insert(position(), " " + token() + (random.below(4) ? " " : "")); break;
            case 7: text.resize(position()); break;
            case 8: {  // the same line twice, or two lines in one
                const std::size_t newline = text.find('\n', position());
                if (newline == std::string::npos) break;
                if (random.below(2)) {
                    text[newline] = ' ';
                } else {
                    const std::size_t previous =
                        newline ? text.rfind('\n', newline - 1) : std::string::npos;
                    const std::size_t begin = previous == std::string::npos ? 0 : previous + 1;
                    text.insert(newline + 1, text.substr(begin, newline + 1 - begin));
                }
                break;
            }
        }
        if (text.size() > 8192) text.resize(8192);
    }
    return text;
}

// ---- reading, as letor_text.py does it ----

struct Settings {
    int n_threads = 1;
    std::size_t chunk_bytes = std::size_t(1) << 20;
    bool allow_nan = false;
    std::int64_t longest_id = 1000;
    InstructionSet instructions = instruction_set();
    std::optional<std::int64_t> first_index, n_features;
};

template <class Float>
struct Outcome {
    LetorError error;
    std::int64_t n_rows = 0, n_features = 0, first_index = 1;
    std::vector<double> y;
    std::vector<std::int64_t> qid;
    bool has_qid = false, qid_is_integer = true;
    std::int64_t n_lines = 0, first_without_qid = 0;
    std::vector<std::int32_t> indptr, indices;
    std::vector<Float> data;
    std::vector<Float> X;                    // dense only
    bool skipped = false;                    // too large for a dense matrix
    std::vector<std::string> qids, doc_ids;  // by row

    bool ok() const { return error.fault == LetorFault::none && !(has_qid && first_without_qid); }
};

// A copy of some bytes that ends with a newline and has kPadding bytes behind it, no more.
class PaddedText {
    std::size_t size_;
    std::unique_ptr<char[]> bytes_;

  public:
    explicit PaddedText(std::string_view input)
        : size_(input.size() + (!input.empty() && input.back() != '\n')),
          bytes_(new char[size_ + kPadding]()) {
        set(input);
    }
    void set(std::string_view input) {
        std::copy(input.begin(), input.end(), bytes_.get());
        if (size_ > input.size()) bytes_[size_ - 1] = '\n';
    }
    operator std::string_view() const { return {bytes_.get(), size_}; }
};

std::vector<std::string> expand(const IdRuns& runs, std::int64_t n_rows) {
    std::vector<std::string> ids;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < runs.starts.size(); ++i) {
        const std::size_t end = runs.text.find('\n', begin);
        require(end != std::string::npos, "every id is ended");
        require(runs.starts[i] == static_cast<std::int64_t>(ids.size()), "ids follow each other");
        const std::string id = runs.text.substr(begin, end - begin);
        require(ids.empty() || ids.back() != id, "equal neighbours are one run");
        const std::int64_t stop = i + 1 < runs.starts.size() ? runs.starts[i + 1] : n_rows;
        ids.resize(stop, id);
        begin = end + 1;
    }
    return ids;
}

template <class Float>
LetorError parse(LetorText& text, const LetorOptions& options, bool dense, Outcome<Float>& out) {
    out.y.assign(text.n_rows, -1);
    out.qid.assign(text.n_rows, -1);
    if (dense) {
        out.X.assign(text.n_rows * options.n_features, Float(-1));
        return text.parse_dense<Float>(options, out.X.data(), out.y.data(), out.qid.data());
    }
    out.indptr.assign(text.n_rows + 1, -1);
    out.indices.assign(text.n_entries, -1);
    out.data.assign(text.n_entries, Float(-1));
    const letor::SparseArrays<Float, std::int32_t> arrays{out.data.data(), out.indices.data(),
                                                          out.indptr.data()};
    return text.parse_sparse<Float, std::int32_t>(options, arrays, out.y.data(), out.qid.data());
}

template <class Float>
Outcome<Float> read(std::string_view input, const Settings& settings, bool dense) {
    const PaddedText copy(input);
    LetorText text(copy, settings.n_threads, settings.chunk_bytes);

    Outcome<Float> out;
    out.n_rows = text.n_rows;
    out.n_lines = text.n_lines;
    for (const bool again : {false, true}) {
        out.first_index = settings.first_index.value_or(text.min_index == 0 ? 0 : 1);
        out.n_features = settings.n_features.value_or(
            std::max<std::int64_t>(text.max_index + 1 - out.first_index, 0));
        out.skipped = dense && out.n_features > 0 && text.n_rows > 1'000'000 / out.n_features;
        if (out.skipped) return out;
        const LetorOptions options{
            out.first_index,      out.n_features, again || settings.n_features,
            settings.allow_nan,   true,           settings.longest_id,
            settings.instructions};
        out.error = parse(text, options, dense, out);
        if (out.error.fault != LetorFault::rescan) break;
        require(!again, "a second scan is enough");
        text.scan_all_indices();
    }
    out.has_qid = text.has_qid();
    out.first_without_qid = text.first_without_qid();
    out.qid_is_integer = text.qid_is_integer();
    if (out.ok()) {
        out.qids = expand(text.qids(), out.has_qid ? out.n_rows : 0);
        out.doc_ids = expand(text.doc_ids(), out.n_rows);
        text.scan_all_indices();
        require(text.n_rows == out.n_rows && text.max_index < out.first_index + out.n_features,
                "a second scan finds the same rows and indices");
        require(text.qid_is_integer() == out.qid_is_integer,
                "a second scan finds the same query ids");
    }
    return out;
}

// ---- rules ----

template <class Float>
void check_same(const Outcome<Float>& a, const Outcome<Float>& b) {
    const auto fault = [](const LetorError& e) {
        return std::tie(e.fault, e.line, e.index, e.text);
    };
    require(fault(a.error) == fault(b.error),
            "the fault does not depend on chunks, threads, form or processor");
    require(a.n_rows == b.n_rows && a.n_lines == b.n_lines && a.has_qid == b.has_qid &&
                a.first_without_qid == b.first_without_qid,
            "rows and lines do not depend on chunks, threads or form");
    require(a.qids == b.qids && a.doc_ids == b.doc_ids,
            "ids do not depend on chunks, threads or form");
    if (!a.ok()) return;
    require(a.n_features == b.n_features && a.first_index == b.first_index,
            "the width is the same");
    require(same_bits(a.y, b.y) && same_bits(a.qid, b.qid), "labels and query ids are the same");
    require(a.qid_is_integer == b.qid_is_integer, "query ids are alike");
}

template <class Float>
void check_sparse(const Outcome<Float>& out) {
    require(out.indptr.front() == 0, "indptr starts with 0");
    require(out.indptr.back() == static_cast<std::int64_t>(out.data.size()),
            "indptr ends with n_entries");
    for (std::int64_t row = 0; row < out.n_rows; ++row) {
        require(out.indptr[row] <= out.indptr[row + 1], "indptr never decreases");
        for (std::int64_t e = out.indptr[row]; e < out.indptr[row + 1]; ++e) {
            require(0 <= out.indices[e] && out.indices[e] < out.n_features,
                    "columns lie in the matrix");
            require(e == out.indptr[row] || out.indices[e - 1] < out.indices[e],
                    "columns increase");
        }
    }
}

template <class Float>
void check_dense(const Outcome<Float>& sparse, const Outcome<Float>& dense) {
    std::vector<Float> X(sparse.n_rows * sparse.n_features, Float(0));
    for (std::int64_t row = 0; row < sparse.n_rows; ++row) {
        for (std::int64_t e = sparse.indptr[row]; e < sparse.indptr[row + 1]; ++e) {
            X[row * sparse.n_features + sparse.indices[e]] = sparse.data[e];
        }
    }
    require(same_bits(X, dense.X), "dense and sparse hold the same");
}

template <class Float>
Float c_library(const std::string& token) {
    if constexpr (std::is_same_v<Float, float>) return std::strtof(token.c_str(), nullptr);
    return std::strtod(token.c_str(), nullptr);
}

template <class Float>
bool same_number(Float a, Float b) {
    return std::isnan(a) ? std::isnan(b) : std::memcmp(&a, &b, sizeof a) == 0;
}

// The plainest reader of text that is known to have no fault.
template <class Float>
void check_numbers(std::string_view input, const Outcome<Float>& out) {
    std::size_t row = 0;
    std::vector<std::string> tokens;
    std::vector<std::pair<std::int64_t, Float>> entries;
    for (std::size_t begin = 0; begin < input.size();) {
        const std::size_t end = std::min(input.find('\n', begin), input.size());
        std::string_view line = input.substr(begin, end - begin);
        begin = end + 1;
        require(line.find('\r') == line.npos || line.find('\r') + 1 == line.size(),
                "a carriage return stands at the end of a line");
        const std::string_view comment = line.substr(std::min(line.find('#'), line.size()));
        line = line.substr(0, line.find('#'));
        tokens.clear();
        for (std::size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != line.npos;) {
            const std::size_t stop = std::min(line.find_first_of(" \t\r", at), line.size());
            tokens.emplace_back(line.substr(at, stop - at));
            at = stop;
        }
        if (tokens.empty()) continue;
        require(row < out.y.size(), "no row is left out");
        require(comment.find(out.doc_ids[row]) != comment.npos, "document ids are in the comment");
        require(same_number(out.y[row], c_library<double>(tokens[0])),
                "labels are those of strtod");
        const bool has_qid = tokens.size() > 1 && tokens[1].starts_with("qid:");
        require(has_qid == out.has_qid, "all lines have a qid, or none");
        if (has_qid) {
            require(out.qids[row] == tokens[1].substr(4), "query ids are those of the text");
            require(!out.qids[row].empty(), "no qid is empty");
            if (out.qid_is_integer) {
                require(std::to_string(out.qid[row]) == tokens[1].substr(4),
                        "integer qids keep their text");
            }
        }
        entries.clear();
        for (std::size_t i = has_qid ? 2 : 1; i < tokens.size(); ++i) {
            const std::size_t colon = tokens[i].find(':');
            require(colon != std::string::npos, "entries have a colon");
            entries.emplace_back(std::strtoll(tokens[i].c_str(), nullptr, 10) - out.first_index,
                                 c_library<Float>(tokens[i].substr(colon + 1)));
        }
        std::sort(entries.begin(), entries.end(),
                  [](const auto& a, const auto& b) { return a.first < b.first; });
        std::int64_t e = out.indptr[row];
        require(out.indptr[row + 1] - e == static_cast<std::int64_t>(entries.size()),
                "no entry is lost");
        for (const auto& [column, value] : entries) {
            require(out.indices[e] == column, "columns are those of the text");
            require(same_number(out.data[e++], value), "values are those of strtof and strtod");
        }
        ++row;
    }
    require(row == out.y.size(), "no row is made up");
}

struct Texts {
    std::string text;
    std::vector<std::int64_t> offsets{0};

    void add(std::string_view piece) {
        text += piece;
        offsets.push_back(static_cast<std::int64_t>(text.size()));
    }
    Pieces pieces() const { return {text.data(), offsets.data()}; }
};

template <class Float, class Rows>
void check_round_trip(const Outcome<Float>& out, const Rows& X, Random& random) {
    std::vector<std::int64_t> rows(out.n_rows), query(out.n_rows);
    std::iota(rows.begin(), rows.end(), 0);
    std::iota(query.begin(), query.end(), 0);
    for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);

    Texts qids, comments;
    for (std::int64_t row = 0; row < out.n_rows; ++row) {
        qids.add(out.has_qid ? out.qids[row] : "0");
        const std::string_view doc = out.doc_ids[row];
        comments.add(doc.starts_with("docid") ? "" : doc);  // "docid = X" would be read as X
    }
    const LetorLines lines{rows.data(),   out.n_rows,        out.y.data(),   query.data(),
                           qids.pieces(), comments.pieces(), out.first_index};
    const std::string text = format_letor(lines, X, static_cast<int>(random.between(1, 2)));

    Settings settings;
    settings.allow_nan = true;
    settings.first_index = out.first_index;
    settings.n_features = out.n_features;
    settings.chunk_bytes = random.between(1, 64);
    const auto back = read<Float>(text, settings, false);
    require(back.ok() && back.n_rows == out.n_rows, "what is written can be read");
    check_sparse(back);
    for (std::int64_t i = 0; i < out.n_rows; ++i) {
        const std::int64_t row = rows[i];
        require(std::memcmp(&back.y[i], &out.y[row], sizeof(double)) == 0, "labels come back");
        require(back.qids[i] == qids.pieces()[row], "query ids come back");
        require(back.doc_ids[i] == comments.pieces()[row], "document ids come back");
        std::int64_t e = back.indptr[i];
        X.each(row, [&](std::int64_t column, Float value) {
            require(e < back.indptr[i + 1] && back.indices[e] == column, "columns come back");
            require(std::memcmp(&back.data[e++], &value, sizeof value) == 0, "values come back");
        });
        require(e == back.indptr[i + 1], "no entry is added");
    }
}

// Entries are read many at a time only in chunks that are longer than a few of them.
std::size_t some_chunk(Random& random) {
    return random.below(2) ? random.between(1, 64) : random.between(200, 2000);
}

// Counts one text and parses another in its place: an error or any numbers, but inside the arrays.
void check_change(std::string_view input, std::string other, Random& random) {
    PaddedText copy(input);
    LetorText text(copy, static_cast<int>(random.between(1, 3)), some_chunk(random));
    other.resize(input.size(), random.below(2) ? '\n' : '1');
    copy.set(other);
    const std::int64_t n_features = std::min<std::int64_t>(text.max_index + 1, 64);
    for (const bool dense : {false, true}) {
        Outcome<float> out;
        try {
            parse(text, {0, n_features, random.below(2) == 0, true, true, 1000}, dense, out);
        } catch (const TextChanged&) {
        }
    }
}

template <class Float>
void check_input(std::string_view input, bool allow_nan, Random& random) {
    Settings settings;
    settings.allow_nan = allow_nan;
    if (random.below(4) == 0) settings.longest_id = 3;
    const auto plain = read<Float>(input, settings, false);

    const auto vary = [&] {
        settings.chunk_bytes = some_chunk(random);
        const auto& [set, name] = kInstructionSets[random.below(std::size(kInstructionSets))];
        settings.instructions = runs_here(set) ? set : InstructionSet::portable;
        settings.n_threads = static_cast<int>(random.between(1, 3));
    };
    vary();
    const auto varied = read<Float>(input, settings, false);
    check_same(plain, varied);
    vary();
    const auto dense = read<Float>(input, settings, true);
    if (!dense.skipped) check_same(plain, dense);
    if (!plain.ok()) return;

    require(same_bits(plain.indptr, varied.indptr) && same_bits(plain.indices, varied.indices) &&
                same_bits(plain.data, varied.data),
            "entries do not depend on chunks, threads or processor");
    check_sparse(plain);
    check_numbers(input, plain);
    const SparseRows<Float, std::int32_t> sparse_rows{plain.data.data(), plain.indices.data(),
                                                      plain.indptr.data()};
    check_round_trip(plain, sparse_rows, random);
    if (dense.skipped) return;
    check_dense(plain, dense);
    if (dense.X.size() < 10000) {
        check_round_trip(dense, DenseRows<Float>{dense.X.data(), dense.n_features}, random);
    }
}

std::vector<std::string> read_corpus(const char* folder) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    std::vector<std::string> corpus;
    for (const auto& path : paths) {
        std::ifstream file(path, std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return corpus;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    current.assign(reinterpret_cast<const char*>(data), size);
    Random random(std::hash<std::string>()(current));  // the same input is checked in the same way
    for (const bool allow_nan : {false, true}) {
        check_input<float>(current, allow_nan, random);
        check_input<double>(current, allow_nan, random);
    }
    check_change(current, mutate(current, {current}, random), random);
    return 0;
}

#if defined(RANKWRIGHT_LIBFUZZER)

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

// Tokens and lines half of the time, bytes otherwise.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
    Random random(seed);
    if (random.below(2)) return LLVMFuzzerMutate(data, size, most);
    const std::string text(reinterpret_cast<const char*>(data), size);
    const std::string other = mutate(text, {text}, random);
    size = std::min(other.size(), most);
    std::copy_n(other.begin(), size, data);
    return size;
}

#else

int main(int n_arguments, char** arguments) {
    if (n_arguments < 3) {
        std::fprintf(stderr, "usage: %s CORPUS_DIR N [SEED]\n", arguments[0]);
        return 2;
    }
#if defined(RANKWRIGHT_SANITIZED)
    __sanitizer_set_death_callback(print_input);
#endif
    const auto corpus = read_corpus(arguments[1]);
    if (corpus.empty()) {
        std::fprintf(stderr, "%s has no files\n", arguments[1]);
        return 2;
    }
    const std::size_t n_inputs = std::strtoull(arguments[2], nullptr, 10);
    Random random(n_arguments > 3 ? std::strtoull(arguments[3], nullptr, 10) : 0);
    const auto start = std::chrono::steady_clock::now();

    const auto check = [](const std::string& input) {
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    };
    // First every seed, cut off at every position; then mutations of random seeds.
    std::size_t n = 0;
    for (const std::string& seed : corpus) {
        const std::size_t step = 1 + seed.size() / 512;
        for (std::size_t cut = 0; cut < seed.size() && n < n_inputs; cut += step, ++n) {
            check(seed.substr(0, seed.size() - cut));
        }
    }
    for (; n < n_inputs; ++n) check(mutate(corpus[random.below(corpus.size())], corpus, random));

    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%zu inputs, 0 failures, %.1f seconds\n", n, seconds.count());
}

#endif
