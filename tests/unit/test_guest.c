/* Tags: smoke threads ports */
/*
 * libgpureduce as a guest in a program, which links the library that is installed: it leaves the process
 * as it was, prints nothing, and does not mind other threads, signals or fork.
 */
#include <dirent.h>
#include <errno.h>
#include <fenv.h>
#include <gpureduce.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined __x86_64__ || (defined __i386__ && defined __SSE2__)
#    include <immintrin.h>
#endif

#include "lib/allocate.h"
#include "lib/sanitized.h"
#include "lib/tap.h"

/*
 * Reductions.
 */

enum { COUNT = 1 << 20, CONTEXTS = SANITIZED ? 100 : 1000 };

static float numbers[COUNT];

/* Numbers whose sum and median are known: k and -k cancel, but for 0.75 twice; the middle is 0. */
static void fill_numbers(void)
{
    for (int i = 0; i < COUNT; i++)
        numbers[i] = (float)((i & 1 ? -1.0 : 1.0) * (1 + (i >> 1)) * (i & 64 ? 1e-20 : 1e20));
    for (int i = COUNT - 4; i < COUNT; i++)
        numbers[i] = 0;
    numbers[COUNT / 2] = numbers[COUNT / 2 + 1] = 0.75F;
}

/* The objects of a program, all of one context. */
struct objects {
    gpr_context *context;
    gpr_view *view;
    gpr_input *input;
    gpr_request *request;
};

static void release(struct objects *o)
{
    gpr_request_free(o->request);
    gpr_close(o->input);
    gpr_view_free(o->view);
    gpr_context_free(o->context);
}

/* Makes a context of three threads, and a view of `count` elements with this stride; a request for the sum,
   and the median, which takes several passes. Ends the test if that fails. */
static struct objects make(uint64_t count, int64_t stride)
{
    struct objects o = {.context = NULL};

    if (gpr_context_new(&o.context) != GPR_OK ||
        gpr_context_set(o.context, GPR_THREADS, 3) != GPR_OK ||
        gpr_view_new(o.context, &o.view) != GPR_OK ||
        gpr_view_set_data(o.view, numbers, "f32", GPR_ORDER_NATIVE, 1, &count, &stride) != GPR_OK ||
        gpr_open_view(o.context, o.view, &o.input) != GPR_OK ||
        gpr_request_new(o.context, &o.request) != GPR_OK ||
        gpr_request_op(o.request, "sum") != GPR_OK || gpr_request_op(o.request, "median") != GPR_OK)
        bail("objects of the library");
    return o;
}

/* Whether a reduction of all numbers has the right results. */
static bool reduce(const struct objects *o)
{
    gpr_result *result = NULL;
    double sum = 0, median = 1;
    const bool good = gpr_reduce(o->input, 0, o->request, &result) == GPR_OK &&
                      gpr_result_double(result, "sum", &sum) == GPR_OK &&
                      gpr_result_double(result, "median", &median) == GPR_OK;

    gpr_result_free(result);
    return good && sum == 1.5 && median == 0;
}

/* Makes a context, has it do right and wrong, and frees it. */
static bool visit(void)
{
    struct objects o = make(COUNT, sizeof *numbers);
    gpr_input *input = NULL;
    const uint64_t shape = 1;
    bool good = reduce(&o);

    good = gpr_request_op(o.request, "som") == GPR_ERROR_ARGUMENT && good;
    good = strlen(gpr_error_text(o.context)) > 0 && good;
    good = gpr_view_set_data(o.view, numbers, "f31", GPR_ORDER_NATIVE, 1, &shape, NULL) ==
               GPR_ERROR_ARGUMENT &&
           good;
    good = gpr_open_view(o.context, o.view, &input) == GPR_OK && good;
    gpr_close(input);
    release(&o);
    return good;
}

/*
 * The state of the process.
 */

