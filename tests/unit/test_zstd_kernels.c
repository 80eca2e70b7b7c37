/*
 * The kernels of the zstd decoder on GPUs, without a GPU: they run on the host (cuda_emulation.h),
 * with batches, slices, units and waves so small that small files have many of them. Whatever they
 * take must be what libzstd makes of it, bit for bit; whatever libzstd compressed they must take;
 * and of damaged files they must refuse what libzstd refuses, without a read or a write out of
 * bounds, which sanitizers see.
 *
 * ZSTD_KERNELS_RUNS=N makes N random files of each family; ZSTD_KERNELS_SEED=N draws others.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "cuda/zstd/plan.h"
#include "lib/allocate.h"
#include "lib/cuda_emulation.h"
#include "lib/environment.h"
#include "lib/sanitized.h"
#include "lib/tap.h"
#include "lib/zstd_emulated.h"
#include "lib/zstd_samples.h"
#include "sys/align.h"

/* A decoder as cuda/zstd/device.c is one, with memory of the host in place of the
 * device's.
 */
struct decoder {
    struct zstd_plan_limits limits;
    struct zstd_plan_arrays arrays;
    struct zstd_plan plan;
    struct zstd_stream stream;
    struct zstd_carry carry;
    struct zstd_sequences_result *results;
    unsigned char *source, *pool, *ring;
    uint32_t *symbols;
    uint32_t refused;
    size_t ring_size, ring_at;
    unsigned char *out;
    size_t out_size, out_capacity;
    unsigned batches, cut_off; /* how many there were; of them, behind the first, those that end
                                  within a frame that they begin */
};

/* Memory of a size that sanitizers know, aligned as a device's. */
static void *device_memory(size_t size)
{
    void *memory;

    if (posix_memalign(&memory, 256, size ? size : 1) != 0)
        abort();
    memset(memory, 0xa5, size);
    return memory;
}

static void decoder_open(struct decoder *d, const struct zstd_plan_limits *limits, size_t capacity)
{
    memset(d, 0, sizeof *d);
    d->limits = *limits;
    d->arrays.literals = need(calloc(limits->blocks, sizeof *d->arrays.literals));
    d->arrays.sequences = need(calloc(limits->blocks, sizeof *d->arrays.sequences));
    d->arrays.codes = need(calloc(limits->codes, sizeof *d->arrays.codes));
    d->arrays.tables = need(calloc(limits->tables, sizeof *d->arrays.tables));
    d->arrays.blocks = need(calloc(limits->blocks, sizeof *d->arrays.blocks));
    d->arrays.executions = need(calloc(limits->blocks, sizeof *d->arrays.executions));
    d->arrays.units = need(calloc(limits->blocks + ZSTD_SLICES_MAX + 1, sizeof(uint32_t)));
    d->results = need(calloc(limits->blocks, sizeof *d->results));
    d->pool = device_memory(limits->pool);
    d->symbols = device_memory(limits->slice * sizeof *d->symbols);
    d->ring_size = align_up(limits->window + limits->slice, 16);
    d->ring = device_memory(d->ring_size);
    d->out_capacity = capacity;
    d->out = need(malloc(capacity ? capacity : 1));
    zstd_stream_begin(&d->stream);
    zstd_history_begin(&d->carry.history);
}

static void decoder_close(struct decoder *d)
{
    free(d->arrays.literals);
    free(d->arrays.sequences);
    free(d->arrays.codes);
    free(d->arrays.tables);
    free(d->arrays.blocks);
    free(d->arrays.executions);
    free(d->arrays.units);
    free(d->results);
    free(d->pool);
    free(d->symbols);
    free(d->ring);
    free(d->out);
}

static struct zstd_device_batch device_batch(struct decoder *d)
{
    return (struct zstd_device_batch){d->source, d->pool, &d->refused};
}

