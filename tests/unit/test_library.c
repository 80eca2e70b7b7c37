/*
 * gpureduce.h: contexts, settings and errors; requests; and reductions of views, whose results are
 * compared with those of the oracle over elements that a plain loop has put in a row.
 */
#include "config.h"

#include <gpureduce.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/element.h"
#include "core/number.h"
#include "lib/allocate.h"
#include "lib/data_gen.h"
#include "lib/oracle.h"
#include "lib/reference.h"
#include "lib/tap.h"

/* A context; ends the test without memory. */
static gpr_context *new_context(void)
{
    gpr_context *context = NULL;

    if (gpr_context_new(&context) != GPR_OK)
        bail("a context");
    return context;
}

static void test_contexts(void)
{
    gpr_context *context = new_context();
    char text[1024], cut[4];

    tap_ok(strcmp(gpr_version(), PACKAGE_VERSION) == 0, "the version");
    tap_ok(gpr_build(text, sizeof text) == gpr_build(cut, sizeof cut) &&
               strncmp(text, "CUDA: ", 6) == 0 && strcmp(cut, "CUD") == 0 &&
               strcmp(strrchr(text, ':') - 9, "hardening: " BUILD_HARDENING "\n") == 0,
           "how it was built: %s", text);
    tap_ok(gpr_error_status(context) == GPR_OK && strcmp(gpr_error_text(context), "") == 0 &&
               gpr_error_offset(context) == UINT64_MAX && !gpr_error_array(context),
           "no error at first");
    tap_ok(gpr_context_set(context, GPR_THREADS, 3) == GPR_OK &&
               gpr_context_set(context, GPR_MEMORY, 1 << 20) == GPR_OK &&
               gpr_context_set(context, GPR_DEVICE, GPR_DEVICE_CPU) == GPR_OK &&
               gpr_context_set(context, GPR_GPU, 1) == GPR_OK,
           "settings");
    tap_ok(gpr_context_set(context, GPR_DEVICE, 3) == GPR_ERROR_ARGUMENT &&
               gpr_error_status(context) == GPR_ERROR_ARGUMENT &&
               strcmp(gpr_error_text(context), "no device has the number 3") == 0,
           "a device that does not exist: %s", gpr_error_text(context));
    tap_ok(gpr_context_set(context, (gpr_setting)9, 0) == GPR_ERROR_ARGUMENT,
           "a setting that does not exist: %s", gpr_error_text(context));
    tap_ok(gpr_context_set(context, GPR_THREADS, UINT64_MAX) == GPR_ERROR_ARGUMENT,
           "too many threads: %s", gpr_error_text(context));
    tap_ok(gpr_context_set(context, GPR_THREADS, 0) == GPR_OK &&
               strcmp(gpr_error_text(context), "") == 0,
           "a good call forgets the error");
    gpr_cancel(context); /* outside of calls: nothing */
    gpr_context_free(context);
    gpr_context_free(NULL);
}

/* Whether a call fails so. */
static bool fails(gpr_context *context, gpr_status got, gpr_status status, const char *text)
{
    return got == status && gpr_error_status(context) == status &&
           strcmp(gpr_error_text(context), text) == 0;
}

static void test_requests(void)
{
    gpr_context *context = new_context();
    gpr_request *request = NULL, *full = NULL;
    char name[16], accents[1201] = "";

    tap_ok(gpr_request_new(context, &request) == GPR_OK &&
               gpr_request_new(context, &full) == GPR_OK,
           "a request");
    tap_ok(fails(context, gpr_request_op(request, "stddev"), GPR_ERROR_ARGUMENT,
                 "unknown operation stddev; did you mean 'std'?"),
           "an unknown operation: %s", gpr_error_text(context));
    tap_ok(fails(context, gpr_request_op(request, "95%"), GPR_ERROR_ARGUMENT,
                 "unknown operation 95%; did you mean 'p95'?"),
           "a quantile that is spelt otherwise: %s", gpr_error_text(context));
    for (size_t i = 0; i + 1 < sizeof accents; i++)
        accents[i] = "\303\251"[i % 2];
    tap_ok(gpr_request_op(request, accents) == GPR_ERROR_ARGUMENT &&
               strcmp(strrchr(gpr_error_text(context), '\303'), "\303\251") == 0,
           "a name that is cut between characters");
    tap_ok(gpr_request_op(request, "summary") == GPR_OK && gpr_request_op(request, "p99") == GPR_OK,
           "a group, and a quantile");
    tap_ok(fails(context, gpr_request_quantile(request, "sum", 1, 3), GPR_ERROR_ARGUMENT,
                 "an operation has the name sum"),
           "a quantile with the name of an operation: %s", gpr_error_text(context));
    tap_ok(fails(context, gpr_request_quantile(request, "p50", 1, 3), GPR_ERROR_ARGUMENT,
                 "an operation has the name p50"),
           "a quantile with the name of another: %s", gpr_error_text(context));
    tap_ok(gpr_request_quantile(request, "third", 1, 3) == GPR_OK, "a quantile of thirds");
    tap_ok(gpr_request_quantile(request, "x", 4, 3) == GPR_ERROR_ARGUMENT &&
               gpr_request_quantile(request, "x", 0, 0) == GPR_ERROR_ARGUMENT &&
               gpr_request_quantile(request, "", 1, 3) == GPR_ERROR_ARGUMENT,
           "quantiles beyond 0 to 1, and without a name");
    for (int i = 0; i < 26; i++) {
        snprintf(name, sizeof name, "x%d", i);
        if (gpr_request_quantile(request, name, 1, 3) != GPR_OK)
            tap_ok(false, "quantile %s", name);
    }
    tap_ok(gpr_request_op(request, "p1") == GPR_OK &&
               fails(context, gpr_request_op(request, "p2"), GPR_ERROR_ARGUMENT,
                     "at most 31 quantiles besides the median"),
           "too many quantiles: %s", gpr_error_text(context));
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "x%d", i);
        (void)gpr_request_quantile(full, name, 1, 3);
    }
    tap_ok(gpr_request_op(full, "summary") == GPR_ERROR_ARGUMENT &&
               gpr_request_op(full, "p1") == GPR_OK && gpr_request_op(full, "p2") != GPR_OK,
           "a group with too many quantiles adds none of them");
    tap_ok(gpr_request_histogram(request, 0, 0, 1) == GPR_ERROR_ARGUMENT &&
               gpr_request_histogram(request, 10, 1, 1) == GPR_ERROR_ARGUMENT &&
               gpr_request_histogram(request, 10, 0, (double)INFINITY) == GPR_ERROR_ARGUMENT &&
               gpr_request_histogram(request, 10, 0, (double)NAN) == GPR_ERROR_ARGUMENT,
           "histograms that cannot be");
    tap_ok(fails(context, gpr_request_missing(request, "x"), GPR_ERROR_ARGUMENT,
                 "a missing value is a number or nan, not x"),
           "a missing value that is no number: %s", gpr_error_text(context));
    tap_ok(gpr_request_set(request, (gpr_key)77, 1) == GPR_ERROR_ARGUMENT &&
               gpr_request_set(request, GPR_NAN, 7) == GPR_ERROR_ARGUMENT &&
               gpr_request_set(request, GPR_STORED, 2) == GPR_ERROR_ARGUMENT &&
               gpr_request_type(request, "f31", GPR_ORDER_NATIVE) == GPR_ERROR_ARGUMENT &&
               gpr_request_type(request, "f32", (gpr_order)5) == GPR_ERROR_ARGUMENT,
           "keys and types that do not exist");
    tap_ok(fails(context, gpr_request_format(request, "fortan"), GPR_ERROR_ARGUMENT,
                 "unknown format fortan"),
           "a format that does not exist: %s", gpr_error_text(context));
    gpr_request_free(full);
    gpr_request_free(request);
    gpr_request_free(NULL);
    gpr_context_free(context);
}

/*
 * Views against the oracle.
 */

#define DIMENSIONS 5

/* A view, and its elements in C order. */
struct sample {
    enum element_type type;
    unsigned rank;
    uint64_t shape[DIMENSIONS];
    int64_t strides[DIMENSIONS];
    bool contiguous;
    gpr_order order;
    unsigned char *memory, *data; /* all, and the element whose indices are all 0 */
    gpr_mask form;
    unsigned char *mask;
    uint64_t mask_offset;
    uint64_t count, present;
    unsigned char *row; /* the elements that are not missing, in C order and this machine's bytes */
    uint64_t *indices;  /* of these in the view */
};

static void free_sample(struct sample *s)
{
    free(s->memory);
    free(s->mask);
    free(s->row);
    free(s->indices);
}

/* The address of an element of the view. */
static unsigned char *place(const struct sample *s, uint64_t index)
{
    unsigned char *at = s->data;

    for (unsigned i = s->rank; i-- > 0; index /= s->shape[i])
        at += (int64_t)(index % s->shape[i]) * s->strides[i];
    return at;
}

static bool is_missing(const struct sample *s, uint64_t index)
{
    const uint64_t at = s->mask_offset + index;

    switch (s->form) {
    case GPR_MASK_NONE:
        break;
    case GPR_MASK_MISSING_BYTES:
        return s->mask[at];
    case GPR_MASK_VALID_BYTES:
        return !s->mask[at];
    case GPR_MASK_VALID_BITS:
        return !(s->mask[at / 8] & (1U << (at % 8)));
    }
    return false;
}

/* Lays dimensions out in memory in any order, forwards or backwards, with gaps or none; some have
   stride 0. Sets the strides, and returns the bytes that they need; *begin: where the element is
   whose indices are all 0. */
