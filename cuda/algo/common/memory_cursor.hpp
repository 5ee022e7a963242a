// Lays out arrays in one block of memory.
#pragma once
#include "algo/common/hd.hpp"

namespace gpualign {

// Takes consecutive arrays from a block of memory.
class MemoryCursor {
public:
    GPUALIGN_HD explicit MemoryCursor(uint8_t* memory) : at_(memory) {}

    template <class Item> GPUALIGN_HD Item* take(uint64_t count) {
        Item* const items = reinterpret_cast<Item*>(at_);
        at_ += (count * sizeof(Item) + 15) / 16 * 16;
        return items;
    }
    GPUALIGN_HD uint8_t* end() const { return at_; }

private:
    uint8_t* at_;
};

}  // namespace gpualign
