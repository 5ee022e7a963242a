// Alignments between genomes from their exact matches, and what differs in alignments.
#include <cstring>
#include <memory>

#include "align/genomes/joins.hpp"
#include "algo/align/score/nw.hpp"
#include "algo/common/dna.hpp"
#include "arrays.hpp"
#include "bindings.hpp"
#include "common/parallel_for.hpp"
#include "seeds/index/reference_arrays.hpp"

namespace gpualign {
namespace genomes {
namespace {

// Codes of sequences one after the other, with a readable one at either end.
struct Codes {
    std::vector<uint8_t> codes;

    explicit Codes(size_t size) : codes(size + 2, kNoBase) {}
    uint8_t* begin() { return codes.data() + 1; }
    const uint8_t* begin() const { return codes.data() + 1; }
    // With both ends; `owner` keeps them.
    Output<const uint8_t> array(nb::handle owner) const { return {codes.data(), {codes.size()}, owner}; }
};

constexpr uint8_t no_query_base = 5;  // other than the reference's, so that they do not match

// The matches of a batch of query records, by strand: `offsets` of each strand of each record.
struct Matches {
    const int64_t *offsets, *starts;
    const uint32_t *references, *lengths;
};

// A record's alignments with one contig.
struct Pair {
    size_t record, contig;
    std::vector<Cluster> clusters;
    std::unique_ptr<Joiner> joiner;
    std::vector<Joined> found;
};

struct Rectangle {
    size_t pair, alignment, part;
    bool ungapped;  // the alignment of equal lengths and few mismatches that is best without gaps
};

class GenomeAligner {
public:
    GenomeAligner(const ReferenceArrays& arrays, int64_t min_cluster, int64_t max_gap, int64_t diagonal,
        double diagonal_share, int match, int mismatch, int gap_open, int gap_extend, int reach, bool extend,
        bool simplify, bool to_border)
        : limits_{min_cluster, max_gap, diagonal, diagonal_share},
          options_{{match, mismatch, gap_open, gap_extend, reach}, extend, simplify, to_border},
          reference_(arrays.view().bases),
          offsets_(arrays.view().contig_offsets, arrays.view().contig_offsets + arrays.view().contigs + 1) {
        if (match < 1 || mismatch > 0 || gap_open < gap_extend || gap_extend < 0 || reach < 1)
            throw nb::value_error("scores out of range");
        arrays.view().codes(0, arrays.view().bases, reference_.begin());
    }

    const JoinOptions& options() const { return options_; }
    const Codes& codes() const { return reference_; }
    Bases contig(size_t i) const { return {reference_.begin() + offsets_[i], offsets_[i + 1] - offsets_[i]}; }

    // The pairs of one query record, in the order in which their first clusters are found.
    std::vector<Pair> pairs_of(size_t record, size_t strands, bool reverse_alone, const Matches& matches) const {
        std::vector<Pair> pairs;
        std::vector<int64_t> pair_of_contig(offsets_.size() - 1, -1);
        Clusterer clusterer(limits_);
        std::vector<Anchor> anchors;
        for (size_t s = 0; s < strands; s++) {
            const bool reverse = reverse_alone || s == 1;
            anchors.clear();
            // a position lies between contigs, so that matches next to a border are not joined as if there were none
            for (int64_t i = matches.offsets[record * strands + s]; i < matches.offsets[record * strands + s + 1]; i++)
                anchors.push_back({int64_t(matches.references[i]) + int64_t(contig_of(matches.references[i])),
                    matches.starts[i], matches.lengths[i]});
            clusterer.run(anchors, [&](const Anchor* chain, size_t count) {
                size_t in_contig = none;
                for (size_t i = 0; i < count; i++) {
                    const size_t contig = contig_between(chain[i].a);
                    if (contig != in_contig) {
                        if (pair_of_contig[contig] < 0) {
                            pair_of_contig[contig] = int64_t(pairs.size());
                            pairs.push_back({record, contig, {}, nullptr, {}});
                        }
                        pairs[size_t(pair_of_contig[contig])].clusters.push_back({reverse, {}});
                        in_contig = contig;
                    }
                    Anchor anchor = chain[i];
                    anchor.a -= offsets_[contig] + int64_t(contig);
                    pairs[size_t(pair_of_contig[contig])].clusters.back().anchors.push_back(anchor);
                }
            });
        }
        return pairs;
    }

private:
    static constexpr size_t none = ~size_t(0);

