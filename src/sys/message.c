#include "config.h"

#include "sys/message.h"

#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/mutex.h"
#include "sys/signals.h"

static const char *program = "gpureduce";
static atomic_int latched = EXIT_OK;

/* Guards standard error and what stands on its last line. */
static struct mutex lock = MUTEX_INITIALIZER;
static volatile sig_atomic_t transient_shown; /* the signal handler reads it */

/* The first error, for who reports it elsewhere too. */
static char first_error[MESSAGE_ERROR_MAX] GUARDED_BY(lock);

#define ERASE "\r\033[K"

/* A signal ends the process while something stands on the terminal's last line: the shell's prompt
   is not to stand behind it. Called by the signal handler. */
static void erase_before_end(void)
{
    if (transient_shown && write(STDERR_FILENO, ERASE, sizeof ERASE - 1) < 0) {
        /* Then it stays. */
    }
}

void message_program(const char *name)
{
    program = name;
}

static void erase_transient_locked(void) REQUIRES(lock);

static void erase_transient_locked(void)
{
    if (transient_shown)
        fputs(ERASE, stderr);
    transient_shown = false;
}

static void say(const char *prefix, const char *format, va_list arguments)
{
    mutex_lock(&lock);
    erase_transient_locked();
    if (prefix)
        fprintf(stderr, "%s: %s", program, prefix);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    fflush(stderr);
    mutex_unlock(&lock);
}

static void remember(const char *format, va_list arguments)
{
    mutex_lock(&lock);
    if (!first_error[0])
        vsnprintf(first_error, sizeof first_error, format, arguments);
    mutex_unlock(&lock);
}

void message_error(enum exit_status status, const char *format, ...)
{
    va_list arguments;
    int before = atomic_load(&latched);

    while (before < (int)status && !atomic_compare_exchange_weak(&latched, &before, (int)status))
        ;
    va_start(arguments, format);
    remember(format, arguments);
    va_end(arguments);
    va_start(arguments, format);
    say("", format, arguments);
    va_end(arguments);
}

void message_forget_error(void)
{
    mutex_lock(&lock);
    first_error[0] = '\0';
    mutex_unlock(&lock);
}

const char *message_first_error(char text[MESSAGE_ERROR_MAX])
{
    mutex_lock(&lock);
    memcpy(text, first_error, MESSAGE_ERROR_MAX);
    mutex_unlock(&lock);
    return text;
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
    mutex_lock(&lock);
    erase_transient_locked();
    if (text && *text) {
        signals_before_end(erase_before_end);
        fputs(text, stderr);
        transient_shown = true;
    }
    fflush(stderr);
    mutex_unlock(&lock);
}

enum exit_status message_status(void)
{
    return (enum exit_status)atomic_load(&latched);
}

size_t message_utf8_length(const unsigned char *p)
{
    size_t length = *p < 0x80   ? 1
                    : *p < 0xc2 ? 0
                    : *p < 0xe0 ? 2
                    : *p < 0xf0 ? 3
                    : *p < 0xf5 ? 4
                                : 0;

    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates, and what lies beyond U+10FFFF. */
    if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) ||
        (*p == 0xf4 && p[1] > 0x8f))
        return 0;
    return length;
}

/* The bytes of the printable character at p; 0 when there is none: a control character of either
   set, or no UTF-8. */
static size_t printable(const unsigned char *p)
{
    if (*p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0))
        return 0;
    return message_utf8_length(p);
}

const char *message_quote(char out[MESSAGE_QUOTE_MAX], const char *name)
{
    const unsigned char *p = (const unsigned char *)name;
    bool odd = *p == '\0';
    size_t length = 0, step;

    for (; *p && !odd; p += step) {
        step = printable(p);
        odd = step == 0;
    }
    if (!odd) {
        snprintf(out, MESSAGE_QUOTE_MAX, "%s", name);
        return out;
    }
    out[length++] = '\'';
    for (p = (const unsigned char *)name; *p && length < MESSAGE_QUOTE_MAX - 6; p += step) {
        step = printable(p);
        if (step == 0 || *p == '\\' || *p == '\'') {
            length += (size_t)snprintf(out + length, 5, "\\%03o", *p);
            step = 1;
        } else {
            memcpy(out + length, p, step);
            length += step;
        }
    }
    out[length++] = '\'';
    out[length] = '\0';
    return out;
}
