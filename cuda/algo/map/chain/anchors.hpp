// From a read to its anchors: positions of the reference that share a minimizer with it.
#pragma once
#include "algo/map/chain/query.hpp"

namespace gpualign {

// An anchor: k bases that the read, or its reverse complement, shares with the reference. One integer, strand |
// reference position | read position (of the first base), so that sorting brings neighbours together.
constexpr int kAnchorReadBits = 24;
constexpr int32_t kLongestChained = (1 << kAnchorReadBits) - 1;  // 16.7 Mbp; longer reads have no anchors

GPUALIGN_HD uint64_t make_anchor(bool reverse, uint32_t reference, int32_t query) {
    return uint64_t(reverse) << (kAnchorReadBits + 32) | uint64_t(reference) << kAnchorReadBits | uint64_t(query);
}
GPUALIGN_HD bool anchor_reverse(uint64_t anchor) { return anchor >> (kAnchorReadBits + 32); }
GPUALIGN_HD int64_t anchor_reference(uint64_t anchor) { return int64_t(anchor >> kAnchorReadBits & 0xFFFFFFFFu); }
GPUALIGN_HD int32_t anchor_query(uint64_t anchor) {
    return int32_t(anchor & uint64_t(kLongestChained));
}  // on its strand

GPUALIGN_HD int32_t seed_position(const ChainSeed& seed) { return int32_t(seed.at >> 1); }

// Finds the minimizers of a read that the index has, in order of position. `hashes` and `minimizers` have space for
// one per base.
template <class Group, class Index>
GPUALIGN_HOST_DEVICE uint32_t find_chain_seeds(const Group& group, const ChainQuery& query, const ChainRules& rules,
    const Index& index, uint64_t* hashes, uint32_t* minimizers, const Arena<ChainSeed>& arena, uint32_t& first_seed) {
    const int32_t kmers = query.length() - rules.k + 1;
    for (int32_t i = int32_t(group.lane()); i < kmers; i += int32_t(Group::kLanes)) {
        const uint64_t window = query.bases(i, false);
        const uint64_t forward = window & kmer_mask(rules.k),
                       reverse = reverse_complement(window) >> (64 - 2 * rules.k);
        const uint32_t wanted = (1u << rules.k) - 1;
        const bool acgt = (query.acgt(i, false) & wanted) == wanted;
        hashes[i] = acgt ? kmer_hash(reverse < forward ? reverse : forward, rules.k) : kNoKmer;
    }
    group.sync();
    const int32_t w = min(rules.w, kmers);
    uint32_t found = 0;
    for (int32_t base = 0; base < kmers; base += int32_t(Group::kLanes)) {
        const int32_t i = base + int32_t(group.lane());
        const bool is_seed = i < kmers && is_minimizer(hashes, kmers, i, w);
        const uint32_t mask = group.ballot(is_seed);
        if (is_seed) minimizers[found + group.before(mask)] = uint32_t(i);
        found += count_bits(mask);
    }
    first_seed = group.from(group.lane() == 0 ? take(arena, found) : 0u, 0);
    if (first_seed == kNoItem) return 0;
    group.sync();
    uint32_t indexed = 0;
    for (uint32_t base = 0; base < found; base += Group::kLanes) {
        const uint32_t mine = base + group.lane();
        const int32_t i = mine < found ? int32_t(minimizers[mine]) : 0;
        uint32_t first = 0, last = 0;
        if (mine < found) index.find(hashes[i], first, last);
        const uint32_t mask = group.ballot(last > first);
        if (last > first) {
            const uint64_t window = query.bases(i, false);
            const bool reverse = reverse_complement(window) >> (64 - 2 * rules.k) < (window & kmer_mask(rules.k));
            arena.items[first_seed + indexed + group.before(mask)] = {
                first, last - first, uint32_t(i) << 1 | uint32_t(reverse)};
        }
        indexed += count_bits(mask);
    }
    group.sync();
    return indexed;
}

// Limits the hits of one interval of a read: its seeds are followed from the rarest to the most frequent, until
// `max_hits` hits have been followed. The rarest seed is always followed, up to that number of its hits.
template <class Group>
GPUALIGN_HOST_DEVICE uint32_t limit_hits(
    const Group& group, ChainSeed* seeds, uint32_t n, uint32_t max_hits, uint64_t* keys) {
    for (uint32_t s = group.lane(); s < n; s += Group::kLanes) keys[s] = uint64_t(seeds[s].hits) << 32 | s;
    group.sync();
    sort_many_keys(group, keys, n);
    InTurn<Group, uint64_t> sorted(group, keys, n);
    uint32_t followed = 0;
    bool full = false;
    for (uint32_t rank = 0; rank < n; rank++) {
        const uint64_t key = sorted[rank];
        const uint32_t seed = uint32_t(key), hits = uint32_t(key >> 32);
        full = full || (followed && uint64_t(followed) + hits > max_hits);
        const uint32_t taken = full ? 0 : hits < max_hits ? hits : max_hits;
        if (group.lane() == 0) seeds[seed].hits = taken;
        followed += taken;
    }
    group.sync();
    return followed;
}

// The repeat rule of short reads (algo/map/seeds.hpp), per interval of the read, so that a long read across repeats
// keeps its rare seeds everywhere and hits grow linearly with its length. Returns the number of anchors. `keys` has
// space for the seeds of an interval, rounded up to a power of two.
template <class Group>
GPUALIGN_HOST_DEVICE uint32_t follow_seeds(
    const Group& group, ChainSeed* seeds, uint32_t n, const ChainRules& rules, uint32_t max_hits, uint64_t* keys) {
    uint32_t total = 0;
    for (uint32_t from = 0, to; from < n; from = to) {
        const int32_t border = (seed_position(seeds[from]) / rules.stretch + 1) * rules.stretch;
        uint32_t low = from, high = n;  // binary search for the first seed at or after the border
        while (high - low > 1) {
            const uint32_t middle = (low + high) / 2;
            if (seed_position(seeds[middle]) < border) low = middle;
            else high = middle;
        }
        to = high;
        uint64_t hits = 0;
        for (uint32_t base = from; base < to && hits <= max_hits; base += Group::kLanes) {
            const uint32_t s = base + group.lane();
            hits += group.sum(s < to ? (seeds[s].hits < max_hits ? seeds[s].hits : max_hits + 1) : 0);
        }
        total += hits > max_hits ? limit_hits(group, seeds + from, to - from, max_hits, keys) : uint32_t(hits);
    }
    return total;
}

// Writes the anchors of the followed seeds, sorted.
template <class Group, class Index>
GPUALIGN_HOST_DEVICE void expand_anchors(const Group& group, const ChainSeed* seeds, uint32_t n, int32_t k,
    int32_t length, const Index& index, uint64_t* anchors) {
    uint32_t done = 0;
    for (uint32_t base = 0; base < n; base += Group::kLanes) {
        const uint32_t s = base + group.lane();
        const ChainSeed seed = s < n ? seeds[s] : ChainSeed{0, 0, 0};
        uint32_t total;
        const uint32_t before = group.sum_before(seed.hits, total);
        for (uint32_t first = 0; first < total; first += Group::kLanes) {  // a lane per hit
            const uint32_t hit = first + group.lane();
            uint32_t of = 0;  // lane of the hit's seed
            for (uint32_t step = Group::kLanes / 2; step; step /= 2)
                of += group.from(before, of + step) <= hit ? step : 0;
            const uint32_t e = group.from(seed.first, of) + hit - group.from(before, of),
                           seed_at = group.from(seed.at, of);
            if (hit >= total) continue;
            const uint64_t entry = index.entries[e];
            const bool reverse = entry_reverse(entry) != ((seed_at & 1) != 0);
            const int32_t at = int32_t(seed_at >> 1);
            anchors[done + hit] = make_anchor(reverse, entry_position(entry), reverse ? length - k - at : at);
        }
        done += total;
    }
    group.sync();
    sort_many_keys(group, anchors, done);
}

}  // namespace gpualign
