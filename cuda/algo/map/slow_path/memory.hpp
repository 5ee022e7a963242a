// Scratch of a group of lanes on the slow path, in global memory, as reads may have any length.
#pragma once
#include "abi/slow_path.hpp"
#include "algo/map/mixed_loci.hpp"
#include "algo/map/variants.hpp"
#include "algo/map/types.hpp"

namespace gpualign {

// Counterpart of MapShared, with space for the seeds of one-substitution variants.
struct SeedMemory {
    static constexpr uint32_t kFewHits = 0;  // all hits are in the workspace

    uint64_t *hashes, *hits;
    struct {
        uint32_t *first, *count, *start;
    } seeds;
    using SeedNumber = uint32_t;
    SeedNumber *seed_at, *seed_order;
    VariantMemory variants;
    uint64_t* seed_hashes;  // of variants
};

// Finds the seeds of the one-substitution variants of a read that the index has; returns their number.
template <class Group>
GPUALIGN_HOST_DEVICE uint32_t find_variant_seeds(
    const Group& group, const MapRead& read, const MapTarget& target, const MapRules& rules, const SeedMemory& memory) {
    uint32_t found = 0;
    for_each_variant(
        group, read, rules.k, rules.w, memory.variants, [&](bool is, uint64_t hash, int32_t p, bool reverse) {
            const uint32_t mask = group.ballot(is), at = found + group.before(mask);
            if (is) {
                memory.seed_hashes[at] = hash;
                memory.seed_at[at] = uint32_t(p) << 1 | uint32_t(reverse);
            }
            found += count_bits(mask);
        });
    group.sync();
    return look_up_seeds(group, target, memory, found, [&](uint32_t s, uint32_t& at) {
        at = memory.seed_at[s];
        return memory.seed_hashes[s];
    });
}

// Reads of up to so many words are searched for with the column in registers, as most are that short.
constexpr int32_t kFewWords = 5;

// Columns of Myers' algorithm: words of 32 rows, interleaved by lane.
struct ColumnMemory {
    uint32_t* profile;  // strand, base (4: none), word
    uint32_t *up, *down;
};

// Scratch of a group.
struct SlowPathMemory {
    SeedMemory seeds;
    MapWorkspace workspace;
    ColumnMemory columns;
    SettleMemory settle;
    uint8_t* bands;  // for banded DP
    uint32_t* pieces;  // of a window, for mate rescue; may be null
};

GPUALIGN_HD uint32_t words_of(uint32_t length) { return (length + kBasesPerWord - 1) / kBasesPerWord; }

// Lays the memory out from `address` on; `end` is where it ends. `longest`: bases of the longest read; `max_seeds` is
// at least as many.
GPUALIGN_HOST_DEVICE SlowPathMemory slow_path_memory(uint8_t* address, uint32_t longest, uint32_t max_seeds,
    uint32_t max_hits, uint32_t max_loci, uint64_t band_bytes, uint32_t lanes, uint8_t*& end) {
    MemoryCursor cursor(address);
    SlowPathMemory memory{};
    SeedMemory& seeds = memory.seeds;
    seeds.hashes = seeds.variants.hashes = cursor.take<uint64_t>(longest);
    seeds.variants.changed = cursor.take<uint64_t>(longest);
    seeds.variants.forward = cursor.take<uint64_t>(longest);
    seeds.variants.reverse = cursor.take<uint64_t>(longest);
    seeds.seed_hashes = cursor.take<uint64_t>(max_seeds);
    seeds.seeds.first = cursor.take<uint32_t>(max_seeds);
    seeds.seeds.count = cursor.take<uint32_t>(max_seeds);
    seeds.seeds.start = cursor.take<uint32_t>(max_seeds);
    seeds.seed_at = cursor.take<uint32_t>(max_seeds);
    seeds.seed_order = cursor.take<uint32_t>(max_seeds);
    memory.workspace = MapWorkspace::at(cursor, max_hits, 0, 0);
    memory.columns.profile = cursor.take<uint32_t>(10 * uint64_t(max(int32_t(words_of(longest)), kFewWords)));
    memory.columns.up = cursor.take<uint32_t>(uint64_t(lanes) * words_of(longest));
    memory.columns.down = cursor.take<uint32_t>(uint64_t(lanes) * words_of(longest));
    memory.settle.by_position = cursor.take<uint64_t>(max_loci);
    memory.settle.rank = cursor.take<uint32_t>(max_loci);
    memory.bands = cursor.take<uint8_t>(band_bytes);
    end = cursor.end();
    return memory;
}

}  // namespace gpualign
