// Methylated and converted cytosines along a genome, from batches of bisulfite records sorted by coordinate, with
// MethylDackel's rules. Free of Python.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "algo/text/bases.hpp"
#include "algo/text/methylation.hpp"
#include "records/depth_changes.hpp"
#include "seeds/index/reference.hpp"

namespace gpualign {

// Reads of a clean-up after MspI: an end of the fragment is CCGG, of which the last two bases were filled in. Bases of
// a read, whose aligned columns are [begin, end) of the contig, that tell nothing are left out of what is returned.
template <class Met> std::pair<int64_t, int64_t> without_filled_in(bool g_to_a, int64_t begin, int64_t end, Met&& met) {
    const auto site = [&](int64_t at) {
        return met(at) == 'C' && met(at + 1) == 'C' && met(at + 2) == 'G' && met(at + 3) == 'G';
    };
    if (g_to_a && site(begin - 1)) begin += 2;
    if (!g_to_a && site(end - 3)) end -= 2;
    return {begin, end};
}

struct MethylationRules {
    uint8_t min_mapq, min_quality;
    bool filled_in;    // leave out filled-in bases of RRBS
    bool other_contexts;  // besides CpG
};

// A base of a read over a cytosine.
struct CytosineCall {
    uint32_t position;
    uint8_t base, quality;  // as in BAM
};

// The calls of the records of a batch; made in any thread.
class MethylationCalls {
public:
    struct Read {
        uint64_t key;            // of the template; 0 if its mate does not overlap
        Locus begin, other;      // where it and its mate begin
        bool g_to_a;
        std::vector<CytosineCall> calls;
    };

    // Throws std::invalid_argument if the records are not sorted, or damaged.
    MethylationCalls(const uint8_t* records, size_t size, const ReferenceView& reference, const MethylationRules& rules)
        : reference_(reference), rules_(rules) {
        for (BamRecords left(records, size); left.more();) {
            const BamRecord record = left.next();
            if (record.contig() < 0) continue;
            if (size_t(record.contig()) >= reference.contigs) throw std::invalid_argument("a record of no contig");
            const Locus at = locus(record.contig(), record.position());
            if (at < last_) throw std::invalid_argument("records are not sorted by coordinate");
            last_ = at;
            if (counts(record)) add(record, at);
        }
    }

    const std::vector<Read>& reads() const { return reads_; }
    Locus last() const { return last_; }

private:
    static constexpr uint16_t kSkipped =
        kFlagUnmapped | kFlagSecondary | kFlagQcFail | kFlagDuplicate | kFlagSupplementary;

    bool counts(const BamRecord& record) const {
        const bool alone = record.is(kFlagPaired) && !record.is(kFlagProper);
        return !record.is(kSkipped) && !alone && record.mapq() >= rules_.min_mapq;
    }

    void add(const BamRecord& record, Locus at) {
        const std::string_view strand = find_tag(record, "YD");
        if (strand.empty()) return;
        const BamCigar cigar(record);
        const int64_t begin = record.position(), end = begin + record.span();
        const int64_t contig_begin = reference_.contig_offsets[record.contig()];
        const int64_t length = reference_.contig_offsets[record.contig() + 1] - contig_begin;
        if (end > length) throw std::invalid_argument("a record ends beyond its contig");
        // with two bases before and after the record
        const int64_t from = std::max<int64_t>(0, begin - kAround), to = std::min(length, end + kAround);
        window_.resize(size_t(to - from) + kBasesPerWord);
        reference_.sequence(uint64_t(contig_begin + from), uint64_t(contig_begin + to), window_.data());
        const auto met = [&](int64_t i) { return i < from || i >= to ? 'N' : window_[size_t(i - from)]; };

        const bool g_to_a = strand == "r", paired = record.is(kFlagPaired);
        const Locus other = locus(record.mate_contig(), record.mate_position());
        const bool overlaps =
            paired && record.mate_contig() == record.contig() && (other < at || other < locus(record.contig(), end));
        reads_.push_back({overlaps ? hash_text(record.name()) | 1 : 0, at, other, g_to_a, {}});
        std::vector<CytosineCall>& calls = reads_.back().calls;
        const auto [first, last] =
            rules_.filled_in ? without_filled_in(g_to_a, begin, end, met) : std::pair(begin, end);
        const char cytosine = g_to_a ? 'G' : 'C', guanine = g_to_a ? 'C' : 'G';
        const uint8_t *bases = record.bases(), *qualities = record.qualities();
        int64_t query = 0, here = begin;
        for (size_t i = 0; i < cigar.size(); i++) {
            const uint32_t operation = cigar[i] & 15;
            const int64_t n = cigar[i] >> 4;
            if (operation == kCigarM || operation == kCigarEqual || operation == kCigarX) {
                for (int64_t x = std::max<int64_t>(0, first - here); x < std::min(n, last - here); x++) {
                    if (window_[size_t(here + x - from)] != cytosine) continue;
                    if (!rules_.other_contexts && met(here + x + (g_to_a ? -1 : 1)) != guanine) continue;
                    const auto base = uint8_t(bases[(query + x) / 2] >> ((query + x) % 2 ? 0 : 4) & 15);
                    calls.push_back({uint32_t(here + x), base, qualities[query + x]});
                }
                query += n, here += n;
            } else if (operation == kCigarI || operation == kCigarS) {
                query += n;
            } else if (operation == kCigarD || operation == kCigarN) {
                here += n;
            }
        }
    }
    static constexpr int64_t kAround = 4;

