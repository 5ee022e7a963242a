// Query records as a text: strand sequences one after the other (cuda/algo/seeds/matches/strands.hpp).
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "algo/seeds/matches/strands.hpp"
#include "seeds/matches/text_packer.hpp"

namespace gpualign {

enum class Strands { forward = 1, reverse = 2, both = 3 };

struct PackedText {
    std::vector<uint64_t> words, breaks;

    TextView view() const { return {words.data(), breaks.data()}; }
};

class MemText {
public:
    // Bases of `records` sequences, offsets[i] .. offsets[i + 1]. A `deferred` text keeps the forward strands, of which
    // a device makes the others; here that is done when somebody looks at them.
    MemText(const uint8_t* bases, const int64_t* offsets, size_t records, Strands strands, bool deferred = false)
        : strands_(strands), begins_{1} {
        TextPacker packer;
        packer.reserve(uint64_t(offsets[records] - offsets[0]) + records);
        for (size_t i = 0; i < records; i++) {
            packer.append(bases + offsets[i], size_t(offsets[i + 1] - offsets[i]));
            packer.append_break();
            begins_.push_back(uint32_t(packer.length()));
        }
        take(packer, deferred);
    }

    // The records that a packer has, each with its break.
    MemText(TextPacker& packer, std::vector<uint32_t> begins, Strands strands, bool deferred)
        : strands_(strands), begins_(std::move(begins)) {
        take(packer, deferred);
    }

    // Takes the contents of another text.
    MemText(PackedText text, std::vector<uint32_t> begins, Strands strands, bool deferred, uint64_t non_acgt)
        : strands_(strands), begins_(std::move(begins)), non_acgt_(non_acgt) {
        const uint64_t positions = begins_.empty() ? 0 : deferred ? begins_.back() : length();
        if (!positions || text.words.size() != positions / kBasesPerWord + 4 ||
            text.breaks.size() != positions / 64 + 4)
            throw std::invalid_argument("the arrays are not of these records");
        (deferred ? forward_ : whole_) = std::make_unique<PackedText>(std::move(text));
    }

    const PackedText& text() const {
        if (!deferred()) return *whole_;
        static std::mutex one_at_a_time;
        const std::lock_guard<std::mutex> lock(one_at_a_time);
        if (!whole_) whole_ = std::make_unique<PackedText>(strands_of(*forward_));
        return *whole_;
    }
    TextView view() const { return text().view(); }
    // The forward strands, or null if they are not kept.
    const PackedText* forward() const { return forward_.get(); }
    bool deferred() const { return forward_ != nullptr; }
    const std::vector<uint32_t>& begins() const { return begins_; }  // of the records in the forward text, and its end

    StrandLayout layout() const {
        return {begins_.data(), uint32_t(begins_.size() - 1), bool(int(strands_) & 1), bool(int(strands_) & 2)};
    }
    size_t blocks() const { return layout().blocks(); }
    TextBlock block(size_t i) const { return layout().block(uint32_t(i)); }
    // The first block that begins in [from, to), and how many do.
    std::pair<size_t, size_t> blocks_between(uint64_t from, uint64_t to) const {
        const auto before = [&](uint64_t position) {  // blocks that begin before it
            if (blocks() == 0) return size_t(0);
            const size_t at = block_at(position);
            return at + (block(at).begin < position);
        };
        return {before(from), before(to) - before(from)};
    }
    size_t block_at(uint64_t position) const { return layout().block_at(position); }
    uint64_t length() const { return layout().length(); }  // with the breaks
    uint64_t bases() const { return begins_.back() - begins_.size(); }  // of the records
    uint64_t non_acgt() const { return non_acgt_; }  // characters of the records that are not A, C, G or T
    Strands strands() const { return strands_; }
    std::vector<uint32_t> lengths() const {  // of the records
        std::vector<uint32_t> result;
        for (size_t i = 0; i + 1 < begins_.size(); i++) result.push_back(begins_[i + 1] - begins_[i] - 1);
        return result;
    }

private:
    void take(TextPacker& packer, bool deferred) {
        non_acgt_ = packer.non_acgt();
        PackedText forward;
        std::tie(forward.words, forward.breaks) = packer.finish();
        if (deferred && strands_ != Strands::forward) forward_ = std::make_unique<PackedText>(std::move(forward));
        else
            whole_ =
                std::make_unique<PackedText>(strands_ == Strands::forward ? std::move(forward) : strands_of(forward));
    }

    PackedText strands_of(const PackedText& forward) const {
        PackedText result{
            std::vector<uint64_t>(length() / kBasesPerWord + 4), std::vector<uint64_t>(length() / 64 + 4)};
        const StrandLayout layout = this->layout();
        const TextView view = forward.view();
        uint32_t block = 0;
        for (uint64_t i = 0; i * kStrandBlock < layout.length(); i++) {
            const StrandWords words = strand_words(view, layout, i, block);
            result.words[2 * i] = words.codes[0];
            result.words[2 * i + 1] = words.codes[1];
            result.breaks[i] = words.breaks;
        }
        return result;
    }

    Strands strands_;
    std::vector<uint32_t> begins_;
    uint64_t non_acgt_ = 0;
    std::unique_ptr<PackedText> forward_;
    mutable std::unique_ptr<PackedText> whole_;
};

// Packs one record as its bases are read, so that they are never held whole.
class MemTextBuilder {
public:
    static constexpr uint64_t kLongest = (uint64_t(1) << 31) - 64;  // both strands are one text with 32-bit positions

    uint64_t length() const { return packer_.length() - 1; }

    void append(const uint8_t* sequence, size_t count) {
        if (length() + count > kLongest) throw std::length_error("the record is too long");
        packer_.append(sequence, count);
    }

    // The text; the builder is done with.
    MemText finish(Strands strands, bool deferred) {
        packer_.append_break();
        const uint32_t end = uint32_t(packer_.length());
        return MemText(packer_, {1, end}, strands, deferred);
    }

private:
    TextPacker packer_;
};

}  // namespace gpualign
