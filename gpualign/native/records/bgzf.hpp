// BGZF blocks (SAM specification, section 4.1) by ISA-L and zlib-ng, many per call. Free of Python.
//
// The functions are called by their addresses in the Python packages isal and zlib-ng, as their Python interfaces would
// take the GIL for every block. Of ISA-L's structs only the public fields at the beginning are declared.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "abi/text.hpp"
#include "records/stream_memory.hpp"
#include "text/text.hpp"

namespace gpualign {

// Public fields of igzip_lib.h.
struct IsalDeflate {
    const uint8_t* next_in;
    uint32_t avail_in, total_in;
    uint8_t* next_out;
    uint32_t avail_out, total_out;
    void* hufftables;
    uint32_t level, level_buf_size;
    uint8_t* level_buf;
    uint16_t end_of_stream, flush, gzip_flag, hist_bits;
};
struct IsalInflate {
    uint8_t* next_out;
    uint32_t avail_out, total_out;
    const uint8_t* next_in;
    uint64_t read_in;
    uint32_t avail_in;
    int32_t read_in_length;
};

struct Isal {
    void (*deflate_init)(IsalDeflate*) = nullptr;
    int (*deflate)(IsalDeflate*) = nullptr;
    void (*inflate_init)(IsalInflate*) = nullptr;
    int (*inflate)(IsalInflate*) = nullptr;
    uint32_t (*crc32)(uint32_t, const uint8_t*, uint64_t) = nullptr;
};

// zng_stream of zlib-ng.h.
struct ZngStream {
    const uint8_t* next_in;
    uint32_t avail_in;
    size_t total_in;
    uint8_t* next_out;
    uint32_t avail_out;
    size_t total_out;
    const char* message;
    void *state, *alloc, *free, *opaque;
    int data_type;
    uint32_t checksum;
    unsigned long reserved;
};

struct Zng {
    int (*init)(ZngStream*, int level, int method, int window_bits, int memory_level, int strategy) = nullptr;
    int (*reset)(ZngStream*) = nullptr;
    int (*tune)(ZngStream*, int good_length, int max_lazy, int nice_length, int max_chain) = nullptr;
    int (*deflate)(ZngStream*, int flush) = nullptr;
    int (*end)(ZngStream*) = nullptr;
};

namespace bgzf {

constexpr size_t kContent = 0xff00;  // bytes per block on the CPU, except for the last block of a file
constexpr size_t kStep = BgzfBatch::kContent;  // bytes per block on a device
static_assert(kContent % kStep == 0);
constexpr size_t kHeader = 18, kTrailer = 8, kLargestBlock = 1 << 16;
constexpr uint8_t kBegin[] = {0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, 'B', 'C', 2, 0};

// Completes the block that begins at the end of `out`: its header.
inline void finish(uint8_t* begin, size_t bytes, Text& out) {
    const auto last = uint16_t(bytes - 1);
    std::memcpy(begin, kBegin, sizeof kBegin);
    std::memcpy(begin + sizeof kBegin, &last, sizeof last);
    out.extend(bytes);
}

// Compresses content into BGZF blocks by ISA-L.
class Compressor {
public:
    explicit Compressor(const Isal& isal)
        : isal_(isal), level_buf_(new uint8_t[kLevelBytes]), padded_(new uint8_t[kContent + kAhead]) {}

    void operator()(const uint8_t* content, size_t size, Text& out) {
        out.reserve((size / kContent + 1) * kLargestBlock);
        for (size_t at = 0; at < size; at += kContent) block(content + at, std::min(kContent, size - at), out);
    }

private:
    static constexpr uint32_t kLevel = 2, kLevelBytes = (4 + 64 + 256) << 10;  // ISAL_DEF_LVL2_DEFAULT
    static constexpr uint16_t kGzipWithoutHeader = 2, kHistoryBits = 15, kFullFlush = 2;
    static constexpr size_t kAhead = 512;

    void block(const uint8_t* content, size_t size, Text& out) {
        std::memcpy(padded_.get(), content, size);
        std::memset(
            padded_.get() + size, 0, kAhead);  // ISA-L reads beyond the end, and its output depends on what is there
        out.reserve(kLargestBlock);
        auto* begin = reinterpret_cast<uint8_t*>(out.extend(0));
        auto& stream = *static_cast<IsalDeflate*>(stream_.get());
        isal_.deflate_init(&stream);
        stream.level = kLevel, stream.level_buf = level_buf_.get(), stream.level_buf_size = kLevelBytes;
        stream.gzip_flag = kGzipWithoutHeader, stream.hist_bits = kHistoryBits;
        stream.flush = kFullFlush, stream.end_of_stream = 1;
        stream.next_in = padded_.get(), stream.avail_in = uint32_t(size);
        stream.next_out = begin + kHeader, stream.avail_out = uint32_t(kLargestBlock - kHeader);
        if (isal_.deflate(&stream) != 0 || stream.avail_in != 0 || stream.avail_out == 0)
            throw std::runtime_error("ISA-L could not compress a block");
        finish(begin, kHeader + stream.total_out, out);
    }

    Isal isal_;
    StreamMemory stream_;
    std::unique_ptr<uint8_t[]> level_buf_, padded_;
};

// Compresses content into BGZF blocks by zlib-ng, at its levels from 0 to 9.
class LevelCompressor {
public:
    LevelCompressor(const Zng& zng, int level) : zng_(zng), level_(level), stream_(opened(level)), stored_(opened(0)) {}
    ~LevelCompressor() { zng_.end(&stream_), zng_.end(&stored_); }
    LevelCompressor(const LevelCompressor&) = delete;
    LevelCompressor& operator=(const LevelCompressor&) = delete;