    const ReferenceView& reference_;
    const MethylationRules rules_;
    Locus last_ = 0;
    std::vector<Read> reads_;
    std::vector<char> window_;
};

// Sums the calls of consecutive batches. Everything before a batch's last record, and before reads that wait for their
// mates, is final.
class MethylationCounter {
public:
    // Lines are bedGraph as MethylDackel writes it, or as Bismark's coverage.
    MethylationCounter(
        const ReferenceView& reference, std::vector<std::string> names, MethylationRules rules, bool bismark)
        : reference_(reference), names_(std::move(names)), rules_(rules), bismark_(bismark) {
        if (names_.size() != reference.contigs) throw std::invalid_argument("a name for each contig");
    }

    const ReferenceView& reference() const { return reference_; }
    const MethylationRules& rules() const { return rules_; }

    // Throws std::invalid_argument if records are not sorted.
    void add(const MethylationCalls& batch) {
        for (const MethylationCalls::Read& read : batch.reads()) {
            if (read.begin < last_) throw std::invalid_argument("records are not sorted by coordinate");
            last_ = read.begin;
            settle_before(read.begin);
            take(read);
            flush(waiting_.empty() ? last_ : waiting_.front().begin);
        }
    }

    void finish() {
        settle_before(~Locus(0));
        flush(~Locus(0));
    }

    // Lines since the last call, of CpG, CHG and CHH.
    std::vector<uint8_t> take_lines(int context) { return std::exchange(lines_[context], {}); }
    // Methylated and converted bases of all sites, of CpG, CHG and CHH.
    const std::vector<int64_t>& totals() const { return totals_; }

private:
    struct Count {
        uint32_t methylated = 0, converted = 0;
    };

    // Counts reads whose mates should have come before `at` by themselves.
    void settle_before(Locus at) {
        while (!waiting_.empty() && (!waiting_.front().key || waiting_.front().other < at)) {
            if (waiting_.front().key) {
                count(waiting_.front());
                by_key_.erase(waiting_.front().key);
            }
            waiting_.pop_front();
            first_number_++;
        }
    }

    void take(const MethylationCalls::Read& read) {
        if (!read.key) return count(read);
        const auto mate = by_key_.find(read.key);
        if (mate == by_key_.end()) {
            if (read.other < read.begin) return count(read);  // its mate was left out, or ends before
            by_key_[read.key] = first_number_ + waiting_.size();
            waiting_.push_back(read);
            return;
        }
        MethylationCalls::Read& first = waiting_[size_t(mate->second - first_number_)];
        if (first.g_to_a == read.g_to_a) {
            count_both(first, read);
        } else {
            count(first);
            count(read);
        }
        first.key = 0;
        by_key_.erase(mate);
    }

    void count(const MethylationCalls::Read& read) {
        for (const CytosineCall& call : read.calls) count(read, call.position, call.base, call.quality);
    }

    // Counts a template's bases. Where its reads overlap, the better base counts; if the two differ, with the
    // difference of their qualities.
    void count_both(const MethylationCalls::Read& a, const MethylationCalls::Read& b) {
        auto one = a.calls.begin(), two = b.calls.begin();
        while (one != a.calls.end() || two != b.calls.end()) {
            if (two == b.calls.end() || (one != a.calls.end() && one->position < two->position)) {
                count(a, one->position, one->base, one->quality);
                ++one;
            } else if (one == a.calls.end() || two->position < one->position) {
                count(b, two->position, two->base, two->quality);
                ++two;
            } else {
                const CytosineCall& best = one->quality > two->quality ? *one : *two;
                const int quality =
                    one->base != two->base ? std::abs(one->quality - two->quality) : best.quality + best.quality / 5;
                count(a, best.position, best.base, uint8_t(std::min(255, quality)));
                ++one, ++two;
            }
        }
    }

