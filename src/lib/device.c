#include "config.h"

#include "lib/device.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/missing.h"
#include "core/order.h"
#include "core/pass_plan.h"
#include "cuda/array.h"
#include "cuda/array_masks.h"
#include "cuda/array_pieces.h"
#include "cuda/array_slices.h"
#include "cuda/array_tallies.h"
#include "lib/result.h"
#include "run/axis_results.h"

gpr_status device_refuse(gpr_context *context, const char *what)
{
    return lib_fail(context, GPR_ERROR_UNSUPPORTED, "memory: %s of device memory are not supported",
                    what);
}

/* Refuses what kernels that read memory of the caller do not find. */
static gpr_status check(const gpr_input *input, const gpr_request *request)
{
    const struct view *view = &input->view.view;

    if (view->mask_form != VIEW_MASK_NONE && (request->wants & PARTIAL_DIGEST))
        return lib_fail_masked_digest(input->context);
    if (request->passes.histogram.kind == HISTOGRAM_EXPONENTS &&
        (view->scale.given || element_is_integer(view->type)))
        return device_refuse(input->context, "exponents of integers and scaled numbers");
    return GPR_OK;
}

static gpr_status refuse_missing(const gpr_input *input, const char *value)
{
    return lib_fail(input->context, GPR_ERROR_UNSUPPORTED,
                    "%s: the missing value %s is not a value of type %s", input->path, value,
                    element_name(input->view.view.type));
}

/* The elements of a view of an input, as kernels read them. */
static struct cuda_array_elements elements_of(const gpr_input *input, const struct view *view,
                                              const struct missing *missing)
{
    return (struct cuda_array_elements){.type = view->type,
                                        .swap = view->swap,
                                        .missing = missing->count > 0 ? missing : NULL,
                                        .layout = &view->folded,
                                        .count = view->elements,
                                        .device = input->view.ordinal,
                                        .stream = input->view.stream};
}

/* The most runs of a sample, and elements of one. It is sorted while the extremes are found, and what
   is kept for it costs the GPU little. Without extremes the GPU waits for it; that of one quantile is
   smaller. */
#define SAMPLE_RUNS 2048
#define SAMPLE_RUNS_ALONE 512
#define SAMPLE_LENGTH 8

/* A search for quantiles and a histogram. */
struct search {
    gpr_context *context;
    struct cuda_array_elements elements;
    struct pass_plan *plan; /* NULL where nothing is searched for */
    struct pass_runs runs;  /* of a sample that is on its way; none: count is 0 */
    bool soon;              /* the first pass needs no partial result, thanks to it */
    bool alone;             /* nor is there any: that pass tells what is needed of it */
    struct tally_set set;   /* of the pass that is being made; none: count is 0 */
};

/* Makes the context's tallier if there is none. False without memory. */
static bool find_tallier(gpr_context *context)
{
    if (!context->device_tallier)
        context->device_tallier = cuda_tallier_open(&cuda_tallier_shipped);
    return context->device_tallier;
}

/* Whether all operations of a request are quantiles or counts that a pass without a partial result tells. */
static bool is_told(const gpr_request *request)
{
    for (unsigned i = 0; i < request->operations.count; i++) {
        const struct operation *const op = lib_operation(&request->operations, i);

        if (operation_quantile(op) == 0 && op->member != offsetof(struct result, count) &&
            op->member != offsetof(struct result, nan) &&
            op->member != offsetof(struct result, missing))
            return false;
    }
    return true;
}

/* Opens a search, and begins to take a sample if the plan wants one, and one is easily had. */
static bool search_open(struct search *s, const gpr_request *request, const struct view *view,
                        struct error *error)
{
    gpr_context *context = s->context;
    const bool even = view->folded.rank <= 1; /* elements lie at even distances */
    struct pass_runs runs;
    size_t most;

    s->plan = pass_plan_open(&request->passes, view->type, &view->scale, s->elements.count, 1,
                             request->nan != NAN_SKIP);
    if (!s->plan || !find_tallier(context))
        return error_memory(error);
    runs = pass_plan_runs(s->plan);
    s->alone = pass_plan_tells_all(s->plan) && even && !s->elements.missing &&
               request->nan != NAN_ERROR && is_told(request);
    most = s->alone && request->passes.quantile_count == 1 ? SAMPLE_RUNS_ALONE : SAMPLE_RUNS;
    if (runs.count > most)
        runs = (struct pass_runs){most, SAMPLE_LENGTH};
    if (runs.count == 0 || !even || s->elements.count < runs.count * runs.length) {
        s->alone = s->alone && request->passes.quantile_count == 0;
        return true;
    }
    s->runs = runs;
    /* Bins would need one, and those of a later pass are found beside cells in all elements. */
    s->soon = request->passes.histogram.kind == HISTOGRAM_NONE;
    return cuda_array_begin_sample(context->device_tallier, &s->elements, runs, error);
}

