/*
 * FITS, of astronomy (FITS Standard 4.0): headers and data that follow one another, each in whole
 * blocks. A header is cards of 80 characters up to one that says END. The primary header and those
 * of IMAGE extensions describe arrays; tables are listed.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/number.h"
#include "source/format/attributes.h"
#include "source/format/containers.h"
#include "sys/plural.h"

#define BLOCK 2880u
#define CARD 80u

/* The longest header; bytes. */
#define HEADER_MAX ((uint64_t)100000000)

/* Keywords whose values are kept; NAXIS1 and so on are kept apart. */
#define KEYWORDS(X)                                                                      \
    X(BITPIX), X(NAXIS), X(PCOUNT), X(GCOUNT), X(GROUPS), X(BSCALE), X(BZERO), X(BLANK), \
        X(EXTNAME), X(EXTVER), X(ZIMAGE), X(SIMPLE), X(XTENSION)
#define NUMBER(name) name
#define TEXT(name) #name
enum keyword { KEYWORDS(NUMBER), KEYWORD_COUNT };
static const char *const keywords[] = {KEYWORDS(TEXT)};

/* The value of a card: text without quotes, or a number or truth value as it stands there. */
struct value {
    bool given;
    bool quoted;
    bool contradicted; /* by a further card of its keyword */
    uint64_t at;       /* offset of the card in the file */
    char text[CARD];
};

/* Types of elements, by BITPIX: their bits, negative of floats. */
static const struct type {
    int64_t bits;
    enum element_type type;
} types[] = {{8, ELEMENT_U8},   {16, ELEMENT_I16},  {32, ELEMENT_I32},
             {64, ELEMENT_I64}, {-32, ELEMENT_F32}, {-64, ELEMENT_F64}};

/* A header and the data after it. */
struct hdu {
    size_t number;  /* from 0 on */
    uint64_t begin; /* offset of the header */
    struct value values[KEYWORD_COUNT];
    char name[ERROR_TEXT_MAX]; /* EXTNAME, if it is text; a longer one is cut */
    bool name_continues;       /* the next card may continue it, in place of the & at its end */
    struct value axes[CONTAINER_DIMENSIONS_MAX]; /* NAXIS1 and so on */
    unsigned dimensions;
    uint64_t sizes[CONTAINER_DIMENSIONS_MAX]; /* in the order of NumPy, the fastest last */
    const struct type *type;                  /* by BITPIX */
    uint64_t data, length;                    /* offset of the data, and their bytes */
};

struct file {
    struct container *container;
    struct container_input *in;
    struct hdu hdu;
    char block[BLOCK + 1]; /* the block that was read last, and '\0' */
    uint64_t block_at;     /* its offset; UINT64_MAX before there is one */
};

/* 80 bits. */
static bool recognise(const unsigned char *bytes, size_t size)
{
    return size >= 10 && memcmp(bytes, "SIMPLE  = ", 10) == 0;
}

/*
 * Cards.
 */

/* Reads the value of a card, from its eleventh character on. Without a value it is not given. */
static void read_value(const char *card, uint64_t at, struct value *v)
{
    const char *p = card + 10, *const end = card + CARD;
    size_t length = 0;

    while (p < end && *p == ' ')
        p++;
    v->quoted = p < end && *p == '\'';
    if (v->quoted)
        for (p++; p < end && (*p != '\'' || (p + 1 < end && *++p == '\'')); p++)
            v->text[length++] = *p;
    else
        for (; p < end && *p != '/'; p++)
            v->text[length++] = *p;
    while (length > 0 && v->text[length - 1] == ' ')
        length--;
    v->text[length] = '\0';
    v->given = v->quoted || length > 0;
    v->contradicted = false;
    v->at = at;
}

