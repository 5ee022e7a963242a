// Reads a file as a bit stream, lowest bit of each byte first (RFC 1951, section 3.1.1).
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace gpualign::gzip {

struct EndedEarly : std::runtime_error {
    EndedEarly() : std::runtime_error("the file ends early") {}
};

// The bytes of a file from `from` on, as bits.
class BitReader {
public:
    static constexpr size_t kPadding = 1024;  // readable zeros after the end: more than a block header takes

    // Reads the first `bytes` at once, if the file has as many.
    BitReader(int descriptor, uint64_t file_size, uint64_t from, uint64_t bytes)
        : descriptor_(descriptor), file_size_(file_size), base_(from) {
        more(bytes);
    }
    // A reader of the same file from a bit on.
    BitReader from(uint64_t bit, uint64_t bytes) const {
        BitReader other(descriptor_, file_size_, bit / 8, bytes);
        other.go_to(bit);
        return other;
    }

    // Reads up to `bytes` more.
    void more(uint64_t bytes) {
        const uint64_t old = size_, wanted = std::min(bytes, file_size_ - base_ - size_);
        const size_t at = next_ ? size_t(next_ - data_.data()) : 0;
        data_.resize(size_ + wanted + kPadding);
        while (size_ < old + wanted) {
            const ssize_t count = pread(descriptor_, data_.data() + size_, old + wanted - size_, off_t(base_ + size_));
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) throw std::system_error(errno, std::generic_category());
            if (count == 0) file_size_ = base_ + size_;  // the file was truncated
            if (count == 0) break;
            size_ += size_t(count);
        }
        std::memset(data_.data() + size_, 0, kPadding);
        next_ = data_.data() + at;
    }
    bool has_all() const { return base_ + size_ == file_size_; }

    void go_to(uint64_t bit) {  // bit of the file
        next_ = data_.data() + (bit / 8 - base_);
        held = count = 0;
        refill();
        take(uint32_t(bit % 8));
    }
    uint64_t position() const { return 8 * (base_ + uint64_t(next_ - data_.data())) - count; }
    uint64_t end() const { return 8 * (base_ + size_); }  // of the data read so far
    uint64_t at(uint64_t bit) const {  // at least 57 bits
        uint64_t bits;
        std::memcpy(&bits, data_.data() + (bit / 8 - base_), 8);
        return bits >> (bit % 8);
    }
    const uint8_t* byte(uint64_t at) const { return data_.data() + (at - base_); }

    // Whether `bytes` of the data read are left.
    bool enough(size_t bytes) const { return uint64_t(next_ - data_.data()) + bytes <= size_; }
    const uint8_t* next() const { return next_; }
    const uint8_t* last(size_t bytes) const {
        return data_.data() + std::max(size_, bytes) - bytes;
    }  // last address with as many bytes left
    void check_end() const {
        if (position() > end()) throw EndedEarly();
    }

    // At least 56 bits are held afterwards.
    void refill() {
        uint64_t bits;
        std::memcpy(&bits, next_, 8);
        held |= bits << count;
        next_ += (63 - count) >> 3;
        count |= 56;
    }
    void take(uint32_t bits) { held >>= bits, count -= bits; }
    uint32_t get(uint32_t bits) {  // up to 32 bits, which must be held
        const uint32_t value = uint32_t(held & ((uint64_t(1) << bits) - 1));
        take(bits);
        return value;
    }

    uint64_t held = 0;
    uint32_t count = 0;

private:
    int descriptor_;
    uint64_t file_size_, base_;
    size_t size_ = 0;
    std::vector<uint8_t> data_;
    const uint8_t* next_ = nullptr;
};

}  // namespace gpualign::gzip
