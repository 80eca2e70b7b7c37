# src/cli: the command line and what is printed.
library_sources += \
	src/cli/options.c src/cli/options.h \
	src/cli/progress.c src/cli/progress.h \
	src/cli/report.c src/cli/report.h
