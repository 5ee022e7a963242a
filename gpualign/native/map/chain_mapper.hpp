// Reads to local alignments by chaining: for long reads, and for short ones that do not align end to end.
// One ChainMapper serves one thread.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "map/anchors.hpp"
#include "map/chain.hpp"
#include "map/chain_align.hpp"

namespace gpualign {

struct ChainMapParams {
    AnchorParams anchors;
    int32_t max_hits;               // followed per stretch of a read once its rarest seeds have been followed
    ChainParams chains;
    ChainAlignParams align;
    int32_t max_suboptimal = 20;        // suboptimal chains of a stretch of the read that are aligned
    double suboptimal_share = 0.5;        // of the best one's score, which they must reach
    int32_t query_gap = 30;               // bases without an anchor that a chain does not count as its own
    double mask_level = 0.5;         // two alignments are of one stretch of the read where they share more of the shorter one
    int32_t min_split = 30;           // aligned bases of a supplementary alignment
};

enum class ChainKind : uint8_t { primary, supplementary, secondary };

struct ChainRecord {
    uint32_t contig;
    bool reverse;
    ChainKind kind;
    uint8_t mapq;
    int64_t position;                // 0-based, in the contig
    int32_t query_begin, query_end;  // on the read's forward strand
    int32_t score;                   // affine, without clip penalties
    int32_t edits;                   // of the aligned bases
    int32_t second_score;            // of the best suboptimal alignment of this stretch of the read, 0 where there is none
    int32_t anchors;                 // within the alignment
    std::vector<uint32_t> cigar;     // on the reference's forward strand, soft clips
};

struct ChainQuery {
    const uint8_t *forward, *reverse;  // codes of the read and of its reverse complement
    int32_t length;
    int32_t max_hits, max_suboptimal;    // as in ChainMapParams
};

class ChainMapper {
public:
    ChainMapper(const IndexView& index, const ReferenceView& reference, const ChainMapParams& params)
        : reference_(reference), params_(params), finder_(index, params.anchors),
          chainer_(reference, params.anchors.k, params.chains), aligner_(reference, params.anchors.k, params.align) {}

    // Records of each read: the primary one, the supplementary ones, the secondary ones, each best first. None: unmapped. The
    // alignments of all share vectors; out[i] does not depend on the other reads.
    void map(const ChainQuery* reads, size_t count, std::vector<std::vector<ChainRecord>>& out) {
        out.resize(count);
        queries_.clear();
        chains_.clear();
        anchors_.clear();
        tasks_.clear();
        for (size_t r = 0; r < count; r++) add_read(reads[r]);
        for (const Selected& s : chains_)
            tasks_.push_back({s.reverse ? queries_[s.read].reverse : queries_[s.read].forward, queries_[s.read].length, s.contig,
                              anchors_.data() + s.first, anchors_.data() + s.last});
        aligner_.run(tasks_, alignments_);
        size_t a = 0;
        for (size_t r = 0; r < count; r++) {
            const size_t first = a;
            while (a < alignments_.size() && chains_[alignments_[a].task].read == r) a++;
            report(r, queries_[r].forward != reads[r].forward, first, a, out[r]);
        }
    }

private:
    // Half-open, on the read's forward strand.
    struct Stretch {
        int32_t begin, end;
        int32_t length() const { return end - begin; }
    };

    struct Selected {
        size_t read;
        int32_t score;
        bool reverse;
        uint32_t contig;
        size_t first, last;  // of anchors_
        std::vector<Stretch> cover;
        bool secondary;
        int32_t aligned, unaligned;  // suboptimal chains of its stretch: how many are aligned, the best score of the others
    };

    // A local alignment among those of its read.
    struct Ranked {
        LocalAlignment* alignment;
        Stretch on_read;
        size_t parent;                   // the alignment that stands for this stretch of the read
        int32_t second, suboptimal;          // best score of the suboptimal ones of its stretch, how many come near that
    };

    // The strand whose bases come first is the one that is mapped: a read and its reverse complement are one read to all
    // that follows, and so are their results, ties included.
    void add_read(const ChainQuery& given) {
        ChainQuery query = given;
        if (given.length && std::memcmp(given.forward, given.reverse, size_t(given.length)) > 0) std::swap(query.forward, query.reverse);
        const size_t read = queries_.size();
        queries_.push_back(query);
        finder_.find(query.forward, query.length, query.max_hits, found_);
        chainer_.run(found_, found_chains_);
        select(read, query);
    }

