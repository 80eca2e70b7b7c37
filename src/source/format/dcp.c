/*
 * PyTorch: archives of torch.save (pytorch.c), and checkpoints of torch.distributed.checkpoint,
 * which are directories. There .metadata is a pickle that names the tensors and says which files
 * have their shards: boxes of a tensor, each an archive of one tensor
 * (torch/distributed/checkpoint/metadata.py and filesystem.py of PyTorch).
 *
 * The tiles of such an array are shards, or parts of them that lie in a file element by element.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/format/containers.h"
#include "source/format/pickle.h"
#include "source/format/pytorch.h"
#include "sys/grow.h"
#include "sys/whole.h"

#define METADATA ".metadata"

/* The longest name of an array, and of a file, in bytes. */
#define NAME_MAX_BYTES 1000
#define FILE_MAX_BYTES 255

/* Shards are divided into tiles of about so many bytes, which fit into a cache; and so many numbers
   of rows are tried until one divides a shard. */
#define TILE_BYTES ((uint64_t)2 << 20)
#define ROWS_TRIED 4096

/* The use of a global. */
enum use { NOTHING, ROOT, TENSOR, BYTES, DTYPE /* and numbers from there on: pytorch_dtypes */ };

static const struct pickle_global uses[] = {
#define DCP "torch.distributed.checkpoint."
    {DCP "metadata", "Metadata", ROOT},
    {DCP "metadata", "TensorStorageMetadata", TENSOR},
    {DCP "metadata", "BytesStorageMetadata", BYTES},
    {DCP "metadata", "ChunkStorageMetadata|TensorProperties|MetadataIndex|StorageMeta", NOTHING},
    {DCP "metadata", "_MEM_FORMAT_ENCODING", NOTHING},
    {DCP "filesystem", "_StorageInfo", NOTHING},
    {"torch.distributed._shard.sharded_tensor.metadata", "TensorProperties|MEM_FORMAT_ENCODING",
     NOTHING},
    {"torch", "Size", NOTHING},
    {"torch.serialization", "_get_layout", NOTHING},
    {"collections", "OrderedDict", NOTHING},
    {"pathlib|pathlib._local", "PosixPath|WindowsPath", NOTHING},
};

enum { USES = sizeof uses / sizeof *uses };

/* A place of a shard, by the name of its tensor and its first element. */
struct place {
    const char *name, *path; /* of pickle.c: so many bytes, without a NUL */
    uint32_t name_length, path_length;
    uint64_t begin, length; /* in the file, bytes */
    size_t at;              /* of `offsets`, among those of all */
    const uint64_t *offsets;
    unsigned dimensions;
    bool transformed; /* an extension has changed the bytes */
};

/* A shard of the tensor that is looked at. */
struct shard {
    uint64_t offsets[CONTAINER_DIMENSIONS_MAX], sizes[CONTAINER_DIMENSIONS_MAX];
    const char *path;
    uint64_t begin;                           /* in the file, of its elements */
    uint64_t order[CONTAINER_DIMENSIONS_MAX]; /* container_tiles.order */
};

struct checkpoint {
    struct container *container;
    struct container_input *in;
    struct pickle pickle;
    struct place *places; /* in the order of compare_places */
    size_t place_count, place_room;
    uint64_t *offsets; /* of all places */
    size_t offset_count, offset_room;
    const char *path, *path_text; /* of the shard before, and its bytes in the pickle */
    size_t path_length;
    uint64_t tiles; /* of all arrays */

    /* The tensor that is looked at. */
    struct container_array *array;
    const char *name; /* without the suffix of a part */
    const struct pytorch_dtype *dtype;
    unsigned part; /* of complex numbers */
    struct shard *shards;
    size_t shard_count, shard_room;
    bool found;                              /* the shards, for a part before */
    bool big_endian;                         /* the shards */
    uint64_t step[CONTAINER_DIMENSIONS_MAX]; /* all shards begin and end at multiples; 0: they have
                                                all of the dimension */
    uint64_t tile[CONTAINER_DIMENSIONS_MAX]; /* sizes of a tile */
};