/* Gives the pass plan the sample, if there is one. */
static bool search_sample(struct search *s, struct error *error)
{
    const struct cuda_array_elements *e = &s->elements;
    const size_t all = s->runs.count * s->runs.length, size = element_size(e->type);
    const unsigned char *elements;
    bool *missing = NULL, good;

    if (all == 0)
        return true;
    elements = cuda_array_sample(s->context->device_tallier, error);
    if (!elements)
        return false;
    if (e->missing)
        missing = malloc(all * sizeof *missing);
    good = missing || !e->missing;
    for (size_t i = 0; i < all && good && missing; i++)
        missing[i] =
            missing_has(e->missing, order_key(e->type, order_load(e->type, elements + i * size)));
    good = good && pass_plan_sample(s->plan, elements, missing, s->runs.count, s->runs.length);
    free(missing);
    return good || error_memory(error);
}

/* Has the elements tallied as the pass plan wants it next. */
static bool search_tally(struct search *s, bool again, struct error *error)
{
    const struct tally_plan *plans[TALLY_PLANS_MAX];
    struct tally_set *const set = &s->set;
    bool good = true;

    set->count = pass_plan_next(s->plan, plans);
    for (unsigned i = 0; i < set->count; i++)
        good = tally_open(&set->tally[i], plans[i]) && good;
    if (!good)
        return error_memory(error);
    return s->elements.count == 0 || set->count == 0 ||
           cuda_array_tally(s->context->device_tallier, &s->elements, again, set, error);
}

static void search_close_pass(struct search *s)
{
    for (unsigned i = 0; i < s->set.count; i++)
        tally_close(&s->set.tally[i]);
    s->set.count = 0;
}

/* Gives the pass plan what a pass has found. */
static bool search_take(struct search *s, const struct partial *partial, struct error *error)
{
    const enum pass_plan_verdict verdict = pass_plan_take(s->plan, partial, &s->set, 1);

    search_close_pass(s);
    return verdict <= PASS_PLAN_MORE || error_keep(error, pass_plan_error(verdict));
}

/* Finds quantiles and the histogram, once the partial result with extremes is known. */
static bool search_finish(struct search *s, const gpr_request *request, gpr_result *result,
                          struct error *error)
{
    const struct partial *const partial = &result->found.partial;
    bool again = s->set.count > 0, good = true;

    if (!s->plan)
        return true;
    if (again)
        good = search_take(s, partial, error);
    else
        pass_plan_begin(s->plan, partial);
    for (; good && !pass_plan_is_done(s->plan); again = true)
        good = search_tally(s, again, error) && search_take(s, partial, error);
    return good && (result_take_passes(result, &request->passes, s->plan) || error_memory(error));
}

/* Bytes of elements that a mask is applied to at a time, where they are read once. */
#define MASKED_BYTES ((uint64_t)64 << 20)

/* Makes *row what the mask of a view leaves of `count` elements from number `first` on, in any order,
   until the next call. False on failure. */
static bool keep(struct search *s, const struct view *view, uint64_t first, uint64_t count,
                 struct view *row, struct error *error)
{
    const unsigned char *data = NULL;
    uint64_t kept = 0;

    if (count > 0 && !cuda_array_keep(&s->context->device_masker, &s->elements, view, first, count,
                                      &data, &kept, error))
        return false;
    *row = (struct view){.scale = view->scale};
    return view_set(row, data, view->type, view->swap, 1, &kept, NULL);
}

/* The NaNs of a type, for cuda_array_find. */
static struct missing_range nans_of(enum element_type type)
{
    const uint64_t key = order_greatest(type) + 1;

    return (struct missing_range){key, key};
}

/* Finds the indices in a partial result of elements of a view: those of the extremes, if `wants` has
   them, and of the first NaN. */
