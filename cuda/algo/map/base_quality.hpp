// Base qualities as a tie-break between loci that score about as well as the best: a difference from the reference is
// likelier at a base of low quality.
#pragma once
#include "algo/map/mapping_quality.hpp"
#include "algo/map/seeds.hpp"

namespace gpualign {

// Costs in Phred units: minus the logarithm of the likelihood of the read at a locus.
constexpr int32_t kEditLoss = 35;  // of an edit without a base quality
constexpr int32_t kGapLoss = 10;   // additional cost if one of the edits is a gap
constexpr int32_t kMaxLoss = 1 << 19;
constexpr uint32_t kMaxWeighed = 64;  // loci or pairs that are compared; among more the tie-break hash decides
constexpr char kNoQuality = '!';  // written by readers for a read without qualities among others that have them

// A mismatch is one of three bases, due to a sequencing error or, once in a thousand bases, a variant.
GPUALIGN_HD int32_t substitution_loss(uint8_t quality) {
    constexpr int32_t kThree = 5, kVariant = kEditLoss - kThree;
    const int32_t phred = int32_t(quality) - kNoQuality;
    return phred <= 0 ? kEditLoss : kThree + min(max(phred, 2), kVariant);
}

GPUALIGN_HD const uint8_t* qualities_of(const MapBatch& batch, uint32_t r) {
    return batch.qualities ? batch.qualities + batch.offsets[r] : nullptr;
}

// Packed bases of a read on the device, with its qualities (as in FASTQ, or null) and the target.
struct PackedBases {
    MapRead read;
    const MapTarget* target;
    const uint8_t* qualities;

    GPUALIGN_HD bool converted() const { return read.conversion(false) != Conversion::none; }
    GPUALIGN_HD const int64_t* contig_offsets() const { return target->contig_offsets; }
    GPUALIGN_HD uint8_t code(int32_t i) const { return read.code(i, false); }
    GPUALIGN_HD uint8_t quality(int32_t i) const { return qualities ? qualities[i] : uint8_t(kNoQuality); }
    // Calls visit(i) for each base of the read, or of its reverse complement, that differs from the reference, base 0
    // being aligned to position `begin`, until visit returns false.
    template <class Visit> GPUALIGN_HD void for_each_difference(int64_t begin, bool reverse, Visit&& visit) const {
        for (int32_t first = 0; first < read.length; first += kBasesPerWord) {
            uint64_t differ = read.differing(first, reverse, packed_window(target->text, uint64_t(begin + first))) |
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

// Cost of a locus. If all edits but those at the ends are substitutions, they are on the diagonal of the locus' end,
// or up to `edits` diagonals further, as a window reports the first end of the lowest distance.
template <class Loci> GPUALIGN_HD_CALL int32_t phred_loss(const Loci& loci, uint32_t i, const AffineScores& scores) {
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

// Likelihoods relative to the best, in fixed point.
struct Weights {
    static constexpr int kBits = 24;

    static GPUALIGN_HD uint32_t of(int32_t loss) {
        return uint32_t(exp2_share(-(int64_t(loss) * kTenth >> 8)) >> (kShareBits - kBits));
    }
    // Mapping quality of a locus of weight 1 if all others weigh `others` together.
    static GPUALIGN_HD uint8_t quality(uint32_t others) {
        if (!others) return 60;
        return uint8_t(min(60, int32_t(phred(log2_fixed((uint64_t(1) << kBits) + others) - log2_fixed(others)))));
    }
};

// Index of the lowest cost among `count`: `usual` if it is among the lowest, else one by the tie-break hash.
// loss_of(n) is negative if n is not a choice.
template <class Group, class LossOf>
GPUALIGN_HD uint32_t least_loss(
    const Group& group, uint32_t count, uint32_t usual, uint32_t tie_break, LossOf&& loss_of, int32_t& least) {
    uint64_t best = 0;  // how little is lost | tie-break, which prefers `usual` | n
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
