#include "config.h"

#include "source/format/npy.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sys/bytes.h"

static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* Magic, two bytes of version, then the length of the dictionary: 2 bytes in version 1, 4 later. */
#define VERSION_OFFSET 6
#define LENGTH_OFFSET 8

/* The dictionary as it is parsed: a Python literal {'descr': ..., 'fortran_order': ..., 'shape':
   ...} in any order and spacing. */
struct parser {
    const char *text;
    size_t position;
    size_t end;
    char *error;
    size_t refused; /* where the type stands, if it is none that is read: all else is read first */
    char reason[NPY_ERROR_MAX];
};

bool npy_recognise(const void *bytes, size_t size)
{
    return size >= sizeof magic && memcmp(bytes, magic, sizeof magic) == 0;
}

bool npy_cut_off(const void *bytes, size_t size)
{
    return size > 0 && size < sizeof magic && memcmp(bytes, magic, size) == 0;
}

uint64_t npy_header_length(const void *bytes, size_t size)
{
    const unsigned char *b = bytes;

    if (size < NPY_PREFIX_MAX)
        return 0;
    if (b[VERSION_OFFSET] < 1 || b[VERSION_OFFSET] > 3)
        return NPY_PREFIX_MAX; /* npy_parse refuses it */
    size = b[VERSION_OFFSET] == 1 ? 2 : 4;
    return LENGTH_OFFSET + size + bytes_number(b + LENGTH_OFFSET, size, false);
}

static bool fail(struct parser *p, const char *what)
{
    snprintf(p->error, NPY_ERROR_MAX, "%s", what);
    return false;
}

static void skip_space(struct parser *p)
{
    while (p->position < p->end && isspace((unsigned char)p->text[p->position]))
        p->position++;
}

/* Whether the next character is c; if so, steps over it. */
static bool accept(struct parser *p, char c)
{
    skip_space(p);
    if (p->position >= p->end || p->text[p->position] != c)
        return false;
    p->position++;
    return true;
}

/* A quoted string without escapes, shorter than size. Python 2 wrote some with a u in front. */
static bool parse_string(struct parser *p, char *out, size_t size)
{
    size_t length = 0;
    char quote;

    if (!accept(p, 'u'))
        (void)accept(p, 'U');
    if (p->position >= p->end || (p->text[p->position] != '\'' && p->text[p->position] != '"'))
        return fail(p, "a quoted string is expected");
    quote = p->text[p->position++];
    while (p->position < p->end && p->text[p->position] != quote) {
        char c = p->text[p->position];
        if (length + 1 >= size || !isprint((unsigned char)c) || c == '\\')
            return fail(p, "a string is too long or contains unsupported characters");
        out[length++] = c;
        p->position++;
    }
    if (p->position >= p->end)
        return fail(p, "a string does not end");
    p->position++;
    out[length] = '\0';
    return true;
}

static bool parse_boolean(struct parser *p, bool *value)
{
    static const char *const words[] = {"False", "True"};

    skip_space(p);
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(words[i]);
        if (p->end - p->position >= length &&
            memcmp(p->text + p->position, words[i], length) == 0) {
            p->position += length;
            *value = i == 1;
            return true;
        }
    }
    return fail(p, "True or False is expected");
}

static bool parse_dimension(struct parser *p, uint64_t *value)
{
    uint64_t v = 0;
    size_t start;

    skip_space(p);
    start = p->position;
    while (p->position < p->end && isdigit((unsigned char)p->text[p->position])) {
        unsigned digit = (unsigned)(p->text[p->position] - '0');
        if (v > ((uint64_t)INT64_MAX - digit) / 10)
            return fail(p, "a dimension is out of range");
        v = v * 10 + digit;
        p->position++;
    }
    if (p->position == start)
        return fail(p, "a dimension is expected");
    /* Python 2 wrote long integers with an L. */
    if (p->position < p->end && p->text[p->position] == 'L')
        p->position++;
    *value = v;
    return true;
}

