// A reference's NumPy arrays, checked, and kept alive while native code uses them.
#pragma once
#include "arrays.hpp"
#include "seeds/index/reference.hpp"
#include "seeds/index/reference_packer.hpp"

namespace gpualign {

class ReferenceArrays {
public:
    ReferenceArrays(Input<uint64_t> words, Input<int64_t> contig_offsets, Input<uint32_t> run_starts,
        Input<uint32_t> run_ends, Input<uint8_t> run_bases)
        : words_(words), contig_offsets_(contig_offsets), run_starts_(run_starts), run_ends_(run_ends),
          run_bases_(run_bases) {
        const int64_t* offsets = contig_offsets.data();
        const size_t contigs = contig_offsets.size();
        if (contigs < 2 || offsets[0] != 0) throw nb::value_error("a reference needs at least one contig");
        for (size_t i = 1; i < contigs; i++)
            if (offsets[i] < offsets[i - 1]) throw nb::value_error("contig offsets are not in order");
        const uint64_t bases = uint64_t(offsets[contigs - 1]);
        if (words.size() < bases / kBasesPerWord + 2) throw nb::value_error("the packed reference is too short");
        if (run_starts.size() != run_ends.size() || run_starts.size() != run_bases.size())
            throw nb::value_error("the runs' arrays differ in length");
        uint64_t last = 0;
        for (size_t i = 0; i < run_starts.size(); i++) {
            if (run_starts.data()[i] < last || run_ends.data()[i] <= run_starts.data()[i] || run_ends.data()[i] > bases)
                throw nb::value_error("the runs are not in order or lie outside the reference");
            last = run_ends.data()[i];
        }
    }

    ReferenceView view() const {
        const size_t contigs = contig_offsets_.size() - 1;
        return {words_.data(), uint64_t(contig_offsets_.data()[contigs]), contig_offsets_.data(), contigs,
            run_starts_.data(), run_ends_.data(), run_bases_.data(), run_starts_.size()};
    }

private:
    Input<uint64_t> words_;
    Input<int64_t> contig_offsets_;
    Input<uint32_t> run_starts_, run_ends_;
    Input<uint8_t> run_bases_;
};

using PackedArrays = nb::typed<nb::tuple, Output<uint64_t>, Output<uint32_t>, Output<uint32_t>, Output<uint8_t>>;

// What a packer has packed: words, run_starts, run_ends, run_bases.
inline PackedArrays to_numpy(ReferencePacker&& packer) {
    packer.finish();
    return tuple_of(to_numpy(std::move(packer.words)), to_numpy(std::move(packer.run_starts)),
        to_numpy(std::move(packer.run_ends)), to_numpy(std::move(packer.run_bases)));
}

}  // namespace gpualign
