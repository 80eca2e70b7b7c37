#
# make fuzz: the fuzz targets, built by clang with libFuzzer and sanitizers whatever compiler the
# rest is built with. make fuzz-run runs each for FUZZ_SECONDS, one after the other; the inputs it
# comes upon stay in fuzz-corpus for the next time, and those that fail in fuzz-failures. Inputs are
# drawn anew each time, or from FUZZ_SEED where that is given; FUZZ_RUNS of them at most.
#
FUZZ_CC = clang
FUZZ_SANITIZERS = address,undefined
FUZZ_CFLAGS = -g1 -O1 -fno-omit-frame-pointer -fno-sanitize-recover=all \
	-fsanitize=$(FUZZ_SANITIZERS)
FUZZ_SECONDS = 60
FUZZ_SEED =
FUZZ_RUNS =
fuzz_programs = \
	tests/fuzz/fuzz_codecs \
	tests/fuzz/fuzz_container \
	tests/fuzz/fuzz_dcp \
	tests/fuzz/fuzz_hdf5 \
	tests/fuzz/fuzz_unsupported \
	tests/fuzz/fuzz_npy \
	tests/fuzz/fuzz_options \
	tests/fuzz/fuzz_partial \
	tests/fuzz/fuzz_pickle \
	tests/fuzz/fuzz_readers \
	tests/fuzz/fuzz_record \
	tests/fuzz/fuzz_reduce \
	tests/fuzz/fuzz_zarr \
	tests/fuzz/fuzz_zstd \
	tests/fuzz/fuzz_zstd_block
EXTRA_PROGRAMS = $(fuzz_programs)
EXTRA_LIBRARIES = tests/fuzz/libfuzzed.a
tests_fuzz_libfuzzed_a_CPPFLAGS = $(AM_CPPFLAGS) $(ZSTD_CFLAGS)
tests_fuzz_libfuzzed_a_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer-no-link
tests_fuzz_libfuzzed_a_SOURCES = $(library_sources) $(cuda_absent) \
	tests/fuzz/fuzz.c tests/fuzz/fuzz.h \
	$(tests_libtests_a_SOURCES)
fuzz_cppflags = $(AM_CPPFLAGS) $(ZSTD_CFLAGS)
fuzz_cflags = $(AM_CFLAGS) -fsanitize=fuzzer-no-link
fuzz_ldflags = -fsanitize=fuzzer -Wl,--wrap=message_error,--wrap=message_warning
fuzz_ldadd = tests/fuzz/libfuzzed.a $(ZSTD_LIBS) $(MPFR_LIBS)
tests_fuzz_fuzz_codecs_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_codecs_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_codecs_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_codecs_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_container_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_container_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_container_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_container_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_dcp_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_dcp_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_dcp_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_dcp_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_hdf5_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_hdf5_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_hdf5_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_hdf5_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_unsupported_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_unsupported_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_unsupported_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_unsupported_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_npy_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_npy_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_npy_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_npy_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_options_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_options_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_options_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_options_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_partial_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_partial_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_partial_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_partial_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_zarr_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_zarr_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_zarr_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_zarr_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_pickle_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_pickle_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_pickle_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_pickle_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_readers_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_readers_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_readers_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_readers_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_record_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_record_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_record_LDFLAGS = $(fuzz_ldflags) -Wl,--wrap=getline,--wrap=__getdelim
tests_fuzz_fuzz_record_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_reduce_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_reduce_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_reduce_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_reduce_LDADD = $(fuzz_ldadd)
tests_fuzz_fuzz_zstd_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_zstd_CFLAGS = $(fuzz_cflags)
tests_fuzz_fuzz_zstd_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_zstd_LDADD = $(fuzz_ldadd)
# The decoder compares numbers in its innermost loops: to have each comparison noted takes half of the
# time, and there are no magic numbers to be found by that.
tests_fuzz_fuzz_zstd_block_SOURCES = \
	tests/fuzz/fuzz_zstd_block.c \
	tests/lib/zstd_blocks.c \
	src/zstd/block.c \
	src/zstd/execute.c \
	src/zstd/literals.c \
	src/zstd/ring.c \
	src/zstd/sequences.c
tests_fuzz_fuzz_zstd_block_CPPFLAGS = $(fuzz_cppflags)
tests_fuzz_fuzz_zstd_block_CFLAGS = $(fuzz_cflags) -fno-sanitize-coverage=trace-cmp
tests_fuzz_fuzz_zstd_block_LDFLAGS = $(fuzz_ldflags)
tests_fuzz_fuzz_zstd_block_LDADD = $(fuzz_ldadd)
CLEANFILES += $(fuzz_programs) tests/fuzz/libfuzzed.a
EXTRA_DIST += tests/fuzz/run.sh tests/fuzz/corpus

.PHONY: fuzz fuzz-run fuzz-programs
fuzz-programs: $(fuzz_programs)
fuzz:
	@echo 'int LLVMFuzzerTestOneInput(const unsigned char *, unsigned long); \
	  int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) \
	  { return d && n == 1 && *d > 255; }' | \
	  $(FUZZ_CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer -x c -o /dev/null - || \
	  { echo "make fuzz: clang with libFuzzer is needed, and '$(FUZZ_CC)' is not that" >&2; \
	    exit 1; }
	$(MAKE) $(AM_MAKEFLAGS) CC='$(FUZZ_CC)' CFLAGS='$(FUZZ_CFLAGS)' fuzz-programs

fuzz-run: fuzz
	srcdir='$(srcdir)' FUZZ_SEED='$(FUZZ_SEED)' FUZZ_RUNS='$(FUZZ_RUNS)' \
	  $(SHELL) $(srcdir)/tests/fuzz/run.sh $(FUZZ_SECONDS) $(fuzz_programs)

