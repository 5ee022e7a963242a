// Properties that decide whether a template is a duplicate: where its reads begin, their qualities, and their
// positions on the flow cell. Free of Python.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "records/record.hpp"
#include "records/record_order.hpp"
#include "records/tags.hpp"
#include "records/templates.hpp"
#include "records/umi.hpp"

namespace gpualign {

// An end is the reference base where a read begins, and its strand: contig, position and one bit, so that ends compare
// as in Picard (contig, position, forward before reverse).
struct TemplateEnds {
    uint64_t first, second;  // the smaller end first; kNoEnd if there is only one read
    uint64_t group;          // library (16 bits), hash of the barcode (47 bits), kSecondStrand
    uint64_t cell;           // see ReadNames::cell
    uint32_t score;          // the best of equal templates has the highest
    uint32_t number;         // of the template, in input order

    // In `group` of a pair whose R1 begins at the second end, where such pairs are no duplicates of others.
    static constexpr uint64_t kSecondStrand = 1;

    size_t library() const { return group >> 48; }
    TemplateEnds numbered_from(uint32_t from) const {
        TemplateEnds ends = *this;
        ends.number += from;
        return ends;
    }
};
static_assert(sizeof(TemplateEnds) == 40, "memory for a template");

constexpr uint64_t kNoEnd = ~uint64_t(0), kNowhere = ~uint64_t(0);

// Illumina's read names: machine:run:flow cell:lane:tile:x:y, possibly with :UMI, or machine:lane:tile:x:y.
struct ReadNames {
    static constexpr int kCoordinateBits = 20;
    static constexpr uint64_t kMaxCoordinate = (uint64_t(1) << kCoordinateBits) - 2;

    // Hash of read group, flow cell, lane and tile (23 bits), one free bit, x and y (20 bits each); kNowhere if the
    // name has no coordinates, or too large ones.
    static uint64_t cell(std::string_view name, std::string_view read_group) {
        size_t colons[8], count = 0;
        for (size_t i = 0; i < name.size(); i++) {
            if (name[i] != ':') continue;
            if (count == 8) return kNowhere;
            colons[count++] = i;
        }
        if (count != 4 && count != 6 && count != 7) return kNowhere;
        const size_t x_begin = colons[count == 4 ? 2 : 4] + 1, y_begin = colons[count == 4 ? 3 : 5] + 1;
        const uint64_t x = number(name.substr(x_begin)), y = number(name.substr(y_begin));
        if (x > kMaxCoordinate || y > kMaxCoordinate) return kNowhere;
        const uint64_t tile = hash_text(name.substr(0, x_begin), hash_text(read_group)) >> 41;
        return tile << 41 | x << kCoordinateBits | y;
    }

    // The UMI or barcode at the end of a name, or nothing: the eighth of eight fields; in five or seven fields, what
    // is appended to the last coordinate; else what follows the last ':', '_' or '#', with preceding parts that
    // consist of bases, as in CELL_UMI. Numbers and paths are not barcodes.
    static std::string_view barcode(std::string_view name) {
        const auto fields = 1 + std::count(name.begin(), name.end(), ':');
        if (fields == 8) return name.substr(name.rfind(':') + 1);
        std::string_view appended = appended_to(name);
        if (fields == 5 || fields == 7) {
            const size_t coordinate_end = name.find_first_not_of(kDigits, name.rfind(':') + 1);
            if (coordinate_end != std::string_view::npos &&
                (name[coordinate_end] == '_' || name[coordinate_end] == '#'))
                appended = name.substr(coordinate_end + 1);
        }
        const bool possible =
            std::any_of(appended.begin(), appended.end(), is_letter) && appended.find('/') == std::string_view::npos;
        return possible ? appended : std::string_view();
    }

private:
    static constexpr const char *kSeparators = ":_#", *kDigits = "0123456789";

    // The last part of a name, with preceding parts that consist of bases, except for the first, which is the name
    // itself.
    static std::string_view appended_to(std::string_view name) {
        size_t at = name.find_last_of(kSeparators);
        if (at == std::string_view::npos) return {};
        while (at > 0) {
            const size_t before = name.find_last_of(kSeparators, at - 1);
            if (before == std::string_view::npos || !is_bases(name.substr(before + 1, at - before - 1))) break;
            at = before;
        }
        return name.substr(at + 1);
    }

    static bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

    // Possibly with the number of a lane or well after a dash, as in AAACCTGA-1.
    static bool is_bases(std::string_view text) {
        const size_t others = text.find_first_not_of("ACGTNacgtn+-.");
        return others == std::string_view::npos ? !text.empty()
                                                : others > 1 && text[others - 1] == '-' &&
                                                      text.find_first_not_of(kDigits, others) == std::string_view::npos;
    }