static size_t lay_out(struct sample *s, struct rng *r, size_t *begin)
{
    const size_t size = element_size(s->type);
    unsigned order[DIMENSIONS];
    int64_t step = (int64_t)size;

    *begin = 0;
    for (unsigned i = 0; i < s->rank; i++)
        order[i] = i;
    if (s->contiguous)
        for (unsigned i = 0; i < s->rank; i++)
            order[i] = s->rank - 1 - i;
    else
        rng_shuffle(r, order, s->rank, sizeof *order);
    for (unsigned i = 0; i < s->rank; i++) {
        const unsigned d = order[i];
        const bool still = !s->contiguous && rng_below(r, 8) == 0;

        if (!s->contiguous && rng_below(r, 3) == 0)
            step += (int64_t)rng_below(r, 3 * size);
        s->strides[d] = still ? 0 : step;
        if (!still && s->shape[d] > 0)
            step *= (int64_t)s->shape[d];
        if (!s->contiguous && s->shape[d] > 0 && rng_below(r, 3) == 0) {
            *begin += (size_t)s->strides[d] * (s->shape[d] - 1);
            s->strides[d] = -s->strides[d];
        }
    }
    return (size_t)step + size;
}

/* Fills memory with elements: of floats of a kind, and with specials among them; of others with any
   bits, and zeros. */
static void fill(unsigned char *memory, enum element_type type, size_t count, enum data_kind kind,
                 struct rng *r)
{
    if (!element_is_float(type)) {
        for (size_t i = 0; i < count * element_size(type); i++)
            memory[i] = rng_below(r, 8) == 0 ? 0 : (unsigned char)rng_next(r);
        return;
    }
    data_fill(kind, type, memory, count, rng_next(r));
    for (uint64_t i = rng_below(r, 4); i > 0 && count > 0; i--)
        data_put_special(type, memory, rng_below(r, count),
                         (enum data_special)rng_below(r, DATA_SPECIALS));
}

/* Makes a view of about so many elements. */
static void make_sample(struct sample *s, struct rng *r, enum element_type type, uint64_t about,
                        enum data_kind kind)
{
    const size_t size = element_size(type);
    size_t bytes, begin, shift;

    *s = (struct sample){.type = type, .contiguous = rng_below(r, 3) == 0};
    s->rank = about == 0 ? 1 + (unsigned)rng_below(r, DIMENSIONS - 1)
                         : (unsigned)rng_below(r, DIMENSIONS + 1);
    s->count = 1;
    for (unsigned i = 0; i < s->rank; i++) {
        const uint64_t left = about / s->count + 1;

        s->shape[i] = i + 1 == s->rank ? about / s->count + (about > 0)
                                       : 1 + rng_below(r, left < 40 ? left : 40);
        s->count *= s->shape[i];
    }
    s->order = size > 1 ? (gpr_order)rng_below(r, 3) : GPR_ORDER_NATIVE;
    bytes = lay_out(s, r, &begin);
    shift = (size_t)rng_below(r, size + 1);
    s->memory = allocate_exactly(bytes + shift);
    fill(s->memory + shift, type, bytes / size, kind, r);
    s->data = s->memory + shift + begin;
    s->form = (gpr_mask)rng_below(r, 4);
    s->mask_offset = rng_below(r, 20);
    if (s->form != GPR_MASK_NONE) {
        const uint64_t entries = s->mask_offset + s->count;
        const uint64_t most =
            s->form == GPR_MASK_VALID_BITS ? entries / 8 + (entries % 8 > 0) : entries;
        const uint64_t dense = rng_below(r, 4);

        s->mask = allocate_exactly(most);
        for (uint64_t i = 0; i < most; i++)
            s->mask[i] = dense == 0   ? 0
                         : dense == 1 ? (unsigned char)rng_next(r)
                                      : (unsigned char)(rng_below(r, 50) == 0 ? 0 : 255);
    }
    s->row = allocate_exactly(s->count * size);
    s->indices = allocate_exactly(s->count * sizeof *s->indices);
    for (uint64_t i = 0; i < s->count; i++) {
        unsigned char *const to = s->row + s->present * size;

        if (is_missing(s, i))
            continue;
        memcpy(to, place(s, i), size);
        if (s->order == (element_host_is_big() ? GPR_ORDER_LITTLE : GPR_ORDER_BIG))
            element_swap(to, to, 1, size);
        s->indices[s->present++] = i;
    }
}

/* Opens a sample. */
static gpr_input *open_sample(gpr_context *context, const struct sample *s)
{
    gpr_view *view = NULL;
    gpr_input *input = NULL;

    if (gpr_view_new(context, &view) != GPR_OK ||
        gpr_view_set_data(view, s->data, element_name(s->type), s->order, s->rank, s->shape,
                          s->contiguous ? NULL : s->strides) != GPR_OK ||
        gpr_view_set_mask(view, s->form, s->mask, s->mask_offset) != GPR_OK ||
        gpr_open_view(context, view, &input) != GPR_OK)
        tap_note("%s", gpr_error_text(context));
    gpr_view_free(view);
    return need(input);
}

/* A request for these operations. */
static gpr_request *ask(gpr_context *context, const char *const *operations)
{
    gpr_request *request = NULL;

    if (gpr_request_new(context, &request) != GPR_OK)
        bail("a request");
    for (size_t i = 0; operations[i]; i++)
        if (gpr_request_op(request, operations[i]) != GPR_OK)
            bail(gpr_error_text(context));
    return request;
}

/* The operations that the oracle knows, and which of them are numbers. */
static const char *const numbers[] = {"sum", "mean", "min", "max",    "sumsq",  "var",   "std",
                                      "rms", "l1",   "l2",  "absmax", "absmin", "range", NULL};
static const char *const counts[] = {"argmin", "argmax",    "count",      "nan", "inf",
                                     "zeros",  "negatives", "subnormals", NULL};
static const char *const integers[] = {"sum", "min", "max", NULL};

/* The oracle's values in the order of `numbers`, `counts` and `integers`. */
static void list_expected(const struct result *e, double number[13], uint64_t count[8],
                          const struct integer *integer[3])
{
    const double x[] = {e->sum, e->mean, e->min, e->max,    e->sumsq,  e->var,  e->std,
                        e->rms, e->l1,   e->l2,  e->absmax, e->absmin, e->range};
    const uint64_t n[] = {e->argmin,   e->argmax, e->count,     e->nan,
                          e->infinity, e->zeros,  e->negatives, e->subnormals};

    memcpy(number, x, sizeof x);
    memcpy(count, n, sizeof n);
    integer[0] = &e->sum_integer;
    integer[1] = &e->min_integer;
    integer[2] = &e->max_integer;
}

/* Compares the result of a sample with the oracle's. */
static void check_sample(struct tap_family *family, const struct sample *s,
                         const gpr_result *result, bool skip)
{
    struct reference expected;
    const struct integer *integer[3];
    double number[13], got;
    uint64_t count[8], some;
    char text[64], wanted[NUMBER_MAX];

    reference_reduce(&expected, s->type, s->row, s->present, 0);
    if (reference_moments_is_known(s->type))
        reference_moments(&expected, s->type, s->row, s->present, 0);
    list_expected(&expected.policy[skip], number, count, integer);
    for (size_t i = 0; i < 2; i++)
        if (count[i] != PARTIAL_NO_INDEX)
            count[i] = s->indices[count[i]];
    for (size_t i = 0; (i < 4 || reference_moments_is_known(s->type)) && numbers[i]; i++)
        tap_case(family,
                 gpr_result_double(result, numbers[i], &got) == GPR_OK &&
                     oracle_same(got, number[i]),
                 "%s of %llu %s: %a, not %a", numbers[i], (unsigned long long)s->present,
                 element_name(s->type), got, number[i]);
    for (size_t i = 0; (i < 5 || reference_moments_is_known(s->type)) && counts[i]; i++)
        tap_case(family, gpr_result_count(result, counts[i], &some) == GPR_OK && some == count[i],
                 "%s of %llu %s: %llu, not %llu", counts[i], (unsigned long long)s->present,
                 element_name(s->type), (unsigned long long)some, (unsigned long long)count[i]);
    tap_case(family,
             gpr_result_count(result, "missing", &some) == GPR_OK && some == s->count - s->present,
             "missing: %llu", (unsigned long long)some);
    for (size_t i = 0; integers[i]; i++) {
        const size_t length = gpr_result_integer(result, integers[i], text, sizeof text);

        if (!integer[i]->known) {
            tap_case(family, length == 0, "%s is an integer: %s", integers[i], text);
            continue;
        }
        number_format_integer(wanted, integer[i]);
        tap_case(family, length == strlen(wanted) && strcmp(text, wanted) == 0, "%s: %s, not %s",
                 integers[i], text, wanted);
        tap_case(family,
                 gpr_result_text(result, integers[i], text, sizeof text) == strlen(wanted) &&
                     strcmp(text, wanted) == 0,
                 "text of %s: %s, not %s", integers[i], text, wanted);
    }
}

/* Reduces a sample for all operations at once, and for those only that do not need the order, the
   latter also from a row of what is not missing. */
static void reduce_sample(struct tap_family *family, gpr_context *context, const struct sample *s,
                          struct rng *r)
{
    static const char *const unordered[] = {"sum", "std", "max", "zeros", NULL};
    gpr_request *request = ask(context, numbers), *few = ask(context, unordered);
    gpr_input *input = open_sample(context, s);
    gpr_result *result = NULL, *less = NULL;
    const bool skip = rng_below(r, 2);
    double a, b, in_row[4];
    uint64_t shape[DIMENSIONS] = {0};

