/*
 * gpureduce-hdf5: tells gpureduce what arrays an HDF5 file holds and where, as libhdf5 has it. The
 * file is standard input, and the answer (source/format/hdf5_records.h) goes to standard output.
 *
 * It is a program of its own since libhdf5 was written for files that are well-formed: damaged ones
 * have crashed one version of it after the other, or sent it in circles. Then this program is lost,
 * and no more.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hdf5/describe.h"
#include "source/format/hdf5_records.h"
#include "sys/output.h"

/* Limits of this process: processor time after which libhdf5 is taken to go in circles, and no core
   files. */
static void set_limits(void)
{
    const struct rlimit no_core = {0, 0}, time = {HDF5_TIME_MAX, HDF5_TIME_MAX};

    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)setrlimit(RLIMIT_CPU, &time);
}

int main(int argc, char **argv)
{
    struct hdf5_input in = {.fd = STDIN_FILENO};
    struct buffer out = {0};

    if (argc < 5 || strcmp(argv[1], PACKAGE_VERSION) != 0) {
        fputs("gpureduce-hdf5 " PACKAGE_VERSION ": only gpureduce " PACKAGE_VERSION " runs it\n",
              stderr);
        return EXIT_FAILURE;
    }
    in.begin = strtoull(argv[2], NULL, 10);
    in.size = strtoull(argv[3], NULL, 10);
    in.headers_only = strstr(argv[4], HDF5_ASK_HEADERS);
    in.stored = strstr(argv[4], HDF5_ASK_STORED);
    in.pattern_count = (unsigned)argc - 5;
    in.patterns = calloc(in.pattern_count + 1, sizeof *in.patterns);
    if (!in.patterns)
        return EXIT_FAILURE;
    for (unsigned i = 0; i < in.pattern_count; i++)
        in.patterns[i] = (struct container_pattern){.pattern = argv[5 + i] + 1,
                                                    .exclude = argv[5 + i][0] == HDF5_EXCLUDE};
    set_limits();
    hdf5_describe(&in, &out);
    /* Not by `return`: the library would take a seventh of the time to free its memory. */
    _exit(!out.failed && output_write(STDOUT_FILENO, out.data, out.size) ? EXIT_SUCCESS
                                                                         : EXIT_FAILURE);
}
