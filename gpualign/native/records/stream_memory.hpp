// Memory for ISA-L's streams at addresses that do not affect the output. Free of Python.
//
// ISA-L inserts position 2 of a text into its hash table under a hash of bits 16 to 47 of the stream's address, left
// in a register by igzip_icf_body_h1_gr_bt.asm. As a result one block in about 100,000 was compressed differently in
// another thread. All streams are therefore placed where that hash is 0.
#pragma once
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace gpualign {

class StreamMemory {
public:
    static constexpr size_t kBytes = 1 << 19;

    StreamMemory() : at_(placed()) {
        if (at_ == 0) at_ = mapped(kBytes, PROT_READ | PROT_WRITE);  // with a limited address space, any address
        if (at_ == 0) throw std::bad_alloc();
    }
    ~StreamMemory() { munmap(reinterpret_cast<void*>(at_), kBytes); }
    StreamMemory(const StreamMemory&) = delete;
    StreamMemory& operator=(const StreamMemory&) = delete;

    void* get() const { return reinterpret_cast<void*>(at_); }

private:
    static constexpr int kUnitBits = 16, kHashBits = 15;
    // Any aligned range of as many units as there are hashes contains every hash; twice that always contains an
    // aligned range.
    static constexpr size_t kSpace = (size_t(2) << (kUnitBits + kHashBits)) + kBytes;

    static uintptr_t mapped(size_t bytes, int protection) {
        void* at = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        return at == MAP_FAILED ? 0 : reinterpret_cast<uintptr_t>(at);
    }

    // CRC-32C of four bytes, truncated to the bits of ISA-L's largest table; it is linear.
    static uint32_t hash(uint32_t unit) {
        uint32_t crc = unit;
        for (int bit = 0; bit < 32; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
        return crc & ((uint32_t(1) << kHashBits) - 1);
    }

    // The first unit with hash 0 in the first aligned range at or after `first`.
    static uint64_t unit_from(uint64_t first) {
        const uint64_t count = uint64_t(1) << kHashBits, base = (first + count - 1) & ~(count - 1);
        uint32_t columns[kHashBits], unit = 0, hashed = hash(uint32_t(base));
        for (int bit = 0; bit < kHashBits; bit++) columns[bit] = hash(uint32_t(1) << bit);
        for (uint32_t i = 1; hashed != 0; i++) {  // tries all units in Gray code order
            const int bit = __builtin_ctz(i);
            unit ^= uint32_t(1) << bit, hashed ^= columns[bit];
        }
        return base + unit;
    }

    static uintptr_t placed() {
        const uintptr_t space = mapped(kSpace, PROT_NONE);
        if (space == 0) return 0;
        const uint64_t first = (space + (uintptr_t(1) << kUnitBits) - 1) >> kUnitBits;
        const auto at = uintptr_t(unit_from(first) << kUnitBits);
        const uintptr_t after = at + kBytes, end = space + kSpace;
        if (at > space) munmap(reinterpret_cast<void*>(space), at - space);
        if (after < end) munmap(reinterpret_cast<void*>(after), end - after);
        if (mprotect(reinterpret_cast<void*>(at), kBytes, PROT_READ | PROT_WRITE) == 0) return at;
        munmap(reinterpret_cast<void*>(at), kBytes);
        return 0;
    }

    uintptr_t at_;
};

}  // namespace gpualign
