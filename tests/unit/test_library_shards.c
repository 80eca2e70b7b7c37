/*
 * gpr_plan_shards: which units of 2 MiB, one by one, belong to which shard; and sets of files.
 */
/* Tags: ports */
#include "config.h"

#include <fcntl.h>
#include <gpureduce.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/allocate.h"
#include "lib/tap.h"

#define UNIT ((uint64_t)2 << 20)
#define FILES 5

/* The last is compressed, and cannot be cut. */
static const char *const paths[FILES] = {"a", "b", "-", "d", "e"};
static const uint64_t sizes[FILES] = {5 * UNIT + 1, 0, 100, 3 * UNIT, 0};

static void make(const char *path, uint64_t size)
{
    const int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);

    if (fd < 0 || ftruncate(fd, (off_t)size) != 0 || close(fd) != 0)
        bail(path);
}

/* A frame of zstd that has two blocks of one repeated byte, 256 KiB in all, and after that one that may
   be skipped, so that it has three units. */
static void make_compressed(const char *path)
{
    static const unsigned char frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0x00, 0x00, 0x04, 0x00,
                                          0x02, 0x00, 0x10, 0x07, 0x03, 0x00, 0x10, 0x07};
    static const unsigned char skipped[] = {0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0x4f, 0x00};
    const int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);

    if (fd < 0 || write(fd, frame, sizeof frame) != sizeof frame ||
        write(fd, skipped, sizeof skipped) != sizeof skipped ||
        ftruncate(fd, (off_t)(sizeof frame + sizeof skipped + 0x4fffff)) != 0 || close(fd) != 0)
        bail(path);
}

/* The number of the shard that has unit `unit` of all. */
static uint64_t owner(uint64_t unit, uint64_t units, uint64_t of)
{
    uint64_t number = 1;

    while (units * number / of <= unit)
        number++;
    return number;
}

static void test_plans(gpr_context *context)
{
    static const uint64_t shards[] = {1, 2, 3, 7, 11, 40};
    const uint64_t units[FILES] = {6, 1, 1, 3, 3}, all = 14;
    uint64_t begins[FILES], ends[FILES];
    struct tap_family family = {0};

    for (size_t s = 0; s < sizeof shards / sizeof *shards; s++) {
        const uint64_t of = shards[s];

        for (uint64_t number = 1; number <= of; number++) {
            uint64_t before = 0;

            tap_case(&family,
                     gpr_plan_shards(context, paths, FILES, number, of, begins, ends) == GPR_OK,
                     "%s", gpr_error_text(context));
            for (size_t i = 0; i < FILES; i++) {
                uint64_t begin = UINT64_MAX, end = 0;

                for (uint64_t u = 0; u < units[i]; u++) {
                    /* A file that cannot be cut goes with its first unit. */
                    if (owner(before + (i == FILES - 1 ? 0 : u), all, of) != number)
                        continue;
                    begin = begin < u * UNIT ? begin : u * UNIT;
                    end = u + 1 == units[i] ? UINT64_MAX : (u + 1) * UNIT;
                }
                begin = end == 0 ? 0 : begin;
                tap_case(&family, begins[i] == begin && ends[i] == end,
                         "shard %" PRIu64 " of %" PRIu64 ", file %s: from %" PRIu64 " to %" PRIu64
                         ", not from %" PRIu64 " to %" PRIu64,
                         number, of, paths[i], begins[i], ends[i], begin, end);
                before += units[i];
            }
        }
    }
    tap_family_end(&family, "each unit belongs to its shard");
}