    // The best chains of each stretch of the read, and of the suboptimal ones of that stretch those that come near.
    void select(size_t read, const ChainQuery& query) {
        const size_t begin = chains_.size();
        for (const Chain& chain : found_chains_) {
            const Anchor *first = chainer_.anchors() + chain.first, *last = chainer_.anchors() + chain.last;
            cover(first, last, chain.reverse, query.length);
            size_t parent = begin;
            while (parent < chains_.size() && (chains_[parent].secondary || !share_query(cover_, chains_[parent].cover))) parent++;
            const bool secondary = parent < chains_.size();
            if (secondary) {
                Selected& best = chains_[parent];
                if (best.aligned >= query.max_suboptimal || chain.score < params_.suboptimal_share * best.score) {
                    best.unaligned = std::max(best.unaligned, chain.score);
                    continue;
                }
                best.aligned++;
            }
            const size_t at = anchors_.size();
            anchors_.insert(anchors_.end(), first, last);
            chains_.push_back({read, chain.score, chain.reverse, chain.contig, at, anchors_.size(), cover_, secondary, 0, 0});
        }
    }

    // What a chain covers of the read's forward strand. A long stretch without an anchor is not covered: what another chain
    // has there, an inversion say, is a stretch of its own.
    void cover(const Anchor* first, const Anchor* last, bool reverse, int32_t length) {
        cover_.clear();
        for (const Anchor* a = first; a < last; a++) {
            const int32_t begin = a->query(), end = begin + params_.anchors.k;
            if (cover_.empty() || begin - cover_.back().end > params_.query_gap) cover_.push_back({begin, end});
            else cover_.back().end = end;
        }
        if (!reverse) return;
        for (Stretch& s : cover_) s = {length - s.end, length - s.begin};
        std::reverse(cover_.begin(), cover_.end());
    }

    bool share_query(const std::vector<Stretch>& a, const std::vector<Stretch>& b) const {
        const auto total = [](const std::vector<Stretch>& all) {
            int32_t sum = 0;
            for (const Stretch& s : all) sum += s.length();
            return sum;
        };
        int32_t common = 0;
        for (size_t i = 0, j = 0; i < a.size() && j < b.size(); (a[i].end < b[j].end ? i : j)++) common += shared(a[i], b[j]);
        return common > params_.mask_level * std::min(total(a), total(b));
    }
    bool share_query(const Stretch& a, const Stretch& b) const {
        return shared(a, b) > params_.mask_level * std::min(a.length(), b.length());
    }
    static int32_t shared(const Stretch& a, const Stretch& b) { return std::max(0, std::min(a.end, b.end) - std::max(a.begin, b.begin)); }

    void report(size_t read, bool swapped, size_t first, size_t last, std::vector<ChainRecord>& out) {
        out.clear();
        rank(queries_[read].length, first, last);
        for (const ChainKind kind : {ChainKind::primary, ChainKind::supplementary, ChainKind::secondary})
            for (size_t p = 0; p < ranked_.size(); p++)
                if (kind_of(p) == kind) out.push_back(record(ranked_[p], kind, queries_[read].length, swapped));
    }

    // Alignments of a read, best first, each with the one that stands for its stretch of the read.
    void rank(int32_t length, size_t first, size_t last) {
        ranked_.clear();
        for (size_t i = first; i < last; i++) {
            LocalAlignment& a = alignments_[i];
            const bool reverse = chains_[a.task].reverse;
            ranked_.push_back({&a, reverse ? Stretch{length - a.query_end, length - a.query_begin} : Stretch{a.query_begin, a.query_end},
                               0, 0, 0});
        }
        std::sort(ranked_.begin(), ranked_.end(), [&](const Ranked& a, const Ranked& b) {
            if (a.alignment->path.score != b.alignment->path.score) return a.alignment->path.score > b.alignment->path.score;
            if (a.alignment->begin != b.alignment->begin) return a.alignment->begin < b.alignment->begin;
            return a.alignment < b.alignment;
        });
        size_t kept = 0;
        for (size_t p = 0; p < ranked_.size(); p++) {
            Ranked own = ranked_[p];
            own.parent = kept;
            for (size_t q = 0; q < kept && own.parent == kept; q++)
                if (ranked_[q].parent == q && share_query(own.on_read, ranked_[q].on_read)) own.parent = q;
            const bool too_short = kept && own.parent == kept && own.on_read.length() < params_.min_split;
            const auto seen = [&](const Ranked& other) { return same_diagonal(own, other); };
            if (too_short || std::any_of(ranked_.begin(), ranked_.begin() + int64_t(kept), seen)) continue;
            if (own.parent < kept) {
                Ranked& parent = ranked_[own.parent];
                const AffineScores& s = params_.align.scores;
                if (!parent.suboptimal) parent.second = own.alignment->path.score;
                parent.suboptimal += own.alignment->path.score >= parent.second - s.match - s.mismatch;
            }
            ranked_[kept++] = own;
        }
        ranked_.resize(kept);
    }

