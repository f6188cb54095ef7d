/*
 * nvtx_memory: NVTX's memory extension: heaps, regions in them, names and permissions. Needs no GPU and no CUDA driver.
 *
 * A correct trace holds: an instant for each call with what it was about, and a counter for each heap of its size and
 * of the bytes of the regions in it.
 */
#include <nvtx3/nvToolsExtMem.h>

#include "statement.h"

enum { HEAP_BYTES = 1 << 16, REGION_BYTES = 1000, CATEGORY_POOL = 5 };

static nvtxDomainHandle_t domain;
static char memory[HEAP_BYTES], layout[256];

/* A call, on a heap or on BYTES of regions. */
static void did(const char *words, uint64_t count, uint64_t bytes)
{
    char what[120];
    snprintf(what, sizeof(what), "nvtx memory \"%s\"", words);
    state_range(what, count, count, true, bytes);
}

static nvtxMemHeapHandle_t register_heap(const char *name, uint32_t usage, void *at, size_t size)
{
    const nvtxMemVirtualRangeDesc_t range = {size, at};
    const nvtxMemHeapDesc_t heap = {.extCompatID = NVTX_EXT_COMPATID_MEM,
                                    .structSize = sizeof(heap),
                                    .usage = usage,
                                    .type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                    .typeSpecificDescSize = sizeof(range),
                                    .typeSpecificDesc = &range,
                                    .category = CATEGORY_POOL,
                                    .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                    .message = {.ascii = name}};
    did("Heap registered", 1, size);
    return nvtxMemHeapRegister(domain, &heap);
}

static void register_regions(nvtxMemHeapHandle_t heap, const nvtxMemVirtualRangeDesc_t *ranges, size_t count,
                             nvtxMemRegionHandle_t *handles)
{
    const nvtxMemRegionsRegisterBatch_t batch = {.extCompatID = NVTX_EXT_COMPATID_MEM,
                                                 .structSize = sizeof(batch),
                                                 .regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                                 .heap = heap,
                                                 .regionCount = count,
                                                 .regionDescElementSize = sizeof(*ranges),
                                                 .regionDescElements = ranges,
                                                 .regionHandleElementsOut = handles};
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += ranges[i].size;
    nvtxMemRegionsRegister(domain, &batch);
    did("Region registered", count, bytes);
}

static void name_region(nvtxMemRegionRef_t region, uint32_t type, const char *name)
{
    const nvtxMemRegionNameDesc_t named = {.regionRefType = type,
                                           .nameType = NVTX_MESSAGE_TYPE_ASCII,
                                           .region = region,
                                           .name = {.ascii = name},
                                           .category = CATEGORY_POOL};
    const nvtxMemRegionsNameBatch_t batch = {.extCompatID = NVTX_EXT_COMPATID_MEM,
                                             .structSize = sizeof(batch),
                                             .regionCount = 1,
                                             .regionElementSize = sizeof(named),
                                             .regionElements = &named};
    nvtxMemRegionsName(domain, &batch);
    did("Region named", 1, 0);
    state("nvtx memory \"Region named\" arg \"name\" \"%s\"", name);
}

static void resize_region(void *at, size_t size)
{
    const nvtxMemVirtualRangeDesc_t range = {size, at};
    const nvtxMemRegionsResizeBatch_t batch = {.extCompatID = NVTX_EXT_COMPATID_MEM,
                                               .structSize = sizeof(batch),
                                               .regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                               .regionDescCount = 1,
                                               .regionDescElementSize = sizeof(range),
                                               .regionDescElements = &range};
    nvtxMemRegionsResize(domain, &batch);
    did("Region resized", 1, size);
}

static void unregister_region(nvtxMemRegionRef_t region, uint32_t type)
{
    const nvtxMemRegionsUnregisterBatch_t batch = {.extCompatID = NVTX_EXT_COMPATID_MEM,
                                                   .structSize = sizeof(batch),
                                                   .refType = type,
                                                   .refCount = 1,
                                                   .refElementSize = sizeof(region),
                                                   .refElements = &region};
    nvtxMemRegionsUnregister(domain, &batch);
    did("Region unregistered", 1, 0);
}

