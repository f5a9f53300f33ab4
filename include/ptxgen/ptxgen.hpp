// ptxgen in C++17, header only: contexts, kernels, plans, device memory and the emulator as objects that
// clean up after themselves; tensors from shapes in braces; errors as exceptions, or as values from the try_
// functions.
//
//     ptxg::context ctx;
//     ptxg::buffer<float> out(ctx, 2 * 4), src(ctx, 3 * 4);
//     ptxg::buffer<std::int64_t> index(ctx, 3);
//     ...
//     ctx.call("scatter_add", {out.tensor({2, 4}), src.tensor({3, 4}), index.tensor({3})});
//
// What each call does, takes and refuses is said in ptxgen/ptxgen.h and its neighbours, whose functions these
// forward to; objects convert to the C handles where a call is missing here. Everything here may be moved,
// nothing copied but kernels (a copy is a reference) and tensors. Threads as in the C API.
//
// The namespace is ptxg, since `ptxgen` is the C API's type of a context.
//
// With -fno-exceptions only the try_ functions are there, and value() of a failed result ends the program.
#ifndef PTXGEN_PTXGEN_HPP
#define PTXGEN_PTXGEN_HPP

#include "ptxgen/dlpack.h"
#include "ptxgen/emulator.h"
#include "ptxgen/matmul.h"
#include "ptxgen/ptxgen.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define PTXGEN_HPP_EXCEPTIONS 1
#include <stdexcept>
#endif

namespace ptxg
{

// ---- errors
// ---------------------------------------------------------------------------------------------------------

// What a call refused or met; the record of the C API.
struct failure {
    ptxgen_error record{};
    ptxgen_status status() const noexcept
    {
        return record.status;
    }
    const char *message() const noexcept
    {
        return record.message;
    }
};

#ifdef PTXGEN_HPP_EXCEPTIONS
class error : public std::runtime_error
{
  public:
    explicit error(const failure &f) : std::runtime_error(f.record.message), failure_(f)
    {
    }
    ptxgen_status status() const noexcept
    {
        return failure_.status();
    }
    const ptxgen_error &record() const noexcept
    {
        return failure_.record;
    }

