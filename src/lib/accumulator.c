/*
 * Accumulators. Small views are reduced at once by a worker of the CPU, which an accumulator keeps;
 * large ones by the threads of the context. All that was found is merged, exactly.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/partial_text.h"
#include "core/ranges.h"
#include "core/view.h"
#include "cuda/array.h"
#include "engine/engine.h"
#include "lib/objects.h"
#include "lib/reducer.h"
#include "lib/result.h"
#include "sys/float_mode.h"

/* The elements that an accumulator has. */
enum accumulator_kind {
    ACCUMULATOR_EMPTY, /* none yet: it can become one of the others */
    ACCUMULATOR_BAG,   /* some, and nobody knows which of an array */
    ACCUMULATOR_PLACED /* those of `ranges` */
};

struct gpr_accumulator {
    gpr_context *context;
    struct gpr_request request; /* a copy, which reduces NaNs as GPR_NAN_PROPAGATE does */
    enum nan_policy nan;        /* that of the results */
    enum element_type type;
    struct missing missing; /* the missing values of the request */
    enum accumulator_kind kind;
    struct scale scale;         /* that of the elements, of one that is not empty */
    unsigned wants;             /* partial_want bits of the stored numbers */
    struct partial_split split; /* the threshold, if `wants` has PARTIAL_SPLIT */
    struct ranges ranges;

    char *input,
        *array;      /* names for gpr_accumulator_write; `array` NULL for an input that is one */
    uint64_t of;     /* elements of the whole array, at least */
    bool named;      /* gpr_accumulator_set_array has set the names */
    uint64_t set_of; /* the value that it has given `of`; 0 before */

    struct partial partial; /* of all elements that neither `worker` nor `device` has reduced */
    struct engine_state *engine;
    struct engine_worker *worker; /* NULL: there is none yet */
    bool swap;                    /* the worker's elements are not in this machine's byte order */
    struct cuda_array *device;    /* elements in device memory; NULL: there were none */
};

/* Bytes of elements that are gathered at a time: the level-2 cache holds them. */
#define PIECE_BYTES ((size_t)64 << 10)

/* The name of the input of a line, if none was given. */
#define DEFAULT_INPUT "memory"

/*
 * Making and freeing.
 */

static void close_worker(gpr_accumulator *a)
{
    if (a->worker)
        engine_cpu.worker_close(a->worker);
    a->worker = NULL;
}

void gpr_accumulator_free(gpr_accumulator *accumulator)
{
    if (!accumulator)
        return;
    close_worker(accumulator);
    cuda_array_close(accumulator->device);
    if (accumulator->engine)
        engine_cpu.close(accumulator->engine);
    ranges_close(&accumulator->ranges);
    for (unsigned i = 0; i < accumulator->request.missing.count; i++)
        free((char *)(uintptr_t)accumulator->request.missing.texts[i]);
    free(accumulator->input);
    free(accumulator->array);
    free(accumulator);
}

/* Makes it one of no elements. */
static void make_empty(gpr_accumulator *a)
{
    close_worker(a);
    ranges_clear(&a->ranges);
    partial_clear(&a->partial);
    a->kind = ACCUMULATOR_EMPTY;
    a->scale = (struct scale){.given = false};
    a->wants = a->request.wants;
}

/* Copies a request, whose missing values become those of the type. */
static gpr_status copy_request(gpr_accumulator *a, const gpr_request *request)
{
    const char *lacks = missing_add_values(&a->missing, a->type, &request->missing);

    if (lacks)
        return lib_fail(a->context, GPR_ERROR_ARGUMENT, "the type %s has no missing value %s",
                        element_name(a->type), lacks);
    if (request->passes.quantile_count > 0 || request->passes.histogram.kind != HISTOGRAM_NONE)
        return lib_fail(a->context, GPR_ERROR_UNSUPPORTED,
                        "quantiles and histograms cannot be accumulated");
    a->request.context = a->context;
    lib_copy_operations(&a->request.operations, &request->operations);
    a->request.wants = request->wants;
    a->request.ddof = request->ddof;
    a->request.input.length = UINT64_MAX;
    a->nan = request->nan;
    for (unsigned i = 0; i < request->missing.count; i++) {
        a->request.missing.texts[i] = strdup(request->missing.texts[i]);
        if (!a->request.missing.texts[i])
            return lib_fail_memory(a->context);
        a->request.missing.count++;
    }
    return GPR_OK;
}

