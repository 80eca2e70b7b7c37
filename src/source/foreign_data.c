#include "config.h"

#include "source/foreign_tables.h"

#include <ctype.h>
#include <string.h>

#include "source/foreign_bytes.h"

/*
 * Python and machine learning.
 */

/* A word that may be part of a Python name, and a newline. Returns its length with that; 0 for
   nothing of the kind. */
static size_t name_line(const struct foreign_input *in, size_t offset)
{
    size_t i = offset;

    while (i < in->size && (isalnum(in->bytes[i]) || in->bytes[i] == '_' || in->bytes[i] == '.'))
        i++;
    return i > offset && i < in->size && in->bytes[i] == '\n' ? i + 1 - offset : 0;
}

/* Of protocols 4 and 5: 24 bits, and the upper 24 of the frame's length. Of 2 and 3: 16 bits, and a
   container that is remembered (24 bits), or a class, of two names of 4 letters (18 bits) or more.
 */
static bool is_pickle(const struct foreign_input *in)
{
    const unsigned char *b = in->bytes;
    size_t module, class;

    if (b[1] == 4 || b[1] == 5)
        return b[2] == 0x95 && load_little(b + 3, 8) >> 40 == 0 &&
               fits(in, 11, load_little(b + 3, 8));
    if (b[1] != 2 && b[1] != 3)
        return false;
    if (b[2] == 'c') {
        module = name_line(in, 3);
        class = module ? name_line(in, 3 + module) : 0;
        return module > 4 && class > 4;
    }
    return (b[2] == '}' || b[2] == ']' || b[2] == ')') && b[3] == 'q' && b[4] == 0;
}

/* Of protocols 0 and 1, an array: a class of two names of 4 letters or more, as above, that is
   remembered. */
static bool is_pickle_class(const struct foreign_input *in)
{
    size_t module = name_line(in, 1), class = module ? name_line(in, 1 + module) : 0;
    size_t end = 1 + module + class;

    return module > 4 && class > 4 &&
           (BEGINS(in, end, "p0\n") || BEGINS(in, end, "q\0") || BEGINS(in, end, "("));
}

/* Of protocol 1, a list or a dictionary that is remembered: 23 bits; 14 of a mark and what is first
   behind it; or 32 of a string that is its first key. */
static bool is_pickle_container(const struct foreign_input *in)
{
    const unsigned char *b = in->bytes;

    return (b[0] == '}' || b[0] == ']') && ((b[3] == '(' && b[4] != 0 && strchr("GKX", b[4])) ||
                                            (b[3] == 'X' && load_little(b + 4, 4) < 256));
}

/* 37 bits of the header's length, at most 100 MB as the format has it, and 16. */
static bool is_safetensors(const struct foreign_input *in)
{
    uint64_t length = load_little(in->bytes, 8);

    return length >= 2 && length <= 100000000 && fits(in, 8, length) && in->bytes[8] == '{' &&
           (in->bytes[9] == '"' || in->bytes[9] == '}' || in->bytes[9] == ' ');
}

/* 32 bits, and 28 of the version in either byte order. */
static bool is_gguf(const struct foreign_input *in)
{
    uint64_t little = load_little(in->bytes + 4, 4), big = load_big(in->bytes + 4, 4);

    return (little >= 1 && little < 16) || (big >= 1 && big < 16);
}

/* A number of Protocol Buffers at *at, which moves behind it; UINT64_MAX for none. */
static uint64_t varint(const struct foreign_input *in, size_t *at)
{
    uint64_t x = 0;

    for (unsigned shift = 0; shift < 63 && *at < in->size; shift += 7) {
        unsigned char c = in->bytes[(*at)++];

        x |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80)
            return x;
    }
    return UINT64_MAX;
}

/* A string of Protocol Buffers at *at, of up to 100 characters that can be printed. */
static bool printable_string(const struct foreign_input *in, size_t *at)
{
    uint64_t length = varint(in, at);

    if (length > 100 || in->size - *at < length)
        return false;
    for (; length > 0; length--, (*at)++)
        if (in->bytes[*at] < 0x20 || in->bytes[*at] > 0x7e)
            return false;
    return true;
}

