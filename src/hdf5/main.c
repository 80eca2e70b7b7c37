/*
 * gpureduce-hdf5: tells gpureduce what arrays an HDF5 file holds and where, as libhdf5 has it. The
 * file is standard input, and the answer (source/format/hdf5_records.h) goes to standard output.
 *
 * It is a program of its own since libhdf5 was written for files that are well-formed: damaged ones
 * have crashed one version of it after the other, or sent it in circles. Then this program is lost,
 * and no more.
 */
#include "config.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hdf5/attribute.h"
#include "hdf5/library.h"
#include "hdf5/netcdf.h"
#include "hdf5/walk.h"
#include "source/format/attributes.h"
#include "source/format/filters.h"
#include "source/format/hdf5_records.h"
#include "sys/buffer.h"
#include "sys/whole.h"

/* A dataset that is open, and what is known of it. */
struct dataset {
    hid_t id, type, space, creation;
    const char *name;               /* of the array */
    hid_t decoded;                  /* the type of elements as they are decoded; 0: not known yet */
    bool netcdf;                    /* in a netCDF file */
    bool narrow;                    /* elements have another layout than numbers of our types */
    struct container_filter fields; /* that layout, if `narrow` */
    enum element_type element;
    size_t size; /* bytes of an element, as it is decoded */
    bool big;    /* big-endian */
    int dimensions;
    int inner; /* how many of these are those of a field that is an array, in each record */
    hsize_t sizes[CONTAINER_DIMENSIONS_MAX];  /* as netCDF sees them */
    hsize_t stored[CONTAINER_DIMENSIONS_MAX]; /* as they are in the file */
    bool extended;                            /* they differ */
    uint64_t elements;
    const char *type_name;
    const char *unreadable;            /* NULL where it can be read */
    bool typed;                        /* elements of its type could be */
    bool not_numeric;                  /* elements are no numbers, and hold none */
    bool by_attributes;                /* they make it unreadable */
    struct attributes_meaning meaning; /* of its numbers, if `typed` */
    char text[320];                    /* room for `unreadable` */
    unsigned char fill[CONTAINER_FILL_MAX], pad[CONTAINER_FILL_MAX];
    bool fill_stated;  /* the dataset says what elements are that were never written */
    bool fill_defined; /* there is a value of these */
};

/*
 * The types of datasets, as libhdf5 tells them, and which of them are ours.
 */

/* Whether it is the float of this layout. */
static bool is_float(hid_t type, const struct element_format *format)
{
    const size_t bits = 8 * format->size, fraction = (size_t)format->significant_bits - 1;
    size_t sign, exponent_at, exponent, mantissa_at, mantissa;

    return H5Tget_fields(type, &sign, &exponent_at, &exponent, &mantissa_at, &mantissa) >= 0 &&
           H5Tget_norm(type) == H5T_NORM_IMPLIED && mantissa_at == 0 && mantissa == fraction &&
           exponent_at == mantissa && exponent == bits - 1 - mantissa && sign == bits - 1 &&
           H5Tget_ebias(type) == (size_t)format->exponent_max;
}

static bool is_integer(hid_t type, const struct element_format *format)
{
    return H5Tget_precision(type) == 8 * format->size &&
           format->kind == (H5Tget_sign(type) == H5T_SGN_2 ? ELEMENT_SIGNED : ELEMENT_UNSIGNED);
}

/* Finds the type of ours that a number is. */
static bool find_number(hid_t type, H5T_class_t class, enum element_type *element)
{
    for (int i = 0; i < ELEMENT_TYPES && H5Tget_offset(type) == 0; i++) {
        const struct element_format *format = &element_formats[i];

        *element = (enum element_type)i;
        if (format->size == H5Tget_size(type) &&
            (class == H5T_FLOAT ? element_is_float(*element) && is_float(type, format)
                                : is_integer(type, format)))
            return true;
    }
    return false;
}

/* Whether a type has two members of these names. */
static bool has_members(hid_t type, const char *first, const char *second)
{
    bool has = H5Tget_nmembers(type) == 2;

    for (unsigned i = 0; i < 2 && has; i++) {
        char *const name = H5Tget_member_name(type, i);

        has = name && strcmp(name, i == 0 ? first : second) == 0;
        H5free_memory(name);
    }
    return has;
}

/* Whether elements of a type are, or hold, numbers. */
static bool has_numbers(hid_t type)
{
    static const H5T_class_t numeric[] = {H5T_INTEGER, H5T_FLOAT, H5T_ENUM, H5T_BITFIELD};
    const int class = (int)H5Tget_class(type);

    if (class == H5T_STRING || class == H5T_REFERENCE || class == H5T_OPAQUE)
        return false;
    if (class != H5T_VLEN && class != H5T_ARRAY && class != H5T_COMPOUND)
        return true;
    for (size_t i = 0; i < sizeof numeric / sizeof *numeric; i++)
        if (H5Tdetect_class(type, numeric[i]) != 0)
            return true;
    return false;
}

/* Fills in what a dataset is by its type. */
static void classify(hid_t type, struct dataset *d)
{
    static const struct {
        H5T_class_t class;
        const char *name, *unreadable;
    } classes[] = {
        {H5T_INTEGER, "integer", "its layout is unknown"},
        {H5T_FLOAT, "float",
         "its numbers may not fit f64 (python3 -c 'import h5py; h5py.File(\"NEW\", "
         "\"w\")[\"NAME\"] "
         "= h5py.File(\"OLD\")[\"NAME\"].astype(\"f8\")[...]' rounds them)"},
        {H5T_ENUM, "enum", "its layout is unknown"},
        {H5T_STRING, "string", "text"},
        {H5T_COMPOUND, "compound",
         "records, whose fields are read unless they are in headers, other files or other datasets "
         "('h5repack -l CONTI OLD NEW' makes such datasets contiguous)"},
        {H5T_REFERENCE, "reference", "a reference to something else"},
        {H5T_VLEN, "vlen", "a sequence of any length"},
        {H5T_ARRAY, "array", "elements that are arrays themselves"},
        {H5T_BITFIELD, "bitfield", "a field of bits whose layout is unknown"},
        {H5T_OPAQUE, "opaque", "bytes of unknown meaning"},
    };
    const H5T_class_t class = H5Tget_class(type);
    const H5T_order_t order = H5Tget_order(type);
    const bool number = class == H5T_INTEGER || class == H5T_FLOAT || class == H5T_ENUM ||
                        class == H5T_BITFIELD; /* unsigned, as in h5py */
    const bool ordered = order == H5T_ORDER_LE || order == H5T_ORDER_BE;

    d->size = H5Tget_size(type);
    d->element = (enum element_type)0;
    d->big = false;
    d->type_name = "other"; /* newer libraries have more */
    d->unreadable = "unknown to this program";
    d->not_numeric = !has_numbers(type);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (classes[i].class == class) {
            d->type_name = classes[i].name;
            d->unreadable = classes[i].unreadable;
        }
    }
    if (number && !ordered)
        d->unreadable = "its byte order is unknown";
    /* NumPy's bool, as h5py has it, is an enumeration of FALSE and TRUE, of a byte. */
    if (class == H5T_ENUM && d->size == 1 && has_members(type, "FALSE", "TRUE"))
        d->element = ELEMENT_BOOL;
    else if (!number || !find_number(type, class, &d->element))
        return;
    if (d->size > 1 && !ordered)
        return;
    d->type_name = element_name(d->element);
    d->unreadable = NULL;
    d->big = d->size > 1 && order == H5T_ORDER_BE;
}

