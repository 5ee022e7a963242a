// Writes the records of a read for the host (abi/map.hpp), by a group of lanes.
#pragma once
#include "abi/map.hpp"
#include "algo/map/sam_codes.hpp"

namespace gpualign {

// Takes `count` overflow records; false if there are not enough.
template <class Group>
GPUALIGN_HD bool take_overflow(const Group& group, const MapBatch& batch, uint32_t count, uint32_t& first) {
    first = group.take_together(batch.next_overflow, count);
    return uint64_t(first) + count <= batch.overflow_count;
}

// CIGAR of a read whose first or last bases, clipped before it was aligned, are clipped as well.
struct ClippedCigar {
    const uint32_t* cigar;  // the first operation
    uint32_t operations, front, back;
    int32_t step = 1;  // from an operation to the next one: -1 where they are stored from the last one on

    GPUALIGN_HD static bool clips(uint32_t operation) { return (operation & 15) == kCigarS; }
    GPUALIGN_HD uint32_t own(uint32_t o) const { return cigar[int32_t(o) * step]; }
    GPUALIGN_HD bool more_in_front() const { return front && !clips(own(0)); }
    GPUALIGN_HD uint32_t count() const {
        return operations ? operations + more_in_front() + (back && !clips(own(operations - 1))) : 0;
    }
    GPUALIGN_HD uint32_t operator[](uint32_t o) const {
        const uint32_t at = o - more_in_front();  // wraps around before the first one
        const uint32_t operation = at < operations ? own(at) : kCigarS;
        return operation + (((o == 0 ? front : 0) + (o + 1 == count() ? back : 0)) << 4);
    }
};

// Writes a record. Its CIGAR goes to overflow records if it is long, as it is whenever the distance exceeds 16 bits;
// false if there are not enough of them.
template <class Group>
GPUALIGN_HD bool write_record(const Group& group, const MapBatch& batch, MapRecord& to, MapFacts& facts,
    const ClippedCigar& cigar, int32_t distance) {
    constexpr uint32_t kLongestNarrow = 0xFFF;
    const uint32_t operations = cigar.count();
    bool wide = operations > MapRecord::kMaxOperations;
    for (uint32_t o = group.lane(); o < operations && !wide; o += Group::kLanes) wide = cigar[o] >> 4 > kLongestNarrow;
    facts.distance = uint16_t(distance);
    if (group.ballot(wide)) {
        const uint32_t bytes = (operations + 1) * uint32_t(sizeof(uint32_t));
        if (!take_overflow(group, batch, (bytes + sizeof(MapRecord) - 1) / sizeof(MapRecord), facts.long_cigar))
            return false;
        uint32_t* const out = reinterpret_cast<uint32_t*>(batch.overflow_records + facts.long_cigar);
        for (uint32_t o = group.lane(); o < operations; o += Group::kLanes) out[o + 1] = cigar[o];
        if (group.lane() == 0) out[0] = operations;
        facts.flag |= MapRecord::kWideCigar;
        facts.operations = uint16_t(uint32_t(distance) >> 16);
    } else {
        facts.operations = uint16_t(operations);
        for (uint32_t o = group.lane(); o < MapRecord::kMaxOperations; o += Group::kLanes)
            to.cigar[o] = o < operations ? uint16_t(cigar[o]) : uint16_t(0);
    }
    if (group.lane() == 0) static_cast<MapFacts&>(to) = facts;
    group.sync();  // the next record's CIGAR overwrites this one
    return true;
}

}  // namespace gpualign
