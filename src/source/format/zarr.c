/*
 * Zarr, versions 2 and 3: directories of arrays, or archives of such (zip). An array is a folder with its metadata, JSON, and
 * a file for each chunk; a chunk without a file has the fill value. Metadata that is consolidated
 * repeats that of the folders, which are looked at instead; that of version 2 counts if no folder has metadata.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/missing.h"
#include "core/name.h"
#include "core/number.h"
#include "core/order.h"
#include "source/format/attributes.h"
#include "source/format/containers.h"
#include "source/format/filters.h"
#include "source/format/npy.h"
#include "source/format/zip.h"
#include "sys/buffer.h"
#include "sys/bytes.h"
#include "sys/escape.h"
#include "sys/grow.h"
#include "sys/json.h"
#include "sys/whole.h"

/* Limits of what is read: bytes of a file of metadata, folders in each other, and arrays. */
#define METADATA_MAX 100000000
#define DEPTH_MAX 32
#define ARRAYS_MAX ((size_t)1 << 20)

/* Room for a name in the metadata. */
#define WORD_MAX 128

/* Kinds of folders of a store. */
enum node { NODE_NONE, NODE_ARRAY, NODE_GROUP };

/* How a shard says where its chunks are. */
struct index {
    bool at_begin; /* it is at the beginning of a shard, and not at the end */
    bool big;      /* its numbers are big-endian */
    bool checked;  /* it has a checksum */
};

/* The metadata of an array. Readers stand before values; their `at` is NULL where there is none. */
struct metadata {
    unsigned version;
    uint64_t sizes[CONTAINER_DIMENSIONS_MAX], chunks[CONTAINER_DIMENSIONS_MAX];
    unsigned dimensions, chunk_dimensions;
    bool has_sizes, has_chunks, has_encoding, has_codecs;
    bool has_fill;  /* a fill value, or null */
    bool has_order; /* of version 2 */
    char type[WORD_MAX];
    bool structured;               /* it has fields */
    uint64_t record;               /* then, or of a complex type: bytes of an element */
    const struct npy_field *field; /* of records, that the array has; NULL: it has their elements */
    enum element_type element;
    enum element_order order_of_bytes; /* of version 2, in the type; of 3, of the codec bytes */
    bool versioned;                    /* zarr_format is the expected one */
    enum node node;                    /* NODE_NONE: they say neither */
    char separator;                    /* of indices in the names of chunks; 0: the usual one */
    bool plain_keys;                   /* version 3 with the names of version 2 */
    unsigned filter_count;
    struct container_filter filters[CONTAINER_FILTERS_MAX];
    bool compressed;     /* one of them is a compression */
    bool has_compressor; /* of version 2, which is the last filter: `compressor` */
    struct container_filter compressor;
    bool fortran_order;                       /* of version 2 */
    uint64_t order[CONTAINER_DIMENSIONS_MAX]; /* of version 3, of the codec transpose */
    unsigned order_dimensions;
    bool transposed; /* `order` is set */
    bool sharded;    /* chunks are stored in shards, of `chunks`; chunks have `inner` elements */
    uint64_t inner[CONTAINER_DIMENSIONS_MAX];
    unsigned inner_dimensions;
    struct index index; /* of shards */
    struct json_reader type_at, fill, attributes;
    char refused[160]; /* what is not supported; empty for nothing */
};

/* A file of a store. */
struct entry {
    uint64_t offset; /* in an archive, or in consolidated metadata; otherwise 0 */
    bool consolidated;
    uint64_t size; /* bytes */
};

struct store {
    struct container *container;
    struct container_input *in;
    char **paths; /* of the arrays, in the folder */
    size_t count, room;
    uint64_t tiles; /* of all arrays */
    bool archived;  /* it is an archive */
    struct zip
        zip; /* this one; or the files of consolidated metadata, whose `at` and `size` are set,
                       in their text */
    char *consolidated;       /* that text; NULL: none are read */
    struct metadata metadata; /* of the array that is looked at */
    char file[PATH_MAX];      /* a file that is looked at, in the folder of the store */
    char folder[PATH_MAX];    /* a folder that is walked through, and an array's if it is one */
};

/* Sets in->error, without an offset: it is about a file of the store. Returns false. */
#define wrong(store, ...) container_wrong((store)->in, ERROR_NO_OFFSET, __VA_ARGS__)

static void refuse(struct metadata *m, const char *what, const char *name)
{
    char quoted[ESCAPE_QUOTE_MAX];

    if (!m->refused[0])
        snprintf(m->refused, sizeof m->refused, "Zarr's %s %.60s is not supported", what,
                 escape_quote(quoted, name));
}

/*
 * Files.
 */

/* Finds where a file of an archive is, *e. False if it cannot be read: in->error then says why. */
static bool find_in_archive(struct store *s, struct zip_member *m, struct entry *e)
{
    if (!zip_is_plain(m))
        return wrong(s, "%s by the archive; archive files as they are (zip -0)",
                     m->flags & 1 ? "encrypted" : "compressed");
    *e = (struct entry){.size = m->size};
    if (!zip_place(&s->zip, m))
        return false;
    e->offset = m->offset;
    return true;
}