/*
 * Writing records.
 */

static void put(struct buffer *out, uint64_t word)
{
    buffer_bytes(out, &word, sizeof word);
}

_Static_assert(sizeof(hsize_t) == sizeof(uint64_t), "sizes are words");

static void put_sizes(struct buffer *out, const hsize_t *sizes, int count)
{
    buffer_bytes(out, sizes, (size_t)count * sizeof *sizes);
}

/* Ends a text of so many bytes: with a zero byte, and as many as fill a word. */
static void end_text(struct buffer *out, size_t size)
{
    static const char zeros[sizeof(uint64_t)] = {0};

    buffer_bytes(out, zeros, sizeof zeros - size % sizeof zeros);
}

static void put_text(struct buffer *out, const void *text, size_t size)
{
    put(out, size);
    buffer_bytes(out, text, size);
    end_text(out, size);
}

static void put_string(struct buffer *out, const char *text)
{
    put_text(out, text, strlen(text));
}

/* The type of ours, as libhdf5 has it, that elements of a dataset are decoded to. Negative where the
   library fails. */
static hid_t decoded_type(const struct dataset *d)
{
    hid_t type;

    if (d->narrow && d->element == ELEMENT_F32)
        return H5Tcopy(d->big ? H5T_IEEE_F32BE : H5T_IEEE_F32LE);
    if (d->narrow && d->element == ELEMENT_F64)
        return H5Tcopy(d->big ? H5T_IEEE_F64BE : H5T_IEEE_F64LE);
    type = H5Tcopy(d->type);
    if (type >= 0 && d->narrow &&
        (H5Tset_size(type, d->size) < 0 || H5Tset_offset(type, 0) < 0 ||
         H5Tset_precision(type, 8 * d->size) < 0))
        return -1;
    return type;
}

/* Finds whether elements that were never written have a value, and whether the file states it:
   otherwise it is zero. False where the library fails. */
static bool find_fill_kind(struct dataset *d)
{
    H5D_fill_value_t defined;
    H5D_fill_time_t when;

    if (H5Pfill_value_defined(d->creation, &defined) < 0 ||
        H5Pget_fill_time(d->creation, &when) < 0)
        return false;
    d->fill_stated = defined == H5D_FILL_VALUE_USER_DEFINED;
    d->fill_defined = defined != H5D_FILL_VALUE_UNDEFINED && when != H5D_FILL_TIME_NEVER;
    return true;
}

/* Finds the values that stand for what is not in the file. */
static bool find_fill(struct dataset *d, struct hdf5_trouble *t)
{
    if (!find_fill_kind(d) ||
        (d->fill_stated && H5Pget_fill_value(d->creation, d->decoded, d->fill) < 0))
        return hdf5_wrong(t);
    memcpy(d->pad, d->fill, sizeof d->pad);
    if (!d->fill_stated && !attributes_default_fill(d->element, d->big, d->pad))
        memcpy(d->sizes, d->stored, sizeof d->sizes); /* netCDF has no such variables */
    return true;
}

/* Finds what the numbers of a dataset mean. */
static bool find_meaning(struct dataset *d, const struct hdf5_input *in, struct hdf5_trouble *t)
{
    struct attributes_meaning *m = &d->meaning;
    struct attribute_holder holder = {.object = d->id, .trouble = t};
    const struct attributes_reader reader = {
        .read = attribute_read, .user = &holder, .parts = H5Tget_class(d->type) == H5T_COMPOUND};
    bool variable = d->netcdf;

    if (in->stored)
        return true;
    if (!variable && !hdf5_is_variable(d->id, &variable, t))
        return false;
    attributes_find(&reader, d->element, variable, d->fill_stated, m);
    if (holder.failed)
        return false;
    if (m->type != d->element)
        d->type_name = element_name(m->type);
    d->element = m->type;
    if (!m->wrong[0])
        return true;
    snprintf(d->text, sizeof d->text, "%s", m->wrong);
    d->unreadable = d->text;
    d->by_attributes = true;
    return true;
}

/* Gives a dataset the shape that netCDF shows. False where the library fails. */
static bool extend(struct dataset *d, const hsize_t *most, struct hdf5_trouble *t)
{
    bool unlimited = false;

    for (int i = 0; i < d->dimensions; i++)
        unlimited = unlimited || most[i] == H5S_UNLIMITED;
    return !unlimited || hdf5_extend(d->id, d->dimensions, d->sizes, most, t);
}

/* Finds the least float type of f32 and f64 that has all values of a float whose layout is none of
   ours. False if there is none. */
