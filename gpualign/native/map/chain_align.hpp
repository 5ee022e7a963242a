// Chains to local alignments: banded dynamic programs between their anchors and at both ends.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "map/chain.hpp"
#include "map/cigar_path.hpp"

namespace gpualign {

struct ChainAlignParams {
    AffineScores scores;
    int32_t step;        // bases between the points that the alignment is made to pass, at least
    int32_t reach;       // bases an end is extended by
    int32_t zdrop;        // an alignment whose score falls by more (long gaps and ambiguous bases are forgiven) is two
    int32_t min_score;   // of a local alignment
    int32_t doubt = 0;   // where a gap earns no more than that, its sides are aligned by themselves, too; 0: they never are
};

// A chain to align.
struct ChainTask {
    const uint8_t* codes;  // of the read, on the strand of the chain
    int32_t length;
    uint32_t contig;
    const Anchor *first, *last;
};

struct LocalAlignment {
    size_t task;
    int64_t begin, end;               // on the reference
    int32_t query_begin, query_end;   // on the strand of the chain
    int32_t anchors;                  // of the chain, within the alignment
    PathSummary path;
    std::vector<uint32_t> cigar;      // with S at the ends
};

class ChainAligner {
public:
    ChainAligner(const ReferenceView& reference, int k, const ChainAlignParams& params)
        : reference_(reference), k_(k), params_(params), aligner_(reference, params.scores) {}

    // Local alignments of all chains, in their order. A chain gives none, one, or, where its score drops in between, several.
    void run(const std::vector<ChainTask>& chains, std::vector<LocalAlignment>& alignments) {
        chains_ = &chains;
        plan();
        aligner_.run(tasks_, results_);
        cut();
        aligner_.run(end_tasks_, end_results_);
        alignments.clear();
        for (size_t r = 0; r < runs_.size();) r = finish(r, alignments);
    }

private:
    struct Point {  // the alignment pairs these bases
        int32_t query;
        int64_t reference;
    };
    // What lies between two points: a diagonal without gaps, or the result of a task, or nothing sensible.
    struct Segment {
        int32_t task;
        int32_t score;
        int32_t forgiven;
    };
    static constexpr int32_t kDiagonal = -1, kBroken = -2, kNothing = -3;  // in place of a task
    struct Plan {
        size_t first_point, last_point;  // points and, one less, segments
        int32_t left, right;             // tasks of the chain's ends
    };
    struct Run {
        size_t chain, first_point, last_point;
        int32_t left, right;  // tasks, from kOwnTask on of end_tasks_
        bool side;            // of a gap of the last run that is none
    };
    static constexpr int64_t kMaxCells = int64_t(1) << 26;  // of one dynamic program, a byte each

    void plan() {
        points_.clear();
        segments_.clear();
        tasks_.clear();
        plans_.clear();
        for (const ChainTask& chain : *chains_) {
            Plan plan{points_.size(), 0, kNothing, kNothing};
            choose_points(chain);
            plan.last_point = points_.size() - 1;
            for (size_t p = plan.first_point; p < plan.last_point; p++)
                segments_.push_back(segment(chain, points_[p], points_[p + 1]));
            segments_.push_back({kBroken, 0, 0});
            plan.left = left_task(chain, points_[plan.first_point], 0, tasks_);
            plan.right = right_task(chain, points_[plan.last_point], chain.length, tasks_);
            plans_.push_back(plan);
        }
    }

    // The middles of anchors, so that an alignment is free to differ from a chain where an anchor ends: a step apart, and
    // both sides of what is longer.
    void choose_points(const ChainTask& chain) {
        const auto near = [&](const Point& a, const Point& b) {
            return b.query - a.query < params_.step && b.reference - a.reference < params_.step;
        };
        const auto point = [&](const Anchor* a) { return Point{a->query() + k_ / 2, a->reference() + k_ / 2}; };
        for (const Anchor* a = chain.first; a < chain.last; a++)
            if (a == chain.first || a + 1 == chain.last || !near(points_.back(), point(a)) || !near(point(a), point(a + 1)))
                points_.push_back(point(a));
    }

