// Prints the best instruction-set level of the processor that it runs on.
#include <cstdio>

#include "cpu.hpp"

int main() {
    for (const char* level : {"x86_64_v4", "x86_64_v3", "x86_64_v2"}) {
        if (gpualign::cpu_supports(level)) return std::puts(level) < 0;
    }
    return std::puts("generic") < 0;
}
