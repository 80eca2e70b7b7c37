/*
 * Accumulators of gpureduce.h: arrays of all types are cut at random into pieces, which come with
 * strides, in either byte order and with masks, in any order and by several accumulators that are merged
 * and sent as lines. The results are those that a plain loop and the oracle find of all elements.
 */
/* Tags: ports */
#include "config.h"

#include <gpureduce.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/digest.h"
#include "lib/allocate.h"
#include "lib/data_gen.h"
#include "lib/oracle.h"
#include "lib/reference.h"
#include "lib/sanitized.h"
#include "lib/tap.h"
#include "sys/clock.h"

#define ELEMENTS_MAX 3000
#define PIECES_MAX 40
#define ACCUMULATORS 4

static gpr_context *context;

static const char *const numbers[] = {"sum",   "mean", "min", "max",    "var",    "std",
                                      "sumsq", "rms",  "l1",  "absmax", "absmin", "range"};
static const char *const counts[] = {"count", "nan", "inf", "zeros", "negatives", "subnormals"};
static const char *const places[] = {"argmin", "argmax"};

#define LENGTH(list) (sizeof(list) / sizeof *(list))

static gpr_request *make_request(bool placed, const char *missing)
{
    gpr_request *request = NULL;
    bool good = gpr_request_new(context, &request) == GPR_OK;

    for (size_t i = 0; i < LENGTH(numbers); i++)
        good = good && gpr_request_op(request, numbers[i]) == GPR_OK;
    for (size_t i = 0; i < LENGTH(counts); i++)
        good = good && gpr_request_op(request, counts[i]) == GPR_OK;
    for (size_t i = 0; i < LENGTH(places) && placed; i++)
        good = good && gpr_request_op(request, places[i]) == GPR_OK;
    good = good && gpr_request_op(request, "missing") == GPR_OK;
    good = good && (!missing || gpr_request_missing(request, missing) == GPR_OK);
    if (!good)
        bail("a request");
    return request;
}

/* An array, and which of its elements are there. */
struct array {
    enum element_type type;
    size_t n, present;
    unsigned char *data;          /* in this machine's byte order */
    unsigned char *others;        /* the elements that are present */
    bool missing[ELEMENTS_MAX];   /* by a mask */
    uint64_t place[ELEMENTS_MAX]; /* of the present ones */
    struct reference expected;    /* of these */
};

static void fill(struct array *a, struct rng *rng, bool masked)
{
    const size_t size = element_size(a->type);

    a->n = rng_below(rng, 8) == 0 ? rng_below(rng, 3) : rng_below(rng, ELEMENTS_MAX);
    if (element_is_float(a->type)) {
        data_fill((enum data_kind)rng_below(rng, DATA_KINDS), a->type, a->data, a->n,
                  rng_next(rng));
        for (uint64_t k = a->n > 0 ? rng_below(rng, 3) * rng_below(rng, 3) : 0; k > 0; k--)
            data_put_special(a->type, a->data, (size_t)rng_below(rng, a->n),
                             (enum data_special)rng_below(rng, DATA_SPECIALS));
    } else {
        const uint64_t kept = rng_below(rng, 2) ? UINT64_MAX : 7;

        for (size_t i = 0; i < a->n; i++) {
            const uint64_t bits = rng_next(rng) & kept;

            memcpy(a->data + i * size,
                   (const char *)&bits + (element_host_is_big() ? sizeof bits - size : 0), size);
        }
    }
    a->present = 0;
    for (size_t i = 0; i < a->n; i++) {
        a->missing[i] = masked && rng_below(rng, 4) == 0;
        if (a->missing[i])
            continue;
        memcpy(a->others + a->present * size, a->data + i * size, size);
        a->place[a->present++] = i;
    }
    reference_reduce(&a->expected, a->type, a->others, a->present, 0);
    if (reference_moments_is_known(a->type))
        reference_moments(&a->expected, a->type, a->others, a->present, 0);
}

