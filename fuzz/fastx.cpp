// libFuzzer on the FASTA and FASTQ parser: no read outside the text, offsets that fit, and chunks that add up: cut at
// any border that the reader may take, the parts hold the records of the whole.
//
// The first byte chooses format, alphabet, comments and whether lines are wrapped, the second where the reader's block
// ends.
#include "text/wrapped_fastq.hpp"

#include <cstdlib>
#include <memory>

using namespace gpualign;

namespace {

void expect(bool holds) {
    if (!holds) abort();
}

void check(const Records& r, bool fastq) {
    expect(r.name_offsets.size() == r.base_offsets.size());
    expect(size_t(r.base_offsets.back()) == r.symbols.size());
    expect(size_t(r.name_offsets.back()) == r.names.size());
    if (fastq) expect(r.quality_symbols.size() == r.symbols.size());
    for (size_t i = 1; i < r.base_offsets.size(); i++) {
        expect(r.base_offsets[i - 1] <= r.base_offsets[i]);
        expect(r.name_offsets[i - 1] <= r.name_offsets[i]);
    }
}

// False where the text is refused, with a message that has its line.
bool parse(
    const char* begin, const char* end, bool fastq, bool wrapped, bool nucleotides, bool comments, Records& out) {
    Lines lines(begin, end);
    try {
        if (wrapped) parse_wrapped_fastq(lines, out, nucleotides, comments);
        else if (fastq) parse_fastq(lines, out, nucleotides, comments);
        else parse_fasta(lines, out, nucleotides, comments);
    } catch (const std::invalid_argument& error) {
        expect(std::strchr(error.what(), '\t') && std::atol(error.what()) >= 0);
        return false;
    }
    check(out, fastq);
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    const bool fastq = data[0] & 1, nucleotides = data[0] & 2, comments = data[0] & 4, wrapped = fastq && data[0] & 8;
    const size_t length = size - 2;
    // a copy of its own, so that a read beyond the end is seen
    const std::unique_ptr<char[]> copy(new char[length]);
    std::memcpy(copy.get(), data + 2, length);
    const char* begin = copy.get();
    const char* end = begin + length;

    Records whole;
    const bool valid = parse(begin, end, fastq, wrapped, nucleotides, comments, whole);
    const size_t block = length * data[1] / 255;
    const std::unique_ptr<char[]> first(new char[block]);
    std::memcpy(first.get(), begin, block);
    is_wrapped_fastq(first.get(), first.get() + block);
    const int64_t border = wrapped ? wrapped_fastq_border(first.get(), first.get() + block)
                                   : last_record_border(first.get(), first.get() + block, fastq);
    expect(border >= 0 && size_t(border) <= block);
    if (!valid || border == 0) return 0;
    Records before, after;
    expect(parse(begin, begin + border, fastq, wrapped, nucleotides, comments, before));
    expect(parse(begin + border, end, fastq, wrapped, nucleotides, comments, after));
    before.symbols.insert(before.symbols.end(), after.symbols.begin(), after.symbols.end());
    before.names.insert(before.names.end(), after.names.begin(), after.names.end());
    expect(before.symbols == whole.symbols && before.names == whole.names);
    expect(before.base_offsets.size() + after.base_offsets.size() == whole.base_offsets.size() + 1);
    return 0;
}
