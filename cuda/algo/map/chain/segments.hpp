// From a chain to banded DP tasks between its anchors and at both ends, and to where it is cut.
#pragma once
#include "algo/map/chain/anchors.hpp"
#include "algo/map/chain/gaps.hpp"
#include "algo/map/chain/introns.hpp"
#include "algo/map/chain/spliced_ends.hpp"
#include "algo/map/sam_codes.hpp"

namespace gpualign {

constexpr int32_t kLongReadGap = 10;                 // minimum length of a doubtful gap in a long read
constexpr int32_t kLongReadEvent =
    1000;  // gaps of a long read longer than this cost no more when alignments are chosen
constexpr int32_t kLongestDiagonal = 1 << 16;        // longest diagonal that is compared base by base

// Gap cost when alignments are chosen. In a long read a very long gap is one event of any length.
GPUALIGN_HD int32_t choice_gap_cost(const ChainRules& rules, int32_t length) {
    return gap_cost(rules.scores, rules.min_anchors > 1 ? min(length, kLongReadEvent) : length);
}

// Rows [from, from + rows) of the read on the diagonals `diagonal` + [first - margin, last + margin], pinned to the
// first diagonal at the begin.
GPUALIGN_HD BandTask band_task(const ChosenChain& chain, int32_t from, int32_t rows, int64_t diagonal, int32_t first,
    int32_t last, int32_t margin) {
    BandTask task{};
    task.row = from;
    task.rows = rows;
    task.band = (last - first + 2 * margin + 16) / 16 * 16;  // few different widths, so that vector lanes fill
    task.diagonal = diagonal + from + first - margin;
    task.begin_pin = margin - first;
    task.end_pin = kFreeEnd;
    task.read = chain.read;
    task.contig = chain.contig;
    task.reverse = chain.reverse;
    return task;
}

GPUALIGN_HD int32_t band_margin(int32_t length) { return min(16 + length / 8, 256); }

GPUALIGN_HD uint32_t add_task(const Arena<BandTask>& tasks, const BandTask& task) {
    const uint32_t number = take(tasks, 1);
    if (number != kNoItem) tasks.items[number] = task;
    return number;
}

// Task that extends an alignment to the left of a point, at most to base `from`.
GPUALIGN_HD uint32_t left_end(const ChainRules& rules, const ChosenChain& chain, const ChainPoint& point, int32_t from,
    const Arena<BandTask>& tasks) {
    const int32_t length = min(point.query - from, rules.reach);
    if (!length) return kNoItem;
    BandTask task =
        band_task(chain, point.query - length, length, point.reference - point.query, 0, 0, band_margin(length));
    task.end_pin = task.begin_pin;
    task.begin_pin = kFreeEnd;
    return add_task(tasks, task);
}
GPUALIGN_HD uint32_t right_end(const ChainRules& rules, const ChosenChain& chain, const ChainPoint& point, int32_t to,
    const Arena<BandTask>& tasks) {
    const int32_t length = min(to - point.query, rules.reach);
    return add_task(
        tasks, band_task(chain, point.query, length, point.reference - point.query, 0, 0, band_margin(length)));
}

// Finishes the task of an end that is aligned on its diagonal: so many bases next to the point, with `mismatches`; the
// others are clipped. Called by one lane.
GPUALIGN_HD void align_ungapped(
    const ChainBatch& batch, bool left, const ChainPoint& point, int32_t bases, int32_t mismatches, BandTask& task) {
    const uint32_t clipped = uint32_t(task.rows - bases), count = clipped ? 2 : 1, at = take(batch.cigars, count);
    if (at == kNoItem) return;
    batch.cigars.items[at + (left && clipped)] = uint32_t(bases) << 4 | kCigarM;
    if (clipped) batch.cigars.items[at + !left] = clipped << 4 | kCigarS;
    task.begin = left ? point.reference - bases : point.reference;
    task.score = ungapped_score(batch.rules.scores, bases, mismatches);
    task.cigar = at;
    task.operations = count;
}

// Sets which bases of the read match without an edit next to the first and to the last anchor of a chain.
template <class Text>
GPUALIGN_HOST_DEVICE void find_exact(
    const ChainRules& rules, const ChainQuery& query, const Text& text, ChosenChain& chain) {
    const uint64_t first = chain.anchors[0], last = chain.anchors[chain.anchor_count - 1];
    const int32_t begin = anchor_query(first), end = anchor_query(last) + rules.k;
    const int64_t left = anchor_reference(first), right = anchor_reference(last) + rules.k;
    const int64_t before = left - text.contig_begin(chain.contig), after = text.contig_begin(chain.contig + 1) - right;
    chain.exact_begin = begin - matching_bases(int32_t(before < begin ? before : begin), [&](int32_t i) {
        return mismatches_before(query, chain.reverse, begin - i, text, left - i);
    });
    const int32_t rest = query.length() - end;
    chain.exact_end = end + matching_bases(int32_t(after < rest ? after : rest), [&](int32_t i) {
        return mismatches_after(query, chain.reverse, end + i, text, right + i);
    });
}

// Whether a short read goes on, where a chain's exact bases end, in those of another of its best chains, and not at all
// on the chain's own diagonal: both pieces together explain it there.
constexpr uint32_t kBestChains = 8;
constexpr int32_t kSharedByChance = 8;  // bases that two such pieces may share

template <class Text>
GPUALIGN_HOST_DEVICE bool goes_on_elsewhere(const ChainBatch& batch, const Text& text, const ChainQuery& query,
    const ChosenChain& chain, bool left, const ChainPoint& point) {
    const ChainRead& state = batch.state[chain.read];
    const int32_t length = query.length(), edge = left ? chain.exact_begin : chain.exact_end;
    const int64_t at = point.reference + (edge - point.query);
    bool other_piece = false;
    for (uint32_t c = 0; c < state.chosen && c < kBestChains && !other_piece; c++) {
        const ChosenChain& other = batch.chains.items[state.first_chosen + c];
        if (!other.points) continue;
        const bool same = other.reverse == chain.reverse;
        const int32_t begin = same ? other.exact_begin : length - other.exact_end,
                      end = same ? other.exact_end : length - other.exact_begin;
        other_piece = left ? end >= edge && end <= edge + kSharedByChance && begin + batch.rules.k <= edge
                           : begin <= edge && begin + kSharedByChance >= edge && end >= edge + batch.rules.k;
    }
    if (!other_piece) return false;
    const int64_t within = left ? at - text.contig_begin(chain.contig) : text.contig_begin(chain.contig + 1) - at;
    const int32_t rest = left ? edge : length - edge;
    return !extends_ungapped(batch.rules.scores, int32_t(within < rest ? within : rest), 1, [&](int32_t i) {
        return left ? mismatches_before(query, chain.reverse, edge - i, text, at - i)
                    : mismatches_after(query, chain.reverse, edge + i, text, at + i);
    });
}

// Plans alignments from a point to the read's begin or end over one of the known introns that begin (or end) near it,
// and over `found`, in tasks next to each other: `over` are the first and their number. Called by one lane.
constexpr uint32_t kMaxKnown = 6, kMaxOver = kMaxKnown + 1;
constexpr int32_t kOverMargin = 15, kOverFold = 32;

GPUALIGN_HOST_DEVICE void plan_over_introns(const ChainBatch& batch, const ChosenChain& chain, const ChainQuery& query,
    bool left, const ChainPoint& point, const EndIntron& found, uint32_t (&over)[2]) {
    const KnownIntrons& known = batch.known;
    const int32_t rows = min(left ? point.query : query.length() - point.query, batch.rules.reach);
    over[0] = over[1] = 0;
    if ((!known.count && !found.length) || !rows) return;
    const uint32_t strands = transcript_strands(batch.rules, chain.reverse != uint8_t(query.flipped));
    const int64_t from = left ? point.reference - rows - kOverMargin : point.reference,
                  to = left ? point.reference : point.reference + rows + kOverMargin;
    const KnownSite* const sites = left ? known.ends : known.begins;
    const auto for_each_intron = [&](auto&& visit) {
        uint32_t visited = 0;
        for (uint32_t s = first_site(sites, uint32_t(known.count), from);
            s < known.count && sites[s].position < to && visited < kMaxKnown; s++) {
            const int64_t intron = 1 + (left ? sites[s].position - sites[s].other : sites[s].other - sites[s].position);
            if (intron >= kOverFold && intron <= batch.rules.introns.longest && (strands & uint32_t(sites[s].strand)))
                visit(visited++, sites[s].strand, intron);
        }
        if (found.length >= kOverFold) visit(visited++, found.strand, found.length);
        return visited;
    };
    const uint32_t count = for_each_intron([](uint32_t, int64_t, int64_t) {});
    if (!count) return;
    const uint32_t first = take(batch.tasks[0], count);
    if (first == kNoItem) return;
    for_each_intron([&](uint32_t number, int64_t strand, int64_t intron) {
        BandTask task = band_task(chain, left ? point.query - rows : point.query, rows,
            point.reference - point.query - (left ? intron : 0), 0, 0, kOverMargin);
        task.fold = kOverFold;
        task.jump = int32_t(intron) - kOverFold;
        task.band = 2 * kOverFold;
        task.begin_pin = left ? kFreeEnd : kOverMargin;
        task.end_pin = left ? kOverFold + kOverMargin : kFreeEnd;
        task.transcript = uint8_t(strand);
        task.intron = batch.rules.introns.open;
        batch.tasks[0].items[first + number] = task;
    });
    over[0] = first;
    over[1] = count;
}

// Plans the alignment from a point to the read's begin or end. It takes no DP if the diagonal is best: any gap, or a
// clipped mismatch at the end, costs more than the mismatches; or if the rest of a short read belongs elsewhere.
template <class Text>
GPUALIGN_HOST_DEVICE uint32_t plan_end(const ChainBatch& batch, const Text& text, const ChainQuery& query,
    const ChosenChain& chain, bool left, const ChainPoint& point) {
    const AffineScores& s = batch.rules.scores;
    const uint32_t number = left ? left_end(batch.rules, chain, point, 0, batch.tasks[0])
                                 : right_end(batch.rules, chain, point, query.length(), batch.tasks[0]);
    if (number == kNoItem || batch.rules.min_anchors > 1) return number;
    BandTask& task = batch.tasks[0].items[number];
    const int32_t exact = left ? point.query - chain.exact_begin : chain.exact_end - point.query;
    if (exact < task.rows && goes_on_elsewhere(batch, text, query, chain, left, point)) {
        align_ungapped(batch, left, point, exact, 0, task);
        return number;
    }
    const int64_t begin = left ? point.reference - task.rows : point.reference;
    if (begin < text.contig_begin(chain.contig) || begin + task.rows > text.contig_begin(chain.contig + 1))
        return number;
    const int32_t mismatches =
        exact == task.rows ? 0 : count_mismatches(query, chain.reverse, int32_t(task.row), text, begin, task.rows);
    if (mismatches * (s.match + s.mismatch) < min(gap_cost(s, 1), s.match + s.clip_penalty))
        align_ungapped(batch, left, point, task.rows, mismatches, task);
    return number;
}

// Any other path between two points on one diagonal has an insertion, a deletion and a match less.
GPUALIGN_HD bool diagonal_is_best(const AffineScores& s, int32_t mismatches) {
    return mismatches * (s.match + s.mismatch) <= s.match + 2 * gap_cost(s, 1);
}

template <class Text> GPUALIGN_HOST_DEVICE int32_t count_ambiguous(const Text& text, int64_t begin, int64_t end) {
    int32_t n = 0;
    for (int64_t i = begin; i < end; i += kBasesPerWord) {
        const uint32_t within = end - i < kBasesPerWord ? (1u << (end - i)) - 1 : ~0u;
        n += int32_t(count_bits(~text.acgt(i) & within));
    }
    return n;
}

// Plans the alignment between two points that one or more introns separate: a task for each strand that their
// transcript may have (choose_transcript()). If the whole band is too large, none but one intron is looked for.
GPUALIGN_HOST_DEVICE ChainSegment plan_introns(const ChainRules& rules, const ChosenChain& chain,
    const ChainQuery& query, const ChainPoint& from, const ChainPoint& to, const Arena<BandTask>& tasks) {
    const int32_t rows = to.query - from.query, margin = band_margin(rows),
                  difference = int32_t(to.reference - from.reference) - rows;
    BandTask task = band_task(chain, from.query, rows, from.reference - from.query, 0, difference, margin);
    task.end_pin = task.begin_pin + difference;
    task.intron = intron_cost(rules.introns, difference);
    if (int64_t(max(rows, kFewestRows)) * task.band > rules.max_cells) {
        task.fold = (2 * margin + 16) / 16 * 16;
        task.jump = difference - task.fold;
        task.band = 2 * task.fold;
        task.end_pin = task.fold + margin;
    }
    const uint32_t strands = transcript_strands(rules, chain.reverse != uint8_t(query.flipped)),
                   both = kForwardTranscript | kReverseTranscript;
    const uint32_t number = take(tasks, strands == both ? 2 : 1);
    if (number == kNoItem) return {number, 0, 0};
    task.transcript = uint8_t(strands == both ? uint32_t(kForwardTranscript) : strands);
    tasks.items[number] = task;
    task.transcript = kReverseTranscript;
    if (strands == both) tasks.items[number + 1] = task;
    return {number, 0, task.intron};
}

// Plans the alignment between two points. Rows are the shorter of read and reference, as few rows and a wide band are
// the fewest cells.
template <class Text>
GPUALIGN_HOST_DEVICE ChainSegment plan_segment(const ChainRules& rules, const ChosenChain& chain,
    const ChainQuery& query, const Text& text, const ChainPoint& from, const ChainPoint& to,
    const Arena<BandTask>& tasks) {
    const int32_t on_read = to.query - from.query, on_reference = int32_t(to.reference - from.reference);
    const int32_t difference = on_reference - on_read;
    if (is_intron(rules, on_reference, on_read)) return plan_introns(rules, chain, query, from, to, tasks);
    if (difference == 0 && on_read <= kLongestDiagonal) {
        const int32_t mismatches = count_mismatches(query, chain.reverse, from.query, text, from.reference, on_read);
        if (diagonal_is_best(rules.scores, mismatches))
            return {kDiagonalSegment, ungapped_score(rules.scores, on_read, mismatches), 0};
    }
    const int32_t margin = band_margin(min(on_read, on_reference)), wider = difference < 0 ? -difference : difference;
    BandTask task = band_task(chain, from.query, on_read, from.reference - from.query, 0, wider, margin);
    if (difference < 0) {
        task.swapped = 1;
        task.row = from.reference;
        task.rows = on_reference;
        task.diagonal = from.query - margin;
    }
    task.end_pin = task.begin_pin + wider;
    if (int64_t(task.rows) * task.band > rules.max_cells) return {kBrokenSegment, 0, 0};
    const int32_t forgiven = (wider ? gap_cost(rules.scores, wider) : 0) +
                             count_ambiguous(text, from.reference, to.reference) * rules.scores.mismatch;
    return {add_task(tasks, task), 0, forgiven};
}

// Chooses the points of an alignment among the middles of anchors, so that it may deviate from the chain at the ends
// of anchors: at most `step` bases apart, and both sides of longer gaps. On the two sides of an intron it is the outer
// ends of the anchors, as bases of both exons may be the same. Writes them if `points` is not null; returns
// their number.
template <class Group>
GPUALIGN_HOST_DEVICE uint32_t choose_points(
    const Group& group, const ChainRules& rules, const ChosenChain& chain, ChainPoint* points) {
    InTurn<Group, uint64_t> anchors(group, chain.anchors, chain.anchor_count);
    const int32_t middle = rules.k / 2;
    const auto point = [&](uint32_t a) {
        const uint64_t anchor = anchors[a];
        return ChainPoint{anchor_reference(anchor) + middle, anchor_query(anchor) + middle, {kBrokenSegment, 0, 0}};
    };
    const auto intron = [&](const ChainPoint& a, const ChainPoint& b) {
        return is_intron(rules, b.reference - a.reference, b.query - a.query);
    };
    // moved along its diagonal, but not to `last` or before it
    const auto moved = [&](ChainPoint p, const ChainPoint& last, bool is_first, int32_t bases) {
        const int64_t on_read = last.query - p.query, on_reference = last.reference - p.reference,
                      after = 1 + (on_read > on_reference ? on_read : on_reference);
        const int32_t by = is_first || after < bases ? bases : int32_t(after);
        p.query += by;
        p.reference += by;
        return p;
    };
    const auto near = [&](const ChainPoint& a, const ChainPoint& b) {
        return b.query - a.query < rules.step && b.reference - a.reference < rules.step;
    };
    ChainPoint last{}, here = point(0), placed{};
    bool after_intron = false;
    uint32_t n = 0;
    for (uint32_t a = 0; a < chain.anchor_count; a++) {
        const ChainPoint next = a + 1 < chain.anchor_count ? point(a + 1) : here;
        if (a == 0 || a + 1 == chain.anchor_count || !near(last, here) || !near(here, next)) {
            const bool before_intron = a + 1 < chain.anchor_count && intron(here, next);
            placed = moved(here, placed, n == 0,
                before_intron == after_intron ? 0
                : before_intron               ? -middle
                                              : rules.k - 1 - middle);
            if (points && group.lane() == 0) points[n] = placed;
            n++;
            last = here;
        }
        after_intron = a + 1 < chain.anchor_count && intron(here, next);
        here = next;
    }
    return n;
}

constexpr int32_t kLongDifference =
    30;  // difference between the bases on read and reference from which on a gap is long

GPUALIGN_HD int64_t difference(const ChainPoint& from, const ChainPoint& to) {
    const int64_t d = to.reference - from.reference - (to.query - from.query);
    return d < 0 ? -d : d;
}
GPUALIGN_HD int64_t distance(const ChainPoint& from, const ChainPoint& to) {
    const int64_t on_read = to.query - from.query, on_reference = to.reference - from.reference;
    return on_read < on_reference ? on_read : on_reference;
}

// Drops the points between two long gaps that are closer to each other than they are long, as minimap2 does: chance
// hits in an insertion, or the next copy of a repeat. The DP decides there. Called by one lane; returns the number of
// points kept.
GPUALIGN_HOST_DEVICE uint32_t join_long_gaps(const ChainRules& rules, ChainPoint* points, uint32_t n) {
    const auto too_far = [&](const ChainPoint& from, const ChainPoint& to) {
        const int64_t band = difference(from, to) + 2 * band_margin(rules.max_gap) + 16;
        return to.query - from.query > rules.max_gap / 2 || to.reference - from.reference > rules.max_gap / 2 ||
               distance(from, to) * band > rules.max_cells;
    };
    uint32_t kept = 1;
    for (uint32_t p = 0, next; p + 1 < n; p = next) {
        next = p + 1;
        int64_t gap = difference(points[p], points[next]);
        for (uint32_t q = p + 1; gap >= kLongDifference && q + 1 < n && !too_far(points[p], points[q + 1]); q++) {
            const int64_t other = difference(points[q], points[q + 1]);
            if (other < kLongDifference) continue;
            if (distance(points[next], points[q]) > gap + other) break;
            next = q + 1;
            gap = other;
        }
        points[kept++] = points[next];
    }
    return kept;
}

// Plans a chosen chain: its points and the segments between them.
template <class Group, class Text>
GPUALIGN_HOST_DEVICE void plan_chain(
    const Group& group, const ChainBatch& batch, const Text& text, const ChainQuery& query, ChosenChain& chain) {
    const uint32_t count = choose_points(group, batch.rules, chain, nullptr);
    const uint32_t first = group.from(group.lane() == 0 ? take(batch.points, count) : 0u, 0);
    if (first != kNoItem) choose_points(group, batch.rules, chain, batch.points.items + first);
    group.sync();  // all lanes have seen that the chain is to be planned
    if (group.lane() == 0) {
        const bool joined = first != kNoItem && has_long_gaps(batch.rules.scores);
        chain.points = joined ? join_long_gaps(batch.rules, batch.points.items + first, count) : count;
        chain.first_point = first;
    }
    group.sync();
    if (chain.first_point == kNoItem) return;
    ChainPoint* points = batch.points.items + chain.first_point;
    for (uint32_t p = group.lane(); p + 1 < chain.points; p += Group::kLanes)
        points[p].after = plan_segment(batch.rules, chain, query, text, points[p], points[p + 1], batch.tasks[0]);
    group.sync();
}

// Decides on which strand a chain's introns have their signals, by the scores of narrow bands, and drops the tasks of
// the other one. Called by one lane.
GPUALIGN_HOST_DEVICE void choose_transcript(const ChainBatch& batch, ChosenChain& chain) {
    if (!chain.points || chain.first_point == kNoItem) return;
    ChainPoint* const points = batch.points.items + chain.first_point;
    BandTask* const tasks = batch.tasks[0].items;
    const auto for_each_intron = [&](auto&& visit) {
        for (uint32_t p = 0; p + 1 < chain.points; p++)
            if (points[p].after.task < kBrokenSegment && tasks[points[p].after.task].transcript) visit(points[p].after);
    };
    const bool reverse = chain.reverse != uint8_t(batch.state[chain.read].flipped & 1);
    const uint32_t strands = transcript_strands(batch.rules, reverse);
    if (strands != (kForwardTranscript | kReverseTranscript)) {
        for_each_intron([&](const ChainSegment&) { chain.transcript = uint8_t(strands); });
        return;
    }
    int64_t lead = 0;
    for_each_intron(
        [&](const ChainSegment& segment) { lead += tasks[segment.task].score - tasks[segment.task + 1].score; });
    for_each_intron([&](ChainSegment& segment) {
        BandTask& dropped = tasks[segment.task + (lead < 0 ? 0 : 1)];
        if (!dropped.operations) dropped.operations = 1;  // no later pass aligns it
        if (lead < 0) segment.task++;
        if (lead) chain.transcript = lead < 0 ? kReverseTranscript : kForwardTranscript;
    });
}

// Whether a chain may be worth a record. Chains on a single diagonal are mostly due to chance; they are aligned if
// their score suffices without a gap, or with one, as in gapped BLAST (Altschul et al. 1997). Called by one lane.
template <class Text>
GPUALIGN_HOST_DEVICE bool is_promising(
    const ChainRules& rules, const ChosenChain& chain, const ChainQuery& query, const Text& text) {
    const uint64_t first = chain.anchors[0], last = chain.anchors[chain.anchor_count - 1];
    const int64_t diagonal = anchor_reference(first) - anchor_query(first);
    for (uint32_t a = 1; a < chain.anchor_count; a++)
        if (anchor_reference(chain.anchors[a]) - anchor_query(chain.anchors[a]) != diagonal) return true;
    const int32_t begin = anchor_query(first), end = anchor_query(last) + rules.k;
    const int64_t left = text.contig_begin(chain.contig), right = text.contig_begin(chain.contig + 1);
    const auto within = [](int64_t a, int64_t b) { return int32_t(a < b ? a : b); };
    const int32_t enough = rules.min_score - gap_cost(rules.scores, 1);
    int32_t score = (end - begin) * rules.scores.match;  // upper bound
    if (score >= enough) return true;
    score += ungapped_extension(rules.scores, within(query.length() - end, right - diagonal - end),
        [&](int32_t i) { return query.differing(end + i, chain.reverse, text.bases(diagonal + end + i)); });
    if (score >= enough) return true;
    score += ungapped_extension(rules.scores, within(begin, diagonal + begin - left), [&](int32_t i) {
        return query.differing(query.length() - begin + i, !chain.reverse, bases_before(text, diagonal + begin - i));
    });
    return score >= enough;
}

// Cuts a chain into runs of segments that are good local alignments: a run ends where its score drops to zero, as in
// Kadane's algorithm, or by more than zdrop below its maximum, as in BLAST's X-drop. Called by one lane.
class ChainCutter {
public:
    GPUALIGN_HD ChainCutter(const ChainBatch& batch, ChosenChain& chain, int32_t length)
        : batch_(batch), rules_(batch.rules), chain_(chain), length_(length),
          points_(batch.points.items + chain.first_point) {}

