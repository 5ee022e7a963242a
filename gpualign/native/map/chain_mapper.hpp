// Local alignments of reads by chaining (cuda/algo/map/chain) on one thread: of long reads, and of short ones that do
// not align end to end.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "algo/map/chain/narrow.hpp"
#include "algo/map/chain/steps.hpp"
#include "seeds/index/lookup.hpp"
#include "seeds/index/minimizers.hpp"
#include "map/affine_batch.hpp"
#include "map/read_variants.hpp"

namespace gpualign {

// The reference as a Text of algo/map/chain/query.hpp.
class ReferenceText {
public:
    explicit ReferenceText(const ReferenceView& view) : view_(view) {}

    uint64_t bases(int64_t i) const { return packed_window(view_.words, uint64_t(i)); }
    uint32_t acgt(int64_t i) const {
        const uint64_t begin = uint64_t(i), end = begin + kBasesPerWord;
        uint64_t acgt = ~uint64_t(0);
        for (size_t run = view_.first_run(begin); run < view_.runs && view_.run_starts[run] < end; run++)
            acgt &= (uint64_t(1) << (std::max<uint64_t>(view_.run_starts[run], begin) - begin)) -
                    (uint64_t(1) << (std::min<uint64_t>(view_.run_ends[run], end) - begin)) - 1;
        return uint32_t(acgt);
    }
    uint8_t code(int64_t i) const {
        return view_.has_run(uint64_t(i), uint64_t(i) + 1) ? kNoBase : packed_base(view_.words, uint64_t(i));
    }
    uint32_t contig_of(int64_t i) const { return uint32_t(view_.contig_of(uint64_t(i))); }
    int64_t contig_begin(uint32_t contig) const { return view_.contig_offsets[contig]; }

private:
    const ReferenceView& view_;
};

struct ChainRecord {
    uint32_t contig;
    bool reverse;
    ChainKind kind;
    uint8_t mapq;
    int64_t position;                // 0-based, in the contig
    int32_t query_begin, query_end;  // on the read's forward strand
    int32_t score;                   // affine, without clip penalties
    int32_t edits;                   // of the aligned bases
    int32_t anchors;                 // within the alignment
    std::vector<uint32_t> cigar;     // on the reference's forward strand, soft clips
    uint16_t transcript = 0;         // flag of the strand that its introns' signals are on
};

struct ChainRequest {
    const uint8_t *forward, *reverse;  // encoded read, and its reverse complement
    int32_t length;
    int32_t max_hits, max_suboptimal;    // as in ChainRules
    uint32_t tie_break;                       // tie-break hash
    Conversion conversion = Conversion::none;
};

class ChainMapper {
public:
    ChainMapper(
        const IndexView& index, const ReferenceView& reference, const ChainRules& rules, const KnownIntrons& known = {})
        : index_(index), look_up_(index), reference_(reference), text_(reference), scanner_(rules.k, rules.w),
          aligner_(reference, rules.scores, {rules.introns, known}) {
        batch_.rules = rules;
        batch_.known = known;
    }

    // Records of each read: the primary one, then supplementary, then secondary ones, each best first; none: unmapped.
    // Alignments of all reads share vectors; out[i] is independent of the other reads.
    void map(const ChainRequest* reads, size_t count, std::vector<std::vector<ChainRecord>>& out) {
        out.resize(count);
        if (!count) return;
        pack(reads, count);
        run_steps();
        for (size_t r = 0; r < count; r++) write(r, out[r]);
    }

private:
    // Memory of an arena.
    template <class Item> struct Store {
        std::vector<Item> items;
        uint32_t used = 0;

        Arena<Item> arena() { return {items.data(), &used, items.size()}; }
    };

    // Makes space for `more` further items.
    template <class Item> void reserve(Store<Item>& store, Arena<Item>& arena, size_t more) {
        if (store.used + more > store.items.size())
            store.items.resize(std::max(store.used + more, 2 * store.items.size()));
        arena = store.arena();
    }

