// NVIDIA's nvCOMP 6, which deflates and inflates on a device, by its library.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "run/driver.hpp"

namespace gpualign {

class Nvcomp {
public:
    static constexpr uint32_t kMajorVersion = 6;

    explicit Nvcomp(const std::string& path) {
        const Library<NvcompError> library(path);
        int (*properties)(Properties*);
        library.find(properties, "nvcompGetProperties");
        library.find(deflate_scratch_, "nvcompBatchedDeflateCompressGetTempSize");
        library.find(deflate_space_, "nvcompBatchedDeflateCompressGetMaxOutputChunkSize");
        library.find(deflate_, "nvcompBatchedDeflateCompressAsync");
        library.find(inflate_scratch_, "nvcompBatchedDeflateDecompressGetTempSize");
        library.find(inflate_, "nvcompBatchedDeflateDecompressAsync");
        Properties own{};
        check(properties(&own), "nvcompGetProperties");
        if (own.version / 1000 != kMajorVersion)
            throw NvcompError(
                "nvCOMP " + std::to_string(own.version / 1000) + " is there, not " + std::to_string(kMajorVersion));
    }

    // Bytes of scratch memory to deflate `count` texts of up to `largest` bytes, and of space for each.
    std::pair<size_t, size_t> deflate_sizes(size_t count, size_t largest) const {
        size_t scratch, space;
        check(deflate_scratch_(count, largest, kDeflate, &scratch, count * largest, nullptr),
            "sizing nvCOMP's scratch memory");
        check(deflate_space_(largest, kDeflate, &space), "sizing nvCOMP's output");
        return {scratch, space};
    }

    // Bytes of scratch memory to inflate `count` texts of `total` bytes, none of more than 64 KiB.
    size_t inflate_scratch(size_t count, size_t total) const {
        size_t scratch;
        check(inflate_scratch_(count, kLargestText, kInflate, &scratch, total, nullptr),
            "sizing nvCOMP's scratch memory");
        return scratch;
    }

    void deflate(size_t count, size_t largest, DeviceAddress texts, DeviceAddress text_bytes, DeviceAddress scratch,
        size_t scratch_bytes, DeviceAddress deflated, DeviceAddress deflated_bytes, DeviceAddress status,
        CudaHandle stream) const {
        check(deflate_(texts, text_bytes, largest, count, scratch, scratch_bytes, deflated, deflated_bytes, kDeflate,
                  status, stream),
            "deflating");
    }

    void inflate(size_t count, DeviceAddress deflated, DeviceAddress deflated_bytes, DeviceAddress texts,
        DeviceAddress text_bytes, DeviceAddress inflated_bytes, DeviceAddress scratch, size_t scratch_bytes,
        DeviceAddress status, CudaHandle stream) const {
        check(inflate_(deflated, deflated_bytes, text_bytes, inflated_bytes, count, scratch, scratch_bytes, texts,
                  kInflate, status, stream),
            "inflating");
    }

private:
    static constexpr size_t kLargestText = 1 << 16;
    // The algorithm is one of 0, the fastest, to 5; by 2 files are as large as ISA-L's or a little smaller.
    struct DeflateOptions {
        int algorithm;
        char reserved[60];
    };
    struct InflateOptions {
        int backend, sorted;
        char reserved[56];
    };
    struct Properties {
        uint32_t version, cuda_runtime;
    };
    static constexpr DeflateOptions kDeflate{2, {}};
    static constexpr InflateOptions kInflate{0, 0, {}};

    static void check(int error, const char* what) {
        if (error) throw NvcompError(std::string(what) + " failed: nvCOMP says " + std::to_string(error));
    }

    int (*deflate_scratch_)(size_t, size_t, DeflateOptions, size_t*, size_t, void*);
    int (*deflate_space_)(size_t, DeflateOptions, size_t*);
    int (*deflate_)(DeviceAddress, DeviceAddress, size_t, size_t, DeviceAddress, size_t, DeviceAddress, DeviceAddress,
        DeflateOptions, DeviceAddress, CudaHandle);
    int (*inflate_scratch_)(size_t, size_t, InflateOptions, size_t*, size_t, void*);
    int (*inflate_)(DeviceAddress, DeviceAddress, DeviceAddress, DeviceAddress, size_t, DeviceAddress, size_t,
        DeviceAddress, InflateOptions, DeviceAddress, CudaHandle);
};

}  // namespace gpualign
