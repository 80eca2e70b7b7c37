/*
 * Errors are values: every failing call hands up its kind, its offset and its words, which name
 * neither the file nor an option; and nothing is printed, not even a warning.
 */
/* Tags: threads ports */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/allocate.h"
#include "lib/tap.h"
#include "lib/warnings.h"
#include "run/arrays.h"
#include "run/diff.h"
#include "run/session.h"
#include "run/shard.h"

static char directory[] = "/tmp/gpureduce-errors-XXXXXX";

static void put(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(name, "wb");

    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        bail(name);
}

static struct session_options defaults(void)
{
    return (struct session_options){.input = {.log = &warnings_log,
                                              .type = ELEMENT_F32,
                                              .order = ELEMENT_ORDER_LITTLE,
                                              .length = SOURCE_UNKNOWN},
                                    .device = DEVICE_CPU,
                                    .threads = 3,
                                    .wants = PARTIAL_ALL};
}

static bool is_error(const struct error *error, enum error_kind kind, enum advice_kind advice,
                     uint64_t offset, const char *text)
{
    const bool good = error->kind == kind && error->advice.kind == advice &&
                      error->offset == offset && strcmp(error->text, text) == 0;

    if (!good)
        tap_note("error %d, advice %d, at %" PRIu64 ": %s", error->kind, error->advice.kind,
                 error->offset, error->text);
    return good;
}

/* Reduces a file, and compares the error; ERROR_NONE expects a result. */
static bool reduces(const struct session_options *options, const char *name, enum error_kind kind,
                    enum advice_kind advice, uint64_t offset, const char *text)
{
    char path[64];
    char *paths[] = {path};
    struct reduction reduction;
    struct error error;
    struct session *session;
    bool good;

    snprintf(path, sizeof path, "%s", name);
    session = session_open(options, paths, 1, &error);
    if (!session) {
        tap_note("%s", error.text);
        return false;
    }
    good = session_reduce(session, path, &reduction) == (kind == ERROR_NONE) &&
           (kind == ERROR_NONE ? reduction.error.kind == ERROR_NONE
                               : is_error(&reduction.error, kind, advice, offset, text));
    return session_close(session) && good;
}

static void check_reductions(void)
{
    static const float x[] = {1, 2, 3, 4, 5, 6};
    static const unsigned char nan[] = {0, 0, 0x80, 0x3f, 0, 0, 0xc0, 0x7f};
    static const char truncated[] =
        "\x93NUMPY\1\0\x46\0{'descr': '<f4', 'fortran_order': False, 'shape': (9,), }"
        "                \n";
    static const char typed[] =
        "\x93NUMPY\1\0\x46\0{'descr': '<M8', 'fortran_order': False, 'shape': (0,), }"
        "                \n";
    struct session_options options = defaults();

    put("x", x, sizeof x);
    put("torn", x, sizeof x - 2);
    put("nan", nan, sizeof nan);
    put("short.npy", truncated, 80);
    put("time.npy", typed, 80);
    put("x.xz", "\3757zXZ\0\0\4\346\326\264F\0\0\0\0\0\0\0\0", 20);
    tap_ok(reduces(&options, "x", ERROR_NONE, ADVICE_NONE, 0, ""), "a result");
    tap_ok(reduces(&options, "none", ERROR_READ, ADVICE_NONE, ERROR_NO_OFFSET,
                   "No such file or directory"),
           "no file");
    tap_ok(reduces(&options, ".", ERROR_READ, ADVICE_NONE, ERROR_NO_OFFSET, "is a directory"),
           "a directory");
    tap_ok(reduces(&options, "torn", ERROR_DATA, ADVICE_NONE, 20,
                   "byte 20: the last f32 element is cut off after 2 of 4 bytes"),
           "a part of an element");
    tap_ok(reduces(&options, "short.npy", ERROR_DATA, ADVICE_NONE, 80,
                   "ends at byte 80, but its header promises 9 elements, up to byte 116"),
           "a header without elements");
    tap_ok(reduces(&options, "time.npy", ERROR_DATA, ADVICE_RAW_TYPE, 20,
                   "byte 20: dtype '<M8' is not supported: it is time, counted in integers; those "
                   "of NaT are the least there are"),
           "a type that is not supported");
    tap_ok(reduces(&options, "x.xz", ERROR_DATA, ADVICE_PIPE, ERROR_NO_OFFSET,
                   "an xz file; try: xz -dc x.xz"),
           "a format that is not supported");
    options.input.skip = 30;
    tap_ok(reduces(&options, "x", ERROR_REQUEST, ADVICE_SKIP, ERROR_NO_OFFSET,
                   "is only 24 bytes long, but 30 are to be skipped"),
           "too much is skipped");
    options = defaults();
    options.nan = NAN_ERROR;
    tap_ok(reduces(&options, "nan", ERROR_NAN, ADVICE_NONE, ERROR_NO_OFFSET, "element 1 is a NaN"),
           "a NaN");
    options = defaults();
    options.input.format = SOURCE_ZSTD;
    tap_ok(reduces(&options, "x", ERROR_DATA, ADVICE_NONE, ERROR_NO_OFFSET,
                   "not zstd data: no frame begins at byte 0"),
           "not what is asked for");
    tap_ok(warned(""), "nothing is printed");
}