static void test_errors(gpr_context *context)
{
    const char *const absent[] = {"a", "absent"}, *const pipes[] = {"pipe"};
    uint64_t begins[2] = {7, 7}, ends[2] = {7, 7};

    if (mkfifo("pipe", 0600) != 0)
        bail("pipe");
    tap_ok(gpr_plan_shards(context, paths, 1, 0, 2, begins, ends) == GPR_ERROR_ARGUMENT &&
               gpr_plan_shards(context, paths, 1, 3, 2, begins, ends) == GPR_ERROR_ARGUMENT &&
               gpr_plan_shards(context, paths, 1, 1, 0, begins, ends) == GPR_ERROR_ARGUMENT &&
               gpr_plan_shards(context, paths, 1, 1, (1 << 20) + 1, begins, ends) ==
                   GPR_ERROR_ARGUMENT,
           "numbers of no shard");
    tap_ok(gpr_plan_shards(context, absent, 2, 1, 2, begins, ends) == GPR_ERROR_READ &&
               strcmp(gpr_error_text(context), "absent: No such file or directory") == 0,
           "a file that is not there: %s", gpr_error_text(context));
    tap_ok(gpr_plan_shards(context, pipes, 1, 1, 2, begins, ends) == GPR_ERROR_UNSUPPORTED &&
               strstr(gpr_error_text(context), "pipe: not a regular file"),
           "a pipe: %s", gpr_error_text(context));
    tap_ok(begins[0] == 7 && ends[0] == 7 && begins[1] == 7, "then nothing is changed");
    tap_ok(gpr_plan_shards(context, NULL, 0, 1, 2, NULL, NULL) == GPR_OK, "no files");
    unlink("pipe");
}

/* Whether the line of an accumulator begins with these names, and has so many elements in all. */
static bool is_line_of(gpr_accumulator *acc, const char *names, uint64_t of)
{
    char line[4096], expected[200];
    const int length = snprintf(
        expected, sizeof expected,
        "{\"gpureduce\":\"partial\",\"version\":2,%s,\"dtype\":\"f32\",\"of\":%" PRIu64 ",", names,
        of);

    return gpr_accumulator_write(acc, line, sizeof line) > 0 &&
           strncmp(line, expected, (size_t)length) == 0;
}

/* The names and the size of an array come from the first input that is added, also by a merge, or from the
   program. */
static void test_names(gpr_context *context)
{
    static const float x[] = {1, 2, 3};
    const uint64_t shape = 3, elements = sizes[3] / sizeof *x;
    gpr_request *digests, *as_bytes;
    gpr_input *bytes, *input;
    gpr_accumulator *acc, *merged;
    gpr_view *view;

    if (gpr_request_new(context, &digests) != GPR_OK ||
        gpr_request_op(digests, "digest") != GPR_OK ||
        gpr_request_new(context, &as_bytes) != GPR_OK ||
        gpr_request_type(as_bytes, "u8", GPR_ORDER_NATIVE) != GPR_OK ||
        gpr_accumulator_new(context, "f32", digests, &acc) != GPR_OK ||
        gpr_accumulator_new(context, "f32", digests, &merged) != GPR_OK ||
        gpr_open_path(context, "a", as_bytes, &bytes) != GPR_OK ||
        gpr_open_path(context, "d", NULL, &input) != GPR_OK ||
        gpr_view_new(context, &view) != GPR_OK ||
        gpr_view_set_data(view, x, "f32", GPR_ORDER_NATIVE, 1, &shape, NULL) != GPR_OK)
        bail("objects");
    tap_ok(gpr_accumulator_add_input(acc, bytes, 0) == GPR_ERROR_ARGUMENT &&
               is_line_of(acc, "\"input\":\"memory\"", 0) &&
               gpr_accumulator_add_input(acc, input, 0) == GPR_OK &&
               is_line_of(acc, "\"input\":\"d\"", elements),
           "an input that is refused gives no name");
    tap_ok(gpr_accumulator_merge(merged, acc) == GPR_OK &&
               is_line_of(merged, "\"input\":\"d\"", elements) &&
               gpr_accumulator_clear(merged) == GPR_OK &&
               is_line_of(merged, "\"input\":\"memory\"", 0) &&
               gpr_accumulator_set_array(merged, "x", NULL, 0) == GPR_OK &&
               gpr_accumulator_merge(merged, acc) == GPR_OK &&
               is_line_of(merged, "\"input\":\"x\"", elements),
           "a merge gives names to an accumulator that has none");
    tap_ok(gpr_accumulator_clear(acc) == GPR_OK && gpr_accumulator_add_at(acc, view, 0) == GPR_OK &&
               is_line_of(acc, "\"input\":\"memory\"", 3),
           "nor does one that was cleared");
    tap_ok(gpr_accumulator_set_array(acc, "x", "y", elements + 1) == GPR_OK &&
               gpr_accumulator_clear(acc) == GPR_OK &&
               gpr_accumulator_add_input(acc, input, 0) == GPR_OK &&
               is_line_of(acc, "\"input\":\"x\",\"array\":\"y\"", elements + 1) &&
               gpr_accumulator_clear(acc) == GPR_OK &&
               is_line_of(acc, "\"input\":\"x\",\"array\":\"y\"", elements + 1),
           "names that the program sets stay");
    gpr_view_free(view);
    gpr_close(input);
    gpr_close(bytes);
    gpr_accumulator_free(merged);
    gpr_accumulator_free(acc);
    gpr_request_free(as_bytes);
    gpr_request_free(digests);
}

