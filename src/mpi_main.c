/*
 * gpureduce-mpi: gpureduce by the ranks of an MPI program. Each rank reduces a shard of the files,
 * as run/shard.h plans it; what they find is merged by an MPI operation on pieces of results; rank
 * 0 prints what gpureduce would.
 *
 * A rank that fails prints why, and ends the job: nobody waits for what will not come.
 */
#include "config.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/message.h"
#include "cli/operands.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/stdio.h"
#include "core/name.h"
#include "run/ranks.h"
#include "sys/float_mode.h"
#include "sys/group.h"
#include "sys/grow.h"
#include "sys/signals.h"

/* Pieces that are merged at a time. */
#define PIECES 64

/* The findings of a rank, by numbers of files, and of arrays in them. */
struct found {
    int file;
    size_t number;
    struct rank_piece piece;
};

struct ranks {
    int rank, size;
    struct options *options;
    struct shard_part *parts; /* of each file: this rank's */
    uint64_t *arrays;         /* of each file: 1, or, of a container, 2 more than it has arrays */
    struct found *found;      /* in order */
    size_t count, room;
    MPI_Datatype piece;
    MPI_Op merge;
};

/* Ends the job, after a message. */
static void end_job(void)
{
    (void)stdio_flush();
    MPI_Abort(MPI_COMM_WORLD, message_status() == EXIT_OK ? EXIT_FAILED : (int)message_status());
}

/* Memory for `count` things, of which there may be none; without any, ends the job. */
static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);

    if (!memory) {
        message_error(EXIT_FAILED, "out of memory");
        end_job();
    }
    return memory;
}

/* Whether all ranks say so. */
static bool all_agree(bool good)
{
    int mine = good, all;

    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

static void merge_pieces(void *in, void *inout, int *count, MPI_Datatype *type)
{
    const struct rank_piece *from = in;
    struct rank_piece *to = inout;

    (void)type;
    for (int i = 0; i < *count; i++)
        rank_piece_merge(&to[i], &from[i]);
}

/* How many GPUs this machine has, as far as its files and the environment tell. */
static unsigned count_gpus(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    char path[40];
    unsigned count = 0;

    if (visible && *visible) {
        for (count = 1; (visible = strchr(visible, ',')); visible++)
            count++;
        return count;
    }
    do
        snprintf(path, sizeof path, "/dev/nvidia%u", count);
    while (access(path, F_OK) == 0 && ++count < ENGINE_DEVICES_MAX);
    return count;
}

/* Has this process, the one number `place` of those on its machine, use the GPU of this place, among
   those that the user has named or that are there. */
static void choose_gpu(struct session_options *options, unsigned place)
{
    const unsigned count = count_gpus();

    if (options->device_count > 1)
        options->devices[0] = options->devices[place % options->device_count];
    else if (options->devices[0] == 0 && count > 0)
        options->devices[0] = (int)(place % count);
    options->device_count = 1;
}

/* Shares out GPUs and cores among the ranks of a machine. Launchers bind ranks to cores, or do not:
   those that may run on the same ones have as many threads together as there are cores. */
static void share_machine(struct session_options *options)
{
    MPI_Comm machine;
    cpu_set_t own, *all;
    int place, count;
    unsigned sharers = 0;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &place);
    MPI_Comm_size(machine, &count);
    choose_gpu(options, (unsigned)place);
    CPU_ZERO(&own);
    (void)sched_getaffinity(0, sizeof own, &own);
    all = allocate((size_t)count, sizeof *all);
    MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, machine);
    for (int i = 0; i < count; i++)
        sharers += CPU_EQUAL(&own, &all[i]) != 0;
    if (options->threads == 0 && sharers > 1)
        options->threads = cores_available() > sharers ? cores_available() / sharers : 1;
    free(all);
    MPI_Comm_free(&machine);
}

/*
 * Reducing.
 */

/* Keeps what was found of an array. */
static void keep(struct ranks *r, int file, const struct reduction *reduction)
{
    struct found *found;

    if (!GROW(r->found, r->room, r->count + 1)) {
        message_error(EXIT_FAILED, "out of memory");
        end_job();
        return;
    }
    found = &r->found[r->count++];
    found->file = file;
    found->number = reduction->array ? reduction->number : 0;
    if (!rank_piece_set(&found->piece, reduction)) {
        message_error(EXIT_FAILED, "%s: the name of an array has more than %d bytes",
                      r->options->files[file], RANK_PIECE_NAME_MAX - 1);
        end_job();
    }
}

