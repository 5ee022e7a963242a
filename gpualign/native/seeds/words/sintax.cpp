// Bindings of `sintax`: draws of words of 8 bases, and how they vote.
#include <algorithm>
#include <string_view>

#include "arrays.hpp"
#include "bindings.hpp"
#include "seeds/words/word_groups.hpp"

namespace gpualign {
namespace words {
namespace {

std::string_view text_of(const Input<uint8_t>& bases, const Input<int64_t>& offsets, size_t i) {
    const int64_t* const at = offsets.data() + i;
    return {reinterpret_cast<const char*>(bases.data()) + at[0], size_t(at[1] - at[0])};
}

template <class T> Output<const T> viewed(const std::vector<T>& values, nb::handle owner) {
    return Output<const T>(values.data(), {values.size()}, owner);
}

WordIndex* index_of(
    Input<uint8_t> bases, Input<int64_t> offsets, Input<int32_t> similar, Input<int32_t> order, int threads) {
    const size_t count = offsets.size() - 1;
    if (similar.size() != count || order.size() != count) throw nb::value_error("arrays of unequal length");
    for (size_t i = 0; i < count; i++)
        if (size_t(similar.data()[i]) >= count) throw nb::value_error("there is no such sequence");
    nb::gil_scoped_release release;
    return new WordIndex(
        reinterpret_cast<const char*>(bases.data()), offsets.data(), similar.data(), order.data(), count, threads);
}

// Different words of each sequence, in order, and a seed that depends on its text alone (FNV-1a).
auto words_of(Input<uint8_t> bases, Input<int64_t> offsets) {
    const size_t count = offsets.size() - 1;
    std::vector<uint16_t> found;
    std::vector<uint32_t> firsts{0};
    std::vector<uint64_t> seeds(count), seen(all_words / 64);
    {
        nb::gil_scoped_release release;
        found.reserve(size_t(offsets.data()[count] - offsets.data()[0]));
        firsts.reserve(count + 1);
        for (size_t i = 0; i < count; i++) {
            const std::string_view text = text_of(bases, offsets, i);
            each_word(text, [&](uint32_t word) {
                uint64_t& bits = seen[word / 64];
                if (bits >> word % 64 & 1) return;
                bits |= uint64_t(1) << word % 64;
                found.push_back(uint16_t(word));
            });
            for (size_t at = firsts.back(); at < found.size(); at++) seen[found[at] / 64] = 0;
            firsts.push_back(uint32_t(found.size()));
            seeds[i] = 0xCBF29CE484222325u;
            for (const char c : text) seeds[i] = (seeds[i] ^ uint8_t(c)) * 0x100000001B3u;
        }
    }
    return tuple_of(to_numpy(std::move(found)), to_numpy(std::move(firsts)), to_numpy(std::move(seeds)));
}

auto draws_of(const WordIndex& index, Input<uint16_t> given, Input<uint32_t> firsts, Input<uint64_t> seeds, bool both) {
    if (firsts.size() != seeds.size() + 1 || firsts.data()[seeds.size()] != given.size())
        throw nb::value_error("arrays of unequal length");
    std::vector<int32_t> best(seeds.size() * kDraws);
    std::vector<uint8_t> minus(seeds.size());
    {
        nb::gil_scoped_release release;
        const WordDraws batch{index.view(), given.data(), firsts.data(), seeds.data(), best.data(), minus.data(),
            uint32_t(seeds.size()), both};
        for (uint32_t query = 0; query < batch.queries; query++)
            QueryDraws<Bits, OneLane>(OneLane(), batch, query).classify();
    }
    return tuple_of(to_numpy(std::move(best)), to_numpy(std::move(minus)));
}

constexpr size_t ranks = 9;

// As in vsearch each rank has the most frequent name (the first of equal ones) of those draws that agree on all ranks
// above it. names, counts: `ranks` of them.
void vote(std::vector<const int32_t*>& left, int32_t* names, int32_t* counts) {
    for (size_t rank = 0; rank < ranks; rank++) {
        for (size_t i = 0; i < left.size(); i++) {
            const auto same = [&](const int32_t* other) { return other[rank] == left[i][rank]; };
            if (std::any_of(left.begin(), left.begin() + ptrdiff_t(i), same)) continue;
            const int32_t count = int32_t(std::count_if(left.begin(), left.end(), same));
            if (count > counts[rank]) counts[rank] = count, names[rank] = left[i][rank];
        }
        const auto other = [&](const int32_t* of) { return of[rank] != names[rank]; };
        left.erase(std::remove_if(left.begin(), left.end(), other), left.end());
    }
}

// best: of each draw of each query a reference or -1; names: int32 (references, ranks), numbers of names, 0: none.
auto votes(Input<int32_t> best, Input<int32_t> of_references, int draws) {
    const size_t count = best.size() / size_t(draws);
    std::vector<int32_t> names(count * ranks), agree(count * ranks), successful(count);
    {
        nb::gil_scoped_release release;
        std::vector<const int32_t*> left;
        for (size_t i = 0; i < count; i++) {
            left.clear();
            for (size_t draw = i * size_t(draws); draw < (i + 1) * size_t(draws); draw++) {
                const int32_t reference = best.data()[draw];
                if (reference >= 0) left.push_back(of_references.data() + size_t(reference) * ranks);
            }
            successful[i] = int32_t(left.size());
            vote(left, &names[i * ranks], &agree[i * ranks]);
        }
    }
    return tuple_of(to_numpy(std::move(names)), to_numpy(std::move(agree)), to_numpy(std::move(successful)));
}

}  // namespace
}  // namespace words

void bind_sintax(nb::module_& m) {
    using namespace words;
    m.attr("WORD_DRAWS") = kDraws;
    nb::class_<WordIndex>(m, "WordIndex")
        .def(nb::new_(&index_of), nb::arg("bases"), nb::arg("offsets"), nb::arg("similar"), nb::arg("order"),
            nb::arg("threads"),
            "similar: int32 (n,), numbers of sequences, similar ones next to each other; order: int32 (n,), of each "
            "sequence its number in the order of preference.")
        .def_prop_ro(
            "arrays",
            [](nb::handle self) {
                const WordIndex& index = nb::cast<const WordIndex&>(self);
                return tuple_of(viewed(index.rows(), self), viewed(index.bitmaps(), self), viewed(index.ranks(), self),
                    viewed(index.masks(), self), viewed(index.orders(), self));
            },
            "Arrays of the struct WordGroups.")
        .def_prop_ro("groups", [](const WordIndex& index) { return index.view().groups; })
        .def_prop_ro("row_words", [](const WordIndex& index) { return index.view().row_words; })
        .def("draws", &draws_of, nb::arg("words"), nb::arg("firsts"), nb::arg("seeds"), nb::arg("both"),
            "Of each draw of each query the sequence with most words, its number in the order of preference or -1, "
            "int32 (WORD_DRAWS * q,); whether a query's other strand is nearer, uint8 (q,).");
    m.def("words_of", &words_of, nb::arg("bases"), nb::arg("offsets"),
        "Different words of 8 bases of sequences, uint16; where each sequence's begin, uint32 (n + 1,); seeds of their "
        "random numbers, uint64 (n,).");
    m.def("sintax_votes", &votes, nb::arg("best"), nb::arg("names"), nb::arg("draws"),
        "Of each query: numbers of names by rank and how many draws agree, int32 (9 n,) each; draws that found a "
        "reference, int32 (n,).");
}

}  // namespace gpualign
