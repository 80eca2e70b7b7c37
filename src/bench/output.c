#include "output.h"

#include <errno.h>
#include <string.h>

#include "../message.h"

static void say(const char *path)
{
    char quoted[MESSAGE_QUOTE_MAX];

    message_error(EXIT_FAILED, "%s: %s", message_quote(quoted, path), strerror(errno));
}

FILE *output_open(const char *path)
{
    FILE *out = fopen(path, "we");

    if (!out)
        say(path);
    return out;
}

bool output_close(FILE *out, const char *path)
{
    bool good;

    errno = EIO; /* for an error of before that does not show again */
    good = fflush(out) == 0 && !ferror(out);
    if (!good)
        say(path);
    if (fclose(out) != 0 && good) {
        say(path);
        good = false;
    }
    return good;
}
