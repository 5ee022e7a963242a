// Loci of end-to-end alignments together with those of local alignments found by chaining.
#pragma once
#include "abi/chains.hpp"
#include "algo/common/group.hpp"
#include "algo/map/chain/short_reads.hpp"
#include "algo/map/locus.hpp"
#include "algo/map/mapping_quality.hpp"
#include "algo/map/sam_codes.hpp"

namespace gpualign {

struct Locus {
    uint32_t read;  // index in the block
    uint32_t contig : 31, reverse : 1;
    int32_t seed_hits;  // on its diagonals; 0 if it was rescued through the mate
    int32_t distance;  // Levenshtein distance of the end-to-end alignment, or edits of the local one
    int32_t score;  // with all edits as mismatches, or the local alignment's
    int32_t local;  // index among the read's local alignments; -1: end to end
    int64_t begin, end;  // about where the whole read begins and ends on the reference
    int64_t introns;  // bases of introns between them
};
static_assert(sizeof(Locus) == 48, "without padding, which nobody would have written when loci are copied");

// Best first; ties go to the leftmost, then to the forward strand.
GPUALIGN_HD bool operator<(const Locus& a, const Locus& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.end != b.end) return a.end < b.end;
    if (a.reverse != b.reverse) return a.reverse < b.reverse;
    if (a.seed_hits != b.seed_hits) return a.seed_hits > b.seed_hits;
    return a.local < b.local;
}

// Locus of an end-to-end alignment.
GPUALIGN_HD Locus end_to_end_locus(uint32_t read, int32_t length, int32_t ambiguous, const AffineScores& scores,
    uint32_t contig, bool reverse, int32_t seed_hits, int32_t distance, int64_t end) {
    return {read, contig, reverse, seed_hits, distance, end_to_end_score(scores, length, distance, ambiguous), -1,
        end - length, end, 0};
}

// Whether a local alignment is a locus of its read: if it covers the part of the read that the best one covers. A copy
// of another part would leave the best one's uncovered, and that part's own alignment, which is supplementary, would
// not compete with it.
template <class Local> GPUALIGN_HD bool is_locus(const Local& best, const Local& local) {
    const int32_t shared = min(local.query_end, best.query_end) - max(local.query_begin, best.query_begin);
    return local.kind != ChainKind::supplementary &&
           2 * shared > min(local.query_end - local.query_begin, best.query_end - best.query_begin);
}

// Locus of the local alignment `number` of a read, which spans `span` bases of the reference, `introns` of them in
// introns.
template <class Local>
GPUALIGN_HD Locus local_locus(
    uint32_t read, int32_t length, const Local& local, int32_t number, int64_t begin, int64_t span, int64_t introns) {
    const int32_t front = local.reverse ? length - local.query_end : local.query_begin;
    const int32_t back = local.reverse ? local.query_begin : length - local.query_end;
    return {read, local.contig, bool(local.reverse), local.anchors, local.edits, local.score, number, begin - front,
        begin + span + back, introns};
}

