// A reference cut into segments of bases, for matches that must not cross the end of a record or anything but A, C, G
// and T.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "algo/seeds/matches/mem.hpp"
#include "seeds/index/reference.hpp"

namespace gpualign {

class MemSegments {
public:
    explicit MemSegments(const ReferenceView& reference) : words_(reference.words), bases_(uint32_t(reference.bases)) {
        size_t run = 0;
        for (size_t c = 0; c < reference.contigs; c++) {
            uint64_t begin = uint64_t(reference.contig_offsets[c]);
            const uint64_t end = uint64_t(reference.contig_offsets[c + 1]);
            for (; run < reference.runs && reference.run_starts[run] < end; run++) {
                add(begin, std::max<uint64_t>(begin, reference.run_starts[run]));
                begin = reference.run_ends[run];
                if (begin >= end) break;  // an ambiguous interval may continue in the next contig
            }
            if (begin < end) add(begin, end);
        }
        near_break_.assign((bases_ >> kBreakBlockShift) / 64 + 2, 0);
        mark(0);
        mark(bases_);
        for (size_t i = 0; i < starts.size(); i++) {
            mark(starts[i]);
            mark(ends[i]);
        }
    }

    SegmentedReference view() const {
        return {words_, near_break_.data(), starts.data(), ends.data(), uint32_t(starts.size()), bases_};
    }
    const std::vector<uint64_t>& near_break() const { return near_break_; }

    std::vector<uint32_t> starts, ends;

private:
    void add(uint64_t begin, uint64_t end) {
        if (begin >= end) return;
        starts.push_back(uint32_t(begin));
        ends.push_back(uint32_t(end));
    }
    void mark(uint32_t position) {
        const uint32_t block = position >> kBreakBlockShift;
        near_break_[block >> 6] |= uint64_t(1) << (block & 63);
    }

    const uint64_t* words_;
    uint32_t bases_;
    std::vector<uint64_t> near_break_;
};

}  // namespace gpualign