    void pack(const ChainRequest* reads, size_t count) {
        reads_.assign(reads, reads + count);
        offsets_.assign(1, 0);
        for (const ChainRequest& read : reads_) offsets_.push_back(offsets_.back() + read.length);
        batch_.offsets = offsets_.data();
        words_.assign(size_t(offsets_.back()) / kBasesPerWord + 2 * count + 2, 0);
        not_acgt_.assign(words_.size(), ~0u);
        state_.assign(count, ChainRead{});
        batch_.words = words_.data();
        batch_.not_acgt = not_acgt_.data();
        batch_.state = state_.data();
        batch_.reads = uint32_t(count);
        for (uint32_t r = 0; r < count; r++) {
            const ChainRequest& read = reads_[r];
            const bool flipped = std::memcmp(read.forward, read.reverse, size_t(read.length)) > 0;
            const bool clean = pack_codes(read.forward, read.length, words_.data() + first_word(batch_, r),
                not_acgt_.data() + first_word(batch_, r));
            state_[r].flipped = uint32_t(flipped) | uint32_t(clean) << 1 | uint32_t(read.conversion) << 2;
            reads_[r].conversion = on_strand(read.conversion, flipped);
            state_[r].tie_break = read.tie_break;
            if (flipped) std::swap(reads_[r].forward, reads_[r].reverse);
        }
    }

    void run_steps() {
        for (uint32_t* used : {&anchors_.used, &chains_.used, &points_.used, &tasks_[0].used, &tasks_[1].used,
                 &runs_.used, &cigars_.used, &alignments_.used, &ranked_.used})
            *used = 0;
        for (uint32_t r = 0; r < batch_.reads; r++) {
            chain(r);
            if (r) plan(r - 1);  // a read later, when what chain() prefetches is there
        }
        plan(batch_.reads - 1);
        align(0);
        for (uint32_t c = 0; c < chains_.used; c++) {
            const size_t maximum = 3 * size_t(chains_.items[c].points);  // a run, and two sides per segment
            reserve(runs_, batch_.runs, maximum);
            reserve(tasks_[1], batch_.tasks[1], 2 * maximum);
            cut_chain(batch_, c);
        }
        align(1);
        for (uint32_t c = 0; c < chains_.used; c++) finish(c);
        reserve(ranked_, batch_.ranked, 2 * size_t(alignments_.used));
        for (uint32_t r = 0; r < batch_.reads; r++) report_read(OneLane(), batch_, text_, r);
    }

    void finish(uint32_t c) {
        reserve(alignments_, batch_.alignments, chains_.items[c].runs);
        const uint32_t alignments = alignments_.used, cigars = cigars_.used;
        while (true) {  // the length of a CIGAR is known only after it was assembled
            reserve(cigars_, batch_.cigars, 0);
            finish_chain(batch_, text_, c);
            if (cigars_.used <= cigars_.items.size()) return;
            const size_t asked = cigars_.used - cigars;
            alignments_.used = alignments;
            cigars_.used = cigars;
            reserve(cigars_, batch_.cigars, asked);
        }
    }

    void chain(uint32_t r) {
        const ChainRequest& read = reads_[r];
        state_[r].chosen = state_[r].ranked = 0;
        if (read.length > kLongestChained) return;
        const OneLane lane;
        find_seeds(read);
        keys_.resize(std::max(keys_.size(), seeds_.size()));
        const uint32_t seeds = uint32_t(seeds_.size());
        const uint32_t n = follow_seeds(
            lane, query_of(batch_, r), seeds_.data(), seeds, batch_.rules, uint32_t(read.max_hits), keys_.data());
        if (!n) return;
        const ChainNodes nodes = nodes_for(n);
        expand_anchors(lane, seeds_.data(), seeds, batch_.rules.k, read.length, index_, nodes.anchors);
        radix_sort(nodes.anchors, nodes.anchors + n);
        candidates_.used = 0;  // of one read at a time
        reserve(candidates_, batch_.candidates, n);
        reserve(chains_, batch_.chains, n);
        chain_anchors(lane, batch_, text_, query_of(batch_, r), r, nodes, n, read.max_suboptimal);
        for_each_chosen(r, [&](const ChosenChain& chain) {  // prefetches what plan() compares, the ends above all
            const uint64_t first = chain.anchors[0];
            const int64_t begin = anchor_reference(first) - anchor_query(first);
            reference_.prefetch(begin - text_.contig_begin(chain.contig), int32_t(chain.contig), read.length);
        });
    }