/* The entries of a directory. */
static unsigned entries(const char *path)
{
    DIR *directory = opendir(path);
    unsigned count = 0;

    if (!directory)
        return 0;
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

/* Threads of this process. One that was joined may be listed a moment longer. */
static unsigned threads(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    unsigned count = 0;

    for (int i = 0; i < 1000; i++) {
        count = entries("/proc/self/task");
        if (count <= 3) /* with . and .. */
            break;
        nanosleep(&moment, NULL);
    }
    return count > 2 ? count - 2 : 0;
}

static unsigned mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned count = 0;
    int c;

    while (maps && (c = getc(maps)) != EOF)
        count += c == '\n';
    if (maps)
        fclose(maps);
    return count;
}

/* Everything that a guest leaves alone. */
struct house {
    size_t variables;
    char **environment;
    char *texts[4096]; /* of the environment */
    struct {
        void (*handler)(int);
        int flags;
        uint64_t mask; /* bits of signals */
    } signals[65];
    uint64_t blocked; /* bits of signals */
    struct rlimit limits[RLIM_NLIMITS];
    char locale[256], folder[4096];
    mode_t mask;
    stack_t stack;
    struct itimerval timer;
};

/* A set of signals; the C library's has bits that nobody sets. */
static uint64_t bits(const sigset_t *set)
{
    uint64_t found = 0;

    for (int i = 1; i < 65; i++)
        found |= (uint64_t)(sigismember(set, i) == 1) << (i - 1);
    return found;
}

static void look_at_house(struct house *h)
{
    extern char **environ;
    struct sigaction action;
    sigset_t blocked;

    memset(h, 0, sizeof *h);
    h->environment = environ;
    while (h->variables < 4096 && environ[h->variables]) {
        h->texts[h->variables] = environ[h->variables];
        h->variables++;
    }
    for (int i = 1; i < 65; i++)
        if (sigaction(i, NULL, &action) == 0) {
            h->signals[i].handler = action.sa_handler;
            h->signals[i].flags = action.sa_flags;
            h->signals[i].mask = bits(&action.sa_mask);
        }
    (void)sigemptyset(&blocked);
    (void)pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    h->blocked = bits(&blocked);
    for (int i = 0; i < RLIM_NLIMITS; i++)
        (void)getrlimit((__rlimit_resource_t)i, &h->limits[i]);
    snprintf(h->locale, sizeof h->locale, "%s", setlocale(LC_ALL, NULL));
    if (!getcwd(h->folder, sizeof h->folder))
        bail("getcwd");
    h->mask = umask(0);
    (void)umask(h->mask);
    (void)sigaltstack(NULL, &h->stack);
    (void)getitimer(ITIMER_REAL, &h->timer);
}

/* Standard output and standard error, which go to a file while the library is at work. */
static int output, error_output, caught;

static void catch_output(void)
{
    FILE *file = tmpfile();

    if (!file)
        bail("a temporary file");
    caught = fileno(file);
    output = dup(STDOUT_FILENO);
    error_output = dup(STDERR_FILENO);
}
static void begin_silence(void)
{
    fflush(NULL);
    dup2(caught, STDOUT_FILENO);
    if (!SANITIZED) /* which say there what they find */
        dup2(caught, STDERR_FILENO);
}
static void end_silence(void)
{
    fflush(NULL);
    dup2(output, STDOUT_FILENO);
    dup2(error_output, STDERR_FILENO);
}

static void test_house(void)
{
    static struct house before, after;
    unsigned maps, files, more_maps, more_files;
    unsigned good = 0;

    look_at_house(&before);
    begin_silence();
    for (int i = 0; i < 50; i++)
        visit();
    maps = mappings();
    files = entries("/proc/self/fd");
    for (int i = 0; i < CONTEXTS; i++)
        good += visit();
    more_maps = mappings();
    more_files = entries("/proc/self/fd");
    end_silence();
    look_at_house(&after);
    tap_ok(good == CONTEXTS, "%d contexts, one after the other", CONTEXTS);
    tap_ok(threads() <= 1 + (SANITIZED != 0), "no thread is left");
    tap_ok(more_files == files, "no descriptor is left open");
    tap_ok(more_maps < maps + CONTEXTS / 10, "no mapping is left: %u, then %u", maps, more_maps);
    tap_ok(memcmp(&before, &after, sizeof before) == 0,
           "environment, signals, limits, locale, folder, mask and timer are as before");
}