/* Adds elements `begin` to `end` of an array to an accumulator, by a view of a copy that lies otherwise. */
static gpr_status add(gpr_accumulator *acc, const struct array *a, size_t begin, size_t end,
                      bool placed, bool masked, struct rng *rng)
{
    const size_t size = element_size(a->type), count = end - begin;
    const size_t step = rng_below(rng, 2) ? 1 : 1 + rng_below(rng, 3);
    const size_t columns = rng_below(rng, 2) || count == 0 ? 0 : 1 + rng_below(rng, 5);
    const bool reverse = rng_below(rng, 3) == 0, swap = rng_below(rng, 3) == 0;
    const gpr_mask form = (gpr_mask)(1 + rng_below(rng, 3));
    const uint64_t offset = rng_below(rng, 20);
    const size_t rows = columns > 0 ? count / columns : 0;
    unsigned char *copy = allocate_exactly(count * step * size + 1);
    unsigned char *mask = allocate_exactly(offset + count);
    uint64_t shape[2] = {count, 1};
    int64_t strides[2] = {(int64_t)(step * size), (int64_t)(step * size)};
    unsigned rank = 1;
    unsigned char *first = copy + 1; /* not aligned */
    gpr_view *view;
    gpr_status status;

    memset(copy, 0xa5, count * step * size + 1);
    memset(mask, 0x5a, offset + count);
    if (columns > 0 && rows * columns == count) { /* a transposed matrix */
        rank = 2;
        shape[0] = columns;
        shape[1] = rows;
        strides[0] = (int64_t)(step * size);
        strides[1] = (int64_t)(columns * step * size);
    } else if (reverse && count > 0) {
        first += (count - 1) * step * size;
        strides[0] = -strides[0];
    }
    for (size_t i = 0; i < count; i++) {
        const size_t row = rank == 2 ? i / rows : i, column = rank == 2 ? i % rows : 0;
        unsigned char *to =
            first + (int64_t)row * strides[0] + (int64_t)column * strides[1] * (rank == 2);
        const bool missing = a->missing[begin + i];
        const uint64_t at = offset + i;

        element_swap(to, a->data + (begin + i) * size, 1, swap ? size : 1);
        if (!swap)
            memcpy(to, a->data + (begin + i) * size, size);
        if (form == GPR_MASK_VALID_BITS)
            mask[at / 8] =
                (unsigned char)((mask[at / 8] & ~(1u << at % 8)) | (unsigned)!missing << at % 8);
        else
            mask[at] = (form == GPR_MASK_MISSING_BYTES) == missing
                           ? (unsigned char)(1 + rng_below(rng, 255))
                           : 0;
    }
    if (gpr_view_new(context, &view) != GPR_OK ||
        gpr_view_set_data(view, first, element_name(a->type),
                          swap != element_host_is_big() ? GPR_ORDER_BIG : GPR_ORDER_LITTLE, rank,
                          shape, strides) != GPR_OK ||
        (masked && gpr_view_set_mask(view, form, mask, offset) != GPR_OK))
        bail("a view");
    status = placed ? gpr_accumulator_add_at(acc, view, begin) : gpr_accumulator_add(acc, view);
    gpr_view_free(view);
    free(copy);
    free(mask);
    return status;
}

/* Sends an accumulator as a line. */
static gpr_accumulator *send(gpr_accumulator *acc, const gpr_request *request)
{
    char line[4096], again[4096];
    const size_t length = gpr_accumulator_write(acc, line, sizeof line);
    gpr_accumulator *read = NULL;

    if (length == 0 || gpr_accumulator_read(context, line, length, request, &read) != GPR_OK ||
        gpr_accumulator_write(read, again, sizeof again) != length || strcmp(line, again) != 0)
        return NULL;
    gpr_accumulator_free(acc);
    return read;
}

/* The first difference from what is expected; NULL if there is none. */
static const char *differs(const gpr_result *result, const struct array *a, bool placed)
{
    const struct result *e = &a->expected.policy[0];
    const double number[] = {e->sum,   e->mean, e->min, e->max,    e->var,    e->std,
                             e->sumsq, e->rms,  e->l1,  e->absmax, e->absmin, e->range};
    const uint64_t count[] = {a->present, e->nan,       e->infinity,
                              e->zeros,   e->negatives, e->subnormals};
    const uint64_t place[] = {e->argmin, e->argmax};
    const bool moments = reference_moments_is_known(a->type);
    uint64_t n;
    double x;

    for (size_t i = 0; i < LENGTH(numbers); i++)
        if ((i < 4 || moments) &&
            (gpr_result_double(result, numbers[i], &x) != GPR_OK || !oracle_same(x, number[i])))
            return numbers[i];
    for (size_t i = 0; i < LENGTH(counts); i++)
        if ((i < 3 || moments) &&
            (gpr_result_count(result, counts[i], &n) != GPR_OK || n != count[i]))
            return counts[i];
    if (gpr_result_count(result, "missing", &n) != GPR_OK || n != a->n - a->present)
        return "missing";
    for (size_t i = 0; i < LENGTH(places) && placed; i++)
        if (gpr_result_count(result, places[i], &n) != GPR_OK ||
            n != (place[i] < a->present ? a->place[place[i]] : UINT64_MAX))
            return places[i];
    return NULL;
}