/* An accumulator takes a part of a file once; and no part is none. */
static void test_parts(gpr_context *context)
{
    gpr_request *part, *sums;
    gpr_input *input, *other = NULL;
    gpr_accumulator *acc, *bytes;
    gpr_status first, again;
    int ends[2];

    if (gpr_request_new(context, &part) != GPR_OK || gpr_request_new(context, &sums) != GPR_OK ||
        gpr_request_op(sums, "sum") != GPR_OK ||
        gpr_accumulator_new(context, "f32", sums, &acc) != GPR_OK ||
        gpr_accumulator_new(context, "u8", sums, &bytes) != GPR_OK ||
        gpr_request_set(part, GPR_BEGIN, UNIT) != GPR_OK ||
        gpr_request_set(part, GPR_END, 2 * UNIT) != GPR_OK ||
        gpr_open_path(context, "d", part, &input) != GPR_OK)
        bail("a part");
    tap_ok(gpr_accumulator_add_input(bytes, input, 0) == GPR_ERROR_ARGUMENT &&
               gpr_accumulator_add_input(acc, input, 1) == GPR_ERROR_ARGUMENT,
           "another type, and no such array");
    first = gpr_accumulator_add_input(acc, input, 0);
    again = gpr_accumulator_add_input(acc, input, 0);
    tap_ok(first == GPR_OK && again == GPR_ERROR_ARGUMENT, "a part is added once");
    tap_ok(gpr_array_count(input, 0) == sizes[3] / 4 &&
               gpr_array_fact(input, 0, GPR_FACT_BYTES) == sizes[3],
           "the elements of the whole array are known");
    tap_ok(gpr_diff_inputs(input, input, NULL, NULL, NULL, NULL, 0, NULL) == GPR_ERROR_UNSUPPORTED,
           "a part is not compared: %s", gpr_error_text(context));
    (void)gpr_request_set(part, GPR_BEGIN, 0);
    if (pipe(ends) != 0)
        bail("a pipe");
    tap_ok(gpr_open_fd(context, ends[0], part, &other) == GPR_ERROR_UNSUPPORTED && !other,
           "a pipe has no parts: %s", gpr_error_text(context));
    close(ends[0]);
    close(ends[1]);
    (void)gpr_request_set(part, GPR_BEGIN, UNIT);
    gpr_accumulator_free(acc);
    gpr_accumulator_free(bytes);
    (void)gpr_request_set(part, GPR_END, UNIT);
    tap_ok(gpr_open_path(context, "d", part, &other) == GPR_ERROR_ARGUMENT && !other,
           "an empty part");
    gpr_close(input);
    (void)gpr_request_set(part, GPR_BEGIN, 0);
    (void)gpr_request_set(part, GPR_END, UINT64_MAX);
    (void)gpr_request_set(part, GPR_LENGTH, 1000000);
    if (gpr_open_path(context, "e", part, &input) != GPR_OK)
        bail("e");
    tap_ok(gpr_array_count(input, 0) == UINT64_MAX &&
               gpr_array_fact(input, 0, GPR_FACT_BYTES) == UINT64_MAX,
           "GPR_LENGTH is not the number of elements of a compressed file");
    gpr_close(input);
    gpr_request_free(sums);
    gpr_request_free(part);
}

