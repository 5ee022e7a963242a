// From the alignments of a read's chains to its records: primary, supplementary and secondary, with mapping qualities.
#pragma once
#include "algo/common/fixed_point.hpp"
#include "algo/map/chain/choice.hpp"
#include "algo/map/chain/junctions.hpp"

namespace gpualign {

// Mapping quality of a long read between two copies of a repeat: where they differ the read has one copy's base or an
// error, and all its other errors are the same in both alignments. An additional edit is as likely as an error; half
// of the log-odds is used, as neighbouring errors may be aligned in several ways.
GPUALIGN_HOST_DEVICE int64_t copy_quality(const ChainAlignment& a, int64_t lead, int64_t edit) {
    const int64_t odds = log2_fixed(3 * uint64_t(a.matches) + 1) - log2_fixed(uint64_t(a.columns - a.matches) + 1);
    return odds > 0 ? odds * 30103 / 20000 * lead / edit : 0;
}

// Mapping quality of a local alignment: the lower of two estimates from the best and the second-best score. By their
// difference, as bwa mem: the lead in matches, scaled down for errors and length. By their ratio, as minimap2 (Li
// 2018, section 2.2), since in long reads the difference is large even between copies of a repeat. Alignments with few
// anchors or many suboptimal ones score lower, but at least a tenth of the estimate remains. A lead of half an edit
// counts as none, one of less than an edit half, as clipping or a longer gap may cause it. copy_quality is a lower
// bound.
//
// Fixed-point arithmetic with kLogBits fractional bits.
GPUALIGN_HOST_DEVICE uint8_t chain_quality(const ChainRules& rules, const ChainAlignment& a, const ChosenChain& chain,
    int32_t second_score, int32_t suboptimal) {
    const AffineScores& s = rules.scores;
    const int64_t edit = s.match + s.mismatch, score = a.score;
    const int64_t unaligned = chain.unaligned < chain.score ? chain.unaligned * score / chain.score : score;
    int64_t second = second_score;
    if (unaligned > second) second = unaligned;
    if (int64_t(rules.k) * s.match > second) second = int64_t(rules.k) * s.match;
    if (2 * (score - second) <= edit) return 0;
    const auto times = [](int64_t x, int64_t y) { return x * y >> kLogBits; };
    const int64_t identity = (int64_t(a.matches) << kLogBits) / a.columns;
    const int64_t weight =
        times(identity, (int64_t(log2_fixed(50)) << kLogBits) / log2_fixed(uint64_t(max(50, a.columns))));
    const int64_t lead = ((score - second) << kLogBits) / s.match;
    const int64_t by_difference = times(times(lead, weight), weight) * 602 / 100;
    const int64_t ratio = (second << kLogBits) / score;
    constexpr int64_t kLn2 = 45426;  // ln(2)
    const int64_t logarithm = times(log2_fixed(uint64_t(score)) - log2_fixed(uint64_t(s.match)), kLn2);
    const int64_t by_ratio = times(times(40 * identity, kLogOne - times(ratio, ratio)), logarithm);
    const int64_t enough = 3 * rules.min_anchors;  // anchors
    int64_t estimate = by_difference < by_ratio ? by_difference : by_ratio;
    const int64_t by_odds = rules.min_anchors > 1 ? copy_quality(a, score - second, edit) : 0;
    if (by_odds > estimate) estimate = by_odds;
    if (a.anchors < enough) estimate = estimate * a.anchors / enough;
    const int64_t tenth = estimate / 10 < kLogOne ? estimate / 10 : kLogOne;
    const int64_t crowded = estimate - int64_t(log2_fixed(uint64_t(suboptimal) + 1)) * 30103 / 10000;
    int64_t quality = crowded > tenth ? crowded : tenth;
    if (score - second < edit) quality /= 2;
    // By the pigeonhole principle an alignment with one edit must share a seed if it is this long (two of the bases
    // may match by chance beyond its ends). Shorter ones were misplaced in a repeat about once in 100,000 simulated
    // split reads.
    const int64_t maximum = a.query_end - a.query_begin >= 2 * (rules.w + rules.k) ? 60 : 50;
    quality = (quality + kLogOne / 2) >> kLogBits;
    return uint8_t(quality < 0 ? 0 : quality < maximum ? quality : maximum);
}

// Ranks the alignments of one read, by all lanes of a group; long reads only by one lane, to which their extra steps
// are compiled.
template <class Group, class Text> class ReadReporter {
public:
    GPUALIGN_HD ReadReporter(const Group& group, const ChainBatch& batch, const Text& text, uint32_t read)
        : group_(group), batch_(batch), rules_(batch.rules), text_(text), query_(query_of(batch, read)),
          state_(batch.state[read]), length_(query_.length()), long_read_(kOneLane && batch.rules.min_anchors > 1) {}

    // Writes the ranked alignments in the order of records: primary, supplementary, secondary, each best first.
    GPUALIGN_HOST_DEVICE void run() {
        uint32_t count = 0;
        for (uint32_t base = 0; base < state_.chosen; base += Group::kLanes)
            count += group_.sum(base + group_.lane() < state_.chosen ? chain(base + group_.lane()).alignments : 0);
        const uint32_t first = group_.from(group_.lane() == 0 ? take(batch_.ranked, 2 * count) : 0u, 0);
        const bool any = first != kNoItem && count;
        if (any) {
            out_ = batch_.ranked.items + first;
            ranked_ = out_ + count;
            collect();
            sort(count);
        }
        const uint32_t kept = any ? keep(count) : 0;
        if constexpr (kOneLane)
            if (long_read_) part(kept);
        const uint32_t written = write(kept, surest(kept));
        if (group_.lane() == 0) {
            state_.first_ranked = first;
            state_.ranked = written;
        }
        group_.sync();
    }

private:
    static constexpr bool kOneLane = Group::kLanes == 1;

    GPUALIGN_HD const ChosenChain& chain(uint32_t c) const { return batch_.chains.items[state_.first_chosen + c]; }
    GPUALIGN_HD ChainAlignment& alignment(const RankedAlignment& r) const {
        return batch_.alignments.items[r.alignment];
    }
    GPUALIGN_HD const ChosenChain& chain_of(const RankedAlignment& r) const {
        return batch_.chains.items[alignment(r).chain];
    }

    // Collects the alignments in the order of chains. Until they are sorted `suboptimal` holds their tie-break.
    GPUALIGN_HD void collect() {
        uint32_t n = 0;
        for (uint32_t base = 0; base < state_.chosen; base += Group::kLanes) {
            const uint32_t c = base + group_.lane();
            uint32_t all;
            const uint32_t own = c < state_.chosen ? chain(c).alignments : 0, at = n + group_.sum_before(own, all);
            for (uint32_t i = 0; i < own; i++) {
                const uint32_t number = chain(c).first_alignment + i;
                const ChainAlignment& a = batch_.alignments.items[number];
                out_[at + i] = {number, 0, 0, 0, 0, int32_t(mix_bits(state_.tie_break ^ uint32_t(a.begin))),
                    ChainKind::primary, 0, a.score};
                place(out_[at + i]);
            }
            n += all;
        }
        if constexpr (kOneLane)
            for (uint32_t c = 0; long_read_ && c < state_.chosen; c++) {
                const ChosenChain& other = chain(c);
                const int32_t forgiven =
                    other.alignments == 1 ? forgiven_gaps(batch_.alignments.items[other.first_alignment]) : 0;
                for (uint32_t p = 0; (other.alignments > 1 || forgiven) && p < n; p++)
                    if (state_.first_chosen + c != alignment(out_[p]).chain) outdo(out_[p], other, forgiven);
            }
        group_.sync();
    }

    // Excess costs of long deletions over their costs in a chain.
    GPUALIGN_HD int32_t forgiven_gaps(const ChainAlignment& a) const {
        int32_t forgiven = 0;
        for (uint32_t o = 0; o < a.operations; o++) {
            const uint32_t operation = batch_.cigars.items[a.cigar + o];
            if ((operation & 15) == kCigarD && int32_t(operation >> 4) > rules_.query_gap)
                forgiven += gap_excess(rules_.scores, rules_.k, int32_t(operation >> 4));
        }
        return forgiven;
    }

    // If the pieces of a split chain, or both sides of a long gap, together score more than an alignment of the same
    // interval, that alignment is ranked after them.
    GPUALIGN_HD void outdo(RankedAlignment& own, const ChosenChain& chain, int32_t forgiven) const {
        const ReadInterval covered =
            chain.reverse ? ReadInterval{length_ - own.end, length_ - own.begin} : ReadInterval{own.begin, own.end};
        int64_t together = 0;
        int32_t counted = 0, least = own.rank;
        for (uint32_t i = 0; i < chain.alignments; i++) {
            const ChainAlignment& a = batch_.alignments.items[chain.first_alignment + i];
            const int32_t bases = a.query_end - a.query_begin;
            together +=
                int64_t(a.score + forgiven) * shared_bases({max(a.query_begin, counted), a.query_end}, covered) / bases;
            counted = max(counted, a.query_end);
            if (2 * shared_bases({a.query_begin, a.query_end}, covered) > bases) least = min(least, a.score - 1);
        }
        if (together > alignment(own).score && together > alignment(own).score + forgiven_gaps(alignment(own)))
            own.rank = least;
    }

    GPUALIGN_HD void place(RankedAlignment& r) const {
        const ChainAlignment& a = alignment(r);
        const bool reverse = chain_of(r).reverse;
        r.begin = reverse ? length_ - a.query_end : a.query_begin;
        r.end = reverse ? length_ - a.query_begin : a.query_end;
    }

    // Best first; ties by the tie-break hash, then in the order of chains.
    GPUALIGN_HD void sort(uint32_t count) {
        const auto before = [](const RankedAlignment& a, const RankedAlignment& b) {
            return a.rank != b.rank ? a.rank > b.rank : uint32_t(a.suboptimal) < uint32_t(b.suboptimal);
        };
        for (uint32_t i = group_.lane(); i < count; i += Group::kLanes) {
            RankedAlignment next = out_[i];
            uint32_t p = Group::kLanes == 1 ? i : 0;
            if (Group::kLanes == 1)  // insertion sort, as there are few
                for (; p > 0 && before(next, ranked_[p - 1]); p--) ranked_[p] = ranked_[p - 1];
            else
                for (uint32_t j = 0; j < count; j++) p += before(out_[j], next) || (j < i && !before(next, out_[j]));
            ranked_[p] = next;
        }
        group_.sync();
        for (uint32_t i = group_.lane(); i < count; i += Group::kLanes) ranked_[i].suboptimal = 0;
        group_.sync();
    }

    // Drops duplicates, and pieces too short for split alignments; assigns each alignment its parent.
    GPUALIGN_HD uint32_t keep(uint32_t count) {
        uint32_t kept = 0;
        for (uint32_t p = 0; p < count; p++) {
            RankedAlignment own = ranked_[p];
            own.parent = kept;
            bool seen = false;
            for (uint32_t base = 0; base < kept && !seen; base += Group::kLanes) {
                const uint32_t q = base + group_.lane();
                const bool shares =
                    own.parent == kept && q < kept && ranked_[q].parent == q && share_query(own, ranked_[q]);
                const uint32_t parents = group_.ballot(shares);
                if (parents) own.parent = base + first_lane(parents);
                seen = group_.ballot(q < kept && same_diagonal(own, ranked_[q])) != 0;
            }
            if constexpr (kOneLane)
                if (long_read_ && !seen && own.parent < kept && stands_alone(own, kept)) own.parent = kept;
            if (seen || (kept && own.parent == kept && own.end - own.begin < rules_.min_split)) continue;
            group_.sync();  // all lanes have read what is written now
            if (group_.lane() == 0) add(own, kept);
            kept++;
            group_.sync();
        }
        return kept;
    }

    // Called by one lane.
    GPUALIGN_HD void add(const RankedAlignment& own, uint32_t number) const {
        for (uint32_t q = own.parent; own.parent < number && q < (long_read_ ? number : own.parent + 1); q++)
            if (ranked_[q].parent == q && share_query(own, ranked_[q])) compete(own, ranked_[q]);
        ranked_[number] = own;
    }

    // An alignment of more of the read than its parent counts only for the shared bases.
    GPUALIGN_HD void compete(const RankedAlignment& own, RankedAlignment& parent) const {
        int32_t score = alignment(own).score;
        if (score > alignment(parent).score)
            score = int32_t(int64_t(score) * shared_bases({own.begin, own.end}, {parent.begin, parent.end}) /
                            (own.end - own.begin));
        parent.second = max(parent.second, score);
        parent.suboptimal += score >= parent.second - rules_.scores.match - rules_.scores.mismatch;
    }

    // Whether an alignment is worth a record for the bases before or after those that others cover; it is then
    // shortened to them.
    GPUALIGN_HD bool stands_alone(RankedAlignment& own, uint32_t kept) const {
        int32_t before = own.end, after = own.begin;  // bounds of what others cover
        const auto for_each_other = [&](auto&& visit) {
            for (uint32_t q = 0; q < kept; q++)
                if (ranked_[q].parent == q && shared_bases({own.begin, own.end}, {ranked_[q].begin, ranked_[q].end}))
                    visit(ranked_[q]);
        };
        for_each_other([&](const RankedAlignment& other) {
            before = max(own.begin, min(before, other.begin));
            after = min(own.end, max(after, other.end));
        });
        const bool at_end = own.end - after > before - own.begin;
        if (at_end ? !is_worth(own, after, own.end) : !is_worth(own, own.begin, before)) return false;
        for_each_other([&](const RankedAlignment& other) {
            const int32_t begin = max(own.begin, other.begin), end = min(own.end, other.end);
            const Junction junction = at_end ? find_junction(along(other), along(own), begin, end)
                                             : find_junction(along(own), along(other), begin, end);
            shorten(own, at_end ? junction.first - own.begin : own.end - junction.last, !at_end);
        });
        return true;
    }
    GPUALIGN_HD bool is_worth(const RankedAlignment& own, int32_t begin, int32_t end) const {
        if (end - begin < rules_.min_split) return false;
        AlongRead<Text> columns = along(own);
        columns.seek(begin);
        int32_t score = 0;
        for (int32_t at = begin; at < end; at++)
            score += columns.take_base() - (at + 1 < end ? columns.pass_deletion() : 0);
        return score >= rules_.min_score;
    }

    // Splits the bases of overlapping alignments between them.
    GPUALIGN_HD void part(uint32_t kept) {
        for (uint32_t p = 0; p < kept; p++)
            for (uint32_t q = p + 1; ranked_[p].parent == p && q < kept; q++) {
                if (ranked_[q].parent != q) continue;
                RankedAlignment& x = ranked_[p].begin < ranked_[q].begin ? ranked_[p] : ranked_[q];
                RankedAlignment& y = &x == ranked_ + p ? ranked_[q] : ranked_[p];
                if (x.begin >= y.begin || y.begin >= x.end || x.end >= y.end) continue;
                const Junction junction = find_junction(along(x), along(y), y.begin, x.end);
                shorten(x, x.end - junction.last, true);
                shorten(y, junction.first - y.begin, false);
            }
    }
    GPUALIGN_HD AlongRead<Text> along(const RankedAlignment& r) const {
        return AlongRead<Text>(batch_, text_, query_, alignment(r), chain_of(r).reverse);
    }
    GPUALIGN_HD void shorten(RankedAlignment& r, int32_t bases, bool at_end) const {
        if (!bases) return;
        ChainAlignment& a = alignment(r);
        const ChosenChain& chain = chain_of(r);
        const int32_t score = a.score;
        CigarText cigar{batch_.cigars.items + a.cigar, a.operations};
        if (at_end != bool(chain.reverse)) clip_end(cigar, bases);
        else a.begin += clip_begin(cigar, bases);
        summarize(cigar, query_, chain, text_, batch_, a);
        if (a.score > 0) r.second = int32_t(int64_t(r.second) * a.score / score);
        place(r);
    }

    // Among equally good alignments of different intervals, the one with the weakest suboptimal alignment.
    GPUALIGN_HD uint32_t surest(uint32_t kept) const {
        uint32_t best = 0;
        for (uint32_t p = 1; p < kept && ranked_[p].rank == ranked_[0].rank; p++)
            if (ranked_[p].parent == p && ranked_[p].second < ranked_[best].second) best = p;
        return best;
    }

    // Returns the number of records.
    GPUALIGN_HD uint32_t write(uint32_t kept, uint32_t primary) const {
        uint32_t written = 0;
        for (const ChainKind kind : {ChainKind::primary, ChainKind::supplementary, ChainKind::secondary})
            for (uint32_t base = 0; base < kept; base += Group::kLanes) {
                const uint32_t p = base + group_.lane();
                const bool is = p < kept && kind_of(p, primary) == kind &&
                                (kind != ChainKind::supplementary || is_enough(ranked_[p]));
                const uint32_t mask = group_.ballot(is);
                if (is) {
                    RankedAlignment& record = out_[written + group_.before(mask)] = ranked_[p];
                    record.kind = kind;
                    record.mapq = kind == ChainKind::secondary
                                      ? uint8_t(0)
                                      : chain_quality(rules_, alignment(record), chain_of(record), record.second,
                                            record.suboptimal);
                }
                written += count_bits(mask);
            }
        return written;
    }
    GPUALIGN_HD bool is_enough(const RankedAlignment& r) const {
        return !long_read_ || (r.end - r.begin >= rules_.min_split && alignment(r).score >= rules_.min_score);
    }

    GPUALIGN_HD static bool share_query(const RankedAlignment& a, const RankedAlignment& b) {
        return 2 * shared_bases({a.begin, a.end}, {b.begin, b.end}) > min(a.end - a.begin, b.end - b.begin);
    }

    // Whether two chains met on one diagonal.
    GPUALIGN_HD bool same_diagonal(const RankedAlignment& a, const RankedAlignment& b) const {
        const ChainAlignment &x = alignment(a), &y = alignment(b);
        if (x.end <= y.begin || y.end <= x.begin || (long_read_ && !share_query(a, b))) return false;
        if (x.begin - x.query_begin != y.begin - y.query_begin && x.end - x.query_end != y.end - y.query_end)
            return false;
        return chain_of(a).reverse == chain_of(b).reverse && chain_of(a).contig == chain_of(b).contig;
    }

    GPUALIGN_HD ChainKind kind_of(uint32_t p, uint32_t primary) const {
        if (p == primary) return ChainKind::primary;
        return ranked_[p].parent == p ? ChainKind::supplementary : ChainKind::secondary;
    }

    const Group& group_;
    const ChainBatch& batch_;
    const ChainRules& rules_;
    const Text& text_;
    const ChainQuery query_;
    ChainRead& state_;
    const int32_t length_;
    const bool long_read_;  // for short reads mates matter as well, and overlaps are handled as in bwa
    RankedAlignment *out_ = nullptr, *ranked_ = nullptr;
};

}  // namespace gpualign
