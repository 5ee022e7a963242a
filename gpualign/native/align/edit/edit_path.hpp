// An optimal global alignment of two short-distance sequences by furthest-reaching points.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace gpualign {

// Wave e holds, for each diagonal (target minus query position) -e..e, the furthest query position that e errors reach
// (Ukkonen 1985; Myers 1986), so time and memory grow with the square of the distance and not with the lengths.
// Among predecessors of equal distance a mismatch is preferred to a deletion, and that to an insertion.
class EditPath {
public:
    // CIGAR in the sense of SAM (I consumes the query) with '=' and 'X'. Codes of 4 and above match nothing.
    // The distance must be known to be at most `maximum`; returns false where it is not.
    bool align(const uint8_t* query, int64_t m, const uint8_t* target, int64_t n, int32_t maximum, std::string& cigar) {
        query_ = query, target_ = target, m_ = m, n_ = n;
        waves_.clear();
        int32_t errors = 0;
        for (;; errors++) {
            if (errors > maximum) return false;
            extend(errors);
            const int64_t last = n - m;
            if (last >= -errors && last <= errors && at(errors, last) >= m) break;
        }
        trace(errors, cigar);
        return true;
    }

private:
    static constexpr int64_t kUnreached = -(int64_t(1) << 40);  // stays negative whatever is added on the way

    // Wave e starts at e * e: its predecessors hold 1 + 3 + ... + (2e - 1) diagonals.
    int32_t& cell(int32_t e, int64_t diagonal) { return waves_[size_t(int64_t(e) * e + diagonal + e)]; }
    int64_t at(int32_t e, int64_t diagonal) {
        if (e < 0 || diagonal < -e || diagonal > e) return kUnreached;
        const int32_t row = cell(e, diagonal);
        return row < 0 ? kUnreached : row;
    }

    int64_t slide(int64_t row, int64_t diagonal) const {
        while (row < m_ && row + diagonal < n_ && query_[row] == target_[row + diagonal] && query_[row] < 4) row++;
        return row;
    }

    // Furthest start on a diagonal after the e-th error; also which error it was.
    int64_t enter(int32_t e, int64_t diagonal, char& operation) {
        int64_t best = kUnreached;
        const auto offer = [&](int64_t row, char op) {
            if (row > best && row >= 0 && row <= m_ && row + diagonal >= 0 && row + diagonal <= n_)
                best = row, operation = op;
        };
        offer(at(e - 1, diagonal) + 1, 'X');
        offer(at(e - 1, diagonal - 1), 'D');
        offer(at(e - 1, diagonal + 1) + 1, 'I');
        return best;
    }

    void extend(int32_t e) {
        waves_.resize(size_t(int64_t(e + 1) * (e + 1)), -1);
        for (int64_t diagonal = -e; diagonal <= e; diagonal++) {
            char operation = 0;
            const int64_t row = e == 0 ? 0 : enter(e, diagonal, operation);
            cell(e, diagonal) = row < 0 ? -1 : int32_t(slide(row, diagonal));
        }
    }

    void trace(int32_t e, std::string& cigar) {
        runs_.clear();
        int64_t row = m_, diagonal = n_ - m_;
        for (; e > 0; e--) {
            char operation = 0;
            const int64_t entered = enter(e, diagonal, operation);
            push('=', row - entered);
            push(operation, 1);
            row = entered - (operation != 'D');
            diagonal += operation == 'D' ? -1 : operation == 'I' ? 1 : 0;
        }
        push('=', row);
        cigar.clear();
        for (size_t i = runs_.size(); i-- > 0;) cigar += std::to_string(runs_[i].length) + runs_[i].operation;
    }

    void push(char operation, int64_t length) {
        if (length == 0) return;
        if (!runs_.empty() && runs_.back().operation == operation) runs_.back().length += length;
        else runs_.push_back({operation, length});
    }

    struct Run {
        char operation;
        int64_t length;
    };

    const uint8_t* query_ = nullptr;
    const uint8_t* target_ = nullptr;
    int64_t m_ = 0, n_ = 0;
    std::vector<int32_t> waves_;
    std::vector<Run> runs_;
};

}  // namespace gpualign
