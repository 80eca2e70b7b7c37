#include "config.h"

#include "sys/signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <ucontext.h>

/* Functions that are called before the end, of which one file has one each. */
#define CLEANERS_MAX 2
static void (*_Atomic cleaners[CLEANERS_MAX])(void);

static void on_end(int signal_number)
{
    int saved_errno = errno;

    for (int i = 0; i < CLEANERS_MAX; i++) {
        void (*clean)(void) = cleaners[i];

        if (clean)
            clean();
    }
    /* Die of the signal, on return from here: the caller sees how the process ended. */
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    errno = saved_errno;
}

void signals_before_end(void (*clean)(void))
{
    for (int i = 0; i < CLEANERS_MAX; i++) {
        void (*none)(void) = NULL;

        if (atomic_compare_exchange_strong(&cleaners[i], &none, clean) || none == clean)
            break;
    }
}

/* The place where this thread continues after a SIGBUS; NULL if that ends the process. */
static _Thread_local sigjmp_buf *volatile bus_resume;

/* The handler of SIGBUS that was there before; constant once the one below is installed. */
static struct sigaction before;

static void on_bus_error(int signal_number, siginfo_t *info, void *context)
{
    const ucontext_t *interrupted = context;

    if (bus_resume) {
        /* The handler runs with SIGBUS blocked, at least. */
        pthread_sigmask(SIG_SETMASK, &interrupted->uc_sigmask, NULL);
        siglongjmp(*bus_resume, 1);
    }
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(signal_number, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(signal_number);
    else /* the access is tried again on return, and ends the process */
        signal(signal_number, SIG_DFL);
}

void signals_resume_bus(sigjmp_buf *resume)
{
    bus_resume = resume;
}

static void catch_bus(void)
{
    struct sigaction action;

    sigaction(SIGBUS, NULL, &before);
    action = (struct sigaction){.sa_sigaction = on_bus_error,
                                .sa_flags = SA_SIGINFO | (before.sa_flags & SA_ONSTACK),
                                .sa_mask = before.sa_mask};
    sigaction(SIGBUS, &action, NULL);
}

void signals_open_bus(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, catch_bus);
}

void signals_open(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    const struct sigaction end = {.sa_handler = on_end}; /* blocks no other signal */
    struct sigaction action;

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (sigaction(ends[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL)
            sigaction(ends[i], &end, NULL);
    signals_open_bus();
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
}
