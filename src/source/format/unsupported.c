#include "config.h"

#include "source/format/unsupported.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "core/name.h"
#include "core/shell.h"
#include "source/format/containers.h"
#include "source/format/filters.h"
#include "source/format/inflate.h"
#include "source/format/plausibility.h"
#include "source/format/unsupported_input.h"
#include "sys/escape.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Reads bytes anywhere. False where they cannot be read. */
static bool read_bytes(const struct unsupported_input *in, uint64_t offset, unsigned char *bytes,
                       size_t size)
{
    if (offset <= in->size && size <= in->size - offset) {
        memcpy(bytes, in->bytes + offset, size);
        return true;
    }
    return in->read && fits(in, offset, size) && in->read(in->user, offset, bytes, size);
}

/*
 * Compressions and archives.
 */

static bool is_gzip(const struct unsupported_input *in)
{
    return inflate_recognise_gzip(in->bytes, in->size);
}

/* 32 bits of magic, 3 of the flags (the version, one reserved) and 6 of the block's. */
static bool is_lz4(const struct unsupported_input *in)
{
    return (in->bytes[4] & 0xc2) == 0x40 && (in->bytes[5] & 0xc0) == 0x40;
}

/* 8 bits of the properties that all writers use; 27 at least of the dictionary's size, a power of
   two or one and a half; and of the length, which is not stated or below 2^48. If stated, it has to
   suit the file's, and no dictionary is a multiple of 2^24: small integers look so. */
static bool is_lzma(const struct unsupported_input *in)
{
    uint64_t dictionary = bytes_number(in->bytes + 1, 4, false),
             length = bytes_number(in->bytes + 5, 8, false);
    uint64_t odd = dictionary & (dictionary - 1); /* without its lowest bit */

    return dictionary >= 1 << 12 && (odd == 0 || dictionary == odd / 2 * 3) &&
           (length == UINT64_MAX || (length >> 48 == 0 && dictionary >> 16 != 0 &&
                                     dictionary % (1 << 24) != 0 && length >> 14 <= in->total &&
                                     (in->total == UINT64_MAX || in->total / 2 <= length + 64)));
}

#define COMPRESS_CODES 30

/* 16 bits of magic and 4 of the flags. Then codes of 9 bits: the first is a byte, and the k-th can
   only mean a byte, "clear", or one of the k - 2 strings so far, for which its odds are a half at
   first. The first 30 make 27 bits. */
static bool is_compress(const struct unsupported_input *in)
{
    const unsigned char *b = in->bytes, bits = b[2] & 0x1f;

    for (unsigned k = 0; k < COMPRESS_CODES; k++) {
        unsigned code = (unsigned)(bytes_number(b + 3 + 9 * k / 8, 2, false) >> 9 * k % 8) & 0x1ff;

        if (code == 256 && k >= 16)
            break; /* what follows is aligned otherwise */
        if (code == 256 || code > (k == 0 ? 255 : 256 + k))
            return false;
    }
    return (b[2] & 0x60) == 0 && bits >= 9 && bits <= 16;
}

/* zstd before its format was fixed: 32 bits of magic; reserved bits of the frame's header, from 0.4
   on, and of the first block's, whose length is 128 KiB at most: 7 bits and more. */
static bool is_old_zstd(const struct unsupported_input *in)
{
    static const unsigned char id[] = {0, 1, 2, 4}, size6[] = {0, 1, 2, 8}, size7[] = {0, 2, 4, 8};
    const unsigned char *b = in->bytes, flags = b[4];
    bool direct = flags & 0x20;
    size_t at = 4;

    if (b[0] >= 0x24 && b[0] <= 0x27) {
        if (flags & (b[0] == 0x27 ? 0x08 : b[0] == 0x26 ? 0x20 : 0xf0))
            return false;
        at = b[0] == 0x27   ? 5 + !direct + id[flags & 3] + size7[flags >> 6] + (flags >> 5 == 1)
             : b[0] == 0x26 ? 5 + size6[flags >> 6]
                            : 5;
    }
    return b[at] >> 6 == 3 ||
           ((b[at] & 0x38) == 0 && bytes_number(b + at, 3, true) % (1 << 19) <= 1 << 17);
}

/* 32 bits of magic and 16 of the version that is needed, which is 1.0 to 6.3, or 0 as PyTorch
   writes it. */
static bool is_zip(const struct unsupported_input *in)
{
    return (in->bytes[4] == 0 || (in->bytes[4] >= 10 && in->bytes[4] <= 63)) && in->bytes[5] == 0;
}

/* The first bytes of a zip archive's member, and its name. */
struct member {
    unsigned char header[30];
    char name[SHELL_WORD_MAX];
};

/* Reads what describes the member at *offset, and moves on to the next. False where there is none,
   or where it cannot be found. */
static bool next_member(const struct unsupported_input *in, uint64_t *offset, struct member *m)
{
    size_t name, length;

    if (!read_bytes(in, *offset, m->header, sizeof m->header) ||
        bytes_number(m->header, 4, true) != 0x504b0304)
        return false;
    name = (size_t)bytes_number(m->header + 26, 2, false);
    length = name < sizeof m->name ? name : 0;
    if (!read_bytes(in, *offset + sizeof m->header, (unsigned char *)m->name, length))
        return false;
    m->name[length] = '\0';
    *offset += sizeof m->header + name + bytes_number(m->header + 28, 2, false) +
               bytes_number(m->header + 18, 4, false);
    /* With bit 3 the compressed size may follow the member. */
    if (m->header[6] & 8 && bytes_number(m->header + 18, 4, false) == 0)
        *offset = UINT64_MAX;
    return true;
}

static bool is_torch_script(const struct unsupported_input *in)
{
    uint64_t offset = 0;
    struct member m;

    return is_zip(in) && next_member(in, &offset, &m) &&
           name_ends(m.name, strlen(m.name), "/data/0");
}

#define ZIP_MEMBERS 1000 /* are looked at */

/* The first member that is a .npy file, or else the first that is no directory. */
static void say_zip_member(const struct unsupported_input *in, char *said)
{
    char found[SHELL_WORD_MAX] = "";
    uint64_t offset = 0;
    struct member m;

    for (int i = 0; i < ZIP_MEMBERS && next_member(in, &offset, &m); i++) {
        const bool array = name_ends(m.name, strlen(m.name), ".npy");

        if (m.name[0] == '-' || name_ends(m.name, strlen(m.name), "/"))
            continue;
        if (array || !found[0])
            memcpy(found, m.name, sizeof found);
        if (array)
            break;
    }
    /* To unzip(1), members are patterns. */
    shell_word(said, UNSUPPORTED_DETAIL_MAX, found, strlen(found), "[*?\\", "MEMBER");
}

/* A header of tar without "ustar", as of version 7: the sum of its bytes, in octal digits which count as blanks. */
static bool is_old_tar(const struct unsupported_input *in)
{
    unsigned long sum = 8UL * ' ';
    char digits[8] = "";

    for (size_t i = 0; i < 512; i++)
        sum += i < 148 || i >= 156 ? in->bytes[i] : 0;
    memcpy(digits, in->bytes + 148, sizeof digits - 1);
    return strtoul(digits, NULL, 8) == sum;
}

/* The first header may describe something else than a file. */
static void say_tar_member(const struct unsupported_input *in, char *said)
{
    const bool file = in->bytes[156] == '0' || in->bytes[156] == 0;
    const char *name = (const char *)in->bytes;

    shell_word(said, UNSUPPORTED_DETAIL_MAX, name, file && *name != '-' ? strnlen(name, 100) : 0,
               "", "MEMBER");
}

/* A volume of ISO 9660 after 32 KiB of zeros. Its sectors are of 2 KiB. */
static bool is_iso(const struct unsupported_input *in)
{
    unsigned char volume[6];

    for (size_t i = 0; i < UNSUPPORTED_HEAD; i++)
        if (in->bytes[i] != 0)
            return false;
    return in->total % 2048 == 0 && read_bytes(in, 32768, volume, sizeof volume) &&
           memcmp(volume, "\1CD001", sizeof volume) == 0;
}

/*
 * Python, machine learning and tables.
 */

/* A pickle of protocol 0 to 3 that begins with a class, or with a tuple that does: its module and its name are lines
   (24 bits), before which stands the protocol (15), or after which its number, 0, or 1 where Python 2 has written it
   (14). */
