#include "abi/mems.hpp"

#include "abi/fields.hpp"

namespace gpualign {

#define MATCH(field) GPUALIGN_FIELD(Mem, field)
#define STYLE(field) GPUALIGN_FIELD(MemStyle, field)
#define LINES(field) GPUALIGN_FIELD(MemLines, field)
#define LEFT(field) GPUALIGN_FIELD(LeftOver, field)

std::vector<AbiStruct> mems_abi() {
    return {{"Mem", sizeof(Mem), {MATCH(start), MATCH(reference), MATCH(length)}},
        {"FoundMem", sizeof(FoundMem),
            {abi_field("mem", &FoundMem::mem, "Mem"), GPUALIGN_FIELD(FoundMem, unit),
                GPUALIGN_FIELD(FoundMem, number)}},
        {"TilePart", sizeof(TilePart), {GPUALIGN_FIELD(TilePart, tile), GPUALIGN_FIELD(TilePart, part)}},
        {"MemStyle", sizeof(MemStyle),
            {STYLE(four_columns), STYLE(lengths), STYLE(strings), STYLE(forward_coordinates), STYLE(table)}},
        {"MemLines", sizeof(MemLines),
            {LINES(names), LINES(name_offsets), LINES(begins), LINES(contig_offsets), LINES(contig_names),
                LINES(contig_name_offsets), LINES(starts), LINES(references), LINES(lengths), LINES(sizes),
                LINES(offsets), LINES(out), LINES(from), LINES(to), LINES(records), LINES(contigs), LINES(width),
                LINES(strands), LINES(matches), LINES(first_header), LINES(headers),
                abi_field("style", &MemLines::style, "MemStyle")}},
        {"LeftOverHead", sizeof(LeftOverHead), {LEFT(found), LEFT(total), LEFT(part_count), LEFT(unused)}},
        {"LeftOver", sizeof(LeftOver),
            {LEFT(found), LEFT(total), LEFT(part_count), LEFT(unused),
                abi_field("parts", &LeftOver::parts, "TilePart")}}};
}

}  // namespace gpualign
