// A batch of reads as NumPy arrays (gpualign/sequences/batch.py, SequenceBatch), checked: input of the formatters.
#pragma once
#include <nanobind/stl/optional.h>

#include <optional>

#include "arrays.hpp"
#include "algo/text/columns.hpp"

namespace gpualign {

class ReadArrays {
public:
    // (names, name_offsets, bases, base_offsets, qualities | None, comments | None, comment_offsets | None, mates |
    // None)
    explicit ReadArrays(const nb::tuple& arrays)
        : names_(nb::cast<Input<uint8_t>>(arrays[0])), name_offsets_(nb::cast<Input<int64_t>>(arrays[1])),
          bases_(nb::cast<Input<uint8_t>>(arrays[2])), base_offsets_(nb::cast<Input<int64_t>>(arrays[3])),
          qualities_(maybe<uint8_t>(arrays[4])), comments_(maybe<uint8_t>(arrays[5])),
          comment_offsets_(maybe<int64_t>(arrays[6])), mates_(maybe<uint8_t>(arrays[7])) {
        if (base_offsets_.size() == 0 || name_offsets_.size() != reads() + 1 || (mates_ && mates_->size() != reads()) ||
            comments_.has_value() != comment_offsets_.has_value() ||
            (comment_offsets_ && comment_offsets_->size() != reads() + 1) ||
            (qualities_ && qualities_->size() < bases_.size()))
            throw nb::value_error("the arrays of the reads differ in length");
    }

    size_t reads() const { return base_offsets_.size() - 1; }
    ReadsView view() const {
        return {names_.data(), bases_.data(), data(qualities_), data(comments_), data(mates_), name_offsets_.data(),
            base_offsets_.data(), data(comment_offsets_)};
    }

private:
    template <class T> static std::optional<Input<T>> maybe(nb::handle array) {
        return array.is_none() ? std::nullopt : std::optional<Input<T>>(nb::cast<Input<T>>(array));
    }
    template <class T> static const T* data(const std::optional<Input<T>>& array) {
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

// The reads of a batch that a formatter writes; all if no array is given.
class Wanted {
public:
    Wanted(const std::optional<Input<uint8_t>>& array, size_t reads) : wanted_(array ? array->data() : nullptr) {
        if (array && array->size() != reads) throw nb::value_error("one choice per read");
    }
    bool operator[](size_t read) const { return !wanted_ || wanted_[read]; }

private:
    const uint8_t* wanted_;
};

}  // namespace gpualign