/* Whether a result has the digest of an array. */
static bool has_digest(const gpr_result *result, const struct array *a)
{
    struct digest_sum *sum = allocate(sizeof *sum);
    char expected[DIGEST_TEXT_MAX], found[DIGEST_TEXT_MAX];

    digest_sum_open(sum, digest_add_pairs, a->type);
    digest_sum_take(sum, a->data, a->n, 0);
    digest_show(expected, &(struct digest_value){digest_sum_find(sum), a->n, a->type});
    free(sum);
    return gpr_result_text(result, "digest", found, sizeof found) > 0 &&
           strcmp(found, expected) == 0;
}

/* Cuts an array into pieces, and has them added in any order by several accumulators, which are merged
   in any order. */
static void check_splits(struct array *a, struct rng *rng, bool placed, bool masked,
                         struct tap_family *family)
{
    const bool digested = placed && !masked;
    gpr_request *request = make_request(placed, NULL);
    gpr_accumulator *acc[ACCUMULATORS];
    size_t cuts[PIECES_MAX + 1], order[PIECES_MAX], pieces = 1 + rng_below(rng, PIECES_MAX), left;
    gpr_result *result = NULL;
    const char *difference;
    bool good = true;

    if (digested && gpr_request_op(request, "digest") != GPR_OK)
        bail("a request");
    fill(a, rng, masked);
    cuts[0] = 0;
    cuts[pieces] = a->n;
    for (size_t i = 1; i < pieces; i++)
        cuts[i] = rng_below(rng, a->n + 1);
    for (size_t i = 1; i < pieces; i++)
        for (size_t k = i; k > 1 && cuts[k] < cuts[k - 1]; k--) {
            const size_t cut = cuts[k];

            cuts[k] = cuts[k - 1];
            cuts[k - 1] = cut;
        }
    for (size_t i = 0; i < pieces; i++)
        order[i] = i;
    rng_shuffle(rng, order, pieces, sizeof *order);
    for (size_t i = 0; i < ACCUMULATORS; i++)
        if (gpr_accumulator_new(context, element_name(a->type), request, &acc[i]) != GPR_OK)
            bail("an accumulator");
    for (size_t i = 0; i < pieces; i++)
        good = good && add(acc[rng_below(rng, ACCUMULATORS)], a, cuts[order[i]], cuts[order[i] + 1],
                           placed, masked, rng) == GPR_OK;
    for (left = ACCUMULATORS; left > 1; left--) {
        const size_t from = rng_below(rng, left), to = rng_below(rng, left - 1);
        gpr_accumulator *merged = acc[from];

        acc[from] = acc[left - 1];
        good = good && gpr_accumulator_merge(acc[to], merged) == GPR_OK;
        gpr_accumulator_free(merged);
        /* A line has 16 ranges at most. */
        if (rng_below(rng, 2) && good && (!placed || pieces <= 16)) {
            gpr_accumulator *sent = send(acc[to], request);

            good = sent;
            acc[to] = sent ? sent : acc[to];
        }
    }
    good = good && gpr_accumulator_snapshot(acc[0], &result) == GPR_OK;
    difference = good ? differs(result, a, placed) : gpr_error_text(context);
    if (!difference && digested && !has_digest(result, a))
        difference = "digest";
    tap_case(family, !difference, "%s of %s, %zu elements in %zu pieces%s%s",
             difference ? difference : "", element_name(a->type), a->n, pieces,
             placed ? ", placed" : "", masked ? ", masked" : "");
    gpr_result_free(result);
    gpr_accumulator_free(acc[0]);
    gpr_request_free(request);
}

static void test_splits(void)
{
    struct array *a = allocate(sizeof *a);
    struct rng rng;

    rng_seed(&rng, 3939);
    a->data = allocate((size_t)ELEMENTS_MAX * 8);
    a->others = allocate((size_t)ELEMENTS_MAX * 8);
    for (int type = 0; type < ELEMENT_TYPES; type++) {
        struct tap_family family = {0};

        a->type = (enum element_type)type;
        for (int turn = 0; turn < (SANITIZED ? 12 : 60); turn++)
            check_splits(a, &rng, turn % 2, turn / 2 % 2, &family);
        tap_family_end(&family, "%s", element_name(a->type));
    }
    free(a->data);
    free(a->others);
    free(a);
}

