// BGZF, whole groups of blocks without the interpreter's lock.
#include "bam/bgzf.hpp"

#include "arrays.hpp"
#include "bindings.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

// ISA-L's functions at these addresses.
struct IsalLibrary {
    Isal isal;

    IsalLibrary(uintptr_t deflate_init, uintptr_t deflate, uintptr_t inflate_init, uintptr_t inflate, uintptr_t crc32) {
        isal.deflate_init = reinterpret_cast<decltype(isal.deflate_init)>(deflate_init);
        isal.deflate = reinterpret_cast<decltype(isal.deflate)>(deflate);
        isal.inflate_init = reinterpret_cast<decltype(isal.inflate_init)>(inflate_init);
        isal.inflate = reinterpret_cast<decltype(isal.inflate)>(inflate);
        isal.crc32 = reinterpret_cast<decltype(isal.crc32)>(crc32);
    }

    Output<uint8_t> compress(Input<uint8_t> content) const {
        Text out;
        {
            nb::gil_scoped_release release;
            bgzf::Compressor compress(isal);
            compress(content.data(), content.size(), out);
        }
        return to_numpy(std::move(out));
    }

    nb::tuple inflate(Input<uint8_t> blocks) const {
        Text out;
        int64_t lines = 0;
        {
            nb::gil_scoped_release release;
            out.reserve(4 * blocks.size());
            bgzf::inflate(isal, blocks.data(), blocks.size(), out);
            lines = newlines(out.data(), out.data() + out.size());
        }
        return nb::make_tuple(to_numpy(std::move(out)), lines);
    }
};

}  // namespace

void bind_bgzf(nb::module_& m) {
    nb::class_<IsalLibrary>(m, "IsalLibrary", "BGZF by ISA-L, whose functions are at these addresses.")
        .def(nb::init<uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t>(), nb::arg("deflate_init"), nb::arg("deflate"),
             nb::arg("inflate_init"), nb::arg("inflate"), nb::arg("crc32"))
        .def("compress", &IsalLibrary::compress, nb::arg("content"), "The blocks of a text.")
        .def("inflate", &IsalLibrary::inflate, nb::arg("blocks"),
             "The text of whole blocks, and its newlines. Raises ValueError where they are damaged.");
}

}  // namespace gpualign