    void plan(uint32_t r) {
        size_t anchors = 0;
        for_each_chosen(r, [&](const ChosenChain& chain) { anchors += chain.anchor_count; });
        reserve(points_, batch_.points, anchors);
        // a segment, or an intron on two strands; and ends
        reserve(tasks_[0], batch_.tasks[0], 2 * anchors + 2 * (1 + kMaxOver) * state_[r].chosen);
        reserve(cigars_, batch_.cigars, 4 * anchors);  // of ends
        plan_chains(OneLane(), batch_, text_, r);
    }

    template <class Visit> [[gnu::always_inline]] void for_each_chosen(uint32_t r, Visit&& visit) const {
        for (uint32_t c = 0; c < state_[r].chosen; c++) visit(chains_.items[state_[r].first_chosen + c]);
    }

    // Chains point to anchors, so they follow when these are moved.
    ChainNodes nodes_for(uint32_t n) {
        const uint64_t* before = anchors_.items.data();
        reserve(anchors_, batch_.anchors, size_t(kAnchorWords) * n);
        for (uint32_t c = 0; before != anchors_.items.data() && c < chains_.used; c++)
            chains_.items[c].anchors = anchors_.items.data() + (chains_.items[c].anchors - before);
        return nodes_at(anchors_.items.data() + take(batch_.anchors, kAnchorWords * n), n);
    }

    // Three passes, so that the memory accesses of many look-ups overlap.
    void find_seeds(const ChainRequest& read) {
        minimizers_.clear();
        scanner_.set_strand(kmer_strand(read.conversion));
        scanner_.scan(read.forward, read.length, [&](const Minimizer& m) {
            look_up_.prefetch_bucket(m.hash);
            minimizers_.push_back(m);
        });
        for (const Minimizer& m : minimizers_) look_up_.prefetch_entries(m.hash);
        seeds_.clear();
        for (const Minimizer& m : minimizers_) {
            uint32_t first, last;
            look_up_.find(m.hash, first, last);
            if (first < last) seeds_.push_back({first, last - first, m.position << 1 | m.reverse});
        }
    }

    // Aligns the tasks of a round, in narrow bands where these are shown to suffice.
    void align(int round) {
        Store<BandTask>& tasks = tasks_[round];
        pending_.clear();
        for (uint32_t t = 0; t < tasks.used; t++)
            if (!tasks.items[t].operations) pending_.push_back(t);
        for (const int32_t band : kNarrowBands) align_narrow(tasks, band);
        if (has_introns(batch_.rules) && round == 0) {
            for (uint32_t c = 0; c < chains_.used; c++) choose_transcript(batch_, c);
            const auto done = [&](uint32_t t) { return tasks.items[t].operations != 0; };
            pending_.erase(std::remove_if(pending_.begin(), pending_.end(), done), pending_.end());
        }
        affine_tasks_.clear();
        for (const uint32_t t : pending_) affine_tasks_.push_back(affine_task(tasks.items[t]));
        aligner_.run(affine_tasks_, results_);
        for (size_t i = 0; i < pending_.size(); i++) keep(results_[i], tasks.items[pending_[i]]);
    }