    Segment segment(const ChainTask& chain, const Point& from, const Point& to) {
        const int32_t length = to.query - from.query;
        const int32_t difference = int32_t(to.reference - from.reference) - length;
        if (difference == 0 && length <= kLongestDiagonal) {
            const int32_t errors = mismatches(chain.codes + from.query, from.reference, length);
            if (diagonal_is_best(errors)) return {kDiagonal, diagonal_score(length, errors), 0};
        }
        const int32_t margin = margin_of(std::min(length, length + difference));
        AffineTask task = banded(chain, from.query, length, from.reference - from.query, std::min(0, difference), std::max(0, difference), margin);
        task.end_pin = task.begin_pin + difference;
        if (int64_t(task.length) * task.band > kMaxCells) return {kBroken, 0, 0};
        tasks_.push_back(task);
        const int32_t forgiven = std::abs(difference) * params_.scores.gap_extend + ambiguous_bases(from, to) * params_.scores.mismatch;
        return {int32_t(tasks_.size() - 1), 0, forgiven};
    }

    int32_t ambiguous_bases(const Point& from, const Point& to) {
        if (!reference_.has_run(uint64_t(from.reference), uint64_t(to.reference))) return 0;
        text_.resize(size_t(to.reference - from.reference));
        reference_.codes(uint64_t(from.reference), uint64_t(to.reference), text_.data());
        return int32_t(std::count(text_.begin(), text_.end(), kNoBase));
    }
    static constexpr int32_t kLongestDiagonal = 1 << 16;  // bases that are looked at one by one

    // Any other path between two points of one diagonal has an insertion, a deletion and a match less.
    bool diagonal_is_best(int32_t errors) const {
        const AffineScores& s = params_.scores;
        return errors * (s.match + s.mismatch) <= s.match + 2 * (s.gap_open + s.gap_extend);
    }
    int32_t diagonal_score(int32_t length, int32_t errors) const {
        return (length - errors) * params_.scores.match - errors * params_.scores.mismatch;
    }
    int32_t mismatches(const uint8_t* query, int64_t reference, int32_t length) {
        text_.resize(size_t(length));
        reference_.codes(uint64_t(reference), uint64_t(reference + length), text_.data());
        int32_t n = 0;
        for (int32_t i = 0; i < length; i++) n += query[i] != text_[size_t(i)] || query[i] == kNoBase;
        return n;
    }

    static int32_t margin_of(int32_t length) { return std::min(16 + length / 8, 256); }

    // Query bases [from, from + length) on the diagonals `diagonal` + [first - margin, last + margin], begun on the first.
    AffineTask banded(const ChainTask& chain, int32_t from, int32_t length, int64_t diagonal, int32_t first, int32_t last,
                      int32_t margin) const {
        const int32_t band = (last - first + 2 * margin + 16) / 16 * 16;  // few widths, so that lanes fill
        return {chain.codes + from, length, band, diagonal + from + first - margin, reference_.contig_offsets[chain.contig],
                reference_.contig_offsets[chain.contig + 1], margin - first, kFreeEnd};
    }

    // The end before a point, back to query base `from` at most, and the one after a point.
    int32_t left_task(const ChainTask& chain, const Point& point, int32_t from, std::vector<AffineTask>& tasks) const {
        const int32_t length = std::min(point.query - from, params_.reach);
        if (!length) return kNothing;
        AffineTask task = banded(chain, point.query - length, length, point.reference - point.query, 0, 0, margin_of(length));
        std::swap(task.begin_pin, task.end_pin);
        tasks.push_back(task);
        return int32_t(tasks.size() - 1);
    }
    int32_t right_task(const ChainTask& chain, const Point& point, int32_t to, std::vector<AffineTask>& tasks) const {
        const int32_t length = std::min(to - point.query, params_.reach);
        tasks.push_back(banded(chain, point.query, length, point.reference - point.query, 0, 0, margin_of(length)));
        return int32_t(tasks.size() - 1);
    }

