#include "config.h"

#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>

bool error_set(struct error *error, enum error_kind kind, const char *format, ...)
{
    va_list arguments;

    if (error->kind != ERROR_NONE)
        return false;
    error->kind = kind;
    error->advice = (struct advice){.kind = ADVICE_NONE};
    error->offset = ERROR_NO_OFFSET;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return false;
}

bool error_memory(struct error *error)
{
    return error_set(error, ERROR_MEMORY, "out of memory");
}

void log_warn(const struct log *log, const char *name, const struct advice *advice,
              const char *format, ...)
{
    struct error warning = {.kind = ERROR_NONE, .offset = ERROR_NO_OFFSET};
    va_list arguments;

    if (!log)
        return;
    if (advice)
        warning.advice = *advice;
    va_start(arguments, format);
    vsnprintf(warning.text, sizeof warning.text, format, arguments);
    va_end(arguments);
    log->warn(log->context, name, &warning);
}
