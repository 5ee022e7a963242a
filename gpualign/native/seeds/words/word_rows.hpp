// Which of many sequences have which words of 8 bases, as rows of bits, and how many words of a set each of them has.
//
// The sequences that have a word are a row of bits, in blocks of 4,096 sequences. The rows of several words are added
// up for all sequences of a block at once (algo/seeds/words/counts.hpp).
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "seeds/words/bits.hpp"

namespace gpualign {
namespace words {

constexpr int block_sequences = 4096, block_words = block_sequences / 64, block_vectors = block_sequences / 512;
constexpr int64_t most_row_bytes = int64_t(1) << 30;  // more only where lists would take as much

using RowCounts = Counts<Bits, 17>;  // a query has at most 65,536 words

class WordRows {
public:
    // order: numbers of sequences, in the order of their bits.
    WordRows(const char* text, const int64_t* offsets, std::vector<int32_t> order)
        : order_(std::move(order)), starts_(all_words + 1) {
        const size_t count = order_.size();
        blocks_ = (count + block_sequences - 1) / block_sequences;
        std::vector<int32_t> seen(all_words);
        const auto each = [&](const auto& put) {  // put(word, place) for each word that a sequence has
            std::fill(seen.begin(), seen.end(), -1);
            for (size_t place = 0; place < count; place++) {
                const size_t i = size_t(order_[place]);
                each_word({text + offsets[i], size_t(offsets[i + 1] - offsets[i])}, [&](uint32_t word) {
                    if (std::exchange(seen[word], int32_t(place)) != int32_t(place)) put(word, int32_t(place));
                });
            }
        };
        std::vector<int64_t> counts(all_words);
        each([&](uint32_t word, int32_t) { counts[word]++; });
        row_of_.assign(all_words, -1);
        // a row is as large as a list of one in 32 sequences; longer ones are read much faster than lists
        int64_t share = 256;
        const auto is_row = [&](int64_t found) { return found * share > int64_t(count); };
        const auto row_bytes = [&] {
            return std::count_if(counts.begin(), counts.end(), is_row) * int64_t(blocks_) * block_words * 8;
        };
        while (share > 32 && row_bytes() > most_row_bytes) share /= 2;
        int64_t rows = 0, listed = 0;
        for (int word = 0; word < all_words; word++) {
            if (is_row(counts[size_t(word)])) row_of_[size_t(word)] = int32_t(rows++);
            else listed += counts[size_t(word)];
            starts_[size_t(word) + 1] = listed;
        }
        rows_.resize(size_t(rows) * blocks_ * block_words);
        lists_.resize(size_t(listed));
        std::vector<int64_t> ends(starts_.begin(), starts_.end() - 1);
        each([&](uint32_t word, int32_t place) {
            if (row_of_[word] < 0) lists_[size_t(ends[word]++)] = place;
            else rows_[size_t(row_of_[word]) * blocks_ * block_words + size_t(place) / 64] |= uint64_t(1) << place % 64;
        });
    }

    size_t blocks() const { return blocks_; }
    // A word's bits in a block: in the index, or written to `space`. cursor: where its list goes on.
    const uint64_t* row(uint32_t word, size_t block, int64_t& cursor, uint64_t* space) const {
        if (row_of_[word] >= 0) return &rows_[(size_t(row_of_[word]) * blocks_ + block) * block_words];
        std::memset(space, 0, block_words * 8);
        const int32_t first = int32_t(block * block_sequences), last = first + block_sequences;
        for (const int64_t end = starts_[word + 1]; cursor < end && lists_[size_t(cursor)] < last; cursor++) {
            const int32_t at = lists_[size_t(cursor)] - first;
            if (at < 0) continue;  // of a block that was left out
            space[at / 64] |= uint64_t(1) << at % 64;
        }
        return space;
    }
    int64_t list(uint32_t word) const { return starts_[word]; }
    bool has_list(uint32_t word) const { return row_of_[word] < 0; }

private:
    std::vector<int32_t> order_;  // by place
    size_t blocks_;
    std::vector<int32_t> row_of_;  // of frequent words; else -1
    std::vector<uint64_t> rows_;
    std::vector<int64_t> starts_;  // of the lists of the others
    std::vector<int32_t> lists_;
};

// The different words of a query, and the bits of the sequences that have them, a block at a time.
class QueryWords {
public:
    QueryWords(const WordRows& index, std::string_view sequence) : index_(index) {
        std::array<uint64_t, all_words / 64> seen{};
        each_word(sequence, [&](uint32_t word) {
            uint64_t& bits = seen[word / 64];
            if (bits >> word % 64 & 1) return;
            bits |= uint64_t(1) << word % 64;
            found_.push_back(word);
        });
        // a row of no sequences, which stands at the end, then one for each word with a list
        const auto lists =
            std::count_if(found_.begin(), found_.end(), [&](uint32_t word) { return index.has_list(word); });
        space_.resize((size_t(lists) + 1) * block_words);
        rows_.assign(size() + RowCounts::kRows, space_.data());
        cursors_.resize(size());
    }

    uint32_t size() const { return uint32_t(found_.size()); }

    // Blocks are taken in ascending order; block 0 begins again.
    const uint64_t* const* rows(size_t block) {
        uint64_t* space = space_.data();
        for (uint32_t i = 0; i < size(); i++) {
            if (block == 0) cursors_[i] = index_.list(found_[i]);
            if (index_.has_list(found_[i])) space += block_words;
            rows_[i] = index_.row(found_[i], block, cursors_[i], space);
        }
        return rows_.data();
    }

private:
    const WordRows& index_;
    std::vector<uint32_t> found_;
    std::vector<uint64_t> space_;
    std::vector<const uint64_t*> rows_;
    std::vector<int64_t> cursors_;
};

}  // namespace words
}  // namespace gpualign
