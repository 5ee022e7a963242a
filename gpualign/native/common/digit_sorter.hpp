// Sorts many items by integers, keeping the order of equal ones.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace gpualign {

// Stable radix sort by digits of 11 bits.
template <class Value> class DigitSorter {
public:
    struct Place {
        Value value;
        uint32_t index;
    };

    // Returns indices of the `count` items in order of value(item), which is at most `maximum`.
    template <class ValueOf> std::vector<Place>& operator()(size_t count, Value maximum, ValueOf value) {
        places_.resize(count);
        other_.resize(count);
        bool in_order = true;
        for (size_t i = 0; i < count; i++) {
            places_[i] = {value(i), uint32_t(i)};
            in_order = in_order && (i == 0 || places_[i - 1].value <= places_[i].value);
        }
        if (in_order) return places_;
        for (int shift = 0; shift < int(8 * sizeof(Value)) && maximum >> shift; shift += kBits) sort_by_digit(shift);
        return places_;
    }

private:
    static constexpr int kBits = 11;

    void sort_by_digit(int shift) {
        constexpr uint32_t kDigits = 1 << kBits;
        const auto digit = [&](const Place& place) { return uint32_t(place.value >> shift) & (kDigits - 1); };
        uint32_t begins[kDigits] = {}, sum = 0;
        for (const Place& place : places_) begins[digit(place)]++;
        for (uint32_t& begin : begins) sum += std::exchange(begin, sum);
        for (const Place& place : places_) other_[begins[digit(place)]++] = place;
        places_.swap(other_);
    }

    std::vector<Place> places_, other_;
};

}  // namespace gpualign
