// cuda/algo/map/chain/band.hpp on as many lanes as a device has, without one: each lane is a context of its own, and
// all of them wait for each other wherever lanes exchange something. Random intervals, against the recurrence row by
// row.
//
// Prints how many intervals were alike, how many a narrower band held, and each that was not alike.
#include <algorithm>
#include <cstring>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "algo/map/chain/band.hpp"
#include "algo/map/chain/narrow.hpp"
#include "fibers.hpp"
#include "pairwise_emulated.hpp"
// after what it needs
#include "device/map/band_pair.cuh"

namespace {

using namespace gpualign;

constexpr uint32_t kMaxLanes = 64;

ucontext_t outside;
Fiber fibers[kMaxLanes];
uint32_t running, turns[kMaxLanes];
uint8_t slots[2][kMaxLanes][16];  // of this exchange and of the next, which some lanes have reached

template <uint32_t Count> struct Lanes {
    static constexpr uint32_t kLanes = Count;

    // All lanes give a value; a lane goes on when every other one has given its own.
    template <class T> static T exchanged(const T& value, uint32_t source) {
        static_assert(sizeof(T) <= 16, "a value fits");
        const uint32_t me = running, next = (me + 1) % Count, turn = turns[me]++ % 2;
        std::memcpy(slots[turn][me], &value, sizeof value);
        running = next;
        fibers[me].turn_to(fibers[next]);
        running = me;
        T other;
        std::memcpy(&other, slots[turn][source], sizeof other);
        return other;
    }

    uint32_t lane() const { return running; }
    void sync() const { exchanged(0, 0); }
    uint32_t ballot(bool predicate) const {
        uint32_t bits = 0;
        for (uint32_t i = 0; i < Count; i++) bits |= uint32_t(exchanged(predicate, i)) << i;
        return bits;
    }
    template <class T> T from(T value, uint32_t source) const { return exchanged(value, source); }
    int32_t largest(int32_t value) const {
        int32_t best = value;
        for (uint32_t i = 0; i < Count; i++) best = max(best, exchanged(value, i));
        return best;
    }
    template <class T> T record_before(const T& value, const T& first) const {
        const T other = exchanged(value, (running + Count - 1) % Count);
        return running ? other : first;
    }
    template <class T> T record_before_around(const T& value) const {
        return exchanged(value, (running + Count - 1) % Count);
    }
};

// One contig.
struct Text {
    std::vector<uint8_t> codes;