/* Executes a slice, and takes its bytes out of the ring. */
static void run_slice(struct decoder *d, const struct zstd_slice *slice)
{
    const struct zstd_execution *blocks = d->arrays.executions + slice->first_block;
    const struct zstd_ring_slice to = {d->ring, d->ring_size, d->ring_at, slice->size};

    if (slice->sequences) {
        emulated_execute(&(struct zstd_execute_launch){device_batch(d), blocks,
                                                       d->arrays.units + slice->first_unit,
                                                       slice->units, d->symbols});
        emulated_resolve(&to, d->symbols, slice->wave);
    } else {
        emulated_copy(
            &(struct zstd_copy_launch){device_batch(d), blocks, slice->blocks, slice->largest, to});
    }
    for (uint32_t i = 0; i < slice->size; i++) {
        if (d->out_size < d->out_capacity)
            d->out[d->out_size] = d->ring[d->ring_at];
        d->out_size++;
        d->ring_at = d->ring_at + 1 < d->ring_size ? d->ring_at + 1 : 0;
    }
}

/* Counts a batch that is planned. */
static void count_batch(struct decoder *d)
{
    const struct zstd_plan *plan = &d->plan;
    uint32_t i = plan->total.blocks;

    while (i > 0 && !plan->arrays.blocks[i - 1].last && !plan->arrays.blocks[i - 1].first)
        i--;
    d->cut_off += d->batches > 0 && i > 0 && !plan->arrays.blocks[i - 1].last;
    d->batches++;
}

/* Decodes what is planned. False where something of it is refused. */
static bool run_batch(struct decoder *d)
{
    const struct zstd_plan *plan = &d->plan;
    uint32_t count, placed;

    d->refused = plan->total.blocks;
    emulated_literals(&(struct zstd_literals_launch){device_batch(d), d->arrays.literals,
                                                     plan->total.literals_jobs, d->arrays.codes});
    emulated_sequences(&(struct zstd_sequences_launch){device_batch(d), d->arrays.sequences,
                                                       plan->total.sequences_jobs, d->arrays.tables,
                                                       d->results});
    count = d->refused;
    placed = zstd_plan_place(&d->plan, count, d->results, &d->carry);
    for (uint32_t i = 0; i < plan->slice_count; i++)
        run_slice(d, &plan->slices[i]);
    if (placed == plan->total.blocks)
        zstd_stream_measure(&d->stream, plan);
    return placed == plan->total.blocks && d->refused == plan->total.blocks;
}

/* Decodes a file. False where it is refused, or cut off. Each batch has memory of its own size. */
static bool decode(struct decoder *d, const unsigned char *bytes, size_t size)
{
    enum zstd_plan_status status;
    size_t at = 0, from = 0, step = d->limits.source;

    do {
        const size_t take = size - from < step ? size - from : step;
        unsigned char *memory = device_memory(ZSTD_SOURCE_BEFORE + take + ZSTD_SOURCE_BEHIND);
        bool good;

        memcpy(memory + ZSTD_SOURCE_BEFORE, bytes + from, take);
        d->source = memory;
        zstd_plan_begin(&d->plan, &d->limits, &d->arrays);
        at = 0;
        status = zstd_plan_feed(&d->plan, &d->stream, memory + ZSTD_SOURCE_BEFORE, take, &at);
        count_batch(d);
        good = run_batch(d);
        free(memory);
        if (!good || status == ZSTD_PLAN_REFUSED)
            return false;
        if (at == 0 && d->plan.total.blocks == 0)
            return false; /* cut off */
        from += at;
    } while (from < size);
    return d->stream.state == ZSTD_BEFORE_FRAME;
}

