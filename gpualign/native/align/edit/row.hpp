// A line of the table of `verify`. A core writes 14 million of them a second, more than a file takes, and a device
// would have to send five times the bytes of its results: so the host writes them.
#pragma once
#include <cstdint>
#include <string_view>

namespace gpualign {

struct VerifyRow {
    std::string_view query, target;  // their names
    int64_t length;          // of the query
    int64_t first, columns;  // of the aligned region, counted from the target's start
    int32_t distance;        // -1: beyond the limit
    bool reverse;
};

// Percent with two decimals, rounded half up in integers.
template <class Out> void put_identity(Out& out, int64_t distance, int64_t length) {
    const int64_t hundredths = length == 0 ? 10000 : (20000 * (length - distance) + length) / (2 * length);
    out.number(hundredths / 100);
    out.put('.');
    out.put(char('0' + hundredths / 10 % 10));
    out.put(char('0' + hundredths % 10));
}

// All but what follows the identity, and the end of the line.
template <class Out> void put_verify_row(Out& out, const VerifyRow& row) {
    out.put(row.query.data(), row.query.size());
    out.put('\t');
    out.put(row.target.data(), row.target.size());
    out.put('\t');
    out.put(row.reverse ? '-' : '+');
    if (row.distance < 0) {
        out.put("\t*\t*\t");
        out.number(row.length);
        out.put("\t-1\t*");
        return;
    }
    out.put('\t');
    out.number(row.first + 1);
    out.put('\t');
    out.number(row.first + row.columns);
    out.put('\t');
    out.number(row.length);
    out.put('\t');
    out.number(row.distance);
    out.put('\t');
    put_identity(out, row.distance, row.length > row.columns ? row.length : row.columns);
}

}  // namespace gpualign
