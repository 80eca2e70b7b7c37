#include "config.h"

#include "cli/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/message.h"
#include "sys/clock.h"
#include "sys/escape.h"

#define QUIET_TIME CLOCK_SECOND
#define INTERVAL (CLOCK_SECOND / 5)

/* A name that is shortened keeps so many columns at least, or figures are left out for it. */
#define NAME_MIN 12

/* Between the parts of the line, and in place of the middle of a name. */
#define GAP "  "
#define CUT "..."

/* Variants of the figures, the longest first. */
#define VARIANTS 4
#define FIGURES_MAX 120

/* Bytes for a name: more than those that messages show have. */
#define NAME_ROOM (PROGRESS_TEXT_MAX - FIGURES_MAX - sizeof GAP)

/*
 * Figures.
 */

/* A unit of bytes in which numbers are read easily. */
struct unit {
    double size;
    const char *name;
};

/* The unit that fits so many bytes. */
static const struct unit *unit_for(double bytes)
{
    static const struct unit units[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}};
    size_t i = 0;

    /* A number that would be rounded up to 1000 of a unit is 1 of the next. */
    while (i + 1 < sizeof units / sizeof *units && bytes < 0.9995 * units[i].size)
        i++;
    return &units[i];
}

/* Decimals that give a number of a unit three digits. */
static int decimals(double number)
{
    return number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
}

/* The time that is left, rounded up: 0:00 is when nothing is left. */
static void time_text(double seconds, char text[32])
{
    uint64_t s;

    if (!(seconds < 1e9)) { /* nothing has been read yet */
        snprintf(text, 32, "-:--");
        return;
    }
    s = (uint64_t)ceil(seconds);
    if (s < 3600)
        snprintf(text, 32, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
    else
        snprintf(text, 32, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60, s % 60);
}

/* The variants of the figures. All of it is ASCII: a byte is a column. */
static void figures(const struct progress *p, uint64_t done, uint64_t now,
                    char text[VARIANTS][FIGURES_MAX])
{
    double seconds = (double)(now - p->begun) / (double)CLOCK_SECOND;
    double rate = seconds > 0 ? (double)done / seconds : 0;
    const struct unit *unit = unit_for((double)done), *speed = unit_for(rate);
    double number = (double)done / unit->size, per_second = rate / speed->size, percent;
    uint64_t left;
    char time[32];

    if (p->total == UINT64_MAX) {
        snprintf(text[0], FIGURES_MAX, "%.*f %s  %.*f %s/s  %.0f s", decimals(number), number,
                 unit->name, decimals(per_second), per_second, speed->name, seconds);
        snprintf(text[1], FIGURES_MAX, "%.*f %s  %.*f %s/s", decimals(number), number, unit->name,
                 decimals(per_second), per_second, speed->name);
        snprintf(text[2], FIGURES_MAX, "%.*f %s", decimals(number), number, unit->name);
        text[3][0] = '\0';
        return;
    }
    left = done < p->total ? p->total - done : 0;
    percent = p->total ? 100.0 * (double)(p->total - left) / (double)p->total : 100.0;
    time_text(left == 0 ? 0 : (double)left / rate, time);
    unit = unit_for((double)p->total);
    number = (double)p->total / unit->size;
    snprintf(text[0], FIGURES_MAX, "%.*f of %.*f %s  %3.0f %%  %.*f %s/s  %s left",
             decimals(number), (double)done / unit->size, decimals(number), number, unit->name,
             percent, decimals(per_second), per_second, speed->name, time);
    snprintf(text[1], FIGURES_MAX, "%3.0f %%  %.*f %s/s  %s left", percent, decimals(per_second),
             per_second, speed->name, time);
    snprintf(text[2], FIGURES_MAX, "%3.0f %%  %s left", percent, time);
    snprintf(text[3], FIGURES_MAX, "%3.0f %%", percent);
}

/*
 * The name.
 */

/* The bytes of the character at p, and the columns that it takes at most: those from U+1100 on may
   be wide, and which are depends on the terminal. */
static size_t character(const char *p, size_t *columns)
{
    size_t length = escape_utf8_length((const unsigned char *)p);

    /* U+1100 begins with E1 84 80. */
    *columns = length > 3 || (length == 3 && memcmp(p, "\341\204\200", 3) >= 0) ? 2 : 1;
    return length ? length : 1;
}

static size_t name_columns(const char *name)
{
    size_t all = 0, columns;

    for (const char *p = name; *p; all += columns)
        p += character(p, &columns);
    return all;
}

/* Writes the name in `most` columns at most, its middle cut out where it is longer, to `text`,
   which has NAME_ROOM. Returns the bytes. */
static size_t write_name(const char *name, size_t most, char *text)
{
    size_t all = name_columns(name), head = 0, tail = all, columns;
    const char *p = name, *begin = name;

    if (all <= most)
        return (size_t)snprintf(text, NAME_ROOM, "%s", name);
    most -= sizeof CUT - 1;
    while (*p) { /* the first half */
        size_t length = character(p, &columns);

        if (head + columns > most / 2)
            break;
        head += columns;
        p += length;
    }
    while (tail > most - head) { /* the end of it, which tells more of a file */
        begin += character(begin, &columns);
        tail -= columns;
    }
    return (size_t)snprintf(text, NAME_ROOM, "%.*s%s%s", (int)(p - name), name, CUT, begin);
}

void progress_text(const struct progress *p, uint64_t done, uint64_t now, unsigned columns,
                   char text[PROGRESS_TEXT_MAX])
{
    const char *name = p->name ? p->name : "";
    size_t whole = name_columns(name), least = whole < NAME_MIN ? whole : NAME_MIN;
    char variants[VARIANTS][FIGURES_MAX];

    figures(p, done, now, variants);
    for (int i = 0; whole > 0 && i < VARIANTS; i++) {
        size_t rest = strlen(variants[i]) + sizeof GAP - 1;

        if (*variants[i] && least + rest <= columns) {
            size_t used = write_name(name, columns - rest, text);

            snprintf(text + used, PROGRESS_TEXT_MAX - used, "%s%s", GAP, variants[i]);
            return;
        }
    }
    *text = '\0';
    for (int i = 0; i < VARIANTS && !*text; i++)
        if (strlen(variants[i]) <= columns)
            snprintf(text, PROGRESS_TEXT_MAX, "%s", variants[i]);
}

static void begin(void *context, const char *name, uint64_t total)
{
    struct progress *p = context;

    *p = (struct progress){.several = p->several,
                           .name = p->several ? name : NULL,
                           .begun = clock_now(),
                           .total = total};
}

/* Shows that so much has been read, if it is time to. */
static bool update(void *context, uint64_t done)
{
    struct progress *p = context;
    const uint64_t now = clock_now();
    char text[PROGRESS_TEXT_MAX];

    if (now - p->begun < QUIET_TIME || (p->shown && now - p->shown < INTERVAL))
        return false;
    p->shown = now;
    /* Each time, since the terminal may be resized; the last column is left free, where some wrap.
     */
    progress_text(p, done, now, message_columns(STDERR_FILENO) - 1, text);
    message_transient(text);
    return false;
}

static void end(void *context)
{
    const struct progress *p = context;

    if (p->shown)
        message_transient(NULL);
}

struct progress_observer progress_observe(struct progress *p)
{
    return (struct progress_observer){.begin = begin, .update = update, .end = end, .context = p};
}
