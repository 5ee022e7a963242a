#include "abi/pairwise.hpp"

#include "abi/fields.hpp"

namespace gpualign {

using namespace nw;

#define SEQUENCES(field) GPUALIGN_FIELD(DeviceSequences, field)
#define LINE(field) GPUALIGN_FIELD(ScoreLines, field)
#define LAZY(field) GPUALIGN_FIELD(LazyTask, field)
#define SCHEME(field) GPUALIGN_FIELD(LazyScheme, field)
#define PART(field) GPUALIGN_FIELD(DpTile, field)
#define TRACE(field) GPUALIGN_FIELD(TraceTask, field)
#define STRIP(field) GPUALIGN_FIELD(StripTask, field)
#define RESULT(field) GPUALIGN_FIELD(TraceResult, field)
#define END_CELL(field) GPUALIGN_FIELD(AlignmentEnd, field)
#define WALK(field) GPUALIGN_FIELD(PartWalk, field)
#define END(field) abi_field(#field, &EndGaps::field, "EndGap")

static_assert(offsetof(PartWalk, walk) == 0 && offsetof(Walk, state) == 16 && offsetof(PartWalk, result) == 24,
    "the fields of a walk stand first in PartWalk");

std::vector<AbiStruct> pairwise_abi() {
    return {{"DeviceSequences", sizeof(DeviceSequences), {SEQUENCES(codes), SEQUENCES(offsets)}},
        {"PairList", sizeof(PairList), {GPUALIGN_FIELD(PairList, query), GPUALIGN_FIELD(PairList, target)}},
        {"EndGap", sizeof(EndGap), {GPUALIGN_FIELD(EndGap, open), GPUALIGN_FIELD(EndGap, extend)}},
        {"EndGaps", sizeof(EndGaps), {END(query_start), END(query_end), END(target_start), END(target_end)}},
        {"LazyScheme", sizeof(LazyScheme),
            {SCHEME(scores), SCHEME(symbols), SCHEME(shift), SCHEME(opening), SCHEME(bias), SCHEME(extend),
                SCHEME(cheap_ends), SCHEME(free_ends), abi_field("ends", &LazyScheme::ends, "EndGaps")}},
        {"Matching", sizeof(Matching),
            {GPUALIGN_FIELD(Matching, bases), GPUALIGN_FIELD(Matching, identical), GPUALIGN_FIELD(Matching, padding)}},
        {"ScoreLines", sizeof(ScoreLines), {LINE(p), LINE(q), LINE(r), LINE(s)}},
        {"DpTile", sizeof(DpTile),
            {PART(query), PART(target), PART(top), PART(left), PART(rows), PART(columns), PART(n), PART(m),
                PART(first_row), PART(first_column), PART(row_spacing), PART(strip_spacing), PART(directions_at),
                PART(borders_at), PART(first_strip), PART(padding)}},
        {"LazyTask", sizeof(LazyTask), {LAZY(query), LAZY(first), LAZY(count), LAZY(target)}},
        {"EditLimits", sizeof(EditLimits),
            {GPUALIGN_FIELD(EditLimits, by_length), GPUALIGN_FIELD(EditLimits, with_difference)}},
        {"TraceTask", sizeof(TraceTask),
            {TRACE(first), TRACE(count), TRACE(band_low), TRACE(band_high), TRACE(height), TRACE(strips),
                TRACE(column_at), TRACE(kept_at)}},
        {"StripTask", sizeof(StripTask),
            {STRIP(query), STRIP(target), STRIP(strip), STRIP(pair), STRIP(directions_at)}},
        {"TraceResult", sizeof(TraceResult),
            {RESULT(score), RESULT(matches), RESULT(mismatches), RESULT(openings), RESULT(gaps), RESULT(runs),
                RESULT(query_start), RESULT(query_end), RESULT(target_start), RESULT(target_end)}},
        {"AlignmentEnd", sizeof(AlignmentEnd), {END_CELL(score), END_CELL(i), END_CELL(j)}},
        {"PartWalk", sizeof(PartWalk),
            {GPUALIGN_FIELD(Walk, i), GPUALIGN_FIELD(Walk, j), GPUALIGN_FIELD(Walk, state), {"padding", 20, "i4", 0, 4},
                abi_field("result", &PartWalk::result, "TraceResult"), WALK(operation), WALK(length)}}};
}

}  // namespace gpualign
