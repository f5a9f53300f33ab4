// CUB's device algorithms against the host, for several types and sizes; GROUP chooses some, as each takes a while to compile.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <numeric>
#include <random>
#include <vector>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const cudaError_t e = (call);                                                              \
        if (e != cudaSuccess)                                                                      \
            printf("%s: %s\n", #call, cudaGetErrorName(e)), exit(3);                               \
    } while (0)

static std::mt19937_64 random_bits(7);

template <typename T> struct array {
    T *data;
    size_t n;
    explicit array(size_t count) : n(count) { TRY(cudaMallocManaged(&data, (n ? n : 1) * sizeof(T))); }
    explicit array(const std::vector<T> &v) : array(v.size()) { std::copy(v.begin(), v.end(), data); }
    array(const array &) = delete;
    ~array() { cudaFree(data); }
    std::vector<T> host(size_t count) const { return std::vector<T>(data, data + count); }
    std::vector<T> host() const { return host(n); }
};

// Calls twice, as CUB has it: for the size of the temporary memory, and to work.
template <typename F> static void run(F f)
{
    size_t bytes = 0;
    TRY(f((void *)nullptr, bytes));
    array<char> room(bytes);
    void *temporary = room.data;
    TRY(f(temporary, bytes));
    TRY(cudaDeviceSynchronize());
}

template <typename T> static std::vector<T> draw(size_t n, unsigned long long most)
{
    std::vector<T> v(n);
    for (auto &x : v)
        x = (T)(random_bits() % most);
    return v;
}

static int wrong;
static void expect(bool right, const char *what, size_t n, size_t bytes)
{
    if (!right)
        printf("WRONG: %s, %zu of %zu bytes\n", what, n, bytes);
    wrong += !right;
}
#define EXPECT(condition) expect(condition, #condition, n, sizeof(T))

