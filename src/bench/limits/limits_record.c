#include "config.h"

#include "bench/limits/limits_record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/machine_limits.h"
#include "sys/message.h"

/* The path of the record, and the new file that will replace it. */
struct record {
    char path[MACHINE_PATH_MAX], temporary[MACHINE_PATH_MAX + 8];
    int fd;
};

static void record_error(const struct record *r)
{
    char quoted[MESSAGE_QUOTE_MAX];

    message_error(EXIT_FAILED, "%s: %s", message_quote(quoted, r->path), strerror(errno));
}

/* Creates the new file. False on failure, after an error message. */
static bool record_begin(struct record *r)
{
    char cache[MACHINE_CACHE_MAX];
    const char *why = machine_cache(cache);

    if (why) {
        message_error(EXIT_FAILED, "cannot save: %s", why);
        return false;
    }
    /* The folders may be there already. Other errors show when the file cannot be created. */
    (void)mkdir(cache, 0700);
    snprintf(r->path, sizeof r->path, "%s/" MACHINE_DIRECTORY, cache);
    (void)mkdir(r->path, 0700);
    snprintf(r->path, sizeof r->path, "%s/" MACHINE_DIRECTORY "/" MACHINE_FILE, cache);
    snprintf(r->temporary, sizeof r->temporary, "%s.XXXXXX", r->path);
    r->fd = mkstemp(r->temporary);
    if (r->fd < 0)
        record_error(r);
    return r->fd >= 0;
}

bool limits_record_possible(void)
{
    struct record r;

    if (!record_begin(&r))
        return false;
    close(r.fd);
    unlink(r.temporary);
    return true;
}

void limits_record_save(const struct table *t)
{
    char quoted[MESSAGE_QUOTE_MAX];
    struct record r;
    FILE *out;
    bool good;

    if (!record_begin(&r))
        return;
    out = fdopen(r.fd, "w");
    good = out != NULL;
    if (good) {
        table_write_json(t, out);
        good = fflush(out) == 0 && !ferror(out) && fsync(r.fd) == 0;
        good = fclose(out) == 0 && good;
    } else {
        close(r.fd);
    }
    good = good && rename(r.temporary, r.path) == 0;
    if (good) {
        message_line("saved as %s", message_quote(quoted, r.path));
    } else {
        record_error(&r);
        unlink(r.temporary);
    }
}
