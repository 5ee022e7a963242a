// What names say: abundances, samples, and their order.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "text/names.hpp"

namespace gpualign {
namespace cluster {

// Calls found(key, value) for each KEY=VALUE between semicolons until it returns true.
template <class Found> bool any_attribute(std::string_view name, const Found& found) {
    for (size_t at = 0; at <= name.size();) {
        const size_t end = std::min(name.find(';', at), name.size());
        const std::string_view field = name.substr(at, end - at);
        const size_t equals = field.find('=');
        if (equals != field.npos && found(field.substr(0, equals), field.substr(equals + 1))) return true;
        at = end + 1;
    }
    return false;
}

enum : int64_t { too_large = -1, no_number = -2 };  // for abundances

// size=N, 1 without one; too_large beyond 63 bits, no_number where N is no number from 1 on.
inline int64_t abundance(std::string_view name) {
    int64_t size = 1;
    any_attribute(name, [&](std::string_view key, std::string_view value) {
        if (key != "size") return false;
        size = 0;
        if (value.find_first_not_of("0123456789") != value.npos) value = {};
        for (const char digit : value)
            if (__builtin_mul_overflow(size, 10, &size) || __builtin_add_overflow(size, digit - '0', &size)) {
                size = too_large;
                return true;
            }
        if (!size) size = no_number;
        return true;
    });
    return size;
}

// A sample is named by an attribute, else by the beginning of the name (as in vsearch).
inline std::string_view sample(std::string_view name) {
    std::string_view result;
    const auto named = [&](std::string_view key, std::string_view value) {
        if (key != "sample" && key != "barcodelabel") return false;
        result = value;
        return true;
    };
    if (any_attribute(name, named)) return result;
    const auto in_word = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
    };
    size_t length = 0;
    while (length < name.size() && in_word(name[length])) length++;
    return name.substr(0, length);
}

// Numbers of sequences, the longest first, of equal ones the more abundant, then by name, then as they come.
inline std::vector<int64_t> order_of(const int64_t* lengths, const int64_t* sizes, const Names& names, size_t count) {
    struct Key {
        int64_t length, size;
        uint64_t prefix;  // of the name, most significant first
        int64_t number;
    };
    std::vector<Key> keys(count);
    for (size_t i = 0; i < count; i++) {
        const std::string_view name = names[int64_t(i)];
        uint64_t prefix = 0;
        for (size_t at = 0; at < 8; at++) prefix = prefix << 8 | (at < name.size() ? uint8_t(name[at]) : 0);
        keys[i] = {lengths[i], sizes[i], prefix, int64_t(i)};
    }
    std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
        if (a.length != b.length) return a.length > b.length;
        if (a.size != b.size) return a.size > b.size;
        if (a.prefix != b.prefix) return a.prefix < b.prefix;
        const int compared = names[a.number].compare(names[b.number]);
        return compared ? compared < 0 : a.number < b.number;
    });
    std::vector<int64_t> result(count);
    for (size_t i = 0; i < count; i++) result[i] = keys[i].number;
    return result;
}

}  // namespace cluster
}  // namespace gpualign
