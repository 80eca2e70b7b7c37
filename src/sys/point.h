/*
 * Numbers with a point, in whatever language the host of the library writes its own: strtod reads the decimal
 * separator of the locale, which setlocale changes for all threads.
 */
#ifndef GPUREDUCE_POINT_H
#define GPUREDUCE_POINT_H

#include <locale.h>

/* Has the calling thread use the locale C. Returns that before, for point_restore. */
static inline locale_t point_begin(void)
{
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}
static inline void point_restore(const locale_t *given)
{
    const locale_t plain = uselocale(*given);

    if (plain != *given) /* there was memory for it */
        freelocale(plain);
}

/* A declaration: in the block, numbers have a point. */
#define POINT_DEFAULT \
    const locale_t point __attribute__((cleanup(point_restore), unused)) = point_begin()

#endif
