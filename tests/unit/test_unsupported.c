/*
 * unsupported.h: every row of the table by bytes made by hand, and damage to them; text and what
 * only looks like it; and that numbers of many kinds are never taken for any of it.
 */
#include "config.h"

#include "source/format/unsupported.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data_gen.h"
#include "lib/tap.h"

/* The name of what these bytes are, in a block of just their size; "" for nothing. */
static const char *name_of(const void *bytes, size_t size, uint64_t total, enum element_type type,
                           bool big)
{
    unsigned char *copy = malloc(size ? size : 1);
    struct unsupported_input in = {.bytes = copy,
                                   .size = size,
                                   .ends = size == total,
                                   .torn = size == total && size % element_size(type) != 0,
                                   .total = total,
                                   .type = type,
                                   .big_endian = big};
    struct advice raw;
    const struct unsupported *found;

    if (!copy)
        abort();
    memcpy(copy, bytes, size);
    found = unsupported_find(&in, &raw);
    free(copy);
    return found ? found->name : "";
}

/* A part of a file: so many bytes at an offset. */
struct part {
    size_t offset;
    const char *bytes;
    size_t size;
};

#define PART(offset, text)                \
    {                                     \
        offset, text, sizeof(text "") - 1 \
    }

/* Files of 600 bytes, zero but for these. */
#define FILE_SIZE 600

