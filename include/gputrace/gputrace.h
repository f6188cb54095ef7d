/*
 * gputrace.h: for programs that want a say in what gputrace records of them.
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
 * Everything is in this header: there is no library to link. A program that does not run under `gputrace run` pays one
 * look at the environment and from then on a load and an indirect call; nothing is loaded and nothing happens.
 *
 * gputrace_start()   records from here on.
 * gputrace_stop()    records no more. What the GPU has not finished by then is not waited for: synchronise first when
 *                    it belongs to the part that matters.
 * gputrace_active()  1 while the program is being recorded, 0 otherwise.
 *
 * With `--capture-range=api` nothing is recorded before the first gputrace_start(). Without it recording is on from the
 * beginning, and gputrace_stop() and gputrace_start() cut a pause into it. Calls do not nest: two starts need one stop.
 * All three may be called from any thread, at any time, before CUDA and NVTX are used as well; they change no CUDA
 * state and they keep errno.
 *
 * Needs C99 or C++11, GCC or Clang, Linux. With a glibc older than 2.34, link with -ldl for dlopen().
 */
#ifndef GPUTRACE_GPUTRACE_H
#define GPUTRACE_GPUTRACE_H

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* From here to gputrace_call(): not for callers. */
typedef int (*gputrace_function)(void);

static inline int gputrace_nothing(void)
{
    return 0;
}

/* The library that gputrace put into this process (or will, with the first CUDA or NVTX call) exports the functions. */
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

/* Threads that come here together look up the same answer, so it does not matter whose is kept. */
static inline int gputrace_call(gputrace_function *kept, const char *name)
{
    gputrace_function function = __atomic_load_n(kept, __ATOMIC_ACQUIRE);
    int error = errno;
    if (!function) {
        function = gputrace_look_up(name);
        __atomic_store_n(kept, function, __ATOMIC_RELEASE);
    }
    int result = function();
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

#ifdef __cplusplus
}
#endif

#endif
