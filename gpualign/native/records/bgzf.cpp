// BGZF for Python; many blocks per call, without the GIL.
#include "records/bgzf.hpp"

#include <fcntl.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "text/text_input.hpp"

namespace gpualign {
namespace {

// zlib-ng, by the addresses of its functions.
struct ZlibNgLibrary {
    Zng zng;

    ZlibNgLibrary(uintptr_t init, uintptr_t reset, uintptr_t tune, uintptr_t deflate, uintptr_t end) {
        zng.init = reinterpret_cast<decltype(zng.init)>(init);
        zng.reset = reinterpret_cast<decltype(zng.reset)>(reset);
        zng.tune = reinterpret_cast<decltype(zng.tune)>(tune);
        zng.deflate = reinterpret_cast<decltype(zng.deflate)>(deflate);
        zng.end = reinterpret_cast<decltype(zng.end)>(end);
    }

    Output<uint8_t> compress(Input<uint8_t> content, int level) const {
        Text out;
        {
            nb::gil_scoped_release release;
            thread_local std::unique_ptr<bgzf::LevelCompressor> own;
            if (!own || own->level() != level) own = std::make_unique<bgzf::LevelCompressor>(zng, level);
            (*own)(content.data(), content.size(), out);
        }
        return to_numpy(std::move(out));
    }
};

// ISA-L, by the addresses of its functions.
struct IsalLibrary {
    Isal isal;

    IsalLibrary(uintptr_t deflate_init, uintptr_t deflate, uintptr_t inflate_init, uintptr_t inflate, uintptr_t crc32) {
        isal.deflate_init = reinterpret_cast<decltype(isal.deflate_init)>(deflate_init);
        isal.deflate = reinterpret_cast<decltype(isal.deflate)>(deflate);
        isal.inflate_init = reinterpret_cast<decltype(isal.inflate_init)>(inflate_init);
        isal.inflate = reinterpret_cast<decltype(isal.inflate)>(inflate);
        isal.crc32 = reinterpret_cast<decltype(isal.crc32)>(crc32);
    }

    // Each thread has its own compressor; a process has one ISA-L.
    bgzf::Compressor& compressor() const {
        thread_local bgzf::Compressor own(isal);
        return own;
    }

    Output<uint8_t> compress(Input<uint8_t> content) const {
        Text out;
        {
            nb::gil_scoped_release release;
            compressor()(content.data(), content.size(), out);
        }
        return to_numpy(std::move(out));
    }

    // Compresses contents of the given sizes, each separately.
    Output<uint8_t> compress_all(Input<uint8_t> contents, Input<uint64_t> sizes) const {
        Text out;
        {
            nb::gil_scoped_release release;
            size_t at = 0;
            for (size_t i = 0; i < sizes.size(); at += sizes.data()[i++]) {
                if (sizes.data()[i] > contents.size() - at) throw std::invalid_argument("a content is cut short");
                compressor()(contents.data() + at, sizes.data()[i], out);
            }
        }
        return to_numpy(std::move(out));
    }

    auto inflate(Input<uint8_t> blocks, size_t headroom) const {
        Text out;
        {
            nb::gil_scoped_release release;
            const size_t content = bgzf::content_bytes(blocks.data(), blocks.size());
            out.reserve(headroom + content + 1);
            out.extend(headroom);
            bgzf::inflate(isal, blocks.data(), blocks.size(), reinterpret_cast<uint8_t*>(out.extend(0)), content + 1);
            out.extend(content);
        }
        return to_numpy(std::move(out));
    }

