// Calls libgputrace's allocator in the way that PyTorch's CUDAPluggableAllocator does: functions found by name, kept as
// std::function with PyTorch's types, among them a std::pair and a std::function by value; what it throws is caught.
//
//     torch_calls LIBRARY [TORCH]        TORCH: a libc10.so, which is loaded as Python loads it, for none but itself
//
// Prints what came of it; exit status 1 when something is not as it should be.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include <gputrace/allocator.h>

namespace
{

typedef struct gputrace_allocator_stats stats_t; // a function is called so too
typedef CUstream_st *stream_t;
typedef std::pair<unsigned long long, unsigned long long> pool_id; // c10::cuda::MempoolId_t
typedef std::function<bool(stream_t)> filter_t;

void must(bool condition, const char *what)
{
    if (condition)
        return;
    std::fprintf(stderr, "not so: %s\n", what);
    std::exit(1);
}

void *library;

template <typename type> std::function<type> function(const char *name)
{
    void *symbol = dlsym(library, name);
    must(symbol != nullptr, name);
    return reinterpret_cast<type *>(reinterpret_cast<std::uintptr_t>(symbol)); // PyTorch is given the number
}

// The library must neither keep nor destroy the filter: the copy that it is given goes with the call.
struct counted {
    std::shared_ptr<int> alive;
    bool operator()(stream_t) const
    {
        return true;
    }
};

struct allocator {
    std::function<void *(std::size_t, int, stream_t)> malloc =
        function<void *(std::size_t, int, stream_t)>("gputrace_torch_malloc");
    std::function<void(void *, std::size_t, int, stream_t)> free =
        function<void(void *, std::size_t, int, stream_t)>("gputrace_free");
    std::function<void(int)> init = function<void(int)>("gputrace_allocator_init");
    std::function<void()> reset = function<void()>("gputrace_allocator_trim");
    std::function<void(double, int)> memory_fraction = function<void(double, int)>("gputrace_allocator_set_fraction");
    std::function<void *(void *, std::size_t *)> base_alloc =
        function<void *(void *, std::size_t *)>("gputrace_allocator_base");
    std::function<void(void *, stream_t)> record_stream =
        function<void(void *, stream_t)>("gputrace_allocator_record_stream");
    std::function<void(int, pool_id, filter_t)> begin =
        function<void(int, pool_id, filter_t)>("gputrace_allocator_begin_pool");
    std::function<void(int, pool_id)> end = function<void(int, pool_id)>("gputrace_allocator_end_pool");
    std::function<void(int, pool_id)> release = function<void(int, pool_id)>("gputrace_allocator_release_pool");
    std::function<int(int, stats_t *)> stats = function<int(int, stats_t *)>("gputrace_allocator_stats");
};

stats_t stats_of(const allocator &memory)
{
    stats_t stats;
    must(memory.stats(0, &stats) == 0, "there are statistics");
    return stats;
}

void use(const allocator &memory)
{
    memory.init(1);
    void *block = memory.malloc(1000, 0, nullptr);
    must(block != nullptr, "there is memory");
    std::size_t size = 0;
    must(memory.base_alloc(static_cast<char *>(block) + 10, &size) == block && size == 1000, "the base is found");
    memory.record_stream(block, nullptr);
    memory.free(block, 1000, 0, nullptr);
    must(memory.malloc(0, 0, nullptr) == nullptr, "nothing is no failure");
    memory.reset();
}

void use_pool(const allocator &memory)
{
    const pool_id id(0, 0x123456789abcdefULL);
    counted filter = {std::make_shared<int>(0)};
    memory.begin(0, id, filter);
    must(filter.alive.use_count() == 1, "the filter's copy is destroyed once");
    void *block = memory.malloc(1000, 0, nullptr);
    memory.end(0, id);
    memory.free(block, 1000, 0, nullptr);
    must(stats_of(memory).reserved_bytes > 0, "pools are asked");
    memory.release(0, id);
    const stats_t stats = stats_of(memory);
    must(stats.held_bytes.total == 2000 && stats.held_bytes.current == 0, "two blocks came and went");
}

// Something to be destroyed on the way of the exception.
struct on_the_way {
    bool *gone;
    ~on_the_way()
    {
        *gone = true;
    }
};

void *ask_for_too_much(const allocator &memory, bool *gone)
{
    on_the_way here = {gone};
    return memory.malloc(1000, 0, nullptr);
}

// Not when the compiler has put it into the program: then there is nobody to throw.
bool has_cxx_library()
{
    return dlopen("libstdc++.so.6", RTLD_NOW | RTLD_NOLOAD) != nullptr;
}

void be_refused(const allocator &memory)
{
    bool gone = false;
    memory.memory_fraction(0, 0);
    try {
        void *block = ask_for_too_much(memory, &gone);
        must(!has_cxx_library(), "it throws");
        must(block == nullptr, "there is no memory beyond the fraction");
        std::printf("nothing: C++'s library is a part of the program\n");
    } catch (const std::bad_alloc &) {
        std::printf("bad_alloc\n");
    } catch (const std::exception &error) {
        std::printf("%s\n", error.what());
    }
    must(gone, "what is on the way is destroyed");
    memory.memory_fraction(1, 0);
    void *block = memory.malloc(1000, 0, nullptr);
    must(block != nullptr, "there is memory again");
    memory.free(block, 1000, 0, nullptr);
    must(stats_of(memory).failures == 1, "one failure");
}

} // namespace

int main(int argc, char **argv)
{
    must(argc >= 2, "a library is named");
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    must(library != nullptr, dlerror());
    if (argc > 2)
        must(dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) != nullptr, argv[2]);
    allocator memory;
    use(memory);
    use_pool(memory);
    be_refused(memory);
    return 0;
}
