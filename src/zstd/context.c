#include "config.h"

#include "zstd/context.h"

#include <inttypes.h>
#include <zstd_errors.h>

#include "sys/clock.h"
#include "zstd/frames.h"

ZSTD_DCtx *zstd_context_open(const struct zstd_file *file)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    /* On a machine of 32 bits libzstd takes 1 GiB. */
    int most = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound;

    if (!context)
        return NULL;
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax,
                           file->window_log < most ? file->window_log : most);
#ifdef ZSTD_d_forceIgnoreChecksum
    if (file->no_check) /* a version that does not know it verifies them */
        (void)ZSTD_DCtx_setParameter(context, ZSTD_d_forceIgnoreChecksum, ZSTD_d_ignoreChecksum);
#endif
    return context;
}

size_t zstd_context_decompress(struct zstd_file *file, ZSTD_DCtx *context, ZSTD_outBuffer *out,
                               ZSTD_inBuffer *in)
{
    uint64_t begun = clock_now();
    size_t result = ZSTD_decompressStream(context, out, in);

    atomic_fetch_add(&file->decode_time, clock_now() - begun);
    return result;
}

void zstd_note_refusal(struct zstd_file *file, uint64_t frame, size_t code)
{
    switch ((int)ZSTD_getErrorCode(code)) {        /* of which later versions have more */
    case ZSTD_error_frameParameter_windowTooLarge: /* of 2 GiB, on a machine of 32 bits */
        zstd_note_fault(file, &(struct zstd_fault){.kind = ZSTD_WINDOW, .frame = frame});
        break;
    case ZSTD_error_dictionary_wrong:
        zstd_note_error(file, ERROR_DATA, frame,
                        "byte %" PRIu64 ": zstd frame needs a dictionary; "
                        "'zstd -dc -D DICTIONARY' decompresses it",
                        frame);
        break;
    case ZSTD_error_prefix_unknown:
        zstd_note_fault(file, &(struct zstd_fault){.kind = ZSTD_NO_FRAME, .frame = frame});
        break;
    case ZSTD_error_memory_allocation:
        zstd_note_error(file, ERROR_MEMORY, frame,
                        "byte %" PRIu64 ": out of memory for a zstd frame", frame);
        break;
    default:
        zstd_note_error(file, ERROR_DATA, frame, "byte %" PRIu64 ": zstd frame is damaged: %s",
                        frame, ZSTD_getErrorName(code));
    }
}

void zstd_note_wrong_content(struct zstd_file *file, uint64_t frame, uint64_t stated, uint64_t held)
{
    zstd_note_error(file, ERROR_DATA, frame,
                    "byte %" PRIu64 ": zstd frame is damaged: its header states %" PRIu64
                    " bytes, but it holds %" PRIu64,
                    frame, stated, held);
}
