/*
 * PyTorch: what torch.save writes since version 1.6, a zip archive of the pickle NAME/data.pkl and
 * of the storages NAME/data/KEY, which tensors are views of. torch/serialization.py and
 * torch/_utils.py of PyTorch say what stands in the pickle.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/name.h"
#include "source/format/pickle.h"
#include "source/format/pytorch.h"
#include "source/format/zip.h"

/* The longest name of an array, the names of all together (bytes), arrays that a file may have, and
   levels of dictionaries and lists. */
#define NAME_MAX_BYTES ((size_t)1000)
#define NAMES_MAX ((size_t)100000000)
#define ARRAYS_MAX ((size_t)1000000)
#define DEPTH_MAX 100

/* Bytes of a tile at most, with the elements that it repeats. All tensors may have so many tiles, or
   so many that the places of them take as much memory as the file is large. */
#define TILE_BYTES ((uint64_t)256 << 10)
#define TILES_LEAST 65536

/* Values that may share others are looked at so often, and once more for each that there is. */
#define VISITS_MAX ((size_t)1000000)

/* The longest name of a storage, without NAME/data/. */
#define KEY_MAX ((size_t)100)
#define MEMBER_MAX (KEY_MAX + sizeof "data/")

#define QUANTISED "quantised; in Python, t.dequantize() has its numbers"

/* The first is that of storages without a type; those that have no storage are last. */
const struct pytorch_dtype pytorch_dtypes[PYTORCH_DTYPES] = {
    {"uint8", 1, NULL, ELEMENT_U8, "ByteStorage"},
    {"float32", 4, NULL, ELEMENT_F32, "FloatStorage"},
    {"float64", 8, NULL, ELEMENT_F64, "DoubleStorage"},
    {"float16", 2, NULL, ELEMENT_F16, "HalfStorage"},
    {"bfloat16", 2, NULL, ELEMENT_BF16, "BFloat16Storage"},
    {"int8", 1, NULL, ELEMENT_I8, "CharStorage"},
    {"int16", 2, NULL, ELEMENT_I16, "ShortStorage"},
    {"int32", 4, NULL, ELEMENT_I32, "IntStorage"},
    {"int64", 8, NULL, ELEMENT_I64, "LongStorage"},
    {"bool", 1, NULL, ELEMENT_BOOL, "BoolStorage"},
    {"complex64", 8, NULL, ELEMENT_F32, "ComplexFloatStorage"},
    {"complex128", 16, NULL, ELEMENT_F64, "ComplexDoubleStorage"},
    {"qint8", 1, QUANTISED, 0, "QInt8Storage"},
    {"quint8", 1, QUANTISED, 0, "QUInt8Storage"},
    {"qint32", 4, QUANTISED, 0, "QInt32Storage"},
    {"quint4x2", 1, QUANTISED, 0, "QUInt4x2Storage"},
    {"quint2x4", 1, QUANTISED, 0, "QUInt2x4Storage"},
    {"float8_e4m3fn", 1, NULL, ELEMENT_F8E4M3, NULL},
    {"float8_e5m2", 1, NULL, ELEMENT_F8E5M2, NULL},
    {"uint16", 2, NULL, ELEMENT_U16, NULL},
    {"uint32", 4, NULL, ELEMENT_U32, NULL},
    {"uint64", 8, NULL, ELEMENT_U64, NULL},
    {"complex32", 4, NULL, ELEMENT_F16, NULL},
    {"float8_e4m3fnuz", 1, "another float of 8 bits than float8_e4m3fn", 0, NULL},
    {"float8_e5m2fnuz", 1, "another float of 8 bits than float8_e5m2", 0, NULL},
    {"float8_e8m0fnu", 1, "a scale: an exponent alone", 0, NULL},
    {"float4_e2m1fn_x2", 1, "two floats of 4 bits", 0, NULL},
};

/* The use of a global. */
enum use {
    NOTHING,    /* values without tensors, and classes */
    DICTIONARY, /* classes of dictionaries: the argument may be one, or have the type of values */
    SEQUENCE,   /* a class whose argument, or items, are a list */
    TENSOR,     /* storage, offset, sizes, strides, and more that does not matter here; metadata */
    TENSOR_OF,  /* storage, offset, sizes, strides, two that do not matter, type; metadata */
    PARAMETER,  /* a tensor, and more */
    SUBCLASS,   /* a function, a class, arguments of the function, attributes */
    QUANTISED_TENSOR,               /* as TENSOR */
    SPARSE,                         /* a layout; tensors and sizes */
    META,                           /* a type, sizes */
    OTHER_TENSOR,                   /* in another form */
    NUMPY,                          /* an array of NumPy */
    SIZES,                          /* a tuple of integers */
    TYPE,                           /* and numbers from there on: pytorch_dtypes */
    STORAGE = TYPE + PYTORCH_DTYPES /* and numbers from there on: storages of these */
};

