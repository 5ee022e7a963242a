// LCS lengths of one query against many subjects.
//
// LANES threads share a subject: thread r of them keeps words [r * TILE, (r + 1) * TILE) of the query's row in
// registers and works r subject symbols behind thread 0; symbol and carry reach the next thread by one shuffle. LANES =
// 1 is the thread per subject. A query of more than LANES * TILE words takes several passes over the subjects, the
// carries of the columns kept as packed bits between them.
//
// The profile of a pass lies in shared memory so that the eight threads that a 128-bit load serves at once never meet
// in a bank, whatever their symbols: each thread has a slot of 16 bytes in every 128 (docs: align/lcs/device/lengths.py
// lays it out).
//
// Macros: LCS_TILE (words a thread, a multiple of 4), LCS_LANES (1, 2, 4, 8, 16, 32), LCS_THREADS (that must
// fit a multiprocessor, in blocks of any size, which bounds the registers).
#include <cstdint>

#include "algo/align/lcs/lcs.hpp"

#ifndef LCS_TILE
#define LCS_TILE 32
#endif
#ifndef LCS_LANES
#define LCS_LANES 1
#endif
#ifndef LCS_THREADS
#define LCS_THREADS 1024
#endif

namespace gpualign {

constexpr int chunk = 16;  // symbols in one 128-bit load
constexpr int warp_lanes = 32;

// Subjects in the order of their lengths, the groups of a warp interleaved in chunks.
struct LcsBatch {
    const uint4* text;  // codes; chunk c of subject s of warp w at warp_start[w] + c * subjects a warp + s
    const uint32_t* warp_start;  // in chunks
    const uint32_t* warp_chunks;  // chunks of the warp's longest subject
    uint16_t* carries;  // at the index of the text's chunk, or with LANES > 1 further back (see below)
    const uint32_t* order;  // index in the batch of each sorted subject
    int32_t* lengths;  // result, in the batch's order
    uint32_t subjects;
};

// Where a thread finds the masks of a symbol: bytes code * row_stride + its slot, then one `step` on for every 4 words.
struct LcsProfile {
    const uint4* passes;  // the shared-memory image of every pass
    uint32_t image;  // 128-bit units of an image
    uint32_t count;  // passes
    uint32_t row_stride;  // bytes, a multiple of 16
    uint32_t slot_stride;  // bytes from one thread's slot to the next: 16, or 0 where all threads read the same words
    uint32_t absent;  // the code whose masks are zero
};

template <int LANES> struct LcsShape {
    static constexpr int slots = LANES < 8 ? 8 : LANES;
    static constexpr int step = 16 * slots;
    static constexpr int subjects = warp_lanes / LANES;  // a warp
    static constexpr int delay = LANES - 1;  // columns that the last thread is behind the first
};

// The masks of one symbol, four words a load.
template <int STEP> struct MaskRow {
    const char* at;
    uint4 four;
    __device__ __forceinline__ uint32_t operator()(int w) {
        if (w % 4 == 0) four = *reinterpret_cast<const uint4*>(at + w / 4 * STEP);
        return w % 4 == 0 ? four.x : w % 4 == 1 ? four.y : w % 4 == 2 ? four.z : four.w;
    }
};

__device__ __forceinline__ uint32_t symbol(uint32_t four, int i) { return __byte_perm(four, 0, 0x4440 + i); }

// One subject a thread.
template <int TILE>
__device__ __forceinline__ void run_alone(uint32_t (&row)[TILE], const uint4* text, uint16_t* carries, uint32_t chunks,
    const char* slot, uint32_t row_stride, bool first, bool last) {
    uint4 next = chunks ? text[0] : uint4{};
    for (uint32_t c = 0; c < chunks; c++) {
        uint4 codes = next;
        if (c + 1 < chunks) next = text[(c + 1) * warp_lanes];
        uint32_t in = first ? 0 : uint32_t(carries[c * warp_lanes]) << chunk;
        uint32_t out = 0;
#pragma unroll 1
        for (int part = 0; part < chunk / 4; part++) {
#pragma unroll
            for (int i = 0; i < 4; i++)
                lcs_column(row, MaskRow<LcsShape<1>::step>{slot + symbol(codes.x, i) * row_stride, {}}, in, out);
            codes = uint4{codes.y, codes.z, codes.w, 0};
        }
        if (!last) carries[c * warp_lanes] = uint16_t(out);
    }
}

// LANES threads a subject. What goes from thread to thread is half the symbol's byte offset in the profile with the
// carry in the top bit: doubling it puts the carry into the flag and leaves the offset.
// The last thread's carries come `delay` columns late, so carries[c] holds those of columns c * 16 - delay onwards.
template <int TILE, int LANES>
__device__ __forceinline__ void run_together(uint32_t (&row)[TILE], const uint4* text, uint16_t* carries,
    uint32_t chunks, const char* slot, const LcsProfile& profile, bool first, bool last) {
    using Shape = LcsShape<LANES>;
    const int lane = threadIdx.x % LANES;
    constexpr uint32_t late = (Shape::delay + chunk - 1) / chunk;  // chunks
    constexpr int skip = Shape::delay % chunk;
    const uint32_t half_stride = profile.row_stride / 2;
    uint32_t packet = profile.absent * half_stride, out = 0;
    for (uint32_t c = 0; c < chunks + late; c++) {
        uint4 codes;
        if (c < chunks) {
            codes = text[c * Shape::subjects];
        } else {
            codes.x = codes.y = codes.z = codes.w = profile.absent * 0x01010101u;
        }
        uint32_t in = 0;
        if (!first && c < chunks) {
            const uint32_t early = carries[(c + Shape::delay / chunk) * Shape::subjects];
            const uint32_t later = skip ? carries[(c + Shape::delay / chunk + 1) * Shape::subjects] : 0;
            in = ((early << chunk) | later) << skip;
        }
        __syncwarp();  // all threads of the subject have read before the last one writes
#pragma unroll 1
        for (int part = 0; part < chunk / 4; part++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const uint32_t fresh = symbol(codes.x, i) * half_stride | (in & 0x80000000u);
                in <<= 1;
                const uint32_t passed = __shfl_up_sync(0xffffffffu, packet, 1, LANES);
                uint32_t offset = lane == 0 ? fresh : passed;
                MaskRow<Shape::step> masks;
                lcs_column(
                    row,
                    [&](int w) {
                        if (w == 0) masks.at = slot + offset;
                        return masks(w);
                    },
                    offset, out);
                packet = __funnelshift_r(offset, out, 1);
            }
            codes = uint4{codes.y, codes.z, codes.w, 0};
        }
        if (!last && lane == LANES - 1) carries[c * Shape::subjects] = uint16_t(out);
    }
}

