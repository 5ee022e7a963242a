// The index of a search for matches.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "seeds/index/reference_arrays.hpp"
#include "seeds/matches/finder.hpp"
#include "seeds/matches/reference.hpp"
#include "seeds/matches/text.hpp"
#include "seeds/matches/unique_finder.hpp"

namespace gpualign {

// A reference, its segments, and its minimizer index or suffix array.
class MemIndex {
public:
    MemIndex(const ReferenceArrays& reference, Input<uint32_t> offsets, Input<uint64_t> entries, int k, int w,
        int bucket_bits, std::vector<std::string> names)
        : k(k), w(w), names(std::move(names)), reference(reference), segments(reference.view()), offsets_(offsets),
          entries_(entries), bucket_bits_(bucket_bits) {}
    MemIndex(const ReferenceArrays& reference, Input<uint32_t> offsets, Input<uint32_t> positions, int k,
        std::vector<std::string> names)
        : k(k), w(1), names(std::move(names)), reference(reference), segments(reference.view()), offsets_(offsets),
          positions_(positions), bucket_bits_(2 * k) {}

    // Whether it is a suffix array, with which only matches that are unique in the reference are found.
    bool sorted() const { return positions_.is_valid(); }
    MemTask task(const MemText& text, uint32_t min_length) const {
        check(min_length);
        return {{offsets_.data(), entries_.data(), {k, bucket_bits_}}, segments.view(), text.view(), text.length(), k,
            w, min_length};
    }
    UniqueMemTask unique_task(const MemText& text, uint32_t min_length) const {
        check(min_length);
        return {text.view(), segments.view(), {offsets_.data(), positions_.data(), k}, min_length};
    }

    const int k, w;
    const std::vector<std::string> names;
    const ReferenceArrays reference;
    const MemSegments segments;

private:
    void check(uint32_t min_length) const {
        if (uint64_t(min_length) < uint64_t(w) + uint64_t(k) - 1)
            throw nb::value_error("the index is too sparse for matches this short");
    }

    const Input<uint32_t> offsets_;
    const Input<uint64_t> entries_;
    const Input<uint32_t> positions_;
    const int bucket_bits_;
};

}  // namespace gpualign
