#include "config.h"

#include "cli/message.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sys/escape.h"
#include "sys/mutex.h"
#include "sys/signals.h"
#include "sys/whole.h"

static const char *program = "gpureduce";
static atomic_int latched = EXIT_OK;
static atomic_int chosen = MESSAGE_ALL;

/* Guards standard error and what stands on its last line. */
static struct mutex lock = MUTEX_INITIALIZER;
static volatile sig_atomic_t transient_shown; /* the signal handler reads it */

#define ERASE "\r\033[K"

/* The next line to be written; a usual message fits. */
static char usual[4 * ESCAPE_QUOTE_MAX] GUARDED_BY(lock);

/* The width of a terminal that does not state it. */
#define COLUMNS_USUAL 80

/* Whether the process is a background job of the terminal that standard error is: what stands on
   its last line is somebody else's then. The signal handler may call it. */
static bool in_background(void)
{
    pid_t foreground = tcgetpgrp(STDERR_FILENO);

    return foreground > 0 && foreground != getpgrp();
}

/* A signal ends the process while something stands on the terminal's last line: the shell's prompt
   is not to stand behind it. Called by the signal handler. */
static void erase_before_end(void)
{
    if (transient_shown && !in_background() && write(STDERR_FILENO, ERASE, sizeof ERASE - 1) < 0) {
        /* Then it stays. */
    }
}

void message_program(const char *name)
{
    program = name;
}

void message_choose(enum message_choice choice)
{
    atomic_store(&chosen, (int)choice);
}

/* Begins `usual` with what erases the last line, if something stands there. Returns its length. */
REQUIRES(lock)
static size_t begin_locked(void)
{
    if (!transient_shown || in_background())
        return 0;
    memcpy(usual, ERASE, sizeof ERASE - 1);
    return sizeof ERASE - 1;
}

/* Adds text to `usual`, of which `length` bytes are used, and cuts what does not fit. Returns how
   many are used then. */
REQUIRES(lock)
static size_t add_locked(size_t length, const char *text)
{
    const size_t more = strnlen(text, sizeof usual - 1 - length);

    memcpy(usual + length, text, more);
    return length + more;
}

/* Escapes what is not seen of a text from byte `begin` on; backslashes stay as they are. Returns a
   text of malloc, and its length; NULL without memory. */
static char *escape(const char *text, size_t begin, size_t *length)
{
    char *escaped = malloc(ESCAPE_MAX * (strlen(text) + 1)), *to = escaped;
    const char *from = text + begin;

    if (!escaped)
        return NULL;
    memcpy(to, text, begin);
    to += begin;
    while (*from) {
        if (*from == '\\')
            *to++ = *from++;
        else
            to += escape_next(to, &from, ESCAPE_FIELD);
    }
    *length = (size_t)(to - escaped);
    return escaped;
}

static void say(const char *prefix, const char *format, va_list arguments)
{
    char *text = usual, *longer = NULL, *escaped = NULL;
    size_t begin, length;
    va_list again;
    int n;

    if (atomic_load(&chosen) == MESSAGE_NOTHING)
        return;
    mutex_lock(&lock);
    begin = begin_locked();
    if (prefix)
        begin = add_locked(add_locked(add_locked(begin, program), ": "), prefix);
    va_copy(again, arguments);
    n = vsnprintf(usual + begin, sizeof usual - begin, format, arguments);
    length = begin + (n > 0 ? (size_t)n : 0);
    if (length >= sizeof usual) {
        longer = malloc(length + 1);
        if (longer) {
            text = longer;
            memcpy(text, usual, begin);
            vsnprintf(text + begin, length + 1 - begin, format, again);
        } else {
            length = sizeof usual - 1; /* better cut than not at all */
        }
    }
    va_end(again);
    /* Names are quoted, and other words of files need not be. */
    if (!escape_is_seen(text + begin) && (escaped = escape(text, begin, &length)))
        text = escaped;
    text[length] = '\n'; /* in place of NUL */
    /* By one call, as long as the system takes all at once: a message of another process that writes to
       the same file stands before or behind this one. There is nowhere to say that it fails. */
    (void)write_whole(STDERR_FILENO, text, length + 1, -1);
    transient_shown = false; /* not before: a signal may come between the two */
    mutex_unlock(&lock);
    free(longer);
    free(escaped);
}

bool message_error(enum exit_status status, const char *format, ...)
{
    va_list arguments;
    int before = atomic_load(&latched);

    while (before < (int)status && !atomic_compare_exchange_weak(&latched, &before, (int)status))
        ;
    va_start(arguments, format);
    say("", format, arguments);
    va_end(arguments);
    return false;
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

bool message_erasable(void)
{
    const char *type = getenv("TERM");

    return isatty(STDERR_FILENO) && (!type || strcmp(type, "dumb") != 0);
}

void message_transient(const char *text)
{
    const bool show = text && *text && !in_background();
    size_t length;

    mutex_lock(&lock);
    length = begin_locked();
    if (show) {
        signals_before_end(erase_before_end);
        transient_shown = true; /* before it is: a signal may come between the two */
        length = add_locked(length, text);
    }
    (void)write_whole(STDERR_FILENO, usual, length, -1);
    transient_shown = show;
    mutex_unlock(&lock);
}

unsigned message_columns(int fd)
{
    struct winsize size;

    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : COLUMNS_USUAL;
}

enum exit_status message_status(void)
{
    return (enum exit_status)atomic_load(&latched);
}

const char *message_errno(void)
{
    return errno == ENOMEM ? "out of memory" : strerror(errno);
}
