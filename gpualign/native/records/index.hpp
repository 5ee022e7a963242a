// Indexes of sorted BAM files, .bai and .csi (SAM specification, section 5.2, and CSIv1), built while records are
// written. Free of Python.
//
// Where a record lies in the file is known only after compression. So offsets count uncompressed bytes and are
// translated to virtual offsets at the end; all blocks but the last hold equally many bytes. Bins are merged as in
// htslib.
//
// Consecutive records mostly share their bin and windows. Threads find such spans in batches of records; one thread
// adds them up.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "records/record.hpp"

namespace gpualign {

class BamIndexBuilder {
public:
    // `start`: uncompressed bytes before the first record.
    BamIndexBuilder(std::vector<int64_t> contig_lengths, bool csi, uint64_t start)
        : csi_(csi), last_(start), lengths_(std::move(contig_lengths)), contigs_(lengths_.size()) {
        if (!csi_) return;
        const int64_t longest = lengths_.empty() ? 0 : *std::max_element(lengths_.begin(), lengths_.end());
        depth_ = 0;
        for (int64_t covered = int64_t(1) << kMinShift; longest + kSlack > covered; covered <<= 3) depth_++;
    }

    // Consecutive records with the same bin and windows; records without a contig form one span.
    struct Span {
        int32_t contig, first_position, last_position;
        uint32_t bin;
        uint64_t first_window, last_window, bytes, mapped, unmapped;

        bool same_place(const Span& other) const {
            return contig == other.contig && bin == other.bin && first_window == other.first_window &&
                   last_window == other.last_window;
        }
        bool after(const Span& other) const {
            if (contig < 0 || other.contig < 0) return contig < 0;
            return contig != other.contig ? contig > other.contig : first_position >= other.last_position;
        }
    };
    static_assert(sizeof(Span) == 56);

    // Spans of records sorted by coordinate, from any thread. Throws std::invalid_argument.
    std::vector<Span> spans(const uint8_t* records, size_t size) const {
        std::vector<Span> spans;
        for (BamRecords rest(records, size); rest.more();) {
            const Span span = span_of(rest.next());
            if (!spans.empty()) check_order(spans.back(), span);
            if (spans.empty() || !spans.back().same_place(span)) {
                spans.push_back(span);
                continue;
            }
            Span& same = spans.back();
            same.last_position = span.last_position;
            same.bytes += span.bytes, same.mapped += span.mapped, same.unmapped += span.unmapped;
        }
        return spans;
    }

    // Adds the spans of the next records. Throws std::invalid_argument.
    void add(const Span* spans, size_t count) {
        for (size_t i = 0; i < count; i++) add(spans[i]);
    }

    // Returns the index. `places`: virtual offsets of every `step` bytes of the content, and the end of the last block
    // with content.
    std::string finish(const uint64_t* places, size_t count, uint64_t step) {
        end_bin(last_);
        const auto virtual_offset = [&](uint64_t offset) {
            const bool last = offset == last_ && offset % step;  // the end of a block is the begin of the next
            const uint64_t place = offset / step + last;
            if (place >= count) throw std::invalid_argument("fewer blocks than records");
            return places[place] + (last ? 0 : offset % step);
        };
        std::string out(csi_ ? "CSI\1" : "BAI\1", 4);
        if (csi_) {
            put<int32_t>(out, kMinShift);
            put<int32_t>(out, depth_);
            put<int32_t>(out, 0);  // no auxiliary data
        }
        put<int32_t>(out, int32_t(contigs_.size()));
        for (Contig& contig : contigs_) {
            contig.translate(virtual_offset);
            contig.compress(depth_);
            put_contig(out, contig);
        }
        put<uint64_t>(out, without_contig_);
        return out;
    }

private:
    static constexpr int kMinShift = 14;
    static constexpr int64_t kSlack = 256;              // as htslib
    static constexpr uint64_t kNowhere = ~uint64_t(0);  // a window without records
    static constexpr uint64_t kSmallBin = 1 << 16;      // compressed bytes

    struct Chunk {
        uint64_t begin, end;
        bool operator<(const Chunk& other) const { return begin < other.begin; }
    };

    static uint32_t first_bin(int level) { return ((uint32_t(1) << 3 * level) - 1) / 7; }

    struct Contig {
        std::map<uint32_t, std::vector<Chunk>> bins;
        std::vector<uint64_t> windows;  // the first record that overlaps each 16-kb window
        Chunk all{kNowhere, 0};
        uint64_t mapped = 0, unmapped = 0;

        template <class Translate> void translate(Translate virtual_offset) {
            for (auto& [bin, chunks] : bins)
                for (Chunk& chunk : chunks) chunk = {virtual_offset(chunk.begin), virtual_offset(chunk.end)};
            for (size_t i = windows.size(); i-- > 0;)
                windows[i] = windows[i] != kNowhere ? virtual_offset(windows[i])
                                                    : windows[i + 1];  // the last window always has a record
            if (all.begin != kNowhere) all = {virtual_offset(all.begin), virtual_offset(all.end)};
        }