static bool find_wider_float(hid_t type, struct dataset *d)
{
    static const enum element_type wider[] = {ELEMENT_F32, ELEMENT_F64};
    size_t sign, exponent_at, exponent, fraction_at, fraction;
    const size_t bias = H5Tget_ebias(type);

    if (H5Tget_fields(type, &sign, &exponent_at, &exponent, &fraction_at, &fraction) < 0 ||
        H5Tget_norm(type) != H5T_NORM_IMPLIED || exponent == 0 || exponent > 11 || fraction == 0 ||
        bias > 1100)
        return false;
    for (size_t i = 0; i < sizeof wider / sizeof *wider; i++) {
        const struct element_format *format = &element_formats[wider[i]];
        const int most = format->significant_bits - 1;

        if ((int)fraction > most || (1 << exponent) - 2 - (int)bias > format->exponent_max ||
            1 - (int)bias - (int)fraction < format->exponent_min - most)
            continue;
        d->element = wider[i];
        d->fields =
            (struct container_filter){.values = {[FIELDS_AT] = (uint32_t)fraction_at,
                                                 [FIELDS_BITS] = (uint32_t)fraction,
                                                 [FIELDS_SIGN] = (uint32_t)sign,
                                                 [FIELDS_EXPONENT_AT] = (uint32_t)exponent_at,
                                                 [FIELDS_EXPONENT_BITS] = (uint32_t)exponent,
                                                 [FIELDS_BIAS] = (uint32_t)bias}};
        return true;
    }
    return false;
}

/* Finds the least integer type that has the bytes of an integer of fewer bits. False if there is
   none. */
static bool find_wider_integer(hid_t type, struct dataset *d)
{
    const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
    const uint32_t at = (uint32_t)H5Tget_offset(type), bits = (uint32_t)H5Tget_precision(type);

    for (int i = 0; i < ELEMENT_TYPES; i++) {
        const struct element_format *format = &element_formats[i];

        if (format->kind != (is_signed ? ELEMENT_SIGNED : ELEMENT_UNSIGNED) ||
            format->size < H5Tget_size(type))
            continue;
        d->element = (enum element_type)i;
        d->fields =
            (struct container_filter){.values = {[FIELDS_AT] = at,
                                                 [FIELDS_BITS] = bits,
                                                 [FIELDS_SIGN] = is_signed ? at + bits - 1 : 64}};
        return true;
    }
    return false;
}

/* Sees whether a dataset has numbers in some of the bits of its elements, or floats of other
   layouts, which are decoded to numbers of a type of ours. */
static void find_narrow(struct dataset *d)
{
    static const char contiguous[] = "its layout is read in chunked datasets ('h5repack -l "
                                     "NAME:CHUNK=SIZES OLD NEW' makes these)";
    const H5T_class_t class = H5Tget_class(d->type);
    const H5T_order_t order = H5Tget_order(d->type);

    if ((class != H5T_INTEGER && class != H5T_FLOAT) ||
        (order != H5T_ORDER_LE && order != H5T_ORDER_BE) || d->size > 8 ||
        !(class == H5T_FLOAT ? find_wider_float(d->type, d) : find_wider_integer(d->type, d)))
        return;
    if (H5Pget_layout(d->creation) == H5D_CONTIGUOUS) {
        d->unreadable = contiguous;
        return;
    }
    d->narrow = true;
    d->fields.kind = CONTAINER_FIELDS;
    d->fields.values[FIELDS_SIZE] = (uint32_t)d->size;
    d->fields.values[FIELDS_BIG] = order == H5T_ORDER_BE;
    d->fields.values[FIELDS_OUT] = (uint32_t)element_size(d->element);
    d->type_name = element_name(d->element);
    d->unreadable = filter_refusal(&d->fields);
    d->size = element_size(d->element);
    d->big = d->size > 1 && order == H5T_ORDER_BE;
}

/* Sees whether a dataset stands for an array of MATLAB that has no elements. Its own elements are the
   dimensions of that array. */
static bool find_matlab_empty(hid_t dataset, bool *empty, struct hdf5_trouble *t)
{
    struct attribute_holder holder = {.object = dataset, .trouble = t};
    struct attributes_numbers found;

    attribute_read(&holder, "MATLAB_empty", &found);
    *empty = found.exists && found.numeric && found.count == 1 && found.numbers[0].value != 0;
    return !holder.failed;
}

static bool too_large(struct hdf5_trouble *t)
{
    return hdf5_fails(t, "more elements than any file has");
}

/* Fills in what a dataset is. False where the library fails. */
static bool look_at(struct dataset *d, const struct hdf5_input *in, struct hdf5_trouble *t)
{
    hsize_t most[CONTAINER_DIMENSIONS_MAX];
    H5S_class_t shape;
    bool empty;

    d->type = H5Dget_type(d->id);
    d->space = H5Dget_space(d->id);
    d->creation = H5Dget_create_plist(d->id);
    if (d->type < 0 || d->space < 0 || d->creation < 0)
        return hdf5_wrong(t);
    classify(d->type, d);
    if (d->unreadable)
        find_narrow(d);
    d->typed = !d->unreadable;
    shape = H5Sget_simple_extent_type(d->space);
    d->dimensions = H5Sget_simple_extent_ndims(d->space);
    if (d->dimensions < 0 || d->dimensions > CONTAINER_DIMENSIONS_MAX ||
        H5Sget_simple_extent_dims(d->space, d->sizes, most) < 0) {
        d->dimensions = 0;
        return hdf5_wrong(t);
    }
    for (int i = 0; i < d->dimensions; i++)
        if (d->sizes[i] > most[i]) /* newer libraries refuse it */
            return hdf5_fails(t, "its axis %d has %" PRIu64 " elements, of at most %" PRIu64, i,
                              (uint64_t)d->sizes[i], (uint64_t)most[i]);
    memcpy(d->stored, d->sizes, sizeof d->stored);
    if (!find_matlab_empty(d->id, &empty, t))
        return false;
    if (shape == H5S_NULL || empty) {
        d->dimensions = 1; /* none would be those of a single number */
        d->sizes[0] = d->stored[0] = 0;
        d->not_numeric = true;
        if (!d->unreadable)
            d->unreadable = empty ? "an array of MATLAB, which has no elements"
                                  : "a null dataspace, which has no elements";
    }
    d->decoded = d->unreadable ? 0 : decoded_type(d);
    if (d->decoded < 0)
        return hdf5_wrong(t);
    if (!d->unreadable && !(extend(d, most, t) && find_fill(d, t) && find_meaning(d, in, t)))
        return false;
    if (H5Tget_class(d->type) == H5T_COMPOUND && !d->not_numeric && !extend(d, most, t))
        return false;
    d->elements = 1;
    for (int i = 0; i < d->dimensions; i++) {
        d->extended = d->extended || d->sizes[i] != d->stored[i];
        if (__builtin_mul_overflow(d->elements, d->sizes[i], &d->elements))
            return too_large(t);
    }
    return true;
}

