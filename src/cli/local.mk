# src/cli: the command line and what is printed.
library_sources += \
	src/cli/arguments.c src/cli/arguments.h \
	src/cli/axis.c \
	src/cli/check.c \
	src/cli/commands.h \
	src/cli/command_line.c src/cli/command_line.h \
	src/cli/diff.c \
	src/cli/failure.c src/cli/failure.h \
	src/cli/gnuplot.c src/cli/gnuplot.h \
	src/cli/list.c \
	src/cli/manifest.c \
	src/cli/merge.c \
	src/cli/message.c src/cli/message.h \
	src/cli/operands.c src/cli/operands.h \
	src/cli/options.h \
	src/cli/output.c src/cli/output.h \
	src/cli/process.c src/cli/process.h \
	src/cli/program.c src/cli/program.h \
	src/cli/progress.c src/cli/progress.h \
	src/cli/record.c src/cli/record.h \
	src/cli/reduce.c \
	src/cli/report.c src/cli/report.h \
	src/cli/report_histogram.c \
	src/cli/report_plot.c \
	src/cli/rows.c src/cli/rows.h \
	src/cli/stdio.c src/cli/stdio.h \
	src/cli/writer.c src/cli/writer.h
