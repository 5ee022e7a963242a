// Which of many sequences have which words of 8 bases, as rows of bits, and how many words of a set each of them has.
//
// The sequences that have a word are a row of bits, in blocks of 4,096 sequences. The rows of several words are added
// up for all sequences of a block at once: plane i holds bit i of the sequences' counts, and a full adder of planes is
// five bit operations. With 3 words and 4 sequences
//
//   word 1: 1 0 1 1    word 2: 1 0 0 1    word 3: 1 0 0 0    plane 0: 1 0 1 0    plane 1: 1 0 0 1    counts: 3 0 1 2
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace gpualign {
namespace words {

constexpr int word_bases = 8, all_words = 1 << 2 * word_bases, rows_added = 32;
constexpr int block_sequences = 4096, block_words = block_sequences / 64, block_vectors = block_sequences / 512;
constexpr int64_t most_row_bytes = int64_t(1) << 30;  // more only where lists would take as much

// The bits of 512 sequences.
using Bits = uint64_t __attribute__((vector_size(64)));

inline int base_code(char base) {
    switch (base) {
        case 'A': return 0;
        case 'C': return 1;
        case 'G': return 2;
        case 'T': return 3;
        default: return -1;
    }
}

// Calls found(word) for each word without ambiguity codes.
template <class Found> void each_word(std::string_view sequence, const Found& found) {
    uint32_t word = 0;
    int known = 0;
    for (const char base : sequence) {
        const int code = base_code(base);
        known = code < 0 ? 0 : known + 1;
        word = (word << 2 | uint32_t(code & 3)) & (all_words - 1);
        if (known >= word_bases) found(word);
    }
}

// The same on the other strand: of the words' reverse complements.
inline uint32_t reverse_complement(uint32_t word) {
    uint32_t result = 0;
    for (int i = 0; i < word_bases; i++, word >>= 2) result = result << 2 | (~word & 3);
    return result;
}

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
    // The number of the sequence that has this place in the order.
    int32_t number(int32_t place) const { return order_[size_t(place)]; }
    int64_t bytes() const { return int64_t(rows_.size() * 8 + lists_.size() * 4 + order_.size() * 4); }

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

    bool has(uint32_t word, int32_t place) const {
        if (row_of_[word] >= 0)
            return rows_[size_t(row_of_[word]) * blocks_ * block_words + size_t(place) / 64] >> place % 64 & 1;
        return std::binary_search(lists_.begin() + starts_[word], lists_.begin() + starts_[word + 1], place);
    }

private:
    std::vector<int32_t> order_;  // by place
    size_t blocks_;
    std::vector<int32_t> row_of_;  // of frequent words; else -1
    std::vector<uint64_t> rows_;
    std::vector<int64_t> starts_;  // of the lists of the others
    std::vector<int32_t> lists_;
};

// Counts rows for 512 sequences.
struct Counts {
    static constexpr int levels = 17;  // a query has at most 65,536 words
    std::array<Bits, levels> planes{};

    // Adds 2^level rows from the first on; returns what is carried to the plane `level`.
    template <int level> Bits add(const uint64_t* const* rows, int at) {
        if constexpr (level == 0) {
            Bits bits;
            std::memcpy(&bits, rows[0] + at, sizeof bits);
            return bits;
        } else {
            const Bits a = add<level - 1>(rows, at), b = add<level - 1>(rows + (1 << (level - 1)), at);
            Bits& plane = planes[level - 1];
            const Bits either = plane ^ a, carry = (plane & a) | (either & b);
            plane = either ^ b;
            return carry;
        }
    }

    // Adds 32 rows.
    void add(const uint64_t* const* rows, int at) {
        Bits carry = add<5>(rows, at);
        for (size_t i = 5; i < levels && any(carry); i++) {
            const Bits both = planes[i] & carry;
            planes[i] ^= carry;
            carry = both;
        }
    }

    static bool any(const Bits& bits) {
        uint64_t all = 0;
        for (int i = 0; i < 8; i++) all |= bits[i];
        return all;
    }

    // Calls found(count, sequence) for those that count more than `least`, in order.
    template <class Found> void each_above(uint32_t least, const Found& found) const {
        Bits more{}, equal = ~more;
        for (size_t i = levels; i-- > 0;) {
            if (least >> i & 1) equal &= planes[i];
            else more |= equal & planes[i], equal &= ~planes[i];
        }
        for (int i = 0; i < 8; i++)
            for (uint64_t left = more[i]; left; left &= left - 1) {
                const int at = __builtin_ctzll(left);
                uint32_t count = 0;
                for (size_t level = 0; level < levels; level++) count |= uint32_t(planes[level][i] >> at & 1) << level;
                found(count, i * 64 + at);
            }
    }

    // The highest count, and the first reference that has it.
    std::pair<uint32_t, int32_t> highest() const {
        Bits left = ~Bits{};
        uint32_t count = 0;
        for (size_t i = levels; i-- > 0;)
            if (const Bits with = left & planes[i]; any(with)) left = with, count |= 1u << i;
        for (int i = 0; i < 8; i++)
            if (left[i]) return {count, i * 64 + __builtin_ctzll(left[i])};
        return {0, 0};
    }
};

// The different words of a query on one strand, and the bits of the sequences that have them, a block at a time.
class QueryWords {
public:
    QueryWords(const WordRows& index, std::string_view sequence, bool minus) : index_(index) {
        std::array<uint64_t, all_words / 64> seen{};
        each_word(sequence, [&](uint32_t word) {
            uint64_t& bits = seen[word / 64];
            if (bits >> word % 64 & 1) return;
            bits |= uint64_t(1) << word % 64;
            found_.push_back(minus ? reverse_complement(word) : word);
        });
        space_.resize((size() + rows_added) * block_words);  // with rows of no sequences at the end
        rows_.resize(size() + rows_added);
        for (size_t i = 0; i < rows_.size(); i++) rows_[i] = &space_[i * block_words];
        cursors_.resize(size());
    }

    uint32_t size() const { return uint32_t(found_.size()); }

    // Blocks are taken in ascending order; block 0 begins again.
    const uint64_t* const* rows(size_t block) {
        for (uint32_t i = 0; i < size(); i++) {
            if (block == 0) cursors_[i] = index_.list(found_[i]);
            rows_[i] = index_.row(found_[i], block, cursors_[i], &space_[size_t(i) * block_words]);
        }
        return rows_.data();
    }

    // Whether a sequence has each word.
    std::vector<uint8_t> words_of(int32_t place) const {
        std::vector<uint8_t> has(size() + 1);
        for (uint32_t i = 0; i < size(); i++) has[i] = index_.has(found_[i], place);
        return has;
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