    uint8_t code(int64_t i) const { return codes[size_t(i)]; }
    int64_t contig_begin(uint32_t contig) const { return contig ? int64_t(codes.size()) : 0; }
};

struct Case {
    Text text;
    std::vector<uint64_t> words;
    std::vector<uint32_t> not_acgt;
    std::vector<uint32_t> cigars = std::vector<uint32_t>(10000);
    uint32_t used = 0;
    int64_t offsets[2];
    ChainRead state{};
    ChainBatch batch{};
    BandTask task{};
    std::vector<KnownSite> known[2];  // by their first bases, and by their last ones
};

using Result = std::vector<int64_t>;  // score, begin, CIGAR

Result result_of(const Case& it, const BandTask& task) {
    Result result{task.score, task.begin};
    for (uint32_t o = 0; o < task.operations; o++) result.push_back(it.cigars[task.cigar + o]);
    return result;
}

template <Gaps Model, bool Ring, class Group>
bool align(const Group& group, Case& it, const BandTask& task, int32_t beyond, std::vector<uint8_t>& memory,
    BandTask& result) {
    using Aligner = BandAligner<Model, Ring, Group, Text>;
    Aligner aligner(group, it.batch.rules.scores, it.text, task,
        BandWorkspace::at<typename Aligner::Layout>(memory.data(), task.rows, task.band), intron_model(it.batch));
    aligner.load(query_of(it.batch, 0));
    const BandEnd end = aligner.sweep(aligner.steps());
    group.sync();
    if (end.value <= beyond) return false;
    if (Group::kLanes <= 32) aligner.finish(group, end, it.batch.cigars, result);
    else if (group.lane() == 0) aligner.finish(OneLane(), end, it.batch.cigars, result);
    group.sync();
    return true;
}

Case* current;
std::vector<uint8_t>* capacity;

template <Gaps Model, bool Ring, uint32_t Count> void one_lane() {
    align<Model, Ring>(Lanes<Count>(), *current, current->task, INT32_MIN, *capacity, current->task);
    Lanes<Count>().sync();  // the others end first
}

template <Gaps Model, bool Ring, uint32_t Count> Result on_lanes(Case it) {
    using Layout = BandLayout<Count, Ring, Model == Gaps::introns>;
    std::vector<uint8_t> memory(size_t(Layout::all_bytes(it.task.rows, it.task.band)), 0xAA);
    it.batch.state = &it.state;
    it.batch.offsets = it.offsets;
    it.batch.cigars = {it.cigars.data(), &it.used, it.cigars.size()};
    current = &it;
    capacity = &memory;
    for (uint32_t i = 0; i < Count; i++) {
        turns[i] = 0;
        fibers[i].prepare(one_lane<Model, Ring, Count>, outside);
    }
    running = 0;
    fibers[0].run(outside);
    return result_of(it, it.task);
}

// What an intron costs that begins, or ends, with a base: signals of both strands spelled out, and known introns.
IntronEnds<int32_t> ends_of_introns(const Case& it, int64_t at) {
    const IntronRules& rules = it.batch.rules.introns;
    const int64_t bases = int64_t(it.text.codes.size());
    const bool reverse = it.task.transcript == kReverseTranscript;
    const auto three = [&](int64_t first) {
        std::string text;
        for (int64_t i = first; i < first + 3; i++) {
            const uint8_t code = i < 0 || i >= bases ? kNoBase : it.text.codes[size_t(i)];
            text += code == kNoBase ? 'N' : "ACGT"[reverse ? 3 - code : code];
        }
        if (reverse) std::reverse(text.begin(), text.end());
        return text;
    };
    const auto donor = [&](const std::string& s) {
        if (s.find('N') != std::string::npos) return rules.donor[4];
        const std::string two = s.substr(0, 2);
        const bool purine = s[2] == 'A' || s[2] == 'G';
        return rules.donor[two == "GT" ? !purine : two == "GC" ? 2 : two == "AT" ? 3 : 4];
    };
    const auto acceptor = [&](const std::string& s) {
        if (s.find('N') != std::string::npos) return rules.acceptor[3];
        const std::string two = s.substr(1);
        const bool pyrimidine = s[0] == 'C' || s[0] == 'T';
        return rules.acceptor[two == "AG" ? !pyrimidine : two == "AC" ? 2 : 3];
    };
    IntronEnds<int32_t> costs{
        reverse ? acceptor(three(at)) : donor(three(at)), reverse ? donor(three(at - 2)) : acceptor(three(at - 2))};
    const KnownIntrons& known = it.batch.known;
    for (uint64_t n = 0; n < known.count; n++) {
        if (known.begins[n].strand == it.task.transcript && known.begins[n].position == at) costs.begin = -rules.known;
        if (known.ends[n].strand == it.task.transcript && known.ends[n].position == at) costs.end = -rules.known;
    }
    return costs;
}

// Row by row.
template <Gaps Model> Result expected(const Case& it) {
    const BandTask& task = it.task;
    const AffineScores& s = it.batch.rules.scores;
    constexpr int32_t kLowest = -(1 << 29);
    const GapCosts<int32_t> costs{s.gap_open + s.gap_extend, s.gap_extend,
        Model == Gaps::introns ? task.intron : s.long_gap_open + s.long_gap_extend, s.long_gap_extend};
    const auto reference_of = [&](int32_t i, int32_t b) {
        return task.diagonal + i + b + (task.fold && b >= task.fold ? task.jump : 0);
    };
    const ChainQuery query = query_of(it.batch, 0);
    std::vector<int32_t> best(size_t(task.band) + 1, kLowest);
    std::vector<GapScores<int32_t>> insertion(size_t(task.band) + 1, {kLowest, kLowest});
    for (int32_t b = 0; b < task.band; b++) {
        const int32_t after = b - task.begin_pin;
        const bool reached = after >= 0 && !(task.fold && b >= task.fold);
        best[size_t(b)] = task.begin_pin < 0 ? 0 : !reached ? kLowest : after ? -gap_cost(s, after) : 0;
    }
    std::vector<uint8_t> trace;
    BandEnd end{kLowest, 0, 0};
    for (int32_t i = 0; i < task.rows; i++) {
        const uint8_t base =
            task.swapped ? it.text.code(task.row + i) : query.code(int32_t(task.row) + i, task.reverse);
        const auto substitution = [&](int32_t b) {
            const int64_t at = reference_of(i, b);
            if (at < 0 || at >= (task.swapped ? query.length() : int64_t(it.text.codes.size())))
                return kLowest - s.mismatch;
            const uint8_t met = task.swapped ? query.code(int32_t(at), task.reverse) : it.text.code(at);
            return met == base && base < kNoBase ? s.match : -s.mismatch;
        };
        const auto ends = [&](int32_t b) { return ends_of_introns(it, reference_of(i, b)); };
        const int32_t clipped = task.begin_pin < 0 ? -s.clip_penalty : kLowest;
        affine_row<Model>(substitution, ends, task.band, task.fold, costs, clipped, kLowest, best.data(),
            insertion.data(), [&](int32_t b, int32_t value, int32_t from) {
                trace.push_back(uint8_t(from));
                const bool last = i == task.rows - 1;
                const int32_t worth = value - (last ? 0 : s.clip_penalty);
                if (task.end_pin < 0 ? worth > end.value : last && b == task.end_pin) end = {worth, i, b};
            });
    }
    std::vector<uint32_t> cigar;
    const auto push = [&](uint32_t operation, uint32_t n) {
        if (!n) return;
        if (!cigar.empty() && (cigar.back() & 15) == operation) cigar.back() += n << 4;
        else cigar.push_back(n << 4 | operation);
    };
    const auto from = [&](int i, int b) { return trace[size_t(i) * size_t(task.band) + size_t(b)]; };
    const auto matches = [&](int i, int b) {
        int paired = 0;
        while (i >= paired && (from(i - paired, b) & kFromMask) == kFromDiagonal) paired++;
        return paired;
    };
    int row = end.row, diagonal = end.diagonal;
    const int32_t clip_end = task.rows - 1 - row;
    push(kCigarS, uint32_t(clip_end));
    const TracedIntrons traced{task.transcript ? it.batch.rules.introns.shortest : 0, task.fold, task.jump};
    affine_traceback(from, matches, row, diagonal, traced,
        [&](char op, uint32_t n) { push(traced_operation(op, task.swapped), n); });
    if (task.begin_pin >= 0) {
        push(task.swapped ? kCigarI : kCigarD, uint32_t(diagonal - task.begin_pin));
        diagonal = task.begin_pin;
    }
    push(kCigarS, uint32_t(row));
    Result result{end.value + ((clip_end > 0) + (row > 0)) * s.clip_penalty, reference_of(row, diagonal)};
    result.insert(result.end(), cigar.rbegin(), cigar.rend());
    return result;
}

// A read with errors of a stretch of a random text of few bases, so that there are ties.
Case random_case(std::mt19937& random, bool ambiguous = true) {
    const auto upto = [&](int n) { return int(random() % uint32_t(n)); };
    Case it;
    const int bases = 2 + upto(3);
    for (int i = 0; i < 600; i++) it.text.codes.push_back(uint8_t(!ambiguous || upto(50) ? upto(bases) : kNoBase));
    std::vector<uint8_t> read;
    const int rows = 1 + upto(upto(4) ? 60 : 250), first = 60 + upto(100), errors = upto(25);
    int at = first;
    while (int(read.size()) < rows) {
        const int kind = upto(100) < errors ? upto(4) : 3;
        if (kind != 1) at += 1 + (kind == 2 ? upto(4) : 0);
        read.push_back(kind == 3 ? it.text.codes[size_t(std::min(at, 599))] : uint8_t(upto(bases)));
    }
    it.words.assign(read.size() / 32 + 2, 0);
    it.not_acgt.assign(it.words.size(), ~0u);
    for (size_t i = 0; i < read.size(); i++) {
        if (read[i] >= kNoBase) continue;
        it.words[i / 32] |= uint64_t(read[i]) << 2 * (i % 32);
        it.not_acgt[i / 32] &= ~(1u << i % 32);
    }
    it.offsets[0] = 0;
    it.offsets[1] = int64_t(read.size());
    it.batch.rules.scores = {2, 4, 4, 2, 5 + upto(10), 24, 1};
    BandTask& task = it.task;
    task.rows = rows;
    task.band = 16 * (1 + upto(8));
    const int across = at - first - rows + 1;
    task.begin_pin = upto(4) ? upto(task.band) : kFreeEnd;
    task.end_pin = upto(4) ? std::max(0, std::min(task.band - 1, std::max(0, task.begin_pin) + across)) : kFreeEnd;
    task.diagonal = first - std::max(0, task.begin_pin);
    if (upto(5) == 0) {  // rows of the text, columns of the read
        task.swapped = 1;
        task.row = first;
        task.rows = std::min(rows, 200);
        task.diagonal = -std::max(0, task.begin_pin);
    }
    return it;
}

// A read of two or three stretches of a random text, with errors.
Case spliced_case(std::mt19937& random) {
    const auto upto = [&](int n) { return int(random() % uint32_t(n)); };
    Case it = random_case(random, upto(2) == 0);
    for (uint8_t& code : it.text.codes) code = upto(60) ? uint8_t(upto(4)) : code;
    std::vector<uint8_t> read;
    const int first = 40 + upto(40), exons = 2 + upto(2);
    int at = first;
    for (int exon = 0; exon < exons; exon++) {
        for (int i = upto(25) + 3; i > 0; i--, at++)
            read.push_back(upto(200) ? it.text.codes[size_t(at)] : uint8_t(upto(4)));
        if (exon + 1 < exons) at += 40 + upto(120);
    }
    it.words.assign(read.size() / 32 + 2, 0);
    it.not_acgt.assign(it.words.size(), ~0u);
    for (size_t i = 0; i < read.size(); i++) {
        if (read[i] >= kNoBase) continue;
        it.words[i / 32] |= uint64_t(read[i]) << 2 * (i % 32);
        it.not_acgt[i / 32] &= ~(1u << i % 32);
    }
    it.offsets[1] = int64_t(read.size());
    it.batch.rules.scores = {1, 1 + upto(3), upto(5), 1, 0, 0, 0};
    const int known = upto(4);
    it.batch.rules.introns = {8 + upto(6), {0, 2, 4, 6, 9}, {0, 2, 6, 9}, known, 20, 1000, 3};
    BandTask& task = it.task;
    const int margin = 10 + upto(20), across = at - first - int(read.size());
    task = BandTask{};
    task.rows = int32_t(read.size());
    task.band = (across + 2 * margin + 16) / 16 * 16;
    task.diagonal = first - margin;
    task.begin_pin = margin;
    task.end_pin = margin + across;
    task.transcript = upto(2) ? kForwardTranscript : kReverseTranscript;
    task.intron = it.batch.rules.introns.open + upto(3);
    for (int n = upto(4); n > 0; n--) {
        const int begin = first + upto(100);
        it.known[0].push_back({begin, begin + 30 + upto(200), 1 + upto(2)});
    }
    for (const KnownSite& site : it.known[0]) it.known[1].push_back({site.other, site.position, site.strand});
    for (auto& sites : it.known)
        std::sort(sites.begin(), sites.end(), [](auto& a, auto& b) { return a.position < b.position; });
    return it;
}

struct Counts {
    int same = 0, narrow = 0, shown = 0, paired = 0;
};

void check(Counts& counts, const char* name, const Result& found, const Result& expected) {
    counts.same += found == expected;
    if (found == expected) return;
    std::cout << name << ":";
    for (const int64_t x : found) std::cout << " " << x;
    std::cout << " instead of";
    for (const int64_t x : expected) std::cout << " " << x;
    std::cout << "\n";
}

// Tasks of one read and one band, the second one or none.
Case* pair_of[2];

void one_lane_of_pair() {
    using Group = Lanes<8>;
    using Pair = BandPair<Group, Text>;
    static Pair::Memory memory;
    static std::vector<uint8_t> workspace(Pair::kBytes);
    const Group group;
    const Case& first = *pair_of[0];
    Pair pair(group, first.batch.rules.scores, first.text, memory, workspace.data());
    for (int32_t n = 0; n < 2; n++)
        pair.load(n, pair_of[n], pair_of[n] ? pair_of[n]->task : first.task, query_of(first.batch, 0));
    group.sync();
    pair.sweep(pair.steps() + 100);  // as of a longer pair on other lanes of the warp
    const BandEnd ends[2] = {pair.end(0), pair.end(1)};
    group.sync();
    const uint32_t n = group.lane();
    if (n < 2 && pair.has(int32_t(n))) pair.finish(n, ends[n], pair_of[n]->batch.cigars, pair_of[n]->task);
    group.sync();
}

void check_pair(Counts& counts, std::mt19937& random) {
    const auto upto = [&](int n) { return int(random() % uint32_t(n)); };
    Case cases[2] = {random_case(random, false), {}};
    cases[0].batch.rules.scores = {1 + upto(2), 1 + upto(5), upto(8), 1 + upto(2), upto(10), 0, 0};
    cases[0].task.band = 32 + 16 * upto(5);
    cases[0].task.rows = std::min(cases[0].task.rows, 248);
    cases[1] = cases[0];
    cases[1].task.rows = std::max(1, cases[1].task.rows - upto(30));
    for (Case& it : cases) {
        BandTask& task = it.task;
        task.begin_pin = upto(2) ? upto(task.band) : kFreeEnd;
        const int first = std::max(0, task.begin_pin - task.rows);  // insertions lead as far
        task.end_pin = upto(2) ? first + upto(task.band - first) : kFreeEnd;
    }
    for (Case& it : cases) {
        it.batch.words = it.words.data();
        it.batch.not_acgt = it.not_acgt.data();
        it.batch.offsets = it.offsets;
        it.batch.state = &it.state;
        it.batch.cigars = {it.cigars.data(), &it.used, it.cigars.size()};
    }
    const Result whole[2] = {expected<Gaps::affine>(cases[0]), expected<Gaps::affine>(cases[1])};
    pair_of[0] = &cases[0];
    pair_of[1] = upto(4) ? &cases[1] : nullptr;
    for (uint32_t i = 0; i < 8; i++) {
        turns[i] = 0;
        fibers[i].prepare(
            +[] {
                one_lane_of_pair();
                Lanes<8>().sync();
            },
            outside);
    }
    running = 0;
    fibers[0].run(outside);
    for (int n = 0; n < 2; n++) {
        if (!pair_of[n] || !cases[n].task.operations) continue;  // some columns are no base
        counts.paired++;
        check(counts, n ? "second of a pair" : "first of a pair", result_of(cases[n], cases[n].task), whole[n]);
    }
}

template <Gaps Model> void check_case(Counts& counts, Case it) {
    it.batch.words = it.words.data();
    it.batch.not_acgt = it.not_acgt.data();
    it.batch.offsets = it.offsets;
    it.batch.state = &it.state;
    it.batch.known = {it.known[0].data(), it.known[1].data(), it.known[0].size()};
    const Result whole = expected<Model>(it);
    check(counts, "32 lanes", on_lanes<Model, false, 32>(it), whole);
    check(counts, "64 lanes", on_lanes<Model, false, 64>(it), whole);
    check(counts, "1 lane", on_lanes<Model, false, 1>(it), whole);
    for (const int32_t band : kNarrowBands) {
        const NarrowBand narrow = narrow_band(it.batch.rules.scores, intron_model(it.batch), it.task, band);
        if (!narrow.task.rows) continue;
        counts.narrow++;
        Case in_narrow = it;
        in_narrow.task = narrow.task;
        const Result result = expected<Model>(in_narrow);
        check(counts, "in a ring",
            band == 16 ? on_lanes<Model, true, 8>(in_narrow) : on_lanes<Model, true, 16>(in_narrow), result);
        if (result[0] <= narrow.beyond) continue;
        counts.shown++;
        if (result != whole) check(counts, "in a narrower band", result, whole);
    }
}

}  // namespace

int main(int, char** arguments) {
    std::mt19937 random(uint32_t(std::stoul(arguments[1])));
    const int cases = std::stoi(arguments[2]);
    Counts counts;
    for (int i = 0; i < cases; i++) check_case<Gaps::two_costs>(counts, random_case(random));
    const int unspliced = counts.shown;
    for (int i = 0; i < cases; i++) check_case<Gaps::introns>(counts, spliced_case(random));
    for (int i = 0; i < cases; i++) check_pair(counts, random);
    std::cout << counts.same << " alike of " << 6 * cases + counts.narrow + counts.paired << ", " << counts.paired
              << " in pairs, " << unspliced << " in a narrower band, " << counts.shown - unspliced << " with introns\n";
}
