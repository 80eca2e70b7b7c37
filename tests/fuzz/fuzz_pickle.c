/*
 * The pickles of PyTorch's files. Any bytes as data.pkl, in an archive with three storages: what is
 * taken lies within the file, and what is refused has a reason and a place.
 */
#include "config.h"

#include "fuzz/fuzz.h"

#include <inttypes.h>
#include <string.h>

#include "source/format/containers.h"

static void check_array(const struct container_array *a, uint64_t size)
{
    const uint64_t extent = a->tiles ? a->compressed : container_array_extent(a);

    if (!fuzz_check_array(a))
        return;
    fuzz_check(*a->name, "an array without a name");
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
    struct container_input in = {.read = fuzz_read_memory, .context = &bytes};
    struct container *c;

    fuzz_add_archive(&bytes, names, contents, sizes, sizeof sizes / sizeof *sizes);
    in.size = bytes.size;
    c = container_open(&container_pytorch, &in);
    for (size_t i = 0; c && i < c->count; i++)
        check_array(&c->arrays[i], in.size);
    fuzz_check_reason(c, &in);
    container_close(c);
    fuzz_free(&bytes);
    return 0;
}
