/*
 * The contract of an instruction set. A kernels_NAME.c defines the parameters, includes
 * simd_vector.h, which defines the types and operations, and then kernel_template.h, which makes
 * `const struct cpu_kernels cpu_kernels_NAME` of them.
 *
 * Parameters:
 *
 *   SIMD_NAME      the set's name, a plain word: -v prints it and GPUREDUCE_CPU takes it
 *   SIMD_TARGET    the attribute that lets the compiler use the set. The files need no flags of
 *                  their own: only functions with this attribute run the set's instructions
 *   V_BYTES        bytes of a vector: 16, 32 or 64
 *   SIMD_X86       the intrinsics of x86-64 that may be used: see simd_x86.h. 0: none
 *   simd_usable()  bool: whether this processor runs the set
 *
 * simd_vector.h derives from them:
 *
 *   SIMD_OP        declares an operation: always inline, with SIMD_TARGET
 *   V_LANES        32-bit lanes of a vector
 *   W_LANES        64-bit lanes of a vector: V_LANES / 2
 *   SIMD_PACKS     1 where v_pack and w_pack cost less than a branch that is hard to predict, or 0
 *   SIMD_LOOKUP    1 where an instruction looks bytes up in a table of 16, or 0
 *
 * Types, all of one width:
 *
 *   vec    V_LANES 32-bit integers, or the bits of binary32 values
 *   wvec   W_LANES 64-bit integers, or the bits of binary64 values
 *   vecd   W_LANES binary64 values
 *   vecf   V_LANES binary32 values
 *   vmask  a truth value for each lane of a vec
 *   wmask  a truth value for each lane of a wvec or a vecd
 *   hmask  a truth value for each 16 bits of a vec
 *   bmask  a truth value for each byte of a vec
 *
 * Names begin with the lanes: v_ 32 bits, w_ 64 bits, b_ bytes of a vec, h_ 16 bits of a vec, d_
 * binary64, f_ binary32. Names in _s compare lanes as signed integers, names in _u as unsigned
 * ones. v_h_, w_h_ and d_h_ reduce over the lanes to one number; kernels use them once a block, so
 * their speed matters little. Addresses need no alignment.
 *
 * Lanes of 32 bits:
 *
 *   v_load_f32(p)              V_LANES elements of 32 bits. For f16 and bf16: v_load_f16 and
 *   v_load_f16 v_load_bf16     v_load_bf16, which give the equal binary32 values. NaNs stay NaNs,
 *                              with any payload; -0 stays -0; subnormals are not flushed
 *   v_store(p, a)
 *   v_set1(x)                  x in all lanes
 *   v_held(a)                  a, kept in a register for all its uses
 *   v_and(a, b) v_xor(a, b)
 *   v_add(a, b) v_sub(a, b)    modulo 2^32
 *   v_shift_right(a, bits)     unsigned, by `bits`, which are below 32 and the same in all lanes
 *   v_shift_right_s(a, bits)   signed, by a constant below 32
 *   v_upper_u(a)               the upper 16 bits of each lane, unsigned
 *   v_max_s v_max_u v_min_s v_min_u
 *   v_min_magnitude(a, b)      the bits of the lesser magnitude, without a sign, of the bits of
 *                              values. a has no sign. Anything where b is a NaN
 *   v_gt_s(a, b) v_ge_s(a, b) v_eq(a, b)
 *                              masks: a > b, a >= b, a = b
 *   v_without(a, bits)         a mask: a has none of the bits
 *   v_also_ge_s(m, a, b)       a mask: m is true, and a >= b
 *   v_select(m, yes, no)       lanes of `yes` where m is true, else of `no`
 *   v_lanes(m)                 a vec that has all bits of the lanes where m is true, and none of the
 *                              others; w_lanes h_lanes b_lanes, too
 *   v_blend(bits, yes, no)     `yes` where a bit is set, else `no`
 *   v_count(m)                 the number of true lanes
 *   v_some(m) v_all(m)         bool: whether a lane is true, or all are; w_all h_all b_all, too
 *   v_tally(a, m)              a, with 1 added where m is true
 *   v_order(a)                 signed integers in the order of the values whose bits a has: the
 *                              bits, or of a negative value all but the sign inverted
 *   v_pack(p, m, a)            stores the lanes of `a` where m is true at p, one after the other,
 *                              and returns how many. It may write V_LANES
 *   v_gather(p, index)         the integers of 32 bits p[index], for each lane of index
 *   v_low(a) v_high(a)         the lower and the upper half of the lanes, as binary32 values that
 *                              are widened to a vecd. They are finite where the result is used
 *   v_h_max_s v_h_max_u v_h_min_u
 *   v_h_add(a)                 the sum of the lanes as unsigned integers, below 2^32
 *
 * Lanes of 64 bits:
 *
 *   w_load w_set1 w_and w_xor w_max_s w_max_u w_min_s w_min_u w_gt_s w_ge_s w_eq w_also_ge_s
 *   w_select w_count w_some w_tally w_order w_pack w_h_max_s w_h_max_u w_h_min_u
 *                              as those of 32 bits
 *   w_or(a, b) w_h_or(a)
 *   w_add(a, b) w_sub(a, b) w_h_add(a)
 *                              modulo 2^64
 *   w_any(a)                   bool: whether any bit is set. Fast, unlike w_h_or
 *   w_keep_upper(a) w_raise_lower(a)
 *                              as h_, of lanes of 64 bits
 *   w_multiply(a, b)           the products of the lower 32 bits of each lane, unsigned
 *   w_odd(a)                   the upper 32 bits of each lane, as 64
 *   w_odd_s(a)                 those as signed integers, plus W_ODD_RAISED
 *   v_wide(a) w_narrow(a)      the same bits as a wvec, and as a vec
 *   w_value(a) d_bits(a)       the same bits as values, and as integers
 *   f_value(a) f_bits(a)       the same bits as binary32 values, and as integers
 *
 * Lanes of 8 and 16 bits:
 *
 *   b_min_u b_max_u h_min_s h_max_s h_min_u h_max_u
 *   h_set1(x) b_set1(x)        x in all lanes
 *   h_gt_s(a, b) b_gt_s(a, b)  masks: a > b, signed
 *   h_eq(a, b) b_eq(a, b)      masks: a = b
 *   h_pack(p, m, a) b_pack     as v_pack
 *   b_sum(a)                   the sums of eight bytes, unsigned, as a wvec
 *   h_add(a, b) h_sub(a, b)    modulo 2^16
 *   b_add(a, b)                modulo 2^8
 *   h_pairs(a)                 the sums of two lanes, signed, in lanes of 32 bits
 *   h_keep_upper(a)            the upper half of each lane of 32 bits in its place, the lower half 0
 *   h_raise_lower(a)           the lower half of each lane of 32 bits in the place of the upper one
 *
 * Only where SIMD_LOOKUP is 1:
 *
 *   b_max_s
 *   b_below(a, b)              a mask: a < b, unsigned
 *   b_count(m)                 the number of true bytes
 *   b_keep(m, a)               a where m is true, else 0
 *   b_max_s_where(m, a, b) b_max_u_where b_min_u_where
 *                              a where m is false, else the extreme of both
 *   b_low(a) b_high(a)         the lower or the upper 4 bits of each byte
 *   b_table(p)                 a table of 16 bytes
 *   b_lookup(table, a)         the byte of the table for each byte of a, which is below 16
 *   b_multiply(a, b)           the products of bytes of a, below 128, and of b, signed: the sums of
 *                              two neighbours in lanes of 16 bits, where they fit
 *
 * Floats:
 *
 *   d_load_f32(p)              W_LANES binary32 values in memory, widened
 *   d_load(p) d_store(p, a)    W_LANES binary64 values
 *   d_set1 d_add d_sub d_mul d_div d_sqrt
 *                              rounded to nearest, not contracted
 *   d_fma(a, b, c)             a b + c rounded to nearest. a b is a binary64 value, so that one and
 *                              two roundings give the same
 *   d_clamp(a, low, high)      a, but at least low and at most high; of a NaN, low
 *   d_abs(a)
 *   d_min(a, b) d_h_min(a) d_max(a, b) d_h_max(a)
 *                              no operand is a NaN, or the result is not used
 *   d_min_magnitude(a, b) d_max_magnitude(a, b)
 *                              the lesser and the greater magnitude, likewise. a has no sign
 *   d_h_add(a)                 in any order: used where every order is exact
 *   d_h_add_each(a)            of W_LANES vectors: lane i is the sum of vector i, in any order
 *   d_transpose(a)             of W_LANES vectors, in place: lane j of vector i becomes lane i of
 *                              vector j. The bits stay as they are, whatever they stand for
 *   f_set1 f_sub f_clamp       as for d_
 *   f_madd(a, b, c)            a b + c, rounded once or twice
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
