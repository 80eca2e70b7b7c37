/*
 * For functions that are written once and compiled for each of the constants they are called with.
 * Sanitizers look at the same operations wherever these are compiled, and make code of them that
 * takes minutes to compile: for them, such functions are compiled once.
 */
#ifndef GPUREDUCE_INLINE_H
#define GPUREDUCE_INLINE_H

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#    define INLINE_ALWAYS 0
#elif defined __has_feature
#    if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#        define INLINE_ALWAYS 0
#    endif
#endif
#ifndef INLINE_ALWAYS
#    define INLINE_ALWAYS 1
#endif

/* ALWAYS_INLINE: for such a function, after `static`. UNROLL_INLINED: for a loop in it over a
   count, at most n, that is then a constant; of other counts, compilers warn. */
#if INLINE_ALWAYS
#    define ALWAYS_INLINE inline __attribute__((always_inline))
#    define INLINE_PRAGMA(text) _Pragma(#    text)
#    define UNROLL_INLINED(n) INLINE_PRAGMA(GCC unroll n)
#else
#    define ALWAYS_INLINE inline
#    define UNROLL_INLINED(n)
#endif

#endif
