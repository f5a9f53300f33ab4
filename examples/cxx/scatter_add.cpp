// Rows added to rows, in C++. On the GPU where there is one, else on the emulator.
//
//     c++ -std=c++17 scatter_add.cpp $(pkg-config --cflags --libs ptxgen) && ./a.out
#include <ptxgen/ptxgen.hpp>

#include <cstdio>

int main()
{
    try {
        ptxg::context ctx;
        ptxg::buffer<float> out(ctx, std::vector<float>(2 * 4, 0.0f));
        ptxg::buffer<float> src(ctx, std::vector<float>{1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4});
        ptxg::buffer<std::int64_t> index(ctx, std::vector<std::int64_t>{1, 0, 1});

        ctx.call("scatter_add", {out.tensor({2, 4}), src.tensor({3, 4}), index.tensor({3})});
        ctx.check_indices();
        const std::vector<float> sums = out.download();
        std::printf("%g %g\n", static_cast<double>(sums[0]), static_cast<double>(sums[4])); // 2 5

        // Errors as values: a matrix that the kernel does not take.
        if (const auto done = ctx.try_call(
                "scatter_add", {out.tensor({4, 2}), src.tensor({3, 4}), index.tensor({3})});
            !done)
            std::printf("%s\n", done.error().message());
    } catch (const ptxg::error &e) {
        std::fprintf(stderr, "%s: %s\n", ptxgen_status_name(e.status()), e.what());
        return 1;
    }
}
