// What becomes of records when it is known which templates are duplicates. Free of Python.
#pragma once
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "bam/record.hpp"
#include "text/text.hpp"

namespace gpualign {

// Duplicate status of templates.
struct DuplicateMarks {
    enum Mark : uint8_t { kNone = 0, kLibrary = 1, kOptical = 2 };

    const uint8_t* of_template = nullptr;  // a Mark per template; null: nothing is marked
    size_t templates = 0;
    bool remove = false;
    bool tag = true;  // with the kind of duplicate, DT

    static constexpr uint16_t kFlag = 0x400;
    static constexpr char kTags[][7] = {{'D', 'T', 'Z', 'L', 'B', 0, 0}, {'D', 'T', 'Z', 'S', 'Q', 0, 0}};
    static constexpr size_t kTagBytes = 6;

    // Bytes that a record may become longer by.
    size_t most_bytes() const { return of_template ? kTagBytes : 0; }

    // Appends a record as it is to be written, or nothing if it is to be left out.
    void copy(const uint8_t* record, uint32_t bytes, uint32_t number, Text& out) const {
        const uint8_t mark = of(number);
        if (mark && remove) return;
        const size_t at = out.size();
        out.put(reinterpret_cast<const char*>(record), bytes);
        if (!mark) return;
        if (tag) out.put(kTags[mark - 1], kTagBytes);
        char* copied = out.at(at);
        const auto size = uint32_t(out.size() - at - 4);
        const auto flag = uint16_t(BamRecord(record).flag() | kFlag);
        std::memcpy(copied, &size, sizeof size);
        std::memcpy(copied + BamRecord::kFlagAt, &flag, sizeof flag);
    }

private:
    uint8_t of(uint32_t number) const {
        if (!of_template) return kNone;
        if (number >= templates) throw std::invalid_argument("fewer marks than templates");
        return of_template[number];
    }
};

}  // namespace gpualign