/* Makes an accumulator of a type. NULL with an error of the context. */
static gpr_accumulator *make(gpr_context *context, enum element_type type,
                             const gpr_request *request)
{
    char reason[ENGINE_REASON_MAX];
    gpr_accumulator *a = calloc(1, sizeof *a);

    if (!a) {
        (void)lib_fail_memory(context);
        return NULL;
    }
    a->context = context;
    a->type = type;
    if (copy_request(a, request) == GPR_OK) {
        make_empty(a);
        a->engine = engine_cpu.open(&(const struct engine_needs){.workers = 1}, reason);
        if (a->engine)
            return a;
        (void)lib_fail_memory(context);
    }
    gpr_accumulator_free(a);
    return NULL;
}

gpr_status gpr_accumulator_new(gpr_context *context, const char *dtype, const gpr_request *request,
                               gpr_accumulator **accumulator)
{
    FLOAT_MODE_DEFAULT;
    enum element_type type;
    gpr_accumulator *made;

    lib_begin(context);
    if (lib_parse_type(context, dtype, &type) != GPR_OK)
        return context->status;
    made = make(context, type, request);
    if (!made)
        return context->status;
    *accumulator = made;
    return GPR_OK;
}

/* Replaces the names; NULL: by none. False without memory, and nothing is changed. */
static bool set_names(gpr_accumulator *a, const char *input, const char *array)
{
    char *one = input ? strdup(input) : NULL;
    char *other = array ? strdup(array) : NULL;

    if ((input && !one) || (array && !other)) {
        free(one);
        free(other);
        return false;
    }
    free(a->input);
    free(a->array);
    a->input = one;
    a->array = other;
    return true;
}

gpr_status gpr_accumulator_clear(gpr_accumulator *accumulator)
{
    struct error error = {.kind = ERROR_NONE};

    lib_begin(accumulator->context);
    if (!cuda_array_clear(accumulator->device, &error))
        return lib_fail_error(accumulator->context, NULL, NULL, &error);
    make_empty(accumulator);
    if (!accumulator->named)
        (void)set_names(accumulator, NULL, NULL);
    accumulator->of = accumulator->set_of;
    if (accumulator->device)
        accumulator->kind = ACCUMULATOR_BAG;
    return GPR_OK;
}

gpr_status gpr_accumulator_set_array(gpr_accumulator *accumulator, const char *input,
                                     const char *array, uint64_t count)
{
    lib_begin(accumulator->context);
    if (count > INT64_MAX)
        return lib_fail(accumulator->context, GPR_ERROR_ARGUMENT, "at most 2^63 - 1 elements");
    if (!set_names(accumulator, input, array))
        return lib_fail_memory(accumulator->context);
    accumulator->named = input;
    accumulator->of = accumulator->set_of = count;
    return GPR_OK;
}

/*
 * Adding.
 */

/* Whether it has been given elements: those in device memory count even after they were cleared,
   since graphs may go on to add them. */
static bool has_elements(const gpr_accumulator *a)
{
    return a->ranges.count > 0 || a->worker || a->device || a->partial.count > 0;
}

/* Makes an accumulator without elements ready for some of a kind, with this scale; of others, sees
   whether they are so. Its kind is set once it has them. A status other than GPR_OK is that of the
   context. */
