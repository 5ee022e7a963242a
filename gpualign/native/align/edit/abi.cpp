#include "abi/verify.hpp"

#include "abi/fields.hpp"

namespace gpualign {

std::vector<AbiStruct> verify_abi() {
    return {GPUALIGN_STRUCT(VerifyTask, begin, columns, profile, limit),
        GPUALIGN_STRUCT(VerifyArrays, text, known, planes, plane_offsets, lengths, tasks, distances, ends, starts, hits,
            hit_count, boundary, boundary_stride, band_profiles, band_offsets)};
}

}  // namespace gpualign
