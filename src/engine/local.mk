# src/engine: what reduces chunks, on the CPU and on GPUs.
library_sources += \
	src/engine/engine.h \
	src/engine/registry.c \
	src/engine/cpu/dispatch.c \
	src/engine/cpu/engine.c \
	src/engine/cpu/kernel.h \
	src/engine/cpu/kernel_template.h \
	src/engine/cpu/kernels_avx2.c \
	src/engine/cpu/kernels_avx512.c \
	src/engine/cpu/kernels_portable.c \
	src/engine/cpu/reducer.c \
	src/engine/cpu/simd.h

EXTRA_DIST += src/engine/cuda/configure.m4
cuda_sources = \
	src/engine/cuda/engine.c \
	src/engine/cuda/kernels.h \
	src/engine/cuda/reduce.cu \
	src/engine/cuda/tuning.h
cuda_absent = src/engine/cuda/absent.c
cuda_depfiles += src/engine/cuda/$(DEPDIR)/reduce.Po
