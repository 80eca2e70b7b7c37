/*
 * SANITIZED: whether sanitizers look on, which makes a test ten times slower. They check how memory
 * is used, which does not depend on the length of the data.
 *
 * SANITIZED_THREADS: whether one of them is TSan.
 */
#ifndef TESTS_SANITIZED_H
#define TESTS_SANITIZED_H

#if defined __has_feature
#    define SANITIZED_BY(feature) __has_feature(feature)
#else
#    define SANITIZED_BY(feature) 0
#endif

#if defined __SANITIZE_THREAD__ || SANITIZED_BY(thread_sanitizer)
#    define SANITIZED_THREADS 1
#else
#    define SANITIZED_THREADS 0
#endif

#if defined __SANITIZE_ADDRESS__ || SANITIZED_BY(address_sanitizer)
#    define SANITIZED 1
#else
#    define SANITIZED SANITIZED_THREADS
#endif

#endif
