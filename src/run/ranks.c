#include "config.h"

#include "run/ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Sets the reason if an input, or an array, has no result. arrays_finish looks for NaNs in arrays.
 */
static void check(const struct session_options *options, struct reduction *reduction)
{
    if (reduction->partial.count != reduction->of)
        (void)error_set(&reduction->error, ERROR_CHANGED,
                        "%" PRIu64 " of %" PRIu64
                        " elements were counted: the ranks read different files",
                        reduction->partial.count, reduction->of);
    else if (options->nan == NAN_ERROR && reduction->partial.nan > 0 && !reduction->array)
        (void)error_set(&reduction->error, ERROR_NAN, "element %" PRIu64 " is a NaN",
                        reduction->partial.first_nan);
}

/* Describes the arrays of a container as a source would. False without memory. */
static bool describe(struct ranks_result *known, const struct ranks_input *input)
{
    known->descriptions = calloc(input->count + 1, sizeof *known->descriptions);
    known->picks = calloc(input->count + 1, sizeof *known->picks);
    if (!known->descriptions || !known->picks)
        return false;
    known->info = (struct source_info){.format = input->count > 0 ? input->pieces[0].format : "",
                                       .picks = known->picks,
                                       .pick_count = input->count,
                                       .pick_total = input->count};
    for (size_t k = 0; k < input->count; k++) {
        const struct rank_piece *p = &input->pieces[k];

        known->descriptions[k] =
            (struct container_array){.name = p->array,
                                     .unreadable = p->unreadable ? p->error_text : NULL,
                                     .advice = p->advice,
                                     .typed = true,
                                     .type = p->type,
                                     .big_endian = p->big_endian,
                                     .elements = p->of,
                                     .offset = p->data_offset,
                                     .before = p->data_offset,
                                     .deflated = p->compressed,
                                     .compressed = p->input_bytes,
                                     .dimensions = p->shape.dimensions,
                                     .sizes = p->shape.sizes,
                                     .fortran_order = p->shape.fortran_order,
                                     .missing_values = &p->missing,
                                     .scale = &p->scale};
        memcpy(known->descriptions[k].type_name, p->type_name, sizeof p->type_name);
        known->picks[k] = (struct source_pick){
            .array = &known->descriptions[k], .elements = p->of, .of = p->of, .number = k};
    }
    return true;
}

/* Sets the result of a container. */
static void finish_arrays(struct ranks_result *result, const struct ranks_input *input,
                          const char *path, const struct session_options *options)
{
    struct reduction *all = &result->reduction, one;

    memset(all, 0, sizeof *all);
    if (describe(result, input))
        result->arrays = arrays_open(&result->info, options, path, 0);
    if (!result->arrays) {
        (void)error_memory(&all->error);
        return;
    }
    for (size_t k = 0; k < input->count; k++) {
        rank_piece_finish(&input->pieces[k], options, &one);
        check(options, &one);
        arrays_put(result->arrays, k, &one);
        all->elements += one.elements;
        all->bytes += one.bytes;
        all->input_bytes += one.input_bytes;
        if (one.seconds > all->seconds)
            all->seconds = one.seconds;
    }
    (void)arrays_finish(result->arrays, NULL);
    all->arrays = result->arrays;
    all->format = result->info.format;
}

void ranks_finish(struct ranks_result *result, const struct ranks_input *input, const char *path,
                  const struct session_options *options)
{
    *result = (struct ranks_result){.arrays = NULL};
    if (input->container) {
        finish_arrays(result, input, path, options);
        return;
    }
    rank_piece_finish(&input->pieces[0], options, &result->reduction);
    check(options, &result->reduction);
}

void ranks_free(struct ranks_result *result)
{
    arrays_close(result->arrays);
    free(result->descriptions);
    free(result->picks);
}
