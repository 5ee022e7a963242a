// State of a template between the steps of the slow path.
#pragma once
#include "algo/map/chain/steps.hpp"
#include "algo/map/pairing.hpp"
#include "algo/map/slow_path/memory.hpp"

namespace gpualign {

// Local alignments of a read: those of its chains, or a single clipped one from mate rescue.
struct DeviceLocals {
    const ChainBatch* chains;
    TargetText text;
    uint32_t read;
    const LocalAlignment* clipped;  // null: those of the chains

    // CIGAR operations
    GPUALIGN_HD const uint32_t* cigars() const { return chains->cigars.items; }
    GPUALIGN_HD size_t size() const { return clipped ? 1 : chains->state[read].ranked; }
    GPUALIGN_HD LocalAlignment operator[](size_t i) const {
        return clipped ? *clipped : local_alignment(*chains, text, read, uint32_t(i));
    }
};

using SlowPathLoci = MixedLoci<DeviceLocals, PackedBases>;

struct MateState {
    static constexpr uint8_t kLongChains = 2;

    MapRead read;
    FoundRead found;
    LocalAlignment clipped;
    MapChoice choice;
    ChainDepth depth;            // limits for chaining; max_hits 0: not chained
    FoundAnchors anchors;
    FoundChains found_chains;
    uint32_t first_overflow, supplementary, secondary;  // records
    uint32_t windows;            // number of windows to search
    uint8_t chains;              // round of chaining that its chains are from
    uint8_t chained, has_clipped;
};

// A template of a launch.
struct TemplateView {
    uint32_t first;          // index of its first read
    int32_t count;           // number of mates
    uint32_t* status;
    MateState* mates;
    Locus* loci[2];          // max_loci for each mate
    uint32_t* secondary[2];  // indices of loci

    GPUALIGN_HD SlowPathLoci loci_of(int mate, const MapBatch& batch) const {
        const MateState& state = mates[mate];
        return {loci[mate], state.found.loci, state.read.length, state.read.limit, state.read.ambiguous,
            state.found.hits_truncated, nullptr, &batch.rules,
            {state.read, &batch.target, qualities_of(batch, first + uint32_t(mate))}};
    }
};

// `mates`: per template, at most.
GPUALIGN_HOST_DEVICE TemplateView template_state(uint8_t* address, uint32_t mates, uint32_t max_loci, uint8_t*& end) {
    MemoryCursor cursor(address);
    TemplateView view{};
    view.mates = cursor.take<MateState>(mates);
    for (uint32_t mate = 0; mate < mates; mate++) {
        view.loci[mate] = cursor.take<Locus>(max_loci);
        view.secondary[mate] = cursor.take<uint32_t>(max_loci);
    }
    end = cursor.end();
    return view;
}

// Template `number` of the launch.
GPUALIGN_HD TemplateView template_of(const SlowPathLaunch& launch, uint32_t number) {
    uint8_t* end;
    TemplateView view = template_state(launch.states + number * launch.state_bytes, launch.mates, launch.max_loci, end);
    const uint32_t* const begin = launch.batch.templates + launch.batch.slow_templates[launch.first + number];
    view.first = begin[0];
    view.count = int32_t(begin[1] - begin[0]);
    view.status = launch.statuses + number;
    return view;
}

// Number of templates in the launch.
GPUALIGN_HD uint32_t templates_of(const SlowPathLaunch& launch) {
    const uint32_t all = *launch.batch.slow_count;
    return all <= launch.first ? 0 : all - launch.first < launch.templates ? all - launch.first : launch.templates;
}

}  // namespace gpualign
