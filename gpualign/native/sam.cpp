// SAM records as text.
#include <nanobind/stl/optional.h>

#include <charconv>
#include <optional>
#include <string>

#include "affine_batch.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "mapper.hpp"
#include "reference_arrays.hpp"

namespace gpualign {
namespace {

struct ComplementTable {
    char to[256] = {};
    constexpr ComplementTable() {
        const char from[] = "ACGTRYSWKMBDHVN", complement[] = "TGCAYRSWMKVHDBN";
        for (int i = 0; i < 256; i++) to[i] = 'N';
        for (int i = 0; from[i]; i++) to[uint8_t(from[i])] = complement[i];
    }
};
constexpr ComplementTable complement_letter;

// Text that grows by whole fields: room is made once per record, so the appends do not check.
class Text {
public:
    void reserve(size_t more) {
        if (size_ + more > data_.size()) data_.resize(std::max(data_.size() * 2, size_ + more));
    }
    void put(char c) { data_[size_++] = c; }
    void put(const char* text, size_t n) {
        std::memcpy(data_.data() + size_, text, n);
        size_ += n;
    }
    template <size_t N>
    void put(const char (&text)[N]) {
        put(text, N - 1);
    }
    void number(int64_t x) {
        char* at = data_.data() + size_;
        size_ = size_t(std::to_chars(at, at + 20, x).ptr - data_.data());
    }
    const char* data() const { return data_.data(); }
    size_t size() const { return size_; }

private:
    std::vector<char> data_;
    size_t size_ = 0;
};

// Only A, C, G and T match, so that MD and NM say what the aligner counted.
bool match(char a, char b) { return a == b && (a == 'A' || a == 'C' || a == 'G' || a == 'T'); }

struct Reads {
    const uint8_t *names, *bases, *qualities, *extra;
    const int64_t *name_offsets, *base_offsets, *extra_offsets;
};

struct Mapped {
    const uint16_t* flag;
    const int32_t* contig;
    const int64_t* position;
    const uint8_t* mapq;
    const int32_t *score, *distance;
    const uint32_t* cigar;
    const int64_t* cigar_offsets;
    const uint8_t* mates;  // null: no pairs

    bool mapped(size_t i) const { return contig[i] >= 0; }
    int64_t end(size_t i) const {
        return position[i] + reference_span(cigar + cigar_offsets[i], cigar + cigar_offsets[i + 1]);
    }
};

class SamWriter {
public:
    SamWriter(const ReferenceView& reference, const uint8_t* contig_names, const int64_t* contig_name_offsets, const Reads& reads,
              const Mapped& mapped, bool eqx, const std::string& read_group)
        : reference_(reference), contig_names_(contig_names), contig_name_offsets_(contig_name_offsets), reads_(reads),
          mapped_(mapped), eqx_(eqx), read_group_(read_group) {}

    void record(size_t i) {
        const int64_t length = reads_.base_offsets[i + 1] - reads_.base_offsets[i];
        const bool mapped = mapped_.mapped(i);
        mate_ = mate_of(i);
        const bool mate_mapped = mate_ != kNone && mapped_.mapped(mate_);
        if (mate_mapped) cigar(mate_, mate_cigar_);
        if (mapped) cigar(i, cigar_);
        make_room(i, length, mapped ? int64_t(window_.size()) : 0);
        name(i);
        out_.put('\t');
        out_.number(mapped_.flag[i]);
        out_.put('\t');
        const size_t at = place_of(i);  // an unmapped end stands where its mate is
        contig_name(at);
        out_.put('\t');
        out_.number(at == kNone ? 0 : mapped_.position[at] + 1);
        out_.put('\t');
        out_.number(mapped ? mapped_.mapq[i] : 0);
        out_.put('\t');
        if (mapped) out_.put(cigar_.data(), cigar_.size());
        else out_.put('*');
        out_.put('\t');
        mate_fields(i, at);
        out_.put('\t');
        sequence(i, length);
        if (mapped) tags(i);
        if (mate_mapped) {
            out_.put("\tMC:Z:");
            out_.put(mate_cigar_.data(), mate_cigar_.size());
            out_.put("\tMQ:i:");
            out_.number(mapped_.mapq[mate_]);
        }
        if (!read_group_.empty()) {
            out_.put("\tRG:Z:");
            out_.put(read_group_.data(), read_group_.size());
        }
        if (const int64_t extra = extra_size(i)) {
            out_.put('\t');
            out_.put(reinterpret_cast<const char*>(reads_.extra + reads_.extra_offsets[i]), size_t(extra));
        }
        out_.put('\n');
    }

