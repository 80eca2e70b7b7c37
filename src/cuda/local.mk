# src/cuda: what reduces chunks on GPUs, and what decodes zstd there.
EXTRA_DIST += src/cuda/configure.m4
cuda_sources = \
	src/cuda/array.c src/cuda/array.h \
	src/cuda/array_kernels.cu src/cuda/array_launch.h \
	src/cuda/array_masks.c src/cuda/array_masks.h \
	src/cuda/array_parts.c src/cuda/array_parts.h \
	src/cuda/array_pieces.c src/cuda/array_pieces.h \
	src/cuda/array_slices.c src/cuda/array_slices.h \
	src/cuda/array_tallies.c src/cuda/array_tallies.h \
	src/cuda/bins.cuh \
	src/cuda/decoder.c src/cuda/decoder.h \
	src/cuda/digest_kernel.cuh \
	src/cuda/digest_kernels.cu \
	src/cuda/engine.c \
	src/cuda/feeder.c src/cuda/feeder.h \
	src/cuda/guest.c src/cuda/guest.h \
	src/cuda/instances.h \
	src/cuda/integer_kernel.cuh \
	src/cuda/integer_reducer.cuh \
	src/cuda/job.h \
	src/cuda/kernels.h \
	src/cuda/list.h \
	src/cuda/merge.cuh \
	src/cuda/missing.c src/cuda/missing.cuh src/cuda/missing.h \
	src/cuda/moments.cuh \
	src/cuda/moments_bins.cuh \
	src/cuda/moments_counter.cuh \
	src/cuda/moments_f32.cu \
	src/cuda/moments_f64.cu \
	src/cuda/moments_kernel.cuh \
	src/cuda/moments_left.cuh \
	src/cuda/moments_look.cuh \
	src/cuda/moments_narrow.cu \
	src/cuda/moments_reducer32.cuh \
	src/cuda/moments_reducer64.cuh \
	src/cuda/moments_reducer_left.cuh \
	src/cuda/moments_skim.cuh \
	src/cuda/moments_state.cuh \
	src/cuda/receipt.c src/cuda/receipt.h \
	src/cuda/reduce.cu src/cuda/reduce.cuh \
	src/cuda/reduce_bf16.cu \
	src/cuda/reduce_f16.cu \
	src/cuda/reduce_f32.cu \
	src/cuda/reduce_f64.cu \
	src/cuda/reduce_integers.cu \
	src/cuda/reduce_kernel.cuh \
	src/cuda/reduce_left.cuh \
	src/cuda/reducer32.cuh \
	src/cuda/reducer64.cuh \
	src/cuda/reducer8.cuh \
	src/cuda/rows.cuh src/cuda/rows.h \
	src/cuda/shared.cuh \
	src/cuda/slice_choice.cuh \
	src/cuda/slice_extremes.cu \
	src/cuda/slice_finish.h \
	src/cuda/slice_kernels.cu src/cuda/slice_kernels.cuh \
	src/cuda/slice_launch.h \
	src/cuda/slice_look.cu src/cuda/slice_look.cuh \
	src/cuda/slice_record.cuh \
	src/cuda/slice_record_floats.cu \
	src/cuda/slice_record_integers.cu \
	src/cuda/slice_select.cu src/cuda/slice_select.cuh \
	src/cuda/slice_squares.cu src/cuda/slice_squares.cuh \
	src/cuda/slice_sum.cuh \
	src/cuda/slice_sums.cu \
	src/cuda/slice_types.cuh \
	src/cuda/slice_whole.cuh \
	src/cuda/slices.c src/cuda/slices.h \
	src/cuda/square_accumulator.cuh \
	src/cuda/square_bins.cuh \
	src/cuda/sums.c src/cuda/sums.h \
	src/cuda/superaccumulator.cuh \
	src/cuda/tallies.c src/cuda/tallies.h \
	src/cuda/tally_job.cuh \
	src/cuda/tally_kernels.cu src/cuda/tally_kernels.cuh \
	src/cuda/tally_launch.h \
	src/cuda/thread_state.cuh \
	src/cuda/tuning.h \
	src/cuda/types.cuh \
	src/cuda/warp.cuh \
	src/cuda/pieces.h \
	src/cuda/runtime/check.c src/cuda/runtime/check.h \
	src/cuda/runtime/owned.c src/cuda/runtime/owned.h \
	src/cuda/runtime/pinned.c src/cuda/runtime/pinned.h \
	src/cuda/zstd/copy.cuh \
	src/cuda/zstd/device.c src/cuda/zstd/device.h \
	src/cuda/zstd/execute.cuh \
	src/cuda/zstd/hash.cuh \
	src/cuda/zstd/jobs.h \
	src/cuda/zstd/kernels.cu src/cuda/zstd/kernels.h \
	src/cuda/zstd/literals.cuh \
	src/cuda/zstd/memory.cuh \
	src/cuda/zstd/plan.c src/cuda/zstd/plan.h \
	src/cuda/zstd/resolve.cuh \
	src/cuda/zstd/sequences.cuh \
	src/cuda/zstd/tuning.h
cuda_absent = src/cuda/absent.c src/cuda/array.h src/cuda/array_masks.h src/cuda/array_pieces.h \
	src/cuda/array_slices.h src/cuda/array_tallies.h src/cuda/pieces.h src/cuda/slice_finish.h
cuda_depfiles += \
	src/cuda/$(DEPDIR)/array_kernels.Po \
	src/cuda/$(DEPDIR)/digest_kernels.Po \
	src/cuda/$(DEPDIR)/reduce.Po \
	src/cuda/$(DEPDIR)/reduce_bf16.Po \
	src/cuda/$(DEPDIR)/reduce_f16.Po \
	src/cuda/$(DEPDIR)/reduce_f32.Po \
	src/cuda/$(DEPDIR)/reduce_f64.Po \
	src/cuda/$(DEPDIR)/reduce_integers.Po \
	src/cuda/$(DEPDIR)/slice_extremes.Po \
	src/cuda/$(DEPDIR)/slice_kernels.Po \
	src/cuda/$(DEPDIR)/slice_look.Po \
	src/cuda/$(DEPDIR)/slice_record_floats.Po \
	src/cuda/$(DEPDIR)/slice_record_integers.Po \
	src/cuda/$(DEPDIR)/slice_select.Po \
	src/cuda/$(DEPDIR)/slice_squares.Po \
	src/cuda/$(DEPDIR)/slice_sums.Po \
	src/cuda/$(DEPDIR)/moments_f32.Po \
	src/cuda/$(DEPDIR)/moments_f64.Po \
	src/cuda/$(DEPDIR)/moments_narrow.Po \
	src/cuda/$(DEPDIR)/tally_kernels.Po \
	src/cuda/zstd/$(DEPDIR)/kernels.Po
