#
# Tests. They print TAP; those that need a GPU, MPFR or zstd skip where there is none.
#
check_LIBRARIES = tests/libtests.a
tests_libtests_a_CPPFLAGS = $(AM_CPPFLAGS)
tests_libtests_a_SOURCES = \
	src/bench/common/difference.c src/bench/common/difference.h \
	tests/lib/allocate.h \
	tests/lib/data_gen.c tests/lib/data_gen.h \
	tests/lib/draw.h \
	tests/lib/engine_workers.h \
	tests/lib/cuda_timing.h \
	tests/lib/environment.h \
	tests/lib/kernel_memory.h \
	tests/lib/oracle.c tests/lib/oracle.h \
	tests/lib/natural.c tests/lib/natural.h \
	tests/lib/oracle_moments.c tests/lib/oracle_moments.h \
	tests/lib/real.c tests/lib/real.h \
	tests/lib/reference.c tests/lib/reference.h \
	tests/lib/reference_element.c tests/lib/reference_element.h \
	tests/lib/reference_order.c tests/lib/reference_order.h \
	tests/lib/sanitized.h \
	tests/lib/share.h \
	tests/lib/tap.h \
	tests/lib/warnings.h \
	tests/lib/zstd_blocks.c tests/lib/zstd_blocks.h

check_PROGRAMS = $(emulated_programs) $(test_programs)
test_programs = \
	tests/unit/test_zstd_cut \
	tests/unit/test_slices \
	tests/unit/test_integers \
	tests/unit/test_cpu_kernels \
	tests/unit/stress \
	tests/unit/test_zstd_blocks \
	tests/unit/test_zstd_kernels \
	tests/unit/test_moments \
	tests/unit/test_scale \
	tests/unit/test_generated \
	tests/unit/test_engines \
	tests/unit/test_difference \
	tests/unit/test_digest \
	tests/unit/test_missing \
	tests/unit/test_unsupported \
	tests/unit/scaling \
	tests/unit/test_arguments \
	tests/unit/test_cuda \
	tests/unit/test_container \
	tests/unit/test_plausibility \
	tests/unit/test_element \
	tests/unit/test_errors \
	tests/unit/test_exact \
	tests/unit/test_generated_cuda \
	tests/unit/test_gpu_inputs \
	tests/unit/test_gpu_policy \
	tests/unit/test_json \
	tests/unit/test_accumulator \
	tests/unit/test_library \
	tests/unit/test_library_axis \
	tests/unit/test_library_diff \
	tests/unit/test_library_faults \
	tests/unit/test_library_shards \
	tests/unit/test_limits_read \
	tests/unit/test_machine_limits \
	tests/unit/test_mapping \
	tests/unit/test_message \
	tests/unit/test_npy \
	tests/unit/test_number \
	tests/unit/test_oracle \
	tests/unit/test_partial \
	tests/unit/test_plan \
	tests/unit/test_partial_text \
	tests/unit/test_group \
	tests/unit/test_ranges \
	tests/unit/test_profile \
	tests/unit/test_progress \
	tests/unit/test_search \
	tests/unit/test_shard \
	tests/unit/test_slice_finish \
	tests/unit/test_slice_quantiles \
	tests/unit/test_access \
	tests/unit/test_source \
	tests/unit/test_pass_plan \
	tests/unit/test_guest \
	tests/unit/test_table \
	tests/unit/test_team \
	tests/unit/test_timeline \
	tests/unit/test_zstd_device \
	tests/unit/test_zstd_finder \
	tests/unit/test_zstd_index
tests_unit_stress_CPPFLAGS = $(AM_CPPFLAGS) $(ZSTD_CFLAGS)
tests_unit_test_container_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CFLAGS)
tests_unit_test_source_CPPFLAGS = $(AM_CPPFLAGS) $(ZSTD_CFLAGS)
tests_unit_test_zstd_blocks_CPPFLAGS = $(AM_CPPFLAGS) $(ZSTD_CFLAGS)
tests_unit_test_zstd_cut_CPPFLAGS = $(AM_CPPFLAGS) $(ZSTD_CFLAGS)
tests_unit_test_cuda_SOURCES = tests/unit/test_engines.c
tests_unit_test_cuda_CPPFLAGS = $(AM_CPPFLAGS) -DTEST_CUDA
# The program's own generator is what they take data from.
tests_unit_test_generated_LDADD = src/libbench.a $(LDADD)
tests_unit_test_generated_cuda_SOURCES = tests/unit/test_generated.c
tests_unit_test_generated_cuda_LDADD = $(tests_unit_test_generated_LDADD)
tests_unit_test_generated_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DTEST_CUDA
tests_unit_test_limits_read_LDADD = src/libbench.a $(LDADD)
tests_unit_test_library_faults_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=strdup \
  -Wl,--wrap=inflateInit2_,--wrap=libdeflate_alloc_decompressor,--wrap=libdeflate_free_decompressor
