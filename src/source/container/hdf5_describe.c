/*
 * What there is in an HDF5 file, as libhdf5 says. It runs in a process of its own (hdf5.c): what is
 * allocated is not given back, and nothing is printed.
 */
#include "config.h"

#include "source/container/hdf5_records.h"

#ifdef HAVE_HDF5
#    include <inttypes.h>
#    include <stdio.h>
#    include <stdlib.h>
#    include <string.h>

#    include "source/container/hdf5_library.h"
#    include "source/inflate.h"

/* A dataset that is open, and what is known of it. */
struct dataset {
    hid_t id, type, space, creation;
    enum element_type element;
    size_t size; /* bytes of an element */
    bool big;
    int dimensions;
    hsize_t sizes[CONTAINER_DIMENSIONS_MAX];
    uint64_t elements;
    const char *type_name;
    const char *unreadable; /* NULL where it can be read */
    bool typed;             /* elements of its type could be */
    char filter[80];        /* a filter that is not known here, in words */
};

/* The float of this layout; ELEMENT_TYPES where it is none of ours. */
static bool find_float(hid_t type, enum element_type *element)
{
    static const struct {
        enum element_type type;
        size_t bytes, exponent, mantissa, bias;
    } floats[] = {{ELEMENT_F16, 2, 5, 10, 15},
                  {ELEMENT_BF16, 2, 8, 7, 127},
                  {ELEMENT_F32, 4, 8, 23, 127},
                  {ELEMENT_F64, 8, 11, 52, 1023}};
    size_t sign, exponent_at, exponent, mantissa_at, mantissa;

    if (hdf5.H5Tget_fields(type, &sign, &exponent_at, &exponent, &mantissa_at, &mantissa) < 0 ||
        hdf5.H5Tget_norm(type) != H5T_NORM_IMPLIED || hdf5.H5Tget_offset(type) != 0)
        return false;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        if (hdf5.H5Tget_size(type) == floats[i].bytes && exponent == floats[i].exponent &&
            mantissa == floats[i].mantissa && hdf5.H5Tget_ebias(type) == floats[i].bias &&
            mantissa_at == 0 && exponent_at == mantissa && sign == mantissa + exponent) {
            *element = floats[i].type;
            return true;
        }
    }
    return false;
}

static bool find_integer(hid_t type, enum element_type *element)
{
    static const enum element_type types[][2] = {{ELEMENT_U8, ELEMENT_I8},
                                                 {ELEMENT_U16, ELEMENT_I16},
                                                 {ELEMENT_U32, ELEMENT_I32},
                                                 {ELEMENT_U64, ELEMENT_I64}};
    const size_t size = hdf5.H5Tget_size(type);
    const bool is_signed = hdf5.H5Tget_sign(type) == H5T_SGN_2;

    if (hdf5.H5Tget_precision(type) != 8 * size || hdf5.H5Tget_offset(type) != 0)
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (size == (size_t)1 << i) {
            *element = types[i][is_signed];
            return true;
        }
    }
    return false;
}

/* NumPy's bool, as h5py has it: an enumeration of FALSE and TRUE, of a byte. */
static bool is_bool(hid_t type)
{
    static const char *const names[] = {"FALSE", "TRUE"};
    bool is = hdf5.H5Tget_size(type) == 1 && hdf5.H5Tget_nmembers(type) == 2;

    for (unsigned i = 0; i < 2 && is; i++) {
        const char *name = hdf5.H5Tget_member_name(type, i);

        is = name && strcmp(name, names[i]) == 0;
    }
    return is;
}