    int level() const { return level_; }

    void operator()(const uint8_t* content, size_t size, Text& out) {
        out.reserve((size / kContent + 1) * kLargestBlock);
        for (size_t at = 0; at < size; at += kContent) {
            const size_t bytes = std::min(kContent, size - at);
            if (block(stream_, content + at, bytes, out)) continue;
            zng_.end(&stream_);  // deflate_quick leaves a block open, which zng_deflateReset does not close
            stream_ = opened(level_);
            if (!block(stored_, content + at, bytes, out))
                throw std::runtime_error("zlib-ng could not compress a block");
        }
    }

private:
    static constexpr int kDeflated = 8, kGzip = 31, kMemory = 8, kDefaultStrategy = 0, kFinish = 4, kEnd = 1;
    static constexpr size_t kGzipHeader = 10;  // which the header of a block takes the place of
    // With these numbers for its matches level 5 is 10 to 20 % faster for BAM, and 0.1 % larger: as small as what
    // samtools 1.16 writes.
    static constexpr int kTunedLevel = 5, kGoodLength = 4, kMaxLazy = 8, kNiceLength = 48, kMaxChain = 12;

    ZngStream opened(int level) const {
        ZngStream stream{};
        if (zng_.init(&stream, level, kDeflated, kGzip, kMemory, kDefaultStrategy) != 0) throw std::bad_alloc();
        return stream;
    }

    // False: it does not fit a block.
    bool block(ZngStream& stream, const uint8_t* content, size_t size, Text& out) const {
        out.reserve(kLargestBlock);
        auto* begin = reinterpret_cast<uint8_t*>(out.extend(0));
        zng_.reset(&stream);
        if (&stream == &stream_ && level_ == kTunedLevel)
            zng_.tune(&stream, kGoodLength, kMaxLazy, kNiceLength, kMaxChain);
        stream.next_in = content, stream.avail_in = uint32_t(size);
        stream.next_out = begin + kHeader - kGzipHeader;
        stream.avail_out = uint32_t(kLargestBlock - kHeader + kGzipHeader);
        if (zng_.deflate(&stream, kFinish) != kEnd) return false;
        finish(begin, size_t(stream.next_out - begin), out);
        return true;
    }

    Zng zng_;
    int level_;
    ZngStream stream_, stored_;
};

// A complete block: its payload, and the size and CRC-32 of its content.
struct Block {
    const uint8_t* payload;
    size_t payload_bytes, bytes;
    uint32_t crc, content;

    // Throws std::invalid_argument if there is no block.
    static Block at(const uint8_t* at, const uint8_t* end) {
        Block block;
        uint16_t last;
        if (size_t(end - at) < kHeader + kTrailer) throw std::invalid_argument("a block is cut short");
        std::memcpy(&last, at + sizeof kBegin, sizeof last);
        block.bytes = size_t(last) + 1;
        if (block.bytes > size_t(end - at) || block.bytes < kHeader + kTrailer)
            throw std::invalid_argument("a block is cut short");
        block.payload = at + kHeader, block.payload_bytes = block.bytes - kHeader - kTrailer;
        std::memcpy(&block.crc, at + block.bytes - 8, sizeof block.crc);
        std::memcpy(&block.content, at + block.bytes - 4, sizeof block.content);
        if (block.content > kLargestBlock) throw std::invalid_argument("a block is larger than it may be");
        return block;
    }
};

// Bytes of the content of complete blocks. Throws std::invalid_argument if one is damaged.
inline size_t content_bytes(const uint8_t* blocks, size_t size) {
    size_t bytes = 0;
    for (const uint8_t *at = blocks, *end = blocks + size; at < end;) {
        const Block block = Block::at(at, end);
        bytes += block.content, at += block.bytes;
    }
    return bytes;
}

// Inflates complete blocks to `out`, which has space for one byte more than their content. Throws
// std::invalid_argument if they are damaged.
inline void inflate(const Isal& isal, const uint8_t* blocks, size_t size, uint8_t* out, size_t space) {
    constexpr size_t kStreamBytes = 1 << 19;  // more than any version of ISA-L uses
    const std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(64, kStreamBytes), &std::free);
    if (!memory) throw std::bad_alloc();
    IsalInflate& stream = *static_cast<IsalInflate*>(memory.get());
    for (const uint8_t *at = blocks, *end = blocks + size; at < end;) {
        const Block block = Block::at(at, end);
        if (block.content >= space) throw std::invalid_argument("no space for a block's content");
        isal.inflate_init(&stream);
        stream.next_in = block.payload, stream.avail_in = uint32_t(block.payload_bytes);
        stream.next_out = out, stream.avail_out = uint32_t(std::min(kLargestBlock + 1, space));
        if (isal.inflate(&stream) != 0 || stream.total_out != block.content)
            throw std::invalid_argument("a block ends elsewhere than it says");
        if (isal.crc32(0, out, block.content) != block.crc) throw std::invalid_argument("a block's checksum is wrong");
        out += block.content, space -= block.content, at += block.bytes;
    }
}

}  // namespace bgzf
}  // namespace gpualign