    void align_narrow(Store<BandTask>& tasks, int32_t band) {
        affine_tasks_.clear();
        tried_.clear();
        size_t left = 0;
        for (const uint32_t t : pending_) {
            const NarrowBand narrow = narrow_band(batch_.rules.scores, intron_model(batch_), tasks.items[t], band);
            if (narrow.task.rows) {
                affine_tasks_.push_back(affine_task(narrow.task));
                tried_.push_back({t, narrow.beyond});
            } else {
                pending_[left++] = t;
            }
        }
        pending_.resize(left);
        aligner_.run(affine_tasks_, results_);
        for (size_t i = 0; i < tried_.size(); i++) {
            BandTask& task = tasks.items[tried_[i].task];
            if (results_[i].score > tried_[i].beyond) {
                keep(results_[i], task);
                continue;
            }
            task.score = results_[i].score;  // for choose_transcript()
            pending_.push_back(tried_[i].task);
        }
    }

    void keep(const AffineResult& result, BandTask& task) {
        task.score = result.score;
        task.begin = result.begin;
        task.operations = uint32_t(result.cigar.size());
        reserve(cigars_, batch_.cigars, task.operations);
        task.cigar = take(batch_.cigars, task.operations);
        std::copy(result.cigar.begin(), result.cigar.end(), cigars_.items.begin() + task.cigar);
    }

    AffineTask affine_task(const BandTask& task) const {
        const ChainRequest& read = reads_[task.read];
        const uint8_t* codes = task.reverse ? read.reverse : read.forward;
        const Conversion conversion = on_strand(read.conversion, task.reverse);
        if (task.swapped)
            return {codes, task.rows, task.band, task.diagonal, 0, read.length, task.begin_pin, task.end_pin, task.row,
                conversion};
        return {codes + task.row, task.rows, task.band, task.diagonal, reference_.contig_offsets[task.contig],
            reference_.contig_offsets[task.contig + 1], task.begin_pin, task.end_pin, -1, conversion,
            TranscriptStrand(task.transcript), task.fold, task.jump, task.intron};
    }

    void write(size_t r, std::vector<ChainRecord>& out) const {
        out.clear();
        for (uint32_t p = 0; p < state_[r].ranked; p++) {
            const LocalAlignment a = local_alignment(batch_, text_, uint32_t(r), p);
            const uint32_t* cigar = cigars_.items.data() + a.cigar;
            out.push_back({a.contig, a.reverse, a.kind, a.mapq, a.position, a.query_begin, a.query_end, a.score,
                a.edits, a.anchors, std::vector<uint32_t>(cigar, cigar + a.operations), a.transcript});
        }
    }

    const IndexView index_;
    const IndexLookup look_up_;
    const ReferenceView& reference_;
    const ReferenceText text_;
    MinimizerScanner scanner_;
    AffineBatch aligner_;
    ChainBatch batch_{};
    std::vector<ChainRequest> reads_;  // forward: the strand that is mapped
    std::vector<int64_t> offsets_;
    std::vector<uint64_t> words_, keys_;
    std::vector<uint32_t> not_acgt_;
    std::vector<ChainRead> state_;
    std::vector<Minimizer> minimizers_;
    std::vector<ChainSeed> seeds_;
    Store<uint64_t> anchors_;
    Store<AnchorChain> candidates_;
    Store<ChosenChain> chains_;
    Store<ChainPoint> points_;
    Store<BandTask> tasks_[2];
    Store<ChainRun> runs_;
    Store<uint32_t> cigars_;
    Store<ChainAlignment> alignments_;
    Store<RankedAlignment> ranked_;
    std::vector<uint32_t> pending_;  // tasks of a round that are still to be aligned
    struct Tried {
        uint32_t task;
        int32_t beyond;
    };
    std::vector<Tried> tried_;
    std::vector<AffineTask> affine_tasks_;
    std::vector<AffineResult> results_;
};

}  // namespace gpualign