    GPUALIGN_HOST_DEVICE void run() {
        const uint32_t last = chain_.points - 1;
        for (uint32_t s = 0; s < last; s++) {
            ChainSegment& segment = points_[s].after;
            if (!is_task(segment)) continue;
            segment.score = task(segment.task).score;
            if (points_[s + 1].query - points_[s].query > rules_.query_gap && fits_elsewhere(s))
                segment.task = kBrokenSegment;
        }
        chain_.left = best_end(true, chain_.left, chain_.left_over);
        chain_.right = best_end(false, chain_.right, chain_.right_over);
        chain_.runs = 0;
        for_each_run([&](uint32_t, uint32_t) { chain_.runs++; }, [&](uint32_t) { chain_.runs += 2; });
        chain_.first_run = take(batch_.runs, chain_.runs);
        if (chain_.first_run == kNoItem) return;
        ChainRun* next = batch_.runs.items + chain_.first_run;
        ChainRun whole{};
        for_each_run([&](uint32_t from, uint32_t to) { *next++ = whole = make_run(from, to); },
            [&](uint32_t s) {
                *next++ = {whole.first_point, s, whole.left, add_right(s, length_), whole.left_round, 1, 1};
                *next++ = {s + 1, whole.last_point, add_left(s + 1, 0), whole.right, 1, whole.right_round, 1};
            });
    }

private:
    // The task of an end that scores most, the first if several do: its own, or one over an intron of the transcript's
    // strand.
    GPUALIGN_HD uint32_t best_end(bool left, uint32_t number, const uint32_t (&over)[2]) {
        uint32_t best = number;
        const auto worth = [&](uint32_t t) {  // with the clip penalty that reaching the read's end saves
            const uint32_t outermost = batch_.cigars.items[task(t).cigar + (left ? 0 : task(t).operations - 1)];
            return task(t).score + (clipped_bases(outermost) ? 0 : rules_.scores.clip_penalty);
        };
        for (uint32_t t = over[0]; t < over[0] + over[1]; t++)
            if (worth(t) > worth(best) && (!chain_.transcript || task(t).transcript == chain_.transcript) &&
                (rules_.min_anchors > 1 || overhangs(task(t), left)))
                best = t;
        if (best != number) chain_.transcript = task(best).transcript;
        return best;
    }
    // Whether enough bases of a short read are aligned beyond the outermost intron of an end, if it has one.
    GPUALIGN_HD bool overhangs(const BandTask& end, bool left) const {
        const uint32_t* const cigar = batch_.cigars.items + end.cigar;
        int32_t bases = 0;
        for (uint32_t o = 0; o < end.operations; o++) {
            const uint32_t operation = cigar[left ? o : end.operations - 1 - o];
            if ((operation & 15) == kCigarN) return bases >= kMinKnownOverhang;
            if ((operation & 15) == kCigarM) bases += int32_t(operation >> 4);
        }
        return true;
    }
    GPUALIGN_HD static bool is_task(const ChainSegment& segment) { return segment.task < kBrokenSegment; }
    GPUALIGN_HD const BandTask& task(uint32_t number) const { return batch_.tasks[0].items[number]; }