tests_unit_test_team_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=pthread_create
tests_unit_test_table_LDADD = src/libbench.a $(LDADD)
tests_unit_test_zstd_device_LDADD = tests/libemulated.a $(LDADD)
tests_unit_test_zstd_device_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) $(ZSTD_CFLAGS)
# It has nothing but what is installed.
if HAVE_SHARED
library_ldadd = src/$(library_file)
library_ldflags = -Wl,-rpath,$(abs_builddir)/src
else
library_ldadd = src/libgpureduce.a $(CUDA_LIBS) $(ZSTD_LIBS)
endif
tests_unit_test_guest_LDFLAGS = $(AM_LDFLAGS) $(library_ldflags)
tests_unit_test_guest_LDADD = $(library_ldadd)
# The kernels of the GPU's decoder, on the host, with so few threads that small files have work for many.
check_LIBRARIES += tests/libemulated.a
tests_libemulated_a_SOURCES = \
	tests/lib/cuda_emulation.c tests/lib/cuda_emulation.h \
	tests/lib/zstd_emulated.c tests/lib/zstd_emulated.h \
	tests/lib/zstd_samples.c tests/lib/zstd_samples.h
# What the library has where CUDA is.
if !HAVE_CUDA
tests_libemulated_a_SOURCES += src/cuda/zstd/plan.c
endif
zstd_emulated_cppflags = $(AM_CPPFLAGS) $(ZSTD_CFLAGS) -DEXECUTE_THREADS=64 -DRESOLVE_THREADS=64 \
	-DCOPY_THREADS=32
tests_libemulated_a_CPPFLAGS = $(zstd_emulated_cppflags)
tests_unit_test_zstd_kernels_LDADD = tests/libemulated.a $(LDADD)
tests_unit_test_zstd_kernels_CPPFLAGS = $(zstd_emulated_cppflags)
# And with what runs them: the CUDA runtime is emulated, too, but for its headers.
if HAVE_CUDA
test_programs += tests/unit/test_zstd_driver tests/unit/test_device_arrays \
	tests/unit/test_device_library
endif
tests_unit_test_device_arrays_SOURCES = \
	tests/unit/test_device_arrays.c \
	tests/lib/cuda_runtime_emulated.c tests/lib/cuda_runtime_emulated.h
tests_unit_test_device_arrays_CPPFLAGS = $(zstd_emulated_cppflags) $(CUDA_CPPFLAGS)
tests_unit_test_device_arrays_LDADD = $(emulated_ldadd)
library_emulated_sources = \
	tests/lib/cuda_runtime_emulated.c tests/lib/cuda_runtime_emulated.h \
	tests/lib/cuda_tally_emulated.c \
	tests/lib/tally_emulated.cu tests/lib/tally_emulated.h \
	tests/lib/slice_emulated.cu
tests_unit_test_device_library_SOURCES = \
	tests/unit/test_device_library.c \
	$(library_emulated_sources)
tests_unit_test_device_library_CPPFLAGS = $(zstd_emulated_cppflags) $(CUDA_CPPFLAGS)
tests_unit_test_device_library_LDADD = $(emulated_ldadd)
tests_unit_test_device_library_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=cuda_check
# The example of device memory, on it.
tests_device_example_SOURCES = \
	examples/device.c \
	$(library_emulated_sources)
tests_device_example_CPPFLAGS = $(zstd_emulated_cppflags) $(CUDA_CPPFLAGS)
tests_device_example_LDADD = $(emulated_ldadd)
tests_unit_test_zstd_driver_SOURCES = \
	tests/unit/test_zstd_device.c \
	tests/lib/cuda_runtime_emulated.c tests/lib/cuda_runtime_emulated.h
tests_unit_test_zstd_driver_CPPFLAGS = $(zstd_emulated_cppflags) $(CUDA_CPPFLAGS) -DTEST_EMULATED
emulated_ldadd = tests/libemulated.a tests/libtests.a src/libinternal.a $(ZSTD_LIBS) $(MPFR_LIBS)
tests_unit_test_zstd_driver_LDADD = $(emulated_ldadd)
# And the whole program with it: a GPU that every machine has, for scripts.
if HAVE_CUDA
check_PROGRAMS += tests/gpureduce_emulated tests/gpureduce_faults tests/device_example
endif
tests_gpureduce_emulated_SOURCES = \
	tests/lib/test_main.c \
	$(library_emulated_sources)
