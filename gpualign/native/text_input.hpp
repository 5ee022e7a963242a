// Text as an argument: bytes, or an array of them.
#pragma once
#include "arrays.hpp"

namespace gpualign {

using TextInput = Input<uint8_t>;

inline const char* begin_of(const TextInput& text) { return reinterpret_cast<const char*>(text.data()); }

}  // namespace gpualign
