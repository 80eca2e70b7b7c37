#include "config.h"

#include "bench/common/device.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/message.h"

bool device_check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        message_error(EXIT_FAILED, "%s: %s", what, cudaGetErrorString(error));
    return error == cudaSuccess;
}

bool device_use(uint64_t number, char why[DEVICE_WHY_MAX])
{
    const char *doing = "looking for a GPU";
    int visible = 0;
    cudaError_t error = cudaGetDeviceCount(&visible);

    if (error == cudaSuccess && number >= (uint64_t)visible) {
        snprintf(why, DEVICE_WHY_MAX, "GPU %" PRIu64 " does not exist", number);
        return false;
    }
    if (error == cudaSuccess) {
        doing = "using the GPU";
        error = cudaSetDevice((int)number);
    }
    /* The context is made by the first call that needs it: this one. */
    if (error == cudaSuccess)
        error = cudaFree(NULL);
    if (error == cudaErrorInsufficientDriver)
        snprintf(why, DEVICE_WHY_MAX, "no NVIDIA driver, or one that is older than CUDA %d.%d",
                 CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    else if (error != cudaSuccess)
        snprintf(why, DEVICE_WHY_MAX, "%s: %s", doing, cudaGetErrorString(error));
    return error == cudaSuccess;
}

/* The additions of binary32 that a multiprocessor starts in each clock cycle (CUDA C++ Programming
   Guide, table of the throughput of arithmetic instructions). */
static int additions_per_clock(int major, int minor)
{
    return major < 8 || (major == 8 && minor == 0) ? 64 : 128;
}

static bool attribute(int *value, enum cudaDeviceAttr which, int device)
{
    return device_check(cudaDeviceGetAttribute(value, which, device), "asking the GPU");
}

bool device_describe(struct device *d, int number)
{
    struct cudaDeviceProp properties;
    int memory_clock, width, clock, ratio, cache, major, minor;

    if (!device_check(cudaGetDeviceProperties(&properties, number), "asking the GPU") ||
        !attribute(&memory_clock, cudaDevAttrMemoryClockRate, number) ||
        !attribute(&width, cudaDevAttrGlobalMemoryBusWidth, number) ||
        !attribute(&clock, cudaDevAttrClockRate, number) ||
        !attribute(&ratio, cudaDevAttrSingleToDoublePrecisionPerfRatio, number) ||
        !attribute(&cache, cudaDevAttrL2CacheSize, number) ||
        !attribute(&major, cudaDevAttrComputeCapabilityMajor, number) ||
        !attribute(&minor, cudaDevAttrComputeCapabilityMinor, number) ||
        !attribute(&d->multiprocessors, cudaDevAttrMultiProcessorCount, number))
        return false;
    snprintf(d->name, sizeof d->name, "%s", properties.name);
    /* Clocks are in kHz, the width is in bits. All memory of today's GPUs transfers data twice in
       each clock cycle. */
    d->peak = 2.0 * memory_clock * 1e3 * width / 8;
    d->additions32 = 1e3 * clock * d->multiprocessors * additions_per_clock(major, minor);
    d->additions64 = ratio > 0 ? d->additions32 / ratio : d->additions32;
    d->cache = (size_t)cache;
    return true;
}

void *device_allocate(size_t size, const char *what, cudaStream_t stream)
{
    void *memory;
    cudaError_t error = cudaMalloc(&memory, size);

    if (error == cudaErrorMemoryAllocation) {
        size_t available = 0, total = 0;

        (void)cudaGetLastError();
        (void)cudaMemGetInfo(&available, &total);
        message_error(EXIT_FAILED,
                      "out of device memory: %s takes %.3g GB, of %.3g GB that are free", what,
                      (double)size / 1e9, (double)available / 1e9);
        return NULL;
    }
    if (!device_check(error, "device memory"))
        return NULL;
    if (device_check(cudaMemsetAsync(memory, 0, size, stream), "device memory"))
        return memory;
    device_release(memory);
    return NULL;
}

void device_release(void *memory)
{
    if (memory)
        (void)cudaFree(memory);
}
