# src/profile: what the stages of a run did.
library_sources += \
	src/profile/bottleneck.c src/profile/bottleneck.h \
	src/profile/machine_limits.c src/profile/machine_limits.h \
	src/profile/profile.c src/profile/profile.h