// A read's loci, best first; `Locals` holds its local alignments: best, supplementary, secondary; `Bases` is like
// PackedBases.
template <class Locals, class Bases> struct MixedLoci {
    const Locus* list;
    uint32_t count;
    int32_t length, limit, ambiguous;
    bool hits_truncated;
    const Locals* locals;
    const MapRules* rules;
    Bases bases;

    GPUALIGN_HD int32_t distance(uint32_t i) const { return list[i].distance; }
    GPUALIGN_HD int32_t seed_hits(uint32_t i) const { return list[i].seed_hits; }
    GPUALIGN_HD int32_t score(uint32_t i) const { return list[i].score; }
    GPUALIGN_HD int64_t begin(uint32_t i) const { return list[i].begin; }
    GPUALIGN_HD int64_t end(uint32_t i) const { return list[i].end; }
    GPUALIGN_HD int64_t introns(uint32_t i) const { return list[i].introns; }
    GPUALIGN_HD bool reverse(uint32_t i) const { return list[i].reverse; }
    GPUALIGN_HD uint32_t contig(uint32_t i) const { return list[i].contig; }
    GPUALIGN_HD bool local(uint32_t i) const { return list[i].local >= 0; }

    // If all split alignments of a read together explain little of it, its true locus was probably missed because of
    // many errors. A microsatellite that is aligned by itself may belong to any other.
    GPUALIGN_HD uint8_t local_quality(uint32_t i) const {
        constexpr int kMinExplained = 30;  // %
        constexpr uint8_t kMaxUnexplained = 10;
        const auto& own = (*locals)[size_t(list[i].local)];
        if (maps_as_long(*rules, length)) return own.mapq;
        const int64_t enough_bits = rules->locus_bits + MappingQuality::kManyBits;
        const int64_t bits = information_of_repeat(bases, own.query_begin, own.query_end, enough_bits);
        const uint8_t quality = MappingQuality::bounded(min(own.mapq, surest(own)), bits - rules->locus_bits);
        int64_t explained = 0;
        for (size_t part = 0; part < locals->size(); part++)
            if ((*locals)[part].kind != ChainKind::secondary) explained += (*locals)[part].score;
        const bool enough = explained * 100 >= int64_t(kMinExplained) * length * rules->scores.match;
        return enough || quality < kMaxUnexplained ? quality : kMaxUnexplained;
    }

    // A short clipped end counts as two edits. Few bases of a read whose hits were truncated usually belong to another
    // copy of a repeat.
    template <class Local> GPUALIGN_HD uint8_t surest(const Local& own) const {
        constexpr uint8_t kClippedInRepeat = 6;
        int32_t bases = own.query_end - own.query_begin, edits = own.edits;
        for (int end = 0; end < 2; end++) {
            const int32_t clipped = end ? length - own.query_end : own.query_begin;
            if (clipped >= kShortClip) continue;
            bases += clipped;
            edits += clipped ? 2 : 0;
        }
        const uint8_t maximum = surest_quality(bases, edits, hits_truncated, rules->k, rules->w);
        const bool few = bases < 3 * (rules->w + rules->k - 1);
        return hits_truncated && few ? min(maximum, kClippedInRepeat) : maximum;
    }
};

// A mate without a locus is searched for near the other one with more edits, then aligned with clipped ends, in the
// whole window if necessary, and kept if it is not due to chance.
GPUALIGN_HD bool wants_clipped_mate(const MapRules& rules, uint32_t loci, int32_t length, int32_t limit) {
    return loci == 0 && length * rules.scores.match >= kMinLocalScore &&
           limit_near_mate(length, limit, rules.pairs.max) >= 0;
}
GPUALIGN_HD bool clipped_mate_is_better(const AffineScores& scores, int32_t score, int32_t best_score) {
    return score >= kMinMateScore * scores.match && score > best_score;
}
constexpr int64_t kWidestWindow = 2000;  // widest window in which a mate is aligned locally
// Diagonals of such a window: few different widths, so that vector lanes fill.
GPUALIGN_HD int32_t window_band(int64_t columns, int32_t length) { return (int32_t(columns) + length + 15) / 16 * 16; }
// Band in which a mate is aligned.
struct MateBand {
    int64_t diagonal;
    int32_t band;  // number of diagonals; 0: it is not aligned
};
// Within the window [begin, after): around the read's best end if it is within `limit` edits, else all of the window.
GPUALIGN_HD MateBand clipped_mate_band(
    int32_t length, int32_t limit, int64_t begin, int64_t after, int32_t distance, int64_t end) {
    if (distance <= limit) return {end - length - limit, 2 * limit + 1};
    if (after - begin > kWidestWindow) return {0, 0};
    return {begin - length, window_band(after - begin, length)};
}
// Sets a clipped mate's fields from the first and last operation of its CIGAR and its score. Its edits are the
// mismatches that explain the score.
template <class Local>
GPUALIGN_HD void set_clipped_mate(const AffineScores& scores, int32_t length, bool reverse, uint32_t first,
    uint32_t last, int32_t score, Local& local) {
    local.query_begin = int32_t(clipped_bases(reverse ? last : first));
    local.query_end = length - int32_t(clipped_bases(reverse ? first : last));
    local.score = score;
    local.edits = ((local.query_end - local.query_begin) * scores.match - score) / (scores.match + scores.mismatch);
    local.kind = ChainKind::primary;
    local.reverse = reverse;
}

