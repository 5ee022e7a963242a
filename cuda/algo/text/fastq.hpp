// The rules of FASTQ, for the host's parser (native/text/fastx_text.hpp) and for the kernels that find records
// (fastq_reads.hpp).
#pragma once
#include "algo/text/bases.hpp"

namespace gpualign {

// What a character of a nucleotide sequence becomes: upper case, U as T; 0 where it is no nucleotide code. Gaps ('-',
// '.', '*') and digits are refused rather than copied into a record.
GPUALIGN_CONSTEXPR_HD uint8_t nucleotide_of(uint8_t character) {
    const uint32_t codes = 0x17e34cf;  // A, C, G, T, U, N and IUPAC's R, Y, S, W, K, M, B, D, H, V
    const uint8_t upper = character & 0xdf;
    if (upper < 'A' || upper > 'Z' || !(codes >> (upper - 'A') & 1)) return 0;
    return upper == 'U' ? 'T' : upper;
}

GPUALIGN_CONSTEXPR_HD bool is_quality(uint8_t character) { return uint8_t(character - '!') <= '~' - '!'; }

// Part of a line end; in a name it is refused.
constexpr char kReturn = '\r';

GPUALIGN_CONSTEXPR_HD bool ends_name(char character) { return character == ' ' || character == '\t'; }

// Which mate a name is of by 1 or 2 after `mark` at its end, as in x/1; 0: it does not say.
GPUALIGN_CONSTEXPR_HD int mate_after(char mark, const char* name, int64_t size) {
    return size > 2 && name[size - 2] == mark && (name[size - 1] == '1' || name[size - 1] == '2') ? name[size - 1] - '0'
                                                                                                  : 0;
}

// Which mate a name is of by .1 or .2 at its end, as some archives write them; 0: it does not say. A spot's number may
// stand after a dot, too (SRR1.1, SRR1.2): a mate's follows another dot (SRR1.7.1, SRR1.7.2), unless all names end like
// this (`all_dots`).
GPUALIGN_CONSTEXPR_HD int mate_after_dot(const char* name, int64_t size, bool all_dots) {
    const int mate = mate_after('.', name, size);
    if (all_dots || mate == 0) return mate;
    for (int64_t i = 0; i < size - 2; i++)
        if (name[i] == '.') return mate;
    return 0;
}

// The template's name has so many of a name's characters: without /1 or /2, and without .1 or .2 where those are mates'
// numbers.
GPUALIGN_CONSTEXPR_HD int64_t template_name_size(const char* name, int64_t size, bool with_dots) {
    return mate_after('/', name, size) || (with_dots && mate_after('.', name, size)) ? size - 2 : size;
}

GPUALIGN_CONSTEXPR_HD bool same_text(const char* a, int64_t a_size, const char* b, int64_t b_size) {
    if (a_size != b_size) return false;
    for (int64_t i = 0; i < a_size; i++)
        if (a[i] != b[i]) return false;
    return true;
}

// What two names say of their reads.
enum class TwoNames : uint8_t { kOfTwoTemplates, kOfMates, kOfMatesSecondFirst, kOfOneMateTwice };

// `dots`: they end in .1 and .2 as mates' names.
GPUALIGN_CONSTEXPR_HD TwoNames compare_names(
    const char* a, int64_t a_size, const char* b, int64_t b_size, bool all_dots, bool& dots) {
    const auto of_numbers = [](int first, int second) {
        if (first == 0 || second == 0 || first < second) return TwoNames::kOfMates;
        return first == second ? TwoNames::kOfOneMateTwice : TwoNames::kOfMatesSecondFirst;
    };
    dots = false;
    if (same_text(a, template_name_size(a, a_size, false), b, template_name_size(b, b_size, false))) {
        const bool twice = all_dots && mate_after('.', a, a_size);
        return twice ? TwoNames::kOfOneMateTwice : of_numbers(mate_after('/', a, a_size), mate_after('/', b, b_size));
    }
    const int first = mate_after_dot(a, a_size, all_dots), second = mate_after_dot(b, b_size, all_dots);
    dots = first && second && same_text(a, a_size - 2, b, b_size - 2);
    return dots ? of_numbers(first, second) : TwoNames::kOfTwoTemplates;
}

// Whether reads of these names are the mates of a pair, the first one first or not.
GPUALIGN_CONSTEXPR_HD bool are_mates(TwoNames names) {
    return names == TwoNames::kOfMates || names == TwoNames::kOfMatesSecondFirst;
}

}  // namespace gpualign
