/*
 * A small producer of the Test Anything Protocol, for test programs of one source file each.
 *
 * A program calls tap_ok once for a single check, or collects the outcomes of a loop in a
 * struct tap_family, which makes one line however many cases it saw and shows the first that
 * failed. It ends with `return tap_done();`, which prints the plan. A failure is reported and the
 * program goes on. Nothing here is thread safe.
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#if defined __GNUC__
#    define TAP_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#    define TAP_PRINTF(text, first)
#endif

static struct {
    unsigned run;
    unsigned failed;
} tap_state;

/* The cases of a loop. Start from {0}. */
struct tap_family {
    unsigned long cases;
    unsigned long failures;
    char first[512]; /* where and why the first one failed */
};

/* Prints the line of one check; use tap_ok. */
TAP_PRINTF(5, 6)
static inline bool tap_check(bool good, const char *file, int line, const char *condition,
                             const char *format, ...)
{
    va_list arguments;

    tap_state.run++;
    printf("%s %u - ", good ? "ok" : "not ok", tap_state.run);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    if (!good) {
        tap_state.failed++;
        printf("# %s:%d: failed: %s\n", file, line, condition);
    }
    /* Results must not be lost if the next check crashes. */
    fflush(stdout);
    return good;
}

/* tap_ok(condition, format, ...): one check, one line; returns whether it held. */
#define tap_ok(condition, ...) tap_check((condition), __FILE__, __LINE__, #condition, __VA_ARGS__)

/* Prints a diagnostic line. */
TAP_PRINTF(1, 2)
static inline void tap_note(const char *format, ...)
{
    va_list arguments;

    printf("# ");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

/* Notes a failed case; use tap_case. */
TAP_PRINTF(4, 5)
static inline bool tap_family_fail(struct tap_family *family, const char *file, int line,
                                   const char *format, ...)
{
    family->cases++;
    if (family->failures++ == 0) {
        va_list arguments;
        int length = snprintf(family->first, sizeof family->first, "%s:%d: ", file, line);

        if (length < 0 || (size_t)length >= sizeof family->first)
            length = 0;
        va_start(arguments, format);
        vsnprintf(family->first + length, sizeof family->first - (size_t)length, format, arguments);
        va_end(arguments);
    }
    return false;
}

/* Notes a case that held; use tap_case. */
static inline bool tap_family_pass(struct tap_family *family)
{
    family->cases++;
    return true;
}

/* tap_case(family, condition, format, ...): one case of many; returns whether it held. The format
   and its arguments are evaluated only for a failure. */
#define tap_case(family, condition, ...)   \
    ((condition) ? tap_family_pass(family) \
                 : tap_family_fail(family, __FILE__, __LINE__, __VA_ARGS__))

/* Prints the line of a family, and starts it anew. A family without cases fails: a loop that
   never ran proves nothing. */
TAP_PRINTF(2, 3)
static inline bool tap_family_end(struct tap_family *family, const char *format, ...)
{
    bool good = family->cases > 0 && family->failures == 0;
    va_list arguments;

    tap_state.run++;
    printf("%s %u - ", good ? "ok" : "not ok", tap_state.run);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf(" (%lu cases)\n", family->cases);
    if (!good) {
        char *line = family->first;

        tap_state.failed++;
        printf("# %lu of %lu cases failed; the first:\n", family->failures, family->cases);
        while (*line) {
            size_t length = strcspn(line, "\n");
            printf("# %.*s\n", (int)length, line);
            line += length + (line[length] == '\n');
        }
    }
    fflush(stdout);
    memset(family, 0, sizeof *family);
    return good;
}

/* Says that nothing of this program can run here; call it before any check. Returns the exit
   status, which is success: the plan carries the message. */
static inline int tap_skip_all(const char *reason)
{
    printf("1..0 # SKIP %s\n", reason);
    return 0;
}

/* Says that one check cannot run here. */
static inline void tap_skip(const char *what, const char *reason)
{
    tap_state.run++;
    printf("ok %u - %s # SKIP %s\n", tap_state.run, what, reason);
}

/* Prints the plan; returns the exit status. */
static inline int tap_done(void)
{
    printf("1..%u\n", tap_state.run);
    if (fflush(stdout) != 0 || ferror(stdout))
        return 1;
    return tap_state.failed ? 1 : 0;
}

#endif
