// A batch of reads as NumPy arrays (sequences.py, SequenceBatch) on its way into a formatter, checked.
#pragma once
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>

#include "alignment.hpp"
#include "arrays.hpp"
#include "pair_model.hpp"
#include "text.hpp"

namespace gpualign {

struct ReadsView {
    const uint8_t *names, *bases, *qualities, *comments, *mates;  // qualities, comments and mates may be null
    const int64_t *name_offsets, *base_offsets, *comment_offsets;

    static constexpr size_t kNone = ~size_t(0);
    static constexpr int64_t kLongestName = 254;  // SAM's

    const char* letters(size_t read) const { return reinterpret_cast<const char*>(bases + base_offsets[read]); }
    int64_t length(size_t read) const { return base_offsets[read + 1] - base_offsets[read]; }
    const char* quality(size_t read) const { return reinterpret_cast<const char*>(qualities + base_offsets[read]); }
    const char* comment(size_t read) const { return reinterpret_cast<const char*>(comments + comment_offsets[read]); }
    int64_t comment_size(size_t read) const { return comments ? comment_offsets[read + 1] - comment_offsets[read] : 0; }
    int64_t name_size(size_t read) const { return name_offsets[read + 1] - name_offsets[read]; }

    bool paired(size_t read) const { return mates && mates[read] != kSingle; }
    size_t mate_of(size_t read) const { return !paired(read) ? kNone : mates[read] == kFirstMate ? read + 1 : read - 1; }

    // The name in SAM's letters, "*" where there is none; takes at most kLongestName letters of room.
    void put_name(size_t read, Text& out) const {
        const uint8_t* p = names + name_offsets[read];
        const int64_t n = std::min(kLongestName, name_size(read));
        if (n == 0) out.put('*');
        for (int64_t c = 0; c < n; c++) out.put(p[c] > ' ' && p[c] < 127 && p[c] != '@' ? char(p[c]) : '_');
    }
};

class ReadArrays {
public:
    // (names, name_offsets, bases, base_offsets, qualities | None, comments | None, comment_offsets | None, mates | None)
    explicit ReadArrays(const nb::tuple& arrays)
        : names_(nb::cast<Input<uint8_t>>(arrays[0])), name_offsets_(nb::cast<Input<int64_t>>(arrays[1])),
          bases_(nb::cast<Input<uint8_t>>(arrays[2])), base_offsets_(nb::cast<Input<int64_t>>(arrays[3])),
          qualities_(maybe<uint8_t>(arrays[4])), comments_(maybe<uint8_t>(arrays[5])),
          comment_offsets_(maybe<int64_t>(arrays[6])), mates_(maybe<uint8_t>(arrays[7])) {
        if (base_offsets_.size() == 0 || name_offsets_.size() != reads() + 1 || (mates_ && mates_->size() != reads()) ||
            comments_.has_value() != comment_offsets_.has_value() || (comment_offsets_ && comment_offsets_->size() != reads() + 1) ||
            (qualities_ && qualities_->size() < bases_.size()))
            throw nb::value_error("the arrays of the reads differ in length");
    }

    size_t reads() const { return base_offsets_.size() - 1; }
    ReadsView view() const {
        return {names_.data(), bases_.data(), data(qualities_), data(comments_), data(mates_), name_offsets_.data(),
                base_offsets_.data(), data(comment_offsets_)};
    }

private:
    template <class T>
    static std::optional<Input<T>> maybe(nb::handle array) {
        return array.is_none() ? std::nullopt : std::optional<Input<T>>(nb::cast<Input<T>>(array));
    }
    template <class T>
    static const T* data(const std::optional<Input<T>>& array) {
        return array ? array->data() : nullptr;
    }

    Input<uint8_t> names_;
    Input<int64_t> name_offsets_;
    Input<uint8_t> bases_;
    Input<int64_t> base_offsets_;
    std::optional<Input<uint8_t>> qualities_, comments_;
    std::optional<Input<int64_t>> comment_offsets_;
    std::optional<Input<uint8_t>> mates_;
};

// Which reads of a batch a formatter writes; all where no array is given.
class Wanted {
public:
    Wanted(const std::optional<Input<uint8_t>>& array, size_t reads) : wanted_(array ? array->data() : nullptr) {
        if (array && array->size() != reads) throw nb::value_error("one choice per read");
    }
    bool operator[](size_t read) const { return !wanted_ || wanted_[read]; }

private:
    const uint8_t* wanted_;
};

// The names of the reference's contigs.
struct ContigNames {
    const uint8_t* names;
    const int64_t* offsets;

    const char* text(int32_t contig) const { return reinterpret_cast<const char*>(names + offsets[contig]); }
    int64_t size(int32_t contig) const { return offsets[contig + 1] - offsets[contig]; }
};

}  // namespace gpualign