static const struct pickle_global uses[] = {
    {"collections", "OrderedDict|defaultdict|Counter", DICTIONARY},
    {"collections", "deque", SEQUENCE},
    {"builtins|__builtin__", "set|frozenset", SEQUENCE},
    {"builtins|__builtin__",
     "bool|bytearray|bytes|complex|dict|float|int|list|range|slice|str|tuple", NOTHING},
    {"_codecs", "encode", NOTHING},
    {"__builtin__", "xrange", NOTHING},
    {"argparse", "Namespace", NOTHING}, /* attributes may be tensors */
    {"types", "SimpleNamespace", NOTHING},
    {"datetime", "date|datetime|time|timedelta|timezone", NOTHING},
    {"pathlib|pathlib._local", "PosixPath|PurePosixPath|WindowsPath|PureWindowsPath", NOTHING},
    {"numpy.core.multiarray|numpy._core.multiarray", "_reconstruct", NUMPY},
    {"numpy.core.multiarray|numpy._core.multiarray", "scalar", NOTHING},
    {"numpy", "ndarray|dtype", NOTHING},
    {"torch", "Size", SIZES},
    {"torch", "device|Tensor", NOTHING},
    {"torch.nn.parameter", "Parameter|Buffer", NOTHING},
    {"torch.serialization", "_get_layout", NOTHING},
    {"torch",
     "per_tensor_affine|per_tensor_symmetric|per_channel_affine|per_channel_symmetric|"
     "per_channel_affine_float_qparams",
     NOTHING},
    {"torch._utils", "_rebuild_tensor|_rebuild_tensor_v2", TENSOR},
    {"torch._utils", "_rebuild_tensor_v3", TENSOR_OF},
    {"torch._utils", "_rebuild_parameter|_rebuild_parameter_with_state", PARAMETER},
    {"torch._tensor", "_rebuild_from_type_v2", SUBCLASS},
    {"torch._utils", "_rebuild_qtensor", QUANTISED_TENSOR},
    {"torch._utils", "_rebuild_sparse_tensor|_rebuild_sparse_csr_tensor", SPARSE},
    {"torch._utils", "_rebuild_meta_tensor_no_storage", META},
    {"torch._utils",
     "_rebuild_nested_tensor|_rebuild_device_tensor_from_numpy|_rebuild_wrapper_subclass",
     OTHER_TENSOR},
    {"torch.nested._internal.nested_tensor", "_rebuild_njt", OTHER_TENSOR},
    {"torch.nested._internal.nested_tensor", "NestedTensor", NOTHING},
    {"torch.storage|torch", "UntypedStorage", STORAGE},
};

enum { USES = sizeof uses / sizeof *uses };

/* The file as it is read. */
struct file {
    struct container *container;
    struct container_input *in;
    struct zip zip;
    char *path; /* of a member: the name of the folder that all are in, and room for more */
    size_t folder_length; /* of that name, with its slash */
    bool big_endian;
    struct pickle pickle;
    uint64_t pickle_offset; /* in the file */
    char name[NAME_MAX_BYTES + 1];
    size_t names, visits; /* bytes of the names so far; values that were looked at */
    uint64_t tiles;       /* of all tensors */
};

bool pytorch_recognise(const unsigned char *bytes, size_t size)
{
    size_t length;
    const char *name = zip_first_name(bytes, size, &length);

    return name &&
           (name_ends(name, length, "/data.pkl") || name_ends(name, length, "/.format_version"));
}

/*
 * The archive.
 */

/* Reads the directory, and finds the folder of the first pickle in it. */
static bool read_directory(struct file *f)
{
    const struct zip_member *pickle = NULL;

    if (!zip_read_members(&f->zip))
        return false;
    for (size_t i = 0; i < f->zip.count && !pickle; i++)
        if (name_ends(f->zip.members[i].name, f->zip.members[i].name_length, "/data.pkl"))
            pickle = &f->zip.members[i];
    if (!pickle)
        return container_wrong(f->in, f->zip.begin, "there is no data.pkl");
    f->folder_length = pickle->name_length - strlen("data.pkl");
    f->path = malloc(f->folder_length + MEMBER_MAX);
    if (!f->path)
        return container_no_memory(f->in);
    memcpy(f->path, pickle->name, f->folder_length);
    zip_sort(&f->zip);
    return true;
}

/* The member that is called so in the folder of the pickle; NULL if there is none. */
static struct zip_member *find_part(struct file *f, const char *directory, const char *key,
                                    size_t key_length)
{
    snprintf(f->path + f->folder_length, MEMBER_MAX, "%s%.*s", directory, (int)key_length, key);
    return memchr(key, 0, key_length) ? NULL : zip_find(&f->zip, f->path, strlen(f->path));
}