tests_gpureduce_emulated_CPPFLAGS = $(zstd_emulated_cppflags) $(CUDA_CPPFLAGS) -DTEST_EMULATED
tests_gpureduce_emulated_LDADD = $(emulated_ldadd)
tests_gpureduce_emulated_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=cuda_check
# And on a GPU, with calls of CUDA that fail when they are told to.
tests_gpureduce_faults_SOURCES = tests/lib/test_main.c
tests_gpureduce_faults_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_gpureduce_faults_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=cuda_check
# The kernels that reduce, on the host and on a GPU.
if HAVE_CUDA
kernel_tests_cuda = tests/unit/test_reduce_cuda tests/unit/test_slice_cuda tests/unit/test_tally_cuda \
	tests/unit/test_digest_cuda
test_programs += $(kernel_tests_cuda) tests/unit/test_array_parts tests/unit/test_device_arrays_cuda \
	tests/unit/test_device_library_cuda
emulated_programs = tests/unit/test_reduce_kernels tests/unit/test_slice_kernels tests/unit/test_tally_kernels \
	tests/unit/test_digest_kernels
endif
tests_unit_test_reduce_kernels_SOURCES = \
	tests/unit/test_reduce_kernels.c \
	tests/lib/reduce_emulated.cu tests/lib/reduce_emulated.h tests/lib/cuda_emulated.cuh
tests_unit_test_reduce_kernels_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_test_reduce_kernels_LDADD = tests/libemulated.a $(LDADD)
tests_unit_test_reduce_cuda_SOURCES = tests/unit/test_reduce_kernels.c
tests_unit_test_reduce_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DTEST_CUDA
tests_unit_test_array_parts_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_test_device_arrays_cuda_SOURCES = tests/unit/test_device_arrays.c
tests_unit_test_device_library_cuda_SOURCES = tests/unit/test_device_library.c
tests_unit_test_device_library_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DTEST_CUDA
tests_unit_test_device_library_cuda_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=cuda_check
tests_unit_test_device_arrays_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DTEST_CUDA
tests_unit_test_tally_kernels_SOURCES = \
	tests/unit/test_tally_kernels.c \
	tests/lib/tally_emulated.cu tests/lib/tally_emulated.h tests/lib/cuda_emulated.cuh
tests_unit_test_tally_kernels_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_test_tally_kernels_LDADD = tests/libemulated.a $(LDADD)
tests_unit_test_tally_cuda_SOURCES = tests/unit/test_tally_kernels.c
tests_unit_test_tally_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DTEST_CUDA
tests_unit_test_slice_kernels_SOURCES = \
	tests/unit/test_slice_kernels.c \
	tests/lib/slice_emulated.cu tests/lib/tally_emulated.h tests/lib/cuda_emulated.cuh
tests_unit_test_slice_kernels_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_test_slice_kernels_LDADD = tests/libemulated.a $(LDADD)
tests_unit_test_slice_cuda_SOURCES = tests/unit/test_slice_kernels.c
tests_unit_test_slice_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DTEST_CUDA
tests_unit_test_digest_kernels_SOURCES = \
	tests/unit/test_digest_kernels.c \
	tests/lib/digest_emulated.cu tests/lib/digest_emulated.h tests/lib/cuda_emulated.cuh
tests_unit_test_digest_kernels_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
tests_unit_test_digest_kernels_LDADD = tests/libemulated.a $(LDADD)
tests_unit_test_digest_cuda_SOURCES = tests/unit/test_digest_kernels.c
tests_unit_test_digest_cuda_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) -DTEST_CUDA
# The host compiler takes two and a half times as long with -O3, for kernels that are little faster then.
emulated_objects = tests/lib/reduce_emulated.$(OBJEXT) tests/lib/tally_emulated.$(OBJEXT) \
	tests/lib/slice_emulated.$(OBJEXT) tests/lib/digest_emulated.$(OBJEXT)
$(emulated_objects): NVCCFLAGS := $(NVCCFLAGS:-O3=-O1)
# A GPU fails at vectors that are not aligned, which the processor loads.
aligned_objects = tests/lib/slice_emulated.$(OBJEXT)
$(aligned_objects): NVCCFLAGS += \
	-Xcompiler -fsanitize=alignment,-fsanitize-undefined-trap-on-error