    // Two chains that met on one diagonal.
    bool same_diagonal(const Ranked& a, const Ranked& b) const {
        const LocalAlignment &x = *a.alignment, &y = *b.alignment;
        if (chains_[x.task].reverse != chains_[y.task].reverse || chains_[x.task].contig != chains_[y.task].contig) return false;
        if (x.end <= y.begin || y.end <= x.begin) return false;
        return x.begin - x.query_begin == y.begin - y.query_begin || x.end - x.query_end == y.end - y.query_end;
    }

    ChainKind kind_of(size_t p) const {
        if (p == 0) return ChainKind::primary;
        return ranked_[p].parent == p ? ChainKind::supplementary : ChainKind::secondary;
    }

    ChainRecord record(const Ranked& own, ChainKind kind, int32_t length, bool swapped) const {
        LocalAlignment& a = *own.alignment;
        const Selected& chain = chains_[a.task];
        const uint8_t mapq = kind == ChainKind::secondary ? uint8_t(0) : mapping_quality(own, chain);
        return {chain.contig, chain.reverse != swapped, kind, mapq, a.begin - reference_.contig_offsets[chain.contig],
                swapped ? length - own.on_read.end : own.on_read.begin, swapped ? length - own.on_read.begin : own.on_read.end,
                a.path.score, a.path.edits(), own.second, a.anchors, std::move(a.cigar)};
    }

    // The lesser of two estimates from the best and the second best score. By their difference, as bwa mem: so many matches
    // more, less for errors and for length. By their ratio, as minimap2 (Li 2018, section 2.2): of long reads the
    // difference is large even between copies of a repeat. An alignment with few anchors is trusted less, and one with many
    // suboptimal ones, but however many there are, 1 is left of 10. A lead of half an edit is none, one of less than an edit counts
    // half: as much lies in where an end is clipped, or a gap that is some bases longer.
    uint8_t mapping_quality(const Ranked& own, const Selected& chain) const {
        const LocalAlignment& a = *own.alignment;
        const int32_t match = params_.align.scores.match;
        const double score = a.path.score, edit = match + params_.align.scores.mismatch, identity = double(a.path.matches) / a.path.columns;
        const double unaligned = std::min(1.0, double(chain.unaligned) / chain.score) * score;
        const double second = std::max({double(own.second), unaligned, double(params_.anchors.k * match)});
        if (score - second <= edit / 2) return 0;
        const double length = std::max(50.0, double(a.path.columns));
        const double weight = identity * std::log(50.0) / std::log(length);
        const double by_difference = 6.02 * (score - second) / match * weight * weight;
        const double by_ratio = 40 * identity * (1 - second / score * second / score) * std::log(score / match);
        const double support = std::min(1.0, a.anchors / (3.0 * params_.chains.min_anchors));  // of three times the least
        const double estimate = std::min(by_difference, by_ratio) * support;
        const double rest = std::max(estimate - 4.343 * std::log(1.0 + own.suboptimal), std::min(1.0, estimate / 10));
        const double quality = score - second < edit ? rest / 2 : rest;
        return uint8_t(std::clamp(quality + 0.499, 0.0, one_edit_shows(a) ? 60.0 : kMaxWhereOneHides));
    }

    // Whether an alignment with one edit must share a seed with so many bases (the pigeonhole principle; two of them may match by
    // chance beyond its ends). Where it need not, the right one was missed once in a hundred thousand simulated split reads, a
    // repeat's other copy being the better match.
    bool one_edit_shows(const LocalAlignment& a) const {
        return a.query_end - a.query_begin >= 2 * (params_.anchors.w + params_.anchors.k);
    }
    static constexpr double kMaxWhereOneHides = 50;

    const ReferenceView& reference_;
    const ChainMapParams params_;
    AnchorFinder finder_;
    Chainer chainer_;
    ChainAligner aligner_;
    std::vector<Anchor> found_, anchors_;
    std::vector<Chain> found_chains_;
    std::vector<ChainQuery> queries_;
    std::vector<Selected> chains_;
    std::vector<Stretch> cover_;
    std::vector<ChainTask> tasks_;
    std::vector<LocalAlignment> alignments_;
    std::vector<Ranked> ranked_;
};

}  // namespace gpualign
