/*
 * The runtime over the driver: as the real one, it has a device for each thread, takes that device's primary context
 * when it first needs one, and does everything else by calling the driver. Errors have the same numbers in both.
 *
 *     RUNTIME_API(cudaMalloc, v3020)
 *     {
 *         NEED_CONTEXT();
 *         return DRIVER(cuMemAlloc_v2(...));
 *     }
 *
 * The second argument is the version in CUPTI's name of the call. RUNTIME_STREAM_API also makes NAME_ptsz and
 * RUNTIME_SYNC_API NAME_ptds, with the version after it; PICK(cuX) is then cuX or the like of it for per-thread
 * streams.
 */
#ifndef SIMGPU_CUDART_RUNTIME_H
#define SIMGPU_CUDART_RUNTIME_H

#include <stdbool.h>

#include <runtime_arguments.h> /* made by arguments.awk */

#include "core/api.h"

/* Of an earlier version, which the runtime still calls. */
CUresult cuCtxSynchronize_v2(CUcontext ctx);

/* Initialises the driver, which loads the tool: before the first call is recorded. */
cudaError_t runtime_begin(void);
/* Remembers RESULT as this thread's last error if it is one. Gives it back. */
cudaError_t runtime_end(cudaError_t result);

/* Makes the context of this thread's device current if none is. */
cudaError_t runtime_need_context(void);
int runtime_device(void);
cudaError_t runtime_set_device(int device);
/* The device's primary context, retained once. */
cudaError_t runtime_primary(int device, CUcontext *context);
/* Forgets the primary context of the device, which is about to be reset. */
void runtime_forget(int device);

#define NEED(condition, otherwise) \
    do {                           \
        if (!(condition))          \
            return otherwise;      \
    } while (0)
#define NEED_VALUE(condition) NEED(condition, cudaErrorInvalidValue)
#define NEED_CONTEXT()                                       \
    do {                                                     \
        cudaError_t context_result = runtime_need_context(); \
        NEED(context_result == cudaSuccess, context_result); \
    } while (0)
/* Returns what is not success. */
#define TRY(call)                                     \
    do {                                              \
        cudaError_t try_result = (cudaError_t)(call); \
        NEED(try_result == cudaSuccess, try_result);  \
    } while (0)
#define DRIVER(call) ((cudaError_t)(call))
#define PICK(name) (per_thread ? name##_ptsz : name)
#define PICK_SYNC(name) (per_thread ? name##_ptds : name)

#define RUNTIME_RUN(id, name, params, symbol, end, body)                                                   \
    cudaError_t begun = runtime_begin();                                                                   \
    API_RUN(cudaError_t, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_##id, name, params, symbol, \
            end(begun == cudaSuccess ? body : begun))

#define RUNTIME_API(name, version)                                                              \
    API_EXPORT cudaError_t CUDARTAPI name ARGUMENTS_##name##_##version;                         \
    static cudaError_t name##_body(const name##_##version##_params *p);                         \
    API_EXPORT cudaError_t CUDARTAPI name ARGUMENTS_##name##_##version                          \
    {                                                                                           \
        const name##_##version##_params params = {NAMES_##name##_##version};                    \
        RUNTIME_RUN(name##_##version, #name, &params, NULL, runtime_end, name##_body(&params)); \
    }                                                                                           \
    static cudaError_t name##_body(API_UNUSED const name##_##version##_params *p)

/* END: runtime_end, or nothing when the result is not an error of this call. */
#define RUNTIME_API_0(end, name, version)                                     \
    API_EXPORT cudaError_t CUDARTAPI name(void);                              \
    static cudaError_t name##_body(void);                                     \
    API_EXPORT cudaError_t CUDARTAPI name(void)                               \
    {                                                                         \
        RUNTIME_RUN(name##_##version, #name, NULL, NULL, end, name##_body()); \
    }                                                                         \
    static cudaError_t name##_body(void)

#define RUNTIME_ONE_OF_TWO(symbol_name, id, stem, version, is_per_thread, symbol)                         \
    API_EXPORT cudaError_t CUDARTAPI symbol_name ARGUMENTS_##stem##_##version;                            \
    API_EXPORT cudaError_t CUDARTAPI symbol_name ARGUMENTS_##stem##_##version                             \
    {                                                                                                     \
        const stem##_##version##_params params = {NAMES_##stem##_##version};                              \
        RUNTIME_RUN(id, #symbol_name, &params, symbol, runtime_end, stem##_body(&params, is_per_thread)); \
    }
#define RUNTIME_TWO(suffix, name, version, thread_version, symbol)                                 \
    static cudaError_t name##_body(const name##_##version##_params *p, bool per_thread);           \
    RUNTIME_ONE_OF_TWO(name, name##_##version, name, version, false, symbol)                       \
    RUNTIME_ONE_OF_TWO(name##suffix, name##suffix##_##thread_version, name, version, true, symbol) \
    static cudaError_t name##_body(API_UNUSED const name##_##version##_params *p, API_UNUSED bool per_thread)
#define RUNTIME_STREAM_API(name, version, thread_version) RUNTIME_TWO(_ptsz, name, version, thread_version, NULL)
#define RUNTIME_SYNC_API(name, version, thread_version) RUNTIME_TWO(_ptds, name, version, thread_version, NULL)
#define RUNTIME_LAUNCH_API(name, version, thread_version, symbol) \
    RUNTIME_TWO(_ptsz, name, version, thread_version, symbol)

/* Calls that pass their arguments to a call of the driver as they are. _PLAIN: without a context. */
#define RUNTIME_FORWARD_PLAIN(name, version, driver)      \
    RUNTIME_API(name, version)                            \
    {                                                     \
        return DRIVER(driver(FIELDS_##name##_##version)); \
    }
#define RUNTIME_FORWARD(name, version, driver)            \
    RUNTIME_API(name, version)                            \
    {                                                     \
        NEED_CONTEXT();                                   \
        return DRIVER(driver(FIELDS_##name##_##version)); \
    }
#define RUNTIME_STREAM_FORWARD(name, version, thread_version, driver) \
    RUNTIME_STREAM_API(name, version, thread_version)                 \
    {                                                                 \
        NEED_CONTEXT();                                               \
        return DRIVER(PICK(driver)(FIELDS_##name##_##version));       \
    }

#endif
