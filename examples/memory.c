/*
 * Numbers in memory: a column of a table, without the elements that are missing.
 *
 *     cc memory.c $(pkg-config --cflags --libs gpureduce) -o memory
 */
#include <gpureduce.h>
#include <stdio.h>

int main(void)
{
    /* Three rows of a temperature and a pressure; the second temperature was not measured. */
    static const double table[3][2] = {{21.5, 1013.25}, {-9999.0, 1009.5}, {19.25, 1011.0}};
    static const unsigned char missing[3] = {0, 1, 0};
    const uint64_t shape[1] = {3};
    const int64_t strides[1] = {sizeof table[0]};
    static const char *const ops[] = {"sum", "mean", "max", "count"};
    const size_t op_count = sizeof ops / sizeof *ops;
    gpr_context *context = NULL;
    gpr_view *view = NULL;
    gpr_input *input = NULL;
    gpr_request *request = NULL;
    gpr_result *result = NULL;
    int status = 1;

    if (gpr_context_new(&context) != GPR_OK)
        return 1;
    if (gpr_view_new(context, &view) != GPR_OK ||
        gpr_view_set_data(view, &table[0][0], "f64", GPR_ORDER_NATIVE, 1, shape, strides) !=
            GPR_OK ||
        gpr_view_set_mask(view, GPR_MASK_MISSING_BYTES, missing, 0) != GPR_OK ||
        gpr_open_view(context, view, &input) != GPR_OK ||
        gpr_request_new(context, &request) != GPR_OK)
        goto end;
    for (size_t i = 0; i < op_count; i++)
        if (gpr_request_op(request, ops[i]) != GPR_OK)
            goto end;
    if (gpr_reduce(input, 0, request, &result) != GPR_OK)
        goto end;
    for (size_t i = 0; i < op_count; i++) {
        char text[64]; /* as gpureduce(1) prints it */

        if (gpr_result_text(result, ops[i], text, sizeof text) == 0)
            goto end;
        printf("%s\t%s\n", ops[i], text);
    }
    status = 0;
end:
    if (status)
        fprintf(stderr, "memory: %s\n", gpr_error_text(context));
    gpr_result_free(result);
    gpr_request_free(request);
    gpr_close(input);
    gpr_view_free(view);
    gpr_context_free(context);
    return status;
}
