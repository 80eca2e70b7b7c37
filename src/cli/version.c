#include "config.h"

#include "cli/arguments.h"

#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "cpu/kernel.h"

#ifdef HAVE_HDF5
#    include <hdf5.h>

#    define TEXT_OF(number) #    number
#    define TEXT(number) TEXT_OF(number)
#    define HDF5_TEXT                                                          \
        "by gpureduce-hdf5, built with libhdf5 " TEXT(H5_VERS_MAJOR) "." TEXT( \
            H5_VERS_MINOR) "." TEXT(H5_VERS_RELEASE)
#else
#    define HDF5_TEXT "none"
#endif

#if defined HAVE_LIBDEFLATE
#    define DEFLATE_TEXT "zlib and libdeflate"
#elif defined HAVE_ZLIB
#    define DEFLATE_TEXT "zlib"
#else
#    define DEFLATE_TEXT "none"
#endif

void version_print(const char *program)
{
    printf("%.*s %s\n", (int)strcspn(program, " "), program, PACKAGE_VERSION);
#ifdef HAVE_CUDA
    puts("CUDA: " BUILD_CUDA ", for " BUILD_GPU_ARCHITECTURES);
#else
    puts("CUDA: none");
#endif
    fputs("CPU instruction sets:", stdout);
    for (size_t i = 0; i < cpu_kernels_count; i++)
        printf(" %s", cpu_kernels_all[i]->name);
    printf("\nlibzstd: %s, built with %s\n", ZSTD_versionString(), ZSTD_VERSION_STRING);
    puts("deflate: " DEFLATE_TEXT);
    puts("HDF5: " HDF5_TEXT);
    puts("hardening: " BUILD_HARDENING);
}
