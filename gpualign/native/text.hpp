// Text that grows by whole fields: room is made once per record, so the appends do not check.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace gpualign {

class Text {
public:
    void reserve(size_t more) {
        if (size_ + more > data_.size()) data_.resize(std::max(data_.size() * 2, size_ + more));
    }
    void put(char c) { data_[size_++] = c; }
    void put(const char* text, size_t n) {
        std::memcpy(data_.data() + size_, text, n);
        size_ += n;
    }
    void put(const std::string& text) { put(text.data(), text.size()); }
    template <size_t N>
    void put(const char (&text)[N]) {
        put(text, N - 1);
    }
    void number(int64_t x) {
        char* at = data_.data() + size_;
        size_ = size_t(std::to_chars(at, at + 20, x).ptr - data_.data());
    }
    const char* data() const { return data_.data(); }
    size_t size() const { return size_; }

private:
    std::vector<char> data_;
    size_t size_ = 0;
};

inline void append_number(std::string& text, int64_t x) {
    char digits[20];
    text.append(digits, size_t(std::to_chars(digits, digits + 20, x).ptr - digits));
}

}  // namespace gpualign
