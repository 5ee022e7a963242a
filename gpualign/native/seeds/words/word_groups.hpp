// Which of many sequences have which words of 8 bases, for draws of words (algo/seeds/words/draws.hpp).
#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "algo/seeds/words/draws.hpp"
#include "common/parallel_for.hpp"
#include "seeds/words/bits.hpp"

namespace gpualign {
namespace words {

class WordIndex {
public:
    // similar: numbers of sequences, those that are similar next to each other. order: of each sequence, its number in
    // the order of preference.
    WordIndex(const char* text, const int64_t* offsets, const int32_t* similar, const int32_t* order, size_t count,
        int threads)
        : groups_((count + kGroupSequences - 1) / kGroupSequences), row_words_((groups_ + 511) / 512 * 8),
          rows_((all_words + 1) * row_words_), bitmaps_(groups_ * kBitmapWords), ranks_(bitmaps_.size()),
          orders_(groups_ * kGroupSequences) {
        std::vector<std::vector<uint64_t>> masks(groups_);
        std::vector<std::vector<uint64_t>> tables(size_t(std::max(1, threads)));
        parallel_for(threads, groups_, [&](size_t group, int thread) {
            std::vector<uint64_t>& table = tables[size_t(thread)];
            table.resize(all_words);
            const size_t first = group * kGroupSequences, last = std::min(count, first + kGroupSequences);
            std::vector<int32_t> members(similar + first, similar + last);
            std::sort(members.begin(), members.end(), [&](int32_t a, int32_t b) { return order[a] < order[b]; });
            uint64_t* const bitmap = &bitmaps_[group * kBitmapWords];
            for (size_t i = 0; i < members.size(); i++) {
                const int64_t* const at = offsets + members[i];
                orders_[first + i] = order[members[i]];
                each_word({text + at[0], size_t(at[1] - at[0])}, [&](uint32_t word) {
                    table[word] |= uint64_t(1) << i;
                    bitmap[word / 64] |= uint64_t(1) << word % 64;
                });
            }
            for (uint32_t i = 0; i < kBitmapWords; i++)
                for (uint64_t left = bitmap[i]; left; left &= left - 1) {
                    uint64_t& mask = table[i * 64 + uint32_t(trailing_zeros(left))];
                    masks[group].push_back(mask);
                    mask = 0;
                }
        });
        size_t total = 0;
        for (size_t group = 0; group < groups_; group++) {
            size_t rank = total;
            for (size_t i = group * kBitmapWords; i < (group + 1) * kBitmapWords; i++)
                ranks_[i] = uint32_t(rank), rank += size_t(bits_of(bitmaps_[i]));
            total += masks[group].size();
        }
        if (total > UINT32_MAX) throw std::length_error("too many words of references");
        masks_.resize(total);
        parallel_for(threads, groups_, [&](size_t group, int) {
            std::copy(
                masks[group].begin(), masks[group].end(), masks_.begin() + ptrdiff_t(ranks_[group * kBitmapWords]));
            masks[group] = {};
        });
        // a thread has words of its own
        parallel_for(threads, kBitmapWords / 8, [&](size_t part, int) {
            for (size_t group = 0; group < groups_; group++)
                for (size_t i = 8 * part; i < 8 * part + 8; i++)
                    for (uint64_t left = bitmaps_[group * kBitmapWords + i]; left; left &= left - 1)
                        rows_[(i * 64 + size_t(trailing_zeros(left))) * row_words_ + group / 64] |= uint64_t(1)
                                                                                                    << group % 64;
        });
    }

    WordGroups view() const {
        return {rows_.data(), bitmaps_.data(), ranks_.data(), masks_.data(), orders_.data(), uint32_t(groups_),
            uint32_t(row_words_)};
    }
    const std::vector<uint64_t>& rows() const { return rows_; }
    const std::vector<uint64_t>& bitmaps() const { return bitmaps_; }
    const std::vector<uint32_t>& ranks() const { return ranks_; }
    const std::vector<uint64_t>& masks() const { return masks_; }
    const std::vector<int32_t>& orders() const { return orders_; }

private:
    size_t groups_, row_words_;
    std::vector<uint64_t> rows_, bitmaps_;
    std::vector<uint32_t> ranks_;
    std::vector<uint64_t> masks_;
    std::vector<int32_t> orders_;
};

}  // namespace words
}  // namespace gpualign
