// Text that grows by whole fields: space is made once per record, so the appends do not check.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "simd/blocks.hpp"

namespace gpualign {

class Text {
public:
    void reserve(size_t more) {
        if (size_ + more > capacity_) grow(std::max(capacity_ * 2, size_ + more));
    }
    void put(char c) { data_[size_++] = c; }
    void put(const char* text, size_t n) {
        std::memcpy(data_.get() + size_, text, n);
        size_ += n;
    }
    void put(const std::string& text) { put(text.data(), text.size()); }
    template <size_t N>
    void put(const char (&text)[N]) {
        put(text, N - 1);
    }
    // Room for n letters more, to be written by the caller.
    char* extend(size_t n) {
        size_ += n;
        return data_.get() + size_ - n;
    }
    // n letters, the last one first.
    void put_backwards(const char* text, size_t n) {
        char* out = data_.get() + size_;
        in_blocks(ptrdiff_t(n), [&](ptrdiff_t at, auto count) {
            char given[count], turned[count];
            std::memcpy(given, text + (ptrdiff_t(n) - at - count), count);
            for (ptrdiff_t i = 0; i < count; i++) turned[i] = given[count - 1 - i];
            std::memcpy(out + at, turned, count);
        });
        size_ += n;
    }
    void number(int64_t x) {
        char* at = data_.get() + size_;
        size_ = size_t(std::to_chars(at, at + 20, x).ptr - data_.get());
    }
    char* at(size_t offset) { return data_.get() + offset; }
    const char* data() const { return data_.get(); }
    size_t size() const { return size_; }
    // Hands the letters over.
    std::unique_ptr<char[]> release() {
        size_ = capacity_ = 0;
        return std::move(data_);
    }

private:
    void grow(size_t capacity) {
        std::unique_ptr<char[]> larger(new char[capacity]);  // not cleared, unlike a vector's: it will be written to
        if (size_) std::memcpy(larger.get(), data_.get(), size_);
        data_ = std::move(larger);
        capacity_ = capacity;
    }

    std::unique_ptr<char[]> data_;
    size_t size_ = 0, capacity_ = 0;
};

inline void append_number(std::string& text, int64_t x) {
    char digits[20];
    text.append(digits, size_t(std::to_chars(digits, digits + 20, x).ptr - digits));
}

}  // namespace gpualign
