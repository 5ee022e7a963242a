// Alignments without DP: a read at a locus whose edits are substitutions, if nothing else in the band costs as little.
//
// Costs are relative to a perfect match: a substitution costs match + mismatch, a deleted base gap_extend, an inserted
// or clipped base `match` more, each gap gap_open and each clipped end clip_penalty in addition. All other alignments
// are explored up to the cost of the ungapped one: the furthest-reaching row of each diagonal of the band with cost 0,
// 1, 2, ..., a lane per diagonal (wavefront alignment: Marco-Sola et al. 2021, Bioinformatics 37:456). If none reaches
// the end of the read, the ungapped alignment is the only best one.
//
// A single substitution does not even need that if it costs less than any gap or clipped end: only other ungapped loci
// cost as little, and the locus is the best of them.
#pragma once
#include "algo/map/locus.hpp"
#include "algo/map/seeds.hpp"

namespace gpualign {

// Whether a substitution costs less than any gap or clipped end.
GPUALIGN_HD bool substitution_loses_least(const AffineScores& scores) {
    const int32_t substitution = scores.match + scores.mismatch;
    return substitution < scores.gap_open + scores.gap_extend && substitution < scores.clip_penalty + scores.match;
}

// Score of a read at a locus without gaps or clips, base by base, with the costs of ambiguous bases as in loci.
class UngappedScore {
public:
    GPUALIGN_HD explicit UngappedScore(const AffineScores& scores) : scores_(scores) {}

