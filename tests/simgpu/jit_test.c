/* PTX is compiled once, and then found in the cache; the tool has records of it, where it looks. */
#include "tests/unit.h"

#include "recording.h"

#define STEPS(...) ((const int[]){__VA_ARGS__})
enum { CACHE_LOAD = 1, CACHE_STORE = 2, COMPILE = 3 };

static int begin(void)
{
    recording_start(1 << 16);
    HOLDS(cudaFree(NULL) == cudaSuccess);
    recording_enable((const CUpti_ActivityKind[]){CUPTI_ACTIVITY_KIND_JIT, CUPTI_ACTIVITY_KIND_INVALID});
    recording_tell_one(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData);
    return 0;
}

/* The records there are, from number FROM on, are of these operations. */
static int recorded(size_t from, const int *operations, size_t count)
{
    recording_flush(false);
    HOLDS(recording_count(CUPTI_ACTIVITY_KIND_JIT) == from + count);
    for (size_t i = 0; i < count; i++) {
        const CUpti_ActivityJit2 *step = recording_get(CUPTI_ACTIVITY_KIND_JIT, from + i);
        HOLDS((int)step->jitOperationType == operations[i]);
        HOLDS(step->jitEntryType == CUPTI_ACTIVITY_JIT_ENTRY_PTX_TO_CUBIN && step->start < step->end);
        HOLDS(step->cacheSize == UINT64_C(1) << 30 && step->cachePath != NULL);
        HOLDS(step->processId == (uint32_t)getpid() && step->threadId == (uint32_t)gettid());
    }
    return 0;
}

static int compiles_once(void)
{
    CUmodule module;
    HOLDS(begin() == 0);
    HOLDS(cuModuleLoadData(&module, recording_ptx) == CUDA_SUCCESS);
    HOLDS(recorded(0, STEPS(COMPILE, CACHE_STORE), 2) == 0);
    const CUpti_ActivityJit2 *compile = recording_get(CUPTI_ACTIVITY_KIND_JIT, 0);
    const CUpti_ActivityJit2 *store = recording_get(CUPTI_ACTIVITY_KIND_JIT, 1);
    HOLDS(compile->correlationId == recording_call(0)->correlation && store->correlationId == compile->correlationId);
    HOLDS(store->jitOperationCorrelationId == compile->jitOperationCorrelationId && store->start >= compile->end);
    HOLDS(compile->end - compile->start >= 2000000);

    HOLDS(cuModuleLoadData(&module, recording_ptx) == CUDA_SUCCESS);
    HOLDS(recorded(2, STEPS(CACHE_LOAD), 1) == 0);
    const CUpti_ActivityJit2 *load = recording_get(CUPTI_ACTIVITY_KIND_JIT, 2);
    HOLDS(load->correlationId == recording_call(2)->correlation);
    HOLDS(load->jitOperationCorrelationId != compile->jitOperationCorrelationId);
    return 0;
}

UNIT_TEST(ptx_is_compiled_once_and_then_in_the_cache)
{
    EXITS(compiles_once, NULL, NULL);
}

static int takes_the_time_given(void)
{
    CUmodule module;
    HOLDS(begin() == 0);
    HOLDS(cuModuleLoadData(&module, recording_ptx) == CUDA_SUCCESS);
    recording_flush(false);
    const CUpti_ActivityJit2 *compile = recording_get(CUPTI_ACTIVITY_KIND_JIT, 0);
    HOLDS(compile->end - compile->start >= 30000000);
    return 0;
}

UNIT_TEST(compiling_takes_the_time_given)
{
    EXITS(takes_the_time_given, "SIMGPU_JIT_NS", "30000000");
}

