/*
 * Accumulators of elements in device memory (cuda/array.h): every element type, any alignment,
 * launches on several streams and GPUs. Their results are, digit by digit, those of taking the
 * elements one by one.
 *
 * Built twice: with the emulated runtime, whose streams run in any order that is allowed, where
 * nvcc is; and with TEST_CUDA for a GPU, with graphs; that skips where there is none.
 *
 * From the environment: DEVICE_ARRAYS_RUNS is how many random accumulators, CHECK_SEED the seed.
 */
#include "config.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "core/moments.h"
#include "cuda/array.h"
#include "lib/allocate.h"
#include "lib/data_gen.h"
#include "lib/environment.h"
#include "lib/reference.h"
#include "lib/tap.h"

/* Most pieces have at most COUNT_OFTEN elements, as those are taken one by one, too. */
#define RUNS 400
#define COUNT_OFTEN 3000
#ifdef TEST_CUDA
#    define COUNT_MAX 200000
#else
#    define COUNT_MAX COUNT_OFTEN
#endif

#define DEVICES_MAX 4
#define STREAMS 3

/* Bytes before the first element, at most. */
#define OFF_MAX 32

#define ROOM (OFF_MAX + (size_t)COUNT_MAX * 8)

/* Pieces of one accumulator between two times that it is cleared, at most. */
#define PIECES_MAX 6

static const unsigned all_wants[] = {
    PARTIAL_SUM | PARTIAL_EXTREMES,
    PARTIAL_ALL,
    PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE,
    PARTIAL_SUM | PARTIAL_SQUARES,
    PARTIAL_EXTREMES,
};
#define WANTS (sizeof all_wants / sizeof *all_wants)

static struct rng rng;
static unsigned devices;
static cudaStream_t streams[DEVICES_MAX][STREAMS], uploads[DEVICES_MAX];
static unsigned char *memory[DEVICES_MAX][PIECES_MAX]; /* of ROOM bytes, on the devices */
static unsigned char *data;

static void must(cudaError_t error)
{
    if (error != cudaSuccess) {
        printf("Bail out! %s\n", cudaGetErrorString(error));
        exit(1);
    }
}

/* Copies `data` to a device, and waits for that alone: copies from memory that is not pinned go on after
   cudaMemcpy has returned, and streams that do not block do not wait for them. */
static void upload(unsigned device, unsigned char *to, size_t bytes)
{
    must(cudaMemcpyAsync(to, data, bytes, cudaMemcpyHostToDevice, uploads[device]));
    must(cudaStreamSynchronize(uploads[device]));
}

/* The results of a partial result, for comparison. */
static struct result finish(const struct partial *p, enum element_type type)
{
    const struct moments_terms terms = {.type = type};
    struct result r;

    memset(&r, 0, sizeof r);
    partial_finish_type(p, terms.type, 0, &r);
    moments_finish(p, &terms, &r);
    return r;
}

static bool is_same(const struct partial *a, const struct partial *b, enum element_type type,
                    unsigned wants)
{
    const struct result x = finish(a, type), y = finish(b, type);
    uint32_t one[EXACT_DIGITS], other[EXACT_DIGITS];

    return a->count == b->count && reference_same(&x, &y, wants) &&
           (!(wants & PARTIAL_SUM) ||
            (exact_magnitude(&a->sum, one) == exact_magnitude(&b->sum, other) &&
             memcmp(one, other, sizeof one) == 0)) &&
           !reference_moments_differs(a, b, wants);
}

/* Takes `count` elements of `data` one by one: test_moments and test_partial compare that with the
   oracle. */
static void take(struct partial *p, enum element_type type, size_t count, uint64_t index)
{
    const size_t size = element_size(type);

    for (size_t i = 0; i < count; i++) {
        partial_take_element(p, type, data + i * size, index + i);
        moments_take_element(p, type, data + i * size);
    }
}

static void fill(enum element_type type, size_t count)
{
    const size_t size = element_size(type);

    if (element_is_integer(type) || size == 1) {
        for (size_t i = 0; i < count * size; i++)
            data[i] = (unsigned char)rng_below(&rng, type == ELEMENT_BOOL ? 2 : 256);
        return;
    }
    data_fill((enum data_kind)rng_below(&rng, DATA_KINDS), type, data, count, rng_next(&rng));
    if (rng_below(&rng, 3) == 0)
        data_put_special(type, data, rng_below(&rng, count),
                         (enum data_special)rng_below(&rng, DATA_SPECIALS));
}

/* The form of elements in a row, and what is found of them. */
struct terms {
    enum element_type type;
    bool swap;
    unsigned wants;
};