cuda_depfiles += tests/lib/$(DEPDIR)/reduce_emulated.Po tests/lib/$(DEPDIR)/tally_emulated.Po \
	tests/lib/$(DEPDIR)/slice_emulated.Po tests/lib/$(DEPDIR)/digest_emulated.Po
LDADD = tests/libtests.a src/libinternal.a $(CUDA_LIBS) $(ZSTD_LIBS) $(MPFR_LIBS)

test_scripts = \
	tests/cli/gpus.sh \
	tests/cli/bench.sh \
	tests/cli/axis_gpu.sh \
	tests/cli/faults.sh \
	tests/cli/progress.sh \
	tests/cli/data.sh \
	tests/cli/dcp.sh \
	tests/cli/gpu_decode.sh \
	tests/cli/unreadable.sh \
	tests/cli/tallies.sh \
	tests/cli/arrays.sh \
	tests/cli/frames.sh \
	tests/cli/words.sh \
	tests/cli/zstd.sh \
	tests/cli/completions.sh \
	tests/cli/damage.sh \
	tests/cli/formats.sh \
	tests/cli/large_frame.sh \
	tests/cli/mpi.sh \
	tests/cli/cuda_faults.sh \
	tests/cli/partial.sh \
	tests/cli/json.sh \
	tests/cli/many_arrays.sh \
	tests/cli/axis.sh \
	tests/cli/hdf5.sh \
	tests/cli/meaning.sh \
	tests/cli/netcdf.sh \
	tests/cli/python.sh \
	tests/cli/abi.sh \
	tests/cli/library.sh \
	tests/cli/fits.sh \
	tests/cli/nifti.sh \
	tests/cli/fortran.sh \
	tests/cli/pytorch.sh \
	tests/cli/zarr.sh \
	tests/cli/records.sh \
	tests/cli/gguf.sh \
	tests/cli/gzip.sh \
	tests/cli/netcdf3.sh \
	tests/cli/bootstrap.sh \
	tests/cli/cli.sh \
	tests/cli/examples.sh \
	tests/cli/diff.sh \
	tests/cli/digest.sh \
	tests/cli/diff_cast.sh \
	tests/cli/diff_layouts.sh \
	tests/cli/diff_scaled.sh \
	tests/cli/diff_types.sh \
	tests/cli/diff_values.sh \
	tests/cli/errors.sh \
	tests/cli/files.sh \
	tests/cli/unsupported.sh \
	tests/cli/hostile.sh \
	tests/cli/missing.sh \
	tests/cli/missing_gpu.sh \
	tests/cli/missing_values.sh \
	tests/cli/rows.sh \
	tests/cli/quantiles.sh \
	tests/cli/hardening.sh \
	tests/cli/cold.sh \
	tests/cli/large.sh \
	tests/cli/layers.sh \
	tests/cli/manual.sh \
	tests/cli/many.sh \
	tests/cli/pages.sh \
	tests/cli/pipes.sh \
	tests/cli/profile.sh \
	tests/cli/types.sh \
	tests/cli/moments.sh

# Those that take longest come first, here and in the lists: at the end, cores would wait for them.
TESTS = $(test_scripts) $(emulated_programs) $(test_programs)

# For tests/cli/faults.sh, to be preloaded. Sanitizers, which CFLAGS may ask for, are not for it.
check_DATA = tests/lib/shim.so
CLEANFILES += tests/lib/shim.so
tests/lib/shim.so: tests/lib/shim.c
	@$(MKDIR_P) $(@D)
	$(AM_V_CCLD)$(CC) -std=gnu11 $(WARN_CFLAGS) -O1 -shared -fPIC -o $@ $(srcdir)/tests/lib/shim.c -ldl

# Golden files and samples: all of them.
EXTRA_DIST += $(test_scripts) tests/lib/shim.c tests/lib/driver.sh tests/lib/lib.sh tests/lib/axis_check.py tests/lib/chunks_check.py tests/lib/diff_oracle.py tests/lib/diff_cast.py tests/lib/diff_scaled.py tests/lib/diff_types.py tests/lib/digest.py tests/lib/expected.py tests/lib/generate.py tests/lib/library_check.py tests/lib/make_arrays.py tests/lib/make_dcp.py tests/lib/make_digest.py tests/lib/make_layouts.py tests/lib/make_unsupported.py tests/lib/missing_check.py tests/lib/make_hdf5.py tests/lib/make_meaning.py tests/lib/make_netcdf.py tests/lib/make_netcdf3.py tests/lib/make_filters.py tests/lib/make_fits.py tests/lib/make_nifti.py tests/lib/make_fortran.py tests/lib/make_pytorch.py tests/lib/make_gguf.py tests/lib/make_records.py tests/lib/make_zarr.py tests/lib/make_partial.py tests/lib/names_oracle.py tests/lib/rows_oracle.py tests/lib/shortest.py tests/lib/terminal.py tests/golden data

