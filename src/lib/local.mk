# src/lib: the functions of the public header.
include_HEADERS = include/gpureduce.h
library_sources += \
	src/lib/context.c \
	src/lib/objects.h \
	src/lib/shards.c
