/*
 * The version of the library, and how it was built.
 */
#include "config.h"

#include <gpureduce.h>
#include <stdio.h>
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

#ifdef HAVE_LIBAEC
#    define SZIP_TEXT "libaec"
#else
#    define SZIP_TEXT "none"
#endif

#ifdef HAVE_CUDA
#    define CUDA_TEXT BUILD_CUDA ", for " BUILD_GPU_ARCHITECTURES
#else
#    define CUDA_TEXT "none"
#endif

const char *gpr_version(void)
{
    return PACKAGE_VERSION;
}

size_t gpr_build(char *text, size_t size)
{
    char sets[128] = "";
    size_t used = 0;

    for (size_t i = 0; i < cpu_kernels_count && used < sizeof sets; i++)
        used += (size_t)snprintf(sets + used, sizeof sets - used, " %s", cpu_kernels_all[i]->name);
    return (size_t)snprintf(text, size,
                            "CUDA: " CUDA_TEXT "\nCPU instruction sets:%s\n"
                            "libzstd: %s, built with " ZSTD_VERSION_STRING "\n"
                            "deflate: " DEFLATE_TEXT "\nszip: " SZIP_TEXT "\nHDF5: " HDF5_TEXT "\n"
                            "hardening: " BUILD_HARDENING "\n",
                            sets, ZSTD_versionString());
}