/* A view of contiguous numbers. */
static gpr_view *view_of(const void *data, const char *dtype, uint64_t count)
{
    gpr_view *view;

    if (gpr_view_new(context, &view) != GPR_OK ||
        gpr_view_set_data(view, data, dtype, GPR_ORDER_NATIVE, 1, &count, NULL) != GPR_OK)
        bail("a view");
    return view;
}

static gpr_accumulator *accumulator_of(const char *dtype, const gpr_request *request)
{
    gpr_accumulator *acc;

    if (gpr_accumulator_new(context, dtype, request, &acc) != GPR_OK)
        bail(gpr_error_text(context));
    return acc;
}

/* A value of what an accumulator has; 1e99 without one. */
static double value(gpr_accumulator *acc, const char *op)
{
    gpr_result *result;
    double x = 1e99;

    if (gpr_accumulator_snapshot(acc, &result) != GPR_OK)
        return x;
    (void)gpr_result_double(result, op, &x);
    gpr_result_free(result);
    return x;
}

/* Additions and merges that are refused, and leave the accumulator as it was. */
static void test_refusals(void)
{
    static const float x[] = {1, 2, 3, 4};
    static const double y[] = {5};
    gpr_request *request = make_request(true, NULL), *bags = make_request(false, "3"), *others;
    gpr_accumulator *acc = accumulator_of("f32", request), *bag = accumulator_of("f32", bags);
    gpr_accumulator *placed = accumulator_of("f32", bags), *other = NULL;
    gpr_view *four = view_of(x, "f32", 4), *one = view_of(y, "f64", 1), *scaled;
    char line[4096], short_line[10];
    size_t length;

    tap_ok(gpr_accumulator_add(acc, four) == GPR_ERROR_ARGUMENT &&
               strstr(gpr_error_text(context), "argmin"),
           "a bag has no indices: %s", gpr_error_text(context));
    tap_ok(gpr_accumulator_add_at(acc, one, 0) == GPR_ERROR_ARGUMENT, "another type: %s",
           gpr_error_text(context));
    tap_ok(gpr_accumulator_add_at(acc, four, UINT64_MAX - 1) == GPR_ERROR_ARGUMENT &&
               gpr_accumulator_add_at(acc, four, INT64_MAX - 3) == GPR_ERROR_ARGUMENT,
           "beyond all indices: %s", gpr_error_text(context));
    tap_ok(gpr_accumulator_add_at(acc, four, 10) == GPR_OK &&
               gpr_accumulator_add_at(acc, four, 7) == GPR_ERROR_ARGUMENT &&
               strcmp(gpr_error_text(context), "element 10 has been added before") == 0 &&
               gpr_accumulator_add_at(acc, four, 13) == GPR_ERROR_ARGUMENT &&
               strcmp(gpr_error_text(context), "element 13 has been added before") == 0 &&
               gpr_accumulator_add_at(acc, four, 14) == GPR_OK,
           "an element that has been added");
    tap_ok(value(acc, "sum") == 20 && value(acc, "argmin") == 10 && value(acc, "argmax") == 13 &&
               value(acc, "count") == 8,
           "what was refused is not added");
    tap_ok(gpr_accumulator_merge(acc, acc) == GPR_ERROR_ARGUMENT, "twice the same: %s",
           gpr_error_text(context));
    tap_ok(gpr_accumulator_merge(acc, bag) == GPR_ERROR_ARGUMENT, "another request: %s",
           gpr_error_text(context));

    for (int i = 0; i < 2; i++) {
        others = make_request(false, "3");
        (void)gpr_request_set(others, i == 0 ? GPR_DDOF : GPR_NAN, 1);
        other = accumulator_of("f32", others);
        tap_ok(gpr_accumulator_merge(bag, other) == GPR_ERROR_ARGUMENT, "another %s: %s",
               i == 0 ? "ddof" : "treatment of NaNs", gpr_error_text(context));
        gpr_accumulator_free(other);
        gpr_request_free(others);
    }
    other = NULL;
    tap_ok(gpr_accumulator_add(bag, four) == GPR_OK && gpr_accumulator_add(bag, four) == GPR_OK &&
               value(bag, "sum") == 14 && value(bag, "missing") == 2,
           "a bag takes elements again, but for a missing value");
    tap_ok(gpr_accumulator_add_at(bag, four, 0) == GPR_ERROR_ARGUMENT, "a bag takes no places: %s",
           gpr_error_text(context));
    tap_ok(gpr_accumulator_merge(bag, bag) == GPR_OK && value(bag, "sum") == 28, "twice a bag");
    tap_ok(gpr_accumulator_add_at(placed, four, 0) == GPR_OK &&
               gpr_accumulator_merge(bag, placed) == GPR_ERROR_ARGUMENT &&
               gpr_accumulator_merge(placed, bag) == GPR_ERROR_ARGUMENT,
           "a bag and places: %s", gpr_error_text(context));
    scaled = view_of(x, "f32", 4);
    if (gpr_view_set_scale(scaled, 0.5, 1) != GPR_OK)
        bail("a scale");
    tap_ok(gpr_accumulator_add(bag, scaled) == GPR_ERROR_ARGUMENT, "another scale: %s",
           gpr_error_text(context));
    tap_ok(gpr_accumulator_clear(bag) == GPR_OK &&
               gpr_accumulator_add_at(bag, scaled, 5) == GPR_OK && value(bag, "sum") == 6.5 &&
               value(bag, "zeros") == 0,
           "after it is cleared it takes all");

    others = make_request(false, NULL);
    (void)gpr_request_op(others, "median");
    tap_ok(gpr_accumulator_new(context, "f32", others, &other) == GPR_ERROR_UNSUPPORTED && !other,
           "no quantiles: %s", gpr_error_text(context));
    tap_ok(gpr_accumulator_new(context, "f31", bags, &other) == GPR_ERROR_ARGUMENT && !other,
           "no such type: %s", gpr_error_text(context));
    gpr_request_free(others);
    others = make_request(false, "1.5");
    tap_ok(gpr_accumulator_new(context, "i32", others, &other) == GPR_ERROR_ARGUMENT && !other,
           "a missing value that the type lacks: %s", gpr_error_text(context));

    length = gpr_accumulator_write(placed, line, sizeof line);
    tap_ok(gpr_accumulator_write(placed, short_line, sizeof short_line) == length &&
               strlen(short_line) == 9 && strncmp(line, short_line, 9) == 0 &&
               gpr_accumulator_write(placed, NULL, 0) == length,
           "a line is cut");
    tap_ok(gpr_accumulator_read(context, line, length, others, &other) == GPR_ERROR_ARGUMENT &&
               !other,
           "of other missing values: %s", gpr_error_text(context));
    tap_ok(gpr_accumulator_read(context, line, length, request, &other) == GPR_ERROR_ARGUMENT &&
               !other,
           "of none: %s", gpr_error_text(context));
    tap_ok(gpr_accumulator_read(context, line, length - 1, bags, &other) == GPR_ERROR_DATA &&
               !other,
           "cut off: %s", gpr_error_text(context));
    gpr_request_free(others);
    others = make_request(true, "3");
    tap_ok(gpr_accumulator_read(context, line, length, others, &other) == GPR_ERROR_UNSUPPORTED &&
               !other,
           "without what is asked for: %s", gpr_error_text(context));
    for (uint64_t i = 0; i < 17; i++)
        if (gpr_accumulator_add_at(placed, four, 100 * i + 50) != GPR_OK)
            bail("an addition");
    tap_ok(gpr_accumulator_write(placed, line, sizeof line) == 0 &&
               gpr_error_status(context) == GPR_ERROR_UNSUPPORTED,
           "too many ranges: %s", gpr_error_text(context));
    gpr_request_free(others);
    gpr_view_free(scaled);
    gpr_view_free(one);
    gpr_view_free(four);
    gpr_accumulator_free(placed);
    gpr_accumulator_free(bag);
    gpr_accumulator_free(acc);
    gpr_accumulator_free(NULL);
    gpr_request_free(bags);
    gpr_request_free(request);
}