/* What the type of a dataset is. */
static void classify(struct dataset *d)
{
    const H5T_class_t class = hdf5.H5Tget_class(d->type);
    const H5T_order_t order = hdf5.H5Tget_order(d->type);
    const char *const plain = order == H5T_ORDER_LE || order == H5T_ORDER_BE
                                  ? "of a layout that is not known here"
                                  : "of another byte order than the usual two";
    bool found = false;

    switch ((int)class) { /* newer libraries have more */
    case H5T_INTEGER:
        d->type_name = "integer";
        found = find_integer(d->type, &d->element);
        d->unreadable = plain;
        break;
    case H5T_FLOAT:
        d->type_name = "float";
        found = find_float(d->type, &d->element);
        d->unreadable = plain;
        break;
    case H5T_ENUM:
        d->type_name = "enum";
        d->element = ELEMENT_BOOL;
        found = is_bool(d->type);
        d->unreadable = "an enumeration";
        break;
    case H5T_STRING:
        d->type_name = "string";
        d->unreadable = "text";
        break;
    case H5T_COMPOUND:
        d->type_name = "compound";
        d->unreadable = "a record of several fields";
        break;
    case H5T_REFERENCE:
        d->type_name = "reference";
        d->unreadable = "a reference to something else";
        break;
    case H5T_VLEN:
        d->type_name = "vlen";
        d->unreadable = "a sequence of any length";
        break;
    case H5T_ARRAY:
        d->type_name = "array";
        d->unreadable = "an array itself";
        break;
    case H5T_BITFIELD:
        d->type_name = "bitfield";
        d->unreadable = "a field of bits";
        break;
    case H5T_OPAQUE:
        d->type_name = "opaque";
        d->unreadable = "bytes of unknown meaning";
        break;
    default:
        d->type_name = "other";
        d->unreadable = "not known to this program";
        break;
    }
    if (!found || (d->size > 1 && order != H5T_ORDER_LE && order != H5T_ORDER_BE))
        return;
    d->type_name = element_name(d->element);
    d->unreadable = NULL;
    d->typed = true;
    d->big = d->size > 1 && order == H5T_ORDER_BE;
}

/* Fills in what a dataset is. False where the library fails. */
static bool look_at(struct dataset *d, struct hdf5_trouble *t)
{
    H5S_class_t shape;

    if (d->id < 0)
        return hdf5_wrong(t);
    d->type = hdf5.H5Dget_type(d->id);
    d->space = hdf5.H5Dget_space(d->id);
    d->creation = hdf5.H5Dget_create_plist(d->id);
    if (d->type < 0 || d->space < 0 || d->creation < 0)
        return hdf5_wrong(t);
    d->size = hdf5.H5Tget_size(d->type);
    shape = hdf5.H5Sget_simple_extent_type(d->space);
    d->dimensions = hdf5.H5Sget_simple_extent_ndims(d->space);
    if (d->dimensions < 0 || d->dimensions > CONTAINER_DIMENSIONS_MAX ||
        hdf5.H5Sget_simple_extent_dims(d->space, d->sizes, NULL) < 0)
        return hdf5_wrong(t);
    classify(d);
    if (shape == H5S_NULL) {
        d->dimensions = 1; /* none would be those of a single number */
        d->sizes[0] = 0;
        if (!d->unreadable)
            d->unreadable = "of a null dataspace, which has no elements";
    }
    d->elements = 1;
    for (int i = 0; i < d->dimensions; i++) {
        if (__builtin_mul_overflow(d->elements, d->sizes[i], &d->elements)) {
            snprintf(t->text, sizeof t->text, "its shape has more elements than any file");
            return false;
        }
    }
    return true;
}

/* Filters as they are named in warnings, where the file does not name them. */
static const char *filter_name(H5Z_filter_t id)
{
    return id == H5Z_FILTER_SZIP          ? "szip"
           : id == H5Z_FILTER_NBIT        ? "nbit"
           : id == H5Z_FILTER_SCALEOFFSET ? "scaleoffset"
           : id == 32000                  ? "lzf"
           : id == 32001                  ? "blosc"
           : id == 32015                  ? "zstd"
                                          : "";
}

/* The filters of a dataset, in the order in which they are applied. Sets d->unreadable where one is
 * not known. */
