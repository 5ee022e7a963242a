// BGZF blocks around what has been deflated (SAM specification, section 4.1; RFC 1951 and 1952).
#pragma once
#include "abi/text.hpp"
#include "algo/common/hd.hpp"

namespace gpualign {

// Polynomials modulo that of gzip's CRC, the coefficient of x^0 in the highest bit.
constexpr uint32_t kCrcPolynomial = 0xedb88320u, kCrcOne = 1u << 31, kCrcByte = 1u << 23;  // 1 and x^8

// What a byte does to a checksum's lowest one.
GPUALIGN_HD uint32_t crc32_entry(uint32_t byte) {
    for (int bit = 0; bit < 8; bit++) byte = byte & 1 ? byte >> 1 ^ kCrcPolynomial : byte >> 1;
    return byte;
}

GPUALIGN_HD uint32_t crc32(const uint32_t* table, const uint8_t* bytes, uint64_t n) {
    uint32_t crc = ~0u;
    for (uint64_t i = 0; i < n; i++) crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
    return ~crc;
}

GPUALIGN_HD uint32_t crc32_times(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (uint32_t bit = kCrcOne; bit; bit >>= 1) {
        if (a & bit) product ^= b;
        b = b & 1 ? b >> 1 ^ kCrcPolynomial : b >> 1;
    }
    return product;
}

// A text's part of a checksum where n bytes come after it; the parts' sum, bit by bit, is that of the whole.
GPUALIGN_HD uint32_t crc32_before(uint32_t crc, uint64_t n) {
    for (uint32_t power = kCrcByte; n; n >>= 1, power = crc32_times(power, power))
        if (n & 1) crc = crc32_times(power, crc);
    return crc;
}

// Bytes of content in block `block` of all; 0: there is none.
GPUALIGN_HD uint32_t bgzf_content(const BgzfBatch& batch, uint32_t block) {
    const uint64_t begin = uint64_t(block) * BgzfBatch::kContent, end = *batch.totals;
    if (end > batch.capacity || begin >= end) return 0;
    return uint32_t(end - begin < BgzfBatch::kContent ? end - begin : BgzfBatch::kContent);
}

// Says what is to be deflated to block i of these; where there is none, a byte, as there must be something.
GPUALIGN_HD void set_bgzf_task(const BgzfBatch& batch, uint32_t i) {
    const uint32_t content = bgzf_content(batch, batch.first + i);
    batch.given[i] = batch.content + (content ? uint64_t(batch.first + i) * BgzfBatch::kContent : 0);
    batch.given_bytes[i] = content ? content : 1;
    batch.deflated[i] = batch.space + i * batch.space_bytes;
}

// Whether block i of these holds its content as it is: it would be larger, or was not deflated.
GPUALIGN_HD bool is_stored(const BgzfBatch& batch, uint32_t i, uint32_t content) {
    return batch.status[i] != 0 || batch.deflated_bytes[i] > content + BgzfBatch::kStoredHeader;
}

// Bytes of block i of these with all that is around its content.
GPUALIGN_HD uint32_t bgzf_bytes(const BgzfBatch& batch, uint32_t i) {
    const uint32_t content = bgzf_content(batch, batch.first + i);
    if (content == 0) return 0;
    const uint32_t payload =
        is_stored(batch, i, content) ? content + BgzfBatch::kStoredHeader : uint32_t(batch.deflated_bytes[i]);
    return BgzfBatch::kHeader + payload + BgzfBatch::kTrailer;
}

// Byte `at` of the header of a block of so many bytes.
GPUALIGN_HD uint8_t bgzf_header(uint32_t at, uint32_t bytes) {
    const uint64_t low = 0x0000000004088b1fu, high = 0x000243420006ff00u;  // 1f 8b 8 4 0 ..., 0 ff 6 0 B C 2 0
    if (at >= 16) return uint8_t((bytes - 1) >> (8 * (at - 16)));
    return uint8_t((at < 8 ? low : high) >> (8 * (at & 7)));
}

// Byte `at` of what is before content that is stored: the last block, its length and that turned over.
GPUALIGN_HD uint8_t stored_header(uint32_t at, uint32_t content) {
    if (at == 0) return 1;
    const uint32_t lengths = content | ~content << 16;
    return uint8_t(lengths >> (8 * (at - 1)));
}

// Writes block i of these, whose content has this checksum: lane `lane` of `lanes` its share.
GPUALIGN_HD void write_bgzf(const BgzfBatch& batch, uint32_t i, uint32_t crc, uint32_t lane, uint32_t lanes) {
    const uint32_t bytes = bgzf_bytes(batch, i), content = bgzf_content(batch, batch.first + i);
    if (bytes == 0) return;
    char* out = batch.out + batch.block_offsets[i];
    for (uint32_t at = lane; at < BgzfBatch::kHeader; at += lanes) out[at] = char(bgzf_header(at, bytes));
    char* payload = out + BgzfBatch::kHeader;
    const uint32_t payload_bytes = bytes - BgzfBatch::kHeader - BgzfBatch::kTrailer;
    if (is_stored(batch, i, content)) {
        for (uint32_t at = lane; at < BgzfBatch::kStoredHeader; at += lanes)
            payload[at] = char(stored_header(at, content));
        for (uint32_t at = lane; at < content; at += lanes) payload[BgzfBatch::kStoredHeader + at] = batch.given[i][at];
    } else {
        for (uint32_t at = lane; at < payload_bytes; at += lanes) payload[at] = batch.deflated[i][at];
    }
    const uint64_t trailer = crc | uint64_t(content) << 32;
    for (uint32_t at = lane; at < BgzfBatch::kTrailer; at += lanes)
        payload[payload_bytes + at] = char(trailer >> (8 * at));
}

// Whether block i was inflated to what it should be, which then has this checksum.
GPUALIGN_HD bool was_inflated(const InflateBatch& batch, uint32_t i, uint32_t crc) {
    return batch.status[i] == 0 && batch.inflated_bytes[i] == batch.text_bytes[i] && crc == batch.checksums[i];
}

}  // namespace gpualign
