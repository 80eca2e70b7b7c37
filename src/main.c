/*
 * gpureduce: cli/program.c is all of it.
 */
#include "config.h"

#include <stddef.h>

#include "cli/program.h"

int main(int argc, char **argv)
{
    return program_main(argc, argv, NULL, NULL);
}
