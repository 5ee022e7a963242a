// Bindings of `sintax`.
#include <numeric>

#include "arrays.hpp"
#include "bindings.hpp"
#include "common/parallel_for.hpp"
#include "sintax/classifier.hpp"

namespace gpualign {
namespace sintax {
namespace {

const char* text_of(const Input<uint8_t>& bases) { return reinterpret_cast<const char*>(bases.data()); }

// Numbers of sequences, the shortest first, of equal ones the first.
std::vector<int32_t> by_length(const Input<int64_t>& offsets) {
    std::vector<int32_t> order(offsets.size() - 1);
    std::iota(order.begin(), order.end(), 0);
    const auto length = [&](int32_t i) { return offsets.data()[i + 1] - offsets.data()[i]; };
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return length(a) < length(b); });
    return order;
}

class Classifier {
public:
    Classifier(Input<uint8_t> bases, Input<int64_t> offsets, Input<int32_t> names)
        : index_(text_of(bases), offsets.data(), by_length(offsets)), names_(names) {
        if (names.size() != (offsets.size() - 1) * ranks) throw nb::value_error("arrays of unequal length");
    }

    int64_t bytes() const { return index_.bytes(); }

    auto classify(Input<uint8_t> bases, Input<int64_t> offsets, bool both, int threads) const {
        const size_t count = offsets.size() - 1;
        std::vector<int32_t> names(count * ranks), agree(count * ranks), successful(count);
        std::vector<uint8_t> minus(count);
        {
            nb::gil_scoped_release release;
            parallel_for(threads, count, [&](size_t i, int) {
                const std::string_view sequence(
                    text_of(bases) + offsets.data()[i], size_t(offsets.data()[i + 1] - offsets.data()[i]));
                const Classified found = classified(sequence, both);
                std::copy(found.name.begin(), found.name.end(), names.begin() + ptrdiff_t(i * ranks));
                std::copy(found.count.begin(), found.count.end(), agree.begin() + ptrdiff_t(i * ranks));
                successful[i] = found.successful, minus[i] = found.minus;
            });
        }
        return tuple_of(to_numpy(std::move(names)), to_numpy(std::move(agree)), to_numpy(std::move(successful)),
            to_numpy(std::move(minus)));
    }

private:
    Classified classified(std::string_view sequence, bool both) const {
        Strand plus(index_, sequence, false);
        Classified result;
        std::array<Best, bootstraps> best;
        if (!both) {
            best = plus.classify();
        } else {  // the strand with the highest count, else with more bootstraps; one may not need to be counted
            Strand minus(index_, sequence, true);
            const auto rank = [](const auto& of) {
                std::pair<uint32_t, int> highest{0, 0};
                for (const Best& each : of)
                    if (each.place >= 0) highest.first = std::max(highest.first, each.count), highest.second++;
                return highest;
            };
            result.minus = minus.most() > plus.most();
            best = (result.minus ? minus : plus).classify();
            Strand& other = result.minus ? plus : minus;
            if (other.most() >= rank(best).first) {
                const auto of_other = other.classify();
                if (result.minus ? rank(of_other) >= rank(best) : rank(of_other) > rank(best))
                    best = of_other, result.minus = !result.minus;
            }
        }
        vote(index_, best, names_.data(), result);
        return result;
    }

    WordRows index_;
    Input<int32_t> names_;
};

}  // namespace
}  // namespace sintax

void bind_sintax(nb::module_& m) {
    using sintax::Classifier;
    nb::class_<Classifier>(m, "SintaxClassifier")
        .def(nb::init<Input<uint8_t>, Input<int64_t>, Input<int32_t>>(), nb::arg("bases"), nb::arg("offsets"),
            nb::arg("names"), "References, and the numbers of their names at each of nine ranks (0: none).")
        .def_prop_ro("size_bytes", &Classifier::bytes, "Memory of the index.")
        .def("classify", &Classifier::classify, nb::arg("bases"), nb::arg("offsets"), nb::arg("both"),
            nb::arg("threads"),
            "Of each query: numbers of names by rank and how many bootstraps agree, int32 (9 n,) each; bootstraps that "
            "found a reference, int32 (n,); whether the other strand is nearer, uint8 (n,).");
}

}  // namespace gpualign
