// Maximal exact matches (MEMs) from minimizer hits: which seeds of a query are looked up, how a hit is extended, and
// the rule by which exactly one hit reports a match.
//
// A MEM of length >= L >= w + k - 1 that starts at query position s holds the whole window of w k-mers starting at
// s .. s + w - 1. The LEFTMOST k-mer of smallest hash in that window is its canonical seed. It is a minimizer of the
// reference as well, because the same window lies there, so the index holds it; and it depends on the query and on s
// alone, so of all hits on the match's diagonal exactly one is canonical. Read from the seed's side: a k-mer at q is
// canonical for the starts s = q - e with
//     e <= most  = bases to the left until a k-mer of smaller or equal hash (or none), less one, below w
//     e >= least = w - bases to the right until a k-mer of smaller hash (or none), at least 0
// Hence a hit is extended to the left by at most `maximum` + 1 bases: one or two words tell nearly every hit that
// another seed reports from the one that does, and no table of what has been reported is needed. Canonical seeds
// never go back as s grows, so matches in order of seeds are in order of starts up to the sorting of each seed's own.
#pragma once
#include "algo/seeds/index/minimizer.hpp"

namespace gpualign {

// The query: strand sequences one after the other. `breaks` has a bit per position that is not a base: borders of
// records, and characters other than A, C, G and T. Position 0 and the position after the last base are breaks; both
// arrays have two words of padding.
struct TextView {
    const uint64_t* words;
    const uint64_t* breaks;
};

// The reference. Segments are the maximal intervals of bases within a contig; `near_break` has a bit per block of
// 2^kBreakBlockShift positions that contains the border of a segment.
struct SegmentedReference {
    const uint64_t* words;
    const uint64_t* near_break;
    const uint32_t* segment_starts;
    const uint32_t* segment_ends;
    uint32_t segments;
    uint32_t bases;
};

constexpr int kBreakBlockShift = 7;

struct Mem {
    uint32_t start;      // in the query text
    uint32_t reference;  // in the concatenated reference
    uint32_t length;
};

struct MemSeed {
    uint32_t position;
    uint16_t minimum, maximum;
};

// The break bits of the 64 positions from i on.
GPUALIGN_HD uint64_t break_window(const uint64_t* breaks, uint64_t i) {
    const int shift = int(i & 63);
    const uint64_t low = breaks[i >> 6] >> shift;
    return shift ? low | breaks[(i >> 6) + 1] << (64 - shift) : low;
}

// The 32 bases before `end`, the last one in the top bits; zeros where the sequence has not begun.
GPUALIGN_HD uint64_t packed_window_before(const uint64_t* words, uint64_t end) {
    if (end >= uint64_t(kBasesPerWord)) return packed_window(words, end - kBasesPerWord);
    return end ? words[0] << (64 - 2 * end) : 0;
}

GPUALIGN_HD uint64_t break_window_before(const uint64_t* breaks, uint64_t end) {
    if (end >= 64) return break_window(breaks, end - 64);
    return end ? breaks[0] << (64 - end) : 0;
}

// Bit j is set when one of the k positions from j on is a break; valid for j <= 64 - k.
GPUALIGN_HD uint64_t spread_breaks(uint64_t breaks, int k) {
    for (int have = 1; have < k;) {
        const int step = have < k - have ? have : k - have;
        breaks |= breaks >> step;
        have += step;
    }
    return breaks;
}

// Rank of a k-mer in the order of minimizers: its hash + 1, where 0 means that no k-mer starts here. The k-mer is the
// head of `window`; branch-free, so that loops over positions vectorise.
GPUALIGN_HD uint64_t seed_key(uint64_t window, int k) {
    const uint64_t forward = window & kmer_mask(k);
    const uint64_t reverse = reverse_complement(forward) >> (64 - 2 * k);
    return kmer_hash(reverse < forward ? reverse : forward, k) + 1;
}

// Whether the canonical form of that k-mer is the reverse strand's.
GPUALIGN_HD bool seed_on_reverse(uint64_t window, int k) {
    const uint64_t forward = window & kmer_mask(k);
    return reverse_complement(forward) >> (64 - 2 * k) < forward;
}

// The starts for which position p is the canonical seed, as distances to its left; false when there are none.
// keys[p - w + 1 .. p + w - 1] must be readable.
template <class Position>
GPUALIGN_HD bool canonical_range(const uint64_t* keys, Position p, int w, int& minimum, int& maximum) {
    const uint64_t key = keys[p];
    if (key == 0) return false;
    int left = 1, right = 1;
    while (left < w && keys[p - left] > key) left++;
    maximum = left - 1;
    // a smaller key before w - most positions to the right leaves no start
    while (right < w && keys[p + right] >= key) right++;
    minimum = w - right;
    return minimum <= maximum;
}

// Number of equal bases from (q, r) on, at most `limit`; stops at a break of the text.
GPUALIGN_HD uint32_t extend_right(const TextView& text, uint64_t q, const uint64_t* words, uint64_t r, uint32_t limit) {
    uint32_t n = 0;
    while (n < limit) {
        const uint64_t differ = packed_window(text.words, q + n) ^ packed_window(words, r + n);
        const int same = trailing_zeros(differ) >> 1;
        const int clear = trailing_zeros(break_window(text.breaks, q + n));
        const int step = same < clear ? same : clear;
        n += uint32_t(step);
        if (step < kBasesPerWord) break;
    }
    return n < limit ? n : limit;
}

// Number of equal bases before (q, r), at most `limit`.
GPUALIGN_HD uint32_t extend_left(const TextView& text, uint64_t q, const uint64_t* words, uint64_t r, uint32_t limit) {
    uint32_t n = 0;
    while (n < limit) {
        const uint64_t differ = packed_window_before(text.words, q - n) ^ packed_window_before(words, r - n);
        const int same = leading_zeros(differ) >> 1;
        const int clear = leading_zeros(break_window_before(text.breaks, q - n));
        const int step = same < clear ? same : clear;
        n += uint32_t(step);
        if (step < kBasesPerWord) break;
    }
    return n < limit ? n : limit;
}

// Whether a border of a segment may lie in [begin, end].
GPUALIGN_HD bool may_break(const SegmentedReference& reference, uint32_t begin, uint32_t end) {
    for (uint32_t block = begin >> kBreakBlockShift; block <= end >> kBreakBlockShift; block++)
        if (reference.near_break[block >> 6] >> (block & 63) & 1) return true;
    return false;
}

// The segment that contains a position.
GPUALIGN_HD uint32_t segment_of(const SegmentedReference& reference, uint32_t position) {
    uint32_t begin = 0, end = reference.segments;
    while (end - begin > 1) {
        const uint32_t middle = begin + (end - begin) / 2;
        if (reference.segment_starts[middle] <= position) begin = middle;
        else end = middle;
    }
    return begin;
}

// Beyond so many bases it is cheaper to look up a segment than to test every block in between.
constexpr uint32_t kMaxTestedBases = 8u << kBreakBlockShift;

// Clips a match that extends `length` bases to the right of r to its segment.
GPUALIGN_HD uint32_t clip_right(const SegmentedReference& reference, uint32_t r, uint32_t length) {
    if (length <= kMaxTestedBases && !may_break(reference, r, r + length)) return length;
    const uint32_t available = reference.segment_ends[segment_of(reference, r - 1)] - r;
    return length < available ? length : available;
}

// Extends the left side of a hit and applies the rule. On true, `extent` is how far the match begins before the seed.
GPUALIGN_HD bool canonical_hit(const TextView& text, const SegmentedReference& reference, const MemSeed& seed,
    uint32_t r, int k, uint32_t& extent) {
    uint32_t maximum = uint32_t(seed.maximum) + 1;
    if (r < maximum || may_break(reference, r - maximum, r)) {
        const uint32_t available = r - reference.segment_starts[segment_of(reference, r)];
        if (available < maximum) maximum = available;
    }
    // from the seed's end, so that the seed itself is compared: a fingerprint need not be the whole k-mer
    const uint32_t same = extend_left(text, uint64_t(seed.position) + k, reference.words, uint64_t(r) + k, maximum + k);
    extent = same - uint32_t(k);
    return same >= uint32_t(k) + seed.minimum && same <= uint32_t(k) + seed.maximum;
}

// The match of a canonical hit whose left extent is known, its right side extended by at most `limit` bases.
GPUALIGN_HD Mem extend_hit(const TextView& text, const SegmentedReference& reference, const MemSeed& seed, uint32_t r,
    int k, uint32_t extent, uint32_t limit) {
    const uint32_t after = r + uint32_t(k), available = reference.bases - after;
    uint32_t right =
        extend_right(text, uint64_t(seed.position) + k, reference.words, after, available < limit ? available : limit);
    right = clip_right(reference, after, right);
    return {seed.position - extent, r - extent, extent + uint32_t(k) + right};
}

}  // namespace gpualign