static gpr_status begin(gpr_accumulator *a, enum accumulator_kind kind, const struct scale *scale)
{
    if (kind == ACCUMULATOR_BAG && (a->request.wants & PARTIAL_WHERE))
        return lib_fail(a->context, GPR_ERROR_ARGUMENT,
                        "argmin and argmax need to know where the elements are: add them with "
                        "gpr_accumulator_add_at");
    if (kind == ACCUMULATOR_BAG && (a->request.wants & PARTIAL_DIGEST))
        return lib_fail(a->context, GPR_ERROR_ARGUMENT,
                        "a digest needs to know where the elements are: add them with "
                        "gpr_accumulator_add_at");
    if (a->kind != ACCUMULATOR_EMPTY && a->kind != kind)
        return lib_fail(a->context, GPR_ERROR_ARGUMENT,
                        "the accumulator has elements %s their places",
                        a->kind == ACCUMULATOR_BAG ? "without" : "with");
    if (has_elements(a)) {
        if (scale_same(&a->scale, scale))
            return GPR_OK;
        return lib_fail(a->context, GPR_ERROR_ARGUMENT,
                        "the accumulator has elements of another scale");
    }
    a->scale = *scale;
    a->wants = a->request.wants;
    (void)scale_find_split(&a->scale, a->type, &a->wants, &a->split);
    return GPR_OK;
}

/* Sets *p to the partial result of all elements that were in memory of the host. */
static void collect_host(const gpr_accumulator *a, struct partial *p)
{
    struct engine_times times;
    struct partial reduced;

    *p = a->partial;
    if (a->worker) {
        (void)engine_cpu.finish(a->worker, &reduced, &times); /* it cannot fail without tallies */
        partial_merge(p, &reduced);
    }
}

/* Has a worker for elements of this byte order. False without memory. */
static bool open_worker(gpr_accumulator *a, bool swap)
{
    const struct engine_setup setup = {
        .type = a->type,
        .swap = swap,
        .wants = a->wants,
        .chunk_size = PIECE_BYTES,
        .missing = a->missing.count > 0 ? &a->missing : NULL,
        .split = a->wants & PARTIAL_SPLIT ? &a->split : NULL,
    };
    char reason[ENGINE_REASON_MAX];

    if (a->worker && a->swap == swap)
        return true;
    if (a->worker) {
        struct partial all;

        collect_host(a, &all);
        a->partial = all;
        close_worker(a);
    }
    a->worker = engine_cpu.worker_open(a->engine, &setup, 0, reason);
    a->swap = swap;
    return a->worker;
}

/* Reduces a small view, whose elements are those of an array from `start` on. False without memory.
   */
static bool reduce_here(gpr_accumulator *a, const struct view *v, uint64_t start)
{
    uint64_t left_out;

    if (v->elements == 0)
        return true;
    if (!open_worker(a, v->swap))
        return false;
    /* It cannot fail without tallies. */
    (void)reducer_take_view(a->worker, v, v->elements, start, &left_out);
    a->partial.count += left_out;
    a->partial.missing += left_out;
    return true;
}

/* Reduces a view, whose elements are those of an array from `start` on. */
static gpr_status reduce_view(gpr_accumulator *a, const gpr_view *view, uint64_t start)
{
    static char name[] = "memory";
    gpr_input input = {.context = a->context,
                       .path = name,
                       .in_memory = true,
                       .view = *view,
                       .view_start = start,
                       .options = {.length = UINT64_MAX}};
    gpr_result *result;

    if (view->view.elements <= REDUCER_ALONE_BYTES / element_size(a->type))
        return reduce_here(a, &view->view, start) ? GPR_OK : lib_fail_memory(a->context);
    if (reducer_reduce(&input, 0, &a->request, &result) != GPR_OK)
        return a->context->status;
    partial_merge(&a->partial, &result->found.partial);
    gpr_result_free(result);
    return GPR_OK;
}