/* Reads a whole member, of at most so many bytes, to memory of the caller's. NULL on failure. */
static void *read_part(struct file *f, const char *name, uint64_t most, size_t *size,
                       uint64_t *offset)
{
    struct zip_member *part = find_part(f, "", name, strlen(name));
    void *bytes;

    if (!part || !zip_is_plain(part)) {
        (void)container_wrong(f->in, part ? part->at : f->zip.begin,
                              part ? "%s is compressed or encrypted, which torch does not do"
                                   : "there is no %s",
                              name);
        return NULL;
    }
    *size = (size_t)part->size;
    if (part->size > most) {
        (void)container_wrong(f->in, part->at,
                              "%s has %" PRIu64 " bytes, more than the %" PRIu64 " allowed", name,
                              part->size, most);
        return NULL;
    }
    if (!zip_place(&f->zip, part))
        return NULL;
    *offset = part->offset;
    bytes = malloc(*size + 1);
    if (!bytes)
        (void)container_no_memory(f->in);
    else if (f->in->read(f->in, bytes, *size, part->offset))
        return bytes;
    free(bytes);
    return NULL;
}

/* Finds the byte order of the storages. Files of before version 2.1 do not state it. */
static bool read_order(struct file *f)
{
    uint64_t offset;
    size_t size;
    char *order;
    bool little;

    if (!find_part(f, "", "byteorder", strlen("byteorder")))
        return true;
    order = read_part(f, "byteorder", 100, &size, &offset);
    if (!order)
        return false;
    little = size == strlen("little") && memcmp(order, "little", size) == 0;
    f->big_endian = size == strlen("big") && memcmp(order, "big", size) == 0;
    free(order);
    return little || f->big_endian ||
           container_wrong(f->in, offset, "the byte order is neither 'little' nor 'big'");
}

/*
 * Tensors.
 */

/* A tensor as the pickle describes it. */
struct tensor {
    uint32_t storage; /* a value */
    const struct pytorch_dtype *dtype;
    uint64_t offset; /* elements of the storage before its first */
    unsigned dimensions;
    uint64_t sizes[CONTAINER_DIMENSIONS_MAX], strides[CONTAINER_DIMENSIONS_MAX];
    bool changed;  /* torch conjugates or negates what is stored */
    unsigned part; /* of complex numbers: the part that is looked at */
};

/* Says that a value is not what it should be. */
static bool malformed(struct file *f, uint32_t value, const char *what)
{
    return container_wrong(f->in, f->pickle_offset + pickle_value(&f->pickle, value)->at,
                           "%s is malformed", what);
}

/* The use of a global; NOTHING of other values. */
static enum use use_of(const struct file *f, uint32_t value)
{
    const struct pickle_value *v = pickle_value(&f->pickle, value);
    const unsigned use = v->kind == PICKLE_GLOBAL ? v->global->use : NOTHING;

    return use >= STORAGE ? STORAGE : use >= TYPE ? TYPE : (enum use)use;
}

/* The type that a global of TYPE or STORAGE stands for; NULL for none. */
static const struct pytorch_dtype *dtype_of(const struct file *f, uint32_t value, enum use use)
{
    return use_of(f, value) == use
               ? &pytorch_dtypes[pickle_value(&f->pickle, value)->global->use - use]
               : NULL;
}

/* The storage that a value is: ('storage', CLASS, KEY, LOCATION, ELEMENTS). False if it is none. */
static bool take_storage(const struct file *f, uint32_t value, const struct pytorch_dtype **dtype,
                         const struct pickle_value **key, uint64_t *elements)
{
    const struct pickle_value *v = pickle_value(&f->pickle, value);
    uint32_t values[5];

    if (v->kind != PICKLE_PERSISTENT ||
        pickle_value(&f->pickle, v->arguments)->kind != PICKLE_TUPLE ||
        pickle_items(&f->pickle, pickle_value(&f->pickle, v->arguments), values, 5) != 5)
        return false;
    *dtype = dtype_of(f, values[1], STORAGE);
    *key = pickle_value(&f->pickle, values[2]);
    return *dtype && (*key)->kind == PICKLE_TEXT && (*key)->count <= KEY_MAX &&
           pickle_count(&f->pickle, values[4], elements);
}

/* How elements lie in a storage: `count` runs of `run` elements, which begin `stride` elements
   apart. */
struct layout {
    uint64_t count, run, stride;
};

/* Finds the layout of a tensor whose last index changes fastest; or whose first does, if that is
   `turned`. False if its elements do not lie so. */
