/*
 * gpureduce.h on device memory: views and accumulators there have the results of equal ones in
 * memory of the host, which test_library compares with the oracle.
 *
 * Built twice, as test_device_arrays.c is.
 */
#include "config.h"

#include <cuda_runtime_api.h>
#include <gpureduce.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/element.h"
#include "cuda/array_pieces.h"
#include "cuda/array_tallies.h"
#include "cuda/runtime/check.h"
#include "lib/allocate.h"
#include "lib/data_gen.h"
#include "lib/environment.h"
#include "lib/objects.h"
#include "lib/tap.h"

#ifdef TEST_CUDA
#    define RUNS 1000
#    define SIDE 97
#else
#    include "lib/cuda_runtime_emulated.h"
#    define RUNS 300
#    define SIDE 19
#endif

#define RANK 3
#define BINS_MAX 40
#define ROOM ((size_t)SIDE * SIDE * SIDE * 8 + 64)

static struct rng rng;
static gpr_context *context;
static cudaStream_t stream;
static unsigned char *host, *device;

static void must(bool good, const char *what)
{
    if (!good) {
        printf("Bail out! %s\n", what);
        exit(1);
    }
}

/* Results of CUDA calls that are looked at before one counts as a failure; 0: none does. */
static unsigned long calls_left;

/* The linker has others call this one.
   NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the names of --wrap. */