    void count(const MethylationCalls::Read& read, uint32_t position, uint8_t base, uint8_t quality) {
        constexpr uint8_t kA = 1, kC = 2, kG = 4, kT = 8;
        if (quality < rules_.min_quality) return;
        const bool methylated = base == (read.g_to_a ? kG : kC), converted = base == (read.g_to_a ? kA : kT);
        if (!methylated && !converted) return;
        const auto contig = int32_t(read.begin >> 32);
        if (contig != contig_) {
            flush(~Locus(0));
            contig_ = contig;
            first_ = position;
            counts_.clear();
            done_ = 0;
        }
        if (counts_.empty()) first_ = position;
        if (position < first_ + done_) {  // a read before the first one that was counted
            counts_.erase(counts_.begin(), counts_.begin() + int64_t(done_));
            counts_.insert(counts_.begin(), first_ + done_ - position, Count());
            first_ = position, done_ = 0;
        }
        if (position - first_ >= counts_.size()) counts_.resize(position - first_ + 1);
        Count& at = counts_[position - first_];
        methylated ? at.methylated++ : at.converted++;
    }

    // Writes the sites before `end`.
    void flush(Locus end) {
        if (contig_ < 0 || counts_.empty()) return;
        const auto contig = int32_t(end >> 32);
        const uint64_t stop = contig > contig_ ? counts_.size()
                                               : std::min<uint64_t>(counts_.size(),
                                                     std::max<int64_t>(0, int64_t(end & UINT32_MAX) - int64_t(first_)));
        for (; done_ < stop; done_++)
            if (counts_[done_].methylated + counts_[done_].converted) line(first_ + done_, counts_[done_]);
        if (done_ == counts_.size()) {
            counts_.clear();
            done_ = 0;
        } else if (done_ > kSpare && done_ > counts_.size() / 2) {
            counts_.erase(counts_.begin(), counts_.begin() + int64_t(done_));
            first_ += uint32_t(done_);
            done_ = 0;
        }
    }
    static constexpr size_t kSpare = 1 << 16;

    char base(int64_t at) const {
        const int64_t *contig = reference_.contig_offsets + contig_, here = contig[0] + at;
        if (at < 0 || here >= contig[1] || reference_.has_run(uint64_t(here), uint64_t(here) + 1)) return 'N';
        return kFourBases.of[packed_base(reference_.words, uint64_t(here))][0];
    }

    void line(uint64_t position, const Count& count) {
        const auto at = int64_t(position);
        const bool reverse = base(at) == 'G';
        const char guanine = reverse ? 'C' : 'G';
        const int step = reverse ? -1 : 1, context = base(at + step) == guanine       ? 0
                                                     : base(at + 2 * step) == guanine ? 1
                                                                                      : 2;
        totals_[size_t(2 * context)] += count.methylated;
        totals_[size_t(2 * context + 1)] += count.converted;
        std::vector<uint8_t>& out = lines_[context];
        const std::string& name = names_[size_t(contig_)];
        out.insert(out.end(), name.begin(), name.end());
        const double percent = 100.0 * count.methylated / (count.methylated + count.converted);
        char text[160];
        const int size = bismark_
                             ? std::snprintf(text, sizeof text, "\t%lld\t%lld\t%.15g\t%u\t%u\n", (long long)(at + 1),
                                   (long long)(at + 1), percent, count.methylated, count.converted)
                             : std::snprintf(text, sizeof text, "\t%lld\t%lld\t%d\t%u\t%u\n", (long long)at,
                                   (long long)(at + 1), int(percent), count.methylated, count.converted);
        out.insert(out.end(), text, text + size);
    }

    const ReferenceView reference_;
    const std::vector<std::string> names_;
    const MethylationRules rules_;
    const bool bismark_;
    Locus last_ = 0;
    std::deque<MethylationCalls::Read> waiting_;           // in order; key 0: counted
    std::unordered_map<uint64_t, uint64_t> by_key_;        // number of the read that waits
    uint64_t first_number_ = 0;                            // of waiting_
    int32_t contig_ = -1;
    uint32_t first_ = 0;        // position of counts_[0]
    std::vector<Count> counts_;
    size_t done_ = 0;           // of counts_, written
    std::vector<uint8_t> lines_[3];
    std::vector<int64_t> totals_ = std::vector<int64_t>(6);
};

}  // namespace gpualign
