/*
 * Numbers in the memory of a GPU: reduced where they are, at once and piece by piece, to the same bits.
 *
 *     cc device.c $(pkg-config --cflags --libs gpureduce) -I/usr/local/cuda/include \
 *         -L/usr/local/cuda/lib64 -lcudart -o device
 *
 * It exits with 77 where there is no GPU.
 */
#include <cuda_runtime_api.h>
#include <gpureduce.h>
#include <stdio.h>

enum { COUNT = 100000, PIECE = 30000, SKIPPED = 77 };

static float numbers[COUNT];

/* Prints the results that the request asked for, and frees them. */
static int print(const char *name, gpr_result *result)
{
    double sum, std;
    const int good = gpr_result_double(result, "sum", &sum) == GPR_OK &&
                     gpr_result_double(result, "std", &std) == GPR_OK;

    if (good)
        printf("%s: sum %.17g, standard deviation %.17g\n", name, sum, std);
    gpr_result_free(result);
    return good;
}

int main(void)
{
    const uint64_t shape[1] = {COUNT};
    gpr_context *context = NULL;
    gpr_request *request = NULL;
    gpr_view *view = NULL;
    gpr_input *input = NULL;
    gpr_accumulator *accumulator = NULL;
    gpr_result *result = NULL;
    cudaStream_t stream = NULL;
    cudaError_t error;
    void *memory = NULL;
    int status = 1;

    for (int i = 0; i < COUNT; i++)
        numbers[i] = (float)i / 8;
    error = cudaMalloc(&memory, sizeof numbers);
    if (error != cudaSuccess) {
        fprintf(stderr, "device: %s\n", cudaGetErrorString(error));
        return error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ? SKIPPED : 1;
    }
    /* The library's work comes after all that was put on the stream before. */
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess ||
        cudaMemcpyAsync(memory, numbers, sizeof numbers, cudaMemcpyHostToDevice, stream) !=
            cudaSuccess ||
        gpr_context_new(&context) != GPR_OK)
        goto end;

    if (gpr_request_new(context, &request) != GPR_OK || gpr_request_op(request, "sum") != GPR_OK ||
        gpr_request_op(request, "std") != GPR_OK || gpr_view_new(context, &view) != GPR_OK ||
        gpr_view_set_data(view, memory, "f32", GPR_ORDER_NATIVE, 1, shape, NULL) != GPR_OK ||
        gpr_view_set_memory(view, GPR_MEMORY_CUDA, 0, stream) != GPR_OK ||
        gpr_open_view(context, view, &input) != GPR_OK ||
        gpr_reduce(input, 0, request, &result) != GPR_OK || !print("at once", result))
        goto end;

    /* Nothing waits for the GPU before the snapshot. */
    if (gpr_accumulator_new(context, "f32", request, &accumulator) != GPR_OK)
        goto end;
    for (int i = 0; i < COUNT; i += PIECE)
        if (gpr_accumulator_add_device(accumulator, (float *)memory + i,
                                       COUNT - i < PIECE ? COUNT - i : PIECE, stream) != GPR_OK)
            goto end;
    if (gpr_accumulator_snapshot(accumulator, &result) != GPR_OK || !print("in pieces", result))
        goto end;
    status = 0;
end:
    if (status)
        fprintf(stderr, "device: %s\n", context ? gpr_error_text(context) : "CUDA or memory fails");
    gpr_accumulator_free(accumulator);
    gpr_close(input);
    gpr_view_free(view);
    gpr_request_free(request);
    gpr_context_free(context);
    if (stream)
        cudaStreamDestroy(stream);
    cudaFree(memory);
    return status;
}