bool __real_cuda_check(cudaError_t error, const char *what, char reason[ENGINE_REASON_MAX]);
bool __wrap_cuda_check(cudaError_t error, const char *what, char reason[ENGINE_REASON_MAX]);
bool __wrap_cuda_check(cudaError_t error, const char *what, char reason[ENGINE_REASON_MAX])
{
    const bool fails = calls_left > 0 && --calls_left == 0;

    return __real_cuda_check(fails ? cudaErrorUnknown : error, what, reason);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* A view of elements at so many bytes from the beginning of both memories. */
struct shape {
    const char *type;
    gpr_order order;
    unsigned rank;
    bool scaled;
    uint64_t sizes[RANK];
    int64_t strides[RANK];
    int64_t off;
    gpr_mask mask;
    uint64_t mask_offset; /* entries after the middle of both memories */
};

static gpr_input *open_view(const struct shape *s, bool on_device)
{
    gpr_view *view = NULL;
    gpr_input *input = NULL;

    must(gpr_view_new(context, &view) == GPR_OK &&
             gpr_view_set_data(view, (on_device ? device : host) + s->off, s->type, s->order,
                               s->rank, s->sizes, s->strides) == GPR_OK &&
             (!s->scaled || gpr_view_set_scale(view, -0.5, 3) == GPR_OK) &&
             gpr_view_set_mask(view, s->mask, (on_device ? device : host) + ROOM, s->mask_offset) ==
                 GPR_OK &&
             (!on_device ||
              gpr_view_set_memory(view, GPR_MEMORY_CUDA, 0, (void *)stream) == GPR_OK) &&
             gpr_open_view(context, view, &input) == GPR_OK,
         "a view");
    gpr_view_free(view);
    return input;
}

/* A view that lies within the memory, with gaps, of any order and direction. */
static struct shape draw_shape(void)
{
    const enum element_type type = (enum element_type)rng_below(&rng, ELEMENT_TYPES);
    const int64_t size = (int64_t)element_size(type);
    struct shape s = {.type = element_name(type),
                      .order = (gpr_order)rng_below(&rng, 3),
                      .scaled = rng_below(&rng, 4) == 0};
    const bool gaps = rng_below(&rng, 2), turns = rng_below(&rng, 2);
    int64_t stride = size;

    s.rank = (unsigned)rng_below(&rng, RANK + 1);
    s.off = (int64_t)(rng_below(&rng, 2) ? rng_below(&rng, 4) * 8 : rng_below(&rng, 32));
    for (unsigned i = 0; i < s.rank; i++) {
        const uint64_t most = SIDE / (gaps ? 2 : 1);

        s.sizes[i] = rng_below(&rng, 12) ? 1 + rng_below(&rng, most) : most;
        if (rng_below(&rng, 60) == 0)
            s.sizes[i] = 0;
    }
    /* From the last dimension, or any, on. */
    for (unsigned k = 0, first = turns ? (unsigned)rng_below(&rng, RANK) : 0; k < s.rank; k++) {
        const unsigned i = s.rank - 1 - (k + first) % s.rank;

        s.strides[i] = stride;
        stride *= (int64_t)s.sizes[i] > 0 ? (int64_t)s.sizes[i] : 1;
        if (gaps && rng_below(&rng, 2))
            stride += rng_below(&rng, 8) ? size : 1;
        if (turns && s.sizes[i] > 0 && rng_below(&rng, 3) == 0) {
            s.off += s.strides[i] * (int64_t)(s.sizes[i] - 1);
            s.strides[i] = -s.strides[i];
        } else if (turns && rng_below(&rng, 9) == 0) {
            s.strides[i] = 0;
        }
    }
    return s;
}

/* The least bit of each of eight bytes. */
static const uint64_t ones = 0x0101010101010101;

/* Fills `size` bytes, a multiple of eight that are drawn at a time, with those of `bits`; with bytes of which half
   are 0 if they are `sparse`. */
static void fill_bytes(unsigned char *to, size_t size, uint64_t bits, bool sparse)
{
    for (size_t i = 0; i < size; i += sizeof bits) {
        uint64_t x = rng_next(&rng) & bits;

        if (sparse)
            x &= (rng_next(&rng) & ones) * 255;
        memcpy(to + i, &x, sizeof x);
    }
}

static void fill(const char *type)
{
    fill_bytes(host, ROOM, strcmp(type, "bool") == 0 ? ones : ~UINT64_C(0), false);
    if (strcmp(type, "f32") == 0)
        data_fill((enum data_kind)rng_below(&rng, DATA_KINDS), ELEMENT_F32, host, ROOM / 4,
                  rng_next(&rng));
    must(cudaMemcpy(device, host, ROOM, cudaMemcpyHostToDevice) == cudaSuccess, "copying");
}

static const char *const ops[] = {
    "sum", "mean",      "min",     "max",    "argmin", "argmax", "std",   "l1",  "count",
    "nan", "sumsq",     "absmin",  "absmax", "inf",    "zeros",  "range", "var", "l2",
    "rms", "negatives", "missing", "digest", "median", "p10",    "p99.5"};
#define OPS (sizeof ops / sizeof *ops)

/* Whether two results are texts of equal words. */
static bool is_same(const gpr_result *a, const gpr_result *b, const char *op)
{
    char one[400], other[400];
    const size_t length = gpr_result_text(a, op, one, sizeof one);

    return length > 0 && gpr_result_text(b, op, other, sizeof other) == length &&
           strcmp(one, other) == 0;
}

/* Whether two results have equal histograms, or none. */
static bool is_same_histogram(const gpr_result *a, const gpr_result *b)
{
    const uint64_t bins = gpr_result_bins(a);
    uint64_t one[BINS_MAX + 2], other[BINS_MAX + 2];
    double edges[BINS_MAX + 1], others[BINS_MAX + 1];

    if (gpr_result_bins(b) != bins || bins == 0)
        return gpr_result_bins(b) == bins;
    return gpr_result_histogram(a, one + 2, edges, one, one + 1) == GPR_OK &&
           gpr_result_histogram(b, other + 2, others, other, other + 1) == GPR_OK &&
           memcmp(one, other, (bins + 2) * sizeof *one) == 0 &&
           memcmp(edges, others, (bins + 1) * sizeof *edges) == 0;
}

/* Whether an operation on scaled elements needs sums on both sides of a threshold. */
static bool needs_split(const char *op)
{
    return strcmp(op, "zeros") == 0 || strcmp(op, "negatives") == 0 || strcmp(op, "l1") == 0 ||
           strcmp(op, "absmin") == 0;
}

/* Has the context keep few elements on the device and copy fewer, or as many as it does. */
static void draw_tallier(void)
{
    const struct cuda_tallier_tuning small = {.room = 1 + rng_below(&rng, 4000),
                                              .fetched = rng_below(&rng, 200),
                                              .counted = 1 + rng_below(&rng, 200)};

    cuda_tallier_close(context->device_tallier);
    context->device_tallier =
        cuda_tallier_open(rng_below(&rng, 3) ? &small : &cuda_tallier_shipped);
    must(context->device_tallier, "memory");
}

/* A missing value, which some types do not have. */
static const char *draw_missing(void)
{
    static const char *const texts[] = {"0", "1", "nan", "-1", "inf"};

    return texts[rng_below(&rng, sizeof texts / sizeof *texts)];
}

/* Whether kernels reduce device memory, or the host, where there is little of it, a copy; the host reduces
   its own memory. */
static void choose_device(bool kernels)
{
    must(gpr_context_set(context, GPR_DEVICE, kernels ? GPR_DEVICE_GPU : GPR_DEVICE_AUTO) == GPR_OK,
         "a device");
}

/* Whether the same view on both sides has the same results, or the same error. `split`: they may be
   unsupported on the device. */
static bool is_same_reduction(gpr_input *here, gpr_input *there, const gpr_request *request,
                              const bool asked[OPS], bool split)
{
    gpr_result *expected = NULL, *got = NULL;
    gpr_status wanted, status;
    char text[200];
    bool good;

    wanted = gpr_reduce(here, 0, request, &expected);
    snprintf(text, sizeof text, "%s", gpr_error_text(context));
    choose_device(rng_below(&rng, 4) > 0);
    status = gpr_reduce(there, 0, request, &got);
    good =
        (wanted == GPR_OK || wanted == GPR_ERROR_NAN || wanted == GPR_ERROR_UNSUPPORTED) &&
        ((status == wanted && (status == GPR_OK || strcmp(text, gpr_error_text(context)) == 0)) ||
         (split && status == GPR_ERROR_UNSUPPORTED)) &&
        (status == GPR_OK) == (got != NULL);
    for (size_t i = 0; i < OPS && good && got; i++)
        good = !asked[i] || is_same(expected, got, ops[i]);
    good = good && (!got || is_same_histogram(expected, got));
    gpr_result_free(expected);
    gpr_result_free(got);
    if (good) /* else there is an error to be shown */
        choose_device(false);
    return good;
}

static bool is_count(const char *op)
{
    return strcmp(op, "count") == 0 || strcmp(op, "nan") == 0 || strcmp(op, "missing") == 0;
}

static void check_views(unsigned long runs)
{
    struct tap_family family = {0};

    for (unsigned long run = 0; run < runs; run++) {
        const struct shape s = draw_shape();
        gpr_input *here = open_view(&s, false), *there = open_view(&s, true);
        gpr_request *request = NULL;
        const uint64_t bins = 1 + rng_below(&rng, BINS_MAX);
        const bool alone = rng_below(&rng, 12) == 0, counts = rng_below(&rng, 12) == 0;
        bool asked[OPS], any = counts, good, split = false;

        fill(s.type);
        if (rng_below(&rng, 4) == 0)
            draw_tallier();
        must(gpr_request_new(context, &request) == GPR_OK, "a request");
        for (size_t i = 0; i < OPS; i++) {
            asked[i] = counts  ? is_count(ops[i]) && rng_below(&rng, 3) == 0
                       : alone ? strcmp(ops[i], "digest") == 0
                               : rng_below(&rng, 4) == 0 || (i == OPS - 1 && !any);
            any = any || asked[i];
            if (asked[i])
                must(gpr_request_op(request, ops[i]) == GPR_OK, "an operation");
            split = split || (asked[i] && s.scaled && needs_split(ops[i]));
        }
        must(gpr_request_set(request, GPR_NAN, rng_below(&rng, 8) ? GPR_NAN_SKIP : GPR_NAN_ERROR) ==
                     GPR_OK &&
                 (rng_below(&rng, 5) ||
                  gpr_request_set(request, GPR_LENGTH, rng_below(&rng, (uint64_t)SIDE * SIDE)) ==
                      GPR_OK) &&
                 (counts ? gpr_request_histogram(request, bins, -1, rng_below(&rng, 2) ? 1 : 99) ==
                               GPR_OK
                         : rng_below(&rng, 5) || gpr_request_histogram(request, bins, (double)NAN,
                                                                       (double)NAN) == GPR_OK) &&
                 (rng_below(&rng, 3) || gpr_request_missing(request, draw_missing()) == GPR_OK),
             "a request");
        good = is_same_reduction(here, there, request, asked, split);
        tap_case(&family, good, "run %lu: %s, rank %u: %s", run, s.type, s.rank,
                 gpr_error_text(context));
        gpr_request_free(request);
        gpr_close(here);
        gpr_close(there);
    }
    tap_family_end(&family, "views of device memory, strided or not, of all types");
}

/* Fills the masks of both memories, with entries that are all 0, none of which is, or any. */
static void fill_masks(void)
{
    const uint64_t kind = rng_below(&rng, 4);

    if (kind < 2)
        memset(host + ROOM, kind ? 255 : 0, ROOM);
    else
        fill_bytes(host + ROOM, ROOM, ~UINT64_C(0), true);
    must(cudaMemcpy(device, host, 2 * ROOM, cudaMemcpyHostToDevice) == cudaSuccess, "copying");
}

static void draw_mask(struct shape *s)
{
    s->mask = (gpr_mask)(1 + rng_below(&rng, 3));
    s->mask_offset = rng_below(&rng, 40);
}

/* Totals of several views, on both sides. */
static void check_totals(unsigned long runs)
{
    enum { VIEWS = 3 };
    struct tap_family family = {0};

    for (unsigned long run = 0; run < runs; run++) {
        gpr_input *here[VIEWS], *mixed[VIEWS];
        const unsigned count = 1 + (unsigned)rng_below(&rng, VIEWS);
        const bool one_type = rng_below(&rng, 2);
        const struct shape first = draw_shape();
        gpr_result *expected = NULL, *got = NULL;
        gpr_request *request = NULL;
        bool asked[OPS] = {false}, good, split = false;
        gpr_status status;

        fill(first.type);
        fill_masks();
        must(gpr_request_new(context, &request) == GPR_OK &&
                 gpr_request_set(request, GPR_NAN, rng_below(&rng, 3)) == GPR_OK &&
                 (rng_below(&rng, 3) || gpr_request_missing(request, draw_missing()) == GPR_OK) &&
                 (rng_below(&rng, 5) ||
                  gpr_request_set(request, GPR_LENGTH, rng_below(&rng, SIDE)) == GPR_OK),
             "a request");
        for (size_t i = 0; i < OPS; i++) {
            asked[i] = strcmp(ops[i], "digest") != 0 && ops[i][0] != 'p' &&
                       strcmp(ops[i], "median") != 0 && (i == 0 || rng_below(&rng, 4) == 0);
            must(!asked[i] || gpr_request_op(request, ops[i]) == GPR_OK, "an operation");
            split = split || (asked[i] && needs_split(ops[i]));
        }
        for (unsigned i = 0; i < count; i++) {
            struct shape s = draw_shape();

            /* Bytes of a bool are 0 or 1. */
            s = one_type || strcmp(s.type, "bool") == 0 || strcmp(first.type, "bool") == 0 ? first
                                                                                           : s;
            if (rng_below(&rng, 2))
                draw_mask(&s);
            here[i] = open_view(&s, false);
            mixed[i] = open_view(&s, rng_below(&rng, 3));
        }
        status = gpr_total(here, count, request, &expected);
        good = gpr_total(mixed, count, request, &got) == status;
        if (!good) /* a scale */
            good = split && gpr_error_status(context) == GPR_ERROR_UNSUPPORTED && !got;
        for (size_t i = 0; i < OPS && good && expected && got; i++)
            good = !asked[i] || is_same(expected, got, ops[i]);
        tap_case(&family, good, "run %lu: %u views, the first of %s: %s", run, count, first.type,
                 gpr_error_text(context));
        gpr_result_free(expected);
        gpr_result_free(got);
        gpr_request_free(request);
        for (unsigned i = 0; i < count; i++) {
            gpr_close(here[i]);
            gpr_close(mixed[i]);
        }
    }
    tap_family_end(&family, "totals of views of both sides");
}

static enum element_type type_of(const char *name)
{
    unsigned type = 0;

    while (strcmp(element_name((enum element_type)type), name) != 0)
        type++;
    return (enum element_type)type;
}

/* Reductions of views with a mask. */
static void check_masks(unsigned long runs)
{
    struct tap_family family = {0};

    for (unsigned long run = 0; run < runs; run++) {
        struct shape s = draw_shape();
        const uint64_t bins = 1 + rng_below(&rng, BINS_MAX);
        gpr_input *here, *there;
        gpr_request *request = NULL;
        bool asked[OPS], good, split = false;

        draw_mask(&s);
        fill(s.type);
        fill_masks();
        must(gpr_request_new(context, &request) == GPR_OK &&
                 gpr_request_set(request, GPR_NAN, rng_below(&rng, 3)) == GPR_OK &&
                 (rng_below(&rng, 5) ||
                  gpr_request_set(request, GPR_LENGTH, rng_below(&rng, (uint64_t)SIDE * SIDE)) ==
                      GPR_OK) &&
                 (rng_below(&rng, 5) ||
                  gpr_request_histogram(request, bins, (double)NAN, (double)NAN) == GPR_OK) &&
                 (rng_below(&rng, 3) || gpr_request_missing(request, draw_missing()) == GPR_OK),
             "a request");
        for (size_t i = 0; i < OPS; i++) {
            asked[i] = strcmp(ops[i], "digest") != 0 && (i == 0 || rng_below(&rng, 4) == 0);
            must(!asked[i] || gpr_request_op(request, ops[i]) == GPR_OK, "an operation");
            split = split || (asked[i] && s.scaled && needs_split(ops[i]));
        }
        here = open_view(&s, false);
        there = open_view(&s, true);
        good = is_same_reduction(here, there, request, asked, split);
        tap_case(&family, good, "run %lu: %s, rank %u, form %d: %s", run, s.type, s.rank,
                 (int)s.mask, gpr_error_text(context));
        gpr_request_free(request);
        gpr_close(here);
        gpr_close(there);
    }
    tap_family_end(&family, "views of device memory with masks");
}

/* The rows of a comparison. */
struct rows {
    gpr_status status;
    uint64_t different;
    char text[4096];
};

static int note(void *user, const char *line)
{
    struct rows *rows = user;

    if (strlen(rows->text) + strlen(line) < sizeof rows->text)
        strcat(rows->text, line);
    return 0;
}

static void compare(const struct shape shapes[2], const bool on_device[2],
                    const gpr_request *request, const char *tolerance, struct rows *rows)
{
    gpr_input *a = open_view(&shapes[0], on_device[0]), *b = open_view(&shapes[1], on_device[1]);

    *rows = (struct rows){.different = 0};
    rows->status = gpr_diff_inputs(a, b, request, tolerance, note, rows, 1, &rows->different);
    if (rows->status != GPR_OK)
        note(rows, gpr_error_text(context));
    gpr_close(a);
    gpr_close(b);
}

/* Has the context have room for few pieces that differ, or as many as it does. */
static void draw_comparer(void)
{
    const struct cuda_comparer_tuning small = {.room = 1 + rng_below(&rng, 40)};

    cuda_comparer_close(context->device_comparer);
    context->device_comparer =
        cuda_comparer_open(rng_below(&rng, 3) ? &small : &cuda_comparer_shipped);
    must(context->device_comparer, "memory");
}

/* Makes side B, the second half of the memory, a copy of side A, but for some elements or for many. */
static void fill_other(enum element_type type)
{
    const size_t size = element_size(type), count = ROOM / size;
    const uint64_t changes =
        rng_below(&rng, 4) ? rng_below(&rng, 6) : rng_below(&rng, 2 * (uint64_t)count);

    memcpy(host + ROOM, host, ROOM);
    for (uint64_t i = 0; i < changes; i++) {
        unsigned char *const at = host + ROOM + rng_below(&rng, count) * size;

        at[rng_below(&rng, size)] ^=
            (unsigned char)(type == ELEMENT_BOOL ? 1 : 1 << rng_below(&rng, 8));
    }
    must(cudaMemcpy(device, host, 2 * ROOM, cudaMemcpyHostToDevice) == cudaSuccess, "copying");
}

/* Comparisons have the rows of equal ones in memory of the host, whatever is where. */
static void check_comparisons(unsigned long runs)
{
    static const char *const tolerances[] = {NULL, NULL, "abs:0.5", "rel:1e-3,ulp:2"};
    struct tap_family family = {0};

    for (unsigned long run = 0; run < runs; run++) {
        struct shape shapes[2] = {draw_shape(), {.type = NULL}};
        const enum element_type type = type_of(shapes[0].type);
        const bool big = rng_below(&rng, 4) == 0; /* all of it, in a row, aligned or not */
        bool there[2] = {true, true};
        const char *tolerance = tolerances[rng_below(&rng, 4)];
        gpr_request *request = NULL;
        struct rows expected, got;

        fill(shapes[0].type);
        if (big) {
            const int64_t size = (int64_t)element_size(type);
            const uint64_t off = rng_below(&rng, 3) ? 0 : rng_below(&rng, 64);

            shapes[0].rank = 1;
            shapes[0].off = (int64_t)off;
            shapes[0].sizes[0] = (ROOM - off) / (uint64_t)size - rng_below(&rng, 99);
            shapes[0].strides[0] = size;
        }
        fill_other(type);
        shapes[1] = shapes[0];
        shapes[1].off += (int64_t)ROOM;
        switch (rng_below(&rng, 8)) {
        case 0:
            there[rng_below(&rng, 2)] = false;
            break;
        case 1:
            if (element_size(type) == 2 && !shapes[0].scaled)
                shapes[1].type = "i16";
            break;
        case 2:
            shapes[1].order = (gpr_order)rng_below(&rng, 3);
            break;
        case 3:
            shapes[1].scaled = !shapes[0].scaled;
            break;
        default:
            break;
        }
        if (rng_below(&rng, 3) == 0)
            draw_comparer();
        must(gpr_request_new(context, &request) == GPR_OK &&
                 gpr_request_set(request, GPR_NAN, rng_below(&rng, 3)) == GPR_OK &&
                 gpr_request_set(request, GPR_IGNORE_DTYPE, rng_below(&rng, 2)) == GPR_OK &&
                 gpr_request_set(request, GPR_CAST, rng_below(&rng, 9) == 0) == GPR_OK &&
                 (rng_below(&rng, 4) || gpr_request_missing(request, draw_missing()) == GPR_OK) &&
                 gpr_context_set(context, GPR_THREADS, rng_below(&rng, 5)) == GPR_OK,
             "a request");
        compare(shapes, (const bool[2]){false, false}, request, tolerance, &expected);
        compare(shapes, there, request, tolerance, &got);
        tap_case(&family,
                 expected.status == got.status && expected.different == got.different &&
                     strcmp(expected.text, got.text) == 0,
                 "run %lu: %s and %s, rank %u, where %d%d: %s, not %s", run, shapes[0].type,
                 shapes[1].type, shapes[0].rank, there[0], there[1], got.text, expected.text);
        gpr_request_free(request);
    }
    must(gpr_context_set(context, GPR_THREADS, 0) == GPR_OK, "a setting");
    tap_family_end(&family, "comparisons of views of both sides");
}

/* An infinity beside a NaN that is skipped is not compared: the cosine is of the others. */
static void check_infinity_beside_nan(void)
{
    const struct shape one = {.type = "f32", .rank = 1, .sizes = {300}, .strides = {4}};
    struct shape shapes[2] = {one, one};
    gpr_request *request = NULL;
    struct rows expected, got;
    float *const sides[] = {(float *)(void *)host, (float *)(void *)(host + ROOM)};

    shapes[1].off = ROOM;
    for (int i = 0; i < 300; i++)
        sides[0][i] = sides[1][i] = (float)i;
    sides[0][7] = INFINITY;
    sides[1][7] = NAN;
    sides[1][200] = 1;
    must(cudaMemcpy(device, host, 2 * ROOM, cudaMemcpyHostToDevice) == cudaSuccess &&
             gpr_request_new(context, &request) == GPR_OK &&
             gpr_request_set(request, GPR_NAN, GPR_NAN_SKIP) == GPR_OK,
         "a request");
    compare(shapes, (const bool[2]){false, false}, request, NULL, &expected);
    compare(shapes, (const bool[2]){true, true}, request, NULL, &got);
    tap_ok(strcmp(expected.text, got.text) == 0 && strstr(got.text, "\"cosine\": 0.9"),
           "an infinity beside a NaN: %s", got.text);
    gpr_request_free(request);
}

/* Quantiles of so many elements, or half as many that lie apart, that a sample is taken of them, not aligned to 16
   bytes; with NaNs and infinities in some runs, and beside an extreme in some. */
static void check_samples(size_t count)
{
    static const enum element_type types[] = {ELEMENT_F32, ELEMENT_F64, ELEMENT_I64};
    static const char *const quantiles[] = {"median", "p10", "p99.5"};
    struct tap_family family = {0};

    for (unsigned run = 0; run < 12; run++) {
        const enum element_type type = types[run % 3];
        const int64_t size = (int64_t)element_size(type);
        const struct shape s = {.type = element_name(type),
                                .rank = 1,
                                .sizes = {run % 2 ? count / 2 : count},
                                .strides = {run % 2 ? 2 * size : size},
                                .off = size};
        gpr_input *here = open_view(&s, false), *there = open_view(&s, true);
        gpr_result *expected = NULL, *got = NULL;
        gpr_request *request = NULL;
        bool good;

        fill_bytes(host, (count + 1) * 8, ~UINT64_C(0), false);
        if (type != ELEMENT_I64 && run < 6)
            data_fill((enum data_kind)rng_below(&rng, DATA_KINDS), type, host, count + 1,
                      rng_next(&rng));
        must(cudaMemcpy(device, host, (count + 1) * 8, cudaMemcpyHostToDevice) == cudaSuccess &&
                 gpr_request_new(context, &request) == GPR_OK &&
                 gpr_request_set(request, GPR_NAN, run < 9 ? GPR_NAN_SKIP : GPR_NAN_PROPAGATE) ==
                     GPR_OK,
             "a request");
        for (size_t i = 0; i < 3; i++)
            must(gpr_request_op(request, quantiles[i]) == GPR_OK, "an operation");
        must(run % 4 > 0 || gpr_request_op(request, "max") == GPR_OK, "an operation");
        draw_tallier();
        good = gpr_reduce(here, 0, request, &expected) == GPR_OK;
        choose_device(true);
        good = gpr_reduce(there, 0, request, &got) == GPR_OK && good;
        for (size_t i = 0; i < 3 && good; i++)
            good = is_same(expected, got, quantiles[i]);
        tap_case(&family, good, "run %u: %s: %s", run, s.type, gpr_error_text(context));
        choose_device(false);
        gpr_result_free(expected);
        gpr_result_free(got);
        gpr_request_free(request);
        gpr_close(here);
        gpr_close(there);
    }
    tap_family_end(&family, "quantiles by samples");
}

/* Rows that lie apart, of whole units of 16 bytes or not, and rows of rows, which kernels read where they are; so
   many elements that they have whole tiles of them, or fewer. */
static void check_apart(size_t count)
{
    const uint64_t pitch = 1024;
    struct tap_family family = {0};

    for (unsigned run = 0; run < 8 * ELEMENT_TYPES; run++) {
        static const int64_t offs[] = {0, 16, 8};
        const enum element_type type = (enum element_type)(run % ELEMENT_TYPES);
        const uint64_t few = rng_below(&rng, 2) ? 4 : 16;
        const size_t size = element_size(type);
        struct shape s = {.type = element_name(type),
                          .order = (gpr_order)rng_below(&rng, 3),
                          .rank = 2,
                          .sizes = {count / pitch, few * (1 + rng_below(&rng, pitch / few))},
                          .strides = {(int64_t)(pitch * size), (int64_t)size},
                          .off = offs[run / ELEMENT_TYPES % 3]};
        gpr_input *here, *there;
        gpr_request *request = NULL;
        bool asked[OPS];

        if (run < 6 * ELEMENT_TYPES && rng_below(&rng, 2)) {
            const int64_t rows = 2 + (int64_t)rng_below(&rng, 9);

            s.rank = 3;
            s.sizes[2] = s.sizes[1];
            s.sizes[1] = (uint64_t)rows;
            s.sizes[0] = count / pitch / (uint64_t)(rows + 1);
            s.strides[2] = s.strides[1];
            s.strides[1] = s.strides[0];
            s.strides[0] *= rows + 1;
        }
        if (run >= 6 * ELEMENT_TYPES) { /* rows of one element */
            s.rank = 1;
            s.strides[0] = (int64_t)((2 + rng_below(&rng, 2)) * size);
            s.sizes[0] = count / 3 - rng_below(&rng, 9);
        }
        here = open_view(&s, false);
        there = open_view(&s, true);

        fill_bytes(host, (count + 16) * size, type == ELEMENT_BOOL ? ones : ~UINT64_C(0), false);
        must(cudaMemcpy(device, host, (count + 16) * size, cudaMemcpyHostToDevice) == cudaSuccess &&
                 gpr_request_new(context, &request) == GPR_OK &&
                 gpr_request_set(request, GPR_NAN, rng_below(&rng, 3)) == GPR_OK &&
                 (rng_below(&rng, 3) || gpr_request_missing(request, draw_missing()) == GPR_OK) &&
                 (rng_below(&rng, 3) ||
                  gpr_request_histogram(request, BINS_MAX, -100, 100) == GPR_OK),
             "a request");
        for (size_t i = 0; i < OPS; i++) {
            asked[i] = i == run % OPS || rng_below(&rng, 6) == 0;
            must(!asked[i] || gpr_request_op(request, ops[i]) == GPR_OK, "an operation");
        }
        draw_tallier();
        tap_case(&family, is_same_reduction(here, there, request, asked, false),
                 "run %u: %s, rank %u, rows of %" PRIu64 ": %s", run, s.type, s.rank, s.sizes[1],
                 gpr_error_text(context));
        gpr_request_free(request);
        gpr_close(here);
        gpr_close(there);
    }
    tap_family_end(&family, "rows that lie apart");
}

/* More elements than there are in other tests. */
static void check_many(void)
{
    const size_t count = (size_t)300 * 1000;
    unsigned char *const small[] = {host, device};

    host = allocate((count + 16) * 8);
    must(cudaMalloc((void **)&device, (count + 16) * 8) == cudaSuccess, "memory");
    check_samples(count);
    check_apart(count);
    must(cudaFree(device) == cudaSuccess, "freeing");
    free(host);
    host = small[0];
    device = small[1];
}

/* A few long rows, or columns, or blocks of columns: their slices have parts. Some leave every other element
   out, and rows of some lie apart or overlap. */
static struct shape draw_long(enum element_type type)
{
    const bool apart = rng_below(&rng, 4) == 0, pitched = !apart && rng_below(&rng, 2);
    const uint64_t few = 1 + rng_below(&rng, 3);
    const uint64_t many = (1000 + rng_below(&rng, 1000)) / (apart || pitched ? 2 : 1);
    const bool tall = rng_below(&rng, 2);
    const int64_t size = (int64_t)element_size(type);
    struct shape s = {.type = element_name(type), .rank = 2, .off = 16 * size};
    int64_t stride = apart ? 2 * size : size;

    s.sizes[0] = tall ? many : few;
    s.sizes[1] = tall ? few : many;
    if (rng_below(&rng, 3) == 0) {
        s.rank = 3;
        s.sizes[0] = 1 + rng_below(&rng, 4);
        s.sizes[1] = many / 4;
        s.sizes[2] = few;
    }
    for (unsigned d = s.rank; d-- > 0; stride *= (int64_t)s.sizes[d]) {
        s.strides[d] = stride;
        if (pitched && d == s.rank - 2)
            s.strides[d] = stride += size * ((int64_t)rng_below(&rng, 5) - 1);
    }
    return s;
}

static const char *const does_not_fit = "which does not fit a 64-bit integer";

/* Whether a reduction along an axis of a view with a mask was refused, as those of integers are, and those
   where NaNs are errors; or, among floats, which are counted, since a slice takes all of its elements. */
static bool is_refused(enum element_type type, uint64_t nan, unsigned long *left)
{
    const bool always = element_is_integer(type) || nan == GPR_NAN_ERROR;

    *left += !always;
    return gpr_error_status(context) == GPR_ERROR_UNSUPPORTED &&
           strstr(gpr_error_text(context),
                  always ? "memory: masks " : "memory: slices with a mask ");
}

/* Whether the elements of dimension `axis` and `more` behind it lie as those of one dimension. */
static bool are_joined(const struct shape *s, unsigned axis, unsigned more)
{
    int64_t step = 0;
    bool any = false;

    for (unsigned d = axis + more + 1; d-- > axis;) {
        if (s->sizes[d] == 1)
            continue;
        if (any && s->strides[d] != step)
            return false;
        step = s->strides[d] * (int64_t)s->sizes[d];
        any = true;
    }
    return true;
}

/* Makes floats ones of magnitudes near to 1, and integers small ones, as their last bytes tell. */
static void fill_last_bytes(enum element_type type)
{
    const bool integers = element_is_integer(type);
    const size_t size = element_size(type);
    uint64_t bits = 0;

    for (size_t i = size - 1; i < ROOM; i += size, bits >>= 2) {
        if (bits < 4)
            bits = rng_next(&rng) | UINT64_C(1) << 63;
        host[i] = (unsigned char)(integers ? 0 - (bits & 1) : 0x38 + (bits & 3));
    }
}

/* Leaves so many bits fewer of integers of 64 bits: few that are all alike, or more than a binary64 has. */
static void shift_integers(unsigned bits)
{
    for (size_t i = 0; i < ROOM / sizeof(int64_t); i++) {
        int64_t x;

        memcpy(&x, host + i * sizeof x, sizeof x);
        x >>= bits;
        memcpy(host + i * sizeof x, &x, sizeof x);
    }
}

/* Reductions along an axis, on both sides. The kernels do not know those of slices with NaNs,
   infinities or exponents that are far apart. */
static void check_axes(unsigned long runs)
{
    const size_t most = (size_t)SIDE * SIDE + 2000;
    static const char *const names[] = {
        "sum",       "mean",    "min",    "max",       "var",    "std",
        "sumsq",     "l2",      "rms",    "l1",        "argmin", "argmax",
        "absmin",    "absmax",  "range",  "count",     "nan",    "inf",
        "zeros",     "missing", "median", "negatives", "q0.3",   "p12.345678901234",
        "subnormals"};
    double *const expected = allocate((most + 1) * 8), *const got = allocate((most + 1) * 8);
    double *const sums = allocate((most + 1) * 8);
    struct tap_family family = {0};
    double *results = NULL, *other = NULL;
    unsigned long with_masks = 0, left = 0;

    must(cudaMalloc((void **)&results, (most + 1) * 8) == cudaSuccess &&
             cudaMalloc((void **)&other, (most + 1) * 8) == cudaSuccess,
         "memory");
    for (unsigned long run = 0; run < runs; run++) {
        const struct shape drawn = draw_shape();
        const enum element_type type = type_of(drawn.type);
        struct shape s = rng_below(&rng, 2) ? drawn : draw_long(type);
        const unsigned axis = s.rank > 0 ? (unsigned)rng_below(&rng, s.rank) : 0;
        /* Aligned to 16 bytes or not. */
        const size_t off = rng_below(&rng, 2);
        void *const here[] = {expected, sums}, *const there[] = {results + off, other};
        const char *const op = names[rng_below(&rng, sizeof names / sizeof *names)];
        const bool twice = strcmp(op, "sum") != 0 && rng_below(&rng, 4) == 0;
        const bool missing = rng_below(&rng, 3) == 0, masked = rng_below(&rng, 3) == 0;
        const uint64_t nan = rng_below(&rng, 3);
        const bool joins = strncmp(op, "arg", 3) != 0 && rng_below(&rng, 4) == 0;
        const unsigned more = joins && s.rank > 0 ? (unsigned)rng_below(&rng, s.rank - axis) : 0;
        gpr_input *inputs[2];
        gpr_request *request = NULL;
        uint64_t count = 1, elements = 1;
        gpr_status status;
        char text[200];
        bool good;

        s.scaled = false;
        for (unsigned d = 0; d < s.rank; d++) {
            elements *= s.sizes[d];
            count *= d >= axis && d <= axis + more ? 1 : s.sizes[d];
        }
        if (s.rank == 0 || elements == 0 || count > most)
            continue;
        fill(s.type);
        if (masked) {
            draw_mask(&s);
            fill_masks();
        }
        if (rng_below(&rng, 2) && type != ELEMENT_BOOL)
            fill_last_bytes(type);
        if (element_is_integer(type) && element_size(type) == sizeof(int64_t))
            shift_integers((unsigned)rng_below(&rng, 64));
        must(cudaMemcpy(device, host, ROOM, cudaMemcpyHostToDevice) == cudaSuccess &&
                 gpr_request_new(context, &request) == GPR_OK &&
                 gpr_request_op(request, op) == GPR_OK &&
                 (!twice || gpr_request_op(request, "sum") == GPR_OK) &&
                 (!missing ||
                  gpr_request_missing(request, rng_below(&rng, 2) ? "0" : "1") == GPR_OK) &&
                 gpr_request_set(request, GPR_DDOF, rng_below(&rng, 3)) == GPR_OK &&
                 gpr_request_set(request, GPR_NAN, nan) == GPR_OK &&
                 gpr_request_set(request, GPR_NO_WAIT, rng_below(&rng, 2)) == GPR_OK &&
                 gpr_request_set(request, GPR_AXES, more + 1) == GPR_OK,
             "a request");
        inputs[0] = open_view(&s, false);
        inputs[1] = open_view(&s, true);
        status = gpr_reduce_axis(inputs[0], 0, request, axis, here, count);
        with_masks += masked && !element_is_integer(type) && are_joined(&s, axis, more);
        if (!are_joined(&s, axis, more))
            good =
                gpr_reduce_axis(inputs[1], 0, request, axis, there, count) == GPR_ERROR_UNSUPPORTED;
        else if (masked && gpr_reduce_axis(inputs[1], 0, request, axis, there, count) != GPR_OK)
            good = is_refused(type, nan, &left);
        else if (status == GPR_OK)
            good =
                (masked || gpr_reduce_axis(inputs[1], 0, request, axis, there, count) == GPR_OK) &&
                cudaStreamSynchronize(stream) == cudaSuccess &&
                cudaMemcpy(got, results + off, count * 8, cudaMemcpyDeviceToHost) == cudaSuccess &&
                memcmp(expected, got, count * 8) == 0 &&
                (!twice ||
                 (cudaMemcpy(got, other, count * 8, cudaMemcpyDeviceToHost) == cudaSuccess &&
                  memcmp(sums, got, count * 8) == 0));
        else if (status == GPR_ERROR_NAN) {
            snprintf(text, sizeof text, "%s", gpr_error_text(context));
            good = gpr_reduce_axis(inputs[1], 0, request, axis, there, count) == GPR_ERROR_NAN &&
                   strcmp(text, gpr_error_text(context)) == 0;
        } else
            good = element_size(type) == 8 && element_is_integer(type) &&
                   strstr(gpr_error_text(context), does_not_fit) &&
                   gpr_reduce_axis(inputs[1], 0, request, axis, there, count) ==
                       GPR_ERROR_UNSUPPORTED &&
                   strstr(gpr_error_text(context), does_not_fit);
        tap_case(&family, good, "run %lu: %s of %s, rank %u, axis %u and %u more%s%s: %s", run, op,
                 s.type, s.rank, axis, more, missing ? ", missing" : "", masked ? ", masked" : "",
                 gpr_error_text(context));
        gpr_request_free(request);
        gpr_close(inputs[0]);
        gpr_close(inputs[1]);
    }
    tap_case(&family, left <= with_masks / 10, "%lu of %lu with a mask are left", left, with_masks);
    tap_family_end(&family, "reductions along an axis");
    must(cudaFree(results) == cudaSuccess && cudaFree(other) == cudaSuccess, "freeing");
    free(expected);
    free(sums);
    free(got);
}

/* After a reduction along an axis in which a call of CUDA failed, the next one, of fewer slices and on
   another stream, puts its results and no others: no kernel of the first adds to its list. */
static void check_failures(void)
{
    enum { ROWS = 9, FEW = 2, LENGTH = 40 };
    const struct shape s = {
        .type = "f64", .rank = 2, .sizes = {ROWS, LENGTH}, .strides = {LENGTH * 8, 8}};
    struct shape few = s;
    double expected[ROWS], got[ROWS], *results = NULL;
    gpr_request *request = NULL;
    cudaStream_t other = NULL, first = stream;
    struct tap_family family = {0};
    unsigned long fails = 1;
    bool failed = true;

    few.sizes[0] = FEW;
    must(cudaMalloc((void **)&results, sizeof got) == cudaSuccess &&
             cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) == cudaSuccess &&
             gpr_request_new(context, &request) == GPR_OK &&
             gpr_request_op(request, "sum") == GPR_OK,
         "a request");
    for (; failed; fails++) {
        void *const here[] = {expected}, *const there[] = {results};
        gpr_input *inputs[3];
        bool good;

        memset(expected, 255, sizeof expected);
        memset(host, 255, sizeof(double) * ROWS * LENGTH); /* NaNs: no kernel knows the sums */
        inputs[0] = open_view(&few, false);
        inputs[1] = open_view(&s, true);
        stream = other;
        inputs[2] = open_view(&few, true);
        stream = first;
        must(cudaMemcpy(device, host, ROOM, cudaMemcpyHostToDevice) == cudaSuccess, "copying");
        calls_left = fails;
        failed = gpr_reduce_axis(inputs[1], 0, request, 1, there, ROWS) != GPR_OK;
        calls_left = 0;
        for (size_t i = 1; i < (size_t)FEW * LENGTH; i++) /* after a NaN */
            ((double *)(void *)host)[i] = (double)rng_below(&rng, 1000);
        good =
            cudaMemcpy(device, host, ROOM, cudaMemcpyHostToDevice) == cudaSuccess &&
            cudaMemcpy(results, expected, sizeof expected, cudaMemcpyHostToDevice) == cudaSuccess &&
            gpr_reduce_axis(inputs[0], 0, request, 1, here, FEW) == GPR_OK &&
            gpr_reduce_axis(inputs[2], 0, request, 1, there, FEW) == GPR_OK &&
            cudaMemcpy(got, results, sizeof got, cudaMemcpyDeviceToHost) == cudaSuccess &&
            memcmp(expected, got, sizeof got) == 0;
        tap_case(&family, good, "call %lu fails: %s", fails, gpr_error_text(context));
        for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
            gpr_close(inputs[i]);
    }
    tap_family_end(&family, "reductions along an axis after one that failed");
    must(cudaFree(results) == cudaSuccess && cudaStreamDestroy(other) == cudaSuccess, "freeing");
    gpr_request_free(request);
}