static struct zstd_plan_limits draw_limits(uint64_t *r)
{
    struct zstd_plan_limits limits = {
        .source = (uint32_t)(((uint32_t)128 << 10) + 64 + sample_random(r) % 300000),
        .pool = ZSTD_POOL_LEAST + (uint32_t)(sample_random(r) % 100000) * 16,
        .blocks = (uint32_t)(1 + sample_random(r) % 40),
        .codes = (uint32_t)(1 + sample_random(r) % 8),
        .tables = (uint32_t)(3 + sample_random(r) % 8),
        .expected = (uint32_t)(1 + sample_random(r) % 1000000),
        .slice = (uint32_t)(((uint32_t)256 << 10) + sample_random(r) % 300000),
        .window = (uint64_t)4 << 20,
        .unit = emulated_tuning.unit,
        .wave = emulated_tuning.wave,
        .one_wave = emulated_tuning.one_wave,
    };

    limits.output = (uint64_t)16 * limits.slice;
    return limits;
}

static void check_sound(unsigned long runs, uint64_t seed)
{
    struct tap_family family = {0};

    for (unsigned kind = 0; kind < SAMPLE_KINDS; kind++) {
        for (unsigned long run = 0; run < runs; run++) {
            uint64_t r = seed + (uint64_t)kind * 1000003 + run;
            struct sample_settings settings = sample_settings_draw(&r);
            const size_t size = sample_random(&r) % ((size_t)1 << (10 + sample_random(&r) % 10));
            unsigned char *plain = need(malloc(size + 1)), *compressed;
            struct zstd_plan_limits limits;
            struct decoder d;
            size_t compressed_size;
            char text[200];
            bool good;

            if (run == 0)
                settings.window_log = 10 + (int)(sample_random(&r) % 3);
            sample_settings_print(&settings, text, sizeof text);
            sample_fill(kind, plain, size, sample_random(&r));
            compressed = need(sample_compress(plain, size, &settings, &compressed_size));
            limits = draw_limits(&r);
            emulation_seed = sample_random(&r);
            decoder_open(&d, &limits, size);
            good = decode(&d, compressed, compressed_size);
            tap_case(&family, good, "%s, %zu bytes, run %lu: %s: refused in batch of %u, block %u",
                     sample_kind_name(kind), size, run, text, d.plan.total.blocks, d.refused);
            if (good)
                tap_case(&family, d.out_size == size && memcmp(d.out, plain, size) == 0,
                         "%s, %zu bytes, run %lu: %s: %zu bytes, or others", sample_kind_name(kind),
                         size, run, text, d.out_size);
            decoder_close(&d);
            free(plain);
            free(compressed);
        }
    }
    tap_family_end(&family, "what libzstd compresses is decoded");
}

/* For batches of 100000 bytes. */
static struct zstd_plan_limits whole_limits(void)
{
    return (struct zstd_plan_limits){.source = (uint32_t)1 << 20,
                                     .pool = ZSTD_POOL_LEAST + ((uint32_t)1 << 20),
                                     .blocks = 4000,
                                     .codes = 4000,
                                     .tables = 8000,
                                     .expected = 100000,
                                     .output = (uint64_t)1 << 30,
                                     .slice = (uint32_t)512 << 10,
                                     .window = (uint64_t)4 << 20,
                                     .unit = emulated_tuning.unit,
                                     .wave = emulated_tuning.wave,
                                     .one_wave = emulated_tuning.one_wave};
}

/* Frames of several blocks: batches end with a frame, but where frames are large. The content of
   blocks is known from the first batch on, but not exactly: of 16600 bytes six frames are the most,
   and go a little beyond. */
