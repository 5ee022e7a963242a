// What is known of a template between the steps that map it.
#pragma once
#include "algo/map/chain/steps.hpp"
#include "algo/map/pairing.hpp"
#include "algo/map/slow_path/memory.hpp"

namespace gpualign {

// The local alignments of a read: those of its chains, or one with clipped ends that was found next to its mate.
struct DeviceLocals {
    const ChainBatch* chains;
    TargetText text;
    uint32_t read;
    const LocalAlignment* clipped;  // null: those of the chains

    // Operations of CIGARs.
    GPUALIGN_HD const uint32_t* cigars() const { return chains->cigars.items; }
    GPUALIGN_HD size_t size() const { return clipped ? 1 : chains->state[read].ranked; }
    GPUALIGN_HD LocalAlignment operator[](size_t i) const { return clipped ? *clipped : local_alignment(*chains, text, read, uint32_t(i)); }
};

using SlowPathLoci = MixedLoci<DeviceLocals, PackedBases>;

struct MateState {
    static constexpr uint8_t kLongChains = 2;

    MapRead read;
    FoundRead found;
    LocalAlignment clipped;
    MapChoice choice;
    ChainDepth depth;            // of the chains to look for; no hits: none
    uint32_t first_overflow, supplementary, secondary;  // records
    uint32_t windows;            // that are searched
    uint8_t chains;              // of which round those of the read are
    uint8_t chained, has_clipped;
};

// A template of a launch.
struct TemplateView {
    uint32_t first;          // read
    int32_t count;           // of mates
    uint32_t* status;
    MateState* mates;
    Locus* loci[2];          // of each mate, max_loci
    uint32_t* secondary[2];  // numbers of loci

    GPUALIGN_HD SlowPathLoci loci_of(int mate, const MapBatch& batch) const {
        const MateState& state = mates[mate];
        return {loci[mate], state.found.loci, state.read.length, state.read.limit, state.read.ambiguous, state.found.hits_truncated, nullptr,
                &batch.rules, {state.read, &batch.target, qualities_of(batch, first + uint32_t(mate))}};
    }
};

// `mates`: of a template, at most.
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

// Template `number` of those that are mapped together.
GPUALIGN_HD TemplateView template_of(const SlowPathLaunch& launch, uint32_t number) {
    uint8_t* end;
    TemplateView view = template_state(launch.states + number * launch.state_bytes, launch.mates, launch.max_loci, end);
    const uint32_t* const begin = launch.batch.templates + launch.batch.slow_templates[launch.first + number];
    view.first = begin[0];
    view.count = int32_t(begin[1] - begin[0]);
    view.status = launch.statuses + number;
    return view;
}

// How many are mapped together.
GPUALIGN_HD uint32_t templates_of(const SlowPathLaunch& launch) {
    const uint32_t all = *launch.batch.slow_count;
    return all <= launch.first ? 0 : all - launch.first < launch.templates ? all - launch.first : launch.templates;
}

}  // namespace gpualign
