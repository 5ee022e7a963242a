// BAM records out of SAM lines (SAM specification, sections 1.4, 1.5 and 4.2). No Python here: fuzz/records.cpp reads
// it too.
//
// Integers become the smallest type that holds them, as in htslib, so that its output and ours are equal byte for byte.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "map/alignment.hpp"
#include "algo/text/bam_form.hpp"
#include "algo/text/columns.hpp"
#include "text/text.hpp"

namespace gpualign {

// Encodings of bases and CIGAR operations.
struct BamCodes {
    uint8_t base[256] = {}, operation[256] = {};
    constexpr BamCodes() {
        const char operations[] = "MIDNSHP=X";
        for (int i = 0; i < 256; i++) base[i] = bam_base(uint8_t(i));
        for (uint8_t i = 0; i < 9; i++) operation[uint8_t(operations[i])] = i;
    }
};
inline constexpr BamCodes bam_codes;

class BamWriter {
public:
    BamWriter(const ContigNames& contigs, size_t count) {
        for (size_t i = 0; i < count; i++) ids_.emplace(view(contigs, int32_t(i)), int32_t(i));
    }

    // Reserves space for about so many bytes.
    void reserve(size_t bytes) { out_.reserve(bytes); }

    // Writes a record; `line` is without its newline. Throws std::invalid_argument if it is malformed.
    void line(std::string_view line) {
        rest_ = line;
        out_.reserve(
            2 * line.size() + kFixedBytes);  // a tag with a one-digit value takes the most space relative to its text
        const std::string_view name = field(), flag = field(), contig = field(), position = field(), quality = field();
        if (name.empty() || name.size() > kLongestName) refuse("a name is empty or has more characters than BAM holds");
        parse_cigar(field());
        const std::string_view mate_contig = field(), mate_position = field(), span = field(), bases = field();
        const std::string_view qualities = last_field();
        const size_t length = bases == "*" ? 0 : bases.size();
        if (length && !cigar_.empty() && read_length_ != int64_t(length))
            refuse("a CIGAR and a sequence of different lengths");
        const int32_t id = id_of(contig), at = number<int32_t>(position) - 1;
        const auto flags = number<uint16_t>(flag);
        const bool packed = cigar_.size() <= kMaxBamOperations;
        const size_t start = out_.size();
        put(int32_t(0));  // the size, set at the end
        put(id);
        put(at);
        put(uint8_t(name.size() + 1));
        put(number<uint8_t>(quality));
        put(bam_bin(at, flags & kFlagUnmapped ? 1 : reference_length_));
        put(uint16_t(packed ? cigar_.size() : 2));
        put(flags);
        put(uint32_t(length));
        put(mate_contig == "=" ? id : id_of(mate_contig));
        put(number<int32_t>(mate_position) - 1);
        put(number<int32_t>(span));
        out_.put(name.data(), name.size());
        out_.put('\0');
        if (packed) {
            put_all(cigar_);
        } else {  // the operations are in the tag CG instead (SAM specification, section 4.2.2)
            put(uint32_t(length) << 4 | kCigarS);
            put(uint32_t(reference_length_) << 4 | kCigarN);
        }
        put_bases(bases.substr(0, length));
        put_qualities(qualities, length);
        while (!rest_.empty()) tag(last_field());
        if (!packed) put_long_cigar();
        const uint32_t size = uint32_t(out_.size() - start - sizeof size);
        std::memcpy(out_.at(start), &size, sizeof size);
    }

    const Text& text() const { return out_; }
    Text release() { return std::move(out_); }

private:
    static constexpr size_t kFixedBytes = 64, kLongestName = 254;
    static constexpr uint32_t kOnReference =
        1 << kCigarM | 1 << kCigarD | 1 << kCigarN | 1 << kCigarEqual | 1 << kCigarX;
    static constexpr uint32_t kOnRead = 1 << kCigarM | 1 << kCigarI | 1 << kCigarS | 1 << kCigarEqual | 1 << kCigarX;

    static std::string_view view(const ContigNames& contigs, int32_t i) {
        return {contigs.text(i), size_t(contigs.size(i))};
    }
    [[noreturn]] static void refuse(const char* what) { throw std::invalid_argument(what); }

    // field() returns a field that others follow, last_field() any field.
    std::string_view field() {
        const size_t end = rest_.find('\t');
        if (end == std::string_view::npos) refuse("a SAM line has too few fields");
        const std::string_view taken = rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
        return taken;
    }
    std::string_view last_field() {
        const std::string_view taken = rest_.substr(0, rest_.find('\t'));
        rest_.remove_prefix(std::min(rest_.size(), taken.size() + 1));
        return taken;
    }

    template <class T> static T number(std::string_view text) {
        if (!text.empty() && text[0] == '+') text.remove_prefix(1);
        T value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size())
            refuse("a number in a SAM line is invalid or too large");
        return value;
    }

    int32_t id_of(std::string_view contig) {
        if (contig == last_contig_) return last_id_;
        if (contig == "*") return -1;
        const auto found = ids_.find(contig);
        if (found == ids_.end()) refuse("a SAM line names a sequence that is not in the reference");
        last_contig_ = found->first;
        return last_id_ = found->second;
    }

