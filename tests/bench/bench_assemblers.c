/* What finding, identifying and running each assembler costs, on a small kernel. "identify": a
 * fresh toolkit's choice, from the search to the identity that goes into cache keys. Usage:
 * bench_assemblers */
#include "runtime_kernels.h"

#include <time.h>

enum { ROUNDS = 21 };

static const char *const names[] = {"", "ptxas", "nvptxcompiler", "nvjitlink", "driver"};

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times)
{
    qsort(times, ROUNDS, sizeof times[0], by_size);
    return times[ROUNDS / 2];
}

static double assemble_once(pg_toolkit *t, ptxgen_assembler kind)
{
    pg_assembly a;
    const pg_assembly_request r = request_for(KERNEL_STORE, 900);
    assembly_init(&a);
    double start = now_us();
    ptxgen_status status = pg_toolkit_assemble(t, kind, &r, &a, NULL);
    double took = now_us() - start;
    assembly_fini(&a);
    return status == PTXGEN_OK ? took : -1;
}

static void measure(ptxgen_assembler kind)
{
    double identify[ROUNDS], assemble[ROUNDS], first = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double start = now_us();
        pg_toolkit *t = open_toolkit(kind);
        identify[i] = now_us() - start;
        if (!t)
            return;
        assemble[i] = assemble_once(t, kind);
        if (i == 0)
            first = assemble[0];
        pg_toolkit_destroy(t);
    }
    double first_identify = identify[0];
    printf("%-16s %10.0f %10.0f %12.0f %12.0f\n", names[kind], first_identify, median(identify),
           first, median(assemble));
}

int main(void)
{
    printf("%-16s %10s %10s %12s %12s   us\n", "", "identify", "(median)", "assemble", "(median)");
    for (int kind = 1; kind <= PTXGEN_ASSEMBLER_DRIVER; kind++)
        measure((ptxgen_assembler)kind);
    return 0;
}