    // Whether another chain, that of an inversion for example, fits in a segment without anchors and scores more there
    // by at least min_score. The margin is needed in repeats, where another copy often matches a little better.
    GPUALIGN_HD bool fits_elsewhere(uint32_t s) const {
        const ChainRead& state = batch_.state[chain_.read];
        int32_t begin = points_[s].query, end = points_[s + 1].query;
        if (chain_.reverse) {
            const int32_t first = begin;
            begin = length_ - end;
            end = length_ - first;
        }
        for (uint32_t c = state.first_chosen; c < state.first_chosen + state.chosen; c++) {
            const ChosenChain& other = batch_.chains.items[c];
            const int32_t first = anchor_query(other.anchors[0]),
                          last = anchor_query(other.anchors[other.anchor_count - 1]) + rules_.k;
            const bool within =
                other.reverse ? length_ - last >= begin && length_ - first <= end : first >= begin && last <= end;
            const bool better = int64_t(other.score) * rules_.scores.match > points_[s].after.score + rules_.min_score;
            if (within && better && !is_inserted(s, other)) return true;
        }
        return false;
    }
    // Whether another chain's bases are an insertion, as of a mobile element: the reference has less than half as many
    // bases there as the read. A tandem duplication, or an insertion that has a unique source, gets a record of its
    // own instead.
    GPUALIGN_HD bool is_inserted(uint32_t s, const ChosenChain& other) const {
        const int64_t from = points_[s].reference, to = points_[s + 1].reference,
                      inserted = points_[s + 1].query - points_[s].query - (to - from);
        const int64_t first = anchor_reference(other.anchors[0]),
                      last = anchor_reference(other.anchors[other.anchor_count - 1]) + rules_.k;
        const bool tandem = other.contig == chain_.contig && first - inserted <= to && from <= last + inserted;
        return inserted > to - from && !tandem && !(other.alone && 4 * (last - first) > inserted);
    }
    GPUALIGN_HD int32_t left_score() const { return chain_.left == kNoItem ? 0 : task(chain_.left).score; }
    GPUALIGN_HD int32_t right_score() const { return task(chain_.right).score; }
    GPUALIGN_HD uint32_t add_left(uint32_t p, int32_t from) const {
        return left_end(rules_, chain_, points_[p], from, batch_.tasks[1]);
    }
    GPUALIGN_HD uint32_t add_right(uint32_t p, int32_t to) const {
        return right_end(rules_, chain_, points_[p], to, batch_.tasks[1]);
    }