/* A tuple of dimensions, and their product. */
static bool parse_shape(struct parser *p, struct npy *npy)
{
    uint64_t product = 1;
    bool empty = false, overflow = false;
    unsigned dimensions = 0;

    if (!accept(p, '('))
        return fail(p, "the shape is not a tuple");
    while (!accept(p, ')')) {
        uint64_t dimension = 0;

        if (!parse_dimension(p, &dimension))
            return false;
        if (dimensions == NPY_DIMENSIONS_MAX)
            return fail(p, "the shape has more than 64 dimensions");
        npy->shape[dimensions++] = dimension;
        if (dimension == 0)
            empty = true;
        else if (product > (uint64_t)INT64_MAX / dimension)
            overflow = true;
        else
            product *= dimension;
        if (!accept(p, ',')) {
            if (!accept(p, ')'))
                return fail(p, "the shape does not end");
            if (dimensions == 1) /* (3) is a number to Python */
                return fail(p, "the shape is not a tuple");
            break;
        }
    }
    if (overflow && !empty)
        return fail(p, "the shape has more than 2^63 elements");
    npy->dimensions = dimensions;
    npy->elements = empty ? 0 : product;
    return true;
}

/* Bytes of an element that is a void of 1 or 2 bytes, else 0: what libraries for bfloat16 and for
   floats of one byte write. NumPy has no such types. */
static size_t untyped_size(const char *descr)
{
    const char *kind = descr + strcspn(descr, "V");

    if (kind != descr && (kind != descr + 1 || !strchr("<>|=", *descr)))
        return 0;
    return strcmp(kind, "V2") == 0 ? 2 : strcmp(kind, "V1") == 0 ? 1 : 0;
}

/* Says that a type is not supported, and what to do about it. */
static void refuse_descr(struct parser *p, const char *descr)
{
    const struct element_foreign *foreign = element_find_foreign(descr);

    if (!foreign)
        snprintf(p->reason, NPY_ERROR_MAX, "dtype '%s' is not supported (floats and integers are)",
                 descr);
    else
        snprintf(p->reason, NPY_ERROR_MAX, "dtype '%s' is not supported: it is %s", descr,
                 foreign->what);
}

/* Leaves out a list: its brackets and parentheses, and what is between them. */
static bool skip_list(struct parser *p)
{
    unsigned depth = 0;

    do {
        char c = p->text[p->position], text[NPY_ERROR_MAX];

        if (c == '\'' || c == '"') {
            if (!parse_string(p, text, sizeof text))
                return false;
            continue;
        }
        depth += c == '[' || c == '(';
        depth -= c == ']' || c == ')';
        p->position++;
    } while (depth > 0 && p->position < p->end);
    return depth == 0 || fail(p, "the dtype does not end");
}

/* Finds the type that a descr names: by kind and bytes, by its name, or, as old programs do, by the
   letter of a type of C, which has the size that it has on 64-bit Unix. */
static bool find_type(const char *descr, enum element_type *type, enum element_order *order)
{
    static const struct {
        char letter;
        const char *name;
    } letters[] = {{'?', "b1"}, {'b', "i1"}, {'B', "u1"}, {'h', "i2"}, {'H', "u2"},
                   {'i', "i4"}, {'I', "u4"}, {'l', "i8"}, {'L', "u8"}, {'q', "i8"},
                   {'Q', "u8"}, {'e', "f2"}, {'f', "f4"}, {'d', "f8"}};
    const size_t length = strlen(descr);
    char name[4] = "";

    if (length == 0 || length > 2 || (length == 2 && !strchr("<>=|", *descr)))
        return element_parse_numpy(descr, type, order);
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (descr[length - 1] == letters[i].letter)
            snprintf(name, sizeof name, "%.*s%s", (int)length - 1, descr, letters[i].name);
    return element_parse_numpy(*name ? name : descr, type, order);
}