/* The number of an axis that a keyword is for, from 0 on; -1 for other keywords. */
static int find_axis(const char *card)
{
    int number = 0;

    if (memcmp(card, "NAXIS", 5) != 0 || card[5] < '1' || card[5] > '9')
        return -1;
    for (size_t i = 5; i < 8 && card[i] != ' '; i++) {
        if (card[i] < '0' || card[i] > '9')
            return -1;
        number = 10 * number + card[i] - '0';
    }
    return number - 1;
}

/* Puts the text of a value after the first `length` bytes of the name. */
static void take_name(struct hdu *h, size_t length, const struct value *v)
{
    if (!v->quoted)
        return;
    snprintf(h->name + length, sizeof h->name - length, "%s", v->text);
    length = strlen(h->name);
    while (length > 0 && h->name[length - 1] == ' ')
        h->name[--length] = '\0';
    h->name_continues = length > 0 && h->name[length - 1] == '&';
}

/* Whether two cards give a keyword the same value: the same text, or numbers. */
static bool is_same(const struct value *a, const struct value *b)
{
    const char *x = a->text + (*a->text == '+'), *y = b->text + (*b->text == '+');
    struct integer i, j;
    double p, q;

    if (a->quoted || b->quoted)
        return a->quoted == b->quoted && strcmp(a->text, b->text) == 0;
    if (strcmp(x, y) == 0)
        return true;
    if (number_parse_integer(x, &i) && number_parse_integer(y, &j))
        return number_compare_integers(&i, &j) == 0;
    return number_parse(x, ELEMENT_F64, &p) && number_parse(y, ELEMENT_F64, &q) && p == q;
}

/* Keeps the value of a card, the first of each keyword. */
static void take_card(struct hdu *h, const char *card, uint64_t at)
{
    const int axis = find_axis(card);
    const bool continues = h->name_continues && memcmp(card, "CONTINUE  ", 10) == 0;
    struct value *v = NULL, more;

    h->name_continues = false;
    if (continues) {
        read_value(card, at, &more);
        take_name(h, strlen(h->name) - 1, &more);
    }
    if (memcmp(card + 8, "= ", 2) != 0)
        return;
    if (axis >= 0 && axis < CONTAINER_DIMENSIONS_MAX)
        v = &h->axes[axis];
    for (size_t i = 0; i < KEYWORD_COUNT && axis < 0; i++) {
        const size_t length = strlen(keywords[i]);

        if (memcmp(card, keywords[i], length) == 0 && strspn(card + length, " ") + length >= 8)
            v = &h->values[i];
    }
    if (!v)
        return;
    read_value(card, at, &more);
    if (v->given) {
        v->contradicted = v->contradicted || !is_same(v, &more);
        return;
    }
    *v = more;
    if (v == &h->values[EXTNAME])
        take_name(h, 0, v);
}

/* Has f->block be the block at an offset. *there: the file has it. */
static bool read_block(struct file *f, uint64_t at, bool *there)
{
    *there = at <= f->in->size && f->in->size - at >= BLOCK;
    if (!*there || at == f->block_at)
        return true;
    f->block_at = at;
    return f->in->read(f->in, f->block, BLOCK, at);
}

/* Reads the header at h->begin, and sets where it ends. */
static bool read_cards(struct file *f)
{
    struct hdu *h = &f->hdu;
    bool there;

    for (uint64_t at = h->begin; at - h->begin < HEADER_MAX; at += BLOCK) {
        if (!read_block(f, at, &there))
            return false;
        if (!there)
            return container_wrong(f->in, f->in->size, "the file ends within the header of HDU %zu",
                                   h->number);
        for (size_t i = 0; i < BLOCK; i += CARD) {
            if (memcmp(f->block + i, "END     ", 8) == 0) {
                h->data = at + BLOCK;
                return true;
            }
            take_card(h, f->block + i, at + i);
        }
    }
    return container_wrong(f->in, h->begin, "the header of HDU %zu has more than 100 MB",
                           h->number);
}

/* Whether a value is true. */
static bool is_true(const struct value *v)
{
    return v->given && !v->quoted && strcmp(v->text, "T") == 0;
}

