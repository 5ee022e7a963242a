// Pigeonhole filter of windows for a read: with `limit` edits, all but `limit` of the read's pieces occur exactly in
// the window (Wu & Manber 1992, Commun. ACM 35:83). Of a split read only a part lies near its mate, and looking for the
// pieces takes a fraction of a search.
#pragma once
#include "algo/map/seeds.hpp"

namespace gpualign {

// False if the read has more than `limit` edits everywhere in the window of `columns` bases from `begin` on. Ambiguous
// bases count as others that the window may have, so that too many pieces are found. `pieces`: kPieceWords words.
template <class Group>
GPUALIGN_HD bool may_be_within(const Group& group, const MapRead& read, bool reverse, const MapTarget& target,
    uint64_t begin, uint32_t columns, int32_t limit, uint32_t* pieces) {
    const int32_t count = read.length / kPieceBases;
    if (count <= limit || read.conversion(reverse) != Conversion::none) return true;
    for (uint32_t i = group.lane(); i < kPieceWords; i += Group::kLanes) pieces[i] = 0;
    group.sync();
    constexpr uint32_t kAtOnce = kBasesPerWord - kPieceBases + 1;
    const uint32_t places = columns < uint32_t(kPieceBases) ? 0 : columns - kPieceBases + 1;
    for (uint32_t from = group.lane() * kAtOnce; from < places; from += Group::kLanes * kAtOnce) {
        uint64_t text = packed_window(target.text, begin + from);
        for (uint32_t i = from; i < places && i < from + kAtOnce; i++, text >>= 2)
            group.set_bit(pieces, uint32_t(text) & kPieceMask);
    }
    group.sync();
    int32_t met = 0;
    for (int32_t base = 0; base < count; base += int32_t(Group::kLanes)) {
        const int32_t i = base + int32_t(group.lane());
        const uint32_t piece = i < count ? uint32_t(read.window(i * kPieceBases, reverse)) & kPieceMask : 0;
        met += int32_t(count_bits(group.ballot(i < count && (pieces[piece / 32] >> piece % 32 & 1))));
    }
    group.sync();
    return met >= count - limit;
}

}  // namespace gpualign
