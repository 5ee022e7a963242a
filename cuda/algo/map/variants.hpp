// Minimizers of a read's one-substitution variants, which it shares with a locus that differs by one edit.
#pragma once
#include "algo/map/seeds.hpp"

namespace gpualign {

// Arrays over the k-mers of a read; ambiguous bases count as A.
struct VariantMemory {
    uint64_t *forward, *reverse, *hashes;
    uint64_t* changed;  // hashes of a variant
};

// Upper bound on the calls of visit in for_each_variant: each k-mer of a short read as it is and with each other base
// at each position; or, with ambiguous bases, those k-mers with each of four bases.
GPUALIGN_HD uint64_t max_variants(int32_t longest, int32_t k, int32_t w, bool converted) {
    const auto kmers = [&](int32_t length) { return uint64_t(length < k ? 0 : length - k + 1); };
    const uint64_t any = kmers(min(longest, longest_with_variants(k, w, converted))) * uint64_t(1 + 3 * k),
                   ambiguous = 4 * kmers(longest);
    return any > ambiguous ? any : ambiguous;
}

// Calls visit(is one, hash, position, whether the canonical k-mer is the reverse strand's), by all lanes together, for
// all k-mers of the read, then for the minimizers that contain a substituted base: any base, or only the ambiguous
// ones if there are any. In a read shorter than a window any k-mer may be the reference's minimizer. Of a bisulfite
// read only bases that differ in three letters are substituted.
template <class Group, class Visit>
GPUALIGN_HD void for_each_variant(
    const Group& group, const MapRead& read, int k, int32_t w, const VariantMemory& memory, Visit&& visit) {
    const int32_t kmers = int32_t(hash_kmers(group, read, k, memory.hashes)), lane = int32_t(group.lane()),
                  lanes = int32_t(Group::kLanes);
    const Conversion conversion = read.conversion(false);
    if (kmers < w) w = 1;
    for (int32_t base = 0; base < kmers; base += lanes) {
        const int32_t p = base + lane;
        if (p < kmers) {
            const uint64_t window = packed_window(read.words, uint64_t(p));
            memory.forward[p] = window & kmer_mask(k);
            memory.reverse[p] = reverse_complement(window) >> (64 - 2 * k);
            memory.changed[p] = memory.hashes[p];
        }
        const bool is = p < kmers && memory.hashes[p] != kNoKmer;
        visit(is, is ? memory.hashes[p] : 0, p,
            is && seed_kmer(conversion, memory.forward[p], memory.reverse[p]).reverse);
    }
    group.sync();
    for (int32_t i = 0; i < read.length; i++) {
        if (!read.clean && !(read.not_acgt[i >> 5] >> (i & 31))) {  // no ambiguous base is left in this word
            i |= 31;
            continue;
        }
        const bool ambiguous = !read.clean && read.code(i, false) == kNoBase;
        if (!read.clean && !ambiguous) continue;
        const uint8_t given = packed_base(read.words, uint64_t(i));
        const int32_t first = max(0, i - k + 1), last = min(i, kmers - 1);
        for (uint8_t code = 0; code < 4; code++) {
            if (letter(conversion, code) != code || (!ambiguous && code == letter(conversion, given))) continue;
            const uint64_t change = uint64_t(code ^ given);
            const auto forward = [&](int32_t p) { return memory.forward[p] ^ change << 2 * (i - p); };
            const auto reverse = [&](int32_t p) { return memory.reverse[p] ^ change << 2 * (k - 1 - (i - p)); };
            const auto changed = [&](int32_t p) { return seed_kmer(conversion, forward(p), reverse(p)); };
            for (int32_t p = first + lane; p <= last; p += lanes) {
                const bool is_kmer = read.clean || count_bits(read.ambiguous_bases(p, k)) == uint32_t(ambiguous);
                memory.changed[p] = is_kmer ? kmer_hash(changed(p).bases, k) : kNoKmer;
            }
            group.sync();
            for (int32_t base = first; base <= last; base += lanes) {
                const int32_t p = base + lane;
                const bool is = p <= last && is_minimizer(memory.changed, kmers, p, w);
                visit(is, is ? memory.changed[p] : 0, p, is && changed(p).reverse);
            }
            group.sync();
            for (int32_t p = first + lane; p <= last; p += lanes) memory.changed[p] = memory.hashes[p];
            group.sync();
        }
    }
}

}  // namespace gpualign
