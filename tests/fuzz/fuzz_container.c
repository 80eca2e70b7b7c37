/*
 * The headers of containers. Any bytes as a file: reading stays within them and asks only for what
 * is there; what is taken holds together, and what is refused has a reason. And headers of
 * safetensors made out of a choice of parts, for which it is known whether they must be taken.
 */
#include "config.h"

#include "fuzz/fuzz.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/format/containers.h"

/* Checks a container that was accepted. */
static void check_arrays(const struct container *c, uint64_t size)
{
    uint64_t end = 0;

    if (strcmp(c->format->name, "zarr") == 0) /* fuzz_zarr checks these */
        return;
    for (size_t i = 0; i < c->count; i++) {
        const struct container_array *a = &c->arrays[i];
        const uint64_t length = a->deflated || a->tiles ? a->compressed : container_array_extent(a);

        /* Tensors of PyTorch may share elements, and fields of records that are compressed do. */
        end = strcmp(c->format->name, "pytorch") == 0 ||
                      (i > 0 && a->deflated && a->offset == a[-1].offset)
                  ? 0
                  : end;
        fuzz_check(a->offset >= end && length <= size && a->offset <= size - length,
                   "array %zu: %" PRIu64 " bytes at %" PRIu64 " of %" PRIu64, i, length, a->offset,
                   size);
        end = a->offset +
              (a->record_elements > 0 ? a->record_elements * element_size(a->type) : length);
        fuzz_check(!fuzz_check_array(a) || a->type_name[0], "array %zu: no type", i);
    }
}

/* The read of a file whose end is not known: fails behind it. No more is asked for at once than goes
   with what has been read, whatever the header states. */
static bool read_endless(struct container_input *in, void *buffer, size_t size, uint64_t offset)
{
    const struct fuzz_bytes *file = in->context;

    fuzz_check(size <= 2 * file->size + ((size_t)1 << 20),
               "%zu bytes at %" PRIu64 " are asked for, and there are %zu", size, offset,
               file->size);
    if (offset > file->size || size > file->size - offset)
        return false;
    memcpy(buffer, file->data + offset, size);
    return true;
}

/* Opens these bytes as a container that comes in order. A container that is accepted so, and ends
   where it should, must be accepted as a file as well, and no other. */
static void open_in_order(const struct container_format *format, const unsigned char *bytes,
                          size_t size, bool good, size_t count)
{
    struct fuzz_bytes file = {.data = (unsigned char *)(uintptr_t)bytes, .size = size};
    struct container_input in = {.read = read_endless,
                                 .context = &file,
                                 .size = UINT64_C(1) << 62,
                                 .file = -1,
                                 .endless = true};
    struct container *c = container_open(format, &in);

    if (c) {
        const bool ends = c->nothing_behind ? c->end == size : c->end <= size;

        check_arrays(c, in.size);
        fuzz_check(ends == good && (!good || c->count == count),
                   "in order there are %zu arrays up to %" PRIu64 ", and %s with %zu", c->count,
                   c->end, good ? "a file" : "no file", count);
    }
    /* A container that was read to its end is opened as a file; netCDF may have records up to an
       end that is not known. */
    fuzz_check(c || !good || in.error.kind == ERROR_NONE || strstr(in.error.text, "unknown before"),
               "refused in order: %s", in.error.text);
    container_close(c);
}

/* Opens these bytes as a container. Whether they were taken. */
static bool open_bytes(const struct container_format *format, const unsigned char *bytes,
                       size_t size, size_t *count)
{
    struct fuzz_bytes file = {.data = (unsigned char *)(uintptr_t)bytes, .size = size};
    struct container_pattern none = {.pattern = "none"}; /* each of many chunks is looked for */
    struct container_input in = {.read = fuzz_read_memory,
                                 .context = &file,
                                 .size = size,
                                 .file = -1,
                                 .patterns = &none,
                                 .pattern_count = format == &container_zarr};
    struct container *c = container_open(format, &in);
    bool good = c != NULL;

    fuzz_check_reason(c, &in);
    if (c) {
        check_arrays(c, size);
        *count = c->count;
    }
    container_close(c);
    if (format->in_order)
        open_in_order(format, bytes, size, good, good ? *count : 0);
    return good;
}