static gpr_status check_view(const gpr_accumulator *a, const gpr_view *view)
{
    if (view->view.type != a->type)
        return lib_fail(a->context, GPR_ERROR_ARGUMENT,
                        "the view has elements of type %s, the accumulator of type %s",
                        element_name(view->view.type), element_name(a->type));
    if (view->memory != GPR_MEMORY_HOST)
        return lib_fail(a->context, GPR_ERROR_UNSUPPORTED,
                        "elements in the memory of a GPU are added with "
                        "gpr_accumulator_add_device");
    if (view->view.mask_form != VIEW_MASK_NONE && (a->request.wants & PARTIAL_DIGEST))
        return lib_fail_masked_digest(a->context);
    return GPR_OK;
}

gpr_status gpr_accumulator_add(gpr_accumulator *accumulator, const gpr_view *view)
{
    FLOAT_MODE_DEFAULT;
    gpr_accumulator *const a = accumulator;
    gpr_view v;

    lib_begin(a->context);
    if (check_view(a, view) != GPR_OK || begin(a, ACCUMULATOR_BAG, &view->view.scale) != GPR_OK)
        return a->context->status;
    if (!view->view.contiguous && view->view.mask_form == VIEW_MASK_NONE) {
        v = *view;
        view_reorder(&v.view);
        view = &v;
    }
    if (reduce_view(a, view, 0) != GPR_OK)
        return a->context->status;
    a->kind = ACCUMULATOR_BAG;
    return GPR_OK;
}

gpr_status gpr_accumulator_add_device(gpr_accumulator *accumulator, const void *data,
                                      uint64_t count, void *stream)
{
    FLOAT_MODE_DEFAULT;
    gpr_accumulator *const a = accumulator;
    const struct scale none = {.given = false};
    const struct view_layout layout = {
        .data = data, .rank = 1, .sizes = {count}, .strides = {(int64_t)element_size(a->type)}};
    const struct cuda_array_elements elements = {.type = a->type,
                                                 .missing =
                                                     a->missing.count > 0 ? &a->missing : NULL,
                                                 .layout = &layout,
                                                 .count = count,
                                                 .device = -1,
                                                 .stream = stream};
    struct error error = {.kind = ERROR_NONE};
    bool good;

    lib_begin(a->context);
    if (count > INT64_MAX / element_size(a->type))
        return lib_fail(a->context, GPR_ERROR_ARGUMENT, "at most 2^63 - 1 bytes");
    if (begin(a, ACCUMULATOR_BAG, &none) != GPR_OK)
        return a->context->status;
    good = cuda_array_add(&a->device, &elements, a->wants, 0, &error);
    if (good || a->device)
        a->kind = ACCUMULATOR_BAG;
    return good ? GPR_OK : lib_fail_error(a->context, NULL, NULL, &error);
}

gpr_status gpr_accumulator_add_at(gpr_accumulator *accumulator, const gpr_view *view,
                                  uint64_t start)
{
    FLOAT_MODE_DEFAULT;
    gpr_accumulator *const a = accumulator;
    const uint64_t count = view->view.elements;
    const struct partial_range range = {start, start + count};
    struct partial_range found;

    lib_begin(a->context);
    if (check_view(a, view) != GPR_OK)
        return a->context->status;
    if (start > INT64_MAX || count > INT64_MAX - start)
        return lib_fail(a->context, GPR_ERROR_ARGUMENT, "at most 2^63 - 1 elements");
    if (count > 0 && ranges_find(&a->ranges, start, &found) && found.begin < range.end)
        return lib_fail(a->context, GPR_ERROR_ARGUMENT, "element %" PRIu64 " has been added before",
                        found.begin > start ? found.begin : start);
    if (begin(a, ACCUMULATOR_PLACED, &view->view.scale) != GPR_OK)
        return a->context->status;
    if (!ranges_reserve(&a->ranges, 1))
        return lib_fail_memory(a->context);
    if (reduce_view(a, view, start) != GPR_OK)
        return a->context->status;
    if (count > 0)
        ranges_add(&a->ranges, range);
    a->kind = ACCUMULATOR_PLACED;
    return GPR_OK;
}

