// Candidates in columns, as parse_candidates() of verify/candidate_text.hpp adds them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace gpualign {

struct CandidateColumns {
    std::vector<int32_t> query, target;
    std::vector<int64_t> begin, end;
    std::vector<int32_t> before, after;  // query bases outside the aligned part (PAF), on the target's strand
    std::vector<uint8_t> strand;

    void add(int32_t q, int32_t t, int64_t from, int64_t to, int64_t lead, int64_t trail, uint8_t sign) {
        query.push_back(q);
        target.push_back(t);
        begin.push_back(from);
        end.push_back(to);
        before.push_back(int32_t(std::min<int64_t>(lead, INT32_MAX)));
        after.push_back(int32_t(std::min<int64_t>(trail, INT32_MAX)));
        strand.push_back(sign);
    }
    void reserve(size_t lines) {
        for (std::vector<int32_t>* column : {&query, &target, &before, &after}) column->reserve(lines);
        begin.reserve(lines);
        end.reserve(lines);
        strand.reserve(lines);
    }
};

}  // namespace gpualign