    const Text& text() const { return out_; }

private:
    static constexpr int64_t kLongestName = 254;  // the specification's
    static constexpr size_t kNone = ~size_t(0);

    size_t mate_of(size_t i) const {
        if (!mapped_.mates || mapped_.mates[i] == kSingle) return kNone;
        return mapped_.mates[i] == kFirstMate ? i + 1 : i - 1;
    }

    // The record whose place record i stands at: its own, its mate's, or none.
    size_t place_of(size_t i) const {
        if (mapped_.mapped(i)) return i;
        const size_t mate = mate_of(i);
        return mate != kNone && mapped_.mapped(mate) ? mate : kNone;
    }

    int64_t extra_size(size_t i) const {
        return reads_.extra ? reads_.extra_offsets[i + 1] - reads_.extra_offsets[i] : 0;
    }

    void make_room(size_t i, int64_t length, int64_t span) {
        const auto name_size = [&](size_t r) {
            const size_t at = place_of(r);
            return at == kNone ? 1 : contig_name_offsets_[mapped_.contig[at] + 1] - contig_name_offsets_[mapped_.contig[at]];
        };
        const int64_t mate = mate_ == kNone ? 0 : int64_t(mate_cigar_.size()) + name_size(mate_);
        const int64_t name = reads_.name_offsets[i + 1] - reads_.name_offsets[i];
        out_.reserve(size_t(2 * length + 320 + name_size(i) + mate + int64_t(cigar_.size()) + extra_size(i) + 4 * span + name) + read_group_.size());
    }

    void contig_name(size_t at) {
        if (at == kNone) {
            out_.put('*');
            return;
        }
        const int64_t from = contig_name_offsets_[mapped_.contig[at]], to = contig_name_offsets_[mapped_.contig[at] + 1];
        out_.put(reinterpret_cast<const char*>(contig_names_ + from), size_t(to - from));
    }

    // RNEXT, PNEXT, TLEN. TLEN spans the aligned bases of both ends, positive for the leftmost (of equal ones, the first).
    void mate_fields(size_t i, size_t at) {
        const size_t mate_at = mate_ == kNone ? kNone : place_of(mate_);
        if (mate_at == kNone) {
            out_.put("*\t0\t0");
            return;
        }
        if (mapped_.contig[at] == mapped_.contig[mate_at]) out_.put('=');
        else contig_name(mate_at);
        out_.put('\t');
        out_.number(mapped_.position[mate_at] + 1);
        out_.put('\t');
        if (!mapped_.mapped(i) || !mapped_.mapped(mate_) || mapped_.contig[i] != mapped_.contig[mate_]) {
            out_.put('0');
            return;
        }
        const int64_t mine = mapped_.position[i], other = mapped_.position[mate_];
        const int64_t span = std::max(mapped_.end(i), mapped_.end(mate_)) - std::min(mine, other);
        const bool leftmost = mine < other || (mine == other && i < mate_);
        out_.number(leftmost ? span : -span);
    }

    void name(size_t i) {
        const uint8_t* p = reads_.names + reads_.name_offsets[i];
        const int64_t n = std::min(kLongestName, reads_.name_offsets[i + 1] - reads_.name_offsets[i]);
        if (n == 0) out_.put('*');
        for (int64_t c = 0; c < n; c++) out_.put(p[c] > ' ' && p[c] < 127 && p[c] != '@' ? char(p[c]) : '_');
    }

