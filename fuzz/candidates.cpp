// libFuzzer on the parser of candidate lines: no read outside the text, columns of one length, intervals in order, and
// a group border that lies at the start of a line.
//
// The first byte chooses TSV, BED or PAF.
#include "verify/candidate_text.hpp"

#include "../tests/native/candidate_columns.hpp"

#include <cstdlib>
#include <memory>

using namespace gpualign;

namespace {

void expect(bool holds) {
    if (!holds) abort();
}

struct Names {
    int32_t find(std::string_view name) const {
        return name.size() == 1 && name[0] >= 'a' && name[0] <= 'd' ? name[0] - 'a' : -1;
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 1) return 0;
    const char kind = "tbp"[data[0] % 3];
    const size_t length = size - 1;
    const std::unique_ptr<char[]> copy(new char[length]);
    std::memcpy(copy.get(), data + 1, length);
    const char* begin = copy.get();
    CandidateColumns out;
    try {
        parse_candidates(std::string_view(begin, length), kind, Names(), Names(), out);
    } catch (const std::invalid_argument& error) {
        expect(std::strchr(error.what(), '\t') && std::atol(error.what()) >= 0);
    }
    const size_t n = out.strand.size();
    expect(out.query.size() == n && out.target.size() == n && out.begin.size() == n && out.end.size() == n);
    expect(out.before.size() == n && out.after.size() == n);
    for (size_t i = 0; i < n; i++) {
        expect(out.query[i] >= 0 && out.target[i] >= 0 && out.strand[i] <= 2);
        expect(0 <= out.begin[i] && out.begin[i] <= out.end[i] + 1 && out.before[i] >= 0 && out.after[i] >= 0);
    }
    for (int column : {0, 3}) {
        const int64_t border = last_group_border(begin, begin + length, column);
        expect(border >= 0 && size_t(border) <= length && (border == 0 || begin[border - 1] == '\n'));
    }
    return 0;
}
