#include "config.h"

#include "source/foreign_tables.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "source/foreign_bytes.h"

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

/* 8 bits of the properties that all writers use; 27 at least of the dictionary's size, a power of
   two or one and a half; and of the length, which is not stated or below 2^48. */
static bool is_lzma(const struct foreign_input *in)
{
    uint64_t dictionary = load_little(in->bytes + 1, 4), length = load_little(in->bytes + 5, 8);
    uint64_t odd = dictionary & (dictionary - 1); /* without its lowest bit */

    return dictionary >= 1 << 12 && (odd == 0 || dictionary == odd / 2 * 3) &&
           (length == UINT64_MAX || length >> 48 == 0);
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

/* 40 bits, and what follows it in either kind: zero or space. */
static bool is_tar(const struct foreign_input *in)
{
    return in->bytes[262] == 0 || in->bytes[262] == ' ';
}

/* A member's name that needs no quotes, nor is a pattern; or `otherwise`. */
static void say_member(const struct foreign_input *in, size_t offset, size_t length,
                       const char *otherwise, char *said)
{
    bool plain = length > 0 && length < FOREIGN_DETAIL_MAX && in->size >= offset + length &&
                 in->bytes[offset] != '-' && in->bytes[offset + length - 1] != '/';

    for (size_t i = 0; plain && i < length; i++)
        plain = isalnum(in->bytes[offset + i]) || strchr("._-/+,@%:=", in->bytes[offset + i]);
    if (plain) {
        memcpy(said, in->bytes + offset, length);
        said[length] = 0;
    } else {
        snprintf(said, FOREIGN_DETAIL_MAX, "%s", otherwise);
    }
}

static void zip_member(const struct foreign_input *in, char *said)
{
    say_member(in, 30, (size_t)load_little(in->bytes + 26, 2), "MEMBER", said);
}

static void npz_member(const struct foreign_input *in, char *said)
{
    say_member(in, 30, (size_t)load_little(in->bytes + 26, 2), "NAME.npy", said);
}

/* The first header may describe something else than a file. */
static void tar_member(const struct foreign_input *in, char *said)
{
    bool file = in->bytes[156] == '0' || in->bytes[156] == 0;

    say_member(in, 0, file ? strnlen((const char *)in->bytes, 100) : 0, "MEMBER", said);
}

static const struct foreign rows[] = {
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
    {.name = "an lzma file", .filter = "xz -dc", MAGIC("\x5d"), .least = 13, .also = is_lzma},
    {.name = "an lzip file", .filter = "lzip -dc", MAGIC("LZIP\x01")},
    {.name = "a file of compress(1)",
     .filter = "gzip -dc",
     MAGIC("\x1f\x9d"),
     .least = 3 + 9 * COMPRESS_CODES / 8 + 2,
     .also = is_compress},

    {.name = "a .npz archive",
     .advice = "'unzip -p FILE {} | gpureduce' reads an array of it, 'unzip -l FILE' lists them",
     .detail = npz_member,
     MAGIC("PK\3\4"),
     .least = 30,
     .also = is_npz},
    {.name = "a PyTorch file",
     .advice = "torch.load reads it, and numpy.save writes a tensor.numpy() of it as .npy",
     MAGIC("PK\3\4"),
     .least = 30,
     .also = is_torch},
    {.name = "a zip archive",
     .advice = "--format=npz reads its NumPy arrays, 'unzip -p FILE {} | gpureduce' a member",
     .detail = zip_member,
     MAGIC("PK\3\4"),
     .least = 30,
     .also = is_zip},
    {.name = "an empty zip archive",
     .advice = "there is nothing to read in it",
     MAGIC("PK\5\6\0\0\0\0"),
     .least = 22},
    {.name = "a tar archive",
     .advice = "'tar -xOf FILE {} | gpureduce' reads a member, 'tar -tf FILE' lists them",
     .detail = tar_member,
     .magic = "ustar",
     .length = 5,
     .offset = 257,
     .least = 512,
     .also = is_tar},
    {.name = "a 7z archive",
     .advice = "'7z x -so FILE MEMBER | gpureduce' reads a member",
     MAGIC("7z\xbc\xaf\x27\x1c")},
    {.name = "a RAR archive",
     .advice = "'unrar p -inul FILE MEMBER | gpureduce' reads a member",
     MAGIC("Rar!\x1a\x07")},
    {.name = "an ar archive (or a Debian package)",
     .advice = "'ar p FILE MEMBER | gpureduce' reads a member",
     MAGIC("!<arch>\n")},
    {.name = "a framed Snappy file", .advice = "decompress it first", MAGIC("\xff\x06\0\0sNaPpY")},
};

const struct foreign_table foreign_archives = {rows, sizeof rows / sizeof *rows};