  private:
    failure failure_;
};
#endif

// A value or a failure, after std::expected.
template <class T> class [[nodiscard]] result
{
  public:
    result(T value) : state_(std::in_place_index<0>, std::move(value))
    {
    }
    result(failure f) : state_(std::in_place_index<1>, f)
    {
    }
    bool has_value() const noexcept
    {
        return state_.index() == 0;
    }
    explicit operator bool() const noexcept
    {
        return has_value();
    }
    const failure &error() const
    {
        return *std::get_if<1>(&state_);
    }
    // The value; throws ptxg::error when there is none.
    T &value() &
    {
        require();
        return *std::get_if<0>(&state_);
    }
    T &&value() &&
    {
        require();
        return std::move(*std::get_if<0>(&state_));
    }
    T &operator*() &
    {
        return *std::get_if<0>(&state_);
    }

  private:
    void require() const
    {
        if (has_value())
            return;
#ifdef PTXGEN_HPP_EXCEPTIONS
        throw ptxg::error(error());
#else
        std::abort();
#endif
    }
    std::variant<T, failure> state_;
};

// Nothing or a failure.
template <> class [[nodiscard]] result<void>
{
  public:
    result() = default;
    result(failure f) : failure_(f), failed_(true)
    {
    }
    bool has_value() const noexcept
    {
        return !failed_;
    }
    explicit operator bool() const noexcept
    {
        return !failed_;
    }
    const failure &error() const
    {
        return failure_;
    }
    void value() const
    {
        if (!failed_)
            return;
#ifdef PTXGEN_HPP_EXCEPTIONS
        throw ptxg::error(failure_);
#else
        std::abort();
#endif
    }

  private:
    failure failure_;
    bool failed_ = false;
};

namespace detail
{

template <class Call> result<void> attempt(Call &&call)
{
    failure f;
    f.record.status = std::forward<Call>(call)(&f.record);
    if (f.record.status == PTXGEN_OK)
        return {};
    return f;
}

template <auto Function> struct deleter {
    template <class T> void operator()(T *p) const noexcept
    {
        Function(p);
    }
};

} // namespace detail

// ---- tensors
// --------------------------------------------------------------------------------------------------------

// The element type of a C++ type. For half-precision types of your own: template <> struct
// ptxg::dtype_of<my_half> ...
template <class T> struct dtype_of;
template <> struct dtype_of<float> {
    static constexpr ptxgen_dtype value = PTXGEN_F32;
};
template <> struct dtype_of<double> {
    static constexpr ptxgen_dtype value = PTXGEN_F64;
};
template <> struct dtype_of<std::int8_t> {
    static constexpr ptxgen_dtype value = PTXGEN_S8;
};
template <> struct dtype_of<std::uint8_t> {
    static constexpr ptxgen_dtype value = PTXGEN_U8;
};
template <> struct dtype_of<std::int16_t> {
    static constexpr ptxgen_dtype value = PTXGEN_S16;
};
template <> struct dtype_of<std::uint16_t> {
    static constexpr ptxgen_dtype value = PTXGEN_U16;
};
template <> struct dtype_of<std::int32_t> {
    static constexpr ptxgen_dtype value = PTXGEN_S32;
};
template <> struct dtype_of<std::uint32_t> {
    static constexpr ptxgen_dtype value = PTXGEN_U32;
};
template <> struct dtype_of<std::int64_t> {
    static constexpr ptxgen_dtype value = PTXGEN_S64;
};
template <> struct dtype_of<std::uint64_t> {
    static constexpr ptxgen_dtype value = PTXGEN_U64;
};

// An operand of a call: memory of somebody else, with its shape (at most PTXGEN_OPERAND_MAX_RANK extents;
// what is more makes the call refuse it).
class tensor
{
  public:
    tensor() = default; // an operand that is left out
    tensor(void *data, ptxgen_dtype dtype, std::initializer_list<std::int64_t> shape)
        : data_(data), dtype_(dtype), rank_(static_cast<std::int32_t>(shape.size()))
    {
        fill(shape_, shape);
    }
    tensor(void *data, ptxgen_dtype dtype, std::initializer_list<std::int64_t> shape,
           std::initializer_list<std::int64_t> strides)
        : tensor(data, dtype, shape)
    {
        has_strides_ = strides.size() == shape.size();
        rank_ = has_strides_ ? rank_ : PTXGEN_OPERAND_MAX_RANK + 1; // refused
        fill(strides_, strides);
    }
    template <class T>
    tensor(T *data, std::initializer_list<std::int64_t> shape)
        : tensor(const_cast<std::remove_const_t<T> *>(data),
                 dtype_of<std::remove_const_t<T>>::value, shape)
    {
    }
    // Points into this object.
    ptxgen_tensor c_tensor() const noexcept
    {
        return {data_, dtype_, rank_, rank_ ? shape_.data() : nullptr,
                has_strides_ ? strides_.data() : nullptr};
    }