/*
 * Files of the directory.
 */

/* A container's read, of a part of a file. */
static bool read_part(struct container_input *in, void *buffer, size_t size, uint64_t offset)
{
    int error;
    const size_t done = pread_whole(in->file, buffer, size, in->begin + offset, 1, &error);

    return done == size ||
           container_wrong(in, offset, "%s", error ? strerror(error) : "it became shorter");
}

/* Opens a file; -1 if it cannot be read: errno says why. */
static int open_file(const struct checkpoint *k, const char *path, uint64_t *size)
{
    const int fd = openat(k->in->file, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;

    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        *size = (uint64_t)status.st_size;
        return fd;
    }
    if (fd >= 0) {
        close(fd);
        errno = EINVAL;
    }
    return -1;
}

/*
 * The places of shards.
 */

/* The use of the function of a call; NOTHING of other values. */
static enum use use_of(const struct checkpoint *k, uint32_t value)
{
    const struct pickle_value *v = pickle_value(&k->pickle, value);
    const unsigned use =
        v->kind == PICKLE_CALL ? pickle_value(&k->pickle, v->function)->global->use : NOTHING;

    return use < DTYPE ? (enum use)use : NOTHING;
}

static bool malformed(struct checkpoint *k, uint32_t value, const char *what)
{
    return container_wrong(k->in, ERROR_NO_OFFSET, METADATA ": byte %" PRIu32 ": %s is malformed",
                           pickle_value(&k->pickle, value)->at, what);
}

/* The attribute of a value, if it is a text of up to `most` bytes without a NUL. NULL if it is not. */
static const struct pickle_value *find_text(const struct checkpoint *k, uint32_t value,
                                            const char *key, size_t most)
{
    const struct pickle_value *v = pickle_value(&k->pickle, pickle_find(&k->pickle, value, key));

    return v->kind == PICKLE_TEXT && v->count <= most && !memchr(v->text, 0, v->count) ? v : NULL;
}

/* Whether a value has an attribute, which is not None. */
static bool has(const struct pickle *p, uint32_t value, const char *key)
{
    return pickle_value(p, pickle_find(p, value, key))->kind != PICKLE_NONE;
}

/* Notes where something is stored: what `info` says of `index`. */
static bool take_place(struct checkpoint *k, uint32_t index, uint32_t info)
{
    const struct pickle *p = &k->pickle;
    const struct pickle_value *name = find_text(k, index, "fqn", NAME_MAX_BYTES);
    const struct pickle_value *path = find_text(k, info, "relative_path", FILE_MAX_BYTES);
    struct place place = {.at = k->offset_count};

    if (!name || !path || !pickle_count(p, pickle_find(p, info, "offset"), &place.begin) ||
        !pickle_count(p, pickle_find(p, info, "length"), &place.length))
        return malformed(k, info, "the place of a shard");
    if (!GROW(k->places, k->place_room, k->place_count + 1) ||
        !GROW(k->offsets, k->offset_room, k->offset_count + CONTAINER_DIMENSIONS_MAX))
        return container_no_memory(k->in);
    if (has(p, index, "offset") && !pickle_counts(p, pickle_find(p, index, "offset"),
                                                  k->offsets + k->offset_count, &place.dimensions))
        return malformed(k, index, "the place of a shard");
    k->offset_count += place.dimensions;
    place.name = name->text;
    place.name_length = name->count;
    place.path = path->text;
    place.path_length = path->count;
    place.transformed = has(p, info, "transform_descriptors");
    k->places[k->place_count++] = place;
    return true;
}

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    const uint32_t length = x->name_length < y->name_length ? x->name_length : y->name_length;
    const int order = memcmp(x->name, y->name, length);

    if (order != 0)
        return order;
    if (x->name_length != y->name_length)
        return x->name_length < y->name_length ? -1 : 1;
    if (x->dimensions != y->dimensions)
        return x->dimensions < y->dimensions ? -1 : 1;
    for (unsigned i = 0; i < x->dimensions; i++)
        if (x->offsets[i] != y->offsets[i])
            return x->offsets[i] < y->offsets[i] ? -1 : 1;
    return 0;
}

