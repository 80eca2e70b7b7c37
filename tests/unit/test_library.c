/*
 * gpureduce.h: contexts, settings and errors.
 */
#include "config.h"

#include <gpureduce.h>
#include <stdint.h>
#include <string.h>

#include "lib/allocate.h"
#include "lib/tap.h"

/* A context; ends the test without memory. */
static gpr_context *new_context(void)
{
    gpr_context *context = NULL;

    if (gpr_context_new(&context) != GPR_OK)
        bail("a context");
    return context;
}

static void test_contexts(void)
{
    gpr_context *context = new_context();

    tap_ok(strcmp(gpr_version(), PACKAGE_VERSION) == 0, "the version");
    tap_ok(gpr_error_status(context) == GPR_OK && strcmp(gpr_error_text(context), "") == 0 &&
               gpr_error_offset(context) == UINT64_MAX && !gpr_error_array(context),
           "no error at first");
    tap_ok(gpr_context_set(context, GPR_THREADS, 3) == GPR_OK &&
               gpr_context_set(context, GPR_MEMORY, 1 << 20) == GPR_OK &&
               gpr_context_set(context, GPR_DEVICE, GPR_DEVICE_CPU) == GPR_OK &&
               gpr_context_set(context, GPR_GPU, 1) == GPR_OK,
           "settings");
    tap_ok(gpr_context_set(context, GPR_DEVICE, 3) == GPR_ERROR_ARGUMENT &&
               gpr_error_status(context) == GPR_ERROR_ARGUMENT &&
               strcmp(gpr_error_text(context), "no device has the number 3") == 0,
           "a device that does not exist: %s", gpr_error_text(context));
    tap_ok(gpr_context_set(context, (gpr_setting)9, 0) == GPR_ERROR_ARGUMENT,
           "a setting that does not exist: %s", gpr_error_text(context));
    tap_ok(gpr_context_set(context, GPR_THREADS, UINT64_MAX) == GPR_ERROR_ARGUMENT,
           "too many threads: %s", gpr_error_text(context));
    tap_ok(gpr_context_set(context, GPR_THREADS, 0) == GPR_OK &&
               strcmp(gpr_error_text(context), "") == 0,
           "a good call forgets the error");
    gpr_cancel(context); /* outside of calls: nothing */
    gpr_context_free(context);
    gpr_context_free(NULL);
}

int main(void)
{
    test_contexts();
    return tap_done();
}
