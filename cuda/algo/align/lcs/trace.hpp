// The leftmost longest common subsequence (walk.hpp) of a query and a subject, by a group of lanes.
//
// The matrix is cut into tiles of 128 query positions (four words) and 32 subject symbols. A first pass stores the
// input of each tile: the row above it and, packed in one word, the carries from the tile on its left. From these a
// single lane can recompute any tile, and the traceback only needs the tiles on its path: the lanes compute those
// along a straight line from the current point, two next to each other, and the traceback follows them until it leaves
// them.
//
// In the pass a lane has one tile's width and works eight symbols behind the lane before it, whose carries it gets
// eight at a time. A query wider than all lanes takes several passes, each going on from the kept carries of the last.
#pragma once
#include "algo/common/group.hpp"
#include "algo/align/lcs/lcs.hpp"
#include "algo/align/lcs/walk.hpp"

namespace gpualign {

struct alignas(16) LcsFour {
    uint32_t word[4];
};

struct LcsTraceTask {
    const LcsFour* masks;    // [absent + 1][tiles]: of each code
    const uint8_t* code;     // [256]: of each symbol; `absent` matches nothing
    const uint8_t* query;    // symbols
    const uint8_t* subject;  // symbols
    uint32_t query_length, subject_length;
    uint32_t absent;
    uint32_t tiles;  // a row of the matrix has: full passes' worth
    // memory of the task's own, for each started 32 symbols: 8 words of codes, and for each tile a row and its carries
    uint32_t* codes;
    LcsFour* kept;
    uint32_t* carries;
    LcsFour* fast;  // [max(absent + 1, 32)][lanes], shared by the lanes
};

template <class Group> class LcsTracer {
public:
    static constexpr uint32_t kColumns = 128, kSymbols = 32, kStep = 8;

    GPUALIGN_HD LcsTracer(const Group& group, const LcsTraceTask& task)
        : group_(group), task_(task), blocks_((task.subject_length + kSymbols - 1) / kSymbols) {}

    // Writes the last `length` symbols of the subsequence to `text` and returns how many it has.
    GPUALIGN_HD uint32_t trace(uint8_t* text, uint32_t length) {
        encode();
        for (uint32_t first = 0; first < task_.tiles; first += Group::kLanes) pass(first);
        uint32_t i = task_.query_length, j = task_.subject_length, total = 0;
        while (i > 0 && j > 0) {
            group_.sync();
            const Line line{i, j};
            compute_tiles(line);
            group_.sync();
            walk(line, i, j, [&](bool match, uint32_t at, uint32_t) {
                const uint32_t matches = group_.ballot(match), k = total + group_.before(matches);
                if (match && k < length) text[length - 1 - k] = task_.query[at];
                total += count_bits(matches);
            });
        }
        return total;
    }

private:
    static constexpr uint32_t kSides = Group::kLanes > 1 ? 2 : 1;  // tiles next to each other on the traceback
    static constexpr uint32_t kDepth = Group::kLanes / kSides;  // and one above the other

    const Group& group_;
    const LcsTraceTask& task_;
    const uint32_t blocks_;  // of 32 symbols

    // Encodes the subject; the last block is padded with symbols that change nothing.
    GPUALIGN_HD void encode() {
        for (uint32_t at = group_.lane(); at < blocks_ * (kSymbols / 4); at += Group::kLanes) {
            uint32_t four = 0;
            GPUALIGN_LCS_UNROLL
            for (uint32_t k = 0; k < 4; k++) {
                const uint32_t j = 4 * at + k;
                four |= uint32_t(j < task_.subject_length ? task_.code[task_.subject[j]] : task_.absent) << (8 * k);
            }
            task_.codes[at] = four;
        }
        group_.sync();
    }

    template <int Count>
    GPUALIGN_HD static void columns(uint32_t (&row)[4], const LcsFour (&mask)[Count], uint32_t& in, uint32_t& out) {
        columns(row, mask, in, out, [](int, const uint32_t*) {});
    }

    // `Count` symbols through a lane's words; keep(k, row) sees the row after each.
    template <int Count, class Keep>
    GPUALIGN_HD static void columns(
        uint32_t (&row)[4], const LcsFour (&mask)[Count], uint32_t& in, uint32_t& out, Keep&& keep) {
        GPUALIGN_LCS_UNROLL
        for (int k = 0; k < Count; k++) {
            lcs_column(row, [&](int w) { return mask[k].word[w]; }, in, out);
            keep(k, row);
        }
    }

    // All symbols past the tiles first, first + 1, ..., one a lane.
    GPUALIGN_HD void pass(uint32_t first) {
        const uint32_t lane = group_.lane(), tile = first + lane, steps = blocks_ * (kSymbols / kStep);
        constexpr uint32_t per_tile = kSymbols / kStep;
        group_.sync();
        for (uint32_t s = 0; s <= task_.absent; s++)
            task_.fast[s * Group::kLanes + lane] = task_.masks[s * task_.tiles + tile];
        group_.sync();
        uint32_t row[4] = {~0u, ~0u, ~0u, ~0u};
        uint32_t out = 0, left = 0;
        LcsFour mask[kStep] = {};
        uint32_t later[2] = {};
        // two steps before the first symbols their codes are fetched, one step before them their masks
        for (uint32_t step = 0; step < steps + Group::kLanes + 1; step++) {
            const uint32_t ahead = step - lane, at = ahead - 2;  // beyond `steps` also where they are negative
            if (first > 0 && lane == 0 && at < steps)
                left = task_.carries[at / per_tile * task_.tiles + first - 1] << (at % per_tile * kStep);
            uint32_t in = group_.from_before(out << (32 - kStep), left);
            if (at < steps) {
                const uint32_t entered = at / per_tile * task_.tiles + tile;
                if (at % per_tile == 0) task_.kept[entered] = LcsFour{{row[0], row[1], row[2], row[3]}};
                columns(row, mask, in, out);
                if (at % per_tile == per_tile - 1) task_.carries[entered] = out;
            }
            GPUALIGN_LCS_UNROLL
            for (uint32_t k = 0; k < kStep; k++)
                mask[k] = task_.fast[(later[k / 4] >> (k % 4 * 8) & 0xff) * Group::kLanes + lane];
            GPUALIGN_LCS_UNROLL
            for (uint32_t k = 0; k < 2; k++) later[k] = ahead < steps ? task_.codes[2 * ahead + k] : 0;
        }
    }

    // Which tiles are at hand: those around the straight line from here to the matrix' corner.
    struct Line {
        uint32_t i, j;

        GPUALIGN_HD uint32_t block(uint32_t depth) const { return (j - 1) / kSymbols - depth; }
        // The left one; at no depth the right one is where the line begins.
        GPUALIGN_HD uint32_t tile(uint32_t depth) const {
            uint32_t column = i - 1;
            if (depth > 0) {
                const uint32_t middle = block(depth) * kSymbols + kSymbols / 2;
                column = uint32_t(uint64_t(i) * middle / j) + kColumns / 2;
            }
            const uint32_t right = column / kColumns;
            return right > kSides - 1 ? right - (kSides - 1) : 0;
        }
    };

    GPUALIGN_HD void compute_tiles(const Line& line) {
        const uint32_t lane = group_.lane(), depth = lane / kSides, tile = line.tile(depth) + lane % kSides;
        if (depth > line.block(0) || tile >= task_.tiles) return;
        const uint32_t block = line.block(depth), entered = block * task_.tiles + tile;
        const LcsFour kept = task_.kept[entered];
        uint32_t row[4] = {kept.word[0], kept.word[1], kept.word[2], kept.word[3]};
        uint32_t in = tile > 0 ? task_.carries[entered - 1] : 0, out = 0;
        for (uint32_t k0 = 0; k0 < kSymbols; k0 += 4) {
            const uint32_t codes = task_.codes[(block * kSymbols + k0) / 4];
            LcsFour mask[4];
            GPUALIGN_LCS_UNROLL
            for (uint32_t k = 0; k < 4; k++) mask[k] = task_.masks[(codes >> (8 * k) & 0xff) * task_.tiles + tile];
            columns(row, mask, in, out, [&](int k, const uint32_t* words) {
                task_.fast[(k0 + uint32_t(k)) * Group::kLanes + lane] =
                    LcsFour{{~words[0], ~words[1], ~words[2], ~words[3]}};
            });
        }
    }

    // Through the tiles at hand, from the one where the line begins.
    template <class Found> GPUALIGN_HD void walk(const Line& line, uint32_t& i, uint32_t& j, Found&& found) {
        for (uint32_t depth = 0; depth < kDepth && i > 0 && j > 0; depth++) {
            const uint32_t block = line.block(depth), tile = line.tile(depth), beyond = (tile + kSides) * kColumns;
            if (i > beyond || i <= tile * kColumns) return;
            uint32_t row = j - block * kSymbols;
            const auto grows = [&](uint32_t r, uint32_t w) {
                return task_.fast[(r - 1) * Group::kLanes + depth * kSides + (w / 4 - tile)].word[w % 4];
            };
            const auto equal = [&](uint32_t r, uint32_t w) {
                const uint32_t symbol = block * kSymbols + r - 1;
                const uint32_t code = task_.codes[symbol / 4] >> (symbol % 4 * 8) & 0xff;
                return task_.masks[code * task_.tiles + w / 4].word[w % 4];
            };
            lcs_walk_back<uint32_t>(group_, i, row, tile * 4, grows, equal, found);
            j = block * kSymbols + row;
            if (row > 0) return;
        }
    }
};

}  // namespace gpualign