/* Takes the places of all shards, a dictionary. */
static bool take_places(struct checkpoint *k, uint32_t value)
{
    const struct pickle_value *v = pickle_value(&k->pickle, value);
    uint32_t item = v->first;

    if (v->kind != PICKLE_DICT)
        return malformed(k, value, "storage_data");
    for (uint32_t i = 0; i + 1 < v->count; i += 2) {
        const uint32_t index = pickle_next(&k->pickle, &item);

        if (!take_place(k, index, pickle_next(&k->pickle, &item)))
            return false;
    }
    for (size_t i = 0; i < k->place_count; i++)
        k->places[i].offsets = k->offsets + k->places[i].at;
    if (k->place_count > 0)
        qsort(k->places, k->place_count, sizeof *k->places, compare_places);
    return true;
}

/*
 * Shards.
 */

/* Makes the array one that cannot be read, for want of a shard if it is `missing`. */
#define REFUSE(k, missing, ...) refuse(k, missing, container_note((k)->container, __VA_ARGS__))
static bool refuse(struct checkpoint *k, bool missing, const char *why)
{
    k->array->missing = missing;
    return container_refuse(k->array, why) || container_no_memory(k->in);
}

/* The name of a file, which many shards share. NULL without memory. */
static const char *keep_path(struct checkpoint *k, const struct place *place)
{
    if (k->path_text != place->path || k->path_length != place->path_length) {
        k->path = container_note(k->container, "%.*s", (int)place->path_length, place->path);
        k->path_text = place->path;
        k->path_length = place->path_length;
    }
    return k->path;
}

/* Whether the elements of a shard are one after the other, or, if they are parts, the numbers. */
static bool is_dense(const struct checkpoint *k, const struct container_array *a)
{
    const uint64_t run = a->record_elements > 0 ? a->record_elements : 1;

    return a->tiles
               ? a->tiles->dense && (a->tiles->filter_count > 0) == (pytorch_parts(k->dtype) > 1)
               : a->elements <= 1 ||
                     run * k->dtype->size ==
                         (a->record_elements > 0 ? a->record_stride : element_size(a->type));
}

/* Looks at the archive of a shard, and finds its elements: an array, or those of the parts. */
static bool take_archive(struct checkpoint *k, struct shard *shard, const struct container *c)
{
    const unsigned parts = pytorch_parts(k->dtype);
    const struct container_array *const first = c->arrays, *a = first;
    bool one = c->count == parts;

    for (unsigned part = 1; one && part < parts; part++)
        one = first[part].offset == first->offset + part * element_size(k->dtype->type);
    if (!one)
        return REFUSE(k, false, "%s: a shard is not one tensor of the type that " METADATA " says",
                      shard->path);
    for (; a < first + parts; a++) {
        if (a->unreadable)
            return REFUSE(k, a->missing, "%s: %s", shard->path, a->unreadable);
        if (a->type != k->array->type || a->dimensions != k->array->dimensions ||
            (a->dimensions > 0 &&
             memcmp(a->sizes, shard->sizes, a->dimensions * sizeof *a->sizes) != 0))
            return REFUSE(k, false, "%s: a shard has another type or shape than " METADATA " says",
                          shard->path);
        if (!is_dense(k, a))
            return REFUSE(k, false, "%s: the elements of a shard are not one after the other",
                          shard->path);
    }
    if (shard != k->shards && first->big_endian != k->big_endian)
        return REFUSE(k, false, "its shards have different byte orders");
    k->big_endian = first->big_endian;
    shard->begin += first->offset;
    for (unsigned i = 0; i < first->dimensions; i++)
        shard->order[i] = first->tiles           ? first->tiles->order[i]
                          : first->fortran_order ? first->dimensions - 1 - i
                                                 : i;
    return true;
}

