// Bindings of parallel gzip decompression (gpualign/text/gzip_parts.py).
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <system_error>
#include <tuple>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "text/gzip/part.hpp"

namespace gpualign {
namespace {

using gzip::Part;

constexpr uint64_t kBeyond = uint64_t(1) << 16;  // bytes first read beyond a part, for its last block

const uint8_t* window_of(const Input<uint8_t>& window) {
    if (window.size() != gzip::kWindow) throw nb::value_error("a window has 32,768 bytes");
    return window.data();
}

// Calls `decode` without the GIL; converts system errors.
template <class Decode> Part decoded(Decode&& decode) {
    try {
        nb::gil_scoped_release release;
        return decode();
    } catch (const std::system_error& error) {
        errno = error.code().value();
    }
    PyErr_SetFromErrno(PyExc_OSError);
    throw nb::python_error();
}

// Decodes what begins in bytes [begin, end) of a file.
Part gzip_part(int descriptor, uint64_t file_size, uint64_t begin, uint64_t end, size_t most) {
    if (begin > end || end > file_size) throw nb::index_error("outside the file");
    return decoded([&] {
        const std::vector<uint8_t> nothing(begin == 0 ? gzip::kWindow : 0);
        const uint64_t stop = end == file_size ? ~uint64_t(0) : 8 * end;
        Part part({descriptor, file_size, begin, end - begin + kBeyond}, stop, begin ? nullptr : nothing.data(), most);
        if (begin == 0) part.from_start();
        else part.from_first_block(8 * begin, 8 * end);
        return part;
    });
}

Part gzip_part_from_block(
    int descriptor, uint64_t file_size, uint64_t bit, uint64_t stop, const Input<uint8_t>& window, size_t most) {
    const uint8_t* before = window_of(window);
    if (bit / 8 > file_size) throw nb::index_error("outside the file");
    return decoded([&] {
        Part part({descriptor, file_size, bit / 8, kBeyond}, stop, before, most);
        part.from_block(bit);
        return part;
    });
}

Part rest_of(const Part& part, const Input<uint8_t>& window) {
    const uint8_t* before = window_of(window);
    return decoded([&] { return part.rest(before); });
}

Output<uint8_t> bytes_of(size_t size) {
    auto* bytes = new uint8_t[size];
    return Output<uint8_t>(
        bytes, {size}, nb::capsule(bytes, [](void* p) noexcept { delete[] static_cast<uint8_t*>(p); }));
}

Output<uint8_t> text_of(const Part& part, const Input<uint8_t>& window) {
    const uint8_t* before = window_of(window);
    Output<uint8_t> text = bytes_of(part.size());
    nb::gil_scoped_release release;
    part.text(before, text.data());
    return text;
}

Output<uint8_t> window_after(const Part& part, const Input<uint8_t>& window) {
    const uint8_t* before = window_of(window);
    Output<uint8_t> after = bytes_of(gzip::kWindow);
    nb::gil_scoped_release release;
    part.window_after(before, after.data());
    return after;
}

std::vector<std::tuple<uint64_t, uint32_t, uint32_t>> members_of(const Part& part) {
    std::vector<std::tuple<uint64_t, uint32_t, uint32_t>> members;
    for (const gzip::MemberEnd& end : part.members()) members.emplace_back(end.bytes, end.crc, end.size);
    return members;
}

}  // namespace

void bind_gzip(nb::module_& m) {
    nb::class_<Part>(m, "GzipPart", "A part of a gzip file, decoded but for what it copies from the 32 KiB before it.")
        .def_prop_ro("begin", &Part::begin, "Bit of the file; 2**64 - 1 where no block begins in it.")
        .def_prop_ro("end", &Part::end, "Bit of the file.")
        .def_prop_ro("full", &Part::full, "It ends within a block, for want of memory.")
        .def_prop_ro("at_end", &Part::at_end, "Of the file.")
        .def_prop_ro("error", &Part::error, "What is wrong after it, or nothing.")
        .def_prop_ro("ended_early", &Part::ended_early, "That is the end of the file.")
        .def_prop_ro("other_follows", &Part::other_follows, "Those are bytes of no member.")
        .def_prop_ro("members", &members_of,
            "(bytes of the part before its end, CRC-32, size modulo 2**32) of each member's end.")
        .def("__len__", &Part::size)
        .def("rest", &rest_of, nb::arg("window"), "What follows a full part.")
        .def("text", &text_of, nb::arg("window"), "uint8, its bytes after this window.")
        .def("window_after", &window_after, nb::arg("window"), "uint8, the 32 KiB up to its end.");
    m.def("gzip_part", &gzip_part, nb::arg("descriptor"), nb::arg("file_size"), nb::arg("begin"), nb::arg("end"),
        nb::arg("most"),
        "What begins in these bytes of a file: from the first block that is found to the first dynamic one after them; "
        "of more than `most` bytes about as many.");
    m.def("gzip_part_from_block", &gzip_part_from_block, nb::arg("descriptor"), nb::arg("file_size"), nb::arg("bit"),
        nb::arg("stop"), nb::arg("window"), nb::arg("most"),
        "The same from a block that begins at this bit, up to the bit `stop`.");
}

}  // namespace gpualign
