#include "config.h"

#include "hdf5/type.h"

#include <string.h>

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
    static const struct {
        H5T_class_t class;
        const char *name, *unreadable;
    } classes[] = {
        {H5T_INTEGER, "integer", "its layout is unknown"},
        {H5T_FLOAT, "float", "its layout is unknown"},
        {H5T_ENUM, "enum", "an enumeration"},
        {H5T_STRING, "string", "text"},
        {H5T_COMPOUND, "compound", "a record of several fields"},
        {H5T_REFERENCE, "reference", "a reference to something else"},
        {H5T_VLEN, "vlen", "a sequence of any length"},
        {H5T_ARRAY, "array", "elements that are arrays themselves"},
        {H5T_BITFIELD, "bitfield", "a field of bits"},
        {H5T_OPAQUE, "opaque", "bytes of unknown meaning"},
    };
    const H5T_class_t class = H5Tget_class(type);
    const H5T_order_t order = H5Tget_order(type);
    const bool number = class == H5T_INTEGER || class == H5T_FLOAT;
    const bool ordered = order == H5T_ORDER_LE || order == H5T_ORDER_BE;

    *t = (struct hdf5_type){.size = H5Tget_size(type),
                            .name = "other", /* newer libraries have more */
                            .unreadable = "unknown to this program",
                            .not_numeric = !has_numbers(type)};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (classes[i].class == class) {
            t->name = classes[i].name;
            t->unreadable = classes[i].unreadable;
        }
    }
    if (number && !ordered)
        t->unreadable = "its byte order is unknown";
    if (class == H5T_ENUM && is_bool(type))
        t->element = ELEMENT_BOOL;
    else if (!number || !find_number(type, class, &t->element))
        return;
    if (t->size > 1 && !ordered)
        return;
    t->name = element_name(t->element);
    t->unreadable = NULL;
    t->big = t->size > 1 && order == H5T_ORDER_BE;
}
