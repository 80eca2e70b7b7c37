/*
 * The contract of an instruction set: what a kernels_NAME.c defines before it includes
 * kernel_template.h, which makes `const struct cpu_kernels cpu_kernels_NAME` of it.
 *
 * Parameters:
 *
 *   SIMD_NAME      the set's name, a plain word: what -v prints and GPUREDUCE_CPU takes
 *   SIMD_TARGET    the attribute that lets the compiler use the set; the files need no flags of
 *                  their own, since only functions with it run its instructions
 *   SIMD_OP        how an operation is declared: always inline, with SIMD_TARGET
 *   simd_usable()  bool: whether this processor runs the set
 *   V_LANES        32-bit lanes of a vector, a power of two
 *   W_LANES        64-bit lanes of a vector: V_LANES / 2
 *   SIMD_PACKS     1 where v_pack and w_pack cost less than a branch that is hard to predict, or 0
 *   SIMD_LOOKUP    1 where an instruction looks bytes up in a table of 16, 2 where one does so in
 *                  tables of 64 and of 128, too, and vectors have 64 bytes; else 0
 *
 *   SIMD_IFMA      1 where an instruction multiplies and adds integers of 52 bits; else 0
 *
 * Types, all of one width:
 *
 *   vec    V_LANES 32-bit integers: the bits of binary32 values
 *   wvec   W_LANES 64-bit integers: the bits of binary64 values
 *   vecd   W_LANES binary64 values
 *   vecf   V_LANES binary32 values
 *   vmask  a truth value for each lane of a vec
 *   wmask  a truth value for each lane of a wvec or a vecd
 *   bmask  a truth value for each byte of a vec, where SIMD_LOOKUP is not 0
 *
 * Memory operands need no alignment. _s compares lanes as signed integers, _u as unsigned ones.
 * h_ reduces over the lanes to one number; it is used once a block, so its speed matters little.
 *
 *   v_load_NAME(p)             V_LANES elements of type NAME, for each type of up to 32 bits, as
 * the binary32 values that are equal to them. NaNs stay NaNs, with any payload; -0 stays -0;
 * subnormals are not flushed v_set1(x)                  x in all lanes v_add(a, b) modulo 2^32
 *   v_held(a)                  a, of which the uses take one register
 *   v_and(a, b)
 *   v_shift_right(a, bits)     a as unsigned integers, each by the lane of bits, below 32
 *   v_max_s v_max_u v_min_u
 *   v_min_magnitude(a, b)      of the bits of values, those of the lesser magnitude, without a
 *                              sign. a has none. Anything, where b is no number
 *   v_gt_s(a, b), v_eq(a, b)   masks
 *   v_without(a, bits)         a mask: where a has none of the bits
 *   v_ge_s(a, b)               a mask: where a >= b
 *   v_also_ge_s(m, a, b)       a mask: where m is true, and a >= b
 *   v_select(m, yes, no)       lanes of `yes` where m is true, else of `no`
 *   v_count(m)                 true lanes: 0 to V_LANES
 *   v_order(a)                 signed integers in the order of the values, of which these are the
 *                              bits: the bits, or, of a negative one, all but the sign inverted
 *   v_some(m)                  bool: whether a lane is true
 *   v_tally(a, m)              a, with 1 added where m is true
 *   v_pack(p, m, a)            stores the lanes of `a` where m is true at p, one behind the other,
 *                              and returns how many. It may write V_LANES
 *   v_gather(p, index)         the integers of 32 bits p[index], for each lane of index, from 0 on
 *   v_h_max_s v_h_max_u v_h_min_u
 *   v_h_add(a)                 the sum of the lanes as unsigned integers, below 2^32
 *   v_low(a), v_high(a)        the lower and the upper half of the lanes, as binary32 values
 * widened to a vecd. They are finite where the result is used
 *
 *   w_load(p)                  W_LANES 64-bit integers
 *   w_set1 w_and w_max_s w_max_u w_min_u w_gt_s w_eq w_select w_count
 *   w_order w_ge_s w_also_ge_s w_some w_tally w_pack w_h_max_s w_h_max_u w_h_min_u
 *                              as for v_
 *   w_or(a, b), w_h_or(a)
 *   w_sub(a, b), w_add(a, b), w_h_add(a)
 *                              modulo 2^64
 *   w_any(a)                   bool: whether any bit is set; fast, unlike h_
 *   w_value(a), d_bits(a)      the same bits, as values and as integers
 *
 *   f_value(a), f_bits(a)      the same bits, as binary32 values and as integers
 *   f_set1 f_sub f_clamp       as for d_
 *   f_madd(a, b, c)            a b + c, rounded once or twice
 *
 * Integers, which are vectors of bytes (b_) or of 16 bits (h_) in a vec, too:
 *
 *   v_store(p, a)
 *   v_wide(a), w_narrow(a)     the same bits as a wvec, and as a vec
 *   v_xor w_xor v_min_s w_min_s
 *   w_even(a), w_odd(a)        the lower, or the upper, 32 bits of each lane, as 64
 *   b_min_u b_max_u h_min_s h_max_s
 *   b_sum(a)                   the sums of eight bytes, unsigned, as a wvec
 *   h_pairs(a)                 the sums of two lanes of 16 bits, signed, in lanes of 32
 *
 * Where SIMD_LOOKUP is not 0:
 *
 *   b_max_s
 *   b_below(a, b), b_equal(a, b)
 *                              masks: where a < b, unsigned, and where a = b
 *   b_count(m)                 true bytes
 *   b_keep(m, a)               a where m is true, else 0
 *   b_max_s_where(m, a, b), b_max_u_where, b_min_u_where
 *                              a where m is false, else the extreme of both
 *   h_min_u h_max_u
 *   h_add(a, b)                modulo 2^16
 *   h_low_bf16(a), h_high_bf16(a)
 *                              the bf16 in a, as v_load_bf16 has them: each gives V_LANES of them,
 *                              both together all, in any order
 *   b_low(a), b_high(a)        the lower, or the upper, 4 bits of each byte
 *   b_table(p)                 16 bytes to look up
 *   b_lookup(table, a)         the byte of the table for each byte of a, which is below 16
 *   b_multiply(a, b)           the products of bytes of a, unsigned, and of b, signed: the sums of
 *                              two neighbours in lanes of 16 bits, where they fit
 *
 * Where SIMD_LOOKUP is 2:
 *
 *   b_lookup64(table, a)       the byte of the table for the lower 6 bits of each byte of a
 *   b_lookup128(t0, t1, a)     the same for the lower 7 bits: t1 is the second half of the table
 *   b_upper6(a)                the upper 6 bits of each byte; above them there may be any
 *   b_dot(sum, a, b)           sum, to each lane of 32 bits of which four such products are added
 *
 * Where SIMD_IFMA is 1, of lanes whose lower 52 bits are taken as unsigned:
 *
 *   w_madd_low(sum, a, b), w_madd_high(sum, a, b)
 *                              sum, and the lower, or the upper, 52 bits of the product a b
 *
 * Floats:
 *
 *   d_load_f32(p)              W_LANES binary32 values in memory, widened
 *   d_load(p), d_store(p, a)   W_LANES binary64 values
 *   d_set1 d_add d_sub d_mul   rounded to nearest, not contracted
 *   d_fma(a, b, c)             a b + c rounded to nearest; a b is a binary64 value, so that it may
 * be rounded once or twice
 *   d_clamp(a, low, high)      a, but at least low and at most high; of a NaN, low
 *   d_abs(a)
 *   d_min(a, b), d_h_min(a)    no operand is a NaN, or the result is not used
 *   d_max(a, b), d_h_max(a)    no operand is a NaN
 *   d_h_add(a)                 in any order: used where every order is exact
 *   d_h_add_each(a)            of W_LANES vectors: lane i is the sum of vector i, in any order
 *   d_transpose(a)             of W_LANES vectors, in place: lane j of vector i becomes lane i of
 *                              vector j. The bits stay as they are, whatever they stand for
 */
#ifndef GPUREDUCE_CPU_SIMD_H
#define GPUREDUCE_CPU_SIMD_H

#if !defined SIMD_NAME || !defined SIMD_TARGET || !defined SIMD_OP
#    error "define the instruction set before including kernel_template.h: simd.h says how"
#endif

_Static_assert(V_LANES == 2 * W_LANES && (W_LANES & (W_LANES - 1)) == 0, "lanes");
_Static_assert(sizeof(vec) == 4 * V_LANES && sizeof(wvec) == sizeof(vec), "integer vectors");
_Static_assert(sizeof(vecd) == sizeof(vec) && sizeof(vecf) == sizeof(vec), "vectors of floats");

#endif
