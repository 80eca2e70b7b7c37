#include "config.h"

#include "cli/ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/report.h"
#include "core/name.h"
#include "run/arrays.h"

/* Sets the reason if an input, or an array, has no result. arrays_finish looks for NaNs in arrays.
 */
static void check(const struct options *options, struct reduction *reduction)
{
    if (reduction->partial.count != reduction->of)
        (void)error_set(&reduction->error, ERROR_CHANGED,
                        "%" PRIu64 " of %" PRIu64
                        " elements were counted: the ranks read different files",
                        reduction->partial.count, reduction->of);
    else if (options->session.nan == NAN_ERROR && reduction->partial.nan > 0 && !reduction->array)
        (void)error_set(&reduction->error, ERROR_NAN, "element %" PRIu64 " is a NaN",
                        reduction->partial.first_nan);
}

/* The arrays of a container, as a source would know them. */
struct known {
    struct source_info info;
    struct container_array *arrays;
    struct source_pick *picks;
    char name[NAME_INPUT_MAX];
};

static void forget(struct known *known)
{
    free(known->arrays);
    free(known->picks);
}

/* False without memory. */
static bool know(struct known *known, const char *path, const struct ranks_input *input)
{
    known->arrays = calloc(input->count + 1, sizeof *known->arrays);
    known->picks = calloc(input->count + 1, sizeof *known->picks);
    if (!known->arrays || !known->picks) {
        message_error(EXIT_FAILED, "out of memory");
        return false;
    }
    known->info = (struct source_info){.name = name_input(known->name, path),
                                       .format = input->count > 0 ? input->pieces[0].format : "",
                                       .picks = known->picks,
                                       .pick_count = input->count,
                                       .pick_total = input->count};
    for (size_t k = 0; k < input->count; k++) {
        const struct rank_piece *p = &input->pieces[k];

        known->arrays[k] =
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
        memcpy(known->arrays[k].type_name, p->type_name, sizeof p->type_name);
        known->picks[k] = (struct source_pick){
            .array = &known->arrays[k], .elements = p->of, .of = p->of, .number = k};
    }
    return true;
}

/* Prints the arrays of a container. */
static void report_container(struct report *r, const char *path, const struct ranks_input *input,
                             struct total *total)
{
    const struct options *options = r->options;
    struct known known = {0};
    struct reduction reduction, one;
    struct arrays *arrays =
        know(&known, path, input) ? arrays_open(&known.info, &options->session, path, 0) : NULL;

    memset(&reduction, 0, sizeof reduction);
    for (size_t k = 0; k < input->count && arrays; k++) {
        rank_piece_finish(&input->pieces[k], &options->session, &one);
        check(options, &one);
        arrays_put(arrays, k, &one);
        reduction.elements += one.elements;
        reduction.bytes += one.bytes;
        reduction.input_bytes += one.input_bytes;
        if (one.seconds > reduction.seconds)
            reduction.seconds = one.seconds;
    }
    if (arrays) {
        (void)arrays_finish(arrays, NULL);
        reduction.arrays = arrays;
        reduction.format = known.info.format;
        report(r, path, &reduction);
        total_add(total, &reduction);
    }
    arrays_close(arrays);
    forget(&known);
}

void ranks_report(struct report *r, const char *path, const struct ranks_input *input,
                  struct total *total)
{
    const struct options *options = r->options;
    struct reduction reduction;

    if (input->container) {
        report_container(r, path, input, total);
        return;
    }
    rank_piece_finish(&input->pieces[0], &options->session, &reduction);
    check(options, &reduction);
    report(r, path, &reduction);
    total_add(total, &reduction);
}

/* How many GPUs this machine has, as far as its files and the environment tell. */
static unsigned count_gpus(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    char path[40];
    unsigned count = 0;

    if (visible && *visible) {
        for (count = 1; (visible = strchr(visible, ',')); visible++)
            count++;
        return count;
    }
    do
        snprintf(path, sizeof path, "/dev/nvidia%u", count);
    while (access(path, F_OK) == 0 && ++count < ENGINE_DEVICES_MAX);
    return count;
}

void ranks_choose_gpu(struct session_options *options, unsigned place)
{
    const unsigned count = count_gpus();

    if (options->device_count > 1)
        options->devices[0] = options->devices[place % options->device_count];
    else if (options->devices[0] == 0 && count > 0)
        options->devices[0] = (int)(place % count);
    options->device_count = 1;
}