#if GROUP == 0
template <typename T> static void test(size_t n)
{
    const std::vector<T> v = draw<T>(n, 100); // whole numbers: sums are exact in any order
    array<T> in(v), out(1), sums(n);
    array<int> count(1);
    run([&](void *t, size_t &b) { return cub::DeviceReduce::Sum(t, b, in.data, out.data, (int)n); });
    EXPECT(out.data[0] == std::accumulate(v.begin(), v.end(), T(0)));
    if (n) {
        run([&](void *t, size_t &b) { return cub::DeviceReduce::Max(t, b, in.data, out.data, (int)n); });
        EXPECT(out.data[0] == *std::max_element(v.begin(), v.end()));
        array<cub::KeyValuePair<int, T>> least(1);
        run([&](void *t, size_t &b) { return cub::DeviceReduce::ArgMin(t, b, in.data, least.data, (int)n); });
        EXPECT(least.data[0].key == std::min_element(v.begin(), v.end()) - v.begin());
    }
    std::vector<T> want(n);
    run([&](void *t, size_t &b) { return cub::DeviceScan::ExclusiveSum(t, b, in.data, sums.data, (int)n); });
    std::exclusive_scan(v.begin(), v.end(), want.begin(), T(0));
    EXPECT(sums.host() == want);
    run([&](void *t, size_t &b) { return cub::DeviceScan::InclusiveSum(t, b, in.data, sums.data, (int)n); });
    std::inclusive_scan(v.begin(), v.end(), want.begin());
    EXPECT(sums.host() == want);
}
#elif GROUP == 1
template <typename T> static void test(size_t n)
{
    std::vector<T> v = draw<T>(n, 1ull << 40), order(n);
    std::vector<int> at(n);
    std::iota(at.begin(), at.end(), 0);
    array<T> in(v), out(n);
    array<int> values(at), moved(n);
    run([&](void *t, size_t &b) { return cub::DeviceRadixSort::SortKeys(t, b, in.data, out.data, (int)n); });
    order = v;
    std::sort(order.begin(), order.end());
    EXPECT(out.host() == order);
    run([&](void *t, size_t &b) {
        return cub::DeviceRadixSort::SortPairsDescending(t, b, in.data, out.data, values.data, moved.data, (int)n);
    });
    std::stable_sort(at.begin(), at.end(), [&](int x, int y) { return v[x] > v[y]; });
    EXPECT(moved.host() == at);
    std::reverse(order.begin(), order.end());
    EXPECT(out.host() == order);
    run([&](void *t, size_t &b) {
        return cub::DeviceMergeSort::SortKeysCopy(t, b, in.data, out.data, (int)n, [] __device__(T x, T y) { return x < y; });
    });
    std::reverse(order.begin(), order.end());
    EXPECT(out.host() == order);
}
#elif GROUP == 2
template <typename T> static void test(size_t n)
{
    const std::vector<T> v = draw<T>(n, 5);
    array<T> in(v), out(n), keys(n);
    array<int> count(1), lengths(n);
    auto is_odd = [] __host__ __device__(T x) { return (int)x % 2 == 1; };
    run([&](void *t, size_t &b) { return cub::DeviceSelect::If(t, b, in.data, out.data, count.data, (int)n, is_odd); });
    std::vector<T> want;
    std::copy_if(v.begin(), v.end(), std::back_inserter(want), is_odd);
    EXPECT(out.host(count.data[0]) == want);
    run([&](void *t, size_t &b) { return cub::DeviceSelect::Unique(t, b, in.data, out.data, count.data, (int)n); });
    want = v;
    want.erase(std::unique(want.begin(), want.end()), want.end());
    EXPECT(out.host(count.data[0]) == want);
    run([&](void *t, size_t &b) {
        return cub::DeviceRunLengthEncode::Encode(t, b, in.data, keys.data, lengths.data, count.data, (int)n);
    });
    EXPECT(keys.host(count.data[0]) == want);
    const auto runs = lengths.host(count.data[0]);
    EXPECT(std::accumulate(runs.begin(), runs.end(), 0) == (int)n);
    run([&](void *t, size_t &b) { return cub::DevicePartition::If(t, b, in.data, out.data, count.data, (int)n, is_odd); });
    want = v;
    const auto middle = std::stable_partition(want.begin(), want.end(), is_odd);
    std::reverse(middle, want.end()); // CUB writes the others from the end
    EXPECT(out.host() == want);
}
#elif GROUP == 3
template <typename T> static void test(size_t n)
{
    const std::vector<T> v = draw<T>(n, 256);
    std::vector<int> cuts = {0};
    while (cuts.back() < (int)n)
        cuts.push_back(std::min<int>((int)n, cuts.back() + (int)(random_bits() % 300)));
    const int segments = (int)cuts.size() - 1;
    array<T> in(v), out(n), sums(segments);
    array<int> offsets(cuts), bins(8);
    run([&](void *t, size_t &b) {
        return cub::DeviceHistogram::HistogramEven(t, b, in.data, bins.data, 9, T(0), T(240), (int)n);
    });
    std::vector<int> counted(8);
    for (T x : v)
        if (x < T(240))
            counted[(int)x / 30]++;
    EXPECT(bins.host() == counted);
    if (!segments)
        return;
    run([&](void *t, size_t &b) {
        return cub::DeviceSegmentedReduce::Sum(t, b, in.data, sums.data, segments, offsets.data, offsets.data + 1);
    });
    run([&](void *t, size_t &b) {
        return cub::DeviceSegmentedSort::SortKeys(t, b, in.data, out.data, (int)n, segments, offsets.data, offsets.data + 1);
    });
    std::vector<T> order = v, totals(segments);
    for (int i = 0; i < segments; i++) {
        std::sort(order.begin() + cuts[i], order.begin() + cuts[i + 1]);
        totals[i] = std::accumulate(v.begin() + cuts[i], v.begin() + cuts[i + 1], T(0));
    }
    EXPECT(sums.host() == totals);
    EXPECT(out.host() == order);
}
#else
template <typename T> static void by_key(size_t n, const std::vector<T> &v)
{
    const std::vector<int> names = draw<int>(n, 3);
    array<T> in(v), sums(n);
    array<int> keys(names), unique(n), count(1);
    std::vector<T> totals, before(n);
    for (size_t i = 0; i < n; i++) {
        const bool first = !i || names[i] != names[i - 1];
        before[i] = first ? T(0) : before[i - 1] + v[i - 1];
        if (first)
            totals.push_back(T(0));
        totals.back() += v[i];
    }
    run([&](void *t, size_t &b) {
        return cub::DeviceReduce::ReduceByKey(t, b, keys.data, unique.data, in.data, sums.data, count.data, ::cuda::std::plus<>{},
                                              (int)n);
    });
    EXPECT(sums.host(count.data[0]) == totals);
    run([&](void *t, size_t &b) {
        return cub::DeviceScan::ExclusiveSumByKey(t, b, keys.data, in.data, sums.data, (int)n);
    });
    EXPECT(sums.host() == before);
}
template <typename T> static void test(size_t n)
{
    const std::vector<T> v = draw<T>(n, 100);
    std::vector<T> left(v.begin(), v.begin() + n / 3), right(v.begin() + n / 3, v.end()), want(n);
    array<T> in(v), out(n);
    by_key(n, v);
    run([&](void *t, size_t &b) {
        return cub::DeviceAdjacentDifference::SubtractLeftCopy(t, b, in.data, out.data, (int)n);
    });
    std::adjacent_difference(v.begin(), v.end(), want.begin());
    EXPECT(out.host() == want);
    const T *both = in.data; // bulk copies bring its inputs on sm_90
    run([&](void *t, size_t &b) {
        return cub::DeviceTransform::Transform(t, b, ::cuda::std::make_tuple(both, both), out.data, (int)n,
                                               [] __host__ __device__(T x, T y) { return (T)(x * x + y); });
    });
    std::transform(v.begin(), v.end(), want.begin(), [](T x) { return (T)(x * x + x); });
    EXPECT(out.host() == want);
    std::sort(left.begin(), left.end());
    std::sort(right.begin(), right.end());
    std::merge(left.begin(), left.end(), right.begin(), right.end(), want.begin());
    array<T> one(left), two(right);
    run([&](void *t, size_t &b) {
        return cub::DeviceMerge::MergeKeys(t, b, one.data, (int)left.size(), two.data, (int)right.size(), out.data);
    });
    EXPECT(out.host() == want);
    array<const void *> from(std::vector<const void *>{two.data, one.data});
    array<void *> to(std::vector<void *>{out.data, out.data + right.size()});
    array<size_t> bytes(std::vector<size_t>{right.size() * sizeof(T), left.size() * sizeof(T)});
    run([&](void *t, size_t &b) { return cub::DeviceMemcpy::Batched(t, b, from.data, to.data, bytes.data, 2); });
    std::copy(left.begin(), left.end(), std::copy(right.begin(), right.end(), want.begin()));
    EXPECT(out.host() == want);
}
#endif

int main(int argc, char **argv)
{
    const size_t most = argc > 1 ? strtoul(argv[1], nullptr, 0) : 100000;
    for (size_t n : {0, 1, 31, 1000, 5003, 100000})
        if (n <= most) {
            test<int>(n);
            test<unsigned long long>(n);
            test<float>(n);
            test<double>(n);
        }
    printf(wrong ? "%d wrong\n" : "all right\n", wrong);
    return wrong != 0;
}
