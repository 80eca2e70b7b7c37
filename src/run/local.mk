# src/run: sessions, runs and workers.
library_sources += \
	src/run/arrays.c src/run/arrays.h \
	src/run/axis.c src/run/axis.h \
	src/run/axis_results.c src/run/axis_results.h \
	src/run/diff.c src/run/diff.h \
	src/run/diff_item.c src/run/diff_item.h \
	src/run/diff_row.c src/run/diff_row.h \
	src/run/gpu.c src/run/gpu.h \
	src/run/gpu_policy.c src/run/gpu_policy.h \
	src/run/phases.c src/run/phases.h \
	src/run/plan.c src/run/plan.h \
	src/run/ranks.c src/run/ranks.h \
	src/run/passes.c src/run/passes.h \
	src/run/reduction.h \
	src/run/run.c \
	src/run/run_profile.c src/run/run_profile.h \
	src/run/run_state.h \
	src/run/session.c src/run/session.h \
	src/run/session_options.c src/run/session_options.h \
	src/run/shard.c src/run/shard.h \
	src/run/total.c src/run/total.h \
	src/run/gpu_decode.c src/run/gpu_decode.h \
	src/run/worker.c src/run/worker.h