/* Whether the parameters of n-bit are those of the type that the dataset has. */
static bool is_nbit_sound(const struct container_filter *f, const struct dataset *d)
{
    enum { PLAIN = 1, SIZE = 4, ORDER, BITS, OFFSET };

    return f->values[PLAIN] != 0 || (d->narrow && f->values[SIZE] == H5Tget_size(d->type) &&
                                     f->values[ORDER] == (H5Tget_order(d->type) == H5T_ORDER_BE) &&
                                     f->values[BITS] == H5Tget_precision(d->type) &&
                                     f->values[OFFSET] == (uint32_t)H5Tget_offset(d->type));
}

/* The filters of a dataset, in the order in which they are applied. Sets d->unreadable where one is
 * not known. */
static bool find_filters(struct dataset *d, struct container_tiles *tiles, struct hdf5_trouble *t)
{
    const int count = H5Pget_nfilters(d->creation);
    unsigned compressions = 0;

    if (count < 0)
        return hdf5_wrong(t);
    if (d->narrow)
        tiles->filters[tiles->filter_count++] = d->fields;
    for (int i = 0; i < count; i++) {
        struct container_filter filter = {0};
        unsigned flags, config;
        size_t value_count = CONTAINER_FILTER_VALUES;
        char name[192] = "";
        const char *why = "";
        const H5Z_filter_t id = H5Pget_filter2(d->creation, (unsigned)i, &flags, &value_count,
                                               filter.values, sizeof name, name, &config);

        if (id < 0)
            return hdf5_wrong(t);
        name[sizeof name - 1] = '\0';
        if (!filter_find(id, &filter.kind))
            why = NULL;
        else if (filter_refusal(&filter))
            why = filter_refusal(&filter);
        else if (id == H5Z_FILTER_NBIT && !is_nbit_sound(&filter, d))
            why = "its parameters are those of another type";
        else if (filter_compresses(&filter) && compressions++ > 0)
            why = "it follows another compression";
        else if (tiles->filter_count >= CONTAINER_FILTERS_MAX)
            why = "there are more than 8 filters";
        if (!why || *why) {
            const char *known = why ? filter_of(filter.kind)->name : "";

            snprintf(d->text, sizeof d->text,
                     "HDF5 filter %s%s(%d) is not supported%s%s; h5repack -f NONE removes filters",
                     *known ? known : name, *known || *name ? " " : "", (int)id, why ? ": " : "",
                     why ? why : "");
            d->unreadable = d->text;
            d->by_attributes = false;
            return true;
        }
        tiles->filters[tiles->filter_count++] = filter;
    }
    return true;
}

/* Goes through all objects. */
struct visit {
    const struct hdf5_input *in;
    struct buffer *out;
    uint64_t bytes; /* of all arrays so far that can be read */
    bool netcdf;    /* the file is one of netCDF */
    struct hdf5_trouble trouble;
    struct hdf5_walk walk;
};

/* Whether it matters where the elements of an array are. */
static bool is_wanted(const struct visit *v, const char *name)
{
    return !v->in->headers_only &&
           container_wants(v->in->patterns, v->in->pattern_count, name, false);
}

/* Adds the bytes of an array to those of all. */
static bool count_bytes(struct visit *v, uint64_t elements, uint64_t size)
{
    uint64_t bytes;

    if (__builtin_mul_overflow(elements, size, &bytes) || bytes > HDF5_ARRAYS_BYTES_MAX - v->bytes)
        return too_large(&v->trouble);
    v->bytes += bytes;
    return true;
}

/* Whether the library lets bytes lie outside of the file. */
static bool lies_inside(struct visit *v, uint64_t offset, uint64_t size)
{
    return (size <= v->in->size && offset <= v->in->size - size) ||
           hdf5_fails(&v->trouble,
                      "%" PRIu64 " bytes of it at %" PRIu64 " lie beyond the end of the file", size,
                      offset);
}

/* The place of the tile that begins there; all zeros where the library finds none, and then it may
   not be there. `bytes`: of the tile, as it was before it was filtered. */
static bool find_tile(struct visit *v, const struct dataset *d, const hsize_t *begin,
                      uint64_t bytes, bool filtered, struct container_tile *tile)
{
    uint64_t offset, size;
    uint32_t mask = 0;

    *tile = (struct container_tile){0};
    hdf5_find_chunk(d->id, begin, &offset, &size, &mask);
    if (size == 0)
        return true;
    /* Compressed data may be larger than others, but little. */
    if (size > UINT32_MAX || (size > bytes && !filtered) || size / 2 > bytes + 4096)
        return hdf5_fails(&v->trouble, "a chunk of %" PRIu64 " bytes has %" PRIu64 " at %" PRIu64,
                          bytes, size, offset);
    *tile = (struct container_tile){offset, (uint32_t)size, mask << d->narrow};
    return lies_inside(v, offset, size);
}

/* Bytes of a tile with elements of so many bytes, as the file has them before they are filtered. */
static uint64_t stored_bytes(const struct dataset *d, uint64_t bytes)
{
    return d->narrow ? filter_stored(&d->fields, bytes) : bytes;
}

/* Puts where all tiles are, in C order. There are `there` in the file. */
static bool put_tiles(struct visit *v, const struct dataset *d, const hsize_t *sizes, bool filtered,
                      hsize_t there)
{
    hsize_t begin[CONTAINER_DIMENSIONS_MAX] = {0}, found = 0;
    uint64_t count = 1, bytes = d->size;
    struct container_tile tile;

    for (int i = 0; i < d->dimensions; i++) {
        count *= (d->sizes[i] + sizes[i] - 1) / sizes[i];
        bytes *= sizes[i];
    }
    bytes = stored_bytes(d, bytes);
    put(v->out, count * sizeof tile);
    for (uint64_t k = 0; k < count && !v->out->failed; k++) {
        bool stored = true;

        for (int i = 0; i < d->dimensions; i++)
            stored = stored && begin[i] < d->stored[i];
        tile = (struct container_tile){0};
        if (stored && found < there && !find_tile(v, d, begin, bytes, filtered, &tile))
            return false;
        found += tile.compressed > 0;
        buffer_bytes(v->out, &tile, sizeof tile);
        for (int i = d->dimensions; i-- > 0;) {
            begin[i] += sizes[i];
            if (begin[i] < d->sizes[i])
                break;
            begin[i] = 0;
        }
    }
    end_text(v->out, (size_t)count * sizeof tile);
    if (found == there)
        return true;
    return hdf5_fails(&v->trouble, "%llu of its %llu chunks are not found",
                      (unsigned long long)(there - found), (unsigned long long)there);
}

