// cuda/map_chains.cu as a library for the host (emulated_cuda.hpp).
#include "pairwise_emulated.hpp"
// after what it needs
#include "map_chains.cu"

extern "C" int run_kernel(const char* name, const void* bytes, size_t size, uint32_t grid, uint32_t threads) {
    static const std::map<std::string, void (*)(ChainLaunch)> kernels{{"chain_reads", chain_reads},
        {"align_in_16", align_in_16}, {"align_in_32", align_in_32}, {"align_in_parts", align_in_parts},
        {"align_segments", align_segments}, {"align_wide", align_wide}, {"align_widest", align_widest},
        {"plan_chains", plan_chains}, {"plan_ends", plan_ends}, {"choose_transcripts", choose_transcripts},
        {"cut_chains", cut_chains}, {"finish_chains", finish_chains}, {"report_reads", report_reads}};
    return emulated::run_by_name(kernels, name, bytes, size, grid, threads);
}
