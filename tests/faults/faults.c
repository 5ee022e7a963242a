/* Faults for a process under test, by LD_PRELOAD: gpualign itself holds no hook and pays nothing.

   FAULT="KIND:N" chooses what happens once a path that contains FAULT_AFTER has been opened:
     allocation:N  the N-th allocation of at least FAULT_BYTES bytes fails
     write:N       the disk is full (ENOSPC) after N bytes have been written
     write_error:N the same with EIO
     read_error:N  reading fails (EIO) after N bytes of that path
     short_read:N  every read gives at most N bytes
     count:0       nothing fails
   FAULT_REPORT names a file that receives "allocations writes" at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

enum kind { count, allocation, write_full, write_error, read_error, short_read };
static const char* const names[] = {"count", "allocation", "write", "write_error", "read_error", "short_read"};
static enum kind kind;
static long at;             /* N */
static size_t minimum = 4096; /* bytes of an allocation that counts */
static const char* after;
static int armed;
static int watched = -1; /* descriptor of the path */
static long allocations, written, bytes_read;
static ssize_t (*real_write)(int, const void*, size_t);
static ssize_t (*real_read)(int, void*, size_t);
static int (*real_open)(const char*, int, ...);
static int (*real_openat)(int, const char*, int, ...);

__attribute__((constructor)) static void start(void) {
    real_write = (ssize_t (*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
    real_read = (ssize_t (*)(int, void*, size_t))dlsym(RTLD_NEXT, "read");
    real_open = (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, "open64");
    real_openat = (int (*)(int, const char*, int, ...))dlsym(RTLD_NEXT, "openat64");
    const char* fault = getenv("FAULT");
    const char* bytes = getenv("FAULT_BYTES");
    after = getenv("FAULT_AFTER");
    if (bytes) minimum = (size_t)atol(bytes);
    for (int k = 0; fault && k < 6; k++)
        if (!strncmp(fault, names[k], strlen(names[k])) && fault[strlen(names[k])] == ':') {
            kind = (enum kind)k;
            at = atol(fault + strlen(names[k]) + 1);
        }
}

__attribute__((destructor)) static void stop(void) {
    const char* report = getenv("FAULT_REPORT");
    char text[64];
    if (!report || !armed) return;
    const int file = real_open(report, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int size = snprintf(text, sizeof text, "%ld %ld\n", allocations, written);
    if (file >= 0 && real_write(file, text, (size_t)size) < 0) abort();
}

static int fails(size_t size) {
    if (!armed || size < minimum) return 0;
    const long number = __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    if (kind != allocation || number != at) return 0;
    errno = ENOMEM;
    return 1;
}

void* malloc(size_t size) { return fails(size) ? NULL : __libc_malloc(size); }
void* calloc(size_t n, size_t size) { return fails(n * size) ? NULL : __libc_calloc(n, size); }
void* realloc(void* p, size_t size) { return fails(size) ? NULL : __libc_realloc(p, size); }
void* aligned_alloc(size_t alignment, size_t size) { return fails(size) ? NULL : __libc_memalign(alignment, size); }
int posix_memalign(void** p, size_t alignment, size_t size) {
    if (fails(size)) return ENOMEM;
    *p = __libc_memalign(alignment, size);
    return *p ? 0 : ENOMEM;
}

static int opened(const char* path, int file) {
    if (file >= 0 && after && strstr(path, after)) {
        armed = 1;
        watched = file;
    } else if (file == watched) {
        watched = -1; /* closed and used again */
    }
    return file;
}

#define MODE \
    va_list arguments; \
    va_start(arguments, flags); \
    const int mode = va_arg(arguments, int); \
    va_end(arguments);

int open(const char* path, int flags, ...) { MODE return opened(path, real_open(path, flags, mode)); }
int open64(const char* path, int flags, ...) { MODE return opened(path, real_open(path, flags, mode)); }
int openat(int folder, const char* path, int flags, ...) {
    MODE return opened(path, real_openat(folder, path, flags, mode));
}
int openat64(int folder, const char* path, int flags, ...) {
    MODE return opened(path, real_openat(folder, path, flags, mode));
}

ssize_t write(int file, const void* data, size_t size) {
    if (armed && file != 2 && (kind == write_full || kind == write_error)) {
        const long capacity = at - __atomic_load_n(&written, __ATOMIC_RELAXED);
        if (capacity <= 0) {
            errno = kind == write_full ? ENOSPC : EIO;
            return -1;
        }
        if ((long)size > capacity) size = (size_t)capacity; /* what a disk that fills up does */
    }
    const ssize_t done = real_write(file, data, size);
    if (armed && file != 2 && done > 0) __atomic_add_fetch(&written, done, __ATOMIC_RELAXED);
    return done;
}

ssize_t read(int file, void* data, size_t size) {
    if (armed && file == watched && kind == read_error) {
        if (bytes_read >= at) {
            errno = EIO;
            return -1;
        }
        if ((long)size > at - bytes_read) size = (size_t)(at - bytes_read);
    }
    if (armed && kind == short_read && (long)size > at) size = (size_t)at;
    const ssize_t done = real_read(file, data, size);
    if (file == watched && done > 0) bytes_read += done;
    return done;
}
