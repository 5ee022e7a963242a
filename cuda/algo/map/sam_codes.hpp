// Flags and CIGAR operations of SAM records (specification, section 1.4), as numbered in BAM.
#pragma once
#include <cstdint>

#include "algo/common/hd.hpp"

namespace gpualign {

constexpr uint16_t kFlagPaired = 1, kFlagProper = 2, kFlagUnmapped = 4, kFlagMateUnmapped = 8, kFlagReverse = 16;
constexpr uint16_t kFlagMateReverse = 32, kFlagFirst = 64, kFlagSecond = 128, kFlagSecondary = 256;
constexpr uint16_t kFlagQcFail = 512, kFlagDuplicate = 1024, kFlagSupplementary = 2048;
// Not SAM's, and not written: a bisulfite read in which G may be read as A (algo/common/bisulfite.hpp).
constexpr uint16_t kFlagGToA = 4096;
// Nor these: the introns' signals are on the forward (reverse) strand of the reference.
constexpr uint16_t kFlagTranscriptForward = 8192, kFlagTranscriptReverse = 16384;
// In a record of a device their bits are the host's (abi/map.hpp), so these are above its mapping quality.
GPUALIGN_HD uint16_t with_transcript(uint8_t mapq, uint16_t flag) {
    return uint16_t(mapq | (flag & (kFlagTranscriptForward | kFlagTranscriptReverse)) >> 5);
}
GPUALIGN_HD uint16_t transcript_of_mapq(uint16_t mapq) { return uint16_t((mapq & 0x300) << 5); }
constexpr uint16_t kFlagsUnwritten = kFlagGToA | kFlagTranscriptForward | kFlagTranscriptReverse;

constexpr uint32_t kCigarM = 0, kCigarI = 1, kCigarD = 2, kCigarN = 3, kCigarS = 4, kCigarH = 5;
constexpr uint32_t kCigarEqual = 7, kCigarX = 8;

// Whether an operation leaves out bases of the reference: a deletion or an intron.
GPUALIGN_HD bool skips_reference(uint32_t operation) { return operation == kCigarD || operation == kCigarN; }

// Bases of the introns in a CIGAR.
GPUALIGN_HD int64_t intron_bases(const uint32_t* begin, const uint32_t* end) {
    int64_t bases = 0;
    for (const uint32_t* c = begin; c < end; c++) bases += (*c & 15) == kCigarN ? *c >> 4 : 0;
    return bases;
}

// Bases that an operation at the end of a CIGAR clips softly.
GPUALIGN_HD uint32_t clipped_bases(uint32_t operation) { return (operation & 15) == kCigarS ? operation >> 4 : 0; }

}  // namespace gpualign
