// Bindings that pack a reference, build its minimizer index, and sort its suffixes.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "arrays.hpp"
#include "bindings.hpp"
#include "seeds/index/builder.hpp"
#include "seeds/index/suffix_sorter.hpp"
#include "seeds/index/reference.hpp"
#include "seeds/index/reference_arrays.hpp"

namespace gpualign {
namespace {

template <class Seed>
auto build_index_of(const ReferenceView& reference, int k, int w, bool bisulfite, int threads, uint64_t* done) {
    IndexBuilder<Seed> builder(reference, k, w, bisulfite, threads, done);
    {
        nb::gil_scoped_release release;
        builder.build();
    }
    const auto output = [](auto& array, size_t size) {
        auto* const values = array.release();
        nb::capsule owner(values, [](void* p) noexcept { std::free(p); });
        return Output<std::remove_pointer_t<decltype(values)>>(values, {size}, owner);
    };
    return tuple_of(
        output(builder.offsets, builder.buckets() + 1), output(builder.entries, builder.size()), builder.bucket_bits());
}

auto build_index(const ReferenceArrays& reference, int k, int w, bool bisulfite, int threads, Mutable<uint64_t> done) {
    if (k < 1 || k > kMaxKmer || k % 2 == 0) throw nb::value_error("k must be odd and between 1 and 31");
    if (w < 1) throw nb::value_error("w must be at least 1");
    if (done.size() != 1) throw nb::value_error("done must hold one number");
    const auto build =
        seed_partition_bits(k) + NarrowSeed::kRestBits >= 2 * k ? build_index_of<NarrowSeed> : build_index_of<WideSeed>;
    return build(reference.view(), k, w, bisulfite, std::max(1, threads), done.data());
}

auto build_suffix_array(const ReferenceArrays& reference, int k, int threads) {
    if (k < 1 || k > 15) throw nb::value_error("k must be between 1 and 15");
    const MemSegments segments(reference.view());
    SuffixSorter sorter(segments, k, std::max(1, threads));
    {
        nb::gil_scoped_release release;
        sorter.build();
    }
    const size_t size = sorter.size();
    uint32_t* positions = sorter.positions.release();
    nb::capsule owner(positions, [](void* p) noexcept { std::free(p); });
    return tuple_of(to_numpy(std::move(sorter.offsets)), Output<uint32_t>(positions, {size}, owner));
}

// Index files are untrusted: everything that is used as a subscript is checked once, here.
std::string check_index(const ReferenceArrays& reference, Input<uint32_t> offsets, Input<uint64_t> entries, int k,
    int bucket_bits, int threads) {
    if (k < 1 || k > kMaxKmer || k % 2 == 0) return "k is not odd or not between 1 and 31";
    if (bucket_bits < 0 || bucket_bits > std::min(2 * k, 30)) return "the number of bucket bits is impossible";
    if (offsets.size() != (size_t(1) << bucket_bits) + 1) return "the bucket table has the wrong size";
    const uint32_t* o = offsets.data();
    const uint64_t* e = entries.data();
    const size_t buckets = offsets.size() - 1, n = entries.size();
    const uint64_t bases = reference.view().bases;
    nb::gil_scoped_release release;
    if (o[0] != 0 || o[buckets] != n) return "the bucket table does not span the entries";
    std::atomic<bool> ordered{true}, inside{true};
    const auto check = [&](size_t count, std::atomic<bool>& holds, auto&& good) {
        constexpr size_t kPart = size_t(1) << 20;
        parallel_for(threads, (count + kPart - 1) / kPart, [&](size_t part, int) {
            bool all = true;
            const size_t end = std::min(count, (part + 1) * kPart);
            for (size_t i = part * kPart; i < end; i++) all &= good(i);
            if (!all) holds = false;
        });
    };
    check(buckets, ordered, [&](size_t b) { return o[b] <= o[b + 1]; });
    check(n, inside, [&](size_t i) { return uint64_t(entry_position(e[i])) + uint64_t(k) <= bases; });
    if (!ordered) return "the bucket table is not in order";
    if (!inside) return "an entry lies outside the reference";
    return "";
}

// Tags (IndexView::tags) of the entries from `first` on, in buckets of 1 << (bucket_bits - packed_bits) buckets each.
void fill_tags(Input<uint32_t> offsets, Input<uint64_t> entries, int k, int bucket_bits, int packed_bits, size_t first,
    Mutable<uint16_t> tags) {
    if (packed_bits > bucket_bits || 2 * k - packed_bits > kTagBits) throw nb::value_error("tags have too few bits");
    const size_t n = tags.size(), end = first + n, buckets = offsets.size() - 1;
    if (end > entries.size()) throw nb::index_error("beyond the entries");
    const uint32_t* o = offsets.data();
    const uint64_t* e = entries.data() + first;
    uint16_t* t = tags.data();
    const size_t inner = (size_t(1) << (bucket_bits - packed_bits)) - 1;
    const int rest = 2 * k - bucket_bits;
    nb::gil_scoped_release release;
    // a bucket's bits go to its entries and the next ones up to four, which the next buckets' overwrite: nearly all
    // buckets have fewer, and to how many is not predictable
    constexpr size_t kAtOnce = 4;
    for (size_t b = size_t(std::upper_bound(o, o + buckets, first) - o) - 1; b < buckets && o[b] < end; b++) {
        const uint64_t bits = (b & inner) << rest, copies = bits * 0x0001000100010001u;
        size_t i = std::max<size_t>(o[b], first) - first;
        if (i + kAtOnce <= n) {
            std::memcpy(t + i, &copies, sizeof copies);
            i += kAtOnce;
        }
        for (const size_t last = std::min<size_t>(o[b + 1], end) - first; i < last; i++) t[i] = uint16_t(bits);
    }
    for (size_t i = 0; i < n; i++) t[i] = uint16_t((t[i] | e[i] >> 33) << 1 | (e[i] & 1));
}

nb::bytes reference_sequence(const ReferenceArrays& reference, uint64_t begin, uint64_t end) {
    if (begin > end || end > reference.view().bases) throw nb::index_error("outside the reference");
    std::string text(end - begin, 'N');
    reference.view().sequence(begin, end, text.data());
    return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_index(nb::module_& m) {
    nb::class_<ReferencePacker>(m, "ReferencePacker", "Packs contigs as they are read.")
        .def(nb::init<>())
        .def(
            "append",
            [](ReferencePacker& packer, Input<uint8_t> ascii) {
                nb::gil_scoped_release release;
                packer.append(ascii.data(), ascii.size());
            },
            nb::arg("ascii"), "Add bases (uint8 ASCII) of the current contig.")
        .def(
            "finish", [](ReferencePacker& packer) { return to_numpy(std::move(packer)); },
            "(words, run_starts, run_ends, run_bases)");
    nb::class_<ReferenceArrays>(m, "ReferenceArrays", "A packed reference; keeps its arrays alive.")
        .def(nb::init<Input<uint64_t>, Input<int64_t>, Input<uint32_t>, Input<uint32_t>, Input<uint8_t>>(),
            nb::arg("words"), nb::arg("contig_offsets"), nb::arg("run_starts"), nb::arg("run_ends"),
            nb::arg("run_bases"), "Checks the arrays; raises ValueError where they cannot be a reference.");
    m.def("build_index", &build_index, nb::arg("reference"), nb::arg("k"), nb::arg("w"), nb::arg("bisulfite"),
        nb::arg("threads"), nb::arg("done"),
        "(offsets uint32, entries uint64, bucket_bits); done counts up to twice the reference's bases meanwhile.");
    m.def("build_suffix_array", &build_suffix_array, nb::arg("reference"), nb::arg("k"), nb::arg("threads"),
        "(offsets, positions) in order of what follows them (suffix_sorter.hpp); k from 1 to 15.");
    m.def("check_index", &check_index, nb::arg("reference"), nb::arg("offsets"), nb::arg("entries"), nb::arg("k"),
        nb::arg("bucket_bits"), nb::arg("threads"), "What is wrong with an index, or an empty string.");
    m.attr("TAG_BITS") = kTagBits;
    m.def("fill_tags", &fill_tags, nb::arg("offsets"), nb::arg("entries"), nb::arg("k"), nb::arg("bucket_bits"),
        nb::arg("packed_bits"), nb::arg("first"), nb::arg("tags"),
        "Tags of the entries from the first on, whose buckets are chosen by the first packed_bits of the bucket's "
        "bits.");
    m.def("reference_sequence", &reference_sequence, nb::arg("reference"), nb::arg("begin"), nb::arg("end"));
}

}  // namespace gpualign
