/*
 * Cores and a GPU that share a zstd file (packed_share.c): all orders in which they come, for small
 * files. The source's own code is called, by one thread that plays all workers: from every state it
 * goes on with each step that any of them may take next, until the state has been seen before. A
 * step goes from one place where the source's mutex is free to the next; a worker that cuts a part
 * is stopped in the middle of it, for others to take steps.
 *
 * The feeder of the GPU, and the other workers, act as in unpack.c and work.c: the GPU cannot be had, does not begin, refuses a frame, fails at any time, or at the end.
 *
 * These must hold: nobody waits, or asks in vain, while nobody else can go on; whatever is done, all
 * end; each element is handed out or decoded by the GPU once, with its index; and what cannot be
 * decoded so is to be read again.
 *
 * PACKED_SHARE_SHOW=1 prints how many states each plan has; PACKED_SHARE_LONG=1 plays larger ones,
 * for hours; CHECK_SHARE takes a share of them.
 */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "lib/allocate.h"
#include "lib/data_gen.h"
#include "lib/explore.h"
#include "lib/share.h"
#include "lib/tap.h"
#include "source/packed.h"
#include "source/packed_state.h"
#include "source/source_impl.h"

/* Here other workers take steps; packed_cut.c and packed_share.c are compiled to call these. */
#undef zstd_cutter_next
#undef nanosleep
bool zstd_cutter_next(struct zstd_cutter *c, uint64_t least, struct zstd_stretch *stretch);
bool play_cut(struct zstd_cutter *c, uint64_t least, struct zstd_stretch *stretch);
int play_wait(const struct timespec *time, struct timespec *left);

#define CORES_MAX 3
#define FRAMES_MAX 8
#define FRAME_ELEMENTS 60 /* a frame is 253 bytes then; the GPU takes two at a time, cores one */
#define RING (PACKED_BEFORE + 2 * PACKED_PIECE)

/* The kinds of files. */
enum file_kind {
    FILE_STATED, /* frames state what they hold */
    FILE_SILENT, /* they do not */
    FILE_TORN,   /* they do not, and end within elements */
    FILE_WRONG,  /* a checksum is wrong */
    FILE_DAMAGED /* the header of a frame is */
};

/* A plan that is played. */
struct plan {
    enum file_kind kind;
    unsigned frames, at; /* `at`: of the frame that something is wrong with */
    unsigned cores, helpers;
    enum packed_hold hold;
    bool failures; /* the GPU's */
};

enum doing {
    ASKS,   /* for a part, or for more of it */
    ENDED,  /* source_next has, for it */
    HELPS,  /* the GPU, as its feeder does */
    FAILS,  /* it has found that the GPU has failed, and says so next */
    LEAVES, /* has helped, or need not */
    LEFT,
    /* The feeder alone: */
    AWAY,  /* the GPU is not ready */
    CALLS, /* it is, and takes parts from now on */
};

/* How files are opened. */
static const struct source_options options = {
    .format = SOURCE_RAW_ZSTD, .type = ELEMENT_U32, .length = SOURCE_UNKNOWN, .packed = true};

/* The play under way. */
static const struct plan *plan;
static struct source *source;
static unsigned char *memory, *buffers[CORES_MAX + 1];
static enum doing doing[CORES_MAX + 1]; /* the last is the feeder's */
static bool holds[CORES_MAX + 1];       /* a part */
static unsigned mover;                  /* who takes a step outside of a cut */
static int cutting;                     /* who is stopped in a cut; -1: nobody */
static bool helping, ended, over, given_up, failed, said_again;
static uint64_t wanted;
static unsigned char part[4096];
static size_t part_size, parts_decoded, parts_passed;
static uint64_t contents[FRAMES_MAX], total;
/* For each frame, who has decoded it, and what number its first element had. */
static unsigned char by_core[FRAMES_MAX], by_gpu[FRAMES_MAX];
static uint64_t numbers[FRAMES_MAX];
static jmp_buf *waiting; /* where a step ends that can only wait */