    size_t contig_of(int64_t position) const {
        return size_t(std::upper_bound(offsets_.begin(), offsets_.end(), position) - offsets_.begin()) - 1;
    }
    // The contig of a position that counts the borders before it.
    size_t contig_between(int64_t position) const {
        size_t low = 0, high = offsets_.size() - 1;
        while (high - low > 1) {
            const size_t middle = (low + high) / 2;
            if (offsets_[middle] + int64_t(middle) <= position) low = middle;
            else high = middle;
        }
        return low;
    }

    const ClusterLimits limits_;
    const JoinOptions options_;
    Codes reference_;
    std::vector<int64_t> offsets_;
};

class GenomeAlignments {
public:
    GenomeAlignments(const GenomeAligner& aligner, const uint8_t* bases, const int64_t* offsets, size_t records,
        size_t strands, bool reverse_alone, const Matches& matches, int threads)
        : options_(aligner.options()), forward_(size_t(offsets[records] - offsets[0])),
          reverse_(size_t(offsets[records] - offsets[0])),
          texts_{aligner.codes().codes.data(), {forward_.codes.data(), reverse_.codes.data()}}, threads_(threads) {
        parallel_for(threads, records, [&](size_t r, int) {
            for (int64_t i = offsets[r]; i < offsets[r + 1]; i++) {
                const uint8_t code = base_code(bases[i]), own = code == kNoBase ? no_query_base : code;
                forward_.begin()[i - offsets[0]] = own;
                reverse_.begin()[offsets[r] + offsets[r + 1] - 1 - i - offsets[0]] = complement_code(own);
            }
        });
        std::vector<std::vector<Pair>> by_record(records);
        parallel_for(threads, records,
            [&](size_t r, int) { by_record[r] = aligner.pairs_of(r, strands, reverse_alone, matches); });
        for (std::vector<Pair>& pairs : by_record)
            for (Pair& pair : pairs) pairs_.push_back(std::move(pair));
        parallel_for(threads, pairs_.size(), [&](size_t p, int) {
            Pair& pair = pairs_[p];
            const int64_t from = offsets[pair.record] - offsets[0],
                          length = offsets[pair.record + 1] - offsets[pair.record];
            const Bases query[2] = {{forward_.begin() + from, length}, {reverse_.begin() + from, length}};
            pair.joiner = std::make_unique<Joiner>(
                texts_, aligner.contig(pair.contig), query, std::move(pair.clusters), options_);
        });
        for (size_t p = 0; p < pairs_.size(); p++)
            for (size_t c = 0; c < pairs_[p].joiner->clusters(); c++) clusters_.push_back({p, c});
    }
    GenomeAlignments(const GenomeAlignments&) = delete;

    // The codes of the query's forward or reverse strands.
    const Codes& codes(bool reverse) const { return reverse ? reverse_ : forward_; }

    // Extensions that joining is going to need: forward ones, or then backward ones.
    auto searches(bool backward) {
        std::vector<ExtendTask> all;
        plan(backward, all);
        return to_numpy_words(std::move(all));
    }

    // Where extensions end.
    auto extended(Input<uint64_t> words) const {
        const auto* tasks = reinterpret_cast<const ExtendTask*>(words.data());
        std::vector<Extension> found(words.size() * sizeof(uint64_t) / sizeof(ExtendTask));
        {
            nb::gil_scoped_release release;
            for (size_t i = 0; i < found.size(); i++) found[i] = texts_.extend(tasks[i], options_.scores);
        }
        std::vector<uint8_t> bytes(found.size() * sizeof(Extension));
        std::memcpy(bytes.data(), found.data(), bytes.size());
        return to_numpy(std::move(bytes));
    }

