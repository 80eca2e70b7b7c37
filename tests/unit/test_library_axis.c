/*
 * gpr_reduce_axis and gpr_axis_dtype: types, orders of results, and errors. tests/cli/library.sh has arrays of
 * all types and layouts.
 */
/* Tags: ports */
#include "config.h"

#include <gpureduce.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/allocate.h"
#include "lib/tap.h"

static gpr_context *context;

static gpr_request *request_for(const char *one, const char *other)
{
    gpr_request *request;

    if (gpr_request_new(context, &request) != GPR_OK || gpr_request_op(request, one) != GPR_OK ||
        (other && gpr_request_op(request, other) != GPR_OK))
        bail("a request");
    return request;
}

static gpr_input *open_numbers(const void *data, const char *dtype, const uint64_t shape[3],
                               const int64_t strides[3])
{
    gpr_view *view;
    gpr_input *input;

    if (gpr_view_new(context, &view) != GPR_OK ||
        gpr_view_set_data(view, data, dtype, GPR_ORDER_NATIVE, 3, shape, strides) != GPR_OK ||
        gpr_open_view(context, view, &input) != GPR_OK)
        bail("a view");
    gpr_view_free(view);
    return input;
}

static void test_types(void)
{
    static const int16_t x[24] = {0};
    static const uint64_t shape[3] = {2, 3, 4};
    gpr_input *input = open_numbers(x, "i16", shape, NULL);
    gpr_request *request = request_for("sum", "absmax");

    (void)gpr_request_op(request, "mean");
    (void)gpr_request_op(request, "argmin");
    tap_ok(strcmp(gpr_axis_dtype(input, 0, request, "sum"), "i64") == 0 &&
               strcmp(gpr_axis_dtype(input, 0, request, "absmax"), "u64") == 0 &&
               strcmp(gpr_axis_dtype(input, 0, request, "mean"), "f64") == 0 &&
               strcmp(gpr_axis_dtype(input, 0, request, "argmin"), "i64") == 0,
           "types of results");
    tap_ok(!gpr_axis_dtype(input, 0, request, "max") &&
               gpr_error_status(context) == GPR_ERROR_ARGUMENT &&
               !gpr_axis_dtype(input, 1, request, "sum") &&
               gpr_error_status(context) == GPR_ERROR_ARGUMENT,
           "that of no operation of the request, and of no array");
    (void)gpr_request_op(request, "median");
    tap_ok(strcmp(gpr_axis_dtype(input, 0, request, "median"), "f64") == 0, "and of a quantile");
    (void)gpr_request_histogram(request, 3, 0, 1);
    tap_ok(!gpr_axis_dtype(input, 0, request, "sum") &&
               gpr_error_status(context) == GPR_ERROR_UNSUPPORTED,
           "a histogram has none");
    gpr_request_free(request);
    gpr_close(input);
}

/* An array in Fortran order, whose results are in C order. */
static void test_order(void)
{
    static const uint64_t shape[3] = {2, 3, 4};
    const int64_t strides[3] = {8, 16, 48};
    uint64_t x[24] = {0};
    uint64_t sums[8], expected[8] = {0};
    int64_t at[8];
    void *const results[] = {sums, at};
    gpr_input *input = open_numbers(x, "u64", shape, strides);
    gpr_request *request = request_for("sum", "argmax");
    bool good = true;

    for (uint64_t i = 0; i < 24; i++)
        x[i] = (i * 7 + 3) % 24;
    for (unsigned i = 0; i < 24; i++)
        expected[i % 2 * 4 + i / 6] += x[i];
    good = gpr_reduce_axis(input, 0, request, 1, results, 8) == GPR_OK;
    tap_ok(good && memcmp(sums, expected, sizeof sums) == 0, "sums: %s", gpr_error_text(context));
    for (unsigned k = 0; k < 8; k++)
        for (unsigned j = 0; j < 3; j++)
            good = good &&
                   x[k / 4 + 2 * j + 6 * (k % 4)] <= x[k / 4 + 2 * (unsigned)at[k] + 6 * (k % 4)];
    tap_ok(good, "indices of maxima");
    x[2] = x[4] = UINT64_MAX; /* of slice 0,0 */
    tap_ok(gpr_reduce_axis(input, 0, request, 1, results, 8) == GPR_ERROR_UNSUPPORTED &&
               strstr(gpr_error_text(context), "the sum of slice [0,0] is 36893488147419103233"),
           "an integer that is too large");
    x[2] = x[4] = 0;
    x[20] = x[22] = UINT64_MAX;
    tap_ok(gpr_reduce_axis(input, 0, request, 1, results, 8) == GPR_ERROR_UNSUPPORTED &&
               strstr(gpr_error_text(context), "the sum of slice [0,3] is "),
           "its slice by the order of the caller: %s", gpr_error_text(context));
    gpr_request_free(request);
    gpr_close(input);
}

