#include "config.h"

#include "source/foreign_tables.h"

#include <ctype.h>
#include <stdio.h>

#include "source/foreign_bytes.h"

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

/* FreeSurfer's: 32 bits of the version, 31 of each of four sizes, and 29 of the type. */
static bool is_mgh(const struct foreign_input *in)
{
    static const unsigned char sizes[] = {1, 4, 0, 4, 2};
    const unsigned char *b = in->bytes;
    uint64_t type = load_big(b + 20, 4), bytes = 1;

    if (load_big(b, 4) != 1 || type >= sizeof sizes || sizes[type] == 0)
        return false;
    for (size_t i = 0; i < 4; i++) {
        uint64_t size = load_big(b + 4 + 4 * i, 4);

        if (size == 0 || size >> 31 || bytes > (UINT64_C(1) << 40) / size)
            return false;
        bytes *= size;
    }
    return fits(in, 284, bytes * sizes[type]);
}

/* An Analyze header, which has no magic and no data: 31 bits of its length, which is the file's; 13
   of the number of dimensions. */
static bool is_analyze(const struct foreign_input *in)
{
    bool big = in->bytes[0] == 0;
    uint64_t dimensions = big ? load_big(in->bytes + 40, 2) : load_little(in->bytes + 40, 2);

    return is_all(in, 348) && (big ? load_big(in->bytes, 4) : load_little(in->bytes, 4)) == 348 &&
           dimensions >= 1 && dimensions <= 7;
}

/* Before version 5: five words that give byte order and type (25 bits), two sizes, whether there
   are imaginary parts (31), and the length of a name of letters (24), which ends with a zero (8).
 */
static bool is_matlab4(const struct foreign_input *in)
{
    static const unsigned char sizes[] = {8, 4, 4, 2, 2, 1};
    const unsigned char *b = in->bytes;
    bool big = load_little(b, 4) > 5052;
    uint64_t word[5], rows, columns;

    for (size_t i = 0; i < 5; i++)
        word[i] = big ? load_big(b + 4 * i, 4) : load_little(b + 4 * i, 4);
    if (word[0] / 1000 != (big ? 1 : 0) || word[0] % 1000 / 10 >= sizeof sizes ||
        word[0] % 10 > 2 || word[3] > 1 || word[4] < 2 || word[4] > 64 || in->size - 20 < word[4])
        return false;
    for (size_t i = 0; i + 1 < word[4]; i++)
        if (!isalnum(b[20 + i]) && b[20 + i] != '_')
            return false;
    rows = word[1];
    columns = word[2];
    return b[19 + word[4]] == 0 && rows < UINT64_C(1) << 31 && columns < UINT64_C(1) << 28 &&
           fits(in, 20 + word[4], rows * columns * sizes[word[0] % 1000 / 10]);
}

/* 32 bits, and 32 that say whether it is compressed. */
static bool is_cdf(const struct foreign_input *in)
{
    return BEGINS(in, 4, "\0\0\xff\xff") || BEGINS(in, 4, "\xcc\xcc\0\1");
}

/* 32 bits, and 26 of the type of the first record. */
static bool is_idl(const struct foreign_input *in)
{
    return load_big(in->bytes + 4, 4) <= 20;
}

/* As the MNIST digits: 16 bits of zeros, 8 and more of type and dimensions; sizes that give the
   length of the file. */
static bool is_idx(const struct foreign_input *in)
{
    static const unsigned char sizes[] = {1, 1, 0, 2, 4, 4, 8};
    const unsigned char *b = in->bytes;
    uint64_t bytes;

    if (b[2] < 8 || b[2] > 14 || b[2] == 10 || b[3] < 1 || b[3] > 8 || in->size < 4 + 4u * b[3])
        return false;
    bytes = sizes[b[2] - 8];
    for (size_t i = 0; i < b[3]; i++) {
        uint64_t size = load_big(b + 4 + 4 * i, 4);

        if (size == 0 || bytes > (UINT64_C(1) << 48) / size)
            return false;
        bytes *= size;
    }
    return is_all(in, 4 + 4 * (uint64_t)b[3] + bytes);
}

static void say_idx(const struct foreign_input *in, char *said)
{
    unsigned dimensions = in->bytes[3];

    if (in->bytes[2] >= 13)
        snprintf(said, FOREIGN_DETAIL_MAX,
                 "'gpureduce --format=raw -t f%d --endian=big --skip=%u FILE' reads it",
                 in->bytes[2] == 13 ? 32 : 64, 4 + 4 * dimensions);
    else
        snprintf(said, FOREIGN_DETAIL_MAX,
                 "numpy.fromfile('FILE', '%s', offset=%u) reads its integers",
                 in->bytes[2] == 8    ? "u1"
                 : in->bytes[2] == 9  ? "i1"
                 : in->bytes[2] == 11 ? ">i2"
                                      : ">i4",
                 4 + 4 * dimensions);
}