    // Takes the ends of all extensions of searches().
    void take(bool backward, Input<uint8_t> bytes) {
        if (bytes.size() != searched_.size() * sizeof(Extension))
            throw nb::value_error("not an end for each extension");
        for (size_t i = 0; i < searched_.size(); i++) {
            Extension found;
            std::memcpy(&found, bytes.data() + i * sizeof found, sizeof found);
            const auto [pair, cluster] = clusters_[searched_[i].cluster];
            if (backward) pairs_[pair].joiner->take_backward(cluster, found);
            else pairs_[pair].joiner->take_forward(cluster, searched_[i].anchor, found);
        }
    }

    void join() {
        parallel_for(threads_, pairs_.size(), [&](size_t p, int) { pairs_[p].found = pairs_[p].joiner->join(); });
        find_rectangles();
    }

    // Rectangles that are to be aligned globally, the query's bases as queries: codes and offsets of both, and the
    // diagonals (target - query) of the paths.
    auto rectangles() const {
        std::vector<uint8_t> codes[2];
        std::vector<int64_t> offsets[2] = {{0}, {0}};
        std::vector<int32_t> low, high;
        for (const Rectangle& rectangle : rectangles_) {
            if (rectangle.ungapped) continue;
            const auto [part, rows, columns] = located(rectangle);
            codes[0].insert(codes[0].end(), columns, columns + part.m);
            codes[1].insert(codes[1].end(), rows, rows + part.n);
            for (int side = 0; side < 2; side++) offsets[side].push_back(int64_t(codes[side].size()));
            low.push_back(-part.high);
            high.push_back(-part.low);
        }
        for (auto& side : codes)
            for (uint8_t& code : side) code = std::min(code, kNoBase);
        return tuple_of(to_numpy(std::move(codes[0])), to_numpy(std::move(offsets[0])), to_numpy(std::move(codes[1])),
            to_numpy(std::move(offsets[1])), to_numpy(std::move(low)), to_numpy(std::move(high)));
    }

    // The alignments, with the paths of the rectangles.
    auto finish(Input<uint32_t> cigars, Input<int64_t> cigar_offsets) const {
        size_t wanted = 0;
        for (const Rectangle& rectangle : rectangles_) wanted += !rectangle.ungapped;
        if (cigar_offsets.size() != wanted + 1 || size_t(cigar_offsets.data()[wanted]) != cigars.size())
            throw nb::value_error("not a path for each rectangle");
        std::vector<int32_t> record, contig;
        std::vector<uint8_t> reverse;
        std::vector<int64_t> spans, errors, deltas, delta_offsets{0};
        size_t next = 0, path = 0;
        for (size_t p = 0; p < pairs_.size(); p++) {
            const Pair& pair = pairs_[p];
            for (const Joined& found : pair.found) {
                record.push_back(int32_t(pair.record));
                contig.push_back(int32_t(pair.contig));
                reverse.push_back(found.reverse);
                spans.insert(spans.end(), {found.a0, found.a1 + 1, found.b0, found.b1 + 1});
                Path joined{deltas};
                for (const Part& part : found.parts) {
                    if (part.exact) {
                        joined.match(part.n - (joined.columns > 0));
                        continue;
                    }
                    const Rectangle& rectangle = rectangles_[next++];
                    const auto [same, rows, columns] = located(rectangle);
                    if (joined.columns > 0) joined.take_back();
                    if (rectangle.ungapped) {
                        joined.match(same.n);
                        joined.errors += mismatches(rows, columns, same.n);
                        continue;
                    }
                    const uint32_t* operation = cigars.data() + cigar_offsets.data()[path];
                    const uint32_t* const end = cigars.data() + cigar_offsets.data()[++path];
                    const uint8_t *row = rows, *column = columns;
                    for (; operation < end; operation++) {
                        const int64_t length = *operation >> 4;
                        if ((*operation & 15) == nw::op_match) {
                            joined.match(length);
                            joined.errors += mismatches(row, column, length);
                        } else {
                            joined.gap(length, (*operation & 15) == nw::op_delete);
                        }
                        row += (*operation & 15) == nw::op_insert ? 0 : length;
                        column += (*operation & 15) == nw::op_delete ? 0 : length;
                    }
                }
                errors.push_back(joined.errors);
                delta_offsets.push_back(int64_t(deltas.size()));
            }
        }
        return tuple_of(to_numpy(std::move(record)), to_numpy(std::move(contig)), to_numpy(std::move(reverse)),
            to_numpy(std::move(spans)), to_numpy(std::move(errors)), to_numpy(std::move(deltas)),
            to_numpy(std::move(delta_offsets)));
    }

private:
    void plan(bool backward, std::vector<ExtendTask>& all) {
        nb::gil_scoped_release release;
        constexpr size_t together = 16;
        std::vector<std::vector<ExtendTask>> tasks((clusters_.size() + together - 1) / together);
        std::vector<std::vector<Searched>> searched(tasks.size());
        parallel_for(threads_, tasks.size(), [&](size_t i, int) {
            for (size_t c = i * together; c < std::min(clusters_.size(), (i + 1) * together); c++) {
                const auto add = [&](size_t anchor, const ExtendTask& task) {
                    tasks[i].push_back(task);
                    searched[i].push_back({c, anchor});
                };
                Joiner& joiner = *pairs_[clusters_[c].first].joiner;
                if (backward) joiner.plan_backward(clusters_[c].second, add);
                else joiner.plan_forward(clusters_[c].second, add);
            }
        });
        searched_.clear();
        for (size_t i = 0; i < tasks.size(); i++) {
            all.insert(all.end(), tasks[i].begin(), tasks[i].end());
            searched_.insert(searched_.end(), searched[i].begin(), searched[i].end());
        }
    }

