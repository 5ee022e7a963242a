// A part of a gzip file (RFC 1951 and 1952), decoded without what precedes it: decoding begins at the first block
// found in the part, and yields 16 bits per byte: the byte, or the position among the preceding 32 KiB that it is
// copied from. These are filled in once they are known (Kerbiriou and Chikhi 2019, pugz; Knespel and Brunst 2023,
// rapidgzip). Free of Python.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "text/gzip/block.hpp"

namespace gpualign::gzip {

constexpr size_t kWindow = size_t(1) << 15;
constexpr uint16_t kBefore = 0x8000;  // symbols from here on are positions in the window before the part

struct Damaged : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct OtherFollows : Damaged {
    OtherFollows() : Damaged("other bytes follow it") {}
};

// End of a gzip member: bytes of the part before it, and the trailer's CRC-32 and size.
struct MemberEnd {
    uint64_t bytes;
    uint32_t crc, size;
};

class Part {
public:
    // `window`: the preceding 32 KiB, or null if unknown. A part ends before the first dynamic block from bit `stop`
    // on, or once it has more than `most` bytes.
    Part(BitReader&& in, uint64_t stop, const uint8_t* window, size_t most)
        : in_(std::move(in)), stop_(stop), most_(most), symbols_(new uint16_t[kWindow + most + kSlack]) {
        for (size_t i = 0; i < kWindow; i++) symbols_.get()[i] = window ? window[i] : uint16_t(kBefore + i);
    }

    // Decodes from the file's first header on.
    void from_start() {
        begin_ = 0;
        in_.go_to(begin_);
        state_ = State::member;
        run();
    }
    void from_block(uint64_t bit) {
        begin_ = bit;
        in_.go_to(bit);
        state_ = State::header;
        run();
    }
    // Decodes from the first block that begins in the bits [from, to), if there is one.
    void from_first_block(uint64_t from, uint64_t to) {
        for (uint64_t bit = from, end = std::min(to, in_.end()); bit < end; bit++) {
            if (!may_begin(in_, bit)) continue;
            from_block(bit);
            if (blocks_ || error_.empty()) return;
            used_ = 0, members_.clear(), error_.clear(), ended_early_ = other_follows_ = false;
        }
        begin_ = ~uint64_t(0);
    }
    // Continues a part that was out of memory, with the window that is known now. The part is unchanged, as others
    // read it.
    Part rest(const uint8_t* window) const {
        Part next(in_.from(end_, kMoreInput), stop_, window, most_);
        next.codes_ = codes_, next.state_ = state_, next.last_ = last_, next.stored_ = stored_;
        next.members_ended_ = members_ended_;
        next.begin_ = end_;
        next.run();
        return next;
    }

    uint64_t begin() const { return begin_; }  // bit of the file; ~0: no block was found
    uint64_t end() const { return end_; }
    bool full() const { return full_; }  // it ends within a block, for want of memory
    bool at_end() const { return at_end_; }  // end of the file
    const std::string& error() const { return error_; }  // what is wrong after the part
    bool ended_early() const { return ended_early_; }
    bool other_follows() const { return other_follows_; }
    size_t size() const { return used_; }
    const std::vector<MemberEnd>& members() const { return members_; }

    // The part's bytes.
    void text(const uint8_t* window, uint8_t* out) const { resolve(symbols_.get() + kWindow, used_, window, out); }
    // The last 32 KiB before its end.
    void window_after(const uint8_t* window, uint8_t* out) const {
        resolve(symbols_.get() + used_, kWindow, window, out);
    }

private:
    static constexpr size_t kSlack = 320;  // symbols that a copy may write beyond the limit
    static constexpr size_t kMoreInput = size_t(1) << 16, kStepBytes = 16;  // a step takes fewer
    enum class State { member, header, stored, coded, trailer };

