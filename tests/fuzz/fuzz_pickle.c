/*
 * The pickles of PyTorch's files. Any bytes as data.pkl, in an archive with three storages: what is
 * taken lies within the file, and what is refused has a reason and a place.
 */
#include "config.h"

#include "fuzz/fuzz.h"

#include <inttypes.h>
#include <string.h>

#include "source/format/containers.h"

static bool read_memory(struct container_input *in, void *buffer, size_t size, uint64_t offset)
{
    const struct fuzz_bytes *b = in->context;

    fuzz_check(offset <= b->size && size <= b->size - offset,
               "%zu bytes at %" PRIu64 " are asked for, and there are %zu", size, offset, b->size);
    memcpy(buffer, b->data + offset, size);
    return true;
}

/* Adds the fields that a local header and an entry of the directory share. */
static void add_common(struct fuzz_bytes *b, size_t size, const char *name)
{
    fuzz_add_number(b, 0, 2); /* flags */
    fuzz_add_number(b, 0, 8); /* method, time, date and checksum */
    fuzz_add_number(b, 0, 2);
    fuzz_add_number(b, size, 4);
    fuzz_add_number(b, size, 4);
    fuzz_add_number(b, strlen(name), 2);
    fuzz_add_number(b, 0, 2);
}

/* An archive of these members. */
static void archive(struct fuzz_bytes *b, const char *const *names, const uint8_t *const *contents,
                    const size_t *sizes, size_t count)
{
    struct fuzz_bytes directory = {0};
    size_t begin;

    for (size_t i = 0; i < count; i++) {
        const size_t at = b->size;

        fuzz_add_number(b, 0x04034b50, 4);
        fuzz_add_number(b, 0, 2);
        add_common(b, sizes[i], names[i]);
        fuzz_add(b, names[i], strlen(names[i]));
        fuzz_add(b, contents[i], sizes[i]);
        fuzz_add_number(&directory, 0x02014b50, 4);
        fuzz_add_number(&directory, 0, 4);
        add_common(&directory, sizes[i], names[i]);
        fuzz_add_number(&directory, 0, 8);
        fuzz_add_number(&directory, 0, 2);
        fuzz_add_number(&directory, at, 4);
        fuzz_add(&directory, names[i], strlen(names[i]));
    }
    begin = b->size;
    fuzz_add(b, directory.data, directory.size);
    fuzz_add_number(b, 0x06054b50, 4);
    fuzz_add_number(b, 0, 4);
    fuzz_add_number(b, count, 2);
    fuzz_add_number(b, count, 2);
    fuzz_add_number(b, directory.size, 4);
    fuzz_add_number(b, begin, 4);
    fuzz_add_number(b, 0, 2);
    fuzz_free(&directory);
}

static void check_array(const struct container_array *a, uint64_t size)
{
    const uint64_t extent = container_array_extent(a);
    uint64_t product = 1;

    fuzz_check(a->name && *a->name, "an array without a name");
    if (a->unreadable)
        return;
    for (unsigned i = 0; i < a->dimensions; i++)
        product *= a->sizes[i];
    fuzz_check(product == a->elements && a->length == product * element_size(a->type),
               "%s: %" PRIu64 " elements in %" PRIu64 " bytes", a->name, a->elements, a->length);
    fuzz_check(a->offset <= size && extent <= size - a->offset,
               "%s: %" PRIu64 " bytes at %" PRIu64 " of %" PRIu64, a->name, extent, a->offset,
               size);
    fuzz_check(a->record_elements == 0 ||
                   (a->elements % a->record_elements == 0 &&
                    a->record_stride > a->record_elements * element_size(a->type)),
               "%s: records of %" PRIu64 " elements, %" PRIu64 " bytes apart", a->name,
               a->record_elements, a->record_stride);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t numbers[256];
    static const char *const names[] = {"x/data.pkl", "x/data/0", "x/data/1", "x/data/2"};
    const uint8_t *contents[] = {data, numbers, numbers, numbers};
    const size_t sizes[] = {size, sizeof numbers, 64, 20};
    struct fuzz_bytes bytes = {0};
    struct container_input in = {.read = read_memory, .context = &bytes};
    struct container *c;

    archive(&bytes, names, contents, sizes, sizeof sizes / sizeof *sizes);
    in.size = bytes.size;
    c = container_open(container_find("pytorch"), &in);
    for (size_t i = 0; c && i < c->count; i++)
        check_array(&c->arrays[i], in.size);
    fuzz_check(c || (in.error.kind != ERROR_NONE && in.error.offset <= in.size && *in.error.text),
               "refused without a reason");
    for (const char *p = in.error.text; !c && *p; p++)
        fuzz_check((unsigned char)*p >= 0x20 && *p != 0x7f, "a control character: %s",
                   in.error.text);
    container_close(c);
    fuzz_free(&bytes);
    return 0;
}
