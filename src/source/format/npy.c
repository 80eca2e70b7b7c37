#include "config.h"

#include "source/format/npy.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sys/bytes.h"
#include "sys/escape.h"

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
    bool json;      /* it is one of JSON, with lists in place of tuples */
    bool latin;     /* text is Latin-1, as in versions before 3; in version 3 it is UTF-8 */
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

/* Whether the next character begins or ends a tuple; if so, steps over it. */
static bool open_tuple(struct parser *p)
{
    return accept(p, p->json ? '[' : '(');
}

static bool close_tuple(struct parser *p)
{
    return accept(p, p->json ? ']' : ')');
}

/* The character that so many hexadecimal digits number. */
static bool parse_code(struct parser *p, int digits, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < digits; i++, p->position++) {
        char c;

        if (p->position == p->end || !isxdigit((unsigned char)p->text[p->position]))
            return false;
        c = p->text[p->position];
        *code = *code << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return true;
}

/* The character that an escape of Python or JSON stands for, after its backslash, as UTF-8. Returns
   its bytes; 0 where there is none, and for NUL. */
static size_t parse_escape(struct parser *p, char utf8[4])
{
    static const char letters[] = "\\'\"/bfnrt", meanings[] = "\\'\"/\b\f\n\r\t";
    uint32_t code, low;
    const char *plain;
    char letter;
    int digits;

    if (p->position == p->end)
        return 0;
    letter = p->text[p->position++];
    plain = letter ? strchr(letters, letter) : NULL;
    digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (plain) {
        *utf8 = meanings[plain - letters];
        return 1;
    }
    if (digits == 0 || !parse_code(p, digits, &code) || code == 0)
        return 0;
    /* JSON has a pair of surrogates for a character of more than 16 bits. */
    if (p->json && code >= 0xd800 && code < 0xdc00 && p->end - p->position > 2 &&
        memcmp(p->text + p->position, "\\u", 2) == 0) {
        p->position += 2;
        if (!parse_code(p, 4, &low) || low < 0xdc00 || low > 0xdfff)
            return 0;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    return code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : escape_utf8(utf8, code);
}

/* A quoted string, shorter than size; `any`: of other characters than those of ASCII, too, as UTF-8,
   which may be escaped. Python 2 wrote some with a u in front. */
static bool parse_text(struct parser *p, char *out, size_t size, bool any)
{
    size_t length = 0;
    char quote;

    if (!accept(p, 'u'))
        (void)accept(p, 'U');
    if (p->position >= p->end || (p->text[p->position] != '\'' && p->text[p->position] != '"'))
        return fail(p, "a quoted string is expected");
    quote = p->text[p->position++];
    while (p->position < p->end && p->text[p->position] != quote) {
        const unsigned char c = (unsigned char)p->text[p->position++];
        char utf8[4] = {(char)c};
        size_t bytes = 1;

        if (c == '\\')
            bytes = any ? parse_escape(p, utf8) : 0;
        else if (c >= 0x80 && any && p->latin)
            bytes = escape_utf8(utf8, c);
        else if (!isprint(c) && !(any && c >= 0x80))
            bytes = 0;
        if (bytes == 0 || length + bytes >= size) {
            p->position--;
            return fail(p, "a string is too long or contains unsupported characters");
        }
        memcpy(out + length, utf8, bytes);
        length += bytes;
    }
    if (p->position >= p->end)
        return fail(p, "a string does not end");
    p->position++;
    out[length] = '\0';
    return true;
}

static bool parse_string(struct parser *p, char *out, size_t size)
{
    return parse_text(p, out, size, false);
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
static bool parse_shape(struct parser *p, uint64_t *shape, unsigned *count, uint64_t *elements)
{
    uint64_t product = 1;
    bool empty = false, overflow = false;
    unsigned dimensions = 0;

    if (!open_tuple(p))
        return fail(p, "the shape is not a tuple");
    while (!close_tuple(p)) {
        uint64_t dimension = 0;

        if (!parse_dimension(p, &dimension))
            return false;
        if (dimensions == NPY_DIMENSIONS_MAX)
            return fail(p, "the shape has more than 64 dimensions");
        shape[dimensions++] = dimension;
        if (dimension == 0)
            empty = true;
        else if (product > (uint64_t)INT64_MAX / dimension)
            overflow = true;
        else
            product *= dimension;
        if (!accept(p, ',')) {
            if (!close_tuple(p))
                return fail(p, "the shape does not end");
            if (dimensions == 1 && !p->json) /* (3) is a number to Python */
                return fail(p, "the shape is not a tuple");
            break;
        }
    }
    if (overflow && !empty)
        return fail(p, "the shape has more than 2^63 elements");
    *count = dimensions;
    *elements = empty ? 0 : product;
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
        char c = p->text[p->position], text[NPY_NAME_MAX];

        if (c == '\'' || c == '"') {
            if (!parse_text(p, text, sizeof text, true))
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

    if (strcmp(descr + strspn(descr, "<>=|"), "f1") == 0) { /* of ml_dtypes; NumPy has none */
        *type = ELEMENT_F8E5M2;
        *order = ELEMENT_ORDER_UNSAID;
        return true;
    }
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
    start = npy->descr_offset = p->position;
    if (p->position < p->end && p->text[p->position] == '[') {
        npy->unsupported = true;
        p->refused = start;
        snprintf(descr, NPY_DESCR_MAX, "structured");
        snprintf(p->reason, sizeof p->reason,
                 "a structured dtype is read from a .npy file; or save a field alone, as numpy's "
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
        if (which == SHAPE && !parse_shape(p, npy->shape, &npy->dimensions, &npy->elements))
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

/*
 * Fields.
 */

/* Lists in lists, at most. */
#define DEPTH_MAX 16

/* Bytes of a record, as NumPy has them at most. */
#define RECORD_MAX ((uint64_t)INT32_MAX)

struct fields {
    struct parser p;
    bool (*take)(void *user, const struct npy_field *field);
    void *user;
    struct npy_field field; /* the next one; its name is that of the list that is read */
};

/* The letter of a type's name after the byte order. */
static char kind_of(const char *descr)
{
    return descr[*descr && strchr("<>=|", *descr) ? 1 : 0];
}

/* Bytes of an element of each part of a complex type; 0 of other types, and of complex ones that are
   not read. */
static unsigned complex_part(const char *descr)
{
    const char *const kind = descr + (*descr && strchr("<>=|", *descr) ? 1 : 0);

    return strcmp(kind, "c8") == 0 || strcmp(kind, "F") == 0    ? 4
           : strcmp(kind, "c16") == 0 || strcmp(kind, "D") == 0 ? 8
                                                                : 0;
}

/* Bytes of an element of a type that is known or not; 0: they cannot be told. */
static uint64_t descr_size(const struct npy_field *f)
{
    const char kind = kind_of(f->descr);
    const char *digits = strchr(f->descr, kind);
    uint64_t size = 0;

    if (f->known)
        return element_size(f->type);
    if (complex_part(f->descr))
        return 2 * (uint64_t)complex_part(f->descr);
    if (!kind || !strchr("biufcSaUVmM", kind))
        return 0;
    for (digits++; isdigit((unsigned char)*digits) && size <= RECORD_MAX; digits++)
        size = size * 10 + (uint64_t)(*digits - '0');
    return kind == 'U' ? 4 * size : size;
}

/* Gives away a field that holds no others, or the two parts of one that is complex. */
static bool give(struct fields *f)
{
    const unsigned part = complex_part(f->field.descr);
    const size_t length = strlen(f->field.name);
    const uint64_t offset = f->field.offset;
    const char order = *f->field.descr;
    bool good = true;

    if (part == 0)
        return f->take(f->user, &f->field);
    if (length + 4 >= NPY_NAME_MAX)
        return fail(&f->p, "the name of a field is too long");
    f->field.known = true;
    f->field.type = part == 4 ? ELEMENT_F32 : ELEMENT_F64;
    f->field.big_endian = order == '>' || (order != '<' && element_host_is_big());
    f->field.scattered = f->field.scattered || f->field.elements != 1;
    for (unsigned i = 0; i < 2 && good; i++) {
        f->field.offset = offset + (size_t)i * part;
        snprintf(f->field.name + length, NPY_NAME_MAX - length, "%s%s", length > 0 ? "." : "",
                 i == 0 ? "re" : "im");
        good = f->take(f->user, &f->field);
    }
    return good;
}

/* Sets the type and the bytes of a field. */
static bool find_field_type(struct fields *f, uint64_t *size)
{
    enum element_order order = ELEMENT_ORDER_UNSAID;
    struct npy_field *field = &f->field;

    field->known = find_type(field->descr, &field->type, &order);
    field->big_endian =
        order == ELEMENT_ORDER_UNSAID ? element_host_is_big() : order == ELEMENT_ORDER_BIG;
    *size = descr_size(field);
    return *size > 0 || kind_of(field->descr) != 'O' ||
           fail(&f->p, "a field holds Python objects, which are pickled and not read");
}

static bool read_fields(struct fields *f, uint64_t begin, bool scattered, unsigned depth,
                        uint64_t *end);

/* Steps over the rest of a field's tuple, after its type; sets the shape. */
static bool read_field_shape(struct fields *f)
{
    struct npy_field *field = &f->field;
    uint64_t n;

    field->dimensions = 0;
    field->elements = 1;
    if (accept(&f->p, ',')) {
        if (close_tuple(&f->p))
            return true;
        skip_space(&f->p);
        if (f->p.position < f->p.end && isdigit((unsigned char)f->p.text[f->p.position])) {
            if (!parse_dimension(&f->p, &n))
                return false;
            field->shape[field->dimensions++] = field->elements = n;
        } else if (!parse_shape(&f->p, field->shape, &field->dimensions, &field->elements)) {
            return false;
        }
        (void)accept(&f->p, ',');
    }
    return close_tuple(&f->p) || fail(&f->p, "a field does not end");
}

/* Reads the tuple of a field: its name or its title and name, its type, which may be a list of
   fields, and its shape. *at: bytes of the record before it; it is moved after it.
   NOLINTNEXTLINE(misc-no-recursion): `depth` is bounded */
static bool read_field(struct fields *f, bool scattered, unsigned depth, uint64_t *at)
{
    struct parser *p = &f->p;
    struct npy_field *field = &f->field;
    const size_t length = strlen(field->name);
    char name[NPY_NAME_MAX];
    uint64_t size = 0, inner = 0;
    size_t types, after;
    bool list;

    if (!open_tuple(p))
        return fail(p, "a field is not a tuple");
    if (open_tuple(p)) {
        if (!parse_text(p, name, sizeof name, true) || !accept(p, ',') ||
            !parse_text(p, name, sizeof name, true) || !close_tuple(p))
            return fail(p, "a field has no title and name");
    } else if (!parse_text(p, name, sizeof name, true)) {
        return false;
    }
    if (length + strlen(name) + 2 > NPY_NAME_MAX)
        return fail(p, "the name of a field is too long");
    snprintf(field->name + length, NPY_NAME_MAX - length, "%s%s", length > 0 ? "." : "", name);
    if (!accept(p, ','))
        return fail(p, "the type of a field is missing");
    skip_space(p);
    types = p->position;
    list = p->position < p->end && p->text[p->position] == '[';
    if (list ? !skip_list(p) : !parse_string(p, field->descr, NPY_DESCR_MAX))
        return false;
    if (!read_field_shape(f))
        return false;
    after = p->position;
    if (list) {
        const uint64_t elements = field->elements;

        p->position = types;
        if (!read_fields(f, *at, scattered || elements != 1, depth + 1, &inner))
            return false;
        p->position = after;
        size = inner - *at;
        field->elements = elements;
    } else {
        if (!find_field_type(f, &size))
            return false;
        field->offset = *at;
        field->scattered = scattered;
    }
    if (__builtin_mul_overflow(size, field->elements, &size) || size > RECORD_MAX - *at)
        return fail(p, "a record has more than 2^31 bytes");
    *at += size;
    /* Bytes without a name are padding. */
    if (!list && (*name || kind_of(field->descr) != 'V')) {
        if (size == 0 && field->elements > 0 && !field->known)
            return fail(p, "the type of a field has no size");
        if (!give(f))
            return false;
    }
    field->name[length] = '\0';
    return true;
}

/* Reads a list of fields that begins `begin` bytes into a record, and sets where it ends.
   NOLINTNEXTLINE(misc-no-recursion): `depth` is bounded */
static bool read_fields(struct fields *f, uint64_t begin, bool scattered, unsigned depth,
                        uint64_t *end)
{
    *end = begin;
    if (depth > DEPTH_MAX)
        return fail(&f->p, "fields are nested too deep");
    if (!accept(&f->p, '['))
        return fail(&f->p, "a list of fields is expected");
    while (!accept(&f->p, ']')) {
        if (!read_field(f, scattered, depth, end))
            return false;
        if (!accept(&f->p, ',')) {
            if (!accept(&f->p, ']'))
                return fail(&f->p, "a list of fields does not end");
            break;
        }
    }
    return true;
}

bool npy_has_fields(const void *bytes, size_t size)
{
    const uint64_t length = npy_header_length(bytes, size);
    char error[NPY_ERROR_MAX];
    struct npy npy;
    uint64_t at;

    if (!npy_recognise(bytes, size) || length == 0)
        return false;
    size = length < size ? (size_t)length : size;
    (void)npy_parse(bytes, size, &npy, error, &at);
    return (npy.descr_offset < size && ((const char *)bytes)[npy.descr_offset] == '[') ||
           complex_part(npy.descr) > 0;
}

bool npy_find_fields(const void *bytes, size_t size, const struct npy *npy,
                     bool (*take)(void *user, const struct npy_field *field), void *user,
                     uint64_t *record, char error[NPY_ERROR_MAX], uint64_t *error_offset)
{
    struct fields f = {.p = {.text = bytes,
                             .position = npy ? npy->descr_offset : 0,
                             .end = size,
                             .error = error,
                             .json = !npy,
                             .latin = npy && ((const unsigned char *)bytes)[VERSION_OFFSET] < 3},
                       .take = take,
                       .user = user,
                       .field = {.elements = 1}};
    struct parser *const p = &f.p;
    bool good;

    *error = '\0';
    skip_space(p);
    if (p->position < p->end && p->text[p->position] == '[')
        good = read_fields(&f, 0, false, 0, record);
    else
        good = parse_string(p, f.field.descr, NPY_DESCR_MAX) && find_field_type(&f, record) &&
               give(&f);
    *error_offset = p->position;
    return good;
}