/* Adds elements in a row. */
static bool add(struct cuda_array **array, const struct terms *terms, const void *at,
                uint64_t count, uint64_t index, cudaStream_t stream, struct error *error)
{
    const struct view_layout row = {
        .data = at, .rank = 1, .sizes = {count}, .strides = {(int64_t)element_size(terms->type)}};
    const struct cuda_array_elements elements = {.type = terms->type,
                                                 .swap = terms->swap,
                                                 .layout = &row,
                                                 .count = count,
                                                 .device = -1,
                                                 .stream = stream};

    return cuda_array_add(array, &elements, terms->wants, index, error);
}

/* Adds some pieces to an accumulator, on any streams and GPUs, and looks at it in between. */
static bool check_pieces(struct cuda_array **array, const struct terms *terms)
{
    const size_t size = element_size(terms->type);
    const bool swap = terms->swap;
    struct partial expected, found;
    struct error error = {.kind = ERROR_NONE};
    uint64_t index = rng_below(&rng, 2) ? UINT64_C(1) << 40 : 0;
    bool good = true;

    partial_clear(&expected);
    for (unsigned piece = 0; piece < PIECES_MAX && good; piece++) {
        const unsigned device = (unsigned)rng_below(&rng, devices);
        const uint64_t kind = rng_below(&rng, 100);
        const size_t most = kind < 2 ? COUNT_MAX : kind < 75 ? COUNT_OFTEN : 40;
        const size_t count = rng_below(&rng, most) + 1;
        const size_t off =
            rng_below(&rng, 2) ? rng_below(&rng, OFF_MAX / size) * size : rng_below(&rng, OFF_MAX);
        unsigned char *at = memory[device][piece] + off;

        fill(terms->type, count);
        take(&expected, terms->type, count, index);
        if (swap)
            element_swap(data, data, count, size);
        upload(device, at, count * size);
        good =
            add(array, terms, at, count, index, streams[device][rng_below(&rng, STREAMS)], &error);
        index += count;
        if (good && (piece == PIECES_MAX - 1 || rng_below(&rng, 3) == 0)) {
            partial_clear(&found);
            good = cuda_array_snapshot(*array, terms->wants, &found, &error) &&
                   is_same(&found, &expected, terms->type, terms->wants);
        }
    }
    if (error.kind)
        tap_note("%s", error.text);
    return good;
}

static void check_types(unsigned long runs)
{
    struct tap_family family = {0};

    for (unsigned long run = 0; run < runs; run++) {
        const enum element_type type = (enum element_type)(run % ELEMENT_TYPES);
        struct terms terms = {.type = type, .swap = element_size(type) > 1 && rng_below(&rng, 2)};
        struct cuda_array *array = NULL;
        struct error error = {.kind = ERROR_NONE};
        bool good = true;
        int device;

        must(cudaSetDevice((int)rng_below(&rng, devices)));
        for (unsigned time = 0; time < 4 && good; time++) {
            terms.wants = all_wants[rng_below(&rng, WANTS)];
            good = check_pieces(&array, &terms) && cuda_array_clear(array, &error) &&
                   (rng_below(&rng, 2) || cuda_array_clear(array, &error));
        }
        must(cudaGetDevice(&device));
        cuda_array_close(array);
        tap_case(&family, good, "%s, run %lu", element_name(type), run);
        for (unsigned i = 0; i < devices; i++) {
            must(cudaSetDevice((int)i));
            must(cudaDeviceSynchronize());
        }
    }
    tap_family_end(&family, "elements of all types, on any streams and GPUs");
}

/* Elements that cannot be added are refused, and change nothing. */
static void check_refused(void)
{
    const struct terms terms = {.type = ELEMENT_F32, .wants = PARTIAL_SUM};
    const struct terms scaled = {.type = ELEMENT_F32, .wants = PARTIAL_SPLIT};
    struct cuda_array *array = NULL;
    struct error error = {.kind = ERROR_NONE};
    struct partial found;
    int device;

    must(cudaSetDevice((int)devices - 1));
    tap_ok(!add(&array, &terms, data, 7, 0, streams[devices - 1][0], &error) &&
               error.kind == ERROR_REQUEST,
           "memory of the host: %s", error.text);
    error.kind = ERROR_NONE;
    tap_ok(!add(&array, &scaled, memory[0][0], 7, 0, streams[0][0], &error) &&
               error.kind == ERROR_REQUEST,
           "%s", error.text);
    error.kind = ERROR_NONE;
    partial_clear(&found);
    tap_ok(add(&array, &terms, NULL, 0, 0, streams[0][0], &error) &&
               cuda_array_snapshot(array, terms.wants, &found, &error) && found.count == 0,
           "no elements are no error");
    memset(data, 0, 80);
    upload(0, memory[0][0], 80);
    tap_ok(add(&array, &terms, memory[0][0], 20, 0, streams[0][0], &error) &&
               cuda_array_snapshot(array, terms.wants, &found, &error) && found.count == 20,
           "others can be added after it");
    cuda_array_close(array);
    must(cudaGetDevice(&device));
    tap_ok(device == (int)devices - 1, "the current GPU is what it was");
    cuda_array_close(NULL);
}

