# src/sys: what is not about reductions.
library_sources += \
	src/sys/align.h \
	src/sys/buffer.c src/sys/buffer.h \
	src/sys/bytes.h \
	src/sys/clock.h \
	src/sys/escape.c src/sys/escape.h \
	src/sys/float_mode.h \
	src/sys/inline.h \
	src/sys/group.c src/sys/group.h \
	src/sys/grow.h \
	src/sys/json.c src/sys/json.h \
	src/sys/mapping.c src/sys/mapping.h \
	src/sys/mutex.h \
	src/sys/operand.h \
	src/sys/plural.h \
	src/sys/point.h \
	src/sys/processor.h \
	src/sys/search.h \
	src/sys/signals.c src/sys/signals.h \
	src/sys/team.c src/sys/team.h \
	src/sys/timeline.c src/sys/timeline.h \
	src/sys/waiters.c src/sys/waiters.h \
	src/sys/whole.h
