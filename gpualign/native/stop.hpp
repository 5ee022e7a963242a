// Ends long computations early, if the command ends or a signal handler raises.
#pragma once
#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <exception>

namespace gpualign {

// Thrown by computations that end early; Python's error is set if it is the reason.
struct Stopped : std::exception {
    const char* what() const noexcept override { return "given up"; }
};

// Set once by the command's signal handlers, since other threads than the main one do not see signals.
inline std::atomic<bool> all_work_is_to_stop{false};

// Whether to stop; cheap to ask, without the GIL, by one thread.
class StopAsked {
public:
    bool operator()() {
        if (all_work_is_to_stop.load(std::memory_order_relaxed)) return true;
        const auto now = std::chrono::steady_clock::now();
        if (now < next_look_) return false;
        next_look_ = now + std::chrono::milliseconds(100);
        nanobind::gil_scoped_acquire acquire;
        return PyErr_CheckSignals() != 0;  // runs the handlers; only in the main thread
    }

private:
    std::chrono::steady_clock::time_point next_look_ = std::chrono::steady_clock::now();
};

}  // namespace gpualign
