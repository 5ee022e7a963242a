// Parses FASTA and FASTQ text to packed targets, without flat arrays in between.
#pragma once
#include <cstdint>
#include <vector>

#include "seeds/index/reference_packer.hpp"
#include "text/fastx_text.hpp"

namespace gpualign {

// Output of the parsers of text/fastx_text.hpp: names, lengths, and packed sequences; with `within` only so many bases
// of either end of each.
class TargetRecords : public RecordNames {
public:
    explicit TargetRecords(uint64_t within) : within_(within) {}

    size_t whole() const { return lengths.size(); }
    size_t bases() const { return bases_ + record_.size(); }
    void sequence(const Line& line, long line_offset, bool nucleotides) {
        append_sequence(record_, line, line_offset, nucleotides, *this);
    }
    void end_sequence() {
        const size_t size = record_.size();
        if (within_ == 0 || size <= 2 * within_) {
            packer.append(record_.data(), size);
        } else {
            packer.append(record_.data(), within_);
            packer.append(record_.data() + size - within_, within_);
        }
        lengths.push_back(int64_t(size));
        bases_ += size;
        record_.clear();
    }
    void qualities(const Line&) {}

    ReferencePacker packer;
    std::vector<int64_t> lengths;

private:
    const uint64_t within_;
    size_t bases_ = 0;
    std::vector<uint8_t> record_;
};

}  // namespace gpualign
