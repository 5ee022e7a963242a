// A read as chaining sees it, and its comparison with the reference.
//
// The lexicographically smaller of a read and its reverse complement is mapped, so that both give the same results,
// ties included.
//
// A Text is the reference: bases(i) are the 32 bases from position i on, acgt(i) their ACGT mask, code(i) is the
// encoded base at i, contig_begin(c) and contig_of(i) give the contigs.
#pragma once
#include "abi/chains.hpp"
#include "algo/common/bisulfite.hpp"
#include "algo/common/group.hpp"
#include "algo/map/seeds.hpp"

namespace gpualign {

GPUALIGN_HD uint32_t reverse_bits(uint32_t x) {
#if defined(__CUDA_ARCH__)
    return __brev(x);
#else
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0F0F0F0Fu) | (x & 0x0F0F0F0Fu) << 4;
    return __builtin_bswap32(x);
#endif
}

struct TargetText {
    const MapTarget& target;

    GPUALIGN_HD uint64_t bases(int64_t i) const { return packed_window(target.text, uint64_t(i)); }
    GPUALIGN_HD uint32_t acgt(int64_t i) const { return acgt_window(target, uint64_t(i)); }
    GPUALIGN_HD uint8_t code(int64_t i) const { return code_at(target, i); }
    GPUALIGN_HD uint32_t contig_of(int64_t i) const { return gpualign::contig_of(target, i); }
    GPUALIGN_HD int64_t contig_begin(uint32_t contig) const { return target.contig_offsets[contig]; }
};

struct ChainQuery {
    MapRead read;
    bool flipped;

    GPUALIGN_HD int32_t length() const { return read.length; }
    GPUALIGN_HD uint8_t code(int32_t i, bool reverse) const { return read.code(i, reverse != flipped); }
    GPUALIGN_HD uint64_t bases(int32_t i, bool reverse) const { return read.window(i, reverse != flipped); }
    GPUALIGN_HD Conversion conversion(bool reverse) const { return read.conversion(reverse != flipped); }
    // Every second bit where the bases from i on differ from the reference's.
    GPUALIGN_HD uint64_t differing(int32_t i, bool reverse, uint64_t reference) const {
        return read.differing(i, reverse != flipped, reference);
    }
    // ACGT mask of the bases from i on; bits after the last base are undefined.
    GPUALIGN_HD uint32_t acgt(int32_t i, bool reverse) const {
        if (read.clean) return ~0u;
        const auto window = [this](int32_t at) {
            const uint64_t both = uint64_t(read.not_acgt[(at >> 5) + 1]) << 32 | read.not_acgt[at >> 5];
            return ~uint32_t(both >> (at & 31));
        };
        if (reverse == flipped) return window(i);
        const int32_t first = read.length - kBasesPerWord - i;
        return first >= 0 ? reverse_bits(window(first)) : reverse_bits(window(0)) >> -first;
    }
};

// Index of a read's first word; packed reads are stored one after the other, each with a word of padding.
GPUALIGN_HD uint64_t first_word(const ChainBatch& batch, uint32_t r) {
    return uint64_t(batch.offsets[r]) / kBasesPerWord + 2 * uint64_t(r);
}

GPUALIGN_HD ChainQuery query_of(const ChainBatch& batch, uint32_t r) {
    const uint64_t at = first_word(batch, r);
    const int32_t length = int32_t(batch.offsets[r + 1] - batch.offsets[r]);
    const uint32_t state = batch.state[r].flipped;
    return {{batch.words + at, batch.not_acgt + at, length, 0, 0, (state & 2) != 0, 0, Conversion(state >> 2)},
        (state & 1) != 0};
}

// Whether the reverse complement is lexicographically smaller; called by one lane.
GPUALIGN_HD bool reverse_comes_first(const MapRead& read) {
    for (int32_t i = 0; i < read.length; i++) {
        const uint8_t forward = read.code(i, false), reverse = read.code(i, true);
        if (forward != reverse) return forward > reverse;
    }
    return false;
}

// The 32 bases of the other strand before position `at`, and their ACGT mask; those beyond the text are undefined.
template <class Text> GPUALIGN_HD uint64_t bases_before(const Text& text, int64_t at) {
    const int64_t first = at - kBasesPerWord;
    return first >= 0 ? reverse_complement(text.bases(first)) : reverse_complement(text.bases(0)) >> (-2 * first);
}
template <class Text> GPUALIGN_HD uint32_t acgt_before(const Text& text, int64_t at) {
    const int64_t first = at - kBasesPerWord;
    return first >= 0 ? reverse_bits(text.acgt(first)) : reverse_bits(text.acgt(0)) >> -first;
}

// Every second bit where the bases of a read from `from` on, on a strand, differ from those of the text from `at` on;
// ambiguous bases differ from everything.
template <class Text>
GPUALIGN_HD uint64_t mismatches_after(
    const ChainQuery& query, bool reverse, int32_t from, const Text& text, int64_t at) {
    const uint64_t differ = query.differing(from, reverse, text.bases(at));
    const uint32_t acgt = query.acgt(from, reverse) & text.acgt(at);
    return acgt == ~0u ? differ : differ | every_second_bit(~acgt);
}
// Compares the bases before both positions, from there leftwards.
template <class Text>
GPUALIGN_HD uint64_t mismatches_before(
    const ChainQuery& query, bool reverse, int32_t from, const Text& text, int64_t at) {
    const uint64_t differ = query.differing(query.length() - from, !reverse, bases_before(text, at));
    const uint32_t acgt = query.acgt(query.length() - from, !reverse) & acgt_before(text, at);
    return acgt == ~0u ? differ : differ | every_second_bit(~acgt);
}

