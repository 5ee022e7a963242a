// Bisulfite and EM-seq reads: an unmethylated C of the sequenced strand is read as T.
//
// A read shows the strand itself, and then its T may stand for a C of the reference (C to T), or its complement (the
// second mate of a directional library), and then its A may stand for a G (G to A). On the other strand of the
// reference it is the other way round. Neither a C over a T nor a G over an A comes from conversion.
#pragma once
#include "algo/common/dna.hpp"

namespace gpualign {

// Which difference is none where a read, or its reverse complement, lies forward on the reference.
enum class Conversion : uint8_t { none, c_to_t, g_to_a };

// The conversion of a read on a strand of the reference; `first`: on the forward strand.
GPUALIGN_HD Conversion on_strand(Conversion first, bool reverse) {
    if (!reverse || first == Conversion::none) return first;
    return first == Conversion::c_to_t ? Conversion::g_to_a : Conversion::c_to_t;
}

// A base in three letters: C as T, or G as A.
GPUALIGN_HD uint8_t converted_code(uint8_t code, bool g_to_a) {
    if (g_to_a) return code == 2 ? uint8_t(0) : code;
    return code == 1 ? uint8_t(3) : code;
}

// A base in the letters of a read: three if it is converted.
GPUALIGN_HD uint8_t letter(Conversion conversion, uint8_t code) {
    return conversion == Conversion::none ? code : converted_code(code, conversion == Conversion::g_to_a);
}

// 32 packed bases in three letters, with C as T.
GPUALIGN_HD uint64_t with_c_as_t(uint64_t bases) { return bases | (bases & 0x5555555555555555u) << 1; }

// The reference's base besides its own that a base of the read matches; its own again where there is none.
GPUALIGN_HD uint8_t other_match(Conversion conversion, uint8_t read) {
    if (conversion == Conversion::c_to_t && read == 3) return 1;
    if (conversion == Conversion::g_to_a && read == 0) return 2;
    return read;
}
// The read's base besides its own that a base of the reference matches.
GPUALIGN_HD uint8_t other_match_of_reference(Conversion conversion, uint8_t reference) {
    if (conversion == Conversion::c_to_t && reference == 1) return 3;
    if (conversion == Conversion::g_to_a && reference == 2) return 0;
    return reference;
}

// A base of the reference as a read's is compared with it: the read's own where conversion explains the difference.
GPUALIGN_HD uint8_t explained_base(Conversion conversion, uint8_t read, uint8_t reference) {
    return other_match(conversion, read) == reference ? read : reference;
}
// A bit for each code of the reference that a read's code matches.
GPUALIGN_HD uint8_t matched_codes(Conversion conversion, uint8_t read) {
    return uint8_t(1 << read | 1 << other_match(conversion, read));
}

// Every second bit where the bases of a read are those of the reference converted.
GPUALIGN_HD uint64_t converted_bases(Conversion conversion, uint64_t read, uint64_t reference) {
    if (conversion == Conversion::none) return 0;
    if (conversion == Conversion::g_to_a) {  // A over G is T over C of the complement
        read = ~read;
        reference = ~reference;
    }
    return read & reference & read >> 1 & ~(reference >> 1) & 0x5555555555555555u;
}

// differing_bases (dna.hpp) without those that conversion explains.
GPUALIGN_HD uint64_t differing_bases(Conversion conversion, uint64_t read, uint64_t reference) {
    return differing_bases(read, reference) & ~converted_bases(conversion, read, reference);
}

}  // namespace gpualign
