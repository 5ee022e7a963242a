// Batches made of others: of two files' reads as adjacent mates, of one file's with adjacent ones paired, of some
// reads.
#include <string>

#include "algo/text/fastq.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "text/messages.hpp"
#include "text/read_arrays.hpp"

namespace gpualign {
namespace {

using Name = std::pair<const char*, int64_t>;

Name whole_name(const ReadsView& reads, size_t i) {
    return {reinterpret_cast<const char*>(reads.names + reads.name_offsets[i]), reads.name_size(i)};
}

Name template_name(const ReadsView& reads, size_t i, bool with_dots) {
    const Name name = whole_name(reads, i);
    return {name.first, template_name_size(name.first, name.second, with_dots)};
}

std::string shown(Name name) { return printable(name.first, name.first + name.second, 80); }

TwoNames compare(const ReadsView& a, size_t i, const ReadsView& b, size_t j, bool all_dots, bool& dots) {
    const Name first = whole_name(a, i), second = whole_name(b, j);
    return compare_names(first.first, first.second, second.first, second.second, all_dots, dots);
}

// What is wrong with the names of two reads that should be mates.
std::string complaint(TwoNames names, Name first, Name second) {
    if (names == TwoNames::kOfOneMateTwice)
        return "two reads that should be mates are both named '" + shown(first) + "', by which they are one mate";
    return "the mates of a pair are named '" + shown(first) + "' and '" + shown(second) + "'";
}

struct Joined {
    Joined(bool qualities_too, bool comments_too, bool mates_too = true)
        : with_qualities(qualities_too), with_comments(comments_too), with_mates(mates_too) {}

    const bool with_qualities, with_comments, with_mates;
    std::vector<uint8_t> names, bases, qualities, comments, mates;
    std::vector<int64_t> name_offsets{0}, base_offsets{0}, comment_offsets{0};

    void reserve(size_t reads, size_t name_bytes, size_t total_bases) {
        names.reserve(name_bytes);
        bases.reserve(total_bases);
        if (with_qualities) qualities.reserve(total_bases);
        mates.reserve(reads);
        for (auto* offsets : {&name_offsets, &base_offsets, &comment_offsets}) offsets->reserve(reads + 1);
    }

    void add(const ReadsView& reads, size_t i, Name name, Mate mate) {
        names.insert(names.end(), name.first, name.first + name.second);
        name_offsets.push_back(int64_t(names.size()));
        bases.insert(bases.end(), reads.bases_of(i), reads.bases_of(i) + reads.length(i));
        base_offsets.push_back(int64_t(bases.size()));
        if (with_qualities) qualities.insert(qualities.end(), reads.quality(i), reads.quality(i) + reads.length(i));
        if (reads.comments) comments.insert(comments.end(), reads.comment(i), reads.comment(i) + reads.comment_size(i));
        comment_offsets.push_back(int64_t(comments.size()));
        mates.push_back(mate);
    }

