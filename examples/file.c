/*
 * Files of any format that gpureduce reads: the sum and the largest element of each array.
 *
 *     cc file.c $(pkg-config --cflags --libs gpureduce) -o file
 *     ./file model.safetensors measurements.nc
 */
#include <gpureduce.h>
#include <stdio.h>

/* Prints a line for each array of a file. Arrays that cannot be read have a line that says why. */
static gpr_status print_file(gpr_context *context, const gpr_request *request, const char *path)
{
    gpr_input *input = NULL;
    gpr_status status = gpr_open_path(context, path, NULL, &input);

    for (size_t i = 0; status == GPR_OK && i < gpr_input_arrays(input); i++) {
        const char *why = gpr_array_why_unreadable(input, i);
        gpr_result *result = NULL;
        char sum[400], max[400]; /* integers may have many digits; numbers have at most 25 */

        printf("%s\t%s\t%s\t", path, gpr_array_name(input, i), gpr_array_dtype(input, i));
        if (why) {
            printf("%s\n", why);
            continue;
        }
        status = gpr_reduce(input, i, request, &result);
        if (status == GPR_OK) {
            gpr_result_text(result, "sum", sum, sizeof sum);
            gpr_result_text(result, "max", max, sizeof max);
            printf("%s\t%s\n", sum, max);
        }
        gpr_result_free(result);
    }
    if (status != GPR_OK)
        fprintf(stderr, "file: %s\n", gpr_error_text(context));
    gpr_close(input);
    return status;
}

int main(int argc, char **argv)
{
    gpr_context *context = NULL;
    gpr_request *request = NULL;
    int failures = 0;

    if (gpr_context_new(&context) != GPR_OK)
        return 1;
    if (gpr_request_new(context, &request) != GPR_OK || gpr_request_op(request, "sum") != GPR_OK ||
        gpr_request_op(request, "max") != GPR_OK) {
        fprintf(stderr, "file: %s\n", gpr_error_text(context));
        failures++;
    }
    for (int i = 1; i < argc && request; i++)
        failures += print_file(context, request, argv[i]) != GPR_OK;
    gpr_request_free(request);
    gpr_context_free(context);
    return failures > 0;
}
