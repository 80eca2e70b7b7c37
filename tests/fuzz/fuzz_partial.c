/*
 * Lines of partial results: any bytes, and bytes whose checksum is made right. An accepted line is
 * written as it was read, one of version 1 as one that is; merging it with itself is an overlap, and
 * whatever it comes to can be rounded.
 */
#include "config.h"

#include "fuzz/fuzz.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/merger.h"
#include "core/partial_text.h"
#include "core/scaled.h"
#include "run/reduction.h"

/* Puts the right checksum at the end of a line that has room for one. */
static void make_right(char *line, size_t length)
{
    const size_t head = length - PARTIAL_TEXT_TAIL;
    char tail[PARTIAL_TEXT_TAIL + 1];

    snprintf(tail, sizeof tail, PARTIAL_TEXT_CHECKSUM "%08" PRIx32 "\"}",
             partial_text_checksum(line, head));
    memcpy(line + head, tail, PARTIAL_TEXT_TAIL);
}

/* Rounds all results, and those of a total of it and of others without a scale. */
static void finish(const struct partial_text *t, bool skip_nan, uint64_t ddof)
{
    const struct moments_terms terms = {.skip_nan = skip_nan, .ddof = ddof};
    const struct scale none = {.given = false};
    struct partial nothing;
    struct scaled total;
    struct result result;

    reduction_round(&result, &t->partial, t->type, &t->scale, skip_nan, ddof);
    fuzz_check(result.count <= t->partial.count, "%" PRIu64 " elements", result.count);
    partial_clear(&nothing);
    scaled_clear(&total);
    scaled_append(&total, &nothing, ELEMENT_F32, &none);
    scaled_append(&total, &t->partial, t->type, &t->scale);
    scaled_finish(&total, &terms, &result);
    fuzz_check(result.count <= t->partial.count, "%" PRIu64 " elements in all", result.count);
}

static void merge(const struct partial_text *t)
{
    const struct merger_piece *one, *other;
    const struct merged *merged;
    struct partial_text again;
    struct partial_range gap;
    struct merger m;

    merger_open(&m);
    fuzz_check(merger_take(&m, t, (struct merger_origin){0, 1}, &merged) == MERGER_TAKEN &&
                   merger_take(&m, t, (struct merger_origin){0, 2}, &merged) == MERGER_TAKEN,
               "a part is not taken");
    merger_finish(&m);
    fuzz_check(merged_overlap(&m.merged[0], &one, &other) == (t->range_count > 0),
               "an overlap is %s", t->range_count > 0 ? "not seen" : "seen");
    merger_close(&m);
    merger_open(&m);
    (void)merger_take(&m, t, (struct merger_origin){0, 1}, &merged);
    merger_finish(&m);
    memset(&again, 0, sizeof again);
    fuzz_check(merged_text(&m.merged[0], &again) && again.range_count == t->range_count &&
                   again.holds == t->holds,
               "one part is not itself");
    fuzz_check(merged_gap(&m.merged[0], &gap) == (t->partial.count < t->of), "a gap");
    merger_close(&m);
}

/* Writes what was read of a line. */
static void write_again(struct partial_text *t, const char *line, size_t size)
{
    const bool older = line[strlen("{\"gpureduce\":\"partial\",\"version\":")] == '1';
    char again[PARTIAL_TEXT_MAX], error[PARTIAL_TEXT_ERROR_MAX] = "";
    const size_t length = partial_text_write(again, t);

    if (older && length == 0) /* its names are too long together */
        return;
    fuzz_check(older || (length == size && memcmp(again, line, size) == 0),
               "it is written otherwise: %s", again);
    fuzz_check(!older || partial_text_read(t, again, length, error), "it is refused: %s", error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    const bool right = fuzz_flag(&in), skip_nan = fuzz_flag(&in);
    const uint64_t ddof = fuzz_below(&in, 4);
    char error[PARTIAL_TEXT_ERROR_MAX] = "";
    struct partial_text t;
    char *line = malloc(in.size + 1);

    if (!line)
        abort();
    if (in.size > 0)
        memcpy(line, in.data, in.size);
    if (right && in.size > PARTIAL_TEXT_TAIL)
        make_right(line, in.size);
    if (partial_text_read(&t, line, in.size, error)) {
        write_again(&t, line, in.size);
        finish(&t, skip_nan, ddof);
        if (!t.bag)
            merge(&t);
    } else {
        fuzz_check(strlen(error) > 0, "refused without a reason");
    }
    free(line);
    return 0;
}
