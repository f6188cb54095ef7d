#include "cupti/names.h"

#include <stddef.h>

static const char *const driver_names[] = {
#include "driver_names.inc"
};

static const char *const runtime_names[] = {
#include "runtime_names.inc"
};

static const char *const resource_names[] = {
    [CUPTI_CBID_RESOURCE_CONTEXT_CREATED] = "CONTEXT_CREATED",
    [CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING] = "CONTEXT_DESTROY_STARTING",
    [CUPTI_CBID_RESOURCE_STREAM_CREATED] = "STREAM_CREATED",
    [CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING] = "STREAM_DESTROY_STARTING",
    [CUPTI_CBID_RESOURCE_CU_INIT_FINISHED] = "CU_INIT_FINISHED",
    [CUPTI_CBID_RESOURCE_MODULE_LOADED] = "MODULE_LOADED",
    [CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING] = "MODULE_UNLOAD_STARTING",
};

static const char *const synchronize_names[] = {
    [CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED] = "STREAM_SYNCHRONIZED",
    [CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED] = "CONTEXT_SYNCHRONIZED",
};

#define COUNT(names) (sizeof(names) / sizeof(names[0]))

const char *names_callback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
    static const struct {
        const char *const *names;
        size_t count;
    } domains[CUPTI_CB_DOMAIN_SIZE] = {
        [CUPTI_CB_DOMAIN_DRIVER_API] = {driver_names, COUNT(driver_names)},
        [CUPTI_CB_DOMAIN_RUNTIME_API] = {runtime_names, COUNT(runtime_names)},
        [CUPTI_CB_DOMAIN_RESOURCE] = {resource_names, COUNT(resource_names)},
        [CUPTI_CB_DOMAIN_SYNCHRONIZE] = {synchronize_names, COUNT(synchronize_names)},
    };
    if (domain <= 0 || domain >= CUPTI_CB_DOMAIN_SIZE || cbid >= domains[domain].count)
        return NULL;
    return domains[domain].names[cbid];
}

/* X(result, said about it): those that can come from here */
#define RESULTS(X)                                                                    \
    X(CUPTI_SUCCESS, "no error")                                                      \
    X(CUPTI_ERROR_INVALID_PARAMETER, "one or more of the parameters is invalid")      \
    X(CUPTI_ERROR_INVALID_DEVICE, "the device is not a CUDA device")                  \
    X(CUPTI_ERROR_INVALID_CONTEXT, "the context is NULL or invalid")                  \
    X(CUPTI_ERROR_INVALID_OPERATION, "not possible here or now")                      \
    X(CUPTI_ERROR_OUT_OF_MEMORY, "not enough memory")                                 \
    X(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT, "the output buffer is too small")    \
    X(CUPTI_ERROR_MAX_LIMIT_REACHED, "no more records")                               \
    X(CUPTI_ERROR_NOT_COMPATIBLE, "not compatible with what is enabled already")      \
    X(CUPTI_ERROR_NOT_INITIALIZED, "CUPTI could not be initialised")                  \
    X(CUPTI_ERROR_QUEUE_EMPTY, "the queue is empty")                                  \
    X(CUPTI_ERROR_INVALID_KIND, "no such kind of record")                             \
    X(CUPTI_ERROR_NOT_SUPPORTED, "not supported")                                     \
    X(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "somebody else has subscribed") \
    X(CUPTI_ERROR_UNKNOWN, "unknown error")

const char *names_result(CUptiResult result)
{
    switch ((int)result) {
#define X(what, said) \
    case what: return #what;
        RESULTS(X)
#undef X
    default: return NULL;
    }
}

const char *names_result_message(CUptiResult result)
{
    switch ((int)result) {
#define X(what, said) \
    case what: return said;
        RESULTS(X)
#undef X
    default: return NULL;
    }
}
