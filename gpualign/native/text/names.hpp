// Names as Python holds them: one text, and where each begins.
#pragma once
#include <cstdint>
#include <string_view>

namespace gpualign {

struct Names {
    const uint8_t* text;
    const int64_t* offsets;

    std::string_view operator[](int64_t i) const {
        return {reinterpret_cast<const char*>(text) + offsets[i], size_t(offsets[i + 1] - offsets[i])};
    }
};

}  // namespace gpualign
