// Packing a reference and building its minimizer index.
#include <atomic>
#include <future>
#include <stdexcept>

#include "arrays.hpp"
#include "bindings.hpp"
#include "minimizers.hpp"
#include "reference.hpp"
#include "reference_arrays.hpp"

namespace gpualign {
namespace {

constexpr uint64_t kMostBases = 0xFFFFFFFEu;  // positions are 32-bit

// Packs contigs as they are read, so that the text is never held whole.
class ReferencePacker {
public:
    void append(Input<uint8_t> letters) {
        const uint8_t* p = letters.data();
        const size_t n = letters.size();
        nb::gil_scoped_release release;
        if (bases_ + n > kMostBases) throw nb::value_error("the reference has more than 4,294,967,294 bases");
        words_.resize((bases_ + n) / kBasesPerWord + 2);
        for (size_t i = 0; i < n; i++) {
            const uint8_t code = base_code(p[i]);
            if (code == kNoBase) {
                extend_run(p[i]);
            } else {
                words_[bases_ / kBasesPerWord] |= uint64_t(code) << (2 * (bases_ % kBasesPerWord));
            }
            bases_++;
        }
    }

    nb::tuple finish() {
        words_.resize(bases_ / kBasesPerWord + 2);
        return nb::make_tuple(to_numpy(std::move(words_)), to_numpy(std::move(starts_)), to_numpy(std::move(ends_)),
                              to_numpy(std::move(letters_)));
    }

private:
    void extend_run(uint8_t letter) {
        const uint32_t at = uint32_t(bases_);
        if (!ends_.empty() && ends_.back() == at && letters_.back() == letter) {
            ends_.back() = at + 1;
        } else {
            starts_.push_back(at);
            ends_.push_back(at + 1);
            letters_.push_back(letter);
        }
    }

    uint64_t bases_ = 0;
    std::vector<uint64_t> words_;
    std::vector<uint32_t> starts_, ends_;
    std::vector<uint8_t> letters_;
};

struct Seed {
    uint64_t hash;
    uint32_t position;
    uint32_t reverse;
};

// Runs task(0) .. task(count - 1) on `threads` threads; throws what a task threw, once all have ended.
template <class Task>
void parallel_for(int threads, size_t count, Task&& task) {
    std::atomic<size_t> next{0};
    const auto loop = [&] {
        for (size_t i; (i = next.fetch_add(1)) < count;) task(i);
    };
    std::vector<std::future<void>> others;  // their destructors wait
    for (int t = 1; t < threads; t++) others.push_back(std::async(std::launch::async, loop));
    loop();
    for (auto& other : others) other.get();
}

// The reference is scanned in pieces of whole contigs or parts of them. A piece overlaps its neighbours by enough bases
// that every window is seen whole by the piece that owns its k-mers.
struct Piece {
    uint64_t begin, end;                // k-mers owned start here
    uint64_t contig_begin, contig_end;
};

std::vector<Piece> cut(const ReferenceView& reference, uint64_t most) {
    std::vector<Piece> pieces;
    for (size_t c = 0; c < reference.contigs; c++) {
        const uint64_t begin = uint64_t(reference.contig_offsets[c]), end = uint64_t(reference.contig_offsets[c + 1]);
        for (uint64_t p = begin; p < end; p += most) pieces.push_back({p, std::min(p + most, end), begin, end});
    }
    return pieces;
}

constexpr int kPartitionBits = 8;

class IndexBuilder {
public:
    IndexBuilder(const ReferenceView& reference, int k, int w, int threads)
        : reference_(reference), k_(k), w_(w), threads_(threads),
          partition_bits_(std::min(kPartitionBits, 2 * k)), pieces_(cut(reference, 1 << 20)) {}

    void build() {
        collect();
        choose_buckets();
        sort_partitions();
    }

    int bucket_bits() const { return split_.bucket_bits; }
    std::vector<uint32_t> offsets;
    std::vector<uint64_t> entries;

private:
    size_t partitions() const { return size_t(1) << partition_bits_; }

