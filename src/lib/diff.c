/*
 * Comparisons of inputs.
 */
#include "config.h"

#include "run/diff.h"

#include <string.h>

#include "lib/device.h"
#include "lib/objects.h"
#include "lib/reducer.h"
#include "run/diff_row.h"
#include "sys/float_mode.h"

/* The function of the caller that is told of rows. */
struct rows {
    gpr_row_function *row; /* NULL: none */
    void *user;
    bool all; /* also of arrays that do not differ */
};

/* Reads lines of limits, ulp:N, abs:X and rel:X, with commas in between, after PATTERN= or not; NULL:
   none. */
static gpr_status parse_tolerances(gpr_context *context, const char *text,
                                   struct difference_tolerances *tolerances)
{
    char bad[DIFFERENCE_LIMIT_MAX];
    bool full;

    while (text) {
        const size_t length = strcspn(text, "\n");

        if (!difference_add_tolerances(tolerances, text, length, bad, &full))
            return full ? lib_fail(context, GPR_ERROR_ARGUMENT,
                                   "at most %d tolerances are for patterns, which are shorter than "
                                   "%d bytes",
                                   DIFFERENCE_TOLERANCES_MAX, DIFFERENCE_PATTERN_MAX)
                        : lib_fail(context, GPR_ERROR_ARGUMENT,
                                   "a tolerance is a list of ulp:N, abs:X and rel:X, with "
                                   "nonnegative numbers");
        text = text[length] ? text + length + 1 : NULL;
    }
    return GPR_OK;
}

static gpr_status tell(gpr_context *context, const struct rows *rows,
                       const struct diff_request *request, const struct diff *diff,
                       const struct diff_item *item, bool missing)
{
    struct buffer line = {0};
    struct writer w = {.form = WRITER_JSON, .shows = IN_OBJECT, .out = &line};
    gpr_status status = GPR_OK;

    diff_row_write(&w, request, diff, item, missing);
    if (line.failed) {
        status = lib_fail_memory(context);
    } else {
        line.data[line.size - 1] = '\0'; /* in place of the newline */
        if (rows->row(rows->user, line.data) != 0)
            status = lib_fail(context, GPR_ERROR_CANCELLED, "cancelled");
    }
    writer_close(&w);
    buffer_free(&line);
    return status;
}

/* Tells of all items that it should. */
static gpr_status tell_all(gpr_context *context, const struct rows *rows,
                           const struct diff_request *request, const struct diff *diff)
{
    const bool missing = diff_has_missing(diff);
    gpr_status status = GPR_OK;

    for (size_t k = 0; rows->row && k < diff_count(diff) && status == GPR_OK; k++) {
        const struct diff_item *item = diff_get(diff, k);

        if (diff_differs(item) || (rows->all && item->kind == DIFF_SAME && item->compared))
            status = tell(context, rows, request, diff, item, missing);
    }
    return status;
}

/* Compares what a request is about. */
static gpr_status run(gpr_context *context, const struct rows *rows,
                      const struct diff_request *request, uint64_t *different)
{
    struct diff *diff = diff_new(request);
    const struct error *error;
    gpr_status status = GPR_OK;
    const char *name, *array, *pattern;
    char input[NAME_INPUT_MAX], shown[NAME_ARRAY_MAX];
    bool good;

    if (!diff)
        return lib_fail_memory(context);
    good = diff_run(diff);
    for (unsigned next = 0; good && (pattern = diff_unmatched(diff, &next));)
        log_warn(request->options->input.log, name_input(input, request->sides[DIFF_A].name),
                 NO_ADVICE, "no array matches %s, a pattern of a tolerance",
                 name_array(shown, pattern));
    if (good)
        status = tell_all(context, rows, request, diff);
    error = diff_error(diff, 0, &name, &array);
    if (status == GPR_OK && error) {
        status = lib_fail_named(context, *name ? name : NULL, NULL, error);
        lib_set_array(context, array); /* which `name` has */
    } else if (status == GPR_OK && !good) {
        status = lib_fail(context, GPR_ERROR_CANCELLED, "cancelled");
    }
    if (status == GPR_OK)
        *different = diff_summary(diff).different;
    diff_close(diff);
    return status;
}

