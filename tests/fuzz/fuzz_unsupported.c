/*
 * The recognisers of unsupported formats, and the plausibility of types: any first bytes, of any type,
 * of inputs of any length. They lie in a block of just their size, so that a step beyond is seen.
 *
 * A .npy file may be of an unsupported format, too: its elements may be anything, and the magic of
 * a tar archive stands among them. The program recognises .npy first, and does not ask any further.
 */
#include "config.h"

#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "source/format/npy.h"
#include "source/format/plausibility.h"
#include "source/format/unsupported.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct unsupported_input input = {.total = SOURCE_UNKNOWN};
    struct advice raw;
    const struct unsupported *found;
    unsigned char *bytes;
    char advice[UNSUPPORTED_TEXT_MAX];
    struct advice better;

    input.type = (enum element_type)fuzz_below(&in, ELEMENT_TYPES);
    input.big_endian = fuzz_flag(&in);
    input.ends = fuzz_flag(&in);
    if (fuzz_flag(&in))
        input.total = in.size + fuzz_odd_number(&in);
    input.size = in.size < UNSUPPORTED_HEAD ? in.size : UNSUPPORTED_HEAD;
    input.ends &= in.size <= UNSUPPORTED_HEAD;
    if (input.ends)
        input.total = input.size;
    input.torn = input.ends && input.size % element_size(input.type) != 0;
    bytes = malloc(input.size + (input.size == 0));
    if (!bytes)
        abort();
    if (input.size > 0)
        memcpy(bytes, in.data, input.size);
    input.bytes = bytes;

    found = unsupported_find(&input, &raw);
    if (found && !npy_recognise(bytes, input.size)) {
        fuzz_check(!npy_cut_off(bytes, input.size), "a .npy that is cut off is %s", found->name);
        fuzz_check(raw.length == 0 || raw.skip <= input.total, "raw numbers beyond the end");
        unsupported_advise(found, &input, fuzz_flag(&in) ? "" : "x", fuzz_flag(&in), &raw, advice);
        fuzz_check(memchr(advice, 0, ERROR_TEXT_MAX - 64), "advice for %s is cut off", found->name);
    }
    fuzz_check(!plausibility_better(bytes, input.size, input.type, input.big_endian, &better) ||
                   better.typed || better.order != ELEMENT_ORDER_UNSAID,
               "advice that changes nothing");
    plausibility_nans(bytes, input.size, input.type, input.big_endian);
    free(bytes);
    return 0;
}
