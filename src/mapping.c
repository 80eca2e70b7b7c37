#define _GNU_SOURCE /* MADV_POPULATE_READ */
#include "mapping.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_READ
#    define MADV_POPULATE_READ 22
#endif

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
