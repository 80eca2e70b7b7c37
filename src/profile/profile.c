#include "config.h"

#include "profile/profile.h"

const char *profile_stage_name(enum profile_stage stage)
{
    static const char *const names[PROFILE_STAGES] = {
        [PROFILE_READ] = "read",     [PROFILE_DECODE] = "decode",
        [PROFILE_COPY] = "copy",     [PROFILE_GPU_DECODE] = "gpu_decode",
        [PROFILE_VERIFY] = "verify", [PROFILE_KERNEL] = "kernel",
        [PROFILE_CHECK] = "check",   [PROFILE_REDUCE] = "reduce",
    };

    return names[stage];
}

const char *profile_phase_name(enum profile_phase phase)
{
    static const char *const names[PROFILE_PHASES] = {
        [PROFILE_RAMP_UP] = "ramp-up",
        [PROFILE_STEADY] = "steady",
        [PROFILE_FINISH] = "finish",
    };

    return names[phase];
}

double profile_rate(uint64_t bytes, uint64_t time)
{
    return time ? (double)bytes / (double)time : 0; /* bytes a nanosecond are GB/s */
}

double profile_part(uint64_t some, uint64_t whole)
{
    return whole == 0 ? 0 : some < whole ? (double)some / (double)whole : 1;
}

double profile_utilisation(const struct profile *p, enum profile_stage stage)
{
    return profile_part(p->stages[stage].busy, p->stages[stage].capacity);
}

uint64_t profile_time(const struct profile *p)
{
    return p->phases[PROFILE_RAMP_UP].time + p->phases[PROFILE_STEADY].time +
           p->phases[PROFILE_FINISH].time;
}