static bool find_filters(struct dataset *d, struct container_tiles *tiles, struct hdf5_trouble *t)
{
    const int count = hdf5.H5Pget_nfilters(d->creation);
    unsigned deflated = 0;

    if (count < 0)
        return hdf5_wrong(t);
    for (int i = 0; i < count; i++) {
        unsigned flags, values[8] = {0}, config;
        size_t value_count = sizeof values / sizeof *values;
        char name[40] = "";
        const H5Z_filter_t id = hdf5.H5Pget_filter2(d->creation, (unsigned)i, &flags, &value_count,
                                                    values, sizeof name, name, &config);
        struct container_filter *filter = &tiles->filters[i];

        if (id < 0)
            return hdf5_wrong(t);
        name[sizeof name - 1] = '\0';
        filter->parameter = 0;
        if (id == H5Z_FILTER_SHUFFLE && i < CONTAINER_FILTERS_MAX && value_count > 0 &&
            values[0] > 0) {
            filter->kind = CONTAINER_SHUFFLE;
            filter->parameter = values[0];
        } else if (id == H5Z_FILTER_FLETCHER32 && i < CONTAINER_FILTERS_MAX) {
            filter->kind = CONTAINER_FLETCHER32;
        } else if (id == H5Z_FILTER_DEFLATE && i < CONTAINER_FILTERS_MAX && deflated++ == 0) {
            filter->kind = CONTAINER_DEFLATE;
            if (!inflate_possible()) {
                d->unreadable = "compressed by deflate, for which this program lacks zlib";
                return true;
            }
        } else {
            snprintf(d->filter, sizeof d->filter,
                     "stored by the filter %d (%s), which is not known here", (int)id,
                     *filter_name(id) ? filter_name(id) : name);
            d->unreadable = d->filter;
            return true;
        }
    }
    tiles->filter_count = (unsigned)count;
    return true;
}

/* What stands for elements that are not in the file. */
static bool put_fill(struct dataset *d, struct hdf5_output *out, struct hdf5_trouble *t)
{
    unsigned char value[CONTAINER_FILL_MAX] = {0};
    H5D_fill_value_t defined;

    if (hdf5.H5Pfill_value_defined(d->creation, &defined) < 0)
        return hdf5_wrong(t);
    if (defined != H5D_FILL_VALUE_UNDEFINED &&
        hdf5.H5Pget_fill_value(d->creation, d->type, value) < 0)
        return hdf5_wrong(t);
    hdf5_put_text(out, value, d->size);
    return true;
}

/* The place of the tile that begins there; all zeros where the library finds none, and then it may
   not be there. False where no file has such a tile. */
static bool find_tile(const struct dataset *d, const hsize_t *begin, struct container_tile *tile,
                      struct hdf5_trouble *t)
{
    uint64_t offset, size;
    uint32_t mask = 0;

    *tile = (struct container_tile){0};
    hdf5_find_chunk(d->id, begin, &offset, &size, &mask);
    if (size > UINT32_MAX) {
        snprintf(t->text, sizeof t->text, "a chunk has %" PRIu64 " bytes", size);
        return false;
    }
    if (size > 0)
        *tile = (struct container_tile){offset, (uint32_t)size, mask};
    return true;
}

/* Puts where all tiles are, in C order, if they are `wanted`. */
static bool put_tiles(struct dataset *d, const hsize_t *sizes, bool wanted, struct hdf5_output *out,
                      struct hdf5_trouble *t)
{
    hsize_t begin[CONTAINER_DIMENSIONS_MAX] = {0}, there, found = 0;
    uint64_t count = wanted;
    struct container_tile tile = {0};
    unsigned char *tiles;

    for (int i = 0; i < d->dimensions; i++)
        count *= (d->sizes[i] + sizes[i] - 1) / sizes[i];
    if (hdf5.H5Dget_num_chunks(d->id, d->space, &there) < 0)
        return hdf5_wrong(t);
    hdf5_put(out, count * sizeof tile);
    tiles = hdf5_put_space(out, (size_t)count * sizeof tile + 1);
    if (tiles)
        tiles[count * sizeof tile] = '\0'; /* as behind all text */
    for (uint64_t k = 0; k < count && tiles; k++) {
        if (there > 0 && !find_tile(d, begin, &tile, t))
            return false;
        found += tile.packed > 0;
        memcpy(tiles + k * sizeof tile, &tile, sizeof tile);
        for (int i = d->dimensions; i-- > 0;) {
            begin[i] += sizes[i];
            if (begin[i] < d->sizes[i])
                break;
            begin[i] = 0;
        }
    }
    if (!wanted || found == there)
        return true;
    snprintf(t->text, sizeof t->text, "%llu of its %llu chunks are not found",
             (unsigned long long)(there - found), (unsigned long long)there);
    return false;
}

/* Sees what tiles a dataset has. *sizes: those of a tile. Sets d->unreadable where they are too
   many or too large. */
