/*
 * The metadata of PyTorch's checkpoints. Any bytes as .metadata, in a folder with a file of three
 * shards, the last of which is complex: what is taken lies within that file, and what is refused has a
 * reason.
 */
#include "config.h"

#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/format/containers.h"

/* The file that tests/lib/make_dcp.py calls so, too. */
#define SHARDS "__0_0.distcp"

/* In memory: writing to a disk would be what takes the time. */
static char folder[] = "/dev/shm/fuzz_dcp.XXXXXX";
static int directory = -1;
static uint64_t shards_size;

static void remove_folder(void)
{
    (void)unlinkat(directory, ".metadata", 0);
    (void)unlinkat(directory, SHARDS, 0);
    (void)rmdir(folder);
}

/* Adds the archive of a tensor of this shape, whose elements have so many bytes. */
static void add_shard(struct fuzz_bytes *b, const char *storage, uint8_t rows, uint8_t columns,
                      uint8_t size)
{
    static const uint8_t numbers[256];
    static const char head[] =
        "\x80\2ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\n";
    /* The numbers after K that are 0 here, but for the second one, become those of the tensor. */
    char tail[] = "\nX\1\0\0\0\60X\3\0\0\0cpuK\0tQK\0K\0K\0\x86K\0K\1\x86\x89}tR.";
    struct fuzz_bytes pickle = {0};
    static const char *const names[] = {"archive/data.pkl", "archive/data/0"};
    const uint8_t *contents[] = {NULL, numbers};
    size_t sizes[] = {0, (size_t)rows * columns * size};

    tail[16] = (char)(rows * columns);
    tail[22] = (char)rows;
    tail[24] = tail[27] = (char)columns;
    fuzz_add(&pickle, head, sizeof head - 1);
    fuzz_add(&pickle, storage, strlen(storage));
    fuzz_add(&pickle, tail, sizeof tail - 1);
    contents[0] = pickle.data;
    sizes[0] = pickle.size;
    fuzz_add_archive(b, names, contents, sizes, 2);
    fuzz_free(&pickle);
}

static void make_folder(void)
{
    struct fuzz_bytes shards = {0};

    fuzz_check(mkdtemp(folder) != NULL, "no folder");
    directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fuzz_check(directory >= 0, "no folder");
    add_shard(&shards, "FloatStorage", 4, 2, 4);
    add_shard(&shards, "FloatStorage", 3, 2, 4);
    add_shard(&shards, "ComplexFloatStorage", 4, 2, 8);
    fuzz_write_file(directory, SHARDS, shards.data, shards.size);
    shards_size = shards.size;
    fuzz_free(&shards);
    (void)atexit(remove_folder);
}

static void check_array(const struct container_array *a)
{
    uint64_t bytes = 0, size = element_size(a->type), parts = 1;
    char path[PATH_MAX];

    if (!fuzz_check_array(a))
        return;
    fuzz_check(*a->name && a->tiles, "no name, or no tiles");
    if (a->tiles->filter_count > 0)
        parts = 2;
    for (uint64_t i = 0; i < a->tiles->count; i++) {
        const struct container_tile *t = &a->tiles->tiles[i];

        bytes += t->compressed;
        fuzz_check(container_chunk_path(a, i, path) && strcmp(path, SHARDS) == 0, "a tile in %s",
                   path);
        fuzz_check(t->compressed > 0 && t->compressed <= a->tiles->elements * size * parts &&
                       t->offset <= shards_size && t->compressed <= shards_size - t->offset,
                   "a tile of %" PRIu32 " bytes at %" PRIu64, t->compressed, t->offset);
    }
    fuzz_check(bytes == a->length * parts, "%" PRIu64 " bytes of tiles, not %" PRIu64, bytes,
               a->length * parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct container_input in = {.error = {.kind = ERROR_NONE}};
    struct container *c;

    if (directory < 0)
        make_folder();
    in.file = directory;
    fuzz_write_file(directory, ".metadata", data, size);
    c = container_open(&container_pytorch, &in);
    for (size_t i = 0; c && i < c->count; i++)
        check_array(&c->arrays[i]);
    fuzz_check_reason(c, &in);
    container_close(c);
    return 0;
}