/* Takes the size of an array, and its names, of which `input` may be NULL, if there are none. */
static gpr_status take_array(gpr_accumulator *a, const char *input, const char *array, uint64_t of)
{
    if (!a->input && input && !set_names(a, input, array))
        return lib_fail_memory(a->context);
    a->of = a->of > of ? a->of : of;
    return GPR_OK;
}

/* Takes the result of an array of an input, which has been reduced. */
static gpr_status take_result(gpr_accumulator *a, const gpr_input *input, size_t array,
                              const struct reduction *found)
{
    const struct partial_range range = {found->first, found->first + found->elements};
    const struct container *container = lib_container(input);

    if (found->type != a->type)
        return lib_fail(a->context, GPR_ERROR_ARGUMENT,
                        "the array has elements of type %s, the accumulator of type %s",
                        element_name(found->type), element_name(a->type));
    if (!missing_same(&found->missing, &a->missing))
        return lib_fail(a->context, GPR_ERROR_UNSUPPORTED,
                        "the array has other missing values than the request");
    if (found->elements > 0 && ranges_overlap(&a->ranges, range))
        return lib_fail(a->context, GPR_ERROR_ARGUMENT, "elements have been added before");
    if (begin(a, ACCUMULATOR_PLACED, &found->scale) != GPR_OK)
        return a->context->status;
    if (!ranges_reserve(&a->ranges, 1))
        return lib_fail_memory(a->context);
    if (take_array(a, input->path, container ? container->arrays[array].name : NULL, found->of) !=
        GPR_OK)
        return a->context->status;
    if (found->elements > 0)
        ranges_add(&a->ranges, range);
    partial_merge(&a->partial, &found->partial);
    a->kind = ACCUMULATOR_PLACED;
    return GPR_OK;
}

gpr_status gpr_accumulator_add_input(gpr_accumulator *accumulator, gpr_input *input, size_t array)
{
    FLOAT_MODE_DEFAULT;
    gpr_accumulator *const a = accumulator;
    gpr_result *result;
    gpr_status status;

    if (input->in_memory && array == 0)
        return gpr_accumulator_add_at(a, &input->view, 0);
    lib_begin(a->context);
    if (input->context != a->context)
        return lib_fail(a->context, GPR_ERROR_ARGUMENT, "the input is of another context");
    if (array >= gpr_input_arrays(input))
        return lib_fail(a->context, GPR_ERROR_ARGUMENT, "the input has no array number %zu", array);
    if (a->kind == ACCUMULATOR_BAG)
        return lib_fail(a->context, GPR_ERROR_ARGUMENT,
                        "the accumulator has elements without their places");
    input = lib_part(input, &array);
    if (reducer_reduce(input, array, &a->request, &result) != GPR_OK)
        return a->context->status;
    status = take_result(a, input, array, &result->found);
    gpr_result_free(result);
    return status;
}

/*
 * Merging.
 */

/* Sets *p to the partial result of all elements. */
static gpr_status collect(const gpr_accumulator *a, struct partial *p)
{
    struct error error = {.kind = ERROR_NONE};

    collect_host(a, p);
    if (!cuda_array_snapshot(a->device, a->wants, p, &error))
        return lib_fail_error(a->context, NULL, NULL, &error);
    if (a->kind != ACCUMULATOR_PLACED)
        p->min_index = p->max_index = p->first_nan = PARTIAL_NO_INDEX;
    return GPR_OK;
}

/* Whether both have been made for the same. */
static bool is_like(const gpr_accumulator *a, const gpr_accumulator *b)
{
    return a->type == b->type && a->request.wants == b->request.wants &&
           a->request.ddof == b->request.ddof && a->nan == b->nan &&
           missing_same(&a->missing, &b->missing);
}

/* Finds an element that both have. */
static bool find_common(const struct ranges *a, const struct ranges *b, uint64_t *index)
{
    struct partial_range other = {0, 0}, found;

    while (ranges_find(b, other.end, &other)) {
        if (ranges_overlap(a, other)) {
            (void)ranges_find(a, other.begin, &found);
            *index = found.begin > other.begin ? found.begin : other.begin;
            return true;
        }
    }
    return false;
}

