#include "config.h"

#include "hdf5/library.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#if H5_VERSION_GE(1, 14, 0)
#    include <H5FDdevelop.h>
#endif

#include "sys/whole.h"

/* The one file that is open. */
static struct {
    H5FD_t public; /* the library's part, first */
    const struct hdf5_input *in;
    haddr_t end;
    bool noting;                /* where elements are, and not reading them */
    uint64_t noted, noted_size; /* the last place */
    bool failed;                /* reading has */
    uint64_t unread[2];         /* see hdf5_unread */
} file;

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    (void)name, (void)access, (void)most;
    return flags & H5F_ACC_RDWR ? NULL : &file.public;
}

static herr_t driver_close(H5FD_t *f)
{
    (void)f;
    return 0;
}

static herr_t driver_query(const H5FD_t *f, unsigned long *flags)
{
    (void)f;
    *flags = 0;
    return 0;
}

static haddr_t driver_get_eoa(const H5FD_t *f, H5FD_mem_t type)
{
    (void)f, (void)type;
    return file.end;
}

static herr_t driver_set_eoa(H5FD_t *f, H5FD_mem_t type, haddr_t end)
{
    (void)f, (void)type;
    file.end = end;
    return 0;
}

static haddr_t driver_get_eof(const H5FD_t *f, H5FD_mem_t type)
{
    (void)f, (void)type;
    return file.in->size;
}

static herr_t driver_read(H5FD_t *f, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size,
                          void *buffer)
{
    int error;

    (void)f, (void)transfer;
    if (type == H5FD_MEM_DRAW && file.noting) {
        file.noted = at;
        file.noted_size = size;
        return 0;
    }
    /* There are zeros after the end: the library looks there for its signature. */
    if (at > file.in->size || size > file.in->size - at) {
        const size_t there = at < file.in->size ? (size_t)(file.in->size - at) : 0;

        memset((char *)buffer + there, 0, size - there);
        size = there;
    }
    if (pread_whole(file.in->fd, buffer, size, file.in->begin + at, 1, &error) < size) {
        file.failed = true;
        file.unread[0] = at;
        file.unread[1] = size;
        return -1;
    }
    return 0;
}

static herr_t driver_write(H5FD_t *f, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size,
                           const void *buffer)
{
    (void)f, (void)type, (void)transfer, (void)at, (void)size, (void)buffer;
    return -1;
}

static const H5FD_class_t driver = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION,
    .value = 511, /* the last of those for testing */
#endif
    .name = "gpureduce",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .open = driver_open,
    .close = driver_close,
    .query = driver_query,
    .get_eoa = driver_get_eoa,
    .set_eoa = driver_set_eoa,
    .get_eof = driver_get_eof,
    .read = driver_read,
    .write = driver_write,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t hdf5_open(const struct hdf5_input *in)
{
    hid_t access, id;

    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    file.in = in;
    id = H5FDregister(&driver);
    access = H5Pcreate(H5P_FILE_ACCESS);
    if (id < 0 || access < 0 || H5Pset_driver(access, id, NULL) < 0)
        return -1;
    return H5Fopen("file", H5F_ACC_RDONLY, access);
}

void hdf5_find_chunk(hid_t dataset, const hsize_t *begin, uint64_t *offset, uint64_t *size,
                     uint32_t *mask)
{
    unsigned char unused[8];

    file.noted = file.noted_size = 0;
    file.noting = true;
    if (HDF5_READ_CHUNK(dataset, H5P_DEFAULT, begin, mask, unused) < 0)
        file.noted_size = 0;
    file.noting = false;
    *offset = file.noted;
    *size = file.noted_size;
}

const uint64_t *hdf5_unread(void)
{
    return file.failed ? file.unread : NULL;
}

/* The first error of the library is the cause; the rest is the stack of calls. */
static herr_t note_error(unsigned n, const H5E_error2_t *error, void *context)
{
    struct hdf5_trouble *t = context;

    (void)n;
    if (!t->text[0] && error->desc)
        snprintf(t->text, sizeof t->text, "libhdf5: %s", error->desc);
    return 0;
}

bool hdf5_wrong(struct hdf5_trouble *t)
{
    unsigned major, minor, release;
    size_t length;

    t->text[0] = '\0';
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, note_error, t);
    if (!t->text[0])
        snprintf(t->text, sizeof t->text, "libhdf5 cannot read it");
    length = strlen(t->text);
    /* Asking for the version drops the errors. */
    if (strstr(t->text, "version number") && H5get_libversion(&major, &minor, &release) >= 0)
        snprintf(t->text + length, sizeof t->text - length,
                 "; the file may need a newer libhdf5 than %u.%u.%u", major, minor, release);
    return false;
}

bool hdf5_fails(struct hdf5_trouble *t, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(t->text, sizeof t->text, format, arguments);
    va_end(arguments);
    return false;
}