/* Makes a safetensors file of one row of three elements, of this name. */
static void make_row(const char *path, const char *name, float first)
{
    const float x[] = {first, 2, 3};
    char header[128] = "";
    const int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    const uint64_t length = (uint64_t)snprintf(
        header, sizeof header,
        "{\"%s\":{\"dtype\":\"F32\",\"shape\":[1,3],\"data_offsets\":[0,12]}}", name);
    unsigned char size[8] = {(unsigned char)length};

    if (fd < 0 || write(fd, size, sizeof size) != sizeof size ||
        write(fd, header, (size_t)length) != (ssize_t)length ||
        write(fd, x, sizeof x) != sizeof x || close(fd) != 0)
        bail(path);
}

/* A directory of files is one input, whose arrays are numbered through. */
static void test_sets(gpr_context *context)
{
    double sums[3] = {0}, *results = sums;
    gpr_accumulator *acc = NULL;
    gpr_result *result = NULL;
    gpr_request *request;
    gpr_input *input;
    double value = 0;

    if (mkdir("set", 0700) != 0)
        bail("set");
    make_row("set/1.safetensors", "x", 1);
    make_row("set/2.safetensors", "y", 5);
    if (gpr_request_new(context, &request) != GPR_OK || gpr_request_op(request, "sum") != GPR_OK ||
        gpr_accumulator_new(context, "f32", request, &acc) != GPR_OK)
        bail("objects");
    tap_ok(gpr_open_path(context, "set", NULL, &input) == GPR_OK && gpr_input_arrays(input) == 2 &&
               strcmp(gpr_array_name(input, 1), "y") == 0 && gpr_array_count(input, 1) == 3 &&
               gpr_array_shape(input, 1, 0, NULL) == 2 && *gpr_array_name(input, 2) == '\0' &&
               gpr_array_why_unreadable(input, 2) && !gpr_array_why_unreadable(input, 1),
           "facts of arrays: %s", gpr_error_text(context));
    tap_ok(gpr_reduce(input, 2, request, &result) == GPR_ERROR_ARGUMENT &&
               strstr(gpr_error_text(context), "number 2") &&
               gpr_reduce(input, 1, request, &result) == GPR_OK &&
               gpr_result_double(result, "sum", &value) == GPR_OK && value == 10,
           "a sum: %s", gpr_error_text(context));
    tap_ok(strcmp(gpr_axis_dtype(input, 1, request, "sum"), "f64") == 0 &&
               gpr_reduce_axis(input, 1, request, 0, (void *const *)&results, 3) == GPR_OK &&
               sums[0] == 5 && sums[1] == 2 && sums[2] == 3,
           "sums of columns: %s", gpr_error_text(context));
    tap_ok(gpr_accumulator_add_input(acc, input, 1) == GPR_OK &&
               is_line_of(acc, "\"input\":\"set/2.safetensors\",\"array\":\"y\"", 3),
           "an accumulator has the name of the file: %s", gpr_error_text(context));
    gpr_accumulator_free(acc);
    gpr_result_free(result);
    gpr_request_free(request);
    gpr_close(input);
    tap_ok(truncate("set/2.safetensors", 0) == 0 &&
               gpr_open_path(context, "set", NULL, &input) != GPR_OK &&
               strcmp(gpr_error_text(context),
                      "set/2.safetensors: is empty, and not a safetensors file") == 0,
           "an empty file of a directory: %s", gpr_error_text(context));
    unlink("set/1.safetensors");
    unlink("set/2.safetensors");
    rmdir("set");
}

int main(void)
{
    char folder[] = "test_library_shards.XXXXXX";
    gpr_context *context;

    if (!mkdtemp(folder) || chdir(folder) != 0 || gpr_context_new(&context) != GPR_OK)
        bail(folder);
    for (size_t i = 0; i < FILES; i++)
        make(paths[i], sizes[i]);
    make_compressed(paths[FILES - 1]);
    test_plans(context);
    test_errors(context);
    test_parts(context);
    test_names(context);
    test_sets(context);
    gpr_context_free(context);
    for (size_t i = 0; i < FILES; i++)
        unlink(paths[i]);
    if (chdir("..") != 0 || rmdir(folder) != 0)
        bail(folder);
    return tap_done();
}
