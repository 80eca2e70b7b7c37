/*
 * Parts of files for processes that do not communicate.
 */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/name.h"
#include "lib/objects.h"
#include "run/shard.h"
#include "sys/float_mode.h"

/* Plans the shard's parts of files whose paths may be changed. */
static gpr_status plan(gpr_context *context, const struct shard *shard, char **paths, int count,
                       struct shard_part *parts)
{
    static char minus[] = "./-"; /* "-" alone would be standard input */
    const struct source_options options = {.log = NULL};
    char name[NAME_INPUT_MAX];
    const char *failed;
    struct error error;

    for (int i = 0; i < count; i++)
        if (strcmp(paths[i], "-") == 0)
            paths[i] = minus;
    if (!shard_plan(shard, paths, count, &options, parts, &failed, &error))
        return lib_fail_error(context, failed, NULL, &error);
    /* Processes that know the size of such a file have planned otherwise. */
    for (int i = 0; i < count; i++)
        if (parts[i].error)
            return lib_fail(context, GPR_ERROR_READ, "%s: %s", name_input(name, paths[i]),
                            strerror(parts[i].error));
    return GPR_OK;
}

gpr_status gpr_plan_shards(gpr_context *context, const char *const *paths, size_t count,
                           uint64_t number, uint64_t of, uint64_t *begins, uint64_t *ends)
{
    FLOAT_MODE_DEFAULT;
    const struct shard shard = {number, of};
    struct shard_part *parts;
    gpr_status status;
    char **copy;

    lib_begin(context);
    if (of > SHARDS_MAX || number < 1 || number > of)
        return lib_fail(context, GPR_ERROR_ARGUMENT,
                        "there are from 1 to %llu shards, from number 1 on",
                        (unsigned long long)SHARDS_MAX);
    if (count > INT_MAX)
        return lib_fail(context, GPR_ERROR_ARGUMENT, "at most %d files", INT_MAX);
    copy = malloc((count + 1) * sizeof *copy);
    parts = calloc(count + 1, sizeof *parts);
    if (copy && parts) {
        for (size_t i = 0; i < count; i++)
            copy[i] = (char *)(uintptr_t)paths[i]; /* which nobody changes */
        status = plan(context, &shard, copy, (int)count, parts);
    } else {
        status = lib_fail_memory(context);
    }
    for (size_t i = 0; i < count && status == GPR_OK; i++) {
        const struct source_part *part = &parts[i].part;
        const bool any = parts[i].any && part->begin < part->end;

        begins[i] = any ? part->begin : 0;
        ends[i] = any ? part->end : 0;
    }
    free(copy);
    free(parts);
    return status;
}
