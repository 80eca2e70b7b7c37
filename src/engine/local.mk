# src/engine: what all engines have in common.
library_sources += \
	src/engine/engine.h \
	src/engine/gpu_tuning.c src/engine/gpu_tuning.h
