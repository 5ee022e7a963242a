#include "abi/search.hpp"

#include "abi/fields.hpp"

namespace gpualign {

std::vector<AbiStruct> search_abi() {
    return {GPUALIGN_STRUCT(SearchTable, marked, ranks, firsts, seeds, segments, bases, stride),
        GPUALIGN_STRUCT(SearchArrays, table, text, dense, events, count, bases, capacity, patterns, columns)};
}

}  // namespace gpualign