static void check_whole_frames(void)
{
    static const size_t frames[] = {2000, 7000, 10000, 12500, 16600, 20000, 60000};
    const unsigned cases = 2 * sizeof frames / sizeof *frames;
    const struct zstd_plan_limits limits = whole_limits();
    const size_t size = (size_t)1 << 20;
    unsigned char *plain = need(malloc(size));

    sample_fill(2, plain, size, 1);
    for (unsigned i = 0; i < cases; i++) {
        const struct sample_settings settings = {
            .frame = frames[i / 2], .target = 300, .no_size = i % 2, .checksum = true};
        size_t compressed_size;
        unsigned char *compressed = need(sample_compress(plain, size, &settings, &compressed_size));
        struct decoder d;
        bool good;

        decoder_open(&d, &limits, size);
        good = decode(&d, compressed, compressed_size);
        tap_ok(good && d.out_size == size && memcmp(d.out, plain, size) == 0 && d.batches > 9 &&
                   (d.cut_off > 0) == (i + 2 >= cases),
               "frames of %zu bytes%s: %u of %u batches end within one", settings.frame,
               i % 2 ? ", which they do not state" : "", d.cut_off, d.batches);
        decoder_close(&d);
        free(compressed);
    }
    free(plain);
}

/* A small frame, and a large one behind it, whose blocks are not compressed and small: the batch
   ends where it is full, for that a small one may go beyond it does not help the large one. */
static void check_small_before_large(void)
{
    const struct zstd_plan_limits limits = whole_limits();
    const struct sample_settings settings = {.window_log = 10};
    const size_t sizes[] = {25000, 150000};
    unsigned char *plain = need(malloc(sizes[1])), *parts[2], *bytes;
    size_t compressed[2], at = 0;
    enum zstd_plan_status status;
    struct decoder d;

    for (size_t i = 0; i < sizes[1]; i++) /* random */
        plain[i] = (unsigned char)(sample_random(&(uint64_t){i}) >> 20);
    parts[0] = need(sample_compress(plain, sizes[0], &settings, &compressed[0]));
    parts[1] = need(sample_compress(plain, sizes[1], &settings, &compressed[1]));
    bytes = need(malloc(compressed[0] + compressed[1]));
    memcpy(bytes, parts[0], compressed[0]);
    memcpy(bytes + compressed[0], parts[1], compressed[1]);
    decoder_open(&d, &limits, 0);
    zstd_plan_begin(&d.plan, &limits, &d.arrays);
    status = zstd_plan_feed(&d.plan, &d.stream, bytes, compressed[0] + compressed[1], &at);
    tap_ok(status == ZSTD_PLAN_FULL && d.plan.total.expected >= limits.expected &&
               d.plan.total.expected < limits.expected + 1024,
           "a small frame, and a part of a large one: %u bytes", (unsigned)d.plan.total.expected);
    decoder_close(&d);
    free(parts[0]);
    free(parts[1]);
    free(plain);
    free(bytes);
}

static void check_damaged(unsigned long runs, uint64_t seed)
{
    struct tap_family family = {0};
    unsigned long taken = 0, left = 0;

    for (unsigned long run = 0; run < runs; run++) {
        uint64_t r = seed + 77777 + run;
        struct sample_settings settings = sample_settings_draw(&r);
        const size_t size = 1 + sample_random(&r) % ((size_t)1 << (8 + sample_random(&r) % 10));
        const unsigned kind = (unsigned)(sample_random(&r) % SAMPLE_KINDS);
        unsigned char *plain = need(malloc(size)), *compressed, *content;
        struct zstd_plan_limits limits;
        size_t compressed_size, content_size;
        struct decoder d;
        bool good, sound;

        sample_fill(kind, plain, size, sample_random(&r));
        compressed = need(sample_compress(plain, size, &settings, &compressed_size));
        for (int times = 0; times < 4; times++) {
            unsigned char *damaged = need(malloc(compressed_size));
            size_t damaged_size;

            memcpy(damaged, compressed, compressed_size);
            damaged_size = sample_damage(damaged, compressed_size, &r);
            limits = draw_limits(&r);
            emulation_seed = sample_random(&r);
            decoder_open(&d, &limits, (size_t)4 << 20);
            good = decode(&d, damaged, damaged_size);
            /* The decoder need not look at the checksum. */
            sound =
                sample_decompress(damaged, damaged_size, &content, &content_size, (size_t)4 << 20);
            if (good && !settings.checksum)
                tap_case(&family,
                         sound && d.out_size == content_size &&
                             memcmp(d.out, content, content_size) == 0,
                         "%s, %zu bytes, run %lu/%d: taken: libzstd says %d, %zu bytes, not %zu",
                         sample_kind_name(kind), size, run, times, sound, content_size, d.out_size);
            else
                tap_family_pass(&family);
            taken += good;
            left += sound && !good;
            free(content);
            free(damaged);
            decoder_close(&d);
        }
        free(plain);
        free(compressed);
    }
    tap_note("%lu damaged files taken, %lu left to libzstd, which takes them", taken, left);
    tap_family_end(&family, "of damaged files nothing is taken that libzstd refuses");
}