/* Reads the archive of a shard, which lies there. */
static bool read_archive(struct checkpoint *k, struct shard *shard, const struct place *place)
{
    static const struct container_format archive = {.read = pytorch_read};
    struct container_input in = {.read = read_part, .size = place->length, .begin = place->begin};
    struct container *c;
    uint64_t size = 0;
    bool good;

    in.file = open_file(k, shard->path, &size);
    if (in.file < 0)
        return REFUSE(k, true, "%s: %s", shard->path,
                      errno == EINVAL ? "not a regular file" : strerror(errno));
    if (place->begin > size || place->length > size - place->begin) {
        close(in.file);
        return REFUSE(k, true, "%s: truncated: %" PRIu64 " bytes, its shards need %" PRIu64,
                      shard->path, size, place->begin + place->length);
    }
    shard->begin = place->begin;
    c = container_open(&archive, &in);
    if (c)
        good = take_archive(k, shard, c);
    else if (in.error.kind == ERROR_MEMORY)
        good = container_no_memory(k->in);
    else
        good = REFUSE(k, true, "%s: byte %" PRIu64 ": %s", shard->path,
                      place->begin + (in.error.offset == ERROR_NO_OFFSET ? 0 : in.error.offset),
                      in.error.text);
    container_close(c);
    close(in.file);
    return good;
}

/* Finds a shard: its file, and the place of its elements. */
static bool find_shard(struct checkpoint *k, struct shard *shard)
{
    const struct place wanted = {.name = k->name,
                                 .name_length = (uint32_t)strlen(k->name),
                                 .offsets = shard->offsets,
                                 .dimensions = k->array->dimensions};
    const struct place *place = k->place_count > 0 ? bsearch(&wanted, k->places, k->place_count,
                                                             sizeof *k->places, compare_places)
                                                   : NULL;

    if (!place)
        return REFUSE(k, true, METADATA " does not say where its shards are");
    shard->path = keep_path(k, place);
    if (!shard->path)
        return container_no_memory(k->in);
    if (strchr(shard->path, '/') || shard->path[0] == '\0' || strcmp(shard->path, ".") == 0 ||
        strcmp(shard->path, "..") == 0)
        return REFUSE(k, false, METADATA " places a shard outside of its directory");
    if (place->transformed)
        return REFUSE(k, false, "its shards are changed by an extension: compressed, say");
    return read_archive(k, shard, place);
}

/*
 * Tiles.
 */

static uint64_t divisor(uint64_t x, uint64_t y)
{
    while (y > 0) {
        const uint64_t rest = x % y;

        x = y;
        y = rest;
    }
    return x;
}

/* Sets k->step, and a tile as large as the shards permit. */
static void find_steps(struct checkpoint *k)
{
    const struct container_array *a = k->array;

    for (unsigned i = 0; i < a->dimensions; i++) {
        uint64_t step = 0;

        for (size_t j = 0; j < k->shard_count; j++) {
            const uint64_t end = k->shards[j].offsets[i] + k->shards[j].sizes[i];

            step = divisor(step, k->shards[j].offsets[i]);
            step = end < a->sizes[i] ? divisor(step, end) : step;
        }
        k->step[i] = step;
        k->tile[i] = step ? step : a->sizes[i];
    }
}

/* Whether the elements of each tile are one after the other in its shard. */
static bool are_together(const struct checkpoint *k)
{
    for (size_t j = 0; j < k->shard_count; j++) {
        bool divided = false;

        for (unsigned i = k->array->dimensions; i-- > 0;) {
            const uint64_t size = k->shards[j].sizes[i];

            if (divided && k->tile[i] > 1 && size > 1)
                return false;
            divided = divided || k->tile[i] < size;
        }
    }
    return true;
}