/* Finds a file, *e. False where there is none, or it cannot be read: in->error then says why. */
static bool find_entry(struct store *s, const char *path, struct entry *e)
{
    struct zip_member *const m = zip_find(&s->zip, path, strlen(path));
    const char *wrong;
    struct stat status;

    *e = (struct entry){0};
    if (s->archived)
        return m && find_in_archive(s, m, e);
    if (m) {
        *e = (struct entry){.offset = m->at, .consolidated = true, .size = m->size};
        return true;
    }
    if (fstatat(s->in->file, path, &status, 0) == 0) {
        *e = (struct entry){.size = (uint64_t)status.st_size};
        wrong = S_ISREG(status.st_mode) ? NULL : "not a regular file";
    } else if (errno != ENOENT) {
        wrong = strerror(errno);
    } else if (fstatat(s->in->file, path, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        wrong = "a symbolic link to a file that is missing";
    } else {
        return false;
    }
    return !wrong || wrong(s, "%s", wrong);
}

/* Reads `size` bytes of a file at byte `offset` of it. False on failure: in->error says why. */
static bool read_entry(struct store *s, const char *path, const struct entry *e, uint64_t offset,
                       void *buffer, size_t size)
{
    struct container_input *in = s->in;
    size_t done = 0;
    int fd, error;

    if (e->consolidated) {
        memcpy(buffer, s->consolidated + e->offset + offset, size);
        return true;
    }
    if (s->archived) {
        if (in->read(in, buffer, size, e->offset + offset))
            return true;
        return wrong(s, "byte %" PRIu64 ": %.200s", e->offset + offset,
                     in->error.kind != ERROR_NONE ? in->error.text : "read error");
    }
    fd = openat(in->file, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    error = fd < 0 ? errno : 0;
    if (!error)
        done = pread_whole(fd, buffer, size, offset, 1, &error);
    if (fd >= 0)
        close(fd);
    if (error)
        return wrong(s, "byte %" PRIu64 ": read error: %s", offset + done, strerror(error));
    return done == size ||
           wrong(s, "ends at byte %" PRIu64 ": it became shorter while it was read", offset + done);
}

/* Adds to what in->error says where that is: a file of metadata, and a byte of it if it is known. */
static void name_file(struct store *s, const char *folder, const char *name, uint64_t at)
{
    const struct error why = s->in->error;
    char byte[32] = "";

    if (why.kind != ERROR_DATA)
        return;
    if (at != ERROR_NO_OFFSET)
        snprintf(byte, sizeof byte, "byte %" PRIu64 ": ", at);
    (void)wrong(s, "%.100s%s%s: %s%s", folder, *folder ? "/" : "", name, byte, why.text);
}

/* Reads a file of metadata, which free gives back. NULL where there is none, or it cannot be read:
   in->error then says why. */
static char *read_metadata(struct store *s, const char *folder, const char *name)
{
    char *const path = s->file, *text = NULL;
    struct entry e;

    if (snprintf(path, sizeof s->file, "%s%s%s", folder, *folder ? "/" : "", name) >= PATH_MAX)
        return NULL;
    if (find_entry(s, path, &e)) {
        if (e.size > METADATA_MAX)
            (void)wrong(s, "more than %d bytes", METADATA_MAX);
        else if (!(text = malloc((size_t)e.size + 1)))
            (void)container_no_memory(s->in);
        else if (read_entry(s, path, &e, 0, text, (size_t)e.size)) {
            text[e.size] = '\0';
            if (strlen(text) == e.size)
                return text;
            (void)wrong(s, "byte %zu: not JSON", strlen(text));
        }
        free(text);
    }
    name_file(s, folder, name, ERROR_NO_OFFSET);
    return NULL;
}

/* Lists an array whose metadata are wrong, as in->error says: the others are read. False without
   memory. */
static bool add_wrong(struct store *z, const char *path)
{
    struct container_array *a;

    if (z->in->error.kind != ERROR_DATA)
        return false;
    a = container_add(z->container,
                      *path ? container_keep(z->container, path, strlen(path) + 1) : "array");
    if (!a || !container_refuse(a, container_note(z->container, "%s", z->in->error.text)))
        return container_no_memory(z->in);
    a->missing = true;
    z->in->error = (struct error){.kind = ERROR_NONE};
    return true;
}

/*
 * Parsing.
 */

/* Says where a file of metadata is no JSON, or not that of Zarr. Returns false. */
static bool wrong_json(struct store *z, const char *folder, const char *name, const char *text,
                       const struct json_reader *r, const char *what)
{
    size_t at = (size_t)(r->at - text);

    if (r->depth == JSON_DEPTH_MAX && at > 0 && strchr("[{", text[at - 1])) {
        at--;
        (void)wrong(z, "more than %d lists and objects in each other", JSON_DEPTH_MAX);
    } else {
        (void)wrong(z, "%s", what);
    }
    name_file(z, folder, name, at);
    return false;
}

/* Reads a list of sizes. */
static void read_sizes(struct json_reader *r, struct metadata *m, uint64_t *sizes, unsigned *count)
{
    uint64_t size;

    *count = 0;
    (void)json_read_begin(r, '[');
    while (json_read_more(r, ']')) {
        if (!json_read_integer(r, &size))
            return;
        if (*count < CONTAINER_DIMENSIONS_MAX)
            sizes[*count] = size;
        else
            refuse(m, "number of dimensions", "above 64");
        *count += *count < CONTAINER_DIMENSIONS_MAX;
    }
}

/* The first byte of the next value. */
static char peek(struct json_reader *r)
{
    if (r->failed)
        return '\0';
    json_read_space(r);
    return *r->at;
}

/* Reads a value if it is a string; skips others, which leave an empty text. */
static void read_word(struct json_reader *r, char word[WORD_MAX])
{
    *word = '\0';
    if (peek(r) == '"')
        (void)json_read_string(r, word, WORD_MAX);
    else
        (void)json_read_skip(r);
}

/* Reads the separator of indices; null is the usual one. */
static void read_separator(struct json_reader *r, struct metadata *m)
{
    const bool usual = peek(r) == 'n';
    char word[WORD_MAX];

    read_word(r, word);
    if (strcmp(word, ".") == 0 || strcmp(word, "/") == 0)
        m->separator = *word;
    else if (!usual)
        refuse(m, "separator", word);
}

/* A value that has a name and a configuration, or is the name alone. *configuration stands before
   the latter, which in version 2 is the whole value; its `at` is NULL without one. */
static void read_named(struct json_reader *r, char name[WORD_MAX],
                       struct json_reader *configuration)
{
    const struct json_reader whole = *r;
    char key[WORD_MAX];

    *name = '\0';
    configuration->at = NULL;
    if (peek(r) != '{') {
        read_word(r, name);
        return;
    }
    (void)json_read_begin(r, '{');
    while (json_read_more(r, '}')) {
        if (!json_read_key(r, key, sizeof key))
            return;
        if (strcmp(key, "name") == 0 || strcmp(key, "id") == 0) {
            if (*key == 'i')
                *configuration = whole;
            read_word(r, name);
        } else if (strcmp(key, "configuration") == 0 && peek(r) == '{') {
            *configuration = *r;
            (void)json_read_skip(r);
        } else {
            (void)json_read_skip(r);
        }
    }
}

/* Finds a member of a configuration, or of attributes: *value stands before its value. */
static bool find_member(const struct json_reader *configuration, const char *name,
                        struct json_reader *value)
{
    struct json_reader r = *configuration;
    char key[WORD_MAX];
    bool found = false;

    if (!r.at || peek(&r) != '{')
        return false;
    (void)json_read_begin(&r, '{');
    while (json_read_more(&r, '}') && json_read_key(&r, key, sizeof key)) {
        if (strcmp(key, name) == 0) {
            *value = r;
            found = true;
        }
        (void)json_read_skip(&r);
    }
    return found;
}

/* Reads a member, a word, of a configuration. Empty without it. */
static void configured(const struct json_reader *configuration, const char *name,
                       char word[WORD_MAX])
{
    struct json_reader r;

    *word = '\0';
    if (find_member(configuration, name, &r))
        read_word(&r, word);
}

/* Refuses a configuration with a member that is not known: it would count as one without. */
static void refuse_others(struct metadata *m, const char *what,
                          const struct json_reader *configuration)
{
    static const char *const known[] = {
        "id",          "name",         "configuration",  "must_understand", "separator",
        "chunk_shape", "index_codecs", "index_location", "codecs",          "elementsize"};
    struct json_reader r = *configuration;
    char key[WORD_MAX];

    if (!r.at || peek(&r) != '{')
        return;
    (void)json_read_begin(&r, '{');
    while (json_read_more(&r, '}') && json_read_key(&r, key, sizeof key)) {
        size_t i = 0;

        while (i < sizeof known / sizeof *known && strcmp(key, known[i]) != 0)
            i++;
        if (i == sizeof known / sizeof *known)
            refuse(m, what, key);
        (void)json_read_skip(&r);
    }
}

/* Adds a filter, if it can be undone. */
static void add_filter(struct metadata *m, struct container_filter filter)
{
    const char *why = filter_refusal(&filter);

    if (why && !m->refused[0])
        snprintf(m->refused, sizeof m->refused, "Zarr's %s: %s", filter_of(filter.kind)->name, why);
    if (m->compressed && filter_compresses(&filter))
        refuse(m, "second compressor of", "an array");
    else if (m->filter_count == CONTAINER_FILTERS_MAX)
        refuse(m, "number of filters", "above 8");
    else
        m->filters[m->filter_count++] = filter;
    m->compressed = m->compressed || filter_compresses(&filter);
}

/* Filters that change bytes, by their names. False if it is none. */
static bool find_filter(const char *name, unsigned version, struct container_filter *filter)
{
    static const struct {
        const char *name;
        unsigned version; /* 0: both */
        enum container_filter_kind kind;
    } known[] = {{"zstd", 0, CONTAINER_ZSTD},
                 {"gzip", 0, CONTAINER_GZIP},
                 {"blosc", 0, CONTAINER_BLOSC},
                 {"zlib", 2, CONTAINER_DEFLATE},
                 {"crc32c", 3, CONTAINER_CRC32C}};

    *filter = (struct container_filter){0};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0 &&
            (known[i].version == 0 || known[i].version == version)) {
            filter->kind = known[i].kind;
            return true;
        }
    return false;
}

/* Reads the order of dimensions that the codec transpose gives an array. */
static void read_order(const struct json_reader *configuration, struct metadata *m)
{
    struct json_reader r;

    if (m->transposed || !find_member(configuration, "order", &r) || peek(&r) != '[') {
        refuse(m, "codec transpose", m->transposed ? "a second time" : "without an order");
        return;
    }
    read_sizes(&r, m, m->order, &m->order_dimensions);
    m->transposed = true;
}

/* The byte order that the codec bytes has. */
static enum element_order read_endian(const struct json_reader *configuration)
{
    char endian[WORD_MAX];

    configured(configuration, "endian", endian);
    return strcmp(endian, "little") == 0 ? ELEMENT_ORDER_LITTLE
           : strcmp(endian, "big") == 0  ? ELEMENT_ORDER_BIG
                                         : ELEMENT_ORDER_UNSAID;
}

/* Reads how the index of shards is stored. */
static void read_index_codecs(struct json_reader *r, struct metadata *m)
{
    enum element_order order = ELEMENT_ORDER_UNSAID;
    struct json_reader configuration;
    char name[WORD_MAX];
    bool bytes = false;

    (void)json_read_begin(r, '[');
    while (json_read_more(r, ']')) {
        read_named(r, name, &configuration);
        if (strcmp(name, "bytes") == 0 && !bytes) {
            order = read_endian(&configuration);
            bytes = true;
        } else if (strcmp(name, "crc32c") == 0 && bytes && !m->index.checked) {
            m->index.checked = true;
        } else {
            refuse(m, "codec of an index", name);
        }
    }
    if (order == ELEMENT_ORDER_UNSAID)
        refuse(m, "index without", "a byte order");
    m->index.big = order == ELEMENT_ORDER_BIG;
}

static void read_codecs(struct json_reader *r, struct metadata *m);

/* Reads what shards hold. NOLINTNEXTLINE(misc-no-recursion): once */
static void read_sharding(const struct json_reader *configuration, struct metadata *m)
{
    struct json_reader inner, codecs, index;
    char place[WORD_MAX];

    m->sharded = true;
    refuse_others(m, "sharding_indexed with", configuration);
    configured(configuration, "index_location", place);
    m->index.at_begin = strcmp(place, "start") == 0;
    if (*place && !m->index.at_begin && strcmp(place, "end") != 0)
        refuse(m, "place of an index", place);
    if (!find_member(configuration, "chunk_shape", &inner) ||
        !find_member(configuration, "codecs", &codecs) ||
        !find_member(configuration, "index_codecs", &index)) {
        refuse(m, "codec sharding_indexed", "of this array");
        return;
    }
    read_sizes(&inner, m, m->inner, &m->inner_dimensions);
    read_index_codecs(&index, m);
    read_codecs(&codecs, m);
    if (inner.failed || index.failed || codecs.failed)
        refuse(m, "codec sharding_indexed", "of this array");
}

/* Reads the codecs of chunks. NOLINTNEXTLINE(misc-no-recursion): once */
static void read_codecs(struct json_reader *r, struct metadata *m)
{
    struct json_reader configuration;
    struct container_filter filter;
    const bool inside = m->sharded;
    unsigned count = 0;
    char name[WORD_MAX];
    bool bytes = false;

    m->has_codecs = true;
    (void)json_read_begin(r, '[');
    for (; json_read_more(r, ']'); count++) {
        read_named(r, name, &configuration);
        if (strcmp(name, "bytes") == 0 && !bytes) {
            m->order_of_bytes = read_endian(&configuration);
            bytes = true;
        } else if (strcmp(name, "transpose") == 0 && !bytes) {
            read_order(&configuration, m);
        } else if (strcmp(name, "sharding_indexed") == 0 && count == 0 && !inside) {
            read_sharding(&configuration, m);
        } else if (bytes && find_filter(name, 3, &filter)) {
            add_filter(m, filter);
        } else {
            refuse(m, "codec", name);
        }
    }
    if (m->sharded && !inside && count > 1)
        refuse(m, "codec beside", "sharding_indexed");
    if (!bytes && m->sharded == inside)
        refuse(m, "array without the codec", "bytes");
}

static void read_compressor(struct json_reader *r, struct metadata *m)
{
    struct json_reader configuration;
    char name[WORD_MAX];

    m->has_codecs = true;
    if (json_read_null(r))
        return;
    read_named(r, name, &configuration);
    m->has_compressor = find_filter(name, 2, &m->compressor);
    if (!m->has_compressor)
        refuse(m, "compressor", name);
}

/* Reads the bytes of an element that the filter shuffle takes. */
static void add_shuffle(const struct json_reader *configuration, struct metadata *m)
{
    struct container_filter filter = {.kind = CONTAINER_SHUFFLE, .values = {4}};
    struct json_reader r;
    uint64_t size;

    refuse_others(m, "filter shuffle with", configuration);
    if (find_member(configuration, "elementsize", &r))
        filter.values[0] = json_read_integer(&r, &size) && size <= 256 ? (uint32_t)size : 0;
    add_filter(m, filter);
}

/* Adds the filter delta, of integers that are stored as such. */
static void add_delta(const struct json_reader *configuration, struct metadata *m)
{
    char type[WORD_MAX], stored[WORD_MAX];
    struct container_filter filter = {.kind = CONTAINER_DELTA};
    enum element_order order = ELEMENT_ORDER_UNSAID;
    enum element_type element;

    configured(configuration, "dtype", type);
    configured(configuration, "astype", stored);
    if ((*stored && strcmp(type, stored) != 0) || !element_parse_numpy(type, &element, &order) ||
        !element_is_integer(element) || element == ELEMENT_BOOL) {
        refuse(m, "filter delta of", *stored && strcmp(type, stored) != 0 ? stored : type);
        return;
    }
    filter.values[0] = (uint32_t)element_size(element);
    filter.values[1] = order == ELEMENT_ORDER_BIG;
    add_filter(m, filter);
}

/* Reads a list of filters, or null. */
static void read_filters(struct json_reader *r, struct metadata *m)
{
    struct json_reader configuration;
    char name[WORD_MAX];

    m->filter_count = 0;
    m->compressed = false;
    if (json_read_null(r))
        return;
    (void)json_read_begin(r, '[');
    while (json_read_more(r, ']')) {
        read_named(r, name, &configuration);
        if (strcmp(name, "shuffle") == 0)
            add_shuffle(&configuration, m);
        else if (strcmp(name, "delta") == 0)
            add_delta(&configuration, m);
        else
            refuse(m, "filter", name);
    }
}

static void read_transformers(struct json_reader *r, struct metadata *m)
{
    struct json_reader configuration;
    char name[WORD_MAX];

    (void)json_read_begin(r, '[');
    while (json_read_more(r, ']')) {
        read_named(r, name, &configuration);
        refuse(m, "storage transformer", name);
    }
}

static void read_grid(struct json_reader *r, struct metadata *m)
{
    struct json_reader configuration, shape;
    char name[WORD_MAX];

    read_named(r, name, &configuration);
    if (strcmp(name, "regular") != 0 || !configuration.at) {
        refuse(m, "chunk grid", name);
        return;
    }
    m->has_chunks = find_member(&configuration, "chunk_shape", &shape);
    if (!m->has_chunks)
        return;
    read_sizes(&shape, m, m->chunks, &m->chunk_dimensions);
    r->failed = r->failed || shape.failed;
}

static void read_encoding(struct json_reader *r, struct metadata *m)
{
    struct json_reader configuration, separator;
    char name[WORD_MAX];

    m->has_encoding = true;
    refuse_others(m, "chunk key encoding with", r);
    read_named(r, name, &configuration);
    refuse_others(m, "chunk key encoding with", &configuration);
    m->plain_keys = strcmp(name, "v2") == 0;
    if (!m->plain_keys && strcmp(name, "default") != 0)
        refuse(m, "chunk key encoding", name);
    if (find_member(&configuration, "separator", &separator))
        read_separator(&separator, m);
    if (!m->separator)
        m->separator = m->plain_keys ? '.' : '/';
}

/* Whether a type of version 3 has fields. zarr called it "structured" before 3.2. */
static bool is_record(const char *type)
{
    return strcmp(type, "struct") == 0 || strcmp(type, "structured") == 0;
}

/* Reads a member whose name both versions have. False if it is none. */
static bool read_common(struct json_reader *r, struct metadata *m, const char *key)
{
    struct json_reader unused;
    uint64_t version;

    if (strcmp(key, "zarr_format") == 0) {
        m->versioned = json_read_integer(r, &version) && version == m->version;
    } else if (strcmp(key, "shape") == 0) {
        m->has_sizes = true;
        read_sizes(r, m, m->sizes, &m->dimensions);
    } else if (strcmp(key, "fill_value") == 0) {
        m->has_fill = true;
        m->fill = *r;
        if (peek(r) == 'n')
            m->fill.at = NULL;
        (void)json_read_skip(r);
    } else if (strcmp(key, m->version == 2 ? "dtype" : "data_type") == 0) {
        m->structured = m->version == 2 && peek(r) == '[';
        m->type_at = *r;
        read_named(r, m->type, &unused);
        m->structured = m->structured || (m->version == 3 && is_record(m->type));
    } else {
        return false;
    }
    return true;
}

static void read_member2(struct json_reader *r, struct metadata *m, const char *key)
{
    char word[WORD_MAX];

    if (strcmp(key, "chunks") == 0) {
        m->has_chunks = true;
        read_sizes(r, m, m->chunks, &m->chunk_dimensions);
    } else if (strcmp(key, "compressor") == 0) {
        read_compressor(r, m);
    } else if (strcmp(key, "filters") == 0) {
        read_filters(r, m);
    } else if (strcmp(key, "order") == 0) {
        m->has_order = true;
        read_word(r, word);
        m->fortran_order = strcmp(word, "F") == 0;
        if (!m->fortran_order && strcmp(word, "C") != 0)
            refuse(m, "order of elements", word);
    } else if (strcmp(key, "dimension_separator") == 0) {
        read_separator(r, m);
    } else {
        (void)json_read_skip(r);
    }
}

static void read_member3(struct json_reader *r, struct metadata *m, const char *key)
{
    struct json_reader needed;
    char word[WORD_MAX];

    if (strcmp(key, "node_type") == 0) {
        read_word(r, word);
        m->node = strcmp(word, "array") == 0   ? NODE_ARRAY
                  : strcmp(word, "group") == 0 ? NODE_GROUP
                                               : NODE_NONE;
    } else if (strcmp(key, "chunk_grid") == 0) {
        read_grid(r, m);
    } else if (strcmp(key, "chunk_key_encoding") == 0) {
        read_encoding(r, m);
    } else if (strcmp(key, "codecs") == 0) {
        read_codecs(r, m);
    } else if (strcmp(key, "storage_transformers") == 0) {
        read_transformers(r, m);
    } else if (strcmp(key, "attributes") == 0) {
        m->attributes = *r;
        (void)json_read_skip(r);
    } else {
        /* An extension may say that it need not be known. */
        if (strcmp(key, "dimension_names") != 0 && strcmp(key, "consolidated_metadata") != 0 &&
            !(find_member(r, "must_understand", &needed) && peek(&needed) == 'f'))
            refuse(m, "extension", key);
        (void)json_read_skip(r);
    }
}

/* Parses metadata of an array, or in version 3 of a group. False where it is no such JSON: *r has then
   stopped near the error. */
static bool parse(const char *text, unsigned version, struct metadata *m, struct json_reader *r)
{
    char key[WORD_MAX];

    *m = (struct metadata){.version = version, .node = version == 2 ? NODE_ARRAY : NODE_NONE};
    json_read_python(r, text);
    (void)json_read_begin(r, '{');
    while (json_read_more(r, '}')) {
        if (!json_read_key(r, key, sizeof key))
            break;
        if (!read_common(r, m, key))
            (version == 2 ? read_member2 : read_member3)(r, m, key);
    }
    if (m->has_compressor)
        add_filter(m, m->compressor);
    return json_read_end(r);
}

/*
 * Values.
 */

/* Reads a number: one of JSON, or a word, in quotes or not, that stands for a float. False where it is
   neither. */
static bool read_value(struct json_reader *r, struct attributes_number *x)
{
    const char *const word = json_read_word(r);
    char text[WORD_MAX], *end;
    bool negative;

    if (word || peek(r) == '"') {
        if (word)
            snprintf(text, sizeof text, "%s", word);
        else if (!json_read_string(r, text, sizeof text))
            return false;
        negative = *text == '-';
        *x = (struct attributes_number){.real = true};
        if (strcmp(text, "NaN") == 0)
            x->value = (double)NAN;
        else if (strcmp(text + negative, "Infinity") == 0)
            x->value = negative ? -(double)INFINITY : (double)INFINITY;
        else
            return false;
        return true;
    }
    if (peek(r) == 't' || peek(r) == 'f') {
        *x = attributes_integer(peek(r) == 't', false);
        return json_read_skip(r);
    }
    if ((peek(r) != '-' && (peek(r) < '0' || peek(r) > '9')) ||
        !json_read_number_text(r, text, sizeof text))
        return false;
    negative = *text == '-';
    if (!strpbrk(text, ".eE") && strcmp(text, "-0") != 0) {
        errno = 0;
        const uint64_t bits =
            negative ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);

        if (errno == 0) {
            *x = attributes_integer(bits, negative);
            return true;
        }
    }
    *x = (struct attributes_number){.real = true};
    return number_parse(text, ELEMENT_F64, &x->value);
}

