// Parses FASTA and FASTQ text to packed queries, without flat arrays in between.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "mems/text.hpp"
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

inline void parse_queries(const char* begin, const char* end, bool fastq, QueryRecords& records) {
    Lines lines(begin, end);
    if (fastq) parse_fastq(lines, records, true, false);
    else parse_fasta(lines, records, true, false);
}

// The records of a part of a file, of which `at_once` bytes are read at a time, to stay in a core's cache. Returns the
// seconds that reading took.
inline double parse_stored_queries(
    int descriptor, uint64_t offset, uint64_t size, bool fastq, QueryRecords& records, size_t at_once) {
    using Clock = std::chrono::steady_clock;
    static thread_local std::vector<char> buffer;
    std::chrono::duration<double> reading{0};
    size_t held = 0;
    for (uint64_t read = 0; read < size;) {
        if (buffer.size() < held + at_once) buffer.resize(2 * held + at_once);  // a record may be long
        const auto start = Clock::now();
        const size_t wanted = size_t(std::min<uint64_t>(at_once, size - read));
        const ssize_t count = pread(descriptor, buffer.data() + held, wanted, off_t(offset + read));
        reading += Clock::now() - start;
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) throw std::runtime_error("the file cannot be read");
        held += size_t(count);
        read += uint64_t(count);
        const char* text = buffer.data();
        const size_t cut = read == size ? held : size_t(last_record_border(text, text + held, fastq));
        parse_queries(text, text + cut, fastq, records);
        std::memmove(buffer.data(), text + cut, held - cut);
        held -= cut;
    }
    if (buffer.size() > 64 * at_once) std::vector<char>().swap(buffer);
    return reading.count();
}

}  // namespace gpualign
