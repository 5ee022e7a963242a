/* NVIDIA's driver on no device: its memory is this process's, a kernel is a function of this library, and what is
   enqueued is done when somebody waits for the stream. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void* Handle;
enum { OUT_OF_MEMORY = 2, NOT_PERMITTED = 800, NOT_SUPPORTED = 801, NOT_READY = 600, LONGEST = 1 << 14 };

/* What tests look at and set. */
int fake_devices = 2, fake_init = 0, fake_retain = 0, fake_failing_copies = 0, fake_no_pages = 0,
    fake_no_host_memory = 0;
char fake_calls[LONGEST];
size_t fake_registered = 0, fake_allocated = 0;

static __thread Handle current;

static void said(const char* call, size_t number) {
    const size_t end = strlen(fake_calls);
    snprintf(fake_calls + end, LONGEST - end, "%s %zu\n", call, number);
}

int cuGetErrorString(int error, const char** text) {
    *text = error == 700 ? "an illegal memory access was encountered" : NULL;
    return 0;
}
int cuInit(unsigned flags) { return said("init", flags), fake_init; }
int cuDeviceGetCount(int* count) { return *count = fake_devices, 0; }
int cuDeviceGet(int* device, int index) { return *device = index, index < fake_devices ? 0 : 101; }
int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) { return said("flags", 100 * (size_t)device + flags), 0; }
int cuDevicePrimaryCtxRetain(Handle* context, int device) {
    *context = (Handle)(uintptr_t)(device + 1);
    return said("retain", (size_t)device), fake_retain;
}
int cuCtxGetCurrent(Handle* context) { return *context = current, 0; }
int cuCtxSetCurrent(Handle context) { return current = context, 0; }

int cuMemAlloc_v2(uint64_t* address, size_t size) {
    if (size > (size_t)1 << 40) return OUT_OF_MEMORY;
    fake_allocated++;
    return *address = (uint64_t)(uintptr_t)malloc(size), 0;
}
int cuMemFree_v2(uint64_t address) { return fake_allocated--, free((void*)(uintptr_t)address), 0; }

int cuMemHostAlloc(void** address, size_t size, unsigned flags) {
    said("host alloc in", (size_t)(uintptr_t)current);
    if (fake_no_host_memory || flags != 1) return OUT_OF_MEMORY;
    fake_allocated++;
    return *address = malloc(size), 0;
}
int cuMemFreeHost(void* address) {
    return said("host free in", (size_t)(uintptr_t)current), fake_allocated--, free(address), 0;
}
int cuMemHostRegister_v2(void* address, size_t size, unsigned flags) {
    said("register in", (size_t)(uintptr_t)current);
    if (fake_no_pages || flags != 1 || (uintptr_t)address % (2 << 20)) return NOT_SUPPORTED;
    return fake_registered += size > 0, 0;
}
int cuMemHostUnregister(void* address) {
    said("unregister in", (size_t)(uintptr_t)current);
    memset(address, 0, 1); /* the pages are still there */
    return fake_registered--, 0;
}

/* A stream's work in order. */
struct Work {
    void (*call)(struct Work*);
    void *to, *argument;
    const void* from;
    size_t size;
    unsigned value, grid, block;
    Handle function;
    struct Work* next;
};
struct Stream {
    struct Work *first, **end;
};
static struct Work* enqueued(Handle stream, void (*call)(struct Work*)) {
    struct Stream* const to = stream;
    struct Work* const work = calloc(1, sizeof *work);
    work->call = call;
    *to->end = work;
    to->end = &work->next;
    return work;
}
int cuStreamCreate(Handle* stream, unsigned flags) {
    struct Stream* const made = calloc(1, sizeof *made);
    made->end = &made->first;
    return *stream = made, (int)flags;
}
static void do_first(struct Stream* of) {
    struct Work* const work = of->first;
    work->call(work);
    of->first = work->next;
    free(work);
    if (!of->first) of->end = &of->first;
}
int cuStreamSynchronize(Handle stream) {
    struct Stream* const of = stream;
    said("synchronize", 0);
    while (of->first) do_first(of);
    return 0;
}
int cuStreamDestroy_v2(Handle stream) { return said("destroy stream", 0), free(stream), 0; }
int cuStreamQuery(Handle stream) { return ((struct Stream*)stream)->first ? NOT_READY : 0; }

/* An event has the number of the moment when it was recorded. `enqueued` is how often a stream, the last one, was to
   record it, and `done` how often that was done. */
