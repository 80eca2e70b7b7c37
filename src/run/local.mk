# src/run: sessions, runs and workers.
library_sources += \
	src/run/reduction.h \
	src/run/run.c \
	src/run/session.h