/* One record as Fortran writes it: its length stands before it and behind it, and gives that of the
   file. It is a subnormal f32, or the 32 last bits of an f64, and occurs twice where the end is
   known. In the other byte order it may be a round number: the bytes of 2 are those of 64. And of
   elements of 2 bytes, it is one and a zero. Neither is looked at. */
static bool is_fortran(const struct foreign_input *in)
{
    uint64_t length = in->big_endian ? load_big(in->bytes, 4) : load_little(in->bytes, 4);

    return element_formats[in->type].size > 2 && length > 0 && is_all(in, length + 8) &&
           (!in->ends || memcmp(in->bytes, in->bytes + in->size - 4, 4) == 0);
}

#ifdef HAVE_HDF5
#    define HDF5_ADVICE "one that is neither in a pipe nor compressed is read"
#else
#    define HDF5_ADVICE "a gpureduce that is built with libhdf5 reads it, or h5py"
#endif

static const struct foreign rows[] = {
    {.name = "a MATLAB 7.3 file", .advice = HDF5_ADVICE, MAGIC("MATLAB 7.3 MAT-file")},
    {.name = "a MATLAB file", .advice = "scipy.io.loadmat" AS_NPY, MAGIC("MATLAB 5.0 MAT-file")},
    {.name = "a MATLAB 4 file",
     .advice = "scipy.io.loadmat" AS_NPY,
     .least = 22,
     .also = is_matlab4},
    {.name = "an HDF5 file (or netCDF-4)", .advice = HDF5_ADVICE, .least = 8, .also = is_hdf5},
    {.name = "an HDF4 file",
     .advice = "pyhdf" AS_NPY,
     MAGIC("\x0e\x03\x13\x01"),
     .least = 6,
     .also = is_hdf4},
    {.name = "a netCDF file",
     .advice = "netCDF4" AS_NPY,
     MAGIC("CDF\x05"),
     .least = 16,
     .also = is_netcdf},
    {.name = "a netCDF file",
     .advice = "scipy.io.netcdf_file" AS_NPY,
     MAGIC("CDF"),
     .least = 16,
     .also = is_netcdf},
    {.name = "a FITS file",
     .advice = "astropy.io.fits.getdata" AS_NPY " (of a table, a column of floats)",
     MAGIC("SIMPLE  =")},
    {.name = "a NIfTI file", .advice = "nibabel" AS_NPY, .least = 348, .also = is_nifti1},
    {.name = "a NIfTI-2 file", .advice = "nibabel" AS_NPY, .least = 12, .also = is_nifti2},
    {.name = "an MGH file", .advice = "nibabel" AS_NPY, .least = 284, .also = is_mgh},
    {.name = "an Analyze header",
     .advice = "nibabel" AS_NPY ", and gpureduce its .img if that is of floats",
     .least = 348,
     .also = is_analyze,
     .whole = true},
    {.name = "an NRRD file", .advice = "nrrd.read" AS_NPY, MAGIC("NRRD000")},
    {.name = "a MetaImage file", .advice = "SimpleITK.ReadImage" AS_NPY, MAGIC("ObjectType =")},
    {.name = "a MetaImage file", .advice = "SimpleITK.ReadImage" AS_NPY, MAGIC("NDims =")},
    {.name = "a Matrix Market file", .advice = "scipy.io.mmread" AS_NPY, MAGIC("%%MatrixMarket")},
    {.name = "a VTK file", .advice = "pyvista" AS_NPY, MAGIC("# vtk DataFile")},
    {.name = "a CDF file",
     .advice = "cdflib" AS_NPY,
     MAGIC("\xcd\xf3\0\1"),
     .least = 8,
     .also = is_cdf},
    {.name = "a CDF file",
     .advice = "cdflib" AS_NPY,
     MAGIC("\xcd\xf2\x60\2"),
     .least = 8,
     .also = is_cdf},
    {.name = "an IDL save file",
     .advice = "scipy.io.readsav" AS_NPY,
     MAGIC("SR\0\4"),
     .least = 8,
     .also = is_idl},
    {.name = "an IDX file (as of MNIST)",
     .advice = "{}",
     .detail = say_idx,
     MAGIC("\0\0"),
     .least = 8,
     .also = is_idx,
     .whole = true},
    {.name = "a Fortran file of one record",
     .advice = "scipy.io.FortranFile" AS_NPY,
     .least = 8,
     .also = is_fortran,
     .whole = true},
    {.name = "a GRIB file", .advice = "eccodes" AS_NPY, MAGIC("GRIB"), .least = 8, .also = is_grib},
    {.name = "a ROOT file", .advice = "uproot" AS_NPY, MAGIC("root"), .least = 12, .also = is_root},
};

const struct foreign_table foreign_science = {rows, sizeof rows / sizeof *rows};
