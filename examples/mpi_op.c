/*
 * A reduction over the ranks of an MPI program whose result has the same bits for any number of ranks:
 * an MPI_Op merges accumulators, which travel as text of a fixed size.
 *
 *     mpicc mpi_op.c $(pkg-config --cflags --libs gpureduce) -o mpi_op
 *     mpirun -n 4 ./mpi_op
 */
#include <gpureduce.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = 4096, ELEMENTS = 100000 };

/* An MPI_Op has no argument of its own. */
static gpr_context *context;
static gpr_request *request;

/* Ends all ranks unless a call went well. */
static void check(int good)
{
    if (!good) {
        fprintf(stderr, "mpi_op: %s\n", context ? gpr_error_text(context) : "out of memory");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static gpr_accumulator *from_text(const char *text)
{
    gpr_accumulator *accumulator = NULL;

    check(gpr_accumulator_read(context, text, strlen(text), request, &accumulator) == GPR_OK);
    return accumulator;
}

/* Merges accumulators from `in` into those of `inout`, as MPI_User_function has it. */
static void merge(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    (void)datatype;
    for (int i = 0; i < *length; i++) {
        char *text = (char *)inout + (size_t)i * TEXT_SIZE;
        gpr_accumulator *other = from_text((char *)in + (size_t)i * TEXT_SIZE);
        gpr_accumulator *accumulator = from_text(text);
        size_t size;

        check(gpr_accumulator_merge(accumulator, other) == GPR_OK);
        size = gpr_accumulator_write(accumulator, text, TEXT_SIZE);
        check(size > 0 && size < TEXT_SIZE);
        gpr_accumulator_free(other);
        gpr_accumulator_free(accumulator);
    }
}

int main(int argc, char **argv)
{
    static char mine[TEXT_SIZE], all[TEXT_SIZE];
    int rank, ranks;
    uint64_t begin, count;
    double *numbers;
    gpr_view *view = NULL;
    gpr_accumulator *accumulator = NULL;
    MPI_Datatype text_type;
    MPI_Op merge_op;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    /* This rank's part of the numbers 0.0, 0.1, ... */
    begin = (uint64_t)ELEMENTS * rank / ranks;
    count = (uint64_t)ELEMENTS * (rank + 1) / ranks - begin;
    numbers = malloc(count * sizeof *numbers + 1);
    check(numbers != NULL);
    for (uint64_t i = 0; i < count; i++)
        numbers[i] = (double)(begin + i) / 10;

    check(gpr_context_new(&context) == GPR_OK && gpr_request_new(context, &request) == GPR_OK &&
          gpr_request_op(request, "sum") == GPR_OK && gpr_request_op(request, "std") == GPR_OK &&
          gpr_accumulator_new(context, "f64", request, &accumulator) == GPR_OK &&
          gpr_view_new(context, &view) == GPR_OK &&
          gpr_view_set_data(view, numbers, "f64", GPR_ORDER_NATIVE, 1, &count, NULL) == GPR_OK &&
          gpr_accumulator_add(accumulator, view) == GPR_OK &&
          gpr_accumulator_write(accumulator, mine, sizeof mine) > 0);

    MPI_Type_contiguous(TEXT_SIZE, MPI_CHAR, &text_type);
    MPI_Type_commit(&text_type);
    MPI_Op_create(merge, 1, &merge_op);
    MPI_Reduce(mine, all, 1, text_type, merge_op, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        gpr_accumulator *total = from_text(all);
        gpr_result *result = NULL;
        double sum, std;

        check(gpr_accumulator_snapshot(total, &result) == GPR_OK &&
              gpr_result_double(result, "sum", &sum) == GPR_OK &&
              gpr_result_double(result, "std", &std) == GPR_OK);
        printf("sum %.17g, standard deviation %.17g\n", sum, std);
        gpr_result_free(result);
        gpr_accumulator_free(total);
    }

    MPI_Op_free(&merge_op);
    MPI_Type_free(&text_type);
    gpr_view_free(view);
    gpr_accumulator_free(accumulator);
    gpr_request_free(request);
    gpr_context_free(context);
    free(numbers);
    MPI_Finalize();
    return 0;
}