/* Makes tiles smaller, of fewer rows. */
static void divide(struct checkpoint *k)
{
    const unsigned dimensions = k->array->dimensions;
    uint64_t row = k->dtype->size;

    for (unsigned i = 0; i < dimensions; i++)
        row *= k->tile[i];
    for (unsigned i = 0; i < dimensions && row > TILE_BYTES; i++) {
        uint64_t rows, least;

        row /= k->tile[i];
        rows = row > TILE_BYTES ? 1 : TILE_BYTES / row;
        least = rows > ROWS_TRIED ? rows - ROWS_TRIED : 0;
        while (k->step[i] > 0 && rows > least && k->step[i] % rows != 0)
            rows--;
        if (rows > least)
            k->tile[i] = rows;
        if (rows != 1)
            return;
    }
}

/* Whether a shard has the order of rows. */
static bool is_in_rows(const struct checkpoint *k, const struct shard *shard)
{
    for (unsigned i = 0; i < k->array->dimensions; i++)
        if (shard->order[i] != i)
            return false;
    return true;
}

/* Whether all shards have the order of the first, and those inside the array the size of a tile. */
static bool are_alike(const struct checkpoint *k)
{
    const struct container_array *a = k->array;

    for (size_t j = 0; j < k->shard_count; j++)
        for (unsigned i = 0; i < a->dimensions; i++) {
            const struct shard *s = &k->shards[j];
            const uint64_t left = a->sizes[i] - s->offsets[i];

            if (s->order[i] != k->shards[0].order[i] ||
                s->sizes[i] != (left < k->tile[i] ? left : k->tile[i]))
                return false;
        }
    return true;
}

/* Goes to the next tile of a shard. False after the last. */
static bool next_tile(const struct checkpoint *k, const struct shard *shard, uint64_t *at)
{
    for (unsigned i = k->array->dimensions; i-- > 0;) {
        at[i] += k->tile[i];
        if (at[i] < shard->offsets[i] + shard->sizes[i])
            return true;
        at[i] = shard->offsets[i];
    }
    return false;
}

/* Sets the tiles of a shard. False if one is there already. */
static bool put_tiles(const struct checkpoint *k, const struct shard *shard,
                      struct container_tile *tiles, const char **paths)
{
    const struct container_array *a = k->array;
    uint64_t at[CONTAINER_DIMENSIONS_MAX];

    memcpy(at, shard->offsets, sizeof at);
    do {
        uint64_t number = 0, element = 0, size = k->dtype->size;

        for (unsigned i = 0; i < a->dimensions; i++) {
            const uint64_t left = a->sizes[i] - at[i];

            number = number * ((a->sizes[i] + k->tile[i] - 1) / k->tile[i]) + at[i] / k->tile[i];
            element = element * shard->sizes[i] + at[i] - shard->offsets[i];
            size *= left < k->tile[i] ? left : k->tile[i];
        }
        if (tiles[number].compressed > 0)
            return false;
        tiles[number] = (struct container_tile){.offset = shard->begin + element * k->dtype->size,
                                                .compressed = (uint32_t)size};
        paths[number] = shard->path;
    } while (next_tile(k, shard, at));
    return true;
}

