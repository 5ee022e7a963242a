// What an identity and a coverage allow a pair of sequences, from their lengths alone: every pair beyond these bounds
// misses the identity in any alignment (docs/internals/cluster.md; for edits IdentityBound.max_edits does the same).
#pragma once
#include <algorithm>
#include <cstdint>

namespace gpualign {

struct IdentityBounds {
    double identity, coverage;
    int definition;

    static constexpr int32_t unbounded = 1 << 30;

    // The bounds of a pair that has to reach a higher identity.
    IdentityBounds reaching(double higher) const { return {std::max(identity, higher), coverage, definition}; }

    // The most edits, each of which ends at most one word of the query. Definitions 1 and 4: of C columns M >= id C
    // match. Columns that do not match are at most M (1 - id) / id with M <= min(n, m). As n + m = 2 M + 2 X + G, they
    // are also at most (n + m) (1 - id) / (1 + id), which X = 0 reaches. Definition 0: all symbols but M >= id min(n,
    // m). Definition 2 looks at inner columns; what is outside them is not counted here (`outside`).
    int32_t edits(int32_t n, int32_t m) const {
        const double shorter = std::min(n, m), total = double(n) + m;
        if (identity <= 0 || definition == 3) return unbounded;
        const double of_matches = shorter * (1 - identity) / identity + slack;
        if (definition == 0) return int32_t(std::min<double>(unbounded, total - 2 * least(identity * shorter)));
        if (definition == 2) return coverage > 0 ? int32_t(std::min<double>(unbounded, of_matches)) : unbounded;
        return int32_t(std::min({double(unbounded), of_matches, total * (1 - identity) / (1 + identity) + slack}));
    }

    // Whether lengths alone rule a pair out: gaps are edits, and what is aligned is no longer than the shorter one.
    bool possible(int32_t n, int32_t m) const {
        const int32_t shorter = std::min(n, m), longer = std::max(n, m);
        if (shorter < aligned(n, m)) return false;
        return definition == 2 || longer - shorter <= edits(n, m);
    }

    // Aligned pairs that the coverage demands.
    int32_t aligned(int32_t n, int32_t m) const { return least(coverage * std::max(n, m)); }

    // Symbols of the query that may lie in gaps at the ends without being edits.
    int32_t outside(int32_t n, int32_t m) const { return definition == 2 ? std::max(0, n - aligned(n, m)) : 0; }

    // How many of the query's words, one after the other, a target must have.
    int32_t words_needed(int32_t n, int32_t m, int word) const {
        const int32_t lost = outside(n, m) / word, all = n / word - edits(n, m);
        if (!outside(n, m)) return all;
        // what lies outside has no edits: the fewest words are left where either nothing or as much as may is outside,
        // besides one at each end that lies outside in part
        return std::min(all, n / word - lost - edits(n - lost * word, m)) - 2;
    }

    // Whether the words that a target lacks leave enough of the query for definition 2, where what counts is an
    // interval with few edits. lacked: a bit for each segment of `segment` symbols; `edits` more are allowed.
    //
    // An interval that holds the segments i ... j - 1 has at most the symbols of these and of the ones next to them, s,
    // and at most s (1 - id) / id edits, of which each segment that is lacked has `words` (one edit a word). With
    // f(j) = lacked before j - j segment (1 - id) / id, that is f(j) - f(i) no more than the ends allow.
    bool interval_reachable(
        int32_t n, int32_t m, uint64_t lacked, int32_t segments, int32_t segment, int32_t words, int32_t edits) const {
        const int32_t enough = aligned(n, m), inside = segment - 1, rest = n - segments * segment;
        const int32_t fewest = std::max(0, (enough - inside - std::max(inside, rest) + segment - 1) / segment);
        const double rate = (1 - identity) / identity, of_segment = rate * segment;
        double before = 0, now = 0,
               highest = -1e9;  // f at j - fewest and at j; the highest f(i) with what is left of i
        for (int32_t j = 0; j <= segments; j++) {
            if (j >= fewest) {
                const int32_t i = j - fewest;
                highest = std::max(highest, before + (i ? rate * inside : 0));
                const double allowed = rate * (j < segments ? inside : rest) + edits + slack;
                if (now - highest <= allowed) return true;
                before += words * int32_t(lacked >> i & 1) - of_segment;
            }
            now += words * int32_t(lacked >> (j & 63) & 1) - of_segment;
        }
        return false;
    }

    // Whether a longest common subsequence says anything: matches are a common subsequence.
    bool limits_matches() const { return identity > 0 && definition != 3 && (definition != 2 || coverage > 0); }

    // Whether matches of no more than a longest common subsequence reach the identity. Columns are at least as many as
    // the longer sequence has symbols; inner columns (definition 2) as many as the coverage demands of these.
    bool reachable(int32_t n, int32_t m, int32_t common) const {
        const double longer = std::max(n, m), shorter = std::min(n, m);
        const double columns = definition == 0 ? shorter : definition == 2 ? coverage * longer : longer;
        return common >= least(identity * columns);
    }

private:
    static constexpr double slack = 1e-6;

    static int32_t least(double value) {
        const double rounded = value - slack;
        const int32_t whole = int32_t(rounded);
        return rounded <= 0 ? 0 : whole + (rounded > whole);
    }
};

}  // namespace gpualign
