#include "core/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/activity.h"
#include "core/callbacks.h"
#include "core/context.h"
#include "core/device.h"
#include "core/sim.h"

enum driver_state { DRIVER_NEW, DRIVER_STARTING, DRIVER_READY, DRIVER_FORKED };

static atomic_int state;
static pthread_mutex_t init_lock;

/* The tool calls CUDA and CUPTI while the driver calls it. */
__attribute__((constructor)) static void driver_make_lock(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&init_lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static void driver_inject(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    if (!path || !*path)
        return;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*initialize)(void) = NULL;
    if (library)
        *(void **)&initialize = dlsym(library, "InitializeInjection");
    if (initialize)
        initialize();
}

static void driver_before_fork(void)
{
    sim_lock();
    activity_lock();
}

static void driver_after_fork(void)
{
    activity_unlock();
    sim_unlock();
}

static void driver_in_child(void)
{
    driver_after_fork();
    atomic_store(&state, DRIVER_FORKED);
}

static CUresult driver_start(void)
{
    if (!device_count())
        return CUDA_ERROR_NO_DEVICE;
    atomic_store(&state, DRIVER_STARTING);
    pthread_atfork(driver_before_fork, driver_after_fork, driver_in_child);
    driver_inject();
    atomic_store(&state, DRIVER_READY);
    callbacks_resource(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, NULL, NULL, NULL);
    return CUDA_SUCCESS;
}

CUresult driver_init(void)
{
    if (driver_started())
        return CUDA_SUCCESS;
    if (driver_forked())
        return CUDA_ERROR_NOT_INITIALIZED;
    pthread_mutex_lock(&init_lock);
    CUresult result = atomic_load(&state) == DRIVER_NEW ? driver_start() : CUDA_SUCCESS;
    pthread_mutex_unlock(&init_lock);
    return result;
}

bool driver_ready(void)
{
    int now = atomic_load(&state);
    return now == DRIVER_READY || now == DRIVER_STARTING;
}

bool driver_started(void)
{
    return atomic_load(&state) == DRIVER_READY;
}

bool driver_forked(void)
{
    return atomic_load(&state) == DRIVER_FORKED;
}

/* ---- lost contexts ---- */

/* How the names of functions begin that do not need a context, or end it. */
static const char *const needless[] = {
    "cuInit",   "cuDriver",     "cuDevice",        "cuGet",      "cuCtxGetCurrent", "cuCtxCreate",    "cuCtxPush",
    "cuCtxPop", "cuCtxDestroy", "cuCtxSetCurrent", "cuProfiler", "cuCtxGetId",      "cuCtxGetDevice", "cuCtxGetFlags",
};

bool fault_stops(const char *name)
{
    CUcontext context = context_current();
    if (!context || !atomic_load(&context->lost))
        return false;
    for (size_t i = 0; i < sizeof(needless) / sizeof(needless[0]); i++)
        if (strncmp(name, needless[i], strlen(needless[i])) == 0)
            return false;
    return true;
}

/* A launch has returned before its kernel begins, however slow this simulator is. */
CUresult fault_result(const char *name, CUresult result)
{
    bool launch = strncmp(name, "cuLaunch", strlen("cuLaunch")) == 0;
    return result == CUDA_SUCCESS && !launch && fault_stops(name) ? CUDA_ERROR_ILLEGAL_ADDRESS : result;
}