static void check_window(void)
{
    uint64_t r = 1;
    struct zstd_plan_limits limits = draw_limits(&r);
    struct decoder d;
    size_t size;
    unsigned char *file = need(sample_beyond_window(&size));

    decoder_open(&d, &limits, 0);
    tap_ok(!decode(&d, file, size) && d.out_size > 0,
           "a match that reaches out of the window is refused");
    decoder_close(&d);
    free(file);
}

/* Checksums of frames that lie anywhere in a ring, and around its end, against what libzstd writes
   behind them. Every other one is changed by a bit. */
#define HASH_FRAMES 40
#define HASH_BYTES_MAX 9000
#define HASH_RING ((size_t)4 * 4096)
static void check_hashes(unsigned long runs, uint64_t seed)
{
    const struct sample_settings settings = {.checksum = true};
    unsigned char *ring = device_memory(HASH_RING), content[HASH_BYTES_MAX];
    struct tap_family family = {0};

    for (unsigned long run = 0; run < runs * HASH_FRAMES; run++) {
        uint32_t *wrong = device_memory(sizeof *wrong);
        struct zstd_hash_job *jobs = device_memory(2 * sizeof *jobs);
        const size_t size = (size_t)(sample_random(&seed) % (run % 3 == 0 ? 70 : HASH_BYTES_MAX));
        const uint32_t flip = run % 2 ? 1U << sample_random(&seed) % 32 : 0;
        size_t compressed;
        unsigned char *frame;

        sample_fill((unsigned)(run % SAMPLE_KINDS), content, size, seed);
        frame = need(sample_compress(content, size, &settings, &compressed));
        /* The second is sound. */
        for (unsigned i = 0; i < 2; i++) {
            jobs[i] =
                (struct zstd_hash_job){.begin = sample_random(&seed) % HASH_RING, .size = size};
            memcpy(&jobs[i].checksum, frame + compressed - 4, 4);
        }
        jobs[1].begin = jobs[0].begin;
        jobs[0].checksum ^= flip;
        memset(ring, 0xa5, HASH_RING);
        for (size_t i = 0; i < size; i++)
            ring[(jobs[0].begin + i) % HASH_RING] = content[i];
        *wrong = UINT32_MAX;
        emulated_hash(&(struct zstd_hash_launch){ring, HASH_RING, jobs, 2, wrong});
        tap_case(&family, *wrong == (flip ? 0 : UINT32_MAX), "%zu bytes at %llu", size,
                 (unsigned long long)jobs[0].begin);
        free(frame);
        free(jobs);
        free(wrong);
    }
    free(ring);
    tap_family_end(&family, "checksums of frames in a ring");
}

int main(void)
{
    const unsigned long runs =
        (unsigned long)from_environment("ZSTD_KERNELS_RUNS", SANITIZED ? 3 : 6);
    const uint64_t seed = from_environment("ZSTD_KERNELS_SEED", 1);

    check_sound(runs, seed);
    check_whole_frames();
    check_small_before_large();
    check_damaged(runs * 20, seed);
    check_window();
    check_hashes(runs, seed);
    return tap_done();
}
