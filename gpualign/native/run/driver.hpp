// NVIDIA's driver by its own library, which is opened at run time: neither a build nor a wheel needs the CUDA toolkit.
#pragma once
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace gpualign {

class CudaError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};
class NvcompError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A shared library that stays open as long as the process.
template <class Error> class Library {
public:
    explicit Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW)) {
        if (!handle_) throw Error(path + " cannot be loaded: " + dlerror());
    }

    template <class Result, class... Arguments> void find(Result (*&function)(Arguments...), const char* name) const {
        function = reinterpret_cast<Result (*)(Arguments...)>(dlsym(handle_, name));
        if (!function) throw Error(std::string("the library has no ") + name);
    }

private:
    void* const handle_;
};

using CudaHandle = void*;       // of a context, a stream, an event, a module or a function
using DeviceAddress = uint64_t;

constexpr int kCudaOutOfMemory = 2, kCudaNotReady = 600;
constexpr int kHostThreadsSleep = 4;  // CU_CTX_SCHED_BLOCKING_SYNC: who waits for the device uses no processor time
constexpr int kPinnedForAllContexts = 1;  // CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE

// Functions of cuda.h.
struct CudaDriver {
    int (*error_text)(int, const char**);
    int (*init)(unsigned);
    int (*device_count)(int*);
    int (*device)(int*, int);
    int (*set_primary_flags)(int, unsigned);
    int (*retain_primary)(CudaHandle*, int);
    int (*current_context)(CudaHandle*);
    int (*set_current_context)(CudaHandle);
    int (*allocate)(DeviceAddress*, size_t);
    int (*free)(DeviceAddress);
    int (*host_alloc)(void**, size_t, unsigned);
    int (*host_free)(void*);
    int (*host_register)(void*, size_t, unsigned);
    int (*host_unregister)(void*);
    int (*stream_create)(CudaHandle*, unsigned);
    int (*stream_destroy)(CudaHandle);
    int (*stream_synchronize)(CudaHandle);
    int (*stream_query)(CudaHandle);
    int (*stream_wait_event)(CudaHandle, CudaHandle, unsigned);
    int (*event_create)(CudaHandle*, unsigned);
    int (*event_destroy)(CudaHandle);
    int (*event_record)(CudaHandle, CudaHandle);
    int (*event_synchronize)(CudaHandle);
    int (*event_elapsed_ms)(float*, CudaHandle, CudaHandle);
    int (*copy_to_device)(DeviceAddress, const void*, size_t, CudaHandle);
    int (*copy_from_device)(void*, DeviceAddress, size_t, CudaHandle);
    int (*copy_on_device)(DeviceAddress, DeviceAddress, size_t, CudaHandle);
    int (*fill)(DeviceAddress, unsigned char, size_t, CudaHandle);
    int (*module_load)(CudaHandle*, const void*);
    int (*module_unload)(CudaHandle);
    int (*module_function)(CudaHandle*, CudaHandle, const char*);
    int (*function_attribute)(int*, int, CudaHandle);
    int (*set_function_attribute)(CudaHandle, int, int);
    int (*launch)(
        CudaHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CudaHandle, void**, void**);
    int (*launch_host_function)(CudaHandle, void (*)(void*), void*);

    explicit CudaDriver(const std::string& path) {
        const Library<CudaError> library(path);
        library.find(error_text, "cuGetErrorString");
        library.find(init, "cuInit");
        library.find(device_count, "cuDeviceGetCount");
        library.find(device, "cuDeviceGet");
        library.find(set_primary_flags, "cuDevicePrimaryCtxSetFlags_v2");
        library.find(retain_primary, "cuDevicePrimaryCtxRetain");
        library.find(current_context, "cuCtxGetCurrent");
        library.find(set_current_context, "cuCtxSetCurrent");
        library.find(allocate, "cuMemAlloc_v2");
        library.find(free, "cuMemFree_v2");
        library.find(host_alloc, "cuMemHostAlloc");
        library.find(host_free, "cuMemFreeHost");
        library.find(host_register, "cuMemHostRegister_v2");
        library.find(host_unregister, "cuMemHostUnregister");
        library.find(stream_create, "cuStreamCreate");
        library.find(stream_destroy, "cuStreamDestroy_v2");
        library.find(stream_synchronize, "cuStreamSynchronize");
        library.find(stream_query, "cuStreamQuery");
        library.find(stream_wait_event, "cuStreamWaitEvent");
        library.find(event_create, "cuEventCreate");
        library.find(event_destroy, "cuEventDestroy_v2");
        library.find(event_record, "cuEventRecord");
        library.find(event_synchronize, "cuEventSynchronize");
        library.find(event_elapsed_ms, "cuEventElapsedTime");
        library.find(copy_to_device, "cuMemcpyHtoDAsync_v2");
        library.find(copy_from_device, "cuMemcpyDtoHAsync_v2");
        library.find(copy_on_device, "cuMemcpyDtoDAsync_v2");
        library.find(fill, "cuMemsetD8Async");
        library.find(module_load, "cuModuleLoadData");
        library.find(module_unload, "cuModuleUnload");
        library.find(module_function, "cuModuleGetFunction");
        library.find(function_attribute, "cuFuncGetAttribute");
        library.find(set_function_attribute, "cuFuncSetAttribute");
        library.find(launch, "cuLaunchKernel");
        library.find(launch_host_function, "cuLaunchHostFunc");
    }

    void check(int error, const char* what) const {
        if (!error) return;
        const char* text = nullptr;
        error_text(error, &text);
        throw CudaError(std::string(what) + " failed: " + (text ? text : "error " + std::to_string(error)));
    }
};

}  // namespace gpualign
