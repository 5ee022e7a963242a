// The edit distance of two texts that a caller has one at a time: no sets, no lanes, no memory but for the profile.
//
// Symbols that both ends have in common go first. Short texts take one word of Myers' bit vectors (1999, in Hyyrö's
// 2003 notation and the usual layout: a single word has no carries that striped rows would save), longer ones several,
// few errors O(ND) (align/matrix/reached_rows.hpp), and long texts all lanes (align/matrix/long_pair.hpp).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "align/matrix/long_pair.hpp"
#include "align/matrix/reached_rows.hpp"

namespace gpualign {
namespace distances {

template <class Symbol> class TextPair {
public:
    static constexpr int64_t kNone = -1;  // beyond the limit

    // Returns the distance of a text of n symbols and one of m, or kNone beyond `limit`.
    template <class Check>
    static int64_t distance(const Symbol* a, int64_t n, const Symbol* b, int64_t m, int64_t limit, Check check) {
        if (n > m) return distance(b, m, a, n, limit, check);
        if (m - n > limit) return kNone;
        for (; n && *a == *b; a++, b++) n--, m--;
        for (; n && a[n - 1] == b[m - 1]; n--) m--;
        if (n == 0) return m;
        limit = std::min(limit, m);
        if (limit == 0) return kNone;
        if (n <= 64) return in_a_word(a, n, b, m, limit);
        const int64_t words = std::min((n + 63) / 64, limit / 32 + 2);  // of a column within the limit
        if (limit <= m / kErrors && limit * limit * kErrors <= m * words)
            return ReachedRows<Symbol>(a, n, b, m).run(int32_t(limit));
        if (n <= kInWords) return in_words(a, n, b, m, limit);
        size_t symbols = 256;
        if (sizeof(Symbol) > 1) {
            symbols = size_t(std::max(*std::max_element(a, a + n), *std::max_element(b, b + m))) + 1;
        }
        return LongPair<Symbol>(symbols).run(a, n, b, m, limit, check);
    }

private:
    static constexpr int64_t kErrors = 8;      // steps of O(ND) that take longer than a word of a column, about
    static constexpr int64_t kInWords = 1024;  // symbols beyond which lanes are faster

    // Rows of each symbol, `words` of bits: a table of bytes, or one of the symbols that occur, found by their hash.
    class Profile {
    public:
        Profile(const Symbol* text, int64_t n, int64_t words) : words_(words) {
            if (kBytes) {
                rows_.assign(size_t(256 * words), 0);
            } else {
                while (int64_t(mask_) < 2 * n) mask_ = 2 * mask_ + 1;
                places_.assign(mask_ + 1, {0, 0});
                rows_.assign(size_t((n + 1) * words), 0);  // the first rows are of symbols that do not occur
            }
            for (int64_t i = 0; i < n; i++)
                rows_[size_t(row(text[i], true) * words + i / 64)] |= uint64_t(1) << (i % 64);
        }
        const uint64_t* operator[](Symbol symbol) { return rows_.data() + row(symbol, false) * words_; }

    private:
        static constexpr bool kBytes = sizeof(Symbol) == 1;
        struct Place {
            Symbol symbol;
            uint32_t row;  // 0: free
        };

        int64_t row(Symbol symbol, bool add) {
            if (kBytes) return int64_t(symbol);
            size_t at = (size_t(symbol) * 0x9e3779b1u) & mask_;
            while (places_[at].row && places_[at].symbol != symbol) at = (at + 1) & mask_;
            if (!places_[at].row && add) places_[at] = {symbol, ++used_};
            return places_[at].row;
        }

        int64_t words_;
        size_t mask_ = 63;
        uint32_t used_ = 0;
        std::vector<Place> places_;
        std::vector<uint64_t> rows_;
    };

    // Rows of at most 64 symbols of bytes, without memory of the heap.
    struct ByteProfile {
        uint64_t rows[256] = {};

        ByteProfile(const Symbol* text, int64_t n) {
            for (int64_t i = 0; i < n; i++) rows[uint8_t(text[i])] |= uint64_t(1) << i;
        }
        const uint64_t* operator[](Symbol symbol) const { return rows + uint8_t(symbol); }
    };

    static int64_t in_a_word(const Symbol* a, int64_t n, const Symbol* b, int64_t m, int64_t limit) {
        if constexpr (sizeof(Symbol) == 1) return along(ByteProfile(a, n), n, b, m, limit);
        else return along(Profile(a, n, 1), n, b, m, limit);
    }

    template <class Rows> static int64_t along(Rows&& rows, int64_t n, const Symbol* b, int64_t m, int64_t limit) {
        uint64_t vp = ~uint64_t(0), vn = 0;
        const uint64_t last = uint64_t(1) << (n - 1);
        int64_t score = n;
        for (int64_t j = 0; j < m; j++) {
            const uint64_t eq = *rows[b[j]], d0 = (((eq & vp) + vp) ^ vp) | eq | vn;
            uint64_t hp = vn | ~(d0 | vp);
            const uint64_t hn = d0 & vp;
            score += int64_t((hp & last) != 0) - int64_t((hn & last) != 0);
            if (score - (m - 1 - j) > limit) return kNone;  // each further column takes at most one off
            hp = hp << 1 | 1;
            vp = hn << 1 | ~(d0 | hp);
            vn = hp & d0;
        }
        return score <= limit ? score : kNone;
    }

    // Only words with rows from j - limit to j + limit matter in column j (Ukkonen 1985). Above and below them columns
    // are taken to rise by one, which only makes values too large.
    static int64_t in_words(const Symbol* a, int64_t n, const Symbol* b, int64_t m, int64_t limit) {
        const int64_t words = (n + 63) / 64;
        const auto rows_of = [&](int64_t w) { return w + 1 < words ? 64 : n - 64 * w; };
        Profile rows(a, n, words);
        uint64_t vp[kInWords / 64], vn[kInWords / 64] = {};
        std::fill(vp, vp + words, ~uint64_t(0));
        int64_t end = std::min(words, (limit + 63) / 64),
                score = std::min(n, 64 * end);  // of the last row before `end`
        for (int64_t j = 0; j < m; j++) {
            const uint64_t* eqs = rows[b[j]];
            uint64_t above_p = 1, above_n = 0, hp = 0, hn = 0;
            if (end < words && 64 * end <= j + limit) score += rows_of(end++);
            for (int64_t w = std::max<int64_t>(0, (j - limit) / 64); w < end; w++) {
                const uint64_t eq = eqs[w] | above_n, d0 = (((eq & vp[w]) + vp[w]) ^ vp[w]) | eq | vn[w];
                hp = vn[w] | ~(d0 | vp[w]);
                hn = d0 & vp[w];
                const uint64_t shifted_p = hp << 1 | above_p, shifted_n = hn << 1 | above_n;
                above_p = hp >> 63;
                above_n = hn >> 63;
                vp[w] = shifted_n | ~(d0 | shifted_p);
                vn[w] = shifted_p & d0;
            }
            const int64_t last = rows_of(end - 1) - 1;
            score += int64_t(hp >> last & 1) - int64_t(hn >> last & 1);
            if (end == words && score - (m - 1 - j) > limit) return kNone;
        }
        return score <= limit ? score : kNone;
    }
};

// A text of Python: bytes, or str by code points, which is ASCII in most cases and then not copied.
class PythonText {
public:
    explicit PythonText(PyObject* object) {
        if (PyBytes_Check(object)) {
            narrow_ = reinterpret_cast<const uint8_t*>(PyBytes_AsString(object)), length_ = PyBytes_Size(object);
            return;
        }
        if (!PyUnicode_Check(object)) throw nb::type_error("texts are str or bytes");
        length_ = PyUnicode_GetLength(object);
        Py_ssize_t bytes = 0;
        const char* text = PyUnicode_AsUTF8AndSize(object, &bytes);
        if (text && bytes == length_) {
            narrow_ = reinterpret_cast<const uint8_t*>(text);
            return;
        }
        if (!text) PyErr_Clear();  // it has surrogates
        wide_ = PyUnicode_AsUCS4Copy(object);
        if (!wide_) throw nb::python_error();
    }
    PythonText(const PythonText&) = delete;
    ~PythonText() {
        if (wide_) PyMem_Free(wide_);
    }

