/*
 * Messages: each reaches standard error by one write. A socket that keeps what was written at once
 * apart from what was written next stands for it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/message.h"
#include "lib/tap.h"

/* The length of the longest text. */
#define LONGEST 60000

static int reader;
static char written[2 * LONGEST];

/* The text of the next write; "" if there is none. */
static const char *next(void)
{
    const ssize_t n = recv(reader, written, sizeof written - 1, 0);

    written[n > 0 ? n : 0] = '\0';
    return written;
}

static bool is(const char *text)
{
    return strcmp(next(), text) == 0;
}

static void test_usual(void)
{
    struct tap_family one = {0};

    message_error(EXIT_FAILED, "%s: byte %d: %s", "file", 17, "is wrong");
    tap_case(&one, is("program: file: byte 17: is wrong\n"), "an error: %s", written);
    message_warning("%s: %d of them", "file", 3);
    tap_case(&one, is("program: warning: file: 3 of them\n"), "a warning: %s", written);
    message_line("  %-10s%d", "read", 12);
    tap_case(&one, is("  read      12\n"), "a line: %s", written);
    message_line("%s", "");
    tap_case(&one, is("\n"), "an empty line: %s", written);
    tap_case(&one, is(""), "and nothing else: %s", written);
    tap_family_end(&one, "a message is one write");
}

/* Lengths around the room that there is without asking for memory, and much more. */
static void test_long(void)
{
    static const char begin[] = "program: ";
    static char text[LONGEST + 1], wanted[sizeof begin + LONGEST + 1];
    struct tap_family longs = {0};

    for (size_t i = 0; i < LONGEST; i++)
        text[i] = (char)('a' + i % 26);
    for (size_t length = 4000; length <= LONGEST; length += length < 4200 ? 1 : 18600) {
        char *end = &text[length];
        const char kept = *end;

        *end = '\0';
        snprintf(wanted, sizeof wanted, "%s%s\n", begin, text);
        message_error(EXIT_FAILED, "%s", text);
        tap_case(&longs, is(wanted), "of %zu bytes, %zu were written", length, strlen(written));
        *end = kept;
    }
    tap_case(&longs, is(""), "and nothing else: %s", written);
    tap_family_end(&longs, "and so is a long one");
}

static void test_transient(void)
{
    struct tap_family lines = {0};

    message_transient("10 %");
    tap_case(&lines, is("10 %"), "shown: %s", written);
    message_transient("20 %");
    tap_case(&lines, is("\r\033[K20 %"), "shown anew: %s", written);
    message_warning("late");
    tap_case(&lines, is("\r\033[Kprogram: warning: late\n"), "a message instead: %s", written);
    message_transient("30 %");
    tap_case(&lines, is("30 %"), "shown again: %s", written);
    message_transient("");
    tap_case(&lines, is("\r\033[K"), "erased: %s", written);
    message_transient(NULL);
    tap_case(&lines, is(""), "nothing to erase: %s", written);
    memset(written, 'x', sizeof written);
    written[LONGEST] = '\0';
    message_transient(written);
    tap_case(&lines, strspn(next(), "x") > 4000 && strlen(written) < 5000, "cut to %zu bytes",
             strlen(written));
    message_transient(NULL);
    tap_case(&lines, is("\r\033[K"), "erased: %s", written);
    tap_case(&lines, is(""), "and nothing else: %s", written);
    tap_family_end(&lines, "what stands on the last line is erased by the write that follows");
}

int main(void)
{
    int ends[2];

    /* Without blocking, so that a message in many writes is a failed test and no deadlock. */
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends) != 0 ||
        dup2(ends[1], STDERR_FILENO) < 0)
        return tap_skip_all("there are no sockets that keep writes apart");
    reader = ends[0];
    message_program("program");
    test_usual();
    test_long();
    test_transient();
    return tap_done();
}
