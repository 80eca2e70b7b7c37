#include "config.h"

#include "source/foreign.h"

#include <ctype.h>
#include <string.h>

#include "source/foreign_text.h"

/* A number of `size` bytes at p, the least or the most significant first. */
static uint64_t load_little(const unsigned char *p, unsigned size)
{
    uint64_t x = 0;

    for (unsigned i = 0; i < size; i++)
        x |= (uint64_t)p[i] << 8 * i;
    return x;
}

static uint64_t load_big(const unsigned char *p, unsigned size)
{
    uint64_t x = 0;

    for (unsigned i = 0; i < size; i++)
        x = x << 8 | p[i];
    return x;
}

static bool begins(const struct foreign_input *in, size_t offset, const char *text, size_t length)
{
    return in->size >= offset && in->size - offset >= length &&
           memcmp(in->bytes + offset, text, length) == 0;
}

/* The same for a constant string with its zeros, but for the one at its end. */
#define BEGINS(in, offset, text) begins(in, offset, text, sizeof(text) - 1)

/* Whether a part of so many bytes from `offset` on can be in the input. */
static bool fits(const struct foreign_input *in, uint64_t offset, uint64_t bytes)
{
    return offset <= in->total && bytes <= in->total - offset;
}

/*
 * Compressions.
 */

/* The magic has 24 bits; three flags that must be 0, the level (one of 3) and the system (one of
   15) make it 37. */
static bool is_gzip(const struct foreign_input *in)
{
    const unsigned char *b = in->bytes;

    return (b[3] & 0xe0) == 0 && (b[8] == 0 || b[8] == 2 || b[8] == 4) &&
           (b[9] <= 13 || b[9] == 255);
}

/* 80 bits: the first block, or the end of empty content. */
static bool is_bzip2(const struct foreign_input *in)
{
    return in->bytes[3] >= '1' && in->bytes[3] <= '9' &&
           (BEGINS(in, 4, "1AY&SY") || BEGINS(in, 4, "\x17\x72\x45\x38\x50\x90"));
}

/* 32 bits of magic, 3 of the flags (the version, one reserved) and 6 of the block's. */
static bool is_lz4(const struct foreign_input *in)
{
    return (in->bytes[4] & 0xc2) == 0x40 && (in->bytes[5] & 0xc0) == 0x40;
}

/* The older form: 32 bits of magic, and 8 of the first block's length, of 8 MiB at most. */
static bool is_lz4_legacy(const struct foreign_input *in)
{
    uint64_t length = load_little(in->bytes + 4, 4);

    return length > 0 && length < 1 << 24;
}

#define COMPRESS_CODES 30

/* 16 bits of magic and 4 of the flags. Then codes of 9 bits: the first is a byte, and the k-th can
   only mean a byte, "clear", or one of the k - 2 strings so far, for which its odds are a half at
   first. The first 30 make 27 bits. */
static bool is_compress(const struct foreign_input *in)
{
    const unsigned char *b = in->bytes;

    if ((b[2] & 0x60) != 0 || (b[2] & 0x1f) < 9 || (b[2] & 0x1f) > 16)
        return false;
    for (unsigned k = 1; k <= COMPRESS_CODES; k++) {
        unsigned bit = 9 * (k - 1);
        unsigned code = (unsigned)(load_little(b + 3 + bit / 8, 2) >> bit % 8) & 0x1ff;

        if (k > 1 && code == 256)
            return k > 16; /* what follows is aligned otherwise */
        if (code > (k == 1 ? 255 : 255 + k))
            return false;
    }
    return true;
}

/*
 * Archives.
 */

/* 32 bits of magic and 16 of the version that is needed, which is 1.0 to 6.3, or 0 as PyTorch
   writes it. */
static bool is_zip(const struct foreign_input *in)
{
    return (in->bytes[4] == 0 || (in->bytes[4] >= 10 && in->bytes[4] <= 63)) && in->bytes[5] == 0;
}

/* Whether the name of a zip archive's first member ends so. */
static bool first_member_ends(const struct foreign_input *in, const char *end)
{
    size_t name = (size_t)load_little(in->bytes + 26, 2), length = strlen(end);

    return is_zip(in) && name >= length && begins(in, 30 + name - length, end, length);
}

