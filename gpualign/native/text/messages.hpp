// What messages about text say: counts with nouns ("1 base", "2 bases", "2 qualities"), quotations, and which line.
#pragma once
#include <cstddef>
#include <stdexcept>
#include <string>

namespace gpualign {

inline std::string counted(size_t n, const std::string& one, const std::string& more) {
    return std::to_string(n) + " " + (n == 1 ? one : more);
}
inline std::string counted(size_t n, const std::string& one) { return counted(n, one, one + "s"); }

inline std::string printable(const char* begin, const char* end, size_t maximum = 40) {
    std::string text;
    for (const char* p = begin; p < end && text.size() < maximum; p++) text += (*p >= 32 && *p < 127) ? *p : '?';
    return text;
}

// `line`: lines before this one. Python splits the message into that number and a sentence (Chunk.error of
// gpualign/text/fastx.py).
[[noreturn]] inline void fail_at(long line, const std::string& what) {
    throw std::invalid_argument(std::to_string(line) + "\t" + what);
}

}  // namespace gpualign