/*
 * Threads.
 */

/* A visitor of its own, again and again. */
static void *visit_often(void *failures)
{
    struct objects o = make(COUNT, sizeof *numbers);

    for (int i = 0; i < (SANITIZED ? 5 : 50); i++)
        *(unsigned *)failures += !reduce(&o);
    release(&o);
    return NULL;
}

static void test_threads(void)
{
    pthread_t thread[2];
    unsigned failures[2] = {0, 0};

    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread[i], NULL, visit_often, &failures[i]) != 0)
            bail("a thread");
    for (int i = 0; i < 2; i++)
        (void)pthread_join(thread[i], NULL);
    tap_ok(failures[0] + failures[1] == 0, "two contexts in two threads at once");
}

/* More elements than can be reduced: one that is repeated. */
#define FOREVER ((uint64_t)1 << 60)

static atomic_bool ended;

/* Cancels until the call has ended. */
static void *cancel_soon(void *context)
{
    const struct timespec moment = {.tv_nsec = 5000000};

    while (!atomic_load(&ended)) {
        nanosleep(&moment, NULL);
        gpr_cancel(context);
    }
    return NULL;
}

static int cancel_at_once(void *user, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    *(pthread_t *)user = pthread_self();
    return 1;
}

static void test_cancel(void)
{
    struct objects o = make(FOREVER / 4, 0);
    const uint64_t count = COUNT;
    gpr_result *result = NULL;
    pthread_t thread, caller = pthread_self(), told;
    gpr_status status;

    gpr_cancel(o.context); /* no call: nothing */
    if (pthread_create(&thread, NULL, cancel_soon, o.context) != 0)
        bail("a thread");
    status = gpr_reduce(o.input, 0, o.request, &result);
    atomic_store(&ended, true);
    (void)pthread_join(thread, NULL);
    tap_ok(status == GPR_ERROR_CANCELLED && !result &&
               gpr_error_status(o.context) == GPR_ERROR_CANCELLED,
           "cancelled from another thread: %s", gpr_error_text(o.context));
    gpr_context_set_progress(o.context, cancel_at_once, &told);
    status = gpr_reduce(o.input, 0, o.request, &result);
    tap_ok(status == GPR_ERROR_CANCELLED && pthread_equal(told, caller),
           "cancelled by the progress function, which the calling thread calls");
    gpr_context_set_progress(o.context, NULL, NULL);
    gpr_close(o.input);
    o.input = NULL;
    if (gpr_view_set_data(o.view, numbers, "f32", GPR_ORDER_NATIVE, 1, &count, NULL) != GPR_OK ||
        gpr_open_view(o.context, o.view, &o.input) != GPR_OK)
        bail("a view");
    tap_ok(reduce(&o), "the context works on after that");
    release(&o);
}

/*
 * Files.
 */

enum file_kind { FILE_RAW, FILE_ONE_FRAME, FILE_MANY_FRAMES };

/* Bytes of a block of zstd, of a frame of several, and of what a frame begins with. */
enum { BLOCK = 128 << 10, FRAME_BLOCKS = 16, FRAME_HEADER = 6 };

/* Writes a large file of zeros, which takes little of the disk: zstd has them in stored blocks.
   Returns the number of elements. */
static uint64_t write_zeros(int file, enum file_kind kind)
{
    static const unsigned char header[FRAME_HEADER] = {0x28, 0xb5, 0x2f, 0xfd, 0, 0x50};
    const unsigned blocks = (unsigned)((SANITIZED ? 32U << 20 : 1U << 30) / BLOCK);
    const unsigned in_frame = kind == FILE_MANY_FRAMES ? FRAME_BLOCKS : blocks;
    off_t at = 0;
    bool good = true;

    for (unsigned i = 0; kind != FILE_RAW && i < blocks; i++) {
        const uint32_t size = BLOCK << 3 | (uint32_t)(i % in_frame == in_frame - 1);
        const unsigned char block[3] = {size & 0xff, size >> 8 & 0xff, size >> 16 & 0xff};

        if (i % in_frame == 0) {
            good = pwrite(file, header, sizeof header, at) == sizeof header && good;
            at += sizeof header;
        }
        good = pwrite(file, block, sizeof block, at) == sizeof block && good;
        at += (off_t)sizeof block + BLOCK;
    }
    if (kind == FILE_RAW)
        at = (off_t)blocks * BLOCK;
    if (!good || ftruncate(file, at) != 0)
        bail("a large file");
    return (uint64_t)blocks * BLOCK / sizeof *numbers;
}