static int compare_found(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Takes the result of an input. */
static void take(struct ranks *r, int file, const struct reduction *reduction)
{
    struct reduction one = {.array = NULL};

    r->arrays[file] = reduction->arrays ? 2 + arrays_total(reduction->arrays) : 1;
    for (size_t k = 0; report_result(reduction, k, &one); k++) {
        one.seconds = reduction->seconds;
        keep(r, file, &one);
    }
}

/* An input has failed. All ranks that have a part of it find an error in its header; the one that
   has the beginning prints it and ends the job. Errors that only others find are printed later, so
   that a busy machine does not print an error twice. */
static void fail(const char *path, const struct error *error, bool behind)
{
    const struct timespec later = {.tv_sec = 2};

    if (behind)
        (void)nanosleep(&later, NULL);
    message_choose(MESSAGE_ALL);
    failure_print(path, NULL, error);
    end_job();
}

/* Reduces what is this rank's. Returns false where a thread still makes a GPU ready. */
static bool reduce_own(struct ranks *r)
{
    struct options *options = r->options;
    char **paths = allocate((size_t)options->file_count, sizeof *paths);
    struct session *session;
    struct error error;
    bool quiescent;
    int count = 0;

    for (int i = 0; i < options->file_count; i++)
        if (r->parts[i].any)
            paths[count++] = options->files[i];
    if (count == 0) {
        free(paths);
        return true;
    }
    session = session_open(&options->session, paths, count, &error);
    if (!session) {
        failure_print(NULL, NULL, &error);
        end_job();
    }
    for (int i = 0; i < options->file_count && session; i++) {
        struct reduction reduction;

        if (!r->parts[i].any)
            continue;
        options->session.input.part = r->parts[i].part;
        message_choose(r->parts[i].part.begin > 0 ? MESSAGE_NOTHING : MESSAGE_ALL);
        if (!session_reduce(session, options->files[i], &reduction))
            fail(options->files[i], &reduction.error, r->parts[i].part.begin > 0);
        message_choose(MESSAGE_ALL);
        take(r, i, &reduction);
    }
    quiescent = !session || session_close(session);
    free(paths);
    /* Arrays were found in the order of their offsets, which is that of their numbers. */
    if (r->count > 0)
        qsort(r->found, r->count, sizeof *r->found, compare_found);
    return quiescent;
}

/*
 * Merging.
 */

/* Brings together, for rank 0, what all ranks found of an input. *next is the first of what this
   rank found that has not been sent. */
static void gather(const struct ranks *r, int file, struct rank_piece *pieces, size_t count,
                   size_t *next)
{
    struct rank_piece *own = allocate(PIECES, sizeof *own);

    for (size_t begin = 0; begin < count; begin += PIECES) {
        const size_t size = count - begin < PIECES ? count - begin : PIECES;

        for (size_t i = 0; i < size; i++)
            rank_piece_clear(&own[i]);
        for (; *next < r->count && r->found[*next].file == file &&
               r->found[*next].number < begin + size;
             ++*next)
            own[r->found[*next].number - begin] = r->found[*next].piece;
        MPI_Reduce(own, r->rank == 0 ? pieces + begin : NULL, (int)size, r->piece, r->merge, 0,
                   MPI_COMM_WORLD);
    }
    free(own);
}

/* Lets rank 0 know which --array matched anything, and whether any array is left. */
static void gather_matches(struct source_wanted *wanted)
{
    int matched[SOURCE_PATTERNS_MAX], all[SOURCE_PATTERNS_MAX];

    for (unsigned i = 0; i < wanted->count; i++)
        matched[i] = wanted->patterns[i].matched + 2 * wanted->patterns[i].useful;
    MPI_Allreduce(matched, all, (int)wanted->count, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
    for (unsigned i = 0; i < wanted->count; i++) {
        wanted->patterns[i].matched = all[i] & 1;
        wanted->patterns[i].useful = all[i] & 2;
    }
    MPI_Allreduce(MPI_IN_PLACE, &wanted->chosen, 1, MPI_C_BOOL, MPI_LOR, MPI_COMM_WORLD);
}

/* Merges what all ranks have found; rank 0 prints it. */
static void report_all(struct ranks *r)
{
    struct options options = *r->options;
    struct report results;
    struct total total;
    size_t next = 0;

    /* The engines of one rank are not those of all. */
    options.verbose = false;
    MPI_Allreduce(MPI_IN_PLACE, r->arrays, options.file_count, MPI_UINT64_T, MPI_MAX,
                  MPI_COMM_WORLD);
    if (options.wanted.count > 0)
        gather_matches(&options.wanted);
    total_clear(&total);
    total.inputs = total.failed = options.left_out;
    if (report_open(&results, &options) && r->rank == 0)
        report_begin(&results);
    for (int i = 0; i < options.file_count; i++) {
        struct ranks_input input = {.container = r->arrays[i] >= 2};
        struct rank_piece *pieces;

        input.count = (size_t)(input.container ? r->arrays[i] - 2 : 1);
        pieces = allocate(r->rank == 0 ? input.count : 0, sizeof *pieces);
        gather(r, i, pieces, input.count, &next);
        input.pieces = pieces;
        if (r->rank == 0) {
            struct ranks_result result;

            ranks_finish(&result, &input, options.files[i], &options.session);
            report(&results, options.files[i], &result.reduction);
            total_add(&total, &result.reduction);
            ranks_free(&result);
        }
        free(pieces);
    }
    if (r->rank != 0)
        return;
    report_rows(&results);
    if (options.total) {
        total_finish(&total, options.session.nan, options.session.ddof);
        report_total(&results, &total);
    }
    report_close(&results);
    report_end(&options);
    if (r->options->verbose)
        message_line("  ranks     %d", r->size);
}

/* Whether all ranks share out the same: as many files, and each as long. */
static bool see_the_same(const struct ranks *r)
{
    const size_t count = (size_t)r->options->file_count;
    int counts[2] = {r->options->file_count, -r->options->file_count};
    uint64_t *units;
    char name[NAME_INPUT_MAX];
    bool same = true;

    MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (counts[0] != -counts[1])
        return message_error(EXIT_FAILED, "some ranks see %d files, others %d", counts[0],
                             -counts[1]);
    units = allocate(2 * count, sizeof *units);
    for (size_t i = 0; i < count; i++) {
        units[2 * i] = r->parts[i].units;
        units[2 * i + 1] = ~r->parts[i].units;
    }
    MPI_Allreduce(MPI_IN_PLACE, units, (int)(2 * count), MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
    for (size_t i = 0; i < count; i++)
        if (units[2 * i] != ~units[2 * i + 1]) {
            message_error(EXIT_FAILED, "%s: its length differs between ranks, or it is missing",
                          name_input(name, r->options->files[i]));
            same = false;
        }
    free(units);
    return same;
}

/* Reduces the files by all ranks. Returns false where a thread still makes a GPU ready. */
static bool reduce_together(struct ranks *r)
{
    struct options *options = r->options;
    const struct shard shard = {(uint64_t)r->rank + 1, (uint64_t)r->size};
    const enum nan_policy nan = options->session.nan;
    bool quiescent = true, planned;
    const char *failed;
    struct error error;

    r->parts = allocate((size_t)options->file_count, sizeof *r->parts);
    r->arrays = allocate((size_t)options->file_count, sizeof *r->arrays);
    planned = shard_plan(&shard, options->files, options->file_count, &options->session.input,
                         r->parts, &failed, &error);
    if (!planned)
        failure_print(failed, NULL, &error);
    if (all_agree(planned && options->file_count > 0) && see_the_same(r)) {
        MPI_Type_contiguous(sizeof(struct rank_piece), MPI_BYTE, &r->piece);
        MPI_Type_commit(&r->piece);
        MPI_Op_create(merge_pieces, 1, &r->merge);
        message_choose(MESSAGE_ALL);
        share_machine(&options->session);
        /* Which NaN is the first is known when all is merged. */
        if (nan == NAN_ERROR)
            options->session.nan = NAN_PROPAGATE;
        quiescent = reduce_own(r);
        options->session.nan = nan;
        report_all(r);
        MPI_Op_free(&r->merge);
        MPI_Type_free(&r->piece);
    }
    free(r->parts);
    free(r->arrays);
    free(r->found);
    return quiescent;
}

/* Does what the command line asks for. Returns false where a thread still makes a GPU ready. */
static bool run(struct ranks *r)
{
    struct options *options = r->options;
    struct progress progress = {.several = options->file_count > 1};
    struct progress_observer observer = progress_observe(&progress);

    if (options->command == COMMAND_REDUCE) {
        if (options->progress && r->rank == 0)
            options->session.progress = &observer;
        return reduce_together(r);
    }
    if (r->rank == 0 && options->command == COMMAND_MERGE)
        merge_files(options);
    else if (r->rank == 0)
        list_files(options);
    return true;
}

int main(int argc, char **argv)
{
    struct options options;
    struct ranks ranks = {.options = &options};
    enum arguments_action action;
    bool quiescent = true;
    int status;

    stdio_open();
    message_program("gpureduce-mpi");
    command_line_of_ranks("gpureduce-mpi");
    MPI_Init(&argc, &argv);
    FLOAT_MODE_DEFAULT; /* libraries that it has loaded may have set another */
    signals_open();     /* MPI has handlers of its own */
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);

    /* Rank 0 prints messages that are the same for all ranks. */
    if (ranks.rank != 0) {
        message_choose(MESSAGE_NOTHING);
        if (!freopen("/dev/null", "w", stdout))
            end_job();
    }
    action = command_line_parse(argc, argv, &options);
    if (action == ARGUMENTS_RUN && !operands_expand(&options))
        action = ARGUMENTS_WRONG;
    if (all_agree(action == ARGUMENTS_RUN))
        quiescent = run(&ranks);
    stdio_close();
    operands_free(&options);

    /* The job has one status. */
    status = (int)message_status();
    MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    if (!quiescent)
        _exit(status);
    return status;
}
