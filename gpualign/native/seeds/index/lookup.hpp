// Index look-ups of many hashes, with overlapping memory accesses and without unpredictable branches for small
// buckets.
#pragma once
#include <algorithm>
#include <cstdint>

#include "algo/common/group.hpp"
#include "algo/seeds/index/minimizer.hpp"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace gpualign {

class IndexLookup {
public:
    explicit IndexLookup(const IndexView& index)
        : index_(index), entries_(index.offsets[uint64_t(1) << index.split.bucket_bits]),
          in_line_(uint32_t(reinterpret_cast<uintptr_t>(index.entries) / sizeof(uint64_t)) % kAtOnce) {}

    // Three passes over some dozens of hashes, as many as the nearest cache holds: prefetch_bucket, prefetch_entries,
    // find. Always inlined, as GCC drops calls of functions that only prefetch.
    [[gnu::always_inline]] void prefetch_bucket(uint64_t hash) const {
        __builtin_prefetch(&index_.offsets[index_.split.bucket(hash)]);
    }
    [[gnu::always_inline]] void prefetch_entries(uint64_t hash) const {
        const uint64_t bucket = index_.split.bucket(hash);
        const uint32_t begin = index_.offsets[bucket], end = std::max(begin + 1, index_.offsets[bucket + 1]);
        const uint32_t some = std::min(end - begin, kAtOnce);
        for (const uint32_t e : {begin, begin + some - 1, end - some, end - 1}) __builtin_prefetch(&index_.entries[e]);
    }

    // Same result as IndexView::find: the first and one-past-last entry with the hash's fingerprint.
    void find(uint64_t hash, uint32_t& first, uint32_t& last) const {
        const uint64_t bucket = index_.split.bucket(hash);
        const uint32_t begin = index_.offsets[bucket], end = index_.offsets[bucket + 1];
        if (!kVectors || entries_ < kAtOnce) return index_.find(hash, first, last);
        const uint64_t wanted = index_.split.fingerprint(hash), lowest = wanted << 33, beyond = (wanted + 1) << 33;
        if (end - begin <= kAtOnce) {
            const uint32_t from =
                std::min(first_compared(begin, end), entries_ - kAtOnce);  // clamped to the last full vector
            const uint32_t of_bucket = ((1u << (end - begin)) - 1) << (begin - from);
            first = begin + count_bits(less(from, lowest) & of_bucket);
            last = begin + count_bits(less(from, beyond) & of_bucket);
            return;
        }
        // a large bucket holds one frequent k-mer, with few others at its ends
        first = index_.entries[begin + kAtOnce - 1] >= lowest ? begin + count_bits(less(begin, lowest))
                                                              : index_.lower_bound(begin + kAtOnce, end, wanted);
        const uint32_t tail = end - kAtOnce;
        last = index_.entries[tail] < beyond ? std::max(first, tail + count_bits(less(tail, beyond)))
                                             : index_.lower_bound(first, tail, wanted + 1);
    }

private:
    static constexpr uint32_t kAtOnce = 8;  // entries per cache line
#if defined(__AVX512F__)
    static constexpr bool kVectors = true;
#else
    static constexpr bool kVectors = false;  // eight scalar comparisons take longer than a branch
#endif

    // A bucket within one cache line is compared as part of that line, as the next one has not been prefetched.
    uint32_t first_compared(uint32_t begin, uint32_t end) const {
        const uint32_t before = (begin + in_line_) % kAtOnce;
        return before <= begin && before + (end - begin) <= kAtOnce ? begin - before : begin;
    }

    // Mask of the entries from `from` on that are less than `value`.
    uint32_t less(uint32_t from, uint64_t value) const {
        const uint64_t* entries = index_.entries + from;
#if defined(__AVX512F__)
        return _mm512_cmplt_epu64_mask(_mm512_loadu_si512(entries), _mm512_set1_epi64(int64_t(value)));
#else
        uint32_t bits = 0;
        for (uint32_t i = 0; i < kAtOnce; i++) bits |= uint32_t(entries[i] < value) << i;
        return bits;
#endif
    }

    const IndexView index_;
    const uint32_t entries_, in_line_;  // their number; offset of the first one in its cache line
};

}  // namespace gpualign
