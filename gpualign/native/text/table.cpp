// Formats columns of numbers and names as tab-separated lines.
#include <nanobind/stl/vector.h>
#include <cmath>
#include <cstdio>
#include <string>

#include "arrays.hpp"
#include "bindings.hpp"
#include "text/text.hpp"

namespace gpualign {
namespace {

struct Column {
    enum Kind { text, integer, fixed, percent, cigar } kind;
    std::string prefix;  // written before each value, such as NM:i:
    const uint8_t* bytes = nullptr;
    const int64_t* offsets = nullptr;
    const int64_t* integers = nullptr;
    const int64_t* wholes = nullptr;
    const double* reals = nullptr;
    const uint32_t* operations = nullptr;
    int decimals = 0;
};

void append_decimal(std::string& out, int64_t scaled, int64_t unit, int decimals) {
    append_number(out, scaled / unit);
    if (decimals == 0) return;
    std::string digits;
    append_number(digits, scaled % unit);
    out += '.';
    out.append(size_t(decimals) - digits.size(), '0');
    out += digits;
}

void append_fixed(std::string& out, double value, int decimals) {
    // half up on a decimal grid, independent of the C library
    int64_t unit = 1;
    for (int d = 0; d < decimals; d++) unit *= 10;
    const int64_t scaled = int64_t(std::floor(std::fabs(value) * double(unit) + 0.5));
    if (value < 0 && scaled > 0) out += '-';
    append_decimal(out, scaled, unit, decimals);
}

// Rounds like Python and C: to the nearest hundredth of the exact value, ties to even.
void append_percent(std::string& out, int64_t part, int64_t whole) {
    if (whole == 0) {
        out += '*';
        return;
    }
    const double value = 100.0 * double(part) / double(whole), product = value * 100.0;
    const double lost = std::fma(value, 100.0, -product), below = std::floor(product), over = product - below - 0.5;
    const bool up = over > 0 || (over == 0 && (lost > 0 || (lost == 0 && std::fmod(below, 2.0) != 0)));
    append_decimal(out, int64_t(below) + up, 100, 2);
}

void append(std::string& out, const Column& column, int64_t row) {
    out += column.prefix;
    switch (column.kind) {
        case Column::text: {
            const int64_t i = column.integers[row];
            out.append(reinterpret_cast<const char*>(column.bytes) + column.offsets[i],
                size_t(column.offsets[i + 1] - column.offsets[i]));
            break;
        }
        case Column::integer: append_number(out, column.integers[row]); break;
        case Column::fixed: append_fixed(out, column.reals[row], column.decimals); break;
        case Column::percent: append_percent(out, column.integers[row], column.wholes[row]); break;
        case Column::cigar: {
            const int64_t begin = column.offsets[row], end = column.offsets[row + 1];
            if (begin == end) out += '*';
            for (int64_t o = begin; o < end; o++) {
                append_number(out, column.operations[o] >> 4);
                out += "MIDNSHP=X"[column.operations[o] & 15];
            }
        }
    }
}

// A column is (kind, prefix, arrays…): ("text", prefix, bytes, offsets, index), ("integer", prefix, values),
// ("fixed", prefix, values, decimals), ("percent", prefix, parts, wholes), ("cigar", prefix, operations, offsets).
Column read_column(const Arrays& fields, std::vector<nb::object>& owners) {
    const std::string kind = nb::cast<std::string>(fields[0]);
    Column column{};
    column.prefix = nb::cast<std::string>(fields[1]);
    for (size_t f = 2; f < fields.size(); f++) owners.push_back(nb::cast<nb::object>(fields[f]));
    if (kind == "text") {
        column.kind = Column::text;
        column.bytes = nb::cast<Input<uint8_t>>(fields[2]).data();
        column.offsets = nb::cast<Input<int64_t>>(fields[3]).data();
        column.integers = nb::cast<Input<int64_t>>(fields[4]).data();
    } else if (kind == "integer") {
        column.kind = Column::integer;
        column.integers = nb::cast<Input<int64_t>>(fields[2]).data();
    } else if (kind == "fixed") {
        column.kind = Column::fixed;
        column.reals = nb::cast<Input<double>>(fields[2]).data();
        column.decimals = nb::cast<int>(fields[3]);
    } else if (kind == "percent") {
        column.kind = Column::percent;
        column.integers = nb::cast<Input<int64_t>>(fields[2]).data();
        column.wholes = nb::cast<Input<int64_t>>(fields[3]).data();
    } else if (kind == "cigar") {
        column.kind = Column::cigar;
        column.operations = nb::cast<Input<uint32_t>>(fields[2]).data();
        column.offsets = nb::cast<Input<int64_t>>(fields[3]).data();
    } else {
        throw nb::value_error("unknown kind of column");
    }
    return column;
}

nb::bytes format_table(const std::vector<Arrays>& columns, int64_t rows) {
    std::vector<Column> read;
    std::vector<nb::object> owners;
    for (const Arrays& fields : columns) read.push_back(read_column(fields, owners));
    std::string out;
    {
        nb::gil_scoped_release release;
        for (int64_t row = 0; row < rows; row++) {
            for (size_t c = 0; c < read.size(); c++) {
                if (c) out += '\t';
                append(out, read[c], row);
            }
            out += '\n';
        }
    }
    return nb::bytes(out.data(), out.size());
}

}  // namespace

void bind_table(nb::module_& m) {
    m.def("format_table", &format_table, nb::arg("columns"), nb::arg("rows"),
        "Tab-separated lines of `rows` rows; a column is a tuple (kind, prefix, arrays...), see gpualign.text.table.");
}

}  // namespace gpualign