static bool find_layout(const struct tensor *t, bool turned, struct layout *l)
{
    uint64_t sizes[2], strides[2];
    unsigned groups = 0;

    for (unsigned k = 0; k < t->dimensions; k++) {
        const unsigned i = turned ? k : t->dimensions - 1 - k;
        uint64_t next;

        if (t->sizes[i] == 1)
            continue;
        if (groups > 0 && !__builtin_mul_overflow(sizes[groups - 1], strides[groups - 1], &next) &&
            t->strides[i] == next) {
            sizes[groups - 1] *= t->sizes[i];
            continue;
        }
        if (groups == 2)
            return false;
        sizes[groups] = t->sizes[i];
        strides[groups++] = t->strides[i];
    }
    *l = (struct layout){1, 1, 1};
    if (groups > 0 && strides[0] == 1)
        l->run = sizes[0];
    if (groups == 0 || (groups == 1 && strides[0] == 1))
        return true;
    if (groups == 2 && strides[0] != 1)
        return false;
    l->count = sizes[groups - 1];
    l->stride = strides[groups - 1];
    return l->stride > l->run;
}

/* Sets the order of a tensor's dimensions in its storage, the farthest apart first. Dimensions that
   repeat elements come before the last ones, which lie together. Returns how many these are; *repeated:
   how many come before them. */
static unsigned find_order(const struct tensor *t, uint64_t *order, unsigned *repeated)
{
    uint64_t sorted[CONTAINER_DIMENSIONS_MAX] = {0};
    unsigned together = 0, apart;
    uint64_t step = 1;

    for (unsigned i = 0; i < t->dimensions; i++) {
        unsigned k = i;

        /* By subtracting 1, 0 becomes the largest. */
        for (; k > 0 && t->strides[sorted[k - 1]] - 1 < t->strides[i] - 1; k--)
            sorted[k] = sorted[k - 1];
        sorted[k] = i;
    }
    while (together < t->dimensions) {
        const unsigned i = (unsigned)sorted[t->dimensions - 1 - together];

        if (t->strides[i] != step && t->sizes[i] != 1)
            break;
        step *= t->sizes[i];
        together++;
    }
    apart = t->dimensions - together;
    for (*repeated = 0; *repeated < apart && t->strides[sorted[*repeated]] == 0; ++*repeated)
        ;
    for (unsigned k = 0; k < t->dimensions; k++)
        order[k] = sorted[k < apart ? (k + *repeated) % apart : k];
    return together;
}

/* Sets the sizes of a tile, whose elements of `size` bytes are in the last `inside` dimensions.
   Returns how many they are. */
static uint64_t find_tile(const struct tensor *t, unsigned size, const uint64_t *order,
                          unsigned inside, uint64_t *sizes)
{
    uint64_t elements = 1;

    for (unsigned k = t->dimensions; k-- > 0;) {
        const uint64_t i = order[k], most = TILE_BYTES / size / elements;

        sizes[i] = t->dimensions - k > inside ? 1 : t->sizes[i] < most ? t->sizes[i] : most;
        elements *= sizes[i];
        if (sizes[i] < t->sizes[i])
            inside = 0;
    }
    return elements;
}

/* Sets where the tiles begin, and their bytes. `at`: of the first element in the file. */
static void place_tiles(const struct tensor *t, unsigned size, uint64_t at,
                        const struct container_tiles *tiles, struct container_tile *tile)
{
    uint64_t begin[CONTAINER_DIMENSIONS_MAX] = {0};

    for (uint64_t number = 0; number < tiles->count; number++) {
        uint64_t first = 0, elements = 1;

        for (unsigned i = 0; i < t->dimensions; i++) {
            const uint64_t left = t->sizes[i] - begin[i];

            first += begin[i] * t->strides[i];
            if (t->strides[i] > 0) /* repeated elements are stored once */
                elements *= left < tiles->sizes[i] ? left : tiles->sizes[i];
        }
        tile[number] = (struct container_tile){.offset = at + first * size,
                                               .compressed = (uint32_t)(elements * size)};
        for (unsigned i = t->dimensions; i-- > 0;) {
            begin[i] += tiles->sizes[i];
            if (begin[i] < t->sizes[i])
                break;
            begin[i] = 0;
        }
    }
}

/* Makes tiles of a tensor whose elements lie in another order than that of rows or of columns, apart,
   or in several places. `at`: of its first element in the file. False without memory. Sets why that
   cannot be done. */
