#include "abi/mems.hpp"

#include "abi/fields.hpp"

namespace gpualign {

#define MATCH(field) GPUALIGN_FIELD(Mem, field)
#define LEFT(field) GPUALIGN_FIELD(LeftOver, field)

std::vector<AbiStruct> mems_abi() {
    return {{"Mem", sizeof(Mem), {MATCH(start), MATCH(reference), MATCH(length)}},
            {"FoundMem",
             sizeof(FoundMem),
             {abi_field("mem", &FoundMem::mem, "Mem"), GPUALIGN_FIELD(FoundMem, unit), GPUALIGN_FIELD(FoundMem, number)}},
            {"TilePart", sizeof(TilePart), {GPUALIGN_FIELD(TilePart, tile), GPUALIGN_FIELD(TilePart, part)}},
            {"LeftOverHead", sizeof(LeftOverHead), {LEFT(found), LEFT(total), LEFT(part_count), LEFT(unused)}},
            {"LeftOver",
             sizeof(LeftOver),
             {LEFT(found), LEFT(total), LEFT(part_count), LEFT(unused), abi_field("parts", &LeftOver::parts, "TilePart")}}};
}

}  // namespace gpualign