    // Scans every piece; seeds[partition][piece-group] keeps the order of positions.
    void collect() {
        const size_t groups = std::min<size_t>(pieces_.size(), size_t(threads_) * 4);
        seeds_.assign(partitions(), std::vector<std::vector<Seed>>(groups));
        parallel_for(threads_, groups, [&](size_t group) {
            MinimizerScanner scanner(k_, w_);
            std::vector<uint8_t> codes;
            const size_t from = pieces_.size() * group / groups, to = pieces_.size() * (group + 1) / groups;
            for (size_t i = from; i < to; i++) scan_piece(pieces_[i], scanner, codes, group);
        });
    }

    void scan_piece(const Piece& piece, MinimizerScanner& scanner, std::vector<uint8_t>& codes, size_t group) {
        const uint64_t reach = uint64_t(w_) + uint64_t(k_);
        const uint64_t begin = piece.begin - std::min(piece.begin - piece.contig_begin, reach);
        const uint64_t end = piece.end + std::min(piece.contig_end - piece.end, reach);
        codes.resize(end - begin);
        reference_.codes(begin, end, codes.data());
        const int shift = 2 * k_ - partition_bits_;
        scanner.scan(codes.data(), int64_t(end - begin), [&](const Minimizer& m) {
            const uint64_t position = begin + m.position;
            if (position >= piece.begin && position < piece.end)
                seeds_[m.hash >> shift][group].push_back({m.hash, uint32_t(position), m.reverse});
        });
    }

    // About two entries a bucket: 16 bytes, so that a look-up touches one line of offsets and one of entries.
    void choose_buckets() {
        starts_.assign(partitions() + 1, 0);
        for (size_t p = 0; p < partitions(); p++) {
            uint64_t n = 0;
            for (const auto& group : seeds_[p]) n += group.size();
            starts_[p + 1] = starts_[p] + n;
        }
        const uint64_t total = starts_.back();
        if (total > kMostBases) throw std::length_error("the index has more than 4,294,967,294 entries (raise -w)");
        int bits = partition_bits_;
        while (bits < std::min(2 * k_, 30) && (uint64_t(1) << (bits + 1)) <= total) bits++;
        split_ = {k_, bits};
        offsets.assign((size_t(1) << bits) + 1, 0);
        entries.resize(total);
        offsets.back() = uint32_t(total);
    }

    void sort_partitions() {
        const int in_partition = split_.bucket_bits - partition_bits_;  // bucket bits below the partition's
        parallel_for(threads_, partitions(), [&](size_t p) {
            const size_t buckets = size_t(1) << in_partition;
            uint32_t* counts = offsets.data() + (p << in_partition);
            std::vector<uint32_t> next(buckets + 1, 0);
            const auto local = [&](uint64_t hash) { return split_.bucket(hash) & (buckets - 1); };
            for (const auto& group : seeds_[p])
                for (const Seed& seed : group) next[local(seed.hash) + 1]++;
            next[0] = uint32_t(starts_[p]);
            for (size_t b = 0; b < buckets; b++) {
                next[b + 1] += next[b];
                counts[b] = next[b];
            }
            for (auto& group : seeds_[p]) {
                for (const Seed& seed : group)
                    entries[next[local(seed.hash)]++] =
                        make_entry(split_.fingerprint(seed.hash), seed.position, seed.reverse != 0);
                std::vector<Seed>().swap(group);
            }
            for (size_t b = 0; b < buckets; b++) std::sort(entries.begin() + counts[b], entries.begin() + next[b]);
        });
    }