/*
 * States.
 */

static unsigned char key_bytes[1024];
static size_t key_size;

static void add(const void *bytes, size_t size)
{
    memcpy(key_bytes + key_size, bytes, size);
    key_size += size;
}

#define ADD(x) add(&(x), sizeof(x))

/* All that what comes next may depend on. */
UNCHECKED static uint64_t make_key(void)
{
    const struct packed_state *p = source->state;
    const struct packed_share *share = p->share;
    const struct packed_ring *r = &p->rings[0];
    uint64_t key = 0x9e3779b97f4a7c15;

    key_size = 0;
    ADD(doing);
    ADD(holds);
    ADD(cutting);
    ADD(helping);
    ADD(ended);
    ADD(over);
    ADD(given_up);
    ADD(failed);
    ADD(said_again);
    ADD(wanted);
    ADD(part_size);
    ADD(parts_decoded);
    ADD(parts_passed);
    ADD(contents);
    ADD(by_core);
    ADD(by_gpu);
    ADD(numbers);
    ADD(p->cutting);
    ADD(p->refused);
    ADD(p->torn);
    ADD(p->parts_cut);
    ADD(p->parts_noted);
    ADD(p->cutter->begin);
    ADD(p->index.next);
    ADD(share->has_first);
    ADD(share->hold);
    ADD(share->hold_first);
    ADD(share->helpers);
    ADD(share->returning);
    ADD(share->returned);
    ADD(r->part_count);
    ADD(r->parts_done);
    ADD(r->known);
    ADD(r->end);
    ADD(r->claimed);
    ADD(r->present);
    ADD(r->passed);
    ADD(r->complete);
    for (size_t i = 0; i < r->part_count; i++)
        ADD(r->parts[i].begin);
    for (unsigned i = 0; i <= plan->cores; i++)
        if (holds[i]) {
            ADD(share->cores[i].part.begin);
            ADD(share->cores[i].small.state);
            ADD(share->cores[i].small.from);
        }
    if (source_failed(source))
        explore_fail("the source has failed");
    for (size_t i = 0; i < key_size; i++) {
        key = (key ^ key_bytes[i]) * 0x100000001b3;
        key ^= key >> 29;
    }
    return key;
}

/*
 * Files.
 */

static char name[] = "/tmp/gpureduce-share-XXXXXX";

/* Writes the plan's file. Element number i is i. */
static void make_file(void)
{
    static unsigned char file[FRAMES_MAX * 1024];
    static uint32_t elements[FRAMES_MAX * FRAME_ELEMENTS];
    const unsigned count = plan->frames * FRAME_ELEMENTS;
    const bool silent = plan->kind == FILE_SILENT || plan->kind == FILE_TORN;
    ZSTD_CCtx *context = ZSTD_createCCtx();
    size_t size = 0;
    int fd;

    for (unsigned i = 0; i < count; i++)
        elements[i] = i;
    for (unsigned i = 0; i < plan->frames; i++) {
        const size_t shift = plan->kind == FILE_TORN && i >= plan->at ? 2 : 0;
        const size_t begin =
            i == 0 ? 0 : i * sizeof *elements * FRAME_ELEMENTS - (i > plan->at ? shift : 0);
        const size_t end =
            (i + 1) * sizeof *elements * FRAME_ELEMENTS - (i + 1 < plan->frames ? shift : 0);
        ZSTD_outBuffer out = {file, sizeof file, size};
        ZSTD_inBuffer in = {(unsigned char *)elements + begin, end - begin, 0};

        ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, -1); /* stored as they are */
        if (silent)
            (void)ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush);
        else
            ZSTD_CCtx_setPledgedSrcSize(context, in.size);
        if (ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) != 0)
            bail("ZSTD_compressStream2");
        if (plan->kind == FILE_WRONG && i == plan->at)
            file[out.pos - 1] ^= 1;
        if (plan->kind == FILE_DAMAGED && i == plan->at)
            file[size] ^= 1;
        size = out.pos;
    }
    ZSTD_freeCCtx(context);
    fd = open(name, O_WRONLY | O_TRUNC);
    if (fd < 0 || write(fd, file, size) != (ssize_t)size || close(fd) != 0)
        bail(name);
}

