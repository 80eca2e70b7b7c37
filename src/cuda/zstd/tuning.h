/*
 * Numbers of the zstd decoder on GPUs that were found by measuring, or are to be. Those that tests
 * change are in engine/gpu_tuning.h.
 */
#ifndef GPUREDUCE_CUDA_ZSTD_TUNING_H
#define GPUREDUCE_CUDA_ZSTD_TUNING_H

/* Blocks whose literals a thread block decodes, and chunks of a stream's ring: a power of two. */
#define LITERALS_BLOCKS 8
#define LITERALS_RING_CHUNKS 8

/* Blocks whose sequences a thread block decodes, and chunks of their rings. */
#define SEQUENCES_BLOCKS 8
#define SEQUENCES_RING_CHUNKS 32

/* Threads of a block that executes sequences, thread blocks a multiprocessor, bytes of a tile,
   loads that a thread has in flight, and steps along a chain between two barriers. Tests, which
   emulate threads, take fewer of them. */
#ifndef EXECUTE_THREADS
#    define EXECUTE_THREADS 512
#endif
#define EXECUTE_RESIDENT 2
#define EXECUTE_TILE (EXECUTE_THREADS * 4)
#define EXECUTE_LOADS 4
#define EXECUTE_HOPS 4

/* Threads of a block that resolves symbols, and symbols a thread. */
#ifndef RESOLVE_THREADS
#    define RESOLVE_THREADS 256
#endif
#define RESOLVE_SYMBOLS 8

/* Threads of a block that copies literals, and bytes that it copies. */
#ifndef COPY_THREADS
#    define COPY_THREADS 256
#endif
#define COPY_BYTES 16384U

/* 4-byte words that such a block moves between host and device. */
#define MOVE_WORDS (COPY_THREADS * 4)

/* Batches under way at a time, and with little memory at least. */
#define ZSTD_SLOTS 5
#define ZSTD_SLOTS_LEAST 3

/* Bytes of device memory that a decoder takes at most, and that it leaves, where there is so much.
   All that was measured was so with this much. */
#define ZSTD_MEMORY_MAX ((size_t)12 << 30)
#define ZSTD_MEMORY_LEFT ((size_t)256 << 20)

/* Windows up to this are expected of any frame: those of levels up to 19. Bytes. */
#define ZSTD_WINDOW_USUAL ((uint64_t)8 << 20)

/* Input is read into memory that should still be in the last cache when it is copied. Bytes of it,
   for each decoder; of all together; for each at least, which is what all who read have at hand,
   and what is being copied; and of a pipe, from which libzstd may have to go on: no more than so
   many batches that do not compress. */
#define ZSTD_INPUT_MOST ((size_t)64 << 20)
#define ZSTD_INPUT_ALL ((size_t)128 << 20)
#define ZSTD_INPUT_LEAST ((size_t)32 << 20)
#define ZSTD_INPUT_PIPE ((size_t)128 << 20)
#define ZSTD_INPUT_BATCHES 3

/* Copies of compressed bytes that may be under way, and be told of one by one: as many as
   gpu_tuning.copies says, and no more than these. */
#define ZSTD_COPIES_MAX 32

/* To hash frames of 8 MiB takes 4 to 8 ms, and neither slots nor their streams wait for that: in
   batches of 64 MiB pzstd's frames of weights came at 43 GB/s in place of 35. Large batches whose
   output is kept meanwhile; batches that are hashed at a time; streams for it. */
#define ZSTD_KEPT 4
#define ZSTD_HASHED 8
#define ZSTD_HASH_STREAMS 3

/* Batches whose output is kept at all. */
#define ZSTD_KEPT_MAX (ZSTD_SLOTS + ZSTD_HASHED)

/* Pieces in which other content comes back to be checked. */
#define ZSTD_CONTENT_PIECES 16

#endif
