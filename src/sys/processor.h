/*
 * The maker of the processor, and the instructions beyond those of the build that it has and that
 * the system lets programs use. glibc 2.33 knows these from loading the program. The compiler's way
 * asks the processor anew, before main: about 0.04 ms in a virtual machine, where each question is
 * one to the host.
 */
#ifndef GPUREDUCE_PROCESSOR_H
#define GPUREDUCE_PROCESSOR_H

#if defined __x86_64__

#    include <cpuid.h>
#    include <stdbool.h>

#    if defined __has_include
#        if __has_include(<sys/platform/x86.h>)
#            include <sys/platform/x86.h>
#        endif
#    endif

/* Headers of a later glibc than the one that is linked come with compilers for several. */
#    if defined CPU_FEATURE_ACTIVE && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
/* Tests a feature as CPU_FEATURE_ACTIVE does. The macro shifts a bit into the sign, where
   sanitizers stop. */
static inline bool processor_has(unsigned index)
{
    const unsigned bits = 8 * sizeof(unsigned), leaf = 4 * bits;

    return __x86_get_cpuid_feature_leaf(index / leaf)->active_array[index % leaf / bits] >>
               (index % bits) &
           1;
}
#        define PROCESSOR_HAS(upper, lower) processor_has(x86_cpu_##upper)
#    else
#        define PROCESSOR_HAS(upper, lower) __builtin_cpu_supports(lower)
#    endif

/* Whether there is SSE4.2, and POPCNT, which came with it. */
static inline bool processor_has_sse4(void)
{
    return PROCESSOR_HAS(SSE4_2, "sse4.2");
}

/* Whether there is AVX2 with FMA, which all but a few processors with AVX2 have; so have they F16C
   and POPCNT. */
static inline bool processor_has_avx2(void)
{
    return PROCESSOR_HAS(AVX2, "avx2") && PROCESSOR_HAS(FMA, "fma");
}

/* Whether there is AVX-512 with F, BW, DQ and VL. */
static inline bool processor_has_avx512(void)
{
    return PROCESSOR_HAS(AVX512F, "avx512f") && PROCESSOR_HAS(AVX512BW, "avx512bw") &&
           PROCESSOR_HAS(AVX512DQ, "avx512dq") && PROCESSOR_HAS(AVX512VL, "avx512vl");
}

/* Whether there is VBMI2 of AVX-512. */
static inline bool processor_has_vbmi2(void)
{
    return PROCESSOR_HAS(AVX512_VBMI2, "avx512vbmi2");
}

/* Whether there is IFMA of AVX-512. */
static inline bool processor_has_ifma(void)
{
    return PROCESSOR_HAS(AVX512_IFMA, "avx512ifma");
}

/* Whether there are BMI and BMI2 (of 2013), and the attribute of functions that use them: shifts take their
   count from any register. */
#    define PROCESSOR_BMI2 __attribute__((target("bmi,bmi2")))
static inline bool processor_has_bmi2(void)
{
    return PROCESSOR_HAS(BMI1, "bmi") && PROCESSOR_HAS(BMI2, "bmi2");
}

#    undef PROCESSOR_HAS

/* Whether Intel made it. The processor is asked each time. */
static inline bool processor_is_intel(void)
{
    unsigned level, first, middle, last; /* the three of the maker's name */

    __cpuid(0, level, first, last, middle);
    (void)level;
    return first == signature_INTEL_ebx && middle == signature_INTEL_edx &&
           last == signature_INTEL_ecx;
}

#endif

#endif