/* Sees what tiles a dataset has. *sizes: those of a tile. Sets d->unreadable where they cannot be
   read. */
static bool look_at_tiles(struct dataset *d, const hsize_t *sizes, struct container_tiles *tiles,
                          struct hdf5_trouble *t)
{
    uint64_t count = 1, bytes = d->size;
    unsigned options = 0;

    if (H5Pget_chunk_opts(d->creation, &options) < 0)
        return hdf5_wrong(t);
    tiles->edges_plain = options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS;
    for (int i = 0; i < d->dimensions; i++) {
        if (__builtin_mul_overflow(count, (d->sizes[i] + sizes[i] - 1) / sizes[i], &count) ||
            count > CONTAINER_TILES_MAX)
            d->unreadable = "more than 16777216 chunks";
        if (__builtin_mul_overflow(bytes, sizes[i], &bytes) || bytes > CONTAINER_TILE_BYTES_MAX ||
            stored_bytes(d, bytes) > CONTAINER_TILE_BYTES_MAX)
            d->unreadable = "chunks of more than 1 GiB";
        if (d->unreadable)
            return true;
    }
    return find_filters(d, tiles, t);
}

/* Puts what comes first of any array. */
static void put_head(const struct dataset *d, struct buffer *out)
{
    static const struct attributes_meaning none;
    const struct attributes_meaning *m = d->unreadable ? &none : &d->meaning;

    put(out, HDF5_ARRAY);
    put_string(out, d->name);
    put_string(out, d->type_name);
    put_string(out, d->unreadable ? d->unreadable : "");
    put(out, (uint64_t)d->element);
    put(out, d->typed);
    put(out, d->not_numeric);
    put(out, d->by_attributes);
    put(out, d->big);
    put_text(out, &m->missing, m->missing.count > 0 ? sizeof m->missing : 0);
    put_text(out, &m->scale, m->scale.given ? sizeof m->scale : 0);
    put_string(out, m->ignored);
    put(out, (uint64_t)d->dimensions);
    put_sizes(out, d->sizes, d->dimensions);
}

/* Puts a dataset that cannot be read. Returns true. */
static bool put_unreadable(struct visit *v, const struct dataset *d)
{
    put_head(d, v->out);
    put(v->out, HDF5_NOWHERE);
    return true;
}

/* Whether the bytes of elements are all that there is of them: others may lie elsewhere. */
static bool is_plain(const struct dataset *d)
{
    return H5Tdetect_class(d->type, H5T_VLEN) == 0 &&
           H5Tdetect_class(d->type, H5T_REFERENCE) == 0 &&
           H5Tdetect_class(d->type, H5T_STRING) == 0; /* of variable length, perhaps */
}

/* The position of a dataset whose elements lie in the file one after the other; HADDR_UNDEF for
   others, and if nothing was written. libhdf5 adds the size of the user block even to the address of
   nothing. */
static haddr_t find_position(const struct dataset *d)
{
    const haddr_t at = H5Dget_offset(d->id);

    return at != HADDR_UNDEF && H5Dget_storage_size(d->id) > 0 ? at : HADDR_UNDEF;
}

/* Puts a dataset whose elements cannot be read, and where its bytes are if they lie in the file one
   behind the other. */
static bool put_stored(struct visit *v, const struct dataset *d, H5D_layout_t layout)
{
    const bool contiguous =
        layout == H5D_CONTIGUOUS && is_plain(d) && H5Pget_external_count(d->creation) == 0;
    const haddr_t at = contiguous ? find_position(d) : HADDR_UNDEF;
    hsize_t size;

    if (at == HADDR_UNDEF || at == 0)
        return put_unreadable(v, d);
    size = H5Dget_storage_size(d->id);
    if (!lies_inside(v, at, size))
        return false;
    put_head(d, v->out);
    put(v->out, HDF5_STORED);
    put(v->out, at);
    put(v->out, size);
    return true;
}

/* Finds the sizes of chunks in all dimensions. False where the library fails. */
static bool find_chunk_sizes(const struct dataset *d, hsize_t *sizes)
{
    const int rank = d->dimensions - d->inner;

    memcpy(sizes, d->sizes, (size_t)d->dimensions * sizeof *sizes);
    return H5Pget_chunk(d->creation, rank, sizes) == rank;
}

/* Puts how the chunks of a dataset are stored: their sizes, and the filters with what they are
   given. */
static bool put_storage(struct visit *v, const struct dataset *d, const hsize_t *sizes)
{
    enum { VALUES_MAX = 64 };
    const int filters = H5Pget_nfilters(d->creation);
    unsigned options = 0;
    size_t words = (size_t)d->dimensions + 1;

    if (filters < 0 || H5Pget_chunk_opts(d->creation, &options) < 0)
        return hdf5_wrong(&v->trouble);
    words += (size_t)filters * (2 + VALUES_MAX);
    put(v->out, words);
    put_sizes(v->out, sizes, d->dimensions);
    put(v->out, options);
    for (int i = 0; i < filters; i++) {
        unsigned values[VALUES_MAX] = {0}, flags, config;
        size_t count = VALUES_MAX;
        const H5Z_filter_t id =
            H5Pget_filter2(d->creation, (unsigned)i, &flags, &count, values, 0, NULL, &config);

        if (id < 0)
            return hdf5_wrong(&v->trouble);
        if (count > VALUES_MAX)
            return hdf5_fails(&v->trouble, "a filter has %zu parameters", count);
        put(v->out, (uint64_t)id);
        put(v->out, count);
        for (size_t j = 0; j < VALUES_MAX; j++)
            put(v->out, values[j]);
    }
    return true;
}

