// Text arguments, as bytes or arrays, and text results.
#pragma once
#include "arrays.hpp"
#include "text/text.hpp"

namespace gpualign {

using TextInput = Input<uint8_t>;

inline const char* begin_of(const TextInput& text) { return reinterpret_cast<const char*>(text.data()); }

// An array that takes over the buffer; bytes would copy it while holding the GIL.
inline Output<uint8_t> to_numpy(Text&& text) {
    const size_t size = text.size();
    uint8_t* characters = reinterpret_cast<uint8_t*>(text.release().release());
    if (!characters) characters = reinterpret_cast<uint8_t*>(new char[1]);
    nb::capsule owner(characters, [](void* p) noexcept { delete[] static_cast<char*>(p); });
    return Output<uint8_t>(characters, {size}, owner);
}

}  // namespace gpualign
