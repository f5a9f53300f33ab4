// What device code takes from the CUDA runtime: malloc and free, cooperative groups over the grid, parameters by
// address, tables of functions.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Steps of a relaxation whose halves are separated by grid.sync(): a step reads what other CTAs have just written.
extern "C" __global__ void grid_steps(int *a, int *b, int n, int steps)
{
    cg::grid_group grid = cg::this_grid();
    for (int s = 0; s < steps; s++) {
        for (int i = grid.thread_rank(); i < n; i += grid.size())
            b[i] = a[(i + 17) % n] + a[n - 1 - i] + s;
        grid.sync();
        for (int i = grid.thread_rank(); i < n; i += grid.size())
            a[i] = b[n - 1 - i] ^ s;
        grid.sync();
    }
}

struct node {
    int value;
    node *next;
};

// Every thread builds a list that another kernel walks and frees.
extern "C" __global__ void build_lists(node **lists, int n)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    node *first = nullptr;
    for (int i = 0; i < n; i++) {
        node *one = (node *)malloc(sizeof(node));
        if (!one)
            break;
        one->value = t * 100 + i;
        one->next = first;
        first = one;
    }
    lists[t] = first;
}

extern "C" __global__ void free_lists(node **lists, int *sums)
{
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (node *at = lists[t]; at;) {
        node *next = at->next;
        sum = sum * 3 + at->value;
        free(at);
        at = next;
    }
    sums[t] = sum;
}

extern "C" __global__ void exhaust(long long *got)
{
    void *all = malloc(5 << 20), *more = malloc(5 << 20);
    got[0] = all != nullptr;
    got[1] = more != nullptr;
    free(all);
    free(more);
    more = malloc(5 << 20);
    got[2] = more != nullptr;
    free(more);
    got[3] = malloc(0) != nullptr;
}

extern "C" __global__ void free_twice()
{
    int *p = new int[3];
    p[2] = 1;
    free(p);
    free(p);
}

struct table {
    int v[24];
};

static __device__ __noinline__ int look_up(const table *t, int i)
{
    return t->v[i % 24];
}

extern "C" __global__ void by_address(const __grid_constant__ table t, int *out)
{
    out[threadIdx.x] = look_up(&t, threadIdx.x * 7) * 2;
}