gpr_status gpr_accumulator_merge(gpr_accumulator *accumulator, const gpr_accumulator *other)
{
    FLOAT_MODE_DEFAULT;
    gpr_accumulator *const a = accumulator;
    struct partial_range range = {0, 0};
    struct partial p;
    uint64_t index;

    lib_begin(a->context);
    if (!is_like(a, other))
        return lib_fail(a->context, GPR_ERROR_ARGUMENT,
                        "the accumulators have other types or requests");
    if (other->kind == ACCUMULATOR_EMPTY || (!has_elements(other) && has_elements(a)))
        return take_array(a, other->input, other->array, other->of);
    if (a->kind == ACCUMULATOR_PLACED && other->kind == ACCUMULATOR_PLACED &&
        find_common(&a->ranges, &other->ranges, &index))
        return lib_fail(a->context, GPR_ERROR_ARGUMENT, "both accumulators have element %" PRIu64,
                        index);
    if (collect(other, &p) != GPR_OK)
        return a->context == other->context
                   ? a->context->status
                   : lib_fail(a->context, other->context->status, "%s", other->context->text);
    if (begin(a, other->kind, &other->scale) != GPR_OK)
        return a->context->status;
    if (!ranges_reserve(&a->ranges, other->ranges.count))
        return lib_fail_memory(a->context);
    if (take_array(a, other->input, other->array, other->of) != GPR_OK)
        return a->context->status;
    while (ranges_find(&other->ranges, range.end, &range))
        ranges_add(&a->ranges, range);
    partial_merge(&a->partial, &p);
    a->kind = other->kind;
    return GPR_OK;
}

/*
 * Results.
 */

/* Whether elements of the array are missing from a placed accumulator. */
static bool has_gaps(const gpr_accumulator *a)
{
    struct partial_range first = {0, 0};

    (void)ranges_find(&a->ranges, 0, &first);
    return a->ranges.count > 1 || first.begin > 0 || first.end < a->of;
}

gpr_status gpr_accumulator_snapshot(gpr_accumulator *accumulator, gpr_result **result)
{
    FLOAT_MODE_DEFAULT;
    gpr_accumulator *const a = accumulator;
    struct gpr_request request = a->request;
    struct partial p;
    gpr_result *made;

    lib_begin(a->context);
    if (collect(a, &p) != GPR_OK)
        return a->context->status;
    request.nan = a->nan;
    if (a->nan == NAN_ERROR && p.nan > 0) {
        if (a->kind == ACCUMULATOR_PLACED)
            return lib_fail(a->context, GPR_ERROR_NAN, "element %" PRIu64 " is a NaN", p.first_nan);
        return lib_fail(a->context, GPR_ERROR_NAN, "elements that are NaN: %" PRIu64, p.nan);
    }
    made = result_new(&request);
    if (!made)
        return lib_fail_memory(a->context);
    made->found.partial = p;
    made->partly = has_gaps(a);
    result_round(made, &request, a->type, &a->scale);
    *result = made;
    return GPR_OK;
}

/*
 * Lines.
 */

/* Sets which elements a text is of. */
static gpr_status set_places(const gpr_accumulator *a, struct partial_text *text)
{
    struct partial_range range = {0, 0};

    if (a->ranges.count > PARTIAL_TEXT_RANGES_MAX)
        return lib_fail(a->context, GPR_ERROR_UNSUPPORTED,
                        "the elements that were added are in %zu ranges, and a partial result can "
                        "have %d: merge accumulators of neighbouring elements first",
                        a->ranges.count, PARTIAL_TEXT_RANGES_MAX);
    while (ranges_find(&a->ranges, range.end, &range))
        text->ranges[text->range_count++] = range;
    text->of = a->of > range.end ? a->of : range.end;
    if (!partial_text_set_input(text, a->input ? a->input : DEFAULT_INPUT) ||
        (a->array && !partial_text_set_array(text, a->array)))
        return lib_fail(a->context, GPR_ERROR_UNSUPPORTED,
                        "the names are too long for a partial result");
    return GPR_OK;
}

