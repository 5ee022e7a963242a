// Alignments that need no dynamic program: a read at a locus whose edits are substitutions, where nothing else in the band of
// the locus loses as little.
//
// Measured is what an alignment loses against a read that fits: a substitution match + mismatch, a deleted base gap_extend, an
// inserted or clipped one match more, each gap gap_open and each clipped end clip_penalty besides. All alignments but the one
// without gaps, up to its loss: how far each diagonal of the band is reached with a loss of 0, 1, 2, ..., a lane a diagonal
// (Marco-Sola et al. 2021, Bioinformatics 37:456). Where none of them reaches the end of the read, it is the only best one.
//
// A single substitution needs not even that where it loses less than any gap or clipped end: nothing but other loci without gaps
// loses as little, and the locus is the best of them.
#pragma once
#include "algo/map/locus.hpp"
#include "algo/map/seeds.hpp"

namespace gpualign {

// Whether a substitution loses less than any gap or clipped end.
GPUALIGN_HD bool substitution_loses_least(const AffineScores& scores) {
    const int32_t substitution = scores.match + scores.mismatch;
    return substitution < scores.gap_open + scores.gap_extend && substitution < scores.clip_penalty + scores.match;
}

// What a read scores at a locus without gaps or clips, base by base, where an unknown base costs what it does for loci.
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
    // Whether all of so many edits are substitutions, no end is better clipped, and no gap is better: the known ones lose less than any,
    // or a gap would take the place of a run of unknown ones.
    GPUALIGN_HD bool is_best(int32_t distance) const {
        const int32_t lost = scores_.match + scores_.mismatch, opened = scores_.gap_open + scores_.gap_extend;
        const int32_t gaps = 2 * scores_.gap_open + longest_run_ * (scores_.match + 2 * scores_.gap_extend);
        return ambiguous_ + substitutions_ == distance && (substitutions_ * lost < opened || longest_run_ * lost > gaps) &&
               lowest_ >= -scores_.clip_penalty && sum_ - highest_ >= -scores_.clip_penalty;
    }

private:
    const AffineScores& scores_;
    int32_t substitutions_ = 0, ambiguous_ = 0, run_ = 0, longest_run_ = 0, sum_ = 0, lowest_ = 0, highest_ = 0;
};

// Whether a read is aligned at its locus without gaps or clips, as is plain by its distance: it has no edit, or a single one that is
// a substitution; or it has unknown bases that are forgiven, and `is_best`, where each of them costs less than a mismatch.
template <class OneSubstitution, class Best>
GPUALIGN_HD bool is_plainly_ungapped(const AffineScores& scores, int32_t distance, int32_t ambiguous, OneSubstitution&& is_one_substitution,
                                     Best&& is_best) {
    if (distance == 0) return true;
    return ambiguous ? is_best() : distance == 1 && substitution_loses_least(scores) && is_one_substitution();
}

// Bases of the read in front of the first one from `row` on that differs from the reference, which base 0 meets at `begin`.
GPUALIGN_HD int32_t follow_diagonal(const MapRead& read, bool reverse, const MapTarget& target, int64_t begin, int32_t row) {
    while (row < read.length) {
        const uint64_t differ = differing_bases(read.window(row, reverse), packed_window(target.text, uint64_t(begin + row)));
        row += trailing_zeros(differ) / 2;
        if (differ) return min(row, read.length);
    }
    return read.length;
}

// What a read at a locus loses in other ways than without gaps.
template <class Group>
class OtherAlignments {
public:
    // `memory` has space for kNumbers for each of `band` diagonals and one more.
    GPUALIGN_HD OtherAlignments(const Group& group, const MapRead& read, bool reverse, const MapTarget& target, int64_t begin,
                                const AffineScores& scores, int16_t* memory)
        : group_(group), read_(read), reverse_(reverse), target_(target), first_(begin - read.limit), scores_(scores),
          band_(2 * read.limit + 1), reached_(memory), insertion_(memory + kLevels * (band_ + 1)),
          deletion_(insertion_ + kGapLevels * (band_ + 1)) {}

