/*
 * Resources, synchronisation objects, OpenCL's objects: a chapter of nvtx_all.c.
 */
#ifndef SAMPLES_NVTX_ALL_THINGS_H
#define SAMPLES_NVTX_ALL_THINGS_H

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtOpenCL.h>
#include <nvtx3/nvToolsExtSync.h>

#include "nvtx_all.h"

struct thing {
    uint32_t type;
    uint64_t identifier;
    const char *name, *type_name;
};

static nvtxResourceHandle_t create(const struct thing *thing)
{
    nvtxResourceAttributes_t attributes = {.version = NVTX_VERSION,
                                           .size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE,
                                           .identifierType = (int32_t)thing->type,
                                           .identifier = {.ullValue = thing->identifier},
                                           .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                           .message = {.ascii = thing->name}};
    state("resource %s \"%s\" domain \"everything\"", thing->type_name, thing->name);
    return nvtxDomainResourceCreate(domain, &attributes);
}

static void resources(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    uintptr_t at = (uintptr_t)&mutex;
    const struct thing things[] = {
        {NVTX_RESOURCE_TYPE_GENERIC_POINTER, at, "a pointer", "pointer"},
        {NVTX_RESOURCE_TYPE_GENERIC_HANDLE, 42, "a handle", "handle"},
        {NVTX_RESOURCE_TYPE_SYNC_PTHREAD_MUTEX, at, "a mutex of POSIX", "pthread mutex"},
        {NVTX_RESOURCE_TYPE_SYNC_PTHREAD_CONDITION, at, "a condition", "pthread condition"},
        {NVTX_RESOURCE_TYPE_SYNC_PTHREAD_RWLOCK, at, "a lock for readers", "pthread rwlock"},
        {NVTX_RESOURCE_TYPE_SYNC_PTHREAD_BARRIER, at, "a barrier", "pthread barrier"},
        {NVTX_RESOURCE_TYPE_SYNC_PTHREAD_SPINLOCK, at, "a spinlock of POSIX", "pthread spinlock"},
        {NVTX_RESOURCE_TYPE_SYNC_PTHREAD_ONCE, at, "a once", "pthread once"},
        {NVTX_RESOURCE_TYPE_SYNC_LINUX_MUTEX, at, "a mutex", "mutex"},
        {NVTX_RESOURCE_TYPE_SYNC_LINUX_FUTEX, at, "a futex", "futex"},
        {NVTX_RESOURCE_TYPE_SYNC_LINUX_SEMAPHORE, at, "a semaphore", "semaphore"},
        {NVTX_RESOURCE_TYPE_SYNC_LINUX_COMPLETION, at, "a completion", "completion"},
        {NVTX_RESOURCE_TYPE_SYNC_LINUX_SPINLOCK, at, "a spinlock", "spinlock"},
        {NVTX_RESOURCE_TYPE_SYNC_LINUX_SEQLOCK, at, "a seqlock", "seqlock"},
        {NVTX_RESOURCE_TYPE_SYNC_LINUX_RCU, at, "an RCU", "RCU"},
        {0x00770001, 7, "of a type of its own", "7798785"},
    };
    for (size_t i = 0; i < sizeof(things) / sizeof(things[0]); i++) {
        nvtxDomainResourceDestroy(create(&things[i]));
        state("destroyed %s \"%s\" domain \"everything\"", things[i].type_name, things[i].name);
    }
}

/* Named by NVTX's own functions; NVTX has no way to say that they are gone. */
static void opencl(void)
{
    uintptr_t next = 0x1000;
#define NAME(function, type, what)                          \
    nvtxNameCl##function##A((type)next++, "ein " what);     \
    state("resource OpenCL %s \"ein " what "\"", (what));   \
    nvtxNameCl##function##W((type)next++, L"\u00e4 " what); \
    state("resource OpenCL %s \"ä " what "\"", (what))
    NAME(Device, cl_device_id, "device");
    NAME(Context, cl_context, "context");
    NAME(CommandQueue, cl_command_queue, "queue");
    NAME(MemObject, cl_mem, "memory");
    NAME(Sampler, cl_sampler, "sampler");
    NAME(Program, cl_program, "program");
    NAME(Event, cl_event, "event");
#undef NAME
}

/* --- nvToolsExtSync.h --- */

static nvtxSyncUser_t lock;

static void *wait_in_vain(void *unused)
{
    (void)unused;
    nvtxNameOsThreadW(this_thread(), L"der Wartende");
    did_name_row("der Wartende");
    nvtxDomainSyncUserAcquireStart(lock);
    usleep(300);
    nvtxDomainSyncUserAcquireFailed(lock);
    did_push("\"acquiring the lock\" domain \"everything\" failed");
    return NULL;
}

static void *give_back(void *unused)
{
    nvtxDomainSyncUserReleasing(lock);
    return unused;
}

static void on_another_thread(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    must(pthread_create(&thread, NULL, run, argument) == 0, "cannot start a thread");
    pthread_join(thread, NULL);
}

static void synchronisation(void)
{
    nvtxSyncUserAttributes_t attributes = {.version = NVTX_VERSION,
                                           .size = NVTX_SYNCUSER_ATTRIB_STRUCT_SIZE,
                                           .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                           .message = {.ascii = "the lock"}};
    lock = nvtxDomainSyncUserCreate(domain, &attributes);
    state("resource synchronisation object \"the lock\" domain \"everything\"");
    nvtxDomainSyncUserAcquireStart(lock);
    usleep(100);
    nvtxDomainSyncUserAcquireSuccess(lock);
    did_push("\"acquiring the lock\" domain \"everything\"");
    on_another_thread(wait_in_vain, NULL);
    on_another_thread(give_back, NULL);
    did_start("\"holding the lock\" domain \"everything\"");
    nvtxDomainSyncUserReleasing(lock);
    state_count("loss unmatched_ranges", 1);
    nvtxDomainSyncUserDestroy(lock);
    state("destroyed synchronisation object \"the lock\" domain \"everything\"");
}

#endif
