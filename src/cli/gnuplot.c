#include "config.h"

#include "cli/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/output.h"
#include "sys/escape.h"
#include "sys/whole.h"

extern char **environ;

/* The most bytes of a message of gnuplot's that are shown, and a NUL. */
#define REASON_MAX 200

/* Copies what a pipe holds, to its end. Returns 0, or the errno of the first failure; after one of
   writing the rest is read and dropped. */
static int copy(int from, int to)
{
    char bytes[16384];
    int error = 0;
    ssize_t n;

    while ((n = read(from, bytes, sizeof bytes)) != 0) {
        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0 && error == 0 && !write_whole(to, bytes, (size_t)n, -1))
            error = errno;
    }
    return error;
}

/* Runs gnuplot with these file descriptors as its standard streams; -1 stands for our own. Its output
   goes through a pipe, since it does not notice that it cannot be written: *lost is 0, or the errno of
   that. Returns its exit status, or -1 with errno when it cannot be started. */
static int run_gnuplot(const char *argument, int in, int out, int err, int *lost)
{
    char program[] = "gnuplot", word[32];
    char *argv[] = {program, word, NULL};
    posix_spawn_file_actions_t actions;
    int error, status, ends[2];
    pid_t child;

    *lost = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    snprintf(word, sizeof word, "%s", argument);
    error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        const int streams[] = {in, ends[1], err};

        for (int i = 0; i < 3 && error == 0; i++)
            if (streams[i] >= 0)
                error = posix_spawn_file_actions_adddup2(&actions, streams[i], i);
        if (error == 0)
            error = posix_spawnp(&child, program, &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (error == 0)
        *lost = copy(ends[0], out);
    close(ends[0]);
    if (error) {
        errno = error;
        return -1;
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

const char *gnuplot_format(const char *path)
{
    const char *dot = strrchr(path, '.');

    if (dot && (strcmp(dot, ".svg") == 0 || strcmp(dot, ".png") == 0))
        return dot + 1;
    return NULL;
}

bool gnuplot_possible(const char *path)
{
    char quoted[ESCAPE_QUOTE_MAX];
    int null, status, lost;

    if (!gnuplot_format(path))
        return message_error(EXIT_USAGE, "%s: a plot's name ends in .svg or .png",
                             escape_quote(quoted, path));
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    status = run_gnuplot("--version", null, null, null, &lost);
    if (null >= 0)
        close(null);
    if (status != 0)
        return message_error(
            EXIT_FAILED,
            "cannot plot: gnuplot does not work (install gnuplot, or leave out --plot)");
    return output_possible(path);
}

void gnuplot_write_string(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '\n')
            fputs("\\n", out);
        else
            putc(strchr("\"\\`", *text) || (unsigned char)*text < 0x20 ? '?' : *text, out);
    }
    putc('"', out);
}

void gnuplot_write_terminal(FILE *out, const char *format, size_t width, size_t height)
{
    fputs("set encoding utf8\n", out);
    if (strcmp(format, "svg") == 0)
        fprintf(out, "set terminal svg size %zu,%zu noenhanced background 'white'\n", width,
                height);
    else
        fprintf(out,
                "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {\n"
                "    set terminal pngcairo size %zu,%zu noenhanced background 'white'\n"
                "} else {\n"
                "    set terminal png size %zu,%zu noenhanced\n"
                "}\n",
                width, height, width, height);
}

/* Reads the first line that is not empty; an empty one if there is none. */
static void read_reason(FILE *said, char line[REASON_MAX])
{
    rewind(said);
    do {
        if (!fgets(line, REASON_MAX, said)) {
            line[0] = '\0';
            return;
        }
        line[strcspn(line, "\n")] = '\0';
    } while (!line[0]);
}

bool gnuplot_draw(FILE *script, const char *path)
{
    char quoted[ESCAPE_QUOTE_MAX];
    char reason[REASON_MAX] = "", shown[ESCAPE_QUOTE_MAX];
    struct output_file out;
    FILE *said;
    int status, lost;

    if (!output_open(&out, path))
        return false;
    said = tmpfile();
    status = run_gnuplot("-", fileno(script), fileno(out.stream), said ? fileno(said) : -1, &lost);
    if (status < 0)
        message_error(EXIT_FAILED, "cannot run gnuplot: %s", strerror(errno));
    if (status > 0 && said)
        read_reason(said, reason);
    if (status > 0)
        message_error(EXIT_FAILED, "%s: gnuplot failed with status %d%s%s",
                      escape_quote(quoted, path), status, reason[0] ? ": " : "",
                      reason[0] ? escape_quote(shown, reason) : "");
    if (said)
        fclose(said);
    if (status == 0 && lost) {
        errno = lost;
        output_error(path);
    }
    return output_close(&out, status == 0 && !lost);
}
