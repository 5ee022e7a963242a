// Huge pages for large buffers that are written from end to end: each page costs a fault at its first use.
#pragma once
#include <cstddef>
#include <cstdint>
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace gpualign {

// For memory that has not been touched yet.
inline void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#ifdef __linux__
    constexpr size_t kPage = 4096, kWorthwhile = size_t(1) << 22;  // as NumPy
    if (bytes < kWorthwhile) return;
    const size_t before = (kPage - reinterpret_cast<uintptr_t>(memory) % kPage) % kPage;
    madvise(static_cast<char*>(memory) + before, bytes - before, MADV_HUGEPAGE);  // may fail without harm
#endif
}

}  // namespace gpualign