        // Merges small bins into their parents, and chunks that meet in one block.
        void compress(int depth) {
            for (int level = depth; level > 0; level--)
                for (auto at = bins.lower_bound(first_bin(level)); at != bins.end();) {
                    std::vector<Chunk>& chunks = at->second;
                    std::sort(chunks.begin(), chunks.end());
                    const auto around = bins.find((at->first - 1) >> 3);
                    if ((chunks.back().end >> 16) - (chunks.front().begin >> 16) >= kSmallBin || around == bins.end()) {
                        ++at;
                        continue;
                    }
                    around->second.insert(around->second.end(), chunks.begin(), chunks.end());
                    at = bins.erase(at);
                }
            for (auto& [bin, chunks] : bins) join(chunks);
        }

        static void join(std::vector<Chunk>& chunks) {
            std::sort(chunks.begin(), chunks.end());
            size_t last = 0;
            for (size_t i = 1; i < chunks.size(); i++) {
                if (chunks[last].end >> 16 >= chunks[i].begin >> 16)
                    chunks[last].end = std::max(chunks[last].end, chunks[i].end);
                else chunks[++last] = chunks[i];
            }
            chunks.resize(last + 1);
        }
    };

    Span span_of(const BamRecord& record) const {
        const bool unmapped = record.is(kFlagUnmapped);
        if (record.contig() < 0) return {-1, -1, -1, 0, 0, 0, record.size(), !unmapped, unmapped};
        const int64_t from = std::max(0, record.position());
        const int64_t to = std::max<int64_t>(from + 1, unmapped ? 0 : record.position() + record.span());
        const int32_t position = record.position();
        return {record.contig(), position, position, bin_of(from, to), uint64_t(from) >> kMinShift,
            uint64_t(to - 1) >> kMinShift, record.size(), !unmapped, unmapped};
    }

    static void check_order(const Span& before, const Span& span) {
        if (!span.after(before)) throw std::invalid_argument("records are not sorted by coordinate");
    }

    void add(const Span& span) {
        if (any_) check_order(before_, span);
        any_ = true, before_ = span;
        const uint64_t begin = last_;
        last_ += span.bytes;
        if (span.contig < 0) {
            end_bin(begin);
            without_contig_ += span.mapped + span.unmapped;
            return;
        }
        if (size_t(span.contig) >= contigs_.size())
            throw std::invalid_argument("a record of a contig that the header has not");
        if (!open_ || span.contig != contig_ || span.bin != bin_) {
            end_bin(begin);
            contig_ = span.contig, bin_ = span.bin, bin_begin_ = begin, open_ = true;
        }
        Contig& contig = contigs_[size_t(contig_)];
        if (contig.windows.size() <= span.last_window) contig.windows.resize(span.last_window + 1, kNowhere);
        for (uint64_t window = span.first_window; window <= span.last_window; window++)
            contig.windows[window] = std::min(contig.windows[window], begin);
        contig.all = {std::min(contig.all.begin, begin), last_};
        contig.mapped += span.mapped, contig.unmapped += span.unmapped;
    }

    void end_bin(uint64_t at) {
        if (open_) contigs_[size_t(contig_)].bins[bin_].push_back({bin_begin_, at});
        open_ = false;
    }

    // The smallest bin that contains [from, to).
    uint32_t bin_of(int64_t from, int64_t to) const {
        int shift = kMinShift;
        for (int level = depth_; level > 0; level--, shift += 3)
            if (from >> shift == (to - 1) >> shift) return first_bin(level) + uint32_t(from >> shift);
        return 0;
    }

    // The first window of a bin.
    size_t first_window(uint32_t bin) const {
        int level = depth_;
        while (bin < first_bin(level)) level--;
        return size_t(bin - first_bin(level)) << 3 * (depth_ - level);
    }

    void put_contig(std::string& out, const Contig& contig) const {
        const bool any = contig.all.begin != kNowhere;
        put<int32_t>(out, int32_t(contig.bins.size() + any));
        for (const auto& [bin, chunks] : contig.bins) {
            put<uint32_t>(out, bin);
            const size_t window = first_window(bin);
            if (csi_) put<uint64_t>(out, window < contig.windows.size() ? contig.windows[window] : 0);
            put<int32_t>(out, int32_t(chunks.size()));
            for (const Chunk& chunk : chunks) put_chunk(out, chunk);
        }
        if (any) {  // the pseudo-bin with the counts that samtools idxstats prints
            put<uint32_t>(out, first_bin(depth_ + 1) + 1);
            if (csi_) put<uint64_t>(out, 0);
            put<int32_t>(out, 2);
            put_chunk(out, contig.all);
            put_chunk(out, {contig.mapped, contig.unmapped});
        }
        if (csi_) return;
        put<int32_t>(out, int32_t(contig.windows.size()));
        for (const uint64_t window : contig.windows) put<uint64_t>(out, window);
    }

    static void put_chunk(std::string& out, const Chunk& chunk) {
        put<uint64_t>(out, chunk.begin);
        put<uint64_t>(out, chunk.end);
    }

    template <class T> static void put(std::string& out, T value) {
        out.append(reinterpret_cast<const char*>(&value), sizeof value);
    }

    bool csi_, open_ = false, any_ = false;
    int depth_ = 5;
    uint64_t last_;  // where the next record begins
    std::vector<int64_t> lengths_;
    std::vector<Contig> contigs_;
    Span before_{};
    int32_t contig_ = -1;
    uint32_t bin_ = 0;
    uint64_t bin_begin_ = 0, without_contig_ = 0;
};

}  // namespace gpualign
