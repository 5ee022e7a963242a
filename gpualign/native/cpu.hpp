// Instruction-set levels that this processor supports; CMake uses it, too, for editable installations.
#pragma once
#include <string>

namespace gpualign {

inline bool cpu_supports(const std::string& level) {
    if (level == "generic") return true;  // needs no particular instructions
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
    const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512cd");
    if (level == "x86_64_v2") return v2;
    if (level == "x86_64_v3") return v3;
    if (level == "x86_64_v4") return v4;
#endif
    return false;
}

}  // namespace gpualign
