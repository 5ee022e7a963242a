// What only tests call, in a module next to gpualign._native.<level> (-DGPUALIGN_TESTS=ON); classes are that one's.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "algo/common/group.hpp"
#include "algo/align/matrix/reach.hpp"
#include "algo/align/lcs/trace.hpp"
#include "algo/text/bgzf.hpp"
#include "algo/text/fastq_reads.hpp"
#include "arrays.hpp"
#include "align/edit/myers_profiles.hpp"
#include "seeds/index/builder.hpp"
#include "seeds/index/reference_arrays.hpp"
#include "map/mapper.hpp"
#include "seeds/matches/columns.hpp"
#include "seeds/matches/index.hpp"
#include "seeds/matches/unique.hpp"
#include "verify/candidate_text.hpp"

#include "candidate_columns.hpp"

namespace gpualign {

void bind_scalar_kernels(nb::module_& m);  // scalar_kernels.cpp

namespace {

// Affine alignment of each pattern against the text of its diagonals.
nb::tuple align_affine(const ReferenceArrays& reference, Input<uint8_t> bases, Input<int64_t> offsets,
    Input<int64_t> diagonal, int band, const nb::bytes& scores, int begin_pin, int end_pin) {
    const ReferenceView view = reference.view();
    const size_t n = offsets.size() - 1;
    if (diagonal.size() != n || band < 1) throw nb::value_error("one diagonal per pattern and a band of at least 1");
    std::vector<uint8_t> codes(bases.size());
    for (size_t i = 0; i < codes.size(); i++) codes[i] = base_code(bases.data()[i]);
    std::vector<AffineTask> tasks(n);
    for (size_t i = 0; i < n; i++)
        tasks[i] = {codes.data() + offsets.data()[i], int32_t(offsets.data()[i + 1] - offsets.data()[i]), band,
            diagonal.data()[i], 0, int64_t(view.bases), begin_pin, end_pin};
    std::vector<AffineResult> results;
    AffineBatch(view, struct_of<AffineScores>(scores)).run(tasks, results);
    std::vector<int32_t> score;
    std::vector<int64_t> begin, cigar_offsets{0};
    std::vector<uint32_t> cigar;
    for (const AffineResult& r : results) {
        score.push_back(r.score);
        begin.push_back(r.begin);
        cigar.insert(cigar.end(), r.cigar.begin(), r.cigar.end());
        cigar_offsets.push_back(int64_t(cigar.size()));
    }
    return nb::make_tuple(to_numpy(std::move(score)), to_numpy(std::move(begin)), to_numpy(std::move(cigar)),
        to_numpy(std::move(cigar_offsets)));
}

// Chains of given anchors.
nb::list chains_of_anchors(const ReferenceArrays& reference, Input<uint8_t> reverse,
    Input<uint32_t> reference_positions, Input<int32_t> query_positions, const nb::bytes& rules) {
    const ReferenceView view = reference.view();
    const uint32_t n = uint32_t(reverse.size());
    std::vector<uint64_t> words(kAnchorWords * n);
    const ChainNodes nodes = nodes_at(words.data(), n);
    for (size_t i = 0; i < n; i++)
        nodes.anchors[i] =
            make_anchor(reverse.data()[i] != 0, reference_positions.data()[i], query_positions.data()[i]);
    std::sort(nodes.anchors, nodes.anchors + n);
    std::vector<AnchorChain> capacity(n);
    uint32_t used = 0;
    const OneLane lane;
    const ReferenceText text(view);
    const ChainRules chaining = struct_of<ChainRules>(rules);
    const FoundChains found = ChainFinder<OneLane, ReferenceText>(lane, chaining, text, nodes, n)
                                  .run(chain_scatter(0, n), Arena<AnchorChain>{capacity.data(), &used, n});
    uint32_t* const order = order_chains(lane, nodes, n, 0, found.count);
    AnchorChain* const chains = capacity.data() + found.first;
    uint32_t better = found.count;
    while (better && chains[order[better - 1]].score <= chaining.k) better--;
    const uint32_t count = ChainChoice<OneLane>(lane, chaining, 0, nodes, order, chains)
                               .add_singles(found, n, chain_scatter(0, n), 0, better);
    nb::list out;
    for (uint32_t c = 0; c < count; c++) {
        const AnchorChain& chain = chains[order[c]];
        nb::list points;
        for (uint32_t a = chain.first; a < chain.last; a++)
            points.append(nb::make_tuple(anchor_query(nodes.chained[a]), anchor_reference(nodes.chained[a])));
        const uint32_t contig = text.contig_of(anchor_reference(nodes.chained[chain.first]));
        out.append(nb::make_tuple(chain.score, contig, bool(chain.reverse), points));
    }
    return out;
}

// The points (query, reference) of a chain that stay.
nb::list points_beside_long_gaps(Input<int32_t> queries, Input<int64_t> references, const nb::bytes& rules) {
    std::vector<ChainPoint> points;
    for (size_t i = 0; i < queries.size(); i++) points.push_back({references.data()[i], queries.data()[i], {}});
    const uint32_t kept = join_long_gaps(struct_of<ChainRules>(rules), points.data(), uint32_t(points.size()));
    nb::list out;
    for (uint32_t p = 0; p < kept; p++) out.append(nb::make_tuple(points[p].query, points[p].reference));
    return out;
}

// Minimizers of a sequence.
nb::tuple scan_minimizers(Input<uint8_t> bases, int k, int w) {
    std::vector<uint8_t> codes(bases.size());
    for (size_t i = 0; i < codes.size(); i++) codes[i] = base_code(bases.data()[i]);
    std::vector<uint64_t> hashes;
    std::vector<uint32_t> positions;
    std::vector<uint8_t> reverse;
    MinimizerScanner(k, w).scan(codes.data(), int64_t(codes.size()), [&](const Minimizer& m) {
        hashes.push_back(m.hash);
        positions.push_back(m.position);
        reverse.push_back(uint8_t(m.reverse));
    });
    return nb::make_tuple(to_numpy(std::move(hashes)), to_numpy(std::move(positions)), to_numpy(std::move(reverse)));
}

// Whether a query has so many substitutions on the middle diagonal of the text, and nothing else in the band loses as
// little.
bool ungapped_is_best(Input<uint8_t> query, Input<uint8_t> text, int substitutions, const nb::bytes& scores) {
    if (text.size() < query.size() || (text.size() - query.size()) % 2)
        throw nb::value_error("as many diagonals on both sides");
    const OneLane lane;
    const auto packed = [&](const Input<uint8_t>& bases, std::vector<uint64_t>& words, std::vector<uint32_t>& others) {
        words.resize(bases.size() / kBasesPerWord + 3);
        others.resize(words.size());
        return pack_read(lane, bases.data(), int32_t(bases.size()), int32_t(words.size()), words.data(), others.data());
    };
    std::vector<uint64_t> own, around;
    std::vector<uint32_t> own_others, around_others;
    if (!packed(query, own, own_others) || !packed(text, around, around_others)) return false;
    const int32_t limit = int32_t((text.size() - query.size()) / 2);
    const MapRead read{own.data(), own_others.data(), int32_t(query.size()), limit, 0, true, 0};
    MapTarget target{};
    target.text = around.data();
    const auto costs = struct_of<AffineScores>(scores);
    using Others = OtherAlignments<OneLane>;
    std::vector<int16_t> memory(size_t(Others::kNumbers) * (2 * size_t(limit) + 2));
    Others others(lane, read, false, target, limit, costs, memory.data());
    return others.possible() && others.all_lose_more(substitutions);
}

// First and one-past-last entry of each hash.
nb::tuple look_up_hashes(
    Input<uint32_t> offsets, Input<uint64_t> entries, int k, int bucket_bits, Input<uint64_t> hashes) {
    const IndexLookup index({offsets.data(), entries.data(), {k, bucket_bits}});
    std::vector<uint32_t> first(hashes.size()), last(hashes.size());
    for (size_t i = 0; i < hashes.size(); i++) index.find(hashes.data()[i], first[i], last[i]);
    return nb::make_tuple(to_numpy(std::move(first)), to_numpy(std::move(last)));
}

// The same of a packed index.
nb::tuple look_up_tags(Input<uint32_t> offsets, Input<uint16_t> tags, int k, int bucket_bits, Input<uint64_t> hashes) {
    const IndexView index{offsets.data(), nullptr, {k, bucket_bits}, nullptr, tags.data()};
    std::vector<uint32_t> first(hashes.size()), last(hashes.size());
    for (size_t i = 0; i < hashes.size(); i++) index.find(hashes.data()[i], first[i], last[i]);
    return nb::make_tuple(to_numpy(std::move(first)), to_numpy(std::move(last)));
}

// The seed hits of a read with a k-mer at its start, in order of strand and diagonal: those that are not alone.
nb::tuple hits_together(Input<uint64_t> entries, int length, int k, int limit) {
    SeedHitList hits;
    hits.add(entries.data(), 0, uint32_t(entries.size()), 0, false, length, k);
    uint32_t fewest;
    const SeedHits kept = hits.sorted_together(limit, fewest);
    return nb::make_tuple(fewest, to_numpy(std::vector<uint64_t>(kept.list, kept.list + kept.count)));
}

// Mapping qualities of proper pairs whose other loci by themselves lose nothing that matters, or of single reads.
Output<uint8_t> mapping_qualities(int edit, uint64_t bases, Input<int32_t> lengths, Input<uint8_t> truncated,
    Input<int32_t> distances, Input<int32_t> seed_hits, Input<int32_t> losses, Input<int32_t> counts, bool paired) {
    MapRules rules{};
    rules.scores.match = 1;
    rules.scores.mismatch = edit - 1;
    rules.locus_bits = bits_of_locus(bases);
    const MappingQuality quality(rules);
    std::vector<uint8_t> out;
    for (size_t i = 0; i < lengths.size(); i++) {
        const Evidence chosen{lengths.data()[i], truncated.data()[i] != 0, distances.data()[i], seed_hits.data()[i]};
        const Suboptimal others{losses.data()[i], uint32_t(counts.data()[i])};
        out.push_back(paired ? quality.paired(chosen, Evidence{}, nullptr, others, others.minimum,
                                   MappingQuality::kManyBits, MappingQuality::kMax)
                             : quality.single(chosen, others));
    }
    return to_numpy(std::move(out));
}

template <int Bits> std::vector<uint32_t> packed(const Input<uint8_t>& codes, bool reversed) {
    constexpr size_t per_word = size_t(reach::Packed<Bits>::kPerWord);
    std::vector<uint32_t> words(codes.size() / per_word + size_t(reach::kSpareWords), 0);
    for (size_t i = 0; i < codes.size(); i++)
        words[i / per_word] |= uint32_t(codes.data()[reversed ? codes.size() - 1 - i : i]) << (i % per_word * Bits);
    return words;
}

// A pair's tiles in scalar code, in the order in which a device's blocks take them.
template <int Bits, class Shape>
int32_t reach_in_tiles(Input<uint8_t> query, Input<uint8_t> target, int32_t limit, bool substitutions) {
    const auto q = packed<Bits>(query, false), t = packed<Bits>(target, false), q_back = packed<Bits>(query, true),
               t_back = packed<Bits>(target, true);
    const int32_t n = int32_t(query.size()), m = int32_t(target.size());
    struct Rows {
        const int32_t *before, *opposite;
        int32_t* after;
        int32_t get(int32_t k) const { return before[k]; }
        int32_t met(int32_t k) const { return opposite[k]; }
        void put(int32_t k, int32_t row) const { after[k] = row; }
    };
    std::vector<int32_t> rows[2][reach::kKept];
    for (auto& direction : rows)
        for (auto& each : direction) each.assign(size_t(n) + size_t(m) + 1, INT32_MAX);  // what nobody may read
    reach::Turn<Shape> turn(reach::Tiles<Shape>{n, m});
    reach::Shared<Shape> shared;
    int32_t least = INT32_MAX;
    for (int64_t ticket = 0;; ticket++) {
        const auto [tile, direction] = turn.take(ticket);
        const int32_t phase = turn.phase, sum = direction.least_sum(phase, Shape::kSteps);
        if ((sum > limit || sum >= least) && direction.from_end) return least == INT32_MAX ? reach::kNone : least;
        if (sum > limit || sum >= least) continue;
        const auto kept = [&](bool from_end, int32_t of) {
            return rows[from_end][(of + reach::kKept) % reach::kKept].data() + n;
        };
        const bool back = direction.from_end;
        const Rows mine{kept(back, phase - 1), kept(!back, direction.met(phase)), kept(back, phase)};
        const reach::Pair<Bits> pair{
            {back ? q_back.data() : q.data()}, {back ? t_back.data() : t.data()}, n, m, substitutions};
        const int32_t found = reach::run_tile(OneLane(), pair, direction, phase, tile, limit, mine, shared);
        if (found != reach::kNone) least = std::min(least, found);
    }
}

template <int Bits>
int32_t reach_distance(Input<uint8_t> query, Input<uint8_t> target, int32_t limit, bool substitutions, bool narrow) {
    return narrow ? reach_in_tiles<Bits, reach::Shape<128, 32>>(query, target, limit, substitutions)
                  : reach_in_tiles<Bits, reach::Shape<512, 64>>(query, target, limit, substitutions);
}

// What the kernels do before and after the deflating (cuda/bgzf.cu).
void set_bgzf_tasks_in_scalar_code(const nb::bytes& bytes) {
    const BgzfBatch batch = struct_of<BgzfBatch>(bytes);
    for (uint32_t i = 0; i < batch.count; i++) set_bgzf_task(batch, i);
}

void write_bgzf_in_scalar_code(const nb::bytes& bytes) {
    const BgzfBatch batch = struct_of<BgzfBatch>(bytes);
    uint32_t table[256];
    for (uint32_t byte = 0; byte < 256; byte++) table[byte] = crc32_entry(byte);
    for (uint32_t i = 0; i < batch.count; i++) {
        batch.block_offsets[i] = *batch.out_bytes;
        const uint32_t content = bgzf_content(batch, batch.first + i), half = content / 2;
        const auto* text = reinterpret_cast<const uint8_t*>(batch.given[i]);
        const uint32_t crc =
            crc32_before(crc32(table, text, half), content - half) ^ crc32(table, text + half, content - half);
        write_bgzf(batch, i, crc, 0, 1);
        *batch.out_bytes += bgzf_bytes(batch, i);
    }
}

// What the kernel does after the inflating.
void check_texts_in_scalar_code(const nb::bytes& bytes) {
    const auto batch = struct_of<InflateBatch>(bytes);
    uint32_t table[256];
    for (uint32_t byte = 0; byte < 256; byte++) table[byte] = crc32_entry(byte);
    for (uint32_t i = 0; i < batch.count; i++)
        if (!was_inflated(batch, i, crc32(table, batch.texts[i], batch.text_bytes[i]))) *batch.damaged = 1;
}

// What the kernels do with FASTQ text.
void read_fastq_in_scalar_code(const nb::bytes& bytes) {
    const auto batch = struct_of<FastqBatch>(bytes);
    const OneLane lane;
    const uint32_t records = batch.reads / batch.mates_each;
    clear_facts(lane, batch);
    for (const FastqText* file : {&batch.first, &batch.second})
        for (uint32_t tile = 0; tile * FastqText::kTile < file->bytes; tile++)
            find_lines(lane, *file, 4 * records, tile);
    for (uint32_t number = 0; number < records; number++) {
        const FastqFound found = measure_reads(batch, number);
        batch.facts->odd |= found.odd;
        batch.facts->longest = std::max(batch.facts->longest, found.longest);
    }
    uint64_t all = 0, block = 0;
    for (uint32_t read = 0; read < batch.reads; read++) {
        if (read % FastqBatch::kScanned == 0) batch.block_sums[read / FastqBatch::kScanned] = block = all;
        batch.places[read] = all - block;
        all += size_of_read(batch, read);
    }
    for (uint32_t read = 0; read < batch.reads; read++) batch.facts->odd_symbols |= !copy_read(lane, batch, read);
}

// What the kernel of unique matches finds, start by start.
nb::tuple find_by_start(const MemIndex& index, const MemText& text, uint64_t from, uint64_t to, uint32_t min_length) {
    if (from > to || to > text.length()) throw nb::index_error("outside the text");
    const UniqueMemTask task = index.unique_task(text, min_length);
    MemColumns columns;
    Mem mem;
    for (uint64_t s = from; s < to; s++)
        if (unique_mem_at(task, s, mem)) columns.put(&mem, 1);
    return nb::make_tuple(to_numpy(std::move(columns.starts)), to_numpy(std::move(columns.references)),
        to_numpy(std::move(columns.lengths)));
}

// What cuda/lcs_trace.cu does, in scalar code: so the device's algorithm is tested where there is no device.
std::vector<uint8_t> lcs_trace(Input<uint16_t> query, int symbols, Input<uint8_t> written, Input<uint8_t> subject) {
    using Tracer = LcsTracer<OneLane>;
    if (written.size() != query.size() || symbols > 255)
        throw nb::value_error("a byte for each symbol of the query, and at most 255 different symbols");
    const auto tiles = uint32_t(query.size() / Tracer::kColumns + 1),
               blocks = uint32_t(subject.size() / Tracer::kSymbols + 1);
    std::vector<LcsFour> masks(size_t(symbols + 1) * tiles), kept(size_t(blocks) * tiles);
    for (size_t i = 0; i < query.size(); i++)
        if (query.data()[i] < symbols)
            masks[query.data()[i] * tiles + i / Tracer::kColumns].word[i / 32 % 4] |= 1u << (i % 32);
    std::vector<LcsFour> fast(size_t(std::max(symbols + 1, int(Tracer::kSymbols))));
    std::vector<uint32_t> codes(blocks * Tracer::kSymbols / 4), carries(kept.size());
    uint8_t code[256];
    for (int c = 0; c < 256; c++) code[c] = uint8_t(std::min(c, symbols));
    LcsTraceTask task{};
    task.masks = masks.data();
    task.code = code;
    task.query = written.data();
    task.subject = subject.data();
    task.query_length = uint32_t(query.size());
    task.subject_length = uint32_t(subject.size());
    task.absent = uint32_t(symbols);
    task.tiles = tiles;
    task.codes = codes.data();
    task.kept = kept.data();
    task.carries = carries.data();
    task.fast = fast.data();
    std::vector<uint8_t> text(std::min(subject.size(), query.size()));
    const OneLane lane;
    const uint32_t length = Tracer(lane, task).trace(text.data(), uint32_t(text.size()));
    text.erase(text.begin(), text.end() - length);
    return text;
}

// Names by their numbers.
struct NamesInOrder {
    const std::vector<std::string>& names;