    // The read as it is printed and the reference letters under it.
    void prepare(size_t i, int64_t length) {
        const char* bases = reinterpret_cast<const char*>(reads_.bases + reads_.base_offsets[i]);
        oriented_.resize(size_t(length));
        if (mapped_.flag[i] & kFlagReverse) {
            for (int64_t c = 0; c < length; c++) oriented_[size_t(c)] = complement_letter.to[uint8_t(bases[length - 1 - c])];
        } else {
            std::copy(bases, bases + length, oriented_.begin());
        }
        const int64_t span = mapped_.end(i) - mapped_.position[i];
        window_.resize(size_t(span));
        const uint64_t begin = uint64_t(reference_.contig_offsets[mapped_.contig[i]] + mapped_.position[i]);
        reference_.letters(begin, begin + uint64_t(span), window_.data());
    }

    // The CIGAR of a record as text; leaves the record's letters in oriented_ and window_.
    void cigar(size_t i, std::string& text) {
        prepare(i, reads_.base_offsets[i + 1] - reads_.base_offsets[i]);
        text.clear();
        const auto put = [&](uint32_t n, char op) {
            char digits[12];
            text.append(digits, size_t(std::to_chars(digits, digits + 12, n).ptr - digits));
            text.push_back(op);
        };
        size_t query = 0, reference = 0;
        for (int64_t c = mapped_.cigar_offsets[i]; c < mapped_.cigar_offsets[i + 1]; c++) {
            const uint32_t op = mapped_.cigar[c] & 15, n = mapped_.cigar[c] >> 4;
            if (op == kCigarM && eqx_) {
                for (uint32_t from = 0; from < n;) {
                    const bool same = match(oriented_[query + from], window_[reference + from]);
                    uint32_t to = from + 1;
                    while (to < n && match(oriented_[query + to], window_[reference + to]) == same) to++;
                    put(to - from, same ? '=' : 'X');
                    from = to;
                }
            } else {
                put(n, "MIDNS"[op]);
            }
            if (op != kCigarD) query += n;
            if (op == kCigarM || op == kCigarD) reference += n;
        }
    }

    void sequence(size_t i, int64_t length) {
        if (length == 0) {
            out_.put("*\t*");
            return;
        }
        const char* bases = reinterpret_cast<const char*>(reads_.bases + reads_.base_offsets[i]);
        const bool reverse = mapped_.flag[i] & kFlagReverse;
        out_.put(mapped_.contig[i] >= 0 ? oriented_.data() : bases, size_t(length));
        out_.put('\t');
        if (!reads_.qualities) {
            out_.put('*');
            return;
        }
        const char* qualities = reinterpret_cast<const char*>(reads_.qualities + reads_.base_offsets[i]);
        if (reverse) {
            for (int64_t c = length; c-- > 0;) out_.put(qualities[c]);
        } else {
            out_.put(qualities, size_t(length));
        }
    }

    // NM and MD come from the letters and the CIGAR, AS and ed from the mapper.
    void tags(size_t i) {
        int64_t edits = 0, run = 0;
        size_t query = 0, text = 0;
        md_.clear();
        const auto flush = [&] {
            char digits[20];
            md_.append(digits, size_t(std::to_chars(digits, digits + 20, run).ptr - digits));
            run = 0;
        };
        for (int64_t c = mapped_.cigar_offsets[i]; c < mapped_.cigar_offsets[i + 1]; c++) {
            const uint32_t op = mapped_.cigar[c] & 15, n = mapped_.cigar[c] >> 4;
            if (op == kCigarM) {
                for (uint32_t x = 0; x < n; x++) {
                    if (match(oriented_[query + x], window_[text + x])) {
                        run++;
                    } else {
                        flush();
                        md_.push_back(window_[text + x]);
                        edits++;
                    }
                }
            } else if (op == kCigarD) {
                flush();
                md_.push_back('^');
                md_.append(window_.data() + text, n);
            }
            if (op == kCigarI || op == kCigarD) edits += n;
            if (op != kCigarD) query += n;
            if (op == kCigarM || op == kCigarD) text += n;
        }
        flush();
        out_.put("\tNM:i:");
        out_.number(edits);
        out_.put("\tMD:Z:");
        out_.put(md_.data(), md_.size());
        out_.put("\tAS:i:");
        out_.number(mapped_.score[i]);
        out_.put("\ted:i:");
        out_.number(mapped_.distance[i]);
    }

