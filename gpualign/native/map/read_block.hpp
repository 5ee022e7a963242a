// A block of reads that are mapped together, with the loci found so far.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "algo/map/mixed_loci.hpp"
#include "map/alignment.hpp"
#include "map/chain_mapper.hpp"
#include "map/params.hpp"
#include "map/read_tie_break.hpp"
#include "seeds/index/reference.hpp"
#include "align/edit/myers_profiles.hpp"

namespace gpualign {

struct Read {
    size_t at;         // index of its encoded bases, which its reverse complement follows
    int32_t bases;  // number of all bases of the read
    int32_t length, limit;  // of what is mapped: without the adapter after the insert of its pair
    int32_t ambiguous;   // ambiguous bases that are forgiven (algo/map/thresholds.hpp)
    bool any_hits;     // one of its minimizers is in the index
    bool hits_truncated;  // some hits were not followed
    int32_t failed;    // maximum seed hits of a candidate beyond the limit
    int32_t near_hits; // maximum seed hits within a long gap, computed only if needed
    bool first_of_pair;
    uint32_t tie_break;     // tie-break hash
    uint32_t seeds;    // number of the seeder's read whose seeds it has
    int32_t depth;         // factor on the limit of the hits followed
    bool part_of_hits;  // the last followed seed may be followed in part (wants_part_of_hits)
    uint32_t candidates;  // number
    Conversion conversion;  // on the forward strand
};

// Makes those reference bases equal to a read's, one below the other, that its conversion explains.
inline void convert_reference(Conversion conversion, const uint8_t* read, int32_t length, uint8_t* reference) {
    if (conversion == Conversion::none) return;
    for (int32_t i = 0; i < length; i++) reference[i] = explained_base(conversion, read[i], reference[i]);
}

// Counterpart of PackedBases (algo/map/base_quality.hpp) for encoded bases, a byte each.
struct CodedBases {
    const ReferenceView* reference;
    const uint8_t* codes[2];  // read, and reverse complement
    int32_t length;
    const uint8_t* qualities;
    Conversion conversion;

    bool converted() const { return conversion != Conversion::none; }
    const int64_t* contig_offsets() const { return reference->contig_offsets; }
    uint8_t code(int32_t i) const { return codes[0][i]; }
    uint8_t quality(int32_t i) const { return qualities ? qualities[i] : uint8_t(kNoQuality); }
    template <class Visit> void for_each_difference(int64_t begin, bool reverse, Visit&& visit) const {
        uint8_t there[4 * kBasesPerWord];
        for (int32_t first = 0; first < length; first += int32_t(sizeof there)) {
            const int32_t count = std::min(length - first, int32_t(sizeof there));
            reference->codes(uint64_t(begin + first), uint64_t(begin + first + count), there);
            const uint8_t* own = codes[reverse] + first;
            convert_reference(on_strand(conversion, reverse), own, count, there);
            for (int32_t i = 0; i < count; i++)
                if ((own[i] != there[i] || own[i] == kNoBase) && !visit(first + i)) return;
        }
    }
};

using LociView = MixedLoci<std::vector<ChainRecord>, CodedBases>;

class ReadBlock {
public:
    ReadBlock(const ReferenceView& reference, const MapperParams& params) : reference_(reference), params_(params) {}

    // Loads the reads [from, to); `mates` gives mate numbers; it, `qualities` and `conversions` may be null.
    void load(const ReadTexts& bases, const uint8_t* qualities, const ReadTexts& names, const uint8_t* mates,
        const Conversion* conversions, size_t from, size_t to) {
        const size_t n = to - from;
        const int64_t* offsets = bases.offsets;
        qualities_ = qualities ? qualities + offsets[from] : nullptr;
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
            reads_[r] = {2 * size_t(offsets[from + r] - offsets[from]), length, length, 0, 0, false, false, 0, 0, first,
                read_tie_break(names, bases, from + r), uint32_t(r), 1, false, 0,
                conversions ? conversions[from + r] : Conversion::none};
            encode_both_strands(text, size_t(length), codes_.data() + reads_[r].at);
            set_length(r, length);
            loci_[r].clear();
            locals_[r].clear();
        }
    }

    // Maps so many of a read's first bases.
    void set_length(size_t r, int32_t length) {
        const uint8_t* const forward = codes_.data() + reads_[r].at;
        reads_[r].length = length;
        allow_edits(reads_[r], params_.limit(length), int32_t(std::count(forward, forward + length, kNoBase)));
    }

    size_t size() const { return reads_.size(); }
    Read& read(size_t r) { return reads_[r]; }
    const Read& read(size_t r) const { return reads_[r]; }
    const uint8_t* codes(size_t r, bool reverse) const {
        return codes_.data() + reads_[r].at + (reverse ? size_t(2 * reads_[r].bases - reads_[r].length) : 0);
    }
    // Loci of a read, end to end within the limit or local; best first once settled.
    std::vector<Locus>& loci(size_t r) { return loci_[r]; }
    const std::vector<Locus>& loci(size_t r) const { return loci_[r]; }
    LociView view(size_t r) const {
        return {loci_[r].data(), uint32_t(loci_[r].size()), reads_[r].length, reads_[r].limit, reads_[r].ambiguous,
            reads_[r].hits_truncated, &locals_[r], &params_.rules,
            {&reference_, {codes(r, false), codes(r, true)}, reads_[r].length,
                qualities_ ? qualities_ + reads_[r].at / 2 : nullptr, reads_[r].conversion}};
    }
    // Local alignments of a read, to which its loci refer: best, supplementary, secondary.
    std::vector<ChainRecord>& locals(size_t r) { return locals_[r]; }
    const std::vector<ChainRecord>& locals(size_t r) const { return locals_[r]; }
    int32_t best_local_score(size_t r) const { return locals_[r].empty() ? 0 : locals_[r][0].score; }

    // Adds the locus of a read's local alignment c.
    void add_local(size_t r, int32_t c) {
        const ChainRecord& record = locals_[r][size_t(c)];
        const int64_t begin = reference_.contig_offsets[record.contig] + record.position;
        const int64_t span = reference_span(record.cigar.data(), record.cigar.data() + record.cigar.size());
        const int64_t introns = intron_bases(record.cigar.data(), record.cigar.data() + record.cigar.size());
        loci_[r].push_back(local_locus(uint32_t(r), reads_[r].length, record, c, begin, span, introns));
    }

    // Sorts a read's loci, best first, and removes duplicates.
    void settle(size_t r) {
        std::vector<Locus>& loci = loci_[r];
        if (loci.size() < 2) return;
        by_position_.resize(std::max(by_position_.size(), loci.size()));
        rank_.resize(by_position_.size());
        loci.resize(settle_mixed(
            OneLane(), reads_[r].limit, loci.data(), uint32_t(loci.size()), {by_position_.data(), rank_.data()}));
    }

private:
    const ReferenceView& reference_;
    const MapperParams& params_;
    std::vector<Read> reads_;
    std::vector<uint8_t> codes_;
    const uint8_t* qualities_ = nullptr;  // of the block's bases
    std::vector<std::vector<Locus>> loci_;
    std::vector<std::vector<ChainRecord>> locals_;
    std::vector<uint64_t> by_position_;  // scratch for the loci of one read
    std::vector<uint32_t> rank_;
};

}  // namespace gpualign
