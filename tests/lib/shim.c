/*
 * To be preloaded by tests/cli/faults.sh and tests/cli/pages.sh: makes the C library fail as
 * machines do, or lets something happen to a file or to the process at a moment that is known. From
 * the environment:
 *
 *   FAULT_ALLOCATION=N   allocation number N, from main on, returns NULL; with a + behind it, all
 *                        from there on
 *   FAULT_PAGE=BYTES     sysconf gives this as the size of a page, and files are mapped accordingly
 *   FAULT_MARK=FILE      FILE is made when an allocation fails, or the size of a page is asked for
 *   FAULT_SHORT=SEED     reads return less than they were asked for, or EINTR, at random
 *   FAULT_READ=N         read number N of a regular file, from main on, fails with EIO; with a +
 *                        behind it, all from there on
 *   FAULT_END=N          these reads find the end of the file
 *   FAULT_BYTE=N         byte N of regular files cannot be read
 *   FAULT_CALL=N         at the N-th read, or giving back of mapped pages,
 *   FAULT_DO=COMMAND     the shell executes this; the process is its $PPID
 *   FAULT_FLUSH=1        subnormal numbers are zero from the beginning, as a library that gcc compiled
 *                        with -ffast-math has it
 *   FAULT_SETENV=1       setenv ends the process where it has several threads: another one's getenv
 *                        could be looking at what it moves
 *
 * Processes that it starts are left alone.
 */
#define _GNU_SOURCE /* RTLD_NEXT, environ */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined __x86_64__
#    include <immintrin.h>
#endif

/* With glibc a call has two names, one of them for 64-bit offsets. With other C libraries, musl for
   one, offsets always have 64 bits, and the second name is a macro or is not there. */
#ifndef __GLIBC__
#    undef mmap64
#    undef pread64
#    undef off64_t
#    define mmap64 mmap
#    define pread64 pread
#    define off64_t off_t
#endif

/* O_DIRECT reads whole blocks. */
#define BLOCK 4096

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);
static void *(*next_mmap64)(void *, size_t, int, int, int, off64_t);
static int (*next_madvise)(void *, size_t, int);
static ssize_t (*next_read)(int, void *, size_t);
static ssize_t (*next_pread64)(int, void *, size_t, off64_t);
static long (*next_sysconf)(int);
static int (*next_setenv)(const char *, const char *, int);

/* Until these are known, and to learn them, memory comes from here. */
static _Alignas(64) unsigned char early[1 << 16];
static _Atomic size_t early_used;

static _Atomic unsigned long allocations, calls, short_reads, file_reads;

/* From the environment; counts are 0 for none. */
static unsigned long fault_allocation, fault_call, fault_page, fault_read, fault_byte;
static int all_from_there, all_reads, reads_end, reads_short, watch_setenv;
static char *mark, *command;

/* Takes a variable out of the environment; its text stays where it is. NULL where it is not set. */
static char *take(const char *name)
{
    char *value = getenv(name);

    unsetenv(name);
    return value;
}

