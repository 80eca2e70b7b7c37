#include "config.h"

#include "sys/mapping.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_READ
#    define MADV_POPULATE_READ 22
#endif

/* Of x86-64, and of arm64 with pages of 4 KiB. */
#define HUGE_PAGE ((size_t)2 << 20)

void *mapping_alloc(size_t size)
{
    size_t unit = size < HUGE_PAGE ? MAPPING_PAGE : HUGE_PAGE;
    void *memory = aligned_alloc(unit, (size + unit - 1) / unit * unit);

    /* What lies behind the last whole one is not touched, and takes no memory. */
    if (memory && size >= HUGE_PAGE)
        (void)madvise(memory, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
    return memory;
}

bool mapping_populate(const void *data, size_t size)
{
    uintptr_t begin = (uintptr_t)data / MAPPING_PAGE * MAPPING_PAGE;

    return madvise((void *)begin, (uintptr_t)data + size - begin, MADV_POPULATE_READ) == 0;
}

void mapping_release(const void *pages, size_t size)
{
    (void)madvise((void *)(uintptr_t)pages, size, MADV_DONTNEED);
}

/* Where this thread goes on after a SIGBUS; NULL outside mapping_guard. */
static _Thread_local sigjmp_buf *volatile resume;

static void on_bus_error(int signal_number)
{
    if (resume)
        siglongjmp(*resume, 1);
    /* Not ours: die of it, as without a handler. The access is tried again on return. */
    signal(signal_number, SIG_DFL);
}

static void install(void)
{
    struct sigaction action = {.sa_handler = on_bus_error};

    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

bool mapping_guard(void (*body)(void *), void *argument)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sigjmp_buf here;
    bool good = true;

    pthread_once(&once, install);
    /* The mask is restored, too: the handler runs with SIGBUS blocked. */
    if (sigsetjmp(here, 1) == 0) {
        resume = &here;
        body(argument);
    } else {
        good = false;
    }
    resume = NULL;
    return good;
}
