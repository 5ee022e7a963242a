#include "abi/search.hpp"

#include "abi/fields.hpp"

namespace gpualign {

#define TABLE(field) GPUALIGN_FIELD(SearchTable, field)
#define ARRAYS(field) GPUALIGN_FIELD(SearchArrays, field)

std::vector<AbiStruct> search_abi() {
    return {
        {"SearchTable", sizeof(SearchTable),
            {TABLE(marked), TABLE(ranks), TABLE(firsts), TABLE(seeds), TABLE(segments), TABLE(bases), TABLE(stride)}},
        {"SearchArrays", sizeof(SearchArrays),
            {abi_field("table", &SearchArrays::table, "SearchTable"), ARRAYS(text), ARRAYS(dense), ARRAYS(events),
                ARRAYS(count), ARRAYS(bases), ARRAYS(capacity), ARRAYS(patterns), ARRAYS(columns)}}};
}

}  // namespace gpualign
