// The output formats for Python, as methods of a class `Call`: by blocks of queries, from any thread.
#pragma once
#include <functional>

#include "arrays.hpp"
#include "align/matrix/results.hpp"
#include "stop.hpp"

namespace gpualign {
namespace distances {

using Matrix = nb::ndarray<int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

inline void check_order(const Input<int32_t>& order, int64_t count) {
    if (int64_t(order.size()) != count) throw nb::value_error("arrays of unequal length");
    for (size_t i = 0; i < order.size(); i++)
        if (order.data()[i] < 0 || order.data()[i] >= count) throw nb::value_error("there is no such sequence");
}

// Ends a call early: after stop(), a signal, or at the end of the program.
class Stopping {
public:
    void stop() const { asked_ = true; }
    void check() const {
        static thread_local StopAsked signals;
        if (asked_.load(std::memory_order_relaxed) || signals()) throw Stopped();
    }

private:
    mutable std::atomic<bool> asked_{false};
};

// Receives (row, lane, query, block): values of the query order[first + row]. A function of its own, so that what
// computes them is compiled once and not for each output.
using Put = std::function<void(int64_t, int64_t, int32_t, const Block&)>;

template <class Call> void run_call(const Call& call, int64_t first, int64_t last, bool half, const Put& put) {
    if (first < 0 || first > last || last > call.queries.count) throw nb::value_error("there are no such queries");
    try {
        nb::gil_scoped_release release;
        call.run(first, last, half, put);
    } catch (const Stopped&) {
        if (PyErr_Occurred()) throw nb::python_error();
        throw;
    }
}

// Call::run(first, last, half, put) calls put with the values of the queries order[first, last); `half`: each pair of a
// set with itself once, if symmetric().
template <class Call> void bind_outputs(nb::class_<Call>& type) {
    type.def("stop", [](const Call& call) { call.stop(); }, "End what other threads compute, with an exception.");
    type.def(
        "dense",
        [](const Call& call, int64_t first, int64_t last, Matrix out) {
            if (out.shape(0) != size_t(call.queries.count) || out.shape(1) != size_t(call.targets.count))
                throw nb::value_error("out has another shape");
            const Dense dense{out.data(), call.targets.count, call.symmetric()};
            run_call(call, first, last, call.symmetric(),
                [&](int64_t, int64_t lane, int32_t query, const Block& block) { dense.take(lane, query, block); });
        },
        nb::arg("first"), nb::arg("last"), nb::arg("out"));
    type.def(
        "nearest",
        [](const Call& call, int64_t first, int64_t last, Matrix out_targets, Matrix out_values) {
            const size_t maximum = out_targets.shape(1);
            if (out_targets.shape(0) != size_t(call.queries.count) || out_values.shape(0) != out_targets.shape(0) ||
                out_values.shape(1) != maximum)
                throw nb::value_error("out has another shape");
            std::vector<Best> best(size_t(std::max<int64_t>(0, last - first)), Best(maximum));
            run_call(call, first, last, false, [&](int64_t row, int64_t lane, int32_t query, const Block& block) {
                best[size_t(row)].take(lane, call.with_itself ? query : -1, block, Call::kLargest);
            });
            for (size_t row = 0; row < best.size(); row++) {
                const size_t at = size_t(call.order(first + int64_t(row))) * maximum;
                best[row].write(out_targets.data() + at, out_values.data() + at, Call::kLargest);
            }
        },
        nb::arg("first"), nb::arg("last"), nb::arg("out_targets"), nb::arg("out_values"));
    type.def(
        "within",
        [](const Call& call, int64_t first, int64_t last) {
            Pairs pairs;
            run_call(
                call, first, last, call.symmetric(), [&](int64_t, int64_t lane, int32_t query, const Block& block) {
                    pairs.take(lane, query, block, call.symmetric(),
                        [&](int32_t target) { return call.skips(query, target); });
                });
            return tuple_of(
                to_numpy(std::move(pairs.query)), to_numpy(std::move(pairs.target)), to_numpy(std::move(pairs.value)));
        },
        nb::arg("first"), nb::arg("last"));
}

}  // namespace distances
}  // namespace gpualign