static bool find_indices(gpr_context *context, const struct cuda_array_elements *elements,
                         const struct view *view, unsigned wants, struct partial *p,
                         struct error *error)
{
    const int64_t extremes[] = {p->min_key, p->max_key};
    uint64_t *const indices[] = {&p->min_index, &p->max_index};
    struct missing_range ranges[CUDA_FIND_MAX];
    uint64_t *to[CUDA_FIND_MAX], found[CUDA_FIND_MAX];
    unsigned count = 0;

    if (p->nan > 0) {
        ranges[count] = nans_of(elements->type);
        to[count++] = &p->first_nan;
    }
    for (unsigned i = 0; i < 2 && (wants & PARTIAL_WHERE) && partial_numbers(p) > 0; i++) {
        const uint64_t key = order_from_element_key(elements->type, extremes[i]);

        ranges[count] = (struct missing_range){key, key};
        to[count++] = indices[i];
    }
    if (count > 0 &&
        !cuda_array_find(&context->device_masker, elements, view, ranges, count, found, error))
        return false;
    for (unsigned i = 0; i < count; i++)
        *to[i] = found[i];
    return true;
}

/* Adds the elements that a mask leaves, some at a time. */
static bool add_masked(struct search *s, unsigned wants, const struct view *view,
                       uint64_t *left_out, struct error *error)
{
    const struct cuda_array_elements *e = &s->elements;
    struct cuda_array_elements kept = *e;
    const uint64_t most = MASKED_BYTES / element_size(e->type);

    for (uint64_t i = 0, n; i < e->count; i += n) {
        struct view row;

        n = e->count - i < most ? e->count - i : most;
        if (!keep(s, view, i, n, &row, error))
            return false;
        kept.layout = &row.folded;
        kept.count = row.elements;
        if (!cuda_array_add(&s->context->device_array, &kept, wants, 0, error))
            return false;
        *left_out += n - row.elements;
    }
    return true;
}

/* Finds as much of the partial result as quantiles need by the first pass. */
static bool reduce_alone(struct search *s, struct partial *partial, struct error *error)
{
    if (!search_sample(s, error) || !search_tally(s, false, error))
        return false;
    partial->count = s->elements.count;
    partial->nan = tally_nans(&s->set.tally[0], partial->count);
    return true;
}

/* Launches what finds the partial result, and takes the sample while that runs. The first pass
   follows where it can, so that the GPU goes from one to the other without a pause. */
static bool reduce(struct search *s, unsigned wants, const struct view *view, bool nan_is_error,
                   uint64_t *left_out, struct partial *partial, struct error *error)
{
    struct cuda_array **array = &s->context->device_array;
    const struct cuda_array_elements *e = &s->elements;

    if (s->alone)
        return reduce_alone(s, partial, error);
    if (view->mask_form == VIEW_MASK_NONE && !nan_is_error && find_tallier(s->context) &&
        cuda_array_counts_values(s->context->device_tallier, e, wants, s->plan))
        /* A search among elements of a byte takes counts of all their values, too. */
        return (!s->plan || search_tally(s, false, error)) &&
               cuda_array_count_values(s->context->device_tallier, e,
                                       s->plan ? &s->set.tally[0] : NULL, partial, error);
    return (view->mask_form != VIEW_MASK_NONE ? add_masked(s, wants, view, left_out, error)
                                              : cuda_array_add(array, e, wants, 0, error)) &&
           search_sample(s, error) && (!s->soon || search_tally(s, false, error)) &&
           cuda_array_snapshot(*array, wants, partial, error) && cuda_array_clear(*array, error);
}

/* Opens a search for what takes several passes: over what a mask leaves, which *row becomes, in place of
   *view. */
static bool begin_passes(struct search *s, const gpr_request *request, const struct view **view,
                         struct view *row, uint64_t *left_out, struct error *error)
{
    struct cuda_array_elements *e = &s->elements;

    if ((*view)->mask_form != VIEW_MASK_NONE) {
        if (!keep(s, *view, 0, e->count, row, error))
            return false;
        *left_out = e->count - row->elements;
        *view = row;
        e->layout = &row->folded;
        e->count = row->elements;
    }
    return search_open(s, request, *view, error);
}

/* Bytes of elements that are reduced on the host, at most, and for quantiles alone: copies of so few take less
   than kernels. */
#define COPIED_BYTES ((uint64_t)32 << 10)
#define COPIED_BYTES_FOR_QUANTILES ((uint64_t)256 << 10)