/* Elements, and none of a larger array: merged in either order, it is a part of that array. */
static void test_empty_merges(void)
{
    static const float x[] = {1, 2, 3, 4};
    gpr_request *request = make_request(false, NULL);
    gpr_view *four = view_of(x, "f32", 4), *none = view_of(x, "f32", 0);
    char lines[2][4096];

    for (int order = 0; order < 2; order++) {
        gpr_accumulator *some = accumulator_of("f32", request);
        gpr_accumulator *empty = accumulator_of("f32", request);

        if (gpr_accumulator_add_at(some, four, 2) != GPR_OK ||
            gpr_accumulator_add_at(empty, none, 0) != GPR_OK ||
            gpr_accumulator_set_array(empty, "file", "array", 9) != GPR_OK ||
            gpr_accumulator_merge(order == 0 ? some : empty, order == 0 ? empty : some) != GPR_OK ||
            gpr_accumulator_write(order == 0 ? some : empty, lines[order], sizeof *lines) == 0)
            bail(gpr_error_text(context));
        gpr_accumulator_free(some);
        gpr_accumulator_free(empty);
    }
    tap_ok(strcmp(lines[0], lines[1]) == 0 && strstr(lines[0], "file") &&
               strstr(lines[0], "\"of\":9"),
           "merged with no elements of a larger array: %s", lines[0]);
    gpr_view_free(none);
    gpr_view_free(four);
    gpr_request_free(request);
}

