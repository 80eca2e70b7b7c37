/*
 * Shares of a test whose cases are many and alike: several builds take one each, and together all.
 * From the environment: CHECK_SHARE=K/N is the Kth of N shares; without it a test takes all.
 */
#ifndef TESTS_SHARE_H
#define TESTS_SHARE_H

#include <stdbool.h>
#include <stdlib.h>

/* Whether the next case is in the share. */
static inline bool share_takes_next(void)
{
    static unsigned long number, of;
    static unsigned long next;

    if (of == 0) {
        const char *share = getenv("CHECK_SHARE");
        char *end = NULL;

        number = share ? strtoul(share, &end, 10) : 1;
        of = share && *end == '/' ? strtoul(end + 1, &end, 10) : 1;
        if (of == 0 || number < 1 || number > of || (share && *end))
            abort();
    }
    return next++ % of == number - 1;
}

#endif
