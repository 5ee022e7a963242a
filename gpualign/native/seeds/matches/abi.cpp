#include "abi/mems.hpp"

#include "abi/fields.hpp"

namespace gpualign {

std::vector<AbiStruct> mems_abi() {
    return {GPUALIGN_STRUCT(Mem, start, reference, length), GPUALIGN_STRUCT(FoundMem, mem, unit, number),
        GPUALIGN_STRUCT(TilePart, tile, part),
        GPUALIGN_STRUCT(MemStyle, four_columns, lengths, strings, forward_coordinates, table),
        GPUALIGN_STRUCT(MemLines, names, name_offsets, begins, contig_offsets, contig_names, contig_name_offsets,
            starts, references, lengths, sizes, offsets, out, from, to, records, contigs, width, strands, matches,
            first_header, headers, style),
        GPUALIGN_STRUCT(LeftOverHead, found, total, part_count, unused),
        GPUALIGN_STRUCT(LeftOver, found, total, part_count, unused, parts)};
}

}  // namespace gpualign