static void test_errors(void)
{
    static const uint64_t shape[3] = {2, 3, 4};
    const int64_t strides[3] = {8, 16, 48};
    double x[24] = {0}, sums[12];
    void *const results[] = {sums};
    gpr_input *input = open_numbers(x, "f64", shape, strides), *raw = NULL;
    gpr_request *request = request_for("sum", NULL);
    FILE *file = fopen("test_library_axis.raw", "w");

    if (!file || fwrite(x, sizeof *x, 24, file) != 24 || fclose(file) != 0 ||
        gpr_open_path(context, "test_library_axis.raw", NULL, &raw) != GPR_OK)
        bail("test_library_axis.raw");
    tap_ok(gpr_reduce_axis(input, 0, request, 2, results, 8) == GPR_ERROR_ARGUMENT &&
               strcmp(gpr_error_text(context), "there are 6 results, not 8") == 0,
           "another number of results");
    tap_ok(gpr_reduce_axis(input, 0, request, 3, results, 8) == GPR_ERROR_UNSUPPORTED,
           "no such axis");
    tap_ok(gpr_reduce_axis(input, 1, request, 0, results, 8) == GPR_ERROR_ARGUMENT,
           "no such array");
    tap_ok(gpr_reduce_axis(raw, 0, request, 0, results, 1) == GPR_ERROR_UNSUPPORTED &&
               strstr(gpr_error_text(context), "has no header with a shape"),
           "raw numbers have no shape");
    x[1 + 2 * 2 + 6 * 3] = 0.0 / 0.0; /* element 1,2,3 */
    tap_ok(gpr_request_set(request, GPR_NAN, GPR_NAN_ERROR) == GPR_OK &&
               gpr_reduce_axis(input, 0, request, 0, results, 12) == GPR_ERROR_NAN &&
               strcmp(gpr_error_text(context), "memory: element 1,2,3 is a NaN") == 0,
           "a NaN: %s", gpr_error_text(context));
    unlink("test_library_axis.raw");
    gpr_request_free(request);
    gpr_close(raw);
    gpr_close(input);
}

/* Masks of all forms, of integers some of which are those that could stand for missing ones; every other
   element is missing, and all of the last column. */
static void test_masks(void)
{
    static const uint64_t shape[3] = {3, 4, 2};
    static const gpr_mask forms[] = {GPR_MASK_MISSING_BYTES, GPR_MASK_VALID_BYTES,
                                     GPR_MASK_VALID_BITS};
    uint64_t x[24], sums[6], wanted[6];
    double medians[6];
    int64_t at[6];
    unsigned char masks[3][40] = {{0}};
    void *const results[] = {at, medians, sums};
    gpr_request *request = request_for("argmax", "median");
    gpr_view *view;
    gpr_input *input;
    bool good;

    (void)gpr_request_op(request, "sum");
    for (uint64_t i = 0; i < 24; i++) {
        const bool missing = i % 4 == 1 || i % 8 == 4;

        x[i] = i;
        masks[0][i + 3] = missing ? 7 : 0;
        masks[1][i + 3] = !missing;
        masks[2][(i + 3) / 8] |= (unsigned char)(!missing << (i + 3) % 8);
    }
    x[0] = UINT64_C(1) << 63;
    x[8] = x[0] + UINT64_C(0x9e3779b97f4a7c15);
    x[12] = x[20] = UINT64_MAX; /* missing */
    for (uint64_t k = 0; k < 6; k++) {
        const uint64_t *const slice = x + k / 2 * 8 + k % 2;

        wanted[k] = k % 2 ? slice[2] + slice[6] : slice[0] + slice[2] + slice[6];
    }
    for (size_t form = 0; form < 3; form++) {
        if (gpr_view_new(context, &view) != GPR_OK ||
            gpr_view_set_data(view, x, "u64", GPR_ORDER_NATIVE, 3, shape, NULL) != GPR_OK ||
            gpr_view_set_mask(view, forms[form], masks[form], 3) != GPR_OK ||
            gpr_open_view(context, view, &input) != GPR_OK)
            bail("a view");
        good = gpr_reduce_axis(input, 0, request, 1, results, 6) == GPR_OK;
        tap_ok(good && memcmp(sums, wanted, sizeof sums) == 0 && at[0] == 0 && at[1] == 3 &&
                   at[2] == 0 && at[5] == 3 && medians[1] == 5 && medians[4] == 18,
               "a mask of form %zu: %s", form, gpr_error_text(context));
        gpr_close(input);
        gpr_view_free(view);
    }
    gpr_request_free(request);
}

