#include "cudart/registry.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "core/function.h"
#include "cudart/runtime.h"

struct fat_binary {
    const void *data;
    CUlibrary library;   /* NULL until it is needed */
    struct list managed; /* struct symbol */
};

/* A kernel, a variable, or a kernel's handle. */
struct symbol {
    const void *host; /* the key */
    struct fat_binary *binary;
    const char *name;
    size_t size;         /* variables */
    void **managed;      /* where the program wants the address of a managed variable */
    CUfunction function; /* kernels, once they are loaded */
    CUdeviceptr address; /* variables, likewise */
};

static struct {
    pthread_mutex_t lock; /* of the tree; loading happens outside of it */
    pthread_mutex_t loading;
    void *entries;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER, .loading = PTHREAD_MUTEX_INITIALIZER};

static int entry_compare(const void *a, const void *b)
{
    const struct symbol *left = a, *right = b;
    return left->host < right->host ? -1 : left->host > right->host;
}

static struct symbol *registry_find(const void *host)
{
    const struct symbol key = {.host = host};
    pthread_mutex_lock(&registry.lock);
    struct symbol **found = tfind(&key, &registry.entries, entry_compare);
    struct symbol *entry = found ? *found : NULL;
    pthread_mutex_unlock(&registry.lock);
    return entry;
}

static struct symbol *registry_add(const void *host, struct fat_binary *binary, const char *name)
{
    struct symbol *entry = calloc(1, sizeof(*entry));
    if (!entry)
        abort();
    *entry = (struct symbol){.host = host, .binary = binary, .name = name};
    pthread_mutex_lock(&registry.lock);
    struct symbol **place = tsearch(entry, &registry.entries, entry_compare);
    bool added = place && *place == entry;
    pthread_mutex_unlock(&registry.lock);
    if (!added)
        free(entry);
    return added ? entry : *place;
}

/* ---- what nvcc's code calls before main and after it ---- */

void **__cudaRegisterFatBinary(void *fatCubin);
void __cudaRegisterFatBinaryEnd(void **fatCubinHandle);
void __cudaUnregisterFatBinary(void **fatCubinHandle);
void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun, const char *deviceName,
                            int thread_limit, uint3 *tid, uint3 *bid, dim3 *bDim, dim3 *gDim, int *wSize);
void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress, const char *deviceName, int ext,
                       size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress, char *deviceAddress,
                              const char *deviceName, int ext, size_t size, int constant, int global);
char __cudaInitModule(void **fatCubinHandle);

API_EXPORT void **__cudaRegisterFatBinary(void *fatCubin)
{
    struct fat_binary *binary = calloc(1, sizeof(*binary));
    if (!binary)
        abort();
    binary->data = fatCubin;
    return (void **)(void *)binary;
}

API_EXPORT void __cudaRegisterFatBinaryEnd(void **fatCubinHandle)
{
    (void)fatCubinHandle;
}

/* At exit, when threads may still launch: nothing is taken away from them. */
API_EXPORT void __cudaUnregisterFatBinary(void **fatCubinHandle)
{
    (void)fatCubinHandle;
}

API_EXPORT void __cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
                                       const char *deviceName, int thread_limit, uint3 *tid, uint3 *bid, dim3 *bDim,
                                       dim3 *gDim, int *wSize)
{
    (void)deviceFun, (void)thread_limit, (void)tid, (void)bid, (void)bDim, (void)gDim, (void)wSize;
    registry_add(hostFun, (struct fat_binary *)(void *)fatCubinHandle, deviceName);
}

API_EXPORT void __cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress, const char *deviceName,
                                  int ext, size_t size, int constant, int global)
{
    (void)deviceAddress, (void)ext, (void)constant, (void)global;
    registry_add(hostVar, (struct fat_binary *)(void *)fatCubinHandle, deviceName)->size = size;
}

