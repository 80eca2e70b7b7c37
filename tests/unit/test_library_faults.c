/*
 * Memory that is not to be had: one allocation after the other fails in each of these calls of the library,
 * which then either do without it, and have the right results, or return GPR_ERROR_MEMORY.
 */
/* Tags: ports */
#include "config.h"

#include <errno.h>
#include <gpureduce.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/allocate.h"
#include "lib/tap.h"
#include "source/format/inflate.h"

#ifdef HAVE_ZLIB
#    include <zlib.h>
#endif
#ifdef HAVE_LIBDEFLATE
#    include <libdeflate.h>
#endif

/* Allocations until one fails; negative after that one. */
static _Atomic long left = -1;

static bool is_due(void)
{
    return atomic_load(&left) >= 0 && atomic_fetch_sub(&left, 1) == 0;
}

/* NOLINTBEGIN(bugprone-reserved-identifier): names of --wrap */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
/* NOLINTEND(bugprone-reserved-identifier) */

void *__wrap_malloc(size_t size)
{
    return is_due() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_due() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return is_due() ? NULL : __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return is_due() ? NULL : __real_aligned_alloc(alignment, size);
}

char *__wrap_strdup(const char *text)
{
    return is_due() ? NULL : __real_strdup(text);
}

/* Numbers from 0 on, as rows of 8. */
#define SMALL 800
#define LARGE 800000
static float numbers[LARGE];

/* The objects of a call, and its outcome. */
struct call {
    gpr_context *context;
    gpr_view *view;
    gpr_request *request;
    gpr_input *input, *other;
    gpr_result *result;
    gpr_accumulator *acc, *more;
    uint64_t count; /* elements */
    double sum;     /* what has come out */
};

static gpr_status failed(const struct call *c)
{
    return gpr_error_status(c->context);
}

/* Makes what all calls need. */
static gpr_status prepare(struct call *c)
{
    const uint64_t shape[] = {c->count / 8, 8};
    const gpr_status status = gpr_context_new(&c->context);

    if (status != GPR_OK)
        return status;
    if (gpr_context_set(c->context, GPR_THREADS, 2) != GPR_OK ||
        gpr_view_new(c->context, &c->view) != GPR_OK ||
        gpr_view_set_data(c->view, numbers, "f32", GPR_ORDER_NATIVE, 2, shape, NULL) != GPR_OK ||
        gpr_request_new(c->context, &c->request) != GPR_OK ||
        gpr_request_op(c->request, "sum") != GPR_OK ||
        gpr_request_op(c->request, "std") != GPR_OK ||
        gpr_request_missing(c->request, "-1") != GPR_OK ||
        gpr_open_view(c->context, c->view, &c->input) != GPR_OK ||
        gpr_open_view(c->context, c->view, &c->other) != GPR_OK)
        return failed(c);
    return GPR_OK;
}

static void forget(struct call *c)
{
    gpr_accumulator_free(c->acc);
    gpr_accumulator_free(c->more);
    gpr_result_free(c->result);
    gpr_close(c->input);
    gpr_close(c->other);
    gpr_request_free(c->request);
    gpr_view_free(c->view);
    gpr_context_free(c->context);
}

static gpr_status reduce(struct call *c)
{
    if (gpr_reduce(c->input, 0, c->request, &c->result) != GPR_OK ||
        gpr_result_double(c->result, "sum", &c->sum) != GPR_OK)
        return failed(c);
    return GPR_OK;
}

static int64_t give(void *user, void *buffer, uint64_t size, uint64_t offset)
{
    const uint64_t rest = ((const struct call *)user)->count * sizeof *numbers - offset;

    size = size < rest ? size : rest;
    memcpy(buffer, (const char *)numbers + offset, size);
    return (int64_t)size;
}

static gpr_status reduce_callback(struct call *c)
{
    gpr_close(c->input);
    c->input = NULL;
    if (gpr_request_type(c->request, "f32", GPR_ORDER_NATIVE) != GPR_OK ||
        gpr_open_callback(c->context, "numbers", give, c, c->request, &c->input) != GPR_OK)
        return failed(c);
    return reduce(c);
}

