#include "config.h"

#include "hdf5/type.h"

#include <string.h>

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

    if (H5Tget_fields(type, &sign, &exponent_at, &exponent, &mantissa_at, &mantissa) < 0 ||
        H5Tget_norm(type) != H5T_NORM_IMPLIED || H5Tget_offset(type) != 0)
        return false;
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        if (H5Tget_size(type) == floats[i].bytes && exponent == floats[i].exponent &&
            mantissa == floats[i].mantissa && H5Tget_ebias(type) == floats[i].bias &&
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
    const size_t size = H5Tget_size(type);
    const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;

    if (H5Tget_precision(type) != 8 * size || H5Tget_offset(type) != 0)
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
    bool is = H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2;

    for (unsigned i = 0; i < 2 && is; i++) {
        const char *name = H5Tget_member_name(type, i);

        is = name && strcmp(name, names[i]) == 0;
    }
    return is;
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

void hdf5_classify(hid_t type, struct hdf5_type *t)
{
    const H5T_class_t class = H5Tget_class(type);
    const H5T_order_t order = H5Tget_order(type);
    const char *const plain = order == H5T_ORDER_LE || order == H5T_ORDER_BE
                                  ? "its layout is unknown"
                                  : "its byte order is unknown";
    bool found = false;

    *t = (struct hdf5_type){.size = H5Tget_size(type)};
    switch ((int)class) { /* newer libraries have more */
    case H5T_INTEGER:
        t->name = "integer";
        found = find_integer(type, &t->element);
        t->unreadable = plain;
        break;
    case H5T_FLOAT:
        t->name = "float";
        found = find_float(type, &t->element);
        t->unreadable = plain;
        break;
    case H5T_ENUM:
        t->name = "enum";
        t->element = ELEMENT_BOOL;
        found = is_bool(type);
        t->unreadable = "an enumeration";
        break;
    case H5T_STRING:
        t->name = "string";
        t->unreadable = "text";
        break;
    case H5T_COMPOUND:
        t->name = "compound";
        t->unreadable = "a record of several fields";
        break;
    case H5T_REFERENCE:
        t->name = "reference";
        t->unreadable = "a reference to something else";
        break;
    case H5T_VLEN:
        t->name = "vlen";
        t->unreadable = "a sequence of any length";
        break;
    case H5T_ARRAY:
        t->name = "array";
        t->unreadable = "elements that are arrays themselves";
        break;
    case H5T_BITFIELD:
        t->name = "bitfield";
        t->unreadable = "a field of bits";
        break;
    case H5T_OPAQUE:
        t->name = "opaque";
        t->unreadable = "bytes of unknown meaning";
        break;
    default:
        t->name = "other";
        t->unreadable = "unknown to this program";
        break;
    }
    t->not_numeric = !has_numbers(type);
    if (!found || (t->size > 1 && order != H5T_ORDER_LE && order != H5T_ORDER_BE))
        return;
    t->name = element_name(t->element);
    t->unreadable = NULL;
    t->big = t->size > 1 && order == H5T_ORDER_BE;
}