    // Visits each run, then its doubtful segments.
    template <class Run, class Doubt> GPUALIGN_HD void for_each_run(Run&& visit_run, Doubt&& visit_doubt) {
        const uint32_t last = chain_.points - 1;
        for (uint32_t from = 0, to; from <= last; from = to + 1) {
            to = run_end(from);
            if (to == from && from != 0 && from != last) continue;
            visit_run(from, to);
            if (rules_.doubt) visit_doubtful(from, to, visit_doubt);
        }
    }

    GPUALIGN_HD int32_t excess_between(const ChainPoint& from, const ChainPoint& to) const {
        const int32_t difference = int32_t(to.reference - from.reference) - (to.query - from.query);
        return gap_excess(rules_.scores, rules_.k, difference < 0 ? -difference : difference);
    }

    GPUALIGN_HD uint32_t run_end(uint32_t from) const {
        const uint32_t last = chain_.points - 1;
        int64_t sum = from == 0 ? left_score() : 0, best = sum, forgiven = 0;
        uint32_t end = from;
        for (uint32_t p = from + 1; p <= last; p++) {
            const ChainSegment& segment = points_[p - 1].after;
            if (segment.task == kBrokenSegment) break;
            sum += segment.score + excess_between(points_[p - 1], points_[p]);
            forgiven += segment.forgiven;
            if (sum + (p == last ? right_score() : 0) > best) {
                best = sum;
                end = p;
                forgiven = 0;
            } else if (sum <= 0 || sum + forgiven < best - rules_.zdrop) {
                break;
            }
        }
        return end;
    }

