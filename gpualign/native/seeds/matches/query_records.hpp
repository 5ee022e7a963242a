// Parses FASTA and FASTQ text to packed queries, without flat arrays in between.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "seeds/matches/text.hpp"
#include "text/fastx_text.hpp"

namespace gpualign {

// Output of the parsers of text/fastx_text.hpp: names, and packed sequences.
class QueryRecords : public RecordNames {
public:
    explicit QueryRecords(size_t bytes_of_text) { packer.reserve(bytes_of_text); }

    size_t whole() const { return begins.size() - 1; }
    size_t bases() const { return packer.length(); }

    void sequence(const Line& line, long line_offset, bool nucleotides) {
        const uint8_t* text = reinterpret_cast<const uint8_t*>(line.begin);
        const size_t size = size_t(line.end - line.begin);
        if (packer.length() + size > MemTextBuilder::kLongest) throw std::length_error("too many bases");
        const size_t usual = packer.append_until(text, size, [&](uint32_t others, size_t at) {
            for (; others; others &= others - 1)
                if ((text[at + size_t(__builtin_ctz(others))] & 0xDF) != 'N') return true;
            return false;
        });
        if (usual == size) return;
        other_codes_.clear();
        append_sequence(other_codes_, {line.begin + usual, line.end}, line_offset, nucleotides, *this);
        packer.append(other_codes_.data(), other_codes_.size());
    }
    void end_sequence() {
        packer.append_break();
        begins.push_back(uint32_t(packer.length()));
    }
    void qualities(const Line&) {}

    TextPacker packer;
    std::vector<uint32_t> begins{1};

private:
    std::vector<uint8_t> other_codes_;
};

}  // namespace gpualign
