/*
 * gpr_diff and gpr_diff_inputs: which rows come, how many arrays differ, and errors.
 * tests/cli/library.sh compares rows with those of the program.
 */
/* Tags: ports */
#include "config.h"

#include <gpureduce.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/allocate.h"
#include "lib/tap.h"

static gpr_context *context;

/* Writes a container of safetensors with arrays of u8: `header` says where they lie. */
static void put(const char *path, const char *header, const char *data)
{
    FILE *file = fopen(path, "w");
    const uint64_t length = strlen(header);

    if (!file)
        bail(path);
    for (unsigned i = 0; i < 8; i++)
        (void)putc((int)(length >> 8 * i & 255), file);
    if (fputs(header, file) == EOF || fputs(data, file) == EOF || fclose(file) != 0)
        bail(path);
}

#define ARRAY(name, begin, end) \
    "\"" name "\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[" begin "," end "]}"

#define WARNING_MAX 200

/* The rows of a call. */
struct rows {
    unsigned count, stop; /* stop: the row that cancels; 0: none */
    char text[8192];
};

static void note_warning(void *user, const char *text)
{
    (void)snprintf(user, WARNING_MAX, "%s", text);
}

static int note(void *user, const char *line)
{
    struct rows *rows = user;

    if (strlen(rows->text) + strlen(line) + 2 < sizeof rows->text) {
        strcat(rows->text, line);
        strcat(rows->text, "\n");
    }
    return ++rows->count == rows->stop;
}

static void test_containers(void)
{
    struct rows rows = {0}, all = {0}, one = {.stop = 1};
    char warning[WARNING_MAX] = "";
    uint64_t different = 99;
    gpr_status status;

    put("a", "{" ARRAY("x", "0", "2") "," ARRAY("y", "2", "4") "," ARRAY("z", "4", "6") "}",
        "121212");
    put("b", "{" ARRAY("w", "0", "2") "," ARRAY("x", "2", "4") "," ARRAY("y", "4", "6") "}",
        "191214");
    status = gpr_diff(context, "a", "b", NULL, note, &rows, 0, &different);
    tap_ok(status == GPR_OK && different == 3 && rows.count == 3 &&
               strstr(rows.text, "\"array\": \"y\", \"differs\": \"values\"") &&
               strstr(rows.text, "\"array\": \"z\", \"differs\": \"only-a\"") &&
               strstr(rows.text, "\"array\": \"w\", \"differs\": \"only-b\"") &&
               strncmp(rows.text, "{\"file\": \"a\", \"other\": \"b\"", 25) == 0,
           "three arrays differ: %s%s", gpr_error_text(context), rows.text);
    status = gpr_diff(context, "a", "b", "rel:0,ulp:2", note, &all, 1, &different);
    tap_ok(status == GPR_OK && different == 2 && all.count == 4 &&
               strstr(all.text, "\"array\": \"y\", \"differs\": \"same\""),
           "two do by a tolerance, and there are rows of all: %s", all.text);
    for (const char *const *some =
             (const char *const[]){"2y=ulp:2", "2ulp:2\n[xw]=abs:0", "3[yz]=rel:0,ulp:2\n*=abs:1",
                                   "3*=abs:2\ny=abs:1", "2*=abs:1\n[yz]=abs:1,ulp:2", NULL};
         *some; some++)
        tap_ok(gpr_diff(context, "a", "b", *some + 1, NULL, NULL, 0, &different) == GPR_OK &&
                   different == (uint64_t)(**some - '0'),
               "%" PRIu64 " differ, by tolerances for patterns: %s", different, *some + 1);
    gpr_context_set_log(context, note_warning, warning);
    tap_ok(gpr_diff(context, "a", "b", "ulp:1\n[yz]=abs:1\n?y=abs:2", NULL, NULL, 0, &different) ==
                   GPR_OK &&
               different == 3 &&
               strcmp(warning, "a: no array matches ?y, a pattern of a tolerance") == 0,
           "a pattern that matches no array: %s", warning);
    gpr_context_set_log(context, NULL, NULL);
    tap_ok(gpr_diff(context, "a", "a", NULL, note, &all, 0, &different) == GPR_OK &&
               different == 0 && all.count == 4,
           "none differs from itself");
    tap_ok(gpr_diff(context, "a", "b", NULL, NULL, NULL, 0, &different) == GPR_OK &&
               different == 3 && gpr_diff(context, "a", "b", NULL, NULL, NULL, 0, NULL) == GPR_OK,
           "nobody is told");
    different = 99;
    tap_ok(gpr_diff(context, "a", "b", NULL, note, &one, 0, &different) == GPR_ERROR_CANCELLED &&
               one.count == 1 && different == 99,
           "a row cancels");
}

