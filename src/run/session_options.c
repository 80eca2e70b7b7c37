#include "config.h"

#include "run/session_options.h"

const char *const nan_policy_words[] = {
    [NAN_PROPAGATE] = "propagate", [NAN_SKIP] = "skip", [NAN_ERROR] = "error", NULL};

const struct session_tuning session_tuning_shipped = {
    .gpu = &gpu_tuning_shipped,
    .compressed_workers = 16,
};
