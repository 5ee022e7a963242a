// From a read to its seed hits: minimizers, index look-ups, and the repeat rule (docs/internals/algorithms.md).
#pragma once
#include "algo/common/bisulfite.hpp"
#include "algo/common/group.hpp"
#include "algo/map/tie_break.hpp"
#include "algo/map/types.hpp"
#include "algo/seeds/index/seed_hit.hpp"

// 0: a kernel of other reads, without code for bisulfite reads.
#ifndef CONVERSIONS
#define CONVERSIONS 1
#endif

namespace gpualign {

// A packed read, two bits a base.
struct MapRead {
    const uint64_t* words;    // followed by a word of padding
    const uint32_t* not_acgt;  // a bit a base: it is ambiguous; padding bits are set
    int32_t length, limit, ambiguous;  // edits allowed; forgiven ambiguous bases (thresholds.hpp)
    bool clean;  // every base is A, C, G or T
    uint32_t tie_break;  // tie-break hash of the template (algo/map/tie_break.hpp)
    Conversion forward_conversion = Conversion::none;  // where the read lies forward on the reference

    // Conversion of the read, or of its reverse complement.
    GPUALIGN_HD Conversion conversion(bool reverse) const {
        return CONVERSIONS ? on_strand(forward_conversion, reverse) : Conversion::none;
    }
    // Encoded base i of the read or of its reverse complement.
    GPUALIGN_HD uint8_t code(int32_t i, bool reverse) const {
        const int32_t at = reverse ? length - 1 - i : i;
        if (not_acgt[at >> 5] >> (at & 31) & 1) return kNoBase;
        const uint8_t c = packed_base(words, uint64_t(at));
        return reverse ? uint8_t(3 - c) : c;
    }
    // 32 bases from i on, of the read or of its reverse complement; those after the last are undefined.
    GPUALIGN_HD uint64_t window(int32_t i, bool reverse) const {
        if (!reverse) return packed_window(words, uint64_t(i));
        const int32_t first = length - kBasesPerWord - i;
        return first >= 0 ? reverse_complement(packed_window(words, uint64_t(first)))
                          : reverse_complement(words[0]) >> (-2 * first);
    }
    // Every second bit where these bases differ from the reference's.
    GPUALIGN_HD uint64_t differing(int32_t i, bool reverse, uint64_t reference) const {
        return differing_bases(conversion(reverse), window(i, reverse), reference);
    }
    // Mask of ambiguous bases among `count` < 32 from `from` on.
    GPUALIGN_HD uint32_t ambiguous_bases(int32_t from, int32_t count) const {
        const uint64_t both = uint64_t(not_acgt[(from >> 5) + 1]) << 32 | not_acgt[from >> 5];
        return uint32_t(both >> (from & 31) & ((uint64_t(1) << count) - 1));
    }
    GPUALIGN_HD bool all_acgt(int32_t from, int32_t count) const { return ambiguous_bases(from, count) == 0; }
};

// Conversion of read r of a batch; `conversions` is null where the reads are no bisulfite reads.
GPUALIGN_HD Conversion conversion_of(const uint8_t* conversions, uint32_t r) {
    return CONVERSIONS && conversions ? Conversion(conversions[r]) : Conversion::none;
}

GPUALIGN_HD int32_t count_ambiguous(const MapRead& read) {
    int32_t n = 0;
    for (int32_t i = 0; i < read.length; i++) n += read.code(i, false) == kNoBase;
    return n;
}

// Packs a read; returns whether it has no ambiguous base. Lanes take bases first, then words.
template <class Group>
GPUALIGN_HD bool pack_read(
    const Group& group, const uint8_t* bases, int32_t length, int32_t words, uint64_t* packed, uint32_t* not_acgt) {
    constexpr int kLanes = int(Group::kLanes);
    const int lane = int(group.lane());
    const int32_t used = (length + kBasesPerWord - 1) / kBasesPerWord;
    bool clean = true;
    for (int32_t first = 0; first < words; first += kLanes) {
        uint32_t low = 0, high = 0, acgt = 0;  // bit planes of word first + lane
        for (int32_t w = first; w < used && w < first + kLanes; w++) {
            uint32_t lows = 0, highs = 0, valid = 0;
            for (int part = 0; part < kBasesPerWord; part += kLanes) {
                const int32_t i = w * kBasesPerWord + part + lane;
                const uint8_t code = i < length ? base_code(bases[i]) : kNoBase;
                lows |= group.ballot(code & 1) << part;
                highs |= group.ballot(code & 2) << part;
                valid |= group.ballot(code < 4) << part;
            }
            if (w != first + lane) continue;
            low = lows;
            high = highs;
            acgt = valid;
        }
        const int32_t w = first + lane, left = length - w * kBasesPerWord;
        if (w >= words) continue;
        packed[w] = every_second_bit(low) | every_second_bit(high) << 1;
        not_acgt[w] = ~acgt;
        clean = clean && count_bits(acgt) == uint32_t(left < 0 ? 0 : left < kBasesPerWord ? left : kBasesPerWord);
    }
    group.sync();
    return group.ballot(!clean) == 0;
}

// A k-mer as the index has it: the canonical one, or of a bisulfite read the one of the strand that is converted, with
// C as T.
struct SeedKmer {
    uint64_t bases;
    bool reverse;  // it is the reverse strand's
};
GPUALIGN_HD SeedKmer seed_kmer(Conversion conversion, uint64_t forward, uint64_t reverse) {
    const bool on_reverse = conversion == Conversion::none ? reverse < forward : conversion == Conversion::g_to_a;
    const uint64_t bases = on_reverse ? reverse : forward;
    return {conversion == Conversion::none ? bases : with_c_as_t(bases), on_reverse};
}
GPUALIGN_HD SeedKmer seed_kmer(Conversion conversion, uint64_t window, int k) {
    return seed_kmer(conversion, window & kmer_mask(k), reverse_complement(window) >> (64 - 2 * k));
}

// Hashes the k-mers of a read, kNoKmer for those with ambiguous bases; returns their number.
constexpr uint64_t kNoKmer = ~uint64_t(0);

template <class Group>
GPUALIGN_HD uint32_t hash_kmers(const Group& group, const MapRead& read, int k, uint64_t* hashes) {
    const int32_t kmers = read.length - k + 1;
    for (int32_t i = int32_t(group.lane()); i < kmers; i += int32_t(Group::kLanes)) {
        const SeedKmer kmer = seed_kmer(read.conversion(false), packed_window(read.words, uint64_t(i)), k);
        hashes[i] = read.clean || read.all_acgt(i, k) ? kmer_hash(kmer.bases, k) : kNoKmer;
    }
    group.sync();
    return kmers > 0 ? uint32_t(kmers) : 0;
}

// Whether k-mer i has the smallest hash of some window of w k-mers.
GPUALIGN_HD bool is_minimizer(const uint64_t* hashes, int32_t kmers, int32_t i, int32_t w) {
    const uint64_t hash = hashes[i];
    if (hash == kNoKmer) return false;
    int32_t first = i, last = i;  // widest interval around i without a smaller hash
    while (first > 0 && i - first < w - 1 && hashes[first - 1] >= hash) first--;
    while (last < kmers - 1 && last - first < w - 1 && hashes[last + 1] >= hash) last++;
    return last - first >= w - 1;
}

// Looks `seeds` hashes up and keeps the seeds that the index has; returns their number. hash_of(s, at) returns the
// hash of seed s and sets `at` for MapShared::seed_at.
template <class Group, class Memory, class HashOf>
GPUALIGN_HD uint32_t look_up_seeds(
    const Group& group, const MapTarget& target, Memory& shared, uint32_t seeds, HashOf&& hash_of) {
    using Number = typename Memory::SeedNumber;
    uint32_t indexed = 0;
    for (uint32_t base = 0; base < seeds; base += Group::kLanes) {
        const uint32_t s = base + group.lane();
        uint32_t first = 0, last = 0;
        uint32_t at = 0;
        if (s < seeds) target.index.find(hash_of(s, at), first, last);
        const uint32_t mask = group.ballot(last > first);
        group.sync();
        if (last > first) {
            const uint32_t slot = indexed + group.before(mask);
            shared.seeds.first[slot] = first;
            shared.seeds.count[slot] = last - first;
            shared.seed_at[slot] = Number(at);
        }
        indexed += count_bits(mask);
    }
    group.sync();
    return indexed;
}

// Finds the minimizers that the index has, in order of position; returns their number. `Memory` is like MapShared.
template <class Group, class Memory>
GPUALIGN_HD uint32_t find_seeds(
    const Group& group, const MapRead& read, const MapTarget& target, const MapRules& rules, Memory& shared) {
    using Number = typename Memory::SeedNumber;
    const int32_t kmers = int32_t(hash_kmers(group, read, rules.k, shared.hashes));
    const int32_t w = min(rules.w, kmers);
    uint32_t found = 0;
    for (int32_t base = 0; base < kmers; base += int32_t(Group::kLanes)) {
        const int32_t i = base + int32_t(group.lane());
        const bool is = i < kmers && is_minimizer(shared.hashes, kmers, i, w);
        const uint32_t mask = group.ballot(is);
        if (is) shared.seed_at[found + group.before(mask)] = Number(i);
        found += count_bits(mask);
    }
    group.sync();
    return look_up_seeds(group, target, shared, found, [&](uint32_t s, uint32_t& at) {
        const uint32_t p = shared.seed_at[s];
        at = p << 1 | uint32_t(seed_kmer(read.conversion(false), packed_window(read.words, p), rules.k).reverse);
        return shared.hashes[p];
    });
}

// Total hits of the seeds; saturates.
template <class Group> GPUALIGN_HD uint32_t count_hits(const Group& group, const uint32_t* counts, uint32_t seeds) {
    constexpr uint32_t kMany = 1u << 26;  // kMany times the lanes does not overflow
    uint32_t total = 0;
    for (uint32_t base = 0; base < seeds && total < kMany; base += Group::kLanes) {
        const uint32_t s = base + group.lane();
        const uint32_t count = s < seeds ? counts[s] : 0;
        total += group.sum(count < kMany ? count : kMany);
    }
    return total;
}

// The repeat rule: seeds are followed from the rarest to the most frequent, ties in order of position, until `maximum`
// hits have been followed. The rarest is always followed, up to that number of its hits, so that a read within a
// repeat is mapped.
GPUALIGN_HD uint64_t rarity_rank(uint32_t count, uint32_t seed) { return uint64_t(count) << 32 | seed; }
// Hits to follow of the seed of that rank; more than `maximum` if it is too frequent, which ends the list.
GPUALIGN_HD uint32_t hits_to_follow(uint32_t rank, uint32_t count, uint32_t maximum) {
    return count <= maximum ? count : rank == 0 ? maximum : maximum + 1;
}

// Returns the number of seeds that are followed and, in `hits`, of their hits. count_of(rank) is a seed's number of
// hits; place(rank, start) receives the number followed before it. With `part`, the seed that exceeds the maximum is
// followed up to it.
template <class Group, class CountOf, class Place>
GPUALIGN_HD uint32_t follow_seeds(const Group& group, uint32_t seeds, uint32_t maximum, bool part, uint32_t& hits,
    CountOf&& count_of, Place&& place) {
    hits = 0;
    for (uint32_t base = 0; base < seeds; base += Group::kLanes) {
        const uint32_t rank = base + group.lane();
        const uint32_t count = rank < seeds ? hits_to_follow(rank, count_of(rank), maximum) : 0;
        uint32_t total;
        const uint32_t start = hits + group.sum_before(count, total);
        const uint32_t beyond = group.ballot(rank < seeds && start + count > maximum);
        if (rank < seeds) place(rank, start);
        if (beyond) {
            hits = group.from(start, first_lane(beyond));
            group.sync();
            part = part && hits < maximum;
            if (part) hits = maximum;
            return base + first_lane(beyond) + part;
        }
        hits += total;
    }
    group.sync();
    return seeds;
}

// First of the consecutive hits that are followed of a seed with too many.
GPUALIGN_HD uint32_t first_followed(uint32_t tie_break, uint32_t count, uint32_t followed) {
    return count > followed ? tie_break_below(tie_break, TieBreakFor::hits, count - followed + 1) : 0;
}

// Orders seeds from the rarest to the most frequent if hits must be left out; sets seed_order and seeds.start, the
// number of hits before each. Returns the number of seeds to follow and, in `hits`, of their hits; `part` as above.
template <class Group, class Memory>
GPUALIGN_HD uint32_t choose_seeds(const Group& group, uint32_t seeds, uint32_t maximum, bool part, bool hits_truncated,
    Memory& shared, uint32_t& hits) {
    using Number = typename Memory::SeedNumber;
    const uint32_t* counts = shared.seeds.count;
    for (uint32_t s = group.lane(); s < seeds; s += Group::kLanes) {
        uint32_t rank = s;
        if (hits_truncated) {
            rank = 0;
            for (uint32_t t = 0; t < seeds; t++) rank += rarity_rank(counts[t], t) < rarity_rank(counts[s], s);
        }
        shared.seed_order[rank] = Number(s);
    }
    group.sync();
    return follow_seeds(
        group, seeds, maximum, part, hits, [&](uint32_t r) { return counts[shared.seed_order[r]]; },
        [&](uint32_t r, uint32_t start) { shared.seeds.start[r] = start; });
}

// Seed hit of an index entry and a k-mer of the read.
GPUALIGN_HD uint64_t hit_of(uint64_t entry, int32_t position, bool kmer_reverse, int32_t length, int k) {
    const bool reverse = entry_reverse(entry) != kmer_reverse;
    const int64_t at = reverse ? length - k - position : position;
    return make_hit(reverse, int64_t(entry_position(entry)) - at, at);
}

// Writes the chosen seeds' hits, unsorted. Only of the last seed some may be left out.
template <class Group, class Memory>
GPUALIGN_HD void expand_hits(const Group& group, const MapRead& read, const MapTarget& target, int k, uint32_t chosen,
    uint32_t count, const Memory& shared, uint64_t* hits) {
    const uint32_t skipped = chosen ? first_followed(read.tie_break, shared.seeds.count[shared.seed_order[chosen - 1]],
                                          count - shared.seeds.start[chosen - 1])
                                    : 0;
    for (uint32_t h = group.lane(); h < count; h += Group::kLanes) {
        const uint32_t i = last_at_most(shared.seeds.start, chosen, h), seed = shared.seed_order[i];
        const uint32_t first = shared.seeds.first[seed] + (i + 1 == chosen ? skipped : 0);
        const uint64_t entry = target.index.entry(first + (h - shared.seeds.start[i]));
        const uint32_t at_read = shared.seed_at[seed];
        hits[h] = hit_of(entry, int32_t(at_read >> 1), at_read & 1, read.length, k);
    }
    group.sync();
}

}  // namespace gpualign
