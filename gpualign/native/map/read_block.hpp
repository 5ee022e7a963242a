// Reads that are mapped together, and the loci found for them so far.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "algo/map/locus.hpp"
#include "algo/map/thresholds.hpp"
#include "map/alignment.hpp"
#include "map/chain_mapper.hpp"
#include "map/params.hpp"
#include "map/read_draw.hpp"
#include "map/locus.hpp"
#include "index/reference.hpp"
#include "common/myers_profiles.hpp"

namespace gpualign {

struct Read {
    size_t at;         // of its codes; the reverse complement's follow
    int32_t length, limit;
    int32_t unknown;   // bases that are forgiven (algo/map/thresholds.hpp)
    bool any_hits;     // a minimizer occurs in the reference
    bool hits_truncated;  // some of its hits were not followed
    int32_t failed;    // most seed hits of a candidate that is beyond the limit
    int32_t near_hits; // most seed hits a long gap apart
    bool first_of_pair;
    uint32_t draw;     // algo/map/draw.hpp
};

// A read's loci as pairing and selection see them (algo/map/locus.hpp).
struct LociView {
    const Locus* list;
    uint32_t count;
    int32_t length, limit, unknown;
    bool hits_truncated;
    const std::vector<ChainRecord>* locals;
    const MapParams* params;

    int32_t distance(uint32_t i) const { return list[i].distance; }
    int32_t seed_hits(uint32_t i) const { return list[i].seed_hits; }
    int32_t score(uint32_t i) const { return list[i].score; }
    int64_t begin(uint32_t i) const { return list[i].begin; }
    int64_t end(uint32_t i) const { return list[i].end; }
    bool reverse(uint32_t i) const { return list[i].reverse; }
    uint32_t contig(uint32_t i) const { return list[i].contig; }
    bool local(uint32_t i) const { return list[i].local >= 0; }

    // A read of which all split alignments together explain so little is rather one with many errors that was not found where it
    // belongs.
    uint8_t local_quality(uint32_t i) const {
        const ChainRecord& record = (*locals)[size_t(list[i].local)];
        if (params->is_long(length)) return record.mapq;
        const uint8_t quality = others_are_seen(record) ? record.mapq : std::min(record.mapq, kOthersUnseen);
        int64_t explained = 0;
        for (const ChainRecord& part : *locals)
            if (part.kind != ChainKind::secondary) explained += part.score;
        const bool enough = explained * 100 >= int64_t(kMinExplained) * length * params->scores.match;
        return enough ? quality : std::min(quality, kMaxUnexplained);
    }
    bool others_are_seen(const ChainRecord& record) const {
        int32_t bases = record.query_end - record.query_begin, edits = record.edits;
        for (const int32_t clipped : {record.query_begin, length - record.query_end}) {
            if (clipped >= kShortClip) continue;
            bases += clipped;
            edits += clipped ? 2 : 0;
        }
        return gpualign::others_are_seen(bases, edits, params->seeding.k, params->seeding.w);
    }

    static constexpr int kMinExplained = 30;  // per cent
    static constexpr uint8_t kMaxUnexplained = 10;
};

class ReadBlock {
public:
    ReadBlock(const ReferenceView& reference, const MapParams& params) : reference_(reference), params_(params) {}

    // Takes the reads [from, to); `mates` says which are pairs, or is null.
    void load(const ReadTexts& bases, const ReadTexts& names, const uint8_t* mates, size_t from, size_t to) {
        const size_t n = to - from;
        const int64_t* offsets = bases.offsets;
        reads_.resize(n);
        codes_.resize(2 * size_t(offsets[to] - offsets[from]));
        if (loci_.size() < n) {
            loci_.resize(n);
            locals_.resize(n);
        }
        for (size_t r = 0; r < n; r++) {
            const uint8_t* text = bases.begin(from + r);
            const int32_t length = int32_t(offsets[from + r + 1] - offsets[from + r]);
            const bool first = mates && mates[from + r] == kFirstMate && r + 1 < n;
            reads_[r] = {2 * size_t(offsets[from + r] - offsets[from]), length, 0, 0, false, false, 0, 0, first, read_draw(names, bases, from + r)};
            uint8_t* forward = codes_.data() + reads_[r].at;
            uint8_t* backward = forward + 2 * length;
            for (int32_t i = 0; i < length; i++) {
                forward[i] = kCodes.forward[text[i]];
                *--backward = kCodes.reverse[text[i]];
            }
            reads_[r].unknown = forgiven_bases(length, int32_t(std::count(forward, forward + length, kNoBase)));
            reads_[r].limit = params_.limit(length) + reads_[r].unknown;
            loci_[r].clear();
            locals_[r].clear();
        }
    }