static int is_recorded_where_it_is_looked_at(void)
{
    CUmodule module;
    CUlibrary library;
    HOLDS(begin() == 0);
    HOLDS(cuLibraryLoadData(&library, recording_ptx, NULL, NULL, 0, NULL, NULL, 0) == CUDA_SUCCESS);
    HOLDS(recorded(0, NULL, 0) == 0); /* only the callback of cuModuleLoadData is on */
    HOLDS(cuModuleLoadData(&module, recording_ptx) == CUDA_SUCCESS);
    HOLDS(recorded(0, STEPS(CACHE_LOAD), 1) == 0);
    recording_tell_no_more(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData);
    HOLDS(cuModuleLoadData(&module, recording_ptx) == CUDA_SUCCESS);
    HOLDS(recorded(1, NULL, 0) == 0);
    recording_enable((const CUpti_ActivityKind[]){CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_INVALID});
    HOLDS(cuModuleLoadDataEx(&module, recording_ptx, 0, NULL, NULL) == CUDA_SUCCESS);
    HOLDS(recorded(1, STEPS(CACHE_LOAD), 1) == 0);
    HOLDS(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER) == CUPTI_SUCCESS);
    recording_enable((const CUpti_ActivityKind[]){CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_INVALID});
    HOLDS(cuModuleLoadData(&module, recording_ptx) == CUDA_SUCCESS);
    HOLDS(recorded(2, STEPS(CACHE_LOAD), 1) == 0);
    return 0;
}

UNIT_TEST(compiling_is_recorded_in_calls_that_are_watched)
{
    EXITS(is_recorded_where_it_is_looked_at, NULL, NULL);
}

static char cache[300];

static int finds_an_empty_cache(void)
{
    CUmodule module;
    HOLDS(begin() == 0 && cuModuleLoadData(&module, recording_ptx) == CUDA_SUCCESS);
    HOLDS(recorded(0, STEPS(COMPILE, CACHE_STORE), 2) == 0);
    const CUpti_ActivityJit2 *compile = recording_get(CUPTI_ACTIVITY_KIND_JIT, 0);
    HOLDS(strcmp(compile->cachePath, cache) == 0);
    return 0;
}

static int finds_a_full_cache(void)
{
    CUmodule module;
    HOLDS(begin() == 0 && cuModuleLoadData(&module, recording_ptx) == CUDA_SUCCESS);
    HOLDS(recorded(0, STEPS(CACHE_LOAD), 1) == 0);
    return 0;
}

UNIT_TEST(a_cache_in_a_folder_outlives_the_process)
{
    const char *directory = unit_directory();
    snprintf(cache, sizeof(cache), "%s/cache", directory);
    EXITS(finds_an_empty_cache, "CUDA_CACHE_PATH", cache);
    EXITS(finds_a_full_cache, "CUDA_CACHE_PATH", cache);
    unit_remove(directory);
}

static int has_no_cache(void)
{
    CUmodule module;
    HOLDS(begin() == 0);
    for (size_t i = 0; i < 2; i++) {
        HOLDS(cuModuleLoadData(&module, recording_ptx) == CUDA_SUCCESS);
        HOLDS(recorded(i, STEPS(COMPILE), 1) == 0);
    }
    return 0;
}

UNIT_TEST(without_a_cache_all_is_compiled_again)
{
    EXITS(has_no_cache, "CUDA_CACHE_DISABLE", "1");
}

/* A fat binary as nvcc lays it out: an image of PTX, and one of code for Hopper if it is to have that. */
struct fat_binary {
    struct {
        uint32_t magic;
        uint16_t version, header_size;
        uint64_t size;
    } header;
    struct {
        uint16_t kind, version;
        uint32_t header_size;
        uint64_t size;
        uint32_t compressed, unknown, ptx_version, arch, rest[8];
        char data[64];
    } images[2];
};

static struct fat_binary fat_binary(size_t images)
{
    struct fat_binary fat = {.header = {0xba55ed50, 1, sizeof(fat.header), images * sizeof(fat.images[0])}};
    for (size_t i = 0; i < 2; i++) {
        fat.images[i].kind = (uint16_t)(i + 1);
        fat.images[i].header_size = sizeof(fat.images[0]) - sizeof(fat.images[0].data);
        fat.images[i].size = sizeof(fat.images[0].data);
        fat.images[i].arch = i ? 90 : 75;
        snprintf(fat.images[i].data, sizeof(fat.images[i].data), "(compressed: %zu)", i);
    }
    return fat;
}

