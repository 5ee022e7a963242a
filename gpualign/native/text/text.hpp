// A text buffer. Strings and numbers reserve space for themselves and kSpare more; single characters, literals and
// values go into that spare space unchecked.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "common/large_pages.hpp"
#include "simd/blocks.hpp"

namespace gpualign {

class Text {
public:
    static constexpr size_t kSpare = 32;  // spare space

    void reserve(size_t more) {
        if (size_ + more > capacity_) grow(std::max(capacity_ * 2, size_ + more));
    }
    void put(char c) { data_[size_++] = c; }
    void put(const char* text, size_t n) {
        reserve(n + kSpare);
        std::memcpy(data_.get() + size_, text, n);
        size_ += n;
    }
    void put(const std::string& text) { put(text.data(), text.size()); }
    template <size_t N> void put(const char (&text)[N]) {
        std::memcpy(data_.get() + size_, text, N - 1);
        size_ += N - 1;
    }
    template <class T> void value(T x) {
        std::memcpy(data_.get() + size_, &x, sizeof x);
        size_ += sizeof x;
    }
    // Appends character(0) to character(n - 1).
    template <class Letter> void fill(int64_t n, Letter&& base) {
        reserve(size_t(n) + kSpare);
        char* out = extend(size_t(n));
        for (int64_t i = 0; i < n; i++) out[i] = base(i);
    }
    // Appends n uninitialised characters.
    char* extend(size_t n) {
        size_ += n;
        return data_.get() + size_ - n;
    }
    // Appends n characters, last one first.
    void put_backwards(const char* text, size_t n) {
        reserve(n + kSpare);
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
        reserve(20 + kSpare);
        char* at = data_.get() + size_;
        size_ = size_t(std::to_chars(at, at + 20, x).ptr - data_.get());
    }
    // Appends a number with three decimals.
    void thousandths(double x) {
        reserve(32 + kSpare);
        size_ += size_t(std::snprintf(data_.get() + size_, 32, "%.3f", x));
    }
    void patch(size_t offset, uint32_t x) { std::memcpy(data_.get() + offset, &x, sizeof x); }
    char* at(size_t offset) { return data_.get() + offset; }
    const char* data() const { return data_.get(); }
    size_t size() const { return size_; }
    void clear() { size_ = 0; }
    // Releases the buffer.
    std::unique_ptr<char[]> release() {
        size_ = capacity_ = 0;
        return std::move(data_);
    }

    // Sequential counterparts of the device's GroupText (algo/text/group_text.hpp).
    template <class Value> int64_t sum(int64_t n, Value&& value) const {
        int64_t total = 0;
        for (int64_t i = 0; i < n; i++) total += value(i);
        return total;
    }
    void store(int32_t* at, int32_t value) const { *at = value; }

private:
    void grow(size_t capacity) {
        std::unique_ptr<char[]> larger(new char[capacity]);  // uninitialised, unlike a vector's
        prefer_large_pages(larger.get(), capacity);
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
