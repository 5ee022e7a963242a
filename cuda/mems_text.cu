// A piece's matches as text: a thread a line measures it, `mems_sum` and `mems_number` say where each goes, and a
// thread writes it (algo/text/mem_lines.hpp).
#include "algo/text/group_text.hpp"
#include "algo/text/mem_lines.hpp"

using namespace gpualign;

constexpr uint32_t kThreads = 256;

extern "C" __global__ void __launch_bounds__(kThreads) measure_lines(const __grid_constant__ MemLines lines) {
    const uint32_t item = blockIdx.x * kThreads + threadIdx.x;
    const MemLineWriter writer(lines);
    if (item == writer.count()) lines.sizes[item] = 0;  // where the text ends
    if (item >= writer.count()) return;
    const OneLane lane;
    GroupText<OneLane, false> text(lane, nullptr);
    writer.put(item, text);
    lines.sizes[writer.number(item)] = uint32_t(text.size());
}

extern "C" __global__ void __launch_bounds__(kThreads) write_lines(const __grid_constant__ MemLines lines) {
    const uint32_t item = blockIdx.x * kThreads + threadIdx.x;
    const MemLineWriter writer(lines);
    if (item >= writer.count()) return;
    const OneLane lane;
    GroupText<OneLane, true> text(lane, lines.out + lines.offsets[writer.number(item)]);
    writer.put(item, text);
}
