// What becomes of records when it is known which templates are duplicates. Free of Python.
#pragma once
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "records/record.hpp"
#include "text/text.hpp"

namespace gpualign {

// Appends an integer tag of the smallest type.
inline void put_integer_tag(Text& out, const char* name, uint32_t value) {
    out.reserve(Text::kSpare);
    out.put(name[0]), out.put(name[1]);
    if (value <= UINT8_MAX) out.put('C'), out.value(uint8_t(value));
    else if (value <= UINT16_MAX) out.put('S'), out.value(uint16_t(value));
    else out.put('I'), out.value(value);
}

// What is known of each template.
struct DuplicateMarks {
    enum Mark : uint8_t { kNone = 0, kLibrary = 1, kOptical = 2 };

    size_t templates = 0;
    const uint8_t* of_template = nullptr;  // a Mark each; null: nothing is marked
    bool remove = false;
    bool tag = true;                        // DT: the kind of duplicate
    const uint32_t* counts = nullptr;       // dc: templates of the set of one that is kept; null: no such tag
    const uint32_t* molecules = nullptr;    // MI: kNoMolecule for none; null: no such tag
    const uint8_t* strands = nullptr;       // 'A' or 'B' after MI; null: nothing

    static constexpr uint32_t kNoMolecule = ~uint32_t(0);
    static constexpr char kTags[][7] = {{'D', 'T', 'Z', 'L', 'B', 0, 0}, {'D', 'T', 'Z', 'S', 'Q', 0, 0}};
    static constexpr size_t kTagBytes = 6, kCountBytes = 7, kMoleculeBytes = 16;

    // Bytes that a record may become longer by.
    size_t max_added_bytes() const {
        return of_template ? kTagBytes + (counts ? kCountBytes : 0) + (molecules ? kMoleculeBytes : 0) : 0;
    }

    // Appends a record as it is to be written, or nothing if it is to be left out.
    void copy(const uint8_t* bytes, uint32_t size, uint32_t number, Text& out) const {
        const uint8_t mark = of(number);
        if (mark && remove) return;
        const BamRecord record(bytes);
        const size_t at = out.size();
        out.put(reinterpret_cast<const char*>(bytes), size);
        if (mark && tag) out.put(kTags[mark - 1], kTagBytes);
        if (counts && !mark && record.primary() && counts[number]) put_integer_tag(out, "dc", counts[number]);
        if (molecules && molecules[number] != kNoMolecule) put_molecule(number, out);
        const auto longer = uint32_t(out.size() - at - 4);
        std::memcpy(out.at(at), &longer, sizeof longer);
        if (!mark) return;
        const auto flag = uint16_t(record.flag() | kFlagDuplicate);
        std::memcpy(out.at(at + BamRecord::kFlagAt), &flag, sizeof flag);
    }

private:
    uint8_t of(uint32_t number) const {
        if (!of_template) return kNone;
        if (number >= templates) throw std::invalid_argument("fewer marks than templates");
        return of_template[number];
    }

    void put_molecule(uint32_t number, Text& out) const {
        out.put("MIZ");
        out.number(molecules[number]);
        if (strands && strands[number]) out.put('/'), out.put(char(strands[number]));
        out.put('\0');
    }
};

}  // namespace gpualign