/* A file that is to be cut off, and how often it was. */
struct cut {
    int file;
    unsigned cuts;
};

static int cut_off(void *user, uint64_t done, uint64_t total)
{
    struct cut *cut = user;

    (void)done;
    (void)total;
    cut->cuts += ftruncate(cut->file, 4096) == 0;
    return 0;
}

/* A large file, and one that is cut off while it is read, which must not end the process. */
static void test_file(enum file_kind kind, const char *name, bool mapped)
{
    char path[] = "/tmp/gpureduce-guest-XXXXXX";
    struct cut cut = {.file = mkstemp(path)};
    struct objects o = make(COUNT, sizeof *numbers);
    gpr_input *input = NULL;
    gpr_result *result = NULL;
    uint64_t elements, count = 0;
    gpr_status status;

    if (cut.file < 0 || gpr_request_op(o.request, "zeros") != GPR_OK ||
        gpr_context_set(o.context, GPR_MAPPED, mapped) != GPR_OK)
        bail(path);
    elements = write_zeros(cut.file, kind);
    tap_ok(gpr_open_path(o.context, path, NULL, &input) == GPR_OK &&
               gpr_reduce(input, 0, o.request, &result) == GPR_OK &&
               gpr_result_count(result, "zeros", &count) == GPR_OK && count == elements,
           "%s: %s", name, gpr_error_text(o.context));
    gpr_result_free(result);
    result = NULL;
    gpr_context_set_progress(o.context, cut_off, &cut);
    status = gpr_reduce(input, 0, o.request, &result);
    if (cut.cuts > 0)
        tap_ok(status == GPR_ERROR_CHANGED && !result && strstr(gpr_error_text(o.context), path) &&
                   strstr(gpr_error_text(o.context), "ends at byte 4096: "),
               "%s that is cut off meanwhile: %d, %s", name, (int)status,
               gpr_error_text(o.context));
    else
        tap_skip("a file that is cut off meanwhile", "it is read too fast");
    gpr_result_free(result);
    gpr_close(input);
    (void)unlink(path);
    (void)close(cut.file);
    release(&o);
}

static void test_all_files(bool mapped)
{
    test_file(FILE_RAW, mapped ? "a mapped file" : "a raw file", mapped);
    test_file(FILE_ONE_FRAME, "a zstd file of one frame", mapped);
    test_file(FILE_MANY_FRAMES, "a zstd file of many frames", mapped);
}

static void test_files(void)
{
    struct sigaction before, after;

    (void)sigaction(SIGBUS, NULL, &before);
    test_all_files(false);
    (void)sigaction(SIGBUS, NULL, &after);
    tap_ok(before.sa_handler == after.sa_handler && before.sa_flags == after.sa_flags,
           "the handler of SIGBUS is as before");
}

static volatile sig_atomic_t bus_errors;

static void count_bus_error(int number)
{
    (void)number;
    bus_errors++;
}

/* The handler of SIGBUS that a process asks for leaves the one that was there what is its own. */
static void test_mapped_files(void)
{
    struct sigaction action = {.sa_handler = count_bus_error}, after;

    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL);
    test_all_files(true);
    (void)sigaction(SIGBUS, NULL, &after);
    tap_ok(after.sa_handler != count_bus_error && bus_errors == 0, "a handler that was asked for");
    (void)raise(SIGBUS);
    tap_ok(bus_errors == 1, "which calls the one before");
}

/*
 * Signals and fork.
 */

static pthread_t main_thread;
static volatile sig_atomic_t signals, elsewhere;

static void count_signal(int number)
{
    (void)number;
    signals++;
    elsewhere += !pthread_equal(pthread_self(), main_thread);
}