/* Reads a value that is an integer of 64 bits; `otherwise` where it is not given. */
static bool take_integer(struct file *f, const char *keyword, const struct value *v,
                         int64_t otherwise, int64_t *x)
{
    const char *text = v->text + (*v->text == '+');
    struct integer integer;

    *x = otherwise;
    if (!v->given)
        return true;
    if (v->contradicted)
        return container_wrong(f->in, v->at, "HDU %zu: another card of %s contradicts this one",
                               f->hdu.number, keyword);
    if (v->quoted || !number_parse_integer(text, &integer) || integer.high != 0 ||
        integer.low > (uint64_t)INT64_MAX + integer.negative)
        return container_wrong(f->in, v->at, "HDU %zu: %s is not an integer of 64 bits",
                               f->hdu.number, keyword);
    *x = integer.negative ? (int64_t)-integer.low : (int64_t)integer.low;
    return true;
}

/*
 * Arrays.
 */

/* Finds what the header says of the data: their type, their shape, and how many bytes they have. */
static bool find_data(struct file *f)
{
    struct hdu *h = &f->hdu;
    const bool groups = is_true(&h->values[GROUPS]);
    int64_t bits, count, parameters, repeats, axis;
    uint64_t elements = 1;

    if (!take_integer(f, "BITPIX", &h->values[BITPIX], 0, &bits) ||
        !take_integer(f, "NAXIS", &h->values[NAXIS], -1, &count) ||
        !take_integer(f, "PCOUNT", &h->values[PCOUNT], 0, &parameters) ||
        !take_integer(f, "GCOUNT", &h->values[GCOUNT], 1, &repeats))
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].bits == bits)
            h->type = &types[i];
    if (!h->type)
        return container_wrong(f->in, h->begin, "HDU %zu: BITPIX is not 8, 16, 32, 64, -32 or -64",
                               h->number);
    if (count < 0 || count > CONTAINER_DIMENSIONS_MAX)
        return container_wrong(f->in, h->begin, "HDU %zu: NAXIS is not a number from 0 to 64",
                               h->number);
    _Static_assert(CONTAINER_DIMENSIONS_MAX == 64, "as the message says");
    if (parameters < 0 || repeats < 0)
        return container_wrong(f->in, h->begin, "HDU %zu: PCOUNT or GCOUNT is negative", h->number);
    h->dimensions = (unsigned)count;
    for (unsigned i = 0; i < h->dimensions; i++) {
        char keyword[16];

        snprintf(keyword, sizeof keyword, "NAXIS%u", i + 1);
        if (!take_integer(f, keyword, &h->axes[i], -1, &axis))
            return false;
        if (axis < 0)
            return container_wrong(f->in, h->begin, "HDU %zu: %s is missing, or negative",
                                   h->number, keyword);
        h->sizes[h->dimensions - 1 - i] = (uint64_t)axis;
        if (i == 0 && axis == 0 && groups)
            axis = 1; /* the size of a group is the product of the others */
        if (__builtin_mul_overflow(elements, (uint64_t)axis, &elements))
            return container_wrong(f->in, h->begin, "HDU %zu: more elements than any file has",
                                   h->number);
    }
    if (h->dimensions == 0)
        elements = 0;
    if (__builtin_add_overflow(elements, (uint64_t)parameters, &elements) ||
        __builtin_mul_overflow(elements, (uint64_t)repeats, &elements) ||
        __builtin_mul_overflow(elements, element_size(h->type->type), &h->length) ||
        h->length > INT64_MAX)
        return container_wrong(f->in, h->begin, "HDU %zu: more elements than any file has",
                               h->number);
    return true;
}

static const char contradicted[] = "has several values";

/* Reads a value that is a number, as the binary64 that is nearest to it. *given: it is there, and is
   not the number that there was. False, with the phrase *wrong, if nobody knows what it means. */
