// Counts with nouns for messages: "1 base", "2 bases", "1 quality", "2 qualities".
#pragma once
#include <cstddef>
#include <string>

namespace gpualign {

inline std::string counted(size_t n, const std::string& one, const std::string& more) {
    return std::to_string(n) + " " + (n == 1 ? one : more);
}
inline std::string counted(size_t n, const std::string& one) { return counted(n, one, one + "s"); }

}  // namespace gpualign
