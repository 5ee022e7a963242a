// Reads to alignments on the CPU: seeds, candidates, verification, selection, alignment. A Mapper serves one thread.
#pragma once
#include <cstdint>
#include <vector>

#include "algo/map/ungapped.hpp"
#include "map/affine_batch.hpp"
#include "map/locus_finder.hpp"
#include "map/selection.hpp"

namespace gpualign {

class Mapper {
public:
    Mapper(const IndexView& index, const ReferenceView& reference, const MapperParams& params)
        : reference_(reference), params_(params), finder_(index, reference, params), selector_(finder_, params_),
          aligner_(reference, params.rules.scores) {}

    // Adds the records of the reads, in order. `mates` gives mate numbers, or is null; `qualities` of the bases as in
    // FASTQ, or null; `conversions` those of bisulfite reads on their forward strand, or null.
    template <class Records>
    void map(const ReadTexts& bases, const uint8_t* qualities, const ReadTexts& names, const uint8_t* mates,
        const Conversion* conversions, size_t reads, Records& records) {
        for (size_t from = 0, to; from < reads; from = to) {
            to = std::min(reads, from + kBlock);
            if (mates && to < reads && mates[to] == kSecondMate) to++;
            finder_.find(bases, qualities, names, mates, conversions, from, to);
            selector_.select(choices_);
            align();
            for (size_t c = 0; c < choices_.size(); c++) {
                records.add(alignments_[c], cigars_[c]);
                if (!(choices_[c].flag & kFlagSecondary)) add_supplementary(choices_[c], records);
                if (c + 1 == choices_.size() || choices_[c + 1].read != choices_[c].read) records.end_read();
            }
        }
    }

private:
    static constexpr size_t kBlock = 256;  // reads per block, so that lanes fill with similar tasks

    void align() {
        alignments_.assign(choices_.size(), Alignment());
        cigars_.resize(choices_.size());
        tasks_.clear();
        task_choices_.clear();
        for (size_t c = 0; c < choices_.size(); c++) {
            cigars_[c].clear();
            if (choices_[c].locus) prepare(c, *choices_[c].locus);
        }
        aligner_.run(tasks_, aligned_);
        for (size_t t = 0; t < tasks_.size(); t++) {
            Alignment& a = alignments_[task_choices_[t]];
            a.score = aligned_[t].score;
            a.position = aligned_[t].begin - reference_.contig_offsets[a.contig];
            cigars_[task_choices_[t]] = aligned_[t].cigar;
        }
        for (size_t c = 0; c < choices_.size(); c++)
            if (choices_[c].locus) clip_adapter(c, *choices_[c].locus);
    }

    // Clips what lies beyond the insert of the read's pair (algo/map/read_through.hpp).
    void clip_adapter(size_t c, const Locus& locus) {
        const Read& read = finder_.read(choices_[c].read);
        const uint32_t clipped = uint32_t(read.bases - read.length);
        if (!clipped) return;
        Cigar& cigar = cigars_[c];
        alignments_[c].distance = -1;
        if (!locus.reverse) return push_cigar(cigar, kCigarS, clipped);
        if ((cigar.front() & 15) == kCigarS) cigar.front() += clipped << 4;
        else cigar.insert(cigar.begin(), clipped << 4 | kCigarS);
    }

    // Adds the supplementary alignments of a read that is aligned by chaining.
    template <class Records> void add_supplementary(const Choice& choice, Records& records) {
        if (!choice.locus || choice.locus->local < 0) return;
        for (const ChainRecord& local : finder_.locals(choice.read))
            if (local.kind == ChainKind::supplementary)
                records.add(alignment_of(local, kFlagSupplementary, local.mapq), local.cigar);
    }

    static Alignment alignment_of(const ChainRecord& record, uint16_t flag, uint8_t mapq) {
        return {uint16_t(flag | (record.reverse ? kFlagReverse : 0) | record.transcript), mapq, int32_t(record.contig),
            record.position, record.score, -1};
    }

    // Aligns a locus without DP where possible, else adds a task.
    void prepare(size_t c, const Locus& locus) {
        const Read& read = finder_.read(choices_[c].read);
        if (locus.local >= 0) {
            const ChainRecord& record = finder_.locals(choices_[c].read)[size_t(locus.local)];
            alignments_[c] = alignment_of(record, choices_[c].flag, choices_[c].mapq);
            cigars_[c] = record.cigar;
            return;
        }
        const uint8_t* codes = finder_.codes(choices_[c].read, locus.reverse);
        const int64_t contig_begin = reference_.contig_offsets[locus.contig];
        const int64_t contig_end = reference_.contig_offsets[locus.contig + 1];
        const Conversion conversion = on_strand(read.conversion, locus.reverse);
        Alignment& a = alignments_[c];
        a.flag = uint16_t(choices_[c].flag | (locus.reverse ? kFlagReverse : 0));
        a.mapq = choices_[c].mapq;
        a.contig = int32_t(locus.contig);
        a.distance = locus.distance;
        const auto along_diagonal = [&](auto&& visit) {
            return visit_diagonal(codes, conversion, read.length, locus.begin, contig_begin, visit);
        };
        const auto one_substitution = [&] {
            int n = 0;
            return along_diagonal([&](uint8_t own, uint8_t met) { n += own != met || own == kNoBase; }) && n == 1;
        };
        const auto is_best = [&] {
            UngappedScore score(params_.rules.scores);
            return along_diagonal([&](uint8_t own, uint8_t met) { score.add(own, met); }) &&
                   score.is_best(locus.distance);
        };
        if (is_plainly_ungapped(params_.rules.scores, a.distance, read.ambiguous, one_substitution, is_best)) {
            a.position = locus.begin - contig_begin;
            a.score = ungapped_score(params_.rules.scores, read.length, a.distance);
            push_cigar(cigars_[c], kCigarM, uint32_t(read.length));
            return;
        }
        tasks_.push_back({codes, read.length, 2 * read.limit + 1, locus.begin - read.limit, contig_begin, contig_end,
            kFreeEnd, kFreeEnd, -1, conversion});
        task_choices_.push_back(c);
    }

    // Calls visit with each base of a query and the reference's base next to it, the first one at `begin`; where
    // conversion explains a difference, with the query's base. False if that is before the contig.
    template <class Visit>
    bool visit_diagonal(const uint8_t* query, Conversion conversion, int32_t length, int64_t begin,
        int64_t contig_begin, Visit&& visit) {
        if (begin < contig_begin) return false;
        window_.resize(size_t(length));
        uint8_t* const met = window_.data();
        reference_.codes(uint64_t(begin), uint64_t(begin + length), met);
        convert_reference(conversion, query, length, met);
        for (int32_t i = 0; i < length; i++) visit(query[i], met[i]);
        return true;
    }

    const ReferenceView& reference_;
    const MapperParams params_;
    LocusFinder finder_;
    Selector selector_;
    AffineBatch aligner_;
    std::vector<Choice> choices_;
    std::vector<Alignment> alignments_;  // one per choice
    std::vector<Cigar> cigars_;
    std::vector<AffineTask> tasks_;
    std::vector<size_t> task_choices_;
    std::vector<AffineResult> aligned_;
    std::vector<uint8_t> window_;
};

}  // namespace gpualign