/* Notes elements that have been decoded, the first of which has this number. */
static void note_elements(unsigned char by[FRAMES_MAX], const unsigned char *bytes, size_t size,
                          uint64_t number)
{
    for (size_t i = 0; i + 4 <= size; i += 4, number++) {
        uint32_t element;

        memcpy(&element, bytes + i, sizeof element);
        if (element >= plan->frames * FRAME_ELEMENTS) {
            if (plan->kind != FILE_TORN)
                explore_fail("an element that is not in the file");
        } else if (element % FRAME_ELEMENTS == 0) {
            by[element / FRAME_ELEMENTS]++;
            numbers[element / FRAME_ELEMENTS] = number;
        }
    }
}

/*
 * Steps.
 */

/* Notes what is done next. */
static void note_step(unsigned who, const char *what)
{
    char text[16];

    snprintf(text, sizeof text, "%u%s", who % 10, what);
    explore_step(text);
}

int play_wait(const struct timespec *time, struct timespec *left)
{
    (void)time;
    (void)left;
    longjmp(*waiting, 1);
}

/* A core, or a feeder that has become one, asks for what there is. The source holds no mutex where
   it waits, and leaves nothing behind. */
static void ask(unsigned who)
{
    struct source_request request = {.worker = who,
                                     .buffer = buffers[who],
                                     .size = 4096,
                                     .in_place = 4096,
                                     .borrow = true,
                                     .drain = holds[who]};
    jmp_buf here, *volatile before = waiting;
    struct chunk chunk;

    if (setjmp(here)) {
        waiting = before;
        return;
    }
    waiting = &here;
    switch (source_next(source, &request, &chunk)) {
    case SOURCE_CHUNK:
        note_elements(by_core, chunk.data, chunk.count * 4, chunk.index);
        holds[who] = true;
        break;
    case SOURCE_END:
        if (!holds[who])
            doing[who] = who < plan->cores ? ENDED : LEFT;
        holds[who] = false;
        break;
    case SOURCE_FAILED:
        doing[who] = LEFT;
        break;
    }
    waiting = before;
}

/* Decodes the part that the GPU has all of. False where it refuses it. */
static bool decode_part(struct packed_whereabouts place)
{
    static unsigned char content[4 * FRAMES_MAX * FRAME_ELEMENTS];
    const size_t size = ZSTD_decompress(content, sizeof content, part, part_size);

    if (ZSTD_isError(size))
        return false;
    contents[parts_decoded++] = size;
    total += size;
    note_elements(by_gpu, content, size, place.position / 4);
    part_size = 0;
    return true;
}

/* Tells the source of parts behind which another has begun, or all. */
static void pass_parts(bool all)
{
    while (!given_up && parts_passed + !all < parts_decoded)
        given_up = !packed_pass_part(source, 0, contents[parts_passed++]);
}

/* Feeds the GPU. */
static void feed(void)
{
    const struct packed_bytes b = packed_bytes(source, 0, wanted);

    memcpy(part + part_size, b.bytes, b.size);
    part_size += b.size;
    wanted += b.size;
    packed_pass(source, 0, wanted);
    if (b.part_ends && part_size > 0 && !decode_part(b.part)) {
        packed_refuse(source);
        given_up = ended = true;
        return;
    }
    pass_parts(b.last);
    if (b.last && !given_up) {
        packed_complete(source, 0, total, SOURCE_UNKNOWN);
        ended = true;
    }
}