static bool is_pickle(const struct unsupported_input *in)
{
    const unsigned char *b = in->bytes;
    const bool marked = b[0] == 0x80 && (b[1] == 2 || b[1] == 3);
    size_t at = marked ? 2 : 0, lines = 0;

    at += b[at] == '(';
    if (b[at] != 'c')
        return false;
    while (lines < 2 && ++at < in->size) {
        if (b[at] == '\n')
            lines++;
        else if (!isalnum(b[at]) && b[at] != '.' && b[at] != '_')
            return false;
    }
    if (lines < 2 || marked)
        return lines == 2;
    return at + 2 < in->size &&
           ((b[at + 1] == 'q' && b[at + 2] < 2) || (b[at + 1] == 'p' && (b[at + 2] | 1) == '1'));
}

/* Whether an operation of a pickle makes a value or begins one, as an eighth of all bytes do. */
static bool makes_value(unsigned char operation)
{
    return operation &&
           strchr("(GJKMNXBCUTIFLVS])}c\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x96", operation);
}

/* After 16 bits: a place in the memo, 0 or 1 (7); and entries (8), the first of which begins with a value (3). */
static bool is_pickled_list(const struct unsupported_input *in)
{
    return in->bytes[2] <= 1 && in->bytes[3] == '(' && makes_value(in->bytes[4]);
}

/* A pickle by both ends: a value (3 bits) after the protocol (14) or in a tuple (8); "." (8), as of tiny floats,
   after a place in the memo (8 and more), which for a tuple follows "t" (8), or after a number that fills the file. */
static bool is_pickled_value(const struct unsupported_input *in)
{
    const unsigned char *b = in->bytes;
    const bool named = b[0] == 0x80 && b[1] >= 2 && b[1] <= 5;
    unsigned char end[7];
    size_t place;

    if (!(named ? makes_value(b[2]) : b[0] == '(' && makes_value(b[1])) ||
        in->total == UINT64_MAX || !read_bytes(in, in->total - sizeof end, end, sizeof end) ||
        end[6] != '.')
        return false;
    place = end[4] == 'q' ? 4 : end[1] == 'r' && end[4] == 0 && end[5] == 0 ? 1 : 0;
    if (!named)
        return (place > 0 && end[place - 1] == 't') || (isdigit(end[4]) && end[5] == '\n');
    return place > 0 || end[5] == 0x94 || (b[2] == 'G' && is_all(in, 12)) ||
           (b[2] == 'J' && is_all(in, 8)) || (b[2] == 0x8a && is_all(in, 5 + (uint64_t)b[3]));
}

/* A serialised ModelProto: the version (11 bits) and the producer, a string of 4 characters or more
   (16), behind which the graph or another string begins (6). */
static bool is_onnx(const struct unsupported_input *in)
{
    const unsigned char *b = in->bytes;
    size_t length = b[3];

    if (b[1] < 1 || b[1] > 32 || b[2] != 0x12 || length < 4 || length > 64 ||
        in->size < 5 + length || b[4 + length] == 0 ||
        !strchr("\x1a\x22\x28\x32\x3a", b[4 + length]))
        return false;
    for (size_t i = 0; i < length; i++)
        if (b[4 + i] < 0x20 || b[4 + i] > 0x7e)
            return false;
    return true;
}

/* Whether a column's declaration, which ends with a comma or a parenthesis, says that it has
   numbers. */
static bool is_numeric(const char *declaration, size_t length)
{
    static const char *const types[] = {"INT", "REAL", "FLOA", "DOUB", "NUM", "DEC"};

    for (size_t i = 0; i < length; i++)
        for (size_t k = 0; k < COUNT(types); k++)
            if (i + strlen(types[k]) <= length &&
                strncasecmp(declaration + i, types[k], strlen(types[k])) == 0)
                return true;
    return false;
}

/* The name at the beginning of a text, in SQL's quotes or none. A length of 0: there is none that
   stands between brackets and a shell's double quotes as it is, or it is long. */
static const char *find_name(const char *text, int *length)
{
    static const char characters[] =
        " ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz0123456789";
    const bool quoted = *text && strchr("[\"`'", *text);
    size_t size;

    text += quoted;
    size = strspn(text, quoted ? characters : characters + 1);
    if (size > 60 || (quoted && (!text[size] || !strchr("]\"`'", text[size]))))
        size = 0;
    *length = (int)size;
    return text;
}

/* The query of a column with numbers: of the first one that is found in the text of a table's
   creation, if the first page of the database has it. */
static void say_query(const struct unsupported_input *in, char *said)
{
    static const char create[] = "CREATE TABLE ";
    const char *table, *column, *at;
    char text[UNSUPPORTED_HEAD + 1];
    int table_length, length;

    memcpy(text, in->bytes, in->size);
    text[in->size] = '\0';
    for (size_t i = 0; i + sizeof create < in->size; i++) {
        if (strncasecmp(text + i, create, sizeof create - 1) != 0)
            continue;
        table = find_name(text + i + sizeof create - 1, &table_length);
        at = table_length > 0 ? strchr(table, '(') : NULL;
        while (at) {
            const char *end;

            at += 1 + strspn(at + 1, " \t\r\n");
            column = find_name(at, &length);
            end = column + length + strcspn(column + length, ",()");
            if (length > 0 && is_numeric(column + length, (size_t)(end - column - length))) {
                snprintf(said, UNSUPPORTED_DETAIL_MAX, "select [%.*s] from [%.*s]", length, column,
                         table_length, table);
                return;
            }
            while (*end == '(') { /* varchar(20) */
                end += strcspn(end, ")");
                end += *end != '\0';
                end += strcspn(end, ",()");
            }
            at = *end == ',' ? end : NULL;
        }
    }
    snprintf(said, UNSUPPORTED_DETAIL_MAX, "select COLUMN from NAME");
}

/* 24 bits, and 14 of how the first part begins, the index of a column: a field with an entry, that
   with a field, each of a length that fits the other's. In a compressed file this follows 24 bits
   of a length, and is recognised only if it was not worth compressing. */
static bool is_orc(const struct unsupported_input *in)
{
    bool plain = in->bytes[3] == 0x0a && (in->bytes[5] == 0x0a || in->bytes[5] == 0x12);
    const unsigned char *b = in->bytes + (plain ? 3 : 6);

    return (plain || in->bytes[3] & 1) && b[0] == 0x0a && b[1] >= 2 && b[1] < 128 &&
           (b[2] == 0x0a || b[2] == 0x12) && b[3] <= b[1] - 2;
}

/* After 72 bits, which small integers may be, too, the two lengths that a table begins with: one
   integer that is not small. */
static bool is_arrow(const struct unsupported_input *in)
{
    return in->bytes[14] != 0 && in->bytes[15] == 0;
}

/*
 * Science.
 */

static bool is_hdf5(const struct unsupported_input *in)
{
    return hdf5_has_signature(in->bytes, in->size);
}

/* A comment, which other text may have, too, before one of the keys that images begin with. */
static bool is_meta_image(const struct unsupported_input *in)
{
    const unsigned char *end = memchr(in->bytes, '\n', in->size);
    const size_t next = end ? (size_t)(end - in->bytes) + 1 : 0;

    return BEGINS(in, next, "ObjectType =") || BEGINS(in, next, "NDims =");
}

/* A format's code for a type, and its meaning. */
struct code {
    int code;
    enum element_type type;
};

/* Sets what is raw and big-endian, if the code is one of these and the numbers can be there. */
static void set_raw(const struct unsupported_input *in, struct advice *raw,
                    const struct code *codes, size_t count, int code, uint64_t skip,
                    uint64_t length)
{
    for (size_t i = 0; i < count; i++)
        if (codes[i].code == code && length <= UINT64_C(1) << 40 &&
            fits(in, skip, length * element_size(codes[i].type)))
            *raw = (struct advice){
                .type = codes[i].type, .order = ELEMENT_ORDER_BIG, .skip = skip, .length = length};
}

/* The product of big-endian sizes of 4 bytes; 0 if one is, or if it is too large. */
static uint64_t product(const unsigned char *sizes, size_t count)
{
    uint64_t x = 1;

    for (size_t i = 0; i < count && x <= UINT64_C(1) << 40; i++)
        x *= bytes_number(sizes + 4 * i, 4, true);
    return x <= UINT64_C(1) << 40 ? x : 0;
}

/* FreeSurfer's: after 32 bits of the version, 29 of the type, and four sizes that give 256 voxels or
   more; unused zeros. */
