#include "config.h"

#include "cli/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "sys/clock.h"
#include "sys/message.h"

#define QUIET_TIME CLOCK_SECOND
#define INTERVAL (CLOCK_SECOND / 5)

void progress_begin(struct progress *p, bool enabled, uint64_t total, uint64_t now)
{
    *p = (struct progress){.enabled = enabled, .begun = now, .total = total};
}

void progress_update(struct progress *p, uint64_t done, uint64_t now)
{
    char text[120], time[32] = "-:--";
    double seconds, rate;

    if (!p->enabled || now - p->begun < QUIET_TIME || (p->shown && now - p->shown < INTERVAL))
        return;
    p->shown = now;
    seconds = (double)(now - p->begun) / (double)CLOCK_SECOND;
    rate = (double)done / seconds;
    if (p->total == UINT64_MAX) {
        snprintf(text, sizeof text, "%.2f GB  %.2f GB/s  %.0f s", (double)done / 1e9, rate / 1e9,
                 seconds);
    } else {
        uint64_t left = done < p->total ? p->total - done : 0;

        /* Rounded up: 0:00 is when nothing is left. */
        if (left == 0 || rate > 0) {
            uint64_t wait = left ? (uint64_t)ceil((double)left / rate) : 0;
            snprintf(time, sizeof time, "%" PRIu64 ":%02" PRIu64, wait / 60, wait % 60);
        }
        snprintf(text, sizeof text, "%.2f of %.2f GB  %3.0f %%  %.2f GB/s  %s left",
                 (double)done / 1e9, (double)p->total / 1e9,
                 p->total ? 100.0 * (double)(p->total - left) / (double)p->total : 100.0,
                 rate / 1e9, time);
    }
    message_transient(text);
}

void progress_end(struct progress *p)
{
    if (p->shown)
        message_transient(NULL);
}

static void begin(void *context, uint64_t total, uint64_t now)
{
    progress_begin(context, true, total, now);
}

static void update(void *context, uint64_t done, uint64_t now)
{
    progress_update(context, done, now);
}

static void end(void *context)
{
    progress_end(context);
}

struct progress_observer progress_observe(struct progress *p)
{
    return (struct progress_observer){.begin = begin, .update = update, .end = end, .context = p};
}