#ifdef TEST_CUDA
/* Launches that are captured in a graph count as often as the graph is launched. */
static void check_graphs(void)
{
    const struct terms terms = {.type = ELEMENT_F32, .wants = PARTIAL_ALL};
    const size_t count = COUNT_MAX;
    const cudaStream_t stream = streams[0][0], other = streams[0][1];
    struct cuda_array *array = NULL;
    struct error error = {.kind = ERROR_NONE};
    struct partial once, expected, found;
    cudaGraph_t graph;
    cudaGraphExec_t executable;

    must(cudaSetDevice(0));
    fill(ELEMENT_F32, count);
    upload(0, memory[0][0], count * 4);
    partial_clear(&once);
    take(&once, ELEMENT_F32, count, 0);

    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    tap_ok(add(&array, &terms, memory[0][0], count, 0, stream, &error),
           "the first elements can be captured%s%s", error.kind ? ": " : "",
           error.kind ? error.text : "");
    must(cudaStreamEndCapture(stream, &graph));
    must(cudaGraphInstantiate(&executable, graph, 0));

    partial_clear(&found);
    tap_ok(cuda_array_snapshot(array, terms.wants, &found, &error) && found.count == 0,
           "they do not count before the graph is launched");
    partial_clear(&expected);
    for (unsigned time = 0; time < 3; time++) {
        must(cudaGraphLaunch(executable, other));
        partial_merge(&expected, &once);
    }
    tap_ok(add(&array, &terms, memory[0][0], count, 0, stream, &error), "others are added beside");
    partial_merge(&expected, &once);
    partial_clear(&found);
    tap_ok(cuda_array_snapshot(array, terms.wants, &found, &error) &&
               is_same(&found, &expected, ELEMENT_F32, terms.wants),
           "all count");
    tap_ok(cuda_array_clear(array, &error), "it can be cleared");
    must(cudaGraphLaunch(executable, stream));
    partial_clear(&found);
    tap_ok(cuda_array_snapshot(array, terms.wants, &found, &error) &&
               is_same(&found, &once, ELEMENT_F32, terms.wants),
           "and the graph goes on");
    must(cudaGraphExecDestroy(executable));
    must(cudaGraphDestroy(graph));
    cuda_array_close(array);
}

/* Elements on the legacy stream, and on one that is destroyed before anyone asks for the result. */
static void check_streams(void)
{
    const struct terms terms = {.type = ELEMENT_U8, .wants = PARTIAL_SUM};
    struct cuda_array *array = NULL;
    struct error error = {.kind = ERROR_NONE};
    struct partial found;
    cudaStream_t stream;

    must(cudaSetDevice(0));
    must(cudaStreamCreate(&stream));
    must(cudaMemset(memory[0][0], 3, ROOM));
    partial_clear(&found);
    tap_ok(add(&array, &terms, memory[0][0], 1000, 0, stream, &error) &&
               cudaStreamDestroy(stream) == cudaSuccess &&
               add(&array, &terms, memory[0][0], 1000, 0, NULL, &error) &&
               add(&array, &terms, memory[0][0], 1000, 0, cudaStreamPerThread, &error) &&
               cuda_array_snapshot(array, terms.wants, &found, &error) && found.count == 3000 &&
               exact_round(&found.sum) == 9000.0,
           "the default streams, and one that is gone");
    cuda_array_close(array);
}
#endif

int main(void)
{
    int count = 0;

    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
        return tap_skip_all("no GPU");
    devices = count < DEVICES_MAX ? (unsigned)count : DEVICES_MAX;
    rng_seed(&rng, from_environment("CHECK_SEED", 1));
    data = allocate(ROOM);
    for (unsigned i = 0; i < devices; i++) {
        must(cudaSetDevice((int)i));
        for (unsigned j = 0; j < STREAMS; j++)
            must(cudaStreamCreateWithFlags(&streams[i][j], cudaStreamNonBlocking));
        must(cudaStreamCreateWithFlags(&uploads[i], cudaStreamNonBlocking));
        for (unsigned j = 0; j < PIECES_MAX; j++)
            must(cudaMalloc((void **)&memory[i][j], ROOM));
    }
    check_types((unsigned long)from_environment("DEVICE_ARRAYS_RUNS", RUNS));
    check_refused();
#ifdef TEST_CUDA
    check_graphs();
    check_streams();
#endif
    for (unsigned i = 0; i < devices; i++) {
        must(cudaSetDevice((int)i));
        for (unsigned j = 0; j < STREAMS; j++)
            must(cudaStreamDestroy(streams[i][j]));
        must(cudaStreamDestroy(uploads[i]));
        for (unsigned j = 0; j < PIECES_MAX; j++)
            must(cudaFree(memory[i][j]));
    }
    free(data);
    return tap_done();
}