/* Sets the bits of an element of the type that has this value; floats are rounded. False where the
   type has none. */
static bool find_bits(enum element_type type, const struct attributes_number *x, uint64_t *bits)
{
    const bool integers = element_is_integer(type);
    char text[NUMBER_MAX];
    uint64_t key;

    if (type == ELEMENT_BOOL) {
        *bits = x->value == 1;
        return x->value == 0 || x->value == 1;
    }
    if (isnan(x->value)) { /* positive, with the first bit of its fraction alone, as Zarr has it */
        *bits = order_bits(type, order_greatest(type));
        *bits |= (*bits & -*bits) >> 1;
        return !integers;
    }
    if (integers && !x->real)
        number_format_integer(text, &x->integer);
    else
        number_format_hex(text, x->value);
    if (!missing_key(type, text, &key))
        return false;
    *bits = order_bits(type, key);
    if (!integers && order_value(type, key) == 0) /* the key of a zero is that of both */
        *bits = signbit(x->value) ? order_sign(type) : 0;
    return true;
}

/* Reads the bits of a float that version 3 writes in hexadecimal, as "0x7fc00000". False where
   there are none. */
static bool read_bits(const struct metadata *m, struct json_reader r, uint64_t *bits)
{
    char text[WORD_MAX];

    if (m->version != 3 || element_is_integer(m->element) || peek(&r) != '"' ||
        !json_read_string(&r, text, sizeof text) || strncmp(text, "0x", 2) != 0 ||
        strlen(text) != 2 + 2 * element_size(m->element) ||
        strspn(text + 2, "0123456789abcdefABCDEF") != strlen(text + 2))
        return false;
    *bits = strtoull(text + 2, NULL, 16);
    return true;
}