static bool is_npz(const struct foreign_input *in)
{
    return first_member_ends(in, ".npy");
}

static bool is_torch(const struct foreign_input *in)
{
    return first_member_ends(in, "/data.pkl") || first_member_ends(in, "/.format_version");
}

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
 * Science.
 */

/* At 0, or behind a block of the user's: a power of two from 512 on. 64 bits in each place. */
static bool is_hdf5(const struct foreign_input *in)
{
    for (size_t offset = 0; offset < FOREIGN_HEAD; offset = offset ? 2 * offset : 512)
        if (BEGINS(in, offset, "\x89HDF\r\n\x1a\n"))
            return true;
    return false;
}

/* 30 bits, and 31 of the tag of the list of dimensions, behind the number of records. */
static bool is_netcdf(const struct foreign_input *in)
{
    const unsigned char *b = in->bytes;
    uint64_t tag;

    if (b[3] != 1 && b[3] != 2 && b[3] != 5)
        return false;
    tag = load_big(b + (b[3] == 5 ? 12 : 8), 4);
    return tag == 0 || tag == 10;
}

/* 31 bits of the header's length, in either byte order, and 31 of the magic. */
static bool is_nifti1(const struct foreign_input *in)
{
    return (load_little(in->bytes, 4) == 348 || load_big(in->bytes, 4) == 348) &&
           (BEGINS(in, 344, "n+1\0") || BEGINS(in, 344, "ni1\0"));
}

/* Likewise, and 63 bits. */
static bool is_nifti2(const struct foreign_input *in)
{
    return (load_little(in->bytes, 4) == 540 || load_big(in->bytes, 4) == 540) &&
           (BEGINS(in, 4, "n+2\0\r\n\x1a\n") || BEGINS(in, 4, "ni2\0\r\n\x1a\n"));
}

/* 32 bits, and 7 of the edition. */
static bool is_grib(const struct foreign_input *in)
{
    return in->bytes[7] == 1 || in->bytes[7] == 2;
}

/* 32 bits, 8 of the version, and 32 of where the data begin, which is 100. */
static bool is_root(const struct foreign_input *in)
{
    return in->bytes[4] == 0 && load_big(in->bytes + 8, 4) == 100;
}

