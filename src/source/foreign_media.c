#include "config.h"

#include "source/foreign_tables.h"

#include <ctype.h>

#include "source/foreign_bytes.h"

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

/* Behind 24 bits: 8 of the version, 4 of flags, and 4 of a length in bytes of 7 bits. */
static bool is_id3(const struct foreign_input *in)
{
    const unsigned char *b = in->bytes;

    return b[3] >= 2 && b[3] <= 4 && b[4] == 0 && (b[5] & 0x0f) == 0 &&
           ((b[6] | b[7] | b[8] | b[9]) & 0x80) == 0;
}

/* 32 bits, and 31 of the first block, whose length is 34. */
static bool is_flac(const struct foreign_input *in)
{
    return (in->bytes[4] & 0x7f) == 0 && load_big(in->bytes + 5, 3) == 34;
}

/* 32 bits, and 21 at least of the length of the first box. */
static bool is_mp4(const struct foreign_input *in)
{
    uint64_t length = load_big(in->bytes, 4);

    return length >= 16 && length <= 1024 && length % 4 == 0;
}

/* 16 bits; 32 that are zero, and 60 at least of two lengths. */
static bool is_bmp(const struct foreign_input *in)
{
    uint64_t size = load_little(in->bytes + 2, 4), begin = load_little(in->bytes + 10, 4);
    uint64_t header = load_little(in->bytes + 14, 4);

    return load_little(in->bytes + 6, 4) == 0 && header >= 12 && header <= 124 &&
           begin >= 14 + header && begin < 4096 && fits(in, 0, size) && size > begin;
}

/* 16 bits, and 32 where the first word at 60 says. */
static bool is_pe(const struct foreign_input *in)
{
    uint64_t at = load_little(in->bytes + 60, 4);

    return at < in->size && BEGINS(in, (size_t)at, "PE\0\0");
}

/* 32 bits, and 24 of the version. */
static bool is_class(const struct foreign_input *in)
{
    return in->bytes[6] == 0 && in->bytes[7] >= 45 && in->bytes[7] < 100 &&
           (load_big(in->bytes + 4, 2) <= 3 || load_big(in->bytes + 4, 2) == 0xffff);
}

/* A number in digits at *at, behind blanks or a comment, and the blank that ends it; *at moves
   behind that. Zero is none. */
static bool header_number(const struct foreign_input *in, size_t *at)
{
    const unsigned char *b = in->bytes;
    size_t i = *at, digits;
    bool some = false;

    while (i < in->size && (isspace(b[i]) || b[i] == '#'))
        if (b[i++] == '#')
            while (i < in->size && b[i] != '\n')
                i++;
    for (digits = i; i < in->size && isdigit(b[i]) && i - digits < 9; i++)
        some |= b[i] != '0';
    *at = i + 1;
    return some && i < in->size && isspace(b[i]);
}

/* P1 to P6, PF and Pf: the letter and the digit, a blank, and two or three numbers, as digits with
   blanks behind them: 38 bits for two of one digit. */
static bool is_pnm(const struct foreign_input *in)
{
    const unsigned char *b = in->bytes;
    bool floats = b[1] == 'F' || b[1] == 'f', bits = b[1] == '1' || b[1] == '4';
    size_t at = 2;

    if ((!floats && (b[1] < '1' || b[1] > '6')) || !isspace(b[2]) || !header_number(in, &at) ||
        !header_number(in, &at))
        return false;
    return bits ||
           (floats ? at < in->size && (b[at] == '-' || isdigit(b[at])) : header_number(in, &at));
}

/* Triangles, whose number gives the length of the file: a subnormal f32, or the 32 last bits of an
   f64. In the other byte order, and of elements of 2 bytes, it may be a number that occurs.
 */
static bool is_stl(const struct foreign_input *in)
{
    uint64_t triangles = load_little(in->bytes + 80, 4);

    return element_formats[in->type].size > 2 && !in->big_endian && triangles > 0 &&
           is_all(in, 84 + 50 * triangles);
}

/* Samples may be integers, which are not read. */
#define SAMPLES " reads it, and numpy.save writes its samples .astype('f4') as .npy"

static const struct foreign rows[] = {
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
     .advice = "scipy.io.wavfile.read" SAMPLES,
     MAGIC("RIFF"),
     .least = 12,
     .also = is_wave},
    {.name = "a WAV file",
     .advice = "soundfile.read" SAMPLES,
     MAGIC("RF64"),
     .least = 12,
     .also = is_wave},
    {.name = "a WAV file",
     .advice = "scipy.io.wavfile.read" SAMPLES,
     MAGIC("RIFX"),
     .least = 12,
     .also = is_wave},
    {.name = "an AVI video", .advice = NO_NUMBERS, MAGIC("RIFF"), .least = 12, .also = is_avi},
    {.name = "a WebP image", .advice = NO_NUMBERS, MAGIC("RIFF"), .least = 12, .also = is_webp},
    {.name = "a FLAC file",
     .advice = "soundfile.read" SAMPLES,
     MAGIC("fLaC"),
     .least = 8,
     .also = is_flac},
    {.name = "an Ogg file", .advice = "soundfile.read" SAMPLES, MAGIC("OggS\0\2")},
    {.name = "an MP3 file",
     .advice = "soundfile.read" SAMPLES,
     MAGIC("ID3"),
     .least = 10,
     .also = is_id3},
    {.name = "an MP4 file",
     .advice = NO_NUMBERS,
     .magic = "ftyp",
     .length = 4,
     .offset = 4,
     .least = 16,
     .also = is_mp4},
    {.name = "a BMP image", .advice = NO_NUMBERS, MAGIC("BM"), .least = 26, .also = is_bmp},
    {.name = "a PNM or PFM image",
     .advice = "imageio.v3.imread" AS_NPY,
     MAGIC("P"),
     .least = 7,
     .also = is_pnm},
    {.name = "a PAM image", .advice = "imageio.v3.imread" AS_NPY, MAGIC("P7\nWIDTH ")},
    {.name = "a PLY file", .advice = "plyfile" AS_NPY, MAGIC("ply\nformat ")},
    {.name = "a PLY file", .advice = "plyfile" AS_NPY, MAGIC("ply\r\nformat ")},
    {.name = "an STL file",
     .advice = "trimesh.load" AS_NPY,
     .least = 84,
     .also = is_stl,
     .whole = true},
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
    {.name = "a program or library of Windows",
     .advice = NO_NUMBERS,
     MAGIC("MZ"),
     .least = 64,
     .also = is_pe},
    {.name = "a Mach-O file (a program or a library)",
     .advice = NO_NUMBERS,
     MAGIC("\xcf\xfa\xed\xfe\x07\0\0\1")},
    {.name = "a Mach-O file (a program or a library)",
     .advice = NO_NUMBERS,
     MAGIC("\xcf\xfa\xed\xfe\x0c\0\0\1")},
    {.name = "a Java class",
     .advice = NO_NUMBERS,
     MAGIC("\xca\xfe\xba\xbe"),
     .least = 8,
     .also = is_class},
};

const struct foreign_table foreign_media = {rows, sizeof rows / sizeof *rows};
