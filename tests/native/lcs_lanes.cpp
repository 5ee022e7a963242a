// cuda/algo/align/lcs/trace.hpp on 32 lanes without a GPU: each lane is a context of its own, and all of them wait for
// each other wherever a warp's lanes exchange something.
//
// Reads lines of a query and a subject (symbols; "-" for none) and writes the subsequence found for each.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "algo/align/lcs/trace.hpp"
#include "fibers.hpp"

namespace {

using namespace gpualign;

constexpr uint32_t lanes = 32;

ucontext_t outside;
Fiber fibers[lanes];
uint32_t running, turns[lanes];
uint64_t slots[2][lanes];  // of this exchange and of the next, which some lanes have reached

// All lanes give a value; a lane goes on when every other one has given its own.
const uint64_t* exchanged(uint64_t value) {
    const uint32_t me = running, next = (me + 1) % lanes, turn = turns[me]++ % 2;
    slots[turn][me] = value;
    running = next;
    fibers[me].turn_to(fibers[next]);
    running = me;
    return slots[turn];
}

struct Lanes {
    static constexpr uint32_t kLanes = lanes;

    uint32_t lane() const { return running; }
    void sync() const { exchanged(0); }
    uint32_t ballot(bool predicate) const {
        const uint64_t* said = exchanged(predicate);
        uint32_t bits = 0;
        for (uint32_t i = 0; i < lanes; i++) bits |= uint32_t(said[i]) << i;
        return bits;
    }
    uint32_t before(uint32_t mask) const { return count_bits(mask & ((1u << running) - 1)); }
    template <class T> T from(T value, uint32_t source) const { return T(exchanged(value)[source]); }
    template <class T> T from_before(T value, T first) const {
        const uint64_t* values = exchanged(value);
        return running == 0 ? first : T(values[running - 1]);
    }
};

LcsTraceTask task;
std::vector<uint8_t> text;
uint32_t lengths[lanes];

void one_lane() {
    const Lanes group;
    lengths[running] = LcsTracer<Lanes>(group, task).trace(text.data(), uint32_t(text.size()));
    exchanged(0);  // the others end first
}

std::string trace(const std::string& query, const std::string& subject) {
    constexpr uint32_t symbols = 4;
    const auto tiles = uint32_t(lanes * ((query.size() + 4095) / 4096));
    const size_t blocks = (subject.size() + 31) / 32;
    std::vector<LcsFour> masks((symbols + 1) * tiles), kept(blocks * tiles), fast(32 * lanes);
    std::vector<uint32_t> codes(8 * blocks), carries(blocks * tiles);
    uint8_t code[256];
    std::fill(code, code + 256, uint8_t(symbols));
    for (uint32_t i = 0; i < symbols; i++) code[uint8_t("ACGT"[i])] = uint8_t(i);
    for (size_t i = 0; i < query.size(); i++)
        if (code[uint8_t(query[i])] < symbols)
            masks[code[uint8_t(query[i])] * tiles + i / 128].word[i / 32 % 4] |= 1u << (i % 32);
    task = {masks.data(), code, reinterpret_cast<const uint8_t*>(query.data()),
        reinterpret_cast<const uint8_t*>(subject.data()), uint32_t(query.size()), uint32_t(subject.size()), symbols,
        tiles, codes.data(), kept.data(), carries.data(), fast.data()};
    text.assign(std::min(query.size(), subject.size()), '?');
    for (uint32_t i = 0; i < lanes; i++) {
        turns[i] = 0;
        fibers[i].prepare(one_lane, outside);
    }
    running = 0;
    fibers[0].run(outside);
    if (std::any_of(lengths, lengths + lanes, [](uint32_t length) { return length != lengths[0]; }))
        return "lanes differ";
    return std::string(text.end() - lengths[0], text.end());
}

}  // namespace

int main() {
    std::string query, subject;
    while (std::cin >> query >> subject)
        std::cout << trace(query == "-" ? "" : query, subject == "-" ? "" : subject) << "\n";
}