/* The work of a helping worker: one of the things that take_part in unpack.c does. */
static void help(unsigned who)
{
    unsigned way;

    if (given_up || ended)
        over = true;
    if (over) {
        doing[who] = LEAVES;
        return;
    }
    way = explore_choose(plan->failures && !failed ? 3 : failed ? 1 : 2);
    note_step(who, way == 0 ? "reads" : way == 1 ? "feeds" : "fails");
    switch (way) {
    case 0:
        if (packed_read(source, 0) == PACKED_FAILED)
            given_up = true;
        break;
    case 1:
        feed();
        break;
    default:
        failed = true; /* nobody else feeds it from now on */
        doing[who] = FAILS;
    }
}

/* The GPU can be had, or not; and takes the input, or not. */
static void open_gpu(unsigned who)
{
    const unsigned way = explore_choose(plan->failures ? 3 : 1);

    switch (way) {
    case 0:
        helping = true;
        doing[who] = CALLS;
        break;
    case 1:
        packed_return(source);
        doing[who] = LEAVES;
        break;
    default:
        packed_return(source); /* the session's thread does, and there is no feeder */
        doing[who] = LEFT;
    }
}

/* Has a worker take its next step. */
static void step(unsigned who)
{
    note_step(who, "");
    switch (doing[who]) {
    case ASKS:
        ask(who);
        break;
    case ENDED:
        doing[who] = helping ? HELPS : LEAVES;
        break;
    case HELPS:
        help(who);
        break;
    case FAILS:
        packed_return(source);
        over = true;
        doing[who] = LEAVES;
        break;
    case LEAVES:
        doing[who] = packed_left(source) ? ASKS : LEFT;
        break;
    case AWAY:
        open_gpu(who);
        break;
    case CALLS:
        packed_call(source, plan->helpers);
        doing[who] = HELPS;
        break;
    case LEFT:
        break;
    }
}

/* Whether all cores have left. */
static bool cores_left(void)
{
    bool all = true;

    for (unsigned i = 0; i < plan->cores; i++)
        all = all && doing[i] == LEFT;
    return all;
}

/* Others that take steps. */
#define SESSION 8 /* its thread, which also sees that the GPU has failed */
#define NOBODY 9  /* the cut ends, or the run where the GPU has not come */

/* Has anyone take a step. False when nobody does. */
static bool step_of_any(void)
{
    unsigned who[CORES_MAX + 3], count = 0, chosen = NOBODY;

    explore_visit(make_key);
    for (unsigned i = 0; i <= plan->cores; i++)
        if (doing[i] != LEFT && (int)i != cutting)
            who[count++] = i;
    if (failed && !said_again)
        who[count++] = SESSION;
    if (cutting >= 0 || (cores_left() && doing[plan->cores] == AWAY))
        who[count++] = NOBODY;
    if (count > 0)
        chosen = who[explore_choose(count)];
    if (chosen < SESSION) {
        if (cutting < 0)
            mover = chosen;
        step(chosen);
    } else {
        note_step(chosen, "");
    }
    if (chosen == SESSION) {
        packed_return(source);
        said_again = true;
    }
    return chosen != NOBODY;
}

bool play_cut(struct zstd_cutter *c, uint64_t least, struct zstd_stretch *stretch)
{
    const bool found = zstd_cutter_next(c, least, stretch);

    if (cutting >= 0)
        explore_fail("two workers cut at a time");
    if (mover <= plan->cores) { /* not before it all begins */
        cutting = (int)mover;
        while (!explore_trouble() && step_of_any())
            ;
        cutting = -1;
    }
    return found;
}

/*
 * Plays.
 */

