// The order of samtools sort --template-coordinate (1.23, bam_sort.c), which fgbio and fgumi read: templates by the
// outer ends of their mates, then by library, cell (CB), molecule (MI without /A and /B) and name; of a template the
// mate of the lower end first. Free of Python.
#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "records/record.hpp"
#include "records/tags.hpp"

namespace gpualign {

// Where a read begins in the reference: the 5' end of its aligned and soft-clipped bases, from 1 on.
struct ReadStart {
    static constexpr uint32_t kNoContig = (1 << 24) - 1;  // of unmapped reads, after all others
    static constexpr uint32_t kNoPosition = UINT32_MAX;

    uint32_t contig = kNoContig, position = kNoPosition;
    bool forward = true;

    // `position`: 0-based, where the alignment begins. `clipped`: bases at the 5' end; `span`: bases of the reference.
    static ReadStart of(int32_t contig, int64_t position, bool reverse, int64_t clipped, int64_t span) {
        if (contig >= int32_t(kNoContig))
            throw std::invalid_argument("more than 16,777,214 contigs cannot be sorted so");
        constexpr int64_t kNegative = 1 << 30;  // a clipped read may begin before its contig
        const int64_t start = reverse ? position + span + clipped : position - clipped + 1;
        return {contig < 0 ? kNoContig : uint32_t(contig),
            uint32_t(std::clamp<int64_t>(start + kNegative, 0, kNoPosition - 1)), !reverse};
    }
};

// Calls visit(length, operation) for the operations of a CIGAR as text.
template <class Visit> void each_operation(std::string_view cigar, Visit visit) {
    for (const char *at = cigar.data(), *end = at + cigar.size(); at < end && *at != '*'; at++) {
        int64_t length = 1;
        at = std::from_chars(at, end, length).ptr;
        if (at == end) break;
        visit(length, *at);
    }
}

constexpr uint32_t kOnReference = 1 << kCigarM | 1 << kCigarD | 1 << kCigarN | 1 << kCigarEqual | 1 << kCigarX;

// The start of a record, and of its mate by the tag MC.
inline std::pair<ReadStart, ReadStart> starts_of(const BamRecord& record) {
    std::pair<ReadStart, ReadStart> starts;
    if (!record.is(kFlagUnmapped)) {
        const BamCigar cigar(record);
        const bool reverse = record.is(kFlagReverse);
        int64_t clipped = 0, span = 0;
        for (size_t i = 0; i < cigar.size(); i++) {
            const uint32_t word = cigar[reverse ? cigar.size() - 1 - i : i], operation = word & 15;
            if (operation == kCigarS) clipped += word >> 4;
            else if (operation != kCigarH) break;
        }
        for (size_t i = 0; i < cigar.size(); i++)
            if (kOnReference >> (cigar[i] & 15) & 1) span += cigar[i] >> 4;
        starts.first = ReadStart::of(record.contig(), record.position(), reverse, clipped, std::max<int64_t>(span, 1));
    }
    if (record.is(kFlagPaired) && !record.is(kFlagMateUnmapped)) {
        const std::string_view text = find_tag(record, "MC");
        if (text.data() == nullptr)
            throw std::invalid_argument("record '" + std::string(record.name()) +
                                        "' has no tag MC, the CIGAR of its mate (samtools fixmate writes it)");
        int64_t before = 0, after = 0, span = 0;
        each_operation(text, [&](int64_t length, char operation) {
            if (operation == 'S') (span ? after : before) += length;
            else if (std::string_view("MDN=X").find(operation) != std::string_view::npos) span += length;
        });
        const bool reverse = record.is(kFlagMateReverse);
        starts.second =
            ReadStart::of(record.mate_contig(), record.mate_position(), reverse, reverse ? after : before, span);
    }
    return starts;
}

// Whether a record is the mate of the higher end.
inline bool is_upper(const std::pair<ReadStart, ReadStart>& starts) {
    const auto& [own, mate] = starts;
    const auto place = [](const ReadStart& start) { return std::tuple(start.contig, start.position); };
    return place(mate) < place(own) || (place(mate) == place(own) && !own.forward);
}

// Makes keys that sort as the order does down to the library.
class TemplateCoordinateKeys {
public:
    static constexpr uint32_t kMostLibraries = (1 << 14) - 2;

    // `libraries`: a line for each read group that has a library, its name, a tab and the library's rank, from 1 on.
    explicit TemplateCoordinateKeys(std::string_view libraries) {
        while (!libraries.empty()) {
            const size_t end = libraries.find('\n'), tab = libraries.rfind('\t', end);
            uint32_t rank = 0;
            std::from_chars(libraries.data() + tab + 1, libraries.data() + end, rank);
            if (rank > kMostLibraries) throw std::invalid_argument("more than 16,382 libraries cannot be sorted so");
            ranks_.emplace(libraries.substr(0, tab), rank);
            libraries.remove_prefix(end + 1);
        }
    }

    // High and low word of the key.
    std::array<uint64_t, 2> operator()(const BamRecord& record) const {
        auto starts = starts_of(record);
        if (is_upper(starts)) std::swap(starts.first, starts.second);
        const auto& [low, high] = starts;
        const auto found = ranks_.empty() ? ranks_.end() : ranks_.find(find_tag(record, "RG"));
        const uint64_t library = found == ranks_.end() ? 0 : found->second;
        return {uint64_t(low.contig) << 40 | uint64_t(high.contig) << 16 | low.position >> 16,
            uint64_t(low.position & 0xffff) << 48 | uint64_t(high.position) << 16 | uint64_t(low.forward) << 15 |
                uint64_t(high.forward) << 14 | library};
    }

private:
    std::unordered_map<std::string_view, uint32_t> ranks_;
};

// The order of records of equal keys.
inline int template_coordinate_order(const BamRecord& a, const BamRecord& b) {
    const auto molecule = [](const BamRecord& record) {
        std::string_view name = find_tag(record, "MI");
        if (name.size() >= 2 && name[name.size() - 2] == '/') name.remove_suffix(2);
        return name;
    };
    if (const int cells = find_tag(a, "CB").compare(find_tag(b, "CB"))) return cells;
    if (const int molecules = molecule(a).compare(molecule(b))) return molecules;
    if (const int names = a.name().compare(b.name())) return names;
    return int(is_upper(starts_of(a))) - int(is_upper(starts_of(b)));
}

}  // namespace gpualign
