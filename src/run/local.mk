# src/run: sessions, runs and workers.
library_sources += \
	src/run/run.c src/run/run.h
