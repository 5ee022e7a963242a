#include "abi/verify.hpp"

#include "abi/fields.hpp"

namespace gpualign {

#define ARRAYS(field) GPUALIGN_FIELD(VerifyArrays, field)
#define TASK(field) GPUALIGN_FIELD(VerifyTask, field)

std::vector<AbiStruct> verify_abi() {
    return {{"VerifyTask", sizeof(VerifyTask), {TASK(begin), TASK(columns), TASK(profile), TASK(limit)}},
        {"VerifyArrays", sizeof(VerifyArrays),
            {ARRAYS(text), ARRAYS(known), ARRAYS(planes), ARRAYS(plane_offsets), ARRAYS(lengths), ARRAYS(tasks),
                ARRAYS(distances), ARRAYS(ends), ARRAYS(starts), ARRAYS(hits), ARRAYS(hit_count), ARRAYS(boundary),
                ARRAYS(boundary_stride), ARRAYS(band_profiles), ARRAYS(band_offsets)}}};
}

}  // namespace gpualign
