#include "config.h"

#include "cli/option_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/failure.h"
#include "cli/message.h"
#include "cli/options.h"
#include "core/name.h"

const char *const option_shard_words[] = {"auto", NULL};

/*
 * --shard=auto: from the variables of those who start many processes.
 */

/* The number in a variable. False where there is none. */
static bool get_number(const char *name, uint64_t *number)
{
    const char *text = getenv(name);

    return text && number_parse_count(text, number);
}

/* The number in a variable. False, after an error, where there is none. */
static bool need_number(const struct arguments *a, const char *name, uint64_t *number)
{
    return get_number(name, number) ||
           arguments_wrong(a,
                           getenv(name) ? "--shard=auto: %s is not a number from 0 on"
                                        : "--shard=auto: %s is not set",
                           name);
}

/* Makes each of the shards so far `of` shards, and takes the one with this number, from 0 on. False
   where there is no such number. */
static bool divide(struct shard *shard, uint64_t number, uint64_t of)
{
    if (of == 0 || number >= of || of > SHARDS_MAX / shard->of)
        return false;
    shard->number = (shard->number - 1) * of + number + 1;
    shard->of *= of;
    return true;
}

/* Takes the place of task number `id` in a Slurm array of `count` tasks, whose numbers may begin anywhere
   and go up in steps. */
static bool divide_by_array(struct shard *shard, uint64_t id, uint64_t count)
{
    uint64_t least, most, step;

    if (!get_number("SLURM_ARRAY_TASK_MIN", &least))
        least = 0;
    if (!get_number("SLURM_ARRAY_TASK_MAX", &most))
        most = least + count - 1;
    if (count == 0 || most < least || id < least)
        return false;
    step = count > 1 ? (most - least) / (count - 1) : 1;
    /* The numbers of --array=1,2,7 are not evenly spaced. */
    if (step == 0 || least + (count - 1) * step != most || (id - least) % step != 0)
        return false;
    return divide(shard, (id - least) / step, count);
}

/* Takes the shard from the environment. */
static bool find_shard(const struct arguments *a, struct shard *shard)
{
    static const char *const launchers[][2] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"PMI_RANK", "PMI_SIZE"},
        {"SLURM_PROCID", "SLURM_NTASKS"},
    };
    const bool array = getenv("SLURM_ARRAY_TASK_ID");
    uint64_t number, of;

    *shard = (struct shard){1, 1};
    if (array && (!need_number(a, "SLURM_ARRAY_TASK_ID", &number) ||
                  !need_number(a, "SLURM_ARRAY_TASK_COUNT", &of)))
        return false;
    if (array && !divide_by_array(shard, number, of))
        return arguments_wrong(
            a, "--shard=%s: the task numbers of the Slurm array are not evenly spaced", "auto");
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        if (!getenv(launchers[i][0]))
            continue;
        if (!need_number(a, launchers[i][0], &number) || !need_number(a, launchers[i][1], &of))
            return false;
        if (number >= of)
            return arguments_wrong(a, "--shard=auto: %s is not below the number of processes",
                                   launchers[i][0]);
        return divide(shard, number, of) ||
               arguments_wrong(a, "--shard=auto: %s makes more than 1048576 shards",
                               launchers[i][1]);
    }
    if (!array)
        return arguments_wrong(
            a, "--shard=%s: none of the variables of Open MPI, PMI and Slurm is set", "auto");
    return true;
}

/* I/N */
static bool parse_shard(const char *text, struct shard *shard)
{
    const size_t length = strcspn(text, "/");
    char number[24];

    if (!text[length] || length >= sizeof number)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)length, text);
    return number_parse_count(number, &shard->number) &&
           number_parse_count(text + length + 1, &shard->of) && shard->number >= 1 &&
           shard->number <= shard->of && shard->of <= SHARDS_MAX;
}

bool option_parse_shard(const struct arguments *a, const struct argument *x, const char *text,
                        void *target)
{
    struct shard *shard = &((struct options *)target)->shard;

    (void)x;
    _Static_assert(SHARDS_MAX == 1048576, "as the message says");
    if (strcmp(text, option_shard_words[0]) == 0)
        return find_shard(a, shard);
    return parse_shard(text, shard) ||
           arguments_wrong(a,
                           "bad shard %s: must be I/N, where I is from 1 to N and N at most "
                           "1048576, or auto",
                           text);
}

/*
 * Options that exclude each other.
 */

bool partial_check(const struct arguments *a, struct options *options)
{
    struct pass_request *request = &options->session.passes;

    if (options->command != COMMAND_MERGE && options->output != OUTPUT_PARTIAL && !options->ranks)
        return true;
    pass_request_drop_optional(request);
    pass_request_drop_optional(&options->total_quantiles);
    if (options->ranks &&
        (request->histogram.kind != HISTOGRAM_NONE || request->quantile_count > 0))
        return arguments_wrong(a, "ranks cannot merge quantiles and histograms; use %s for them",
                               "gpureduce");
    if (request->quantile_count > 0)
        return arguments_wrong(a, "partial results cannot hold quantiles; leave them out of %s",
                               options->total_quantiles.quantile_count > 0 ? "--op"
                               : options->rows.sort.op                     ? "--sort and --where"
                                                                           : "--where");
    return true;
}

bool partial_goes_with(const struct arguments *a, const struct options *options)
{
    if (options->shard.of > 0 && options->total)
        return arguments_wrong(a, "option %s needs all shards; give it to --merge", "--total");
    if (options->label && !options->total &&
        (options->command == COMMAND_MERGE || options->file_count > 1))
        return arguments_wrong(a, "option %s needs one input, or --total", "--label");
    return true;
}

/* Reports a file that cannot be used, of which another shard has the only part. Processes that do
   see it have made another plan, and some elements may be in nobody's. */
static void complain(const char *path, int error)
{
    char name[NAME_INPUT_MAX];

    message_error(EXIT_FAILED, "%s: %s", name_input(name, path), strerror(error));
}

bool partial_choose_shard(struct options *options)
{
    struct shard_part *parts;
    const char *failed;
    struct error error;
    int kept = 0;

    if (options->shard.of == 0)
        return true;
    parts = calloc((size_t)options->file_count + 1, sizeof *parts);
    options->parts = calloc((size_t)options->file_count + 1, sizeof *options->parts);
    if (!parts || !options->parts) {
        free(parts);
        message_error(EXIT_FAILED, "out of memory");
        return false;
    }
    if (!shard_plan(&options->shard, options->files, options->file_count, &options->session.input,
                    parts, &failed, &error)) {
        failure_print(failed, NULL, &error);
        free(parts);
        return false;
    }
    for (int i = 0; i < options->file_count; i++) {
        char *const file = options->files[i];

        if (!parts[i].any) {
            if (parts[i].error)
                complain(file, parts[i].error);
            continue;
        }
        options->files[i] = options->files[kept]; /* the set frees all of them */
        options->files[kept] = file;
        options->parts[kept++] = parts[i].part;
    }
    options->file_count = kept;
    free(parts);
    return true;
}