/* Looks at what it has come to. */
static void judge(void)
{
    const bool sound = plan->kind == FILE_STATED || plan->kind == FILE_SILENT;
    const bool unfinished = helping && !failed && plan->failures && explore_choose(2) == 1;
    enum source_verdict verdict;

    if (unfinished) /* its last results do not come */
        packed_return(source);
    verdict = source_finish(source);
    if (!sound || (unfinished && parts_decoded > 0)) {
        if (verdict != SOURCE_RETRY)
            explore_fail("it is not to be read again");
        if (plan->kind == FILE_TORN && !packed_torn(source))
            explore_fail("one GPU is not to have all of it");
        return;
    }
    if (verdict != SOURCE_COMPLETE)
        explore_fail("it is not complete");
    for (unsigned i = 0; i < plan->frames && verdict == SOURCE_COMPLETE; i++) {
        if (by_core[i] + (failed ? 0 : by_gpu[i]) != 1)
            explore_fail("a frame has not been decoded once");
        else if (source_index(source, numbers[i]) != (uint64_t)i * FRAME_ELEMENTS)
            explore_fail("an element has another index");
    }
}

/* Plays once. */
static void play(void)
{
    if (source)
        source_close(source);
    mover = UINT32_MAX;
    cutting = -1;
    waiting = NULL;
    helping = ended = over = given_up = failed = said_again = false;
    wanted = total = 0;
    part_size = parts_decoded = parts_passed = 0;
    memset(contents, 0, sizeof contents);
    memset(by_core, 0, sizeof by_core);
    memset(by_gpu, 0, sizeof by_gpu);
    memset(numbers, 0, sizeof numbers);
    memset(holds, 0, sizeof holds);
    for (unsigned i = 0; i <= plan->cores; i++)
        doing[i] = i < plan->cores ? ASKS : AWAY;
    source = source_open(name, &options, plan->cores + 1);
    if (!source || !source_info(source)->packed)
        bail("source_open");
    if (!packed_share(source, plan->cores + 1, plan->hold))
        bail("packed_share");
    packed_begin(source, 0, memory, RING);
    while (step_of_any())
        ;
    explore_final();
    judge();
}

static void play_all(struct tap_family *family, const struct plan *what)
{
    static const char *const kinds[] = {"stated", "silent", "torn", "wrong", "damaged"};
    unsigned long plays = 0;

    if (!share_takes_next())
        return;
    plan = what;
    make_file();
    explore_begin();
    do {
        explore_play(play);
        plays++;
    } while (!explore_trouble() && explore_next());
    explore_end();
    if (getenv("PACKED_SHARE_SHOW"))
        tap_note("%s %u, %u frames, %u cores, %u help, hold %d, failures %d: %zu states, %lu plays",
                 kinds[what->kind], what->at, what->frames, what->cores, what->helpers,
                 (int)what->hold, what->failures, explore_states(), plays);
    tap_case(family, !explore_trouble(),
             "%s %u, %u frames, %u cores, %u help, hold %d, failures %d: %s, after %s",
             kinds[what->kind], what->at, what->frames, what->cores, what->helpers, (int)what->hold,
             what->failures, explore_trouble(), explore_way());
}

/* One core, and what is wrong with files. */
static void play_one_core(struct tap_family *family)
{
    for (unsigned i = 0; i < 12; i++)
        play_all(family, &(struct plan){.kind = i % 4 == 1 ? FILE_SILENT : FILE_STATED,
                                        .frames = 4,
                                        .cores = 1,
                                        .hold = (enum packed_hold)(i % 3),
                                        .helpers = i / 3 % 2,
                                        .failures = i / 6});
    for (unsigned i = 0; i < 24; i++) {
        const struct plan p = {.kind = i % 8 < 5    ? FILE_WRONG
                                       : i % 8 == 5 ? FILE_TORN
                                                    : FILE_DAMAGED,
                               .frames = 5,
                               .at = i % 8 < 5    ? i % 8
                                     : i % 8 == 7 ? 3
                                                  : 1,
                               .cores = 1,
                               .hold = (enum packed_hold)(i / 8),
                               .helpers = i / 8,
                               .failures = i % 8 == 3 && i < 8};

        play_all(family, &p);
    }
}