/* Reads the bits of an element. False where its type has no such value. */
static bool read_element(const struct metadata *m, struct json_reader r, uint64_t *bits)
{
    struct attributes_number x;

    return read_bits(m, r, bits) || (read_value(&r, &x) && find_bits(m->element, &x, bits));
}

/* The value of a digit of base 64; -1 for none. */
static int digit64(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *const at = c ? strchr(digits, c) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Byte number `i` of those that a text in base 64 stands for, which is as long; -1 for none. */
static int byte64(const char *text, size_t i)
{
    const int shift = 2 * (int)(i % 3), first = digit64(text[i / 3 * 4 + i % 3]),
              second = digit64(text[i / 3 * 4 + i % 3 + 1]);

    return first < 0 || second < 0 ? -1 : (first << (2 + shift) | second >> (4 - shift)) & 0xff;
}

/* Reads the fill value of a field: that of a record is in base 64, in version 3 little-endian. False
   if its elements differ. */
static bool read_field_fill(const struct metadata *m, const char *text, unsigned char *bytes)
{
    const size_t size = element_size(m->element);
    const uint64_t end = m->field->offset + m->field->elements * size;

    if (end > strcspn(text, "\"") / 4 * 3)
        return false;
    for (uint64_t i = m->field->offset; i < end; i++) {
        const uint64_t at = (i - m->field->offset) % size;
        const uint64_t place =
            m->version == 3 && m->order_of_bytes == ELEMENT_ORDER_BIG ? size - 1 - at : at;
        const int byte = byte64(text, (size_t)i);

        if (byte < 0 || (i - m->field->offset >= size && bytes[place] != byte))
            return false;
        bytes[place] = (unsigned char)byte;
    }
    return true;
}

/* Goes to the fill value of a field in that of a record, an object of version 3. `path`: the names of
   the fields that it lies in, and its own, with dots between them; a list is that of both parts of a
   complex one. False where there is none, or there are several. */
static bool find_field_fill(struct json_reader *r, const char *path)
{
    while (peek(r) == '{') {
        struct json_reader members = *r;
        size_t length = 0;
        unsigned found = 0;
        char key[NPY_NAME_MAX + 1]; /* longer than any path if it is cut */

        (void)json_read_begin(&members, '{');
        while (json_read_more(&members, '}') && json_read_key(&members, key, sizeof key)) {
            const size_t size = strlen(key);

            if (strncmp(path, key, size) == 0 && (path[size] == '.' || path[size] == '\0')) {
                *r = members;
                length = size;
                found++;
            }
            (void)json_read_skip(&members);
        }
        if (found != 1)
            return false;
        path += length + (path[length] == '.');
    }
    if (peek(r) != '[')
        return *path == '\0';
    return strcmp(path, "re") == 0 || strcmp(path, "im") == 0;
}

/* Reads the bits of both parts of a complex fill value: a list of two numbers, or the real one alone. */
static bool read_parts(const struct metadata *m, struct json_reader r, uint64_t parts[2])
{
    if (peek(&r) != '[')
        return read_element(m, r, parts);
    (void)json_read_begin(&r, '[');
    for (int i = 0; i < 2; i++)
        if (!json_read_more(&r, ']') || !read_element(m, r, &parts[i]) || !json_read_skip(&r))
            return false;
    return !json_read_more(&r, ']');
}

/* Reads the fill value into `bytes`, in the byte order of the file: zeros without one. */
static bool read_fill(struct metadata *m, unsigned char bytes[CONTAINER_FILL_MAX])
{
    const size_t size = element_size(m->element);
    bool zero = m->structured; /* the only number that stands for a record */
    struct json_reader r = m->fill;
    uint64_t parts[2] = {0, 0}, bits;
    bool complex;

    memset(bytes, 0, CONTAINER_FILL_MAX);
    if (!r.at)
        return true;
    if (m->structured && peek(&r) == '"')
        return read_field_fill(m, r.at + 1, bytes);
    if (m->structured && m->version == 3 && peek(&r) == '{') {
        if (!find_field_fill(&r, m->field->name))
            return false;
        zero = false;
    }
    complex = m->field && (!m->structured || (!zero && peek(&r) == '['));
    if (!(complex ? read_parts : read_element)(m, r, parts) || (zero && parts[0] != 0))
        return false;
    bits = parts[complex && m->field->name[strlen(m->field->name) - 1] == 'm'];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(bits >>
                                   8 * (m->order_of_bytes == ELEMENT_ORDER_BIG ? size - 1 - i : i));
    return true;
}

/*
 * Attributes.
 */

/* Reads a number that xarray stores as the base 64 of eight bytes, a binary64, the lowest byte
   first. */
static bool read_base64(const char *text, struct attributes_number *x)
{
    uint64_t bits = 0;

    if (strlen(text) != 12 || text[11] != '=')
        return false;
    for (size_t i = 8; i-- > 0;) {
        const int byte = byte64(text, i);

        if (byte < 0)
            return false;
        bits = bits << 8 | (uint64_t)byte;
    }
    *x = (struct attributes_number){.real = true};
    memcpy(&x->value, &bits, sizeof bits);
    return true;
}

static bool read_number(const struct metadata *m, struct json_reader *r,
                        struct attributes_number *x)
{
    struct json_reader text = *r;
    char word[WORD_MAX];

    if (peek(r) == 't' || peek(r) == 'f')
        return false;
    if (peek(r) == '"' && element_is_float(m->element) &&
        json_read_string(&text, word, sizeof word) && read_base64(word, x))
        return json_read_skip(r);
    return read_value(r, x);
}

/* Version 2 has no attribute _FillValue where xarray wrote it: that is the fill value. */
static bool find_number(const struct metadata *m, const char *name, struct json_reader *value)
{
    if (find_member(&m->attributes, name, value))
        return true;
    if (m->version != 2 || strcmp(name, "_FillValue") != 0 || !m->fill.at ||
        !find_member(&m->attributes, "_ARRAY_DIMENSIONS", value))
        return false;
    *value = m->fill;
    return true;
}

static void read_attribute(void *user, const char *name, struct attributes_numbers *found)
{
    const struct metadata *m = user;
    struct json_reader r, text;
    char word[WORD_MAX];
    size_t i = 0;

    *found = (struct attributes_numbers){.exists = find_number(m, name, &r)};
    if (!found->exists)
        return;
    text = r;
    found->is_text = peek(&r) == '"' && json_read_string(&text, word, sizeof word);
    if (found->is_text)
        snprintf(found->text, sizeof found->text, "%.*s", (int)sizeof found->text - 1, word);
    found->numeric = true;
    if (peek(&r) != '[') {
        found->count = 1;
        found->numeric = read_number(m, &r, &found->numbers[0]);
        return;
    }
    (void)json_read_begin(&r, '[');
    for (; found->numeric && json_read_more(&r, ']'); i++) {
        struct attributes_number x;

        found->numeric = read_number(m, &r, &x);
        if (i < ATTRIBUTES_NUMBERS_MAX)
            found->numbers[i] = x;
    }
    found->count = i;
}

/* Finds what the numbers of an array mean. False without memory. */
static bool find_meaning(struct container *c, struct metadata *m, struct container_array *a)
{
    const struct attributes_reader reader = {
        .read = read_attribute, .user = m, .parts = m->field, .untyped = true};
    struct attributes_meaning meaning;

    attributes_find(&reader, a->type, false, false, &meaning);
    return attributes_apply(c, a, &meaning);
}

/*
 * Chunks.
 */

/* A search for the files of an array, one after the other. */
struct search {
    struct store *store;
    const struct container_array *array;
    const struct index *index;                 /* of shards */
    struct container_tile *found;              /* the tiles, in C order */
    uint64_t at[CONTAINER_DIMENSIONS_MAX];     /* the place of the file among the files */
    uint64_t ratio[CONTAINER_DIMENSIONS_MAX];  /* tiles of a file in each dimension */
    uint64_t across[CONTAINER_DIMENSIONS_MAX]; /* tiles of the array in each dimension */
    uint64_t each;                             /* tiles of a file */
    unsigned char *bytes;                      /* an index */
    char *path;                                /* of the file, of PATH_MAX bytes */
};

/* Whether chunks are of records, of which the array is a field. */
static bool are_records(const struct container_tiles *t)
{
    return t->filter_count > 0 && filter_is_layout(&t->filters[0]);
}

/* Bytes of a chunk without codecs. */
static uint64_t chunk_bytes(const struct container_array *a, const struct container_tiles *t)
{
    const uint64_t bytes = t->elements * element_size(a->type);

    return are_records(t) ? filter_stored(&t->filters[0], bytes) : bytes;
}

/* Whether so many bytes can be a chunk. */
static bool is_possible(const struct search *s, uint64_t size)
{
    const struct container_tiles *const t = s->array->tiles;
    const uint64_t bytes = chunk_bytes(s->array, t);

    return size > 0 && size / 2 <= bytes + 4096 &&
           (t->filter_count > are_records(t) || size == bytes);
}

/* Notes a chunk of `size` bytes. False where it cannot be one: in->error says so. */
static bool take_chunk(struct search *s, uint64_t number, uint64_t offset, uint64_t size)
{
    if (!is_possible(s, size))
        return wrong(s->store, "%" PRIu64 " bytes, for a chunk of %" PRIu64, size,
                     chunk_bytes(s->array, s->array->tiles));
    s->found[number].offset = offset;
    s->found[number].compressed = (uint32_t)size;
    return true;
}

/* The number of a tile: number `i` of those of the file. UINT64_MAX if it lies beyond the array. */
static uint64_t number_of(const struct search *s, uint64_t i)
{
    uint64_t number = 0, step = 1;

    for (unsigned d = s->array->dimensions; d-- > 0; i /= s->ratio[d]) {
        const uint64_t place = s->at[d] * s->ratio[d] + i % s->ratio[d];

        if (place >= s->across[d])
            return UINT64_MAX;
        number += place * step;
        step *= s->across[d];
    }
    return number;
}

/* Reads the index of a shard into s->bytes. False on failure: in->error says why. */
static bool read_index(struct search *s, const struct entry *e)
{
    const size_t length = (size_t)s->each * 16, whole = length + (s->index->checked ? 4 : 0);

    if (e->size < whole)
        return wrong(s->store, "%" PRIu64 " bytes, for an index of %zu", e->size, whole);
    if (!s->bytes && !(s->bytes = malloc(whole + 1)))
        return container_no_memory(s->store->in);
    if (!read_entry(s->store, s->path, e, s->index->at_begin ? 0 : e->size - whole, s->bytes,
                    whole))
        return false;
    return !s->index->checked ||
           filter_crc32c(s->bytes, length) == bytes_number(s->bytes + length, 4, false) ||
           wrong(s->store, "the checksum of its index is wrong");
}

/* Notes the chunks of a shard. False on failure: in->error says why. */
static bool take_shard(struct search *s, const struct entry *e)
{
    const uint64_t size = e->size;

    if (!read_index(s, e))
        return false;
    for (uint64_t i = 0; i < s->each; i++) {
        const uint64_t offset = bytes_number(s->bytes + 16 * i, 8, s->index->big);
        const uint64_t length = bytes_number(s->bytes + 16 * i + 8, 8, s->index->big);
        const uint64_t number = number_of(s, i);

        if ((offset & length) == UINT64_MAX || number == UINT64_MAX)
            continue;
        if (length > size || offset > size - length)
            return wrong(s->store,
                         "its index has %" PRIu64 " bytes at %" PRIu64 ", and it has %" PRIu64,
                         length, offset, size);
        if (!take_chunk(s, number, e->offset + offset, length))
            return false;
    }
    return true;
}

/* Looks for a file, and notes the chunks in it. False on failure: in->error says why. */
static bool find_file(struct search *s)
{
    struct container_input *in = s->store->in;
    struct entry e;

    if (!container_chunk_path(s->array, number_of(s, 0), s->path))
        return wrong(s->store, "the name is too long");
    if (!find_entry(s->store, s->path, &e))
        return in->error.kind == ERROR_NONE;
    return s->array->tiles->files->several ? take_shard(s, &e)
                                           : take_chunk(s, number_of(s, 0), e.offset, e.size);
}

/* Goes to the next file. False after the last one. */
static bool find_next(struct search *s)
{
    for (unsigned d = s->array->dimensions; d-- > 0;) {
        if (++s->at[d] * s->ratio[d] < s->across[d])
            return true;
        s->at[d] = 0;
    }
    return false;
}

/* Finds what chunks there are. False without memory; what is wrong with one makes the array one
   that cannot be read. */
static bool find_chunks(struct store *z, const struct index *index, struct container_array *a,
                        struct container_tiles *t)
{
    struct search s = {.store = z,
                       .array = a,
                       .index = index,
                       .path = z->file,
                       .found = calloc((size_t)t->count + 1, sizeof *s.found),
                       .each = 1};
    struct error *why = &z->in->error;

    if (!s.found)
        return false;
    for (unsigned i = 0; i < a->dimensions; i++) {
        s.ratio[i] = t->files->sizes[i] / t->sizes[i];
        s.across[i] = (a->sizes[i] + t->sizes[i] - 1) / t->sizes[i];
        s.each *= s.ratio[i];
    }
    if (t->count > 0)
        while (find_file(&s) && find_next(&s))
            ;
    for (uint64_t i = 0; i < t->count; i++)
        a->compressed += s.found[i].compressed;
    if (why->kind == ERROR_DATA) {
        (void)container_refuse(a, container_note(z->container, "chunk %s: %s", s.path, why->text));
        a->missing = true;
        a->tiles = NULL;
        *why = (struct error){.kind = ERROR_NONE};
    } else {
        t->tiles = container_keep(z->container, s.found, (size_t)t->count * sizeof *s.found);
    }
    if (z->archived)
        t->files = NULL; /* tiles are parts of the archive */
    free(s.found);
    free(s.bytes);
    return why->kind == ERROR_NONE && (a->unreadable || t->tiles);
}

/* Sets the sizes of files, and where they are shards makes m->chunks those of the chunks in them.
   False where these do not fit into shards, or there are too many. */
static bool split_shards(struct metadata *m, uint64_t files[CONTAINER_DIMENSIONS_MAX])
{
    uint64_t each = 1;

    memcpy(files, m->chunks, sizeof m->chunks);
    if (!m->sharded)
        return true;
    if (m->inner_dimensions != m->dimensions)
        return false;
    for (unsigned i = 0; i < m->dimensions; i++)
        if (m->inner[i] == 0 || files[i] == 0 || files[i] % m->inner[i] != 0 ||
            __builtin_mul_overflow(each, files[i] / m->inner[i], &each) ||
            each > CONTAINER_TILES_MAX || files[i] > INT64_MAX)
            return false;
    memcpy(m->chunks, m->inner, sizeof m->chunks);
    return true;
}

/* Completes the order of the dimensions of chunks, which is then `transposed` if it is not C order.
   False if it is none. */
static bool find_order(struct metadata *m)
{
    uint64_t found = 0;
    bool moved = false;

    if (m->fortran_order) {
        const unsigned outer = m->dimensions - (m->field ? m->field->dimensions : 0);

        m->transposed = true;
        m->order_dimensions = m->dimensions;
        for (unsigned i = 0; i < m->dimensions; i++)
            m->order[i] = i < outer ? outer - 1 - i : i;
    }
    if (!m->transposed)
        return true;
    if (m->order_dimensions != m->dimensions)
        return false;
    for (unsigned i = 0; i < m->dimensions; i++) {
        if (m->order[i] >= m->dimensions || (found >> m->order[i] & 1))
            return false;
        found |= UINT64_C(1) << m->order[i];
        moved = moved || m->order[i] != i;
    }
    m->transposed = moved;
    return true;
}

/* Sets the tiles of an array that can be read. */
static bool take_tiles(struct store *z, const char *path, struct metadata *m,
                       struct container_array *a, struct container_tiles *t)
{
    struct container *c = z->container;
    struct container_files files = {.separator = m->separator,
                                    .several = m->sharded,
                                    .within = m->field ? m->field->dimensions : 0};
    uint64_t sizes[CONTAINER_DIMENSIONS_MAX];
    unsigned char fill[CONTAINER_FILL_MAX];

    for (unsigned i = 0; i < m->dimensions; i++)
        m->chunks[i] = m->chunks[i] == 0 && m->sizes[i] == 0 ? 1 : m->chunks[i];
    if (!split_shards(m, sizes))
        refuse(m, "shape of shards", "of this array");
    t->elements = t->count = 1;
    for (unsigned i = 0; i < m->dimensions; i++) {
        const uint64_t size = m->chunks[i];

        if (size == 0 || __builtin_mul_overflow(t->elements, size, &t->elements) ||
            __builtin_mul_overflow(t->count, (m->sizes[i] + size - 1) / size, &t->count) ||
            m->sizes[i] > INT64_MAX)
            refuse(m, "shape of chunks", "of this array");
    }
    t->filter_count = m->filter_count;
    memcpy(t->filters, m->filters, sizeof t->filters);
    for (unsigned i = 0; i < m->filter_count; i++)
        if (m->filters[i].kind == CONTAINER_SHUFFLE && m->filters[i].values[0] > 1 &&
            chunk_bytes(a, t) % m->filters[i].values[0] != 0)
            refuse(m, "filter shuffle of", "parts of elements"); /* numcodecs has none either */
    if (!m->refused[0] &&
        (t->elements > CONTAINER_TILE_BYTES_MAX || chunk_bytes(a, t) > CONTAINER_TILE_BYTES_MAX))
        refuse(m, "chunk size", "above 1 GiB");
    if (!m->refused[0] && (t->count > CONTAINER_TILES_MAX - z->tiles))
        refuse(m, "number of chunks", "above 16777216");
    if (!m->refused[0] && !find_order(m))
        refuse(m, "order of dimensions", "of this array");
    if (!m->refused[0] && !read_fill(m, fill))
        refuse(m, "fill_value", "of this array");
    if (m->refused[0])
        return true;
    files.prefix = container_note(c, "%s%s%s", path, *path ? "/" : "",
                                  m->version == 3 && !m->plain_keys ? "c" : "");
    files.lettered = m->version == 3 && !m->plain_keys;
    files.sizes = container_keep(c, sizes, sizeof sizes);
    t->files = files.sizes ? container_keep(c, &files, sizeof files) : NULL;
    t->fill = container_keep(c, fill, sizeof fill);
    t->sizes = container_keep(c, m->chunks, sizeof m->chunks);
    t->order = m->transposed ? container_keep(c, m->order, sizeof m->order) : NULL;
    if (!files.prefix || !t->files || !t->fill || !t->sizes || (m->transposed && !t->order))
        return false;
    a->tiles = t;
    if (!container_wants(z->in->patterns, z->in->pattern_count, a->name, false)) {
        t->count = 0;
        return true;
    }
    z->tiles += t->count;
    return find_chunks(z, &m->index, a, t);
}

/*
 * Arrays.
 */

/* Whether a type of version 3 is one of texts or bytes. */
static bool is_text(const char *type)
{
    static const char *const types[] = {
        "string",   "fixed_length_utf32", "bytes", "variable_length_bytes", "null_terminated_bytes",
        "raw_bytes"};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

/* Sets the type that metadata name. */
static void take_type(struct metadata *m, struct container_array *a)
{
    enum element_order order = ELEMENT_ORDER_UNSAID;

    container_name_type(a, *m->type ? m->type : "record");
    if (m->version == 3 && strcmp(m->type, "bool") == 0) {
        m->element = ELEMENT_BOOL;
    } else if (!element_parse_numpy(m->type, &m->element, &order)) {
        container_refuse_type(a, m->type);
        if (!element_find_foreign(m->type) && is_text(m->type)) {
            a->not_numeric = true;
            a->unreadable = "text, or bytes of unknown meaning";
        }
        return;
    }
    if (m->version == 2 && order == ELEMENT_ORDER_UNSAID && m->element == ELEMENT_BF16)
        order = ELEMENT_ORDER_LITTLE; /* TensorStore's, which does not say so */
    if (m->version == 2)
        m->order_of_bytes = order;
    a->type = m->element;
    container_name_type(a, element_name(a->type));
    if (element_size(a->type) > 1 && m->order_of_bytes == ELEMENT_ORDER_UNSAID)
        refuse(m, "type without a byte order", m->type);
    a->big_endian = m->order_of_bytes == ELEMENT_ORDER_BIG;
}

/* Sets the type of a field of records, and adds its dimensions to those of the array. */
static void take_field(struct metadata *m, struct container_array *a)
{
    const struct npy_field *const field = m->field;
    const uint64_t bytes = field->elements * element_size(field->type);

    container_name_type(a, field->known ? element_name(field->type) : field->descr);
    a->type = m->element = field->type;
    a->big_endian = field->big_endian;
    m->order_of_bytes = a->big_endian ? ELEMENT_ORDER_BIG : ELEMENT_ORDER_LITTLE;
    if (m->dimensions + field->dimensions > CONTAINER_DIMENSIONS_MAX)
        refuse(m, "number of dimensions", "above 64");
    for (unsigned i = 0; i < field->dimensions && !m->refused[0]; i++, m->dimensions++)
        m->sizes[m->dimensions] = m->chunks[m->dimensions] = field->shape[i];
    if (!field->known) {
        container_refuse_type(a, field->descr);
    } else if (field->scattered) {
        (void)container_refuse(a, "its elements are not side by side in a record");
    } else if (m->filter_count == CONTAINER_FILTERS_MAX) {
        refuse(m, "number of filters", "above 7");
    } else if (bytes > 0) {
        memmove(m->filters + 1, m->filters, m->filter_count++ * sizeof *m->filters);
        m->filters[0] = (struct container_filter){.kind = CONTAINER_FIELD,
                                                  .values = {[FIELD_RECORD] = (uint32_t)m->record,
                                                             [FIELD_AT] = (uint32_t)field->offset,
                                                             [FIELD_SIZE] = (uint32_t)bytes}};
    }
}

/* Sets an array by its metadata, of which it has all elements or a field. False without memory. */
static bool take_array(struct store *z, const char *path, const char *name, struct metadata *m)
{
    struct container_tiles tiles = {.count = 0};
    struct container *c = z->container;
    const char *kept = container_keep(c, name, strlen(name) + 1);
    struct container_array *a = kept ? container_add(c, kept) : NULL;

    if (!a)
        return false;
    (m->field ? take_field : take_type)(m, a);
    if (!container_set_shape(c, a, m->sizes, m->dimensions))
        return false;
    if (!container_product(a, &a->elements)) {
        refuse(m, "number of elements", "above 2^64");
        a->dimensions = 0;
    }
    if (!a->unreadable && !m->refused[0] &&
        __builtin_mul_overflow(a->elements, element_size(a->type), &a->length))
        refuse(m, "number of bytes", "above 2^64");
    if (!a->unreadable && !m->refused[0] && !z->in->stored && !find_meaning(c, m, a))
        return false;
    if (!a->unreadable && !m->refused[0] && !take_tiles(z, path, m, a, &tiles))
        return false;
    if (!a->unreadable && m->refused[0]) {
        a->tiles = NULL;
        a->length = 0;
        return container_refuse(a, container_note(c, "%s", m->refused));
    }
    return !a->tiles || container_set_tiles(c, a, &tiles);
}

/* An array of records, of which each field becomes an array. */
struct records {
    struct store *store;
    const char *path;
    uint64_t bytes; /* of a record; 0: fields are looked at before they are taken */
};

static bool take_record(void *user, const struct npy_field *field)
{
    const struct records *r = user;
    struct store *z = r->store;
    struct metadata m = z->metadata;
    char name[PATH_MAX + NPY_NAME_MAX];

    if (r->bytes == 0)
        return true;
    m.field = field;
    m.record = r->bytes;
    snprintf(name, sizeof name, "%s%s%s", r->path, *r->path ? "." : "", field->name);
    if (z->container->count >= ARRAYS_MAX)
        return wrong(z, "more than %zu arrays", ARRAYS_MAX);
    return take_array(z, r->path, name, &m);
}

/* Whether an array has fields: its type is structured or complex. */
static bool has_fields(const struct metadata *m)
{
    const char *const type = m->type;

    return m->structured ||
           (m->version == 3 ? strcmp(type, "complex64") == 0 || strcmp(type, "complex128") == 0
                            : (*type == '<' || *type == '>') &&
                                  (strcmp(type + 1, "c8") == 0 || strcmp(type + 1, "c16") == 0));
}

static bool write_fields(struct store *z, const struct json_reader *configuration, char order,
                         struct buffer *to);

/* Writes a type of version 3 as version 2 has it: a name after a byte order, or a list of fields. False
   where its size is unknown: in->error says so. NOLINTNEXTLINE(misc-no-recursion): to JSON_DEPTH_MAX */
static bool write_type(struct store *z, struct json_reader r, char order, struct buffer *to)
{
    static const char *const names[][2] = {{"bool", "b1"},
                                           {"complex64", "c8"},
                                           {"complex128", "c16"},
                                           {"numpy.datetime64", "M8"},
                                           {"numpy.timedelta64", "m8"}};
    static const struct {
        const char *name;
        char kind;
        unsigned unit; /* bytes */
    } sized[] = {
        {"null_terminated_bytes", 'S', 1}, {"raw_bytes", 'V', 1}, {"fixed_length_utf32", 'U', 4}};
    char name[WORD_MAX], quoted[ESCAPE_QUOTE_MAX];
    enum element_order unsaid = ELEMENT_ORDER_UNSAID;
    struct json_reader configuration, length;
    enum element_type type;
    uint64_t size;
    unsigned long bits;
    size_t digits;

    read_named(&r, name, &configuration);
    if (is_record(name))
        return write_fields(z, &configuration, order, to);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i][0]) == 0) {
            buffer_print(to, "\"%c%s\"", order, names[i][1]);
            return true;
        }
    for (size_t i = 0; i < sizeof sized / sizeof *sized; i++)
        if (strcmp(name, sized[i].name) == 0 &&
            find_member(&configuration, "length_bytes", &length) &&
            json_read_integer(&length, &size) && size % sized[i].unit == 0) {
            buffer_print(to, "\"|%c%" PRIu64 "\"", sized[i].kind, size / sized[i].unit);
            return true;
        }
    digits = name[0] == 'r' ? strspn(name + 1, "0123456789") : 0;
    bits = digits > 0 && digits < 10 && !name[1 + digits] ? strtoul(name + 1, NULL, 10) : 1;
    if (bits % 8 == 0) {
        buffer_print(to, "\"|V%lu\"", bits / 8);
        return true;
    }
    if (element_parse_numpy(name, &type, &unsaid) && unsaid == ELEMENT_ORDER_UNSAID) {
        buffer_print(to, "\"%c%s\"", order, name);
        return true;
    }
    return wrong(z, "a field has the type %.60s, which is not supported",
                 escape_quote(quoted, name));
}

