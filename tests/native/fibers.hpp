// The threads of a device as contexts of one thread of the host, which take turns. Only its first turn takes a context
// from the system; swapcontext would make two system calls at every turn, and kernels take millions.
#pragma once
#include <ucontext.h>

#include <cstddef>
#include <memory>

struct Fiber {
    ucontext_t context;  // where it begins
    void* at[5];         // where it goes on
    bool begun, done;
    std::unique_ptr<char[]> stack;

    // For a run of `entry`; where that returns, `after` goes on.
    void prepare(void (*entry)(), ucontext_t& after) {
        constexpr size_t bytes = 1 << 17;
        if (!stack) stack.reset(new char[bytes]);
        begun = done = false;
        getcontext(&context);
        context.uc_stack.ss_sp = stack.get();
        context.uc_stack.ss_size = bytes;
        context.uc_link = &after;
        makecontext(&context, entry, 0);
    }
    [[noreturn, gnu::noinline]] void go_on() {
        if (begun) __builtin_longjmp(at, 1);
        begun = true;
        setcontext(&context);
        __builtin_unreachable();
    }
    // Until it is this one's turn again.
    [[gnu::noinline]] void turn_to(Fiber& next) {
        if (__builtin_setjmp(at) == 0) next.go_on();
    }
    // The first of all; back where the last one has ended.
    void run(ucontext_t& after) {
        begun = true;
        swapcontext(&after, &context);
    }
};