/* Views of two types. */
static void test_types(void)
{
    static const double a[] = {1, 2, 3.25};
    static const float b[] = {1, 2, 3.25F};
    static const int8_t c[] = {1, 2, 4};
    const void *const data[] = {a, b, c};
    static const char *const types[] = {"f64", "f32", "i8"};
    const uint64_t shape = 3;
    struct rows rows = {0};
    uint64_t different[5];
    gpr_input *inputs[3];
    gpr_request *request;
    gpr_view *view;

    if (gpr_view_new(context, &view) != GPR_OK || gpr_request_new(context, &request) != GPR_OK)
        bail("a view");
    for (int i = 0; i < 3; i++)
        if (gpr_view_set_data(view, data[i], types[i], GPR_ORDER_NATIVE, 1, &shape, NULL) !=
                GPR_OK ||
            gpr_open_view(context, view, &inputs[i]) != GPR_OK)
            bail("inputs");
    (void)gpr_diff_inputs(inputs[0], inputs[1], request, NULL, note, &rows, 0, &different[0]);
    (void)gpr_request_set(request, GPR_IGNORE_DTYPE, 1);
    (void)gpr_diff_inputs(inputs[0], inputs[1], request, NULL, NULL, NULL, 0, &different[1]);
    (void)gpr_diff_inputs(inputs[0], inputs[2], request, NULL, NULL, NULL, 0, &different[2]);
    (void)gpr_request_set(request, GPR_CAST, 1);
    (void)gpr_diff_inputs(inputs[0], inputs[1], request, NULL, NULL, NULL, 0, &different[3]);
    (void)gpr_diff_inputs(inputs[0], inputs[2], request, NULL, note, &rows, 0, &different[4]);
    tap_ok(different[0] == 1 && different[1] == 0 && different[2] == 1 && different[3] == 0 &&
               different[4] == 1 && strstr(rows.text, "\"differs\": \"dtype\"") &&
               strstr(rows.text, "\"nearest\": 2, \"other_rounding\": 1"),
           "arrays of two types: %s", rows.text);
    tap_ok(gpr_request_set(request, GPR_CAST, 2) == GPR_ERROR_ARGUMENT &&
               gpr_request_set(request, GPR_IGNORE_DTYPE, 2) == GPR_ERROR_ARGUMENT,
           "keys that are 0 or 1");
    for (int i = 0; i < 3; i++)
        gpr_close(inputs[i]);
    gpr_request_free(request);
    gpr_view_free(view);
}

/* Views of integers with scales: 1 and 3 are 2 and 6, or 3 and 9. */
static void test_scales(void)
{
    static const int16_t numbers[] = {1, 3}, others[] = {2, 6};
    static const double scales[] = {2, 3, 1};
    const uint64_t shape = 2;
    struct rows rows = {0};
    uint64_t different[2] = {9, 9};
    gpr_input *inputs[3];
    gpr_view *view;

    if (gpr_view_new(context, &view) != GPR_OK)
        bail("a view");
    for (int i = 0; i < 3; i++)
        if (gpr_view_set_data(view, i < 2 ? numbers : others, "i16", GPR_ORDER_NATIVE, 1, &shape,
                              NULL) != GPR_OK ||
            gpr_view_set_scale(view, scales[i], 0) != GPR_OK ||
            gpr_open_view(context, view, &inputs[i]) != GPR_OK)
            bail("inputs");
    (void)gpr_diff_inputs(inputs[0], inputs[1], NULL, NULL, note, &rows, 0, &different[0]);
    (void)gpr_diff_inputs(inputs[0], inputs[2], NULL, NULL, NULL, NULL, 0, &different[1]);
    tap_ok(different[0] == 1 && different[1] == 0 && strstr(rows.text, "\"max_abs\": 3,") &&
               strstr(rows.text, "\"scale_factor\": 2,"),
           "the numbers that scales of views make are compared: %s", rows.text);
    for (int i = 0; i < 3; i++)
        gpr_close(inputs[i]);
    gpr_view_free(view);
}

static int cancel_call(void *user, const char *line)
{
    (void)line;
    gpr_cancel(user);
    return 0;
}

static void test_errors(void)
{
    static const float x[] = {1, 2, 3};
    static const unsigned char mask[3] = {0, 1, 0};
    const uint64_t shape = 3;
    uint64_t different = 99;
    gpr_view *view;
    gpr_input *input, *masked, *file;

    tap_ok(gpr_diff(context, "a", "absent", NULL, NULL, NULL, 0, &different) == GPR_ERROR_READ &&
               strcmp(gpr_error_text(context), "absent: No such file or directory") == 0,
           "a file that is not there");
    for (const char *const *bad = (const char *const[]){"1e-3", "ulp:-1", "abs:1,", "abs:nan", "x=",
                                                        "x=1", "abs:1\n", "abs:1\ny=abs", NULL};
         *bad; bad++)
        tap_ok(gpr_diff(context, "a", "b", *bad, NULL, NULL, 0, &different) == GPR_ERROR_ARGUMENT,
               "no tolerance: %s", *bad);
    if (gpr_view_new(context, &view) != GPR_OK ||
        gpr_view_set_data(view, x, "f32", GPR_ORDER_NATIVE, 1, &shape, NULL) != GPR_OK ||
        gpr_open_view(context, view, &input) != GPR_OK ||
        gpr_view_set_mask(view, GPR_MASK_MISSING_BYTES, mask, 0) != GPR_OK ||
        gpr_open_view(context, view, &masked) != GPR_OK ||
        gpr_open_path(context, "a", NULL, &file) != GPR_OK)
        bail("inputs");
    tap_ok(gpr_diff_inputs(input, masked, NULL, NULL, NULL, NULL, 0, &different) ==
               GPR_ERROR_UNSUPPORTED,
           "a mask");
    tap_ok(gpr_diff_inputs(input, input, NULL, NULL, cancel_call, context, 1, &different) ==
               GPR_ERROR_CANCELLED,
           "a row cancels");
    tap_ok(different == 99, "then nothing is changed");
    tap_ok(gpr_diff_inputs(input, input, NULL, NULL, NULL, NULL, 0, &different) == GPR_OK &&
               different == 0,
           "a view is itself");
    gpr_close(file);
    gpr_close(masked);
    gpr_close(input);
    gpr_view_free(view);
}

int main(void)
{
    char folder[] = "test_library_diff.XXXXXX";

    if (!mkdtemp(folder) || chdir(folder) != 0 || gpr_context_new(&context) != GPR_OK)
        bail(folder);
    test_containers();
    test_types();
    test_scales();
    test_errors();
    gpr_context_free(context);
    unlink("a");
    unlink("b");
    if (chdir("..") != 0 || rmdir(folder) != 0)
        bail(folder);
    return tap_done();
}
