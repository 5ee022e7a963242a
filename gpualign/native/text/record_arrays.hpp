// The records of a batch of reads as NumPy arrays (gpualign/map/alignments.py, Alignments): output of the mappers,
// input of the formatters.
#pragma once
#include <tuple>
#include <vector>

#include "map/alignment.hpp"
#include "arrays.hpp"
#include "algo/common/bisulfite.hpp"
#include "algo/text/columns.hpp"

namespace gpualign {

// Collects records, read by read.
class RecordsBuilder {
public:
    void reserve(size_t reads) {
        record_offsets_.reserve(reads + 1);
        cigar_offsets_.reserve(reads + 1);
    }
    void add(const Alignment& a, const Cigar& cigar) {
        flag_.push_back(a.flag);
        contig_.push_back(a.contig);
        position_.push_back(a.position);
        mapq_.push_back(a.mapq);
        score_.push_back(a.score);
        distance_.push_back(a.distance);
        cigar_.insert(cigar_.end(), cigar.begin(), cigar.end());
        cigar_offsets_.push_back(int64_t(cigar_.size()));
    }
    // Copies record r with another flag and quality.
    void add(const RecordsView& from, size_t r, uint16_t flag, uint8_t mapq) {
        copied_.assign(from.cigar_begin(r), from.cigar_end(r));
        add({flag, mapq, from.contig[r], from.position[r], from.score[r], from.distance[r]}, copied_);
    }
    // Copies all records of a read.
    void add_read(const RecordsView& from, size_t read) {
        for (size_t r = from.primary(read); r < from.primary(read + 1); r++) add(from, r, from.flag[r], from.mapq[r]);
        end_read();
    }
    void end_read() { record_offsets_.push_back(int64_t(flag_.size())); }

    // Sets the flags of pairs, from each other's primary record; `mates` gives mate numbers.
    void set_pair_flags(const uint8_t* mates) {
        for (size_t read = 0; read + 2 < record_offsets_.size(); read++) {
            if (mates[read] != kFirstMate) continue;
            const uint16_t first = of_mate(flag_[size_t(record_offsets_[read])]);
            const uint16_t second = of_mate(flag_[size_t(record_offsets_[read + 1])]);
            add_flags(read, uint16_t(kFlagPaired | kFlagFirst | second));
            add_flags(read + 1, uint16_t(kFlagPaired | kFlagSecond | first));
        }
    }

    // Flags the reads in which G may be read as A; `conversions` are those of bisulfite reads.
    void set_conversion_flags(const Conversion* conversions) {
        for (size_t read = 0; read + 1 < record_offsets_.size(); read++)
            if (conversions[read] == Conversion::g_to_a) add_flags(read, kFlagGToA);
    }

    // Adds flags to all records of a read.
    void add_flags(size_t read, uint16_t flags) {
        for (int64_t r = record_offsets_[read]; r < record_offsets_[read + 1]; r++) flag_[size_t(r)] |= flags;
    }

    auto arrays() {
        return tuple_of(to_numpy(std::move(flag_)), to_numpy(std::move(contig_)), to_numpy(std::move(position_)),
            to_numpy(std::move(mapq_)), to_numpy(std::move(score_)), to_numpy(std::move(distance_)),
            to_numpy(std::move(cigar_)), to_numpy(std::move(cigar_offsets_)), to_numpy(std::move(record_offsets_)));
    }

private:
    static uint16_t of_mate(uint16_t mate) {
        return uint16_t((mate & kFlagUnmapped ? kFlagMateUnmapped : 0) | (mate & kFlagReverse ? kFlagMateReverse : 0));
    }
    std::vector<uint16_t> flag_;
    std::vector<int32_t> contig_, score_, distance_;
    std::vector<int64_t> position_, cigar_offsets_{0}, record_offsets_{0};
    std::vector<uint8_t> mapq_;
    std::vector<uint32_t> cigar_;
    Cigar copied_;
};

// The arrays of records handed back by Python, checked.
class RecordArrays {
public:
    explicit RecordArrays(const nb::tuple& arrays)
        : flag_(nb::cast<Input<uint16_t>>(arrays[0])), contig_(nb::cast<Input<int32_t>>(arrays[1])),
          position_(nb::cast<Input<int64_t>>(arrays[2])), mapq_(nb::cast<Input<uint8_t>>(arrays[3])),
          score_(nb::cast<Input<int32_t>>(arrays[4])), distance_(nb::cast<Input<int32_t>>(arrays[5])),
          cigar_(nb::cast<Input<uint32_t>>(arrays[6])), cigar_offsets_(nb::cast<Input<int64_t>>(arrays[7])),
          record_offsets_(nb::cast<Input<int64_t>>(arrays[8])) {
        const size_t n = flag_.size();
        if (contig_.size() != n || position_.size() != n || mapq_.size() != n || score_.size() != n ||
            distance_.size() != n || cigar_offsets_.size() != n + 1 || record_offsets_.size() == 0 ||
            record_offsets_.data()[reads()] != int64_t(n))
            throw nb::value_error("the arrays of the records differ in length");
        nb::gil_scoped_release release;
        for (size_t read = 0; read < reads(); read++)
            if (record_offsets_.data()[read] >= record_offsets_.data()[read + 1])
                throw nb::value_error("a read without a record");
    }

    size_t reads() const { return record_offsets_.size() - 1; }
    RecordsView view() const {
        return {flag_.data(), contig_.data(), position_.data(), mapq_.data(), score_.data(), distance_.data(),
            cigar_.data(), cigar_offsets_.data(), record_offsets_.data()};
    }

private:
    Input<uint16_t> flag_;
    Input<int32_t> contig_;
    Input<int64_t> position_;
    Input<uint8_t> mapq_;
    Input<int32_t> score_, distance_;
    Input<uint32_t> cigar_;
    Input<int64_t> cigar_offsets_, record_offsets_;
};

}  // namespace gpualign