static int cancel_at_once(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    (void)done;
    (void)total;
    return 1;
}

/* Digests of views that a session reduces, and those that are refused. */
static void test_digests(void)
{
    const uint64_t shape[2] = {700, 900};
    const int64_t strides[2] = {8, 5600};
    const size_t count = 630000;
    const uint64_t begin = 200, rest = count - begin, forever = (uint64_t)1 << 50;
    const int64_t nowhere = 0;
    const unsigned char mask[4] = {0};
    double *x = allocate(count * sizeof *x), *turned = allocate(count * sizeof *turned);
    char expected[100], found[100], cut[8];
    gpr_request *request, *axis;
    gpr_view *views[2], *masked = view_of(x, "f64", 4);
    gpr_input *inputs[2], *hidden;
    gpr_result *result[2], *none = NULL;
    gpr_accumulator *acc;
    double value;
    void *rows = x;

    if (gpr_request_new(context, &request) != GPR_OK || gpr_request_new(context, &axis) != GPR_OK ||
        gpr_request_op(request, "digest") != GPR_OK || gpr_request_op(axis, "digest") != GPR_OK)
        bail("a request");
    for (size_t i = 0; i < count; i++)
        x[i] = (double)i;
    for (size_t i = 0; i < 700; i++)
        for (size_t k = 0; k < 900; k++)
            turned[k * 700 + i] = x[i * 900 + k];
    views[0] = view_of(x, "f64", count);
    if (gpr_view_new(context, &views[1]) != GPR_OK ||
        gpr_view_set_data(views[1], turned, "f64", GPR_ORDER_NATIVE, 2, shape, strides) != GPR_OK ||
        gpr_view_set_mask(masked, GPR_MASK_MISSING_BYTES, mask, 0) != GPR_OK ||
        gpr_open_view(context, masked, &hidden) != GPR_OK)
        bail("a view");
    for (int i = 0; i < 2; i++)
        if (gpr_open_view(context, views[i], &inputs[i]) != GPR_OK ||
            gpr_reduce(inputs[i], 0, request, &result[i]) != GPR_OK)
            bail(gpr_error_text(context));
    tap_ok(gpr_result_text(result[0], "digest", expected, sizeof expected) > 40 &&
               gpr_result_text(result[1], "digest", found, sizeof found) > 40 &&
               strcmp(expected, found) == 0 && strncmp(found, "f64:630000:", 11) == 0,
           "the order in memory does not matter: %s", found);
    tap_ok(gpr_result_text(result[0], "digest", cut, sizeof cut) == strlen(expected) &&
               strcmp(cut, "f64:630") == 0,
           "a text that is cut");
    tap_ok(gpr_result_double(result[0], "digest", &value) == GPR_ERROR_ARGUMENT, "no number: %s",
           gpr_error_text(context));
    tap_ok(gpr_reduce(hidden, 0, request, &none) == GPR_ERROR_UNSUPPORTED, "masked: %s",
           gpr_error_text(context));
    tap_ok(gpr_total(inputs, 2, request, &none) == GPR_ERROR_UNSUPPORTED, "of two: %s",
           gpr_error_text(context));
    tap_ok(gpr_reduce_axis(inputs[1], 0, axis, 0, &rows, 900) == GPR_ERROR_UNSUPPORTED,
           "along an axis: %s", gpr_error_text(context));
    acc = accumulator_of("f64", request);
    tap_ok(gpr_accumulator_add(acc, views[0]) == GPR_ERROR_ARGUMENT, "of a bag: %s",
           gpr_error_text(context));
    tap_ok(gpr_accumulator_add_at(acc, masked, 0) == GPR_ERROR_UNSUPPORTED, "masked: %s",
           gpr_error_text(context));
    gpr_result_free(result[1]);
    tap_ok(gpr_accumulator_add_at(acc, views[1], 5) == GPR_OK &&
               gpr_accumulator_snapshot(acc, &result[1]) == GPR_OK &&
               gpr_result_text(result[1], "digest", found, sizeof found) == 0 &&
               gpr_error_status(context) == GPR_ERROR_UNSUPPORTED,
           "of a part: %s", gpr_error_text(context));
    tap_ok(gpr_result_double(result[1], "digest", &value) == GPR_ERROR_ARGUMENT,
           "which is no number either: %s", gpr_error_text(context));
    gpr_result_free(result[1]);
    gpr_accumulator_free(acc);
    acc = accumulator_of("f64", request);
    tap_ok(gpr_view_set_data(masked, x + 200, "f64", GPR_ORDER_NATIVE, 1, &rest, NULL) == GPR_OK &&
               gpr_view_set_mask(masked, GPR_MASK_NONE, NULL, 0) == GPR_OK &&
               gpr_accumulator_add_at(acc, masked, 200) == GPR_OK &&
               gpr_view_set_data(masked, x, "f64", GPR_ORDER_NATIVE, 1, &begin, NULL) == GPR_OK &&
               gpr_accumulator_add_at(acc, masked, 0) == GPR_OK &&
               gpr_accumulator_snapshot(acc, &result[1]) == GPR_OK &&
               gpr_result_text(result[1], "digest", found, sizeof found) > 0 &&
               strcmp(expected, found) == 0,
           "of two parts, the second of which threads reduce: %s", found);
    gpr_context_set_progress(context, cancel_at_once, NULL);
    tap_ok(gpr_view_set_data(masked, x, "f64", GPR_ORDER_NATIVE, 1, &forever, &nowhere) == GPR_OK &&
               gpr_accumulator_add_at(acc, masked, count) == GPR_ERROR_CANCELLED,
           "of more than anybody waits for: %s", gpr_error_text(context));
    gpr_context_set_progress(context, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        gpr_result_free(result[i]);
        gpr_close(inputs[i]);
        gpr_view_free(views[i]);
    }
    gpr_close(hidden);
    gpr_view_free(masked);
    gpr_accumulator_free(acc);
    gpr_request_free(request);
    gpr_request_free(axis);
    free(x);
    free(turned);
}