/* An array that cannot be read is an error of its own. */
static void check_arrays(void)
{
    static const char header[] =
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
        "\"b\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[4,5]}}   ";
    unsigned char file[8 + sizeof header - 1 + 5] = {sizeof header - 1};
    struct session_options options = defaults();
    char path[] = "two.safetensors", *paths[] = {path};
    struct reduction reduction;
    const struct array_error *why;
    struct error error;
    struct session *session;

    memcpy(file + 8, header, sizeof header - 1);
    put(path, file, sizeof file);
    session = session_open(&options, paths, 1, &error);
    if (!tap_ok(session && session_reduce(session, path, &reduction) && reduction.arrays &&
                    arrays_count(reduction.arrays) == 2,
                "two arrays"))
        return;
    why = arrays_error(reduction.arrays, 1);
    tap_ok(!arrays_error(reduction.arrays, 0) && why && why->kind == ERROR_DATA &&
               strncmp(why->text, "type F4 is not supported", 24) == 0,
           "one has an error");
    tap_ok(session_close(session) && warned(""), "nothing is printed");
    options.input.skip_unsupported = true;
    tap_ok(reduces(&options, path, ERROR_NONE, ADVICE_NONE, 0, "") &&
               strncmp(warnings, "two.safetensors: skipped array b: type F4", 41) == 0,
           "or is skipped, with a warning");
    warnings[0] = '\0';
}

static void check_diff(void)
{
    struct session_options options = defaults();
    char x[] = "x", none[] = "none", torn[] = "torn", *a[] = {none}, *b[] = {torn}, *c[] = {x};
    struct diff_request request = {
        .options = &options,
        .sides = {{.name = none, .paths = a, .count = 1, .input = &options.input},
                  {.name = x, .paths = c, .count = 1, .input = &options.input}}};
    struct diff *diff = diff_new(&request);
    const struct error *error;
    const char *name, *array;
    bool failed = diff && !diff_run(diff);

    error = failed ? diff_error(diff, 0, &name, &array) : NULL;
    tap_ok(
        error && strcmp(name, "none") == 0 && !diff_error(diff, 1, &name, &array) &&
            is_error(error, ERROR_READ, ADVICE_NONE, ERROR_NO_OFFSET, "No such file or directory"),
        "a side that is not there");
    if (diff)
        diff_close(diff);
    request.sides[DIFF_A].name = torn;
    request.sides[DIFF_A].paths = b;
    diff = diff_new(&request);
    failed = diff && !diff_run(diff);
    error = failed ? diff_error(diff, 0, &name, &array) : NULL;
    tap_ok(error && strcmp(name, "torn") == 0 && error->kind == ERROR_DATA && error->offset == 20,
           "a side that is damaged");
    if (diff)
        diff_close(diff);
    tap_ok(warned(""), "nothing is printed");
}

static void check_shards(void)
{
    const struct shard shard = {1, 2};
    struct session_options options = defaults();
    char x[] = "x", pipe[] = "pipe", *paths[] = {x, pipe};
    struct shard_part parts[2];
    const char *failed = NULL;
    struct error error;

    if (mkfifo(pipe, 0600) != 0)
        bail(pipe);
    tap_ok(!shard_plan(&shard, paths, 2, &options.input, parts, &failed, &error) && failed &&
               strcmp(failed, pipe) == 0 &&
               is_error(&error, ERROR_REQUEST, ADVICE_NONE, ERROR_NO_OFFSET,
                        "not a regular file: its size is unknown, so it cannot be divided into "
                        "shards"),
           "a pipe has no shards");
    tap_ok(shard_plan(&shard, paths, 1, &options.input, parts, &failed, &error) &&
               error.kind == ERROR_NONE && is_silent(),
           "a file has");
    unlink(pipe);
}

/* The log is optional, and hears what would be printed. */
static void check_warnings(void)
{
    struct session_options options = defaults();
    static const char npy[] =
        "\x93NUMPY\1\0\x46\0{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"
        "                \n\0\0\x80\x3f";

    put("one.npy", npy, 84);
    options.input.type = ELEMENT_F64;
    options.input.type_given = true;
    tap_ok(reduces(&options, "one.npy", ERROR_NONE, ADVICE_NONE, 0, "") &&
               warned("one.npy: the .npy header overrides what was asked for\n"),
           "a warning goes to the log");
    options.input.log = NULL;
    tap_ok(reduces(&options, "one.npy", ERROR_NONE, ADVICE_NONE, 0, "") && warned(""),
           "or to nobody");
}

static void check_values(void)
{
    struct error error = {.kind = ERROR_NONE};
    char text[2 * ERROR_TEXT_MAX];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tap_ok(!error_set(&error, ERROR_DATA, "%s", "first") && !error_memory(&error) &&
               is_error(&error, ERROR_DATA, ADVICE_NONE, ERROR_NO_OFFSET, "first"),
           "the first error counts");
    error = error_at(ERROR_READ, 7, "%s", text);
    tap_ok(error.offset == 7 && strlen(error.text) == ERROR_TEXT_MAX - 1, "a long text is cut");
    error = error_advised((struct advice){.kind = ADVICE_SKIP, .skip = 9}, "advised");
    tap_ok(error.advice.skip == 9 &&
               is_error(&error, ERROR_REQUEST, ADVICE_SKIP, ERROR_NO_OFFSET, "advised"),
           "advice has its numbers");
}

int main(void)
{
    static const char *const files[] = {"x",    "torn",    "nan",     "short.npy",      "time.npy",
                                        "x.xz", "one.npy", "printed", "two.safetensors"};
    int out;

    if (!mkdtemp(directory) || chdir(directory) != 0)
        bail(directory);
    out = dup(STDERR_FILENO);
    warnings_open("printed");
    check_values();
    check_reductions();
    check_arrays();
    check_diff();
    check_shards();
    check_warnings();
    dup2(out, STDERR_FILENO);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(files[i]);
    if (chdir("/") == 0)
        rmdir(directory);
    return tap_done();
}