bool device_is_copied(const gpr_input *input, const struct view *view, const gpr_request *request)
{
    const gpr_context *context = input->context;
    const uint64_t most =
        pass_request_of_keys(&request->passes) ? COPIED_BYTES_FOR_QUANTILES : COPIED_BYTES;

    return view->mask_form == VIEW_MASK_NONE && !view->scale.given &&
           request->passes.histogram.kind != HISTOGRAM_EXPONENTS && context->device != DEVICE_GPU &&
           context->memory == 0 && view->elements <= most / element_size(view->type);
}

/* Makes the context's comparer if there is none. False without memory. */
static bool find_comparer(gpr_context *context)
{
    if (!context->device_comparer)
        context->device_comparer = cuda_comparer_open(&cuda_comparer_shipped);
    return context->device_comparer;
}

gpr_status device_copy(const gpr_input *input, const struct view *view, gpr_input *copy)
{
    const struct missing none = {.count = 0};
    const struct cuda_array_elements elements = elements_of(input, view, &none);
    struct error error = {.kind = ERROR_NONE};
    const void *data;

    if (!find_comparer(input->context))
        return lib_fail_memory(input->context);
    if (!cuda_array_copy(input->context->device_comparer, &elements, &data, &error))
        return lib_fail_error(input->context, input->path, NULL, &error);
    *copy = (gpr_input){.context = input->context,
                        .path = input->path,
                        .in_memory = true,
                        .view = {.context = input->context, .memory = GPR_MEMORY_HOST},
                        .options = {.length = UINT64_MAX}};
    (void)view_set(&copy->view.view, data, view->type, view->swap, 1, &view->elements, NULL);
    return GPR_OK;
}

gpr_status device_reduce(gpr_input *input, const struct view *view, const gpr_request *request,
                         gpr_result **result)
{
    gpr_context *context = input->context;
    const bool passes = pass_request_any(&request->passes);
    struct missing missing = {.count = 0};
    const char *const lacks = missing_add_values(&missing, view->type, &request->missing);
    const uint64_t length = request->input.length;
    struct cuda_array_elements all = elements_of(input, view, &missing);
    struct search search = {.context = context};
    const struct view *const given = view;
    /* Places of elements that are copied, or taken in another order, are not those in the view. */
    const unsigned lost = view->mask_form != VIEW_MASK_NONE ? request->wants & PARTIAL_WHERE : 0;
    const bool places = lost || request->nan == NAN_ERROR;
    unsigned wants = (request->wants & ~lost) | (passes ? PARTIAL_EXTREMES : 0);
    struct error error = {.kind = ERROR_NONE};
    struct partial_split split;
    uint64_t left_out = 0;
    struct view row;
    bool good = false;
    gpr_result *made;

    if (check(input, request) != GPR_OK)
        return context->status;
    if (lacks)
        return refuse_missing(input, lacks);
    all.count = all.count < length ? all.count : length;
    search.elements = all;
    (void)scale_find_split(&view->scale, view->type, &wants, &split);
    made = result_new(request);
    if (!made)
        return lib_fail_memory(context);
    partial_clear(&made->found.partial);
    if ((passes && !begin_passes(&search, request, &view, &row, &left_out, &error)) ||
        !reduce(&search, wants, view, request->nan == NAN_ERROR, &left_out, &made->found.partial,
                &error) ||
        (places && !find_indices(context, &all, given, lost, &made->found.partial, &error))) {
        /* A GPU that failed is not asked again, unless by another call. */
        cuda_array_close(context->device_array);
        context->device_array = NULL;
        (void)lib_fail_error(context, input->path, NULL, &error);
    } else if (request->nan == NAN_ERROR && made->found.partial.nan > 0) {
        (void)lib_fail(context, GPR_ERROR_NAN, "%s: element %" PRIu64 " is a NaN", input->path,
                       made->found.partial.first_nan);
    } else {
        made->found.partial.count += left_out;
        made->found.partial.missing += left_out;
        result_round(made, request, view->type, &view->scale);
        good = search_finish(&search, request, made, &error);
        if (!good)
            (void)lib_fail_error(context, input->path, NULL, &error);
    }
    search_close_pass(&search);
    pass_plan_close(search.plan);
    if (good) {
        *result = made;
        return GPR_OK;
    }
    gpr_result_free(made);
    return context->status;
}

/*
 * Comparisons.
 */