static bool parse_descr(struct parser *p, struct npy *npy)
{
    char *descr = npy->descr;
    enum element_order order;
    size_t start;

    skip_space(p);
    start = p->position;
    if (p->position < p->end && p->text[p->position] == '[') {
        npy->unsupported = true;
        p->refused = start;
        snprintf(descr, NPY_DESCR_MAX, "structured");
        snprintf(p->reason, sizeof p->reason,
                 "structured dtypes are not supported: save a field alone, as numpy's "
                 "numpy.save(file, x['field']) does");
        return skip_list(p);
    }
    if (!parse_string(p, descr, NPY_DESCR_MAX))
        return false;
    npy->untyped = untyped_size(descr);
    if (npy->untyped) {
        npy->order = *descr == '<'   ? ELEMENT_ORDER_LITTLE
                     : *descr == '>' ? ELEMENT_ORDER_BIG
                                     : ELEMENT_ORDER_UNSAID;
        return true;
    }
    if (!find_type(descr, &npy->type, &order)) {
        npy->unsupported = true;
        p->refused = start;
        refuse_descr(p, descr);
        return true;
    }
    npy->big_endian =
        order == ELEMENT_ORDER_UNSAID ? element_host_is_big() : order == ELEMENT_ORDER_BIG;
    return true;
}

static bool parse_dictionary(struct parser *p, struct npy *npy)
{
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
    unsigned seen = 0;

    if (!accept(p, '{'))
        return fail(p, "the header is not a dictionary");
    while (!accept(p, '}')) {
        char key[32];
        unsigned which;
        size_t start;

        skip_space(p);
        start = p->position;
        if (!parse_string(p, key, sizeof key))
            return false;
        which = strcmp(key, "descr") == 0           ? DESCR
                : strcmp(key, "fortran_order") == 0 ? ORDER
                : strcmp(key, "shape") == 0         ? SHAPE
                                                    : 0;
        if (!which || (seen & which)) {
            p->position = start;
            snprintf(p->error, NPY_ERROR_MAX, "key '%s' is %s", key,
                     which ? "repeated" : "unknown");
            return false;
        }
        seen |= which;
        if (!accept(p, ':'))
            return fail(p, "':' is expected");
        if (which == DESCR && !parse_descr(p, npy))
            return false;
        if (which == ORDER && !parse_boolean(p, &npy->fortran_order))
            return false;
        if (which == SHAPE && !parse_shape(p, npy))
            return false;
        if (!accept(p, ',')) {
            if (!accept(p, '}'))
                return fail(p, "the header does not end");
            break;
        }
    }
    skip_space(p);
    if (p->position < p->end)
        return fail(p, "unexpected text after the header's dictionary");
    if (seen != (DESCR | ORDER | SHAPE))
        return fail(p, "descr, fortran_order or shape is missing");
    return true;
}

bool npy_parse(const void *bytes, size_t size, struct npy *npy, char error[NPY_ERROR_MAX],
               uint64_t *error_offset)
{
    const unsigned char *b = bytes;
    struct parser p = {.text = bytes, .end = size, .error = error};
    bool good;

    *npy = (struct npy){.unsupported = false};
    *error_offset = VERSION_OFFSET;
    if (b[VERSION_OFFSET] < 1 || b[VERSION_OFFSET] > 3) {
        snprintf(error, NPY_ERROR_MAX, ".npy version %d.%d is not supported", b[VERSION_OFFSET],
                 b[VERSION_OFFSET + 1]);
        return false;
    }
    p.position = b[VERSION_OFFSET] == 1 ? LENGTH_OFFSET + 2 : LENGTH_OFFSET + 4;
    good = parse_dictionary(&p, npy);
    *error_offset = p.position;
    npy->data_offset = size;
    if (npy->unsupported) { /* which is what is wrong first */
        *error_offset = p.refused;
        snprintf(error, NPY_ERROR_MAX, "%s", p.reason);
        npy->unsupported = good;
        good = false;
    }
    return good;
}
