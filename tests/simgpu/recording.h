/*
 * What the simulator's tests share: a small tool that has subscribed to CUPTI and records its callbacks, and a kernel
 * to launch without nvcc. And children, for what happens only once in a process or is asked for by the environment.
 */
#ifndef SIMGPU_RECORDING_H
#define SIMGPU_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

struct recorded_call {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId cbid;
    CUpti_ApiCallbackSite site; /* of the API domains */
    uint32_t correlation, context_uid;
    const char *name;
    char symbol[64];
    int result; /* at exit */
    bool has_result;
    uint64_t first_word; /* of the parameter struct */
    uint32_t module_id;  /* of the resource domain's modules, with what the code begins with */
    uint32_t code_word;
    size_t code_size;
    uint64_t data; /* what the call at the entry left in correlationData */
};

/* Buffers of so many bytes are given to CUPTI, which are NULL when it is 0. */
void recording_start(size_t buffer_bytes);
/* The same, and then CUDA is ready and a kernel was launched, so that nothing is prepared later. Gives 0, or an error
 * of CUDA's. */
int recording_start_warm(size_t buffer_bytes);
/* Enables a list of kinds that ends with 0; KINDS(kind, ...) makes it. */
void recording_enable(const CUpti_ActivityKind *kinds);
#define KINDS(...) recording_enable((const CUpti_ActivityKind[]){__VA_ARGS__, (CUpti_ActivityKind)0})
/* Disables all, forgets everything recorded so far. */
void recording_clear(void);
/* As a test's tear-down: waits for the device first. */
int recording_teardown(void **state);
/* Enables callbacks of a domain. */
void recording_enable_domain(CUpti_CallbackDomain domain);
void recording_enable_callback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);

/* The other way. */
void recording_disable_callback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
bool recording_callback_enabled(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
/* FUNCTION (NULL: nothing) is called in every callback, after it was kept. */
void recording_in_callbacks(void (*function)(const struct recorded_call *call));

/* Waits for nothing; takes what is complete. */
void recording_flush(bool forced);

size_t recording_count(CUpti_ActivityKind kind);
/* The record number NTH of this kind, from 0; NULL when there are not so many. Valid until recording_clear. */
const void *recording_get(CUpti_ActivityKind kind, size_t nth);
/* The record of a call, of kind RUNTIME or DRIVER. */
const CUpti_ActivityAPI *recording_api(CUpti_ActivityKind kind, CUpti_CallbackId cbid);

size_t recording_calls(void);
const struct recorded_call *recording_call(size_t nth);
/* The first callback of this id and site from number FROM on, or -1. */
long recording_find_call(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, CUpti_ApiCallbackSite site, size_t from);

/* How many buffers were asked for on this thread, and on all. */
extern _Thread_local unsigned recording_requests_here;
unsigned recording_requests(void);
/* The buffers given out and not back: the first of them, or NULL. */
const uint8_t *recording_open_buffer(void);

/* PTX of two kernels and a variable; and a kernel of the runtime, to be given to cudaLaunchKernel. */
extern const char recording_ptx[];
void recording_kernel(void);
/* Launches it in STREAM, as one warp. Returns an error of CUDA's. */
int recording_launch(cudaStream_t stream);

/* Runs FUNCTION in a child with the variable set, both of which may be NULL, and gives the child's wait status. */
/* The child of a process that has not used CUDA yet. */
int recording_in_child(int (*function)(void), const char *variable, const char *value);

/* For such functions: the line that did not hold is the exit status. */
#define HOLDS(condition)                 \
    do {                                 \
        if (!(condition))                \
            return (__LINE__ % 200) + 1; \
    } while (0)

/* FUNCTION ends well in a child. */
#define EXITS(function, variable, value) assert_int_equal(recording_in_child(function, variable, value), 0)

#define CUDA_OK(call) assert_int_equal((call), 0)

#endif