    for (size_t i = 0; counts[i]; i++)
        (void)gpr_request_op(request, counts[i]);
    (void)gpr_request_op(request, "missing");
    (void)gpr_request_set(request, GPR_NAN, skip ? GPR_NAN_SKIP : GPR_NAN_PROPAGATE);
    (void)gpr_request_set(few, GPR_NAN, skip ? GPR_NAN_SKIP : GPR_NAN_PROPAGATE);
    tap_case(family,
             gpr_array_count(input, 0) == s->count &&
                 gpr_array_shape(input, 0, DIMENSIONS, shape) == s->rank &&
                 memcmp(shape, s->shape, s->rank * sizeof *shape) == 0 &&
                 strcmp(gpr_array_dtype(input, 0), element_name(s->type)) == 0 &&
                 gpr_array_fact(input, 0, GPR_FACT_BYTES) == s->count * element_size(s->type) &&
                 gpr_array_fact(input, 0, GPR_FACT_OFFSET) == UINT64_MAX,
             "facts of a view");
    if (tap_case(family, gpr_reduce(input, 0, request, &result) == GPR_OK, "%s",
                 gpr_error_text(context)))
        check_sample(family, s, result, skip);
    if (tap_case(family, gpr_reduce(input, 0, few, &less) == GPR_OK, "%s", gpr_error_text(context)))
        for (size_t i = 0; result && unordered[i]; i++)
            tap_case(family,
                     gpr_result_double(result, unordered[i], &a) == GPR_OK &&
                         gpr_result_double(less, unordered[i], &b) == GPR_OK && oracle_same(a, b),
                     "%s in the order of memory: %a, not %a", unordered[i], b, a);
    gpr_result_free(less);
    less = NULL;
    if (tap_case(family,
                 gpr_reduce_memory(few, s->row, element_name(s->type), GPR_ORDER_NATIVE, s->present,
                                   in_row, rng_below(r, 2) ? &less : NULL) == GPR_OK,
                 "%s", gpr_error_text(context)))
        for (size_t i = 0; result && unordered[i]; i++)
            tap_case(family,
                     gpr_result_double(result, unordered[i], &a) == GPR_OK &&
                         oracle_same(a, in_row[i]) &&
                         (!less || (gpr_result_double(less, unordered[i], &b) == GPR_OK &&
                                    oracle_same(a, b))),
                     "%s of a row in memory: %a, not %a", unordered[i], in_row[i], a);
    gpr_result_free(result);
    gpr_result_free(less);
    gpr_request_free(request);
    gpr_request_free(few);
    gpr_close(input);
}

static void test_views(gpr_context *context)
{
    static const uint64_t sizes[] = {0, 1, 2, 17, 1000, 40000, 300000};
    struct tap_family family = {0};
    struct sample sample;
    struct rng r;

    rng_seed(&r, 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int type = 0; type < ELEMENT_TYPES; type++)
            for (int k = 0; k < (sizes[i] > 1000 ? 1 : 8); k++) {
                make_sample(&sample, &r, (enum element_type)type, sizes[i],
                            (enum data_kind)rng_below(&r, DATA_KINDS));
                reduce_sample(&family, context, &sample, &r);
                free_sample(&sample);
            }
        tap_family_end(&family, "views of about %llu elements", (unsigned long long)sizes[i]);
    }
}

/* A row of elements in memory that cannot be reduced, and values that cannot be given. */
static void test_memory(gpr_context *context)
{
    static const float elements[] = {1, (float)NAN};
    gpr_request *request = ask(context, (const char *const[]){"sum", "digest", NULL});
    gpr_request *nothing = ask(context, (const char *const[]){NULL});
    gpr_result *result = NULL;
    gpr_view *view = NULL;
    double values[2];

    tap_ok(gpr_view_new(context, &view) == GPR_OK &&
               fails(context, gpr_view_set_scale(view, 0, 1), GPR_ERROR_ARGUMENT,
                     "the scale factor is not a finite number other than 0"),
           "a scale of 0: %s", gpr_error_text(context));
    tap_ok(gpr_view_set_data(view, elements, "u8", GPR_ORDER_NATIVE, 2, (const uint64_t[]){2, 2},
                             (const int64_t[]){1, INT64_MAX / 2 + 1}) == GPR_OK &&
               fails(context,
                     gpr_view_set_data(view, elements, "u8", GPR_ORDER_NATIVE, 2,
                                       (const uint64_t[]){2, 2}, (const int64_t[]){1, INT64_MAX}),
                     GPR_ERROR_ARGUMENT, "the view has more than 2^63 - 1 bytes"),
           "strides as large as can be: %s", gpr_error_text(context));
    gpr_view_free(view);
    tap_ok(fails(context,
                 gpr_reduce_memory(request, NULL, "f32", GPR_ORDER_NATIVE, 1, values, &result),
                 GPR_ERROR_ARGUMENT, "the view has elements, but no address"),
           "memory without an address: %s", gpr_error_text(context));
    tap_ok(fails(context,
                 gpr_reduce_memory(nothing, elements, "f32", GPR_ORDER_NATIVE, 2, values, &result),
                 GPR_ERROR_ARGUMENT, "the request is for nothing"),
           "no operation: %s", gpr_error_text(context));
    tap_ok(fails(context,
                 gpr_reduce_memory(request, elements, "f32", GPR_ORDER_NATIVE, 2, values, &result),
                 GPR_ERROR_ARGUMENT, "digest is a text"),
           "a digest as a number: %s", gpr_error_text(context));
    (void)gpr_request_set(request, GPR_NAN, GPR_NAN_ERROR);
    tap_ok(gpr_reduce_memory(request, elements, "f32", GPR_ORDER_NATIVE, 2, values, &result) ==
                   GPR_ERROR_NAN &&
               !result,
           "a NaN that is an error: %s", gpr_error_text(context));
    gpr_request_free(request);
    gpr_request_free(nothing);
}

/* Reduces array number `array` of an input, which is closed. NULL where that fails. */
static gpr_result *reduce_and_close(gpr_input *input, size_t array, const gpr_request *request)
{
    gpr_result *result = NULL;

    (void)gpr_reduce(input, array, request, &result);
    gpr_close(input);
    return result;
}

/*
 * Exact values and histograms, of numbers whose results are known.
 */

/* Opens `count` elements with a scale; a factor of 0 is none. */
static gpr_input *open_elements(gpr_context *context, const void *elements, const char *type,
                                uint64_t count, double scale, double offset)
{
    gpr_view *view = NULL;
    gpr_input *input = NULL;

    if (gpr_view_new(context, &view) != GPR_OK ||
        gpr_view_set_data(view, elements, type, GPR_ORDER_NATIVE, 1, &count, NULL) != GPR_OK ||
        (scale != 0 && gpr_view_set_scale(view, scale, offset) != GPR_OK) ||
        gpr_open_view(context, view, &input) != GPR_OK)
        bail(gpr_error_text(context));
    gpr_view_free(view);
    return input;
}

/* A value in full: integer 2^exponent. */
struct exact_row {
    const char *op, *integer;
    int64_t exponent;
};

static void check_exact(gpr_context *context, gpr_input *input, const struct exact_row *rows,
                        const char *what)
{
    static const char *const operations[] = {"sum",    "sumsq",  "l1",    "min", "max",
                                             "absmax", "absmin", "range", NULL};
    struct tap_family family = {0};
    gpr_request *request = ask(context, operations);
    gpr_result *result = need(reduce_and_close(input, 0, request));

    for (; rows->op; rows++) {
        char text[9000] = "";
        int64_t exponent = 0;
        const size_t length = gpr_result_exact(result, rows->op, text, sizeof text, &exponent);

        if (!rows->integer)
            tap_case(&family, length == 0 && gpr_error_status(context) == GPR_ERROR_UNSUPPORTED,
                     "%s: %s", rows->op, text);
        else
            tap_case(&family,
                     length == strlen(rows->integer) && strcmp(text, rows->integer) == 0 &&
                         exponent == rows->exponent,
                     "%s: %s 2^%lld", rows->op, text, (long long)exponent);
    }
    tap_family_end(&family, "exact values of %s", what);
    gpr_result_free(result);
    gpr_request_free(request);
}

/* A scale of 1 without an offset is none, and takes another one away: results have the type of elements, and
   the sign of a zero. */
static void test_no_scale(gpr_context *context)
{
    static const float elements[] = {0.1F, -0.0F, 1e-42F};
    static const char *const wanted[][2] = {{"min", "-0"}, {"max", "0.1"}, {"subnormals", "1"}};
    const uint64_t count = 3;
    gpr_request *request = ask(context, (const char *const[]){"min", "max", "subnormals", NULL});
    gpr_view *view = NULL;
    gpr_input *input = NULL;
    gpr_result *result;
    double scale = 0, offset = 1;
    char text[32];

    if (gpr_view_new(context, &view) != GPR_OK ||
        gpr_view_set_data(view, elements, "f32", GPR_ORDER_NATIVE, 1, &count, NULL) != GPR_OK ||
        gpr_view_set_scale(view, 2, 1) != GPR_OK || gpr_view_set_scale(view, 1, 0) != GPR_OK ||
        gpr_open_view(context, view, &input) != GPR_OK)
        bail(gpr_error_text(context));
    tap_ok(!gpr_array_scale(input, 0, &scale, &offset) && scale == 1 && offset == 0,
           "a scale that is taken away: %g, %g", scale, offset);
    result = need(reduce_and_close(input, 0, request));
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        tap_ok(gpr_result_text(result, wanted[i][0], text, sizeof text) > 0 &&
                   strcmp(text, wanted[i][1]) == 0,
               "without it, %s: %s", wanted[i][0], text);
    gpr_result_free(result);
    gpr_view_free(view);
    gpr_request_free(request);
}

static void test_uncounted(gpr_context *context)
{
    static const float elements[] = {1e-42F, 2};
    static int64_t along = 7;
    static void *const results[] = {&along};
    gpr_request *request = ask(context, (const char *const[]){"subnormals", NULL});
    gpr_input *input = open_elements(context, elements, "f32", 2, 2, 0);
    gpr_result *result = NULL;
    double value = 7;
    uint64_t count = 7;
    char text[32] = "";

    tap_ok(gpr_reduce(input, 0, request, &result) == GPR_OK &&
               gpr_result_text(result, "subnormals", text, sizeof text) == 2 &&
               strcmp(text, "NA") == 0,
           "subnormals of scaled numbers: %s", text);
    tap_ok(fails(context, gpr_result_double(need(result), "subnormals", &value),
                 GPR_ERROR_UNSUPPORTED, "subnormals of scaled numbers are not counted") &&
               gpr_result_count(result, "subnormals", &count) == GPR_ERROR_UNSUPPORTED &&
               value == 7 && count == 7,
           "their number: %s", gpr_error_text(context));
    tap_ok(gpr_reduce_axis(input, 0, request, 0, results, 1) == GPR_ERROR_UNSUPPORTED && along == 7,
           "their number along an axis: %s", gpr_error_text(context));
    gpr_result_free(result);
    gpr_close(input);
    gpr_request_free(request);
}

