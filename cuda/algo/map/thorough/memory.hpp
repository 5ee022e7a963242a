// Memory of a group of lanes that maps templates thoroughly: for reads of any length, so none of it is quick to reach.
#pragma once
#include "abi/thorough.hpp"
#include "algo/common/memory_cursor.hpp"
#include "algo/map/mixed_loci.hpp"
#include "algo/map/types.hpp"

namespace gpualign {

// As MapShared, of a group.
struct SeedMemory {
    static constexpr uint32_t kFewHits = 0;  // all are in the workspace

    uint64_t *hashes, *hits;
    struct {
        uint32_t *first, *count, *start;
    } seeds;
    using SeedNumber = uint32_t;
    SeedNumber *seed_at, *seed_order;
};

// Columns of Myers' dynamic programs: lanes side by side, a word of 32 rows after the other.
struct ColumnMemory {
    uint32_t* profile;  // strand, base (4: none), word
    uint32_t *up, *down;
};

// To look for a mate's loci.
struct FinderMemory {
    SeedMemory seeds;
    MapWorkspace workspace;
    ColumnMemory columns;
    SettleMemory settle;
};

// Of a group that maps templates.
struct ThoroughMemory {
    FinderMemory finder;
    uint8_t* bands;  // of its dynamic programs
};

GPUALIGN_HD uint32_t words_of(uint32_t length) { return (length + kBasesPerWord - 1) / kBasesPerWord; }

GPUALIGN_HOST_DEVICE FinderMemory finder_memory(MemoryCursor& cursor, uint32_t longest, uint32_t max_hits, uint32_t max_loci, uint32_t lanes) {
    FinderMemory memory{};
    memory.seeds.hashes = cursor.take<uint64_t>(longest);
    memory.seeds.seeds.first = cursor.take<uint32_t>(longest);
    memory.seeds.seeds.count = cursor.take<uint32_t>(longest);
    memory.seeds.seeds.start = cursor.take<uint32_t>(longest);
    memory.seeds.seed_at = cursor.take<uint32_t>(longest);
    memory.seeds.seed_order = cursor.take<uint32_t>(longest);
    memory.workspace.hits = cursor.take<uint64_t>(max_hits);
    memory.workspace.candidates = cursor.take<uint64_t>(max_hits);
    memory.workspace.window_begin = cursor.take<uint32_t>(max_hits);
    memory.workspace.window_columns = cursor.take<uint32_t>(max_hits);
    memory.workspace.max_hits = max_hits;
    memory.columns.profile = cursor.take<uint32_t>(10 * uint64_t(words_of(longest)));
    memory.columns.up = cursor.take<uint32_t>(uint64_t(lanes) * words_of(longest));
    memory.columns.down = cursor.take<uint32_t>(uint64_t(lanes) * words_of(longest));
    memory.settle.by_position = cursor.take<uint64_t>(max_loci);
    memory.settle.rank = cursor.take<uint32_t>(max_loci);
    return memory;
}

// The memory that begins at an address; `end` is where it ends.
GPUALIGN_HOST_DEVICE ThoroughMemory thorough_memory(uint8_t* address, uint32_t longest, uint32_t max_hits, uint32_t max_loci, uint64_t band_bytes,
                                                uint32_t lanes, uint8_t*& end) {
    MemoryCursor cursor(address);
    ThoroughMemory memory{};
    memory.finder = finder_memory(cursor, longest, max_hits, max_loci, lanes);
    memory.bands = cursor.take<uint8_t>(band_bytes);
    end = cursor.end();
    return memory;
}

}  // namespace gpualign