    void inflate_into(Input<uint8_t> blocks, Mutable<uint8_t> text) const {
        nb::gil_scoped_release release;
        bgzf::inflate(isal, blocks.data(), blocks.size(), text.data(), text.size());
    }
};

// Gives back the space of an interval of a file, which reads as zeros from then on, where the file system can do so.
void release_file(int file, uint64_t offset, uint64_t bytes) {
    nb::gil_scoped_release release;
    fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(offset), off_t(bytes));
}

// (bytes of the complete blocks at the beginning, whether what follows is not a block)
auto whole_blocks(Input<uint8_t> data) {
    const uint8_t *begin = data.data(), *at = begin, *end = begin + data.size();
    bool is_cut = false;
    {
        nb::gil_scoped_release release;  // the headers of a large group are far from each other in memory
        const auto is_block = [&] {
            return std::memcmp(at, bgzf::kBegin, 4) == 0 && std::memcmp(at + 10, bgzf::kBegin + 10, 6) == 0;
        };
        while (size_t(end - at) >= bgzf::kHeader && is_block()) {
            uint16_t last;
            std::memcpy(&last, at + sizeof bgzf::kBegin, sizeof last);
            if ((is_cut = size_t(last) + 1 > size_t(end - at))) break;
            at += size_t(last) + 1;
        }
    }
    return tuple_of(at - begin, !is_cut && size_t(end - at) >= bgzf::kHeader);
}

// Bytes of each of these complete blocks, and of its content. Throws std::invalid_argument if one is damaged.
auto block_sizes(Input<uint8_t> blocks) {
    std::vector<int64_t> sizes, contents;
    for (const uint8_t *at = blocks.data(), *end = at + blocks.size(); at < end; at += sizes.back()) {
        const bgzf::Block block = bgzf::Block::at(at, end);
        sizes.push_back(int64_t(block.bytes)), contents.push_back(block.content);
    }
    return tuple_of(to_numpy(std::move(sizes)), to_numpy(std::move(contents)));
}

// Prepares blocks for a device (InflateBatch): for each block with content, its payload aligned to 16 bytes, where
// that is and its size, where its text goes and its size, and its CRC-32.
void stage_blocks(Input<uint8_t> blocks, Output<uint8_t> payloads, Output<uint64_t> places, Output<uint64_t> bytes,
    Output<uint64_t> text_places, Output<uint64_t> text_bytes, Output<uint32_t> checksums) {
    nb::gil_scoped_release release;
    size_t i = 0, place = 0, text = 0;
    for (const uint8_t *at = blocks.data(), *end = at + blocks.size(); at < end;) {
        const bgzf::Block block = bgzf::Block::at(at, end);
        at += block.bytes;
        if (block.content == 0) continue;
        if (i >= places.size() || place + block.payload_bytes > payloads.size())
            throw std::invalid_argument("no space for a block");
        std::memcpy(payloads.data() + place, block.payload, block.payload_bytes);
        places.data()[i] = place, bytes.data()[i] = block.payload_bytes;
        text_places.data()[i] = text, text_bytes.data()[i] = block.content, checksums.data()[i] = block.crc;
        i++, text += block.content, place += (block.payload_bytes + 15) / 16 * 16;
    }
}

}  // namespace

void bind_bgzf(nb::module_& m) {
    m.def("release_file", &release_file, nb::arg("file"), nb::arg("offset"), nb::arg("bytes"),
        "Give back the space of an interval of a file, by its descriptor; nothing where the file system cannot.");
    m.def("whole_bgzf_blocks", &whole_blocks, nb::arg("data"),
        "(bytes of the whole blocks that it begins with, whether what follows is not a block)");
    m.def("bgzf_block_sizes", &block_sizes, nb::arg("blocks"),
        "int64: bytes of each of these whole blocks, and of its content. Raises ValueError where one is damaged.");
    m.attr("BGZF_STEP") = bgzf::kStep;
    m.def("stage_bgzf_blocks", &stage_blocks, nb::arg("blocks"), nb::arg("payloads"), nb::arg("places"),
        nb::arg("bytes"), nb::arg("text_places"), nb::arg("text_bytes"), nb::arg("checksums"),
        "Fills what a device takes of blocks (InflateBatch).");
    nb::class_<ZlibNgLibrary>(m, "ZlibNgLibrary", "BGZF by zlib-ng, whose functions are at these addresses.")
        .def(nb::init<uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t>(), nb::arg("init"), nb::arg("reset"),
            nb::arg("tune"), nb::arg("deflate"), nb::arg("end"))
        .def("compress", &ZlibNgLibrary::compress, nb::arg("content"), nb::arg("level"), "The blocks of a text.");
    nb::class_<IsalLibrary>(m, "IsalLibrary", "BGZF by ISA-L, whose functions are at these addresses.")
        .def(nb::init<uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t>(), nb::arg("deflate_init"),
            nb::arg("deflate"), nb::arg("inflate_init"), nb::arg("inflate"), nb::arg("crc32"))
        .def("compress", &IsalLibrary::compress, nb::arg("content"), "The blocks of a text.")
        .def("compress_all", &IsalLibrary::compress_all, nb::arg("contents"), nb::arg("sizes"),
            "The blocks of texts of these sizes, one after the other; no block has some of two.")
        .def("inflate", &IsalLibrary::inflate, nb::arg("blocks"), nb::arg("headroom"),
            "The text of whole blocks, after so many bytes of any content. Raises ValueError where they are damaged.")
        .def("inflate_into", &IsalLibrary::inflate_into, nb::arg("blocks"), nb::arg("text"),
            "Writes the text of whole blocks to memory of at least a byte more. Raises ValueError where they are "
            "damaged.");
}

}  // namespace gpualign
