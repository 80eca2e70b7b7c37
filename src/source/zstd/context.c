#include "config.h"

#include "source/zstd/context.h"

#include <inttypes.h>
#include <zstd_errors.h>

#include "source/zstd/frames.h"
#include "sys/clock.h"

ZSTD_DCtx *zstd_context_open(const struct source *s)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    /* On a machine of 32 bits libzstd takes 1 GiB. */
    int most = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound;

    if (!context)
        return NULL;
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax,
                           s->window_log < most ? s->window_log : most);
#ifdef ZSTD_d_forceIgnoreChecksum
    if (s->no_check) /* a version that does not know it verifies them */
        (void)ZSTD_DCtx_setParameter(context, ZSTD_d_forceIgnoreChecksum, ZSTD_d_ignoreChecksum);
#endif
    return context;
}

size_t zstd_context_decompress(struct source *s, ZSTD_DCtx *context, ZSTD_outBuffer *out,
                               ZSTD_inBuffer *in)
{
    uint64_t begun = clock_now();
    size_t result = ZSTD_decompressStream(context, out, in);

    atomic_fetch_add(&s->decode_time, clock_now() - begun);
    return result;
}

void zstd_print_refusal(struct source *s, uint64_t frame, size_t code)
{
    switch ((int)ZSTD_getErrorCode(code)) {        /* of which later versions have more */
    case ZSTD_error_frameParameter_windowTooLarge: /* of 2 GiB, on a machine of 32 bits */
        zstd_fault_print(s, &(struct zstd_fault){.kind = ZSTD_WINDOW, .frame = frame});
        break;
    case ZSTD_error_dictionary_wrong:
        source_error_at(s, frame,
                        "byte %" PRIu64 ": zstd frame needs a dictionary; "
                        "'zstd -dc -D DICTIONARY' decompresses it",
                        frame);
        break;
    case ZSTD_error_prefix_unknown:
        source_error_at(s, frame, "byte %" PRIu64 ": no zstd frame begins here", frame);
        break;
    case ZSTD_error_memory_allocation:
        source_error_at(s, frame, "byte %" PRIu64 ": out of memory for a zstd frame", frame);
        break;
    default:
        source_error_at(s, frame, "byte %" PRIu64 ": zstd frame is damaged: %s", frame,
                        ZSTD_getErrorName(code));
    }
}

void zstd_print_wrong_content(struct source *s, uint64_t frame, uint64_t stated, uint64_t held)
{
    source_error_at(s, frame,
                    "byte %" PRIu64 ": zstd frame is damaged: its header states %" PRIu64
                    " bytes, but it holds %" PRIu64,
                    frame, stated, held);
}
