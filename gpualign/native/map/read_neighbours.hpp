// The minimizers of a read with one base changed: what it shares with a locus that an edit alone keeps apart.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "algo/map/seeds.hpp"
#include "index/minimizers.hpp"

namespace gpualign {

class ReadNeighbours {
public:
    void load(const uint8_t* codes, int32_t length, int k, int w) {
        codes_ = codes;
        length_ = length;
        k_ = k;
        kmers_ = std::max(0, length - k + 1);
        // of a read that has not a window of k-mers any may be the reference's minimizer
        w_ = kmers_ < w ? 1 : w;
        known_ = std::find(codes, codes + length, kNoBase) == codes + length;
        forward_.resize(size_t(kmers_));
        reverse_.resize(size_t(kmers_));
        unknown_.resize(size_t(kmers_));
        hashes_.resize(size_t(kmers_));
        RollingKmer kmer;
        int32_t unknown = 0;
        for (int32_t i = 0; i < length; i++) {
            unknown += codes[i] == kNoBase;
            kmer.push(known_code(i), k);
            const int32_t p = i - k + 1;
            if (p < 0) continue;
            forward_[size_t(p)] = kmer.forward;
            reverse_[size_t(p)] = kmer.reverse;
            unknown_[size_t(p)] = unknown;
            hashes_[size_t(p)] = unknown ? kNoKmer : kmer.hash(k);
            unknown -= codes[p] == kNoBase;
        }
    }

    // visit(Minimizer) for all k-mers of the read, then for the minimizers that a base is part of, were it another: each base, or
    // each unknown one where there are any.
    template <class Visit>
    void visit(Visit&& visit) {
        for (int32_t p = 0; p < kmers_; p++)
            if (hashes_[size_t(p)] != kNoKmer) visit(Minimizer{hashes_[size_t(p)], uint32_t(p), reverse_[size_t(p)] < forward_[size_t(p)]});
        changed_ = hashes_;
        for (int32_t i = 0; i < length_; i++) {
            if (!known_ && codes_[i] != kNoBase) continue;
            for (uint8_t code = 0; code < 4; code++)
                if (code != codes_[i]) visit_changed(i, code, visit);
        }
    }

private:
    // Unknown bases count as A where k-mers are rolled.
    uint8_t known_code(int32_t i) const { return codes_[i] == kNoBase ? uint8_t(0) : codes_[i]; }

    template <class Visit>
    void visit_changed(int32_t i, uint8_t code, Visit&& visit) {
        const int32_t first = std::max(0, i - k_ + 1), last = std::min(i, kmers_ - 1);
        const int32_t others = codes_[i] == kNoBase;
        const uint64_t change = uint64_t(code ^ known_code(i));
        const auto changed = [&](int32_t p, uint64_t& forward, uint64_t& reverse) {
            forward = forward_[size_t(p)] ^ change << 2 * (i - p);
            reverse = reverse_[size_t(p)] ^ change << 2 * (k_ - 1 - (i - p));
        };
        uint64_t forward, reverse;
        for (int32_t p = first; p <= last; p++) {
            changed(p, forward, reverse);
            changed_[size_t(p)] = unknown_[size_t(p)] != others ? kNoKmer : kmer_hash(std::min(forward, reverse), k_);
        }
        for (int32_t p = first; p <= last; p++) {
            if (!is_minimizer(changed_.data(), kmers_, p, w_)) continue;
            changed(p, forward, reverse);
            visit(Minimizer{changed_[size_t(p)], uint32_t(p), reverse < forward});
        }
        std::copy(hashes_.begin() + first, hashes_.begin() + last + 1, changed_.begin() + first);
    }

    const uint8_t* codes_ = nullptr;
    int32_t length_ = 0, kmers_ = 0;
    int k_ = 0, w_ = 0;
    bool known_ = true;
    std::vector<uint64_t> forward_, reverse_, hashes_, changed_;  // of each k-mer
    std::vector<int32_t> unknown_;                                // bases in it
};

}  // namespace gpualign