template <int TILE, int LANES>
__device__ __forceinline__ void lcs_lengths(const LcsBatch& batch, const LcsProfile& profile, char* shared) {
    using Shape = LcsShape<LANES>;
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t subject = thread / LANES, warp = thread / warp_lanes, inside = subject % Shape::subjects;
    const bool busy = warp * Shape::subjects < batch.subjects;  // the same for the whole warp
    const uint32_t chunks = busy ? batch.warp_chunks[warp] : 0;
    const uint32_t start = busy ? batch.warp_start[warp] : 0;
    // the carries of a warp end later than its text: by the delay in whole chunks, and one for the reading ahead
    constexpr uint32_t tail = LANES == 1 ? 0 : (Shape::delay + chunk - 1) / chunk + 1;
    uint16_t* carries = batch.carries + start + warp * (tail * Shape::subjects) + inside;
    const char* slot = shared + threadIdx.x % Shape::slots * profile.slot_stride;
    uint32_t total = 0;
    for (uint32_t pass = 0; pass < profile.count; pass++) {
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < profile.image; i += blockDim.x)
            reinterpret_cast<uint4*>(shared)[i] = profile.passes[pass * profile.image + i];
        __syncthreads();
        if (!busy) continue;
        uint32_t row[TILE];
#pragma unroll
        for (int w = 0; w < TILE; w++) row[w] = lcs_first_row<uint32_t>();
        const bool first = pass == 0, last = pass + 1 == profile.count;
        if constexpr (LANES == 1) {
            run_alone(row, batch.text + start + inside, carries, chunks, slot, profile.row_stride, first, last);
        } else {
            run_together<TILE, LANES>(row, batch.text + start + inside, carries, chunks, slot, profile, first, last);
        }
#pragma unroll
        for (int w = 0; w < TILE; w++) total += __popc(lcs_grows(row[w]));
    }
    if (!busy) return;
