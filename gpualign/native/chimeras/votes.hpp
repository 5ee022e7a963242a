// UCHIME's model (Edgar et al. 2011, Bioinformatics 27, 2194): the two parents that explain most of a query, and the
// votes of their three-way alignment for a crossover between them.
//
// The choice of parents follows vsearch: a parent wins where, in the 32 bases up to a position, none has more matches
// with the query. The first parent has most wins; the second has most where the first did not win.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gpualign {
namespace chimeras {

constexpr int window = 32;

// Bases that a symbol stands for.
inline uint8_t bases_of(char symbol) {
    constexpr std::string_view symbols = "-ACMGRSVTWYHKDBN";
    const size_t at = symbols.find(symbol);
    return uint8_t(at == symbols.npos ? 0 : at);
}

// A candidate parent, aligned with the query; operations are BAM words, of which I consumes the query.
struct Parent {
    std::string_view text;
    const uint32_t* operations;
    size_t count;

    // match(i, j) for pairs of bases, lacks(i) for bases of the query, adds(i, j) for those of the parent before i.
    template <class Match, class Lacks, class Adds>
    void walk(const Match& match, const Lacks& lacks, const Adds& adds) const {
        int32_t i = 0, j = 0;
        for (size_t o = 0; o < count; o++)
            for (uint32_t left = operations[o] >> 4; left > 0; left--) switch (operations[o] & 15) {
                    case 1: lacks(i++); break;
                    case 2: adds(i, j++); break;
                    default: match(i++, j++);
                }
    }
};

struct Params {
    double min_score, min_divergence, no_weight, pseudo_votes;
    int min_differences;
};

enum Verdict : uint8_t { no_parents, no_score, low_score, borderline, chimera };

struct Result {
    Verdict verdict = no_parents;
    double score = 0;
    std::array<int32_t, 2> parents{-1, -1};  // A, whose part is the first, and B
    int32_t columns = 0;
    std::array<int32_t, 4> matches{};  // of the query with model, A and B, and of A with B
    std::array<int32_t, 6> votes{};  // yes, no and abstain, left and right
};

// The two parents, or fewer.
inline std::array<int32_t, 2> choose(std::string_view query, const std::vector<Parent>& parents) {
    const size_t n = query.size();
    std::array<int32_t, 2> chosen{-1, -1};
    if (n < window) return chosen;
    std::vector<uint8_t> matches(parents.size() * n);
    for (size_t p = 0; p < parents.size(); p++) {
        const std::string_view text = parents[p].text;
        parents[p].walk(
            [&](int32_t i, int32_t j) {
                matches[p * n + size_t(i)] = (bases_of(query[size_t(i)]) & bases_of(text[size_t(j)])) != 0;
            },
            [](int32_t) {}, [](int32_t, int32_t) {});
    }
    std::vector<uint8_t> smooth(parents.size() * n), highest(n);
    for (size_t turn = 0; turn < 2; turn++) {
        if (turn) {  // where the first wins, none matches any more
            const size_t first = size_t(chosen[0]);
            for (size_t i = window - 1; i < n; i++)
                if (smooth[first * n + i] == highest[i])
                    for (size_t p = 0; p < parents.size(); p++)
                        std::fill_n(&matches[p * n + i + 1 - window], window, uint8_t(0));
        }
        std::fill(highest.begin(), highest.end(), uint8_t(0));
        for (size_t p = 0; p < parents.size(); p++) {
            if (int32_t(p) == chosen[0]) continue;
            int sum = 0;
            for (size_t i = 0; i < n; i++) {
                sum += matches[p * n + i] - (i >= window ? matches[p * n + i - window] : 0);
                if (i < window - 1) continue;
                smooth[p * n + i] = uint8_t(sum);
                highest[i] = std::max(highest[i], uint8_t(sum));
            }
        }
        int most = 0;
        for (size_t p = 0; p < parents.size(); p++) {
            if (int32_t(p) == chosen[0]) continue;
            int wins = 0;
            for (size_t i = window - 1; i < n; i++) wins += highest[i] && smooth[p * n + i] == highest[i];
            if (wins > most) most = wins, chosen[turn] = int32_t(p);
        }
        if (chosen[turn] < 0) break;
    }
    return chosen;
}

// Columns of query, A and B; 0 is a gap.
struct Columns {
    std::vector<std::array<uint8_t, 3>> of;