/* Two accumulators, of which one is sent and merged into the other. */
static gpr_status accumulate(struct call *c)
{
    char line[4096];
    size_t length;

    if (gpr_accumulator_new(c->context, "f32", c->request, &c->acc) != GPR_OK ||
        gpr_accumulator_set_array(c->acc, "x", "y", 0) != GPR_OK ||
        gpr_accumulator_add_at(c->acc, c->view, 7) != GPR_OK)
        return failed(c);
    length = gpr_accumulator_write(c->acc, line, sizeof line);
    gpr_accumulator_free(c->acc);
    c->acc = NULL;
    if (length == 0 || gpr_accumulator_new(c->context, "f32", c->request, &c->acc) != GPR_OK ||
        gpr_accumulator_read(c->context, line, length, c->request, &c->more) != GPR_OK ||
        gpr_accumulator_merge(c->acc, c->more) != GPR_OK ||
        gpr_accumulator_snapshot(c->acc, &c->result) != GPR_OK ||
        gpr_result_double(c->result, "sum", &c->sum) != GPR_OK)
        return failed(c);
    return GPR_OK;
}

/* An addition that fails leaves a bag as it was, so that another may follow. */
static gpr_status add_again(struct call *c)
{
    gpr_status status;

    if (gpr_accumulator_new(c->context, "f32", c->request, &c->acc) != GPR_OK)
        return failed(c);
    status = gpr_accumulator_add(c->acc, c->view);
    if (status == GPR_ERROR_MEMORY)
        status = gpr_accumulator_add(c->acc, c->view);
    if (status != GPR_OK || gpr_accumulator_snapshot(c->acc, &c->result) != GPR_OK ||
        gpr_result_double(c->result, "sum", &c->sum) != GPR_OK)
        return failed(c);
    return GPR_OK;
}

static gpr_status reduce_axis(struct call *c)
{
    double sums[8], deviations[8];
    void *const results[] = {sums, deviations};

    if (gpr_reduce_axis(c->input, 0, c->request, 0, results, 8) != GPR_OK)
        return failed(c);
    c->sum = 0;
    for (int i = 0; i < 8; i++)
        c->sum += sums[i];
    return GPR_OK;
}

/* With a mask that leaves all, and medians. */
static gpr_status reduce_masked(struct call *c)
{
    static const unsigned char mask[LARGE] = {0};
    double sums[8], deviations[8], medians[8];
    void *const results[] = {sums, deviations, medians};

    gpr_close(c->other);
    c->other = NULL;
    if (gpr_view_set_mask(c->view, GPR_MASK_MISSING_BYTES, mask, 0) != GPR_OK ||
        gpr_open_view(c->context, c->view, &c->other) != GPR_OK ||
        gpr_request_op(c->request, "median") != GPR_OK ||
        gpr_reduce_axis(c->other, 0, c->request, 0, results, 8) != GPR_OK)
        return failed(c);
    c->sum = 0;
    for (int i = 0; i < 8; i++)
        c->sum += medians[i] * (double)(c->count / 8); /* which are the means */
    return GPR_OK;
}

static gpr_status compare(struct call *c)
{
    uint64_t different = 9;

    if (gpr_diff_inputs(c->input, c->other, c->request, "ulp:1", NULL, NULL, 0, &different) !=
        GPR_OK)
        return failed(c);
    c->sum = different == 0 ? (double)c->count * (double)(c->count - 1) / 2 : 0;
    return GPR_OK;
}

#define STORE "test_library_faults.zarr"

/* An array of 40 chunks of the number 5, none of which is stored. */
static void make_store(void)
{
    FILE *file = mkdir(STORE, 0700) == 0 || errno == EEXIST ? fopen(STORE "/zarr.json", "w") : NULL;

    if (!file ||
        fputs("{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[40,5],"
              "\"data_type\":\"float32\",\"chunk_grid\":{\"name\":\"regular\","
              "\"configuration\":{\"chunk_shape\":[1,5]}},\"chunk_key_encoding\":{\"name\":"
              "\"default\"},\"fill_value\":5.0,\"codecs\":[{\"name\":\"bytes\",\"configuration\":{"
              "\"endian\":\"little\"}}]}",
              file) < 0 ||
        fclose(file) != 0)
        bail(STORE);
}