    static constexpr int32_t kLevels = 16, kGapLevels = 4, kNumbers = kLevels + 2 * kGapLevels;

    // Whether there is memory of enough losses.
    GPUALIGN_HD bool possible() const {
        return max(substitution(), scores_.gap_open + scores_.gap_extend + scores_.match) < kLevels &&
               scores_.gap_extend + scores_.match < kGapLevels;
    }

    // Whether there are `substitutions` on the locus' own diagonal, and nothing else loses as little.
    GPUALIGN_HD bool all_lose_more(int32_t substitutions) {
        const int32_t lost = substitutions * substitution();
        int32_t own = follow(read_.limit, 0);  // how far the alignment without gaps is with as many substitutions
        for (int32_t loss = 0; loss <= lost; loss++) {
            const bool at_substitution = loss % substitution() == 0;
            if (loss && at_substitution) own = own < read_.length ? follow(read_.limit, own + 1) : own + 1;
            if (at_substitution && (own >= read_.length) != (loss == lost)) return false;
            bool ends = at_substitution && loss < lost && loss + clipped(read_.length - own) <= lost;
            for (int32_t b = int32_t(group_.lane()); b <= band_; b += int32_t(Group::kLanes))
                ends = ends || (b < band_ ? reach(b, loss, lost) : set_own(at_substitution ? own : kNever, loss));
            if (group_.sync_any(ends)) return false;  // what follows may write where others have read
        }
        return true;
    }

private:
    static constexpr int16_t kNever = -1;

    GPUALIGN_HD int32_t substitution() const { return scores_.match + scores_.mismatch; }
    GPUALIGN_HD int32_t clipped(int32_t bases) const { return scores_.clip_penalty + scores_.match * bases; }
    GPUALIGN_HD int32_t follow(int32_t b, int32_t row) const { return follow_diagonal(read_, reverse_, target_, first_ + b, row); }

    GPUALIGN_HD int16_t& reached(int32_t b, int32_t loss) const { return reached_[(loss % kLevels) * (band_ + 1) + b]; }
    GPUALIGN_HD int16_t& insertion(int32_t b, int32_t loss) const { return insertion_[(loss % kGapLevels) * (band_ + 1) + b]; }
    GPUALIGN_HD int16_t& deletion(int32_t b, int32_t loss) const { return deletion_[(loss % kGapLevels) * (band_ + 1) + b]; }

    // The alignment without gaps, of which others may branch off, lies after the last diagonal.
    GPUALIGN_HD bool set_own(int32_t row, int32_t loss) const {
        reached(band_, loss) = int16_t(row);
        return false;
    }
    // The row that a gap may begin after on a diagonal.
    GPUALIGN_HD int32_t from(int32_t b, int32_t loss) const {
        if (loss < 0 || b < 0 || b >= band_) return kNever;
        const int32_t row = reached(b, loss);
        return b == read_.limit ? max(row, int32_t(reached(band_, loss))) : row;
    }