#pragma unroll
    for (int away = LANES / 2; away > 0; away /= 2) total += __shfl_xor_sync(0xffffffffu, total, away, LANES);
    if (threadIdx.x % LANES == 0 && subject < batch.subjects) batch.lengths[batch.order[subject]] = int32_t(total);
}

}  // namespace gpualign

extern "C" __global__ void __launch_bounds__(LCS_THREADS) lcs_lengths(const uint4* text, const uint32_t* warp_start,
    const uint32_t* warp_chunks, uint16_t* carries, const uint32_t* order, int32_t* lengths, uint32_t subjects,
    const uint4* passes, uint32_t image, uint32_t count, uint32_t row_stride, uint32_t slot_stride, uint32_t absent) {
    extern __shared__ uint4 lcs_shared[];
    const gpualign::LcsBatch batch{text, warp_start, warp_chunks, carries, order, lengths, subjects};
    const gpualign::LcsProfile profile{passes, image, count, row_stride, slot_stride, absent};
    gpualign::lcs_lengths<LCS_TILE, LCS_LANES>(batch, profile, reinterpret_cast<char*>(lcs_shared));
}

// Translates the subjects' bytes to codes and interleaves them for lcs_lengths; one block a warp of subjects.
extern "C" __global__ void lcs_encode(const uint32_t* bases, const int64_t* offsets, const uint32_t* order,
    const uint8_t* table, const uint32_t* warp_start, const uint32_t* warp_chunks, uint32_t subjects, uint32_t absent,
    uint4* text) {
    using namespace gpualign;
    constexpr uint32_t width = LcsShape<LCS_LANES>::subjects;
    __shared__ uint8_t code[256];
    for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) code[i] = table[i];
    __syncthreads();
    const uint32_t warp = blockIdx.x, total = warp_chunks[warp] * width;
    for (uint32_t i = threadIdx.x; i < total; i += blockDim.x) {
        const uint32_t subject = warp * width + i % width;
        const uint32_t index = subject < subjects ? order[subject] : 0;
        const int64_t begin = offsets[index] + int64_t(i / width) * chunk;
        const int64_t end = subject < subjects ? offsets[index + 1] : 0;
        const int count = end - begin >= chunk ? chunk : end > begin ? int(end - begin) : 0;
        uint32_t packed[4] = {};
        uint32_t low = count ? bases[begin / 4] : 0;
        const uint32_t shift = uint32_t(begin % 4) * 8;
#pragma unroll
        for (int part = 0; part < 4; part++) {
            // the buffer ends in padding, so reading up to 7 bytes past a subject is safe
            const uint32_t high = count > 4 * part ? bases[begin / 4 + part + 1] : 0;
            const uint32_t four = __funnelshift_r(low, high, shift);
            low = high;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const uint32_t one = 4 * part + j < count ? code[symbol(four, j)] : absent;
                packed[part] |= one << (8 * j);
            }
        }
        text[warp_start[warp] + i] = uint4{packed[0], packed[1], packed[2], packed[3]};
    }
}