/* Indices of the extremes of scaled numbers, one alone or both: of a scale below 0 the least number is that of
   the greatest element. */
static void test_scaled_indices(void)
{
    static const char *const asked[3][2] = {
        {"argmin", NULL}, {"argmax", NULL}, {"argmax", "argmin"}};
    static const uint64_t shape[3] = {2, 70, 5};
    static float x[700];
    int64_t wanted[2][10], got[2][10]; /* of the least, and of the greatest elements */

    for (uint64_t i = 0; i < 700; i++)
        x[i] = (float)(i * 7919 % 701);
    for (uint64_t slice = 0; slice < 10; slice++) {
        const float *const at = x + slice / 5 * 350 + slice % 5;

        wanted[0][slice] = wanted[1][slice] = 0;
        for (int64_t i = 1; i < 70; i++) {
            wanted[0][slice] = at[i * 5] < at[wanted[0][slice] * 5] ? i : wanted[0][slice];
            wanted[1][slice] = at[i * 5] > at[wanted[1][slice] * 5] ? i : wanted[1][slice];
        }
    }
    for (int which = 0; which < 3; which++)
        for (int negative = 0; negative < 2; negative++) {
            const int greatest =
                (asked[which][0][3] == 'm' && asked[which][0][4] == 'a') ^ negative;
            void *const results[] = {got[0], got[1]};
            gpr_request *request = request_for(asked[which][0], asked[which][1]);
            gpr_view *view;
            gpr_input *input;
            bool good;

            if (gpr_view_new(context, &view) != GPR_OK ||
                gpr_view_set_data(view, x, "f32", GPR_ORDER_NATIVE, 3, shape, NULL) != GPR_OK ||
                gpr_view_set_scale(view, negative ? -2 : 2, 1) != GPR_OK ||
                gpr_open_view(context, view, &input) != GPR_OK)
                bail("a view");
            good = gpr_reduce_axis(input, 0, request, 1, results, 10) == GPR_OK &&
                   memcmp(got[0], wanted[greatest], sizeof *got) == 0 &&
                   (!asked[which][1] || memcmp(got[1], wanted[!greatest], sizeof *got) == 0);
            tap_ok(good, "%s%s, scaled by %d: %s", asked[which][0],
                   asked[which][1] ? " and argmin" : "", negative ? -2 : 2,
                   gpr_error_text(context));
            gpr_close(input);
            gpr_view_free(view);
            gpr_request_free(request);
        }
}