/* A function of struct view_remote: of a side. */
static bool copy_elements(void *context, uint64_t first, size_t count, void *to,
                          struct error *error)
{
    const struct device_side *s = context;
    const size_t size = element_size(s->elements.type), most = CUDA_FETCH_BYTES / size;
    bool good = true;

    for (size_t i = 0; good && i < count; i += most)
        good = cuda_array_fetch(s->comparer, &s->elements, first + i,
                                (count - i < most ? count - i : most) * size,
                                (unsigned char *)to + i * size, error);
    return good;
}

/* Sets a side, and waits for its stream. */
static gpr_status prepare_side(struct device_side *s, const gpr_input *input,
                               struct session_options *options)
{
    gpr_context *context = input->context;
    struct error error = {.kind = ERROR_NONE};

    if (!find_comparer(context))
        return lib_fail_memory(context);
    s->comparer = context->device_comparer;
    s->view = input->view.view;
    s->missing = (struct missing){.count = 0};
    (void)missing_add_values(&s->missing, s->view.type, &options->missing); /* see diff_run */
    s->elements = elements_of(input, &s->view, &s->missing);
    s->remote = (struct view_remote){.copy = copy_elements, .context = s};
    s->view.remote = &s->remote;
    options->input.view = &s->view;
    return cuda_array_await(&s->elements, &s->elements.device, &error)
               ? GPR_OK
               : lib_fail_error(context, input->path, NULL, &error);
}

gpr_status device_prepare(struct device_side sides[DIFF_SIDES], gpr_input *const inputs[DIFF_SIDES],
                          struct session_options options[DIFF_SIDES], struct diff_request *job)
{
    const struct view *a = &inputs[DIFF_A]->view.view, *b = &inputs[DIFF_B]->view.view;
    const struct cuda_array_elements *one = &sides[DIFF_A].elements;
    const struct cuda_array_elements *other = &sides[DIFF_B].elements;

    for (int side = 0; side < DIFF_SIDES; side++)
        if (device_holds(inputs[side]) &&
            prepare_side(&sides[side], inputs[side], &options[side]) != GPR_OK)
            return inputs[side]->context->status;
    if (!device_holds(inputs[DIFF_A]) || !device_holds(inputs[DIFF_B]))
        return GPR_OK;
    if (job->cast || one->device != other->device || a->type != b->type || a->swap != b->swap ||
        a->elements != b->elements || !scale_same(&a->scale, &b->scale))
        return GPR_OK;
    job->comparer = sides[DIFF_A].comparer;
    cuda_array_begin_pieces(job->comparer,
                            (const struct cuda_array_elements[DIFF_SIDES]){*one, *other},
                            PARTIAL_SQUARES | (a->scale.given ? PARTIAL_SUM : 0));
    return GPR_OK;
}

/*
 * Reductions along an axis.
 */

#define MEMBER(name) offsetof(struct result, name)

/* An operation as the kernels of slices know it. */
static enum cuda_slice_op slice_op(const struct operation *op)
{
    static const size_t members[] = {
        MEMBER(sum),       MEMBER(mean),      MEMBER(min),    MEMBER(max),      MEMBER(var),
        MEMBER(std),       MEMBER(sumsq),     MEMBER(l2),     MEMBER(rms),      MEMBER(l1),
        MEMBER(argmin),    MEMBER(argmax),    MEMBER(absmin), MEMBER(absmax),   MEMBER(range),
        MEMBER(count),     MEMBER(missing),   MEMBER(nan),    MEMBER(infinity), MEMBER(zeros),
        MEMBER(negatives), MEMBER(subnormals)}; /* in the order of the enum */
    unsigned i = 0;

    _Static_assert(sizeof members / sizeof *members == CUDA_SLICE_QUANTILE, "one for each");
    while (i < CUDA_SLICE_QUANTILE && members[i] != op->member)
        i++;
    return (enum cuda_slice_op)i;
}

/* Refuses what cannot be found along an axis. */
static gpr_status check_axis(const gpr_input *input, const gpr_request *request)
{
    const struct view *view = &input->view.view;
    const char *what = NULL;

    if (view->scale.given)
        what = "scaled numbers";
    else if (view->mask_form != VIEW_MASK_NONE && element_is_integer(view->type))
        what = "masks of integers";
    else if (view->mask_form != VIEW_MASK_NONE && request->nan == NAN_ERROR)
        what = "masks beside NaNs that are errors";
    else if (request->input.length < view->elements || view->elements == 0)
        what = "parts of arrays, and arrays without elements,";
    return what ? lib_fail(input->context, GPR_ERROR_UNSUPPORTED,
                           "memory: %s along an axis of device memory are not supported", what)
                : GPR_OK;
}

