// Splits the bases that two alignments of a read share between both. Called by one lane.
#pragma once
#include "algo/map/chain/alignment.hpp"

namespace gpualign {

// Iterates over an alignment's columns in the order of the read's forward strand.
template <class Text> class AlongRead {
public:
    GPUALIGN_HD AlongRead(
        const ChainBatch& batch, const Text& text, const ChainQuery& query, const ChainAlignment& a, bool reverse)
        : scores_(batch.rules.scores), text_(text), query_(query), operations_(batch.cigars.items + a.cigar),
          reverse_(reverse), step_(reverse ? -1 : 1), i_(reverse ? int32_t(a.operations) - 1 : 0),
          q_(reverse ? query.length() : 0), t_(reverse ? a.end : a.begin) {
        left_ = length();
    }

    // Advances to a base of the read within the alignment.
    GPUALIGN_HOST_DEVICE void seek(int32_t base) {
        while (true) {
            const int32_t here = reverse_ ? query_.length() - q_ : q_;
            const int32_t bases = skips_reference(operation()) ? 0 : left_;
            if (here == base || (bases && here + bases > base)) {
                move(base - here);
                left_ -= base - here;
                return;
            }
            move(left_);
            next_operation();
        }
    }

    // Cost of the deletion before the next base; skips it, and introns.
    GPUALIGN_HD int32_t pass_deletion() {
        int32_t cost = 0;
        while (skips_reference(operation())) {
            if (operation() == kCigarD) cost += gap_cost(scores_, left_);
            move(left_);
            next_operation();
        }
        return cost;
    }

    GPUALIGN_HD bool paired() const { return operation() == kCigarM; }

    // Score of the next base, with no deletion before it.
    GPUALIGN_HD int32_t take_base() {
        int32_t score = 0;
        if (paired()) {
            const uint8_t base = query_.code(q_ - reverse_, reverse_);
            const uint8_t met = text_.code(t_ - reverse_);
            const bool same = base == met || other_match(query_.conversion(reverse_), base) == met;
            score = base < kNoBase && same ? scores_.match : -scores_.mismatch;
        } else if (left_ == length()) {
            score = -gap_cost(scores_, left_);
        }
        move(1);
        if (--left_ == 0) next_operation();
        return score;
    }

private:
    GPUALIGN_HD uint32_t operation() const { return operations_[i_] & 15; }
    GPUALIGN_HD int32_t length() const { return int32_t(operations_[i_] >> 4); }
    GPUALIGN_HD void next_operation() {
        i_ += step_;
        left_ = length();
    }
    GPUALIGN_HD void move(int32_t bases) {
        if (!skips_reference(operation())) q_ += step_ * bases;
        if (operation() == kCigarM || skips_reference(operation())) t_ += step_ * bases;
    }

    const AffineScores& scores_;
    const Text& text_;
    const ChainQuery& query_;
    const uint32_t* operations_;
    const bool reverse_;
    const int32_t step_;
    int32_t i_, left_ = 0, q_;
    int64_t t_;
};

// Bounds of the best split points within the bases [begin, end) that two alignments share: before `first` they belong
// to the first alignment, from `last` on to the second; every optimal split lies between.
struct Junction {
    int32_t first, last;
};

template <class Text>
GPUALIGN_HOST_DEVICE Junction find_junction(AlongRead<Text> before, AlongRead<Text> after, int32_t begin, int32_t end) {
    before.seek(begin);
    after.seek(begin);
    Junction junction{begin, begin};
    int32_t gain = 0, best = 0;
    const auto consider = [&](int32_t at) {
        if (gain > best) junction.first = at;
        if (gain >= best) junction.last = at;
        best = max(best, gain);
    };
    bool was_paired = true;
    for (int32_t at = begin; at < end; at++) {
        gain += at > begin ? after.pass_deletion() : 0;
        if (at > begin && was_paired && after.paired()) consider(at);
        gain -= before.pass_deletion();
        was_paired = before.paired();
        gain += before.take_base();
        gain -= after.take_base();
    }
    consider(end);
    return junction;
}

// Clips more bases from an end of a CIGAR that is already clipped there. clip_begin returns the number of reference
// bases dropped.
GPUALIGN_HOST_DEVICE void clip_end(CigarText& cigar, int32_t bases) {
    uint32_t clip = cigar.length(--cigar.count);
    while (cigar.count && (bases > 0 || cigar.last() != kCigarM)) {
        const uint32_t operation = cigar.last(), length = cigar.length(cigar.count - 1);
        const uint32_t gone = operation == kCigarM && uint32_t(bases) < length ? uint32_t(bases) : length;
        if (!skips_reference(operation)) {
            clip += gone;
            bases -= int32_t(gone);
        }
        if (gone == length) cigar.count--;
        else cigar.operations[cigar.count - 1] -= gone << 4;
    }
    cigar.operations[cigar.count++] = clip << 4 | kCigarS;
}
GPUALIGN_HOST_DEVICE int64_t clip_begin(CigarText& cigar, int32_t bases) {
    uint32_t clip = cigar.length(0), first = 1;
    int64_t moved = 0;
    while (first < cigar.count && (bases > 0 || cigar.operation(first) != kCigarM)) {
        const uint32_t operation = cigar.operation(first), length = cigar.length(first);
        const uint32_t gone = operation == kCigarM && uint32_t(bases) < length ? uint32_t(bases) : length;
        if (operation != kCigarI) moved += gone;
        if (!skips_reference(operation)) {
            clip += gone;
            bases -= int32_t(gone);
        }
        if (gone == length) first++;
        else cigar.operations[first] -= gone << 4;
    }
    cigar.operations[--first] = clip << 4 | kCigarS;
    cigar.operations += first;
    cigar.count -= first;
    return moved;
}

}  // namespace gpualign