    // A path as distances between gaps: columns from one gap symbol to the next, negative where the query has it.
    struct Path {
        std::vector<int64_t>& deltas;
        int64_t columns = 0, errors = 0, since = 1;

        void match(int64_t length) {
            columns += length;
            since += length;
        }
        void take_back() {
            columns--;
            since--;
        }
        void gap(int64_t length, bool in_query) {
            for (int64_t i = 0; i < length; i++) {
                deltas.push_back(in_query ? since : -since);
                since = 1;
            }
            columns += length;
            errors += length;
        }
    };

    struct Located {
        const Part& part;
        const uint8_t *rows, *columns;
    };

    static int64_t mismatches(const uint8_t* rows, const uint8_t* columns, int64_t length) {
        int64_t found = 0;
        for (int64_t i = 0; i < length; i++) found += rows[i] != columns[i];
        return found;
    }

    void find_rectangles() {
        const ExtendScores& s = options_.scores;
        for (size_t p = 0; p < pairs_.size(); p++)
            for (size_t a = 0; a < pairs_[p].found.size(); a++)
                for (size_t i = 0; i < pairs_[p].found[a].parts.size(); i++) {
                    if (pairs_[p].found[a].parts[i].exact) continue;
                    Rectangle rectangle{p, a, i, false};
                    const auto [part, rows, columns] = located(rectangle);
                    // gaps in both sequences cost at least two openings and the match that does not fit
                    rectangle.ungapped =
                        part.n == part.m &&
                        mismatches(rows, columns, part.n) * (s.match - s.mismatch) < 2 * s.gap_open + s.match;
                    rectangles_.push_back(rectangle);
                }
    }

    Located located(const Rectangle& rectangle) const {
        const Pair& pair = pairs_[rectangle.pair];
        const Joined& found = pair.found[rectangle.alignment];
        const Part& part = found.parts[rectangle.part];
        return {part, pair.joiner->reference().codes + part.a, pair.joiner->strand(found.reverse).codes + part.b};
    }

    struct Searched {
        size_t cluster, anchor;
    };