    // Converts symbols to bytes.
    static void resolve(const uint16_t* symbols, size_t n, const uint8_t* window, uint8_t* out) {
        constexpr size_t kStep = 32;
        const size_t whole = n / kStep * kStep;
        for (size_t i = 0; i < whole; i += kStep) {
            uint16_t all = 0;
            for (size_t j = 0; j < kStep; j++) all |= symbols[i + j];
            if (all < kBefore)
                for (size_t j = 0; j < kStep; j++) out[i + j] = uint8_t(symbols[i + j]);
            else
                for (size_t j = 0; j < kStep; j++) out[i + j] = byte_of(symbols[i + j], window);
        }
        for (size_t i = whole; i < n; i++) out[i] = byte_of(symbols[i], window);
    }
    static uint8_t byte_of(uint16_t symbol, const uint8_t* window) {
        const uint8_t before = window[symbol & (kWindow - 1)];  // unconditional load: no branch
        return symbol < kBefore ? uint8_t(symbol) : before;
    }

    void run() {
        try {
            while (step()) {
            }
        } catch (const EndedEarly& error) {
            error_ = error.what(), ended_early_ = true;
        } catch (const Damaged& error) {
            error_ = error.what(), other_follows_ = dynamic_cast<const OtherFollows*>(&error) != nullptr;
        }
        end_ = in_.position();
    }

    // Advances the state machine; false at the part's end.
    bool step() {
        switch (state_) {
            case State::member: return member();
            case State::header: return header();
            case State::stored: return stored();
            case State::coded: return coded();
            case State::trailer: return trailer();
        }
        return false;
    }

    // Bytes from `at` on, which are read if necessary.
    const uint8_t* bytes(uint64_t at, size_t n) {
        while (8 * (at + n) > in_.end()) {
            if (in_.has_all()) throw EndedEarly();
            in_.more(std::max(n, kMoreInput));
        }
        return in_.byte(at);
    }

    bool member() {
        uint64_t at = in_.position() / 8;
        while (members_ended_ && !(in_.has_all() && 8 * at == in_.end()) && *bytes(at, 1) == 0)
            at++;  // tapes are padded with zeros
        if (members_ended_ && in_.has_all() && 8 * at == in_.end()) {
            in_.go_to(8 * at);
            at_end_ = true;
            return false;
        }
        if (bytes(at, 1)[0] != 0x1f || bytes(at, 2)[1] != 0x8b) throw OtherFollows();
        const uint8_t* head = bytes(at, 10);
        if (head[2] != 8) throw Damaged("an unknown method of compression");
        const uint8_t flags = head[3];
        at += 10;
        if (flags & 4) {
            head = bytes(at, 2);
            at += 2u + head[0] + 256u * head[1];
        }
        for (int text = 0; text < ((flags >> 3 & 1) + (flags >> 4 & 1)); text++) {
            while (*bytes(at, 1)) at++;
            at++;
        }
        if (flags & 2) at += 2;
        bytes(at, 0);
        in_.go_to(8 * at);
        state_ = State::header;
        return true;
    }

    bool header() {
        if (!in_.enough(BlockCodes::kHeaderBytes) && !in_.has_all()) return more();
        in_.refill();
        if (in_.position() >= stop_ && (in_.held & 7) == 4) return false;
        last_ = in_.get(1);
        const uint32_t type = in_.get(2);
        state_ = State::coded;
        if (type == 0) {
            const uint64_t at = (in_.position() + 7) / 8;
            const uint8_t* sizes = bytes(at, 4);
            stored_ = sizes[0] + 256u * sizes[1];
            if ((stored_ ^ 0xFFFF) != sizes[2] + 256u * sizes[3]) throw Damaged("an invalid stored block");
            in_.go_to(8 * (at + 4));
            state_ = State::stored;
        } else if (type == 1) {
            codes_.set_fixed();
        } else if (type == 3 || !codes_.read(in_)) {
            in_.check_end();
            throw Damaged("an invalid block");
        }
        in_.check_end();
        return true;
    }

    bool stored() {
        if (used_ >= most_) return is_full();
        const uint32_t n = uint32_t(std::min<size_t>(stored_, most_ - used_));
        const uint64_t at = in_.position() / 8;
        const uint8_t* from = bytes(at, n);
        std::copy(from, from + n, symbols_.get() + kWindow + used_);
        used_ += n;
        stored_ -= n;
        in_.go_to(8 * (at + n));
        if (!stored_) block_ended();
        return true;
    }

    bool coded() {
        if (used_ >= most_) return is_full();
        const bool near_end = !in_.enough(kStepBytes);
        if (near_end && !in_.has_all()) return more();
        const size_t before = used_;
        const bool ended = decode(near_end);
        if (in_.position() > in_.end()) {
            used_ = before;  // decoded from bits beyond the end
            throw EndedEarly();
        }
        if (ended) block_ended();
        return true;
    }

