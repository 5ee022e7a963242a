// Mapping qualities: how likely a read lies elsewhere, in Phred units from 0 to 60.
//
// A posterior over the places that are known, and a term for those that are not: their weights beside the chosen place's, which
// is 1. Each edit that a rival needs more multiplies its weight by 3 e / (1 - e), with e estimated from the read itself. What
// the seeds did not show is likely only where hits were left out: its terms are fitted to
// simulated reads (benchmarks/map_accuracy.py shows how well they fit; docs/algorithms.md, "Mapping quality").
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "map/information.hpp"
#include "map/read_block.hpp"

namespace gpualign {

// What the other ways to place a read lose against the chosen one, in score units.
struct Rivals {
    int32_t least = -1;  // -1: there are none
    int32_t count = 0;   // that lose as little

    void add(int32_t loss) {
        if (least < 0 || loss < least) {
            least = loss;
            count = 1;
        } else if (loss == least) {
            count++;
        }
    }
};

// The places of a read but the best one.
inline Rivals rivals_alone(const std::vector<Place>& places) {
    Rivals rivals;
    for (size_t i = 1; i < places.size(); i++) rivals.add(places[0].score - places[i].score);
    return rivals;
}

// What speaks for a place.
struct Evidence {
    int32_t length;    // of the read
    bool cut;          // some of its hits were not followed
    int32_t distance;  // at the place
    int32_t votes;     // seed hits on its diagonals, anchors of a local alignment
};

inline Evidence evidence(const Read& read, const Place& place) { return {read.length, read.cut, place.distance, place.votes}; }

// An end that was found through its mate has no seeds of its own: the mate's speak for both.
inline Evidence beside(Evidence end, const Evidence& mate) {
    if (end.votes) return end;
    end.votes = mate.votes;
    end.cut = mate.cut;
    return end;
}

class MappingQuality {
public:
    // `bases`: of the reference.
    MappingQuality(const AffineScores& scores, uint64_t bases)
        : edit_(scores.match + scores.mismatch), places_(places_in_reference(bases)) {}

    // Of a read by itself. A lead of half an edit is none, as in chain_mapper.hpp.
    uint8_t single(const Evidence& chosen, const Rivals& rivals) const {
        if (rivals.least >= 0 && 2 * rivals.least <= edit_) return 0;
        return bounded(of(chosen, rivals), information(chosen.length, chosen.distance) - places_);
    }

    // Of an end of a proper pair: `alone` are the other places of the read, null where the place is not the best of them; `pairs`
    // put the end elsewhere. Pairs that lose no more than rounding does are as good, whatever speaks for the end by itself.
    // `bits`: what the ends say beyond what it takes to be found beside each other.
    uint8_t paired(const Evidence& chosen, const Rivals* alone, const Rivals& pairs, double bits) const {
        if (pairs.least >= 0 && pairs.least <= kRounding) return 0;
        return std::max(alone ? single(chosen, *alone) : uint8_t(0), bounded(of(chosen, pairs), bits));
    }

    static constexpr double kManyBits = 20;  // more than the highest quality takes

private:
    // The lesser of a quality and what the bits allow; some quality stays with a place that has no rival.
    static uint8_t bounded(uint8_t quality, double bits) {
        return bits >= kManyBits ? quality : std::min(quality, uint8_t(std::max(1.0, most_quality(bits))));
    }

    uint8_t of(const Evidence& chosen, const Rivals& rivals) const {
        if (rivals.least < 0 && !chosen.cut && kUncut + chosen.votes >= kSurest) return kMost;  // most reads: no logarithms
        const double edits = rivals.least < 0 ? 0 : double(rivals.least) / edit_;
        double wrong = unseen(chosen, rivals.least < 0, edits);
        if (rivals.least > 0) {
            const double rate = (chosen.distance + 1.0) / (chosen.length + 2.0);
            wrong += rivals.count * std::pow(3 * rate / (1 - rate), edits);
        }
        return uint8_t(std::clamp(-10 * std::log10(wrong / (1 + wrong)), 1.0, double(kMost)));
    }

    static constexpr uint8_t kMost = 60;
    // Powers of ten: the least chance of a better place, and that without seed hits where none were left out.
    static constexpr double kSurest = 6.0, kUncut = 2.0;

    // What an insert size costs is a whole number, and it is taken from places whose gaps are not known yet.
    static constexpr int32_t kRounding = 1;

    // The chance of a better place among those that were not verified. The more seeds speak for the chosen place, the more
    // of them a better one would have shown; where hits were left out, a rival close by is a sign of a family of repeats
    // whose other members were not met.
    static double unseen(const Evidence& chosen, bool alone, double edits) {
        if (!chosen.cut) return std::pow(10, -std::min(kSurest, kUncut + chosen.votes));
        const double by_votes = std::pow(10, -std::min(kSurest, 0.1 + 0.5 * chosen.votes));
        return alone ? by_votes : std::max(by_votes, 0.04 * std::pow(10, 0.8 * (1 - edits)));
    }

    const int edit_;
    const double places_;
};

}  // namespace gpualign
