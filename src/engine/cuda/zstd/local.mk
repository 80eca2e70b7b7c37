# src/engine/cuda/zstd: what decodes zstd on a GPU.
cuda_sources += \
	src/engine/cuda/zstd/copy.cuh \
	src/engine/cuda/zstd/device.h \
	src/engine/cuda/zstd/device_open.c \
	src/engine/cuda/zstd/device_run.c \
	src/engine/cuda/zstd/device_state.h \
	src/engine/cuda/zstd/execute.cuh \
	src/engine/cuda/zstd/hash.cuh \
	src/engine/cuda/zstd/jobs.h \
	src/engine/cuda/zstd/kernels.cu \
	src/engine/cuda/zstd/kernels.h \
	src/engine/cuda/zstd/literals.cuh \
	src/engine/cuda/zstd/memory.cuh \
	src/engine/cuda/zstd/plan.c \
	src/engine/cuda/zstd/plan.h \
	src/engine/cuda/zstd/resolve.cuh \
	src/engine/cuda/zstd/sequences.cuh \
	src/engine/cuda/zstd/tuning.h \
	src/engine/cuda/zstd/decoder.c \
	src/engine/cuda/zstd/decoder.h \
	src/engine/cuda/zstd/decoder_checks.c \
	src/engine/cuda/zstd/decoder_content.c \
	src/engine/cuda/zstd/decoder_open.c \
	src/engine/cuda/zstd/decoder_state.c \
	src/engine/cuda/zstd/decoder_state.h
cuda_depfiles += src/engine/cuda/zstd/$(DEPDIR)/kernels.Po