/* Empty ones, and NaNs as errors. */
static void test_few(void)
{
    static const double x[] = {1, NAN, 3};
    gpr_request *request = make_request(true, NULL), *bags = make_request(false, NULL);
    gpr_view *three = view_of(x, "f64", 3), *none = view_of(NULL, "f64", 0);
    gpr_accumulator *acc = accumulator_of("f64", request), *empty = accumulator_of("f64", bags);
    gpr_accumulator *sent;
    gpr_result *result = NULL;
    char line[4096];
    size_t length = gpr_accumulator_write(empty, line, sizeof line);

    tap_ok(gpr_accumulator_read(context, line, length, bags, &sent) == GPR_OK &&
               gpr_accumulator_add_at(sent, three, 3) == GPR_OK && value(sent, "nan") == 1,
           "one of no elements is sent, and becomes either kind");
    gpr_accumulator_free(sent);
    length = gpr_accumulator_write(acc, line, sizeof line);
    tap_ok(strstr(line, "\"partial\"") && strstr(line, "\"of\":0,\"ranges\":[]") &&
               gpr_accumulator_read(context, line, length, request, &sent) == GPR_OK &&
               gpr_accumulator_add_at(sent, three, 3) == GPR_OK && value(sent, "argmin") == 4,
           "with indices, too: %s", line);
    gpr_accumulator_free(sent);
    tap_ok(gpr_accumulator_add_at(acc, none, 9) == GPR_OK && value(acc, "count") == 0 &&
               isnan(value(acc, "min")) && value(acc, "argmin") == -1,
           "a view of nothing");
    gpr_accumulator_free(acc);
    if (gpr_request_set(request, GPR_NAN, GPR_NAN_ERROR) != GPR_OK)
        bail("a setting");
    acc = accumulator_of("f64", request);
    tap_ok(gpr_accumulator_add_at(acc, three, 40) == GPR_OK &&
               gpr_accumulator_snapshot(acc, &result) == GPR_ERROR_NAN && !result &&
               strcmp(gpr_error_text(context), "element 41 is a NaN") == 0,
           "a NaN as an error: %s", gpr_error_text(context));
    gpr_accumulator_free(acc);
    if (gpr_request_set(bags, GPR_NAN, GPR_NAN_SKIP) != GPR_OK)
        bail("a setting");
    acc = accumulator_of("f64", bags);
    tap_ok(gpr_accumulator_add(acc, three) == GPR_OK && value(acc, "sum") == 4 &&
               value(acc, "count") == 2 && value(acc, "nan") == 1,
           "or left out");
    gpr_accumulator_free(acc);
    gpr_accumulator_free(empty);
    gpr_view_free(none);
    gpr_view_free(three);
    gpr_request_free(bags);
    gpr_request_free(request);
}