// Scratch of settle_mixed; `by_position` has space for a power of two.
struct SettleMemory {
    uint64_t* by_position;
    uint32_t* rank;
};

// Sorts by operator<, by a bitonic network whose elements from `n` on are absent (Batcher 1968).
template <class Group, class Item> GPUALIGN_HOST_DEVICE void sort_items(const Group& group, Item* items, uint32_t n) {
#if !defined(__CUDACC__)
    if (Group::kLanes == 1) return std::sort(items, items + n);
#endif
    const uint32_t padded = power_of_two(n);
    const auto order = [&](uint32_t low, uint32_t high) {
        if (high >= n || !(items[high] < items[low])) return;
        const Item other = items[low];
        items[low] = items[high];
        items[high] = other;
    };
    for (uint32_t size = 2; size <= padded; size *= 2) {
        for (uint32_t i = group.lane(); i < padded / 2;
            i += Group::kLanes) {  // each sorted sequence against the next one, read backwards
            const uint32_t run = i / (size / 2) * size, at = i % (size / 2);
            order(run + at, run + size - 1 - at);
        }
        group.sync();
        for (uint32_t stride = size / 4; stride; stride /= 2) {
            for (uint32_t i = group.lane(); i < padded / 2; i += Group::kLanes) {
                const uint32_t low = 2 * i - (i & (stride - 1));
                order(low, low + stride);
            }
            group.sync();
        }
    }
}

// Sorts loci, best first, and keeps the better of duplicates: each locus that is kept removes its neighbours in
// position order. Returns the number kept.
template <class Group>
GPUALIGN_HOST_DEVICE uint32_t settle_mixed(
    const Group& group, int32_t limit, Locus* loci, uint32_t count, const SettleMemory& memory) {
    if (count < 2) return count;
    constexpr uint64_t kOtherStrand = uint64_t(1) << 63;
    constexpr int kNumberBits = 29;  // also enough for positions after the end of a reference of 2^32 bases
    constexpr uint32_t kRuledOut = ~0u;
    sort_items(group, loci, count);
    for (uint32_t p = group.lane(); p < count; p += Group::kLanes)
        memory.by_position[p] = (loci[p].reverse ? kOtherStrand : 0) | uint64_t(loci[p].end) << kNumberBits | p;
    group.sync();
    sort_many_keys(group, memory.by_position, count);
    const auto number = [&](uint32_t i) {
        return uint32_t(memory.by_position[i] & ((uint64_t(1) << kNumberBits) - 1));
    };
    for (uint32_t i = group.lane(); i < count; i += Group::kLanes) memory.rank[number(i)] = i;
    group.sync();
    uint32_t kept = 0;
    if (group.lane() == 0) {
        bool spliced = false;
        for (uint32_t p = 0; p < count; p++) spliced |= loci[p].introns != 0;
        for (uint32_t p = 0; p < count; p++) {
            const uint32_t own = memory.rank[p];
            if (own == kRuledOut) continue;
            const auto rule_out = [&](uint32_t i) {
                const uint32_t q = number(i);
                const bool near = same_locus(loci[q].end, loci[q].reverse, loci[p].end, loci[p].reverse, limit);
                if (near) memory.rank[q] = kRuledOut;
                return near;
            };
            for (uint32_t i = own; i > 0 && rule_out(i - 1);) i--;
            for (uint32_t i = own + 1; i < count && rule_out(i);) i++;
            for (uint32_t q = p + 1; spliced && q < count; q++)  // across an intron, or at its other end
                if ((loci[p].introns || loci[q].introns) &&
                    same_locus(loci[q].begin, loci[q].reverse, loci[p].begin, loci[p].reverse, limit))
                    memory.rank[q] = kRuledOut;
        }
        for (uint32_t p = 0; p < count; p++)
            if (memory.rank[p] != kRuledOut) loci[kept++] = loci[p];
    }
    kept = group.from(kept, 0);
    group.sync();
    return kept;
}

}  // namespace gpualign