/* Results along an axis of long slices, one or two or all of which have NaNs. */
static void check_nans(void)
{
    static const char *const sums[] = {"sum", "mean", "min", "max", "var",
                                       "std", "l1",   "l2",  "rms", "sumsq"};
    static const enum element_type types[] = {ELEMENT_F32,  ELEMENT_F64,    ELEMENT_F16,
                                              ELEMENT_BF16, ELEMENT_F8E4M3, ELEMENT_F8E5M2};
    enum { SLICES = 5, LENGTH = 1100 };
    double expected[SLICES], got[SLICES] = {0}, *results = NULL;
    struct tap_family family = {0};

    must(cudaMalloc((void **)&results, sizeof got) == cudaSuccess, "memory");
    for (unsigned run = 0; run < 240; run++) {
        const enum element_type type = types[run / 10 % 6];
        const char *const op = sums[run % 10];
        const int64_t size = (int64_t)element_size(type);
        const unsigned axis = (unsigned)rng_below(&rng, 2),
                       some = (unsigned)rng_below(&rng, SLICES);
        const struct shape s = {.type = element_name(type),
                                .rank = 2,
                                .sizes = {axis ? SLICES : LENGTH, axis ? LENGTH : SLICES},
                                .strides = {(axis ? LENGTH : SLICES) * size, size}};
        void *const here[] = {expected}, *const there[] = {results};
        gpr_request *request = NULL;
        gpr_input *inputs[2];

        for (size_t i = 0; i < (size_t)SLICES * LENGTH; i++) {
            const unsigned slice = (unsigned)(axis ? i / LENGTH : i % SLICES);
            const bool nan =
                slice == some ? rng_below(&rng, 2) : run / 20 % 2 && rng_below(&rng, 50) == 0;
            const double x = nan || (slice == 0 && run % 3 == 0) ? (double)NAN
                             : run % 4 == 0 && rng_below(&rng, 900) == 0
                                 ? (double)INFINITY
                                 : ldexp((double)rng_below(&rng, 1000) - 500,
                                         (int)rng_below(&rng, run % 5 * 20 + 1));

            if (type == ELEMENT_F32)
                ((float *)(void *)host)[i] = (float)x;
            else if (type == ELEMENT_F64)
                ((double *)(void *)host)[i] = x;
            else /* of any bits some are NaNs */
                ((uint16_t *)(void *)host)[i] = (uint16_t)rng_below(&rng, 65536);
        }
        must(cudaMemcpy(device, host, ROOM, cudaMemcpyHostToDevice) == cudaSuccess &&
                 gpr_request_new(context, &request) == GPR_OK &&
                 gpr_request_op(request, op) == GPR_OK &&
                 gpr_request_set(request, GPR_NAN,
                                 rng_below(&rng, 3) ? GPR_NAN_SKIP : GPR_NAN_PROPAGATE) == GPR_OK &&
                 gpr_request_set(request, GPR_NO_WAIT, rng_below(&rng, 2)) == GPR_OK,
             "a request");
        inputs[0] = open_view(&s, false);
        inputs[1] = open_view(&s, true);
        tap_case(&family,
                 gpr_reduce_axis(inputs[0], 0, request, axis, here, SLICES) == GPR_OK &&
                     gpr_reduce_axis(inputs[1], 0, request, axis, there, SLICES) == GPR_OK &&
                     cudaStreamSynchronize(stream) == cudaSuccess &&
                     cudaMemcpy(got, results, sizeof got, cudaMemcpyDeviceToHost) == cudaSuccess &&
                     memcmp(expected, got, sizeof got) == 0,
                 "%s of %s along axis %u, run %u: %s", op, element_name(type), axis, run,
                 gpr_error_text(context));
        gpr_close(inputs[0]);
        gpr_close(inputs[1]);
        gpr_request_free(request);
    }
    tap_family_end(&family, "reductions along an axis with NaNs");
    must(cudaFree(results) == cudaSuccess, "freeing");
}