    bool more() {
        const uint64_t at = in_.position();
        in_.more(kMoreInput);
        in_.go_to(at);
        return true;
    }

    bool is_full() {
        full_ = true;
        return false;
    }

    void block_ended() {
        blocks_++;
        state_ = last_ ? State::trailer : State::header;
    }

    bool trailer() {
        const uint64_t at = (in_.position() + 7) / 8;
        const uint8_t* trailer = bytes(at, 8);
        uint32_t crc, size;
        std::memcpy(&crc, trailer, 4);
        std::memcpy(&size, trailer + 4, 4);
        members_.push_back({used_, crc, size});
        members_ended_ = true;
        in_.go_to(8 * (at + 8));
        state_ = State::member;
        return true;
    }

    // Decodes the symbols of a block, as far as input and memory suffice, or of one step; true at the block's end.
    bool decode(bool one_step) {
        uint16_t* out = symbols_.get() + kWindow + used_;
        uint16_t* const limit = symbols_.get() + kWindow + most_;
        const uint8_t* const last = one_step ? in_.next() : in_.last(kStepBytes);
        BitReader in(std::move(in_));  // keeps it in registers
        bool ended = false;
        const char* wrong = nullptr;
        while (out < limit && in.next() <= last) {
            in.refill();
            Entry entry = codes_.symbols.first(in.held);
            if (entry.literals()) {
                out = put(out, entry, in);
                entry = codes_.symbols.first(in.held);
                if (entry.literals()) {
                    out = put(out, entry, in);
                    entry = codes_.symbols.first(in.held);
                    if (entry.literals()) {
                        out = put(out, entry, in);
                        continue;
                    }
                }
                in.refill();
            }
            if (entry.kind() != Entry::value) {
                if (entry.kind() == Entry::table) entry = codes_.symbols.longer(entry, in.held);
                if (entry.literals()) {
                    out = put(out, entry, in);
                    continue;
                }
                if (entry.kind() == Entry::end) {
                    in.take(entry.bits());
                    ended = true;
                    break;
                }
                if (entry.kind() == Entry::invalid) {
                    wrong = "an invalid length";
                    break;
                }
            }
            const uint32_t length = entry.of(in.held);
            in.take(entry.bits());
            Entry far = codes_.distances.first(in.held);
            if (far.kind() == Entry::table) far = codes_.distances.longer(far, in.held);
            if (far.kind() != Entry::value) {
                wrong = "an invalid distance";
                break;
            }
            const uint32_t distance = far.of(in.held);
            in.take(far.bits());
            copy(out, distance, length);
            out += length;
        }
        in_ = std::move(in);
        used_ = size_t(out - symbols_.get()) - kWindow;
        if (wrong && in_.position() + 8 * kStepBytes > in_.end() && in_.has_all())
            throw EndedEarly();  // padding was decoded
        if (wrong) throw Damaged(wrong);
        return ended;
    }

    static uint16_t* put(uint16_t* out, Entry entry, BitReader& in) {
        const uint32_t three = entry.three();
        out[0] = uint8_t(three), out[1] = uint8_t(three >> 8), out[2] = uint8_t(three >> 16);
        in.take(entry.bits());
        return out + entry.literals();
    }

    static void copy(uint16_t* to, uint32_t distance, uint32_t length) {
        const uint16_t* from = to - distance;
        uint16_t* const end = to + length;
        if (distance < 8) {
            while (to < end) *to++ = *from++;
            return;
        }
        do {
            std::memcpy(to, from, 16);
            to += 8, from += 8;
        } while (to < end);
    }

    BitReader in_;
    uint64_t stop_;
    size_t most_, used_ = 0, blocks_ = 0;
    std::unique_ptr<uint16_t[]> symbols_;
    BlockCodes codes_;
    State state_ = State::header;
    bool last_ = false, full_ = false, at_end_ = false, ended_early_ = false, other_follows_ = false,
         members_ended_ = false;
    uint32_t stored_ = 0;  // bytes of the stored block that are left
    uint64_t begin_ = 0, end_ = 0;
    std::vector<MemberEnd> members_;
    std::string error_;
};

}  // namespace gpualign::gzip