    void parse_cigar(std::string_view text) {
        cigar_.clear();
        reference_length_ = read_length_ = 0;
        if (text == "*") return;
        for (const char *p = text.data(), *end = p + text.size(); p < end;) {
            uint32_t n = 0;
            const auto [after, error] = std::from_chars(p, end, n);
            if (error != std::errc() || after == end || n >> 28)
                refuse("a CIGAR without an operation, or with too many bases");
            const uint8_t operation = bam_codes.operation[uint8_t(*after)];
            if (operation == 0 && *after != 'M') refuse("a CIGAR with an unknown operation");
            cigar_.push_back(n << 4 | operation);
            if (kOnReference >> operation & 1) reference_length_ += n;
            if (kOnRead >> operation & 1) read_length_ += n;
            p = after + 1;
        }
    }

    template <class T> void put(T value) { out_.put(reinterpret_cast<const char*>(&value), sizeof value); }
    void put_all(const std::vector<uint32_t>& values) {
        if (!values.empty()) out_.put(reinterpret_cast<const char*>(values.data()), 4 * values.size());
    }

    void put_bases(std::string_view bases) {
        const size_t n = bases.size();
        char* packed = out_.extend((n + 1) / 2);
        const auto code = [&](size_t i) { return bam_codes.base[uint8_t(bases[i])]; };
        for (size_t i = 0; i + 1 < n; i += 2) packed[i / 2] = char(code(i) << 4 | code(i + 1));
        if (n % 2) packed[n / 2] = char(code(n - 1) << 4);
    }
    void put_qualities(std::string_view qualities, size_t length) {
        char* out = out_.extend(length);
        if (qualities == "*") {
            std::memset(out, 0xff, length);
            return;
        }
        if (qualities.size() != length) refuse("a SAM line's bases and qualities differ in number");
        uint8_t largest = 0;
        for (size_t i = 0; i < length; i++) {
            out[i] = char(qualities[i] - 33);
            largest = std::max(largest, uint8_t(out[i]));
        }
        if (largest > '~' - 33) refuse("a quality in a SAM line is not a printable character");
    }

    void tag(std::string_view text) {
        if (text.size() < 5 || text[2] != ':' || text[4] != ':') refuse("a field of a SAM line is not a tag");
        const std::string_view value = text.substr(5);
        out_.put(text.data(), 2);
        switch (text[3]) {
            case 'i': return put_integer(value);
            case 'A': out_.put('A'); return out_.put(value.empty() ? '\0' : value[0]);
            case 'f': out_.put('f'); return put(real(value));
            case 'B': return put_array(value);
            case 'Z':
            case 'H':
                if (text[3] == 'H' && value.size() % 2) refuse("a tag with half a byte");
                out_.put(text[3]);
                out_.put(value.data(), value.size());
                return out_.put('\0');
            default: refuse("a tag of an ambiguous type");
        }
    }

    void put_integer(std::string_view text) {
        const auto value = number<int64_t>(text);
        if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<uint32_t>::max())
            refuse("a tag's number is too large");
        if (value < 0) put_smallest<int8_t, int16_t, int32_t>(value, "csi");
        else put_smallest<uint8_t, uint16_t, uint32_t>(value, "CSI");
    }
    template <class Small, class Middle, class Large> void put_smallest(int64_t value, const char* types) {
        const int size = Small(value) == value ? 0 : Middle(value) == value ? 1 : 2;
        out_.put(types[size]);
        if (size == 0) put(Small(value));
        else if (size == 1) put(Middle(value));
        else put(Large(value));
    }

    static float real(std::string_view text) { return float(std::strtod(std::string(text).c_str(), nullptr)); }

    // Puts an array that is given as text: c,1,2,3
    void put_array(std::string_view text) {
        if (text.empty()) refuse("an array without a type");
        const char type = text[0];
        const auto count = uint32_t(std::count(text.begin(), text.end(), ','));
        out_.reserve(2 * text.size() + sizeof count + sizeof(uint32_t) * count);
        out_.put('B');
        out_.put(type);
        put(count);
        text.remove_prefix(1);
        while (!text.empty()) {
            text.remove_prefix(1);
            const std::string_view value = text.substr(0, text.find(','));
            text.remove_prefix(value.size());
            switch (type) {
                case 'c': put(number<int8_t>(value)); break;
                case 'C': put(number<uint8_t>(value)); break;
                case 's': put(number<int16_t>(value)); break;
                case 'S': put(number<uint16_t>(value)); break;
                case 'i': put(number<int32_t>(value)); break;
                case 'I': put(number<uint32_t>(value)); break;
                case 'f': put(real(value)); break;
                default: refuse("an array of an ambiguous type");
            }
        }
    }

    void put_long_cigar() {
        out_.reserve(4 * cigar_.size() + 8);
        out_.put("CGBI");
        put(uint32_t(cigar_.size()));
        put_all(cigar_);
    }

    std::unordered_map<std::string_view, int32_t> ids_;
    std::string_view rest_, last_contig_;
    int32_t last_id_ = -1;
    std::vector<uint32_t> cigar_;
    int64_t reference_length_ = 0, read_length_ = 0;
    Text out_;
};

}  // namespace gpualign