static bool make_tiles(struct file *f, struct container_array *a, const struct tensor *t,
                       uint64_t at)
{
    const unsigned size = t->dtype->size;
    struct container *c = f->container;
    uint64_t order[CONTAINER_DIMENSIONS_MAX], sizes[CONTAINER_DIMENSIONS_MAX];
    unsigned repeated;
    const unsigned together = find_order(t, order, &repeated);
    struct container_tiles tiles = {.count = 1, .edges_cut = true};
    struct container_tile *places;
    const uint64_t most = f->in->size / sizeof *places + TILES_LEAST - f->tiles;
    uint64_t block = 1; /* elements of a tile that are stored */
    bool good;

    tiles.elements = find_tile(t, size, order, together + repeated, sizes);
    tiles.dense = together == t->dimensions;
    for (unsigned i = 0; i < t->dimensions; i++) {
        const uint64_t across = (t->sizes[i] - 1) / sizes[i] + 1;

        block *= t->strides[i] > 0 ? sizes[i] : 1;
        tiles.count =
            across > CONTAINER_TILES_MAX / tiles.count ? UINT64_MAX : tiles.count * across;
        if (tiles.count > most)
            return container_refuse(a, "its elements lie in too many places; in Python, "
                                       "t.contiguous() has them together");
    }
    f->tiles += tiles.count;
    tiles.sizes = container_keep(c, sizes, t->dimensions * sizeof *sizes);
    tiles.order = container_keep(c, order, t->dimensions * sizeof *order);
    places = f->in->headers_only ? NULL : malloc((size_t)tiles.count * sizeof *places);
    if (places && tiles.sizes) {
        place_tiles(t, size, at, &tiles, places);
        tiles.tiles = container_keep(c, places, (size_t)tiles.count * sizeof *places);
    }
    free(places);
    good = tiles.sizes && tiles.order && (tiles.tiles || f->in->headers_only);
    tiles.count = tiles.tiles ? tiles.count : 0;
    if (block < tiles.elements)
        tiles.filters[tiles.filter_count++] = (struct container_filter){
            .kind = CONTAINER_REPEAT, .values = {(uint32_t)block * size / pytorch_parts(t->dtype)}};
    if (pytorch_parts(t->dtype) > 1)
        tiles.filters[tiles.filter_count++] = pytorch_filter(t->dtype, t->part);
    return (good && container_set_tiles(c, a, &tiles)) || container_no_memory(f->in);
}

/* Places the elements of a tensor, or a part of them, in a storage of so many bytes at an offset of
   the file. False without memory. Sets why that cannot be done. */
static bool place_elements(struct file *f, struct container_array *a, const struct tensor *t,
                           uint64_t at, uint64_t bytes)
{
    const uint64_t size = t->dtype->size, parts = pytorch_parts(t->dtype), each = size / parts;
    struct tensor apart = *t; /* strides count parts */
    struct layout l = {1, 0, 1};
    uint64_t end = 1, last;
    bool good = true;

    if (a->elements == 0) { /* it may begin beyond the end of the storage */
        a->offset = at;
        return true;
    }
    for (unsigned i = 0; i < t->dimensions; i++)
        good = good && !__builtin_mul_overflow(t->sizes[i] - 1, t->strides[i], &last) &&
               !__builtin_add_overflow(end, last, &end);
    good = good && !__builtin_add_overflow(end, t->offset, &end) &&
           !__builtin_mul_overflow(end, size, &end) && end <= bytes;
    if (!good)
        return container_refuse(a, "its elements do not lie in its storage");
    at += t->offset * size;
    a->offset = at + t->part * each;
    a->length = a->elements * each;
    for (unsigned i = 0; i < t->dimensions; i++)
        apart.strides[i] *= parts;
    if (!find_layout(&apart, false, &l)) {
        a->fortran_order = find_layout(&apart, true, &l);
        if (!a->fortran_order) {
            end -= t->offset * size;
            a->compressed = a->length < end ? a->length : end;
            return make_tiles(f, a, t, at);
        }
    }
    if (l.count > 1) {
        a->record_elements = l.run;
        a->record_stride = l.stride * each;
    }
    return true;
}

/* Adds an array that is called f->name, with a suffix; NULL on failure. */
static struct container_array *add_array(struct file *f, const char *suffix, const char *type)
{
    char name[NAME_MAX_BYTES + 4];
    const size_t size =
        (size_t)snprintf(name, sizeof name, "%s%s", *f->name ? f->name : "tensor", suffix) + 1;
    struct container_array *a;
    const char *kept;

    f->names += size;
    if (f->names > NAMES_MAX || f->container->count >= ARRAYS_MAX) {
        (void)container_wrong(f->in, f->pickle_offset,
                              "there are more than %zu tensors, or their names have more than %zu "
                              "bytes",
                              ARRAYS_MAX, NAMES_MAX);
        return NULL;
    }
    kept = container_keep(f->container, name, size);
    a = kept ? container_add(f->container, kept) : NULL;
    if (!a) {
        (void)container_no_memory(f->in);
        return NULL;
    }
    container_name_type(a, type);
    return a;
}

