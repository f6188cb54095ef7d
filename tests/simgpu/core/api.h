/*
 * What happens around every call of the driver and runtime API, so that the entry points hold only what they do
 * themselves: CUPTI's callbacks at entry and exit, the correlation id (a driver call inside a runtime call has that
 * call's, and so has a call that the tool makes in one of its callbacks), and the activity record at the end, which
 * spans the callbacks.
 *
 *     DRIVER_API(cuMemAlloc_v2)
 *     {
 *         return ...;                  the arguments are in the parameter struct of CUPTI's headers: p->bytesize
 *     }
 *
 * DRIVER_STREAM_API also makes NAME_ptsz, for programs whose default stream is one per thread: `per_thread` says which
 * was called. DRIVER_API_0 is for calls without parameters. RUNTIME_API and its like name the version in CUPTI's ids as
 * well.
 */
#ifndef SIMGPU_CORE_API_H
#define SIMGPU_CORE_API_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>
#include <driver_arguments.h> /* made by arguments.awk */

#include "core/driver.h"

struct api_call {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId cbid;
    const char *name;   /* as callbacks tell it */
    const void *params; /* the parameter struct */
    const char *symbol; /* the kernel, for launches */
    /* Filled in by api_enter. */
    struct api_call *outer;
    uint64_t correlation_data;
    uint64_t start;
    uint32_t correlation;
    bool in_callback; /* made by the tool, in one of its callbacks, not by the program */
    bool told, recorded;
};

void api_enter(struct api_call *call);
/* RESULT points to the CUresult or cudaError_t. */
void api_leave(struct api_call *call, const void *result);

/* Does the tool get to know of what happens inside the driver call that this thread is in? So with compilation. */
bool api_watched(void);

/* The correlation id of this thread's outermost call; a fresh one outside of any. */
uint32_t api_correlation(void);
/* An id that no call has had. */
uint32_t api_new_correlation(void);
/* Between these, calls of this thread are the simulator's own business: nobody is told of them. */
void api_hide(void);
void api_show(void);

/* Calls to be recorded although the whole kind is not enabled. As in the real CUPTI (13.0), a function that was not
 * enabled when the first context was made cannot be enabled later. */
void api_record(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, bool enable);
/* The first context is made. */
void api_first_context(void);
/* The thread ids in API records: CUPTI's two ways. */
void api_set_thread_id_type(CUpti_ActivityThreadIdType type);
CUpti_ActivityThreadIdType api_thread_id_type(void);
uint32_t api_thread_id(void);

void api_push_external(CUpti_ExternalCorrelationKind kind, uint64_t id);
/* False when nothing of KIND was pushed by this thread. */
bool api_pop_external(CUpti_ExternalCorrelationKind kind, uint64_t *id);

#define API_EXPORT __attribute__((visibility("default")))
#define API_UNUSED __attribute__((unused))

#define API_RUN(result_type, domain_, cbid_, name_, params_, symbol_, body)                                         \
    struct api_call call = {.domain = domain_, .cbid = cbid_, .name = name_, .params = params_, .symbol = symbol_}; \
    api_enter(&call);                                                                                               \
    result_type result = body;                                                                                      \
    api_leave(&call, &result);                                                                                      \
    return result

/* Nothing can be called before cuInit; the file with the few exceptions defines this as true before it includes us. */
#ifndef DRIVER_CALLABLE
#define DRIVER_CALLABLE driver_ready()
#endif

#define DRIVER_RUN(name, params, symbol, body)                                                           \
    API_RUN(CUresult, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name, #name, params, symbol, \
            fault_result(#name, !DRIVER_CALLABLE     ? CUDA_ERROR_NOT_INITIALIZED                        \
                                : fault_stops(#name) ? CUDA_ERROR_ILLEGAL_ADDRESS                        \
                                                     : body))

#define DRIVER_API(name)                                       \
    API_EXPORT CUresult CUDAAPI name ARGUMENTS_##name;         \
    static CUresult name##_body(const name##_params *p);       \
    API_EXPORT CUresult CUDAAPI name ARGUMENTS_##name          \
    {                                                          \
        const name##_params params = {NAMES_##name};           \
        DRIVER_RUN(name, &params, NULL, name##_body(&params)); \
    }                                                          \
    static CUresult name##_body(API_UNUSED const name##_params *p)

#define DRIVER_API_0(name)                           \
    API_EXPORT CUresult CUDAAPI name(void);          \
    static CUresult name##_body(void);               \
    API_EXPORT CUresult CUDAAPI name(void)           \
    {                                                \
        DRIVER_RUN(name, NULL, NULL, name##_body()); \
    }                                                \
    static CUresult name##_body(void)

/* SYMBOL: the kernel's name, an expression of the parameters, for launches. SUFFIX: _ptsz or _ptds. */
#define DRIVER_ONE_OF_TWO(name, stem, is_per_thread, symbol)                    \
    API_EXPORT CUresult CUDAAPI name ARGUMENTS_##stem;                          \
    API_EXPORT CUresult CUDAAPI name ARGUMENTS_##stem                           \
    {                                                                           \
        const stem##_params params = {NAMES_##stem};                            \
        DRIVER_RUN(name, &params, symbol, stem##_body(&params, is_per_thread)); \
    }
#define DRIVER_TWO(name, suffix, symbol)                                  \
    static CUresult name##_body(const name##_params *p, bool per_thread); \
    DRIVER_ONE_OF_TWO(name, name, false, symbol)                          \
    DRIVER_ONE_OF_TWO(name##suffix, name, true, symbol)                   \
    static CUresult name##_body(API_UNUSED const name##_params *p, API_UNUSED bool per_thread)
#define DRIVER_STREAM_API(name) DRIVER_TWO(name, _ptsz, NULL)
#define DRIVER_SYNC_API(name) DRIVER_TWO(name, _ptds, NULL)
#define DRIVER_LAUNCH_API(name, symbol) DRIVER_TWO(name, _ptsz, symbol)

#endif
