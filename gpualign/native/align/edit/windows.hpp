// Candidates to the pairs of a query and a window that are computed: regions clipped and widened, strands settled, the
// queries that occur gathered. One pass, as the lines are read. No Python here.
#pragma once
#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace gpualign {

// Which strands of the queries are compared: as the candidates say, or one, or both of all.
enum class WindowStrands : uint8_t { plus = 0, minus = 1, both = 2, given = 3 };

// What candidates name.
struct NamedTexts {
    const uint8_t* bases;           // of the queries
    const int64_t* offsets;         // of each query's bases
    const int32_t* limits;          // most errors of each query
    size_t queries;
    const int64_t* contig_offsets;  // of the targets in the reference
    size_t targets;
};

// The pairs of a batch, in columns; a candidate on both strands has two of them, one after the other.
class Windows {
public:
    Windows(const NamedTexts& texts, WindowStrands strands, bool widen)
        : texts_(texts), strands_(strands), widen_(widen) {}

    void reserve(size_t candidates) {
        for (auto* column : {&query, &target, &local}) column->reserve(candidates);
        for (auto* column : {&begin, &end}) column->reserve(candidates);
        strand.reserve(candidates);
    }

    // `from` and `to`: of the region on the target; `before` and `after`: query bases on its sides, counted where it is
    // widened.
    void add(int32_t q, int32_t t, int64_t from, int64_t to, int64_t before, int64_t after, uint8_t sign) {
        const int64_t start = texts_.contig_offsets[t], length = texts_.contig_offsets[t + 1] - start;
        const int32_t number = local_of(q);
        const int64_t bases = offsets[size_t(number) + 1] - offsets[size_t(number)];
        if (widen_) {
            const int64_t margin = std::min<int64_t>(limits[size_t(number)], bases);
            from -= before + margin;
            to += after + margin;
        } else {
            clipped += to > length;
        }
        from = std::min(std::max<int64_t>(from, 0), length);
        to = std::min(std::max(to, from), length);
        query.push_back(q);
        target.push_back(t);
        if (strands_ != WindowStrands::given) sign = uint8_t(strands_);
        const bool twice = sign == uint8_t(WindowStrands::both);
        if (twice && first.empty()) number_pairs();
        if (!first.empty()) first.push_back(int64_t(local.size()) + 1 + twice);
        for (int copy = 0; copy <= int(twice); copy++) {
            local.push_back(number);
            begin.push_back(uint32_t(start + from));
            end.push_back(uint32_t(start + to));
            strand.push_back(twice ? uint8_t(copy) : sign);
            cells += bases * (to - from);
        }
    }

    std::vector<int32_t> query, target;  // of each candidate
    std::vector<int64_t> first;  // of each candidate the first pair, and the number of pairs; empty: all have one
    std::vector<int32_t> local;  // of each pair its query among the batch's
    std::vector<uint32_t> begin, end;  // of each pair, in the reference
    std::vector<uint8_t> strand;  // of each pair, 0 or 1
    std::vector<uint8_t> bases;  // of the batch's queries
    std::vector<int64_t> offsets{0};
    std::vector<int32_t> limits;
    int64_t clipped = 0;  // candidates that reached beyond their target
    int64_t cells = 0;  // of all pairs

private:
    // So far every candidate had one pair.
    void number_pairs() {
        first.resize(local.size() + 1);
        for (size_t i = 0; i < first.size(); i++) first[i] = int64_t(i);
    }

    int32_t local_of(int32_t q) {
        if (!query.empty() && query.back() == q) return local.back();
        const auto [at, fresh] = seen_.emplace(q, int32_t(limits.size()));
        if (fresh) {
            bases.insert(bases.end(), texts_.bases + texts_.offsets[q], texts_.bases + texts_.offsets[q + 1]);
            offsets.push_back(int64_t(bases.size()));
            limits.push_back(texts_.limits[q]);
        }
        return at->second;
    }

    NamedTexts texts_;
    WindowStrands strands_;
    bool widen_;
    std::unordered_map<int32_t, int32_t> seen_;
};

}  // namespace gpualign
