# src/bench: gpureduce-bench.
bin_PROGRAMS += src/gpureduce-bench
# What tests link, too.
noinst_LIBRARIES += src/libbench.a
src_libbench_a_CPPFLAGS = $(src_libinternal_a_CPPFLAGS)
src_libbench_a_SOURCES = \
	src/bench/common/difference.c src/bench/common/difference.h \
	src/bench/common/distribution.c src/bench/common/distribution.h \
	src/bench/common/normal.c src/bench/common/normal.h \
	src/bench/common/random.h \
	src/bench/common/table.c src/bench/common/table.h \
	src/bench/common/team.c src/bench/common/team.h \
	src/bench/limits/limits_read.c src/bench/limits/limits_read.h
src_gpureduce_bench_CPPFLAGS = $(src_libinternal_a_CPPFLAGS)
src_gpureduce_bench_LDADD = src/libbench.a src/libinternal.a $(CUDA_LIBS) $(ZSTD_LIBS)
src_gpureduce_bench_SOURCES = \
	src/bench/common/arguments.c src/bench/common/arguments.h \
	src/bench/common/reducers.c src/bench/common/reducers.h \
	src/bench/common/series.c src/bench/common/series.h \
	src/bench/generate/generate.c src/bench/generate/generate.h \
	src/bench/ladder/ladder.h \
	src/bench/ladder/options.c src/bench/ladder/options.h \
	src/bench/limits/limits.c src/bench/limits/limits.h \
	src/bench/limits/limits_device.h \
	src/bench/limits/limits_measure.c src/bench/limits/limits_measure.h \
	src/bench/limits/limits_zstd.c src/bench/limits/limits_zstd.h \
	src/bench/main.c

# What needs CUDA, or what takes its place.
bench_cuda_sources = \
	src/bench/common/device.c src/bench/common/device.h \
	src/bench/ladder/bench_case.c src/bench/ladder/bench_case.h \
	src/bench/ladder/cub.cu \
	src/bench/ladder/inputs.c src/bench/ladder/inputs.h \
	src/bench/ladder/ladder.c \
	src/bench/ladder/production.c \
	src/bench/ladder/reference.c src/bench/ladder/reference.h \
	src/bench/ladder/rung_table.c src/bench/ladder/rung_table.h \
	src/bench/ladder/rungs.cu src/bench/ladder/rungs.def src/bench/ladder/rungs.h \
	src/bench/ladder/suite.c src/bench/ladder/suite.h \
	src/bench/ladder/timing.c src/bench/ladder/timing.h \
	src/bench/ladder/verify.c src/bench/ladder/verify.h \
	src/bench/ladder/workbench.c src/bench/ladder/workbench.h \
	src/bench/limits/limits_device.c \
	src/bench/limits/limits_kernels.cu \
	src/bench/limits/limits_kernels.h
bench_cuda_absent = src/bench/absent.c
if HAVE_CUDA
src_gpureduce_bench_SOURCES += $(bench_cuda_sources)
EXTRA_DIST += $(bench_cuda_absent)
else
src_gpureduce_bench_SOURCES += $(bench_cuda_absent)
EXTRA_DIST += $(bench_cuda_sources)
endif
cuda_depfiles += \
	src/bench/ladder/$(DEPDIR)/cub.Po \
	src/bench/ladder/$(DEPDIR)/rungs.Po \
	src/bench/limits/$(DEPDIR)/limits_kernels.Po

#
# make bench: the results of gpureduce-bench on this machine, as text, JSON and, if there is gnuplot,
# plots.
#
BENCH_BYTES = 1GiB
bench_results = bench-results
bench_data = $(bench_results)/normal.f32
bench_program = src/gpureduce-bench$(EXEEXT)

.PHONY: bench
bench: $(bench_program)
	@set -e; $(MKDIR_P) $(bench_results); trap 'rm -f $(bench_data)' EXIT; \
	measure() { \
	  name=$$1; shift; rm -f $(bench_results)/$$name.*; status=0; echo "$$name:"; \
	  $(bench_program) "$$@" --json=$(bench_results)/$$name.json >$(bench_results)/$$name.txt || \
	    status=$$?; \
	  cat $(bench_results)/$$name.txt; \
	}; \
	plot() { \
	  if gnuplot --version >/dev/null 2>&1; then \
	    echo --plot=$(bench_results)/$$1.svg; \
	  else \
	    echo "no gnuplot: no plot" >&2; \
	  fi; \
	}; \
	echo "generate: $(BENCH_BYTES) of normally distributed f32"; \
	$(bench_program) generate --dist=normal --bytes=$(BENCH_BYTES) \
	  --json=$(bench_results)/generate.json >$(bench_data); \
	measure limits limits `plot limits` $(bench_data); test $$status -eq 0; \
	rm -f $(bench_results)/suite.*; \
	measure ladder ladder `plot ladder`; \
	if test $$status -eq 3; then \
	  rm -f $(bench_results)/ladder.*; \
	  echo "skipped, there is no GPU to use"; \
	else \
	  test $$status -eq 0; \
	  measure suite ladder --suite; test $$status -eq 0; \
	fi; \
	echo "results are in $(bench_results)"