/* Sets the shape of the last array. False without memory. */
static bool take_shape(struct file *f, struct container_array *a, const uint64_t *sizes,
                       unsigned dimensions)
{
    if (!container_set_shape(f->container, a, sizes, dimensions))
        return container_no_memory(f->in);
    if (!container_product(a, &a->elements))
        a->elements = UINT64_MAX;
    return true;
}

/* Adds an array whose numbers cannot be read. Its shape is unknown if `shape` is no value of one. */
static bool add_other(struct file *f, const char *type, uint32_t shape, const char *why)
{
    struct container_array *a = add_array(f, "", type);
    uint64_t sizes[CONTAINER_DIMENSIONS_MAX];
    unsigned dimensions;

    if (!a)
        return false;
    a->unreadable = why;
    a->elements = UINT64_MAX;
    return !pickle_counts(&f->pickle, shape, sizes, &dimensions) ||
           take_shape(f, a, sizes, dimensions);
}

/* Adds a tensor that has been taken from the pickle, or a part of it. */
static bool add_part(struct file *f, uint32_t value, const struct tensor *t)
{
    const struct pickle_value *key;
    const struct pytorch_dtype *stored;
    struct container_array *a;
    struct zip_member *part;
    uint64_t elements;

    if (!take_storage(f, t->storage, &stored, &key, &elements))
        return malformed(f, t->storage, "this storage");
    a = add_array(f, pytorch_suffix(t->dtype, t->part),
                  t->dtype->other ? t->dtype->name : element_name(t->dtype->type));
    if (!a)
        return false;
    if (!take_shape(f, a, t->sizes, t->dimensions))
        return false;
    if (a->elements > INT64_MAX / t->dtype->size)
        return container_wrong(f->in, f->pickle_offset + pickle_value(&f->pickle, value)->at,
                               "the shape has more elements than any file");
    a->type = t->dtype->type;
    a->big_endian = f->big_endian;
    part = find_part(f, "data/", key->text, key->count);
    if (!part) {
        a->missing = true;
        return container_refuse(a, container_note(f->container,
                                                  "its storage, data/%.*s, is not in the file",
                                                  (int)key->count, key->text)) ||
               container_no_memory(f->in);
    }
    if (!zip_is_plain(part))
        return container_refuse(a,
                                "its storage is compressed or encrypted, which torch does not do");
    if (!zip_place(&f->zip, part))
        return false;
    if (!place_elements(f, a, t, part->offset, part->size))
        return false;
    if (t->dtype->other) {
        a->unreadable = t->dtype->other;
        a->typed = false;
    } else if (t->changed) {
        return container_refuse(a, "a view that torch negates or conjugates; in Python, "
                                   "t.resolve_neg() or t.resolve_conj() has its numbers");
    }
    return true;
}

/* Adds a tensor: one array, or those of its parts. */
static bool add_tensor(struct file *f, uint32_t value, struct tensor *t)
{
    for (t->part = 0; t->part < pytorch_parts(t->dtype); t->part++)
        if (!add_part(f, value, t))
            return false;
    return true;
}

/* Adds the tensor that one of the functions makes: those of TENSOR, TENSOR_OF, QUANTISED_TENSOR. */
static bool rebuild_tensor(struct file *f, uint32_t value, enum use use, uint32_t arguments)
{
    const unsigned metadata = use == TENSOR_OF ? 7 : 6;
    struct tensor t = {.changed = false};
    uint32_t values[8];
    const struct pickle *const p = &f->pickle;
    const size_t count = pickle_items(p, pickle_value(&f->pickle, arguments), values, 8);
    const struct pickle_value *key;
    unsigned strides;
    uint64_t elements;

    if (count < (use == TENSOR_OF ? 7 : 4) || !pickle_count(p, values[1], &t.offset) ||
        !pickle_counts(p, values[2], t.sizes, &t.dimensions) ||
        !pickle_counts(p, values[3], t.strides, &strides) || strides != t.dimensions ||
        !take_storage(f, values[0], &t.dtype, &key, &elements))
        return malformed(f, value, "this tensor");
    t.storage = values[0];
    if (use == TENSOR_OF && !(t.dtype = dtype_of(f, values[6], TYPE)))
        return malformed(f, value, "the type of this tensor");
    t.changed = use != QUANTISED_TENSOR && count > metadata &&
                pickle_value(&f->pickle, values[metadata])->count > 0;
    return add_tensor(f, value, &t);
}

/* Adds a storage that is not that of a tensor: an array of one dimension. */
static bool add_storage(struct file *f, uint32_t value)
{
    struct tensor t = {.storage = value, .dimensions = 1, .strides = {1}};
    const struct pickle_value *key;

    return take_storage(f, value, &t.dtype, &key, t.sizes) ? add_tensor(f, value, &t)
                                                           : malformed(f, value, "this storage");
}