static void test_exact(gpr_context *context)
{
    static const double cancel[] = {0x1p900, 0x1p-1074, -0x1p900, 3};
    static const float infinite[] = {1, (float)INFINITY, -2};
    static const uint64_t large[] = {UINT64_MAX, UINT64_MAX, 1};
    static const int8_t small[] = {-3, 5};
    char sum[300], squares[1100];

    /* 2^1074 = 4 16^268, so that 3 2^1074 + 1 is c, 267 zeros, and 1. */
    memset(sum, '0', sizeof sum);
    sum[0] = 'c';
    sum[268] = '1';
    sum[269] = '\0';
    /* 2 2^1800 + 9 + 2^-2148 = (2^3949 + 9 2^2148 + 1) 2^-2148; 2^3949 = 2 16^987,
       2^2148 = 16^537. */
    memset(squares, '0', sizeof squares);
    squares[0] = '2';
    squares[987 - 537] = '9';
    squares[987] = '1';
    squares[988] = '\0';
    check_exact(context, open_elements(context, cancel, "f64", 4, 0, 0),
                (const struct exact_row[]){{"sum", sum, -1074},
                                           {"sumsq", squares, -2148},
                                           {"min", "-1", 900},
                                           {"max", "1", 900},
                                           {"absmin", "1", -1074},
                                           {"range", "1", 901},
                                           {NULL, NULL, 0}},
                "f64");
    check_exact(context, open_elements(context, infinite, "f32", 3, 0, 0),
                (const struct exact_row[]){{"sum", NULL, 0},
                                           {"sumsq", NULL, 0},
                                           {"max", NULL, 0},
                                           {"range", NULL, 0},
                                           {"min", "-1", 1},
                                           {"absmin", "1", 0},
                                           {NULL, NULL, 0}},
                "f32 with an infinity");
    check_exact(context, open_elements(context, large, "u64", 3, 0, 0),
                (const struct exact_row[]){{"sum", "1ffffffffffffffff", 0},
                                           {"max", "ffffffffffffffff", 0},
                                           {"range", "7fffffffffffffff", 1},
                                           {"min", "1", 0},
                                           {NULL, NULL, 0}},
                "u64");
    /* -2 x + 1/4: 6.25 and -9.75. */
    check_exact(context, open_elements(context, small, "i8", 2, -2, 0.25),
                (const struct exact_row[]){{"sum", "-7", -1},
                                           {"l1", "1", 4},
                                           {"sumsq", "431", -3},
                                           {"min", "-27", -2},
                                           {"max", "19", -2},
                                           {"absmax", "27", -2},
                                           {"absmin", "19", -2},
                                           {"range", "1", 4},
                                           {NULL, NULL, 0}},
                "scaled i8");
    check_exact(context, open_elements(context, small, "i8", 0, 0, 0),
                (const struct exact_row[]){{"sum", "0", 0}, {"min", NULL, 0}, {NULL, NULL, 0}},
                "no elements");
}

static void test_histogram(gpr_context *context)
{
    static const int16_t elements[] = {-5, 0, 1, 2, 2, 4, 9};
    gpr_input *input = open_elements(context, elements, "i16", 7, 0, 0);
    gpr_request *request = NULL;
    gpr_result *result = NULL;
    uint64_t bins[2], below, above;
    double edges[3];

    if (gpr_request_new(context, &request) != GPR_OK ||
        gpr_request_histogram(request, 2, 0, 4) != GPR_OK)
        bail(gpr_error_text(context));
    tap_ok(gpr_reduce(input, 0, request, &result) == GPR_OK && gpr_result_bins(result) == 2 &&
               gpr_result_histogram(result, bins, edges, &below, &above) == GPR_OK &&
               bins[0] == 2 && bins[1] == 3 && edges[0] == 0 && edges[1] == 2 && edges[2] == 4 &&
               below == 1 && above == 1,
           "a histogram: %s", gpr_error_text(context));
    tap_ok(*gpr_result_profile(result) == '{', "its profile: %s", gpr_result_profile(result));
    gpr_result_free(result);
    gpr_request_free(request);
    request = ask(context, (const char *const[]){"sum", NULL});
    tap_ok(gpr_reduce(input, 0, request, &result) == GPR_OK && gpr_result_bins(result) == 0 &&
               gpr_result_histogram(result, NULL, NULL, NULL, NULL) == GPR_ERROR_ARGUMENT &&
               strcmp(gpr_result_profile(result), "{}") == 0,
           "no histogram");
    gpr_result_free(result);
    gpr_request_free(request);
    gpr_close(input);
}

/*
 * Files and pipes.
 */

/* Writes bytes to a descriptor, and puts that back to its beginning. */
static void put(int fd, const void *bytes, size_t size)
{
    if (write(fd, bytes, size) != (ssize_t)size)
        bail("writing a file");
}

/* A file that has no name any more; `path` becomes one by which it can be opened. */
static int make_file(char path[32])
{
    char name[] = "test_library.XXXXXX";
    const int fd = mkstemp(name);

    if (fd < 0 || unlink(name) != 0)
        bail("a file");
    snprintf(path, 32, "/proc/self/fd/%d", fd);
    return fd;
}

/* Whether two results have the same text for all operations. */
static bool same_texts(const gpr_result *a, const gpr_result *b, const char *const *operations)
{
    char one[64], other[64];
    bool good = true;

    for (size_t i = 0; operations[i]; i++)
        good = gpr_result_text(a, operations[i], one, sizeof one) > 0 &&
               gpr_result_text(b, operations[i], other, sizeof other) > 0 &&
               strcmp(one, other) == 0 && good;
    return good;
}

#define COUNT 1500000

static const char *const file_operations[] = {"sum", "std", "argmin", "max", "zeros", NULL};

/* Whether the facts about an array are these, in the order of their keys, and there are no more. */
static bool has_facts(const gpr_input *input, size_t array, const uint64_t facts[7])
{
    bool good = gpr_array_fact(input, array, (gpr_fact)0) == UINT64_MAX &&
                gpr_array_fact(input, array, (gpr_fact)8) == UINT64_MAX;

    for (int i = 0; i < 7; i++)
        good = good && gpr_array_fact(input, array, (gpr_fact)(i + 1)) == facts[i];
    return good;
}

/* A raw file by its path and by a descriptor, whose place does not matter, and a pipe. */
static void test_raw(gpr_context *context, const float *elements, const gpr_result *expected)
{
    gpr_request *request = ask(context, file_operations), *part = ask(context, file_operations);
    gpr_input *input = NULL;
    gpr_result *result = NULL;
    uint64_t count, shape[2] = {0, 0};
    char path[32];
    const int fd = make_file(path);
    int ends[2];

    put(fd, elements, COUNT * sizeof *elements);
    (void)gpr_request_type(request, "f32", GPR_ORDER_NATIVE);
    tap_ok(gpr_open_path(context, path, request, &input) == GPR_OK &&
               gpr_input_arrays(input) == 1 && strcmp(gpr_input_format(input), "raw") == 0 &&
               gpr_array_shape(input, 0, 2, shape) == 1 && shape[0] == COUNT && shape[1] == 0 &&
               gpr_array_count(input, 0) == COUNT && strcmp(gpr_array_name(input, 0), "") == 0 &&
               strcmp(gpr_array_dtype(input, 0), "f32") == 0 && !gpr_array_why_unreadable(input, 0),
           "facts of a file");
    tap_ok(has_facts(input, 0,
                     (const uint64_t[]){COUNT * sizeof *elements, 0, 0, element_host_is_big(), 0,
                                        UINT64_MAX, UINT64_MAX}),
           "facts of a file, as numbers");
    tap_ok(fails(context, gpr_reduce(input, 1, request, &result), GPR_ERROR_ARGUMENT,
                 "the input has no array number 1"),
           "an array that does not exist");
    result = reduce_and_close(input, 0, request);
    tap_ok(result && same_texts(result, expected, file_operations), "a file: %s",
           gpr_error_text(context));
    gpr_result_free(result);

    input = NULL;
    tap_ok(gpr_open_fd(context, fd, request, &input) == GPR_OK, "a descriptor");
    result = reduce_and_close(need(input), 0, request);
    tap_ok(result && same_texts(result, expected, file_operations), "a descriptor: %s",
           gpr_error_text(context));
    gpr_result_free(result);

    (void)gpr_request_set(part, GPR_SKIP, 4);
    (void)gpr_request_set(part, GPR_LENGTH, 10);
    input = NULL;
    tap_ok(gpr_open_path(context, path, part, &input) == GPR_OK && gpr_array_count(input, 0) == 10,
           "a part of a file");
    (void)gpr_request_op(part, "count");
    result = reduce_and_close(need(input), 0, part);
    tap_ok(result && gpr_result_count(result, "count", &count) == GPR_OK && count == 10,
           "the part is reduced");
    gpr_result_free(result);

    if (pipe(ends) != 0)
        bail("a pipe");
    put(ends[1], elements, 1000 * sizeof *elements);
    close(ends[1]);
    input = NULL;
    tap_ok(gpr_open_fd(context, ends[0], request, &input) == GPR_OK &&
               gpr_array_count(input, 0) == UINT64_MAX &&
               strcmp(gpr_input_format(input), "pipe") == 0 &&
               gpr_array_fact(input, 0, GPR_FACT_BYTES) == UINT64_MAX &&
               gpr_array_fact(input, 0, GPR_FACT_COMPRESSED) == UINT64_MAX,
           "a pipe");
    result = NULL;
    tap_ok(gpr_reduce(input, 0, request, &result) == GPR_OK, "a pipe: %s", gpr_error_text(context));
    gpr_result_free(result);
    tap_ok(gpr_reduce(input, 0, request, &result) == GPR_ERROR_ARGUMENT,
           "a pipe is reduced once: %s", gpr_error_text(context));
    gpr_close(input);
    close(ends[0]);

    (void)gpr_open_path(context, path, request, &input);
    if (ftruncate(fd, 1000) != 0)
        bail("truncating a file");
    tap_ok(!reduce_and_close(input, 0, request) && gpr_error_status(context) == GPR_ERROR_CHANGED &&
               gpr_error_offset(context) == 1000,
           "a file that was truncated: %s", gpr_error_text(context));
    close(fd);
    tap_ok(gpr_open_path(context, "test_library.none", request, &input) == GPR_ERROR_READ &&
               strcmp(gpr_error_text(context), "test_library.none: No such file or directory") == 0,
           "no such file: %s", gpr_error_text(context));
    gpr_request_free(request);
    gpr_request_free(part);
}