  private:
    using extents = std::array<std::int64_t, PTXGEN_OPERAND_MAX_RANK + 1>;
    static void fill(extents &to, std::initializer_list<std::int64_t> from)
    {
        std::size_t i = 0;
        for (const std::int64_t x : from)
            if (i < to.size())
                to[i++] = x;
    }
    void *data_ = nullptr;
    ptxgen_dtype dtype_ = PTXGEN_DTYPE_NONE;
    std::int32_t rank_ = 0;
    bool has_strides_ = false;
    extents shape_{}, strides_{};
};

// ---- kernels and plans
// ----------------------------------------------------------------------------------------------

// A reference to a kernel.
class kernel
{
  public:
    explicit kernel(ptxgen_kernel *owned) : handle_(owned)
    {
    }
    kernel(const kernel &other) : handle_(other ? ptxgen_kernel_ref(other.get()) : nullptr)
    {
    }
    kernel(kernel &&) noexcept = default;
    kernel &operator=(kernel other) noexcept
    {
        handle_ = std::move(other.handle_);
        return *this;
    }
    ptxgen_kernel *get() const noexcept
    {
        return handle_.get();
    }
    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }
    // Texts live as long as the kernel.
    ptxgen_kernel_info info() const
    {
        ptxgen_kernel_info i{};
        i.size = sizeof i;
        ptxgen_kernel_describe(get(), &i);
        return i;
    }
    std::string_view ptx() const
    {
        const ptxgen_kernel_info i = info();
        return {i.ptx, i.ptx_size};
    }
    result<void> try_call(const std::vector<tensor> &operands,
                          ptxgen_stream stream = nullptr) const;
    // visit(const ptxgen_launch &) -> bool, for each launch that a call would make.
    template <class Visit>
    result<void> try_describe(const std::vector<tensor> &operands, Visit &&visit) const;
#ifdef PTXGEN_HPP_EXCEPTIONS
    void call(const std::vector<tensor> &operands, ptxgen_stream stream = nullptr) const
    {
        try_call(operands, stream).value();
    }
    template <class Visit> void describe(const std::vector<tensor> &operands, Visit &&visit) const
    {
        try_describe(operands, std::forward<Visit>(visit)).value();
    }
#endif

  private:
    std::unique_ptr<ptxgen_kernel, detail::deleter<ptxgen_kernel_unref>> handle_;
};

namespace detail
{

inline std::vector<ptxgen_tensor> c_tensors(const std::vector<tensor> &operands)
{
    std::vector<ptxgen_tensor> c;
    c.reserve(operands.size());
    for (const tensor &t : operands)
        c.push_back(t.c_tensor());
    return c;
}

} // namespace detail

inline result<void> kernel::try_call(const std::vector<tensor> &operands,
                                     ptxgen_stream stream) const
{
    const auto c = detail::c_tensors(operands);
    return detail::attempt([&](ptxgen_error *err) {
        return ptxgen_call_kernel(get(), c.data(), c.size(), stream, err);
    });
}

template <class Visit>
result<void> kernel::try_describe(const std::vector<tensor> &operands, Visit &&visit) const
{
    const auto c = detail::c_tensors(operands);
    using visitor = std::remove_reference_t<Visit>;
    const ptxgen_launch_visit forward = [](void *user, const ptxgen_launch *launch) -> bool {
        return (*static_cast<visitor *>(user))(*launch);
    };
    return detail::attempt([&](ptxgen_error *err) {
        return ptxgen_call_describe(
            get(), c.data(), c.size(), forward,
            const_cast<void *>(static_cast<const void *>(std::addressof(visit))), err);
    });
}

// An index, sorted once (ptxgen_scatter_plan_create).
using scatter_plan =
    std::unique_ptr<ptxgen_scatter_plan, detail::deleter<ptxgen_scatter_plan_destroy>>;

// Bad indices of a call's own record, without waiting (ptxgen_index_watch_create).
using index_watch =
    std::unique_ptr<ptxgen_index_watch, detail::deleter<ptxgen_index_watch_destroy>>;

// ---- the context
// ----------------------------------------------------------------------------------------------------

class context
{
  public:
#ifdef PTXGEN_HPP_EXCEPTIONS
    context() : context(ptxgen_config{})
    {
    }
    // config.size is set here.
    explicit context(const ptxgen_config &config) : context(std::move(try_create(config)).value())
    {
    }
#endif
    static result<context> try_create(ptxgen_config config = {})
    {
        ptxgen *made = nullptr;
        config.size = sizeof config;
        const auto done =
            detail::attempt([&](ptxgen_error *err) { return ptxgen_create(&config, &made, err); });
        if (!done)
            return done.error();
        return context(made);
    }
    explicit context(ptxgen *owned) noexcept : handle_(owned)
    {
    }
    ptxgen *get() const noexcept
    {
        return handle_.get();
    }

