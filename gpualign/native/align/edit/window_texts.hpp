// The text windows of up to `Lanes` pairs, interleaved for vector lanes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "abi/verify.hpp"
#include "seeds/index/reference.hpp"

namespace gpualign {

// Word t of lane l, 32 bases, is at t * Lanes + l; a backward window is read from its end, complemented.
template <int Lanes> struct WindowTexts {
    std::vector<uint64_t> codes;
    std::vector<uint64_t> known;  // ACGT mask in the low bit of each base; only if a window is ambiguous

    void load(const ReferenceView& reference, const VerifyTask* const* tasks, int count, int64_t longest, bool runs,
        bool backward) {
        const size_t words = size_t(longest / kBasesPerWord + 1);
        codes.assign(words * Lanes, 0);
        for (int lane = 0; lane < count; lane++)
            for (size_t i = 0; i * kBasesPerWord < tasks[lane]->columns; i++)
                codes[i * Lanes + size_t(lane)] =
                    codes_at(reference, *tasks[lane], int64_t(i * kBasesPerWord), backward);
        if (!runs) return;
        known.assign(words * Lanes, ~uint64_t(0));
        for (int lane = 0; lane < count; lane++) mark_runs(reference, *tasks[lane], size_t(lane), backward);
    }

    // Extends the texts to the longest window of both vectors.
    void extend(int64_t longest, bool runs) {
        const size_t words = size_t(longest / kBasesPerWord + 1) * Lanes;
        codes.resize(words);
        if (runs) known.resize(words);
    }

private:
    // 32 encoded bases of the text from column `column` on.
    static uint64_t codes_at(const ReferenceView& reference, const VerifyTask& t, int64_t column, bool backward) {
        if (!backward) return packed_window(reference.words, t.begin + uint64_t(column));
        const int64_t first = int64_t(t.begin) + t.columns - column - kBasesPerWord;
        if (first >= 0) return reverse_complement(packed_window(reference.words, uint64_t(first)));
        // the window begins before the reference: the bases shifted in are beyond the last column
        return reverse_complement(reference.words[0] << (2 * -first));
    }

    void mark_runs(const ReferenceView& reference, const VerifyTask& t, size_t lane, bool backward) {
        const uint64_t end = uint64_t(t.begin) + t.columns;
        for (size_t r = reference.first_run(t.begin); r < reference.runs && reference.run_starts[r] < end; r++)
            for (uint64_t i = std::max<uint64_t>(t.begin, reference.run_starts[r]);
                i < std::min<uint64_t>(end, reference.run_ends[r]); i++) {
                const uint64_t j = backward ? end - 1 - i : i - t.begin;
                known[j / kBasesPerWord * Lanes + lane] &= ~(uint64_t(1) << (2 * (j % kBasesPerWord)));
            }
    }
};

}  // namespace gpualign