    const ReferenceView& reference_;
    const uint8_t* contig_names_;
    const int64_t* contig_name_offsets_;
    const Reads reads_;
    const Mapped mapped_;
    const bool eqx_;
    const std::string read_group_;
    size_t mate_ = kNone;
    std::vector<char> oriented_, window_;
    std::string md_, cigar_, mate_cigar_;
    Text out_;
};

template <class T>
const T* data_or_null(const std::optional<Input<T>>& array) {
    return array ? array->data() : nullptr;
}

nb::bytes format_sam(const ReferenceArrays& reference, Input<uint8_t> contig_names, Input<int64_t> contig_name_offsets,
                     Input<uint8_t> names, Input<int64_t> name_offsets, Input<uint8_t> bases, Input<int64_t> base_offsets,
                     std::optional<Input<uint8_t>> qualities, std::optional<Input<uint8_t>> extra,
                     std::optional<Input<int64_t>> extra_offsets, Input<uint16_t> flag, Input<int32_t> contig,
                     Input<int64_t> position, Input<uint8_t> mapq, Input<int32_t> score, Input<int32_t> distance,
                     Input<uint32_t> cigar, Input<int64_t> cigar_offsets, std::optional<Input<uint8_t>> mates, bool eqx,
                     const std::string& read_group) {
    const size_t n = base_offsets.size() - 1;
    if (flag.size() != n || contig.size() != n || position.size() != n || mapq.size() != n || score.size() != n ||
        distance.size() != n || cigar_offsets.size() != n + 1 || name_offsets.size() != n + 1 || extra.has_value() != extra_offsets.has_value() ||
        (mates && mates->size() != n))
        throw nb::value_error("the arrays of reads and alignments differ in length");
    const ReferenceView view = reference.view();
    const Reads reads{names.data(), bases.data(), data_or_null(qualities), data_or_null(extra), name_offsets.data(),
                      base_offsets.data(), data_or_null(extra_offsets)};
    const Mapped mapped{flag.data(), contig.data(), position.data(), mapq.data(), score.data(), distance.data(), cigar.data(),
                        cigar_offsets.data(), data_or_null(mates)};
    SamWriter writer(view, contig_names.data(), contig_name_offsets.data(), reads, mapped, eqx, read_group);
    {
        nb::gil_scoped_release release;
        for (size_t i = 0; i < n; i++) writer.record(i);
    }
    return nb::bytes(writer.text().data(), writer.text().size());
}

}  // namespace

void bind_sam(nb::module_& m) {
    m.def("format_sam", &format_sam, nb::arg("reference"), nb::arg("contig_names"), nb::arg("contig_name_offsets"),
          nb::arg("names"), nb::arg("name_offsets"), nb::arg("bases"), nb::arg("base_offsets"), nb::arg("qualities").none(),
          nb::arg("extra").none(), nb::arg("extra_offsets").none(), nb::arg("flag"), nb::arg("contig"), nb::arg("position"),
          nb::arg("mapq"), nb::arg("score"), nb::arg("distance"), nb::arg("cigar"), nb::arg("cigar_offsets"), nb::arg("mates").none(), nb::arg("eqx"),
          nb::arg("read_group"), "SAM records of a batch, one line each, in order.");
}

}  // namespace gpualign