static bool find_mgh(const struct unsupported_input *in, struct advice *raw)
{
    static const struct code codes[] = {
        {0, ELEMENT_U8}, {1, ELEMENT_I32}, {3, ELEMENT_F32}, {4, ELEMENT_I16}};

    set_raw(in, raw, codes, COUNT(codes), (int)bytes_number(in->bytes + 20, 4, true), 284,
            product(in->bytes + 4, 4));
    return raw->length >= 256;
}

/* An Analyze header, which has no magic and no data: 31 bits of its length, which is the file's; 13
   of the number of dimensions. */
static bool is_analyze(const struct unsupported_input *in)
{
    bool big = in->bytes[0] == 0;

    return is_all(in, 348) && bytes_number(in->bytes, 4, big) == 348 &&
           bytes_number(in->bytes + 40, 2, big) - 1 < 7;
}

/* Before version 5: five words that give byte order and type (25 bits), two sizes, whether there
   are imaginary parts (31), and the length of a name of letters (24), which ends with a zero (8).
 */
static bool is_matlab4(const struct unsupported_input *in)
{
    static const unsigned char sizes[] = {8, 4, 4, 2, 2, 1};
    const unsigned char *b = in->bytes;
    bool big = bytes_number(b, 4, false) > 5052;
    uint64_t word[5], type, next;
    unsigned char more[4];

    for (size_t i = 0; i < 5; i++)
        word[i] = bytes_number(b + 4 * i, 4, big);
    type = word[0] % 1000 / 10;
    if (word[0] / 1000 != big || type >= sizeof sizes || word[0] % 10 > 2 || word[3] > 1 ||
        word[4] < 2 || word[4] > 64 || in->size - 20 < word[4] || b[19 + word[4]] != 0)
        return false;
    for (size_t i = 0; i + 1 < word[4]; i++)
        if (!isalnum(b[20 + i]) && b[20 + i] != '_')
            return false;
    next = 20 + word[4] + word[1] * word[2] * sizes[type] * (1 + word[3]);
    return word[1] >> 31 == 0 && word[2] >> 27 == 0 && fits(in, next, 0) &&
           (is_all(in, next) ||
            (word[1] * word[2] > 0 &&
             (!read_bytes(in, next, more, 4) || bytes_number(more, 4, big) / 1000 == big)));
}

/* As the MNIST digits: 16 bits of zeros, 8 and more of type and dimensions; sizes that give the
   length of the file. */
static bool find_idx(const struct unsupported_input *in, struct advice *raw)
{
    static const struct code codes[] = {{8, ELEMENT_U8},   {9, ELEMENT_I8},   {11, ELEMENT_I16},
                                        {12, ELEMENT_I32}, {13, ELEMENT_F32}, {14, ELEMENT_F64}};
    size_t dimensions = in->bytes[3], skip = 4 + 4 * dimensions;

    if (dimensions >= 1 && dimensions <= 8 && in->size >= skip)
        set_raw(in, raw, codes, COUNT(codes), in->bytes[2], skip,
                product(in->bytes + 4, dimensions));
    return raw->length > 0 && is_all(in, skip + raw->length * element_size(raw->type));
}

/* dBASE: 3 bits of the version, 7 of month and day; a header of 32 n + 1 bytes, or 32 n + 8 (4),
   which with the records gives the length of the file. */
static bool is_dbase(const struct unsupported_input *in)
{
    const unsigned char *b = in->bytes;
    const uint64_t head = bytes_number(b + 8, 2, false), record = bytes_number(b + 10, 2, false),
                   all = head + record * bytes_number(b + 4, 4, false);

    return (b[0] & 7) == 3 && b[2] - 1U < 12 && b[3] - 1U < 31 && record > 1 && head > 64 &&
           (head % 32 | 9) == 9 && (is_all(in, all) || is_all(in, all + 1));
}

/* 3200 characters of ASCII, or bytes above 0x3f as of EBCDIC, the first of which is C or a blank;
   then lengths, and the code of a type (11 bits) in either byte order. */
static bool is_segy(const struct unsupported_input *in)
{
    const unsigned char *b = in->bytes;
    bool ascii = true, ebcdic = true;

    for (size_t i = 0; i < 3200; i++) {
        ascii &= b[i] < 0x7f && (b[i] >= 0x20 || isspace(b[i]));
        ebcdic &= b[i] >= 0x40 || b[i] == 0x25 || isspace(b[i]);
    }
    return (ascii || ebcdic) && memchr("C@ \303", b[0], 4) && (b[3220] | b[3221]) > 0 &&
           (b[3224] == 0 || b[3225] == 0) && (b[3224] | b[3225]) - 1U < 16;
}

/* A length (32 bits and more), and its masked checksum (32). */
static bool is_tfrecord(const struct unsupported_input *in)
{
    const uint32_t sum = filter_crc32c(in->bytes, 8);

    return fits(in, 16, bytes_number(in->bytes, 8, false)) &&
           bytes_number(in->bytes + 8, 4, false) ==
               (uint32_t)((sum >> 15 | sum << 17) + 0xa282ead8);
}

/*
 * Records as Fortran writes them: the length of each stands before it and behind it, as 4 or 8
 * bytes in either order.
 *
 * Numbers of which some happen to be such lengths have to be told from that. A marker that is found
 * at the place that the one before gives counts by how rare its value is among the numbers: in
 * constant data, for nothing. A last record that ends with the file counts 24 bits. A float of a
 * file is hardly beyond 2^30 or below 2^-30, so a first marker that is one counts 12. The file may
 * end within a record, as one does that is still being written: some records before it must be
 * whole, which say enough.
 */
#define FORTRAN_BITS 30
#define FORTRAN_END_BITS 24
#define FORTRAN_STRANGE_BITS 12
#define FORTRAN_RECORDS 32 /* are looked at */
#define FORTRAN_BROKEN_LEAST 2

struct fortran {
    unsigned marker; /* bytes */
    bool big;
    bool asked; /* there are such records, and some may be empty; else numbers may look like them */
    uint64_t first;   /* length of the first record that is not empty */
    unsigned records; /* that are not empty */
    bool whole;       /* these are all */
};

/* Follows the records. Returns how unlikely they are among numbers, in bits; if they are asked for, only how
   well the markers fit. */
static unsigned follow_records(const struct unsupported_input *in, struct fortran *f)
{
    const unsigned m = f->marker;
    const unsigned char *word = in->bytes + (f->big ? m - 4 : 0);
    const float first = (float)element_value(ELEMENT_F32, bytes_number(word, 4, in->big_endian));
    unsigned found = 0, alike = 0, words = 0, rare = 0;
    uint64_t at = 0, length;
    unsigned char bytes[8];
    bool broken = false;

    f->records = 0;
    for (unsigned i = 0; i < FORTRAN_RECORDS && !is_all(in, at); i++) {
        if (!read_bytes(in, at, bytes, m))
            break;
        length = bytes_number(bytes, m, f->big);
        if ((length == 0 && !f->asked) || length >> 62 != 0 || !fits(in, at, 2 * (uint64_t)m) ||
            !fits(in, at + 2 * (uint64_t)m, length)) {
            broken = true;
            break;
        }
        found += f->records > 0 && length == f->first;
        if (f->records == 0)
            f->first = length;
        if (!read_bytes(in, at + m + length, bytes, m))
            break;
        if (bytes_number(bytes, m, f->big) != length) {
            broken = true;
            break;
        }
        found += length > 0;
        f->records += length > 0;
        at += 2 * (uint64_t)m + length;
    }
    if (broken && f->records < FORTRAN_BROKEN_LEAST)
        return 0;
    f->whole = is_all(in, at);
    if (f->asked)
        return found + (f->whole ? FORTRAN_END_BITS : 0);
    for (size_t i = 0; i + 4 <= in->size && i < at; i += 4, words++)
        alike += memcmp(in->bytes + i, word, 4) == 0;
    alike -= alike < found + 1 ? alike : found + 1; /* the markers are not among the numbers */
    if (alike > words / 8)
        return 0;
    while ((words + 1) / (alike + 1) >> (rare + 1) != 0)
        rare++;
    return found * rare + (f->whole ? FORTRAN_END_BITS : 0) +
           (element_is_float(in->type) && element_size(in->type) > 2 && first != 0 &&
                    !(fabsf(first) >= 0x1p-30F && fabsf(first) <= 0x1p30F)
                ? FORTRAN_STRANGE_BITS
                : 0);
}

/* Finds the records of the markers that are least likely among numbers, in one byte order or, of
   ELEMENT_ORDER_UNSAID, any. Returns how unlikely they are, in bits. */