/* Makes the tiles of the array, whose shards have been found. */
static bool make_tiles(struct checkpoint *k)
{
    struct container *c = k->container;
    struct container_array *a = k->array;
    struct container_tiles t = {.elements = 1, .count = 1, .edges_cut = true};
    struct container_tile *tiles;
    struct container_files files = {.several = true};
    const char **paths;
    bool turned = false, good = true;

    for (size_t j = 0; j < k->shard_count; j++)
        turned = turned || !is_in_rows(k, &k->shards[j]);
    find_steps(k);
    if (!are_together(k))
        return REFUSE(k, false, "its shards are boxes of several sizes");
    if (turned && !are_alike(k))
        return REFUSE(k, false, "the strides of its shards are not those of rows");
    if (!turned)
        divide(k);
    for (unsigned i = 0; i < a->dimensions; i++) {
        t.elements *= k->tile[i];
        if (__builtin_mul_overflow(t.count, (a->sizes[i] + k->tile[i] - 1) / k->tile[i], &t.count))
            t.count = UINT64_MAX;
    }
    if (t.count > CONTAINER_TILES_MAX - k->tiles ||
        t.elements > CONTAINER_TILE_BYTES_MAX / k->dtype->size)
        return REFUSE(k, false, "more than 16777216 tiles, or tiles of more than 1 GiB");
    k->tiles += t.count;
    tiles = calloc((size_t)t.count, sizeof *tiles);
    paths = calloc((size_t)t.count, sizeof *paths);
    for (size_t j = 0; tiles && paths && good && j < k->shard_count; j++)
        good = put_tiles(k, &k->shards[j], tiles, paths);
    for (uint64_t i = 0; tiles && paths && good && i < t.count; i++)
        good = tiles[i].compressed > 0;
    if (!good) {
        good = REFUSE(k, true, "its shards overlap, or do not cover it");
    } else if (tiles && paths) {
        t.sizes = container_keep(c, k->tile, sizeof k->tile);
        t.order = turned ? container_keep(c, k->shards[0].order, sizeof k->shards[0].order) : NULL;
        t.tiles = container_keep(c, tiles, (size_t)t.count * sizeof *tiles);
        files.paths = container_keep(c, paths, (size_t)t.count * sizeof *paths);
        t.files = files.paths ? container_keep(c, &files, sizeof files) : NULL;
        a->compressed = a->length;
        if (pytorch_parts(k->dtype) > 1)
            t.filters[t.filter_count++] = pytorch_filter(k->dtype, k->part);
        good =
            t.sizes && t.tiles && t.files && (!turned || t.order) && container_set_tiles(c, a, &t);
    } else {
        good = false;
    }
    free(tiles);
    free(paths);
    return good || container_no_memory(k->in);
}

/*
 * Tensors.
 */

/* Takes the shards of a tensor that have elements, a list. */
static bool take_shards(struct checkpoint *k, uint32_t value)
{
    const struct pickle *p = &k->pickle;
    const struct container_array *a = k->array;
    const struct pickle_value *v = pickle_value(p, value);

    k->shard_count = 0;
    if (v->kind != PICKLE_LIST)
        return false;
    for (uint32_t i = 0, item = v->first; i < v->count; i++) {
        const uint32_t chunk = pickle_next(p, &item);
        struct shard shard = {.begin = 0};
        unsigned offsets, sizes;
        bool empty = false;

        if (!pickle_counts(p, pickle_find(p, chunk, "offsets"), shard.offsets, &offsets) ||
            !pickle_counts(p, pickle_find(p, chunk, "sizes"), shard.sizes, &sizes) ||
            offsets != a->dimensions || sizes != a->dimensions)
            return false;
        for (unsigned d = 0; d < a->dimensions; d++) {
            if (shard.sizes[d] > a->sizes[d] || shard.offsets[d] > a->sizes[d] - shard.sizes[d])
                return false;
            empty = empty || shard.sizes[d] == 0;
        }
        if (empty)
            continue;
        if (!GROW(k->shards, k->shard_room, k->shard_count + 1))
            return container_no_memory(k->in);
        k->shards[k->shard_count++] = shard;
    }
    return true;
}

/* The type of the elements of a tensor; NULL if it has none. */
static const struct pytorch_dtype *find_dtype(const struct checkpoint *k, uint32_t value)
{
    const struct pickle *p = &k->pickle;
    const struct pickle_value *v = pickle_value(p, pickle_find(p, value, "properties"));
    uint32_t first;

    if (v->kind != PICKLE_CALL || pickle_items(p, pickle_value(p, v->state), &first, 1) < 1)
        return NULL;
    v = pickle_value(p, first);
    return v->kind == PICKLE_GLOBAL && v->global->use >= DTYPE
               ? &pytorch_dtypes[v->global->use - DTYPE]
               : NULL;
}