static void heaps_and_regions(void)
{
    nvtxDomainNameCategoryA(domain, CATEGORY_POOL, "pools");
    nvtxMemHeapHandle_t pool = register_heap("pool", NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, memory, sizeof(memory));
    state("nvtx memory \"Heap registered\" arg \"usage\" \"sub-allocator\"");
    const nvtxMemVirtualRangeDesc_t ranges[] = {{REGION_BYTES, memory}, {2 * REGION_BYTES, memory + 4096}};
    nvtxMemRegionHandle_t handles[2];
    register_regions(pool, ranges, 2, handles);
    name_region((nvtxMemRegionRef_t){.pointer = memory}, NVTX_MEM_REGION_REF_TYPE_POINTER, "first");
    name_region((nvtxMemRegionRef_t){.handle = handles[1]}, NVTX_MEM_REGION_REF_TYPE_HANDLE, "second");
    resize_region(memory, 500);
    unregister_region((nvtxMemRegionRef_t){.handle = handles[1]}, NVTX_MEM_REGION_REF_TYPE_HANDLE);
    printf("expect counter \"NVTX heap pool\" \"regions\" samples 8 last 0\n");
    printf("expect counter \"NVTX heap pool\" \"size\" samples 8 last 0\n");
    register_regions(pool, ranges + 1, 1, NULL);
    nvtxMemHeapReset(domain, pool);
    did("Heap reset", 1, 0);
    nvtxMemHeapUnregister(domain, pool);
    did("Heap unregistered", 1, 0);

    register_heap("layout", NVTX_MEM_HEAP_USAGE_TYPE_LAYOUT, layout, sizeof(layout));
    printf("expect counter \"NVTX heap layout\" \"size\" samples 1 last 256\n");
    const nvtxMemVirtualRangeDesc_t anywhere = {64, &domain};
    register_regions(NVTX_MEM_HEAP_HANDLE_PROCESS_WIDE, &anywhere, 1, NULL);
    printf("expect counter \"NVTX heap of the process\" \"regions\" samples 1 last 64\n");
}

static void permissions(void)
{
    const nvtxMemPermissionsHandle_t mine =
        nvtxMemPermissionsCreate(domain, NVTX_MEM_PERMISSIONS_CREATE_FLAGS_EXCLUDE_GLOBAL_READ |
                                             NVTX_MEM_PERMISSIONS_CREATE_FLAGS_EXCLUDE_GLOBAL_WRITE);
    const nvtxMemPermissionsAssignRegionDesc_t region = {.flags = NVTX_MEM_PERMISSIONS_REGION_FLAGS_READ |
                                                                  NVTX_MEM_PERMISSIONS_REGION_FLAGS_ATOMIC,
                                                         .regionRefType = NVTX_MEM_REGION_REF_TYPE_POINTER,
                                                         .region = {.pointer = &domain}};
    const nvtxMemPermissionsAssignBatch_t batch = {.extCompatID = NVTX_EXT_COMPATID_MEM,
                                                   .structSize = sizeof(batch),
                                                   .permissions = mine,
                                                   .regionCount = 1,
                                                   .regionElementSize = sizeof(region),
                                                   .regionElements = &region};
    nvtxMemPermissionsAssign(domain, &batch);
    nvtxMemPermissionsBind(domain, mine, NVTX_MEM_PERMISSIONS_BIND_SCOPE_CPU_THREAD,
                           NVTX_MEM_PERMISSIONS_BIND_FLAGS_STRICT_WRITE);
    nvtxMemPermissionsUnbind(domain, NVTX_MEM_PERMISSIONS_BIND_SCOPE_CPU_THREAD);
    nvtxMemPermissionsReset(domain, mine);
    nvtxMemPermissionsDestroy(domain, mine);
    did("Permissions created", 1, 0);
    did("Permissions assigned", 1, 0);
    did("Permissions bound", 1, 0);
    did("Permissions unbound", 1, 0);
    did("Permissions reset", 1, 0);
    did("Permissions destroyed", 1, 0);
    state("nvtx memory \"Permissions created\" arg \"flags\" \"exclude global read | exclude global write\"");
    state("nvtx memory \"Permissions assigned\" arg \"access\" \"read | atomic\"");
    state("nvtx memory \"Permissions bound\" arg \"flags\" \"strict write\"");
    state("nvtx memory \"Permissions bound\" arg \"scope\" \"CPU thread\"");
}

int main(void)
{
    domain = nvtxDomainCreateA("memory");
    heaps_and_regions();
    permissions();
    state_count("pushes", 0);
    state_count("marks", 0);
    puts("heaps, regions and permissions");
    state_print();
    return 0;
}