/* Sums along an axis that are not waited for, on streams that do not wait for one another: those of one call
   are in no way of the next one's. Columns are cut, and rows have sums that kernels find again. */
static void check_streams(void)
{
    enum { STREAMS = 3, LENGTH = 180, CALLS = 400 };
    const struct shape columns = {
        .type = "f64", .rank = 2, .sizes = {LENGTH, 16}, .strides = {16 * 8, 8}};
    const struct shape rows = {
        .type = "f64", .rank = 2, .sizes = {16, LENGTH}, .strides = {LENGTH * 8, 8}};
    double expected[2][16], got[CALLS][16] = {{0}}, *results = NULL;
    gpr_request *request = NULL;
    cudaStream_t first = stream, streams[STREAMS] = {NULL, first, NULL};
    struct tap_family family = {0};
    unsigned axes[CALLS];

    for (size_t i = 0; i < (size_t)LENGTH * 16; i++)
        ((double *)(void *)host)[i] =
            ldexp(1 + rng_below(&rng, 1000), 40 * (int)rng_below(&rng, 9));
    must(cudaMalloc((void **)&results, sizeof got) == cudaSuccess &&
             cudaStreamCreateWithFlags(&streams[2], cudaStreamNonBlocking) == cudaSuccess &&
             cudaMemcpy(device, host, ROOM, cudaMemcpyHostToDevice) == cudaSuccess &&
             gpr_request_new(context, &request) == GPR_OK &&
             gpr_request_op(request, "sum") == GPR_OK &&
             gpr_request_set(request, GPR_NO_WAIT, 1) == GPR_OK,
         "a request");
    for (unsigned axis = 0; axis < 2; axis++) {
        gpr_input *input = open_view(axis == 0 ? &columns : &rows, false);
        void *const here[] = {expected[axis]};

        tap_case(&family, gpr_reduce_axis(input, 0, request, axis, here, 16) == GPR_OK,
                 "on the host");
        gpr_close(input);
    }
    for (unsigned i = 0; i < CALLS; i++) {
        const unsigned axis = (unsigned)rng_below(&rng, 2);
        void *const there[] = {results + (size_t)i * 16};
        gpr_input *input;

        stream = streams[rng_below(&rng, STREAMS)];
        input = open_view(axis == 0 ? &columns : &rows, true);
        tap_case(&family, gpr_reduce_axis(input, 0, request, axis, there, 16) == GPR_OK,
                 "a call: %s", gpr_error_text(context));
        gpr_close(input);
        axes[i] = axis;
    }
    stream = first;
    tap_case(&family,
             cudaDeviceSynchronize() == cudaSuccess &&
                 cudaMemcpy(got, results, sizeof got, cudaMemcpyDeviceToHost) == cudaSuccess,
             "waiting");
    for (unsigned i = 0; i < CALLS; i++)
        tap_case(&family, memcmp(got[i], expected[axes[i]], sizeof got[i]) == 0, "call %u", i);
    tap_family_end(&family, "reductions along an axis on several streams");
    must(cudaFree(results) == cudaSuccess && cudaStreamDestroy(streams[2]) == cudaSuccess,
         "freeing");
    gpr_request_free(request);
}

