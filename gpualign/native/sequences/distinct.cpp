// Bindings that find equal sequences, and sequences that others begin with.
#include <algorithm>
#include <deque>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>

#include "arrays.hpp"
#include "bindings.hpp"

namespace gpualign {
namespace {

char complement(char base) {
    constexpr std::string_view bases = "ACGTRYSWKMBDHVN", others = "TGCAYRSWMKVHDBN";
    const size_t at = bases.find(base);
    return at == bases.npos ? base : others[at];
}

std::string_view text_of(const Input<uint8_t>& text, const Input<int64_t>& offsets, size_t i) {
    return {reinterpret_cast<const char*>(text.data()) + offsets.data()[i],
        size_t(offsets.data()[i + 1] - offsets.data()[i])};
}

// The different ones of sequences that come in batches, in the order in which they are met.
class DistinctSequences {
public:
    explicit DistinctSequences(bool both_strands) : both_strands_(both_strands) {}

    size_t size() const { return sequences_.size(); }

    auto add(Input<uint8_t> bases, Input<int64_t> offsets) {
        std::vector<int32_t> number(offsets.size() - 1);
        std::vector<uint8_t> minus(number.size());
        {
            nb::gil_scoped_release release;
            std::string other;
            for (size_t i = 0; i < number.size(); i++) {
                const std::string_view sequence = text_of(bases, offsets, i);
                auto found = numbers_.find(sequence);
                if (found == numbers_.end() && both_strands_) {
                    other.resize(sequence.size());
                    std::transform(sequence.rbegin(), sequence.rend(), other.begin(), complement);
                    found = numbers_.find(other);
                    minus[i] = found != numbers_.end();
                }
                if (found == numbers_.end()) {
                    sequences_.emplace_back(sequence);
                    found = numbers_.emplace(sequences_.back(), int32_t(sequences_.size() - 1)).first;
                }
                number[i] = found->second;
            }
        }
        return tuple_of(to_numpy(std::move(number)), to_numpy(std::move(minus)));
    }

    auto texts() const {
        std::vector<uint8_t> text;
        std::vector<int64_t> offsets{0};
        for (const std::string& sequence : sequences_) {
            text.insert(text.end(), sequence.begin(), sequence.end());
            offsets.push_back(int64_t(text.size()));
        }
        return tuple_of(to_numpy(std::move(text)), to_numpy(std::move(offsets)));
    }

private:
    bool both_strands_;
    std::deque<std::string> sequences_;  // which do not move
    std::unordered_map<std::string_view, int32_t> numbers_;
};

// For each of different sequences the longest other one that it begins with, or -1.
auto longest_prefixes(Input<uint8_t> text, Input<int64_t> offsets) {
    std::vector<int64_t> order(offsets.size() - 1), prefix(order.size(), -1);
    {
        nb::gil_scoped_release release;
        std::iota(order.begin(), order.end(), 0);
        const auto sequence = [&](int64_t i) { return text_of(text, offsets, size_t(i)); };
        std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return sequence(a) < sequence(b); });
        std::vector<int64_t> beginnings;  // of the last sequence, the longest last
        for (const int64_t i : order) {
            const auto begins = [&](std::string_view with) { return sequence(i).substr(0, with.size()) == with; };
            while (!beginnings.empty() && !begins(sequence(beginnings.back()))) beginnings.pop_back();
            if (!beginnings.empty()) prefix[size_t(i)] = beginnings.back();
            beginnings.push_back(i);
        }
    }
    return to_numpy(std::move(prefix));
}

}  // namespace

void bind_distinct(nb::module_& m) {
    nb::class_<DistinctSequences>(m, "DistinctSequences")
        .def(nb::init<bool>(), nb::arg("both_strands"), "None yet. both_strands: reverse complements are equal.")
        .def("__len__", &DistinctSequences::size)
        .def("add", &DistinctSequences::add, nb::arg("bases"), nb::arg("offsets"),
            "Which of the distinct sequences each is, int32 (n,), and whether the other strand is equal, uint8 (n,).")
        .def("texts", &DistinctSequences::texts, "All of them in the order in which they were met: (uint8, offsets).");
    m.def("longest_prefixes", &longest_prefixes, nb::arg("text"), nb::arg("offsets"),
        "int64 (n,): for each of different sequences the longest other one that it begins with, or -1.");
}

}  // namespace gpualign
