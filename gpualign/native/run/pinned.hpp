// Pinned host memory, from any thread. Large pages are found in half the time, and given back in a fifth.
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "common/parallel_for.hpp"
#include "run/driver.hpp"

namespace gpualign {

// Whether the system gives large pages to who asks for them.
inline bool large_pages_are_had() {
    std::ifstream setting("/sys/kernel/mm/transparent_hugepage/enabled");
    const std::string text(std::istreambuf_iterator<char>(setting), {});
    return !text.empty() && text.find("[never]") == std::string::npos;
}

// All of one device's, made in its thread; it may be called from any thread until it is closed.
class PinnedMemory {
public:
    PinnedMemory(std::shared_ptr<const CudaDriver> driver, bool large_pages)
        : driver_(std::move(driver)), large_pages_(large_pages) {
        driver_->check(driver_->current_context(&context_), "asking for the context");
    }

    // Memory of any content. Throws std::bad_alloc where there is none, or none any more.
    void* lock(size_t size) {
        {
            std::lock_guard<std::mutex> guard(mutex_);
            if (closed_) throw std::bad_alloc();
            being_locked_++;
        }
        const Pages pages = found(size);
        std::lock_guard<std::mutex> guard(mutex_);
        being_locked_--;
        changed_.notify_all();
        if (!pages.address) throw std::bad_alloc();
        locked_ += size;
        pages_.emplace(pages.address, pages);
        return pages.address;
    }

    // Pages that are the system's stay until their last user lets go of them, even where the context has gone.
    void unlock(void* address) {
        Pages pages;
        bool closed;
        {
            std::lock_guard<std::mutex> guard(mutex_);
            pages = pages_.at(address);
            pages_.erase(address);
            locked_ -= pages.size;
            closed = closed_;
        }
        if (!closed) {
            const WithContext context(*this);
            pages.mapped ? driver_->host_unregister(address) : driver_->host_free(address);
        }
        if (pages.mapped) munmap(pages.mapped, pages.size + kLargePage);
    }

    // Before the context goes: after what other threads lock now, and no more.
    void close() {
        std::unique_lock<std::mutex> guard(mutex_);
        if (closed_) return;
        closed_ = true;
        changed_.wait(guard, [&] { return being_locked_ == 0; });
        const WithContext context(*this);
        for (const auto& held : pages_)
            if (held.second.mapped) driver_->host_unregister(held.first);
    }

    size_t locked() const {
        std::lock_guard<std::mutex> guard(mutex_);
        return locked_;
    }

private:
    static constexpr size_t kLargePage = 2 << 20, kPage = 1 << 12;
    static constexpr size_t kThreads = 8, kShare = 256 << 20;  // that touch pages, at most, and bytes for each
    // `mapped`: where the system's pages begin, of which what is locked is a part; null where the driver found them.
    struct Pages {
        void* address;
        void* mapped;
        size_t size;
    };

    // The device's context is the calling thread's until this goes.
    struct WithContext {
        explicit WithContext(const PinnedMemory& of) : driver(*of.driver_) {
            driver.current_context(&before);
            driver.set_current_context(of.context_);
        }
        ~WithContext() { driver.set_current_context(before); }
        const CudaDriver& driver;
        CudaHandle before = nullptr;
    };

    Pages found(size_t size) const {
        const WithContext context(*this);
        if (size >= kLargePage && large_pages_) {
            const Pages pages = large(size);
            if (pages.address) return pages;
        }
        void* address = nullptr;
        const int error = driver_->host_alloc(&address, size, kPinnedForAllContexts);
        return {error ? nullptr : address, nullptr, size};
    }

    // Has the system find and clear the pages, those of large memory in several threads.
    static void touch(char* address, size_t size) {
        const size_t threads = std::min(kThreads, 1 + size / kShare), share = (size / threads + kPage) / kPage * kPage;
        const auto touch_share = [=](size_t begin) {
            for (size_t at = begin, end = std::min(size, begin + share); at < end; at += kPage) address[at] = 0;
        };
        parallel_for(int(threads), threads, [&](size_t i, int) { touch_share(i * share); });
    }

    Pages large(size_t size) const {
        void* mapped = mmap(nullptr, size + kLargePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) return {nullptr, nullptr, size};
        madvise(mapped, size + kLargePage, MADV_DONTFORK);  // a copy on write would leave a device with the old pages
        madvise(mapped, size + kLargePage, MADV_HUGEPAGE);
        char* address =
            reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(mapped) + kLargePage - 1) / kLargePage * kLargePage);
        touch(address, size);  // else they are found while all who call the driver wait
        if (driver_->host_register(address, size, kPinnedForAllContexts) == 0) return {address, mapped, size};
        munmap(mapped, size + kLargePage);
        return {nullptr, nullptr, size};
    }

    const std::shared_ptr<const CudaDriver> driver_;
    const bool large_pages_;
    CudaHandle context_ = nullptr;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    size_t being_locked_ = 0, locked_ = 0;
    bool closed_ = false;
    std::unordered_map<void*, Pages> pages_;
};

}  // namespace gpualign