    size_t size() const { return reads_.size(); }
    Read& read(size_t r) { return reads_[r]; }
    const Read& read(size_t r) const { return reads_[r]; }
    const uint8_t* codes(size_t r, bool reverse) const {
        return codes_.data() + reads_[r].at + (reverse ? size_t(reads_[r].length) : 0);
    }
    // The loci of a read, within the limit or local; settled ones best first.
    std::vector<Locus>& loci(size_t r) { return loci_[r]; }
    const std::vector<Locus>& loci(size_t r) const { return loci_[r]; }
    LociView view(size_t r) const {
        return {loci_[r].data(), uint32_t(loci_[r].size()), reads_[r].length, reads_[r].limit, reads_[r].unknown, reads_[r].hits_truncated, &locals_[r],
                &params_};
    }
    // The local alignments of a read, which the loci refer to: the best one, supplementary and secondary ones.
    std::vector<ChainRecord>& locals(size_t r) { return locals_[r]; }
    const std::vector<ChainRecord>& locals(size_t r) const { return locals_[r]; }
    int32_t best_local_score(size_t r) const { return locals_[r].empty() ? 0 : locals_[r][0].score; }

    // The locus of a read's local alignment c.
    void add_local(size_t r, int32_t c) {
        const ChainRecord& record = locals_[r][size_t(c)];
        const int32_t length = reads_[r].length;
        const int64_t at = reference_.contig_offsets[record.contig] + record.position;
        const int64_t span = reference_span(record.cigar.data(), record.cigar.data() + record.cigar.size());
        const int32_t front = record.reverse ? length - record.query_end : record.query_begin;
        const int32_t back = record.reverse ? record.query_begin : length - record.query_end;
        loci_[r].push_back({uint32_t(r), record.contig, record.reverse, record.anchors, record.edits, record.score, at - front,
                              at + span + back, c});
    }

    // Best first; of one locus found twice only the better. Each locus that stays rules out its neighbours in order of position.
    void settle(size_t r) {
        std::vector<Locus>& loci = loci_[r];
        if (loci.size() < 2) return;
        std::sort(loci.begin(), loci.end());
        const size_t n = loci.size();
        by_position_.clear();
        for (uint32_t p = 0; p < n; p++) by_position_.emplace_back(loci[p].end + (loci[p].reverse ? kOtherStrand : 0), p);
        std::sort(by_position_.begin(), by_position_.end());
        rank_.resize(n);
        for (uint32_t i = 0; i < n; i++) rank_[by_position_[i].second] = i;
        ruled_out_.assign(n, false);
        for (uint32_t p = 0; p < n; p++) {
            if (ruled_out_[p]) continue;
            const auto rule_out = [&](size_t i) {
                const uint32_t q = by_position_[i].second;
                const bool near = same_locus(loci[q].end, loci[q].reverse, loci[p].end, loci[p].reverse, reads_[r].limit);
                if (near) ruled_out_[q] = true;
                return near;
            };
            for (size_t i = rank_[p]; i > 0 && rule_out(i - 1);) i--;
            for (size_t i = rank_[p] + 1; i < n && rule_out(i);) i++;
        }
        size_t kept = 0;
        for (size_t p = 0; p < n; p++)
            if (!ruled_out_[p]) loci[kept++] = loci[p];
        loci.resize(kept);
    }

private:
    static constexpr int64_t kOtherStrand = int64_t(1) << 40;  // beyond every position

    const ReferenceView& reference_;
    const MapParams& params_;
    std::vector<Read> reads_;
    std::vector<uint8_t> codes_;
    std::vector<std::vector<Locus>> loci_;
    std::vector<std::vector<ChainRecord>> locals_;
    std::vector<std::pair<int64_t, uint32_t>> by_position_;  // the loci of one read
    std::vector<uint32_t> rank_;
    std::vector<uint8_t> ruled_out_;
};

}  // namespace gpualign
