#include "config.h"

#include "profile/machine_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/json.h"

/* Some thirty times the size of the record of a machine with many cores. */
#define RECORD_MAX ((size_t)512 << 10)

/* No memory, cache or link is as fast, in GB/s, and no machine has as many threads. */
#define RATE_MAX 1e6
#define THREADS_MAX 1e6

const char *machine_cache(char path[MACHINE_CACHE_MAX])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;

    /* As the XDG Base Directory Specification has it: a relative path is to be ignored. */
    if (cache && cache[0] == '/')
        length = snprintf(path, MACHINE_CACHE_MAX, "%s", cache);
    else if (home && home[0] == '/')
        length = snprintf(path, MACHINE_CACHE_MAX, "%s/.cache", home);
    else
        return "neither XDG_CACHE_HOME nor HOME is set";
    return (size_t)length < MACHINE_CACHE_MAX ? NULL : "the path of the cache is too long";
}

void machine_processor(char name[MACHINE_NAME_MAX])
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[MACHINE_NAME_MAX];

    snprintf(name, MACHINE_NAME_MAX, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');

        if (strncmp(line, "model name", 10) == 0 && colon) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(name, MACHINE_NAME_MAX, "%s", colon + (colon[1] == ' ' ? 2 : 1));
            break;
        }
    }
    if (file)
        fclose(file);
}

/*
 * Parsing.
 */

/* A number that may be null, which becomes 0. False unless it is above 0 and at most `most`. */
static bool parse_number(struct json_reader *r, double most, double *x)
{
    *x = 0;
    return json_read_null(r) || (json_read_number(r, x) && *x > 0 && *x <= most);
}

/* A row of the table. One without a name or a rate is left out. */
static bool parse_row(struct machine *m, struct json_reader *r)
{
    struct machine_limit limit = {0};
    char key[MACHINE_NAME_MAX];
    double threads = 0;
    bool good = true;

    json_read_begin(r, '{');
    while (good && json_read_more(r, '}')) {
        json_read_key(r, key, sizeof key);
        if (strcmp(key, "limit") == 0)
            good = json_read_string(r, limit.name, sizeof limit.name);
        else if (strcmp(key, "threads") == 0)
            good = parse_number(r, THREADS_MAX, &threads) && threads == floor(threads);
        else if (strcmp(key, "gigabytes_per_second") == 0)
            good = parse_number(r, RATE_MAX, &limit.rate);
        else
            good = json_read_skip(r);
    }
    limit.threads = good ? (unsigned)threads : 0;
    if (good && limit.name[0] && limit.rate > 0) {
        good = m->count < MACHINE_LIMITS_MAX;
        if (good)
            m->limits[m->count++] = limit;
    }
    return good && !r->failed;
}

static bool parse_rows(struct machine *m, struct json_reader *r)
{
    bool good = json_read_begin(r, '[');

    while (good && json_read_more(r, ']'))
        good = parse_row(m, r);
    return good && !r->failed;
}

bool machine_parse(struct machine *m, const char *text, char reason[MACHINE_REASON_MAX])
{
    char key[MACHINE_NAME_MAX], table[MACHINE_LIMIT_MAX] = "";
    struct json_reader r;
    bool good = true;

    m->cpu[0] = m->gpu[0] = '\0';
    m->count = 0;
    json_read(&r, text);
    json_read_begin(&r, '{');
    while (good && json_read_more(&r, '}')) {
        json_read_key(&r, key, sizeof key);
        if (strcmp(key, "table") == 0)
            good = json_read_string(&r, table, sizeof table);
        else if (strcmp(key, "cpu") == 0)
            good = json_read_string(&r, m->cpu, sizeof m->cpu);
        else if (strcmp(key, "gpu") == 0)
            good = json_read_string(&r, m->gpu, sizeof m->gpu);
        else if (strcmp(key, "rows") == 0)
            good = parse_rows(m, &r);
        else
            good = json_read_skip(&r);
    }
    if (!good || !json_read_end(&r)) {
        snprintf(reason, MACHINE_REASON_MAX, "damaged at byte %zu", (size_t)(r.at - text));
        return false;
    }
    if (strcmp(table, "limits") != 0 || m->cpu[0] == '\0') {
        snprintf(reason, MACHINE_REASON_MAX, "not a record of gpureduce-bench limits");
        return false;
    }
    return true;
}