size_t gpr_accumulator_write(gpr_accumulator *accumulator, char *text, size_t size)
{
    FLOAT_MODE_DEFAULT;
    gpr_accumulator *const a = accumulator;
    struct partial_text t = {.bag = a->kind != ACCUMULATOR_PLACED,
                             .type = a->type,
                             .missing = a->missing,
                             .scale = a->scale,
                             .holds = a->wants};
    char line[PARTIAL_TEXT_MAX];
    size_t length;

    lib_begin(a->context);
    /* No bag has places: an empty one may yet become one that does. */
    t.bag = t.bag && !(a->wants & (PARTIAL_WHERE | PARTIAL_DIGEST));
    if (collect(a, &t.partial) != GPR_OK || (!t.bag && set_places(a, &t) != GPR_OK))
        return 0;
    length = partial_text_write(line, &t);
    if (length == 0) {
        (void)lib_fail(a->context, GPR_ERROR_UNSUPPORTED,
                       "the names and missing values are too long together for a partial result");
        return 0;
    }
    if (size > 0)
        snprintf(text, size, "%s", line);
    return length;
}

/* Sees whether a text goes with the request of an accumulator. */
static gpr_status check_text(const gpr_accumulator *a, const struct partial_text *t)
{
    if (!missing_same(&a->missing, &t->missing))
        return lib_fail(a->context, GPR_ERROR_ARGUMENT,
                        "the partial result has other missing values than the request");
    for (unsigned i = 0; i < a->request.operations.count; i++) {
        const struct operation *op = lib_operation(&a->request.operations, i);

        if (scale_wants(&t->scale, op->wants) & ~t->holds)
            return lib_fail(a->context, GPR_ERROR_UNSUPPORTED,
                            "the partial result lacks the data for %s", op->name);
    }
    return GPR_OK;
}

/* Makes an accumulator that has no elements that of a text. */
static gpr_status take_text(gpr_accumulator *a, struct partial_text *t)
{
    if (check_text(a, t) != GPR_OK)
        return a->context->status;
    a->of = t->of;
    if (!t->bag && !set_names(a, t->input, t->has_array ? t->array : NULL))
        return lib_fail_memory(a->context);
    if (begin(a, t->bag ? ACCUMULATOR_BAG : ACCUMULATOR_PLACED, &t->scale) != GPR_OK)
        return a->context->status;
    if (!ranges_reserve(&a->ranges, t->range_count))
        return lib_fail_memory(a->context);
    for (unsigned i = 0; i < t->range_count; i++)
        ranges_add(&a->ranges, t->ranges[i]);
    partial_text_forget(&t->partial, a->wants);
    a->partial = t->partial;
    if (!t->bag)
        a->kind = ACCUMULATOR_PLACED;
    else if (t->partial.count > 0) /* if not, it may still be placed */
        a->kind = ACCUMULATOR_BAG;
    return GPR_OK;
}

gpr_status gpr_accumulator_read(gpr_context *context, const char *text, size_t length,
                                const gpr_request *request, gpr_accumulator **accumulator)
{
    FLOAT_MODE_DEFAULT;
    char error[PARTIAL_TEXT_ERROR_MAX];
    struct partial_text t;
    gpr_accumulator *made;

    lib_begin(context);
    if (!partial_text_read(&t, text, length, error))
        return lib_fail(context, GPR_ERROR_DATA, "the text %s", error);
    made = make(context, t.type, request);
    if (made && take_text(made, &t) != GPR_OK) {
        gpr_accumulator_free(made);
        made = NULL;
    }
    if (!made)
        return context->status;
    *accumulator = made;
    return GPR_OK;
}