    // ---- calls: any family, and the typed ones (their args.size is set here) ----
    result<void> try_call(const char *family, const std::vector<tensor> &operands,
                          const char *params = nullptr, ptxgen_stream stream = nullptr)
    {
        const auto c = detail::c_tensors(operands);
        return detail::attempt([&](ptxgen_error *err) {
            return ptxgen_call(get(), family, params, c.data(), c.size(), stream, err);
        });
    }
    result<void> try_scatter_add(ptxgen_scatter_add_args args, ptxgen_stream stream = nullptr)
    {
        args.size = sizeof args;
        return detail::attempt(
            [&](ptxgen_error *err) { return ptxgen_scatter_add(get(), &args, stream, err); });
    }
    result<void> try_matmul_accumulate(ptxgen_matmul_accumulate_args args,
                                       ptxgen_stream stream = nullptr)
    {
        args.size = sizeof args;
        return detail::attempt(
            [&](ptxgen_error *err) { return ptxgen_matmul_accumulate(get(), &args, stream, err); });
    }
    result<void> try_matmul_scaled(ptxgen_matmul_scaled_args args, ptxgen_stream stream = nullptr)
    {
        args.size = sizeof args;
        return detail::attempt(
            [&](ptxgen_error *err) { return ptxgen_matmul_scaled(get(), &args, stream, err); });
    }
    // Any family on DLPack's tensors.
    result<void> try_call_dlpack(const char *family, const std::vector<ptxgen_dlpack> &operands,
                                 const char *params = nullptr, ptxgen_stream stream = nullptr)
    {
        ptxgen_dlpack_options options{};
        options.size = sizeof options;
        options.params = params;
        options.stream = stream;
        return detail::attempt([&](ptxgen_error *err) {
            return ptxgen_dlpack_call(get(), family, operands.data(), operands.size(), &options,
                                      err);
        });
    }
    result<scatter_plan> try_plan(ptxgen_scatter_add_args args, ptxgen_stream stream = nullptr)
    {
        ptxgen_scatter_plan *made = nullptr;
        args.size = sizeof args;
        const auto done = detail::attempt([&](ptxgen_error *err) {
            return ptxgen_scatter_plan_create(get(), &args, stream, &made, err);
        });
        if (!done)
            return done.error();
        return scatter_plan(made);
    }
    // IndexOutOfRange as PTXGEN_EINDEX; waits for the stream.
    result<void> try_check_indices(ptxgen_stream stream = nullptr)
    {
        return detail::attempt(
            [&](ptxgen_error *err) { return ptxgen_check_indices(get(), stream, err); });
    }
    result<void> try_synchronize(ptxgen_stream stream = nullptr)
    {
        return detail::attempt(
            [&](ptxgen_error *err) { return ptxgen_synchronize(get(), stream, err); });
    }

    // ---- kernels ----
    result<kernel> try_emit(const char *family, const char *params)
    {
        return made(ptxgen_emit, family, params);
    }
    result<kernel> try_compile(const char *family, const char *params)
    {
        return made(ptxgen_compile, family, params);
    }
    // Loaded as well.
    result<kernel> try_get(const char *family, const char *params, ptxgen_stream stream = nullptr)
    {
        return made([stream](ptxgen *c, const char *f, const char *p, ptxgen_kernel **out,
                             ptxgen_error *err) { return ptxgen_get(c, f, p, stream, out, err); },
                    family, params);
    }
    result<void> try_prefetch(const char *family, const char *params)
    {
        return detail::attempt(
            [&](ptxgen_error *err) { return ptxgen_prefetch(get(), family, params, err); });
    }

