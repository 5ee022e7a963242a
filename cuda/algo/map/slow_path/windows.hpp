// Searches windows of the reference for reads of any length: Myers' algorithm in words of 32 rows (Myers 1999, J. ACM
// 46:395; Hyyrö 2003).
#pragma once
#include "algo/map/loci.hpp"
#include "algo/map/slow_path/memory.hpp"

namespace gpualign {

// Builds the match masks of each base on both strands.
template <class Group>
GPUALIGN_HOST_DEVICE void make_long_profile(const Group& group, const MapRead& read, uint32_t* profile) {
    const uint32_t words = words_of(uint32_t(read.length));
    for (uint32_t i = group.lane(); i < 2 * words; i += Group::kLanes) {
        const bool reverse = i >= words;
        const uint32_t w = reverse ? i - words : i;
        uint32_t rows[5] = {0, 0, 0, 0, 0};
        for (int32_t j = 0; j < kBasesPerWord && int32_t(w) * kBasesPerWord + j < read.length; j++) {
            const uint8_t code = read.code(int32_t(w) * kBasesPerWord + j, reverse);
            const uint32_t matched = matched_codes(read.conversion(reverse), code);
            for (uint8_t base = 0; base < 4; base++) rows[base] |= (matched >> base & 1) << j;
        }
        for (int base = 0; base < 5; base++) profile[(reverse * 5 + base) * words + w] = rows[base];
    }
    group.sync();
}

// Like search_part, for any length. Called by one lane.
template <class Group>
GPUALIGN_HOST_DEVICE WindowBest search_long_part(
    const Group& group, const MapTarget& target, int32_t length, const WindowPart& part, const ColumnMemory& memory) {
    const uint32_t words = words_of(uint32_t(length)), last = uint32_t(length - 1) % kBasesPerWord;
    const uint32_t* const profile = memory.profile + part.reverse * 5 * words;
    uint32_t *up = memory.up + group.lane(), *down = memory.down + group.lane();
    for (uint32_t w = 0; w < words; w++) {
        up[w * Group::kLanes] = ~0u;
        down[w * Group::kLanes] = 0;
    }
    uint32_t score = uint32_t(length);
    WindowBest best{score, 0};
    for (uint32_t c = 0; c < part.columns; c++) {
        const uint32_t* rows = profile + code_at(target, int64_t(part.begin) + c) * words;
        uint32_t plus = 0, minus = 0;  // horizontal differences above the word
        for (uint32_t w = 0; w < words; w++) {
            const uint32_t vp = up[w * Group::kLanes], vn = down[w * Group::kLanes], eq = rows[w], met = eq | minus;
            const uint32_t across = (((met & vp) + vp) ^ vp) | met, vertical = eq | vn;
            uint32_t hp = vn | ~(across | vp), hn = vp & across;
            const uint32_t at = w + 1 == words ? last : 31;
            const uint32_t next_plus = hp >> at & 1, next_minus = hn >> at & 1;
            hp = hp << 1 | plus;
            hn = hn << 1 | minus;
            up[w * Group::kLanes] = hn | ~(vertical | hp);
            down[w * Group::kLanes] = hp & vertical;
            plus = next_plus;
            minus = next_minus;
        }
        score += plus - minus;
        if (score < best.distance && c >= part.skipped) best = {score, c + 1};
    }
    return best;
}

// Like for_each_window, for reads of any length.
template <class Group, class Found>
GPUALIGN_HOST_DEVICE void search_long_windows(const Group& group, const MapRead& read, const MapTarget& target,
    const MapWorkspace& workspace, const ColumnMemory& memory, uint32_t from, uint32_t to, int32_t limit,
    Found&& found) {
    const bool is_short = read.length <= kFewWords * kBasesPerWord;
    uint32_t (*const few_words)[5][kFewWords] = reinterpret_cast<uint32_t (*)[5][kFewWords]>(memory.profile);
    if (is_short) make_profile<kFewWords>(group, read, few_words);
    else make_long_profile(group, read, memory.profile);
    for_each_window(
        group, workspace, read.length, limit, from, to,
        [&](const WindowPart& part) {
            return is_short ? search_part<kFewWords>(target, read.length, part, few_words)
                            : search_long_part(group, target, read.length, part, memory);
        },
        found);
}

}  // namespace gpualign
