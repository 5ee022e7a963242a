// State of a batch's reads between the kernels of cuda/map.cu.
#pragma once
#include "algo/common/memory_cursor.hpp"
#include "algo/map/loci.hpp"
#include "algo/map/pairing.hpp"

namespace gpualign {

struct ReadState {
    FoundRead found;
    int32_t length, limit, ambiguous;  // as MapRead
    uint32_t first_locus;            // of found.loci
    MapChoice choice;
    bool clean;
    bool left;  // the slow path maps the template
    bool alone;  // the loci are all that the read has by itself, and no others
};

template <int Words> struct ReadStates {
    static constexpr uint32_t kWords = Words + 2;
    static constexpr uint32_t kLociARead = 8, kMoreLoci = 1 << 12;  // space for loci: per read, and in addition

    ReadState* states;
    uint64_t* loci;
    uint64_t* words;       // kWords per read, packed
    uint32_t* not_acgt;    // likewise
    uint32_t* templates;   // left to warps by lanes
    uint32_t* reads;       // left to warps by lanes
    uint32_t max_loci;

    // Lays the arrays out from `address` on; `end` is where they end. States and loci are first: the slow path, which
    // takes reads of any length, finds them without knowing Words.
    static GPUALIGN_HD ReadStates at(uint8_t* address, uint32_t reads, uint8_t*& end) {
        MemoryCursor cursor(address);
        ReadStates all{};
        all.max_loci = reads * kLociARead + kMoreLoci;
        all.states = cursor.take<ReadState>(reads);
        all.loci = cursor.take<uint64_t>(all.max_loci);
        all.words = cursor.take<uint64_t>(uint64_t(reads) * kWords);
        all.not_acgt = cursor.take<uint32_t>(uint64_t(reads) * kWords);
        all.templates = cursor.take<uint32_t>(reads);
        all.reads = cursor.take<uint32_t>(reads);
        end = cursor.end();
        return all;
    }
    static GPUALIGN_HD ReadStates of(const MapBatch& batch) {
        uint8_t* end = nullptr;
        return at(batch.state, batch.read_count, end);
    }

    GPUALIGN_HD MapRead read(const MapBatch& batch, uint32_t r) const {
        const ReadState& state = states[r];
        return {words + uint64_t(r) * kWords, not_acgt + uint64_t(r) * kWords, state.length, state.limit,
            state.ambiguous, state.clean, batch.tie_breaks[r], conversion_of(batch.conversions, r)};
    }
    // Bases beyond the insert, which are clipped (algo/map/read_through.hpp).
    GPUALIGN_HD int32_t clipped(const MapBatch& batch, uint32_t r) const {
        return int32_t(batch.offsets[r + 1] - batch.offsets[r]) - states[r].length;
    }
    GPUALIGN_HD PackedLoci loci_of(const MapBatch& batch, uint32_t r) const {
        return packed_loci(batch.target, batch.rules, read(batch, r), loci + states[r].first_locus, states[r].found,
            qualities_of(batch, r));
    }
};

}  // namespace gpualign
