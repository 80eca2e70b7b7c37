#include "config.h"

#include "run/ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Pieces.
 */

void rank_piece_clear(struct rank_piece *p)
{
    memset(p, 0, sizeof *p);
    partial_clear(&p->partial);
}

/* Does it with each member that a reduction has, too. */
#define EACH(DO)                                                                            \
    DO(error), DO(type), DO(missing), DO(scale), DO(shape), DO(big_endian), DO(compressed), \
        DO(data_offset), DO(elements), DO(of), DO(bytes), DO(input_bytes), DO(seconds),     \
        DO(partial)

bool rank_piece_set(struct rank_piece *p, const struct reduction *reduction)
{
#define TAKE(member) p->member = reduction->member
    const char *array = reduction->array ? reduction->array : "";

    rank_piece_clear(p);
    if (strlen(array) >= sizeof p->array)
        return false;
    p->known = true;
    EACH(TAKE);
    p->unreadable = reduction->type_name;
    snprintf(p->type_name, sizeof p->type_name, "%s", p->unreadable ? reduction->type_name : "");
    snprintf(p->array, sizeof p->array, "%s", array);
    snprintf(p->format, sizeof p->format, "%s", reduction->format);
    return true;
}

void rank_piece_merge(struct rank_piece *p, const struct rank_piece *other)
{
    if (!other->known)
        return;
    if (!p->known) {
        *p = *other;
        return;
    }
    (void)error_keep(&p->error, other->error);
    if (strcmp(p->array, other->array) != 0)
        (void)error_set(&p->error, ERROR_CHANGED, "its name differs between ranks");
    if (p->type != other->type || !missing_same(&p->missing, &other->missing) ||
        !scale_same(&p->scale, &other->scale))
        (void)error_set(&p->error, ERROR_CHANGED,
                        "its type, missing values or scale differ between ranks");
    p->elements += other->elements;
    p->bytes += other->bytes;
    p->input_bytes += other->input_bytes;
    if (other->seconds > p->seconds)
        p->seconds = other->seconds;
    partial_merge(&p->partial, &other->partial);
}

/* Sets *reduction to all that is known, and to the results; its texts lie in *p. */
static void finish(const struct rank_piece *p, const struct session_options *options,
                   struct reduction *reduction)
{
#define GIVE(member) reduction->member = p->member
    memset(reduction, 0, sizeof *reduction);
    EACH(GIVE);
    reduction->array = p->array[0] ? p->array : NULL;
    reduction->type_name = p->unreadable ? p->type_name : NULL;
    reduction->format = p->format;
    reduction_round(&reduction->result, &p->partial, p->type, &p->scale, options->nan == NAN_SKIP,
                    options->ddof);
}

/*
 * Results.
 */

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
                                     .unreadable = p->unreadable ? p->error.text : NULL,
                                     .advice = p->error.advice.kind,
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
        finish(&input->pieces[k], options, &one);
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
    finish(&input->pieces[0], options, &result->reduction);
    check(options, &result->reduction);
}

void ranks_free(struct ranks_result *result)
{
    arrays_close(result->arrays);
    free(result->descriptions);
    free(result->picks);
}
