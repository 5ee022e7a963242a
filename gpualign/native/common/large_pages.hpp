// Memory that is written from end to end, in pages of 2 MiB where the system has them: each page costs a fault at its first use.
#pragma once
#include <cstddef>
#include <cstdint>
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace gpualign {

// Of memory that has not been used yet.
inline void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#ifdef __linux__
    constexpr size_t kPage = 4096, kWorthwhile = size_t(1) << 22;  // as NumPy
    if (bytes < kWorthwhile) return;
    const size_t before = (kPage - reinterpret_cast<uintptr_t>(memory) % kPage) % kPage;
    madvise(static_cast<char*>(memory) + before, bytes - before, MADV_HUGEPAGE);  // it need not succeed
#endif
}

}  // namespace gpualign
