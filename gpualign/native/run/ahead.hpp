// The driver and primary contexts, made in a thread while Python still imports.
#pragma once
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "run/driver.hpp"

namespace gpualign {

// What fails is left to who opens the device, and said there.
class ContextsAhead {
public:
    // `indices`: of devices; none of them for all. The first is wanted soon, and the driver makes one at a time.
    void begin(const std::string& path, std::vector<int> indices) {
        {
            std::lock_guard<std::mutex> guard(mutex_);
            pending_.clear();
            there_.clear();
            driver_is_up_ = false;
            begun_ = true;
        }
        std::thread([this, path, indices = std::move(indices)]() mutable {
            try {
                const CudaDriver driver(path);
                int count = 0;
                if (driver.init(0) == 0 && driver.device_count(&count) == 0) {
                    if (indices.empty()) {
                        indices.resize(size_t(count));
                        std::iota(indices.begin(), indices.end(), 0);
                    }
                    tell([&] { pending_.insert(indices.begin(), indices.end()), driver_is_up_ = true; });
                    for (const int index : indices) {
                        const bool made = retained(driver, index);
                        tell([&] {
                            if (made) there_.insert(index);
                            pending_.erase(index);
                        });
                    }
                }
            } catch (const CudaError&) {
            }
            tell([&] { pending_.clear(), driver_is_up_ = true; });
        }).detach();
    }

    // Until the driver is up, where that was begun.
    void wait_for_driver() {
        std::unique_lock<std::mutex> guard(mutex_);
        changed_.wait(guard, [&] { return !begun_ || driver_is_up_; });
    }

    // Whether a device's primary context was made beforehand; waits for it.
    bool is_there(int index) {
        std::unique_lock<std::mutex> guard(mutex_);
        changed_.wait(guard, [&] { return !begun_ || (driver_is_up_ && !pending_.count(index)); });
        return there_.count(index);
    }

private:
    static bool retained(const CudaDriver& driver, int index) {
        int device;
        CudaHandle context;
        return driver.device(&device, index) == 0 && driver.set_primary_flags(device, kHostThreadsSleep) == 0 &&
               driver.retain_primary(&context, device) == 0;
    }
    template <class Change> void tell(Change&& change) {
        std::lock_guard<std::mutex> guard(mutex_);
        change();
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool begun_ = false, driver_is_up_ = false;
    std::set<int> pending_, there_;
};

}  // namespace gpualign