/* Leaves an array without the places of its elements: it has none, or is not wanted. */
static bool leave_tiles(struct checkpoint *k)
{
    struct container_tiles t = {.elements = 1};

    for (unsigned i = 0; i < k->array->dimensions; i++)
        k->tile[i] = 1;
    t.sizes = container_keep(k->container, k->tile, sizeof k->tile);
    return (t.sizes && container_set_tiles(k->container, k->array, &t)) ||
           container_no_memory(k->in);
}

/* Adds a tensor, or a part of it, and finds its shards. */
static bool add_part(struct checkpoint *k, uint32_t value)
{
    const struct pytorch_dtype *const dtype = k->dtype;
    const char *const name =
        container_note(k->container, "%s%s", k->name, pytorch_suffix(dtype, k->part));
    struct container_array *a = name ? container_add(k->container, name) : NULL;
    uint64_t sizes[CONTAINER_DIMENSIONS_MAX] = {0};
    unsigned dimensions;
    bool good = true;

    if (!a)
        return container_no_memory(k->in);
    k->array = a;
    if (!pickle_counts(&k->pickle, pickle_find(&k->pickle, value, "size"), sizes, &dimensions))
        return malformed(k, value, "this tensor");
    container_name_type(a, dtype->other ? dtype->name : element_name(dtype->type));
    if (!container_set_shape(k->container, a, sizes, dimensions))
        return container_no_memory(k->in);
    a->type = dtype->type;
    if (!container_product(a, &a->elements) || a->elements > INT64_MAX / dtype->size)
        return malformed(k, value, "the shape of this tensor");
    a->unreadable = dtype->other;
    if (a->unreadable)
        return true;
    a->length = a->elements * element_size(a->type);
    a->order_open = k->in->headers_only; /* the shards state it */
    if (a->elements == 0 || k->in->headers_only ||
        !container_wants(k->in->patterns, k->in->pattern_count, name, false))
        return leave_tiles(k);
    if (!k->found && !take_shards(k, pickle_find(&k->pickle, value, "chunks")))
        return k->in->error.kind == ERROR_MEMORY ? false
                                                 : malformed(k, value, "a shard of this tensor");
    for (size_t j = 0; !k->found && good && !a->unreadable && j < k->shard_count; j++)
        good = find_shard(k, &k->shards[j]);
    k->found = good && !a->unreadable;
    a->big_endian = k->big_endian;
    if (good && !a->unreadable)
        good = make_tiles(k);
    return good;
}

/* Adds a tensor: one array, or those of its parts. */
static bool add_tensor(struct checkpoint *k, const char *name, uint32_t value)
{
    k->name = name;
    k->found = false;
    k->dtype = find_dtype(k, value);
    if (!k->dtype)
        return malformed(k, value, "this tensor");
    for (k->part = 0; k->part < pytorch_parts(k->dtype); k->part++)
        if (!add_part(k, value))
            return false;
    return true;
}

/* Adds an object that is no tensor. */
static bool add_object(struct checkpoint *k, const char *name)
{
    struct container_array *a = container_add(k->container, name);

    if (!a)
        return container_no_memory(k->in);
    a->not_numeric = true;
    return container_refuse(a, "an object of Python that is no tensor");
}