/* More cores: more than there are parts, too. */
static void play_more_cores(struct tap_family *family)
{
    for (unsigned i = 0; i < 6; i++)
        play_all(family, &(struct plan){.kind = i == 4 ? FILE_SILENT : FILE_STATED,
                                        .frames = 4,
                                        .cores = 2,
                                        .hold = i % 2 ? PACKED_HOLD_ALL : PACKED_HOLD_NONE,
                                        .helpers = i / 2 + (i == 5)});
    for (unsigned kind = FILE_TORN; kind <= FILE_DAMAGED; kind++)
        play_all(family, &(struct plan){.kind = (enum file_kind)kind,
                                        .frames = 4,
                                        .at = kind == FILE_TORN ? 1 : 2,
                                        .cores = 2,
                                        .hold = PACKED_HOLD_REST,
                                        .helpers = 1});
    play_all(family,
             &(struct plan){
                 .frames = 3, .cores = 2, .hold = PACKED_HOLD_ALL, .helpers = 2, .failures = true});
    play_all(
        family,
        &(struct plan){
            .frames = 3, .cores = 2, .hold = PACKED_HOLD_REST, .helpers = 1, .failures = true});
    play_all(family, &(struct plan){.frames = 3, .cores = 3, .helpers = 2});
}

/* Everything of this size, which takes hours. */
static void play_long(struct tap_family *family)
{
    for (unsigned kind = 0; kind < 5; kind++)
        for (unsigned i = 0; i < 216; i++)
            play_all(family, &(struct plan){.kind = (enum file_kind)kind,
                                            .frames = 3 + i / 72,
                                            .at = 1,
                                            .cores = 1 + i / 24 % 3,
                                            .hold = (enum packed_hold)(i / 2 % 3),
                                            .helpers = i / 6 % 4,
                                            .failures = i % 2});
}

/* Checks a look at how well a file compresses: a file of many frames, each of `size` bytes
   that are below `values`. One frame that states all of its content is not decoded. */
static void check_look(unsigned frames, size_t size, unsigned values, bool decoded)
{
    unsigned char *content = allocate(size), *frame = allocate(ZSTD_compressBound(size));
    struct packed_outlook outlook = {.ratio = -1};
    FILE *file = fopen(name, "wb");
    size_t compressed = 0;
    struct rng random;
    double ratio;

    if (!file)
        bail(name);
    rng_seed(&random, 5);
    for (unsigned k = 0; k < frames; k++) {
        size_t length;

        for (size_t i = 0; i < size; i++)
            content[i] = (unsigned char)rng_below(&random, values);
        length = ZSTD_compress(frame, ZSTD_compressBound(size), content, size, 1);
        if (ZSTD_isError(length) || fwrite(frame, 1, length, file) != length)
            bail(name);
        compressed += length;
    }
    if (fclose(file) != 0)
        bail(name);
    source = source_open(name, &options, 2);
    if (!source || !packed_look(source, &outlook))
        bail("packed_look");
    ratio = decoded ? (double)frames * (double)size / (double)compressed : 0;
    tap_ok(fabs(outlook.ratio - ratio) <= ratio / 100 && !outlook.uncached,
           "%u frames of %zu bytes below %u: a byte decodes to %.3f, and is said to to %.3f",
           frames, size, values, ratio, outlook.ratio);
    source_close(source);
    source = NULL;
    free(content);
    free(frame);
}

int main(void)
{
    struct tap_family family = {0};
    int fd = mkstemp(name);

    if (fd < 0)
        bail(name);
    close(fd);
    memory = allocate(RING);
    for (unsigned i = 0; i <= CORES_MAX; i++)
        buffers[i] = allocate(4096);
    check_look(20, 200000, 100, true);
    check_look(3, 100000, 10, true);
    check_look(400, 4096, 2, true);
    check_look(1, 200000, 10, false);
    play_one_core(&family);
    play_more_cores(&family);
    if (getenv("PACKED_SHARE_LONG"))
        play_long(&family);
    tap_family_end(&family, "all orders of cores and a GPU");
    if (source)
        source_close(source);
    unlink(name);
    return tap_done();
}