// Number of differing bases, called by one lane; ambiguous bases differ from everything.
template <class Text>
GPUALIGN_HOST_DEVICE int32_t count_mismatches(
    const ChainQuery& query, bool reverse, int32_t from, const Text& text, int64_t at, int32_t length) {
    uint32_t n = 0;
    for (int32_t i = 0; i < length; i += kBasesPerWord) {
        uint64_t differ = mismatches_after(query, reverse, from + i, text, at + i);
        if (length - i < kBasesPerWord) differ &= (uint64_t(1) << 2 * (length - i)) - 1;
        n += count_bits(uint32_t(differ)) + count_bits(uint32_t(differ >> 32));
    }
    return int32_t(n);
}

// Maximum score that `length` bases next to an alignment add without a gap; window(i) marks the mismatches among the
// 32 bases from the i-th on, in every second bit.
template <class Window>
GPUALIGN_HOST_DEVICE int32_t ungapped_extension(const AffineScores& s, int32_t length, Window&& window) {
    int32_t score = 0, best = 0;
    for (int32_t from = 0; from < length && score + (length - from) * s.match > best; from += kBasesPerWord) {
        uint64_t differ = window(from);
        for (int32_t i = 0; i < min(length - from, int32_t(kBasesPerWord)); i++, differ >>= 2) {
            score += s.match - ((s.match + s.mismatch) & -int32_t(differ & 1));  // branch-free, as it is unpredictable
            best = max(best, score);
        }
    }
    return best;
}

// Whether some of the `length` bases next to an alignment add `wanted` to its score without a gap. So many bases as
// would without a mismatch are tried; what mismatches cost there takes further bases, as often as need be.
template <class Window>
GPUALIGN_HOST_DEVICE bool extends_ungapped(const AffineScores& s, int32_t length, int32_t wanted, Window&& window) {
    int32_t bases = (wanted + s.match - 1) / s.match, before = 0;  // mismatches of the windows before
    for (int32_t from = 0; bases <= length; from += kBasesPerWord) {
        const uint64_t differ = window(from);
        const auto mismatches = [&](uint64_t some) {
            return before + int32_t(count_bits(uint32_t(some)) + count_bits(uint32_t(some >> 32)));
        };
        const auto needed = [&](int32_t n) { return (wanted + n * (s.match + s.mismatch) + s.match - 1) / s.match; };
        while (bases <= min(length, from + kBasesPerWord)) {
            const int32_t more = needed(mismatches(differ & ~uint64_t(0) >> 2 * (from + kBasesPerWord - bases)));
            if (more <= bases) return true;
            bases = more;
        }
        before = mismatches(differ);
        bases = max(bases, needed(before));
    }
    return false;
}

// Number of bases before the first mismatch, at most `length`; window(i) as in ungapped_extension.
template <class Window> GPUALIGN_HOST_DEVICE int32_t matching_bases(int32_t length, Window&& window) {
    for (int32_t from = 0; from < length; from += kBasesPerWord)
        if (const uint64_t differ = window(from)) return min(length, from + trailing_zeros(differ) / 2);
    return length;
}

// Takes n items of an arena; returns the first, or kNoItem if they do not fit. Called by one lane.
template <class Item> GPUALIGN_HD uint32_t take(const Arena<Item>& arena, uint32_t n) {
#if defined(__CUDA_ARCH__)
    const uint32_t first = atomicAdd(arena.used, n);
#else
    const uint32_t first = *arena.used;
    *arena.used += n;
#endif
    return uint64_t(first) + n <= arena.capacity ? first : kNoItem;
}
// Atomic maximum.
GPUALIGN_HD void raise_to(uint32_t* number, uint32_t n) {
#if defined(__CUDA_ARCH__)
    atomicMax(number, n);
#else
    if (*number < n) *number = n;
#endif
}
template <class Item> GPUALIGN_HD bool overflowed(const Arena<Item>& arena) {
    return arena.used &&
           *static_cast<const volatile uint32_t*>(arena.used) > arena.capacity;  // other groups take items meanwhile
}

// Whether any arena overflowed, so that the following steps have nothing to do. All are loaded at once.
GPUALIGN_HD bool overflowed(const ChainBatch& b) {
    return overflowed(b.hashes) | overflowed(b.seeds) | overflowed(b.anchors) | overflowed(b.candidates) |
           overflowed(b.chains) | overflowed(b.points) | overflowed(b.tasks[0]) | overflowed(b.tasks[1]) |
           overflowed(b.runs) | overflowed(b.cigars) | overflowed(b.alignments) | overflowed(b.ranked) |
           overflowed(b.outputs) | overflowed(b.output_cigars);
}

}  // namespace gpualign
