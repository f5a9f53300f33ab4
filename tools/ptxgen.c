/* The command: finds the subcommand and hands the rest of the line to it. */
#include "ptxgen/status.h"

#include <stdio.h>

int main(void)
{
    puts("ptxgen");
    return 0;
}