    // The number at the beginning of a text; kNowhere if there is none or it is too large.
    static uint64_t number(std::string_view text) {
        uint64_t value = 0;
        size_t digits = 0;
        for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; digits++) {
            if (digits == 9) return kNowhere;
            value = 10 * value + uint64_t(text[digits] - '0');
        }
        return digits ? value : kNowhere;
    }
};

struct DuplicateRules {
    std::unordered_map<std::string_view, uint16_t> libraries;  // by read group
    uint16_t no_library = 0;                                   // of records without one of these
    bool cells = false;                                        // compute cells
    bool by_read_group = false;                                // only templates of one read group are duplicates
    bool by_strand = false;  // only templates of one strand of the original, by the tag YD
    bool barcode_in_name = false;
    std::vector<std::string_view> barcode_tags;
    bool umis = false;  // keep UMIs (the name's, or the last tag's), not their hashes
    bool duplex = false;  // turn those of the second strand round, if they have two parts
    bool first_is_best = false;  // of equal templates, whatever their qualities
};

// Counts per library as in Picard's DuplicationMetrics (reads, and pairs of reads), templates that lack a requested
// barcode, and those of a duplex whose UMI does not have two parts.
struct LibraryCounts {
    int64_t unpaired = 0, pairs = 0, secondary_or_supplementary = 0, unmapped = 0, without_barcode = 0,
            without_strand = 0;
};

// Collects the ends of a batch's templates with mapped reads.
class EndCollector {
public:
    explicit EndCollector(const DuplicateRules& rules) : rules_(rules) {
        uint16_t last = rules.no_library;
        for (const auto& [group, library] : rules.libraries) last = std::max(last, library);
        counts_.resize(size_t(last) + 1);
    }

    // number: of the record's template. Records of a template are adjacent.
    void add(const BamRecord& record, int64_t number) {
        if (number != number_) start(record, number);
        LibraryCounts& counts = counts_[library_];
        if (record.is(kFlagUnmapped)) {
            counts.unmapped++;
        } else if (!record.primary()) {
            counts.secondary_or_supplementary++;
            return;
        }
        if (!record.primary()) return;
        if (!with_barcode_) take_barcode(record);
        if (!record.is(kFlagUnmapped)) add_end(record);
    }

    void finish() {
        if (mapped_ == 1) counts_[library_].unpaired++;
        if (mapped_ == 2) counts_[library_].pairs++;
        if (mapped_ != 0) {
            counts_[library_].without_barcode += !with_barcode_;
            uint64_t barcode = barcode_ ^ (rules_.by_read_group ? hash_text(read_group_) : 0);
            if (reverse_strand_) barcode ^= mix(1);
            bool by_read = rules_.umis;
            if (rules_.umis) barcode ^= mix(take_umi(by_read));
            ends_.push_back(ends(barcode, by_read));
        }
        mapped_ = 0;
    }

    std::vector<TemplateEnds> take() { return std::move(ends_); }
    // UMIs of these templates, if they are kept.
    std::vector<Umi> take_umis() { return std::move(umis_); }
    const std::vector<LibraryCounts>& counts() const { return counts_; }

    // The ends of a pair out of those of its reads. by_read: it matters at which end R1 begins.
    static TemplateEnds joined(
        const TemplateEnds& a, const TemplateEnds& b, bool a_is_first, uint64_t group, bool by_read) {
        const uint32_t passed = a.score & b.score & kPassed, score = (a.score & ~kPassed) + (b.score & ~kPassed);
        const uint64_t first_read = a_is_first ? a.first : b.first;
        uint64_t cell = a.cell;
        if (cell != kNowhere && ((a.first ^ b.first) & 1) && (first_read & 1)) cell |= kFirstReverse;
        if (by_read && first_read > std::min(a.first, b.first)) group |= TemplateEnds::kSecondStrand;
        return {std::min(a.first, b.first), std::max(a.first, b.first), group, cell, passed | score,
            std::min(a.number, b.number)};
    }
    bool with_barcode() const { return with_barcode_; }
    std::string_view read_group() const { return read_group_; }

private:
    static constexpr uint32_t kPassed = uint32_t(1) << 31;

