// Sequences packed one after the other, two bits a base, with a bit for every position that is not a base.
#pragma once
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "algo/seeds/matches/mem.hpp"
#include "seeds/index/base_packer.hpp"

namespace gpualign {

class TextPacker : BaseWriter {
public:
    TextPacker() { append_break(); }

    // Memory for so many more positions.
    void reserve(uint64_t positions) {
        BaseWriter::reserve(positions);
        if (breaks_.size() < (size_ + positions) / 64 + 2) breaks_.resize((size_ + positions) / 64 + 2);
    }

    uint64_t length() const { return size_; }
    uint64_t non_acgt() const { return non_acgt_; }  // characters that are not A, C, G or T

    void append_break() {
        reserve(1);
        put(0, 1, 1);
    }

    // The head of a sequence, up to where `stop(others, at)` does not take characters that are not A, C, G or T: bits
    // of those among the 32 from `at` on. Returns how many characters that is.
    template <class Stop> size_t append_until(const uint8_t* sequence, size_t count, Stop&& stop) {
        reserve(count);
        for (size_t at = 0; at < count; at += kBasesPerWord) {
            const int n = count - at < size_t(kBasesPerWord) ? int(count - at) : kBasesPerWord;
            uint8_t padded[kBasesPerWord];
            const uint8_t* text = sequence + at;
            if (n < kBasesPerWord) {
                std::memset(padded, 'A', sizeof padded);
                std::memcpy(padded, text, size_t(n));
                text = padded;
            }
            uint32_t others;
            const uint64_t codes = BasePacker::word(text, others);
            if (others) {
                if (stop(others, at)) return at;
                non_acgt_ += uint64_t(__builtin_popcount(others));
            }
            put(codes, others, n);
        }
        return count;
    }

    void append(const uint8_t* sequence, size_t count) {
        append_until(sequence, count, [](uint32_t, size_t) { return false; });
    }

    // The words and breaks with padding; the packer is done with.
    std::pair<std::vector<uint64_t>, std::vector<uint64_t>> finish() {
        words.resize(size_ / kBasesPerWord + 4);
        breaks_.resize(size_ / 64 + 4);
        return {std::move(words), std::move(breaks_)};
    }

private:
    // The low codes and breaks of n positions; there is memory for them, and it holds zeros.
    void put(uint64_t codes, uint64_t breaks, int n) {
        const int break_shift = int(size_ % 64);
        uint64_t* bits = &breaks_[size_ / 64];
        *bits |= breaks << break_shift;
        if (break_shift) bits[1] |= breaks >> (64 - break_shift);
        BaseWriter::put(codes, n);
    }

    uint64_t non_acgt_ = 0;
    std::vector<uint64_t> breaks_;
};

}  // namespace gpualign