    GPUALIGN_HD void add(uint8_t code, uint8_t met) {
        const bool equal = code == met && code != kNoBase;
        ambiguous_ += code == kNoBase;
        substitutions_ += !equal && code != kNoBase;
        run_ = code == kNoBase ? run_ + 1 : 0;
        longest_run_ = max(longest_run_, run_);
        sum_ += equal ? scores_.match : -(code == kNoBase ? ambiguous_cost(scores_) : scores_.mismatch);
        lowest_ = min(lowest_, sum_);
        highest_ = max(highest_, sum_);
    }
    // Whether all of `distance` edits are substitutions, no end is better clipped, and no gap is better: either the
    // substitutions cost less than any gap, or a gap would have to replace a run of ambiguous bases.
    GPUALIGN_HD bool is_best(int32_t distance) const {
        const int32_t lost = scores_.match + scores_.mismatch, opened = scores_.gap_open + scores_.gap_extend;
        const int32_t gaps = 2 * scores_.gap_open + longest_run_ * (scores_.match + 2 * scores_.gap_extend);
        return ambiguous_ + substitutions_ == distance &&
               (substitutions_ * lost < opened || longest_run_ * lost > gaps) && lowest_ >= -scores_.clip_penalty &&
               sum_ - highest_ >= -scores_.clip_penalty;
    }

private:
    const AffineScores& scores_;
    int32_t substitutions_ = 0, ambiguous_ = 0, run_ = 0, longest_run_ = 0, sum_ = 0, lowest_ = 0, highest_ = 0;
};

// Whether it is clear from the distance that a read aligns without gaps or clips: it has no edit, or a single one that
// is a substitution; or it has forgiven ambiguous bases, and `is_best`, as each of them costs less than a mismatch.
template <class OneSubstitution, class Best>
GPUALIGN_HD bool is_plainly_ungapped(const AffineScores& scores, int32_t distance, int32_t ambiguous,
    OneSubstitution&& is_one_substitution, Best&& is_best) {
    if (distance == 0) return true;
    return ambiguous ? is_best() : distance == 1 && substitution_loses_least(scores) && is_one_substitution();
}

// The first row from `row` on whose base differs from the reference, with base 0 at `begin`.
GPUALIGN_HD int32_t follow_diagonal(
    const MapRead& read, bool reverse, const MapTarget& target, int64_t begin, int32_t row) {
    while (row < read.length) {
        const uint64_t differ = read.differing(row, reverse, packed_window(target.text, uint64_t(begin + row)));
        row += trailing_zeros(differ) / 2;
        if (differ) return min(row, read.length);
    }
    return read.length;
}

// Explores the alternatives to the ungapped alignment of a read.
template <class Group> class OtherAlignments {
public:
    // `memory` holds kNumbers values for each of `band` + 1 diagonals.
    GPUALIGN_HD OtherAlignments(const Group& group, const MapRead& read, bool reverse, const MapTarget& target,
        int64_t begin, const AffineScores& scores, int16_t* memory)
        : group_(group), read_(read), reverse_(reverse), target_(target), first_(begin - read.limit), scores_(scores),
          band_(2 * read.limit + 1), reached_(memory), insertion_(memory + kLevels * (band_ + 1)),
          deletion_(insertion_ + kGapLevels * (band_ + 1)) {}

    static constexpr int32_t kLevels = 16, kGapLevels = 4, kNumbers = kLevels + 2 * kGapLevels;

    // Whether the memory suffices for the costs involved.
    GPUALIGN_HD bool possible() const {
        return max(substitution(), scores_.gap_open + scores_.gap_extend + scores_.match) < kLevels &&
               scores_.gap_extend + scores_.match < kGapLevels;
    }

    // Whether there are `substitutions` on the locus' own diagonal, and every other alignment costs more.
    GPUALIGN_HD bool all_lose_more(int32_t substitutions) {
        const int32_t lost = substitutions * substitution();
        int32_t own = follow(read_.limit, 0);  // row that the ungapped alignment reaches with the current cost
        for (int32_t loss = 0; loss <= lost; loss++) {
            const bool at_substitution = loss % substitution() == 0;
            if (loss && at_substitution) own = own < read_.length ? follow(read_.limit, own + 1) : own + 1;
            if (at_substitution && (own >= read_.length) != (loss == lost)) return false;
            bool ends = at_substitution && loss < lost && loss + clipped(read_.length - own) <= lost;
            for (int32_t b = int32_t(group_.lane()); b <= band_; b += int32_t(Group::kLanes))
                ends = ends || (b < band_ ? reach(b, loss, lost) : set_own(at_substitution ? own : kNever, loss));
            if (group_.sync_any(ends)) return false;  // the next round may write where others have read
        }
        return true;
    }

private:
    static constexpr int16_t kNever = -1;

    GPUALIGN_HD int32_t substitution() const { return scores_.match + scores_.mismatch; }
    GPUALIGN_HD int32_t clipped(int32_t bases) const { return scores_.clip_penalty + scores_.match * bases; }
    GPUALIGN_HD int32_t follow(int32_t b, int32_t row) const {
        return follow_diagonal(read_, reverse_, target_, first_ + b, row);
    }

    GPUALIGN_HD int16_t& reached(int32_t b, int32_t loss) const { return reached_[(loss % kLevels) * (band_ + 1) + b]; }
    GPUALIGN_HD int16_t& insertion(int32_t b, int32_t loss) const {
        return insertion_[(loss % kGapLevels) * (band_ + 1) + b];
    }
    GPUALIGN_HD int16_t& deletion(int32_t b, int32_t loss) const {
        return deletion_[(loss % kGapLevels) * (band_ + 1) + b];
    }

    // The ungapped alignment, from which others may branch off, is stored after the last diagonal.
    GPUALIGN_HD bool set_own(int32_t row, int32_t loss) const {
        reached(band_, loss) = int16_t(row);
        return false;
    }
    // Row after which a gap may begin on a diagonal.
    GPUALIGN_HD int32_t from(int32_t b, int32_t loss) const {
        if (loss < 0 || b < 0 || b >= band_) return kNever;
        const int32_t row = reached(b, loss);
        return b == read_.limit ? max(row, int32_t(reached(band_, loss))) : row;
    }

    // Extends diagonal b with the given cost; returns whether the end of the read can be reached for at most `lost`.
    GPUALIGN_HD bool reach(int32_t b, int32_t loss, int32_t lost) const {
        const int32_t extend = scores_.gap_extend, open = scores_.gap_open + extend, inserted = scores_.match;
        int32_t in = from(b + 1, loss - open - inserted), gap = from(b - 1, loss - open);
        if (b + 1 < band_ && loss >= extend + inserted)
            in = max(in, int32_t(insertion(b + 1, loss - extend - inserted)));
        if (b > 0 && loss >= extend) gap = max(gap, int32_t(deletion(b - 1, loss - extend)));
        in = in == kNever || in >= read_.length ? kNever : in + 1;
        int32_t row = max(in, gap);
        if (loss >= substitution() && reached(b, loss - substitution()) != kNever)
            row = max(row, reached(b, loss - substitution()) + 1);
        if (loss == 0 && b != read_.limit) row = 0;
        if (loss > scores_.clip_penalty) row = max(row, (loss - scores_.clip_penalty) / scores_.match);
        if (row != kNever) row = follow(b, row);
        insertion(b, loss) = int16_t(in);
        deletion(b, loss) = int16_t(gap);
        reached(b, loss) = int16_t(row);
        return row != kNever && (row >= read_.length || loss + clipped(read_.length - row) <= lost);
    }

    const Group& group_;
    const MapRead& read_;
    const bool reverse_;
    const MapTarget& target_;
    const int64_t first_;  // position of the read's base 0 on the first diagonal
    const AffineScores& scores_;
    const int32_t band_;
    int16_t *reached_, *insertion_, *deletion_;
};

// Whether the reference has no ambiguous base in [begin, end).
template <class Group>
GPUALIGN_HD bool band_is_acgt(const Group& group, const MapTarget& target, int64_t begin, int64_t end) {
    bool other = false;
    for (int64_t at = begin + kBasesPerWord * int64_t(group.lane()); at < end;
        at += kBasesPerWord * int64_t(Group::kLanes)) {
        const int64_t beyond = at + kBasesPerWord - end;
        other = other || uint32_t(~acgt_window(target, uint64_t(at)) << (beyond > 0 ? beyond : 0)) != 0;
    }
    return group.ballot(other) == 0;
}

// The reference's base at a position as a read's is compared with it.
GPUALIGN_HD uint8_t met_by(const MapRead& read, bool reverse, uint8_t code, const MapTarget& target, int64_t position) {
    return explained_base(read.conversion(reverse), code, code_at(target, position));
}

// Whether all bases of a read but one match those on its locus' own diagonal; ambiguous bases never match.
template <class Group>
GPUALIGN_HD bool is_one_substitution(
    const Group& group, const MapRead& read, bool reverse, const MapTarget& target, int64_t begin, int64_t left) {
    if (begin < left) return false;
    if (read.clean && band_is_acgt(group, target, begin, begin + read.length)) {
        const int32_t first = follow_diagonal(read, reverse, target, begin, 0);
        return first < read.length && follow_diagonal(read, reverse, target, begin, first + 1) == read.length;
    }
    uint32_t substitutions = 0;
    for (int32_t i = int32_t(group.lane()); i < read.length; i += int32_t(Group::kLanes)) {
        const uint8_t code = read.code(i, reverse);
        substitutions += code == kNoBase || code != met_by(read, reverse, code, target, begin + i);
    }
    return group.sum(substitutions) == 1;
}

// Whether it is clear that a read with base 0 at `begin` aligns without gaps or clips. Every lane looks at all bases
// of a read with ambiguous ones.
template <class Group>
GPUALIGN_HD bool is_plainly_ungapped(const Group& group, const MapRead& read, bool reverse, int32_t distance,
    const MapTarget& target, int64_t begin, int64_t left, const AffineScores& scores) {
    return is_plainly_ungapped(
        scores, distance, read.ambiguous,
        [&] { return is_one_substitution(group, read, reverse, target, begin, left); },
        [&] {
            if (begin < left) return false;
            UngappedScore score(scores);
            for (int32_t i = 0; i < read.length; i++) {
                const uint8_t code = read.code(i, reverse);
                score.add(code, met_by(read, reverse, code, target, begin + i));
            }
            return score.is_best(distance);
        });
}

// By one lane.
GPUALIGN_HD bool is_plainly_ungapped(
    const MapRead& read, uint64_t locus, const MapTarget& target, int64_t left, const AffineScores& scores) {
    const int64_t begin = locus_end(locus) - read.length;
    return is_plainly_ungapped(
        OneLane(), read, locus_reverse(locus), int32_t(locus_distance(locus)), target, begin, left, scores);
}

// Whether the read aligns at its locus without gaps or clips.
template <int Words, class Group>
GPUALIGN_HD bool is_ungapped(const Group& group, const MapRead& read, uint64_t locus, const MapTarget& target,
    int64_t left, int64_t right, const AffineScores& scores, MapShared<Words>& shared) {
    if (is_plainly_ungapped(read, locus, target, left, scores)) return true;
    const int32_t distance = int32_t(locus_distance(locus));
    if (!read.clean || (distance == 1 && substitution_loses_least(scores))) return false;
    const int64_t begin = locus_end(locus) - read.length;
    using Others = OtherAlignments<Group>;
    Others others(group, read, locus_reverse(locus), target, begin, scores, reinterpret_cast<int16_t*>(shared.bases));
    if (Others::kNumbers * sizeof(int16_t) * (2 * size_t(read.limit) + 2) > sizeof shared.bases || !others.possible())
        return false;
    if (begin - read.limit < left || begin + read.limit + read.length > right) return false;
    return band_is_acgt(group, target, begin - read.limit, begin + read.limit + read.length) &&
           others.all_lose_more(distance);
}

}  // namespace gpualign