/* Sums of integers at the ends of what fits, and one beyond, of one slice among others. */
static void check_limits(void)
{
    static const struct {
        const char *type, *beyond;
        uint64_t sum, others[2];
    } cases[] = {
        {"i64", "9223372036854775808", INT64_MAX, {INT64_MAX - 5, 6}},
        {"i64", "-9223372036854775809", (uint64_t)INT64_MIN, {(uint64_t)INT64_MIN + 5, -6}},
        {"u64", "18446744073709551616", UINT64_MAX, {UINT64_MAX - 5, 6}}};
    enum { ROWS = 40, LENGTH = 3 };
    uint64_t got[ROWS], *results = NULL;

    must(cudaMalloc((void **)&results, sizeof got) == cudaSuccess, "memory");
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const bool beyond = i % 2, columns = rng_below(&rng, 2);
        const uint64_t sum = cases[i / 2].sum, row = rng_below(&rng, ROWS);
        const struct shape s = {.type = cases[i / 2].type,
                                .rank = 2,
                                .sizes = {columns ? LENGTH : ROWS, columns ? ROWS : LENGTH},
                                .strides = {columns ? ROWS * 8 : LENGTH * 8, 8}};
        gpr_input *const input = open_view(&s, true);
        gpr_request *request = NULL;
        uint64_t elements[ROWS * LENGTH];
        void *const there[] = {results};
        gpr_status status;
        char text[200];
        bool good;

        for (size_t k = 0; k < ROWS; k++) {
            const size_t first = columns ? k : k * LENGTH, step = columns ? ROWS : 1;

            elements[first] = k == row && beyond ? cases[i / 2].others[0] : sum;
            elements[first + step] = k == row && beyond ? cases[i / 2].others[1] : 3;
            elements[first + 2 * step] = k == row && beyond ? 0 : (uint64_t)-3;
            if (s.type[0] == 'u' && !(k == row && beyond)) {
                elements[first] = sum - 3;
                elements[first + 2 * step] = 0;
            }
        }
        must(cudaMemcpy(device, elements, sizeof elements, cudaMemcpyHostToDevice) == cudaSuccess &&
                 gpr_request_new(context, &request) == GPR_OK &&
                 gpr_request_op(request, "sum") == GPR_OK,
             "a request");
        status = gpr_reduce_axis(input, 0, request, columns ? 0 : 1, there, ROWS);
        snprintf(text, sizeof text, "memory: the sum of slice [%u] is %s, %s", (unsigned)row,
                 cases[i / 2].beyond, does_not_fit);
        good = beyond
                   ? status == GPR_ERROR_UNSUPPORTED && strcmp(gpr_error_text(context), text) == 0
                   : status == GPR_OK && cudaMemcpy(got, results, sizeof got,
                                                    cudaMemcpyDeviceToHost) == cudaSuccess;
        for (size_t k = 0; k < ROWS && good && !beyond; k++)
            good = got[k] == sum;
        tap_ok(good, "%s %s: %s", s.type, beyond ? "beyond the limit" : "at the limit",
               gpr_error_text(context));
        gpr_request_free(request);
        gpr_close(input);
    }
    must(cudaFree(results) == cudaSuccess, "freeing");
}