/* Writes the fields of a record of version 3 as a list of version 2. False where one is malformed, or
   its size is unknown: in->error says so. NOLINTNEXTLINE(misc-no-recursion): to JSON_DEPTH_MAX */
static bool write_fields(struct store *z, const struct json_reader *configuration, char order,
                         struct buffer *to)
{
    const char *separator = "[", *name, *end;
    struct json_reader r;

    if (!find_member(configuration, "fields", &r) || peek(&r) != '[')
        return wrong(z, "it has no fields");
    (void)json_read_begin(&r, '[');
    for (; json_read_more(&r, ']'); separator = ",") {
        struct json_reader field = r, type = r;
        bool good = peek(&r) == '{'
                        ? find_member(&r, "name", &field) && find_member(&r, "data_type", &type)
                        : json_read_begin(&field, '[') && json_read_more(&field, ']');

        good = good && peek(&field) == '"' && field.at[1] != '"';
        name = field.at;
        good = good && json_read_skip(&field);
        end = field.at;
        if (good && peek(&r) == '[') {
            good = json_read_more(&field, ']');
            type = field;
            good = good && json_read_skip(&field) && !json_read_more(&field, ']') && !field.failed;
        }
        if (!good)
            return wrong(z, "a field is malformed, or its name is");
        buffer_print(to, "%s[", separator);
        buffer_bytes(to, name, (size_t)(end - name));
        buffer_char(to, ',');
        if (!write_type(z, type, order, to))
            return false;
        buffer_print(to, "]");
        (void)json_read_skip(&r);
    }
    buffer_print(to, "%s]", *separator == '[' ? "[" : "");
    return true;
}