    int64_t length() const { return length_; }
    const uint8_t* narrow() const { return narrow_; }  // null if it is wide
    // The symbols as code points, in `copy` if need be.
    const uint32_t* wide(std::vector<uint32_t>& copy) const {
        if (wide_) return wide_;
        copy.assign(narrow_, narrow_ + length_);
        return copy.data();
    }

private:
    const uint8_t* narrow_ = nullptr;
    Py_UCS4* wide_ = nullptr;
    Py_ssize_t length_ = 0;
};

// The distance of two texts, or kNone beyond `limit`; a negative one is none.
inline int64_t distance_of(const PythonText& first, const PythonText& second, int64_t limit) {
    if (limit < 0) limit = INT64_MAX;
    constexpr int64_t kQuick = 1 << 20;  // cells for which the GIL is kept
    const auto run = [&](const auto* x, const auto* y, auto check) {
        using Symbol = std::remove_const_t<std::remove_pointer_t<decltype(x)>>;
        return TextPair<Symbol>::distance(x, first.length(), y, second.length(), limit, check);
    };
    const auto of_symbols = [&](auto check) {
        if (first.narrow() && second.narrow()) return run(first.narrow(), second.narrow(), check);
        std::vector<uint32_t> copies[2];
        return run(first.wide(copies[0]), second.wide(copies[1]), check);
    };
    if (first.length() * second.length() <= kQuick) return of_symbols([] {});
    nb::gil_scoped_release release;
    return of_symbols([] {
        nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals()) throw nb::python_error();
    });
}

inline int64_t text_distance(nb::handle a, nb::handle b, int64_t limit) {
    return distance_of(PythonText(a.ptr()), PythonText(b.ptr()), limit);
}

// The longer length less the distance; 0 if it is below the cutoff.
inline int64_t text_similarity(nb::handle a, nb::handle b, int64_t cutoff) {
    const PythonText first(a.ptr()), second(b.ptr());
    const int64_t longer = std::max(first.length(), second.length());
    if (cutoff > longer) return 0;
    const int64_t found = distance_of(first, second, longer - std::max<int64_t>(cutoff, 0));
    return found < 0 ? 0 : longer - found;
}

// The distance as a share of the longer length, or 1 less that; 1 or 0 beyond the cutoff.
inline double text_share(nb::handle a, nb::handle b, double cutoff, bool similar) {
    const PythonText first(a.ptr()), second(b.ptr());
    const int64_t longer = std::max(first.length(), second.length());
    const double most = std::clamp(similar ? 1 - cutoff : cutoff, 0.0, 1.0);
    const int64_t found = distance_of(first, second, int64_t(std::ceil(most * double(longer))));
    const double share = found < 0 ? 1.0 : longer ? double(found) / double(longer) : 0.0;
    if (similar) return found < 0 || 1 - share < cutoff ? 0.0 : 1 - share;
    return share <= cutoff ? share : 1.0;
}

}  // namespace distances
}  // namespace gpualign
