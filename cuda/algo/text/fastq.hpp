// The rules of FASTQ, for the host's parser (native/text/fastx_text.hpp) and for the kernels that find records (fastq_reads.hpp).
#pragma once
#include "algo/text/bases.hpp"

namespace gpualign {

// What a character of a nucleotide sequence becomes: upper case, U as T; 0 where it is no nucleotide code. Gaps ('-', '.', '*')
// and digits are refused rather than copied into a record.
GPUALIGN_CONSTEXPR_HD uint8_t nucleotide_of(uint8_t character) {
    const uint32_t codes = 0x17e34cf;  // A, C, G, T, U, N and IUPAC's R, Y, S, W, K, M, B, D, H, V
    const uint8_t upper = character & 0xdf;
    if (upper < 'A' || upper > 'Z' || !(codes >> (upper - 'A') & 1)) return 0;
    return upper == 'U' ? 'T' : upper;
}

GPUALIGN_CONSTEXPR_HD bool is_quality(uint8_t character) { return uint8_t(character - '!') <= '~' - '!'; }

GPUALIGN_CONSTEXPR_HD bool ends_name(char character) { return character == ' ' || character == '\t'; }

// The template's name has so many of a name's characters: without /1 or /2, or .1 or .2 as some archives write them, at the end.
GPUALIGN_CONSTEXPR_HD int64_t template_name_size(const char* name, int64_t size, bool with_dots) {
    if (size <= 2 || (name[size - 1] != '1' && name[size - 1] != '2')) return size;
    return name[size - 2] == '/' || (with_dots && name[size - 2] == '.') ? size - 2 : size;
}

GPUALIGN_CONSTEXPR_HD bool same_text(const char* a, int64_t a_size, const char* b, int64_t b_size) {
    if (a_size != b_size) return false;
    for (int64_t i = 0; i < a_size; i++)
        if (a[i] != b[i]) return false;
    return true;
}

// Whether two names are one template's: equal, or equal but for /1 and /2 or, `dots` then, for .1 and .2.
GPUALIGN_CONSTEXPR_HD bool one_template(const char* a, int64_t a_size, const char* b, int64_t b_size, bool& dots) {
    const auto same = [&](bool with_dots) {
        return same_text(a, template_name_size(a, a_size, with_dots), b, template_name_size(b, b_size, with_dots));
    };
    dots = false;
    if (same(false)) return true;
    dots = same(true) && !same_text(a, a_size, b, b_size);
    return dots;
}

}  // namespace gpualign