static unsigned find_records(const struct unsupported_input *in, enum element_order order,
                             bool asked, struct fortran *f)
{
    unsigned most = 0;

    for (unsigned i = 0; i < 4; i++) {
        struct fortran other = {.marker = i & 2 ? 8 : 4, .big = i & 1, .asked = asked};
        unsigned bits = 0;

        if (order == ELEMENT_ORDER_UNSAID || (order == ELEMENT_ORDER_BIG) == other.big)
            bits = follow_records(in, &other);
        if (other.records == 0)
            continue;
        if (bits > most)
            *f = other;
        most = bits > most ? bits : most;
    }
    return most;
}

bool unsupported_find_markers(const struct unsupported_input *in, enum element_order order,
                              unsigned *marker, bool *big)
{
    struct fortran f;

    if (in->size < 9 || find_records(in, order, true, &f) == 0)
        return false;
    *marker = f.marker;
    *big = f.big;
    return true;
}

size_t unsupported_take_numbers(const struct unsupported_input *in, unsigned marker, bool big,
                                unsigned char numbers[UNSUPPORTED_HEAD])
{
    size_t taken = 0;

    for (uint64_t at = 0; at + marker < in->size && taken < UNSUPPORTED_HEAD;) {
        const uint64_t length = bytes_number(in->bytes + at, marker, big) & (UINT64_MAX >> 2);
        const uint64_t there = in->size - at - marker;
        size_t some = UNSUPPORTED_HEAD - taken;

        some = length < some ? (size_t)length : some;
        some = there < some ? (size_t)there : some;
        memcpy(numbers + taken, in->bytes + at + marker, some);
        taken += some;
        at += 2 * (uint64_t)marker + length;
    }
    return taken;
}

/* The type of records, where nobody has said it: doubles, if they are no f32. */
static enum element_type record_type(const struct unsupported_input *in, const struct fortran *f)
{
    unsigned char numbers[UNSUPPORTED_HEAD];
    struct advice better;
    size_t size;

    if (in->type != ELEMENT_F32 || f->first % sizeof(double) != 0)
        return in->type;
    size = unsupported_take_numbers(in, f->marker, f->big, numbers);
    return plausibility_better(numbers, size, ELEMENT_F32, f->big, &better) &&
                   !plausibility_better(numbers, size, ELEMENT_F64, f->big, &better)
               ? ELEMENT_F64
               : in->type;
}

static bool find_fortran(const struct unsupported_input *in, struct advice *raw)
{
    struct fortran f;

    if (find_records(in, ELEMENT_ORDER_UNSAID, false, &f) < FORTRAN_BITS)
        return false;
    *raw = (struct advice){.type = record_type(in, &f),
                           .order = f.big ? ELEMENT_ORDER_BIG : ELEMENT_ORDER_UNSAID};
    return true;
}

/*
 * Images, sound, meshes and programs.
 */

/* 32 bits; the first directory does not lie in the header and begins in the file, at an even byte.
 */
static bool is_tiff(const struct unsupported_input *in)
{
    uint64_t first = bytes_number(in->bytes + 4, 4, in->bytes[0] == 'M');

    return first >= 8 && first % 2 == 0 && fits(in, first, 2);
}

/* P1 to P6, PF and Pf, a blank, and numbers, or a comment that begins with a blank: 35 bits. */
static bool is_pnm(const struct unsupported_input *in)
{
    const unsigned char *b = in->bytes;

    if (b[1] == 0 || !strchr("123456Ff", b[1]) || !isspace(b[2]))
        return false;
    for (size_t i = 4; i < 7; i++)
        if (b[i] == 0 || !strchr("0123456789 \t\r\n", b[i]))
            return BEGINS(in, 3, "# ");
    return isdigit(b[3]) || (isspace(b[3]) && isdigit(b[4]));
}

/* Triangles, whose number gives the length of the file: a subnormal f32, or the 32 last bits of an
   f64. In the other byte order, and of elements of 2 bytes, it may be a number that occurs. */
static bool is_stl(const struct unsupported_input *in)
{
    uint64_t triangles = bytes_number(in->bytes + 80, 4, false);

    return element_is_float(in->type) && element_size(in->type) > 2 && !in->big_endian &&
           triangles > 0 && is_all(in, 84 + 50 * triangles);
}

/*
 * The table. The first of two matching rows counts: so special formats stand before general ones,
 * and text is last. OR is another beginning of the format of the row before it.
 */

/* clang-format off */
#define START(magic_, ...) .places[0] = {0, (magic_), sizeof(magic_) - 1}, __VA_ARGS__
#define ROW(name_, ...) {.name = (name_), START(__VA_ARGS__, )}
#define OR(...) {START(__VA_ARGS__, )}
#define AT(at_, bytes_) .places[1] = {(at_), (bytes_), sizeof(bytes_) - 1}
#define AND(at_, bytes_) .places[2] = {(at_), (bytes_), sizeof(bytes_) - 1}
#define TEST(least_, also_) .least = (least_), .also = (also_)
#define FIND(least_, find_) .least = (least_), .find = (find_)
#define NOTHING .kind = UNSUPPORTED_NOTHING
#define WORDS(text_) .kind = UNSUPPORTED_WORDS, .text = (text_)
#define FILTER(text_) .kind = UNSUPPORTED_FILTER, .text = (text_)
#define COMMAND(text_) .kind = UNSUPPORTED_COMMAND, .text = (text_)
#define PYTHON(modules_, text_) .kind = UNSUPPORTED_PYTHON, .modules = (modules_), .text = (text_)

/* Common to several rows. */
#define READ(name_, tool_, ...) ROW(name_, __VA_ARGS__, WORDS(tool_ " reads it"))
#define NONE(name_, ...) ROW(name_, __VA_ARGS__, NOTHING)
#define OLD_ZSTD TEST(24, is_old_zstd)
#define PICKLE(entry_, ...) \
    ROW("a Python pickle", __VA_ARGS__, PYTHON("pickle", "pickle.load(open('FILE', 'rb'))" entry_))
#define PANDAS(function_) PYTHON("pandas", "pandas." function_ "('FILE')['NAME']")
#define READ_R(entry_) PYTHON("pyreadr", "pyreadr.read_r('FILE')[" entry_ "]")
#define LOADMAT PYTHON("scipy.io", "scipy.io.loadmat('FILE')['NAME']")
#define NIBABEL PYTHON("nibabel", "nibabel.load('FILE').get_fdata()")
#define MASKED(values_, fill_, name_) \
    "(lambda " name_ ": numpy.ma.compressed(numpy.ma.masked_equal(" values_ ", " fill_ ")))"
#define OBSPY(name_, ...) ROW(name_, __VA_ARGS__, PYTHON("obspy", "obspy.read('FILE')[0].data"))
#define GDAL(name_, ...) ROW(name_, __VA_ARGS__, PYTHON("rasterio", "rasterio.open('FILE').read()"))
#define TIFF PYTHON("tifffile", "tifffile.imread('FILE')")
#define SOUND PYTHON("soundfile", "soundfile.read('FILE')[0]")
#define IMAGE PYTHON("imageio.v3", "imageio.v3.imread('FILE')")
#define HDF5 WORDS("a gpureduce that is built with libhdf5 reads it")

