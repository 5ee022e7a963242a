// From a read to its anchors: positions of the reference that share a minimizer with it.
#pragma once
#include "algo/map/chain/query.hpp"
#include "algo/map/thresholds.hpp"

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
        const SeedKmer kmer = seed_kmer(query.conversion(false), query.bases(i, false), rules.k);
        const uint32_t wanted = (1u << rules.k) - 1;
        const bool acgt = (query.acgt(i, false) & wanted) == wanted;
        hashes[i] = acgt ? kmer_hash(kmer.bases, rules.k) : kNoKmer;
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
            const bool reverse = seed_kmer(query.conversion(false), query.bases(i, false), rules.k).reverse;
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

// More hits make a seed frequent; an interval of so many bases without rare seeds is worth following frequent ones.
constexpr uint32_t kFrequent = 64;
constexpr int32_t kUncovered = 28;

// Whether a k-mer repeats a unit of a few bases, but for less than an eighth of its bases.
GPUALIGN_HD bool is_tandem_repeat(uint64_t kmer, int32_t k) {
    bool repeats = false;
    for (int32_t unit = 1; unit <= kLongestUnit && unit < k; unit++) {
        const uint64_t differ = differing_bases(kmer, kmer >> 2 * unit) & kmer_mask(k - unit);  // every second bit
        repeats |= 8 * int32_t(count_bits(uint32_t(differ | differ >> 31))) < k;
    }
    return repeats;
}

// Sets the hits of those seeds of a short read to 0 that tell less than its others do. A microsatellite has copies all
// over a genome, so its k-mers do not count if there are others. If every k-mer of the read is looked up, some of these
// are in the index by chance, and a run of them must be long enough for an alignment. A frequent seed is followed only
// in a segment that no rare one covers, such as the part of a split read in a repeat.
template <class Group>
GPUALIGN_HOST_DEVICE void keep_telling_seeds(
    const Group& group, const ChainQuery& query, ChainSeed* seeds, uint32_t n, const ChainRules& rules) {
    const int32_t k = rules.k, enough = rules.w > 1 ? k : kMinLocalScore;
    const auto repeats = [&](uint32_t s) { return is_tandem_repeat(query.bases(seed_position(seeds[s]), false), k); };
    int32_t begin = 0, end = 0;  // of a run of overlapping seeds
    for (uint32_t s = 0; s < n && end - begin < enough; s++) {
        if (repeats(s)) continue;
        if (seed_position(seeds[s]) > end) begin = seed_position(seeds[s]);
        end = seed_position(seeds[s]) + k;
    }
    const bool drop_repeats = end - begin >= enough;
    const auto is_rare = [&](uint32_t s) { return seeds[s].hits && seeds[s].hits <= kFrequent; };
    for (uint32_t s = group.lane(); s < n; s += Group::kLanes)
        if (drop_repeats && repeats(s)) seeds[s].hits = 0;
    group.sync();
    for (uint32_t s = group.lane(); s < n; s += Group::kLanes) {
        if (seeds[s].hits <= kFrequent) continue;
        uint32_t left = s, right = s + 1;
        while (left && !is_rare(left - 1)) left--;
        while (right < n && !is_rare(right)) right++;
        const int32_t from = left ? seed_position(seeds[left - 1]) + k : 0,
                      to = right < n ? seed_position(seeds[right]) : query.length();
        if (to - from < kUncovered) seeds[s].hits = 0;
    }
    group.sync();
}

// The repeat rule of short reads (algo/map/seeds.hpp), per interval of the read, so that a long read across repeats
// keeps its rare seeds everywhere and hits grow linearly with its length. Returns the number of anchors. `keys` has
// space for the seeds of an interval, rounded up to a power of two.
template <class Group>
GPUALIGN_HOST_DEVICE uint32_t follow_seeds(const Group& group, const ChainQuery& query, ChainSeed* seeds, uint32_t n,
    const ChainRules& rules, uint32_t max_hits, uint64_t* keys) {
    if (rules.min_anchors == 1) keep_telling_seeds(group, query, seeds, n, rules);
    uint32_t total = 0;
    for (uint32_t from = 0, to; from < n; from = to) {
        const int32_t border = (seed_position(seeds[from]) / rules.interval + 1) * rules.interval;
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

// Writes the anchors of the followed seeds; the caller sorts them.
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
            const uint64_t entry = index.entry(e);
            const bool reverse = entry_reverse(entry) != ((seed_at & 1) != 0);
            const int32_t at = int32_t(seed_at >> 1);
            anchors[done + hit] = make_anchor(reverse, entry_position(entry), reverse ? length - k - at : at);
        }
        done += total;
    }
    group.sync();
}

}  // namespace gpualign