static void add_text(struct fuzz_bytes *b, const char *text)
{
    fuzz_add(b, text, strlen(text));
}

/* A safetensors file of arrays whose description is right, but for one slip at most. Returns
   whether it must be taken, and how many arrays there are. */
static bool put_together(struct fuzz_input *in, struct fuzz_bytes *b, size_t *count)
{
    static const struct {
        const char *name;
        unsigned bytes;
    } types[] = {{"F32", 4}, {"BF16", 2}, {"F64", 8}, {"U8", 1}, {"C64", 8}, {"BOOL", 1}};
    const size_t arrays = (size_t)fuzz_below(in, 8), slip = (size_t)fuzz_below(in, 12);
    const unsigned kind = (unsigned)fuzz_below(in, 5);
    struct fuzz_bytes header = {0};
    uint64_t begin = 0;

    /* As the format's own library writes it, or with blanks. */
    const char *comma = fuzz_flag(in) ? "," : ", ";

    switch (fuzz_below(in, 3)) {
    case 0:
        add_text(&header, "{");
        break;
    case 1:
        add_text(&header, "{ \"__metadata__\" : { }");
        break;
    case 2:
        add_text(&header, "{\"__metadata__\":{\"format\":\"pt\"}");
        break;
    }
    *count = arrays;
    for (size_t i = 0; i < arrays; i++) {
        const size_t type = (size_t)fuzz_below(in, sizeof types / sizeof *types);
        const uint64_t rows = fuzz_below(in, 4), columns = fuzz_below(in, 9);
        uint64_t end = begin + rows * columns * types[type].bytes, from = begin;
        const char *spelling = types[type].name;
        unsigned name = (unsigned)i;
        char text[200];

        if (i == slip) {
            end += kind == 0;
            from += kind == 1;
            spelling = kind == 2 ? "F33" : spelling;
            name = kind == 3 ? 0 : name;
        }
        snprintf(text, sizeof text,
                 "%s\"a%u\":{\"dtype\":\"%s\",\"shape\":[%" PRIu64 ",%" PRIu64
                 "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
                 header.size > 1 ? comma : "", name, spelling, rows, columns, from, end);
        add_text(&header, text);
        begin = end;
    }
    add_text(&header, "}");
    fuzz_add_number(b, header.size, 8);
    fuzz_add(b, header.data, header.size);
    memset(fuzz_grow(b, (size_t)begin), 0, (size_t)begin);
    fuzz_free(&header);
    return slip >= arrays || kind > 3 || (kind == 3 && slip == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct container_format *const formats[] = {
        &container_safetensors, &container_npz,  &container_gguf,
        &container_netcdf,      &container_fits, &container_nifti,
        &container_pytorch,     &container_npy,  &container_zarr};
    struct fuzz_input in = {data, size};
    struct fuzz_bytes bytes = {0};
    size_t count = 0, expected = 0;

    if (fuzz_below(&in, 4) == 0) {
        bool wanted = put_together(&in, &bytes, &expected);
        bool good = open_bytes(&container_safetensors, bytes.data, bytes.size, &count);

        fuzz_check(good == wanted && (!good || count == expected),
                   "a header is %s, with %zu arrays: %.*s", good ? "taken" : "refused", count,
                   (int)bytes.size - 8, bytes.data + 8);
        fuzz_free(&bytes);
        return 0;
    }
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const struct container_format *format = formats[i];

        (void)format->recognise(in.data, in.size);
        /* Any bytes as a header of just their length, too. */
        if (fuzz_flag(&in))
            (void)open_bytes(format, in.data, in.size, &count);
        fuzz_add_number(&bytes, in.size, 8);
        fuzz_add(&bytes, in.data, in.size);
        (void)open_bytes(format, bytes.data, bytes.size, &count);
        fuzz_free(&bytes);
        bytes = (struct fuzz_bytes){0};
    }
    return 0;
}