/* dlsym's result as a pointer to a function. The name may be a macro for another one. */
#define FIND(name) FIND_NAMED(next_##name, name)
#define FIND_NAMED(next, name)                   \
    do {                                         \
        void *symbol = dlsym(RTLD_NEXT, #name);  \
        memcpy(&(next), &symbol, sizeof symbol); \
    } while (0)

__attribute__((constructor)) static void find(void)
{
    const char *text;

    FIND(calloc);
    FIND(realloc);
    FIND(aligned_alloc);
    FIND(mmap64);
    FIND(madvise);
    FIND(read);
    FIND(pread64);
    FIND(sysconf);
    FIND(setenv);
    FIND(malloc);

    mark = take("FAULT_MARK");
    command = take("FAULT_DO");
    text = take("FAULT_CALL");
    fault_call = text ? strtoul(text, NULL, 10) : 0;
    text = take("FAULT_SHORT");
    reads_short = text != NULL;
    short_reads = text ? strtoul(text, NULL, 10) * 1000003 : 0;
    text = take("FAULT_ALLOCATION");
    all_from_there = text && strchr(text, '+');
    fault_allocation = text ? strtoul(text, NULL, 10) : 0;
    text = take("FAULT_END");
    reads_end = text != NULL;
    text = text ? text : take("FAULT_READ");
    all_reads = text && strchr(text, '+');
    fault_read = text ? strtoul(text, NULL, 10) : 0;
    text = take("FAULT_BYTE");
    fault_byte = text ? strtoul(text, NULL, 10) : 0;
    text = take("FAULT_PAGE");
    fault_page = text ? strtoul(text, NULL, 10) : 0;
    watch_setenv = take("FAULT_SETENV") != NULL;
#if defined __x86_64__
    if (take("FAULT_FLUSH"))
        _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
    unsetenv("LD_PRELOAD");
}

/* Functions that are called before main are left alone: the constructors of CUDA's library, for
   one, do not expect to be refused memory. */
typedef int main_function(int, char **, char **);
static main_function *program_main;
static atomic_bool in_main;

static int begin_main(int argc, char **argv, char **environment)
{
    in_main = true;
    return program_main(argc, argv, environment);
}

int __libc_start_main(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void),
                      void *);

int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack)
{
    int (*start)(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void),
                 void *);
    void *symbol = dlsym(RTLD_NEXT, "__libc_start_main");

    memcpy(&start, &symbol, sizeof symbol);
    program_main = main;
    return start(begin_main, argc, argv, init, fini, loader_fini, stack);
}

static void *early_alloc(size_t size)
{
    size_t at = atomic_fetch_add(&early_used, (size + 63) / 64 * 64);

    return at + size <= sizeof early ? early + at : NULL;
}

static int is_early(const void *p)
{
    return (uintptr_t)p - (uintptr_t)early < sizeof early;
}

static void make_mark(void)
{
    if (mark)
        (void)close(open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
}

/* Whether this allocation is to fail. */
static int fails(void)
{
    unsigned long number;

    if (!fault_allocation || !in_main)
        return 0;
    number = atomic_fetch_add(&allocations, 1) + 1;
    if (number != fault_allocation && !(all_from_there && number > fault_allocation))
        return 0;
    make_mark();
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return !next_malloc ? early_alloc(size) : fails() ? NULL : next_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return !next_malloc ? early_alloc(count * size) : fails() ? NULL : next_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    void *moved;

    if (next_malloc && !is_early(p))
        return fails() ? NULL : next_realloc(p, size);
    moved = malloc(size);
    if (moved && p) { /* how much there was is not known; no more than up to the end */
        size_t most = (size_t)(early + sizeof early - (unsigned char *)p);
        memcpy(moved, p, size < most ? size : most);
    }
    return moved;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : next_aligned_alloc(alignment, size);
}

void free(void *p)
{
    static void (*next_free)(void *);

    if (is_early(p))
        return;
    if (!next_free) {
        void *symbol = dlsym(RTLD_NEXT, "free");
        memcpy(&next_free, &symbol, sizeof symbol);
    }
    next_free(p);
}

/* An address for a mapping, as a system with such pages would choose it. NULL where there is none.
 */
static void *paged_address(size_t size)
{
    size_t more = size + fault_page, before, behind;
    unsigned char *memory =
        next_mmap64(NULL, more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED)
        return NULL;
    /* The memory around it is given back, down to whole blocks. */
    before = (fault_page - (uintptr_t)memory % fault_page) % fault_page;
    size = (size + BLOCK - 1) / BLOCK * BLOCK;
    behind = before + size;
    if (before > 0)
        munmap(memory, before);
    if (behind < more)
        munmap(memory + behind, more - behind);
    return memory + before;
}

/* Programs for large files call this one; where off_t always has 64 bits, either. */
void *mmap64(void *address, size_t size, int protection, int flags, int fd, off64_t offset)
{
    if (!next_mmap64)
        FIND(mmap64);
    if (fails())
        return MAP_FAILED;
    if (fault_page && in_main && fd >= 0 && !address) {
        address = paged_address(size);
        flags |= address ? MAP_FIXED : 0;
    }
    return next_mmap64(address, size, protection, flags, fd, offset);
}

#ifdef __GLIBC__
void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    return mmap64(address, size, protection, flags, fd, offset);
}
#endif