/*
 * The tree. NOLINTBEGIN(misc-no-recursion): not deeper than DEPTH_MAX
 */

static bool walk(struct file *f, uint32_t value, unsigned depth);

/* Looks at a value of a dictionary or a list, under its name. */
static bool walk_named(struct file *f, uint32_t value, const char *key, size_t length,
                       unsigned depth)
{
    const size_t before = strlen(f->name), dot = before > 0;
    bool good;

    if (length > NAME_MAX_BYTES - before - dot || memchr(key, 0, length))
        return container_wrong(f->in, f->pickle_offset + pickle_value(&f->pickle, value)->at,
                               "a name has more than %zu bytes, or a zero byte", NAME_MAX_BYTES);
    if (dot)
        f->name[before] = '.';
    memcpy(f->name + before + dot, key, length);
    f->name[before + dot + length] = '\0';
    good = walk(f, value, depth);
    f->name[before] = '\0';
    return good;
}

/* The name of a value in a dictionary: its key, or its number if that is neither text nor an
   integer, nor another simple thing. */
static bool walk_key(struct file *f, uint32_t key, uint32_t value, size_t number, unsigned depth)
{
    const struct pickle_value *k = pickle_value(&f->pickle, key);
    char text[32];

    if (k->kind == PICKLE_TEXT)
        return walk_named(f, value, k->text, k->count, depth);
    if (k->kind == PICKLE_INTEGER)
        snprintf(text, sizeof text, "%" PRId64, k->integer);
    else if (k->kind == PICKLE_BOOL)
        snprintf(text, sizeof text, "%s", k->integer ? "True" : "False");
    else if (k->kind == PICKLE_NONE)
        snprintf(text, sizeof text, "None");
    else
        snprintf(text, sizeof text, "#%zu", number);
    return walk_named(f, value, text, strlen(text), depth);
}

/* Looks at the items of a value. */
static bool walk_items(struct file *f, const struct pickle_value *v, bool dictionary,
                       unsigned depth)
{
    uint32_t item = v->first;
    char text[32];
    bool good = true;

    if (dictionary && v->count % 2 != 0)
        return container_wrong(f->in, f->pickle_offset + v->at, "a key lacks its value");
    for (size_t i = 0; i < v->count && good; i += dictionary ? 2 : 1) {
        if (dictionary) {
            const uint32_t key = pickle_next(&f->pickle, &item);

            good = walk_key(f, key, pickle_next(&f->pickle, &item), i / 2, depth);
        } else {
            snprintf(text, sizeof text, "%zu", i);
            good = walk_named(f, pickle_next(&f->pickle, &item), text, strlen(text), depth);
        }
    }
    return good;
}

/* The value of the shape of a sparse tensor, which comes after two tensors or three. */
static uint32_t sparse_shape(const struct file *f, uint32_t tensors)
{
    const struct pickle_value *const v = pickle_value(&f->pickle, tensors);
    uint64_t sizes[CONTAINER_DIMENSIONS_MAX];
    unsigned dimensions;
    uint32_t values[4];
    const size_t count = v->kind == PICKLE_TUPLE ? pickle_items(&f->pickle, v, values, 4) : 0;

    for (size_t i = 2; i < count && i < 4; i++)
        if (pickle_counts(&f->pickle, values[i], sizes, &dimensions))
            return values[i];
    return PICKLE_ABSENT;
}