/* A call of device_reduce_axis, and one of its operations. */
struct along {
    gpr_input *input;
    const struct view *view; /* its elements */
    gpr_request request;     /* that NaNs propagate where they are errors */
    struct axis_layout layout;
    struct axis_plan plan;
    const struct operation *op;
    struct cuda_array_axis axis;
    uint64_t *results;
};

static gpr_status fail(const struct along *a, const struct error *error)
{
    return lib_fail_error(a->input->context, a->input->path, NULL, error);
}

/* Sets *bits to the value of the operation in the result of a slice. */
static gpr_status take_result(const struct along *a, uint64_t number, const gpr_result *result,
                              uint64_t *bits)
{
    const struct partial *p = &result->found.partial;
    const bool none = p->missing > 0 && p->missing == p->count;
    const struct integer *exact = operation_exact_integer(a->op, &result->found.result);
    const struct integer x = exact && !none ? *exact : (struct integer){.known = false};
    const struct integer unknown = axis_unknown_integer(&a->plan);
    const double value = none ? NAN : operation_number(a->op, &result->found.result);
    struct error error = {.kind = ERROR_NONE};
    char place[AXIS_PLACE_MAX];

    if (a->op->kind == OPERATION_COUNT) {
        *bits = operation_integer(a->op, &result->found.result);
        return GPR_OK;
    }
    memcpy(bits, &value, sizeof *bits);
    if (a->axis.wish.letter == 'f' ||
        axis_integer_bits(x.known ? &x : &unknown, a->axis.wish.letter == 'i', bits))
        return GPR_OK;
    axis_refuse_integer(&a->plan, a->op, axis_show_place(place, &a->layout, number), &x, &error);
    return fail(a, &error);
}

/* Reduces slice number `number` by itself, whose result the kernels do not know. */
static gpr_status reduce_slice(const struct along *a, uint64_t number)
{
    gpr_context *context = a->input->context;
    const struct view *view = a->view;
    const struct view_layout *given = &view->shaped;
    const unsigned axis = a->layout.axis;
    const unsigned char *data = given->data;
    uint64_t place[ARRAY_DIMENSIONS_MAX], bits = 0;
    struct error error = {.kind = ERROR_NONE};
    gpr_result *result = NULL;
    struct view slice = *view;
    gpr_status status;

    if (view->mask_form != VIEW_MASK_NONE && axis != given->rank - 1)
        return lib_fail(
            context, GPR_ERROR_UNSUPPORTED,
            "memory: slices with a mask that are no rows are not reduced by themselves");
    slice.mask_offset += number * given->sizes[axis];
    array_place(&a->layout.result, number, place);
    for (unsigned d = 0; d < given->rank; d++)
        if (d != axis)
            data += (int64_t)place[d - (d > axis)] * given->strides[d];
    (void)view_set(&slice, data, view->type, view->swap, 1, &given->sizes[axis],
                   &given->strides[axis]);
    if (device_reduce(a->input, &slice, &a->request, &result) != GPR_OK || !result)
        return context->status;
    status = take_result(a, number, result, &bits);
    gpr_result_free(result);
    if (status != GPR_OK)
        return status;
    return cuda_array_set(context->device_summer, a->results + number, bits, &error)
               ? GPR_OK
               : fail(a, &error);
}

/* Reduces the `left` slices again that are listed as unknown, among `count` from number `first` on:
   of floats first all at once, and then one by one where that does not help. */
static gpr_status reduce_some(const struct along *a, uint64_t first, uint64_t count,
                              const uint64_t *unknown, uint64_t left)
{
    struct cuda_summer *summer = a->input->context->device_summer;
    struct error error = {.kind = ERROR_NONE};

    if (a->axis.wish.letter == 'f' &&
        (!cuda_array_reduce_listed(summer, a->results, &error) ||
         !cuda_array_find_unknown(summer, a->results, first, count, &error) ||
         !cuda_array_unknown(summer, &unknown, &left, &error)))
        return fail(a, &error);
    for (uint64_t i = 0; i < left; i++)
        if (reduce_slice(a, unknown[i]) != GPR_OK)
            return a->input->context->status;
    return GPR_OK;
}