/* A file of chunks is reduced, and compared with itself. */
static gpr_status compare_chunks(struct call *c)
{
    uint64_t different = 9;

    gpr_close(c->input);
    gpr_close(c->other);
    c->input = c->other = NULL;
    if (gpr_open_path(c->context, STORE, NULL, &c->input) != GPR_OK ||
        gpr_open_path(c->context, STORE, NULL, &c->other) != GPR_OK || reduce(c) != GPR_OK ||
        gpr_diff_inputs(c->input, c->other, NULL, NULL, NULL, NULL, 0, &different) != GPR_OK)
        return failed(c);
    c->sum =
        different == 0 && c->sum == 40 * 5 * 5 ? (double)c->count * (double)(c->count - 1) / 2 : 0;
    return GPR_OK;
}

static void test_call(const char *name, gpr_status (*call)(struct call *c), uint64_t count)
{
    const double sum = (double)count * (double)(count - 1) / 2;
    struct tap_family family = {0};
    bool fails = true;
    long k = 0;

    for (; fails && k < 1000; k++) {
        struct call c = {.count = count};
        gpr_status status;

        atomic_store(&left, k);
        status = prepare(&c);
        if (status == GPR_OK)
            status = call(&c);
        fails = atomic_exchange(&left, -1) < 0;
        tap_case(&family, status == GPR_OK ? c.sum == sum : fails && status == GPR_ERROR_MEMORY,
                 "allocation %ld: status %d, %s, sum %.17g", k, (int)status,
                 c.context ? gpr_error_text(c.context) : "", c.sum);
        forget(&c);
    }
    tap_case(&family, !fails && k > 5, "there are %ld allocations", k);
    tap_family_end(&family, "%s, %" PRIu64 " elements", name, count);
}

/* Decoders of libdeflate that are there. */
static int decoders;

/* NOLINTBEGIN(bugprone-reserved-identifier): names of --wrap */
#ifdef HAVE_ZLIB
int __wrap_inflateInit2_(z_streamp stream, int bits, const char *version, int size);

int __wrap_inflateInit2_(z_streamp stream, int bits, const char *version, int size)
{
    (void)stream;
    (void)bits;
    (void)version;
    (void)size;
    return Z_MEM_ERROR;
}
#endif

#ifdef HAVE_LIBDEFLATE
struct libdeflate_decompressor *__real_libdeflate_alloc_decompressor(void);
void __real_libdeflate_free_decompressor(struct libdeflate_decompressor *decoder);
struct libdeflate_decompressor *__wrap_libdeflate_alloc_decompressor(void);
void __wrap_libdeflate_free_decompressor(struct libdeflate_decompressor *decoder);

struct libdeflate_decompressor *__wrap_libdeflate_alloc_decompressor(void)
{
    decoders++;
    return __real_libdeflate_alloc_decompressor();
}

void __wrap_libdeflate_free_decompressor(struct libdeflate_decompressor *decoder)
{
    decoders--;
    __real_libdeflate_free_decompressor(decoder);
}
#endif
/* NOLINTEND(bugprone-reserved-identifier) */

static void test_inflate(void)
{
    tap_ok(!inflate_open() && decoders == 0, "without memory for zlib, libdeflate's is freed");
}

int main(void)
{
    for (int i = 0; i < LARGE; i++)
        numbers[i] = (float)i;
    test_call("reduce", reduce, SMALL);
    test_call("reduce", reduce, LARGE);
    test_call("reduce from a function", reduce_callback, SMALL);
    test_call("reduce from a function", reduce_callback, LARGE);
    test_call("accumulate", accumulate, SMALL);
    test_call("accumulate", accumulate, LARGE);
    test_call("add twice", add_again, SMALL);
    test_call("add twice", add_again, LARGE);
    test_call("reduce along an axis", reduce_axis, SMALL);
    test_call("reduce along an axis", reduce_axis, LARGE);
    test_call("reduce along an axis with a mask", reduce_masked, SMALL);
    test_call("reduce along an axis with a mask", reduce_masked, LARGE);
    test_call("compare", compare, SMALL);
    test_call("compare", compare, LARGE);
    test_inflate();
    make_store();
    test_call("compare chunks", compare_chunks, SMALL);
    if (unlink(STORE "/zarr.json") != 0 || rmdir(STORE) != 0)
        bail(STORE);
    return tap_done();
}
