# src/lib: the functions of the public header, and the libraries that are installed.
include_HEADERS = include/gpureduce.h
library_sources += \
	src/lib/accumulator.c \
	src/lib/axis.c \
	src/lib/build.c \
	src/lib/context.c \
	src/lib/device.c src/lib/device.h \
	src/lib/diff.c \
	src/lib/input.c \
	src/lib/objects.c src/lib/objects.h \
	src/lib/reducer.c src/lib/reducer.h \
	src/lib/request.c \
	src/lib/result.c src/lib/result.h \
	src/lib/shards.c \
	src/lib/view.c

# The objects of this folder, and those that they need.
library_parts = `printf '%s\n' $(src_libinternal_a_OBJECTS) | grep '^src/lib/'` src/libinternal.a

# libgpureduce.a is one object in which all names but those of the header are local.
lib_LIBRARIES = src/libgpureduce.a
src_libgpureduce_a_SOURCES =
src_libgpureduce_a_LIBADD = src/libgpureduce.o
src/libgpureduce.o: src/libinternal.a
	$(AM_V_CCLD)$(CC) $(CFLAGS) -fno-sanitize=all -nostdlib -r -o $@-all $(library_parts) && \
	  $(OBJCOPY) --wildcard --keep-global-symbol='gpr_*' $@-all $@ && rm -f $@-all
CLEANFILES += src/libgpureduce.o src/libgpureduce.o-all

# libgpureduce.so. Hooks install it as programs are, so that install-strip strips it. With nodelete dlclose leaves
# it in memory: a process that has set GPR_MAPPED has its handler of SIGBUS for ever.
EXTRA_DIST += src/lib/libgpureduce.map
library_soname = libgpureduce.so.$(LIBRARY_MAJOR)
library_file = libgpureduce.so.$(PACKAGE_VERSION)
if HAVE_SHARED
shared_library = src/$(library_file)
endif
noinst_DATA = $(shared_library)
src/$(library_file): src/libinternal.a src/lib/libgpureduce.map
	$(AM_V_CCLD)$(CC) $(CFLAGS) -shared $(SHARED_LDFLAGS) $(QUICK_LDFLAGS) $(LDFLAGS) -o $@ \
	  -Wl,-z,nodelete -Wl,-soname,$(library_soname) -Wl,--version-script,$(srcdir)/src/lib/libgpureduce.map \
	  $(library_parts) $(CUDA_LIBS) $(ZSTD_LIBS) $(LIBS)
	$(AM_V_at)cd src && rm -f $(library_soname) libgpureduce.so && \
	  $(LN_S) $(library_file) $(library_soname) && $(LN_S) $(library_soname) libgpureduce.so
CLEANFILES += src/$(library_file) src/$(library_soname) src/libgpureduce.so

install-exec-hook:
	test -z '$(shared_library)' || { $(INSTALL_PROGRAM) $(shared_library) '$(DESTDIR)$(libdir)' && \
	  cd '$(DESTDIR)$(libdir)' && rm -f $(library_soname) libgpureduce.so && \
	  $(LN_S) $(library_file) $(library_soname) && $(LN_S) $(library_soname) libgpureduce.so; }
uninstall-hook:
	rm -f '$(DESTDIR)$(libdir)/$(library_file)' '$(DESTDIR)$(libdir)/$(library_soname)' \
	  '$(DESTDIR)$(libdir)/libgpureduce.so'

pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = src/lib/gpureduce.pc