/* A container whose first array has a type that is not supported. */
static void test_container(gpr_context *context, const float *elements, const gpr_result *expected)
{
    static const char *const median[] = {"median", NULL};
    gpr_request *request = ask(context, file_operations), *selection = ask(context, median);
    gpr_input *input = NULL;
    gpr_result *result = NULL, *again = NULL;
    uint64_t count, shape[2] = {0, 0};
    char path[32], header[512];
    const int fd = make_file(path);
    const uint64_t length = sizeof header;
    double value, other;

    memset(header, ' ', sizeof header);
    header[snprintf(header, sizeof header,
                    "{\"odd%0300d\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[0,1]},"
                    "\"w\":{\"dtype\":\"F32\",\"shape\":[3,%d],\"data_offsets\":[1,%zu]}}",
                    0, COUNT / 3, 1 + COUNT * sizeof *elements)] = ' ';
    put(fd, &length, sizeof length);
    put(fd, header, sizeof header);
    put(fd, "x", 1);
    put(fd, elements, COUNT * sizeof *elements);
    tap_ok(gpr_open_path(context, path, NULL, &input) == GPR_OK && gpr_input_arrays(input) == 2 &&
               strcmp(gpr_input_format(input), "safetensors") == 0 &&
               strcmp(gpr_array_name(input, 1), "w") == 0 &&
               strcmp(gpr_array_dtype(input, 0), "F4") == 0 && gpr_array_why_unreadable(input, 0) &&
               gpr_array_shape(input, 1, 2, shape) == 2 && shape[0] == 3 && shape[1] == COUNT / 3,
           "a container: %s", gpr_error_text(context));
    tap_ok(has_facts(input, 0,
                     (const uint64_t[]){1, 8 + sizeof header, 0, UINT64_MAX, 0, UINT64_MAX,
                                        UINT64_MAX}) &&
               has_facts(input, 1,
                         (const uint64_t[]){COUNT * sizeof *elements, 8 + sizeof header + 1, 0, 0,
                                            0, UINT64_MAX, UINT64_MAX}),
           "facts of its arrays, as numbers");
    tap_ok(strcmp(gpr_array_name(input, 2), "") == 0 &&
               strcmp(gpr_array_dtype(input, 2), "") == 0 && gpr_array_why_unreadable(input, 2) &&
               gpr_array_shape(input, 2, 2, shape) == 0 &&
               gpr_array_count(input, 2) == UINT64_MAX &&
               gpr_array_fact(input, 2, GPR_FACT_BYTES) == UINT64_MAX,
           "an array that it does not have");
    tap_ok(gpr_reduce(input, 0, request, &result) == GPR_ERROR_DATA && gpr_error_array(context) &&
               strcmp(gpr_error_array(context), gpr_array_name(input, 0)) == 0,
           "an array that is not supported: %s", gpr_error_text(context));
    tap_ok(gpr_reduce(input, 1, request, &result) == GPR_OK &&
               same_texts(result, expected, file_operations),
           "the other one");
    tap_ok(gpr_reduce(input, 1, selection, &again) == GPR_OK &&
               gpr_result_double(again, "median", &value) == GPR_OK,
           "its median");
    gpr_result_free(again);
    gpr_result_free(result);
    gpr_close(input);
    input = NULL;
    (void)gpr_request_set(selection, GPR_SKIP, 8 + sizeof header + 1);
    (void)gpr_open_fd(context, fd, NULL, &input);
    again = reduce_and_close(need(input), 1, selection);
    tap_ok(again && gpr_result_double(again, "median", &other) == GPR_OK && value == other,
           "by its descriptor");
    gpr_result_free(again);

    input = NULL;
    (void)gpr_request_set(selection, GPR_LENGTH, 10);
    (void)gpr_request_op(selection, "count");
    tap_ok(gpr_open_path(context, path, selection, &input) == GPR_OK &&
               gpr_array_count(input, 1) == 10 && gpr_array_fact(input, 1, GPR_FACT_BYTES) == 40 &&
               gpr_array_count(input, 0) == 2,
           "a part of each array: %s", gpr_error_text(context));
    again = reduce_and_close(need(input), 1, selection);
    tap_ok(again && gpr_result_count(again, "count", &count) == GPR_OK && count == 10,
           "the part is reduced");
    gpr_result_free(again);
    close(fd);
    gpr_request_free(request);
    gpr_request_free(selection);
}

/* Results of arrays as gpr_reduce_each tells of them, and names of arrays that have none. */
#define EACH_MAX 5

struct told {
    gpr_context *context;
    size_t count, end; /* arrays so far; those after which it cancels */
    gpr_result *results[EACH_MAX];
    char names[EACH_MAX][16];
};

static int take_result(void *user, size_t array, gpr_result *result)
{
    struct told *t = user;
    const char *name = gpr_error_array(t->context);

    if (array != t->count || array == EACH_MAX)
        bail("an array is told of that is not the next one");
    t->results[t->count] = result;
    snprintf(t->names[t->count], sizeof *t->names, "%s", !result && name ? name : "");
    return ++t->count == t->end;
}

static gpr_context *to_cancel;

static void cancel_by_signal(int number)
{
    (void)number;
    gpr_cancel(to_cancel);
}

/* The second array is told of while a signal comes. */
static int interrupt(void *user, size_t array, gpr_result *result)
{
    struct told *t = user;

    gpr_result_free(result);
    t->count++;
    return array == 1 ? raise(SIGUSR1) : 0;
}

static void forget_results(struct told *t)
{
    for (size_t i = 0; i < t->count; i++)
        gpr_result_free(t->results[i]);
    t->count = 0;
}

/* Whether each result is that of the array alone. */
static bool same_as_alone(const struct told *t, gpr_input *input, const gpr_request *request,
                          const char *const *operations)
{
    bool good = t->count == gpr_input_arrays(input);

    for (size_t i = 0; i < t->count; i++) {
        gpr_result *alone = NULL;
        const gpr_status status = gpr_reduce(input, i, request, &alone);

        good = good && (status == GPR_OK) == (t->results[i] != NULL) &&
               strcmp(t->names[i], status == GPR_OK ? "" : gpr_array_name(input, i)) == 0 &&
               (!alone || same_texts(alone, t->results[i], operations)) &&
               (!alone || gpr_result_bins(alone) == gpr_result_bins(t->results[i]));
        gpr_result_free(alone);
    }
    return good;
}

/* All arrays of a container: one that is not supported, a large one, a small one, one of another type
   and one without elements. */
static void test_each(gpr_context *context, const float *elements)
{
    static const char *const operations[] = {"sum", "std",   "argmin", "median",
                                             "p10", "count", "digest", NULL};
    static const char *const sums[] = {"sum", NULL};
    gpr_request *request = ask(context, operations), *sum = ask(context, sums);
    gpr_request *nothing = NULL;
    struct told told = {.context = context};
    gpr_status status;
    gpr_input *input = NULL;
    char path[32], header[512];
    const int fd = make_file(path);
    const uint64_t length = sizeof header;
    const size_t all = COUNT * sizeof *elements;

    memset(header, ' ', sizeof header);
    header[snprintf(header, sizeof header,
                    "{\"odd\":{\"dtype\":\"F4\",\"shape\":[8],\"data_offsets\":[0,4]},"
                    "\"w\":{\"dtype\":\"F32\",\"shape\":[%d],\"data_offsets\":[4,%zu]},"
                    "\"few\":{\"dtype\":\"F32\",\"shape\":[1000],\"data_offsets\":[%zu,%zu]},"
                    "\"bytes\":{\"dtype\":\"U8\",\"shape\":[99],\"data_offsets\":[%zu,%zu]},"
                    "\"none\":{\"dtype\":\"F16\",\"shape\":[0],\"data_offsets\":[%zu,%zu]}}",
                    COUNT, 4 + all, 4 + all, 4004 + all, 4004 + all, 4103 + all, 4103 + all,
                    4103 + all)] = ' ';
    put(fd, &length, sizeof length);
    put(fd, header, sizeof header);
    put(fd, "odd", 4);
    put(fd, elements, all);
    put(fd, elements + 7, 4099);
    (void)gpr_open_path(context, path, NULL, &input);
    tap_ok(gpr_reduce_each(need(input), request, take_result, &told) == GPR_OK &&
               gpr_error_status(context) == GPR_OK &&
               same_as_alone(&told, input, request, operations),
           "all arrays, with quantiles");
    forget_results(&told);
    tap_ok(gpr_reduce_each(input, sum, take_result, &told) == GPR_OK &&
               same_as_alone(&told, input, sum, sums),
           "all arrays");
    forget_results(&told);
    told.end = 2;
    tap_ok(gpr_reduce_each(input, sum, take_result, &told) == GPR_ERROR_CANCELLED &&
               told.count == 2,
           "the function cancels: %s", gpr_error_text(context));
    forget_results(&told);
    told.end = 0;
    to_cancel = context;
    (void)signal(SIGUSR1, cancel_by_signal);
    status = gpr_reduce_each(input, sum, interrupt, &told);
    tap_ok(status == GPR_ERROR_CANCELLED && told.count == 2,
           "a signal cancels, after %zu arrays: %s", told.count, gpr_error_text(context));
    told.count = 0;
    (void)gpr_request_histogram(sum, 10, (double)NAN, (double)NAN);
    status = gpr_reduce_each(input, sum, interrupt, &told);
    tap_ok(status == GPR_ERROR_CANCELLED && told.count == 2,
           "also between reductions, after %zu arrays: %s", told.count, gpr_error_text(context));
    told.count = 0;
    tap_ok(gpr_reduce_each(input, sum, take_result, &told) == GPR_OK &&
               same_as_alone(&told, input, sum, sums),
           "all arrays, with a histogram of each");
    forget_results(&told);
    (void)gpr_request_new(context, &nothing);
    tap_ok(gpr_reduce_each(input, nothing, take_result, &told) == GPR_ERROR_ARGUMENT &&
               told.count == 0,
           "all arrays, for nothing: %s", gpr_error_text(context));
    memcpy(memmem(header, sizeof header, "few", 3), "new", 3);
    if (pwrite(fd, header, sizeof header, sizeof length) != (ssize_t)sizeof header)
        bail("a header");
    tap_ok(gpr_reduce_each(input, request, take_result, &told) == GPR_ERROR_CHANGED &&
               told.count == 2 && strstr(gpr_error_text(context), "changed"),
           "all arrays, of which one is another now: %s", gpr_error_text(context));
    forget_results(&told);
    gpr_close(input);
    input = open_elements(context, elements, "f32", 100, 0, 0);
    tap_ok(gpr_reduce_each(input, request, take_result, &told) == GPR_OK &&
               same_as_alone(&told, input, request, operations),
           "an input that is one array");
    forget_results(&told);
    gpr_close(input);
    close(fd);
    gpr_request_free(nothing);
    gpr_request_free(request);
    gpr_request_free(sum);
}