    auto arrays() {
        const auto some = [](bool there, auto& values) {
            return there ? std::optional(to_numpy(std::move(values))) : std::nullopt;
        };
        return tuple_of(to_numpy(std::move(names)), to_numpy(std::move(name_offsets)), to_numpy(std::move(bases)),
            to_numpy(std::move(base_offsets)), some(with_qualities, qualities), some(with_comments, comments),
            some(with_comments, comment_offsets), some(with_mates, mates));
    }
};

auto join_pairs(const Arrays& first, const Arrays& second, bool check_names, bool all_dots) {
    const ReadArrays arrays1(first), arrays2(second);
    const ReadsView a = arrays1.view(), b = arrays2.view();
    const size_t count = arrays1.reads();
    if (arrays2.reads() != count) throw nb::index_error("not as many mates as reads");
    Joined joined(a.qualities && b.qualities, a.comments || b.comments);
    {
        nb::gil_scoped_release release;
        const auto bytes = [&](const int64_t* ReadsView::* offsets) {
            return size_t((a.*offsets)[count] - (a.*offsets)[0] + (b.*offsets)[count] - (b.*offsets)[0]);
        };
        joined.reserve(2 * count, bytes(&ReadsView::name_offsets), bytes(&ReadsView::base_offsets));
        for (size_t i = 0; i < count; i++) {
            bool dots;
            const TwoNames names = compare(a, i, b, i, all_dots, dots);
            if (check_names && !are_mates(names))
                throw nb::value_error((complaint(names, whole_name(a, i), whole_name(b, i)) +
                                       (names == TwoNames::kOfOneMateTwice ? " (is a file of R1 given as R2? "
                                                                           : " (sort both files alike, ") +
                                       "or give --no-check-names)")
                        .c_str());
            joined.add(a, i, template_name(a, i, dots), kFirstMate);
            joined.add(b, i, template_name(b, i, dots), kSecondMate);
        }
    }
    return joined.arrays();
}

auto pair_neighbours(const Arrays& reads, bool all_dots, bool check_names) {
    const ReadArrays arrays(reads);
    const ReadsView s = arrays.view();
    const size_t n = arrays.reads();
    Joined joined(s.qualities != nullptr, s.comments != nullptr);
    {
        nb::gil_scoped_release release;
        joined.reserve(n, size_t(s.name_offsets[n] - s.name_offsets[0]), size_t(s.base_offsets[n] - s.base_offsets[0]));
        for (size_t i = 0; i < n; i++) {
            bool dots = false;
            const TwoNames names = i + 1 < n ? compare(s, i, s, i + 1, all_dots, dots) : TwoNames::kOfTwoTemplates;
            if (check_names && names == TwoNames::kOfOneMateTwice)
                throw nb::value_error(complaint(names, whole_name(s, i), whole_name(s, i + 1)).c_str());
            if (names != TwoNames::kOfTwoTemplates) {
                joined.add(s, i, template_name(s, i, dots), kFirstMate);
                i++;
                joined.add(s, i, template_name(s, i, dots), kSecondMate);
            } else {
                joined.add(s, i, whole_name(s, i), kSingle);
            }
        }
    }
    return joined.arrays();
}

auto take_reads(const Arrays& reads, Input<int64_t> chosen) {
    const ReadArrays arrays(reads);
    const ReadsView s = arrays.view();
    Joined taken(s.qualities != nullptr, s.comments != nullptr, s.mates != nullptr);
    {
        nb::gil_scoped_release release;
        for (size_t c = 0; c < chosen.size(); c++) {
            const size_t i = size_t(chosen.data()[c]);
            if (i >= arrays.reads()) throw nb::index_error("there is no such read");
            taken.add(s, i, whole_name(s, i), s.mates ? Mate(s.mates[i]) : kSingle);
        }
    }
    return taken.arrays();
}

const char* relation(const nb::bytes& first, const nb::bytes& second, bool all_dots) {
    bool dots;
    switch (
        compare_names(first.c_str(), int64_t(first.size()), second.c_str(), int64_t(second.size()), all_dots, dots)) {
        case TwoNames::kOfMates: return "mates";
        case TwoNames::kOfMatesSecondFirst: return "second first";
        case TwoNames::kOfOneMateTwice: return "one mate twice";
        default: return "two templates";
    }
}

}  // namespace

void bind_pairs(nb::module_& m) {
    m.def("join_pairs", &join_pairs, nb::arg("first"), nb::arg("second"), nb::arg("check_names"), nb::arg("all_dots"),
        "Records of one batch and of another as neighbours: a batch with mates. Raises ValueError where names differ.");
    m.def("pair_neighbours", &pair_neighbours, nb::arg("reads"), nb::arg("all_dots"), nb::arg("check_names"),
        "The same batch with neighbours of one name made pairs. Raises ValueError where both are one mate by name.");
    m.def("take_reads", &take_reads, nb::arg("reads"), nb::arg("chosen"), "The reads with these numbers as a batch.");
    m.def("compare_names", &relation, nb::arg("first"), nb::arg("second"), nb::arg("all_dots"),
        "What two names say of their reads: 'mates', 'second first' (of mates), 'one mate twice' or 'two templates'. "
        "`all_dots`: .1 and .2 are mates' numbers.");
}

}  // namespace gpualign
