// Converts BAM records back to reads: secondary and supplementary records are dropped, reverse ones
// reverse-complemented.
#include <nanobind/stl/string.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "algo/text/record_writer.hpp"
#include "records/sam_lines.hpp"
#include "bindings.hpp"
#include "text/record_text.hpp"
#include "text/tag_list.hpp"

namespace gpualign {
namespace {

class BamReads {
public:
    BamReads(size_t bytes, const std::string& dropped) : dropped_(dropped), lines_({nullptr, nullptr}, 0) {
        bases_.reserve(bytes);
        qualities_.reserve(bytes);
    }

    void add(const BamRecord& record) {
        const size_t n = record.length(), from = bases_.size();
        const std::string_view name = record.name();
        names_.insert(names_.end(), name.begin(), name.end());
        name_offsets_.push_back(int64_t(names_.size()));
        unpacked_.resize(n);
        for (size_t i = 0; i < n; i++) unpacked_[i] = SamLines::kBases[record.bases()[i / 2] >> (i % 2 ? 0 : 4) & 15];
        if (std::find(unpacked_.begin(), unpacked_.end(), '=') != unpacked_.end())
            throw std::invalid_argument(
                "record '" + std::string(name) +
                "' has = for bases, which are known with the reference alone (give the reads with their bases)");
        bases_.resize(from + n);
        qualities_.resize(from + n);
        const bool reverse = record.is(kFlagReverse), missing = n && record.qualities()[0] == 0xff;
        for (size_t i = 0; i < n; i++) {
            const size_t at = reverse ? n - 1 - i : i;
            const char base = unpacked_[at];
            bases_[from + i] = uint8_t(!reverse ? base : complement_table.to[uint8_t(base)]);
            qualities_[from + i] = missing ? uint8_t('!') : uint8_t(record.qualities()[at] + 33);
        }
        base_offsets_.push_back(int64_t(bases_.size()));
        with_qualities_ |= !missing;
        flags_.push_back(record.flag());
        tags(record);
    }

    auto arrays() {
        auto qualities = with_qualities_ ? std::optional(to_numpy(std::move(qualities_))) : std::nullopt;
        return tuple_of(to_numpy(std::move(names_)), to_numpy(std::move(name_offsets_)), to_numpy(std::move(bases_)),
            to_numpy(std::move(base_offsets_)), qualities, to_numpy(std::move(tags_)),
            to_numpy(std::move(tag_offsets_)), to_numpy(std::move(flags_)));
    }

private:
    void tags(const BamRecord& record) {
        const size_t from = lines_.text().size();
        const bool part = record.hard_clipped();
        lines_.tags(record, [&](const uint8_t* bytes) {
            const auto tag = reinterpret_cast<const char*>(bytes);
            return !dropped_.has(tag, SamLines::shown_type(tag[2])) && !(part && counts_bases(tag));
        });
        const char* text = lines_.text().data();
        if (lines_.text().size() > from)
            tags_.insert(tags_.end(), text + from + 1, text + lines_.text().size());  // without the leading tab
        tag_offsets_.push_back(int64_t(tags_.size()));
    }

    const TagList dropped_;
    SamLines lines_;
    std::vector<uint8_t> names_, bases_, qualities_, tags_;
    std::vector<int64_t> name_offsets_{0}, base_offsets_{0}, tag_offsets_{0};
    std::vector<uint16_t> flags_;
    std::vector<char> unpacked_;
    bool with_qualities_ = false;
};

auto bam_reads(Input<uint8_t> records, const std::string& dropped) {
    BamReads reads(records.size(), dropped);
    {
        nb::gil_scoped_release release;
        for (BamRecords rest(records.data(), records.size()); rest.more();) {
            const BamRecord record = rest.next();
            if (record.primary()) reads.add(record);
        }
    }
    return reads.arrays();
}

}  // namespace

void bind_bam_reads(nb::module_& m) {
    m.def("bam_reads", &bam_reads, nb::arg("records"), nb::arg("dropped"),
        "Whole BAM records as reads: (names, name_offsets, bases, base_offsets, qualities | None, tags, tag_offsets, "
        "flags), without tags that are dropped (TagList). Raises ValueError where a record is damaged.");
}

}  // namespace gpualign
