// One record's bases next to the reference's, and what follows from them: CIGAR with = and X, MD, NM, cs.
//
// Bases gives both: the read's in the direction of the reference, numbered from 0, and those of the reference from the
// record's position on. Out takes text (text/text.hpp on the CPU, group_text.hpp on a device); what is not of a fixed
// size makes space.
#pragma once
#include "algo/text/columns.hpp"
#include "algo/text/methylation.hpp"

namespace gpualign {

constexpr uint32_t kNoClips = ~0u;  // they are left out

template <class Bases> class AlignedText {
public:
    GPUALIGN_HD AlignedText(const Bases& bases, const RecordsView& records) : bases_(bases), records_(records) {}

    // Takes record `record`, for a CIGAR without = and X.
    GPUALIGN_HD void load(uint64_t record) {
        begin_ = records_.cigar_begin(record);
        end_ = records_.cigar_end(record);
    }
    // Takes record `record` of a read given in its own direction.
    GPUALIGN_HD void load(uint64_t record, const char* bases, int64_t length) {
        load(record);
        bases_.take(records_.contig[record], records_.position[record], reference_span(begin_, end_), bases, length,
            records_.reverse(record));
    }

    GPUALIGN_HD const Bases& bases() const { return bases_; }
    GPUALIGN_HD int64_t clipped_front() const { return begin_ == end_ ? 0 : clipped_bases(*begin_); }
    GPUALIGN_HD int64_t clipped_back() const { return end_ - begin_ < 2 ? 0 : clipped_bases(end_[-1]); }

    // visit(operation, length) with = and X instead of M where `eqx`, and with `clip` for S: S, H or kNoClips.
    template <class Visit> GPUALIGN_HD void operations(bool eqx, uint32_t clip, Visit&& visit) const {
        walk([&](uint32_t op, uint32_t n, int64_t query, int64_t reference) {
            if (op == kCigarS) {
                if (clip != kNoClips) visit(clip, n);
                return;
            }
            if (op != kCigarM || !eqx) return visit(op, n);
            for (uint32_t from = 0; from < n;) {
                const uint32_t same = bases_.same(query + from, reference + from, n - from);
                if (same) visit(kCigarEqual, same);
                const uint32_t at = from + same;
                from = at;
                while (from < n && !bases_.match(query + from, reference + from)) from++;
                if (from > at) visit(kCigarX, from - at);
            }
        });
    }

    template <class Out> GPUALIGN_HD void cigar(bool eqx, uint32_t clip, Out& out) const {
        operations(eqx, clip, [&](uint32_t op, uint32_t n) {
            out.number(n);
            out.put("MIDNSHP=X"[op]);
        });
    }

    // NM.
    GPUALIGN_HD int64_t edits() const {
        int64_t edits = 0;
        walk([&](uint32_t op, uint32_t n, int64_t query, int64_t reference) {
            if (op == kCigarI || op == kCigarD) edits += n;
            if (op != kCigarM) return;
            for (uint32_t x = bases_.same(query, reference, n); x < n; edits++) {
                x++;
                x += bases_.same(query + x, reference + x, n - x);
            }
        });
        return edits;
    }

    template <class Out> GPUALIGN_HD void md(Out& out) const {
        int64_t run = 0;
        walk([&](uint32_t op, uint32_t n, int64_t query, int64_t reference) {
            if (op == kCigarM) {
                for (uint32_t x = 0; x < n; x++) {
                    const uint32_t same = bases_.same(query + x, reference + x, n - x);
                    run += same;
                    x += same;
                    if (x == n) break;
                    out.number(run);
                    run = 0;
                    out.put(bases_.reference(reference + x));
                }
            } else if (op == kCigarD) {
                out.number(run);
                run = 0;
                out.put('^');
                out.fill(n, [&](int64_t i) { return bases_.reference(reference + i); });
            }
        });
        out.number(run);
    }

    // The differences as minimap2's cs: from the reference's bases to the read's, clips left out; `whole`: with the
    // bases that are the same.
    template <class Out> GPUALIGN_HD void cs(bool whole, Out& out) const {
        const auto lower = [](char base) { return char(base | 0x20); };
        walk([&](uint32_t op, uint32_t n, int64_t query, int64_t reference) {
            out.reserve(4);
            if (op == kCigarI) {
                out.put('+');
                out.fill(n, [&](int64_t i) { return lower(bases_.read(query + i)); });
            } else if (op == kCigarD) {
                out.put('-');
                out.fill(n, [&](int64_t i) { return lower(bases_.reference(reference + i)); });
            } else if (op == kCigarN) {
                out.put('~');
                out.fill(2, [&](int64_t i) { return lower(bases_.reference(reference + i)); });
                out.number(n);
                out.fill(2, [&](int64_t i) { return lower(bases_.reference(reference + n - 2 + i)); });
            }
            if (op != kCigarM) return;
            for (uint32_t x = 0; x < n;) {
                const uint32_t same = bases_.same(query + x, reference + x, n - x);
                out.reserve(4);
                if (same) out.put(whole ? '=' : ':');
                if (same && whole) out.fill(same, [&](int64_t i) { return bases_.read(query + x + i); });
                if (same && !whole) out.number(same);
                x += same;
                for (; x < n && !bases_.match(query + x, reference + x); x++) {
                    out.reserve(4);
                    out.put('*');
                    out.put(lower(bases_.reference(reference + x)));
                    out.put(lower(bases_.read(query + x)));
                }
            }
        });
    }

    // The read's cytosines as Bismark's XM, a character a base; `clips`: with those of soft clips.
    template <class Out> GPUALIGN_HD void methylation(bool g_to_a, bool clips, Out& out) const {
        walk([&](uint32_t op, uint32_t n, int64_t query, int64_t reference) {
            if (op == kCigarI || (op == kCigarS && clips)) out.fill(n, [](int64_t) { return '.'; });
            if (op != kCigarM) return;
            out.fill(n, [&](int64_t i) {
                if (bases_.reference(reference + i) != (g_to_a ? 'G' : 'C')) return '.';
                const auto met = [&](int64_t at) { return bases_.context(reference + i + at); };
                return methylation_call(g_to_a, bases_.read(query + i), met);
            });
        });
    }

private:
    // visit(operation, length, query bases before it, reference bases before it)
    template <class Visit> GPUALIGN_HD void walk(Visit&& visit) const {
        int64_t query = 0, reference = 0;
        for (const uint32_t* c = begin_; c < end_; c++) {
            const uint32_t op = *c & 15, n = *c >> 4;
            visit(op, n, query, reference);
            if (!skips_reference(op)) query += n;
            if (op == kCigarM || skips_reference(op)) reference += n;
        }
    }

    Bases bases_;
    const RecordsView& records_;
    const uint32_t *begin_ = nullptr, *end_ = nullptr;
};

}  // namespace gpualign