/* Adds all that the checkpoint holds, a dictionary. */
static bool add_all(struct checkpoint *k, uint32_t value)
{
    const struct pickle_value *v = pickle_value(&k->pickle, value);
    uint32_t item = v->first;
    bool good = true;

    if (v->kind != PICKLE_DICT)
        return malformed(k, value, "state_dict_metadata");
    for (uint32_t i = 0; good && i + 1 < v->count; i += 2) {
        const struct pickle_value *key = pickle_value(&k->pickle, pickle_next(&k->pickle, &item));
        const uint32_t entry = pickle_next(&k->pickle, &item);
        const char *name;

        if (key->kind != PICKLE_TEXT || key->count == 0 || key->count > NAME_MAX_BYTES ||
            memchr(key->text, 0, key->count))
            return malformed(k, entry, "an entry");
        name = container_note(k->container, "%.*s", (int)key->count, key->text);
        if (!name)
            return container_no_memory(k->in);
        if (use_of(k, entry) == TENSOR)
            good = add_tensor(k, name, entry);
        else if (use_of(k, entry) == BYTES)
            good = add_object(k, name);
        else
            return malformed(k, entry, "an entry");
    }
    return good;
}

/*
 * The metadata.
 */

/* Reads .metadata, which free gives back. NULL on failure. */
static void *read_metadata(struct checkpoint *k, size_t *size)
{
    struct container_input in = {.begin = 0};
    void *bytes = NULL;

    in.file = open_file(k, METADATA, &in.size);
    *size = (size_t)in.size;
    if (in.file < 0)
        (void)container_wrong(k->in, ERROR_NO_OFFSET, METADATA ": %s", strerror(errno));
    else if (in.size > PICKLE_MAX)
        (void)container_wrong(k->in, ERROR_NO_OFFSET,
                              METADATA ": %" PRIu64 " bytes, more than the %" PRIu64 " allowed",
                              in.size, PICKLE_MAX);
    else if (!(bytes = malloc(*size + 1)))
        (void)container_no_memory(k->in);
    else if (!read_part(&in, bytes, *size, 0)) {
        (void)container_wrong(k->in, ERROR_NO_OFFSET, METADATA ": %s", in.error.text);
        free(bytes);
        bytes = NULL;
    }
    if (in.file >= 0)
        close(in.file);
    return bytes;
}

static bool read_pickle(struct checkpoint *k)
{
    struct pickle_global globals[USES + PYTORCH_DTYPES];
    uint32_t all, places;
    size_t size;
    void *bytes = read_metadata(k, &size);
    bool good;

    if (!bytes)
        return false;
    memcpy(globals, uses, sizeof uses);
    for (unsigned i = 0; i < PYTORCH_DTYPES; i++)
        globals[USES + i] = (struct pickle_global){"torch", pytorch_dtypes[i].name, DTYPE + i};
    good = pickle_read(&k->pickle, bytes, size, globals, USES + PYTORCH_DTYPES);
    if (good) {
        all = pickle_find(&k->pickle, k->pickle.root, "state_dict_metadata");
        places = pickle_find(&k->pickle, k->pickle.root, "storage_data");
        good = all != PICKLE_ABSENT && places != PICKLE_ABSENT && use_of(k, k->pickle.root) == ROOT
                   ? take_places(k, places) && add_all(k, all)
                   : malformed(k, k->pickle.root, "the checkpoint");
    } else {
        (void)container_wrong(k->in, ERROR_NO_OFFSET, METADATA ": byte %" PRIu64 ": %s",
                              k->pickle.error.offset, k->pickle.error.text);
        k->in->error.kind = k->pickle.error.kind;
    }
    pickle_free(&k->pickle);
    free(bytes);
    return good;
}

static bool read_checkpoint(struct container *c, struct container_input *in)
{
    struct checkpoint k = {.container = c, .in = in};
    const bool good = read_pickle(&k);

    free(k.places);
    free(k.offsets);
    free(k.shards);
    return good && container_number_names(c, in);
}

static bool read_any(struct container *c, struct container_input *in)
{
    struct stat status;

    return in->file >= 0 && fstat(in->file, &status) == 0 && S_ISDIR(status.st_mode)
               ? read_checkpoint(c, in)
               : pytorch_read(c, in);
}

const struct container_format container_pytorch = {
    .name = "pytorch",
    .article = "a PyTorch file",
    .recognise = pytorch_recognise,
    .read = read_any,
};