static const struct unsupported table[] = {
    ROW("a gzip file", "\x1f\x8b\x08", TEST(10, is_gzip), FILTER("gzip -dc")),
    ROW("an xz file", "\xfd" "7zXZ\0", FILTER("xz -dc")), ROW("a bzip2 file", "BZh",
        AT(4, "1AY&SY"), FILTER("bzip2 -dc")), OR("BZh", AT(4, "\x17\x72\x45\x38\x50\x90")),
    ROW("an lz4 file", "\x04\x22\x4d\x18", TEST(7, is_lz4), FILTER("lz4 -dc")),
    OR("\x02\x21\x4c\x18", AT(7, "\0")), ROW("an lzma file", "\x5d", TEST(13, is_lzma),
        FILTER("xz -dc")), ROW("an lzip file", "LZIP\x01", FILTER("lzip -dc")),
    ROW("an lzop file", "\x89LZO\0\r\n\x1a\n", FILTER("lzop -dc")),
    ROW("an lrzip file", "LRZI\0", FILTER("lrzip -dq")), ROW("a file of compress(1)", "\x1f\x9d",
        TEST(3 + 9 * COMPRESS_CODES / 8 + 2, is_compress), FILTER("gzip -dc")),
    ROW("a framed Snappy file", "\xff\x06\0\0sNaPpY", FILTER("python3 -m snappy -d")),
    ROW("a file of zstd 0.1 to 0.4", "\xfd\x2f\xb5\x1e", OLD_ZSTD,
        WORDS("a zstd(1) that was built with ZSTD_LEGACY_SUPPORT=1 decompresses it")),
    OR("\x1e\xb5\x2f\xfd", OLD_ZSTD), OR("\x22\xb5\x2f\xfd", OLD_ZSTD),
    OR("\x23\xb5\x2f\xfd", OLD_ZSTD), OR("\x24\xb5\x2f\xfd", OLD_ZSTD),
    ROW("a file of zstd 0.5 to 0.7", "\x25\xb5\x2f\xfd", OLD_ZSTD, FILTER("zstd -dc")),
    OR("\x26\xb5\x2f\xfd", OLD_ZSTD), OR("\x27\xb5\x2f\xfd", OLD_ZSTD),
    ROW("a TorchScript program", "PK\3\4", TEST(30, is_torch_script), PYTHON("torch",
        "torch.jit.load('FILE', map_location='cpu').state_dict()['NAME'].double().numpy()")),
    ROW("a zip archive", "PK\3\4", TEST(30, is_zip), COMMAND("unzip -p FILE {}"),
        .detail = say_zip_member, .arrays = true), ROW("an empty zip archive", "PK\5\6\0\0\0\0",
        .least = 22, NOTHING), ROW("a tar archive", "", AT(257, "ustar\0"),
        COMMAND("tar -xOf FILE {}"), .least = 512, .detail = say_tar_member),
    OR("", AT(257, "ustar "), .least = 512), OR("", TEST(512, is_old_tar)),
    ROW("an ISO 9660 image", "\0\0\0\0", TEST(UNSUPPORTED_HEAD, is_iso),
        COMMAND("bsdtar -xOf FILE MEMBER")),
    ROW("a 7z archive", "7z\xbc\xaf\x27\x1c", COMMAND("7z x -so FILE MEMBER")),
    ROW("a RAR archive", "Rar!\x1a\x07", COMMAND("unrar p -inul FILE MEMBER")),
    ROW("an ar archive", "!<arch>\n", COMMAND("ar p FILE MEMBER")),
    ROW("an encrypted file", "Salted__", WORDS("decrypt it with openssl first")),
    ROW("a pointer of Git LFS", "version https://git-lfs", WORDS("'git lfs pull' gets the file")),
    ROW("a pointer of git-annex", "/annex/objects/", WORDS("'git annex get' gets the file")),
    NONE("a macOS folder's settings", "\0\0\0\1" "Bud1"),
    NONE("a macOS file's attributes", "\0\5\x16\7\0\2\0\0"),

    ROW("a PyTorch file of before version 1.6",
        "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", PYTHON("torch",
        "torch.load('FILE', map_location='cpu')['NAME'].double().numpy()")),
    PICKLE("['NAME']", "\x80\4\x95", AT(8, "\0\0\0}")), OR("\x80\5\x95", AT(8, "\0\0\0}")),
    OR("\x80\2}q"), OR("\x80\3}q\0"), OR("}q\0X", AT(5, "\0\0\0")),
    OR("}q", TEST(5, is_pickled_list)), OR("(dp0\n"), OR("(dp1\n"),
    PICKLE("", "\x80\4\x95", AT(8, "\0\0\0")), OR("\x80\5\x95", AT(8, "\0\0\0")), OR("\x80\2]q"),
    OR("\x80\3]q\0"), OR("]q", TEST(5, is_pickled_list)), OR("(lp0\n"), OR("(lp1\n"), OR("cnumpy"),
    OR("", TEST(8, is_pickle)), OR("", TEST(8, is_pickled_value)),
    ROW("a GGML file", "lmgg", AT(7, "\0"),
        WORDS("llama.cpp's convert_llama_ggml_to_gguf.py makes a GGUF file of it")),
    OR("fmgg", AT(5, "\0\0\0")), OR("tjgg", AT(5, "\0\0\0")), OR("algg", AT(5, "\0\0\0")),
    ROW("an ONNX model", "\x08", TEST(16, is_onnx), PYTHON("onnx.numpy_helper",
        "onnx.numpy_helper.to_array(onnx.load('FILE').graph.initializer[0])")),
    READ("a TFLite model", "tf.lite.Interpreter", "", AT(2, "\0\0TFL3")),
    READ("a TFRecord file", "tf.data.TFRecordDataset", "", TEST(16, is_tfrecord)),
    READ("a fastText model", "fasttext", "\xba\x16\x4f\x2f\x0c\0\0\0"),
    READ("a Faiss index", "faiss", "I", AT(16, "\0\0\x10\0\0\0\0\0\0\0\x10\0\0\0\0\0")),
    READ("an XGBoost file", "xgboost", "{L\0\0\0\0\0\0\0"), OR("\1\xab\xff\xff" "version:"),

    ROW("a Parquet file", "PAR1\x15", PANDAS("read_parquet")),
    ROW("an encrypted Parquet file", "PARE", AT(6, "\0\0"), WORDS("decrypt it first")),
    ROW("an Arrow file (or Feather)", "ARROW1\0\0", PANDAS("read_feather")),
    ROW("an Arrow stream", "\xff\xff\xff\xff", AT(6, "\0\0\x10\0\0\0"), TEST(16, is_arrow),
        PYTHON("pyarrow", "pyarrow.ipc.open_stream('FILE').read_all()['NAME']")),
    ROW("a Feather file", "FEA1\0\0\0\0", PANDAS("read_feather")),
    ROW("an ORC file", "ORC", TEST(10, is_orc), PANDAS("read_orc")),
    ROW("an SQLite database", "SQLite format 3\0", PYTHON("sqlite3",
        "numpy.array(sqlite3.connect('FILE').execute('{}').fetchall(), float)"),
        .detail = say_query),
    ROW("an Avro file", "Obj\x01", AT(6, "avro."), PYTHON("fastavro",
        "numpy.array([r['NAME'] for r in fastavro.reader(open('FILE', 'rb'))], float)")),
    ROW("an LMDB database", "", AT(16, "\xde\xc0\xef\xbe\1\0\0\0"), PYTHON("lmdb",
        "numpy.frombuffer(lmdb.open('FILE', subdir=False).begin().get(b'NAME'), 'f4')")),
    ROW("a TensorFlow checkpoint's index", "\0\0\6\x08", AT(5, "\x1a\2\x08\1"),
        WORDS("tensorflow.train.load_checkpoint reads the arrays")),
    ROW("an OLE file (as of Excel)", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", PANDAS("read_excel")),
    ROW("a SAS file", "", AT(12, "\xc2\xea\x81\x60\xb3\x14\x11\xcf"), PANDAS("read_sas")),
    OR("HEADER RECORD*******LIB"), ROW("an SPSS file", "$FL", AT(4, "@(#)"), PANDAS("read_spss")),
    ROW("a Stata file", "<stata_dta>", PANDAS("read_stata")), OR("\x71\1\1\0", AT(108, "\0")),
    OR("\x72\1\1\0", AT(108, "\0")), OR("\x73\1\1\0", AT(108, "\0")),
    OR("\x71\2\1\0", AT(108, "\0")), OR("\x72\2\1\0", AT(108, "\0")),
    OR("\x73\2\1\0", AT(108, "\0")), ROW("an R data file", "RDX2\nX\n", READ_R("'NAME'")),
    OR("RDX3\nX\n"), ROW("an R data file", "X\n\0\0\0\2", READ_R("None")), OR("X\n\0\0\0\3"),
    READ("a DuckDB database", "duckdb", "", AT(8, "DUCK"), AND(14, "\0\0\0\0\0\0")),
    READ("a dBASE file", "dbfread", "", TEST(32, is_dbase)),
    READ("an Access database", "mdb-export", "\0\1\0\0Standard "),
    READ("an Octave file", "Octave", "Octave-1-"),
    READ("a Blosc2 file", "blosc2.open", "", AT(2, "b2frame\0")),

    ROW("a MATLAB 7.3 file", "MATLAB 7.3 MAT-file", HDF5),
    ROW("a MATLAB file", "MATLAB 5.0 MAT-file", LOADMAT),
    ROW("a MATLAB 4 file", "", TEST(22, is_matlab4), LOADMAT),
    ROW("an HDF5 file (or netCDF-4)", "", TEST(8, is_hdf5), HDF5),
    ROW("an HDF4 file", "\x0e\x03\x13\x01\0", PYTHON("pyhdf.SD",
        MASKED("v[:]", "v.attributes().get('_FillValue')",
        "v") "(pyhdf.SD.SD('FILE').select('NAME'))")), ROW("a NIfTI file", "\x5c\1\0\0",
        AT(344, "ni1\0"), .least = 348, NIBABEL), OR("\0\0\1\x5c", AT(344, "ni1\0"), .least = 348),
    OR("\x1c\2\0\0ni2\0\r\n\x1a\n", .least = 540), OR("\0\0\2\x1cni2\0\r\n\x1a\n", .least = 540),
    ROW("an MGH file", "\0\0\0\1", AT(120, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
        AND(200, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), FIND(284, find_mgh), NIBABEL),
    ROW("an Analyze header", "", TEST(348, is_analyze), NIBABEL),
    ROW("an NRRD file", "NRRD000", PYTHON("nrrd", "nrrd.read('FILE')[0]")),
    ROW("a MetaImage file", "ObjectType =",
        PYTHON("SimpleITK", "SimpleITK.GetArrayFromImage(SimpleITK.ReadImage('FILE'))")),
    OR("NDims ="), OR("Comment =", TEST(9, is_meta_image)),
    ROW("a Matrix Market file", "%%MatrixMarket",
        PYTHON("scipy.io", "scipy.io.mmread('FILE').data")),
    ROW("a VTK file", "# vtk DataFile", PYTHON("meshio", "meshio.read('FILE').point_data['NAME']")),
    ROW("a VTK file", "<VTKFile ", PYTHON("pyvista", "pyvista.read('FILE')['NAME']")),
    OR("<?xml version=\"1.0\"?>\n<VTKFile "),
    ROW("a CDF file", "\xcd\xf3\0\1\0\0\xff\xff", PYTHON("cdflib",
        MASKED("f.varget('NAME')", "f.varattsget('NAME').get('FILLVAL')",
        "f") "(cdflib.CDF('FILE'))")), OR("\xcd\xf3\0\1\xcc\xcc\0\1"),
    OR("\xcd\xf2\x60\2\0\0\xff\xff"), OR("\xcd\xf2\x60\2\xcc\xcc\0\1"),
    ROW("an IDL save file", "SR\0\4\0\0\0", PYTHON("scipy.io", "scipy.io.readsav('FILE')['NAME']")),
    ROW("an IDX file (as of MNIST)", "\0\0", FIND(8, find_idx), NOTHING),
    READ("a DCD file", "MDAnalysis", "\x54\0\0\0" "CORD"), OR("\0\0\0\x54" "CORD"),
    ROW("a Fortran file of records", "", FIND(12, find_fortran), .kind = UNSUPPORTED_FORTRAN),
    ROW("a GRIB file", "GRIB", AT(7, "\1"), PYTHON("eccodes",
        MASKED("m['values']", "m['missingValue']",
        "m") "(next(iter(eccodes.FileReader('FILE'))))")), OR("GRIB", AT(7, "\2")),
    ROW("a BUFR file", "BUFR", AT(7, "\2"), WORDS("bufr_dump of ecCodes prints its values")),
    OR("BUFR", AT(7, "\3")), OR("BUFR", AT(7, "\4")), ROW("a DICOM file", "", AT(128, "DICM\2\0"),
        PYTHON("pydicom", "pydicom.dcmread('FILE').pixel_array")),
    ROW("an ASDF file", "#ASDF 1.", PYTHON("asdf", "asdf.open('FILE')['NAME']")),
    ROW("an MRC file", "", AT(208, "MAP \x44\x44"), PYTHON("mrcfile", "mrcfile.open('FILE').data")),
    OR("", AT(208, "MAP \x44\x41")), OR("", AT(208, "MAP \x11\x11")),
    ROW("a LAS or LAZ file", "LASF", AT(24, "\1"), PYTHON("laspy", "laspy.read('FILE')['NAME']")),
    ROW("a PCD file", "# .PCD v", PYTHON("open3d", "open3d.io.read_point_cloud('FILE').points")),
    ROW("a BDF file", "\xff" "BIOSEMI", PYTHON("mne", "mne.io.read_raw_bdf('FILE').get_data()")),
    ROW("a TDMS file", "TDSm", AT(9, "\x12\0\0"),
        PYTHON("nptdms", "nptdms.TdmsFile.read('FILE')['GROUP']['NAME'][:]")),
    ROW("a ROOT file", "root\0",
        PYTHON("uproot", "uproot.open('FILE')['TREE']['NAME'].array(library='np')")),
    READ("a TRR or XTC file", "MDAnalysis", "\0\0\7\xc9\0\0\0\x0d"),
    OR("\0\0\7\xcb", AT(56, "\x44\x7a\0\0")), OR("\0\0\7\xe7", AT(56, "\x44\x7a\0\0")),
    READ("a GSD file", "gsd.hoomd", "\xdf\x65\xdf\x65\xdf\x65\xdf\x65"),
    READ("a BAM or CRAM file", "samtools", "BAM\1", AT(7, "\0")), OR("CRAM\2"), OR("CRAM\3"),
    READ("a BCF file", "bcftools", "BCF\2\2"), READ("an FCS file", "flowio", "FCS", AT(6, "    ")),
    READ("a bigWig file", "pyBigWig", "\x26\xfc\x8f\x88", AT(5, "\0")),
    OR("\xeb\xf2\x89\x87", AT(5, "\0")), NONE("a 2bit file", "\x43\x27\x41\x1a\0\0\0\0"),
    READ("a BGEN file", "bgen-reader", "", AT(15, "\0bgen")),
    READ("a POD5 file", "pod5", "\x8bPOD\r\n\x1a\n"), GDAL("a NITF image", "NITF0"), OR("NSIF0"),
    OBSPY("a SAC file", "", AT(272, "\0\xe4\x40\xc6"), AND(304, "\6\0\0\0")),
    OR("", AT(272, "\0\xe4\x40\xc6"), AND(304, "\7\0\0\0")),
    OR("", AT(272, "\xc6\x40\xe4\0"), AND(304, "\0\0\0\6")),
    OR("", AT(272, "\xc6\x40\xe4\0"), AND(304, "\0\0\0\7")), GDAL("a VICAR image", "LBLSIZE="),
    OBSPY("a miniSEED file", "00", AT(6, "D "), AND(20, "\7")),
    OR("00", AT(6, "D "), AND(21, "\7")), OR("00", AT(6, "M "), AND(20, "\7")),
    OR("00", AT(6, "Q "), AND(20, "\7")), OR("00", AT(6, "R "), AND(20, "\7")),
    READ("a miniSEED file", "pymseed", "MS\3", AT(9, "\7"), AND(11, "\0")),
    OR("MS\3", AT(9, "\7"), AND(11, "\1")), READ("a DLIS file", "dlisio", "", AT(4, "V1.00RECORD")),
    READ("a SEG-Y file", "segyio", "", AT(3300, "\0\0\0\0\0\0\0\0"), TEST(3600, is_segy)),
    READ("a shapefile", "geopandas", "\0\0\x27\x0a\0\0\0\0", AT(28, "\xe8\3\0\0")),
    READ("a FlatGeobuf file", "geopandas", "fgb\3fgb"), GDAL("an ISIS cube", "Object = IsisCube"),
    GDAL("a PDS image", "PDS_VERSION_ID"), OR("CCSD3ZF0000"), GDAL("an ENVISAT file", "PRODUCT=\""),
    GDAL("an ERDAS image", "EHFA_HEADER_TAG"), GDAL("a PCIDSK image", "PCIDSK  "),
    GDAL("a PCRaster map", "RUU CROSS SYSTEM"), GDAL("a DTED file", "UHL1", AT(80, "DSI")),
    GDAL("a Surfer grid", "DSRB\4\0\0\0"), READ("a NEXRAD file", "Py-ART", "AR2V00"),
    OR("ARCHIVE2."), READ("a SIGPROC file", "blimpy", "\x0c\0\0\0HEADER_START"),
    READ("a SPICE kernel", "spiceypy", "DAF/", AT(7, " ")),
    READ("a CASA table", "casacore", "\xbe\xbe\xbe\xbe\0\0"),
    READ("a FIF file", "mne", "\0\0\0\x64\0\0\0\x1f\0\0\0\x14"),
    READ("an ABF file", "pyabf", "ABF2\0\0"), OR("ABF ", AT(7, "\x3f")),
    READ("a Spike2 file", "neo", "", AT(2, "(C) CED 87")),
    READ("a Plexon file", "neo", "PLEX", AT(5, "\0\0\0")),
    READ("a Blackrock file", "neo", "NEURAL"), READ("an MRtrix image", "mrconvert", "mrtrix image"),
    READ("a Neuralynx file", "neo", "######## Neuralynx"),
    READ("an Intan file", "neo", "\x02\x27\x91\xc6", AT(5, "\0")),
    OR("\xac\x27\x91\xd6", AT(5, "\0")), READ("a C3D file", "ezc3d", "\2\x50", AT(512, "\1\x50"),
        AND(515, "\x54")), READ("a file of tracks", "nibabel.streamlines", "TRACK\0"),
    OR("mrtrix tracks"), ROW("an ECAT file", "MATRIX7", NIBABEL),
    READ("a FreeSurfer file", "nibabel.freesurfer", "\xff\xff\xfe" "created "),
    OR("\xff\xff\xff\0", AT(11, "\0\0\0\1")), READ("an MDF file", "asammdf", "MDF     "),
    OR("UnFinMF "), READ("a BLF file", "python-can", "LOGG\x90\0\0\0"),
    NONE("a packet capture", "\xd4\xc3\xb2\xa1\2\0"), OR("\xa1\xb2\xc3\xd4\0\2"),
    OR("\x4d\x3c\xb2\xa1\2\0"), OR("\x0a\x0d\x0d\x0a", AT(8, "\x4d\x3c\x2b\x1a")),
    READ("a LeCroy file", "lecroyscope", "WAVEDESC"), OR("#9", AT(11, "WAVEDESC")),
    READ("a Gatan image", "ncempy", "\0\0\0\3", AT(8, "\0\0\0\1\1\0\0\0\0")),
    OR("\0\0\0\4", AT(12, "\0\0\0\1\1\0\0\0\0")), READ("a CZI image", "czifile", "ZISRAWFILE"),
    READ("an ND2 image", "nd2", "\xda\xce\xbe\x0a", AT(16, "ND2 FILE")),
    READ("a LIF image", "readlif", "p\0\0\0", AT(8, "\x2a"), AND(13, "<\0L\0")),
    READ("an SPE image", "spe2py", "", AT(4092, "\x67\x45\x23\1"), AND(109, "\0")),
    READ("an Andor image", "sif_parser", "Andor Technology"),
    READ("a Nanoscope file", "Gwyddion", "\\*File list"),
    READ("a Gwyddion file", "gwyfile", "GWYPGwyContainer"), READ("a zfp file", "zfpy", "zfp\5"),
    READ("a WiRE file", "renishawWiRE", "WDF1", AT(8, "\0\2\0\0")),
    READ("an OPUS file", "brukeropus", "\x0a\x0a\xfe\xfe", AT(10, "\x2c\x41")),
    READ("a Thermo file", "ThermoRawFileParser", "\1\xa1" "F\0i\0n\0"),
    READ("an NMR spectrum", "nmrglue", "JEOL.NMR"), OR("UCSF NMR\0"),
    OR("\0\0\0\0\xef\xee\x6e\x4f\x7b\x14\x16\x40"), READ("an EDF image", "fabio", "{\nEDF_"),
    OR("{\nHeaderID"), READ("an ADSC image", "fabio", "{\nHEADER_BYTES="),
    READ("a CBF image", "fabio", "###CBF: VERSION"), READ("a Bruker image", "fabio", "FORMAT :"),
    READ("an E57 file", "pye57", "ASTM-E57"), READ("a glTF file", "trimesh", "glTF\2\0\0\0"),
    READ("a Gmsh file", "meshio", "$MeshFormat"), READ("a USD file", "usdcat", "PXR-USDC"),
    READ("a VDB file", "pyopenvdb", " BDV\0\0\0\0"), READ("a Tecplot file", "pytecplot", "#!TDV"),
    READ("an Amira file", "Fiji", "# AmiraMesh"), OR("# Avizo"),
    READ("an ADF file", "adf2hdf", "@(#)ADF Database"), READ("an ADIOS file", "bpls", "ADIOS-BP v"),

    ROW("a TIFF image", "II*\0", TEST(8, is_tiff), TIFF), OR("MM\0*", TEST(8, is_tiff)),
    ROW("a BigTIFF image", "II+\0\x08\0\0\0", TIFF), OR("MM\0+\0\x08\0\0"),
    ROW("a WAV file", "RIFF", AT(8, "WAVE"),
        PYTHON("scipy.io.wavfile", "scipy.io.wavfile.read('FILE')[1]")), OR("RIFX", AT(8, "WAVE")),
    ROW("a WAV file", "RF64", AT(8, "WAVE"), SOUND), ROW("an AU file", ".snd\0\0", SOUND),
    OR("dns.", AT(5, "\0\0\0")), ROW("an AIFF file", "FORM", AT(8, "AIF"), SOUND),
    ROW("a FLAC file", "fLaC", AT(5, "\0\0\x22"), SOUND), ROW("an Ogg file", "OggS\0\2", SOUND),
    ROW("an MP3 file", "ID3\2\0", SOUND), OR("ID3\3\0"), OR("ID3\4\0"),
    OR("\xff\xfb", AT(36, "Xing")), OR("\xff\xfb", AT(36, "Info")), OR("\xff\xfb", AT(21, "Xing")),
    OR("\xff\xfb", AT(21, "Info")), OR("\xff\xf3", AT(21, "Xing")), OR("\xff\xf3", AT(21, "Info")),
    OR("\xff\xf3", AT(13, "Xing")), OR("\xff\xf3", AT(13, "Info")),
    ROW("a Wave64 file", "riff\x2e\x91\xcf\x11", SOUND), ROW("a CAF file", "caff\0\1", SOUND),
    ROW("a VOC file", "Creative Voice", SOUND), ROW("an SVX file", "FORM", AT(8, "8SVX"), SOUND),
    OR("FORM", AT(8, "16SV")), ROW("a SPHERE file", "NIST_1A\n", SOUND),
    ROW("a PVF file", "PVF1\n", SOUND), ROW("a PAF file", " paf\0\0\0\0", SOUND),
    OR("fap \0\0\0\0"), ROW("an IRCAM file", "\x64\xa3\2\0", AT(8, "\0\0\0"), SOUND),
    OR("\x64\xa3\3\0", AT(9, "\0\0\0")), OR("\x64\xa3\1\0", AT(9, "\0\0\0")),
    READ("a WavPack file", "ffmpeg", "wvpk", AT(9, "\4")), READ("a TTA file", "ffmpeg", "TTA1\1\0"),
    READ("an APE file", "ffmpeg", "MAC ", AT(5, "\x0f")),
    READ("a DSF file", "ffmpeg", "DSD \x1c\0\0\0"), ROW("an OpenEXR image", "v/1\1\2",
        AT(6, "\0\0"), PYTHON("OpenEXR", "OpenEXR.File('FILE').channels()['NAME'].pixels")),
    ROW("a JPEG 2000 image", "\0\0\0\x0cjP  \r\n\x87\n", IMAGE), OR("\xff\x4f\xff\x51\0"),
    ROW("a PNM or PFM image", "P", TEST(7, is_pnm), IMAGE), ROW("a PAM image", "P7\nWIDTH ", IMAGE),
    ROW("a DDS image", "DDS |\0\0\0", IMAGE), ROW("an SGI image", "\1\xda\0\1\0",
        AT(12, "\0\0\0\0\0\0\0\xff"), IMAGE), OR("\1\xda\1\1\0", AT(12, "\0\0\0\0\0\0\0\xff")),
    ROW("a PCX image", "\x0a\5\1\x08\0\0\0\0", AT(74, "\0\0\0\0\0\0\0\0"), IMAGE),
    READ("a Photoshop image", "psd_tools", "8BPS\0"),
    READ("a Radiance image", "cv2", "#?RADIANCE\n"), OR("#?RGBE\n"),
    READ("a Sun raster", "cv2", "\x59\xa6\x6a\x95", AT(12, "\0\0\0")),
    READ("a DPX image", "OpenImageIO", "SDPX", AT(8, "V")), OR("XPDS", AT(8, "V")),
    ROW("a PLY file", "ply\nformat ",
        PYTHON("plyfile", "plyfile.PlyData.read('FILE')['vertex']['NAME']")), OR("ply\r\nformat "),
    ROW("an STL file", "", TEST(84, is_stl), PYTHON("trimesh", "trimesh.load('FILE').vertices")),
    READ("a SER video", "Siril", "LUCAM-RECORDER"), NONE("an AVI video", "RIFF", AT(8, "AVI ")),
    NONE("an MP4 file", "\0\0", AT(4, "ftyp")), OR("\0\0", AT(4, "moov")),
    OR("\0\0", AT(4, "styp")), OR("\0\0\0\x08wide"), NONE("a JPEG XL image", "\0\0\0\x0cJXL \r\n"),
    NONE("a Matroska video", "\x1a\x45\xdf\xa3", AT(5, "\x42\x86\x81\1")),
    OR("\x1a\x45\xdf\xa3", AT(5, "\x42\x82")), OR("\x1a\x45\xdf\xa3", AT(12, "\x42\x86\x81\1")),
    NONE("an MPEG video", "\0\0\1\xba\x44", AT(14, "\0\0\1")),
    OR("\0\0\1\xba\x21", AT(12, "\0\0\1")), OR("\x47\x40\0", AT(4, "\0\0\xb0")),
    OR("\x47\x40\x11", AT(4, "\0\x42\xf0")), NONE("a video", "\x30\x26\xb2\x75\x8e\x66\xcf\x11"),
    OR(".RMF\0\0\0\x12"), OR("FLV\1", AT(5, "\0\0\0\x09")), OR("YUV4MPEG2 "),
    OR("\6\x0e\x2b\x34\2\5\1\1"), NONE("a WebP image", "RIFF", AT(8, "WEBP")),
    NONE("a BMP image", "BM", AT(6, "\0\0\0\0")), NONE("a PNG image", "\x89PNG\r\n\x1a\n"),
    NONE("a JPEG image", "\xff\xd8\xff", AT(6, "JFIF")), OR("\xff\xd8\xff", AT(6, "Exif")),
    OR("\xff\xd8\xff", AT(6, "http")), OR("\xff\xd8\xff", AT(6, "ICC_")),
    OR("\xff\xd8\xff", AT(6, "Adob")), OR("\xff\xd8\xff", AT(6, "Lavc")),
    OR("\xff\xd8\xff\xdb\0\x43\0"), OR("\xff\xd8\xff\xdb\0\x84\0"), NONE("a GIF image", "GIF87a"),
    OR("GIF89a"), NONE("a PDF document", "%PDF-"), NONE("a Java class", "\xca\xfe\xba\xbe\0\0\0"),
    NONE("a program or a library", "\x7f" "ELF", AT(6, "\1")), OR("MZ\x90\0\3\0"),
    OR("MZ\x78\0\1\0"), OR("\xcf\xfa\xed\xfe\x07\0\0\1"), OR("\xcf\xfa\xed\xfe\x0c\0\0\1"),

    NONE("an XML file", "<?xml "), NONE("an HTML file", "<!DOCTYPE"), OR("<!doctype"), OR("<html"),
    OR("<HTML"), ROW("a JSON file", "", TEST(4, unsupported_is_json), PYTHON("json", "{}"),
        .detail = unsupported_say_json), ROW("a text file of numbers", "",
        TEST(4, unsupported_is_numbers), PYTHON(NULL, "{}"), .detail = unsupported_say_table),
    ROW("a text file", "", TEST(4, unsupported_is_table), PYTHON(NULL, "{}"),
        .detail = unsupported_say_table), ROW("a text file", "", TEST(4, unsupported_is_text),
        PANDAS("read_csv")),
    ROW("a text file in UTF-16 or UTF-32", "", TEST(8, unsupported_is_wide_text), PYTHON("pandas",
        "pandas.read_csv('FILE', encoding='{}')['NAME']"), .detail = unsupported_say_encoding),
    /* Text may begin so, too. */
    ROW("a cpio archive", "07070", COMMAND("bsdtar -xOf FILE MEMBER")),
    ROW("an EDF file", "0       ", AT(170, "."),
        PYTHON("mne", "mne.io.read_raw_edf('FILE').get_data()")),
};
/* clang-format on */

const struct unsupported *unsupported_find(const struct unsupported_input *in, struct advice *raw)
{
    for (size_t i = 0; i < COUNT(table); i++) {
        const struct unsupported *row = &table[i];
        bool found = in->size >= row->least;

        for (size_t k = 0; k < COUNT(row->places) && found; k++)
            found = begins(in, row->places[k].at, row->places[k].bytes, row->places[k].length);
        *raw = (struct advice){0};
        if (found && (!row->also || row->also(in)) && (!row->find || row->find(in, raw))) {
            for (; !row->name; row--)
                ;
            return row;
        }
    }
    return NULL;
}

/* Copies a text into a buffer, with something else for each of a word. */
static void replace(char *buffer, size_t size, const char *text, const char *word, const char *by)
{
    size_t used = 0, length = strlen(word);

    while (*text && used + 1 < size) {
        bool found = strncmp(text, word, length) == 0;
        size_t more = found ? strlen(by) : 1;

        more = more > size - used - 1 ? size - used - 1 : more;
        memcpy(buffer + used, found ? by : text, more);
        used += more;
        text += found ? length : 1;
    }
    buffer[used] = 0;
}

void unsupported_python(char *command, size_t size, const char *word, const char *modules,
                        const char *expression)
{
    const bool quoted = *word == '\'';
    char text[UNSUPPORTED_TEXT_MAX / 2];

    replace(text, sizeof text, expression, quoted ? "'FILE'" : "FILE",
            quoted ? "sys.argv[1]" : word);
    snprintf(command, size, "python3 -c \"import numpy%s%s%s; numpy.save('out', %s)\"%s%s",
             quoted ? ", sys" : "", *modules ? ", " : "", modules, text, quoted ? " " : "",
             quoted ? word : "");
}

void unsupported_advise(const struct unsupported *row, const struct unsupported_input *in,
                        const char *path, enum compression compressed, struct advice *advice,
                        char text[UNSUPPORTED_TEXT_MAX])
{
    char said[UNSUPPORTED_DETAIL_MAX] = "", told[UNSUPPORTED_TEXT_MAX / 2];
    char command[UNSUPPORTED_TEXT_MAX / 2];
    char name[SHELL_WORD_MAX] = "", word[SHELL_WORD_MAX] = "FILE";
    char decompress[SHELL_DECOMPRESSION_MAX] = "";
    const char *space = *path ? " " : "";

    *text = '\0';
    advice->raw = true;
    advice->arrays = row->arrays;
    advice->compressed = compressed;
    advice->kind = advice->length > 0                 ? ADVICE_RAW_PART
                   : row->kind == UNSUPPORTED_FORTRAN ? ADVICE_FORTRAN
                                                      : ADVICE_PIPE;
    if (advice->kind != ADVICE_PIPE)
        return;
    if (*path)
        shell_operand(name, path);
    if (compressed)
        shell_decompression(decompress, word, path, compressed);
    else if (*path)
        memcpy(word, name, sizeof word);
    if (row->detail)
        row->detail(in, said);
    replace(told, sizeof told, row->text ? row->text : "", "{}", said);
    replace(command, sizeof command, told, "FILE", word);
    switch (row->kind) {
    case UNSUPPORTED_FILTER:
        if (compressed)
            snprintf(text, UNSUPPORTED_TEXT_MAX, "; try: %s%s%s | %s",
                     shell_decompression_to_pipe(compressed), space, name, command);
        else
            snprintf(text, UNSUPPORTED_TEXT_MAX, "; try: %s%s%s", command, space, name);
        break;
    case UNSUPPORTED_COMMAND:
        snprintf(text, UNSUPPORTED_TEXT_MAX, "; try: %s%s%s", decompress, compressed ? " && " : "",
                 command);
        break;
    case UNSUPPORTED_PYTHON:
        unsupported_python(command, sizeof command, word, row->modules ? row->modules : "", told);
        snprintf(text, UNSUPPORTED_TEXT_MAX, "; try: %s%s%s", decompress, compressed ? " && " : "",
                 command);
        advice->kind = ADVICE_LOAD;
        break;
    case UNSUPPORTED_FORTRAN:
        break;
    case UNSUPPORTED_WORDS:
    case UNSUPPORTED_NOTHING:
        snprintf(text, UNSUPPORTED_TEXT_MAX, "%s%s",
                 row->kind == UNSUPPORTED_WORDS ? "; " : ", which holds no numbers", command);
        advice->kind = ADVICE_RAW;
        break;
    }
}
