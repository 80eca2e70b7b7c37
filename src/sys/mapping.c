#include "config.h"

#include "sys/mapping.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "sys/align.h"
#include "sys/signals.h"

/* config.h comes first everywhere: it asks for large files, which 32-bit systems have on demand. */
_Static_assert(sizeof(off_t) == 8, "offsets in files have 64 bits");

#ifndef MADV_POPULATE_READ
#    define MADV_POPULATE_READ 22
#endif

/* The huge page of x86-64, and of arm64 with pages of 4 KiB. */
#define HUGE_PAGE_USUAL (2 * MIB)

static size_t page, huge_page;

/* The kernel's huge page, as it says it; 0 where it does not. */
static size_t read_huge_page(void)
{
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "re");
    char line[32];
    unsigned long long size = 0;

    if (file && fgets(line, sizeof line, file))
        size = strtoull(line, NULL, 10);
    if (file)
        fclose(file);
    return size > 0 && size <= SIZE_MAX / 2 + 1 ? (size_t)size : 0;
}

static void learn_page(void)
{
    page = (size_t)sysconf(_SC_PAGESIZE);
}

static void learn_huge_page(void)
{
    size_t huge = read_huge_page(), least = mapping_page();

    huge_page = huge > 0 && (huge & (huge - 1)) == 0 ? huge : HUGE_PAGE_USUAL;
    huge_page = huge_page < least ? least : huge_page;
}

size_t mapping_page(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, learn_page);
    return page;
}

size_t mapping_huge_page(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, learn_huge_page);
    return huge_page;
}

void *mapping_alloc(size_t size)
{
    const size_t huge = mapping_huge_page(), unit = size < huge ? mapping_page() : huge;
    void *memory;

    if (size > SIZE_MAX - unit)
        return NULL;
    memory = aligned_alloc(unit, align_up(size, unit));
    /* The rest after the last whole one is not touched, and takes no memory. */
    if (memory && size >= huge)
        (void)madvise(memory, size / huge * huge, MADV_HUGEPAGE);
    return memory;
}

bool mapping_room_take(struct mapping_room *room, size_t size)
{
    if (room->bytes && room->size >= size)
        return true;
    free(room->bytes);
    room->bytes = mapping_alloc(size);
    room->size = room->bytes ? size : 0;
    return room->bytes;
}

bool mapping_populate(const void *data, size_t size)
{
    uintptr_t begin = (uintptr_t)data / mapping_page() * mapping_page();

    return madvise((void *)begin, (uintptr_t)data + size - begin, MADV_POPULATE_READ) == 0;
}

void mapping_release(const void *pages, size_t size)
{
    (void)madvise((void *)(uintptr_t)pages, size, MADV_DONTNEED);
}

/* The most pieces; the kernel takes 1024. */
#define PIECES ((size_t)512)

/* The descriptor of a process that means the calling thread: PIDFD_SELF_THREAD of Linux's headers
   since about 6.15. */
#define THIS_THREAD (-10000)

/* Gives several pieces back at a time. False where the kernel does not, or not all of them. */
static bool release_together(const struct iovec *pieces, size_t count)
{
#ifdef SYS_process_madvise
    static atomic_bool never;
    size_t size = 0;

    if (atomic_load_explicit(&never, memory_order_relaxed))
        return false;
    for (size_t i = 0; i < count; i++)
        size += pieces[i].iov_len;
    if (syscall(SYS_process_madvise, THIS_THREAD, pieces, count, MADV_DONTNEED, 0) == (ssize_t)size)
        return true;
    atomic_store_explicit(&never, true, memory_order_relaxed);
#else
    (void)pieces;
    (void)count;
#endif
    return false;
}

void mapping_pieces_release(struct mapping_pieces *p)
{
    if (p->count == 1 || (p->count > 1 && !release_together(p->pieces, p->count)))
        for (size_t i = 0; i < p->count; i++)
            mapping_release(p->pieces[i].iov_base, p->pieces[i].iov_len);
    p->count = p->size = 0;
}

void mapping_pieces_add(struct mapping_pieces *p, const void *first, size_t size)
{
    const uintptr_t unit = mapping_page(), begin = (uintptr_t)first / unit * unit,
                    end = (uintptr_t)first + size; /* the kernel takes the rest of its page */

    if (p->count > 0) { /* it may go on where the last one ends */
        struct iovec *last = &p->pieces[p->count - 1];
        const uintptr_t last_end = (uintptr_t)last->iov_base + last->iov_len;

        if (begin >= (uintptr_t)last->iov_base && begin <= last_end && end > last_end) {
            last->iov_len += end - last_end;
            p->size += end - last_end;
            return;
        }
    }
    if (!p->pieces)
        p->pieces = malloc(PIECES * sizeof *p->pieces);
    if (!p->pieces) {
        mapping_release((const void *)begin, end - begin);
        return;
    }
    if (p->count == PIECES)
        mapping_pieces_release(p);
    p->pieces[p->count++] = (struct iovec){.iov_base = (void *)begin, .iov_len = end - begin};
    p->size += end - begin;
}

void mapping_pieces_widen(struct mapping_pieces *p, const void *map, size_t size)
{
    const uintptr_t unit = mapping_huge_page(), least = (uintptr_t)map, most = least + size;

    p->size = 0;
    for (size_t i = 0; i < p->count; i++) {
        struct iovec *piece = &p->pieces[i];
        const uintptr_t begin = (uintptr_t)piece->iov_base / unit * unit,
                        end = align_up((uintptr_t)piece->iov_base + piece->iov_len, unit);

        piece->iov_base = (void *)(begin < least ? least : begin);
        piece->iov_len = (end > most ? most : end) - (uintptr_t)piece->iov_base;
        p->size += piece->iov_len;
    }
}

void mapping_pieces_close(struct mapping_pieces *p)
{
    free(p->pieces);
    *p = (struct mapping_pieces){NULL, 0, 0};
}

bool mapping_guard(void (*body)(void *), void *argument)
{
    sigjmp_buf here;

    /* The mask of signals is not saved: that takes two system calls, and each small array comes
       here. */
    if (sigsetjmp(here, 0) != 0) {
        signals_resume_bus(NULL);
        return false;
    }
    signals_resume_bus(&here);
    body(argument);
    signals_resume_bus(NULL);
    return true;
}
