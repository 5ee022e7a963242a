// Text that a group of lanes writes together (algo/common/group.hpp), and the bases that it compares: each lane has
// some of them.
#pragma once
#include "algo/common/dna.hpp"
#include "algo/common/group.hpp"
#include "algo/text/aligned_text.hpp"
#include "algo/text/bases.hpp"
#include "algo/text/record_writer.hpp"

namespace gpualign {

// Counts what is put into it and, if `Write`, writes it to memory that is large enough. All lanes have the same size at
// all times.
template <class Group, bool Write> class GroupText {
public:
    GPUALIGN_HD GroupText(const Group& group, char* data) : group_(group), data_(data) {}

    GPUALIGN_HD uint64_t size() const { return size_; }
    GPUALIGN_HD void reserve(uint64_t) {}

    GPUALIGN_HD void put(char c) {
        if (Write && group_.lane() == 0) data_[size_] = c;
        size_++;
    }
    template <uint64_t N> GPUALIGN_HD void put(const char (&text)[N]) {
        static_assert(N <= 9, "a literal of up to eight characters");
        uint64_t packed = 0;
        GPUALIGN_UNROLL
        for (uint64_t i = 0; i + 1 < N; i++) packed |= uint64_t(uint8_t(text[i])) << (8 * i);
        bytes(packed, uint32_t(N - 1));
    }
    GPUALIGN_HD void put(const char* text, uint64_t n) {
        fill(int64_t(n), [text](int64_t i) { return text[i]; });
    }
    GPUALIGN_HD void put_backwards(const char* text, uint64_t n) {
        const char* last = text + n - 1;
        fill(int64_t(n), [last](int64_t i) { return last[-i]; });
    }
    // n characters, character(0) to character(n - 1).
    template <class Character> GPUALIGN_HD void fill(int64_t n, Character&& character) {
        if (Write) {
            char* out = data_ + size_;
            for (int64_t i = group_.lane(); i < n; i += Group::kLanes) out[i] = character(i);
        }
        size_ += uint64_t(n);
    }
    GPUALIGN_HD void number(int64_t x) {
        if (x < 0) put('-');
        uint64_t rest = x < 0 ? uint64_t(0) - uint64_t(x) : uint64_t(x);
        uint32_t count = 1;
        for (uint64_t power = 10; count < 19 && power <= rest; power *= 10) count++;
        if (count < 10) digits(uint32_t(rest), count);
        else digits(rest, count);
    }
    // "%8lu"
    GPUALIGN_HD void column(uint64_t x) {
        int64_t spaces = 7;
        for (uint64_t power = 10; spaces > 0 && power <= x; power *= 10) spaces--;
        fill(spaces, [](int64_t) { return ' '; });
        number(int64_t(x));
    }
    template <class T> GPUALIGN_HD void value(T x) { bytes(uint64_t(x), uint32_t(sizeof x)); }
    GPUALIGN_HD void patch(uint64_t offset, uint32_t x) {
        if (Write)
            for (uint32_t i = group_.lane(); i < sizeof x; i += Group::kLanes) data_[offset + i] = char(x >> (8 * i));
    }
    // The sum of value(0) to value(n - 1).
    template <class Value> GPUALIGN_HD int64_t sum(int64_t n, Value&& value) const {
        uint32_t mine = 0;
        for (int64_t i = group_.lane(); i < n; i += Group::kLanes) mine += uint32_t(value(i));
        return int64_t(group_.sum(mine));
    }
    // A number that all lanes may look at later, and may have looked at before.
    GPUALIGN_HD void store(int32_t* at, int32_t value) const {
        group_.sync();
        if (group_.lane() == 0) *at = value;
        group_.sync();
    }
    // Records with such tags are written by the CPU.
    GPUALIGN_HD void thousandths(double) {}

private:
    GPUALIGN_HD void bytes(uint64_t packed, uint32_t n) {
        if (Write)
            for (uint32_t i = group_.lane(); i < n; i += Group::kLanes) data_[size_ + i] = char(packed >> (8 * i));
        size_ += n;
    }
    template <class Number> GPUALIGN_HD void digits(Number x, uint32_t count) {
        if (Write && group_.lane() == 0)
            for (uint32_t i = count; i > 0; i--, x /= 10) data_[size_ + i - 1] = char('0' + x % 10);
        size_ += count;
    }

    const Group& group_;
    char* data_;
    uint64_t size_ = 0;
};

// Bases where they lie: the read's as bytes, the reference's two bits a base.
template <class Group> class GroupBases {
public:
    GPUALIGN_HD GroupBases(const Group& group, const TextTarget& target) : group_(group), target_(target) {}

    GPUALIGN_HD void take(int32_t contig, int64_t position, int64_t, const char* bases, int64_t length, bool reverse) {
        begin_ = uint64_t(target_.contig_offsets[contig] + position), contig_ = contig;
        bases_ = bases, length_ = length, reverse_ = reverse;
    }

    GPUALIGN_HD char read(int64_t i) const {
        return reverse_ ? char(complement_base(uint8_t(bases_[length_ - 1 - i]))) : bases_[i];
    }
    GPUALIGN_HD char reference(int64_t i) const {
        const uint64_t at = begin_ + uint64_t(i);
        return is_known(at) ? base_at(at) : run_base(at);
    }
    // The reference at positions outside the record as well; N outside the contig.
    GPUALIGN_HD char context(int64_t i) const {
        const int64_t at = int64_t(begin_) + i, *const contig = target_.contig_offsets + contig_;
        return at < contig[0] || at >= contig[1] ? 'N' : reference(i);
    }
    template <class Out> GPUALIGN_HD void put_read(int64_t from, int64_t n, Out& out) const {
        out.fill(n, [&](int64_t i) { return read(from + i); });
    }

    // Only A, C, G and T match.
    GPUALIGN_HD bool match(int64_t query, int64_t reference) const {
        const uint64_t at = begin_ + uint64_t(reference);
        return is_known(at) && read(query) == base_at(at);
    }
    // Pairs of bases up to the first that do not match, at most `maximum`.
    GPUALIGN_HD uint32_t same(int64_t query, int64_t reference, uint32_t maximum) const {
        for (uint32_t n = 0; n < maximum; n += Group::kLanes) {
            const uint32_t i = n + group_.lane();
            const uint32_t differ = group_.ballot(i < maximum && !match(query + i, reference + i));
            if (differ) return n + first_lane(differ);
        }
        return maximum;
    }

private:
    GPUALIGN_HD bool is_known(uint64_t at) const { return target_.acgt_mask[at / 32] >> (at % 32) & 1; }
    GPUALIGN_HD char base_at(uint64_t at) const {
        return char(0x54474341u >> (8 * packed_base(target_.words, at)));
    }  // "ACGT"

    // The base of the run that covers a position.
    GPUALIGN_HD char run_base(uint64_t at) const {
        int64_t first = 0, count = target_.runs;  // the first run that ends after it
        while (count > 0) {
            const int64_t half = count / 2;
            if (target_.run_ends[first + half] <= at) first += half + 1, count -= half + 1;
            else count = half;
        }
        return char(target_.run_bases[first]);
    }

    const Group& group_;
    const TextTarget& target_;
    const char* bases_ = nullptr;
    uint64_t begin_ = 0;
    int32_t contig_ = 0;
    int64_t length_ = 0;
    bool reverse_ = false;
};

// Bytes of a read's records in a form, SamForm or BamForm; written to `out` if `Write`. Adds their number to `records`.
template <template <class> class Form, bool Write, class Group>
GPUALIGN_HD uint64_t write_read(
    const Group& group, const TextBatch& batch, uint64_t read, char* out, uint32_t& records) {
    if (batch.wanted && !batch.wanted[read]) return 0;
    using Out = GroupText<Group, Write>;
    Out text(group, out);
    const ContigNames contigs{batch.target.names};
    const ReadsView reads{batch.reads};
    const RecordsView columns{batch.records};
    Form<Out> form(text, contigs, reads);
    RecordWriter<Form<Out>, GroupBases<Group>> writer(
        GroupBases<Group>(group, batch.target), contigs, reads, columns, batch.options, batch.edits, form);
    records += writer.read(read);
    return text.size();
}

}  // namespace gpualign
