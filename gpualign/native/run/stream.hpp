// What a device is to do for a batch is written down first, and enqueued in one call.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "run/driver.hpp"

namespace gpualign {

// Wakes a device's thread: work has come, or a batch is done.
class Bell {
public:
    void ring() {
        std::lock_guard<std::mutex> guard(mutex_);
        rung_ = true;
        changed_.notify_one();
    }

    // Until it has been rung since the last time, or so many seconds have passed.
    void wait(double seconds) {
        std::unique_lock<std::mutex> guard(mutex_);
        changed_.wait_for(guard, std::chrono::duration<double>(seconds), [&] { return rung_; });
        rung_ = false;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool rung_ = false;
};

class CudaFunction {
public:
    CudaFunction(std::shared_ptr<const CudaDriver> driver, CudaHandle handle)
        : handle(handle), driver_(std::move(driver)) {}

    int attribute(int which) const {
        int value;
        driver_->check(driver_->function_attribute(&value, which, handle), "asking for a kernel's attribute");
        return value;
    }
    void set_attribute(int which, int value) const {
        driver_->check(driver_->set_function_attribute(handle, which, value), "setting a kernel's attribute");
    }

    const CudaHandle handle;

private:
    const std::shared_ptr<const CudaDriver> driver_;
};

// Loaded in the current context, with which it goes.
class CudaModule {
public:
    CudaModule(std::shared_ptr<const CudaDriver> driver, const void* image) : driver_(std::move(driver)) {
        driver_->check(driver_->module_load(&handle_, image), "loading machine code");
    }
    CudaFunction function(const char* name) const {
        CudaHandle function;
        driver_->check(driver_->module_function(&function, handle_, name), name);
        return {driver_, function};
    }

private:
    const std::shared_ptr<const CudaDriver> driver_;
    CudaHandle handle_;
};

// Where a stream has come to, for other streams. It goes with the context.
class CudaEvent {
public:
    explicit CudaEvent(const CudaDriver& driver) {
        driver.check(driver.event_create(&handle_, kWithoutTime), "making an event");
    }
    explicit CudaEvent(CudaHandle handle) : handle_(handle) {}
    CudaHandle handle() const { return handle_; }

private:
    static constexpr unsigned kWithoutTime = 2;
    CudaHandle handle_;
};

// A stream of the current context. All calls are from the device's thread.
class CudaStream {
public:
    CudaStream(std::shared_ptr<const CudaDriver> driver, std::shared_ptr<Bell> bell)
        : driver_(std::move(driver)), bell_(std::move(bell)) {
        driver_->check(driver_->stream_create(&handle_, kDefault), "making a stream");
    }
    CudaStream(const CudaStream&) = delete;
    CudaStream& operator=(const CudaStream&) = delete;

    // -- what is written down

    template <class Call> void then(const char* what, Call&& call) {
        commands_.push_back({what, std::forward<Call>(call), false});
    }
    void copy_to_device(DeviceAddress to, const void* from, size_t size) {
        then("copying to the device", [=] { return driver_->copy_to_device(to, from, size, handle_); });
    }
    void copy_from_device(void* to, DeviceAddress from, size_t size) {
        then("copying from the device", [=] { return driver_->copy_from_device(to, from, size, handle_); });
    }
    void copy_on_device(DeviceAddress to, DeviceAddress from, size_t size) {
        then("copying on the device", [=] { return driver_->copy_on_device(to, from, size, handle_); });
    }
    void fill(DeviceAddress to, uint8_t value, size_t size) {
        then("clearing memory", [=] { return driver_->fill(to, value, size, handle_); });
    }

    // What is written down next starts when what other streams have recorded last is done; at once, if that is nothing.
    void wait_for(CudaEvent event) {
        then("waiting for another stream",
            [this, event] { return driver_->stream_wait_event(handle_, event.handle(), kDefault); });
    }
    void record_event(CudaEvent event) {
        then("recording an event", [this, event] { return driver_->event_record(event.handle(), handle_); });
    }