static void test_signals(void)
{
    struct sigaction action = {.sa_handler = count_signal}, before;
    const struct itimerval often = {{.tv_usec = 1000}, {.tv_usec = 1000}}, never = {{0}, {0}};
    struct objects o = make(COUNT, sizeof *numbers);
    unsigned good = 0, runs = 0;

    main_thread = pthread_self();
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGALRM, &action, &before);
    (void)setitimer(ITIMER_REAL, &often, NULL);
    for (; runs < 1000 && (runs < 10 || signals < 20); runs++)
        good += reduce(&o);
    (void)setitimer(ITIMER_REAL, &never, NULL);
    (void)sigaction(SIGALRM, &before, NULL);
    tap_ok(good == runs && signals > 0 && elsewhere == 0,
           "%d signals during %u calls, all to the program's thread", (int)signals, runs);
    release(&o);
}

static void test_fork(void)
{
    struct objects o = make(COUNT, sizeof *numbers);
    bool good = reduce(&o);
    int status = 1;
    const pid_t child = fork();

    if (child == 0) {
        /* The threads of the old context are not here; a new one has its own. */
        struct objects mine = make(COUNT, sizeof *numbers);
        const bool child_good = reduce(&mine);

        release(&mine);
        _exit(child_good ? 0 : 3);
    }
    if (child < 0)
        bail("fork");
    good = reduce(&o) && good;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    good = reduce(&o) && good;
    tap_ok(good, "after fork, the context of the parent works");
    if (SANITIZED_THREADS)
        tap_skip("a new context of the child works", "TSan ends children that start threads");
    else
        tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
               "a new context of the child works: %d", status);
    release(&o);
}

/* Texts, also those that are read, have a point whatever the host's language is. */
static void test_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
    struct objects o = make(COUNT, sizeof *numbers);
    gpr_result *result = NULL;
    const char *seconds = NULL;
    char text[64];
    size_t i = 0;

    while (i < sizeof names / sizeof *names && !setlocale(LC_ALL, names[i]))
        i++;
    if (gpr_reduce(o.input, 0, o.request, &result) == GPR_OK) {
        gpr_result_text(result, "sum", text, sizeof text);
        seconds = strstr(gpr_result_profile(result), "\"seconds\": 0");
    }
    if (i == sizeof names / sizeof *names)
        tap_skip("numbers in another locale", "no such locale is installed");
    else
        tap_ok(strcmp(text, "1.5") == 0 && seconds && strchr(seconds, '0')[1] == '.',
               "numbers in the locale %s: %s", names[i], text);
    gpr_result_free(result);
    result = NULL;
    if (gpr_request_missing(o.request, "0.75") == GPR_OK &&
        gpr_reduce(o.input, 0, o.request, &result) == GPR_OK)
        gpr_result_text(result, "sum", text, sizeof text);
    tap_ok(strcmp(text, "0") == 0, "a missing value in that locale: %s", text);
    gpr_result_free(result);
    release(&o);
    (void)setlocale(LC_ALL, "C");
}

/*
 * The floating-point mode of the caller.
 */

enum { MODE_ROWS = 400, MODE_COLUMNS = 1000, MODE_OPS = 7 };

/* Numbers that any other rounding changes; in rows from MODE_ROWS / 2 on subnormal ones. */
static double mode_numbers[MODE_ROWS][MODE_COLUMNS];

static const char *const mode_ops[MODE_OPS] = {"sum", "std",    "l2",       "median",
                                               "p33", "absmin", "negatives"};

/* All results, as bits: of all elements, of each column, of an accumulator, and as text. */
struct mode_results {
    uint64_t all[MODE_OPS], sum;
    double columns[2][MODE_COLUMNS];
    char text[64];
};

