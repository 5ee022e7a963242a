// Query records as a text to be matched: strand sequences one after the other, two bits a base, with a bit for every
// position that is not a base (cuda/algo/mems/mem.hpp, TextView).
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "algo/mems/mem.hpp"
#include "index/base_packer.hpp"

namespace gpualign {

enum class Strands { forward = 1, reverse = 2, both = 3 };

// One strand of one record: text positions [begin, begin + length), then a break.
struct TextBlock {
    uint64_t begin;
    uint32_t length;
    uint32_t record;
    bool reverse;
};

class MemText {
public:
    // Bases of `records` sequences, offsets[i] .. offsets[i + 1].
    MemText(const uint8_t* bases, const int64_t* offsets, size_t records, Strands strands) : strands_(strands) {
        lay_out(records, [&](size_t i) { return uint32_t(offsets[i + 1] - offsets[i]); });
        words_.assign(words_needed(), 0);
        breaks_.assign(breaks_needed(), 0);
        set_break(0);
        for (const TextBlock& block : blocks_) fill(block, bases + offsets[block.record]);
    }

    // What another text holds.
    MemText(std::vector<uint64_t> words, std::vector<uint64_t> breaks, const std::vector<uint32_t>& lengths,
            Strands strands, uint64_t non_acgt)
        : strands_(strands), non_acgt_(non_acgt), words_(std::move(words)), breaks_(std::move(breaks)) {
        lay_out(lengths.size(), [&](size_t i) { return lengths[i]; });
        if (words_.size() != words_needed() || breaks_.size() != breaks_needed())
            throw std::invalid_argument("the arrays are not of these records");
    }

    TextView view() const { return {words_.data(), breaks_.data()}; }
    const std::vector<TextBlock>& blocks() const { return blocks_; }
    const std::vector<uint64_t>& words() const { return words_; }
    const std::vector<uint64_t>& breaks() const { return breaks_; }
    uint64_t length() const { return length_; }  // with the breaks
    uint64_t non_acgt() const { return non_acgt_; }  // characters of the records that are not A, C, G or T
    Strands strands() const { return strands_; }
    std::vector<uint32_t> lengths() const {  // of the records
        std::vector<uint32_t> result;
        for (size_t i = 0; i < blocks_.size(); i += blocks_a_record()) result.push_back(blocks_[i].length);
        return result;
    }
    uint64_t bases_before(uint32_t record) const {  // of the records before
        return (blocks_[record * blocks_a_record()].begin - 1) / blocks_a_record() - record;
    }

    // Index of the block that holds a position (a block's closing break belongs to it).
    size_t block_at(uint64_t position) const {
        size_t begin = 0, end = blocks_.size();
        while (end - begin > 1) {
            const size_t middle = begin + (end - begin) / 2;
            if (blocks_[middle].begin <= position) begin = middle;
            else end = middle;
        }
        return begin;
    }

private:
    friend class MemTextBuilder;
    explicit MemText(Strands strands) : strands_(strands) {}

    template <class LengthOf>
    void lay_out(size_t records, LengthOf&& length_of) {
        length_ = 1;
        for (size_t i = 0; i < records; i++) {
            const uint32_t length = length_of(i);
            for (const bool reverse : {false, true}) {
                if (!(int(strands_) & (reverse ? 2 : 1))) continue;
                blocks_.push_back({length_, length, uint32_t(i), reverse});
                length_ += uint64_t(length) + 1;
            }
        }
    }
    size_t blocks_a_record() const { return strands_ == Strands::both ? 2 : 1; }
    size_t words_needed() const { return length_ / kBasesPerWord + 4; }
    size_t breaks_needed() const { return length_ / 64 + 4; }

    void set_break(uint64_t position) { breaks_[position / 64] |= uint64_t(1) << (position % 64); }

    // Adds the low 2 * count bits of `codes` at `position`.
    void put_codes(uint64_t position, uint64_t codes) {
        const int shift = 2 * int(position % kBasesPerWord);
        words_[position / kBasesPerWord] |= codes << shift;
        if (shift) words_[position / kBasesPerWord + 1] |= codes >> (64 - shift);
    }
    void put_breaks(uint64_t position, uint64_t bits) {
        const int shift = int(position % 64);
        breaks_[position / 64] |= bits << shift;
        if (shift) breaks_[position / 64 + 1] |= bits >> (64 - shift);
    }