/* Puts a dataset in chunks that cannot be read, and where these are. */
static bool put_pieces(struct visit *v, const struct dataset *d)
{
    hsize_t sizes[CONTAINER_DIMENSIONS_MAX], at[CONTAINER_DIMENSIONS_MAX] = {0}, count;

    if (!find_chunk_sizes(d, sizes) || H5Dget_num_chunks(d->id, d->space, &count) < 0)
        return hdf5_wrong(&v->trouble);
    if (count > CONTAINER_TILES_MAX)
        return put_unreadable(v, d);
    put_head(d, v->out);
    put(v->out, HDF5_PIECES);
    put(v->out, count);
    if (!put_storage(v, d, sizes))
        return false;
    for (hsize_t k = 0; k < count; k++) {
        unsigned mask = 0;
        haddr_t offset = HADDR_UNDEF;
        hsize_t size = 0;

        if (H5Dget_chunk_info(d->id, d->space, k, at, &mask, &offset, &size) < 0)
            return hdf5_wrong(&v->trouble);
        if (!lies_inside(v, offset, size))
            return false;
        put(v->out, offset);
        put(v->out, size);
        put(v->out, mask);
        put_sizes(v->out, at, d->dimensions);
    }
    return true;
}

static const char never_written[] =
    "elements were never written, and have no fill value or several";

/* Puts what comes before the places of tiles: all but where they are. */
static void put_tiling(struct visit *v, const struct dataset *d, const hsize_t *sizes,
                       const struct container_tiles *tiles, const unsigned char *fill,
                       bool extended)
{
    put_head(d, v->out);
    put(v->out, HDF5_TILES);
    put_sizes(v->out, sizes, d->dimensions);
    put(v->out, tiles->edges_plain);
    put(v->out, tiles->filter_count);
    for (unsigned i = 0; i < tiles->filter_count; i++) {
        put(v->out, (uint64_t)tiles->filters[i].kind);
        for (unsigned j = 0; j < CONTAINER_FILTER_VALUES; j++)
            put(v->out, tiles->filters[i].values[j]);
    }
    put_text(v->out, fill, d->size);
    put(v->out, extended);
    if (extended) {
        put_sizes(v->out, d->stored, d->dimensions);
        put_text(v->out, d->pad, d->size);
    }
}

/* Puts a dataset of which nothing is in the file: one tile, which has no place. */
static bool put_nowhere(struct visit *v, struct dataset *d, const unsigned char *fill)
{
    static const struct container_tiles plain;
    const struct container_tile none = {0};

    put_tiling(v, d, d->sizes, &plain, fill, false);
    put_text(v->out, &none, d->elements > 0 ? sizeof none : 0);
    return true;
}

/* Puts a dataset that is stored in chunks. It matters where they are if it is `wanted`. */
static bool put_chunked(struct visit *v, struct dataset *d, bool wanted)
{
    hsize_t sizes[CONTAINER_DIMENSIONS_MAX], there;
    uint64_t expected = 1;
    struct container_tiles tiles = {0};

    if (!find_chunk_sizes(d, sizes) || H5Dget_num_chunks(d->id, d->space, &there) < 0)
        return hdf5_wrong(&v->trouble);
    for (int i = 0; i < d->dimensions; i++) {
        if (sizes[i] == 0)
            return hdf5_fails(&v->trouble, "its chunks have no elements");
        if (__builtin_mul_overflow(expected, (d->stored[i] + sizes[i] - 1) / sizes[i], &expected))
            expected = UINT64_MAX;
    }
    if (there < expected && !d->fill_defined) {
        d->unreadable = never_written;
        return put_unreadable(v, d);
    }
    if (there == 0 && (expected == 0 || !d->extended || memcmp(d->fill, d->pad, d->size) == 0))
        return put_nowhere(v, d, expected == 0 ? d->pad : d->fill);
    if (!look_at_tiles(d, sizes, &tiles, &v->trouble))
        return false;
    if (d->unreadable)
        return wanted ? put_pieces(v, d) : put_unreadable(v, d);
    put_tiling(v, d, sizes, &tiles, d->fill, d->extended);
    if (wanted)
        return put_tiles(v, d, sizes, tiles.filter_count > 0, there);
    put_text(v->out, "", 0);
    return true;
}

/* Puts a dataset whose elements lie in the file one behind the other, or nowhere. */
static bool put_contiguous(struct visit *v, struct dataset *d)
{
    const haddr_t at = find_position(d);

    if (at != HADDR_UNDEF) {
        put_head(d, v->out);
        put(v->out, HDF5_RANGE);
        put(v->out, at);
        return lies_inside(v, at, d->elements * d->size);
    }
    if (d->elements == 0 || d->fill_defined)
        return put_nowhere(v, d, d->fill);
    d->unreadable = never_written;
    return put_unreadable(v, d);
}

#define HEADER_MAX 65536 /* what a header has room for, bytes */

/* Puts a dataset whose elements are in its header. */
static bool put_compact(struct visit *v, struct dataset *d)
{
    unsigned char *elements;
    bool good;

    if (d->size == 0 || d->elements > HEADER_MAX)
        return hdf5_fails(&v->trouble, "its header has no room for its elements");
    elements = malloc(HEADER_MAX * d->size); /* a stack may be small */
    if (!elements)
        return hdf5_fails(&v->trouble, "out of memory");
    put_head(d, v->out);
    put(v->out, HDF5_HERE);
    good = d->elements == 0 ||
           H5Dread(d->id, d->decoded, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements) >= 0 ||
           hdf5_wrong(&v->trouble);
    if (good)
        put_text(v->out, elements, (size_t)d->elements * d->size);
    free(elements);
    return good;
}

/* Fields of fields, at most. */
#define FIELDS_DEEP 16

/* Finds the value of a field of `count` elements that were never written, which is at byte `at` of a
   record. Records may be far larger than a file that states none. */
static bool find_field_fill(struct dataset *field, uint64_t at, uint64_t count,
                            struct hdf5_trouble *t)
{
    unsigned char *record;
    bool good;

    if (!find_fill_kind(field))
        return hdf5_wrong(t);
    if (!field->fill_stated)
        return true;
    record = calloc(field->fields.values[FIELD_RECORD], 1);
    good = record && H5Pget_fill_value(field->creation, field->type, record) >= 0;
    if (good) {
        for (uint64_t i = 0; i < count; i++)
            field->fill_defined =
                field->fill_defined &&
                memcmp(record + at, record + at + i * field->size, field->size) == 0;
        memcpy(field->fill, record + at, field->size);
        memcpy(field->pad, record + at, field->size);
    }
    free(record);
    return good || hdf5_wrong(t);
}