/* The meaning of stored numbers, by cards of FITS. */
static void test_meaning(gpr_context *context)
{
    static const char *const cards[] = {
        "SIMPLE  =                    T", "BITPIX  =                   16",
        "NAXIS   =                    1", "NAXIS1  =                    3",
        "BLANK   =               -32768", "BSCALE  =                  0.5",
        "BZERO   =                   10", "END"};
    char header[2880], data[2880] = {0, 1, 0, 2, (char)0x80, 0}, path[32], text[16];
    gpr_request *stored = ask(context, (const char *const[]){"sum", NULL});
    const int fd = make_file(path);

    memset(header, ' ', sizeof header);
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
        memcpy(header + 80 * i, cards[i], strlen(cards[i]));
    put(fd, header, sizeof header);
    put(fd, data, sizeof data);
    for (int i = 0; i < 2; i++) {
        gpr_input *input = NULL;
        gpr_result *result;
        double scale = 0, offset = -1, sum = 0;
        int given;

        (void)gpr_request_set(stored, GPR_STORED, (uint64_t)i);
        (void)gpr_open_path(context, path, stored, &input);
        given = gpr_array_scale(need(input), 0, &scale, &offset);
        tap_ok(given == !i && scale == (i ? 1 : 0.5) && offset == (i ? 0 : 10), "scale %g, %g",
               scale, offset);
        tap_ok(gpr_array_missing(input, 0, text, sizeof text) == (i ? 0 : 6) &&
                   strcmp(text, i ? "" : "-32768") == 0 &&
                   gpr_array_missing(input, 0, text, 3) == (i ? 0 : 6) &&
                   strcmp(text, i ? "" : "-3") == 0,
               "missing values: %s", text);
        result = need(reduce_and_close(input, 0, stored));
        tap_ok(gpr_result_double(result, "sum", &sum) == GPR_OK && sum == (i ? -32765 : 21.5),
               "a sum by these: %g", sum);
        gpr_result_free(result);
    }
    close(fd);
    gpr_request_free(stored);
}

/* Records of Fortran, whose format is read only by its name, as that and as raw numbers. */
static void test_format(gpr_context *context)
{
    static const struct {
        uint32_t before;
        float elements[2];
        uint32_t after;
    } records[] = {{8, {1.5F, 2.25F}, 8}, {8, {-1.0F, 0.0F}, 8}};
    static const struct {
        const char *format;
        double count;
    } formats[] = {{"fortran", 4}, {"raw", 8}};
    gpr_request *request = ask(context, (const char *const[]){"sum", "count", NULL});
    char path[32];
    const int fd = make_file(path);

    put(fd, records, sizeof records);
    (void)gpr_request_type(request, "f32", GPR_ORDER_NATIVE);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        gpr_input *input = NULL;
        gpr_result *result;
        double sum = 0, count = 0;

        tap_ok(gpr_request_format(request, formats[i].format) == GPR_OK &&
                   gpr_open_path(context, path, request, &input) == GPR_OK &&
                   strcmp(gpr_input_format(input), formats[i].format) == 0,
               "the format %s: %s", formats[i].format, gpr_error_text(context));
        result = need(reduce_and_close(need(input), 0, request));
        tap_ok(gpr_result_double(result, "sum", &sum) == GPR_OK &&
                   gpr_result_double(result, "count", &count) == GPR_OK && (i > 0 || sum == 2.75) &&
                   count == formats[i].count,
               "its elements: %g", sum);
        gpr_result_free(result);
    }
    tap_ok(gpr_request_format(request, "npy") == GPR_OK &&
               gpr_open_path(context, path, request, &(gpr_input *){NULL}) == GPR_ERROR_DATA,
           "a file of another format: %s", gpr_error_text(context));
    close(fd);
    gpr_request_free(request);
}

/*
 * Functions that stand for pipes.
 */

/* Bytes that a function gives, in pieces of many sizes. */
struct giver {
    gpr_context *context;
    const unsigned char *bytes;
    uint64_t size;      /* of all; after these comes the end */
    uint64_t fails_at;  /* from this byte on it returns `failure`; 0: it does not fail */
    int64_t failure;    /* added to the bytes that are asked for if it is not negative */
    uint64_t cancel_at; /* from this byte on it cancels; 0: never. It then gives bytes for ever */
    uint64_t given, calls, calls_after;
    bool ended, wrong; /* a call was not as it has to be */
};

static int64_t give(void *user, void *buffer, uint64_t size, uint64_t offset)
{
    struct giver *g = user;
    uint64_t left = g->size - g->given, count = 1 + g->calls * 7919 % 100000;

    g->calls++;
    g->wrong = g->wrong || offset != g->given || size == 0;
    if (g->cancel_at > 0 && offset >= g->cancel_at) {
        g->calls_after++;
        gpr_cancel(g->context);
        memset(buffer, 0, size);
        g->given += size;
        return (int64_t)size;
    }
    if (g->fails_at > 0 && offset >= g->fails_at)
        return g->failure < 0 ? g->failure : (int64_t)size + g->failure;
    if (g->fails_at > 0 && g->fails_at - offset < left)
        left = g->fails_at - offset;
    count = count < size ? count : size;
    count = count < left ? count : left;
    memcpy(buffer, g->bytes + offset, count);
    g->given += count;
    return (int64_t)count;
}

/* Opens a function. */
static gpr_input *open_giver(struct giver *g, const gpr_request *options)
{
    gpr_input *input = NULL;

    (void)gpr_open_callback(g->context, "numbers", give, g, options, &input);
    return input ? input : (bail(gpr_error_text(g->context)), NULL);
}

/* Reduces what a function gives, which has to fail with this status and text. */
static void check_giver_fails(struct giver g, const gpr_request *request, gpr_status status,
                              const char *text, const char *name)
{
    gpr_input *input = open_giver(&g, request);
    gpr_result *result = NULL;
    const gpr_status got = gpr_reduce(input, 0, request, &result);

    tap_ok(fails(g.context, got, status, text) && !result && !g.wrong && g.calls_after <= 1,
           "%s: %s", name, gpr_error_text(g.context));
    gpr_close(input);
}

