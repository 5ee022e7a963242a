// What SAM records hold on top of the alignments. No Python here: fuzz/records.cpp reads it too.
#pragma once
#include <cstdint>
#include <string>

namespace gpualign {

enum class CsForm : uint8_t { none, brief, whole };

struct SamOptions {
    bool eqx = false, soft_supplementary = false, secondary_sequence = false;
    std::string read_group;
    bool secondary_records = true;
    int32_t max_other_hits = 0;      // secondary alignments go to XA, or nowhere where a read has more
    double other_hits_share = 0.8;   // of the primary score, which they must reach
    bool other_hits_scored = false;  // XB, with score and quality, instead of XA
    bool suboptimal_score = false;   // XS
    bool hits = false;               // HN
    bool mate_qualities = false;     // ms
    bool split_as_secondary = false; // 0x100 for supplementary alignments, as bwa mem -M
    CsForm cs = CsForm::none;
    int32_t max_other_alt_hits = 0;  // in place of max_other_hits where one of them is on an ALT contig
    std::string alt_contigs;         // a byte for each contig, not 0 for ALT ones; empty: there are none

    bool is_alt(int32_t contig) const { return size_t(contig) < alt_contigs.size() && alt_contigs[size_t(contig)]; }
};

}  // namespace gpualign