/* Adds the arrays of the fields of a type of version 2, in JSON. False without memory, or if it is wrong:
   in->error says so. */
static bool take_fields(struct store *z, const char *path, const char *text, size_t size)
{
    struct records records = {.store = z, .path = path};
    char error[NPY_ERROR_MAX];
    uint64_t bytes, at;

    if (!npy_find_fields(text, size, NULL, take_record, &records, &bytes, error, &at) || bytes == 0)
        return wrong(z, "%s", *error ? error : "it has no fields");
    records.bytes = bytes;
    return npy_find_fields(text, size, NULL, take_record, &records, &bytes, error, &at);
}

/* Adds an array, or those of its fields. False without memory, or if its type is wrong: in->error says
   so. */
static bool take_arrays(struct store *z, const char *path)
{
    struct metadata *const m = &z->metadata;
    struct json_reader end = m->type_at;
    struct buffer type = {0};
    bool good;

    if (!has_fields(m))
        return take_array(z, path, *path ? path : "array", m);
    (void)json_read_skip(&end);
    if (m->version == 2)
        return take_fields(z, path, m->type_at.at, (size_t)(end.at - m->type_at.at));
    if (m->order_of_bytes == ELEMENT_ORDER_UNSAID && !m->structured)
        refuse(m, "type without a byte order", m->type);
    good = write_type(z, m->type_at, m->order_of_bytes == ELEMENT_ORDER_BIG ? '>' : '<', &type) &&
           !type.failed && take_fields(z, path, type.data, type.size);
    buffer_free(&type);
    return good;
}

