// A set of SAM tags. Free of Python.
#pragma once
#include <cstring>
#include <string>
#include <utility>

namespace gpualign {

// Three characters per tag: its name and its SAM type, '*' for any.
class TagList {
public:
    explicit TagList(std::string tags) : tags_(std::move(tags)) {}

    bool has(const char* name, char type) const {
        for (size_t i = 0; i + 2 < tags_.size(); i += 3)
            if (std::memcmp(tags_.data() + i, name, 2) == 0 && (tags_[i + 2] == '*' || tags_[i + 2] == type))
                return true;
        return false;
    }

private:
    const std::string tags_;
};

}  // namespace gpualign