static const struct {
    const char *name;
    struct part parts[4];
    size_t least; /* how many of its bytes must be there; 0: whatever the parts are */
} files[] = {
    {"a gzip file", {PART(0, "\x1f\x8b\x08\x08\x78\x56\x34\x12\x02\x03x\0")}, 10},
    {"a gzip file", {PART(0, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff")}, 10},
    {"a gzip file", {PART(0, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x13")}, 10},
    {"an xz file",
     {PART(0, "\xfd"
              "7zXZ\0\0\x04")},
     6},
    {"a bzip2 file", {PART(0, "BZh91AY&SY")}, 10},
    {"a bzip2 file", {PART(0, "BZh1\x17\x72\x45\x38\x50\x90")}, 10},
    {"an lz4 file", {PART(0, "\x04\x22\x4d\x18\x64\x40\xa7")}, 7},
    {"an lz4 file", {PART(0, "\x02\x21\x4c\x18\x34\x12\0\0")}, 8},
    {"an lzip file", {PART(0, "LZIP\x01\x0c")}, 5},
    /* The codes of 9 bits are 'a', then 257 and on: what a run of one letter becomes. */
    {"a file of compress(1)", {PART(0, "\x1f\x9d\x90")}, 38},
    {"a TorchScript program", {PART(0, "PK\3\4\0\0"), PART(26, "\x08\0\x14\0x/data/0")}, 38},
    {"a zip archive", {PART(0, "PK\3\4\x14\0"), PART(26, "\5\0\0\0x.txt")}, 30},
    {"an empty zip archive", {PART(0, "PK\5\6")}, 22},
    {"a tar archive", {PART(0, "x.f32"), PART(257, "ustar\00000")}, 512},
    {"a tar archive", {PART(0, "x.f32"), PART(257, "ustar  ")}, 512},
    {"a tar archive", {PART(0, "x.f32"), PART(148, "001161\0 ")}, 512},
    {"a 7z archive", {PART(0, "7z\xbc\xaf\x27\x1c\0\4")}, 6},
    {"a PyTorch file of before version 1.6",
     {PART(0, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.")},
     0},
    {"a Python pickle", {PART(0, "\x80\4\x95\x40\1\0\0\0\0\0\0}\x94")}, 0},
    {"a Python pickle", {PART(0, "\x80\5\x95\x40\1\0\0\0\0\0\0]\x94")}, 0},
    {"a Python pickle", {PART(0, "\x80\2}q\0X\1\0\0\0w")}, 4},
    {"a Python pickle", {PART(0, "\x80\2]q\1(G")}, 4}, /* as of Python 2 */
    {"a Python pickle", {PART(0, "\x80\3]q\0(G")}, 5},
    {"a Python pickle", {PART(0, "]q\0(K\1")}, 5},
    {"a Python pickle", {PART(0, "]q\1(X")}, 5},
    {"a Python pickle", {PART(0, "}q\0(X\1")}, 5},
    {"a Python pickle", {PART(0, "\x80\2cnumpy.core.multiarray\n_reconstruct\nq\0")}, 0},
    {"a Python pickle", {PART(0, "\x80\3cpandas\nDataFrame\nq\0)\x81")}, 20},
    {"a Python pickle", {PART(0, "\x80\2(cnumpy._core.multiarray\n_reconstruct\n(")}, 0},
    {"an ONNX model",
     {PART(0, "\x08\x08\x12\x07pytorch\x1a\x05"
              "2.1.0:\x90\3\x0a\x20\x0a\1x\x0a\1w\x12\1y\x1a\3add")},
     0},
    {"a MATLAB file", {PART(0, "MATLAB 5.0 MAT-file Platform: posix"), PART(124, "\0\1IM")}, 19},
    {"a MATLAB 7.3 file",
     {PART(0, "MATLAB 7.3 MAT-file Platform: GLNXA64"), PART(512, "\x89HDF\r\n\x1a\n")},
     19},
    {"an HDF5 file (or netCDF-4)", {PART(0, "\x89HDF\r\n\x1a\n")}, 8},
    {"an HDF5 file (or netCDF-4)", {PART(512, "\x89HDF\r\n\x1a\n")}, 0},
    {"an HDF4 file", {PART(0, "\x0e\x03\x13\x01\0\x10")}, 5},
    {"a NIfTI file", {PART(0, "\0\0\1\x5c"), PART(344, "ni1\0")}, 348},
    {"a NIfTI file", {PART(0, "\0\0\2\x1cni2\0\r\n\x1a\n")}, 540},
    {"a GRIB file", {PART(0, "GRIB\0\1\2\1")}, 8},
    {"a GRIB file", {PART(0, "GRIB\xff\xff\0\2")}, 8},
    {"a ROOT file", {PART(0, "root\0\0\xf3\xc0\0\0\0\x64")}, 5},
    {"a Parquet file", {PART(0, "PAR1\x15\x04")}, 5},
    {"an encrypted Parquet file", {PART(0, "PARE\x2c\0\0\0")}, 8},
    {"an Arrow file (or Feather)", {PART(0, "ARROW1\0\0\xff\xff\xff\xff")}, 8},
    {"an Arrow stream", {PART(0, "\xff\xff\xff\xff\x78\0\0\0\x10\0\0\0\0\0\x0a\0")}, 16},
    {"a Feather file", {PART(0, "FEA1\0\0\0\0")}, 8},
    {"an SQLite database", {PART(0, "SQLite format 3\0\x10")}, 16},
    {"a WAV file", {PART(0, "RIFF\x24\1\0\0WAVEfmt ")}, 12},
    {"a WAV file", {PART(0, "RF64\xff\xff\xff\xffWAVEds64")}, 12},
    {"a WAV file", {PART(0, "RIFX\0\0\1\x24WAVEfmt ")}, 12},
    {"an AVI video", {PART(0, "RIFF\x24\1\0\0AVI LIST")}, 12},
    {"a WebP image", {PART(0, "RIFF\x24\1\0\0WEBPVP8 ")}, 12},
    {"a TIFF image", {PART(0, "II*\0\x08\0\0\0")}, 0},
    {"a TIFF image", {PART(0, "MM\0*\0\0\2\0")}, 0},
    {"a BigTIFF image", {PART(0, "II+\0\x08\0\0\0")}, 8},
    {"a BigTIFF image", {PART(0, "MM\0+\0\x08\0\0")}, 8},
    {"a PNG image", {PART(0, "\x89PNG\r\n\x1a\n")}, 8},
    {"a JPEG image", {PART(0, "\xff\xd8\xff\xe0\0\x10JFIF\0")}, 10},
    {"a JPEG image",
     {PART(0, "\xff\xd8\xff\xe1\x12\x34"
              "Exif\0\0")},
     10},
    {"a JPEG image", {PART(0, "\xff\xd8\xff\xdb\0\x43\0")}, 7},
    {"a JPEG image", {PART(0, "\xff\xd8\xff\xe2\x0c\x58ICC_PROFILE")}, 10},
    {"a JPEG image",
     {PART(0, "\xff\xd8\xff\xee\0\x0e"
              "Adobe")},
     10},
    {"a GIF image", {PART(0, "GIF87a")}, 6},
    {"a GIF image", {PART(0, "GIF89a")}, 6},
    {"a PDF document", {PART(0, "%PDF-1.7\n")}, 5},
    {"a program or a library",
     {PART(0, "\x7f"
              "ELF\2\1\1")},
     7},
    {"an lzma file", {PART(0, "\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff")}, 13},
    {"an lzma file", {PART(0, "\x5d\0\0\x60\0\x12\x34")}, 13},
    {"a RAR archive", {PART(0, "Rar!\x1a\7\1\0")}, 6},
    {"an ar archive", {PART(0, "!<arch>\ndebian")}, 8},
    {"a framed Snappy file", {PART(0, "\xff\6\0\0sNaPpY")}, 10},
    {"a Python pickle", {PART(0, "(lp0\nF1.5")}, 5},
    {"a Python pickle", {PART(0, "(dp0\nVa\n")}, 5},
    {"a Python pickle", {PART(0, "(dp1\nS'a'\n")}, 5},
    {"a Python pickle", {PART(0, "(lp1\nF1.5")}, 5},
    {"a Python pickle", {PART(0, "]q\0(G\x3f\xf8")}, 5},
    {"a Python pickle", {PART(0, "}q\0X\1\0\0\0a")}, 8},
    {"a Python pickle", {PART(0, "cnumpy._core.multiarray\n_reconstruct\n(")}, 6},
    {"a Python pickle", {PART(0, "ccollections\nOrderedDict\nq\0(")}, 27},
    {"a Python pickle", {PART(0, "ccollections\nOrderedDict\nq\1(")}, 27},
    {"a Python pickle", {PART(0, "ccollections\nOrderedDict\np0\n(")}, 27},
    {"a Python pickle", {PART(0, "ccollections\nOrderedDict\np1\n(")}, 27},
    {"an ORC file", {PART(0, "ORC\x0a\x07\x12\x05\x08\x88")}, 10},
    {"an ORC file", {PART(0, "ORC\x0f\0\0\x0a\x07\x0a\x03\x08\x88")}, 10},
    {"an Avro file",
     {PART(0, "Obj\1\4\x16"
              "avro.schema")},
     11},
    {"a Stata file", {PART(0, "<stata_dta><header>")}, 11},
    {"a Stata file", {PART(0, "\x72\2\1\0\3\0\x58\1"), PART(91, "22 Nov 2026 10:00")}, 109},
    {"a Stata file", {PART(0, "\x71\1\1\0\0\3\0\0\1\0")}, 109},
    {"an R data file", {PART(0, "RDX3\nX\n")}, 7},
    {"an R data file", {PART(0, "RDX2\nX\n")}, 7},
    {"an R data file", {PART(0, "X\n\0\0\0\2\0\4")}, 6},
    {"an R data file", {PART(0, "X\n\0\0\0\3\0\4")}, 6},
    {"a MATLAB 4 file", {PART(0, "\0\0\0\0\x0a\0\0\0\5\0\0\0\0\0\0\0\4\0\0\0x_1")}, 24},
    {"a MATLAB 4 file",
     {PART(0, "\0\0\3\xf2\0\0\0\x0a\0\0\0\5\0\0\0\1\0\0\0\2x"), PART(422, "\0\0\3\xe8")},
     22},
    {"an MGH file", {PART(0, "\0\0\0\1\0\0\0\x0a\0\0\0\6\0\0\0\5\0\0\0\1\0\0\0\0")}, 284},
    {"an NRRD file", {PART(0, "NRRD0004\ntype: float\n")}, 7},
    {"a MetaImage file", {PART(0, "ObjectType = Image\n")}, 12},
    {"a MetaImage file", {PART(0, "NDims = 3\n")}, 7},
    {"a MetaImage file", {PART(0, "Comment = x\nObjectType = Image\n")}, 24},
    {"a MetaImage file", {PART(0, "Comment =\nNDims = 3\n")}, 17},
    {"a Matrix Market file", {PART(0, "%%MatrixMarket matrix")}, 14},
    {"a VTK file", {PART(0, "# vtk DataFile Version 3.0\n")}, 14},
    {"a VTK file", {PART(0, "<VTKFile type=\"ImageData\"")}, 9},
    {"a VTK file", {PART(0, "<?xml version=\"1.0\"?>\n<VTKFile type")}, 31},
    {"a CDF file", {PART(0, "\xcd\xf3\0\1\0\0\xff\xff")}, 8},
    {"a CDF file", {PART(0, "\xcd\xf2\x60\2\xcc\xcc\0\1")}, 8},
    {"an IDL save file", {PART(0, "SR\0\4\0\0\0\x0a")}, 7},
    {"a FLAC file", {PART(0, "fLaC\0\0\0\x22\x10\0")}, 8},
    {"an Ogg file", {PART(0, "OggS\0\2")}, 6},
    {"an MP3 file", {PART(0, "ID3\4\0\0\0\0\x12\x7f")}, 5},
    {"an MP4 file",
     {PART(0, "\0\0\0\x20"
              "ftypisom\0\0\2\0")},
     8},
    {"a BMP image", {PART(0, "BM\x58\2\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x20\0\0\0")}, 10},
    {"a PNM or PFM image", {PART(0, "P5\n# by hand\n40 25\n255\n")}, 7},
    {"a PNM or PFM image", {PART(0, "P4 8 9\n")}, 7},
    {"a PNM or PFM image", {PART(0, "PF\n50 100\n-1.0\n")}, 7},
    {"a PNM or PFM image", {PART(0, "Pf 5 1\n1.0\n")}, 7},
    {"a PAM image", {PART(0, "P7\nWIDTH 40\n")}, 9},
    {"a PLY file", {PART(0, "ply\nformat ascii 1.0\n")}, 11},
    {"a PLY file", {PART(0, "ply\r\nformat binary_little_endian 1.0\r\n")}, 12},
    {"a program or a library",
     {PART(0, "MZ\x90\0\3\0\0\0"), PART(60, "\x80"), PART(128, "PE\0\0")},
     6},
    {"a program or a library", {PART(0, "\xcf\xfa\xed\xfe\7\0\0\1")}, 8},
    {"a program or a library", {PART(0, "\xcf\xfa\xed\xfe\x0c\0\0\1")}, 8},
    {"a Java class", {PART(0, "\xca\xfe\xba\xbe\0\0\0\x41")}, 7},
    {"an lzop file", {PART(0, "\x89LZO\0\r\n\x1a\n\x10\x40")}, 9},
    {"a file of zstd 0.1 to 0.4", {PART(0, "\xfd\x2f\xb5\x1e\0\0\x10")}, 24},
    {"a file of zstd 0.1 to 0.4", {PART(0, "\x22\xb5\x2f\xfd\x40\0\x10")}, 24},
    {"a file of zstd 0.1 to 0.4", {PART(0, "\x23\xb5\x2f\xfd\x02\0\0")}, 24},
    {"a file of zstd 0.1 to 0.4", {PART(0, "\x24\xb5\x2f\xfd\x09\x40\0\x10")}, 24},
    {"a file of zstd 0.5 to 0.7", {PART(0, "\x25\xb5\x2f\xfd\0\x40\0\xed")}, 24},
    {"a file of zstd 0.5 to 0.7", {PART(0, "\x26\xb5\x2f\xfd\x42\xf0\x40\0\xf0")}, 24},
    {"a file of zstd 0.5 to 0.7", {PART(0, "\x27\xb5\x2f\xfd\x20\xf0\x40\0\xf0")}, 24},
    {"a file of zstd 0.5 to 0.7", {PART(0, "\x27\xb5\x2f\xfd\xc7\x88")}, 24},
    {"a GGML file", {PART(0, "lmgg\0\x7d\0\0\0\x10\0\0")}, 8},
    {"a GGML file", {PART(0, "fmgg\1\0\0\0")}, 8},
    {"a GGML file", {PART(0, "tjgg\3\0\0\0")}, 8},
    {"a GGML file", {PART(0, "algg\1\0\0\0")}, 8},
    {"an LMDB database", {PART(16, "\xde\xc0\xef\xbe\1\0\0\0")}, 24},
    {"a TensorFlow checkpoint's index", {PART(0, "\0\0\6\x08\1\x1a\2\x08\1\0\3")}, 9},
    {"an OLE file (as of Excel)", {PART(0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")}, 8},
    {"a SAS file", {PART(12, "\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\0")}, 20},
    {"a SAS file", {PART(0, "HEADER RECORD*******LIBRARY HEADER")}, 23},
    {"an SPSS file", {PART(0, "$FL2@(#) SPSS DATA FILE")}, 8},
    {"an SPSS file", {PART(0, "$FL3@(#) SPSS DATA FILE")}, 8},
    {"a BUFR file", {PART(0, "BUFR\0\1\2\4")}, 8},
    {"a BUFR file", {PART(0, "BUFR\0\1\2\3")}, 8},
    {"a BUFR file", {PART(0, "BUFR\0\1\2\2")}, 8},
    {"a DICOM file", {PART(128, "DICM\2\0\0\0UL\4")}, 134},
    {"an ASDF file", {PART(0, "#ASDF 1.0.0\n#ASDF_STANDARD 1.5.0\n")}, 8},
    {"an MRC file", {PART(208, "MAP DD\0\0")}, 214},
    {"an MRC file", {PART(208, "MAP DA\0\0")}, 214},
    {"an MRC file", {PART(208, "MAP \x11\x11\0\0")}, 214},
    {"a LAS or LAZ file", {PART(0, "LASF"), PART(24, "\1\4")}, 25},
    {"a PCD file", {PART(0, "# .PCD v0.7 - Point Cloud Data file format\n")}, 8},
    {"an EDF file", {PART(0, "0       "), PART(168, "30.11.26")}, 171},
    {"a BDF file",
     {PART(0, "\xff"
              "BIOSEMI")},
     8},
    {"a TDMS file", {PART(0, "TDSm\x0e\0\0\0\x69\x12\0\0")}, 12},
    {"a cpio archive", {PART(0, "070701000000")}, 5},
    {"a cpio archive", {PART(0, "070702000000")}, 5},
    {"a cpio archive", {PART(0, "070707000000")}, 5},
    {"an AU file", {PART(0, ".snd\0\0\0\x18")}, 6},
    {"an AIFF file",
     {PART(0, "FORM\0\1\2\3"
              "AIFFCOMM")},
     11},
    {"an AIFF file",
     {PART(0, "FORM\0\1\2\3"
              "AIFCFVER")},
     11},
    {"an OpenEXR image", {PART(0, "v/1\1\2\0\0\0channels")}, 8},
    {"a JPEG 2000 image", {PART(0, "\0\0\0\x0cjP  \r\n\x87\n")}, 12},
    {"a JPEG 2000 image", {PART(0, "\xff\x4f\xff\x51\0\x2f")}, 5},
    {"a program or a library", {PART(0, "MZ\x90\0\3\0\4\0")}, 6},
    {"a program or a library", {PART(0, "MZ\x78\0\1\0\0\0\4")}, 6},
    {"an XML file", {PART(0, "<?xml version")}, 6},
    {"an HTML file", {PART(0, "<!DOCTYPE html>")}, 9},
    {"an HTML file", {PART(0, "<html><head>")}, 5},
    {"an lrzip file", {PART(0, "LRZI\0")}, 5},
    {"an encrypted file", {PART(0, "Salted__")}, 8},
    {"a pointer of Git LFS", {PART(0, "version https://git-lfs")}, 23},
    {"a pointer of git-annex", {PART(0, "/annex/objects/")}, 15},
    {"a macOS folder's settings", {PART(0, "\0\0\0\1Bud1")}, 8},
    {"a macOS file's attributes", {PART(0, "\0\5\x16\7\0\2\0\0")}, 8},
    {"a TFLite model", {PART(2, "\0\0TFL3")}, 8},
    {"a fastText model", {PART(0, "\xba\x16O/\x0c\0\0\0")}, 8},
    {"a Faiss index", {PART(0, "I"), PART(16, "\0\0\x10\0\0\0\0\0\0\0\x10\0\0\0\0\0")}, 32},
    {"an XGBoost file", {PART(0, "{L\0\0\0\0\0\0\0")}, 9},
    {"an XGBoost file", {PART(0, "\1\xab\xff\xffversion:")}, 12},
    {"a DuckDB database", {PART(8, "DUCK"), PART(14, "\0\0\0\0\0\0")}, 20},
    {"an Access database", {PART(0, "\0\1\0\0Standard ")}, 13},
    {"an Octave file", {PART(0, "Octave-1-")}, 9},
    {"a Blosc2 file", {PART(2, "b2frame\0")}, 10},
    {"a DCD file", {PART(0, "T\0\0\0CORD")}, 8},
    {"a DCD file", {PART(0, "\0\0\0TCORD")}, 8},
    {"a TRR or XTC file", {PART(0, "\0\0\7\xc9\0\0\0\r")}, 8},
    {"a TRR or XTC file", {PART(0, "\0\0\7\xcb"), PART(56, "Dz\0\0")}, 60},
    {"a TRR or XTC file", {PART(0, "\0\0\7\xe7"), PART(56, "Dz\0\0")}, 60},
    {"a GSD file",
     {PART(0, "\xdf"
              "e\xdf"
              "e\xdf"
              "e\xdf"
              "e")},
     8},
    {"a BAM or CRAM file", {PART(0, "BAM\1"), PART(7, "\0")}, 8},
    {"a BAM or CRAM file", {PART(0, "CRAM\2")}, 5},
    {"a BAM or CRAM file", {PART(0, "CRAM\3")}, 5},
    {"a BCF file", {PART(0, "BCF\2\2")}, 5},
    {"a bigWig file", {PART(0, "&\xfc\x8f\x88"), PART(5, "\0")}, 6},
    {"a bigWig file", {PART(0, "\xeb\xf2\x89\x87"), PART(5, "\0")}, 6},
    {"a 2bit file", {PART(0, "C'A\x1a\0\0\0\0")}, 8},
    {"a BGEN file", {PART(15, "\0bgen")}, 20},
    {"a POD5 file", {PART(0, "\x8bPOD\r\n\x1a\n")}, 8},
    {"an FCS file", {PART(0, "FCS"), PART(6, "    ")}, 10},
    {"a SAC file", {PART(272, "\0\xe4@\xc6"), PART(304, "\6\0\0\0")}, 308},
    {"a SAC file", {PART(272, "\0\xe4@\xc6"), PART(304, "\7\0\0\0")}, 308},
    {"a SAC file", {PART(272, "\xc6@\xe4\0"), PART(304, "\0\0\0\6")}, 308},
    {"a SAC file", {PART(272, "\xc6@\xe4\0"), PART(304, "\0\0\0\7")}, 308},
    {"a miniSEED file", {PART(0, "00"), PART(6, "D "), PART(20, "\7")}, 21},
    {"a miniSEED file", {PART(0, "00"), PART(6, "D "), PART(21, "\7")}, 22},
    {"a miniSEED file", {PART(0, "00"), PART(6, "M "), PART(20, "\7")}, 21},
    {"a miniSEED file", {PART(0, "00"), PART(6, "Q "), PART(20, "\7")}, 21},
    {"a miniSEED file", {PART(0, "00"), PART(6, "R "), PART(20, "\7")}, 21},
    {"a miniSEED file", {PART(0, "MS\3"), PART(9, "\7"), PART(11, "\0")}, 12},
    {"a miniSEED file", {PART(0, "MS\3"), PART(9, "\7"), PART(11, "\1")}, 12},
    {"a DLIS file", {PART(4, "V1.00RECORD")}, 15},
    {"a shapefile", {PART(0, "\0\0'\n\0\0\0\0"), PART(28, "\xe8\3\0\0")}, 32},
    {"a FlatGeobuf file", {PART(0, "fgb\3fgb")}, 7},
    {"a NITF image", {PART(0, "NITF0")}, 5},
    {"a NITF image", {PART(0, "NSIF0")}, 5},
    {"a VICAR image", {PART(0, "LBLSIZE=")}, 8},
    {"an ISIS cube", {PART(0, "Object = IsisCube")}, 17},
    {"a PDS image", {PART(0, "PDS_VERSION_ID")}, 14},
    {"a PDS image", {PART(0, "CCSD3ZF0000")}, 11},
    {"an ENVISAT file", {PART(0, "PRODUCT=\"")}, 9},
    {"an ERDAS image", {PART(0, "EHFA_HEADER_TAG")}, 15},
    {"a PCIDSK image", {PART(0, "PCIDSK  ")}, 8},
    {"a PCRaster map", {PART(0, "RUU CROSS SYSTEM")}, 16},
    {"a DTED file", {PART(0, "UHL1"), PART(80, "DSI")}, 83},
    {"a Surfer grid", {PART(0, "DSRB\4\0\0\0")}, 8},
    {"a NEXRAD file", {PART(0, "AR2V00")}, 6},
    {"a NEXRAD file", {PART(0, "ARCHIVE2.")}, 9},
    {"a SIGPROC file", {PART(0, "\x0c\0\0\0HEADER_START")}, 16},
    {"a SPICE kernel", {PART(0, "DAF/"), PART(7, " ")}, 8},
    {"a CASA table", {PART(0, "\xbe\xbe\xbe\xbe\0\0")}, 6},
    {"a FIF file", {PART(0, "\0\0\0d\0\0\0\x1f\0\0\0\x14")}, 12},
    {"an ABF file", {PART(0, "ABF2\0\0")}, 6},
    {"an ABF file", {PART(0, "ABF "), PART(7, "?")}, 8},
    {"a Spike2 file", {PART(2, "(C) CED 87")}, 12},
    {"a Plexon file", {PART(0, "PLEX"), PART(5, "\0\0\0")}, 8},
    {"a Blackrock file", {PART(0, "NEURAL")}, 6},
    {"a Neuralynx file", {PART(0, "######## Neuralynx")}, 18},
    {"an Intan file", {PART(0, "\2'\x91\xc6"), PART(5, "\0")}, 6},
    {"an Intan file", {PART(0, "\xac'\x91\xd6"), PART(5, "\0")}, 6},
    {"a C3D file", {PART(0, "\2P"), PART(512, "\1P"), PART(515, "T")}, 516},
    {"a file of tracks", {PART(0, "TRACK\0")}, 6},
    {"a file of tracks", {PART(0, "mrtrix tracks")}, 13},
    {"an MRtrix image", {PART(0, "mrtrix image")}, 12},
    {"an ECAT file", {PART(0, "MATRIX7")}, 7},
    {"a FreeSurfer file",
     {PART(0, "\xff\xff\xfe"
              "created ")},
     11},
    {"a FreeSurfer file", {PART(0, "\xff\xff\xff\0"), PART(11, "\0\0\0\1")}, 15},
    {"an MDF file", {PART(0, "MDF     ")}, 8},
    {"an MDF file", {PART(0, "UnFinMF ")}, 8},
    {"a BLF file", {PART(0, "LOGG\x90\0\0\0")}, 8},
    {"a packet capture", {PART(0, "\xd4\xc3\xb2\xa1\2\0")}, 6},
    {"a packet capture", {PART(0, "\xa1\xb2\xc3\xd4\0\2")}, 6},
    {"a packet capture", {PART(0, "M<\xb2\xa1\2\0")}, 6},
    {"a packet capture", {PART(0, "\n\r\r\n"), PART(8, "M<+\x1a")}, 12},
    {"a LeCroy file", {PART(0, "WAVEDESC")}, 8},
    {"a LeCroy file", {PART(0, "#9"), PART(11, "WAVEDESC")}, 19},
    {"a Gatan image", {PART(0, "\0\0\0\3"), PART(8, "\0\0\0\1\1\0\0\0\0")}, 17},
    {"a Gatan image", {PART(0, "\0\0\0\4"), PART(12, "\0\0\0\1\1\0\0\0\0")}, 21},
    {"a CZI image", {PART(0, "ZISRAWFILE")}, 10},
    {"an ND2 image", {PART(0, "\xda\xce\xbe\n"), PART(16, "ND2 FILE")}, 24},
    {"a LIF image", {PART(0, "p\0\0\0"), PART(8, "*"), PART(13, "<\0L\0")}, 17},
    {"an Andor image", {PART(0, "Andor Technology")}, 16},
    {"a Nanoscope file", {PART(0, "\\*File list")}, 11},
    {"a Gwyddion file", {PART(0, "GWYPGwyContainer")}, 16},
    {"a WiRE file", {PART(0, "WDF1"), PART(8, "\0\2\0\0")}, 12},
    {"an OPUS file", {PART(0, "\n\n\xfe\xfe"), PART(10, ",A")}, 12},
    {"a Thermo file",
     {PART(0, "\1\xa1"
              "F\0i\0n\0")},
     8},
    {"an NMR spectrum", {PART(0, "JEOL.NMR")}, 8},
    {"an NMR spectrum", {PART(0, "UCSF NMR\0")}, 9},
    {"an NMR spectrum", {PART(0, "\0\0\0\0\xef\xeenO{\x14\x16@")}, 12},
    {"an EDF image", {PART(0, "{\nEDF_")}, 6},
    {"an EDF image", {PART(0, "{\nHeaderID")}, 10},
    {"an ADSC image", {PART(0, "{\nHEADER_BYTES=")}, 15},
    {"a CBF image", {PART(0, "###CBF: VERSION")}, 15},
    {"a Bruker image", {PART(0, "FORMAT :")}, 8},
    {"a zfp file", {PART(0, "zfp\5")}, 4},
    {"an E57 file", {PART(0, "ASTM-E57")}, 8},
    {"a glTF file", {PART(0, "glTF\2\0\0\0")}, 8},
    {"a Gmsh file", {PART(0, "$MeshFormat")}, 11},
    {"a USD file", {PART(0, "PXR-USDC")}, 8},
    {"a VDB file", {PART(0, " BDV\0\0\0\0")}, 8},
    {"a Tecplot file", {PART(0, "#!TDV")}, 5},
    {"an Amira file", {PART(0, "# AmiraMesh")}, 11},
    {"an Amira file", {PART(0, "# Avizo")}, 7},
    {"an ADF file", {PART(0, "@(#)ADF Database")}, 16},
    {"an ADIOS file", {PART(0, "ADIOS-BP v")}, 10},
    {"an AU file", {PART(0, "dns."), PART(5, "\0\0\0")}, 8},
    {"an MP3 file", {PART(0, "\xff\xfb"), PART(36, "Xing")}, 40},
    {"an MP3 file", {PART(0, "\xff\xfb"), PART(36, "Info")}, 40},
    {"an MP3 file", {PART(0, "\xff\xfb"), PART(21, "Xing")}, 25},
    {"an MP3 file", {PART(0, "\xff\xfb"), PART(21, "Info")}, 25},
    {"an MP3 file", {PART(0, "\xff\xf3"), PART(21, "Xing")}, 25},
    {"an MP3 file", {PART(0, "\xff\xf3"), PART(21, "Info")}, 25},
    {"an MP3 file", {PART(0, "\xff\xf3"), PART(13, "Xing")}, 17},
    {"an MP3 file", {PART(0, "\xff\xf3"), PART(13, "Info")}, 17},
    {"a Wave64 file", {PART(0, "riff.\x91\xcf\x11")}, 8},
    {"a CAF file", {PART(0, "caff\0\1")}, 6},
    {"a VOC file", {PART(0, "Creative Voice")}, 14},
    {"an SVX file", {PART(0, "FORM"), PART(8, "8SVX")}, 12},
    {"an SVX file", {PART(0, "FORM"), PART(8, "16SV")}, 12},
    {"a SPHERE file", {PART(0, "NIST_1A\n")}, 8},
    {"a PVF file", {PART(0, "PVF1\n")}, 5},
    {"a PAF file", {PART(0, " paf\0\0\0\0")}, 8},
    {"a PAF file", {PART(0, "fap \0\0\0\0")}, 8},
    {"an IRCAM file", {PART(0, "d\xa3\2\0"), PART(8, "\0\0\0")}, 11},
    {"an IRCAM file", {PART(0, "d\xa3\3\0"), PART(9, "\0\0\0")}, 12},
    {"an IRCAM file", {PART(0, "d\xa3\1\0"), PART(9, "\0\0\0")}, 12},
    {"a WavPack file", {PART(0, "wvpk"), PART(9, "\4")}, 10},
    {"a TTA file", {PART(0, "TTA1\1\0")}, 6},
    {"an APE file", {PART(0, "MAC "), PART(5, "\x0f")}, 6},
    {"a DSF file", {PART(0, "DSD \x1c\0\0\0")}, 8},
    {"a DDS image", {PART(0, "DDS |\0\0\0")}, 8},
    {"an SGI image", {PART(0, "\1\xda\0\1\0"), PART(12, "\0\0\0\0\0\0\0\xff")}, 20},
    {"an SGI image", {PART(0, "\1\xda\1\1\0"), PART(12, "\0\0\0\0\0\0\0\xff")}, 20},
    {"a PCX image", {PART(0, "\n\5\1\x08\0\0\0\0"), PART(74, "\0\0\0\0\0\0\0\0")}, 82},
    {"a Photoshop image", {PART(0, "8BPS\0")}, 5},
    {"a Radiance image", {PART(0, "#?RADIANCE\n")}, 11},
    {"a Radiance image", {PART(0, "#?RGBE\n")}, 7},
    {"a Sun raster", {PART(0, "Y\xa6j\x95"), PART(12, "\0\0\0")}, 15},
    {"a DPX image", {PART(0, "SDPX"), PART(8, "V")}, 9},
    {"a DPX image", {PART(0, "XPDS"), PART(8, "V")}, 9},
    {"a SER video", {PART(0, "LUCAM-RECORDER")}, 14},
    {"an MP4 file", {PART(0, "\0\0\0\x08wide")}, 8},
    {"a Matroska video",
     {PART(0, "\x1a"
              "E\xdf\xa3"),
      PART(5, "B\x86\x81\1")},
     9},
    {"a Matroska video",
     {PART(0, "\x1a"
              "E\xdf\xa3"),
      PART(5, "B\x82")},
     7},
    {"a Matroska video",
     {PART(0, "\x1a"
              "E\xdf\xa3"),
      PART(12, "B\x86\x81\1")},
     16},
    {"an MPEG video",
     {PART(0, "\0\0\1\xba"
              "D"),
      PART(14, "\0\0\1")},
     17},
    {"an MPEG video", {PART(0, "\0\0\1\xba!"), PART(12, "\0\0\1")}, 15},
    {"an MPEG video", {PART(0, "G@\0"), PART(4, "\0\0\xb0")}, 7},
    {"an MPEG video", {PART(0, "G@\x11"), PART(4, "\0B\xf0")}, 7},
    {"a video",
     {PART(0, "0&\xb2u\x8e"
              "f\xcf\x11")},
     8},
    {"a video", {PART(0, ".RMF\0\0\0\x12")}, 8},
    {"a video", {PART(0, "FLV\1"), PART(5, "\0\0\0\x09")}, 9},
    {"a video", {PART(0, "YUV4MPEG2 ")}, 10},
    {"a video", {PART(0, "\6\x0e+4\2\5\1\1")}, 8},
    {"a JPEG XL image", {PART(0, "\0\0\0\x0cJXL \r\n")}, 10},
    {"a program or a library",
     {PART(0, "\x7f"
              "ELF"),
      PART(6, "\1")},
     7},
    {"a program or a library", {PART(0, "MZ\x90\0\3\0")}, 6},
    {"a program or a library", {PART(0, "MZx\0\1\0")}, 6},
    {"a program or a library", {PART(0, "\xcf\xfa\xed\xfe\7\0\0\1")}, 8},
    {"a program or a library", {PART(0, "\xcf\xfa\xed\xfe\x0c\0\0\1")}, 8},

    {"a TFRecord file", {PART(0, "\x14\0\0\0\0\0\0\0"), PART(8, "\x5e\x3d\x29\x15")}, 16},
    {"a PNM or PFM image", {PART(0, "P5 \n64 64 255\n")}, 7},
};

/* The codes of a run of one letter, for compress(1): 'a', 257, 258, ... of 9 bits each. */
static void add_codes(unsigned char *file)
{
    memset(file + 3, 0, FILE_SIZE - 3);
    for (unsigned k = 0; k < 200; k++) {
        unsigned code = k == 0 ? 'a' : 256 + k, bit = 9 * k;

        code <<= bit % 8;
        file[3 + bit / 8] |= (unsigned char)code;
        file[4 + bit / 8] |= (unsigned char)(code >> 8);
    }
}

static void make_file(size_t i, unsigned char file[FILE_SIZE])
{
    memset(file, 0, FILE_SIZE);
    for (size_t k = 0; k < 4 && files[i].parts[k].bytes; k++)
        memcpy(file + files[i].parts[k].offset, files[i].parts[k].bytes, files[i].parts[k].size);
    if (strcmp(files[i].name, "a file of compress(1)") == 0)
        add_codes(file);
}

static void check_rows(void)
{
    struct tap_family rows = {0}, cut = {0}, damaged = {0};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        unsigned char file[FILE_SIZE];
        const char *got;

        make_file(i, file);
        for (int type = 0; type < ELEMENT_FLOATS; type++) {
            got = name_of(file, sizeof file, sizeof file, (enum element_type)type, type & 1);
            tap_case(&rows, strcmp(got, files[i].name) == 0, "%s: %s", files[i].name, got);
            got = name_of(file, sizeof file, UINT64_MAX, (enum element_type)type, false);
            tap_case(&rows, strcmp(got, files[i].name) == 0, "%s, in a pipe: %s", files[i].name,
                     got);
        }
        /* With a byte less than it takes, and one by one down to nothing, without a step beyond. */
        if (files[i].least) {
            got = name_of(file, files[i].least, UINT64_MAX, ELEMENT_F32, false);
            tap_case(&cut, strcmp(got, files[i].name) == 0, "%zu bytes of %s: %s", files[i].least,
                     files[i].name, got);
            got = name_of(file, files[i].least - 1, UINT64_MAX, ELEMENT_F32, false);
            tap_case(&cut, strcmp(got, files[i].name) != 0, "too few bytes of %s", files[i].name);
        }
        for (size_t size = 0; size < sizeof file; size++)
            name_of(file, size, size, ELEMENT_F32, false);
        /* Without the first byte of its magic, which in a tar archive is not its first. */
        file[strstr(files[i].name, "tar") ? 257 : files[i].parts[0].offset] ^= 0x40;
        got = name_of(file, sizeof file, sizeof file, ELEMENT_F32, false);
        tap_case(&damaged, strcmp(got, files[i].name) != 0, "%s with another first byte",
                 files[i].name);
    }
    tap_family_end(&rows, "every row, by hand");
    tap_family_end(&cut, "no more bytes than are needed");
    tap_family_end(&damaged, "not without its first byte");
}

/* Formats that the length of the file tells: with a byte more, in a pipe, and as elements of two
   bytes, where that is too little, they are nothing. */
static void check_whole(void)
{
    static const struct {
        const char *name;
        struct part parts[2];
        size_t size;
        bool halves; /* also as elements of two bytes */
        bool big;    /* of elements in this order */
    } whole[] = {
        {"an Analyze header", {PART(0, "\x5c\1\0\0"), PART(40, "\3\0")}, 348, true, false},
        {"an Analyze header", {PART(0, "\0\0\1\x5c"), PART(40, "\0\4")}, 348, true, true},
        {"an IDX file (as of MNIST)", {PART(0, "\0\0\x0d\1\0\0\0\5")}, 28, true, false},
        {"an IDX file (as of MNIST)", {PART(0, "\0\0\x08\2\0\0\0\5\0\0\0\7")}, 47, true, true},
        {"an STL file", {PART(0, "solid"), PART(80, "\3\0\0\0")}, 234, false, false},
        {"a Python pickle", {PART(0, "\x80\3B\x40\1"), PART(327, "q\0.")}, 330, true, false},
        {"a Python pickle", {PART(0, "\x80\4B\x40\1"), PART(327, "\x94.")}, 329, true, false},
        {"a Python pickle", {PART(0, "\x80\2K\1K\2\x86q\0.")}, 10, true, false},
        {"a Python pickle", {PART(0, "\x80\2(K\1"), PART(330, "tr\x2c\1\0\0.")}, 337, true, false},
        {"a Python pickle", {PART(0, "(G?\xf8\0\0\0\0\0\0K\1tq\0.")}, 16, true, false},
        {"a Python pickle", {PART(0, "(K\1"), PART(330, "tr\x2c\1\0\0.")}, 337, true, false},
        {"a Python pickle", {PART(0, "(I1\nF1.5\ntp0\n.")}, 14, true, false},
        {"a Python pickle", {PART(0, "\x80\2G?\xf8"), PART(11, ".")}, 12, true, false},
        {"a Python pickle", {PART(0, "\x80\3J\0\0\1\0.")}, 8, true, false},
        {"a Python pickle", {PART(0, "\x80\3\x8a\5\0\0\0\0\1.")}, 10, true, false},
        {"a dBASE file",
         {PART(0, "\3\x7e\x0c\1\2\0\0\0\x41\0\x0b"), PART(64, "\x0d 1")},
         88,
         true,
         false},
        {"a Fortran file of records",
         {PART(0, "\x10\0\0\0"), PART(20, "\x10\0\0\0")},
         24,
         false,
         false},
        {"a Fortran file of records",
         {PART(0, "\0\0\0\x10"), PART(20, "\0\0\0\x10")},
         24,
         false,
         true},
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        unsigned char file[FILE_SIZE] = {0};
        size_t size = whole[i].size;

        for (size_t k = 0; k < 2 && whole[i].parts[k].bytes; k++)
            memcpy(file + whole[i].parts[k].offset, whole[i].parts[k].bytes,
                   whole[i].parts[k].size);
        for (int type = 0; type < ELEMENT_FLOATS; type++) {
            bool half = element_size((enum element_type)type) == 2;
            const char *got = name_of(file, size, size, (enum element_type)type, whole[i].big);

            tap_case(&family, strcmp(got, !half || whole[i].halves ? whole[i].name : "") == 0,
                     "%s as %s: %s", whole[i].name, element_name((enum element_type)type), got);
            got = name_of(file, size + 1, size + 1, (enum element_type)type, false);
            tap_case(&family, !*got, "%s and a byte: %s", whole[i].name, got);
            got = name_of(file, size, UINT64_MAX, (enum element_type)type, false);
            tap_case(&family, !*got, "%s in a pipe: %s", whole[i].name, got);
        }
    }
    tap_family_end(&family, "what the length tells");
}

/* Lengths in headers that lie beyond the end of the file. */
static void check_lies(void)
{
    struct tap_family family = {0};
    unsigned char file[FILE_SIZE] = "II*\0\x58\2\0";

    tap_case(&family, !*name_of(file, sizeof file, sizeof file, ELEMENT_F32, false), "TIFF");
    tap_case(&family, *name_of(file, sizeof file, 10000, ELEMENT_F32, false), "TIFF, longer");
    tap_family_end(&family, "a length beyond the end is none");
}

/* Formats that the first 4 KiB tell. */
static void check_long(void)
{
    static unsigned char file[UNSUPPORTED_HEAD];
    struct tap_family family = {0};
    const char *got;

    /* SEG-Y with blanks of EBCDIC, ASCII and neither. */
    for (int k = 0; k < 3; k++) {
        memset(file, 0, sizeof file);
        memset(file, k == 0 ? 0x40 : ' ', 3200);
        memcpy(file, k == 0 ? "\xc3\x40\xf1" : "C 1", 3);
        memcpy(file + 3216, "\x0f\xa0\0\0\1\xf4\0\0\0\5", 10);
        file[3199] = k == 2 ? 0x1f : file[3198];
        got = name_of(file, sizeof file, 100000, ELEMENT_F32, false);
        tap_case(&family, strcmp(got, k < 2 ? "a SEG-Y file" : "") == 0, "SEG-Y %d: %s", k, got);
    }
    got = name_of(file, 3599, 100000, ELEMENT_F32, false);
    tap_case(&family, !*got, "3599 bytes: %s", got);
    memset(file, 0, sizeof file);
    memcpy(file + 4092, "\x67\x45\x23\1", 4);
    got = name_of(file, sizeof file, 100000, ELEMENT_F32, false);
    tap_case(&family, strcmp(got, "an SPE image") == 0, "SPE: %s", got);
    file[109] = 1;
    got = name_of(file, sizeof file, 100000, ELEMENT_F32, false);
    tap_case(&family, !*got, "SPE of an unknown type: %s", got);
    tap_family_end(&family, "formats with long headers");
}

/* Integers that begin as some formats do. */
static void check_integers(void)
{
    static const struct {
        enum element_type type;
        bool big;
        int values[6];
    } arrays[] = {
        {ELEMENT_I32, false, {93, 1, 119, 0, 89, 65}},       /* lzma: dictionary, length */
        {ELEMENT_I16, false, {93, 0, 1, 7, 9, 12}},          /* the dictionary in i16 */
        {ELEMENT_I32, false, {-1, 39, 16, -7, 28, 9}},       /* an Arrow stream */
        {ELEMENT_I32, false, {0, 125, 241, 0, 2, 'y'}},      /* MATLAB 4: a matrix x */
        {ELEMENT_I32, false, {51, 65, 0, 0, 2, 'I'}},        /* MATLAB 4: an empty one */
        {ELEMENT_I32, true, {1, 2, -11, 4, 1, 3}},           /* MGH */
        {ELEMENT_I32, true, {442, 443, 444, 445, 446, 447}}, /* MPEG */
        {ELEMENT_I32, true, {9994, 0, 0, 0, 0, 0}},          /* a shapefile */
        {ELEMENT_I32, true, {1995, 100, 0, 0, 7, 9}},        /* XTC */
        {ELEMENT_I32, true, {100, 31, 21, 0, 1, 2}},         /* FIF */
        {ELEMENT_I16, true, {-40, -37, 60, 7, 9, 1}},        /* JPEG */
        {ELEMENT_I16, true, {474, 1, 2, 64, 64, 1}},         /* SGI */
        {ELEMENT_U8, false, {10, 5, 1, 8, 0, 7}},            /* PCX */
        {ELEMENT_U8, false, {10, 10, 254, 254, 9, 9}},       /* OPUS */
        {ELEMENT_U16, false, {3, 257, 2, 0, 65, 11}},        /* dBASE */
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        const size_t size = element_size(arrays[i].type);
        unsigned char bytes[64 * 8];
        const char *got;

        for (size_t k = 0; k < 64 * size; k++) {
            const size_t n = k / size, place = arrays[i].big ? size - 1 - k % size : k % size;
            const int64_t value = n < 6 ? arrays[i].values[n] : (int64_t)(n * 7 % 5);

            bytes[k] = (unsigned char)((uint64_t)value >> 8 * place);
        }
        for (int pipe = 0; pipe < 2; pipe++) {
            got = name_of(bytes, 64 * size, pipe ? UINT64_MAX : 64 * size, arrays[i].type,
                          arrays[i].big);
            tap_case(&family, !*got || (pipe && arrays[i].values[4] == 2), "%d, %d, ...: %s",
                     arrays[i].values[0], arrays[i].values[1], got);
        }
    }
    tap_family_end(&family, "integers are no magic");
}

/* Text in UTF-16 and UTF-32, with a mark and without. */
static void check_wide(struct tap_family *family)
{
    static const char text[] = "x,y\n1.5,2.5\n3.25,4.5\n";

    for (size_t width = 2; width <= 4; width += 2) {
        for (int big = 0; big < 2; big++) {
            for (int mark = 0; mark < 2; mark++) {
                unsigned char wide[4 * sizeof text] = {0};
                size_t size = 0;

                const char *got;

                if (mark) {
                    wide[big ? width - 1 : 0] = 0xff;
                    wide[big ? width - 2 : 1] = 0xfe;
                    size = width;
                }
                for (size_t i = 0; text[i]; i++, size += width)
                    wide[size + (big ? width - 1 : 0)] = (unsigned char)text[i];
                got = name_of(wide, size, UINT64_MAX, ELEMENT_F32, false);
                tap_case(family, strcmp(got, mark ? "a text file in UTF-16 or UTF-32" : "") == 0,
                         "UTF-%zu, big %d, mark %d: %s", 8 * width, big, mark, got);
                got = name_of(wide, 7, UINT64_MAX, ELEMENT_F32, false);
                tap_case(family, !*got, "UTF-%zu, 7 bytes: %s", 8 * width, got);
            }
        }
    }
}

static void check_text(void)
{
    static const struct {
        const char *text, *name;
    } texts[] = {
        {"1.5\n2.5\n3.5\n", "a text file of numbers"},
        {"1\n2\n3\n4\n", "a text file of numbers"},
        {"1 2 3\n4 5 6\n7 8 9\n", "a text file of numbers"},
        {"1,2,3\r\n4,5,6\r\n7,8,9\r\n10,11,12\r\n", "a text file of numbers"},
        {"0.1\t-2e-5\tnan\n3.25\t+inf\t1e30\n7.5\t8\t9\n", "a text file of numbers"},
        {"time,value\n0,1.5\n1,2.5\n2,3.5\n3,4.5\n4,5.5\n5,6.5\n", "a text file"},
        {"\xef\xbb\xbfZeit;Gr\xc3\xb6\xc3\x9f"
         "e\n0;1,5\n1;2,5\n2;3,5\n3;4,5\n4;5,5\n5;6,5\n6;7,5\n"
         "7;8,5\n8;9,5\n9;1,5\n10;2,5\n11;3,5\n12;4,5\n13;5,5\n14;6,5\n15;7,5\n",
         "a text file"},
        {"{\"values\": [1.5, 2.5, 3.5, 4.5, 5.5]}\n", "a JSON file"},
        {"[[1.5, 2.5], [3.5, 4.5], [5.5, 6.5], [7.5, 8.5], [9.5]]", "a JSON file"},
        {"[{\"NAME\":\"QUARTZ\",\"CODE\":\"QZ\"},{\"NAME\":\"X\"}]\n", "a JSON file"},
        {"[true, false, null, true, false, null]\n", "a JSON file"},
        {"[-Infinity, 1.5, Infinity, 2.5, NaN]\n", "a JSON file"},
        /* Brackets of something else. */
        {"[section]\nname = value\nother = 17\n\n", "a text file"},
        {"[2026-01-01 12:00] the reader went wrong\n", "a text file"},
        {"{'a': [1.5, 2.5], 'bc': [3.5, 4.5, 57.5]}", "a text file"},
        /* Repetitions, with and without a heading. */
        {"1.5\n1.5\n1.5\n1.5\n1.5\n1.5\n1.5\n1.5\n1.5\n1.5\n1.5\n1.5\n", "a text file of numbers"},
        {"0.0,0.0,0.0,0.0\n0.0,0.0,0.0,0.0\n", "a text file of numbers"},
        {"0 0 0 0\n0 0 0 0\n0 0 0 0\n0 0 0 0\n", "a text file of numbers"},
        {"nan\nnan\nnan\nnan\n", "a text file of numbers"},
        {"a,b,c\n0.0,0.0,0.0\n0.0,0.0,0.0\n0.0,0.0,0.0\n0.0,0.0,0.0\n0.0,0.0,0.0\n"
         "0.0,0.0,0.0\n0.0,0.0,0.0\n0.0,0.0,0.0\n0.0,0.0,0.0\n0.0,0.0,0.0\n"
         "0.0,0.0,0.0\n0.0,0.0,0.0\n0.0,0.0,0.0\n0.0,0.0,0.0\n0.0,0.0,0.0\n"
         "0.0,0.0,0.0\n0.0,0.0,0.0\n0.0,0.0,0.0\n",
         "a text file"},
        /* In capital letters. */
        {"TITLE     WATER STRUCTURE OF A HYDROPHOBIC PROTEIN\nATOM      1  N\n\n", "a text file"},
        {"CODE,NAME\nA17,NORTH\nB4,EAST\n", "a text file"},
        {"NAME\t= DEM\nDATAFORMAT\t= FLOAT\nCELLSIZE\t= 10\n", "a text file"},
        {"C 1 CLIENT SYNTHETIC          COMPANY EXAMPLE", "a text file"},
        {"Y\nN\nN\nY\nY\nY\nN\nN\nN\nY\n", "a text file"},
        /* Little of it. */
        {"1.5\n", "a text file of numbers"},
        {"1,2\n", "a text file of numbers"},
        {"x\ty\n1.5\t2.5\n", "a text file"},
        {"hello world this", "a text file"},
        {"[1,2]\n\n", "a JSON file"},
        {"{\"zarr_format\":2}\n", "a JSON file"},
        {"a: 1.0\nb: 2\n", "a text file"},
        /* In Latin-1, with a mark, in UTF-16 without one. */
        {"Temperatur in \xb0"
         "C: 15,5; Gr\xf6\xdf"
         "e 3\n",
         "a text file"},
        {"\xef\xbb\xbf"
         "a,b\n1,2\n3,4\n",
         "a text file"},
        /* Constant data: what one element is decides nothing, but for lines of numbers. */
        {"????????????????????????????????????????????????????????", ""},
        {"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", ""},
        {"text", ""},
        {"ATOMATOMATOMATOMATOMATOMATOMATOMATOMATOMATOMATOMATOMATOM", ""},
        {"{[{[{[{[{[{[{[{[{[{[{[{[{[{[{[{[{[{[{[{[{[{[{[{[{[{[{[{[", ""},
        /* Too little to tell, and what no text has. */
        {"1.5 2.5 ", ""},
        {"QWERTYUIOPASDFGHJKLZXCVBNM0123456789POIUYTREWQLKJHGFDSAMNBVCXZ98", ""},
        {"\xe0\xe1\xe2\xe3 \xe4\xe5\xe6 and some words in ASCII behind them \x01\n", ""},
        {"\xe0\xe1\xe2\xe3\xe4\xe5\xe6\xe7 of high bytes too many are here, \xe0\xe1\xe2\xe3"
         "\xe4\xe5\xe6\xe7\xe0\xe1\xe2\xe3\xe4\xe5\xe6\xe7",
         ""},
        {"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n\xff\n", "a text file"},
        {"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n\x01\n", ""},
        {"time,value\n0,1.5\n1,2.5\n2,3.5\n3,4.5\n4,5.5\n5,6.5\n\xc3\x28\n", "a text file"},
    };
    struct tap_family family = {0};
    unsigned char table[5000];
    const char *got;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t size = strlen(texts[i].text);

        got = name_of(texts[i].text, size, size, ELEMENT_F32, false);
        tap_case(&family, strcmp(got, texts[i].name) == 0, "%s: %s", texts[i].text, got);
    }
    /* Long ones, with and without lines, of any type of elements. */
    for (int lines = 0; lines < 2; lines++) {
        for (size_t i = 0, n = 0; i + 20 < sizeof table; n++)
            i += (size_t)sprintf((char *)table + i, "%g%c", (double)n / 7, lines ? '\n' : ',');
        for (int type = 0; type < ELEMENT_FLOATS; type++) {
            got = name_of(table, UNSUPPORTED_HEAD, sizeof table, (enum element_type)type, false);
            tap_case(&family, strcmp(got, "a text file of numbers") == 0, "%s, lines %d: %s",
                     element_name((enum element_type)type), lines, got);
        }
    }
    check_wide(&family);
    tap_family_end(&family, "text, and what only looks like it");
}

/* Bytes that were written on a machine of this byte order, in the other one if `big`. */
static void set_order(void *data, size_t count, enum element_type type, bool big)
{
    if (big != element_host_is_big())
        element_swap(data, data, count, element_size(type));
}

/* The lower bits of a word as an element of so many bytes, on this machine. */
static void element_store_bits(unsigned char *to, size_t size, uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    uint16_t half = (uint16_t)bits;

    memcpy(to, size == 8 ? (const void *)&bits : size == 4 ? (const void *)&word : &half, size);
}

/* Whether numbers are taken for something. */
static void check_data(struct tap_family *family, void *data, size_t count, enum element_type type,
                       bool big, const char *kind)
{
    const char *got;

    set_order(data, count, type, big);
    got = name_of(data, count * element_size(type), count * element_size(type), type, big);
    tap_case(family, !*got, "%zu %s, %s: %s", count, element_name(type), kind, got);
}

/* Numbers of many kinds, as the first 4 KiB of a file and as a file of a few elements. */
static void check_numbers(void)
{
    static union {
        unsigned char bytes[UNSUPPORTED_HEAD];
        double aligned;
    } data;
    struct tap_family family = {0};
    struct rng rng;

    rng_seed(&rng, 12);
    for (unsigned round = 0; round < 400; round++) {
        for (int i = 0; i < ELEMENT_FLOATS; i++) {
            enum element_type type = (enum element_type)i;
            size_t most = sizeof data / element_size(type);
            double scale = ldexp(1 + rng_unit(&rng), (int)rng_below(&rng, 60) - 40), x;

            for (int kind = 0; kind < DATA_KINDS; kind++) {
                size_t count = round % 2 ? 1 + rng_below(&rng, 40) : most;

                data_fill((enum data_kind)kind, type, &data, count, round);
                check_data(&family, &data, count, type, round % 4 == 3,
                           data_kind_name((enum data_kind)kind));
            }
            for (int kind = 0; kind < 4; kind++) {
                size_t count = round % 2 ? 1 + rng_below(&rng, 40) : most;

                for (size_t k = 0; k < count; k++) {
                    x = kind == 0   ? scale                                        /* one */
                        : kind == 1 ? scale * (1 + (double)k / 64 / (double)count) /* a slope */
                        : kind == 2 ? scale * (double)rng_below(&rng, 2)           /* a mask */
                                    : scale * (1 + (double)rng_below(&rng, 3) / 65536); /* steps */
                    data_put(type, &data, k, x);
                }
                check_data(&family, &data, count, type, round % 4 == 3, "of a scale");
            }
        }
    }
    tap_family_end(&family, "numbers are nothing else");
}

/* 10^5 arrays of 1 to 100 elements of each type, in either byte order: of similar size with random
   fractions, of any bits, narrower ones widened, counts, steps of one unit in the last place, and a
   few values that repeat themselves; one integer, also among zeros. */
static void check_small(void)
{
    enum { KINDS = 9, ARRAYS = 100000, MOST = 100 };
    struct tap_family family = {0};
    struct rng rng;

    rng_seed(&rng, 34);
    for (int i = 0; i < ELEMENT_FLOATS; i++) {
        enum element_type type = (enum element_type)i;
        size_t size = element_size(type);

        for (unsigned k = 0; k < ARRAYS; k++) {
            static double aligned[MOST];
            unsigned char *bytes = (unsigned char *)aligned;
            size_t count = 1 + rng_below(&rng, MOST), period = 1 + rng_below(&rng, 6);
            unsigned kind = k % KINDS;
            double scale = ldexp(1 + rng_unit(&rng), (int)rng_below(&rng, 20) - 10);
            uint64_t bits = rng_next(&rng);
            bool big = rng_below(&rng, 4) == 0;
            const char *got;

            for (size_t n = 0; n < count; n++) {
                uint64_t value = kind == 1 ? rng_next(&rng) : bits + n;
                double x = kind == 0   ? scale * rng_unit(&rng)
                           : kind == 2 ? scale * (rng_unit(&rng) - rng_unit(&rng))
                           : kind == 3 ? (double)(bits % 10000 + n)
                           : kind == 4 ? (double)rng_below(&rng, 100) / 100
                           : kind == 7 ? (double)(bits % 256)
                           : kind == 8 ? (double)(bits % 9999) / 2 * (double)rng_below(&rng, 2)
                                       : scale * rng_unit(&rng);

                if (kind == 5 && n >= period)
                    memcpy(bytes + n * size, bytes + (n - period) * size, size);
                else if (kind == 1 || kind == 6)
                    element_store_bits(bytes + n * size, size, value);
                else
                    data_put(type, bytes, n, x);
            }
            set_order(bytes, count, type, big);
            got = name_of(bytes, count * size, count * size, type, big);
            tap_case(&family, !*got, "%zu %s, kind %u, array %u: %s", count, element_name(type),
                     kind, k, got);
        }
    }
    tap_family_end(&family, "small arrays are nothing else");
}

/* Elements that differ in 6 bits, as numbers of like size may, after bytes that are text, or not; or whose last
   byte is in all the others, too. */
static void check_neighbours(void)
{
    enum { ARRAYS = 5000, MOST = 512 };
    struct tap_family family = {0};
    struct rng rng;

    rng_seed(&rng, 56);
    for (int i = 0; i < ELEMENT_FLOATS; i++) {
        enum element_type type = (enum element_type)i;
        size_t size = element_size(type);

        for (unsigned k = 0; k < ARRAYS; k++) {
            static double aligned[MOST];
            unsigned char *bytes = (unsigned char *)aligned;
            size_t count = 1 + rng_below(&rng, MOST);
            uint64_t bits = k % 2 ? rng_next(&rng) : UINT64_C(0x4131324241373041);

            bits |= UINT64_C(1) << (8 * size - 2); /* no tiny float */
            for (size_t n = 0; n < count; n++) {
                const uint64_t value = (bits | 63) - rng_below(&rng, 64);

                element_store_bits(bytes + n * size, size,
                                   k % 8 == 7 ? (value & 255) * 0x0101010101010101 : value);
            }
            check_data(&family, bytes, count, type, k % 4 > 1, "neighbours");
        }
    }
    tap_family_end(&family, "neighbours are nothing else");
}

/* Records of Fortran with normal numbers, and what their first 4 KiB, or all of them, are found to
 * be.
 */
static void check_fortran(void)
{
    enum { SIZE = 60000 };
    struct tap_family family = {0}, integers = {0};
    struct rng rng;

    rng_seed(&rng, 7);
    for (unsigned k = 0; k < 4000; k++) {
        static unsigned char file[SIZE];
        enum element_type type = rng_below(&rng, 2) ? ELEMENT_F32 : ELEMENT_F64;
        unsigned marker = k & 1 ? 8 : 4;
        bool big = k & 2;
        size_t records = 1 + rng_below(&rng, 20), most = k & 4 ? 20 : 300, at = 0;
        const char *got;

        for (size_t i = 0; i < records; i++) {
            uint64_t length = (8 + rng_below(&rng, most)) * element_size(type);

            for (unsigned side = 0; side < 2; side++) {
                for (unsigned b = 0; b < marker; b++)
                    file[at++] = (unsigned char)(length >> 8 * (big ? marker - 1 - b : b));
                for (uint64_t n = 0; side == 0 && n < length; n += element_size(type)) {
                    data_put(type, file + at, 0, rng_unit(&rng) - 0.5);
                    if (big != element_host_is_big())
                        element_swap(file + at, file + at, 1, element_size(type));
                    at += element_size(type);
                }
            }
        }
        if (at > UNSUPPORTED_HEAD) /* what lies behind it is not known here */
            continue;
        got = name_of(file, at, at, type, big);
        tap_case(&family, strcmp(got, "a Fortran file of records") == 0,
                 "%zu records, %zu bytes, markers of %u, big %d: %s", records, at, marker, big,
                 got);
        got = name_of(file, at - 4, at - 4, type, big);
        if (records == 1 || records > 4)
            tap_case(&family, strcmp(got, records > 4 ? "a Fortran file of records" : "") == 0,
                     "%zu records with 4 bytes less: %s", records, got);
    }
    tap_family_end(&family, "Fortran's records");

    /* Integers: one, a few that repeat themselves, small ones, and counts. */
    for (unsigned k = 0; k < 400000; k++) {
        static uint32_t words[1024];
        size_t count = 2 + rng_below(&rng, k % 16 ? 100 : 1000), kind = k % 4;
        size_t values = 1 + rng_below(&rng, kind == 1 ? 4 : 1000), total = 4 * count;
        uint64_t base = kind == 3 ? rng_below(&rng, 5000) : total - 8;
        static const enum element_type types[] = {ELEMENT_I32, ELEMENT_U32, ELEMENT_I64,
                                                  ELEMENT_U64, ELEMENT_U8};
        const char *got;

        for (size_t i = 0; i < count; i++)
            words[i] = (uint32_t)(kind == 0   ? base
                                  : kind == 3 ? base + i
                                              : rng_below(&rng, values) * (kind == 1 ? base : 1));
        if (k & 64)
            element_swap(words, words, count, 4);
        got = name_of(words, total, total, types[k / 4 % 5], k & 128);
        tap_case(&integers, !*got, "%zu integers of kind %zu, array %u: %s", count, kind, k, got);
    }
    tap_family_end(&integers, "integers are no records");
}

int main(void)
{
    check_rows();
    check_whole();
    check_lies();
    check_long();
    check_integers();
    check_text();
    check_numbers();
    check_small();
    check_neighbours();
    check_fortran();
    return tap_done();
}