/* Several axes as one, of arrays in C order and of others; the place of a NaN is that in the array. */
static void test_axes(void)
{
    static const uint64_t shape[3] = {3, 4, 5}, turned[3] = {5, 3, 4};
    static const int64_t strides[3] = {8, 160, 40};
    double x[60], sums[12], expected[5] = {0};
    int64_t indices[12];
    void *const results[] = {sums, indices};
    gpr_input *inputs[2] = {open_numbers(x, "f64", shape, NULL),
                            open_numbers(x, "f64", turned, strides)};
    gpr_request *request = request_for("sum", NULL), *index = request_for("sum", "argmax");
    bool good = true;

    for (int i = 0; i < 60; i++) {
        x[i] = i * i;
        expected[i % 5] += x[i];
    }
    (void)gpr_request_set(request, GPR_AXES, 2);
    (void)gpr_request_set(index, GPR_AXES, 2);
    tap_ok(gpr_reduce_axis(inputs[0], 0, request, 0, results, 5) == GPR_OK &&
               memcmp(sums, expected, sizeof expected) == 0,
           "the first two axes: %s", gpr_error_text(context));
    tap_ok(gpr_reduce_axis(inputs[1], 0, request, 1, results, 5) == GPR_OK &&
               memcmp(sums, expected, sizeof expected) == 0,
           "the last two, of other strides: %s", gpr_error_text(context));
    tap_ok(gpr_reduce_axis(inputs[0], 0, request, 1, results, 3) == GPR_OK, "the last two: %s",
           gpr_error_text(context));
    for (unsigned k = 0; k < 3; k++) {
        double sum = 0;

        for (unsigned i = 0; i < 20; i++)
            sum += x[k * 20 + i];
        good = good && sums[k] == sum;
    }
    tap_ok(good, "have their sums");
    tap_ok(gpr_reduce_axis(inputs[0], 0, request, 2, results, 12) == GPR_ERROR_UNSUPPORTED &&
               strstr(gpr_error_text(context), "has 3 dimensions, but no axis 3"),
           "too many: %s", gpr_error_text(context));
    tap_ok(gpr_reduce_axis(inputs[0], 0, index, 0, results, 5) == GPR_ERROR_UNSUPPORTED &&
               strstr(gpr_error_text(context), "along one axis"),
           "an index: %s", gpr_error_text(context));
    (void)gpr_request_set(index, GPR_AXES, 1);
    (void)gpr_request_set(index, GPR_LENGTH, 3);
    tap_ok(gpr_reduce_axis(inputs[0], 0, index, 0, results, 12) == GPR_ERROR_UNSUPPORTED &&
               strstr(gpr_error_text(context), "GPR_LENGTH"),
           "a part: %s", gpr_error_text(context));
    x[33] = x[34] = NAN;
    (void)gpr_request_set(request, GPR_NAN, GPR_NAN_ERROR);
    tap_ok(gpr_reduce_axis(inputs[0], 0, request, 1, results, 3) == GPR_ERROR_NAN &&
               strstr(gpr_error_text(context), "element 1,2,3 is"),
           "a NaN: %s", gpr_error_text(context));
    tap_ok(gpr_reduce_axis(inputs[1], 0, request, 1, results, 5) == GPR_ERROR_NAN &&
               strstr(gpr_error_text(context), "element 3,1,2 is"),
           "of other strides: %s", gpr_error_text(context));
    (void)gpr_request_set(request, GPR_AXES, 3);
    tap_ok(gpr_reduce_axis(inputs[0], 0, request, 0, results, 1) == GPR_ERROR_NAN &&
               strstr(gpr_error_text(context), "element 1,2,3 is"),
           "along all: %s", gpr_error_text(context));
    tap_ok(gpr_request_set(request, GPR_AXES, 0) == GPR_ERROR_ARGUMENT &&
               gpr_request_set(request, GPR_AXES, 65) == GPR_ERROR_ARGUMENT,
           "from 1 to 64");
    for (int i = 0; i < 2; i++)
        gpr_close(inputs[i]);
    gpr_request_free(request);
    gpr_request_free(index);
}

/* Slices that several threads share out: long and short rows, columns of one block and of several. Sums are
   exact in any order. */
static void test_threads(void)
{
    static const uint64_t shapes[][3] = {{1, 1000, 300}, {1, 300, 1000}, {3, 400, 250},
                                         {900, 333, 1},  {7, 40000, 1},  {1, 5000, 60},
                                         {200, 30, 50},  {1, 40, 7500},  {2, 1, 150000}};
    static const unsigned threads[] = {1, 2, 5, 16};
    static float x[300000];
    static double sums[300000], got[300000], greatest[300000], most[300000];
    gpr_request *request = request_for("sum", "max");

    for (uint32_t i = 0; i < 300000; i++)
        x[i] = (float)((int32_t)(i * 2654435761U >> 12) - (1 << 19));
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const uint64_t outer = shapes[s][0], length = shapes[s][1], inner = shapes[s][2];
        void *const results[] = {got, most};
        gpr_input *input = open_numbers(x, "f32", shapes[s], NULL);

        for (uint64_t k = 0; k < outer * inner; k++) {
            const float *const at = x + k / inner * length * inner + k % inner;

            sums[k] = 0;
            greatest[k] = (double)at[0];
            for (uint64_t i = 0; i < length; i++) {
                const double element = (double)at[i * inner];

                sums[k] += element;
                greatest[k] = element > greatest[k] ? element : greatest[k];
            }
        }
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            (void)gpr_context_set(context, GPR_THREADS, threads[t]);
            tap_ok(gpr_reduce_axis(input, 0, request, 1, results, outer * inner) == GPR_OK &&
                       memcmp(got, sums, outer * inner * sizeof *sums) == 0 &&
                       memcmp(most, greatest, outer * inner * sizeof *most) == 0,
                   "%llu x %llu x %llu, %u threads: %s", (unsigned long long)outer,
                   (unsigned long long)length, (unsigned long long)inner, threads[t],
                   gpr_error_text(context));
        }
        gpr_close(input);
    }
    (void)gpr_context_set(context, GPR_THREADS, 0);
    gpr_request_free(request);
}

