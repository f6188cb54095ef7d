/*
 * gputrace_torch_malloc(): for C++ callers that do not check for NULL. It throws, without any C++ code here: PyTorch's
 * own exception if the process has loaded PyTorch, else std::bad_alloc if it has loaded C++'s library. This file is
 * compiled with -fexceptions, because the exception passes through it.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <gputrace/allocator.h>

/* Functions that throw, by their names in the ABI of C++, which contain the types of their parameters:
 *     c10::detail::torchCheckFail(char const *function, char const *file, unsigned line, char const *message)
 *     std::__throw_bad_alloc()
 * Python loads extensions with local symbols, so each library is looked up by name; one that is not loaded stays so. */
#define TORCH_LIBRARY "libc10.so"
#define TORCH_THROW "_ZN3c106detail14torchCheckFailEPKcS2_jS2_"
#define CXX_LIBRARY "libstdc++.so.6"
#define CXX_THROW "_ZSt17__throw_bad_allocv"

typedef void torch_throw_fn(const char *function, const char *file, unsigned line, const char *message);
typedef void cxx_throw_fn(void);

static void *find(const char *library, const char *name)
{
    void *loaded = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    return loaded ? dlsym(loaded, name) : NULL;
}

static void write_bytes(char *text, size_t size, uint64_t bytes)
{
    static const struct {
        unsigned shift;
        const char *unit;
    } units[] = {{30, "GiB"}, {20, "MiB"}, {10, "KiB"}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (bytes >> units[i].shift) {
            snprintf(text, size, "%.2f %s", (double)bytes / (double)(UINT64_C(1) << units[i].shift), units[i].unit);
            return;
        }
    }
    snprintf(text, size, "%u bytes", (unsigned)bytes);
}

/* Begins as PyTorch's own message, because programs look for that. */
static void write_message(char *text, size_t size, size_t asked, int device)
{
    char wanted[32], held[32], limit[32];
    struct gputrace_allocator_stats stats;
    write_bytes(wanted, sizeof(wanted), asked);
    if (gputrace_allocator_stats(device, &stats) != 0) {
        snprintf(text, size, "CUDA out of memory. gputrace's allocator cannot give %s: there is no device %d", wanted,
                 device);
        return;
    }
    bool limited = stats.limit < stats.device_bytes;
    write_bytes(held, sizeof(held), stats.held_bytes.current);
    write_bytes(limit, sizeof(limit), limited ? stats.limit : stats.device_bytes);
    snprintf(text, size,
             "CUDA out of memory. gputrace's allocator cannot give %s on device %d: it holds %s of the %s that %s",
             wanted, device, held, limit, limited ? "the memory fraction allows" : "the device has");
}

/* Returns if the process has neither library. */
static void throw_bad_alloc(size_t size, int device)
{
    char message[256];
    void *symbol = find(TORCH_LIBRARY, TORCH_THROW);
    if (symbol) {
        torch_throw_fn *torch_throw;
        memcpy(&torch_throw, &symbol, sizeof(symbol));
        write_message(message, sizeof(message), size, device);
        torch_throw("gputrace_torch_malloc", "libgputrace-allocator.so", 0, message);
    }
    symbol = find(CXX_LIBRARY, CXX_THROW);
    if (symbol) {
        cxx_throw_fn *cxx_throw;
        memcpy(&cxx_throw, &symbol, sizeof(symbol));
        cxx_throw();
    }
}

void *gputrace_torch_malloc(size_t size, int device, struct CUstream_st *stream)
{
    void *pointer = gputrace_malloc(size, device, stream);
    if (!pointer && size > 0)
        throw_bad_alloc(size, device);
    return pointer;
}