/* Whether the metadata have all that an array needs. */
static bool is_complete(const struct metadata *m)
{
    return m->versioned && m->node == NODE_ARRAY && m->has_sizes && m->type_at.at &&
           (m->refused[0] || (m->has_chunks && m->has_codecs && m->has_fill &&
                              (m->version == 2 ? m->has_order : m->has_encoding) &&
                              m->dimensions == m->chunk_dimensions));
}

/* Reads the attributes of an array of version 2, which free gives back. False where they are wrong:
   in->error says why. */
static bool read_attributes(struct store *z, const char *path, struct metadata *m, char **text)
{
    struct json_reader r;

    *text = read_metadata(z, path, ".zattrs");
    if (!*text)
        return z->in->error.kind == ERROR_NONE;
    json_read_python(&m->attributes, *text);
    r = m->attributes;
    return (json_read_skip(&r) && json_read_end(&r)) ||
           wrong_json(z, path, ".zattrs", *text, &r, "not JSON");
}

static bool add_array(struct store *z, const char *path)
{
    char *attributes = NULL, *text = read_metadata(z, path, "zarr.json");
    const unsigned version = text ? 3 : 2;
    const char *const name = version == 3 ? "zarr.json" : ".zarray";
    struct metadata *const m = &z->metadata;
    struct json_reader r;
    bool good = false;

    if (!text && z->in->error.kind == ERROR_NONE)
        text = read_metadata(z, path, ".zarray");
    if (!text && z->in->error.kind == ERROR_NONE)
        (void)wrong(z, "its metadata are gone");
    if (text && !parse(text, version, m, &r)) {
        (void)wrong_json(z, path, name, text, &r, "not JSON of Zarr");
    } else if (text && !is_complete(m)) {
        (void)wrong(z, "not the metadata of an array");
        name_file(z, path, name, ERROR_NO_OFFSET);
    } else if (text) {
        good = version == 3 || read_attributes(z, path, m, &attributes);
    }
    if (good && version == 2 && !m->separator)
        m->separator = '.';
    if (good && !take_arrays(z, path)) {
        good = false;
        json_read_space(&m->type_at);
        name_file(z, path, name, (uint64_t)(m->type_at.at - text));
    }
    good =
        good || (z->in->error.kind == ERROR_NONE ? container_no_memory(z->in) : add_wrong(z, path));
    free(attributes);
    free(text);
    return good;
}