/* Gives so many bytes of zeros so slowly that progress is due several times. */
static int64_t give_slowly(void *user, void *buffer, uint64_t size, uint64_t offset)
{
    const uint64_t rest = *(const uint64_t *)user - offset, most = *(const uint64_t *)user / 12;
    const struct timespec pause = {.tv_nsec = 10000000};

    size = size < rest ? size : rest;
    size = size < most ? size : most;
    memset(buffer, 0, size);
    nanosleep(&pause, NULL);
    return (int64_t)size;
}

static int end_call(void *user, uint64_t done, uint64_t total)
{
    unsigned *const calls = user;

    (void)done;
    (void)total;
    return ++*calls == 2;
}

/* With one thread, too, progress is told and can end a call: sums, of few elements as well, medians, which
   need all elements in memory, and comparisons. */
static void test_progress(void)
{
    static double got[3072];
    void *const results[] = {got};

    (void)gpr_context_set(context, GPR_THREADS, 1);
    for (int i = 0; i < 4; i++) {
        const uint64_t shape[] = {3072, i == 0 ? 4 : 1024};
        uint64_t bytes = shape[0] * shape[1] * sizeof(float);
        gpr_request *request = request_for(i == 2 ? "median" : "sum", NULL);
        gpr_input *inputs[2] = {NULL, NULL};
        unsigned calls = 0;
        gpr_status status;

        if (gpr_request_shape(request, 2, shape) != GPR_OK)
            bail("a shape");
        for (int k = 0; k < 2; k++)
            if (gpr_open_callback(context, "zeros", give_slowly, &bytes, request, &inputs[k]) !=
                GPR_OK)
                bail("a function");
        gpr_context_set_progress(context, end_call, &calls);
        status = i < 3 ? gpr_reduce_axis(inputs[0], 0, request, 1, results, 3072)
                       : gpr_diff_inputs(inputs[0], inputs[1], NULL, NULL, NULL, NULL, 0, NULL);
        gpr_context_set_progress(context, NULL, NULL);
        tap_ok(status == GPR_ERROR_CANCELLED && calls == 2,
               "one thread, call %d: status %d after %u calls", i, (int)status, calls);
        gpr_close(inputs[0]);
        gpr_close(inputs[1]);
        gpr_request_free(request);
    }
    (void)gpr_context_set(context, GPR_THREADS, 0);
}

/* Gives a file of .npy, with 4 MiB of zeros, and takes its time to find that this is all. */
#define HEADER 128
#define ZEROS ((uint64_t)4 << 20)

static int64_t give_file(void *user, void *buffer, uint64_t size, uint64_t offset)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    const uint64_t rest = HEADER + ZEROS - offset;

    size = size < rest ? size : rest;
    memset(buffer, 0, size);
    for (uint64_t i = 0; i < size && offset + i < HEADER; i++)
        ((char *)buffer)[i] = ((const char *)user)[offset + i];
    if (rest == 0)
        nanosleep(&pause, NULL);
    return (int64_t)size;
}

struct most {
    unsigned calls;
    uint64_t done, total;
};

static int note_most(void *user, uint64_t done, uint64_t total)
{
    struct most *const most = user;

    most->calls++;
    most->done = done > most->done ? done : most->done;
    most->total = total;
    return 0;
}

/* The header of a file is read, too, but is none of the bytes in all. */
static void test_header(void)
{
    static double got[1024];
    void *const results[] = {got};
    gpr_request *request = request_for("sum", NULL);
    gpr_input *input = NULL;
    struct most most = {0, 0, 0};
    char header[HEADER + 1];

    snprintf(header, sizeof header, "\223NUMPY\1%cv%c%-117s\n", 0, 0,
             "{'descr': '<u4', 'fortran_order': False, 'shape': (1024, 1024), }");
    if (gpr_open_callback(context, "zeros", give_file, header, NULL, &input) != GPR_OK)
        bail("a function");
    gpr_context_set_progress(context, note_most, &most);
    tap_ok(gpr_reduce_axis(input, 0, request, 1, results, 1024) == GPR_OK,
           "a .npy file of a function: %s", gpr_error_text(context));
    gpr_context_set_progress(context, NULL, NULL);
    tap_ok(most.calls > 0 && most.done == ZEROS && most.total == ZEROS, "progress: %llu of %llu",
           (unsigned long long)most.done, (unsigned long long)most.total);
    gpr_close(input);
    gpr_request_free(request);
}

int main(void)
{
    if (gpr_context_new(&context) != GPR_OK)
        bail("a context");
    test_types();
    test_order();
    test_masks();
    test_scaled_indices();
    test_threads();
    test_progress();
    test_header();
    test_axes();
    test_errors();
    gpr_context_free(context);
    return tap_done();
}
