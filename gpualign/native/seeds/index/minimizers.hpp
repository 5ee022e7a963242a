// Minimizers of an encoded sequence, a block at a time.
//
// With h the k-mer hashes and kNoHash (the largest value) for ambiguous k-mers, the minima of windows are a sliding
// minimum of h, and a k-mer is a minimizer if the largest minimum of the windows that contain it is its own hash. That
// is a morphological opening: two sliding passes without branches, which vectorise, and keep all ties.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "algo/common/bisulfite.hpp"
#include "algo/seeds/index/minimizer.hpp"

namespace gpualign {

constexpr uint64_t kNoHash = ~uint64_t(0);

struct Minimizer {
    uint64_t hash;
    uint32_t position;  // of the k-mer's first base, in the scanned sequence
    uint32_t reverse;   // 1 if the canonical k-mer is the reverse strand's
};

// Which k-mers are scanned: canonical ones, or for bisulfite (algo/common/bisulfite.hpp) those of one strand, in which
// C is T.
enum class KmerStrand : uint8_t { canonical, forward, reverse };
inline KmerStrand kmer_strand(Conversion of_read) {
    return of_read == Conversion::none     ? KmerStrand::canonical
           : of_read == Conversion::c_to_t ? KmerStrand::forward
                                           : KmerStrand::reverse;
}

// values[i] = op over values[i, i + w), by doubling; the last w - 1 values are undefined.
template <class Op> inline void slide(std::vector<uint64_t>& values, int64_t n, int64_t w, Op op) {
    uint64_t* v = values.data();
    int64_t span = 1;
    for (; 2 * span <= w; span *= 2)
        for (int64_t i = 0; i + span < n; i++) v[i] = op(v[i], v[i + span]);
    if (span < w)
        for (int64_t i = 0; i + (w - span) < n; i++) v[i] = op(v[i], v[i + (w - span)]);
}

class MinimizerScanner {
public:
    MinimizerScanner(int k, int w) : k_(k), w_(w) {}

    // From now on scans these k-mers; canonical ones at first.
    void set_strand(KmerStrand strand) { strand_ = strand; }

    // Calls emit(Minimizer) for each minimizer of codes[0, length), in order of position. A sequence with fewer than w
    // k-mers is one window.
    template <class Emit> void scan(const uint8_t* codes, int64_t length, Emit&& emit) {
        const int64_t kmers = length - k_ + 1;
        if (kmers <= 0) return;
        const int64_t w = std::min<int64_t>(w_, kmers);
        const int64_t windows = kmers - w + 1;
        // the k-mers [start, start + kBlock) depend on windows up to w - 1 k-mers to either side
        for (int64_t start = 0; start < kmers; start += kBlock) {
            const int64_t stop = std::min(start + kBlock, kmers);
            const int64_t first_window = std::max<int64_t>(0, start - w + 1);
            const int64_t last_window = std::min(stop, windows);  // exclusive
            hash_kmers(codes, first_window, last_window + w - 1);
            const int64_t n = last_window - first_window;
            minima_ = hashes_;
            slide(minima_, n + w - 1, w, [](uint64_t a, uint64_t b) { return a < b ? a : b; });
            // maxima over the existing windows among [i - w + 1, i]: padded with 0 on both sides
            padded_.assign(size_t(n + 2 * (w - 1)), 0);
            std::copy(minima_.begin(), minima_.begin() + n, padded_.begin() + (w - 1));
            slide(padded_, n + 2 * (w - 1), w, [](uint64_t a, uint64_t b) { return a > b ? a : b; });
            // branch-free compaction, as minimizers are unpredictable
            at_.resize(size_t(stop - start));
            size_t found = 0;
            for (int64_t i = start - first_window; i < stop - first_window; i++) {
                at_[found] = uint32_t(i);
                found += padded_[size_t(i)] == hashes_[size_t(i)] && hashes_[size_t(i)] != kNoHash;
            }
            for (size_t m = 0; m < found; m++)
                emit(Minimizer{hashes_[at_[m]], uint32_t(first_window + at_[m]), reverse_[at_[m]]});
        }
    }

private:
    static constexpr int64_t kBlock = 2048;  // k-mers per block

    void hash_kmers(const uint8_t* codes, int64_t from, int64_t to) {
        hashes_.resize(size_t(to - from));
        reverse_.resize(size_t(to - from));
        if (strand_ != KmerStrand::canonical) return hash_converted(codes, from, to);
        RollingKmer kmer;
        for (int64_t i = from; i < from + k_ - 1; i++) kmer.push(codes[i], k_);
        for (int64_t i = from; i < to; i++) {
            kmer.push(codes[i + k_ - 1], k_);
            hashes_[size_t(i - from)] = kmer.complete(k_) ? std::min(kmer.forward, kmer.reverse) : kNoHash;
            reverse_[size_t(i - from)] = kmer.on_reverse();
        }
        for (uint64_t& hash : hashes_) hash = hash == kNoHash ? kNoHash : kmer_hash(hash, k_);  // vectorises
    }

    void hash_converted(const uint8_t* codes, int64_t from, int64_t to) {
        const bool reverse = strand_ == KmerStrand::reverse;
        RollingKmer kmer;
        for (int64_t i = from; i < from + k_ - 1; i++) kmer.push(converted_code(codes[i], reverse), k_);
        for (int64_t i = from; i < to; i++) {
            kmer.push(converted_code(codes[i + k_ - 1], reverse), k_);
            const uint64_t bases = reverse ? kmer.reverse : kmer.forward;
            hashes_[size_t(i - from)] = kmer.complete(k_) ? kmer_hash(bases, k_) : kNoHash;
            reverse_[size_t(i - from)] = reverse;
        }
    }

    int k_, w_;
    KmerStrand strand_ = KmerStrand::canonical;
    std::vector<uint64_t> hashes_, minima_, padded_;
    std::vector<uint8_t> reverse_;
    std::vector<uint32_t> at_;  // of the minimizers
};

}  // namespace gpualign
