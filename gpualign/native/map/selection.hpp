// Which of a read's loci is reported, and how sure that is.
#pragma once
#include <algorithm>
#include <vector>

#include "map/alignment.hpp"
#include "map/mapping_quality.hpp"
#include "map/locus_finder.hpp"

namespace gpualign {

// A record to be: a locus of a read; null for an unmapped read.
struct Choice {
    size_t read;
    const Locus* locus;
    uint16_t flag;
    uint8_t mapq;
};

class Selector {
public:
    Selector(const LocusFinder& found, const MapParams& params)
        : found_(found), params_(params), quality_(params.scores, params.bases) {}

    // The records of all reads of the block in their order, of each the primary one first.
    void select(std::vector<Choice>& choices) {
        choices.clear();
        for (size_t r = 0; r < found_.size(); r++) {
            if (!found_.read(r).first_of_pair) {
                report(single(r), choices);
                continue;
            }
            const auto [first, second] = pair(r);
            report(first, choices);
            report(second, choices);
            r++;
        }
    }

private:
    Choice single(size_t r) const {
        const std::vector<Locus>& loci = found_.loci(r);
        if (loci.empty()) return {r, nullptr, kFlagUnmapped, 0};
        if (loci[0].local >= 0) return {r, &loci[0], 0, local_quality(r)};
        return {r, &loci[0], 0, quality_.single(evidence(found_.read(r), loci[0]), suboptimal_alone(loci))};
    }

    // A read of which all split alignments together explain so little is rather one with many errors that was not found where it
    // belongs.
    uint8_t local_quality(size_t r) const {
        const std::vector<ChainRecord>& locals = found_.locals(r);
        if (params_.is_long(found_.read(r).length)) return locals[size_t(found_.loci(r)[0].local)].mapq;
        int32_t explained = 0;
        for (const ChainRecord& part : locals)
            if (part.kind != ChainKind::secondary) explained += part.score;
        const bool enough = explained >= kMinExplained * found_.read(r).length * params_.scores.match;
        return std::min(locals[size_t(found_.loci(r)[0].local)].mapq, enough ? uint8_t(60) : kMaxUnexplained);
    }
    static constexpr double kMinExplained = 0.3;
    static constexpr uint8_t kMaxUnexplained = 10;

    // A pair's loci by the sum of both scores, less what an unlikely insert size or an unpaired choice costs.
    std::pair<Choice, Choice> pair(size_t r) const {
        std::pair<Choice, Choice> ends{single(r), single(r + 1)};
        const std::vector<Locus>&a = found_.loci(r), &b = found_.loci(r + 1);
        if (a.empty() || b.empty()) return ends;
        const Locus *best_first = nullptr, *best_second = nullptr;
        int32_t best = 0;
        for_each_pair(a, b, [&](const Locus& p, const Locus& q, int32_t score) {
            if (best_first && score <= best) return;
            best_first = &p;
            best_second = &q;
            best = score;
        });
        const int32_t apart = a[0].score + b[0].score - params_.pairs.unpaired_penalty;
        if (!best_first || best < apart) return ends;
        ends.first = proper(r, best_first, best_second, best, apart, true);
        ends.second = proper(r + 1, best_second, best_first, best, apart, false);
        return ends;
    }

    template <class Visit>
    void for_each_pair(const std::vector<Locus>& a, const std::vector<Locus>& b, Visit&& visit) const {
        for (size_t i = 0; i < a.size() && i < kMaxPairedLoci; i++)
            for (size_t j = 0; j < b.size() && j < kMaxPairedLoci; j++) {
                const int64_t insert = params_.pairs.insert_size(a[i], b[j]);
                if (insert >= 0) visit(a[i], b[j], a[i].score + b[j].score - params_.pairs.penalty(insert));
            }
    }

    // One mate of the best pair. Suboptimal are the pairs, or the choices without a pair, that put this mate elsewhere.
    Choice proper(size_t r, const Locus* chosen, const Locus* mate, int32_t best, int32_t apart, bool first) const {
        const Read& read = found_.read(r);
        const std::vector<Locus>& mine = found_.loci(r);
        const std::vector<Locus>& others = found_.loci(first ? r + 1 : r - 1);
        Suboptimal suboptimal;
        const auto meet = [&](const Locus& p, const Locus&, int32_t score) {
            if (!p.same_as(*chosen, read.limit)) suboptimal.add(best - score);
        };
        if (first) for_each_pair(mine, others, meet);
        else for_each_pair(others, mine, [&](const Locus& q, const Locus& p, int32_t score) { meet(p, q, score); });
        const bool own_best = mine[0].same_as(*chosen, read.limit);
        for (size_t i = own_best ? 1 : 0; i < mine.size() && i < kMaxPairedLoci; i++)
            if (!mine[i].same_as(*chosen, read.limit)) suboptimal.add(best - (apart - (mine[0].score - mine[i].score)));
        const Suboptimal alone = suboptimal_alone(mine);
        const Evidence evident = beside(evidence(read, *chosen), evidence(found_.read(first ? r + 1 : r - 1), *mate));
        return {r, chosen, kFlagProper, quality_.paired(evident, own_best ? &alone : nullptr, suboptimal, bits(*chosen, *mate))};
    }

    // What a pair says beyond what it takes to find the mate that says least: by chance it is near any locus of the other one.
    double bits(const Locus& one, const Locus& other) const {
        double least = MappingQuality::kManyBits;
        for (const Locus* locus : {&one, &other}) {
            const int32_t length = found_.read(locus->read).length;
            if (length < kShortMate && locus->local < 0) least = std::min(least, params_.bits_beside_mate(length, locus->distance));
        }
        return least;
    }

    // The chosen record, and the secondary ones that are asked for.
    void report(const Choice& chosen, std::vector<Choice>& choices) const {
        choices.push_back(chosen);
        if (!chosen.locus || params_.max_secondary == 0) return;
        const Read& read = found_.read(chosen.read);
        int32_t left = params_.max_secondary;
        for (const Locus& locus : found_.loci(chosen.read)) {
            if (left == 0) break;
            if (&locus == chosen.locus || locus.same_as(*chosen.locus, read.limit)) continue;
            if (locus.distance - chosen.locus->distance > params_.strata) continue;
            choices.push_back({chosen.read, &locus, kFlagSecondary, 0});
            left--;
        }
    }

    const LocusFinder& found_;
    const MapParams& params_;
    const MappingQuality quality_;
};

}  // namespace gpualign
