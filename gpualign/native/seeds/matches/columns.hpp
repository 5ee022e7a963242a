// Matches as columns, for exchange with Python.
#pragma once
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "algo/seeds/matches/mem.hpp"
#include "arrays.hpp"

namespace gpualign {

// Output columns of matches.
struct MemColumns {
    void put(const Mem* mems, size_t count) {
        for (size_t i = 0; i < count; i++) {
            starts.push_back(mems[i].start);
            references.push_back(mems[i].reference);
            lengths.push_back(mems[i].length);
        }
    }
    bool full() const { return starts.size() >= limit; }
    uint64_t passed() const { return 0; }  // all matches are wanted
    std::vector<uint32_t> starts, references, lengths;
    size_t limit = std::numeric_limits<size_t>::max();
};

// Matches from Python, in order of start.
struct FoundColumns {
    using Tuple = std::tuple<Input<uint32_t>, Input<uint32_t>, Input<uint32_t>>;

    explicit FoundColumns(const Tuple& columns)
        : starts(std::get<0>(columns)), references(std::get<1>(columns)), lengths(std::get<2>(columns)) {
        if (starts.size() != references.size() || starts.size() != lengths.size())
            throw nb::value_error("the columns differ in length");
    }
    size_t size() const { return starts.size(); }
    Mem operator[](size_t i) const { return {starts.data()[i], references.data()[i], lengths.data()[i]}; }

    const Input<uint32_t> starts, references, lengths;
};

}  // namespace gpualign
