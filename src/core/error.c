#include "config.h"

#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>

static struct error make(enum error_kind kind, uint64_t offset, struct advice advice,
                         const char *format, va_list arguments)
{
    struct error error = {.kind = kind, .offset = offset, .advice = advice};

    vsnprintf(error.text, sizeof error.text, format, arguments);
    return error;
}

struct error error_at(enum error_kind kind, uint64_t offset, const char *format, ...)
{
    struct error error;
    va_list arguments;

    va_start(arguments, format);
    error = make(kind, offset, NO_ADVICE, format, arguments);
    va_end(arguments);
    return error;
}

struct error error_advised(struct advice advice, const char *format, ...)
{
    struct error error;
    va_list arguments;

    va_start(arguments, format);
    error = make(ERROR_REQUEST, ERROR_NO_OFFSET, advice, format, arguments);
    va_end(arguments);
    return error;
}

bool error_keep(struct error *error, struct error added)
{
    if (error->kind == ERROR_NONE)
        *error = added;
    return false;
}

const char error_no_memory[] = "out of memory";

bool error_memory(struct error *error)
{
    return error_set(error, ERROR_MEMORY, "%s", error_no_memory);
}

void log_tell(const struct log *log, const char *name, struct error warning)
{
    if (log)
        log->warn(log->context, name, &warning);
}
