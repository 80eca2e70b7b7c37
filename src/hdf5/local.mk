# src/hdf5: gpureduce-hdf5, which calls libhdf5 for gpureduce, in a process of its own.
if HAVE_HDF5
libexec_PROGRAMS += src/gpureduce-hdf5
endif
src_gpureduce_hdf5_SOURCES = \
	src/hdf5/attribute.c src/hdf5/attribute.h \
	src/hdf5/library.c src/hdf5/library.h \
	src/hdf5/main.c \
	src/hdf5/netcdf.c src/hdf5/netcdf.h \
	src/hdf5/walk.c src/hdf5/walk.h
src_gpureduce_hdf5_CPPFLAGS = $(src_cppflags) $(HDF5_CFLAGS)
src_gpureduce_hdf5_LDADD = src/libinternal.a $(HDF5_LIBS) $(ZSTD_LIBS)