/* A serialised ModelProto: the version (12 bits), strings about the producer, if any, and the
   graph. It begins with a node, and that with a string, the name of an input, output or operator;
   or with the graph's own name: 8 bits for the graph, 8 or 16 within, 4 at least for lengths that
   agree, and half a bit or more for each byte of these strings, of which there must be 8. */
static bool is_onnx(const struct foreign_input *in)
{
    const unsigned char *b = in->bytes;
    size_t at = 2, strings = 0, begin;
    uint64_t graph, node;

    if (b[1] < 1 || b[1] > 32)
        return false;
    while (at < in->size && b[at] != 0x3a) {
        unsigned char tag = b[at++];

        begin = at;
        if (tag == 0x28 ? varint(in, &at) == UINT64_MAX
                        : (tag != 0x12 && tag != 0x1a && tag != 0x22 && tag != 0x32) ||
                              !printable_string(in, &at))
            return false;
        strings += tag == 0x28 ? 0 : at - begin;
    }
    if (in->size - at < 8)
        return false;
    at++;
    graph = varint(in, &at);
    if (graph < 8 || graph == UINT64_MAX || !fits(in, at, graph) || at >= in->size)
        return false;
    if (b[at] == 0x0a) { /* a node */
        at++;
        node = varint(in, &at);
        if (node < 4 || node >= graph || at >= in->size)
            return false;
        if (b[at] != 0x0a && b[at] != 0x12 && b[at] != 0x1a && b[at] != 0x22)
            return false;
        while (at < in->size && strings < 16 &&
               (b[at] == 0x0a || b[at] == 0x12 || b[at] == 0x1a || b[at] == 0x22)) {
            begin = ++at;
            if (!printable_string(in, &at))
                return false;
            strings += at - begin;
        }
    } else if (b[at] == 0x12) { /* its name */
        begin = ++at;
        if (!printable_string(in, &at))
            return false;
        strings += at - begin;
    } else {
        return false;
    }
    return strings >= 8;
}

/*
 * Tables.
 */

/* 32 bits, and 8 of the first page: a field as in other files, or 12 of the length of what is
   encrypted. */
static bool is_parquet_encrypted(const struct foreign_input *in)
{
    uint64_t length = load_little(in->bytes + 4, 4);

    return in->bytes[4] == 0x15 || (length >= 28 && length < 1 << 20);
}

/* The stream form: 32 bits, which are those of a NaN; 12 and more of the length of the first
   message, a multiple of 8; and as many of the place in it where its table begins, of 4. */
static bool is_arrow_stream(const struct foreign_input *in)
{
    uint64_t length = load_little(in->bytes + 4, 4), table = load_little(in->bytes + 8, 4);

    return length >= 16 && length < 1 << 20 && length % 8 == 0 && fits(in, 8, length) &&
           table >= 8 && table < length && table % 4 == 0;
}

/* 24 bits, and 14 of how the first part begins, the index of a column: a field with an entry, that
   with a field, each of a length that fits the other's. Where the file is compressed, that stands
   behind 24 bits of a length, and is recognised only where it was not worth compressing. */
static bool is_orc(const struct foreign_input *in)
{
    size_t at = in->bytes[3] == 0x0a && (in->bytes[5] == 0x0a || in->bytes[5] == 0x12) ? 3 : 6;
    const unsigned char *b = in->bytes + at;

    if (at == 6 && (in->bytes[3] & 1) == 0)
        return false;
    return b[0] == 0x0a && b[1] >= 2 && b[1] < 128 && (b[2] == 0x0a || b[2] == 0x12) &&
           b[3] <= b[1] - 2;
}

/* 32 bits, and 40 of the name of the first entry: avro.schema or avro.codec. */
static bool is_avro(const struct foreign_input *in)
{
    return BEGINS(in, 6, "avro.");
}

/* The older form: 28 bits of release, byte order and two constants; the number of observations fits
   the file; the labels end with zeros (16 bits), and the time between them is empty or has spaces
   where it must. */
