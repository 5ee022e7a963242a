// Nucleotides as BAM packs them (SAM specification, section 4.2.3): a bit for each base that one may be, so that the
// complement is the four bits the other way round.
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {

#if defined(__CUDACC__)
#define GPUALIGN_CONSTEXPR_HD __host__ __device__ constexpr
#else
#define GPUALIGN_CONSTEXPR_HD constexpr
#endif

// 0 for =, 1, 2, 4, 8 for A, C, G, T, and 15, which is N, for what is no such base.
GPUALIGN_CONSTEXPR_HD uint8_t bam_base(uint8_t character) {
    // of the characters from @ to O and from P on, four bits each
    const uint64_t from_at = 0xff3fcffb4ffd2e1fu, from_p = 0xffffffaf97f865ffu;
    if (character == '=') return 0;
    if ((character & 0xC0) != 0x40) return 15;
    return uint8_t((character & 16 ? from_p : from_at) >> (4 * (character & 15)) & 15);
}

GPUALIGN_CONSTEXPR_HD uint8_t bam_character(uint8_t base) {
    const uint64_t low = 0x565352474d43413du, high = 0x4e42444b48595754u;  // "=ACMGRSV", "TWYHKDBN"
    return uint8_t((base & 8 ? high : low) >> (8 * (base & 7)));
}

// Complement of an upper-case base; N for any other character.
GPUALIGN_CONSTEXPR_HD uint8_t complement_base(uint8_t character) {
    if (character < 'A' || character > 'Z') return 'N';
    const uint8_t base = bam_base(character);
    return bam_character(uint8_t((base & 1) << 3 | (base & 2) << 1 | (base & 4) >> 1 | base >> 3));
}

GPUALIGN_CONSTEXPR_HD bool is_base(uint8_t character) {
    return character == 'A' || character == 'C' || character == 'G' || character == 'T';
}

}  // namespace gpualign
