#include "config.h"

#include "run/shard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/operand.h"

/* Properties of a file. */
struct sized {
    uint64_t units;
    bool whole;      /* it has no parts */
    int error;       /* why it cannot be had, as errno; 0 where it can */
    bool compressed; /* it may have, between frames */
};

uint64_t shard_units(uint64_t bytes)
{
    return bytes > 0 ? (bytes - 1) / SHARD_UNIT + 1 : 1;
}

/* units * number / of, which has no room for its product. */
static uint64_t share(uint64_t units, uint64_t number, uint64_t of)
{
    return units / of * number + units % of * number / of;
}

uint64_t shard_range(const struct shard *shard, uint64_t units, uint64_t *end)
{
    *end = share(units, shard->number, shard->of);
    return share(units, shard->number - 1, shard->of);
}

/* False where it is an input without a length, or cannot be read. */
static bool find_size(const char *path, const struct source_options *options, struct sized *sized,
                      struct error *error)
{
    const bool standard = strcmp(path, "-") == 0;
    struct source_facts facts;
    off_t begin = 0, size;
    struct stat status;

    *sized = (struct sized){.units = 1, .whole = true};
    if (!operand_status(path, &status)) {
        sized->error = errno;
        return true;
    }
    if (S_ISDIR(status.st_mode)) /* a store goes whole to one shard */
        return true;
    if (!S_ISREG(status.st_mode))
        return error_set(
            error, ERROR_REQUEST,
            "not a regular file: its size is unknown, so it cannot be divided into shards");
    if (standard)
        begin = lseek(STDIN_FILENO, 0, SEEK_CUR);
    size = begin > 0 && begin < status.st_size ? status.st_size - begin : status.st_size;
    if (!source_look(path, options, &facts, error))
        return false;
    *sized = (struct sized){.units = shard_units((uint64_t)size), .compressed = facts.compressed};
    return true;
}

/* The part of a file whose first unit is number `before` of all; units from `begin` up to `end` are
   the shard's. */
static struct shard_part cut(const struct sized *sized, uint64_t before, uint64_t begin,
                             uint64_t end)
{
    const uint64_t behind = before + sized->units;
    struct shard_part part = {.part = {.begin = 0, .end = UINT64_MAX}};

    if (sized->whole) {
        part.any = before >= begin && before < end;
        return part;
    }
    part.any = before < end && behind > begin;
    if (begin > before)
        part.part.begin = (begin - before) * SHARD_UNIT;
    if (end < behind)
        part.part.end = (end - before) * SHARD_UNIT;
    return part;
}

/* Gives a shard its part of a compressed file: that is cut between frames, or goes whole to the
   shard that has its first unit. Only shards that may get frames look for them. False where they
   cannot be read. */
static bool cut_compressed(const char *path, const struct source_options *options,
                           const struct sized *sized, uint64_t before, uint64_t begin, uint64_t end,
                           struct shard_part *part, struct error *error)
{
    const bool first = before >= begin && before < end, all = first && before + sized->units <= end;
    bool parts;

    *part = cut(sized, before, begin, end);
    if (!part->any || all)
        return true;
    if (!source_cut(path, options, &part->part, &parts, error))
        return false;
    if (parts)
        part->any = part->part.begin < part->part.end;
    else
        *part = (struct shard_part){.any = first, .part = {.begin = 0, .end = UINT64_MAX}};
    return true;
}

bool shard_plan(const struct shard *shard, char *const *paths, int count,
                const struct source_options *options, struct shard_part *parts, const char **failed,
                struct error *error)
{
    struct sized *sized = calloc((size_t)count + 1, sizeof *sized);
    uint64_t units = 0, begin, end;
    bool good = true;

    *failed = NULL;
    error->kind = ERROR_NONE;
    if (!sized)
        return error_memory(error);
    for (int i = 0; i < count && good; i++) {
        *failed = paths[i];
        good = find_size(paths[i], options, &sized[i], error);
        units += sized[i].units;
    }
    begin = shard_range(shard, units, &end);
    units = 0;
    for (int i = 0; i < count && good; i++) {
        *failed = paths[i];
        if (sized[i].compressed)
            good =
                cut_compressed(paths[i], options, &sized[i], units, begin, end, &parts[i], error);
        else
            parts[i] = cut(&sized[i], units, begin, end);
        parts[i].error = sized[i].error;
        parts[i].units = sized[i].units;
        units += sized[i].units;
    }
    free(sized);
    return good;
}