static void test_callbacks(gpr_context *context, const float *elements, const gpr_result *expected)
{
    static unsigned char npy[128 + COUNT * sizeof(float)];
    static double sums[2][COUNT / 2];
    gpr_request *request = ask(context, file_operations);
    const unsigned char *bytes = (const unsigned char *)elements;
    const uint64_t size = COUNT * sizeof *elements;
    struct giver g = {.context = context, .bytes = bytes, .size = size};
    gpr_input *input, *other;
    gpr_result *result = NULL;
    void *const results[] = {sums[0], sums[1]};
    gpr_request *sum = ask(context, (const char *const[]){"sum", "max", NULL});
    uint64_t different = 9;
    bool good = true;

    (void)gpr_request_type(request, "f32", GPR_ORDER_NATIVE);
    input = open_giver(&g, request);
    tap_ok(g.calls == 0 && gpr_array_count(input, 0) == UINT64_MAX &&
               strcmp(gpr_input_format(input), "pipe") == 0 &&
               strcmp(gpr_array_dtype(input, 0), "f32") == 0,
           "a function is not called when it is opened");
    tap_ok(gpr_reduce(input, 0, request, &result) == GPR_OK &&
               same_texts(result, expected, file_operations) && !g.wrong && g.given == size &&
               g.calls > 50,
           "numbers from a function, in pieces: %s", gpr_error_text(context));
    gpr_result_free(result);
    result = NULL;
    tap_ok(fails(context, gpr_reduce(input, 0, request, &result), GPR_ERROR_ARGUMENT,
                 "numbers: a pipe can be reduced once"),
           "once");
    gpr_close(input);

    g = (struct giver){.context = context, .bytes = bytes, .size = size - 1};
    check_giver_fails(g, request, GPR_ERROR_DATA,
                      "numbers: byte 5999996: the last f32 element is cut off after 3 of 4 bytes",
                      "a part of an element at the end");
    g = (struct giver){
        .context = context, .bytes = bytes, .size = size, .fails_at = 1000001, .failure = -5};
    check_giver_fails(g, request, GPR_ERROR_READ, "numbers: read error at byte 1000001",
                      "a failure");
    tap_ok(gpr_error_offset(context) == 1000001, "its offset");
    g = (struct giver){.context = context, .bytes = bytes, .size = size, .cancel_at = 1};
    check_giver_fails(g, request, GPR_ERROR_CANCELLED, "cancelled", "cancelled near the beginning");
    g.cancel_at = 3000000;
    check_giver_fails(g, request, GPR_ERROR_CANCELLED, "cancelled", "cancelled in the middle");
    (void)gpr_context_set(context, GPR_MEMORY, (uint64_t)1 << 30);
    g.cancel_at = 0;
    check_giver_fails(g, request, GPR_ERROR_UNSUPPORTED,
                      "numbers: the memory for pipes and compressed data cannot be limited",
                      "a limit of memory");
    (void)gpr_context_set(context, GPR_MEMORY, 0);

    /* It returns more than there is room for. */
    g = (struct giver){
        .context = context, .bytes = bytes, .size = size, .fails_at = 4, .failure = 1};
    input = open_giver(&g, request);
    tap_ok(gpr_reduce(input, 0, request, &result) == GPR_ERROR_READ &&
               strstr(gpr_error_text(context), "numbers: read error at byte 4: the function "
                                               "returned "),
           "more bytes than were asked for: %s", gpr_error_text(context));
    gpr_close(input);

    /* A format, along an axis, compared, and as a part of a total. */
    memset(npy, ' ', 128);
    memcpy(npy, "\x93NUMPY\1\0\x76", 9);
    npy[9] = 0;
    npy[10 + snprintf((char *)npy + 10, 118,
                      "{'descr': '%cf4', 'fortran_order': False, 'shape': (%d, 2), }",
                      element_host_is_big() ? '>' : '<', COUNT / 2)] = ' ';
    npy[127] = '\n';
    memcpy(npy + 128, elements, size);
    g = (struct giver){.context = context, .bytes = npy, .size = 128 + size};
    input = open_giver(&g, NULL);
    tap_ok(gpr_reduce_axis(input, 0, sum, 1, results, COUNT / 2) == GPR_OK && !g.wrong,
           "along an axis: %s", gpr_error_text(context));
    for (int i = 0; i < COUNT / 2; i++) {
        const float *pair = elements + (size_t)2 * (size_t)i;

        good = good && sums[0][i] == (double)pair[0] + (double)pair[1] &&
               sums[1][i] == (double)(pair[0] > pair[1] ? pair[0] : pair[1]);
    }
    tap_ok(good, "its results");
    gpr_close(input);
    g.given = g.calls = 0;
    input = open_giver(&g, NULL);
    other = open_elements(context, elements, "f32", COUNT, 0, 0);
    tap_ok(gpr_diff_inputs(input, other, NULL, NULL, NULL, NULL, 0, &different) == GPR_OK &&
               different == 1,
           "compared with another shape: %s", gpr_error_text(context));
    gpr_close(input);
    g.given = g.calls = 0;
    input = open_giver(&g, NULL);
    tap_ok(gpr_total((gpr_input *const[]){input, other}, 2, request, &result) == GPR_OK,
           "a total: %s", gpr_error_text(context));
    gpr_result_free(result);
    gpr_close(input);
    gpr_close(other);
    gpr_request_free(request);
    gpr_request_free(sum);
}

static void test_files(gpr_context *context)
{
    static float elements[COUNT];
    const uint64_t shape[] = {COUNT};
    gpr_request *request = ask(context, file_operations);
    gpr_view *view = NULL;
    gpr_input *input = NULL;
    gpr_result *expected;

    data_fill(DATA_NORMAL, ELEMENT_F32, elements, COUNT, 3);
    if (gpr_view_new(context, &view) != GPR_OK ||
        gpr_view_set_data(view, elements, "f32", GPR_ORDER_NATIVE, 1, shape, NULL) != GPR_OK ||
        gpr_open_view(context, view, &input) != GPR_OK)
        bail(gpr_error_text(context));
    expected = need(reduce_and_close(input, 0, request));
    gpr_view_free(view);
    gpr_request_free(request);
    test_raw(context, elements, expected);
    test_container(context, elements, expected);
    test_each(context, elements);
    test_meaning(context);
    test_format(context);
    test_callbacks(context, elements, expected);
    gpr_result_free(expected);
}

/*
 * Totals, and what a call tells while it runs.
 */

#define PARTS 3

static void test_totals(gpr_context *context)
{
    static float elements[COUNT];
    static const uint64_t ends[] = {10, 700000, COUNT};
    static const char *const operations[] = {"sum",   "std",   "argmin", "argmax", "count",
                                             "range", "zeros", "median", "p10",    NULL};
    static const int16_t integers_of_2[] = {3, -1};
    static const double halves[] = {0.5, 0.25, -8};
    gpr_request *request = ask(context, operations), *sum = ask(context, operations);
    gpr_input *inputs[PARTS], *whole = open_elements(context, elements, "f32", COUNT, 0, 0);
    gpr_result *total = NULL, *expected = NULL;
    gpr_context *other = new_context();
    gpr_request *others = ask(other, numbers);
    uint64_t begin = 0, index;
    double value;

    data_fill(DATA_RANGE60, ELEMENT_F32, elements, COUNT, 9);
    for (size_t i = 0; i < PARTS; begin = ends[i++])
        inputs[i] = open_elements(context, elements + begin, "f32", ends[i] - begin, 0, 0);
    (void)gpr_request_histogram(request, 10, (double)NAN, (double)NAN);
    tap_ok(gpr_total(inputs, PARTS, request, &total) == GPR_OK &&
               gpr_reduce(whole, 0, request, &expected) == GPR_OK,
           "a total: %s", gpr_error_text(context));
    if (total && expected) {
        uint64_t a[10], b[10];

        tap_ok(same_texts(total, expected, operations), "is the result of the whole");
        tap_ok(gpr_result_histogram(total, a, NULL, NULL, NULL) == GPR_OK &&
                   gpr_result_histogram(expected, b, NULL, NULL, NULL) == GPR_OK &&
                   memcmp(a, b, sizeof a) == 0,
               "and its histogram");
    }
    gpr_result_free(total);
    gpr_result_free(expected);
    tap_ok(gpr_total(inputs, 0, request, &total) == GPR_ERROR_ARGUMENT, "a total of nothing: %s",
           gpr_error_text(context));
    tap_ok(gpr_total(inputs, 1, others, &total) == GPR_ERROR_ARGUMENT,
           "inputs of another context: %s", gpr_error_text(other));
    for (size_t i = 0; i < PARTS; i++)
        gpr_close(inputs[i]);
    gpr_close(whole);

    /* 10 x + 1/2: 30.5 and -9.5; and 0.5, 0.25, -8. */
    inputs[0] = open_elements(context, integers_of_2, "i16", 2, 10, 0.5);
    inputs[1] = open_elements(context, halves, "f64", 3, 0, 0);
    tap_ok(gpr_total(inputs, 2, sum, &total) == GPR_ERROR_UNSUPPORTED &&
               strstr(gpr_error_text(context), "of one type and scale"),
           "a median over two types: %s", gpr_error_text(context));
    gpr_request_free(sum);
    sum = ask(context, (const char *const[]){"sum", "argmin", "max", "summary", NULL});
    tap_ok(gpr_total(inputs, 2, sum, &total) == GPR_OK, "a total of two types: %s",
           gpr_error_text(context));
    if (total) {
        char text[64];
        int64_t exponent = 0;

        tap_ok(gpr_result_double(total, "sum", &value) == GPR_OK && value == 13.75 &&
                   gpr_result_double(total, "max", &value) == GPR_OK && value == 30.5 &&
                   gpr_result_count(total, "argmin", &index) == GPR_OK && index == 1 &&
                   gpr_result_exact(total, "sum", text, sizeof text, &exponent) == 2 &&
                   strcmp(text, "37") == 0 && exponent == -2,
               "its values");
        tap_ok(gpr_result_double(total, "median", &value) == GPR_ERROR_UNSUPPORTED &&
                   strstr(gpr_error_text(context), "of one type and scale"),
               "but no median of the summary: %s", gpr_error_text(context));
    }
    gpr_result_free(total);
    gpr_close(inputs[0]);
    gpr_close(inputs[1]);

    inputs[0] = open_elements(context, halves, "f64", 3, 1e308, 0);
    (void)gpr_request_histogram(sum, 10, (double)NAN, (double)NAN);
    tap_ok(gpr_total(inputs, 1, sum, &total) == GPR_ERROR_UNSUPPORTED &&
               strstr(gpr_error_text(context), "infinite"),
           "a histogram up to a scaled number beyond binary64: %s", gpr_error_text(context));
    gpr_close(inputs[0]);
    gpr_request_free(sum);
    gpr_request_free(request);
    gpr_request_free(others);
    gpr_context_free(other);
}

/* The calls of a progress function and of a log, which the thread that called has to make. */
struct heard {
    pthread_t thread;
    bool elsewhere; /* another thread has called */
    unsigned calls, most;
    uint64_t done, total;
    char text[256];
};

static int note_progress(void *user, uint64_t done, uint64_t total)
{
    struct heard *heard = user;

    heard->elsewhere = heard->elsewhere || !pthread_equal(heard->thread, pthread_self());
    heard->done = done;
    heard->total = total;
    return ++heard->calls > heard->most;
}

static void note_log(void *user, const char *text)
{
    struct heard *heard = user;

    heard->elsewhere = heard->elsewhere || !pthread_equal(heard->thread, pthread_self());
    snprintf(heard->text, sizeof heard->text, "%s", text);
}

/* Cancels a call that waits for a pipe. */
static void *cancel_soon(void *context)
{
    usleep(50000);
    gpr_cancel(context);
    return NULL;
}

