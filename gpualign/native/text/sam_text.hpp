// Records of a batch as text or as BAM's bytes (algo/text/record_writer.hpp). No Python here: fuzz/records.cpp reads it too.
#pragma once
#include <utility>
#include <vector>

#include "algo/text/bam_form.hpp"
#include "algo/text/sam_form.hpp"
#include "index/reference.hpp"
#include "text/record_text.hpp"
#include "text/text.hpp"

namespace gpualign {

template <template <class> class Form>
class RecordsWriter {
public:
    RecordsWriter(const ReferenceView& reference, const ContigNames& contigs, const ReadsView& reads, const RecordsView& records,
                  const SamOptions& options, size_t count)
        : reference_(reference), reads_(reads), records_(records), edits_(records.primary(count)), form_(out_, contigs, reads),
          writer_(UnpackedBases(reference), contigs, reads_, records_, options, edits_.data(), form_) {}

    // Space for about that many bytes.
    void reserve(size_t bytes) { out_.reserve(bytes); }

    // Asks for what the records of a read some way ahead will want of the reference: positions lie all over it.
    [[gnu::always_inline]] void ahead(size_t i) const {
        for (size_t r = records_.primary(i); r < records_.primary(i + 1); r++)
            if (records_.mapped(r)) reference_.prefetch(records_.position[r], records_.contig[r], reads_.length(i));
    }

    // All records of a read, the primary one first; returns how many.
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