    int32_t find(std::string_view name) const {
        const auto found = std::find(names.begin(), names.end(), name);
        return found == names.end() ? -1 : int32_t(found - names.begin());
    }
};

auto candidates_of(Input<uint8_t> text, const std::string& kind, const std::vector<std::string>& queries,
    const std::vector<std::string>& targets) {
    CandidateColumns out;
    const std::string_view lines(reinterpret_cast<const char*>(text.data()), text.size());
    parse_candidates(lines, kind[0], NamesInOrder{queries}, NamesInOrder{targets}, out);
    return tuple_of(to_numpy(std::move(out.query)), to_numpy(std::move(out.target)), to_numpy(std::move(out.begin)),
        to_numpy(std::move(out.end)), to_numpy(std::move(out.before)), to_numpy(std::move(out.after)),
        to_numpy(std::move(out.strand)));
}

}  // namespace
}  // namespace gpualign

NB_MODULE(GPUALIGN_MODULE, m) {
    using namespace gpualign;
    bind_scalar_kernels(m);
    m.def("parse_candidates", &candidates_of, nb::arg("text"), nb::arg("kind"), nb::arg("queries"), nb::arg("targets"),
        "Candidate lines to (query, target, begin, end, before, after, strand).");
    m.def("align_affine", &align_affine, nb::arg("reference"), nb::arg("bases"), nb::arg("offsets"),
        nb::arg("diagonal"), nb::arg("band"), nb::arg("scores"), nb::arg("begin_pin") = -1, nb::arg("end_pin") = -1,
        "(score, begin, cigar, cigar_offsets) of patterns against diagonals [diagonal, diagonal + band) of the "
        "reference taken as one contig; scores are an AffineScores.");
    m.def("chain_anchors", &chains_of_anchors, nb::arg("reference"), nb::arg("reverse"), nb::arg("reference_positions"),
        nb::arg("query_positions"), nb::arg("rules"),
        "[(score, contig, reverse, [(query, reference), ...]), ...], best first.");
    m.def("join_long_gaps", &points_beside_long_gaps, nb::arg("queries"), nb::arg("references"), nb::arg("rules"),
        "[(query, reference), ...] of a chain's points without those between long gaps that are near each other.");
    m.def("mapping_qualities", &mapping_qualities, nb::arg("edit"), nb::arg("bases"), nb::arg("lengths"),
        nb::arg("truncated"), nb::arg("distances"), nb::arg("seed_hits"), nb::arg("losses"), nb::arg("counts"),
        nb::arg("paired"),
        "uint8 (n,): of reads whose suboptimal loci, `counts` of them, lose `losses` (-1: there are none).");
    for (const auto& [name, function] :
        {std::pair("reach_distance_2", &reach_distance<2>), std::pair("reach_distance_8", &reach_distance<8>)})
        m.def(name, function, nb::arg("query"), nb::arg("target"), nb::arg("limit"), nb::arg("substitutions"),
            nb::arg("narrow"),
            "The distance of a pair of codes, -1 beyond the limit, by wide or narrow tiles of diagonals.");
    m.def("scan_minimizers", &scan_minimizers, nb::arg("bases"), nb::arg("k"), nb::arg("w"),
        "(hashes uint64, positions uint32, reverse uint8) of a sequence's minimizers, in order of position.");
    m.def("is_ungapped", &ungapped_is_best, nb::arg("query"), nb::arg("text"), nb::arg("substitutions"),
        nb::arg("scores"), "Whether nothing loses as little as so many substitutions on the middle diagonal.");
    m.def("look_up_tags", &look_up_tags, nb::arg("offsets"), nb::arg("tags"), nb::arg("k"), nb::arg("bucket_bits"),
        nb::arg("hashes"));
    m.def("look_up", &look_up_hashes, nb::arg("offsets"), nb::arg("entries"), nb::arg("k"), nb::arg("bucket_bits"),
        nb::arg("hashes"), "(first, last) entries of hashes.");
    m.def("hits_together", &hits_together, nb::arg("entries"), nb::arg("length"), nb::arg("k"), nb::arg("limit"),
        "(hits a cluster that is left out has less of, strand << 61 | (diagonal + 2**27) << 27 | position of the "
        "others).");
    m.def("find_mems_by_start", &find_by_start, nb::arg("index"), nb::arg("text"), nb::arg("start"), nb::arg("stop"),
        nb::kw_only(), nb::arg("min_length"), "As find_mems with a suffix array, as a device's threads do it.");
    m.def("set_bgzf_tasks", &set_bgzf_tasks_in_scalar_code, nb::arg("batch"),
        "What the kernels do with a BgzfBatch before the deflating, on this thread and in this process's memory.");
    m.def("write_bgzf", &write_bgzf_in_scalar_code, nb::arg("batch"), "The same after the deflating.");
    m.def("read_fastq", &read_fastq_in_scalar_code, nb::arg("batch"), "The same with a FastqBatch.");
    m.def("check_texts", &check_texts_in_scalar_code, nb::arg("batch"),
        "The same with an InflateBatch, after the inflating.");
    m.def(
        "lcs_trace",
        [](Input<uint16_t> query, int symbols, Input<uint8_t> written, Input<uint8_t> subject) {
            return to_numpy(lcs_trace(query, symbols, written, subject));
        },
        nb::arg("query"), nb::arg("symbols"), nb::arg("written"), nb::arg("subject"),
        "The device's way to one subsequence: the symbols of the matched query positions, uint8. query: codes as for "
        "lcs_lengths; written: what to write for each; subject: codes.");
}