static bool look_at_tiles(struct dataset *d, hsize_t *sizes, struct container_tiles *tiles,
                          struct hdf5_trouble *t)
{
    uint64_t count = 1, bytes = d->size;
    unsigned options = 0;

    if (hdf5.H5Pget_chunk(d->creation, d->dimensions, sizes) != d->dimensions ||
        hdf5.H5Pget_chunk_opts(d->creation, &options) < 0)
        return hdf5_wrong(t);
    tiles->edges_plain = options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS;
    for (int i = 0; i < d->dimensions; i++) {
        if (sizes[i] == 0)
            return hdf5_wrong(t);
        if (__builtin_mul_overflow(count, (d->sizes[i] + sizes[i] - 1) / sizes[i], &count) ||
            count > CONTAINER_TILES_MAX)
            d->unreadable = "stored in more than 16777216 chunks";
        if (__builtin_mul_overflow(bytes, sizes[i], &bytes) || bytes > CONTAINER_TILE_BYTES_MAX)
            d->unreadable = "stored in chunks of more than 1 GiB";
        if (d->unreadable)
            return true;
    }
    return find_filters(d, tiles, t);
}

/* Puts what comes first of any array. */
static void put_head(const struct dataset *d, const char *name, struct hdf5_output *out)
{
    hdf5_put(out, HDF5_ARRAY);
    hdf5_put_string(out, name);
    hdf5_put_string(out, d->type_name);
    hdf5_put_string(out, d->unreadable ? d->unreadable : "");
    hdf5_put(out, (uint64_t)d->element);
    hdf5_put(out, d->typed);
    hdf5_put(out, d->big);
    hdf5_put(out, (uint64_t)d->dimensions);
    for (int i = 0; i < d->dimensions; i++)
        hdf5_put(out, d->sizes[i]);
}

/* Puts a dataset that is stored in chunks. */
static bool put_chunked(struct dataset *d, const char *name, bool wanted, struct hdf5_output *out,
                        struct hdf5_trouble *t)
{
    hsize_t sizes[CONTAINER_DIMENSIONS_MAX];
    struct container_tiles tiles = {0};

    if (!look_at_tiles(d, sizes, &tiles, t))
        return false;
    put_head(d, name, out);
    if (d->unreadable) {
        hdf5_put(out, HDF5_NOWHERE);
        return true;
    }
    hdf5_put(out, HDF5_TILES);
    for (int i = 0; i < d->dimensions; i++)
        hdf5_put(out, sizes[i]);
    hdf5_put(out, tiles.edges_plain);
    hdf5_put(out, tiles.filter_count);
    for (unsigned i = 0; i < tiles.filter_count; i++) {
        hdf5_put(out, (uint64_t)tiles.filters[i].kind);
        hdf5_put(out, tiles.filters[i].parameter);
    }
    return put_fill(d, out, t) && put_tiles(d, sizes, wanted, out, t);
}

/* Puts a dataset whose elements lie in the file one behind the other, or nowhere: then they are
   tiles, too, of which there is one that has no place. */
static bool put_contiguous(struct dataset *d, const char *name, struct hdf5_output *out,
                           struct hdf5_trouble *t)
{
    const haddr_t at = hdf5.H5Dget_offset(d->id);
    const struct container_tile none = {0};

    put_head(d, name, out);
    if (at != HADDR_UNDEF && hdf5.H5Dget_storage_size(d->id) > 0) {
        hdf5_put(out, HDF5_RANGE);
        hdf5_put(out, at);
        return true;
    }
    hdf5_put(out, HDF5_TILES);
    for (int i = 0; i < d->dimensions; i++)
        hdf5_put(out, d->sizes[i]);
    hdf5_put(out, 0);
    hdf5_put(out, 0);
    if (!put_fill(d, out, t))
        return false;
    hdf5_put_text(out, &none, d->elements > 0 ? sizeof none : 0);
    return true;
}

#    define HEADER_MAX 65536 /* what a header has room for, bytes */

/* Puts a dataset whose elements are in its header. */
static bool put_compact(struct dataset *d, const char *name, struct hdf5_output *out,
                        struct hdf5_trouble *t)
{
    unsigned char *elements;
    bool good;

