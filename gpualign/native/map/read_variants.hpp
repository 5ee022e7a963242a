// One-substitution variants of a read (algo/map/variants.hpp), with the memory that they need.
#pragma once
#include <cstdint>
#include <vector>

#include "algo/map/variants.hpp"
#include "seeds/index/minimizers.hpp"

namespace gpualign {

// Packs encoded bases, ambiguous ones as A; returns whether there are none.
inline bool pack_codes(const uint8_t* codes, int32_t length, uint64_t* words, uint32_t* not_acgt) {
    uint8_t any = 0;
    for (int32_t i = 0; i < length; i += kBasesPerWord) {
        const int32_t n = length - i < kBasesPerWord ? length - i : kBasesPerWord;
        uint64_t word = 0;
        uint32_t acgt = 0;
        for (int32_t j = 0; j < n; j++) {
            const uint8_t code = codes[i + j];
            any |= code;
            acgt |= uint32_t(code < 4) << j;
            word |= uint64_t(code & 3) << 2 * j;
        }
        words[i / kBasesPerWord] = word;
        not_acgt[i / kBasesPerWord] = ~acgt;
    }
    return any < 4;
}

// A read as the algorithms of algo/map take it, with its memory.
class PackedRead {
public:
    MapRead of(const uint8_t* codes, int32_t length, Conversion conversion = Conversion::none) {
        words_.assign(size_t(length) / kBasesPerWord + 2, 0);
        not_acgt_.assign(words_.size(), ~0u);
        const bool clean = pack_codes(codes, length, words_.data(), not_acgt_.data());
        return {words_.data(), not_acgt_.data(), length, 0, 0, clean, 0, conversion};
    }

private:
    std::vector<uint64_t> words_;
    std::vector<uint32_t> not_acgt_;
};

class ReadVariants {
public:
    // Calls visit(Minimizer) for each.
    template <class Visit>
    void visit(const uint8_t* codes, int32_t length, Conversion conversion, int k, int w, Visit&& visit) {
        const MapRead read = read_.of(codes, length, conversion);
        for (std::vector<uint64_t>& memory : of_kmers_) memory.resize(size_t(length));
        const VariantMemory memory{of_kmers_[0].data(), of_kmers_[1].data(), of_kmers_[2].data(), of_kmers_[3].data()};
        for_each_variant(OneLane(), read, k, w, memory, [&](bool is, uint64_t hash, int32_t p, bool reverse) {
            if (is) visit(Minimizer{hash, uint32_t(p), reverse});
        });
    }

private:
    PackedRead read_;
    std::vector<uint64_t> of_kmers_[4];
};

}  // namespace gpualign