/* 32 bits, and 3 at least of the number of descriptors in the first block. */
static bool is_hdf4(const struct foreign_input *in)
{
    uint64_t descriptors = load_big(in->bytes + 4, 2);

    return descriptors > 0 && descriptors <= 8192;
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

/*
 * Images, sound, and the rest.
 */

/* 32 bits; the first directory does not lie in the header and begins in the file, at an even byte.
 */
static bool is_tiff(const struct foreign_input *in)
{
    uint64_t first =
        in->bytes[0] == 'I' ? load_little(in->bytes + 4, 4) : load_big(in->bytes + 4, 4);

    return first >= 8 && first % 2 == 0 && fits(in, first, 2);
}

/* 24 bits, and 24 at least of the first segment. */
static bool is_jpeg(const struct foreign_input *in)
{
    const unsigned char *b = in->bytes;

    switch (b[3]) {
    case 0xe0:
        return BEGINS(in, 6, "JFIF");
    case 0xe1:
        return BEGINS(in, 6, "Exif") || BEGINS(in, 6, "http");
    case 0xe2:
        return BEGINS(in, 6, "ICC_");
    case 0xee:
        return BEGINS(in, 6, "Adob");
    case 0xdb: /* a table of 64 bytes or words, or two */
        return b[4] == 0 && (b[5] == 67 || b[5] == 131 || b[5] == 132) && (b[6] & 0xee) == 0;
    }
    return false;
}

/* 32 bits, 7 of the class, 7 of the byte order and 8 of the version. */
static bool is_elf(const struct foreign_input *in)
{
    return (in->bytes[4] == 1 || in->bytes[4] == 2) && (in->bytes[5] == 1 || in->bytes[5] == 2) &&
           in->bytes[6] == 1;
}

/* 40 bits, and what follows it in either kind: zero or space. */
static bool is_tar(const struct foreign_input *in)
{
    return in->bytes[262] == 0 || in->bytes[262] == ' ';
}

/* RIFF and its kin say at byte 8 what is in them: 64 bits together. */
static bool is_wave(const struct foreign_input *in)
{
    return BEGINS(in, 8, "WAVE");
}

static bool is_avi(const struct foreign_input *in)
{
    return BEGINS(in, 8, "AVI ");
}

static bool is_webp(const struct foreign_input *in)
{
    return BEGINS(in, 8, "WEBP");
}

#define MAGIC(text) .magic = (text), .length = sizeof(text) - 1

/* Ways that several formats share. */
#define AS_NPY " reads it, and numpy.save writes an array of it as .npy"
#define NO_NUMBERS "that is not a file of numbers"

/* The more special before the more general: of two rows that match, the first counts. */
static const struct foreign table[] = {
    {.name = "a gzip file",
     .filter = "gzip -dc",
     MAGIC("\x1f\x8b\x08"),
     .least = 18,
     .also = is_gzip},
    {.name = "an xz file",
     .filter = "xz -dc",
     MAGIC("\xfd"
           "7zXZ\0")},
    {.name = "a bzip2 file", .filter = "bzip2 -dc", MAGIC("BZh"), .least = 10, .also = is_bzip2},
    {.name = "an lz4 file",
     .filter = "lz4 -dc",
     MAGIC("\x04\x22\x4d\x18"),
     .least = 7,
     .also = is_lz4},
    {.name = "an lz4 file",
     .filter = "lz4 -dc",
     MAGIC("\x02\x21\x4c\x18"),
     .least = 8,
     .also = is_lz4_legacy},
    {.name = "an lzip file", .filter = "lzip -dc", MAGIC("LZIP\x01")},
    {.name = "a file of compress(1)",
     .filter = "gzip -dc",
     MAGIC("\x1f\x9d"),
     .least = 3 + 9 * COMPRESS_CODES / 8 + 2,
     .also = is_compress},

    {.name = "a .npz archive",
     .advice = "'unzip -p FILE x.npy | gpureduce' reads its array x",
     MAGIC("PK\3\4"),
     .least = 30,
     .also = is_npz},
    {.name = "a PyTorch file",
     .advice = "torch.load reads it, and numpy.save writes a tensor.numpy() of it as .npy",
     MAGIC("PK\3\4"),
     .least = 30,
     .also = is_torch},
    {.name = "a zip archive",
     .advice = "'unzip -p FILE MEMBER | gpureduce' reads a member",
     MAGIC("PK\3\4"),
     .least = 30,
     .also = is_zip},
    {.name = "an empty zip archive",
     .advice = "there is nothing to read in it",
     MAGIC("PK\5\6\0\0\0\0"),
     .least = 22},
    {.name = "a tar archive",
     .advice = "'tar -xOf FILE MEMBER | gpureduce' reads a member",
     .magic = "ustar",
     .length = 5,
     .offset = 257,
     .least = 512,
     .also = is_tar},
    {.name = "a 7z archive",
     .advice = "'7z x -so FILE MEMBER | gpureduce' reads a member",
     MAGIC("7z\xbc\xaf\x27\x1c")},

    {.name = "a PyTorch file of before version 1.6",
     .advice = "torch.load reads it, and numpy.save writes a tensor.numpy() of it as .npy",
     MAGIC("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19")},
    {.name = "a Python pickle",
     .advice = "pickle.load" AS_NPY,
     MAGIC("\x80"),
     .least = 11,
     .also = is_pickle},
    {.name = "a safetensors file",
     .advice = "safetensors.numpy.load_file" AS_NPY,
     .least = 10,
     .also = is_safetensors},
    {.name = "a GGUF file",
     .advice = "gguf.GGUFReader" AS_NPY,
     MAGIC("GGUF"),
     .least = 8,
     .also = is_gguf},
    {.name = "an ONNX model",
     .advice = "onnx.numpy_helper.to_array gives its tensors, and numpy.save writes one as .npy",
     MAGIC("\x08"),
     .least = 16,
     .also = is_onnx},

    {.name = "a MATLAB 7.3 file", .advice = "h5py" AS_NPY, MAGIC("MATLAB 7.3 MAT-file")},
    {.name = "a MATLAB file", .advice = "scipy.io.loadmat" AS_NPY, MAGIC("MATLAB 5.0 MAT-file")},
    {.name = "an HDF5 file (or netCDF-4)", .advice = "h5py" AS_NPY, .least = 8, .also = is_hdf5},
    {.name = "an HDF4 file",
     .advice = "pyhdf" AS_NPY,
     MAGIC("\x0e\x03\x13\x01"),
     .least = 6,
     .also = is_hdf4},
    {.name = "a netCDF file",
     .advice = "scipy.io.netcdf_file" AS_NPY,
     MAGIC("CDF"),
     .least = 16,
     .also = is_netcdf},
    {.name = "a FITS file", .advice = "astropy.io.fits" AS_NPY, MAGIC("SIMPLE  =")},
    {.name = "a NIfTI file", .advice = "nibabel" AS_NPY, .least = 348, .also = is_nifti1},
    {.name = "a NIfTI-2 file", .advice = "nibabel" AS_NPY, .least = 12, .also = is_nifti2},
    {.name = "a GRIB file", .advice = "eccodes" AS_NPY, MAGIC("GRIB"), .least = 8, .also = is_grib},
    {.name = "a ROOT file", .advice = "uproot" AS_NPY, MAGIC("root"), .least = 12, .also = is_root},

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

    {.name = "a TIFF image",
     .advice = "tifffile.imread" AS_NPY,
     MAGIC("II*\0"),
     .least = 8,
     .also = is_tiff},
    {.name = "a TIFF image",
     .advice = "tifffile.imread" AS_NPY,
     MAGIC("MM\0*"),
     .least = 8,
     .also = is_tiff},
    {.name = "a BigTIFF image", .advice = "tifffile.imread" AS_NPY, MAGIC("II+\0\x08\0\0\0")},
    {.name = "a BigTIFF image", .advice = "tifffile.imread" AS_NPY, MAGIC("MM\0+\0\x08\0\0")},
    {.name = "a WAV file",
     .advice = "scipy.io.wavfile.read" AS_NPY,
     MAGIC("RIFF"),
     .least = 12,
     .also = is_wave},
    {.name = "a WAV file",
     .advice = "soundfile.read" AS_NPY,
     MAGIC("RF64"),
     .least = 12,
     .also = is_wave},
    {.name = "a WAV file",
     .advice = "scipy.io.wavfile.read" AS_NPY,
     MAGIC("RIFX"),
     .least = 12,
     .also = is_wave},
    {.name = "an AVI video", .advice = NO_NUMBERS, MAGIC("RIFF"), .least = 12, .also = is_avi},
    {.name = "a WebP image", .advice = NO_NUMBERS, MAGIC("RIFF"), .least = 12, .also = is_webp},
    {.name = "a PNG image", .advice = NO_NUMBERS, MAGIC("\x89PNG\r\n\x1a\n")},
    {.name = "a JPEG image",
     .advice = NO_NUMBERS,
     MAGIC("\xff\xd8\xff"),
     .least = 10,
     .also = is_jpeg},
    {.name = "a GIF image", .advice = NO_NUMBERS, MAGIC("GIF87a")},
    {.name = "a GIF image", .advice = NO_NUMBERS, MAGIC("GIF89a")},
    {.name = "a PDF document", .advice = NO_NUMBERS, MAGIC("%PDF-")},
    {.name = "an ELF file (a program or a library)",
     .advice = NO_NUMBERS,
     MAGIC("\x7f"
           "ELF"),
     .least = 16,
     .also = is_elf},

    {.name = "a JSON file",
     .advice = "json.load and numpy.save make a .npy of it",
     .least = 8,
     .also = foreign_text_json},
    {.name = "a text file of numbers",
     .advice = "numpy.loadtxt reads it, and numpy.save writes it as .npy",
     .least = 8,
     .also = foreign_text_numbers},
    {.name = "a text file",
     .advice = "if it has columns of numbers, numpy.loadtxt reads it, and numpy.save writes it as "
               ".npy",
     .least = 8,
     .also = foreign_text},
};

static const size_t table_size = sizeof table / sizeof *table;

const struct foreign *foreign_recognise(const struct foreign_input *in)
{
    for (size_t i = 0; i < table_size; i++) {
        const struct foreign *row = &table[i];

        if (in->size >= row->least &&
            (!row->magic || begins(in, row->offset, row->magic, row->length)) &&
            (!row->also || row->also(in)))
            return row;
    }
    return NULL;
}
