// Finds targets by the longest common subsequence: the bound of pairs whose identity demands no common word.
#pragma once
#include "align/matrix/lcs_rows.hpp"
#include "seeds/words/word_index.hpp"

namespace gpualign {
namespace distances {

// A query, the targets from ... to - 1, and the identity that it has to reach.
struct Lookup {
    int32_t query, from, to, row;
    double identity;
};

class CommonSymbols {
public:
    CommonSymbols() : rows_(256) {}

    // found(row, target) for the targets that each query may reach the identity with, ascending for a row. At most
    // kLanes lookups, best of queries of about the same length.
    template <class Found>
    void candidates(const words::WordIndex& index, const Lookup* lookups, int count, const Found& found) {
        const SequenceSet& set = index.set();
        const SymbolSet<uint8_t> symbols{set.codes, set.offsets, INT32_MAX};
        int32_t members[kLanes], of_queries[kLanes], from = INT32_MAX, to = 0;
        for (int l = 0; l < count; l++) {
            members[l] = lookups[l].query;
            of_queries[l] = set.ambiguous(lookups[l].query);  // each may match what it does not equal
            from = std::min(from, lookups[l].from), to = std::max(to, lookups[l].to);
        }
        rows_.take(symbols, members, count);
        for (int32_t begin = from; begin < to; begin += targets_at_once) {
            const int32_t end = std::min(to, begin + targets_at_once);
            targets_.clear(), sequences_.clear();
            for (int32_t target = begin; target < end; target++)
                for (int l = 0; l < count; l++)
                    if (asks(index, lookups[l], target)) {
                        targets_.push_back(target), sequences_.push_back(index.sequence(target));
                        break;
                    }
            lengths_.resize(targets_.size() * kLanes);
            rows_.run(symbols, sequences_.data(), int64_t(sequences_.size()), lengths_.data());
            for (int l = 0; l < count; l++)
                for (size_t i = 0; i < targets_.size(); i++)
                    if (asks(index, lookups[l], targets_[i]) &&
                        bounds_of(index, lookups[l])
                            .reachable(set.length(lookups[l].query), index.length(targets_[i]),
                                lengths_[i * kLanes + size_t(l)] + of_queries[l] + index.ambiguous(targets_[i])))
                        found(lookups[l].row, targets_[i]);
        }
    }

private:
    static constexpr int32_t targets_at_once = 2048;

    static IdentityBounds bounds_of(const words::WordIndex& index, const Lookup& lookup) {
        return index.bounds().reaching(lookup.identity);
    }

    static bool asks(const words::WordIndex& index, const Lookup& lookup, int32_t target) {
        return lookup.from <= target && target < lookup.to &&
               bounds_of(index, lookup).possible(index.set().length(lookup.query), index.length(target));
    }

    LcsRows<uint8_t> rows_;
    std::vector<int32_t> targets_, sequences_, lengths_;
};

}  // namespace distances
}  // namespace gpualign
