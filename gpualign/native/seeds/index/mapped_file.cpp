// Survives the truncation of mapped files: reads beyond the new end give zeros and set a flag, instead of a SIGBUS
// that ends the process.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>

#include "arrays.hpp"
#include "bindings.hpp"

namespace gpualign {
namespace {

// The handler may run at any time in any thread, so it only reads atomics.
struct Region {
    std::atomic<uintptr_t> begin{0}, end{0};
    std::atomic<bool> failed{false};
};
constexpr int kRegions = 64;
Region regions[kRegions];
struct sigaction before;
std::mutex changing;

void on_fault(int number, siginfo_t* info, void*) {
    const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
    for (Region& region : regions) {
        const uintptr_t end = region.end.load();
        if (at < region.begin.load() || at >= end) continue;
        region.failed = true;
        const uintptr_t page = at / uintptr_t(sysconf(_SC_PAGESIZE)) * uintptr_t(sysconf(_SC_PAGESIZE));
        void* zeros =
            mmap(reinterpret_cast<void*>(page), end - page, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
        if (zeros != MAP_FAILED) return;
    }
    sigaction(number, &before, nullptr);  // not ours: the instruction runs again under the previous handler
}

int guard(uintptr_t address, size_t bytes) {
    const std::lock_guard<std::mutex> lock(changing);
    static const bool handled = [] {
        struct sigaction action = {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO;
        return sigaction(SIGBUS, &action, &before) == 0;
    }();
    if (!handled) throw nb::value_error("no handler for SIGBUS");
    for (int i = 0; i < kRegions; i++) {
        if (regions[i].end) continue;
        regions[i].failed = false;
        regions[i].begin = address;
        regions[i].end = address + bytes;
        return i;
    }
    throw nb::value_error("too many mapped files");
}

void release(int region) {
    const std::lock_guard<std::mutex> lock(changing);
    regions[region].end = regions[region].begin = 0;
}

// Returns 0, or the errno of mlock.
int lock_pages(uintptr_t address, size_t bytes) {
    return mlock(reinterpret_cast<void*>(address), bytes) == 0 ? 0 : errno;
}

}  // namespace

void bind_mapped_file(nb::module_& m) {
    m.def("guard_mapping", &guard, nb::arg("address"), nb::arg("bytes"), "Guards a mapped file; returns its number.");
    m.def("release_mapping", &release, nb::arg("number"));
    m.def(
        "mapping_failed", [](int region) { return regions[region].failed.load(); }, nb::arg("number"),
        "Whether a part of the mapped file was not there any more when it was read.");
    m.def("lock_pages", &lock_pages, nb::arg("address"), nb::arg("bytes"),
        "Keeps pages in memory; 0, or the error's number.");
}

}  // namespace gpualign