/* Puts a field that holds no others, which begins at byte `at` of each record, as an array. */
static bool put_field(struct visit *v, const struct dataset *d, hid_t type, const char *name,
                      uint64_t at)
{
    const bool wanted = is_wanted(v, name);
    const bool many = H5Tget_class(type) == H5T_ARRAY;
    const int dimensions = many ? H5Tget_array_ndims(type) : 0;
    const hid_t element = many ? H5Tget_super(type) : type;
    struct dataset field = *d;
    const haddr_t begin = find_position(d); /* undefined in chunks, and if nothing is there */
    uint64_t here = 1, size = 0;
    bool good = element >= 0 && dimensions >= 0;

    if (good && dimensions <= CONTAINER_DIMENSIONS_MAX - d->dimensions)
        good = !many || H5Tget_array_dims2(type, field.sizes + d->dimensions) >= 0;
    if (!good)
        return hdf5_wrong(&v->trouble);
    classify(element, &field);
    if (H5Tget_class(element) == H5T_COMPOUND)
        field.unreadable = "records in an array, or in many others";
    if (many)
        H5Tclose(element);
    field.typed = !field.unreadable;
    field.name = name;
    field.dimensions += dimensions;
    field.inner = dimensions;
    if (field.dimensions > CONTAINER_DIMENSIONS_MAX) {
        field.dimensions = d->dimensions;
        field.unreadable = "more than 64 dimensions";
    }
    if (!field.unreadable && !find_meaning(&field, v->in, &v->trouble))
        return false;
    for (int i = d->dimensions; i < field.dimensions; i++) {
        field.stored[i] = field.sizes[i];
        if (__builtin_mul_overflow(here, field.sizes[i], &here))
            here = 0;
    }
    if (field.unreadable)
        return put_unreadable(v, &field);
    if (here == 0 || __builtin_mul_overflow(here, field.size, &size) || size > d->size ||
        at > d->size - size || d->size > UINT32_MAX)
        return too_large(&v->trouble);
    if (!count_bytes(v, d->elements, size))
        return false;
    if (begin != HADDR_UNDEF && d->elements > 0) {
        put_head(&field, v->out);
        put(v->out, HDF5_FIELD);
        put(v->out, begin + at);
        put(v->out, d->size);
        put(v->out, here);
        return true;
    }
    field.elements *= here;
    field.narrow = true;
    field.fields = (struct container_filter){.kind = CONTAINER_FIELD,
                                             .values = {[FIELD_RECORD] = (uint32_t)d->size,
                                                        [FIELD_AT] = (uint32_t)at,
                                                        [FIELD_SIZE] = (uint32_t)size}};
    if (!find_field_fill(&field, at, here, &v->trouble))
        return false;
    return H5Pget_layout(d->creation) == H5D_CHUNKED ? put_chunked(v, &field, wanted)
                                                     : put_contiguous(v, &field);
}

/* Puts the fields of what begins at byte `at` of each record, and those of its fields. Numbers that
   are complex, as h5py has them, have two, re and im.
   NOLINTNEXTLINE(misc-no-recursion): `depth` is bounded */
static bool put_fields(struct visit *v, const struct dataset *d, hid_t type, const char *name,
                       uint64_t at, unsigned depth)
{
    static const char *const parts[] = {"re", "im"};
    const int count = H5Tget_nmembers(type);
    const bool complex = has_members(type, "r", "i") && H5Tget_member_class(type, 0) == H5T_FLOAT &&
                         H5Tget_member_class(type, 1) == H5T_FLOAT;
    bool good = count >= 0;

    for (unsigned i = 0; (int)i < count && good; i++) {
        char *const member = H5Tget_member_name(type, i);
        const hid_t inner = H5Tget_member_type(type, i);
        struct buffer path = {0};

        good = member && inner >= 0;
        if (good) {
            buffer_print(&path, "%s.%s", name, complex ? parts[i] : member);
            good = !path.failed;
        }
        if (good) {
            const uint64_t begin = at + H5Tget_member_offset(type, i);

            good = H5Tget_class(inner) == H5T_COMPOUND && depth < FIELDS_DEEP
                       ? put_fields(v, d, inner, path.data, begin, depth + 1)
                       : put_field(v, d, inner, path.data, begin);
        }
        buffer_free(&path);
        H5free_memory(member);
        if (inner >= 0)
            H5Tclose(inner);
    }
    return good || hdf5_wrong(&v->trouble);
}

/* Puts a dataset of records, which lie in the file one after the other or in chunks. */
static bool put_records(struct visit *v, const struct dataset *d)
{
    const haddr_t at = find_position(d);
    uint64_t bytes;

    if (__builtin_mul_overflow(d->elements, d->size, &bytes))
        return too_large(&v->trouble);
    return (at == HADDR_UNDEF || lies_inside(v, at, bytes)) &&
           put_fields(v, d, d->type, d->name, 0, 0);
}

/* Looks at a dataset, and puts it. False where it is damaged: then v->trouble says so. */
static bool put_dataset(struct visit *v, struct dataset *d)
{
    const bool wanted = is_wanted(v, d->name);
    H5D_layout_t layout;

    if (!look_at(d, v->in, &v->trouble))
        return false;
    layout = H5Pget_layout(d->creation);
    if (layout < 0)
        return hdf5_wrong(&v->trouble);
    if (!d->unreadable && layout == H5D_VIRTUAL)
        d->unreadable = "a virtual dataset: its elements are in other datasets";
    if (!d->unreadable && H5Pget_external_count(d->creation) > 0)
        d->unreadable = "an external dataset: its elements are in other files";
    if (H5Tget_class(d->type) == H5T_COMPOUND && H5Pget_external_count(d->creation) == 0 &&
        (layout == H5D_CONTIGUOUS || layout == H5D_CHUNKED))
        return put_records(v, d);
    if (d->unreadable)
        return wanted && layout == H5D_CHUNKED && is_plain(d) ? put_pieces(v, d)
                                                              : put_stored(v, d, layout);
    if (!count_bytes(v, d->elements, d->size))
        return false;
    return layout == H5D_CHUNKED   ? put_chunked(v, d, wanted)
           : layout == H5D_COMPACT ? put_compact(v, d)
                                   : put_contiguous(v, d);
}

/* Puts something that cannot be opened, or a dataset that is damaged, without a shape if that has more
   elements than there can be. Its record from `begin` on is taken back. */