    struct Shape {
        unsigned x, y, z;
    };
    // `arguments`: as the kernel has them in memory.
    void launch(CudaHandle function, Shape grid, Shape block, unsigned shared, std::vector<char> arguments) {
        then("launching a kernel", [=, arguments = std::move(arguments)]() mutable {
            size_t size = arguments.size();
            void* config[] = {reinterpret_cast<void*>(1), arguments.data(), reinterpret_cast<void*>(2), &size, nullptr};
            return driver_->launch(
                function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, handle_, nullptr, config);
        });
    }

    // The time when all of what was written down before is done will be known.
    void mark() {
        then("recording an event", [this, number = marks_++] {
            if (number >= events_.size()) events_.resize(number + 1);
            CudaHandle& event = events_[number];
            const int error = event ? 0 : driver_->event_create(&event, kDefault);
            return error ? error : driver_->event_record(event, handle_);
        });
        commands_.back().is_mark = true;
    }

    // -- what is done

    // Enqueues what was written down. `last`: it is the batch's last part, whose end rings the bell. After a command
    // that fails only the marks are enqueued, whose times `wait` will ask for: nvCOMP may fail where the driver goes
    // on.
    void flush(bool last) {
        auto commands = std::move(commands_);
        commands_.clear();
        std::exception_ptr failed;
        for (Command& command : commands) {
            if (failed && !command.is_mark) continue;
            try {
                driver_->check(command.call(), command.what);
            } catch (...) {
                if (!failed) failed = std::current_exception();
            }
        }
        if (failed) std::rethrow_exception(failed);
        if (!last) return;
        done_ = false;
        driver_->check(
            driver_->launch_host_function(handle_, &CudaStream::ended, this), "enqueueing the end of a batch");
    }

    // Whether all that was enqueued has ended, if only by an error.
    bool is_done() const { return done_ || driver_->stream_query(handle_) != kCudaNotReady; }

    // Until all has ended. Returns when each mark was, in seconds after `origin`.
    std::vector<double> wait(CudaHandle origin, double looking_s) {
        using Clock = std::chrono::steady_clock;
        flush(false);
        const auto until = Clock::now() + std::chrono::duration<double>(looking_s);
        while (looking_s > 0 && Clock::now() < until && driver_->stream_query(handle_) == kCudaNotReady) {
        }
        const size_t marks = std::exchange(marks_, 0);
        driver_->check(driver_->stream_synchronize(handle_), "waiting for the device");
        std::vector<double> times(marks);
        for (size_t i = 0; i < marks; i++) {
            float ms;
            driver_->check(driver_->event_elapsed_ms(&ms, origin, events_[i]), "asking for an event's time");
            times[i] = 1e-3 * ms;
        }
        return times;
    }

    // An event that has just been.
    CudaHandle now() const {
        CudaHandle event;
        driver_->check(driver_->event_create(&event, kDefault), "making an event");
        driver_->check(driver_->event_record(event, handle_), "recording an event");
        driver_->check(driver_->event_synchronize(event), "waiting for an event");
        return event;
    }

    void close() {
        if (!handle_) return;
        driver_->stream_synchronize(handle_);
        for (const CudaHandle event : events_) driver_->event_destroy(event);
        driver_->stream_destroy(handle_);
        events_.clear();
        commands_.clear();
        handle_ = nullptr;
    }

    CudaHandle handle() const { return handle_; }

private:
    static constexpr unsigned kDefault = 0;
    struct Command {
        const char* what;
        std::function<int()> call;
        bool is_mark;
    };

    static void ended(void* stream) {
        CudaStream* const self = static_cast<CudaStream*>(stream);
        self->done_ = true;
        self->bell_->ring();
    }

    const std::shared_ptr<const CudaDriver> driver_;
    const std::shared_ptr<Bell> bell_;
    CudaHandle handle_ = nullptr;
    std::vector<Command> commands_;
    std::vector<CudaHandle> events_;
    size_t marks_ = 0;
    std::atomic<bool> done_{true};
};

}  // namespace gpualign