    const JoinOptions options_;
    Codes forward_, reverse_;
    const Texts texts_;
    std::vector<Pair> pairs_;
    std::vector<std::pair<size_t, size_t>> clusters_;  // of which pair
    std::vector<Searched> searched_;
    std::vector<Rectangle> rectangles_;
    const int threads_;
};

GenomeAlignments* align(const GenomeAligner& aligner, Input<uint8_t> bases, Input<int64_t> base_offsets, int strands,
    Input<int64_t> match_offsets, Input<int64_t> starts, Input<uint32_t> references, Input<uint32_t> lengths,
    int threads) {
    const size_t records = base_offsets.size() - 1, blocks = strands == 3 ? 2 : 1, count = starts.size();
    if (base_offsets.size() < 1 || match_offsets.size() != records * blocks + 1 || references.size() != count ||
        lengths.size() != count || size_t(match_offsets.data()[records * blocks]) != count)
        throw nb::value_error("arrays of unequal length");
    nb::gil_scoped_release release;
    return new GenomeAlignments(aligner, bases.data(), base_offsets.data(), records, blocks, strands == 2,
        {match_offsets.data(), starts.data(), references.data(), lengths.data()}, threads);
}

}  // namespace
}  // namespace genomes

void bind_genomes(nb::module_& m) {
    using namespace genomes;
    nb::class_<GenomeAligner>(m, "GenomeAligner", "A reference, and how matches with it are joined to alignments.")
        .def(nb::init<const ReferenceArrays&, int64_t, int64_t, int64_t, double, int, int, int, int, int, bool, bool,
                 bool>(),
            nb::arg("reference"), nb::kw_only(), nb::arg("min_cluster"), nb::arg("max_gap"), nb::arg("diagonal"),
            nb::arg("diagonal_share"), nb::arg("match"), nb::arg("mismatch"), nb::arg("gap_open"),
            nb::arg("gap_extend"), nb::arg("reach"), nb::arg("extend"), nb::arg("simplify"), nb::arg("to_border"))
        .def_prop_ro(
            "codes", [](nb::handle self) { return nb::cast<const GenomeAligner&>(self).codes().array(self); },
            "uint8, the reference's bases, and one more at either end.")
        .def("align", &align, nb::arg("bases"), nb::arg("base_offsets"), nb::kw_only(), nb::arg("strands"),
            nb::arg("match_offsets"), nb::arg("starts"), nb::arg("references"), nb::arg("lengths"), nb::arg("threads"),
            nb::rv_policy::take_ownership,
            "Join the matches of each strand (1 forward, 2 reverse, 3 both) of each record; starts are on the strand.");
    nb::class_<GenomeAlignments>(m, "GenomeAlignments", "Alignments of a batch of records, some parts of them missing.")
        .def(
            "codes",
            [](nb::handle self, bool reverse) {
                return nb::cast<const GenomeAlignments&>(self).codes(reverse).array(self);
            },
            nb::arg("reverse"), "uint8, the bases of the query's strands, and one more at either end.")
        .def("searches", &GenomeAlignments::searches, nb::arg("backward"),
            "Extensions to be computed, first all forward ones: words of ExtendTask.")
        .def("extended", &GenomeAlignments::extended, nb::arg("tasks"), "Where they end: bytes of Extension.")
        .def("take", &GenomeAlignments::take, nb::arg("backward"), nb::arg("found"), "Take the ends of all of them.")
        .def("join", &GenomeAlignments::join, nb::call_guard<nb::gil_scoped_release>(),
            "Join clusters, once all extensions are there.")
        .def("rectangles", &GenomeAlignments::rectangles,
            "The missing parts: (query codes, offsets, target codes, offsets, lowest and highest diagonal).")
        .def("finish", &GenomeAlignments::finish, nb::arg("cigars"), nb::arg("cigar_offsets"),
            "(record, contig, reverse, spans (4 n), errors, deltas, delta_offsets (n + 1)), with a path for each "
            "missing part. Spans are start and end in the contig and on the record's strand, half-open; deltas as in "
            "MUMmer's delta files.");
}

}  // namespace gpualign