/* Looks at what a function returns. */
static bool walk_call(struct file *f, uint32_t value, enum use use, uint32_t arguments,
                      unsigned depth)
{
    const struct pickle_value *v = pickle_value(&f->pickle, value), *layout;
    uint32_t values[4];
    const size_t count = pickle_items(&f->pickle, pickle_value(&f->pickle, arguments), values, 4);
    const char *dot = NULL;
    uint32_t name;
    char type[CONTAINER_TYPE_MAX];

    switch (use) {
    case NOTHING:
    case SIZES:
        return true;
    case DICTIONARY:
        if (count == 1 && pickle_value(&f->pickle, values[0])->kind != PICKLE_GLOBAL &&
            !walk(f, values[0], depth))
            return false;
        return walk_items(f, v, true, depth);
    case SEQUENCE:
        return (count == 0 || walk(f, values[0], depth)) && walk_items(f, v, false, depth);
    case TENSOR:
    case TENSOR_OF:
    case QUANTISED_TENSOR:
        return rebuild_tensor(f, value, use, arguments);
    case PARAMETER:
        if (count < 3)
            return malformed(f, value, "this parameter");
        return walk(f, values[0], depth) && (count < 4 || walk(f, values[3], depth));
    case SUBCLASS:
        if (count != 4 || pickle_value(&f->pickle, values[2])->kind != PICKLE_TUPLE ||
            pickle_value(&f->pickle, values[0])->kind != PICKLE_GLOBAL)
            return malformed(f, value, "this tensor");
        return walk_call(f, value, use_of(f, values[0]), values[2], depth + 1) &&
               walk(f, values[3], depth);
    case SPARSE:
        layout = count > 0 ? pickle_value(&f->pickle, values[0]) : v;
        if (layout->kind == PICKLE_CALL &&
            pickle_items(&f->pickle, pickle_value(&f->pickle, layout->arguments), &name, 1) == 1 &&
            pickle_value(&f->pickle, name)->kind == PICKLE_TEXT)
            layout = pickle_value(&f->pickle, name);
        if (layout->kind == PICKLE_TEXT && layout->count < sizeof type + 6)
            dot = memchr(layout->text, '.', layout->count);
        snprintf(type, sizeof type, "%.*s",
                 dot ? (int)(layout->count - (size_t)(dot + 1 - layout->text)) : 6,
                 dot ? dot + 1 : "sparse");
        return add_other(f, type, count > 1 ? sparse_shape(f, values[1]) : PICKLE_ABSENT,
                         "a sparse tensor; in Python, t.to_dense() has its numbers");
    case META:
        if (!add_other(f, "meta", count > 1 ? values[1] : PICKLE_ABSENT,
                       "a tensor of the device 'meta', which has no numbers"))
            return false;
        f->container->arrays[f->container->count - 1].not_numeric = true;
        return true;
    case OTHER_TENSOR:
        return add_other(f, "nested", PICKLE_ABSENT,
                         "a nested tensor, or one of another device; in Python, "
                         "t.cpu() or t.unbind() has its numbers");
    case NUMPY:
        return add_other(f, "numpy", PICKLE_ABSENT,
                         "an array of NumPy inside the pickle; in Python, "
                         "torch.from_numpy makes a tensor of it");
    case TYPE:
    case STORAGE:
        break;
    }
    return malformed(f, value, "this call");
}

/* Adds the arrays that a value has, whose name is f->name. */
static bool walk(struct file *f, uint32_t value, unsigned depth)
{
    const struct pickle_value *v = pickle_value(&f->pickle, value);
    bool good = true;

    if (depth == DEPTH_MAX)
        return container_wrong(f->in, f->pickle_offset + v->at,
                               "dictionaries and lists lie in more than %d others", DEPTH_MAX);
    if (f->visits++ > f->pickle.count + VISITS_MAX)
        return container_wrong(f->in, f->pickle_offset + v->at,
                               "too many names share what lies here");
    if (v->kind == PICKLE_TUPLE || v->kind == PICKLE_LIST || v->kind == PICKLE_DICT)
        good = walk_items(f, v, v->kind == PICKLE_DICT, depth + 1);
    else if (v->kind == PICKLE_CALL)
        good = walk_call(f, value, use_of(f, v->function), v->arguments, depth + 1) &&
               (v->state == PICKLE_ABSENT || walk(f, v->state, depth + 1));
    else if (v->kind == PICKLE_PERSISTENT)
        good = add_storage(f, value);
    return good;
}

/* NOLINTEND(misc-no-recursion) */

static bool read_pickle(struct file *f)
{
    struct pickle_global globals[USES + 2 * PYTORCH_DTYPES];
    size_t size, count = USES + PYTORCH_DTYPES;
    void *bytes = read_part(f, "data.pkl", PICKLE_MAX, &size, &f->pickle_offset);
    bool good;

    if (!bytes)
        return false;
    memcpy(globals, uses, sizeof uses);
    for (unsigned i = 0; i < PYTORCH_DTYPES; i++)
        globals[USES + i] = (struct pickle_global){"torch", pytorch_dtypes[i].name, TYPE + i};
    for (unsigned i = 0; pytorch_dtypes[i].storage; i++)
        globals[count++] = (struct pickle_global){"torch", pytorch_dtypes[i].storage, STORAGE + i};
    good = pickle_read(&f->pickle, bytes, size, globals, count);
    if (!good) {
        f->pickle.error.offset += f->pickle_offset;
        (void)container_fail(f->in, f->pickle.error);
    }
    good = good && walk(f, f->pickle.root, 0);
    pickle_free(&f->pickle);
    free(bytes);
    return good;
}

bool pytorch_read(struct container *c, struct container_input *in)
{
    struct file f = {.container = c, .in = in, .zip = {.container = c, .in = in}};
    const bool good = read_directory(&f) && read_order(&f) && read_pickle(&f);

    free(f.zip.members);
    free(f.path);
    free(c->text); /* names do not lie in it */
    c->text = NULL;
    if (!good || !container_number_names(c, in))
        return false;
    container_sort(c);
    return true;
}
