// One record's letters next to the reference's, and what follows from them: CIGAR with = and X, MD, NM.
#pragma once
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "simd/blocks.hpp"
#include "text/record_view.hpp"
#include "index/reference.hpp"
#include "text/text.hpp"

namespace gpualign {

struct ComplementTable {
    char to[256] = {};
    constexpr ComplementTable() {
        const char from[] = "ACGTRYSWKMBDHVN", complement[] = "TGCAYRSWMKVHDBN";
        for (int i = 0; i < 256; i++) to[i] = 'N';
        for (int i = 0; from[i]; i++) to[uint8_t(from[i])] = complement[i];
    }
};
inline constexpr ComplementTable complement_letter;

// The reverse complement of a read's letters.
inline void reverse_complement_letters(const char* letters, int64_t length, char* out) {
    uint8_t others = 0;
    in_blocks(length, [&](ptrdiff_t at, auto count) {  // the four bases by arithmetic
        uint8_t given[count], turned[count], differ = 0;
        std::memcpy(given, letters + (length - at - count), count);
        for (ptrdiff_t i = 0; i < count; i++) {
            const uint8_t letter = given[count - 1 - i];
            turned[i] = uint8_t(letter ^ (letter & 2 ? 'C' ^ 'G' : 'A' ^ 'T'));
            differ |= differs_from_bases(letter);
        }
        std::memcpy(out + at, turned, count);
        others |= differ;
    });
    if (!others) return;
    for (int64_t c = 0; c < length; c++) out[c] = complement_letter.to[uint8_t(letters[length - 1 - c])];
}

class RecordText {
public:
    RecordText(const ReferenceView& reference, const RecordsView& records) : reference_(reference), records_(records) {}

    // Takes record `record`, for a CIGAR without = and X.
    void load(size_t record) {
        begin_ = records_.cigar_begin(record);
        end_ = records_.cigar_end(record);
    }

    // Takes record `record` of a read given in its own direction.
    void load(size_t record, const char* bases, int64_t length) {
        load(record);
        oriented_.resize(size_t(length) + kBehind);
        if (records_.reverse(record)) reverse_complement_letters(bases, length, oriented_.data());
        else std::copy(bases, bases + length, oriented_.begin());
        span_ = size_t(reference_span(begin_, end_));
        window_.resize(span_ + kBehind);
        const uint64_t begin = uint64_t(reference_.contig_offsets[records_.contig[record]] + records_.position[record]);
        reference_.letters(begin, begin + span_, window_.data());
        bases_only_ = !reference_.has_run(begin, begin + span_);
    }

    const char* oriented() const { return oriented_.data(); }  // the read as it is printed
    size_t span() const { return span_; }
    int64_t clipped_front() const { return clipped(begin_); }
    int64_t clipped_back() const { return begin_ == end_ || end_ - begin_ == 1 ? 0 : clipped(end_ - 1); }

    // With `eqx`, = and X instead of M; `clip` stands for clipped ends, S or H.
    void cigar(bool eqx, char clip, std::string& text) const {
        text.clear();
        const auto put = [&](uint32_t n, char op) {
            append_number(text, n);
            text.push_back(op);
        };
        walk([&](uint32_t op, uint32_t n, size_t query, size_t reference) {
            if (op != kCigarM || !eqx) {
                put(n, op == kCigarS ? clip : "MID"[op]);
                return;
            }
            for (uint32_t from = 0; from < n;) {
                const bool same = match(query + from, reference + from);
                uint32_t to = from + 1;
                while (to < n && match(query + to, reference + to) == same) to++;
                put(to - from, same ? '=' : 'X');
                from = to;
            }
        });
    }

    // NM; MD is left in `md`.
    int64_t edits(std::string& md) const {
        int64_t edits = 0, run = 0;
        md.clear();
        walk([&](uint32_t op, uint32_t n, size_t query, size_t reference) {
            if (op == kCigarM) {
                for (uint32_t x = 0; x < n; x++) {
                    const uint32_t same = matches(query + x, reference + x, n - x);
                    run += same;
                    x += same;
                    if (x == n) break;
                    append_number(md, run);
                    run = 0;
                    md.push_back(window_[reference + x]);
                    edits++;
                }
            } else if (op == kCigarD) {
                append_number(md, run);
                run = 0;
                md.push_back('^');
                md.append(window_.data() + reference, n);
            }
            if (op == kCigarI || op == kCigarD) edits += n;
        });
        append_number(md, run);
        return edits;
    }

private:
    static int64_t clipped(const uint32_t* c) { return (*c & 15) == kCigarS ? *c >> 4 : 0; }

    // visit(operation, length, query letters before it, reference letters before it)
    template <class Visit>
    void walk(Visit&& visit) const {
        size_t query = 0, reference = 0;
        for (const uint32_t* c = begin_; c < end_; c++) {
            const uint32_t op = *c & 15, n = *c >> 4;
            visit(op, n, query, reference);
            if (op != kCigarD) query += n;
            if (op == kCigarM || op == kCigarD) reference += n;
        }
    }

    // Only A, C, G and T match, so that MD and NM say what the aligner counted.
    bool match(size_t query, size_t reference) const {
        const char a = oriented_[query];
        return a == window_[reference] && (a == 'A' || a == 'C' || a == 'G' || a == 'T');
    }

    // Pairs of letters up to the first that do not match, most `most`.
    uint32_t matches(size_t query, size_t reference, uint32_t most) const {
        uint32_t n = 0;
        if (bases_only_) {  // letters that are equal to a base are bases
            for (uint64_t a, b; n < most; n += kBehind) {
                std::memcpy(&a, oriented_.data() + query + n, kBehind);
                std::memcpy(&b, window_.data() + reference + n, kBehind);
                if (a != b) return std::min(most, n + uint32_t(__builtin_ctzll(a ^ b)) / 8);
            }
            return most;
        }
        while (n < most && match(query + n, reference + n)) n++;
        return n;
    }

    static constexpr uint32_t kBehind = sizeof(uint64_t);  // letters compared at once; there are as many after the last ones

    const ReferenceView& reference_;
    const RecordsView records_;
    bool bases_only_ = false;  // in the window
    size_t span_ = 0;
    const uint32_t *begin_ = nullptr, *end_ = nullptr;
    std::vector<char> oriented_, window_;
};

}  // namespace gpualign
