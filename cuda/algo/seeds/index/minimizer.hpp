// Canonical k-mers, their hash, and the layout of index entries.
//
// A minimizer (Schleimer et al. 2003; Roberts et al. 2004) of a window of w consecutive k-mers is a k-mer of smallest
// hash in it; of equal smallest hashes ALL are minimizers. Picking one of them by side would differ between the
// strands, and on tandem repeats break the window guarantee: two sequences that share an exact match of length >= w + k
// - 1, on either strand, share a minimizer in it.
#pragma once
#include "algo/common/dna.hpp"

namespace gpualign {

constexpr int kMaxKmer = 31;  // odd, so that no k-mer is its own reverse complement

GPUALIGN_HD uint64_t kmer_mask(int k) { return (uint64_t(1) << (2 * k)) - 1; }

// An invertible mix of 2k bits: xor-shifts by half the width and odd multipliers are bijections, so distinct k-mers
// never collide. Low-complexity k-mers, whose packed values are small, become no more likely minimizers than others.
GPUALIGN_HD uint64_t kmer_hash(uint64_t kmer, int k) {
    const uint64_t mask = kmer_mask(k);
    uint64_t h = kmer;
    h ^= h >> k;
    h = h * 0x9E3779B97F4A7C15u & mask;
    h ^= h >> k;
    h = h * 0xD6E8FEB86659FD93u & mask;
    h ^= h >> k;
    return h;
}

// A k-mer rolled along a sequence on both strands at once.
struct RollingKmer {
    uint64_t forward = 0, reverse = 0;
    int valid = 0;  // bases since the last character that is not A, C, G or T, at most k

    GPUALIGN_HD void push(uint8_t code, int k) {
        if (code >= 4) {
            valid = 0;
            return;
        }
        forward = forward >> 2 | uint64_t(code) << (2 * (k - 1));
        reverse = (reverse << 2 | uint64_t(3 - code)) & kmer_mask(k);
        valid = valid < k ? valid + 1 : k;
    }
    GPUALIGN_HD bool complete(int k) const { return valid == k; }
    GPUALIGN_HD bool on_reverse() const { return reverse < forward; }
    GPUALIGN_HD uint64_t hash(int k) const { return kmer_hash(on_reverse() ? reverse : forward, k); }
};

// How a hash of 2k bits splits into a bucket (its top bits) and a fingerprint (the next 31 at most). Where more bits
// remain the fingerprint is not the whole k-mer: every hit is compared with the reference anyway.
struct HashSplit {
    int k, bucket_bits;

    GPUALIGN_HD uint64_t bucket(uint64_t hash) const { return hash >> (2 * k - bucket_bits); }
    GPUALIGN_HD uint32_t fingerprint(uint64_t hash) const {
        const int rest = 2 * k - bucket_bits;  // bits below the bucket
        const uint64_t low = hash & ((uint64_t(1) << rest) - 1);
        return uint32_t(rest > 31 ? low >> (rest - 31) : low);
    }
};

// An index entry: fingerprint (31 bits) | position of the k-mer's first base (32) | 1 where the canonical k-mer is the
// reverse strand's. Entries of a bucket are sorted as integers, hence by fingerprint, then position.
GPUALIGN_HD uint64_t make_entry(uint32_t fingerprint, uint32_t position, bool reverse) {
    return uint64_t(fingerprint) << 33 | uint64_t(position) << 1 | uint64_t(reverse);
}
GPUALIGN_HD uint32_t entry_fingerprint(uint64_t entry) { return uint32_t(entry >> 33); }
GPUALIGN_HD uint32_t entry_position(uint64_t entry) { return uint32_t(entry >> 1); }
GPUALIGN_HD bool entry_reverse(uint64_t entry) { return entry & 1; }

constexpr int kTagBits = 15;  // of a fingerprint in a tag

// A view of the index: offsets has (1 << bucket_bits) + 1 elements. Where `entries` is null they are packed, as devices
// hold them: positions, and apart from them fingerprints << 1 | strand, which are all that most look-ups read.
struct IndexView {
    const uint32_t* offsets;
    const uint64_t* entries;
    HashSplit split;
    const uint32_t* positions = nullptr;
    const uint16_t* tags = nullptr;

    GPUALIGN_HD uint32_t position(uint32_t i) const { return entries ? entry_position(entries[i]) : positions[i]; }
    GPUALIGN_HD uint64_t entry(uint32_t i) const {
        return entries ? entries[i] : make_entry(tags[i] >> 1, positions[i], tags[i] & 1);
    }
    GPUALIGN_HD uint32_t fingerprint(uint32_t i) const {
        return entries ? entry_fingerprint(entries[i]) : uint32_t(tags[i] >> 1);
    }

    // First and one-past-last entry with the hash's fingerprint.
    GPUALIGN_HD void find(uint64_t hash, uint32_t& first, uint32_t& last) const {
        const uint64_t bucket = split.bucket(hash);
        const uint32_t begin = offsets[bucket], end = offsets[bucket + 1];
        const uint32_t wanted = split.fingerprint(hash);
        first = lower_bound(begin, end, wanted);
        last = first < end && fingerprint(first) == wanted ? lower_bound(first, end, uint64_t(wanted) + 1) : first;
    }

    // First of the entries [begin, end) of a bucket whose fingerprint is not lower than that.
    GPUALIGN_HD uint32_t lower_bound(uint32_t begin, uint32_t end, uint64_t wanted) const {
        return entries ? first_from(entries, begin, end, wanted << 33) : first_from(tags, begin, end, wanted << 1);
    }

private:
    template <class Value>
    GPUALIGN_HD static uint32_t first_from(const Value* list, uint32_t begin, uint32_t end, uint64_t value) {
        while (end - begin > 8) {
            const uint32_t middle = begin + (end - begin) / 2;
            if (list[middle] < value) begin = middle + 1;
            else end = middle;
        }
        while (begin < end && list[begin] < value) begin++;
        return begin;
    }
};

}  // namespace gpualign
