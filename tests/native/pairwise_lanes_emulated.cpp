// cuda/pairwise_lanes.cu as a library for the host (emulated_cuda.hpp).
#include "pairwise_emulated.hpp"

namespace gpualign {
namespace nw {

// Subnormal halves: a sign and whole numbers.
inline int32_t number_of(uint32_t half) { return half & 0x8000u ? -int32_t(half & 0x7fffu) : int32_t(half & 0x7fffu); }
inline uint32_t half_with(int32_t number) {
    if (number > 2047 || number < -2047) {
        std::fprintf(stderr, "%d is not a whole number of half a word\n", number);
        std::abort();
    }
    return number < 0 ? 0x8000u | uint32_t(-number) : uint32_t(number);
}
inline uint32_t fma_halves(uint32_t a, uint32_t b, uint32_t c) {  // b: of 1.0 and 0
    return of_halves([&](int at) {
        const int32_t one = (b >> at & 0xffffu) == 0x3c00u;
        return half_with(one * number_of(a >> at & 0xffffu) + number_of(c >> at & 0xffffu));
    });
}
inline uint32_t add_halves(uint32_t a, uint32_t b) { return fma_halves(a, 0x3c003c00u, b); }
inline uint32_t same_halves(uint32_t word, bool high) {
    return high ? word >> 16 | (word & 0xffff0000u) : (word & 0xffffu) | word << 16;
}

}  // namespace nw
}  // namespace gpualign

// after what they need
#include "pairwise_lanes.cu"

extern "C" int run_named(const char* name, void* const* arguments, int count, uint32_t grid, uint32_t threads) {
    EMULATED(lanes);
    EMULATED(lanes_tiled);
    return 1;
}