static bool take_number(const struct value *v, double *x, bool *given, const char **wrong)
{
    const double neutral = *x;
    const char *const digits = v->text + strspn(v->text, "+-");
    char text[CARD + 1];
    struct integer integer;

    if (!v->given)
        return true;
    snprintf(text, sizeof text, "%s%s%s", *v->text == '-' ? "-" : "", *digits == '.' ? "0" : "",
             digits);
    for (char *p = text; *p; p++)
        if (*p == 'D' || *p == 'd')
            *p = 'E';
    *wrong = contradicted;
    if (v->contradicted)
        return false;
    *wrong = "is not a number";
    if (v->quoted || digits - v->text > 1 || strspn(text, "0123456789+-.eE") != strlen(text) ||
        !number_parse(text, ELEMENT_F64, x))
        return false;
    *wrong = "is too large for binary64";
    if (isinf(*x))
        return false;
    *wrong = "is an integer that binary64 cannot hold";
    if (number_parse_integer(text, &integer) && number_compare_mixed(&integer, *x) != 0)
        return false;
    *given = *given || *x != neutral;
    return true;
}

/* Notes that nobody knows what a keyword means, and why. */
static void refuse(struct attributes_meaning *m, const char *keyword, const char *why)
{
    snprintf(m->wrong, sizeof m->wrong, "its keyword %s %s", keyword, why);
}

/* Finds what the numbers of an image mean: BLANK is missing, of integers, and BSCALE and BZERO are a
   scale. False without memory. */
static bool find_meaning(struct file *f, struct container_array *a)
{
    const struct hdu *h = &f->hdu;
    const struct value *blank = &h->values[BLANK];
    struct attributes_meaning m = {.type = a->type, .scale = {.factor = 1}};
    const bool integers = blank->given && element_is_integer(a->type);
    const char *const number = blank->text + (*blank->text == '+');
    const char *why = NULL;

    if (integers && blank->contradicted)
        refuse(&m, "BLANK", contradicted);
    else if (integers && (blank->quoted || !missing_text_is_valid(number)))
        refuse(&m, "BLANK", "is not a number");
    else if (blank->given && !(integers && missing_add(&m.missing, a->type, number)))
        snprintf(m.ignored, sizeof m.ignored, "BLANK is no integer of type %s",
                 element_name(a->type));
    if (m.wrong[0])
        return attributes_apply(f->container, a, &m);
    if (!take_number(&h->values[BSCALE], &m.scale.factor, &m.scale.given, &why))
        refuse(&m, "BSCALE", why);
    else if (!take_number(&h->values[BZERO], &m.scale.offset, &m.scale.given, &why))
        refuse(&m, "BZERO", why);
    else if (m.scale.given && scale_refusal(&m.scale))
        refuse(&m, "BSCALE", "is 0");
    return attributes_apply(f->container, a, &m);
}

/* The name of an HDU: EXTNAME and, where it is there, EXTVER, "SCI,2"; without EXTNAME PRIMARY or,
   of the fourth one, HDU3. */
static const char *name_of(struct file *f)
{
    const struct hdu *h = &f->hdu;
    const struct value *version = &h->values[EXTVER];

    if (*h->name && version->given)
        return container_note(f->container, "%s,%s", h->name, version->text);
    if (*h->name)
        return container_note(f->container, "%s", h->name);
    return h->number == 0 ? container_note(f->container, "PRIMARY")
                          : container_note(f->container, "HDU%zu", h->number);
}

/* Says why the data of an HDU are no array that can be read; NULL without memory. */
static const char *say_why(struct file *f, struct container_array *a)
{
    const struct hdu *h = &f->hdu;
    const char *const kind = h->values[XTENSION].text;

    container_name_type(a, h->number == 0 ? "GROUPS" : *kind ? kind : "unknown");
    if (h->number == 0)
        return "random groups";
    if (strcmp(kind, "BINTABLE") == 0 && is_true(&h->values[ZIMAGE]))
        return "a compressed image, which 'funpack' decompresses";
    if (strcmp(kind, "BINTABLE") == 0 || strcmp(kind, "TABLE") == 0)
        return container_note(
            f->container,
            "a table; in Python, numpy.save('x.npy', astropy.io.fits.getdata('FILE', %zu)['NAME']) "
            "writes a column",
            h->number);
    if (strcmp(kind, "IMAGE") == 0)
        return "an image of several groups";
    a->not_numeric = true;
    return "an extension that is not known";
}