    Columns(std::string_view query, const Parent& a, const Parent& b) {
        const size_t n = query.size();
        std::vector<int32_t> before(n + 1);  // columns of parents before each base of the query
        for (const Parent* parent : {&a, &b}) {
            std::vector<int32_t> added(n + 1);
            parent->walk([](int32_t, int32_t) {}, [](int32_t) {}, [&](int32_t i, int32_t) { added[size_t(i)]++; });
            for (size_t i = 0; i <= n; i++) before[i] = std::max(before[i], added[i]);
        }
        std::vector<size_t> at(n + 1);
        for (size_t i = 0, column = 0; i <= n; i++) at[i] = column += size_t(before[i]), column += i < n;
        of.resize(at[n]);
        for (size_t i = 0; i < n; i++) of[at[i]][0] = bases_of(query[i]);
        for (size_t p = 1; p <= 2; p++) {
            const Parent& parent = p == 1 ? a : b;
            int32_t last = -1, position = 0;
            parent.walk([&](int32_t i, int32_t j) { of[at[size_t(i)]][p] = bases_of(parent.text[size_t(j)]); },
                [](int32_t) {},
                [&](int32_t i, int32_t j) {
                    position = i == last ? position + 1 : 0, last = i;
                    of[at[size_t(i)] - size_t(before[size_t(i)]) + size_t(position)][p] =
                        bases_of(parent.text[size_t(j)]);
                });
        }
    }

    // Columns that say nothing: with gaps or next to them, and with ambiguity codes.
    std::vector<uint8_t> ignored() const {
        std::vector<uint8_t> result(of.size());
        for (size_t c = 0; c < of.size(); c++)
            for (const uint8_t bases : of[c]) {
                if (!bases)
                    for (size_t i = c ? c - 1 : c; i <= std::min(c + 1, of.size() - 1); i++) result[i] = 1;
                else if (bases & (bases - 1)) result[c] = 1;
            }
        return result;
    }
};

// H = Y / (beta (N + n) + A) on each side of the crossover, with votes yes, no and abstain.
inline Result judge(std::string_view query, const std::vector<Parent>& parents, const Params& params) {
    Result result;
    const std::array<int32_t, 2> chosen = choose(query, parents);
    if (chosen[1] < 0) return result;
    result.verdict = no_score;
    const Columns columns(query, parents[size_t(chosen[0])], parents[size_t(chosen[1])]);
    const std::vector<uint8_t> ignored = columns.ignored();
    enum Vote : uint8_t { none, for_a, for_b, abstain };
    const auto vote = [&](size_t c) {
        const auto [q, a, b] = columns.of[c];
        if (ignored[c] || (a == b && a == q)) return none;
        if (a == b || (q != a && q != b)) return abstain;
        return q == a ? for_a : for_b;
    };
    std::array<int32_t, 4> left{}, right{};
    for (size_t c = 0; c < columns.of.size(); c++) right[vote(c)]++;
    size_t crossover = 0;
    bool swapped = false;
    double best = -1;
    const auto side = [&](const std::array<int32_t, 4>& votes, Vote yes, Vote no) {
        return votes[yes] / (params.no_weight * (votes[no] + params.pseudo_votes) + votes[abstain]);
    };
    for (size_t c = 0; c < columns.of.size(); c++) {
        const Vote here = vote(c);
        if (here == none) continue;
        left[here]++, right[here]--;
        const bool forward = left[for_a] > left[for_b] && right[for_b] > right[for_a],
                   reverse = left[for_b] > left[for_a] && right[for_a] > right[for_b];
        if (!forward && !reverse) continue;
        const Vote first = forward ? for_a : for_b, second = forward ? for_b : for_a;
        const double score = side(left, first, second) * side(right, second, first);
        if (score <= best) continue;
        best = score, crossover = c, swapped = reverse;
        result.votes = {left[first], left[second], left[abstain], right[second], right[first], right[abstain]};
    }
    if (best < 0) return result;
    result.verdict = low_score;
    result.score = best;
    result.parents = swapped ? std::array<int32_t, 2>{chosen[1], chosen[0]} : chosen;
    for (size_t c = 0; c < columns.of.size(); c++) {
        if (ignored[c]) continue;
        const uint8_t q = columns.of[c][0], a = columns.of[c][swapped ? 2 : 1], b = columns.of[c][swapped ? 1 : 2];
        result.columns++;
        result.matches[0] += q == (c <= crossover ? a : b);
        result.matches[1] += q == a, result.matches[2] += q == b, result.matches[3] += a == b;
    }
    if (best < params.min_score) return result;
    const double gain = 100.0 * (result.matches[0] - std::max(result.matches[1], result.matches[2])) / result.columns;
    const auto differences = [&](size_t from) {
        return result.votes[from] + result.votes[from + 1] + result.votes[from + 2];
    };
    const bool enough = gain >= params.min_divergence && differences(0) >= params.min_differences &&
                        differences(3) >= params.min_differences;
    result.verdict = enough ? chimera : borderline;
    return result;
}

}  // namespace chimeras
}  // namespace gpualign
