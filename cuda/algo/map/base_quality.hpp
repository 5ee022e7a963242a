// Base qualities in the choice among loci of which one is about as good as the best: differences from the reference are likelier where
// the sequencer was unsure of the base.
#pragma once
#include "algo/map/mapping_quality.hpp"
#include "algo/map/seeds.hpp"

namespace gpualign {

// Of a read's alignments, a Phred number each: minus the logarithm of how likely the read is there.
constexpr int32_t kEditLoss = 35;  // of an edit that no quality explains
constexpr int32_t kGapLoss = 10;   // more, where one of them is a gap
constexpr int32_t kMaxLoss = 1 << 19;
constexpr uint32_t kMaxWeighed = 64;  // loci or pairs: of more the choice is by chance
constexpr char kNoQuality = '!';        // readers write this where a read has no quality among others that have

// Of a base that differs: one of three others, by an error or, in one of a thousand bases, a variant.
GPUALIGN_HD int32_t substitution_loss(uint8_t quality) {
    constexpr int32_t kThree = 5, kVariant = kEditLoss - kThree;
    const int32_t phred = int32_t(quality) - kNoQuality;
    return phred <= 0 ? kEditLoss : kThree + min(max(phred, 2), kVariant);
}

GPUALIGN_HD const uint8_t* qualities_of(const MapBatch& batch, uint32_t r) {
    return batch.qualities ? batch.qualities + batch.offsets[r] : nullptr;
}

// The bases of a read for the device, and what they say; `qualities` are as in FASTQ, null where there are none.
struct PackedBases {
    MapRead read;
    const MapTarget* target;
    const uint8_t* qualities;

    GPUALIGN_HD const int64_t* contig_offsets() const { return target->contig_offsets; }
    GPUALIGN_HD uint8_t quality(int32_t i) const { return qualities ? qualities[i] : uint8_t(kNoQuality); }
    // visit(i) for each base of the read or of its reverse complement that differs from the reference, whose `begin` base 0 meets, until it
    // says no.
    template <class Visit>
    GPUALIGN_HD void for_each_difference(int64_t begin, bool reverse, Visit&& visit) const {
        for (int32_t first = 0; first < read.length; first += kBasesPerWord) {
            uint64_t differ = differing_bases(read.window(first, reverse), packed_window(target->text, uint64_t(begin + first))) |
                              every_second_bit(~acgt_window(*target, uint64_t(begin + first)));
            for (int32_t i = first; !read.clean && i < min(first + kBasesPerWord, read.length); i++)
                if (read.code(i, reverse) == kNoBase) differ |= uint64_t(1) << (2 * (i - first));
            for (; differ; differ &= differ - 1) {
                const int32_t i = first + trailing_zeros(differ) / 2;
                if (i >= read.length || !visit(i)) return;
            }
        }
    }
};

// What a locus loses. Where a read's edits are substitutions all but for its ends, they lie on the diagonal of the
// locus' end, or up to as many further, as a window's first end of the least distance is taken.
template <class Loci>
GPUALIGN_HD_CALL int32_t phred_loss(const Loci& loci, uint32_t i, const AffineScores& scores) {
    const int32_t edits = loci.distance(i);
    const bool reverse = loci.reverse(i);
    const int64_t* const contig = loci.bases.contig_offsets() + loci.contig(i);
    for (int64_t begin = loci.begin(i); begin <= loci.begin(i) + edits && begin + loci.length <= contig[1]; begin++) {
        if (begin < contig[0]) continue;
        int32_t loss = 0, substitutions = 0;
        loci.bases.for_each_difference(begin, reverse, [&](int32_t base) {
            loss += substitution_loss(loci.bases.quality(reverse ? loci.length - 1 - base : base));
            return ++substitutions <= edits;
        });
        if (substitutions == edits) return loss;
    }
    return kGapLoss + kEditLoss * (loci.length * scores.match - loci.score(i)) / (scores.match + scores.mismatch);
}

// How likely one of several is, against the one that loses least.
struct Weights {
    static constexpr int kBits = 24;

    static GPUALIGN_HD uint32_t of(int32_t loss) { return uint32_t(exp2_share(-(int64_t(loss) * kTenth >> 8)) >> (kShareBits - kBits)); }
    // The quality of what weighs 1, where all others weigh so much.
    static GPUALIGN_HD uint8_t quality(uint32_t others) {
        if (!others) return 60;
        return uint8_t(min(60, int32_t(phred(log2_fixed((uint64_t(1) << kBits) + others) - log2_fixed(others)))));
    }
};

// The one of `count` that loses least: the usual one, or if that loses more another, of equal ones any. loss_of(n) is negative where n is
// none of them.
template <class Group, class LossOf>
GPUALIGN_HD uint32_t least_loss(const Group& group, uint32_t count, uint32_t usual, uint32_t tie_break, LossOf&& loss_of, int32_t& least) {
    uint64_t best = 0;  // how little is lost | whether it is the usual one, else random bits | number
    for (uint32_t n = group.lane(); n < count; n += Group::kLanes) {
        const int32_t loss = loss_of(n);
        if (loss < 0) continue;
        const uint32_t order = n == usual ? ~uint32_t(0) : mix_bits(tie_break ^ n) >> 1;
        const uint64_t key = uint64_t(kMaxLoss - loss) << 44 | uint64_t(order >> 8) << 20 | n;
        best = key > best ? key : best;
    }
    best = group.largest(best);
    least = kMaxLoss - int32_t(best >> 44);
    return uint32_t(best & 0xFFFFF);
}

}  // namespace gpualign
