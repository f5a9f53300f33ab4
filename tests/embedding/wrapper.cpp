// ptxgen.hpp on the emulator: answers, ownership, errors as exceptions and as values. Built with and without
// exceptions.
#include <ptxgen/ptxgen.hpp>

#include <cstdio>
#include <cstring>

static int failures;
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            failures++, std::printf("line %d: %s\n", __LINE__, #condition);                        \
    } while (0)

static ptxgen_config emulated()
{
    ptxgen_config config{};
    config.device = PTXGEN_DEVICE_EMULATOR;
    config.cache = PTXGEN_CACHE_OFF;
    return config;
}

static const char race[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry race(.param .u64 x)\n{\n.reg .u64 %p;\n.reg .u32 %t;\n"
    "ld.param.u64 %p, [x];\nmov.u32 %t, %tid.x;\nst.global.u32 [%p], %t;\nret;\n}\n";

static void values()
{
    auto made = ptxg::context::try_create(emulated());
    CHECK(made);
    ptxg::context ctx = std::move(made).value();
    float out[2][4] = {}, src[3][4] = {{1, 1, 1, 1}, {2, 2, 2, 2}, {4, 4, 4, 4}};
    const std::int64_t index[3] = {1, 0, 1};
    const std::vector<ptxg::tensor> operands = {
        {&out[0][0], {2, 4}}, {&src[0][0], {3, 4}}, {index, {3}}};
    CHECK(ctx.try_call("scatter_add", operands));
    CHECK(out[0][0] == 2 && out[1][3] == 5);

    // wrong, and nothing is touched
    const auto refused = ctx.try_call("scatter_add", {operands[0], operands[1], {index, {2}}});
    CHECK(!refused && refused.error().status() == PTXGEN_EINVAL &&
          std::strstr(refused.error().message(), "index has rows=2"));
    CHECK(!ctx.try_call("scatter_add", {operands[0], operands[1]}));
    CHECK(!ctx.try_call("scatter_add",
                        {{&out[0][0], {1, 1, 1, 1, 1, 1, 8}}, operands[1], operands[2]}));
    CHECK(!ctx.try_call("scatter_add",
                        {{&out[0][0], PTXGEN_F32, {2, 4}, {4}}, operands[1], operands[2]}));
    const auto unsupported =
        ctx.try_call("scatter_add",
                     {{&out[0][0], PTXGEN_F32, {2, 2}, {4, 2}}, {&src[0][0], {3, 2}}, operands[2]});
    CHECK(!unsupported && unsupported.error().status() == PTXGEN_EUNSUPPORTED);
    CHECK(out[0][0] == 2 && out[1][3] == 5);

    // typed, with a plan that outlives what it was made from
    ptxgen_scatter_add_args args{};
    args.rows = 3, args.out_rows = 2, args.n = 4, args.dtype = PTXGEN_F32;
    args.out = out, args.src = src, args.index = index;
    auto plan = ctx.try_plan(args);
    CHECK(plan);
    args.plan = plan.value().get();
    CHECK(ctx.try_scatter_add(args));
    CHECK(out[0][0] == 4 && out[1][3] == 10);

    // a kernel is a reference: it outlives its context
    auto got = ctx.try_get("scatter_add", "n=4");
    CHECK(got);
    ptxg::kernel kernel = got.value(), copy = kernel;
    int launches = 0;
    CHECK(copy.try_describe(operands, [&](const ptxgen_launch &l) {
        launches++;
        return l.block[0] > 0;
    }));
    CHECK(launches == 1 && kernel.ptx().substr(0, 2) == "//"
              ? true
              : kernel.ptx().find(".version") != std::string_view::npos);
    {
        ptxg::context gone = std::move(ctx);
    }
    CHECK(copy.info().arch == kernel.info().arch && std::strstr(copy.info().params, "n=4"));
    CHECK(copy.try_call(operands) && out[0][0] == 6);
    CHECK(!ptxg::context::try_create([] {
        auto c = emulated();
        c.prefetch_threads = 1000;
        return c;
    }()));
}

static void emulator()
{
    unsigned x[4] = {};
    ptxgen_emulator_config config{};
    config.check = true;
    auto program = ptxg::emulated_program::try_load(race, config);
    CHECK(program);
    CHECK(program.value().try_share("x", x, 4));
    CHECK(program.value().try_run(nullptr, {1, 1, 1}, {64, 1, 1}, static_cast<void *>(x)));
    CHECK(program.value().reports().size() == 1 && program.value().reports()[0].line == 10);
    CHECK(!program.value().try_run("nothing", {1, 1, 1}, {64, 1, 1}));
    CHECK(!ptxg::emulated_program::try_load("no ptx"));
}

#ifdef PTXGEN_HPP_EXCEPTIONS
static void exceptions()
{
    ptxg::context ctx(emulated());
    ptxg::buffer<float> out(ctx, std::vector<float>(8)), src(ctx, std::vector<float>(12, 1.5f));
    ptxg::buffer<std::int32_t> index(ctx, std::vector<std::int32_t>{1, 0, 1});
    ctx.call("scatter_add", {out.tensor({2, 4}), src.tensor({3, 4}), index.tensor({3})});
    CHECK(out.download() == std::vector<float>({1.5f, 1.5f, 1.5f, 1.5f, 3, 3, 3, 3}));
    ptxg::buffer<float> moved = std::move(src);
    CHECK(moved.size() == 12 && moved.download()[11] == 1.5f);
    index.upload({1, 7, 1});
    ctx.call("scatter_add", {out.tensor({2, 4}), moved.tensor({3, 4}), index.tensor({3})});
    try {
        ctx.check_indices();
        CHECK(!"a bad index goes unseen");
    } catch (const ptxg::error &e) {
        CHECK(e.status() == PTXGEN_EINDEX && std::strstr(e.what(), "index[1] = 7"));
    }
    try {
        ctx.emit("scatter_add", "n=none");
        CHECK(!"a wrong parameter goes unseen");
    } catch (const std::runtime_error &e) {
        CHECK(std::strstr(e.what(), "n=none"));
    }
    CHECK(ctx.device_info().kind == PTXGEN_DEVICE_EMULATOR && ctx.cache_info().entries > 0);
}
#endif

int main()
{
    values();
    emulator();
#ifdef PTXGEN_HPP_EXCEPTIONS
    exceptions();
#endif
    std::printf("wrapper: %d failures\n", failures);
    return failures != 0;
}
