#include "abi/words.hpp"

#include "abi/fields.hpp"

namespace gpualign {

std::vector<AbiStruct> words_abi() {
    return {GPUALIGN_STRUCT(WordGroups, rows, bitmaps, ranks, masks, orders, groups, row_words),
        GPUALIGN_STRUCT(WordDraws, index, words, firsts, seeds, best, minus, queries, both)};
}

}  // namespace gpualign
