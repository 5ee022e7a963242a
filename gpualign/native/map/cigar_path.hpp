// What a CIGAR says of an alignment once the bases are at hand: gaps moved left, score, edits.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "map/affine_batch.hpp"
#include "algo/common/dna.hpp"

namespace gpualign {

// Moves each gap as far left as the bases allow, which keeps the score; gaps of one kind that meet become one. The
// first aligned column stays a pair of bases. `query` begins at the CIGAR's first base (clips included), `text` at the
// first aligned one.
inline void left_align(std::vector<uint32_t>& cigar, const uint8_t* query, const uint8_t* text) {
    std::vector<uint32_t> out;
    int64_t q = 0, t = 0;  // past `out`
    for (const uint32_t entry : cigar) {
        const uint32_t op = entry & 15;
        int64_t length = entry >> 4;
        if (op != kCigarI && op != kCigarD) {
            push_cigar(out, op, uint32_t(length));
            q += length;
            if (op == kCigarM) t += length;
            continue;
        }
        const uint8_t* bases = op == kCigarI ? query : text;
        int64_t& own = op == kCigarI ? q : t;
        uint32_t shift = 0;
        while (!out.empty() && (out.back() & 15) == kCigarM) {
            const uint8_t before = bases[own - 1];
            if (before >= kNoBase || before != bases[own + length - 1]) break;
            if (out.back() >> 4 == 1) {
                if (out.size() < 2 || (out[out.size() - 2] & 15) != op) break;
                out.pop_back();
                length += out.back() >> 4;
                own -= out.back() >> 4;
                out.pop_back();
            } else {
                out.back() -= 1 << 4;
            }
            q--;
            t--;
            shift++;
        }
        push_cigar(out, op, uint32_t(length));
        push_cigar(out, kCigarM, shift);
        own += length;
        q += shift;
        t += shift;
    }
    cigar.swap(out);
}

// Gaps at the ends of an alignment become clips or go; returns by how much its first text base moves.
inline int64_t trim_gaps(std::vector<uint32_t>& cigar) {
    const auto trim = [&cigar] {  // at the end
        uint32_t clip = 0;
        int64_t dropped = 0;
        for (; !cigar.empty() && (cigar.back() & 15) != kCigarM; cigar.pop_back()) {
            if ((cigar.back() & 15) == kCigarD) dropped += cigar.back() >> 4;
            else clip += cigar.back() >> 4;
        }
        push_cigar(cigar, kCigarS, clip);
        return dropped;
    };
    trim();
    std::reverse(cigar.begin(), cigar.end());
    const int64_t moved = trim();
    std::reverse(cigar.begin(), cigar.end());
    return moved;
}

struct PathSummary {
    int32_t score = 0;                // affine, without clip penalties
    int32_t matches = 0, columns = 0; // a column is a pair of bases or a base in a gap
    int32_t edits() const { return columns - matches; }
};

inline PathSummary summarize(const std::vector<uint32_t>& cigar, const uint8_t* query, const uint8_t* text,
                             const AffineScores& scores) {
    PathSummary sum;
    for (const uint32_t entry : cigar) {
        const int32_t length = int32_t(entry >> 4);
        switch (entry & 15) {
            case kCigarM:
                for (int32_t i = 0; i < length; i++) sum.matches += query[i] == text[i] && query[i] < kNoBase;
                text += length;
                [[fallthrough]];
            case kCigarS: query += length; break;
            case kCigarI: query += length; break;
            default: text += length;
        }
        if ((entry & 15) == kCigarS) continue;
        sum.columns += length;
        if ((entry & 15) == kCigarM) sum.score -= length * scores.mismatch;
        else sum.score -= scores.gap_open + length * scores.gap_extend;
    }
    sum.score += sum.matches * (scores.match + scores.mismatch);
    return sum;
}

}  // namespace gpualign