static void test_calls(void)
{
    static float elements[COUNT];
    gpr_context *context = new_context();
    gpr_request *request = ask(context, (const char *const[]){"sum", NULL}), *median;
    gpr_input *input = open_elements(context, elements, "f32", COUNT, 0, 0);
    gpr_result *result = NULL;
    struct heard heard = {.thread = pthread_self(), .most = UINT_MAX};
    pthread_t thread;
    char path[32];
    int ends[2], fd;
    struct rng r;
    double sum;

    gpr_context_set_progress(context, note_progress, &heard);
    gpr_context_set_log(context, note_log, &heard);
    tap_ok(gpr_reduce(input, 0, request, &result) == GPR_OK && heard.calls > 0 &&
               heard.total == sizeof elements && heard.done <= heard.total && !heard.elsewhere,
           "progress: %u calls", heard.calls);
    gpr_result_free(result);
    heard.calls = heard.most = 0;
    tap_ok(gpr_reduce(input, 0, request, &result) == GPR_ERROR_CANCELLED &&
               strcmp(gpr_error_text(context), "cancelled") == 0 && heard.calls == 1,
           "a progress function that cancels");
    heard.most = UINT_MAX;
    tap_ok(gpr_reduce(input, 0, request, &result) == GPR_OK, "the next call is not cancelled");
    gpr_result_free(result);
    gpr_close(input);

    input = open_elements(context, elements, "f32", COUNT, 0, 0);
    (void)gpr_context_set(context, GPR_MEMORY, 1 << 20);
    tap_ok(gpr_reduce(input, 0, request, &result) == GPR_OK &&
               gpr_result_double(result, "sum", &sum) == GPR_OK && sum == 0,
           "a memory limit: %s", gpr_error_text(context));
    gpr_result_free(result);
    median = ask(context, (const char *const[]){"median", NULL});
    tap_ok(gpr_reduce(input, 0, median, &result) == GPR_ERROR_MEMORY, "one that is too low: %s",
           gpr_error_text(context));
    (void)gpr_context_set(context, GPR_MEMORY, 128 << 20);
    tap_ok(gpr_reduce(input, 0, median, &result) == GPR_OK, "and one that few elements leave: %s",
           gpr_error_text(context));
    gpr_result_free(result);
    gpr_close(input);
    input = NULL;
    fd = make_file(path);
    put(fd, elements, COUNT * sizeof *elements);
    (void)gpr_open_path(context, path, NULL, &input);
    tap_ok(gpr_reduce(need(input), 0, median, &result) == GPR_OK, "also in a file: %s",
           gpr_error_text(context));
    gpr_result_free(result);
    close(fd);
    gpr_request_free(median);
    (void)gpr_context_set(context, GPR_MEMORY, 0);
    gpr_close(input);

    if (pipe(ends) != 0)
        bail("a pipe");
    input = NULL;
    (void)gpr_open_fd(context, ends[0], NULL, &input);
    if (pthread_create(&thread, NULL, cancel_soon, context) != 0)
        bail("a thread");
    tap_ok(gpr_reduce(need(input), 0, request, &result) == GPR_ERROR_CANCELLED,
           "a call that waits for a pipe is cancelled by another thread");
    pthread_join(thread, NULL);
    gpr_close(input);
    close(ends[0]);
    close(ends[1]);

    fd = make_file(path);
    rng_seed(&r, 1);
    for (size_t i = 0; i < sizeof elements; i++)
        ((unsigned char *)elements)[i] = (unsigned char)rng_next(&r);
    put(fd, elements, sizeof elements);
    (void)gpr_request_type(request, "f32", GPR_ORDER_NATIVE);
    input = NULL;
    tap_ok(gpr_open_fd(context, fd, request, &input) == GPR_OK && heard.text[0] && !heard.elsewhere,
           "a warning: %s", heard.text);
    gpr_close(input);
    close(fd);

    fd = make_file(path);
    for (size_t i = 0; i < COUNT; i++) {
        const float number = 1 + (float)i;

        for (size_t k = 0; k < sizeof number; k++)
            ((unsigned char *)&elements[i])[k] = ((const unsigned char *)&number)[3 - k];
    }
    put(fd, elements, sizeof elements);
    tap_ok(gpr_open_fd(context, fd, request, &input) == GPR_OK &&
               strstr(heard.text, "; try in GPR_ORDER_"),
           "one of the order of bytes: %s", heard.text);
    gpr_close(input);
    close(fd);
    gpr_request_free(request);
    gpr_context_free(context);
}

/*
 * Several contexts at a time, each in a thread.
 */

#define THREADS 3
#define SHARED 60

/* Samples that all threads reduce, and what the first context made of them. */
struct shared {
    struct sample samples[SHARED];
    double values[SHARED][3];
};

/* Reduces all samples: the values, or whether they are the same as those. */
static bool reduce_all(gpr_context *context, struct shared *shared, bool compare)
{
    static const char *const operations[] = {"sum", "std", "argmin", NULL};
    bool good = true;

    for (size_t i = 0; i < SHARED; i++) {
        gpr_input *input = open_sample(context, &shared->samples[i]);
        gpr_request *request = ask(context, operations);
        gpr_result *result = NULL;
        double value;

        if (gpr_reduce(input, 0, request, &result) != GPR_OK)
            bail(gpr_error_text(context));
        for (size_t k = 0; operations[k]; k++) {
            good = gpr_result_double(result, operations[k], &value) == GPR_OK && good;
            if (!compare)
                shared->values[i][k] = value;
            good = oracle_same(value, shared->values[i][k]) && good;
        }
        gpr_result_free(result);
        gpr_request_free(request);
        gpr_close(input);
    }
    return good;
}

static void *reduce_in_thread(void *argument)
{
    gpr_context *context = new_context();
    bool good;

    (void)gpr_context_set(context, GPR_THREADS, 2);
    good = reduce_all(context, argument, true);
    gpr_context_free(context);
    return good ? argument : NULL;
}

static void test_threads(gpr_context *context)
{
    static struct shared shared;
    pthread_t threads[THREADS];
    bool good = true;
    struct rng r;
    void *result;

    rng_seed(&r, 5);
    for (size_t i = 0; i < SHARED; i++)
        make_sample(&shared.samples[i], &r, (enum element_type)(i % ELEMENT_TYPES),
                    i % 3 == 0 ? 300000 : 1000, (enum data_kind)(i % DATA_KINDS));
    (void)reduce_all(context, &shared, false);
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, reduce_in_thread, &shared) != 0)
            bail("a thread");
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &result);
        good = good && result;
    }
    tap_ok(good, "contexts in several threads at a time");
    for (size_t i = 0; i < SHARED; i++)
        free_sample(&shared.samples[i]);
}

/* Functions that do not read device memory refuse it, and nothing takes memory of the host for it,
   with and without CUDA. */
static void test_devices(gpr_context *context)
{
    static const float elements[] = {1, 2, 3, 4};
    static double sums[1] = {-1};
    void *const rows[] = {sums};
    const uint64_t count = 4;
    gpr_request *request = ask(context, (const char *const[]){"sum", NULL});
    gpr_accumulator *bag = NULL, *other = NULL;
    gpr_input *input = NULL, *host = open_elements(context, elements, "f32", count, 0, 0);
    gpr_result *result = NULL;
    gpr_view *view = NULL;
    gpr_status status;

    if (gpr_view_new(context, &view) != GPR_OK ||
        gpr_view_set_data(view, elements, "f32", GPR_ORDER_NATIVE, 1, &count, NULL) != GPR_OK ||
        gpr_view_set_memory(view, GPR_MEMORY_CUDA, 0, NULL) != GPR_OK ||
        gpr_open_view(context, view, &input) != GPR_OK ||
        gpr_accumulator_new(context, "f32", request, &bag) != GPR_OK ||
        gpr_accumulator_new(context, "f32", request, &other) != GPR_OK)
        bail(gpr_error_text(context));
    status = gpr_reduce(input, 0, request, &result);
    tap_ok((status == GPR_ERROR_UNSUPPORTED || status == GPR_ERROR_DEVICE) && !result,
           "a view of device memory that is none: %s", gpr_error_text(context));
    status = gpr_accumulator_add_device(bag, elements, count, NULL);
    tap_ok(status == GPR_ERROR_UNSUPPORTED || status == GPR_ERROR_DEVICE,
           "an accumulator of such: %s", gpr_error_text(context));
    tap_ok(gpr_accumulator_add_input(bag, host, 0) == GPR_OK, "it can still be placed: %s",
           gpr_error_text(context));
    tap_ok(gpr_accumulator_add(other, view) == GPR_ERROR_UNSUPPORTED &&
               gpr_accumulator_add_at(other, view, 0) == GPR_ERROR_UNSUPPORTED &&
               gpr_accumulator_add_input(other, input, 0) == GPR_ERROR_UNSUPPORTED,
           "accumulators refuse such views: %s", gpr_error_text(context));
    status = gpr_total(&input, 1, request, &result);
    tap_ok((status == GPR_ERROR_UNSUPPORTED || status == GPR_ERROR_DEVICE) && !result,
           "and totals: %s", gpr_error_text(context));
    status = gpr_reduce_axis(input, 0, request, 0, rows, 1);
    tap_ok((status == GPR_ERROR_UNSUPPORTED || status == GPR_ERROR_DEVICE) && sums[0] == -1,
           "and reductions along an axis: %s", gpr_error_text(context));
    status = gpr_diff_inputs(host, input, NULL, NULL, NULL, NULL, 0, NULL);
    tap_ok((status == GPR_ERROR_UNSUPPORTED || status == GPR_ERROR_DEVICE) &&
               gpr_diff_inputs(input, host, NULL, NULL, NULL, NULL, 0, NULL) == status,
           "and comparisons: %s", gpr_error_text(context));
    gpr_accumulator_free(bag);
    gpr_accumulator_free(other);
    gpr_close(input);
    gpr_close(host);
    gpr_view_free(view);
    gpr_request_free(request);
}

int main(void)
{
    gpr_context *context = new_context();

    test_contexts();
    test_requests();
    (void)gpr_context_set(context, GPR_THREADS, 3);
    test_views(context);
    test_memory(context);
    test_no_scale(context);
    test_uncounted(context);
    test_exact(context);
    test_histogram(context);
    test_files(context);
    test_totals(context);
    test_devices(context);
    test_calls();
    test_threads(context);
    gpr_context_free(context);
    return tap_done();
}
