// Packs references, two bits a base.
#pragma once
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "seeds/index/base_packer.hpp"
#include "seeds/index/reference.hpp"

namespace gpualign {

// Packs contigs as they are read, so that the text is never in memory as a whole.
class ReferencePacker : public BaseWriter {
public:
    void append(const uint8_t* p, size_t n) {
        if (size_ + n > kMaxBases) throw std::invalid_argument("the reference has more than 4,294,967,294 bases");
        reserve(n);
        size_t i = 0;
        for (; i + kBasesPerWord <= n; i += kBasesPerWord) {
            uint32_t others;
            const uint64_t codes = BasePacker::word(p + i, others);
            if (others == ~uint32_t(0) && in_run(p + i)) run_ends.back() += kBasesPerWord, size_ += kBasesPerWord;
            else if (others) put_bases(p + i, kBasesPerWord);
            else put(codes, kBasesPerWord);
        }
        put_bases(p + i, n - i);
    }

    // After it the arrays are those of a ReferenceView.
    void finish() { words.resize(size_ / kBasesPerWord + 2); }

    std::vector<uint32_t> run_starts, run_ends;
    std::vector<uint8_t> run_bases;

private:
    // Whether 32 symbols go on with the last run.
    bool in_run(const uint8_t* ascii) const {
        if (run_ends.empty() || run_ends.back() != size_) return false;
        return std::all_of(ascii, ascii + kBasesPerWord, [&](uint8_t symbol) { return symbol == run_bases.back(); });
    }

    void put_bases(const uint8_t* ascii, size_t count) {
        for (size_t i = 0; i < count; i++) {
            const uint8_t code = base_code(ascii[i]);
            if (code == kNoBase) extend_run(ascii[i]);
            put(code == kNoBase ? 0 : code, 1);
        }
    }

    void extend_run(uint8_t base) {
        const uint32_t at = uint32_t(size_);
        if (!run_ends.empty() && run_ends.back() == at && run_bases.back() == base) {
            run_ends.back() = at + 1;
        } else {
            run_starts.push_back(at);
            run_ends.push_back(at + 1);
            run_bases.push_back(base);
        }
    }
};

}  // namespace gpualign
