// Arrays to LETOR text, numbers in the fewest digits that read back to the same float.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decimal.hpp"
#include "parallel.hpp"

namespace rankwright {

template <class Float>
struct DenseRows {
    const Float* X;
    std::int64_t n_features;

    template <class Put>
    void each(std::int64_t row, Put&& put) const {
        for (std::int64_t j = 0; j < n_features; ++j) put(j, X[row * n_features + j]);
    }
};

template <class Float, class Index>
struct SparseRows {
    const Float* data;
    const Index* indices;
    const Index* indptr;

    template <class Put>
    void each(std::int64_t row, Put&& put) const {
        for (auto e = indptr[row]; e < indptr[row + 1]; ++e) put(std::int64_t(indices[e]), data[e]);
    }
};

// Pieces of text, one after the other: piece i is text[offsets[i], offsets[i + 1]).
struct Pieces {
    const char* text = nullptr;
    const std::int64_t* offsets = nullptr;

    std::string_view operator[](std::int64_t i) const {
        return {text + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    }
};

struct LetorLines {
    const std::int64_t* rows;  // which row each line shows
    std::int64_t n_lines;
    const double* y;            // by row
    const std::int64_t* query;  // by row
    Pieces qids;                // by query
    Pieces comments;            // by row; optional
    std::int64_t first_index;
};

template <class Rows>
std::string format_letor(const LetorLines& lines, const Rows& X, int n_threads) {
    constexpr std::int64_t block = 512;
    const std::size_t n_blocks = (lines.n_lines + block - 1) / block;
    std::vector<std::string> texts(n_blocks);
    parallel_for(n_blocks, n_threads, [&](std::size_t b) {
        std::string& out = texts[b];
        char number[kMaxNumberLength];
        const auto append = [&](auto value) { out.append(number, write_number(number, value)); };
        const std::int64_t begin = b * block, end = std::min(begin + block, lines.n_lines);
        for (std::int64_t line = begin; line < end; ++line) {
            const std::int64_t row = lines.rows[line];
            append(lines.y[row]);
            out += " qid:";
            out += lines.qids[lines.query[row]];
            X.each(row, [&](std::int64_t column, auto value) {
                out += ' ';
                out.append(number, std::to_chars(number, number + kMaxNumberLength,
                                                 column + lines.first_index)
                                       .ptr);
                out += ':';
                append(value);
            });
            if (lines.comments.text && !lines.comments[row].empty()) {
                out += " # ";
                out += lines.comments[row];
            }
            out += '\n';
        }
    });
    std::size_t size = 0;
    for (const std::string& text : texts) size += text.size();
    std::string all;
    all.reserve(size);
    for (const std::string& text : texts) all += text;
    return all;
}

}  // namespace rankwright