/* Columns and rows of a large array that is not aligned, and of every other element of one, are copied and
   reduced together: in few calls of CUDA. */
static void check_large(void)
{
    enum { ROWS = 4, COLUMNS = 1200000, CALLS = 100 };
    const size_t bytes = (size_t)2 * ROWS * COLUMNS * sizeof(int16_t);
    int16_t *const elements = malloc(bytes);
    uint64_t *const expected = malloc(COLUMNS * sizeof *expected), *got = NULL, *results = NULL;
    unsigned char *memory = NULL;
    gpr_request *request = NULL;
    gpr_view *view = NULL;

    got = malloc(COLUMNS * sizeof *got);
    must(elements && expected && got &&
             cudaMalloc((void **)&results, COLUMNS * sizeof *got) == cudaSuccess &&
             cudaMalloc((void **)&memory, bytes) == cudaSuccess &&
             gpr_request_new(context, &request) == GPR_OK &&
             gpr_request_op(request, "var") == GPR_OK && gpr_view_new(context, &view) == GPR_OK,
         "a request");
    for (size_t i = 0; i < bytes / sizeof *elements; i++)
        elements[i] = (int16_t)rng_below(&rng, 65536);
    must(cudaMemcpy(memory, elements, bytes, cudaMemcpyHostToDevice) == cudaSuccess, "copying");
    for (int64_t step = 1; step <= 2; step++)
        for (unsigned axis = 0; axis < 2; axis++) {
            const uint64_t count = axis == 0 ? COLUMNS : ROWS;
            const uint64_t shape[] = {ROWS, COLUMNS - 1};
            const int64_t strides[] = {2 * step * COLUMNS, 2 * step};
            void *const here[] = {expected}, *const there[] = {results};
            gpr_input *input = NULL;
            bool good;

            must(gpr_view_set_data(view, elements + 1, "i16", GPR_ORDER_NATIVE, 2, shape,
                                   strides) == GPR_OK &&
                     gpr_view_set_memory(view, GPR_MEMORY_HOST, 0, NULL) == GPR_OK &&
                     gpr_open_view(context, view, &input) == GPR_OK,
                 "a view");
            good = gpr_reduce_axis(input, 0, request, axis, here, count - !axis) == GPR_OK;
            gpr_close(input);
            must(gpr_view_set_data(view, memory + sizeof *elements, "i16", GPR_ORDER_NATIVE, 2,
                                   shape, strides) == GPR_OK &&
                     gpr_view_set_memory(view, GPR_MEMORY_CUDA, 0, (void *)stream) == GPR_OK &&
                     gpr_open_view(context, view, &input) == GPR_OK,
                 "a view");
            calls_left = CALLS;
            good = good && gpr_reduce_axis(input, 0, request, axis, there, count - !axis) == GPR_OK;
            calls_left = 0;
            good = good &&
                   cudaMemcpy(got, results, (count - !axis) * sizeof *got,
                              cudaMemcpyDeviceToHost) == cudaSuccess &&
                   memcmp(got, expected, (count - !axis) * sizeof *got) == 0;
            tap_ok(good, "a large array that is not aligned, axis %u, %s: %s", axis,
                   step == 1 ? "each element" : "every other", gpr_error_text(context));
            gpr_close(input);
        }
    must(cudaFree(results) == cudaSuccess && cudaFree(memory) == cudaSuccess, "freeing");
    gpr_request_free(request);
    gpr_view_free(view);
    free(elements);
    free(expected);
    free(got);
}