API_EXPORT void __cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress, char *deviceAddress,
                                         const char *deviceName, int ext, size_t size, int constant, int global)
{
    (void)deviceAddress, (void)ext, (void)constant, (void)global;
    struct fat_binary *binary = (struct fat_binary *)(void *)fatCubinHandle;
    struct symbol *entry = registry_add(hostVarPtrAddress, binary, deviceName);
    entry->size = size;
    entry->managed = hostVarPtrAddress;
    list_add(&binary->managed, entry);
}

/* Gives the managed variables of a fat binary their memory, before the program first touches one. */
API_EXPORT char __cudaInitModule(void **fatCubinHandle)
{
    struct fat_binary *binary = (struct fat_binary *)(void *)fatCubinHandle;
    if (runtime_begin() != cudaSuccess)
        return 0;
    api_hide();
    pthread_mutex_lock(&registry.loading);
    for (size_t i = 0; i < binary->managed.count; i++) {
        struct symbol *entry = binary->managed.items[i];
        if (!entry->address && runtime_need_context() == cudaSuccess &&
            cuMemAllocManaged(&entry->address, entry->size, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS) {
            *entry->managed = (void *)(uintptr_t)entry->address;
            memset(*entry->managed, 0, entry->size);
        }
    }
    pthread_mutex_unlock(&registry.loading);
    api_show();
    return 1;
}

/* ---- use ---- */

static CUresult binary_load(struct fat_binary *binary)
{
    if (binary->library)
        return CUDA_SUCCESS;
    return cuLibraryLoadData(&binary->library, binary->data, NULL, NULL, 0, NULL, NULL, 0);
}

static CUresult entry_load_kernel(struct symbol *entry)
{
    if (entry->function)
        return CUDA_SUCCESS;
    CUkernel kernel = NULL;
    CUresult result = binary_load(entry->binary);
    if (result == CUDA_SUCCESS)
        result = cuLibraryGetKernel(&kernel, entry->binary->library, entry->name);
    const char *name;
    if (result == CUDA_SUCCESS)
        cuKernelGetName(&name, kernel); /* the real one asks for it too */
    __atomic_store_n(&entry->function, (CUfunction)(void *)kernel, __ATOMIC_RELEASE);
    return result;
}

cudaError_t registry_kernel(const void *func, CUfunction *function)
{
    struct symbol *entry = registry_find(func);
    if (!entry || entry->size)
        return cudaErrorInvalidDeviceFunction;
    CUresult result = CUDA_SUCCESS;
    if (!__atomic_load_n(&entry->function, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&registry.loading);
        result = entry_load_kernel(entry);
        pthread_mutex_unlock(&registry.loading);
    }
    *function = entry->function;
    return (cudaError_t)result;
}

const char *registry_name(const void *func)
{
    struct symbol *entry = registry_find(func);
    return entry ? entry->name : NULL;
}

void registry_add_handle(const void *handle)
{
    CUfunction function = (CUfunction)(uintptr_t)handle;
    struct symbol *entry = registry_add(handle, NULL, function_of(function)->name);
    __atomic_store_n(&entry->function, function, __ATOMIC_RELEASE);
}

/* The driver cannot read a variable's size from a compressed image; nvcc's registration tells it. */
static CUresult entry_load_variable(struct symbol *entry)
{
    CUresult result = entry->address ? CUDA_SUCCESS : binary_load(entry->binary);
    if (entry->address || result != CUDA_SUCCESS)
        return result;
    if (!image_global((struct image *)(void *)entry->binary->library, entry->name, entry->size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    return cuLibraryGetGlobal(&entry->address, NULL, entry->binary->library, entry->name);
}

cudaError_t registry_variable(const void *symbol, CUdeviceptr *address, size_t *size)
{
    struct symbol *entry = registry_find(symbol);
    if (!entry || !entry->size)
        return cudaErrorInvalidSymbol;
    pthread_mutex_lock(&registry.loading);
    CUresult result = entry_load_variable(entry);
    pthread_mutex_unlock(&registry.loading);
    *address = entry->address;
    *size = entry->size;
    return (cudaError_t)result;
}
