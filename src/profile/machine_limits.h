/*
 * The limits of this machine, as gpureduce-bench measured and recorded them: the place of the
 * record, and reading it. A record that is damaged, or another machine's, is refused; nothing
 * depends on there being one.
 */
#ifndef GPUREDUCE_MACHINE_H
#define GPUREDUCE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

/* Room for the path of the user's cache, and of a file in MACHINE_DIRECTORY in it. */
#define MACHINE_CACHE_MAX 4032
#define MACHINE_PATH_MAX 4096

/* The place of the record below the cache directory. */
#define MACHINE_DIRECTORY "gpureduce"
#define MACHINE_FILE "limits.json"

/* Room for the name of a processor or a GPU, and of a measurement. */
#define MACHINE_NAME_MAX 256
#define MACHINE_LIMIT_MAX 32

/* A measurement. */
struct machine_limit {
    char name[MACHINE_LIMIT_MAX];
    unsigned threads; /* 0 where there is nothing to count */
    double rate;      /* GB/s */
};

/* Many times the 40 or so that there are. */
#define MACHINE_LIMITS_MAX 512

struct machine {
    char cpu[MACHINE_NAME_MAX];
    char gpu[MACHINE_NAME_MAX]; /* empty when it was measured without one */
    struct machine_limit limits[MACHINE_LIMITS_MAX];
    size_t count;
};

/* Writes the directory of the user's caches. Returns why there is none; NULL on success. */
const char *machine_cache(char path[MACHINE_CACHE_MAX]);

/* Writes the processor's name, as Linux has it; "unknown" where it has none. */
void machine_processor(char name[MACHINE_NAME_MAX]);

/* Room for what machine_parse and machine_load have to say. */
#define MACHINE_REASON_MAX 128

/* Reads a record out of `text`. False, with the reason, when it is not one in every detail. */
bool machine_parse(struct machine *m, const char *text, char reason[MACHINE_REASON_MAX]);

/* Reads this machine's record; afterwards m holds what can be relied on, which may be nothing.
   False, with the reason, when there is a record that had to be refused. */
bool machine_load(struct machine *m, char reason[MACHINE_REASON_MAX]);

/* The record of this machine, read when it is first asked for; for one thread. *refused is set to
   the reason if a record had to be refused, and to NULL if none was, and in later calls. */
const struct machine *machine_recorded(const char **refused);

/* The highest rate recorded under a name, in GB/s; 0 when there is none. */
double machine_best(const struct machine *m, const char *name);

/* The rate of so many threads, in GB/s: as recorded; between two numbers that are, on the straight
   line; beyond them, that of the nearest. 0 when there is none. */
double machine_rate(const struct machine *m, const char *name, unsigned threads);

#endif
