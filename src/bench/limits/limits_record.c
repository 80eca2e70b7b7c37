#include "config.h"

#include "bench/limits/limits_record.h"

#include <stdio.h>
#include <sys/stat.h>

#include "cli/message.h"
#include "cli/output.h"
#include "profile/machine_limits.h"
#include "sys/escape.h"

/* Makes the path of the record, and the folders that it is in. False on failure, after an error
   message. */
static bool find_path(char path[MACHINE_PATH_MAX])
{
    char cache[MACHINE_CACHE_MAX];
    const char *why = machine_cache(cache);

    if (why) {
        message_error(EXIT_FAILED, "cannot save: %s", why);
        return false;
    }
    /* The folders may be there already. Other errors show when the file cannot be created. */
    (void)mkdir(cache, 0700);
    snprintf(path, MACHINE_PATH_MAX, "%s/" MACHINE_DIRECTORY, cache);
    (void)mkdir(path, 0700);
    snprintf(path, MACHINE_PATH_MAX, "%s/" MACHINE_DIRECTORY "/" MACHINE_FILE, cache);
    return true;
}

bool limits_record_possible(void)
{
    char path[MACHINE_PATH_MAX];

    return find_path(path) && output_possible(path);
}

void limits_record_save(const struct table *t)
{
    char path[MACHINE_PATH_MAX], quoted[ESCAPE_QUOTE_MAX];
    struct output_file out;

    if (!find_path(path) || !output_open(&out, path))
        return;
    table_write_json(t, out.stream);
    if (output_close(&out, true))
        message_line("saved as %s", escape_quote(quoted, path));
}