struct Event {
    float moment;
    unsigned enqueued, done;
    struct Stream* stream;
};
static float moments;
static void record(struct Work* work) {
    struct Event* const event = work->to;
    event->moment = ++moments, event->done++;
}
static void wait_for_event(struct Work* work) {
    struct Event* const event = work->to;
    while (event->done < work->value) do_first(work->argument);
}
int cuEventCreate(Handle* event, unsigned flags) { return *event = calloc(1, sizeof(struct Event)), (int)flags & ~2; }
int cuEventDestroy_v2(Handle event) { return free(event), 0; }
int cuEventRecord(Handle event, Handle stream) {
    struct Event* const recorded = event;
    recorded->enqueued++, recorded->stream = stream;
    return enqueued(stream, record)->to = event, 0;
}
int cuStreamWaitEvent(Handle stream, Handle event, unsigned flags) {
    const struct Event* const recorded = event;
    struct Work* const work = enqueued(stream, wait_for_event);
    work->to = event, work->value = recorded->enqueued, work->argument = recorded->stream;
    return (int)flags;
}
static float moment(Handle event) { return ((struct Event*)event)->moment; }
int cuEventSynchronize(Handle event) { return ((struct Event*)event)->moment = ++moments, 0; }
int cuEventElapsedTime(float* ms, Handle from, Handle to) { return *ms = 1000 * (moment(to) - moment(from)), 0; }

static void copy(struct Work* work) { memcpy(work->to, work->from, work->size); }
static void fill(struct Work* work) { memset(work->to, (int)work->value, work->size); }
static int copied(void* to, const void* from, size_t size, Handle stream) {
    if (fake_failing_copies) return 700;
    struct Work* const work = enqueued(stream, copy);
    work->to = to, work->from = from, work->size = size;
    return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t size, Handle stream) {
    return copied((void*)to, from, size, stream);
}
int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t size, Handle stream) {
    return copied(to, (void*)from, size, stream);
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, Handle stream) {
    return copied((void*)to, (void*)from, size, stream);
}
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t size, Handle stream) {
    struct Work* const work = enqueued(stream, fill);
    work->to = (void*)to, work->value = value, work->size = size;
    return 0;
}

/* The one kernel: to[i] = scale * from[i], with its arguments after a struct of 12 bytes, as CUDA lays them out. */
struct Arguments {
    struct {
        uint32_t count, unused[2];
    } numbers;
    uint8_t offset;
    uint16_t scale;
    uint32_t* to;
    const uint32_t* from;
};
static void run(struct Work* work) {
    const struct Arguments* const own = work->argument;
    for (uint32_t i = 0; i < own->numbers.count; i++) own->to[i] = own->offset + own->scale * own->from[i];
    free(work->argument);
}
static int shared_bytes;
int cuModuleLoadData(Handle* module, const void* image) {
    return *module = (Handle)image, memcmp(image, "cubin", 5) ? 209 : 0;
}
int cuModuleUnload(Handle module) { return module == NULL; }
int cuModuleGetFunction(Handle* function, Handle module, const char* name) {
    (void)module;
    return *function = (Handle)run, strcmp(name, "scale") ? 500 : 0;
}
int cuFuncGetAttribute(int* value, int attribute, Handle function) {
    return *value = attribute == 4 ? 40 : 0, function == NULL;
}
int cuFuncSetAttribute(Handle function, int attribute, int value) {
    return shared_bytes = value, attribute != 8 || function == NULL;
}
int cuLaunchKernel(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
    unsigned block_y, unsigned block_z, unsigned shared, Handle stream, void** parameters, void** extra) {
    if (parameters || extra[0] != (void*)1 || extra[2] != (void*)2 || extra[4]) return 1;
    if (grid_x * grid_y * grid_z != 6 || block_x * block_y * block_z != 64 || (int)shared != shared_bytes) return 1;
    if (*(size_t*)extra[3] != sizeof(struct Arguments)) return 1;
    (void)function;
    struct Work* const work = enqueued(stream, run);
    work->argument = memcpy(malloc(sizeof(struct Arguments)), extra[1], sizeof(struct Arguments));
    return 0;
}
static void call_host(struct Work* work) { ((void (*)(void*))work->function)(work->argument); }
int cuLaunchHostFunc(Handle stream, void (*function)(void*), void* data) {
    struct Work* const work = enqueued(stream, call_host);
    work->function = (Handle)function, work->argument = data;
    return 0;
}
