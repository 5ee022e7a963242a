// Writes the records of a batch as SAM text or BAM (algo/text/record_writer.hpp). Free of Python, so that
// fuzz/records.cpp can include it.
#pragma once
#include <utility>
#include <vector>

#include "algo/text/bam_form.hpp"
#include "algo/text/sam_form.hpp"
#include "seeds/index/reference.hpp"
#include "text/record_text.hpp"
#include "text/text.hpp"

namespace gpualign {

template <template <class> class Form> class RecordsWriter {
public:
    RecordsWriter(const ReferenceView& reference, const ContigNames& contigs, const ReadsView& reads,
        const RecordsView& records, const SamOptions& options, size_t count)
        : reference_(reference), reads_(reads), records_(records), edits_(records.primary(count)),
          form_(out_, contigs, reads),
          writer_(UnpackedBases(reference), contigs, reads_, records_, options, edits_.data(), form_) {}

    // Reserves space for about so many bytes.
    void reserve(size_t bytes) { out_.reserve(bytes); }

    // Prefetches the reference for the records of a later read, as positions are random.
    [[gnu::always_inline]] void ahead(size_t i) const {
        for (size_t r = records_.primary(i); r < records_.primary(i + 1); r++)
            if (records_.mapped(r)) reference_.prefetch(records_.position[r], records_.contig[r], reads_.length(i));
    }

    // Writes all records of a read, the primary one first; returns their number.
    uint32_t read(size_t i) { return writer_.read(i); }

    const Text& text() const { return out_; }
    Text release() { return std::move(out_); }

private:
    const ReferenceView& reference_;
    const ReadsView reads_;
    const RecordsView records_;
    std::vector<int32_t> edits_;
    Text out_;
    Form<Text> form_;
    RecordWriter<Form<Text>, UnpackedBases> writer_;
};

using SamWriter = RecordsWriter<SamForm>;

}  // namespace gpualign
