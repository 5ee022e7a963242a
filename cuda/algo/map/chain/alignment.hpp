// Assembles the alignment of a run of segments: its CIGAR, left-aligned, and its summary. Called by one lane.
#pragma once
#include "algo/map/chain/segments.hpp"

namespace gpualign {

// A CIGAR in memory with enough space.
struct CigarText {
    uint32_t* operations;
    uint32_t count;

    GPUALIGN_HD void push(uint32_t operation, uint32_t length) {
        if (!length) return;
        if (count && (operations[count - 1] & 15) == operation) operations[count - 1] += length << 4;
        else operations[count++] = length << 4 | operation;
    }
    GPUALIGN_HD uint32_t operation(uint32_t i) const { return operations[i] & 15; }
    GPUALIGN_HD uint32_t length(uint32_t i) const { return operations[i] >> 4; }
    GPUALIGN_HD uint32_t last() const { return operation(count - 1); }
};

// Turns gaps at the ends of an alignment into clips, or drops them; returns by how much the first reference base
// moves.
GPUALIGN_HOST_DEVICE int64_t trim_gaps(CigarText& cigar) {
    uint32_t clip = 0;
    while (cigar.count && cigar.last() != kCigarM) {
        if (!skips_reference(cigar.last())) clip += cigar.length(cigar.count - 1);
        cigar.count--;
    }
    cigar.push(kCigarS, clip);
    uint32_t first = 0;
    int64_t moved = 0;
    clip = 0;
    for (; first < cigar.count && cigar.operation(first) != kCigarM; first++) {
        if (skips_reference(cigar.operation(first))) moved += cigar.length(first);
        else clip += cigar.length(first);
    }
    if (clip) cigar.operations[--first] = clip << 4 | kCigarS;
    cigar.operations += first;
    cigar.count -= first;
    return moved;
}

// Moves each gap but introns as far left as the bases allow, which keeps the score, and joins gaps of one kind that
// meet. The
// first aligned column stays a pair of bases. `begin`: the first reference base; `capacity` has space for twice the
// operations.
template <class Text>
GPUALIGN_HOST_DEVICE CigarText left_align(const CigarText& cigar, const ChainQuery& query, bool reverse,
    const Text& text, int64_t begin, uint32_t* capacity) {
    CigarText out{capacity, 0};
    int32_t q = 0;  // query base after `out`
    int64_t t = begin;
    for (uint32_t i = 0; i < cigar.count; i++) {
        const uint32_t operation = cigar.operation(i);
        int32_t length = int32_t(cigar.length(i));
        if (operation != kCigarI && operation != kCigarD) {
            out.push(operation, uint32_t(length));
            if (operation != kCigarN) q += length;
            if (operation == kCigarM || operation == kCigarN) t += length;
            continue;
        }
        const bool insertion = operation == kCigarI;
        const auto base = [&](int32_t back) { return insertion ? query.code(q + back, reverse) : text.code(t + back); };
        const auto step_back = [&](int32_t bases) {
            if (insertion) q -= bases;
            else t -= bases;
        };
        uint32_t shift = 0;
        while (out.count && out.last() == kCigarM) {
            const uint8_t before = base(-1);
            if (before >= kNoBase || before != base(length - 1)) break;
            if (out.length(out.count - 1) == 1) {
                if (out.count < 2 || out.operation(out.count - 2) != operation) break;
                const int32_t met = int32_t(out.length(out.count - 2));
                out.count -= 2;
                length += met;
                step_back(met);
            } else {
                out.operations[out.count - 1] -= 1 << 4;
            }
            q--;
            t--;
            shift++;
        }
        out.push(operation, uint32_t(length));
        out.push(kCigarM, shift);
        step_back(-length);
        q += int32_t(shift);
        t += shift;
    }
    return out;
}

// Sets the fields of an alignment that follow from its CIGAR and a.begin; a column is a pair of bases or a base in a
// gap.
template <class Text>
GPUALIGN_HOST_DEVICE void summarize(const CigarText& cigar, const ChainQuery& query, const ChosenChain& chain,
    const Text& text, const ChainBatch& batch, ChainAlignment& a) {
    const AffineScores& scores = batch.rules.scores;
    a.cigar = uint32_t(cigar.operations - batch.cigars.items);
    a.operations = cigar.count;
    int32_t q = 0;
    int64_t t = a.begin;
    a.score = a.forgiven = a.matches = a.columns = a.anchors = 0;
    for (uint32_t i = 0; i < cigar.count; i++) {
        const uint32_t operation = cigar.operation(i);
        const int32_t length = int32_t(cigar.length(i));
        if (operation == kCigarM) {
            const int32_t mismatches = count_mismatches(query, chain.reverse, q, text, t, length);
            a.matches += length - mismatches;
            a.score += ungapped_score(scores, length, mismatches);
        } else if (operation != kCigarS && operation != kCigarN) {  // an intron costs nothing: a copy of the
            // transcript without introns, such as a pseudogene, is no better
            const int32_t cost = choice_gap_cost(batch.rules, length);
            a.score -= cost;
            a.forgiven += gap_cost(scores, length) - cost;
        }
        if (!skips_reference(operation)) q += length;
        if (operation == kCigarM || skips_reference(operation)) t += length;
        if (operation != kCigarS && operation != kCigarN) a.columns += length;
    }
    a.end = t;
    if (!cigar.count) return;
    a.query_begin = int32_t(clipped_bases(cigar.operations[0]));
    a.query_end = query.length() - (cigar.count > 1 ? int32_t(clipped_bases(cigar.operations[cigar.count - 1])) : 0);
    for (uint32_t i = 0; i < chain.anchor_count; i++) {
        const int32_t at = anchor_query(chain.anchors[i]);
        a.anchors += at >= a.query_begin && at + batch.rules.k <= a.query_end;
    }
}

// Builds the alignments of a chain whose DP tasks are done: none, one, or, if it was cut, several.
template <class Text> class ChainFinisher {
public:
    GPUALIGN_HD ChainFinisher(
        const ChainBatch& batch, const Text& text, const ChainQuery& query, ChosenChain& chain, uint32_t number)
        : batch_(batch), text_(text), query_(query), chain_(chain), number_(number),
          points_(batch.points.items + chain.first_point) {}

    GPUALIGN_HOST_DEVICE void run() {
        chain_.alignments = 0;
        chain_.first_alignment = take(batch_.alignments, chain_.runs);
        if (chain_.first_alignment == kNoItem) return;
        const ChainRun* runs = batch_.runs.items + chain_.first_run;
        for (uint32_t r = 0; r < chain_.runs;) r = finish(runs, r);
    }

private:
    GPUALIGN_HD ChainAlignment& next() { return batch_.alignments.items[chain_.first_alignment + chain_.alignments]; }

    // Adds run r, or its two sides if one of them is worth as much; returns the next run.
    GPUALIGN_HD uint32_t finish(const ChainRun* runs, uint32_t r) {
        const uint32_t first = chain_.alignments;
        const ChainAlignment whole = align(runs[r]);
        int32_t best = 0;
        for (r++; r < chain_.runs && runs[r].side; r++) {
            next() = align(runs[r]);
            best = max(best, worth(next()));
            if (next().score >= batch_.rules.min_score) chain_.alignments++;
        }
        if (worth(whole) > best) {
            chain_.alignments = first;
            next() = whole;
            if (whole.score >= batch_.rules.min_score) chain_.alignments++;
        }
        return r;
    }

    // Score plus the clip penalties saved at the ends of the read that it reaches.
    GPUALIGN_HD int32_t worth(const ChainAlignment& a) const {
        return a.score + ((a.query_begin == 0) + (a.query_end == query_.length())) * batch_.rules.scores.clip_penalty;
    }

    GPUALIGN_HD const BandTask& task(uint32_t round, uint32_t number) const {
        return batch_.tasks[round].items[number];
    }

    GPUALIGN_HOST_DEVICE ChainAlignment align(const ChainRun& run) {
        ChainAlignment a{};
        a.chain = number_;
        uint32_t capacity = 4;
        for_each_task(run, [&](const BandTask& task) { capacity += task.operations; });
        capacity += run.last_point - run.first_point;
        const uint32_t at = take(batch_.cigars, 3 * capacity);
        if (at == kNoItem) return a;
        CigarText cigar{batch_.cigars.items + at, 0};
        a.begin = assemble(run, cigar);
        a.begin += trim_gaps(cigar);
        cigar = left_align(cigar, query_, chain_.reverse, text_, a.begin, batch_.cigars.items + at + capacity);
        summarize(cigar, query_, chain_, text_, batch_, a);
        return a;
    }

    template <class Visit> GPUALIGN_HD void for_each_task(const ChainRun& run, Visit&& visit) const {
        if (run.left != kNoItem) visit(task(run.left_round, run.left));
        for (uint32_t p = run.first_point; p < run.last_point; p++)
            if (points_[p].after.task < kBrokenSegment) visit(task(0, points_[p].after.task));
        visit(task(run.right_round, run.right));
    }

    // Concatenates the run's CIGAR; returns where it begins on the reference.
    GPUALIGN_HD int64_t assemble(const ChainRun& run, CigarText& cigar) const {
        const auto append = [&](const BandTask& task) {
            const uint32_t* operations = batch_.cigars.items + task.cigar;
            for (uint32_t o = 0; o < task.operations; o++) cigar.push(operations[o] & 15, operations[o] >> 4);
        };
        int64_t begin = points_[run.first_point].reference;
        if (run.left != kNoItem) {
            const BandTask& left = task(run.left_round, run.left);
            cigar.push(kCigarS, uint32_t(left.row));
            append(left);
            begin = left.begin;
        } else {
            cigar.push(kCigarS, uint32_t(points_[run.first_point].query));
        }
        for (uint32_t p = run.first_point; p < run.last_point; p++) {
            if (points_[p].after.task == kDiagonalSegment)
                cigar.push(kCigarM, uint32_t(points_[p + 1].query - points_[p].query));
            else append(task(0, points_[p].after.task));
        }
        const BandTask& right = task(run.right_round, run.right);
        append(right);
        cigar.push(kCigarS, uint32_t(query_.length() - int32_t(right.row) - right.rows));
        return begin;
    }

    const ChainBatch& batch_;
    const Text& text_;
    const ChainQuery query_;
    ChosenChain& chain_;
    const uint32_t number_;
    const ChainPoint* points_;
};

}  // namespace gpualign