/* A view in memory of the host of elements in a row. */
static gpr_view *open_row(const char *type, const void *data, uint64_t count)
{
    gpr_view *view = NULL;

    must(gpr_view_new(context, &view) == GPR_OK &&
             gpr_view_set_data(view, data, type, GPR_ORDER_NATIVE, 1, &count, NULL) == GPR_OK,
         "a view");
    return view;
}

/* Accumulators that are given pieces on the device, or on both sides, have the results of one that
   is given all of them in memory of the host. */
static void check_accumulators(unsigned long runs)
{
    static const char *const accumulated[] = {"sum", "mean", "min", "max", "std", "count", "l1"};
    const unsigned count = sizeof accumulated / sizeof *accumulated;
    struct tap_family family = {0};

    for (unsigned long run = 0; run < runs; run++) {
        const enum element_type type = (enum element_type)rng_below(&rng, ELEMENT_TYPES);
        const size_t size = element_size(type);
        const char *name = element_name(type);
        gpr_accumulator *expected = NULL, *got = NULL, *all = NULL;
        gpr_result *one = NULL, *other = NULL;
        gpr_request *request = NULL;
        bool good = true;

        fill(name);
        must(gpr_request_new(context, &request) == GPR_OK &&
                 (rng_below(&rng, 3) || gpr_request_missing(request, "1") == GPR_OK),
             "a request");
        for (unsigned i = 0; i < count; i++)
            if (i == 0 || rng_below(&rng, 2))
                must(gpr_request_op(request, accumulated[i]) == GPR_OK, "an operation");
        must(gpr_accumulator_new(context, name, request, &expected) == GPR_OK &&
                 gpr_accumulator_new(context, name, request, &got) == GPR_OK &&
                 gpr_accumulator_new(context, name, request, &all) == GPR_OK,
             "accumulators");
        for (unsigned piece = 0; piece < 6 && good; piece++) {
            const size_t first = rng_below(&rng, 300), n = rng_below(&rng, 3000);
            gpr_view *view = open_row(name, host + first * size, n);

            good =
                gpr_accumulator_add(expected, view) == GPR_OK &&
                (rng_below(&rng, 4) == 0 ? gpr_accumulator_add(got, view)
                                         : gpr_accumulator_add_device(got, device + first * size, n,
                                                                      (void *)stream)) == GPR_OK;
            gpr_view_free(view);
            if (rng_below(&rng, 8) == 0)
                good = good && gpr_accumulator_clear(got) == GPR_OK &&
                       gpr_accumulator_clear(expected) == GPR_OK;
            if (rng_below(&rng, 3) == 0) {
                gpr_result_free(other);
                other = NULL;
                good = good && gpr_accumulator_snapshot(got, &other) == GPR_OK;
            }
        }
        gpr_result_free(other);
        other = NULL;
        if (rng_below(&rng, 2)) { /* a part of its own, which both have */
            gpr_view *view = open_row(name, host, 100);

            good = good && gpr_accumulator_add(all, view) == GPR_OK &&
                   gpr_accumulator_merge(got, all) == GPR_OK &&
                   gpr_accumulator_clear(all) == GPR_OK &&
                   gpr_accumulator_add(expected, view) == GPR_OK;
            gpr_view_free(view);
        }
        good = good && gpr_accumulator_merge(all, got) == GPR_OK &&
               gpr_accumulator_snapshot(expected, &one) == GPR_OK &&
               gpr_accumulator_snapshot(rng_below(&rng, 2) ? got : all, &other) == GPR_OK;
        for (unsigned i = 0; i < count && good; i++) {
            double x;

            if (gpr_result_double(one, accumulated[i], &x) == GPR_OK)
                good = is_same(one, other, accumulated[i]);
        }
        tap_case(&family, good, "run %lu: %s: %s", run, name, gpr_error_text(context));
        gpr_result_free(one);
        gpr_result_free(other);
        gpr_accumulator_free(expected);
        gpr_accumulator_free(got);
        gpr_accumulator_free(all);
        gpr_request_free(request);
    }
    tap_family_end(&family, "accumulators of elements on both sides");
}

