// The traceback through the directions that strips have kept (device/align/score/diagonal_scan.cuh), by a warp, all of
// whose lanes know the same. It reads the directions of a strip in windows of some steps and of the lanes' columns on
// the left of where it stands, all loads at once, as each takes as long as hundreds of steps; and takes pairs of
// symbols from the window as many at a time as follow each other.
#pragma once
#include "device/align/score/diagonal_scan.cuh"
#include "device/align/score/trace_scan.cuh"

namespace gpualign {
namespace nw {

constexpr int window_steps = 64, window_lanes = 8;  // pairs of symbols take one step each, and a lane in sixteen
using Window = uint32_t[window_steps * window_lanes * 2];

class WindowWalk {
public:
    __device__ __forceinline__ WindowWalk(const uint8_t* query, int n, const uint8_t* target,
        const uint32_t* directions, Window& window, const Matching& matching)
        : query_(query), n_(n), target_(target), directions_(directions), window_(window), matching_(matching),
          lane_(threadIdx.x % warp_size) {}

    // From (walk.i, walk.j), in symbols of the table, to its upper or left border, or to a local alignment's start.
    __device__ __forceinline__ void run(Walk& walk, Path& path) {
        while (walk.i > 0 && walk.j > 0 && walk.state != ended) {
            load(int(walk.i), int(walk.j));
            while (go_on(walk, path)) {
            }
        }
    }

private:
    static constexpr int K = kept_columns, width = warp_size * K;

    // The steps of a strip up to that of cell (i, j), and the lanes up to that of column j.
    __device__ __forceinline__ void load(int i, int j) {
        constexpr int at_once = window_lanes / 2,
                      rounds = window_steps * at_once / warp_size;  // of 16 bytes, two lanes' words
        strip_ = (j - 1) / width;
        const int lane = (j - 1) % width / K, last = i - 1 + lane;
        first_ = max(0, last - window_steps + 1);
        first_lane_ = max(0, lane / 2 * 2 + 2 - window_lanes);
        const uint4* from = reinterpret_cast<const uint4*>(
                                directions_ + (int64_t(strip_) * (n_ + warp_size - 1) + first_) * (2 * warp_size)) +
                            first_lane_ / 2;
        uint4 found[rounds];
#pragma unroll
        for (int r = 0; r < rounds; r++) {
            const int at = r * warp_size + lane_, step = min(at / at_once, last - first_);
            found[r] = from[step * (warp_size / 2) + at % at_once];
        }
        __syncwarp();
#pragma unroll
        for (int r = 0; r < rounds; r++) reinterpret_cast<uint4*>(window_)[r * warp_size + lane_] = found[r];
        __syncwarp();
    }

    // A cell's four bits, -1 outside the window.
    __device__ __forceinline__ int bits(int i, int j) const {
        const int column = j - 1 - strip_ * width, lane = column / K, step = i - 1 + lane - first_;
        if (i <= 0 || column < first_lane_ * K || step < 0) return -1;
        return int(
            window_[(step * window_lanes + lane - first_lane_) * 2 + column % K / 8] >> (4 * (7 - column % 8)) & 15);
    }

    __device__ __forceinline__ bool is_match(int i, int j) const { return matching_(query_[i - 1], target_[j - 1]); }

    // Some symbols; false outside the window, and where the alignment has begun.
    __device__ __forceinline__ bool go_on(Walk& walk, Path& path) {
        const int i = int(walk.i) - lane_, j = int(walk.j) - lane_;  // a lane for each cell up the diagonal
        const int mine = bits(i, j), here = __shfl_sync(0xffffffffu, mine, 0);
        if (here < 0) return false;
        const unsigned others = __ballot_sync(0xffffffffu, mine < 0 || (mine & (not_diagonal | from_f)));
        const int pairs = others ? __ffs(int(others)) - 1 : warp_size;
        if (walk.state != 0 || pairs == 0) {
            const int row = int(walk.i), column = int(walk.j);
            const bool goes_on = step(walk, uint32_t(here), [&](uint32_t next) {
                if (next == op_match) path.pair(is_match(row, column));
                else path.add(next, 1);
            });
            if (!goes_on) walk.state = ended;
            return goes_on;
        }
        const int matches = __popc(__ballot_sync(0xffffffffu, lane_ < pairs && is_match(i, j)));
        path.add(op_match, uint32_t(pairs));
        path.result.matches += matches;
        path.result.mismatches += pairs - matches;
        walk.i -= pairs;
        walk.j -= pairs;
        return true;
    }

    const uint8_t* query_;
    int n_;
    const uint8_t* target_;
    const uint32_t* directions_;
    Window& window_;
    Matching matching_;
    int lane_;
    int strip_ = 0, first_ = 0, first_lane_ = 0;  // of the window
};

}  // namespace nw
}  // namespace gpualign