    // How far diagonal b is reached with a loss; tells whether the read's end can be reached with no more than is lost without gaps.
    GPUALIGN_HD bool reach(int32_t b, int32_t loss, int32_t lost) const {
        const int32_t extend = scores_.gap_extend, open = scores_.gap_open + extend, inserted = scores_.match;
        int32_t in = from(b + 1, loss - open - inserted), gap = from(b - 1, loss - open);
        if (b + 1 < band_ && loss >= extend + inserted) in = max(in, int32_t(insertion(b + 1, loss - extend - inserted)));
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
    const int64_t first_;  // where base 0 of the read lies on the first diagonal
    const AffineScores& scores_;
    const int32_t band_;
    int16_t *reached_, *insertion_, *deletion_;
};

// Whether the read, which is clean, is all bases on all diagonals of the band.
template <class Group>
GPUALIGN_HD bool band_is_acgt(const Group& group, const MapTarget& target, int64_t begin, int64_t end) {
    bool other = false;
    for (int64_t at = begin + kBasesPerWord * int64_t(group.lane()); at < end; at += kBasesPerWord * int64_t(Group::kLanes)) {
        const int64_t beyond = at + kBasesPerWord - end;
        other = other || uint32_t(~acgt_window(target, uint64_t(at)) << (beyond > 0 ? beyond : 0)) != 0;
    }
    return group.ballot(other) == 0;
}

// Whether all of a read's bases but one are those that its locus has on its own diagonal; an unknown base is none of them.
template <class Group>
GPUALIGN_HD bool is_one_substitution(const Group& group, const MapRead& read, bool reverse, const MapTarget& target, int64_t begin,
                                     int64_t left) {
    if (begin < left) return false;
    if (read.clean && band_is_acgt(group, target, begin, begin + read.length)) {
        const int32_t first = follow_diagonal(read, reverse, target, begin, 0);
        return first < read.length && follow_diagonal(read, reverse, target, begin, first + 1) == read.length;
    }
    uint32_t substitutions = 0;
    for (int32_t i = int32_t(group.lane()); i < read.length; i += int32_t(Group::kLanes)) {
        const uint8_t code = read.code(i, reverse);
        substitutions += code == kNoBase || code != code_at(target, begin + i);
    }
    return group.sum(substitutions) == 1;
}

// Whether a read whose first base lies at `begin` is aligned without gaps or clips, as is plain; each lane looks at all bases of one
// with unknown ones.
template <class Group>
GPUALIGN_HD bool is_plainly_ungapped(const Group& group, const MapRead& read, bool reverse, int32_t distance, const MapTarget& target,
                                     int64_t begin, int64_t left, const AffineScores& scores) {
    return is_plainly_ungapped(
        scores, distance, read.ambiguous, [&] { return is_one_substitution(group, read, reverse, target, begin, left); },
        [&] {
            if (begin < left) return false;
            UngappedScore score(scores);
            for (int32_t i = 0; i < read.length; i++) score.add(read.code(i, reverse), code_at(target, begin + i));
            return score.is_best(distance);
        });
}

// By one lane.
GPUALIGN_HD bool is_plainly_ungapped(const MapRead& read, uint64_t locus, const MapTarget& target, int64_t left,
                                     const AffineScores& scores) {
    const int64_t begin = locus_end(locus) - read.length;
    return is_plainly_ungapped(OneLane(), read, locus_reverse(locus), int32_t(locus_distance(locus)), target, begin, left, scores);
}

// Whether the read is aligned at its locus without gaps or clips.
template <int Words, class Group>
GPUALIGN_HD bool is_ungapped(const Group& group, const MapRead& read, uint64_t locus, const MapTarget& target, int64_t left,
                             int64_t right, const AffineScores& scores, MapShared<Words>& shared) {
    if (is_plainly_ungapped(read, locus, target, left, scores)) return true;
    const int32_t distance = int32_t(locus_distance(locus));
    if (!read.clean || (distance == 1 && substitution_loses_least(scores))) return false;
    const int64_t begin = locus_end(locus) - read.length;
    using Others = OtherAlignments<Group>;
    Others others(group, read, locus_reverse(locus), target, begin, scores, reinterpret_cast<int16_t*>(shared.bases));
    if (Others::kNumbers * sizeof(int16_t) * (2 * size_t(read.limit) + 2) > sizeof shared.bases || !others.possible()) return false;
    if (begin - read.limit < left || begin + read.limit + read.length > right) return false;
    return band_is_acgt(group, target, begin - read.limit, begin + read.limit + read.length) && others.all_lose_more(distance);
}

}  // namespace gpualign
