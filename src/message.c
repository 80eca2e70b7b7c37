#include "message.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const char *program = "gpureduce";
static atomic_int latched = EXIT_OK;

/* Guards standard error and what stands on its last line. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool transient_shown;

void message_program(const char *name)
{
    program = name;
}

/* The lock is held. */
static void erase_transient(void)
{
    if (transient_shown)
        fputs("\r\033[K", stderr);
    transient_shown = false;
}

static void say(const char *prefix, const char *format, va_list arguments)
{
    pthread_mutex_lock(&lock);
    erase_transient();
    if (prefix)
        fprintf(stderr, "%s: %s", program, prefix);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    fflush(stderr);
    pthread_mutex_unlock(&lock);
}

void message_error(enum exit_status status, const char *format, ...)
{
    va_list arguments;
    int before = atomic_load(&latched);

    while (before < (int)status && !atomic_compare_exchange_weak(&latched, &before, (int)status))
        ;
    va_start(arguments, format);
    say("", format, arguments);
    va_end(arguments);
}

void message_warning(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say("warning: ", format, arguments);
    va_end(arguments);
}

void message_line(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(NULL, format, arguments);
    va_end(arguments);
}

void message_transient(const char *text)
{
    pthread_mutex_lock(&lock);
    erase_transient();
    if (text && *text) {
        fputs(text, stderr);
        transient_shown = true;
    }
    fflush(stderr);
    pthread_mutex_unlock(&lock);
}

enum exit_status message_status(void)
{
    return (enum exit_status)atomic_load(&latched);
}

/* Whether the character at p can upset a terminal: C0 and DEL, and C1 in UTF-8. */
static bool is_control(const unsigned char *p)
{
    return *p < 0x20 || *p == 0x7f || (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0);
}

const char *message_quote(char out[MESSAGE_QUOTE_MAX], const char *name)
{
    const unsigned char *p = (const unsigned char *)name;
    bool odd = *p == '\0';
    size_t length = 0;

    for (; *p && !odd; p++)
        odd = is_control(p);
    if (!odd) {
        snprintf(out, MESSAGE_QUOTE_MAX, "%s", name);
        return out;
    }
    out[length++] = '\'';
    for (p = (const unsigned char *)name; *p && length < MESSAGE_QUOTE_MAX - 6; p++) {
        if (is_control(p) || *p == '\\' || *p == '\'')
            length += (size_t)snprintf(out + length, 5, "\\%03o", *p);
        else
            out[length++] = (char)*p;
    }
    out[length++] = '\'';
    out[length] = '\0';
    return out;
}
