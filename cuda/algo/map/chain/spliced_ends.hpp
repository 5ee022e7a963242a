// Ends of short reads across an intron, without a seed on its other side: the rest of the read is searched for in the
// reference within the longest intron, next to the signals of an intron.
#pragma once
#include "algo/map/chain/introns.hpp"
#include "algo/map/chain/query.hpp"

namespace gpualign {

// Calls visit(position) for the positions in [begin, end) where the first `count` bases of `pattern` occur. `after`:
// the end of the text.
template <class Text, class Visit>
GPUALIGN_HOST_DEVICE void for_each_occurrence(
    const Text& text, int64_t begin, int64_t end, int64_t after, uint64_t pattern, int32_t count, Visit&& visit) {
    constexpr uint64_t kEach = 0x5555555555555555;
    for (int64_t at = begin / kBasesPerWord * kBasesPerWord; at < end; at += kBasesPerWord) {
        const uint64_t low = text.bases(at), high = at + kBasesPerWord < after ? text.bases(at + kBasesPerWord) : 0;
        uint64_t equal = kEach;
        for (int32_t j = 0; j < count && equal; j++) {
            const uint64_t differ = (j ? low >> 2 * j | high << (64 - 2 * j) : low) ^ (pattern >> 2 * j & 3) * kEach;
            equal &= ~(differ | differ >> 1);
        }
        for (; equal; equal &= equal - 1) {
            const int64_t position = at + trailing_zeros(equal) / 2;
            if (position >= begin && position < end) visit(position);
        }
    }
}

// An intron that the end of a read lies across.
struct EndIntron {
    int64_t length;  // 0: none was found
    uint8_t strand;  // a TranscriptStrand
};

constexpr int32_t kMinOverhang = 5, kMinKnownOverhang = 3;  // bases beyond an intron, as STAR's (alignSJoverhangMin and
                                                            // alignSJDBoverhangMin)
// A hit beyond an intron of length d is by chance with about a probability of d / 4^(bases + 4), the last ones for the
// signals: so many bits less must be left.
constexpr int32_t kSpareIntronBits = 6, kSignalBits = 8, kEditBits = 8;

// Finds the intron after (or before) which the rest of a read from base `edge` on (before it) fits best, the shortest
// one of several; at `edge` the read, whose bases match up to there, is at `at`. `shared`: how many of these bases may
// be of the other exon. Called by one lane.
template <class Text>
GPUALIGN_HOST_DEVICE EndIntron find_end_intron(const ChainRules& rules, const Text& text, const ChainQuery& query,
    bool reverse, uint32_t contig, uint32_t strands, bool left, int32_t edge, int64_t at, int32_t shared) {
    constexpr int32_t kPattern = 9, kLongestRest = 64;
    const int32_t rest = left ? edge : query.length() - edge;
    EndIntron best{0, 0};
    if (rest + shared < kMinOverhang || rest > kLongestRest || rest < 2) return best;
    const int64_t contig_begin = text.contig_begin(contig), contig_end = text.contig_begin(contig + 1);
    const int32_t count = min(rest, kPattern);
    const int64_t shortest = rules.introns.shortest, longest = rules.introns.longest;
    int64_t begin = left ? at - longest : at + shortest, end = left ? at - shortest + 1 : at + longest + 1;
    if (begin < contig_begin + (left ? edge : 0)) begin = contig_begin + (left ? edge : 0);
    if (end > contig_end - (left ? 0 : rest) + 1) end = contig_end - (left ? 0 : rest) + 1;
    int32_t best_bits = kSpareIntronBits - 1;
    const auto look_at = [&](int64_t other) {  // where the edge is on the other side
        const int64_t intron = left ? at - other : other - at;
        const int32_t mismatches = left ? count_mismatches(query, reverse, 0, text, other - edge, edge)
                                        : count_mismatches(query, reverse, edge, text, other, rest);
        const int32_t needed = 64 - int32_t(leading_zeros(uint64_t(intron)));
        for (int32_t s = 0; s <= shared; s++) {
            if (s &&
                (left ? text.code(at + s - 1) != text.code(other + s - 1) : text.code(at - s) != text.code(other - s)))
                break;
            if (rest + s < kMinOverhang) continue;
            const int64_t first = left ? other + s : at - s, last = first + intron - 1;
            for (uint32_t strand = kForwardTranscript; strand <= kReverseTranscript; strand++) {
                if (!(strands & strand)) continue;
                const auto of = TranscriptStrand(strand);
                const Signal after{{text.code(first), text.code(first + 1), text.code(first + 2)}},
                    before{{text.code(last), text.code(last - 1), text.code(last - 2)}};
                const int32_t cost =
                    intron_begin_cost(rules.introns, of, after) + intron_end_cost(rules.introns, of, before);
                if (cost >= rules.introns.donor[kDonors - 1]) continue;
                const int32_t bits = 2 * (rest + s - cost) + kSignalBits - kEditBits * mismatches - needed;
                if (bits <= best_bits) continue;
                best_bits = bits;
                best = {intron, uint8_t(strand)};
            }
        }
    };
    const int32_t starts[2] = {left ? edge - count : edge, left ? 0 : query.length() - count};
    for (int32_t i = 0; i < 2 && !best.length; i++) {  // the second one if an error spoils the first
        const int32_t from = starts[i];
        if (i && rest < kPattern + kPattern / 2) break;
        for_each_occurrence(text, begin + from - edge, end + from - edge, contig_end, query.bases(from, reverse), count,
            [&](int64_t position) { look_at(position - (from - edge)); });
    }
    return best;
}

// Finds the intron that an end of a chain lies across, if its bases there do not fit on its own diagonal: at the first
// mismatch, or after it, as that may be an error.
template <class Text>
GPUALIGN_HOST_DEVICE EndIntron find_end_intron(const ChainRules& rules, const Text& text, const ChainQuery& query,
    const ChosenChain& chain, uint32_t strands, bool left, const ChainPoint& point) {
    constexpr int32_t kShared = 8, kGoesOn = 8, kErrors = 2, kMinMismatches = 2;
    int32_t edge = left ? chain.exact_begin : chain.exact_end, matched = rules.k;
    const auto rest = [&] { return left ? edge : query.length() - edge; };
    const auto at = [&] { return point.reference + (edge - point.query); };
    if (left ? at() - edge < text.contig_begin(chain.contig) : at() + rest() > text.contig_begin(chain.contig + 1))
        return {0, 0};
    for (int32_t errors = 0; errors <= kErrors && rest() > 1; errors++) {
        const int64_t end = left ? at() - edge : at();
        if (count_mismatches(query, chain.reverse, left ? 0 : edge, text, end, rest()) < kMinMismatches) break;
        const int32_t next = left ? edge - 1 : edge + 1;
        const int64_t beyond = left ? at() - 1 : at() + 1;
        const int32_t more = matching_bases(rest() - 1, [&](int32_t i) {
            return left ? mismatches_before(query, chain.reverse, next - i, text, beyond - i)
                        : mismatches_after(query, chain.reverse, next + i, text, beyond + i);
        });
        if (more < kGoesOn) {
            const EndIntron found = find_end_intron(
                rules, text, query, chain.reverse, chain.contig, strands, left, edge, at(), min(kShared, matched));
            if (found.length) return found;
        }
        edge = left ? next - more : next + more;
        matched = more;
    }
    return {0, 0};
}

}  // namespace gpualign