static int compiles_a_fat_binary(void)
{
    CUmodule module;
    struct fat_binary with_code = fat_binary(2), without = fat_binary(1);
    HOLDS(begin() == 0);
    HOLDS(cuModuleLoadData(&module, &with_code) == CUDA_SUCCESS);
    HOLDS(recorded(0, NULL, 0) == 0);
    HOLDS(cuModuleLoadData(&module, &without) == CUDA_SUCCESS);
    HOLDS(recorded(0, STEPS(COMPILE, CACHE_STORE), 2) == 0);
    return 0;
}

UNIT_TEST(a_fat_binary_is_compiled_when_it_has_no_code_for_the_device)
{
    EXITS(compiles_a_fat_binary, NULL, NULL);
}

/* ---- linking ---- */

static int links(void)
{
    static const char other[] =
        ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry third()\n{\n    ret;\n}\n";
    CUlinkState state;
    void *cubin;
    size_t size;
    HOLDS(begin() == 0);
    recording_tell_one(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLinkAddData_v2);
    HOLDS(cuLinkCreate(0, NULL, NULL, &state) == CUDA_SUCCESS);
    HOLDS(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)recording_ptx, strlen(recording_ptx) + 1, "a", 0,
                        NULL, NULL) == CUDA_SUCCESS);
    HOLDS(recorded(0, STEPS(COMPILE, CACHE_STORE), 2) == 0);
    HOLDS(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)other, strlen(other), "b", 0, NULL, NULL) ==
          CUDA_SUCCESS); /* without its NUL */
    HOLDS(recorded(2, STEPS(COMPILE, CACHE_STORE), 2) == 0);
    HOLDS(cuLinkComplete(state, &cubin, &size) == CUDA_SUCCESS && size > 64 && memcmp(cubin, "\177ELF", 4) == 0);

    CUmodule module;
    CUfunction function;
    CUdeviceptr table;
    HOLDS(cuModuleLoadData(&module, cubin) == CUDA_SUCCESS);
    HOLDS(recorded(4, NULL, 0) == 0); /* that is code already */
    HOLDS(cuLinkDestroy(state) == CUDA_SUCCESS);
    HOLDS(cuModuleGetFunction(&function, module, "first") == CUDA_SUCCESS);
    HOLDS(cuModuleGetFunction(&function, module, "third") == CUDA_SUCCESS);
    HOLDS(cuModuleGetFunction(&function, module, "fourth") == CUDA_ERROR_NOT_FOUND);
    HOLDS(cuModuleGetGlobal(&table, &size, module, "table") == CUDA_SUCCESS && size == 64);
    HOLDS(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS);
    HOLDS(cuCtxSynchronize() == CUDA_SUCCESS && cuModuleUnload(module) == CUDA_SUCCESS);
    return 0;
}

UNIT_TEST(what_is_linked_is_code_with_all_the_names)
{
    EXITS(links, NULL, NULL);
}

static int cannot_link_junk(void)
{
    static char junk[] = "this is not PTX";
    CUlinkState state;
    HOLDS(begin() == 0 && cuLinkCreate(0, NULL, NULL, &state) == CUDA_SUCCESS);
    HOLDS(cuLinkAddData(state, CU_JIT_INPUT_PTX, junk, sizeof(junk), "junk", 0, NULL, NULL) == CUDA_ERROR_INVALID_PTX);
    HOLDS(cuLinkAddData(state, CU_JIT_INPUT_CUBIN, junk, sizeof(junk), "junk", 0, NULL, NULL) ==
          CUDA_ERROR_INVALID_IMAGE);
    HOLDS(cuLinkAddFile(state, CU_JIT_INPUT_PTX, "/nowhere", 0, NULL, NULL) == CUDA_ERROR_FILE_NOT_FOUND);
    HOLDS(cuLinkDestroy(state) == CUDA_SUCCESS && cuLinkDestroy(NULL) == CUDA_ERROR_INVALID_HANDLE);
    return 0;
}

UNIT_TEST(what_cannot_be_read_is_not_linked)
{
    EXITS(cannot_link_junk, NULL, NULL);
}

int main(void)
{
    unsetenv("CUDA_CACHE_PATH");
    unsetenv("CUDA_CACHE_DISABLE");
    return unit_run(NULL, NULL);
}