    // The runs of segments that make good local alignments: as in Kadane's algorithm a run ends where nothing of its score is
    // left, and as in BLAST's X-drop where it has fallen too far below its best.
    void cut() {
        runs_.clear();
        end_tasks_.clear();
        for (Segment& s : segments_)
            if (s.task >= 0) s.score = results_[size_t(s.task)].score;
        for (size_t c = 0; c < plans_.size(); c++) {
            const Plan& plan = plans_[c];
            for (size_t from = plan.first_point; from <= plan.last_point;) {
                const size_t to = run_end(plan, from);
                if (to > from || from == plan.first_point || from == plan.last_point) {
                    add_run(c, from, to);
                    if (params_.doubt) add_sides(runs_.back());
                }
                from = to + 1;
            }
        }
    }

    size_t run_end(const Plan& plan, size_t from) const {
        int64_t sum = from == plan.first_point && plan.left >= 0 ? results_[size_t(plan.left)].score : 0;
        int64_t best = sum, forgiven = 0;
        size_t end = from;
        for (size_t p = from + 1; p <= plan.last_point; p++) {
            const Segment& segment = segments_[p - 1];
            if (segment.task == kBroken) break;
            sum += segment.score;
            forgiven += segment.forgiven;
            if (sum + (p == plan.last_point ? results_[size_t(plan.right)].score : 0) > best) {
                best = sum;
                end = p;
                forgiven = 0;
            } else if (sum <= 0 || sum + forgiven < best - params_.zdrop) {
                break;
            }
        }
        return end;
    }

    void add_run(size_t c, size_t from, size_t to) {
        const Plan& plan = plans_[c];
        const ChainTask& chain = (*chains_)[c];
        Run run{c, from, to, plan.left, plan.right, false};
        if (from != plan.first_point) run.left = kOwnTask + left_task(chain, points_[from], points_[from - 1].query, end_tasks_);
        if (to != plan.last_point) run.right = kOwnTask + right_task(chain, points_[to], points_[to + 1].query, end_tasks_);
        runs_.push_back(run);
    }
    // The sides of each doubtful gap of a run, each with the rest of the read, which may align better there: beside the
    // next copy of a tandem repeat, or none.
    void add_sides(const Run whole) {
        const Plan& plan = plans_[whole.chain];
        const ChainTask& chain = (*chains_)[whole.chain];
        const size_t from = whole.first_point, to = whole.last_point;
        int32_t before = from == plan.first_point && plan.left >= 0 ? results_[size_t(plan.left)].score : 0;
        int32_t after = to == plan.last_point ? results_[size_t(plan.right)].score : 0;
        for (size_t p = from; p < to; p++) after += segments_[p].score;
        for (size_t p = from; p < to; p++) {
            after -= segments_[p].score;
            if (doubtful(segments_[p], before, after)) {
                const int32_t right = kOwnTask + right_task(chain, points_[p], chain.length, end_tasks_);
                const int32_t left = kOwnTask + left_task(chain, points_[p + 1], 0, end_tasks_);
                runs_.push_back({whole.chain, from, p, whole.left, right, true});
                runs_.push_back({whole.chain, p + 1, to, left, whole.right, true});
            }
            before += segments_[p].score;
        }
    }

    // Whether a stretch costs more than one gap of its length, or its gap as much as one of its sides is worth; `before` and
    // `after` are the scores of the sides without the stretch.
    bool doubtful(const Segment& segment, int32_t before, int32_t after) const {
        if (segment.task < 0) return false;
        const AffineScores& s = params_.scores;
        const Cigar& cigar = results_[size_t(segment.task)].cigar;
        int32_t matches = 0, gap = 0;
        for (const uint32_t entry : cigar) {
            const int32_t length = int32_t(entry >> 4);
            if ((entry & 15) == kCigarM) matches += length * s.match;
            else gap += (entry & 15) == kCigarD ? length : -length;
        }
        const int32_t cost = gap ? s.gap_open + std::abs(gap) * s.gap_extend : 0;
        if (segment.score < matches - cost - params_.doubt) return true;
        const auto outer = [&](uint32_t entry) { return int32_t(entry >> 4) * s.match; };
        return gap && std::min(before + outer(cigar.front()), after + outer(cigar.back())) < cost + params_.doubt;
    }
    static constexpr int32_t kOwnTask = 1 << 30;  // added to a task of end_tasks_, which are not those of tasks_
    const AffineTask& end_task(int32_t t) const { return t >= kOwnTask ? end_tasks_[size_t(t - kOwnTask)] : tasks_[size_t(t)]; }
    const AffineResult& end_result(int32_t t) const {
        return t >= kOwnTask ? end_results_[size_t(t - kOwnTask)] : results_[size_t(t)];
    }