/* Adds what the HDU describes, if it has data. */
static bool add_array(struct file *f)
{
    struct container *c = f->container;
    const struct hdu *h = &f->hdu;
    const char *const name = name_of(f);
    struct container_array *a = name ? container_add(c, name) : NULL;
    uint64_t product = 1;

    if (!a || !container_set_shape(c, a, h->sizes, h->dimensions))
        return container_no_memory(f->in);
    a->type = h->type->type;
    a->big_endian = true;
    a->offset = h->data;
    a->length = h->length;
    a->elements = h->length / element_size(a->type);
    container_name_type(a, element_name(a->type));
    for (unsigned i = 0; i < h->dimensions; i++)
        product *= h->sizes[i]; /* at most that of find_data */
    if ((h->number > 0 && strcmp(h->values[XTENSION].text, "IMAGE") != 0) ||
        (is_true(&h->values[GROUPS]) && h->sizes[h->dimensions - 1] == 0) ||
        product != a->elements) {
        a->unreadable = say_why(f, a);
        return a->unreadable || container_no_memory(f->in);
    }
    return f->in->stored || find_meaning(f, a) || container_no_memory(f->in);
}

/* Whether another HDU begins after the data, at an offset. Blocks of zeros may follow the last one. */
static bool find_next(struct file *f, uint64_t at, bool *found)
{
    const struct hdu *h = &f->hdu;
    bool there;

    *found = false;
    if (!read_block(f, at, &there))
        return false;
    if (h->data + h->length > f->in->size)
        return container_wrong(f->in, f->in->size,
                               "truncated inside HDU %zu: its %" PRIu64
                               " byte%s of data begin at offset %" PRIu64,
                               h->number, h->length, plural(h->length), h->data);
    if (at > f->in->size) {
        f->container->warning = container_note(
            f->container,
            "%" PRIu64 " of the %u bytes of the last block are missing; the file may be truncated",
            at - f->in->size, BLOCK);
        return f->container->warning || container_no_memory(f->in);
    }
    if (at == f->in->size)
        return true;
    if (!there)
        return container_wrong(f->in, at, "only %" PRIu64 " byte%s of a block after HDU %zu",
                               f->in->size - at, plural(f->in->size - at), h->number);
    *found = memcmp(f->block, "XTENSION", 8) == 0;
    for (size_t i = 0; i < BLOCK && !*found; i++)
        if (f->block[i] != 0)
            return container_wrong(f->in, at, "no extension begins after HDU %zu", h->number);
    return true;
}

static bool read_file(struct container *c, struct container_input *in)
{
    struct file f = {.container = c, .in = in, .block_at = UINT64_MAX};
    struct hdu *h = &f.hdu;
    uint64_t begin = 0;
    bool more = true;

    for (size_t number = 0; more; number++) {
        *h = (struct hdu){.number = number, .begin = begin};
        if (!read_cards(&f))
            return false;
        if (number == 0 && !is_true(&h->values[SIMPLE]))
            return container_wrong(in, 0, "it does not begin with SIMPLE = T");
        if (!find_data(&f))
            return false;
        if (h->dimensions > 0 && !add_array(&f))
            return false;
        begin = h->data + h->length + (BLOCK - h->length % BLOCK) % BLOCK;
        if (!find_next(&f, begin, &more))
            return false;
    }
    return container_number_names(c, in);
}

const struct container_format container_fits = {
    .name = "fits",
    .article = "a FITS file",
    .recognise = recognise,
    .read = read_file,
};