/*
 * Folders.
 */

/* Finds out what a folder is: an array, too, if its metadata are wrong, as add_array then finds.
   in->error says if they cannot be read. */
static enum node find_node(struct store *z, const char *path)
{
    static const char *const names[] = {"zarr.json", ".zarray", ".zgroup"};

    for (int i = 0; i < 3; i++) {
        char *text = read_metadata(z, path, names[i]);
        struct json_reader r;
        bool group;

        if (!text && z->in->error.kind == ERROR_NONE)
            continue;
        group = text && (i == 2 || (i == 0 && parse(text, 3, &z->metadata, &r) &&
                                    z->metadata.node == NODE_GROUP));
        free(text);
        return group ? NODE_GROUP : NODE_ARRAY;
    }
    return NODE_NONE;
}

/* Notes the path of an array; one whose metadata cannot be read is listed as such. */
static bool add_path(struct store *z, const char *path)
{
    if (z->in->error.kind != ERROR_NONE)
        return add_wrong(z, path);
    if (z->count == ARRAYS_MAX)
        return wrong(z, "more than %zu arrays", ARRAYS_MAX);
    if (!GROW(z->paths, z->room, z->count + 1) || !(z->paths[z->count] = strdup(path)))
        return container_no_memory(z->in);
    z->count++;
    return true;
}

static bool walk(struct store *z, char path[PATH_MAX], size_t length, unsigned depth);

static bool is_folder(DIR *folder, const struct dirent *entry)
{
    struct stat status;

    return entry->d_type == DT_DIR ||
           (entry->d_type == DT_UNKNOWN &&
            fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(status.st_mode));
}

/* Says by errno why a folder cannot be read. Returns false. */
static bool wrong_folder(struct store *z, const char *path)
{
    return errno == ENOMEM ? container_no_memory(z->in)
                           : wrong(z, "%s%s%s", path, *path ? ": " : "", strerror(errno));
}

/* Walks through the folders in a group. NOLINTNEXTLINE(misc-no-recursion): to DEPTH_MAX */
static bool walk_group(struct store *z, char path[PATH_MAX], size_t length, unsigned depth)
{
    const int fd =
        openat(z->in->file, length ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *const folder = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    bool good = true;

    if (!folder) {
        good = wrong_folder(z, path);
        if (fd >= 0)
            close(fd);
        return good;
    }
    while (good && (errno = 0, entry = readdir(folder))) {
        const size_t more = strlen(entry->d_name);

        /* No group or array has a name of dots alone. */
        if (strspn(entry->d_name, ".") == more || !is_folder(folder, entry))
            continue;
        if (length + more + 2 > PATH_MAX || depth == DEPTH_MAX) {
            good = wrong(z, "%s: more than %d groups in each other", path, DEPTH_MAX);
            break;
        }
        if (length)
            path[length] = '/';
        memcpy(path + length + (length > 0), entry->d_name, more + 1);
        good = walk(z, path, length + (length > 0) + more, depth + 1);
        path[length] = '\0';
    }
    /* At the end, too, readdir returns NULL. */
    good = good && (errno == 0 || wrong_folder(z, path));
    closedir(folder);
    return good;
}

/* Notes the arrays of a folder. NOLINTNEXTLINE(misc-no-recursion): to DEPTH_MAX */
static bool walk(struct store *z, char path[PATH_MAX], size_t length, unsigned depth)
{
    const enum node node = find_node(z, path);

    return node == NODE_ARRAY ? add_path(z, path)
                              : node == NODE_NONE || walk_group(z, path, length, depth);
}

/* Reads the directory of an archive. */
static bool read_archive(struct store *z)
{
    z->archived = true;
    if (!zip_read_members(&z->zip))
        return false;
    for (size_t i = 0; i < z->zip.count; i++)
        if (strchr(z->zip.members[i].name, '\\'))
            return container_wrong(z->in, z->zip.members[i].at,
                                   "a backslash in the name of a member");
    zip_sort(&z->zip);
    return true;
}

/* Whether a name leads out of the folder that it is in. */
static bool leads_out(const char *name)
{
    return *name == '/' || strncmp(name, "../", 3) == 0 || strstr(name, "/../");
}

/* Reads consolidated metadata of version 2, if there are some: those of each folder, by the names of the
   files that they repeat. */
static bool read_consolidated(struct store *z)
{
    char *const text = read_metadata(z, "", ".zmetadata"), word[WORD_MAX];
    struct json_reader r;
    bool good = true;

    if (!text)
        return z->in->error.kind == ERROR_NONE;
    json_read_python(&r, text);
    json_read_begin(&r, '{');
    while (json_read_more(&r, '}')) {
        if (!json_read_key(&r, word, sizeof word) || strcmp(word, "metadata") != 0) {
            json_read_skip(&r);
            continue;
        }
        json_read_begin(&r, '{');
        while (good && json_read_more(&r, '}')) {
            struct zip_member m = {.name = json_read_key_here(&r)};

            json_read_space(&r);
            m.at = (uint64_t)(r.at - text);
            if (!json_read_skip(&r))
                break;
            m.size = (uint64_t)(r.at - text) - m.at;
            if (leads_out(m.name))
                good = wrong(z, ".zmetadata: a name that leads out of the store");
            else if (!GROW(z->zip.members, z->zip.room, z->zip.count + 1))
                good = container_no_memory(z->in);
            else
                z->zip.members[z->zip.count++] = m;
        }
        if (!good)
            break;
    }
    z->consolidated = text;
    good = good && (json_read_end(&r) || wrong_json(z, "", ".zmetadata", text, &r, "not JSON"));
    zip_sort(&z->zip);
    return good;
}

/* Notes the arrays of members: folders with their metadata. */
static bool walk_members(struct store *z, bool *found)
{
    *found = false;
    for (size_t i = 0; i < z->zip.count; i++) {
        const char *const name = z->zip.members[i].name, *const slash = strrchr(name, '/');
        const char *const base = slash ? slash + 1 : name;
        const size_t length = slash ? (size_t)(slash - name) : 0;
        char *const path = z->folder;

        if ((strcmp(base, "zarr.json") != 0 && strcmp(base, ".zarray") != 0 &&
             strcmp(base, ".zgroup") != 0) ||
            length >= sizeof z->folder)
            continue;
        *found = true;
        memcpy(path, name, length);
        path[length] = '\0';
        if (strcmp(base, ".zgroup") != 0 && find_node(z, path) == NODE_ARRAY && !add_path(z, path))
            return false;
    }
    return true;
}

/* Notes the arrays of a directory, or if no folder in it has metadata, those of consolidated ones. */
static bool walk_directory(struct store *z)
{
    bool found;

    if (!walk(z, z->folder, 0, 0))
        return false;
    if (z->count > 0 || z->container->count > 0)
        return true;
    if (!read_consolidated(z) || !walk_members(z, &found))
        return false;
    return found || find_node(z, z->folder) != NODE_NONE ||
           wrong(z, "no zarr.json, .zarray, .zgroup or .zmetadata in the directory");
}

static bool walk_archive(struct store *z)
{
    bool found;

    return read_archive(z) && walk_members(z, &found) &&
           (found || wrong(z, "no zarr.json, .zarray or .zgroup in the archive"));
}

static bool read_arrays(struct store *z)
{
    struct stat status;
    bool good;

    z->in->lenient = true;

    if (z->in->file >= 0 && fstat(z->in->file, &status) == 0 && S_ISDIR(status.st_mode))
        good = walk_directory(z);
    else
        good = walk_archive(z);
    if (good && z->count > 0)
        qsort(z->paths, z->count, sizeof *z->paths, name_compare);
    for (size_t i = 0; i < z->count; i++) {
        const bool again =
            i > 0 && strcmp(z->paths[i - 1], z->paths[i]) == 0; /* of both versions */

        good = good && (again || add_array(z, z->paths[i]));
    }
    return good;
}

static bool read_store(struct container *c, struct container_input *in)
{
    struct store *z = calloc(1, sizeof *z); /* too large for the stack */
    bool good;

    if (!z)
        return container_no_memory(in);
    z->container = c;
    z->in = in;
    z->zip = (struct zip){.container = c, .in = in};
    good = read_arrays(z);
    for (size_t i = 0; i < z->count; i++)
        free(z->paths[i]);
    free(z->paths);
    free(z->zip.members);
    free(z->consolidated);
    free(z);
    return good;
}

/* A directory is known by the names of files in it; an archive by that of the first one. */
static bool recognise(const unsigned char *bytes, size_t size)
{
    static const char *const names[] = {"zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata"};
    size_t length;
    const char *name = zip_first_name(bytes, size, &length);

    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++) {
        const size_t most = strlen(names[i]);

        if (length >= most && memcmp(name + length - most, names[i], most) == 0 &&
            (length == most || name[length - most - 1] == '/'))
            return true;
    }
    return false;
}

const struct container_format container_zarr = {
    .name = "zarr",
    .article = "a Zarr store",
    .recognise = recognise,
    .read = read_store,
};