/*
 * Loading.
 */

/* The content of a regular file, with a NUL; to be freed. NULL with the reason, or without one when
   there is no such file. */
static char *read_record(const char *path, char reason[MACHINE_REASON_MAX])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char *text = NULL;
    struct stat status;
    size_t size = 0;
    ssize_t n = 0;

    reason[0] = '\0';
    if (fd < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            snprintf(reason, MACHINE_REASON_MAX, "%s", strerror(errno));
        return NULL;
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        snprintf(reason, MACHINE_REASON_MAX, "not a regular file");
    } else if (status.st_size > (off_t)RECORD_MAX) {
        snprintf(reason, MACHINE_REASON_MAX, "too large");
    } else if (!(text = malloc(RECORD_MAX + 1))) {
        snprintf(reason, MACHINE_REASON_MAX, "out of memory");
    } else {
        while (size < RECORD_MAX && (n = read(fd, text + size, RECORD_MAX - size)) > 0)
            size += (size_t)n;
        text[size] = '\0';
        if (n < 0)
            snprintf(reason, MACHINE_REASON_MAX, "%s", strerror(errno));
        else if (memchr(text, '\0', size))
            snprintf(reason, MACHINE_REASON_MAX, "damaged at byte %zu", strlen(text));
    }
    close(fd);
    if (reason[0]) {
        free(text);
        text = NULL;
    }
    return text;
}

bool machine_load(struct machine *m, char reason[MACHINE_REASON_MAX])
{
    char cache[MACHINE_CACHE_MAX], path[MACHINE_PATH_MAX], cpu[MACHINE_NAME_MAX];
    char *text;
    bool good;

    m->count = 0;
    reason[0] = '\0';
    if (machine_cache(cache))
        return true;
    snprintf(path, sizeof path, "%s/" MACHINE_DIRECTORY "/" MACHINE_FILE, cache);
    text = read_record(path, reason);
    if (!text)
        return reason[0] == '\0';
    good = machine_parse(m, text, reason);
    free(text);
    machine_processor(cpu);
    if (good && strcmp(m->cpu, cpu) != 0) {
        snprintf(reason, MACHINE_REASON_MAX, "of a machine with another CPU");
        good = false;
    }
    if (!good)
        m->count = 0;
    return good;
}

const struct machine *machine_recorded(const char **refused)
{
    static struct machine machine;
    static char reason[MACHINE_REASON_MAX];
    static bool loaded;

    *refused = loaded || machine_load(&machine, reason) ? NULL : reason;
    loaded = true;
    return &machine;
}

/*
 * Looking up.
 */

double machine_best(const struct machine *m, const char *name)
{
    double best = 0;

    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->limits[i].name, name) == 0 && m->limits[i].rate > best)
            best = m->limits[i].rate;
    return best;
}

double machine_rate(const struct machine *m, const char *name, unsigned threads)
{
    const struct machine_limit *below = NULL, *above = NULL;

    for (size_t i = 0; i < m->count; i++) {
        const struct machine_limit *l = &m->limits[i];

        if (strcmp(l->name, name) != 0)
            continue;
        if (l->threads <= threads && (!below || l->threads > below->threads))
            below = l;
        if (l->threads >= threads && (!above || l->threads < above->threads))
            above = l;
    }
    if (!below || !above)
        return below ? below->rate : above ? above->rate : 0;
    if (below->threads == above->threads)
        return below->rate;
    return below->rate + (above->rate - below->rate) * (threads - below->threads) /
                             (above->threads - below->threads);
}