/* Reduces those slices again whose results the kernels do not know. If there are too many to be
   listed: all at once, and what that leaves some at a time; or, of integers, all one by one. */
static gpr_status reduce_unknown(const struct along *a)
{
    struct cuda_summer *summer = a->input->context->device_summer;
    const uint64_t count = a->layout.results;
    const bool floats = a->axis.wish.letter == 'f';
    struct error error = {.kind = ERROR_NONE};
    gpr_status status = GPR_OK;
    const uint64_t *unknown;
    uint64_t left;

    if (!cuda_array_unknown(summer, &unknown, &left, &error) ||
        (floats && left > CUDA_ARRAY_UNKNOWN &&
         (!cuda_array_reduce_listed(summer, a->results, &error) ||
          !cuda_array_find_unknown(summer, a->results, 0, count, &error) ||
          !cuda_array_unknown(summer, &unknown, &left, &error))))
        return fail(a, &error);
    if (left <= CUDA_ARRAY_UNKNOWN)
        return left == 0 ? GPR_OK : reduce_some(a, 0, count, unknown, left);
    for (uint64_t i = 0; !floats && status == GPR_OK && i < count; i++)
        status = reduce_slice(a, i);
    for (uint64_t i = 0, n; floats && status == GPR_OK && i < count; i += n) {
        n = count - i < CUDA_ARRAY_UNKNOWN ? count - i : CUDA_ARRAY_UNKNOWN;
        if (!cuda_array_find_unknown(summer, a->results, i, n, &error) ||
            !cuda_array_unknown(summer, &unknown, &left, &error))
            return fail(a, &error);
        if (left > 0)
            status = reduce_some(a, i, n, unknown, left);
    }
    return status;
}

/* Reduces along an axis into an array of the device. */
static gpr_status reduce_axis(const struct along *a)
{
    gpr_input *input = a->input;
    const struct view *view = a->view;
    struct cuda_array_elements elements = elements_of(input, view, &a->plan.missing);
    struct error error = {.kind = ERROR_NONE};

    elements.masked = view->mask_form != VIEW_MASK_NONE ? view : NULL;
    if (!cuda_array_reduce_slices(&input->context->device_summer, &elements, &a->axis, a->results,
                                  &error))
        return fail(a, &error);
    return a->request.no_wait && cuda_array_finds_all(elements.type, &a->axis.wish)
               ? GPR_OK
               : reduce_unknown(a);
}

/* Finds the first NaN of elements of a view without a mask. UINT64_MAX: there is none. */
static bool find_nan(gpr_input *input, const struct view *view, uint64_t *number,
                     struct error *error)
{
    const struct missing_range nans = nans_of(view->type);
    const struct missing none = {.count = 0};
    const struct cuda_array_elements elements = elements_of(input, view, &none);

    return cuda_array_find(&input->context->device_masker, &elements, view, &nans, 1, number,
                           error);
}

/* Sets an error about the first NaN of the first slice that has one, unless results are numbers none of
   which is a NaN. */
static gpr_status refuse_nans(const struct along *a)
{
    const struct view *view = a->view;
    const struct view_layout *given = &view->shaped;
    const unsigned axis = a->layout.axis, last = given->rank - 1;
    uint64_t sizes[VIEW_DIMENSIONS_MAX], number;
    int64_t strides[VIEW_DIMENSIONS_MAX];
    struct error error = {.kind = ERROR_NONE};
    struct view slices = {.mask_form = VIEW_MASK_NONE}, results = slices;
    char place[AXIS_PLACE_MAX];

    if (element_is_integer(view->type) || missing_has_nans(&a->plan.missing, view->type))
        return GPR_OK;
    for (unsigned d = 0; d <= last; d++) {
        const unsigned from = d == last ? axis : d + (d >= axis);

        sizes[d] = given->sizes[from];
        strides[d] = given->strides[from];
    }
    (void)view_set(&results, a->results, ELEMENT_F64, false, 1, &a->layout.results, NULL);
    (void)view_set(&slices, given->data, view->type, view->swap, given->rank, sizes, strides);
    number = a->axis.wish.letter == 'f' ? UINT64_MAX : 0; /* counts do not tell */
    if ((number != 0 && !find_nan(a->input, &results, &number, &error)) ||
        (number != UINT64_MAX && !find_nan(a->input, &slices, &number, &error)))
        return fail(a, &error);
    if (number == UINT64_MAX)
        return GPR_OK;
    (void)error_set(
        &error, ERROR_NAN, "element %s is a NaN",
        axis_show_element(place, &a->layout, number / a->layout.length, number % a->layout.length));
    return fail(a, &error);
}

