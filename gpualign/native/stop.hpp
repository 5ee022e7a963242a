// Work that takes minutes is given up where the command is to end, or a signal's handler raises.
#pragma once
#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <exception>

namespace gpualign {

// Thrown by what was given up. Where Python's error is set, that is why.
struct Stopped : std::exception {
    const char* what() const noexcept override { return "given up"; }
};

// Set once for all, by the command line's handlers of signals: what runs in other threads than the main one sees none itself.
inline std::atomic<bool> all_work_is_to_stop{false};

// Whether to give up, asked as often as one likes, without the interpreter's lock, by one thread.
class StopAsked {
public:
    bool operator()() {
        if (all_work_is_to_stop.load(std::memory_order_relaxed)) return true;
        const auto now = std::chrono::steady_clock::now();
        if (now < next_look_) return false;
        next_look_ = now + std::chrono::milliseconds(100);
        nanobind::gil_scoped_acquire acquire;
        return PyErr_CheckSignals() != 0;  // runs the handlers, in the main thread alone
    }

private:
    std::chrono::steady_clock::time_point next_look_ = std::chrono::steady_clock::now();
};

}  // namespace gpualign