static bool is_stata(const struct foreign_input *in)
{
    const unsigned char *b = in->bytes;
    uint64_t count = b[1] == 1 ? load_big(b + 6, 4) : load_little(b + 6, 4);

    return (b[0] == 113 || b[0] == 114 || b[0] == 115) && (b[1] == 1 || b[1] == 2) && b[2] == 1 &&
           b[3] == 0 && fits(in, 109, count) && b[90] == 0 && b[108] == 0 &&
           (b[91] == 0 || (b[93] == ' ' && b[97] == ' ' && b[102] == ' ' && b[105] == ':'));
}

static const struct foreign rows[] = {
    {.name = "a PyTorch file of before version 1.6",
     .advice = "torch.load reads it, and numpy.save writes a tensor.numpy() of it as .npy",
     MAGIC("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19")},
    {.name = "a Python pickle",
     .advice = "pickle.load" AS_NPY,
     MAGIC("\x80"),
     .least = 11,
     .also = is_pickle},
    {.name = "a Python pickle",
     .advice = "pickle.load" AS_NPY,
     MAGIC("c"),
     .least = 11,
     .also = is_pickle_class},
    {.name = "a Python pickle", .advice = "pickle.load" AS_NPY, MAGIC("(lp0\n")},
    {.name = "a Python pickle", .advice = "pickle.load" AS_NPY, MAGIC("(dp0\n")},
    {.name = "a Python pickle",
     .advice = "pickle.load" AS_NPY,
     .magic = "q\0",
     .length = 2,
     .offset = 1,
     .least = 11,
     .also = is_pickle_container},
    {.name = "a safetensors file",
     .advice = "for what is asked it must be neither in a pipe nor compressed",
     .least = 10,
     .also = is_safetensors},
    {.name = "a GGUF file",
     .advice =
         "for what is asked it must be of version 2 or 3, and neither in a pipe nor compressed",
     MAGIC("GGUF"),
     .least = 8,
     .also = is_gguf},
    {.name = "an ONNX model",
     .advice = "onnx.numpy_helper.to_array gives its tensors, and numpy.save writes one as .npy",
     MAGIC("\x08"),
     .least = 16,
     .also = is_onnx},

    /* Behind the magic, the first page or the footer begins with a field of 32 bits: 40 bits. */
    {.name = "a Parquet file", .advice = "pyarrow.parquet" AS_NPY, MAGIC("PAR1\x15")},
    {.name = "an encrypted Parquet file",
     .advice = "pyarrow.parquet" AS_NPY,
     MAGIC("PARE"),
     .least = 12,
     .also = is_parquet_encrypted},
    {.name = "an Arrow file (or Feather)", .advice = "pyarrow.feather" AS_NPY, MAGIC("ARROW1\0\0")},
    {.name = "an Arrow stream",
     .advice = "pyarrow.ipc.open_stream" AS_NPY,
     MAGIC("\xff\xff\xff\xff"),
     .least = 12,
     .also = is_arrow_stream},
    {.name = "a Feather file", .advice = "pyarrow.feather" AS_NPY, MAGIC("FEA1\0\0\0\0")},
    {.name = "an SQLite database",
     .advice = "sqlite3(1) prints what is in it",
     MAGIC("SQLite format 3\0")},
    {.name = "an ORC file",
     .advice = "pyarrow.orc" AS_NPY,
     MAGIC("ORC"),
     .least = 10,
     .also = is_orc},
    {.name = "an Avro file",
     .advice = "fastavro" AS_NPY,
     MAGIC("Obj\x01"),
     .least = 11,
     .also = is_avro},
    {.name = "a Stata file", .advice = "pandas.read_stata" AS_NPY, MAGIC("<stata_dta>")},
    {.name = "a Stata file", .advice = "pandas.read_stata" AS_NPY, .least = 109, .also = is_stata},
    {.name = "an R data file", .advice = "pyreadr" AS_NPY, MAGIC("RDX2\nX\n")},
    {.name = "an R data file", .advice = "pyreadr" AS_NPY, MAGIC("RDX3\nX\n")},
    {.name = "an R data file", .advice = "pyreadr" AS_NPY, MAGIC("X\n\0\0\0\2")},
    {.name = "an R data file", .advice = "pyreadr" AS_NPY, MAGIC("X\n\0\0\0\3")},
};

const struct foreign_table foreign_data = {rows, sizeof rows / sizeof *rows};