    if (d->size == 0 || d->elements > HEADER_MAX / d->size) {
        snprintf(t->text, sizeof t->text, "its header has no room for its elements");
        return false;
    }
    elements = malloc(HEADER_MAX); /* a stack may be small */
    if (!elements) {
        snprintf(t->text, sizeof t->text, "out of memory");
        return false;
    }
    put_head(d, name, out);
    hdf5_put(out, HDF5_HERE);
    good = d->elements == 0 ||
           hdf5.H5Dread(d->id, d->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements) >= 0 ||
           hdf5_wrong(t);
    if (good)
        hdf5_put_text(out, elements, (size_t)d->elements * d->size);
    free(elements);
    return good;
}

/* Puts a dataset. */
static bool put_dataset(struct dataset *d, const char *name, bool wanted, struct hdf5_output *out,
                        struct hdf5_trouble *t)
{
    const H5D_layout_t layout = hdf5.H5Pget_layout(d->creation);

    if (layout < 0)
        return hdf5_wrong(t);
    if (!d->unreadable && layout == H5D_VIRTUAL)
        d->unreadable = "virtual: its elements are in other datasets";
    if (!d->unreadable && hdf5.H5Pget_external_count(d->creation) > 0)
        d->unreadable = "external: its elements are in other files";
    if (d->unreadable) {
        put_head(d, name, out);
        hdf5_put(out, HDF5_NOWHERE);
        return true;
    }
    return layout == H5D_CHUNKED   ? put_chunked(d, name, wanted, out, t)
           : layout == H5D_COMPACT ? put_compact(d, name, out, t)
                                   : put_contiguous(d, name, out, t);
}

/* What goes through all objects. */
struct visit {
    struct container_input *in;
    struct hdf5_output *out;
    struct hdf5_trouble trouble; /* with a dataset */
    const char *name;
};

static herr_t visit_object(hid_t group, const char *name, const hdf5_object_info *info,
                           void *context)
{
    struct visit *v = context;
    struct dataset d = {0};
    char shown[CONTAINER_NAME_SHOWN];
    char text[CONTAINER_ERROR_MAX];
    bool wanted, good;

    if (info->type != H5O_TYPE_DATASET)
        return 0;
    wanted = !v->in->headers_only && (!v->in->wants || v->in->wants(v->in, name));
    d.id = hdf5.H5Dopen2(group, name, H5P_DEFAULT);
    good = look_at(&d, &v->trouble) && put_dataset(&d, name, wanted, v->out, &v->trouble);
    if (!good) {
        memcpy(text, v->trouble.text, sizeof text);
        snprintf(v->trouble.text, sizeof v->trouble.text, "dataset %s: %.200s",
                 container_show_name(shown, name), text);
        return -1;
    }
    hdf5.H5Pclose(d.creation);
    hdf5.H5Sclose(d.space);
    hdf5.H5Tclose(d.type);
    hdf5.H5Dclose(d.id);
    return v->out->failed ? -1 : 0;
}

/* Opens the file, and puts what is in it. */
static bool describe(struct visit *v)
{
    const hid_t opened = hdf5_open(v->in);

    if (opened < 0)
        return hdf5_wrong(&v->trouble);
    hdf5_put(v->out, HDF5_ARRAYS);
    if (hdf5.HDF5_VISIT(opened, H5_INDEX_NAME, H5_ITER_INC, visit_object, v, H5O_INFO_BASIC) < 0)
        return v->trouble.text[0] ? false : hdf5_wrong(&v->trouble);
    hdf5_put(v->out, HDF5_END);
    return true;
}

void hdf5_describe(struct container_input *in, struct hdf5_output *out)
{
    struct visit v = {.in = in, .out = out};
    const char *missing = hdf5_load();
    uint64_t offset, size;

    if (missing) {
        hdf5_put(out, HDF5_MISSING);
        hdf5_put_string(out, missing);
        return;
    }
    if (describe(&v))
        return;
    out->size = 0;
    if (hdf5_unread(&offset, &size)) {
        hdf5_put(out, HDF5_UNREAD);
        hdf5_put(out, offset);
        hdf5_put(out, size);
        return;
    }
    hdf5_put(out, HDF5_WRONG);
    hdf5_put_string(out, v.trouble.text);
}

#else

void hdf5_describe(struct container_input *in, struct hdf5_output *out)
{
    (void)in;
    hdf5_put(out, HDF5_MISSING);
    hdf5_put_string(out, "this program was built without it");
}

#endif
