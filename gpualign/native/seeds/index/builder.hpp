// Builds the minimizer index: scans the reference, partitions the seeds by the top bits of their hash, and sorts each
// partition into buckets. The seeds of a partition are released once it is sorted, and the pages of the index are first
// written then, so that building needs little more memory than the larger of all seeds and the index.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "common/parallel_for.hpp"
#include "seeds/index/minimizers.hpp"
#include "seeds/index/paged_lists.hpp"
#include "seeds/index/reference.hpp"

namespace gpualign {

// Hash bits that choose the partition.
inline int seed_partition_bits(int k) { return std::min(8, 2 * k); }

// A seed within its partition: the rest of its hash, its position and strand.
class NarrowSeed {
public:
    static constexpr int kRestBits = 31;
    NarrowSeed(uint64_t rest, uint32_t position, uint32_t reverse)
        : bits_(rest << 33 | uint64_t(position) << 1 | reverse) {}
    uint64_t rest() const { return bits_ >> 33; }
    uint32_t position() const { return uint32_t(bits_ >> 1); }
    bool reverse() const { return bits_ & 1; }

private:
    uint64_t bits_;
};

class WideSeed {
public:
    WideSeed(uint64_t rest, uint32_t position, uint32_t reverse)
        : low_(uint32_t(rest << 1 | reverse)), high_(uint32_t(rest >> 31)), position_(position) {}
    uint64_t rest() const { return uint64_t(high_) << 31 | low_ >> 1; }
    uint32_t position() const { return position_; }
    bool reverse() const { return low_ & 1; }

private:
    uint32_t low_, high_, position_;
};
static_assert(sizeof(NarrowSeed) == 8 && sizeof(WideSeed) == 12, "");

// The reference is scanned in pieces of contigs. A piece overlaps its neighbours by enough bases that it sees every
// window of the k-mers that it owns.
struct ScanPiece {
    uint64_t begin, end;  // k-mers owned begin here
    uint64_t contig_begin, contig_end;
};

inline std::vector<ScanPiece> cut(const ReferenceView& reference, uint64_t maximum) {
    std::vector<ScanPiece> pieces;
    for (size_t c = 0; c < reference.contigs; c++) {
        const uint64_t begin = uint64_t(reference.contig_offsets[c]), end = uint64_t(reference.contig_offsets[c + 1]);
        for (uint64_t p = begin; p < end; p += maximum) pieces.push_back({p, std::min(p + maximum, end), begin, end});
    }
    return pieces;
}

template <class Seed> class IndexBuilder {
public:
    // `done` counts up to twice the reference's bases: once while scanning, once while sorting.
    // `bisulfite`: the seeds of both strands, each in three letters, instead of canonical ones.
    IndexBuilder(const ReferenceView& reference, int k, int w, bool bisulfite, int threads, uint64_t* done)
        : reference_(reference), k_(k), w_(w), threads_(threads), partition_bits_(seed_partition_bits(k)),
          bisulfite_(bisulfite), done_(done) {}

    void build() {
        collect();
        choose_buckets();
        sort_partitions();
    }

    int bucket_bits() const { return split_.bucket_bits; }
    size_t buckets() const { return size_t(1) << split_.bucket_bits; }
    size_t size() const { return size_t(starts_.back()); }

    // Not initialised, so that pages take memory only once they are written.
    struct Free {
        void operator()(void* p) const { std::free(p); }
    };
    std::unique_ptr<uint32_t[], Free> offsets;  // of the buckets in the entries, and the number of entries
    std::unique_ptr<uint64_t[], Free> entries;

private:
    size_t partitions() const { return size_t(1) << partition_bits_; }
    int rest_bits() const { return 2 * k_ - partition_bits_; }

    // Scans pieces in parallel; every thread has its own partitions.
    void collect() {
        const std::vector<ScanPiece> pieces = cut(reference_, 1 << 18);
        const auto threads = std::min<size_t>(size_t(threads_), std::max<size_t>(pieces.size(), 1));
        std::vector<MinimizerScanner> scanners(threads, MinimizerScanner(k_, w_));
        std::vector<std::vector<uint8_t>> codes(threads);
        seeds_.reserve(threads);
        for (size_t t = 0; t < threads; t++) seeds_.emplace_back(partitions());
        parallel_for(int(threads), pieces.size(), [&](size_t i, int thread) {
            const auto t = size_t(thread);
            scan_piece(pieces[i], scanners[t], codes[t], seeds_[t]);
            count(pieces[i].end - pieces[i].begin);
        });
    }

    void scan_piece(
        const ScanPiece& piece, MinimizerScanner& scanner, std::vector<uint8_t>& codes, PagedLists<Seed>& seeds) const {
        const uint64_t reach = uint64_t(w_) + uint64_t(k_);
        const uint64_t begin = piece.begin - std::min(piece.begin - piece.contig_begin, reach);
        const uint64_t end = piece.end + std::min(piece.contig_end - piece.end, reach);
        codes.resize(end - begin);
        reference_.codes(begin, end, codes.data());
        const int shift = rest_bits();
        const uint64_t mask = (uint64_t(1) << shift) - 1;
        const auto scan = [&] {
            scanner.scan(codes.data(), int64_t(end - begin), [&](const Minimizer& m) {
                const uint64_t position = begin + m.position;
                if (position >= piece.begin && position < piece.end)
                    seeds.push(m.hash >> shift, Seed(m.hash & mask, uint32_t(position), m.reverse));
            });
        };
        if (!bisulfite_) return scan();
        for (const KmerStrand strand : {KmerStrand::forward, KmerStrand::reverse}) {
            scanner.set_strand(strand);
            scan();
        }
    }

    // About two entries per bucket: 16 bytes, so that a look-up touches one cache line of offsets and one of entries.
    void choose_buckets() {
        starts_.assign(partitions() + 1, 0);
        for (size_t p = 0; p < partitions(); p++) {
            uint64_t n = 0;
            for (const auto& seeds : seeds_) n += seeds.size(p);
            starts_[p + 1] = starts_[p] + n;
        }
        const uint64_t total = starts_.back();
        if (total > kMaxBases) throw std::length_error("the index has more than 4,294,967,294 entries (raise -w)");
        int bits = partition_bits_;
        while (bits < std::min(2 * k_, 30) && (uint64_t(1) << (bits + 1)) <= total) bits++;
        split_ = {k_, bits};
        offsets.reset(allocated<uint32_t>(buckets() + 1));
        offsets[buckets()] = uint32_t(total);
        entries.reset(allocated<uint64_t>(std::max<size_t>(total, 1)));
    }

    template <class T> static T* allocated(size_t n) {
        T* const array = static_cast<T*>(std::malloc(n * sizeof(T)));
        if (!array) throw std::bad_alloc();
        return array;
    }

    void sort_partitions() {
        const int in_partition = split_.bucket_bits - partition_bits_;  // bucket bits below the partition's
        const int shift = rest_bits() - in_partition;
        parallel_for(threads_, partitions(), [&](size_t p, int) {
            const size_t buckets = size_t(1) << in_partition;
            uint32_t* counts = offsets.get() + (p << in_partition);
            std::vector<uint32_t> next(buckets + 1, 0);
            for (const auto& seeds : seeds_)
                seeds.each(p, [&](const Seed& seed) { next[(seed.rest() >> shift) + 1]++; });
            next[0] = uint32_t(starts_[p]);
            for (size_t b = 0; b < buckets; b++) {
                next[b + 1] += next[b];
                counts[b] = next[b];
            }
            for (auto& seeds : seeds_) {
                seeds.each(p, [&](const Seed& seed) {
                    entries[next[seed.rest() >> shift]++] =
                        make_entry(split_.fingerprint(seed.rest()), seed.position(), seed.reverse());
                });
                seeds.release(p);
            }
            for (size_t b = 0; b < buckets; b++) std::sort(entries.get() + counts[b], entries.get() + next[b]);
            const uint64_t bases = uint64_t(reference_.contig_offsets[reference_.contigs]);
            count(bases * (p + 1) / partitions() - bases * p / partitions());
        });
    }

    void count(uint64_t bases) const { __atomic_fetch_add(done_, bases, __ATOMIC_RELAXED); }

    const ReferenceView& reference_;
    const int k_, w_, threads_, partition_bits_;
    const bool bisulfite_;
    uint64_t* const done_;
    std::vector<PagedLists<Seed>> seeds_;  // of each thread, a list per partition
    std::vector<uint64_t> starts_;
    HashSplit split_{};
};

}  // namespace gpualign