long sysconf(int name)
{
    if (!next_sysconf)
        FIND(sysconf);
    if (name != _SC_PAGESIZE || !fault_page)
        return next_sysconf(name);
    make_mark();
    return (long)fault_page;
}

/* How many threads the process has. */
static unsigned thread_count(void)
{
    DIR *tasks = opendir("/proc/self/task");
    unsigned count = 0;

    for (struct dirent *task; tasks && (task = readdir(tasks));)
        count += task->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return count;
}

int setenv(const char *name, const char *value, int replace)
{
    static const char line[] = "setenv beside other threads\n";

    if (!next_setenv)
        FIND(setenv);
    if (watch_setenv && thread_count() > 1) {
        (void)!write(STDERR_FILENO, line, sizeof line - 1);
        abort();
    }
    return next_setenv(name, value, replace);
}

/*
 * Reading.
 */

/* Does what is to be done at this call. system() would not do: it ignores SIGINT meanwhile. */
static void at_call(void)
{
    char shell[] = "sh", option[] = "-c", *arguments[] = {shell, option, command, NULL};
    pid_t child;

    if (!command || atomic_fetch_add(&calls, 1) + 1 != fault_call)
        return;
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) != 0)
        abort();
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* How much to read of what was asked for; 0 for an interruption. */
static size_t shorten(size_t size)
{
    uint64_t x;

    if (!reads_short || size == 0)
        return size;
    x = (atomic_fetch_add(&short_reads, 1) + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 32;
    if (x % 4 == 0)
        return 0;
    if (size % BLOCK == 0)
        return (x / 4 % (size / BLOCK) + 1) * BLOCK;
    return x / 4 % size + 1;
}

/* How much of that lies before the byte that cannot be read. */
static size_t cut(size_t size, off64_t offset)
{
    return fault_byte > (unsigned long)offset && fault_byte - (unsigned long)offset < size
               ? fault_byte - (unsigned long)offset
               : size;
}

/* Whether this read is to fail; *n is what it returns then. */
static int read_fails(int fd, size_t size, off64_t offset, ssize_t *n)
{
    struct stat status;
    unsigned long number;

    *n = -1;
    errno = EIO;
    if (fault_byte && in_main && (unsigned long)offset == fault_byte && size > 0 &&
        fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        return 1;
    if (!fault_read || !in_main || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return 0;
    number = atomic_fetch_add(&file_reads, 1) + 1;
    if (number != fault_read && !(all_reads && number > fault_read))
        return 0;
    make_mark();
    *n = reads_end ? 0 : -1;
    errno = EIO;
    return 1;
}

ssize_t read(int fd, void *buffer, size_t size)
{
    size_t count = shorten(size);
    ssize_t n;

    if (!next_read)
        FIND(read);
    at_call();
    if (read_fails(fd, size, fault_byte ? lseek(fd, 0, SEEK_CUR) : 0, &n))
        return n;
    if (size > 0 && count == 0) {
        errno = EINTR;
        return -1;
    }
    return next_read(fd, buffer, fault_byte ? cut(count, lseek(fd, 0, SEEK_CUR)) : count);
}

ssize_t pread64(int fd, void *buffer, size_t size, off64_t offset)
{
    size_t count = shorten(size);
    ssize_t n;

    at_call();
    if (read_fails(fd, size, offset, &n))
        return n;
    if (size > 0 && count == 0) {
        errno = EINTR;
        return -1;
    }
    return next_pread64(fd, buffer, cut(count, offset), offset);
}

#ifdef __GLIBC__
ssize_t pread(int fd, void *buffer, size_t size, off_t offset)
{
    return pread64(fd, buffer, size, offset);
}
#endif

int madvise(void *address, size_t size, int advice)
{
    at_call();
    return next_madvise(address, size, advice);
}