    void fill(const TextBlock& block, const uint8_t* sequence) {
        set_break(block.begin + block.length);
        if (!block.reverse) {
            fill_forward(block.begin, sequence, block.length);
        } else if (strands_ == Strands::both) {
            fill_reverse(block, *this, (&block)[-1].begin);
        } else {  // no packed forward strand to turn around
            const int64_t offsets[2] = {0, int64_t(block.length)};
            const MemText forward(sequence, offsets, 1, Strands::forward);
            fill_reverse(block, forward, 1);
            non_acgt_ += forward.non_acgt_;
        }
    }

    void fill_forward(uint64_t begin, const uint8_t* sequence, uint32_t count) {
        for (uint32_t i = 0; i < count; i += kBasesPerWord) put_word(begin + i, sequence + i, count - i);
    }

    // Up to 32 bases.
    void put_word(uint64_t position, const uint8_t* sequence, uint32_t rest) {
        uint8_t padded[kBasesPerWord];
        if (rest < uint32_t(kBasesPerWord)) {
            std::memset(padded, 'A', sizeof padded);
            std::memcpy(padded, sequence, rest);
            sequence = padded;
        }
        uint32_t others;
        const uint64_t codes = BasePacker::word(sequence, others);
        put_codes(position, codes);
        if (others) {
            put_breaks(position, others);
            non_acgt_ += uint64_t(__builtin_popcount(others));
        }
    }

    // From the packed forward strand, which begins at position `from` of `source`.
    void fill_reverse(const TextBlock& block, const MemText& source, uint64_t from) {
        for (uint32_t i = 0; i < block.length; i += kBasesPerWord) {
            const uint32_t n = std::min<uint32_t>(kBasesPerWord, block.length - i);
            const uint64_t at = from + block.length - i - n;
            put_codes(block.begin + i, reverse_complement(packed_window(source.words_.data(), at)) >> (64 - 2 * n));
            uint64_t bits = break_window(source.breaks_.data(), at) & ((uint64_t(1) << n) - 1);
            for (; bits; bits &= bits - 1) set_break(block.begin + i + n - 1 - uint32_t(trailing_zeros(bits)));
        }
    }

    Strands strands_;
    uint64_t length_ = 0, non_acgt_ = 0;
    std::vector<TextBlock> blocks_;
    std::vector<uint64_t> words_, breaks_;
};

// Packs one record as its bases are read, so that they are never held whole.
class MemTextBuilder {
public:
    static constexpr uint64_t kLongest = (uint64_t(1) << 31) - 64;  // both strands are one text with 32-bit positions

    MemTextBuilder() : forward_(Strands::forward) { forward_.lay_out(1, [](size_t) { return 0u; }); }

    uint64_t length() const { return record().length; }

    void append(const uint8_t* sequence, size_t count) {
        if (length() + count > kLongest) throw std::length_error("the record is too long");
        const uint64_t begin = forward_.length_ - 1;
        forward_.length_ += count;
        reserve_space();
        forward_.fill_forward(begin, sequence, uint32_t(count));
        record().length += uint32_t(count);
    }

    // The text; the builder is done with.
    MemText finish(Strands strands) {
        reserve_space();
        const TextBlock source = record();
        forward_.set_break(0);
        forward_.set_break(forward_.length_ - 1);
        if (strands == Strands::forward) return std::move(forward_);
        MemText text(strands);
        text.non_acgt_ = forward_.non_acgt_;
        text.lay_out(1, [&](size_t) { return source.length; });
        if (strands == Strands::both) {  // the forward strand is where it was
            text.words_ = std::move(forward_.words_);
            text.breaks_ = std::move(forward_.breaks_);
        }
        text.words_.resize(text.words_needed(), 0);
        text.breaks_.resize(text.breaks_needed(), 0);
        text.set_break(0);
        const TextBlock& reverse = text.blocks_.back();
        text.set_break(reverse.begin + reverse.length);
        text.fill_reverse(reverse, strands == Strands::both ? text : forward_, source.begin);
        return text;
    }

private:
    TextBlock& record() { return forward_.blocks_.front(); }
    const TextBlock& record() const { return forward_.blocks_.front(); }
    void reserve_space() {
        forward_.words_.resize(forward_.words_needed(), 0);
        forward_.breaks_.resize(forward_.breaks_needed(), 0);
    }

    MemText forward_;
};

}  // namespace gpualign
