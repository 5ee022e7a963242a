// Work in several threads of its own, for calls that take long.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace gpualign {

// Runs work(thread) once in each of `threads` threads, of which the caller's is number 0, or in fewer where the system
// has no more. Rethrows the exception of one after all have ended.
template <class Work> void in_threads(size_t threads, Work&& work) {
    std::vector<std::exception_ptr> errors(std::max<size_t>(threads, 1));
    const auto run = [&](size_t thread) {
        try {
            work(thread);
        } catch (...) {
            errors[thread] = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    others.reserve(errors.size());
    try {
        for (size_t t = 1; t < threads; t++) others.emplace_back(run, t);
    } catch (const std::system_error&) {
    }
    run(0);
    for (std::thread& other : others) other.join();
    for (const std::exception_ptr& error : errors)
        if (error) std::rethrow_exception(error);
}

// Runs task(i, thread) for i = 0 .. count - 1, in up to `threads` threads.
template <class Task> void parallel_for(int threads, size_t count, Task&& task) {
    std::atomic<size_t> next{0};
    in_threads(std::min(size_t(std::max(threads, 1)), count), [&](size_t thread) {
        for (size_t i; (i = next.fetch_add(1)) < count;) task(i, int(thread));
    });
}

}  // namespace gpualign