static gpr_status check_input(gpr_context *context, const gpr_input *input)
{
    char name[NAME_INPUT_MAX];

    if (input->context != context)
        return lib_fail(context, GPR_ERROR_ARGUMENT, "the inputs are of two contexts");
    if (input->in_memory && input->view.view.mask_form != VIEW_MASK_NONE)
        return lib_fail(context, GPR_ERROR_UNSUPPORTED, "views with a mask cannot be compared");
    if (input->options.part.end > 0)
        return lib_fail(context, GPR_ERROR_UNSUPPORTED, "%s: a part of a file cannot be compared",
                        name_input(name, input->path));
    if (input->pipe && !input->source)
        return lib_fail(context, GPR_ERROR_ARGUMENT, "%s: a pipe can be read once",
                        name_input(name, input->path));
    return GPR_OK;
}

/* A pipe has been read. */
static void end_input(gpr_input *input)
{
    if (!input->pipe)
        return;
    source_close(input->source);
    input->source = NULL;
}

gpr_status gpr_diff_inputs(gpr_input *a, gpr_input *b, const gpr_request *request,
                           const char *tolerance, gpr_row_function *row, void *user, int all,
                           uint64_t *different)
{
    FLOAT_MODE_DEFAULT;
    gpr_context *context = a->context;
    const struct rows rows = {row, user, all != 0};
    const struct gpr_request none = {.context = context};
    struct session_options options[DIFF_SIDES];
    gpr_input *const inputs[DIFF_SIDES] = {a, b};
    struct difference_tolerances tolerances = {.count = 0};
    struct device_side sides[DIFF_SIDES];
    struct diff_request job = {.options = &options[DIFF_A], .tolerances = &tolerances};
    uint64_t found = 0;
    gpr_status status;

    lib_begin(context);
    job.cast = request && request->cast;
    job.ignore_dtype = request && request->ignore_dtype;
    job.all_results = row && all;
    if (parse_tolerances(context, tolerance, &tolerances) != GPR_OK)
        return context->status;
    for (int side = 0; side < DIFF_SIDES; side++) {
        if (check_input(context, inputs[side]) != GPR_OK ||
            !reducer_prepare(inputs[side], request ? request : &none, &options[side]))
            return context->status;
        job.sides[side].name = inputs[side]->path;
        job.sides[side].paths = inputs[side]->parts ? inputs[side]->set.paths : &inputs[side]->path;
        job.sides[side].count = inputs[side]->parts ? (int)inputs[side]->set.count : 1;
        options[side].input.index = inputs[side]->set.index;
        job.sides[side].input = &options[side].input;
    }
    if (device_prepare(sides, inputs, options, &job) != GPR_OK)
        return context->status;
    lib_begin_long(context);
    status = run(context, &rows, &job, &found);
    end_input(a);
    if (a != b)
        end_input(b);
    reducer_tell_warnings(context);
    status = lib_end_long(context, status);
    if (status == GPR_OK && different)
        *different = found;
    return status;
}

gpr_status gpr_diff(gpr_context *context, const char *a, const char *b, const char *tolerance,
                    gpr_row_function *row, void *user, int all, uint64_t *different)
{
    FLOAT_MODE_DEFAULT;
    gpr_input *one, *other;
    gpr_status status = gpr_open_path(context, a, NULL, &one);

    if (status != GPR_OK)
        return status;
    status = gpr_open_path(context, b, NULL, &other);
    if (status == GPR_OK) {
        status = gpr_diff_inputs(one, other, NULL, tolerance, row, user, all, different);
        gpr_close(other);
    }
    gpr_close(one);
    return status;
}
