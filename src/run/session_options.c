#include "config.h"

#include "run/session_options.h"

const struct session_tuning session_tuning_shipped = {
    .gpu = &gpu_tuning_shipped,
    .compressed_workers = 16,
};