/* Views that threads reduce, with a mask and strides; and small ones in between. */
static void test_large(void)
{
    const size_t n = 3000000;
    int32_t *x = allocate(2 * n * sizeof *x);
    unsigned char *bits = allocate(n / 8 + 1);
    gpr_request *request = make_request(true, NULL);
    gpr_accumulator *acc = accumulator_of("i32", request);
    gpr_view *view;
    uint64_t least = UINT64_MAX, shape[] = {n}, count = 0, missing = 0, place = 0;
    const int64_t strides[] = {-8};
    int64_t sum = 0;
    gpr_result *result;
    struct rng rng;
    bool good;
    char text[64], got[64] = "";

    rng_seed(&rng, 77);
    memset(bits, 0, n / 8 + 1);
    for (size_t i = 0; i < n; i++) {
        const bool valid = rng_below(&rng, 100) > 0;

        x[2 * (n - 1 - i)] = (int32_t)rng_next(&rng);
        bits[i / 8] |= (unsigned char)(valid << i % 8);
        if (!valid)
            continue;
        count++;
        sum += x[2 * (n - 1 - i)];
        if (least == UINT64_MAX || x[2 * (n - 1 - i)] < x[2 * (n - 1 - least)])
            least = i;
    }
    good = gpr_view_new(context, &view) == GPR_OK &&
           gpr_view_set_data(view, x + 2 * (n - 1), "i32", GPR_ORDER_NATIVE, 1, shape, strides) ==
               GPR_OK &&
           gpr_view_set_mask(view, GPR_MASK_VALID_BITS, bits, 0) == GPR_OK &&
           gpr_accumulator_add_at(acc, view, 1000) == GPR_OK &&
           gpr_accumulator_snapshot(acc, &result) == GPR_OK;
    tap_ok(good, "a large view: %s", gpr_error_text(context));
    if (good) {
        snprintf(text, sizeof text, "%" PRId64, sum);
        good = gpr_result_integer(result, "sum", got, sizeof got) == strlen(text) &&
               gpr_result_count(result, "missing", &missing) == GPR_OK &&
               gpr_result_count(result, "argmin", &place) == GPR_OK;
        tap_ok(good && strcmp(text, got) == 0 && missing == n - count && place == least + 1000,
               "its sum %s, %" PRIu64 " missing, minimum at %" PRIu64, got, missing, place);
        gpr_result_free(result);
    }
    gpr_view_free(view);
    gpr_accumulator_free(acc);
    gpr_request_free(request);
    free(bits);
    free(x);
}

/* How long a call takes on 1000 elements. */
static void measure(const char *dtype, const char *const *ops, size_t op_count)
{
    const unsigned times = SANITIZED ? 100 : 20000;
    gpr_request *request;
    gpr_accumulator *acc;
    double *x = allocate(1000 * sizeof *x);
    gpr_view *view = view_of(x, dtype, 1000);
    uint64_t best = UINT64_MAX;

    memset(x, 0x3f, 1000 * sizeof *x);
    if (gpr_request_new(context, &request) != GPR_OK)
        bail("a request");
    for (size_t i = 0; i < op_count; i++)
        if (gpr_request_op(request, ops[i]) != GPR_OK)
            bail(ops[i]);
    acc = accumulator_of(dtype, request);
    for (int turn = 0; turn < 5; turn++) {
        const uint64_t begun = clock_now();
        uint64_t took;

        for (unsigned i = 0; i < times; i++)
            (void)gpr_accumulator_add(acc, view);
        took = clock_between(begun, clock_now()) / times;
        best = took < best ? took : best;
    }
    tap_note("1000 elements of %s, %s%s: %" PRIu64 " ns", dtype, ops[0], op_count > 1 ? "..." : "",
             best);
    gpr_accumulator_free(acc);
    gpr_request_free(request);
    gpr_view_free(view);
    free(x);
}

int main(void)
{
    if (gpr_context_new(&context) != GPR_OK)
        bail("a context");
    test_splits();
    test_refusals();
    test_empty_merges();
    test_digests();
    test_few();
    test_large();
    measure("f32", numbers, 1);
    measure("f32", numbers, 4);
    measure("f32", numbers, LENGTH(numbers));
    measure("f64", numbers, 1);
    measure("f64", numbers, LENGTH(numbers));
    measure("i32", numbers, 4);
    gpr_context_free(context);
    return tap_done();
}
