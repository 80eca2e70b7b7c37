/*
 * The recognisers of foreign formats, and the doubts about types: any first bytes, of any type, of
 * inputs of any length. They lie in a block of just their size, so that a step beyond is seen.
 *
 * A .npy file may be of a foreign format, too: its elements may be anything, and the magic of a tar
 * archive stands among them. The program recognises .npy first, and does not ask any further.
 */
#include "config.h"

#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "source/doubt.h"
#include "source/foreign.h"
#include "source/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct foreign_input input = {.total = SOURCE_UNKNOWN};
    const struct foreign *found;
    unsigned char *bytes;
    char said[FOREIGN_DETAIL_MAX];
    const char *better;

    input.type = (enum element_type)fuzz_below(&in, ELEMENT_TYPES);
    input.big_endian = fuzz_flag(&in);
    input.ends = fuzz_flag(&in);
    if (fuzz_flag(&in))
        input.total = in.size + fuzz_odd_number(&in);
    input.size = in.size < FOREIGN_HEAD ? in.size : FOREIGN_HEAD;
    input.ends &= in.size <= FOREIGN_HEAD;
    if (input.ends)
        input.total = input.size;
    input.torn = input.ends && input.size % element_size(input.type) != 0;
    bytes = malloc(input.size + (input.size == 0));
    if (!bytes)
        abort();
    if (input.size > 0)
        memcpy(bytes, in.data, input.size);
    input.bytes = bytes;

    found = foreign_recognise(&input);
    if (found && !npy_recognise(bytes, input.size)) {
        fuzz_check(found->name && *found->name && !found->filter != !found->advice,
                   "a format without a name, or without one way to read it");
        fuzz_check(!npy_cut_off(bytes, input.size), "a .npy that is cut off is %s", found->name);
        if (found->detail) {
            found->detail(&input, said);
            fuzz_check(memchr(said, 0, sizeof said), "details of %s without an end", found->name);
        }
        /* What is known of the rest rules formats out, but for those that the length tells, and
           where text ends. */
        input.total = SOURCE_UNKNOWN;
        fuzz_check(found->whole || foreign_recognise(&input), "%s only with its length",
                   found->name);
    }
    better = doubt(bytes, input.size, input.type, input.big_endian);
    fuzz_check(!better || *better == '-', "a doubt that is no option");
    doubt_nans(bytes, input.size, input.type, input.big_endian);
    free(bytes);
    return 0;
}