/* Checks that a reduction of a view in device memory is refused: why. */
static void check_refusal(gpr_view *view, const gpr_request *request, const char *text)
{
    gpr_input *input = NULL;
    gpr_result *result = NULL;

    must(gpr_open_view(context, view, &input) == GPR_OK, "an input");
    tap_ok(gpr_reduce(input, 0, request, &result) == GPR_ERROR_UNSUPPORTED && !result &&
               strcmp(gpr_error_text(context), text) == 0,
           "%s", text);
    gpr_close(input);
}

static gpr_request *ask(const char *op)
{
    gpr_request *request = NULL;

    must(gpr_request_new(context, &request) == GPR_OK && gpr_request_op(request, op) == GPR_OK, op);
    return request;
}

/* The first reduction of a context has a list of what is not known: the magnitude of no elements, which
   the missing value does not stand for. */
static void check_first(void)
{
    enum { LENGTH = 3 };
    const struct shape s = {.type = "i64", .rank = 2, .sizes = {1, LENGTH}, .strides = {24, 8}};
    const int64_t elements[LENGTH] = {-9, -9, -9};
    gpr_context *const first = context;
    int64_t *results = NULL;
    gpr_request *request;
    gpr_input *input;
    gpr_status status;

    must(gpr_context_new(&context) == GPR_OK &&
             cudaMemcpy(device, elements, sizeof elements, cudaMemcpyHostToDevice) == cudaSuccess &&
             cudaMalloc((void **)&results, sizeof *results) == cudaSuccess,
         "a context");
    request = ask("absmax");
    must(gpr_request_missing(request, "-9") == GPR_OK, "a missing value");
    input = open_view(&s, true);
    status = gpr_reduce_axis(input, 0, request, 1, (void *[]){results}, 1);
    tap_ok(status == GPR_ERROR_UNSUPPORTED, "first: %s", gpr_error_text(context));
    must(cudaFree(results) == cudaSuccess, "freeing");
    gpr_request_free(request);
    gpr_close(input);
    gpr_context_free(context);
    context = first;
}

/* A reduction, or a call of the program itself, for which there was no memory does not make the next one
   fail. */
static void check_full(void)
{
#ifndef TEST_CUDA
    const struct shape s = {.type = "f64", .rank = 1, .sizes = {4}, .strides = {16}};
    struct shape masked = s;
    gpr_context *const first = context;
    gpr_result *result = NULL;
    gpr_request *request;
    gpr_status full, then;
    gpr_input *input;
    void *refused, *sum = NULL;

    masked.mask = GPR_MASK_VALID_BYTES;
    must(gpr_context_new(&context) == GPR_OK && cudaMalloc(&sum, sizeof(double)) == cudaSuccess,
         "a context");
    choose_device(true);
    request = ask("sum");
    memset(host, 0, ROOM);
    must(cudaMemcpy(device, host, ROOM, cudaMemcpyHostToDevice) == cudaSuccess, "copying");
    input = open_view(&masked, true);
    emulated_full = true;
    full = gpr_reduce_axis(input, 0, request, 0, &sum, 1);
    emulated_full = false;
    then = gpr_reduce_axis(input, 0, request, 0, &sum, 1);
    tap_ok(full == GPR_ERROR_MEMORY && then == GPR_OK, "along an axis: %d, and then %d (%s)",
           (int)full, (int)then, gpr_error_text(context));
    gpr_close(input);
    input = open_view(&s, true);
    emulated_full = true;
    full = gpr_reduce(input, 0, request, &result);
    emulated_full = false;
    then = gpr_reduce(input, 0, request, &result);
    tap_ok(full == GPR_ERROR_MEMORY && then == GPR_OK, "no device memory: %d, and then %d (%s)",
           (int)full, (int)then, gpr_error_text(context));
    gpr_result_free(result);
    emulated_full = true;
    must(cudaMalloc(&refused, 1) != cudaSuccess, "refusing memory");
    emulated_full = false;
    then = gpr_reduce(input, 0, request, &result);
    tap_ok(then == GPR_OK, "after an error of the program: %s", gpr_error_text(context));
    gpr_result_free(result);
    gpr_request_free(request);
    gpr_close(input);
    must(cudaFree(sum) == cudaSuccess, "freeing");
    gpr_context_free(context);
    context = first;
#endif
}

static void check_refused(void)
{
    const uint64_t shape[] = {10};
    const struct shape ten = {.type = "f32", .rank = 1, .sizes = {10}, .strides = {4}};
    gpr_input *const there = open_view(&ten, true);
    gpr_request *median = ask("median");
    gpr_result *result = NULL;
    gpr_request *request = ask("sum");
    gpr_request *zeros = ask("zeros");
    gpr_view *view = NULL;

    must(gpr_view_new(context, &view) == GPR_OK &&
             gpr_view_set_data(view, host, "f32", GPR_ORDER_NATIVE, 1, shape, NULL) == GPR_OK &&
             gpr_view_set_memory(view, GPR_MEMORY_CUDA, 0, (void *)stream) == GPR_OK,
         "a view");
    check_refusal(view, request, "memory: the elements are not in memory of a CUDA device");
    must(gpr_view_set_data(view, device, "f32", GPR_ORDER_NATIVE, 1, shape, NULL) == GPR_OK,
         "a view");
    must(gpr_view_set_scale(view, 2, 1) == GPR_OK, "a scale");
    check_refusal(view, zeros,
                  "memory: these operations of scaled numbers are not supported in device memory");
    must(gpr_view_set_mask(view, GPR_MASK_VALID_BYTES, host, 0) == GPR_OK, "a mask");
    check_refusal(view, request, "memory: the elements are not in memory of a CUDA device");
    tap_ok(gpr_total(&there, 1, median, &result) == GPR_ERROR_UNSUPPORTED && !result &&
               strcmp(gpr_error_text(context),
                      "memory: quantiles and histograms of totals of device memory are not "
                      "supported") == 0,
           "%s", gpr_error_text(context));
    gpr_close(there);
    gpr_request_free(median);
    gpr_view_free(view);
    gpr_request_free(zeros);
    gpr_request_free(request);
}

/* Elements on a device make a bag without a scale, even after they were cleared: a graph may go on to
   add them. */
static void check_kind(void)
{
    gpr_request *request = ask("sum");
    gpr_accumulator *bag = NULL;
    gpr_view *view = open_row("f32", host, 10), *scaled = open_row("f32", host, 10);

    must(gpr_view_set_scale(scaled, 2, 0) == GPR_OK &&
             gpr_accumulator_new(context, "f32", request, &bag) == GPR_OK,
         "a view");
    for (unsigned i = 0; i < 2; i++) {
        tap_ok(gpr_accumulator_add_device(bag, device, 10, (void *)stream) == GPR_OK &&
                   gpr_accumulator_add(bag, scaled) == GPR_ERROR_ARGUMENT &&
                   gpr_accumulator_add_at(bag, view, 0) == GPR_ERROR_ARGUMENT,
               "a bag without a scale: %s", gpr_error_text(context));
        tap_ok(gpr_accumulator_clear(bag) == GPR_OK &&
                   gpr_accumulator_add(bag, scaled) == GPR_ERROR_ARGUMENT &&
                   gpr_accumulator_add_at(bag, view, 0) == GPR_ERROR_ARGUMENT,
               "and so it remains: %s", gpr_error_text(context));
    }
    gpr_accumulator_free(bag);
    gpr_view_free(view);
    gpr_view_free(scaled);
    gpr_request_free(request);
}

int main(void)
{
    int count = 0;

    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
        return tap_skip_all("no GPU");
    rng_seed(&rng, from_environment("CHECK_SEED", 1));
    host = allocate(2 * ROOM);
    must(cudaSetDevice(0) == cudaSuccess && cudaMalloc((void **)&device, 2 * ROOM) == cudaSuccess &&
             cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess &&
             gpr_context_new(&context) == GPR_OK,
         "a GPU");
    check_views((unsigned long)from_environment("DEVICE_LIBRARY_RUNS", RUNS));
    check_accumulators((unsigned long)from_environment("DEVICE_LIBRARY_RUNS", RUNS));
    check_totals((unsigned long)from_environment("DEVICE_LIBRARY_RUNS", RUNS) / 3);
    check_masks((unsigned long)from_environment("DEVICE_LIBRARY_RUNS", RUNS) / 3);
    check_comparisons((unsigned long)from_environment("DEVICE_LIBRARY_RUNS", RUNS) / 3);
    check_infinity_beside_nan();
    check_many();
    check_axes(4 * (unsigned long)from_environment("DEVICE_LIBRARY_RUNS", RUNS));
    check_failures();
    check_streams();
    check_nans();
    check_full();
    check_first();
    check_limits();
    check_large();
    check_refused();
    check_kind();
    gpr_context_free(context);
    must(cudaStreamDestroy(stream) == cudaSuccess && cudaFree(device) == cudaSuccess, "freeing");
    free(host);
    return tap_done();
}
