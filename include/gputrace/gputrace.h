/*
 * gputrace.h: lets a program control what gputrace records of it.
 *
 *     #include <gputrace/gputrace.h>
 *
 *     warm_up();
 *     gputrace_start();
 *     the_part_that_matters();
 *     gputrace_stop();
 *
 *     $ gputrace run --capture-range=api ./program
 *
 * Everything is in this header: there is no library to link. In a program that does not run under `gputrace run` the
 * first call reads the environment, and later calls cost a load and a comparison; nothing is loaded.
 *
 * gputrace_start()   records from here on.
 * gputrace_stop()    stops recording. It does not wait for GPU work: synchronise first if that work matters.
 * gputrace_active()  returns 1 while the program is being recorded, else 0.
 *
 * gputrace_access(pointer, bytes, mode, stream)
 *                    declares that the next work in STREAM reads, writes or both (GPUTRACE_READ, GPUTRACE_WRITE,
 *                    GPUTRACE_READ_WRITE) BYTES of memory from POINTER on. Only the program knows what memory a kernel
 *                    uses: call this just before each launch, once for each piece of memory. STREAM is a cudaStream_t
 *                    or CUstream, as it is given to the launch; 0 is the default stream that the program is compiled
 *                    for, of the current context. Plugins get it (callbacks.h): `hazards` finds kernels that use the
 *                    same memory without synchronisation. Returns 1 if a plugin asks for it, else 0.
 *
 *     gputrace_access(input, bytes, GPUTRACE_READ, stream);
 *     gputrace_access(output, bytes, GPUTRACE_WRITE, stream);
 *     scale<<<blocks, threads, 0, stream>>>(output, input, count);
 *
 * gputrace_device_range_start(message, stream), gputrace_device_range_end(range, stream)
 *                    record a range in STREAM: it starts on the GPU when the work before the start is done, and ends
 *                    when the work before the end is done. In the trace it is a slice on the stream's row. Start
 *                    returns the range's number for end, which may be called on another thread or for another stream;
 *                    0 when the range is not recorded, which end accepts. STREAM is a cudaStream_t or CUstream; 0 is
 *                    the default stream that the program is compiled for. While the stream is captured into a graph,
 *                    the range is not recorded, and gputrace prints a warning. It needs CUPTI of CUDA 12.8 or newer,
 *                    costs two recorded events, and makes nothing wait.
 *
 *     uint64_t range = gputrace_device_range_start("forward", stream);
 *     ...launches into stream...
 *     gputrace_device_range_end(range, stream);
 *
 * With `--capture-range=api` nothing is recorded before the first gputrace_start(). Without it recording is on from the
 * beginning, and gputrace_stop() and gputrace_start() cut out a pause. Calls do not nest: two starts need one stop. All
 * may be called from any thread, at any time, also before CUDA and NVTX are used. They change no CUDA state and keep
 * errno.
 *
 * Needs C99 or C++11, GCC or Clang, Linux. With a glibc older than 2.34, link with -ldl for dlopen().
 */
#ifndef GPUTRACE_GPUTRACE_H
#define GPUTRACE_GPUTRACE_H

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How memory is used. The numbers are those of enum gputrace_access_mode in callbacks.h, which may be included too. */
enum { GPUTRACE_READ = 1, GPUTRACE_WRITE = 2, GPUTRACE_READ_WRITE = 3 };

/* From here to gputrace_call() nothing is for callers. */
typedef void (*gputrace_function)(void);
typedef int (*gputrace_control_function)(void);
typedef int (*gputrace_access_function)(const void *pointer, size_t bytes, int mode, void *stream);
typedef uint64_t (*gputrace_range_start_function)(const char *message, void *stream);
typedef void (*gputrace_range_end_function)(uint64_t range, void *stream);

/* Takes the place of every function if gputrace is not there. */
static inline void gputrace_nothing(void)
{
}

/* Looks NAME up in the library that gputrace loads into this process, at the latest with the first CUDA or NVTX call.
 */
static inline gputrace_function gputrace_look_up(const char *name)
{
    const char *path = getenv("GPUTRACE_LIBRARY");
    void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = library ? dlsym(library, name) : NULL;
    gputrace_function function = gputrace_nothing;
    if (symbol)
        memcpy(&function, &symbol, sizeof(function));
    return function;
}

/* Returns the function NAME, looked up once. Threads that look it up at the same time find the same address, so it does
 * not matter which thread's store stays in *KEPT. */
static inline gputrace_function gputrace_find(gputrace_function *kept, const char *name)
{
    gputrace_function function = __atomic_load_n(kept, __ATOMIC_ACQUIRE);
    if (!function) {
        function = gputrace_look_up(name);
        __atomic_store_n(kept, function, __ATOMIC_RELEASE);
    }
    return function;
}

static inline int gputrace_call(gputrace_function *kept, const char *name)
{
    int error = errno, result = 0;
    gputrace_function function = gputrace_find(kept, name);
    if (function != gputrace_nothing)
        result = ((gputrace_control_function)function)();
    errno = error;
    return result;
}

static inline void gputrace_start(void)
{
    static gputrace_function kept;
    (void)gputrace_call(&kept, "gputrace_start");
}

static inline void gputrace_stop(void)
{
    static gputrace_function kept;
    (void)gputrace_call(&kept, "gputrace_stop");
}

static inline int gputrace_active(void)
{
    static gputrace_function kept;
    return gputrace_call(&kept, "gputrace_active") > 0;
}

/* With `nvcc --default-stream per-thread` the default stream is the thread's own, number 2. */
static inline void *gputrace_stream(void *stream)
{
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)
    return stream ? stream : (void *)(uintptr_t)2;
#else
    return stream;
#endif
}

static inline int gputrace_access(const void *pointer, size_t bytes, int mode, void *stream)
{
    static gputrace_function kept;
    int error = errno, result = 0;
    gputrace_function function = gputrace_find(&kept, "gputrace_access");
    if (function != gputrace_nothing)
        result = ((gputrace_access_function)function)(pointer, bytes, mode, gputrace_stream(stream));
    errno = error;
    return result;
}

static inline uint64_t gputrace_device_range_start(const char *message, void *stream)
{
    static gputrace_function kept;
    int error = errno;
    uint64_t range = 0;
    gputrace_function function = gputrace_find(&kept, "gputrace_device_range_start");
    if (function != gputrace_nothing)
        range = ((gputrace_range_start_function)function)(message, gputrace_stream(stream));
    errno = error;
    return range;
}

static inline void gputrace_device_range_end(uint64_t range, void *stream)
{
    static gputrace_function kept;
    int error = errno;
    gputrace_function function = range ? gputrace_find(&kept, "gputrace_device_range_end") : gputrace_nothing;
    if (function != gputrace_nothing)
        ((gputrace_range_end_function)function)(range, gputrace_stream(stream));
    errno = error;
}

#ifdef __cplusplus
}
#endif

#endif