static bool find_mode_results(struct mode_results *r)
{
    const uint64_t shape[] = {MODE_ROWS, MODE_COLUMNS};
    struct objects o = make(COUNT, sizeof *numbers);
    gpr_input *input = NULL;
    gpr_request *all = NULL, *few = NULL;
    gpr_result *result = NULL;
    gpr_accumulator *accumulator = NULL;
    void *columns[] = {r->columns[0], r->columns[1]};
    double value;
    bool good = gpr_view_set_data(o.view, mode_numbers, "f64", GPR_ORDER_NATIVE, 2, shape, NULL) ==
                    GPR_OK &&
                gpr_open_view(o.context, o.view, &input) == GPR_OK &&
                gpr_request_new(o.context, &all) == GPR_OK &&
                gpr_request_new(o.context, &few) == GPR_OK &&
                gpr_request_op(few, "sum") == GPR_OK && gpr_request_op(few, "std") == GPR_OK;

    for (int i = 0; i < MODE_OPS; i++)
        good = good && gpr_request_op(all, mode_ops[i]) == GPR_OK;
    good = good && gpr_reduce(input, 0, all, &result) == GPR_OK &&
           gpr_result_text(result, "std", r->text, sizeof r->text) > 0;
    for (int i = 0; i < MODE_OPS; i++) {
        good = good && gpr_result_double(result, mode_ops[i], &value) == GPR_OK;
        memcpy(&r->all[i], &value, sizeof value);
    }
    gpr_result_free(result);
    result = NULL;
    good = good && gpr_reduce_axis(input, 0, few, 0, columns, MODE_COLUMNS) == GPR_OK &&
           gpr_accumulator_new(o.context, "f64", few, &accumulator) == GPR_OK &&
           gpr_accumulator_add(accumulator, o.view) == GPR_OK &&
           gpr_accumulator_snapshot(accumulator, &result) == GPR_OK &&
           gpr_result_double(result, "sum", &value) == GPR_OK;
    memcpy(&r->sum, &value, sizeof value);
    gpr_result_free(result);
    gpr_accumulator_free(accumulator);
    gpr_request_free(all);
    gpr_request_free(few);
    gpr_close(input);
    release(&o);
    return good;
}

/* Sets a mode: a rounding of <fenv.h>, or -1: subnormal numbers are zero, as code that gcc compiled with
   -ffast-math sets it. False where that cannot be. */
static bool set_mode(int mode)
{
    if (mode >= 0)
        return fesetround(mode) == 0;
#if defined __x86_64__ || (defined __i386__ && defined __SSE2__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
    return true;
#elif defined __aarch64__
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)1 << 24));
    return true;
#else
    return false;
#endif
}

/* Whether the mode is still as set_mode has set it. */
static bool has_mode(int mode)
{
    volatile double least = 0x1p-1074, none = least * 1;

    return mode >= 0 ? fegetround() == mode : none == 0;
}

static void test_float_modes(void)
{
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, -1};
    static struct mode_results expected, found;
    fenv_t before;
    uint64_t state = 1;

    for (size_t i = 0; i < MODE_ROWS; i++)
        for (size_t j = 0; j < MODE_COLUMNS; j++) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            mode_numbers[i][j] = i < MODE_ROWS / 2 ? (double)(state >> 11) * 0x1p-53
                                                   : (double)(state >> 40) * 0x1p-1074;
        }
    memset(&expected, 0, sizeof expected);
    if (!find_mode_results(&expected))
        bail("results in the mode that programs begin with");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        bool good, same;

        (void)fegetenv(&before);
        if (!set_mode(modes[i])) {
            tap_skip("a floating-point mode", "the processor does not have it");
            continue;
        }
        memset(&found, 0, sizeof found);
        good = find_mode_results(&found);
        same = has_mode(modes[i]);
        (void)fesetenv(&before);
        tap_ok(good && memcmp(&found, &expected, sizeof found) == 0,
               "results in another floating-point mode of the caller, %zu", i);
        tap_ok(same, "which is not changed");
    }
}

int main(void)
{
    struct stat printed;

    fill_numbers();
    catch_output();
    test_house();
    test_threads();
    test_cancel();
    test_files();
    test_signals();
    test_fork();
    test_locale();
    test_float_modes();
    test_mapped_files();
    tap_ok(fstat(caught, &printed) == 0 && printed.st_size == 0, "nothing was printed");
    tap_ok(threads() <= 1 + (SANITIZED != 0), "no thread is left at the end");
    return tap_done();
}