    GPUALIGN_HD ChainRun make_run(uint32_t from, uint32_t to) const {
        ChainRun run{from, to, chain_.left, chain_.right, 0, 0, 0};
        if (from != 0) {
            run.left = add_left(from, points_[from - 1].query);
            run.left_round = 1;
        }
        if (to != chain_.points - 1) {
            run.right = add_right(to, points_[to + 1].query);
            run.right_round = 1;
        }
        return run;
    }

    // Visits the doubtful gaps of a run, on whose sides the read may align better elsewhere, for example to the next
    // copy of a tandem repeat, or not at all.
    template <class Doubt> GPUALIGN_HD void visit_doubtful(uint32_t from, uint32_t to, Doubt&& visit) const {
        int32_t before = from == 0 ? left_score() : 0, after = to == chain_.points - 1 ? right_score() : 0;
        for (uint32_t s = from; s < to; s++) after += points_[s].after.score;
        for (uint32_t s = from; s < to; s++) {
            after -= points_[s].after.score;
            if (is_doubtful(points_[s].after, before, after)) visit(s);
            before += points_[s].after.score;
        }
    }

    // Whether a segment costs more than a single gap of its length (long reads have many errors: only long gaps are
    // tested), or the gap costs as much as one side scores; the cost of chaining counts unless the alignment would
    // lose half of the other side's score. `before` and `after` are the scores of both sides.
    GPUALIGN_HD bool is_doubtful(const ChainSegment& segment, int32_t before, int32_t after) const {
        if (!is_task(segment)) return false;
        const BandTask& task = this->task(segment.task);
        const uint32_t* cigar = batch_.cigars.items + task.cigar;
        int32_t matches = 0, gap = 0;
        for (uint32_t o = 0; o < task.operations; o++) {
            const int32_t length = int32_t(cigar[o] >> 4);
            if ((cigar[o] & 15) == kCigarM) matches += length * rules_.scores.match;
            else gap += (cigar[o] & 15) == kCigarD ? length : -length;
        }
        const int32_t bases = gap < 0 ? -gap : gap, cost = gap ? choice_gap_cost(rules_, bases) : 0;
        if (rules_.min_anchors > 1) {
            if (bases < kLongReadGap) return false;
        } else if (segment.score < matches - cost - rules_.doubt) {
            return true;
        }
        if (!gap) return false;
        before += int32_t(cigar[0] >> 4) * rules_.scores.match;
        after += int32_t(cigar[task.operations - 1] >> 4) * rules_.scores.match;
        const int32_t lesser = min(before, after), greater = max(before, after);
        return lesser < cost + rules_.doubt &&
               (lesser < cost - gap_excess(rules_.scores, rules_.k, bases) + rules_.doubt ||
                   2 * (lesser - cost) < -greater);
    }

    const ChainBatch& batch_;
    const ChainRules& rules_;
    ChosenChain& chain_;
    const int32_t length_;
    ChainPoint* points_;
};

}  // namespace gpualign
