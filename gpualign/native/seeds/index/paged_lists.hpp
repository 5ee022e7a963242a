// Many lists that grow in parallel, and are read and released one by one.
#pragma once
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace gpualign {

// Lists of plain values that grow by pages, so that little memory is unused whatever their sizes, nothing is moved,
// and a released list returns its memory to the system at once.
template <class T> class PagedLists {
    static_assert(std::is_trivially_copyable_v<T>, "");

public:
    explicit PagedLists(size_t lists) : lists_(lists) {}

    void push(size_t list, const T& value) {
        List& l = lists_[list];
        if (l.next == l.end) add_page(l);
        *l.next++ = value;
    }

    size_t size(size_t list) const {
        const List& l = lists_[list];
        return l.pages.size() * kPerPage - size_t(l.end - l.next);
    }

    // Calls visit(value) for each value of a list, in order.
    template <class Visit> void each(size_t list, Visit&& visit) const {
        const List& l = lists_[list];
        for (const T* page : l.pages)
            for (const T *p = page, *end = page == l.pages.back() ? l.next : page + kPerPage; p < end; p++) visit(*p);
    }

    void release(size_t list) {
        // fails on a machine with larger pages; the memory is then released with the whole object
        for (T* page : lists_[list].pages) madvise(page, kPageBytes, MADV_DONTNEED);
        lists_[list] = {};
    }

private:
    static constexpr size_t kPageBytes = 4096, kBlockBytes = 1 << 20, kPerPage = kPageBytes / sizeof(T);

    struct List {
        T *next = nullptr, *end = nullptr;
        std::vector<T*> pages;
    };
    struct Free {
        void operator()(char* p) const { std::free(p); }
    };

    void add_page(List& list) {
        if (unused_ == 0) {
            char* block = static_cast<char*>(std::aligned_alloc(kPageBytes, kBlockBytes));
            if (block == nullptr) throw std::bad_alloc();
            blocks_.emplace_back(block);
            unused_ = kBlockBytes;
        }
        list.next = reinterpret_cast<T*>(blocks_.back().get() + kBlockBytes - unused_);
        list.end = list.next + kPerPage;
        list.pages.push_back(list.next);
        unused_ -= kPageBytes;
    }

    std::vector<List> lists_;
    std::vector<std::unique_ptr<char, Free>> blocks_;
    size_t unused_ = 0;  // in the last block
};

}  // namespace gpualign
