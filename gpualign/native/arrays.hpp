// NumPy arrays as arguments and results of the bindings.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace gpualign {
namespace nb = nanobind;

// A C-contiguous one-dimensional input array; read-only arrays (np.frombuffer, np.memmap) are accepted. An array with
// unaligned elements, such as a slice of a message from another machine, is copied.
template <class T> class Input : public nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu> {
public:
    using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    Input() = default;
    Input(const Array& array) : Array(array) {}

    bool is_aligned() const { return reinterpret_cast<uintptr_t>(this->data()) % alignof(T) == 0; }
};

template <class T> using Output = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// Types that the stub shows. Elements of a tuple keep theirs.
using Arrays = nb::typed<nb::tuple, nb::any, nb::ellipsis>;
template <class... T> nb::typed<nb::tuple, std::decay_t<T>...> tuple_of(T&&... values) {
    return nb::make_tuple(std::forward<T>(values)...);
}

// An array that is modified in place.
template <class T> using Mutable = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A struct as gpualign/run/abi.py makes it.
template <class Struct> Struct struct_of(const nb::bytes& bytes) {
    Struct found;
    if (bytes.size() != sizeof found) throw nb::value_error("a struct of another size");
    std::memcpy(&found, bytes.c_str(), sizeof found);
    return found;
}

// Hands a vector over to NumPy without copying.
template <class T> Output<T> to_numpy(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Output<T>(owned->data(), {owned->size()}, owner);
}

// Hands a vector of structs over as an array of their 64-bit words.
template <class Item> Output<uint64_t> to_numpy_words(std::vector<Item>&& items) {
    auto* owned = new std::vector<Item>(std::move(items));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<Item>*>(p); });
    return Output<uint64_t>(
        reinterpret_cast<uint64_t*>(owned->data()), {sizeof(Item) / sizeof(uint64_t) * owned->size()}, owner);
}

}  // namespace gpualign

namespace nanobind::detail {

template <class T> struct type_caster<gpualign::Input<T>> {
    using Array = typename gpualign::Input<T>::Array;
    NB_TYPE_CASTER(gpualign::Input<T>, make_caster<Array>::Name + const_name<sizeof(T) == 1>(" | bytes", ""))

    template <class Flags> bool from_python(handle source, Flags flags, cleanup_list* cleanup) noexcept {
        make_caster<Array> caster;
        if (!caster.from_python(source, flags, cleanup)) return false;
        value = caster.operator Array&();
        if (value.is_aligned()) return true;
        try {
            if (!caster.from_python(source.attr("copy")(), flags, cleanup)) return false;
        } catch (...) {
            return false;
        }
        value = caster.operator Array&();
        return value.is_aligned();
    }
};

}  // namespace nanobind::detail