static struct cuda_slice_wish wish_for(const struct along *a)
{
    const struct integer none = axis_unknown_integer(&a->plan);
    struct cuda_slice_wish wish = {.op = slice_op(a->op),
                                   .letter = axis_letter(&a->plan, a->op),
                                   .skip_nan = a->request.nan == NAN_SKIP,
                                   .wide = a->plan.type == ELEMENT_U64,
                                   .count = a->layout.length,
                                   .ddof = a->request.ddof,
                                   .format = element_formats[a->plan.type],
                                   .quantile = a->op->quantile};

    cuda_slice_wish_count(&wish);
    wish.has_none = axis_integer_bits(&none, wish.letter == 'i', &wish.none);
    return wish;
}

/* Puts the dimensions of a view into the order in which they lie in memory, if its elements are a row then,
   and neither the order of the results nor what an error says would change. Returns the number of the axis
   then. */
static unsigned sort_dimensions(struct view *view, unsigned axis, enum nan_policy nan)
{
    unsigned places[VIEW_DIMENSIONS_MAX], last = 0, sorted;
    struct view other = *view;

    if (view->contiguous || view->mask_form != VIEW_MASK_NONE || nan == NAN_ERROR)
        return axis;
    sorted = view_sort_dimensions(&other, axis, places);
    if (!other.contiguous)
        return axis;
    for (unsigned i = 0; i < view->shaped.rank; i++) {
        if (i == sorted)
            continue;
        if (places[i] < last)
            return axis;
        last = places[i];
    }
    *view = other;
    return sorted;
}

gpr_status device_reduce_axis(gpr_input *input, const gpr_request *request, unsigned axis,
                              void *const *results, uint64_t count)
{
    gpr_context *context = input->context;
    struct view view = input->view.view;
    const struct view_layout *given = &view.shaped;
    struct array_shape shape = {.known = true, .dimensions = given->rank};
    unsigned more = request->more_axes;
    struct along a = {.input = input,
                      .view = &view,
                      .request = *request,
                      .plan = {.type = input->view.view.type, .given = input->view.view.type}};
    const char *const lacks = missing_add_values(&a.plan.missing, a.plan.type, &request->missing);
    char reason[AXIS_REASON_MAX];

    if (check_axis(input, request) != GPR_OK)
        return context->status;
    if (lacks)
        return refuse_missing(input, lacks);
    memcpy(shape.sizes, given->sizes, given->rank * sizeof *given->sizes);
    if (!axis_layout(&shape, (int64_t)axis, more, &a.layout, reason))
        return lib_fail(context, GPR_ERROR_UNSUPPORTED, "%s: %s", input->path, reason);
    if (a.layout.results != count)
        return lib_fail(context, GPR_ERROR_ARGUMENT, "there are %" PRIu64 " results, not %" PRIu64,
                        a.layout.results, count);
    if (!view_join(&view, axis, more))
        return lib_fail(
            context, GPR_ERROR_UNSUPPORTED,
            "the elements of a slice along several axes must lie in a row in device memory");
    /* Without more axes, since an error about a NaN names its place by them. */
    axis = sort_dimensions(&view, axis, request->nan);
    if (request->nan != NAN_ERROR) {
        shape.dimensions = given->rank;
        memcpy(shape.sizes, given->sizes, given->rank * sizeof *given->sizes);
        (void)axis_layout(&shape, (int64_t)axis, 0, &a.layout, reason);
    }
    a.axis = (struct cuda_array_axis){.outer = a.layout.outer,
                                      .length = a.layout.length,
                                      .inner = a.layout.inner,
                                      .shaped = given,
                                      .no_wait = request->no_wait,
                                      .number = axis};
    if (request->nan == NAN_ERROR)
        a.request.nan = NAN_PROPAGATE;
    for (unsigned i = 0; i < request->operations.count; i++) {
        a.op = lib_operation(&request->operations, i);
        a.axis.wish = wish_for(&a);
        a.results = results[i];
        if (reduce_axis(&a) != GPR_OK ||
            (i == 0 && request->nan == NAN_ERROR && refuse_nans(&a) != GPR_OK))
            return context->status;
    }
    return GPR_OK;
}