    result<ptxgen_device_info> try_device_info() const
    {
        ptxgen_device_info info{};
        info.size = sizeof info;
        const auto done = detail::attempt(
            [&](ptxgen_error *err) { return ptxgen_device_get_info(get(), &info, err); });
        if (!done)
            return done.error();
        return info;
    }
    ptxgen_cache_info cache_info() const
    {
        ptxgen_cache_info info{};
        info.size = sizeof info;
        ptxgen_cache_get_info(get(), &info);
        return info;
    }

#ifdef PTXGEN_HPP_EXCEPTIONS
    // The same, throwing ptxg::error.
    void call(const char *family, const std::vector<tensor> &operands, const char *params = nullptr,
              ptxgen_stream stream = nullptr)
    {
        try_call(family, operands, params, stream).value();
    }
    void scatter_add(const ptxgen_scatter_add_args &args, ptxgen_stream stream = nullptr)
    {
        try_scatter_add(args, stream).value();
    }
    void matmul_accumulate(const ptxgen_matmul_accumulate_args &args,
                           ptxgen_stream stream = nullptr)
    {
        try_matmul_accumulate(args, stream).value();
    }
    void matmul_scaled(const ptxgen_matmul_scaled_args &args, ptxgen_stream stream = nullptr)
    {
        try_matmul_scaled(args, stream).value();
    }
    void call_dlpack(const char *family, const std::vector<ptxgen_dlpack> &operands,
                     const char *params = nullptr, ptxgen_stream stream = nullptr)
    {
        try_call_dlpack(family, operands, params, stream).value();
    }
    scatter_plan plan(const ptxgen_scatter_add_args &args, ptxgen_stream stream = nullptr)
    {
        return std::move(try_plan(args, stream)).value();
    }
    void check_indices(ptxgen_stream stream = nullptr)
    {
        try_check_indices(stream).value();
    }
    void synchronize(ptxgen_stream stream = nullptr)
    {
        try_synchronize(stream).value();
    }
    kernel emit(const char *family, const char *params)
    {
        return std::move(try_emit(family, params)).value();
    }
    kernel compile(const char *family, const char *params)
    {
        return std::move(try_compile(family, params)).value();
    }
    kernel get_kernel(const char *family, const char *params, ptxgen_stream stream = nullptr)
    {
        return std::move(try_get(family, params, stream)).value();
    }
    void prefetch(const char *family, const char *params)
    {
        try_prefetch(family, params).value();
    }
    ptxgen_device_info device_info() const
    {
        return std::move(try_device_info()).value();
    }
#endif

  private:
    template <class Source>
    result<kernel> made(Source &&source, const char *family, const char *params)
    {
        ptxgen_kernel *k = nullptr;
        const auto done = detail::attempt(
            [&](ptxgen_error *err) { return source(get(), family, params, &k, err); });
        if (!done)
            return done.error();
        return kernel(k);
    }
    std::unique_ptr<ptxgen, detail::deleter<ptxgen_destroy>> handle_;
};

// ---- device memory
// --------------------------------------------------------------------------------------------------

// `count` elements on the context's device, which must outlive it. For first steps and tests.
template <class T> class buffer
{
  public:
    static result<buffer> try_create(context &ctx, std::size_t count)
    {
        void *p = nullptr;
        const auto done = detail::attempt([&](ptxgen_error *err) {
            return ptxgen_device_alloc(ctx.get(), count * sizeof(T), &p, err);
        });
        if (!done)
            return done.error();
        return buffer(ctx.get(), static_cast<T *>(p), count);
    }
    result<void> try_upload(const T *from, std::size_t count)
    {
        return detail::attempt([&](ptxgen_error *err) {
            return ptxgen_device_upload(memory_.get_deleter().ctx, data(), from, within(count),
                                        err);
        });
    }
    result<void> try_download(T *to, std::size_t count) const
    {
        return detail::attempt([&](ptxgen_error *err) {
            return ptxgen_device_download(memory_.get_deleter().ctx, to, data(), within(count),
                                          err);
        });
    }
#ifdef PTXGEN_HPP_EXCEPTIONS
    buffer(context &ctx, std::size_t count) : buffer(std::move(try_create(ctx, count)).value())
    {
    }
    buffer(context &ctx, const std::vector<T> &from) : buffer(ctx, from.size())
    {
        upload(from);
    }
    void upload(const std::vector<T> &from)
    {
        try_upload(from.data(), from.size()).value();
    }
    std::vector<T> download() const
    {
        std::vector<T> all(count_);
        try_download(all.data(), count_).value();
        return all;
    }
#endif
    T *data() const noexcept
    {
        return memory_.get();
    }
    std::size_t size() const noexcept
    {
        return count_;
    }
    ptxg::tensor tensor(std::initializer_list<std::int64_t> shape) const
    {
        return {data(), dtype_of<T>::value, shape};
    }

  private:
    struct release {
        ptxgen *ctx;
        void operator()(T *p) const noexcept
        {
            ptxgen_device_free(ctx, p);
        }
    };
    buffer(ptxgen *ctx, T *owned, std::size_t count) : memory_(owned, release{ctx}), count_(count)
    {
    }
    std::size_t within(std::size_t count) const noexcept
    {
        return (count < count_ ? count : count_) * sizeof(T);
    }
    std::unique_ptr<T, release> memory_;
    std::size_t count_;
};