#
# make check-long: tests that take minutes.
#
long_tests = tests/slow/long.sh
EXTRA_DIST += $(long_tests) tests/slow/figures.py

.PHONY: check-long
check-long:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(long_tests)'

#
# make check-sanitize: the kernels under compute-sanitizer, on a GPU.
#
EXTRA_DIST += tests/slow/sanitize.sh

.PHONY: check-sanitize
check-sanitize: all
	$(MAKE) $(AM_MAKEFLAGS) check TESTS=tests/slow/sanitize.sh check_LIBRARIES= \
	  check_PROGRAMS='$(kernel_tests_cuda)'

#
# make check-valgrind: the tests under valgrind's memcheck, where every program is slower by a factor
# of 20 to 50; TESTS chooses some of them, and STRESS_RUNS are fewer. valgrind knows no AVX-512 and
# tells programs so: what is looked at is AVX2 and below. What it finds makes a test fail,
# whose outputs it does not touch, and stands in valgrind-logs, a file a process.
#
VALGRIND = valgrind
VALGRIND_FLAGS = --leak-check=full --error-exitcode=97 \
	--suppressions=$(abs_srcdir)/tests/lib/valgrind.supp
valgrind_logs = valgrind-logs
EXTRA_DIST += tests/lib/valgrind.supp tests/lib/under.sh

.PHONY: check-valgrind
check-valgrind:
	@if $(VALGRIND) --version >/dev/null 2>&1; then \
	  under='$(VALGRIND) $(VALGRIND_FLAGS) --log-file=$(abs_builddir)/$(valgrind_logs)/%p'; \
	  status=0; rm -rf $(valgrind_logs); $(MKDIR_P) $(valgrind_logs); \
	  $(MAKE) $(AM_MAKEFLAGS) check CHECK_UNDER="$$under" STRESS_RUNS="$${STRESS_RUNS:-100}" \
	    LOG_COMPILER='$(SHELL) $(srcdir)/tests/lib/under.sh' || status=1; \
	  found=`grep -l 'ERROR SUMMARY: [1-9]' $(valgrind_logs)/*`; \
	  echo "`ls $(valgrind_logs) | wc -l` processes under valgrind, with errors:" $${found:-none}; \
	  test $$status -eq 0 && test -z "$$found"; \
	else \
	  echo "skipped, there is no valgrind"; \
	fi

TEST_EXTENSIONS = .sh
tap_driver = $(SHELL) $(top_srcdir)/tests/lib/driver.sh env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER = $(tap_driver)
SH_LOG_DRIVER = $(tap_driver)
# What they are written for; bash, which configure chooses, takes a third longer for some.
SH_LOG_COMPILER = /bin/sh
AM_TESTS_ENVIRONMENT = \
	GPUREDUCE='$(abs_top_builddir)/src/gpureduce$(EXEEXT)'; export GPUREDUCE; \
	HARDENING='$(HARDENING)'; export HARDENING; \
	LIBRARY_CC='$(CC) $(CFLAGS)'; export LIBRARY_CC; \
	MPICC='$(MPICC)'; export MPICC; \
	CUDA_CPPFLAGS='$(CUDA_CPPFLAGS)'; export CUDA_CPPFLAGS; \
	CUDA_LIBS='$(CUDA_LIBS)'; export CUDA_LIBS; \
	LIBRARY_LIBS='$(CUDA_LIBS) $(ZSTD_LIBS) $(LIBS)'; export LIBRARY_LIBS; \
	SHIM='$(abs_top_builddir)/tests/lib/shim.so'; export SHIM; \
	ZSTD='$(ZSTD)'; export ZSTD; \
	PZSTD='$(PZSTD)'; export PZSTD; \
	GPUREDUCE_EMULATED='$(abs_top_builddir)/tests/gpureduce_emulated$(EXEEXT)'; export GPUREDUCE_EMULATED; \
	GPUREDUCE_FAULTS='$(abs_top_builddir)/tests/gpureduce_faults$(EXEEXT)'; export GPUREDUCE_FAULTS;
