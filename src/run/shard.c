#include "config.h"

#include "run/shard.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/operand.h"

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

/* Sets the properties of a file. False if it has no length, or cannot be read. */
static bool find_size(const char *path, const struct source_options *options,
                      struct shard_part *part, struct error *error)
{
    const bool standard = strcmp(path, "-") == 0;
    struct source_facts facts;
    off_t begin = 0, size;
    struct stat status;

    *part = (struct shard_part){.units = 1};
    if (!operand_status(path, &status)) {
        part->error = errno;
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
    part->units = shard_units((uint64_t)size);
    part->compressed = facts.compressed;
    return true;
}

/* Gives a shard its part of a file whose first unit is number `before` of all; units from `begin` up to
   `end` are the shard's. A compressed file is cut between frames, or goes whole to the shard that has
   its first unit. Only shards that may get frames look for them. False where they cannot be read. */
static bool cut(const char *path, const struct source_options *options, uint64_t before,
                uint64_t begin, uint64_t end, struct shard_part *part, struct error *error)
{
    const uint64_t behind = before + part->units;
    const bool first = before >= begin && before < end;
    bool parts;

    part->any = before < end && behind > begin;
    part->part.begin = begin > before ? (begin - before) * SHARD_UNIT : 0;
    part->part.end = end < behind ? (end - before) * SHARD_UNIT : UINT64_MAX;
    if (!part->compressed || !part->any || (first && behind <= end))
        return true;
    if (!source_cut(path, options, &part->part, &parts, error))
        return false;
    part->any = parts ? part->part.begin < part->part.end : first;
    if (!parts)
        part->part = (struct source_part){.begin = 0, .end = UINT64_MAX};
    return true;
}

bool shard_plan(const struct shard *shard, char *const *paths, int count,
                const struct source_options *options, struct shard_part *parts, const char **failed,
                struct error *error)
{
    uint64_t units = 0, begin, end;
    bool good = true;

    *failed = NULL;
    error->kind = ERROR_NONE;
    for (int i = 0; i < count && good; i++) {
        *failed = paths[i];
        good = find_size(paths[i], options, &parts[i], error);
        units += parts[i].units;
    }
    begin = shard_range(shard, units, &end);
    units = 0;
    for (int i = 0; i < count && good; i++) {
        *failed = paths[i];
        good = cut(paths[i], options, units, begin, end, &parts[i], error);
        units += parts[i].units;
    }
    return good;
}
