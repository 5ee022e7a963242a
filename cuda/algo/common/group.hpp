// Lanes that work together. An algorithm that takes a Group runs on the 32 lanes of a warp (device/warp.cuh), and with
// OneLane on a single CPU thread.
//
// All lanes call each function together and get the same result unless stated otherwise. Work is shared by index:
// lane() takes lane(), lane() + kLanes, ... Memory that a lane has written is visible to the others after sync().
#pragma once
#include "algo/common/hd.hpp"
#if !defined(__CUDACC__)
#include "algo/common/radix_sort.hpp"
#endif

namespace gpualign {

struct OneLane {
    static constexpr uint32_t kLanes = 1;

    GPUALIGN_HD uint32_t lane() const { return 0; }
    GPUALIGN_HD void sync() const {}
    // sync(), and whether any lane's predicate holds.
    GPUALIGN_HD bool sync_any(bool mine) const { return mine; }
    // Bit i: lane i's predicate.
    GPUALIGN_HD uint32_t ballot(bool predicate) const { return predicate; }
    // Number of earlier lanes whose predicate holds; differs between lanes.
    GPUALIGN_HD uint32_t before(uint32_t) const { return 0; }
    // Sum over the earlier lanes; differs between lanes. `total` is the sum over all.
    GPUALIGN_HD uint32_t sum_before(uint32_t value, uint32_t& total) const {
        total = value;
        return 0;
    }
    GPUALIGN_HD uint32_t sum(uint32_t value) const { return value; }
    template <class T> GPUALIGN_HD T largest(T value) const { return value; }
    // Maximum over the lanes up to this one; differs between lanes.
    GPUALIGN_HD int32_t largest_up_to(int32_t value) const { return value; }
    // The value of one lane.
    template <class T> GPUALIGN_HD T from(T value, uint32_t) const { return value; }
    // The value of the lane with the bit-reversed number; differs between lanes.
    template <class T> GPUALIGN_HD T across(T value, uint32_t) const { return value; }
    // The value of the previous lane, `first` in the first lane; differs between lanes.
    template <class T> GPUALIGN_HD T from_before(T, T first) const { return first; }
    // The record of T::kWords words of the previous lane, `first` in the first lane.
    template <class T> GPUALIGN_HD T record_before(const T&, const T& first) const { return first; }
    // Atomically increments a counter and returns its old value; may be called by some lanes only.
    GPUALIGN_HD uint32_t take(uint32_t* counter) const { return (*counter)++; }
    // Atomically sets a bit of an array; may be called by some lanes only.
    GPUALIGN_HD void set_bit(uint32_t* words, uint32_t bit) const { words[bit / 32] |= 1u << bit % 32; }
    // Adds n to a counter once for all lanes; returns its old value.
    GPUALIGN_HD uint32_t take_together(uint32_t* counter, uint32_t n) const {
        const uint32_t before = *counter;
        *counter += n;
        return before;
    }
};

GPUALIGN_HD uint32_t count_bits(uint32_t bits) {
#if defined(__CUDA_ARCH__)
    return uint32_t(__popc(bits));
#else
    return uint32_t(__builtin_popcount(bits));
#endif
}

// The first lane of a non-empty ballot.
GPUALIGN_HD uint32_t first_lane(uint32_t bits) { return uint32_t(trailing_zeros(uint64_t(bits))); }

// The last lane of a non-empty ballot.
GPUALIGN_HD uint32_t last_lane(uint32_t bits) {
#if defined(__CUDA_ARCH__)
    return 31 - uint32_t(__clz(int(bits)));
#else
    return 31 - uint32_t(__builtin_clz(bits));
#endif
}

// The smallest power of two that is at least n.
GPUALIGN_HD uint32_t power_of_two(uint32_t n) {
    uint32_t p = 1;
    while (p < n) p *= 2;
    return p;
}

// Reads an array item by item in all lanes, loading as many at once as there are lanes.
template <class Group, class Item> class InTurn {
public:
    GPUALIGN_HD InTurn(const Group& group, const Item* items, uint32_t n) : group_(group), items_(items), n_(n) {}

    // Item i; the same in all lanes.
    GPUALIGN_HD Item operator[](uint32_t i) {
        if (i / Group::kLanes != loaded_) {
            loaded_ = i / Group::kLanes;
            const uint32_t mine = loaded_ * Group::kLanes + group_.lane();
            item_ = items_[mine < n_ ? mine : i];
        }
        return group_.from(item_, i % Group::kLanes);
    }

private:
    const Group& group_;
    const Item* items_;
    const uint32_t n_;
    uint32_t loaded_ = ~0u;
    Item item_{};
};

// A block of PerLane * kLanes keys in registers: key r of lane l is element r * kLanes + l.
template <int PerLane, class Group> class KeyBlock {
public:
    static constexpr uint32_t kKeys = PerLane * Group::kLanes;

    // Loads the elements from `first` on; those from `count` on become the largest key.
    GPUALIGN_HD KeyBlock(const Group& group, const uint64_t* keys, uint32_t first, uint32_t count)
        : group_(group), first_(first) {
        GPUALIGN_UNROLL
        for (int r = 0; r < PerLane; r++) key_[r] = element(r) < count ? keys[element(r)] : ~uint64_t(0);
    }
    GPUALIGN_HD void store(uint64_t* keys, uint32_t count) const {
        GPUALIGN_UNROLL
        for (int r = 0; r < PerLane; r++)
            if (element(r) < count) keys[element(r)] = key_[r];
    }
    // The steps of a bitonic merge of sequences of `size`, from `stride` on, alternating in direction.
    GPUALIGN_HD void merge(uint32_t size, uint32_t stride) {
        GPUALIGN_UNROLL
        for (int apart = PerLane / 2; apart > 0; apart /= 2) {
            if (stride < apart * Group::kLanes) continue;
            GPUALIGN_UNROLL
            for (int r = 0; r < PerLane; r++) {
                if (r & apart) continue;
                const uint64_t a = key_[r], b = key_[r + apart];
                const bool swap = (a > b) == ((element(r) & size) == 0);
                key_[r] = swap ? b : a;
                key_[r + apart] = swap ? a : b;
            }
        }
        for (uint32_t apart = stride < Group::kLanes ? stride : Group::kLanes / 2; apart > 0; apart /= 2) {
            GPUALIGN_UNROLL
            for (int r = 0; r < PerLane; r++) {
                const uint64_t other = group_.across(key_[r], apart);
                const bool smaller = ((element(r) & size) == 0) == ((group_.lane() & apart) == 0);
                key_[r] = (other < key_[r]) == smaller ? other : key_[r];
            }
        }
    }

private:
    GPUALIGN_HD uint32_t element(int r) const { return first_ + uint32_t(r) * Group::kLanes + group_.lane(); }

    const Group& group_;
    uint32_t first_;
    uint64_t key_[PerLane];
};

// Sorts keys[0, n), which has space for power_of_two(n) keys and contains no ~0: a bitonic sort (Batcher 1968), in
// registers within a block.
template <int PerLane, int Together = 1, class Group>
GPUALIGN_HD void sort_by_blocks(const Group& group, uint64_t* keys, uint32_t n) {
    using Block = KeyBlock<PerLane, Group>;
    const uint32_t padded = power_of_two(n), end = n <= Block::kKeys ? n : padded;
    for (uint32_t first = 0; first < end; first += Block::kKeys) {
        Block block(group, keys, first, n);
        for (uint32_t size = 2; size <= Block::kKeys && size <= padded; size *= 2) block.merge(size, size / 2);
        block.store(keys, end);
    }
    group.sync();
    for (uint32_t size = 2 * Block::kKeys; size <= padded; size *= 2) {
        for (uint32_t stride = size / 2; stride >= Block::kKeys; stride /= 2) {
            for (uint32_t i = group.lane(); i < padded / 2; i += Together * Group::kLanes) {  // so many loads at a time
                uint32_t low[Together];
                uint64_t a[Together], b[Together];
                GPUALIGN_UNROLL
                for (int t = 0; t < Together; t++) {
                    const uint32_t pair = i + uint32_t(t) * Group::kLanes;
                    low[t] = 2 * pair - (pair & (stride - 1));
                    a[t] = keys[low[t]];
                    b[t] = keys[low[t] + stride];
                }
                GPUALIGN_UNROLL
                for (int t = 0; t < Together; t++) {
                    if ((a[t] > b[t]) != ((low[t] & size) == 0)) continue;
                    keys[low[t]] = b[t];
                    keys[low[t] + stride] = a[t];
                }
            }
            group.sync();
        }
        for (uint32_t first = 0; first < padded; first += Block::kKeys) {
            Block block(group, keys, first, padded);
            block.merge(size, Block::kKeys / 2);
            block.store(keys, padded);
        }
        group.sync();
    }
}

template <class Group> GPUALIGN_HD void sort_keys(const Group& group, uint64_t* keys, uint32_t n) {
#if !defined(__CUDACC__)
    if (Group::kLanes == 1) return radix_sort(keys, keys + n);
#endif
    if (n <= Group::kLanes) sort_by_blocks<1>(group, keys, n);
    else sort_by_blocks<4>(group, keys, n);
}

// sort_keys for thousands of keys: more registers, fewer passes over memory. Not inlined, as it would dominate its
// callers' code.
template <class Group> GPUALIGN_HD_CALL void sort_many_keys(const Group& group, uint64_t* keys, uint32_t n) {
    if (Group::kLanes == 1 || n <= 512) sort_keys(group, keys, n);
    else sort_by_blocks<8, 8>(group, keys, n);
}

// Keeps the keys that pass `keep`, in order; returns their number.
template <class Group, class Keep>
GPUALIGN_HD uint32_t keep_keys(const Group& group, uint64_t* keys, uint32_t n, Keep&& keep) {
    uint32_t kept = 0;
    for (uint32_t base = 0; base < n; base += Group::kLanes) {
        const uint32_t i = base + group.lane();
        const uint64_t key = i < n ? keys[i] : 0;
        const bool wanted = i < n && keep(key);
        const uint32_t mask = group.ballot(wanted);
        group.sync();  // all keys of this round have been read
        if (wanted) keys[kept + group.before(mask)] = key;
        kept += count_bits(mask);
    }
    group.sync();
    return kept;
}

}  // namespace gpualign