    void start(const BamRecord& record, int64_t number) {
        finish();
        number_ = number;
        score_ = kPassed;
        barcode_ = 0;
        umi_ = {};
        with_barcode_ = false;
        library_ = rules_.no_library;
        read_group_ = find_tag(record, "RG");
        const auto found = rules_.libraries.find(read_group_);
        if (found != rules_.libraries.end()) library_ = found->second;
        cell_ = rules_.cells ? ReadNames::cell(record.name(), read_group_) : kNowhere;
    }

    void add_end(const BamRecord& record) {
        if (rules_.by_strand && mapped_ == 0) reverse_strand_ = find_tag(record, "YD") == "r";
        end_[mapped_] = end_of(record);
        second_read_[mapped_] = record.is(kFlagSecond);
        mapped_++;
        if (!rules_.first_is_best) score_ += sum_of_qualities(record);
        if (record.is(kFlagQcFail)) score_ &= ~kPassed;
    }

    // The first read begins at the template's second end. A single read is of the first strand.
    bool second_strand() const {
        if (mapped_ != 2) return false;
        const uint64_t first_read = end_[second_read_[0] ? 1 : 0], second_read = end_[second_read_[0] ? 0 : 1];
        return first_read > second_read;
    }

    // Keeps the template's UMI; returns what of its spelling is compared as it is. by_read: whether templates of the
    // two strands are told apart, as they are but for those of a duplex.
    uint64_t take_umi(bool& by_read) {
        const bool second = rules_.duplex && second_strand();
        SpeltUmi spelt = SpeltUmi::of(umi_, second);
        if (rules_.duplex && spelt.two_parts) {
            by_read = false;
            (second ? spelt.umi.low : spelt.umi.high) |= Umi::kStrand;
        } else if (rules_.duplex && with_barcode_) {
            counts_[library_].without_strand++;
        }
        umis_.push_back(spelt.umi);
        return spelt.rest;
    }

    TemplateEnds ends(uint64_t barcode, bool by_read) const {
        const uint64_t group = uint64_t(library_) << 48 | (mix(barcode) >> 16 & ~TemplateEnds::kSecondStrand);
        const TemplateEnds first{end_[0], kNoEnd, group, cell_, score_, uint32_t(number_)};
        if (mapped_ == 1) return first;
        const TemplateEnds second{end_[1], kNoEnd, group, cell_, kPassed, uint32_t(number_)};
        return joined(first, second, !second_read_[0], group, by_read);
    }

    // Copies of a cluster are sequenced in the same direction.
    static constexpr uint64_t kFirstReverse = uint64_t(1) << 2 * ReadNames::kCoordinateBits;

    void take_barcode(const BamRecord& record) {
        if (rules_.barcode_in_name) {
            const std::string_view barcode = ReadNames::barcode(record.name());
            with_barcode_ = is_barcode(barcode);
            if (!with_barcode_) return;
            if (rules_.umis) umi_ = barcode;
            else barcode_ = hash_text(barcode);
            return;
        }
        uint64_t hash = 0;
        with_barcode_ = true;
        for (const std::string_view& tag : rules_.barcode_tags) {
            const std::string_view barcode = find_tag(record, tag);
            if (!is_barcode(barcode)) with_barcode_ = false;
            else if (rules_.umis && &tag == &rules_.barcode_tags.back()) umi_ = barcode;
            else hash = hash_text(barcode, hash ^ hash_text(tag));
        }
        if (hash != 0) barcode_ = hash;
    }

    // Not if it is empty, or "-", which stands for none.
    static bool is_barcode(std::string_view text) {
        return text.find_first_not_of(SpeltUmi::kSeparators) != std::string_view::npos;
    }

    static uint64_t end_of(const BamRecord& record) {
        const bool reverse = record.is(kFlagReverse);
        const int64_t clipped = BamCigar(record).clipped_bases(reverse);
        const int64_t position = record.position() + (reverse ? record.span() - 1 + clipped : -clipped);
        constexpr int64_t kZero = int64_t(1) << 32;  // positions before the contig's first base are below it
        return uint64_t(record.contig()) << 35 | uint64_t(position + kZero) << 1 | uint64_t(reverse);
    }

    const DuplicateRules& rules_;
    int64_t number_ = -1;
    std::string_view umi_, read_group_;
    uint64_t end_[2] = {}, cell_ = kNowhere, barcode_ = 0;  // the last is a hash, 0: none
    bool second_read_[2] = {}, with_barcode_ = false, reverse_strand_ = false;
    int mapped_ = 0;
    uint32_t score_ = 0;
    uint16_t library_ = 0;
    std::vector<TemplateEnds> ends_;
    std::vector<Umi> umis_;
    std::vector<LibraryCounts> counts_;
};

}  // namespace gpualign
