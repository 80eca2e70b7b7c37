/*
 * For the inner loops of the zstd decoder: functions that are compiled twice, once for processors
 * whose shifts take their count from any register (BMI2, of 2013 on): that is a third of what these
 * loops do.
 */
#ifndef GPUREDUCE_ZSTD_TARGET_H
#define GPUREDUCE_ZSTD_TARGET_H

#include "sys/processor.h"

/* A function NAME_body that both variants of NAME are made of. */
#define ZSTD_BODY static inline __attribute__((always_inline))

/* ZSTD_VARIANTS(type, NAME, (parameters), (their names)): defines NAME, which calls the variant for
   this processor. */
#if defined __x86_64__
#    define ZSTD_BMI2 __attribute__((target("bmi,bmi2")))
#    define ZSTD_VARIANTS(type, name, parameters, names)                          \
        static ZSTD_BMI2 type name##_bmi2 parameters                              \
        {                                                                         \
            return name##_body names;                                             \
        }                                                                         \
        static type name##_plain parameters                                       \
        {                                                                         \
            return name##_body names;                                             \
        }                                                                         \
        static type name parameters                                               \
        {                                                                         \
            return processor_has_bmi2() ? name##_bmi2 names : name##_plain names; \
        }
#else
#    define ZSTD_VARIANTS(type, name, parameters, names) \
        static type name parameters                      \
        {                                                \
            return name##_body names;                    \
        }
#endif

#endif
