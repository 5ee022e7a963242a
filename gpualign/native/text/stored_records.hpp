// Parses FASTA and four-line FASTQ text, in memory or in a file, to packed records: without flat arrays in between.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "text/fastx_text.hpp"

namespace gpualign {

// `records`: see Records of text/fastx_text.hpp.
template <class Into> void parse_nucleotides(const char* begin, const char* end, bool fastq, Into& records) {
    Lines lines(begin, end);
    if (fastq) parse_fastq(lines, records, true, false);
    else parse_fasta(lines, records, true, false);
}

// The records of a part of a file, of which `at_once` bytes are read at a time, to stay in a core's cache. Returns the
// seconds that reading took.
template <class Into>
double parse_stored_nucleotides(
    int descriptor, uint64_t offset, uint64_t size, bool fastq, Into& records, size_t at_once = size_t(1) << 18) {
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
        parse_nucleotides(text, text + cut, fastq, records);
        std::memmove(buffer.data(), text + cut, held - cut);
        held -= cut;
    }
    if (buffer.size() > 64 * at_once) std::vector<char>().swap(buffer);
    return reading.count();
}

}  // namespace gpualign