static void put_damaged(struct visit *v, struct dataset *d, size_t begin)
{
    uint64_t elements = 1;

    v->out->size = begin;
    if (!d->type_name)
        d->type_name = "unknown";
    d->typed = true;
    d->not_numeric = false;
    d->unreadable = v->trouble.text;
    d->by_attributes = false;
    for (int i = 0; i < d->dimensions && elements > 0; i++)
        if (__builtin_mul_overflow(elements, d->sizes[i], &elements))
            elements = 0;
    if (d->dimensions == 0 || elements == 0) { /* none would be those of a single number */
        d->dimensions = 1;
        d->sizes[0] = 0;
    }
    (void)put_unreadable(v, d);
}

/* Drops what netCDF puts before the name of a variable that has the name of a dimension and is not its
   coordinate. */
static void drop_prefix(struct visit *v, hid_t dataset)
{
    static const char prefix[] = "_nc4_non_coord_";
    char *const path = v->walk.path.data, *const slash = strrchr(path, '/');
    char *const name = slash ? slash + 1 : path;
    const size_t length = strlen(prefix);
    bool variable = v->netcdf;

    if (strncmp(name, prefix, length) != 0 || name[length] == '\0')
        return;
    if (!variable && dataset >= 0)
        (void)hdf5_is_variable(dataset, &variable, &v->trouble);
    if (variable)
        memmove(name, name + length, strlen(name + length) + 1);
}

/* Puts a dataset. */
static void visit_dataset(void *context, hid_t dataset)
{
    struct visit *v = context;
    struct dataset d = {.id = dataset, .name = v->walk.path.data, .netcdf = v->netcdf};
    const hid_t *const opened[] = {&d.creation, &d.space, &d.type, &d.decoded};
    const size_t begin = v->out->size;

    drop_prefix(v, dataset);
    if (d.id < 0) {
        (void)hdf5_wrong(&v->trouble);
        put_damaged(v, &d, begin);
        return;
    }
    if (!hdf5_is_dimension(d.id) && !put_dataset(v, &d))
        put_damaged(v, &d, begin);
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++)
        if (*opened[i] > 0)
            H5Idec_ref(*opened[i]);
}

static void visit_damaged(void *context, const char *kind)
{
    struct visit *v = context;
    struct dataset d = {.name = v->walk.path.data, .type_name = kind};

    (void)hdf5_wrong(&v->trouble);
    put_damaged(v, &d, v->out->size);
}

static void visit_lost_link(void *context, const char *why)
{
    struct visit *v = context;
    struct dataset d = {.name = v->walk.path.data,
                        .type_name = "",
                        .unreadable = why,
                        .typed = true,
                        .not_numeric = true};

    (void)put_unreadable(v, &d);
}

static void note_dataset(void *context, hid_t dataset)
{
    (void)context;
    if (dataset >= 0)
        hdf5_note_lengths(dataset);
}

static void note_nothing(void *context, const char *kind)
{
    (void)context, (void)kind;
}

/* Opens the file, and puts what is in it. */
static bool describe(struct visit *v)
{
    const hid_t file = hdf5_open(v->in);
    hid_t root;

    if (file < 0)
        return hdf5_wrong(&v->trouble);
    root = H5Gopen2(file, "/", H5P_DEFAULT);
    if (root < 0)
        return hdf5_wrong(&v->trouble);
    v->netcdf = hdf5_is_netcdf(root);
    if (v->netcdf) {
        v->walk.dataset = note_dataset;
        v->walk.damaged = v->walk.link = note_nothing;
        (void)hdf5_walk(&v->walk, root);
    }
    v->walk.dataset = visit_dataset;
    v->walk.damaged = visit_damaged;
    v->walk.link = visit_lost_link;
    put(v->out, HDF5_ARRAYS);
    if (!hdf5_walk(&v->walk, root))
        return hdf5_wrong(&v->trouble);
    put(v->out, HDF5_END);
    v->out->failed = v->out->failed || v->walk.failed;
    return !hdf5_unread();
}

/* Puts what is in the file, or why that cannot be told: the answer. Memory is not given back, and
   nothing is printed. */
static void describe_input(const struct hdf5_input *in, struct buffer *out)
{
    struct visit v = {.in = in, .out = out};

    v.walk.context = &v;
    if (describe(&v))
        return;
    out->size = 0;
    put(out, hdf5_unread() ? HDF5_UNREAD : HDF5_WRONG);
    if (hdf5_unread())
        buffer_bytes(out, hdf5_unread(), 2 * sizeof(uint64_t));
    else
        put_string(out, v.trouble.text);
}

/* Limits of this process: processor time after which libhdf5 is taken to go in circles, no core files,
   and the life of the thread that reads the answer, which waits for it. False if that has ended: nobody
   reads the pipe. */
static bool set_limits(void)
{
    const struct rlimit no_core = {0, 0}, time = {HDF5_TIME_MAX, HDF5_TIME_MAX};
    struct pollfd answer = {.fd = STDOUT_FILENO};

    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)setrlimit(RLIMIT_CPU, &time);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    return poll(&answer, 1, 0) == 0;
}

int main(int argc, char **argv)
{
    struct hdf5_input in = {.fd = STDIN_FILENO};
    struct buffer out = {0};

    if (argc < 5 || strcmp(argv[1], PACKAGE_VERSION) != 0) {
        fputs("gpureduce-hdf5 " PACKAGE_VERSION ": only gpureduce " PACKAGE_VERSION " runs it\n",
              stderr);
        return EXIT_FAILURE;
    }
    in.begin = strtoull(argv[2], NULL, 10);
    in.size = strtoull(argv[3], NULL, 10);
    in.headers_only = strstr(argv[4], HDF5_ASK_HEADERS);
    in.stored = strstr(argv[4], HDF5_ASK_STORED);
    in.pattern_count = (unsigned)argc - 5;
    in.patterns = set_limits() ? calloc(in.pattern_count + 1, sizeof *in.patterns) : NULL;
    if (!in.patterns)
        return EXIT_FAILURE;
    for (unsigned i = 0; i < in.pattern_count; i++)
        in.patterns[i] = (struct container_pattern){.pattern = argv[5 + i] + 1,
                                                    .exclude = argv[5 + i][0] == HDF5_EXCLUDE};
    describe_input(&in, &out);
    /* Not by `return`: the library would take a seventh of the time to free its memory. */
    _exit(!out.failed && write_whole(STDOUT_FILENO, out.data, out.size, -1) ? EXIT_SUCCESS
                                                                            : EXIT_FAILURE);
}