    // Adds run r whole, or its sides where one of them is worth as much; returns the next run.
    size_t finish(size_t r, std::vector<LocalAlignment>& alignments) {
        const size_t first = alignments.size();
        LocalAlignment whole = align(runs_[r]);
        int32_t best = 0;
        for (r++; r < runs_.size() && runs_[r].side; r++) {
            alignments.push_back(align(runs_[r]));
            best = std::max(best, worth(alignments.back()));
        }
        if (worth(whole) > best) {
            alignments.resize(first);
            alignments.push_back(std::move(whole));
        }
        const auto poor = [&](const LocalAlignment& a) { return a.path.score < params_.min_score; };
        alignments.erase(std::remove_if(alignments.begin() + int64_t(first), alignments.end(), poor), alignments.end());
        return r;
    }

    // Its score, and what clipping would cost at the ends of the read that it reaches.
    int32_t worth(const LocalAlignment& a) const {
        const int32_t ends = (a.query_begin == 0) + (a.query_end == (*chains_)[a.task].length);
        return a.path.score + ends * params_.scores.clip_penalty;
    }

    LocalAlignment align(const Run& run) {
        const ChainTask& chain = (*chains_)[run.chain];
        LocalAlignment a{run.chain, points_[run.first_point].reference, 0, 0, 0, 0, {}, {}};
        const auto append = [&](const std::vector<uint32_t>& cigar) {
            for (uint32_t entry : cigar) push_cigar(a.cigar, entry & 15, entry >> 4);
        };
        if (run.left != kNothing) {
            push_cigar(a.cigar, kCigarS, uint32_t(end_task(run.left).codes - chain.codes));
            append(end_result(run.left).cigar);
            a.begin = end_result(run.left).begin;
        }
        for (size_t p = run.first_point; p < run.last_point; p++) {
            if (segments_[p].task == kDiagonal) push_cigar(a.cigar, kCigarM, uint32_t(points_[p + 1].query - points_[p].query));
            else append(results_[size_t(segments_[p].task)].cigar);
        }
        append(end_result(run.right).cigar);
        const AffineTask& right = end_task(run.right);
        push_cigar(a.cigar, kCigarS, uint32_t(chain.codes + chain.length - (right.codes + right.length)));
        complete(chain, a);
        return a;
    }

    // All that follows from the CIGAR and the bases.
    void complete(const ChainTask& chain, LocalAlignment& a) {
        a.begin += trim_gaps(a.cigar);
        a.end = a.begin + reference_span(a.cigar.data(), a.cigar.data() + a.cigar.size());
        text_.resize(size_t(a.end - a.begin));
        reference_.codes(uint64_t(a.begin), uint64_t(a.end), text_.data());
        left_align(a.cigar, chain.codes, text_.data());
        a.path = summarize(a.cigar, chain.codes, text_.data(), params_.scores);
        const auto clip = [](uint32_t entry) { return (entry & 15) == kCigarS ? int32_t(entry >> 4) : 0; };
        if (a.cigar.empty()) return;
        a.query_begin = clip(a.cigar.front());
        a.query_end = chain.length - (a.cigar.size() > 1 ? clip(a.cigar.back()) : 0);
        a.anchors = int32_t(std::count_if(chain.first, chain.last, [&](Anchor anchor) {
            return anchor.query() >= a.query_begin && anchor.query() + k_ <= a.query_end;
        }));
    }

    const ReferenceView& reference_;
    const int k_;
    const ChainAlignParams params_;
    AffineBatch aligner_;
    const std::vector<ChainTask>* chains_ = nullptr;
    std::vector<Point> points_;
    std::vector<Segment> segments_;  // segment p follows point p
    std::vector<Plan> plans_;
    std::vector<Run> runs_;
    std::vector<AffineTask> tasks_, end_tasks_;
    std::vector<AffineResult> results_, end_results_;
    std::vector<uint8_t> text_;
};

}  // namespace gpualign
