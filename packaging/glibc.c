// What g++'s static library asks of a C library newer than the one that wheels are linked for (see wheel.py).
#include <pthread.h>
#include <stddef.h>
#include <sys/random.h>
#include <time.h>

#define LOCAL __attribute__((visibility("hidden")))

// glibc 2.30: std::condition_variable::wait_for. Before, the wait was by the clock that one sets.
LOCAL int pthread_cond_clockwait(
    pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const struct timespec* end) {
    const long second = 1000000000;
    struct timespec now, until;
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += end->tv_sec - now.tv_sec;
    until.tv_nsec += end->tv_nsec - now.tv_nsec;
    if (until.tv_nsec < 0) until.tv_sec--, until.tv_nsec += second;
    if (until.tv_nsec >= second) until.tv_sec++, until.tv_nsec -= second;
    return pthread_cond_timedwait(condition, mutex, &until);
}

// glibc 2.32: whether shared_ptr may count without locking. "No" is always right.
LOCAL char __libc_single_threaded = 0;

// glibc 2.36: used by std::random_device.
LOCAL unsigned arc4random(void) {
    unsigned number = 0;
    while (getrandom(&number, sizeof number, 0) != sizeof number) {
    }
    return number;
}

// Part of every library that is linked dynamically, up to glibc 2.33.
extern int __cxa_atexit(void (*function)(void*), void* argument, void* library);
extern void* __dso_handle LOCAL;
LOCAL int atexit(void (*function)(void)) { return __cxa_atexit((void (*)(void*))function, NULL, &__dso_handle); }

// glibc 2.33: before, a macro called the function with the version of its struct.
struct stat64;
extern int __fxstat64(int version, int file, struct stat64* status);
LOCAL int fstat64(int file, struct stat64* status) { return __fxstat64(1, file, status); }
