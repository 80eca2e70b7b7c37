/*
 * The metadata of Zarr's arrays. Any bytes as zarr.json, .zmetadata or .zarray, with the rest of these
 * as .zattrs, in a folder with some files that may be chunks: what is taken holds together, and what is refused
 * has a reason.
 */
#include "config.h"

#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/format/containers.h"

/* Arrays of more chunks are not asked for: each is looked for in the folder. */
#define CHUNKS_MAX 256

/* In memory: writing to a disk would be what takes the time. */
static char folder[] = "/dev/shm/fuzz_zarr.XXXXXX";
static int directory = -1;

static const char *const files[] = {"zarr.json", ".zarray", ".zmetadata", ".zattrs",
                                    "0",         "1",       "0.0",        "c/0"};

/* Those of metadata, and the last of them, are the first. */
enum { ATTRIBUTES = 3, METADATA };

static void remove_folder(void)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        (void)unlinkat(directory, files[i], 0);
    (void)unlinkat(directory, "c", AT_REMOVEDIR);
    (void)rmdir(folder);
}

static void make_folder(void)
{
    static const uint8_t bytes[16] = {8}; /* an index of a shard, too */

    fuzz_check(mkdtemp(folder) != NULL, "no folder");
    directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fuzz_check(directory >= 0 && mkdirat(directory, "c", 0700) == 0, "no folder");
    for (size_t i = METADATA; i < sizeof files / sizeof *files; i++)
        fuzz_write_file(directory, files[i], bytes, sizeof bytes);
    (void)atexit(remove_folder);
}

/* How many chunks there are; CHUNKS_MAX + 1 if there are more. */
static uint64_t count_chunks(const struct container_array *a)
{
    uint64_t count = 1;

    for (unsigned i = 0; i < a->dimensions; i++) {
        const uint64_t size = a->tiles->sizes[i];

        fuzz_check(size > 0, "a chunk of no elements");
        if (a->sizes[i] > size * CHUNKS_MAX)
            return CHUNKS_MAX + 1;
        count *= (a->sizes[i] + size - 1) / size;
        if (count > CHUNKS_MAX || count == 0)
            return count ? CHUNKS_MAX + 1 : 0;
    }
    return count;
}

static void check_array(const struct container_array *a, bool looked_up)
{
    uint64_t bytes = 0;
    char path[PATH_MAX];

    if (!fuzz_check_array(a))
        return;
    fuzz_check(*a->name && a->tiles, "no name, or no chunks");
    fuzz_check(a->tiles->elements <= CONTAINER_TILE_BYTES_MAX / element_size(a->type),
               "chunks of %" PRIu64 " elements", a->tiles->elements);
    fuzz_check(a->tiles->count <= CONTAINER_TILES_MAX &&
                   a->tiles->filter_count <= CONTAINER_FILTERS_MAX &&
                   (!looked_up || a->tiles->count == count_chunks(a)),
               "%" PRIu64 " chunks, %u filters", a->tiles->count, a->tiles->filter_count);
    for (uint64_t i = 0; i < a->tiles->count; i++) {
        bytes += a->tiles->tiles[i].compressed;
        fuzz_check(container_chunk_path(a, i, path) && *path != '/' &&
                       strncmp(path, "../", 3) != 0 && !strstr(path, "/../"),
                   "a chunk in %s", path);
    }
    fuzz_check(bytes == a->compressed, "%" PRIu64 " bytes of chunks, not %" PRIu64, bytes,
               a->compressed);
}

/* Opens the store. Returns how many chunks the largest of its arrays has. */
static uint64_t open_store(bool headers_only, bool stored)
{
    struct container_pattern none = {.pattern = "none"};
    struct container_input in = {
        .file = directory, .patterns = &none, .pattern_count = headers_only, .stored = stored};
    struct container *c = container_open(&container_zarr, &in);
    uint64_t chunks = 0;

    fuzz_check_reason(c, &in);
    for (size_t i = 0; c && i < c->count; i++) {
        check_array(&c->arrays[i], !headers_only);
        if (!c->arrays[i].unreadable && chunks < count_chunks(&c->arrays[i]))
            chunks = count_chunks(&c->arrays[i]);
    }
    container_close(c);
    return chunks;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool there[METADATA]; /* metadata of the last input */
    struct fuzz_input in = {data, size};
    const size_t version = (size_t)fuzz_below(&in, 3);
    const bool stored = fuzz_flag(&in);
    const uint8_t *const mark = memchr(in.data, '\n', in.size);
    const size_t metadata = mark && version == 1 ? (size_t)(mark - in.data) : in.size;

    if (directory < 0)
        make_folder();
    for (size_t i = 0; i < METADATA; i++)
        if (there[i] && i != version)
            (void)unlinkat(directory, files[i], 0);
    fuzz_write_file(directory, files[version], in.data, metadata);
    if (metadata < in.size)
        fuzz_write_file(directory, files[ATTRIBUTES], mark + 1, in.size - metadata - 1);
    for (size_t i = 0; i < METADATA; i++)
        there[i] = i == version || (i == ATTRIBUTES && metadata < in.size);
    if (open_store(true, stored) <= CHUNKS_MAX)
        (void)open_store(false, stored);
    return 0;
}