// ---- the emulator
// ---------------------------------------------------------------------------------------------------

// One text of PTX on an emulator of its own.
class emulated_program
{
  public:
    static result<emulated_program> try_load(std::string_view ptx,
                                             ptxgen_emulator_config config = {})
    {
        emulated_program p;
        ptxgen_emulator *emulator = nullptr;
        ptxgen_emulator_module *module = nullptr;
        config.size = sizeof config;
        auto done = detail::attempt(
            [&](ptxgen_error *err) { return ptxgen_emulator_create(&config, &emulator, err); });
        p.emulator_.reset(emulator);
        if (done)
            done = detail::attempt([&](ptxgen_error *err) {
                return ptxgen_emulator_load(emulator, ptx.data(), ptx.size(), nullptr, &module,
                                            err);
            });
        p.module_.reset(module);
        if (!done)
            return done.error();
        return p;
    }
    // What kernels may touch. `count` elements at p, which stay the caller's.
    template <class T> result<void> try_share(const char *name, T *p, std::size_t count)
    {
        return detail::attempt([&](ptxgen_error *err) {
            return ptxgen_emulator_add_buffer(
                emulator_.get(), name, const_cast<std::remove_const_t<T> *>(p), count * sizeof(T),
                std::is_const_v<T> ? 0 : PTXGEN_EMULATOR_WRITABLE, err);
        });
    }
    // An entry (nullptr: the only one) with arguments of the sizes of its parameters.
    template <class... Args>
    result<void> try_run(const char *entry, std::array<std::uint32_t, 3> grid,
                         std::array<std::uint32_t, 3> block, Args... args)
    {
        ptxgen_emulator_entry *found = nullptr;
        const auto done = detail::attempt([&](ptxgen_error *err) {
            return ptxgen_emulator_find(module_.get(), entry, &found, err);
        });
        if (!done)
            return done;
        void *pointers[sizeof...(args) + 1] = {static_cast<void *>(&args)...};
        ptxgen_emulator_launch launch{};
        launch.size = sizeof launch;
        for (std::size_t i = 0; i < 3; i++) {
            launch.grid[i] = grid[i];
            launch.block[i] = block[i];
        }
        launch.args = pointers;
        launch.arg_count = sizeof...(args);
        return detail::attempt(
            [&](ptxgen_error *err) { return ptxgen_emulator_run(found, &launch, err); });
    }
    // Defects that checking found (config.check); texts live until the next run.
    std::vector<ptxgen_emulator_report> reports() const
    {
        std::vector<ptxgen_emulator_report> all;
        ptxgen_emulator_report r{};
        while (ptxgen_emulator_get_report(emulator_.get(), all.size(), &r))
            all.push_back(r);
        return all;
    }

  private:
    emulated_program() = default;
    std::unique_ptr<ptxgen_emulator, detail::deleter<ptxgen_emulator_destroy>> emulator_;
    std::unique_ptr<ptxgen_emulator_module, detail::deleter<ptxgen_emulator_unload>> module_;
};

} // namespace ptxg

#endif