    const ReferenceView& reference_;
    const int k_, w_, threads_, partition_bits_;
    const std::vector<Piece> pieces_;
    std::vector<std::vector<std::vector<Seed>>> seeds_;
    std::vector<uint64_t> starts_;
    HashSplit split_{};
};

nb::tuple build_index(const ReferenceArrays& reference, int k, int w, int threads) {
    if (k < 1 || k > kMaxKmer || k % 2 == 0) throw nb::value_error("k must be odd and between 1 and 31");
    if (w < 1) throw nb::value_error("w must be at least 1");
    const ReferenceView view = reference.view();
    IndexBuilder builder(view, k, w, std::max(1, threads));
    {
        nb::gil_scoped_release release;
        builder.build();
    }
    const int bits = builder.bucket_bits();
    return nb::make_tuple(to_numpy(std::move(builder.offsets)), to_numpy(std::move(builder.entries)), bits);
}

// An index file is untrusted: everything that is used as a subscript is checked once, here.
std::string check_index(const ReferenceArrays& reference, Input<uint32_t> offsets, Input<uint64_t> entries, int k,
                        int bucket_bits) {
    if (k < 1 || k > kMaxKmer || k % 2 == 0) return "k is not odd or not between 1 and 31";
    if (bucket_bits < 0 || bucket_bits > std::min(2 * k, 30)) return "the number of bucket bits is impossible";
    if (offsets.size() != (size_t(1) << bucket_bits) + 1) return "the bucket table has the wrong size";
    const uint32_t* o = offsets.data();
    const uint64_t* e = entries.data();
    const size_t buckets = offsets.size() - 1, n = entries.size();
    const uint64_t bases = reference.view().bases;
    nb::gil_scoped_release release;
    if (o[0] != 0 || o[buckets] != n) return "the bucket table does not span the entries";
    bool ordered = true, inside = true;
    for (size_t b = 0; b < buckets; b++) ordered &= o[b] <= o[b + 1];
    for (size_t i = 0; i < n; i++) inside &= uint64_t(entry_position(e[i])) + uint64_t(k) <= bases;
    if (!ordered) return "the bucket table is not in order";
    if (!inside) return "an entry lies outside the reference";
    return "";
}

nb::tuple scan_minimizers(Input<uint8_t> letters, int k, int w) {
    std::vector<uint8_t> codes(letters.size());
    for (size_t i = 0; i < codes.size(); i++) codes[i] = base_code(letters.data()[i]);
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

nb::bytes reference_letters(const ReferenceArrays& reference, uint64_t begin, uint64_t end) {
    if (begin > end || end > reference.view().bases) throw nb::index_error("outside the reference");
    std::string text(end - begin, 'N');
    reference.view().letters(begin, end, text.data());
    return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_index(nb::module_& m) {
    nb::class_<ReferencePacker>(m, "ReferencePacker", "Packs contigs as they are read.")
        .def(nb::init<>())
        .def("append", &ReferencePacker::append, nb::arg("letters"), "Add letters (uint8 ASCII) of the current contig.")
        .def("finish", &ReferencePacker::finish, "(words, run_starts, run_ends, run_letters)");
    nb::class_<ReferenceArrays>(m, "ReferenceArrays", "A packed reference; keeps its arrays alive.")
        .def(nb::init<Input<uint64_t>, Input<int64_t>, Input<uint32_t>, Input<uint32_t>, Input<uint8_t>>(),
             nb::arg("words"), nb::arg("contig_offsets"), nb::arg("run_starts"), nb::arg("run_ends"),
             nb::arg("run_letters"), "Checks the arrays; raises ValueError where they cannot be a reference.");
    m.def("build_index", &build_index, nb::arg("reference"), nb::arg("k"), nb::arg("w"), nb::arg("threads"),
          "(offsets uint32, entries uint64, bucket_bits)");
    m.def("check_index", &check_index, nb::arg("reference"), nb::arg("offsets"), nb::arg("entries"), nb::arg("k"),
          nb::arg("bucket_bits"), "What is wrong with an index, or an empty string.");
    m.def("scan_minimizers", &scan_minimizers, nb::arg("letters"), nb::arg("k"), nb::arg("w"),
          "(hashes uint64, positions uint32, reverse uint8) of a sequence's minimizers, in order of position.");
    m.def("reference_letters", &reference_letters, nb::arg("reference"), nb::arg("begin"), nb::arg("end"));
}

}  // namespace gpualign
