#include "trace/build/nvtx_heaps.h"

#include "common/log.h"

void nvtx_heaps_release(struct nvtx_heaps *heaps)
{
    for (size_t i = 0; i < heaps->items.count; i++)
        array_release(&heaps->items.items[i].members);
    big_array_release(&heaps->steps);
    array_release(&heaps->items);
    array_release(&heaps->regions);
    map_release(&heaps->heap_of);
    map_release(&heaps->region_of);
}

int nvtx_heaps_see(struct nvtx_heaps *heaps, const struct event *event)
{
    const struct spool_nvtx_memory *record = event->record;
    if (record->head.type != SPOOL_RECORD_NVTX_MEMORY || record->head.flags == SPOOL_NVTX_MEMORY_NONE ||
        record->head.flags >= SPOOL_NVTX_MEMORY_OPERATION_COUNT)
        return 0;
    struct nvtx_heap_step *step = big_array_push(&heaps->steps);
    if (!step)
        return error_no_memory("NVTX heaps");
    *step = (struct nvtx_heap_step){
        .record = record, .time = record->head.time, .thread = event->thread, .order = (uint32_t)heaps->steps.count};
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct nvtx_heap_step *left = a, *right = b;
    if (left->time != right->time)
        return left->time < right->time ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

int nvtx_heaps_sort(struct nvtx_heaps *heaps)
{
    return big_array_sort(&heaps->steps, by_time) == 0 ? 0 : error_no_memory("NVTX heaps");
}

/* The heap, made when it is new: one that was registered before recording began has no record. */
static struct nvtx_heap *heap_of(struct nvtx_heaps *heaps, uint32_t domain, uint64_t handle)
{
    uint64_t *index = map_put(&heaps->heap_of, payload_key(domain, handle), NULL);
    if (index && *index)
        return &heaps->items.items[*index - 1];
    struct nvtx_heap *heap = index ? array_push(&heaps->items) : NULL;
    if (!heap) {
        error_no_memory("NVTX heaps");
        return NULL;
    }
    *heap = (struct nvtx_heap){.handle = handle, .domain = domain};
    *index = heaps->items.count;
    return heap;
}

static struct nvtx_region *region_of(struct nvtx_heaps *heaps, uint32_t domain, uint64_t handle, bool *is_new)
{
    uint64_t *index = map_put(&heaps->region_of, payload_key(domain, handle), is_new);
    if (index && *index)
        return &heaps->regions.items[*index - 1];
    struct nvtx_region *region = index ? array_push(&heaps->regions) : NULL;
    if (!region) {
        error_no_memory("NVTX heaps");
        return NULL;
    }
    *region = (struct nvtx_region){.handle = handle};
    *index = heaps->regions.count;
    return region;
}

static void note_change(struct nvtx_heaps *heaps, uint32_t heap)
{
    for (unsigned i = 0; i < heaps->changed_count; i++)
        if (heaps->changed[i] == heap)
            return;
    if (heaps->changed_count < sizeof(heaps->changed) / sizeof(*heaps->changed))
        heaps->changed[heaps->changed_count++] = heap;
}

static void set_size(struct nvtx_heaps *heaps, struct nvtx_region *region, uint64_t size)
{
    struct nvtx_heap *heap = &heaps->items.items[region->heap];
    note_change(heaps, region->heap);
    heap->regions = heap->regions - (region->live ? region->size : 0) + size;
    region->size = size;
}

static void drop(struct nvtx_heaps *heaps, struct nvtx_region *region)
{
    if (!region->live)
        return;
    set_size(heaps, region, 0);
    region->live = false;
}

static int register_region(struct nvtx_heaps *heaps, const struct spool_nvtx_memory *record, uint64_t handle)
{
    struct nvtx_region *region = region_of(heaps, record->domain, handle, NULL);
    struct nvtx_heap *heap = region ? heap_of(heaps, record->domain, record->heap) : NULL;
    if (!heap)
        return -1;
    uint32_t *member = array_push(&heap->members);
    if (!member)
        return error_no_memory("NVTX heaps");
    heaps->registered++;
    *member = (uint32_t)(region - heaps->regions.items);
    drop(heaps, region);
    region->heap = (uint32_t)(heap - heaps->items.items);
    region->name = (struct payload_text){NULL, 0};
    set_size(heaps, region, record->size);
    region->live = true;
    return 0;
}

static void empty(struct nvtx_heaps *heaps, struct nvtx_heap *heap)
{
    for (size_t i = 0; i < heap->members.count; i++) {
        struct nvtx_region *region = &heaps->regions.items[heap->members.items[i]];
        if (region->heap == (uint32_t)(heap - heaps->items.items))
            drop(heaps, region);
    }
    heap->members.count = 0;
}

static int change_heap(struct nvtx_heaps *heaps, const struct spool_nvtx_memory *record)
{
    struct nvtx_heap *heap = heap_of(heaps, record->domain, record->heap);
    if (!heap)
        return -1;
    empty(heaps, heap); /* of a reset, an end, and of one that takes the address of another */
    if (record->head.flags == SPOOL_NVTX_MEMORY_HEAP_REGISTER) {
        const char *text = record->text;
        heap->name = (struct payload_text){record->length ? text : NULL, record->length};
        heap->size = record->size;
    } else if (record->head.flags == SPOOL_NVTX_MEMORY_HEAP_UNREGISTER) {
        heap->size = 0;
    }
    note_change(heaps, (uint32_t)(heap - heaps->items.items));
    return 0;
}

static uint64_t region_handle(const struct spool_nvtx_memory *record)
{
    return record->region ? record->region : record->address;
}

static int change_region(struct nvtx_heaps *heaps, const struct spool_nvtx_memory *record)
{
    const uint64_t *index = map_get(&heaps->region_of, payload_key(record->domain, region_handle(record)));
    struct nvtx_region *region = index && *index ? &heaps->regions.items[*index - 1] : NULL;
    const char *text = record->text;
    if (record->head.flags == SPOOL_NVTX_MEMORY_REGION_REGISTER)
        return register_region(heaps, record, region_handle(record));
    if (!region || !region->live)
        return 0;
    if (record->head.flags == SPOOL_NVTX_MEMORY_REGION_RESIZE)
        set_size(heaps, region, record->size);
    else if (record->head.flags == SPOOL_NVTX_MEMORY_REGION_UNREGISTER)
        drop(heaps, region);
    else if (record->head.flags == SPOOL_NVTX_MEMORY_REGION_NAME)
        region->name = (struct payload_text){record->length ? text : NULL, record->length};
    return 0;
}

/* The live ones move together, and into their heaps again. */
static int forget_gone(struct nvtx_heaps *heaps)
{
    size_t kept = 0;
    map_release(&heaps->region_of);
    for (size_t i = 0; i < heaps->items.count; i++)
        heaps->items.items[i].members.count = 0;
    for (size_t i = 0; i < heaps->regions.count; i++) {
        struct nvtx_region region = heaps->regions.items[i];
        struct nvtx_heap *heap = &heaps->items.items[region.heap];
        if (!region.live)
            continue;
        uint64_t *index = map_put(&heaps->region_of, payload_key(heap->domain, region.handle), NULL);
        uint32_t *member = index ? array_push(&heap->members) : NULL;
        if (!member)
            return error_no_memory("NVTX heaps");
        heaps->regions.items[kept] = region;
        *member = (uint32_t)kept;
        *index = ++kept;
    }
    heaps->regions.count = heaps->lived = kept;
    heaps->registered = 0;
    return 0;
}

static bool is_of_heap(uint16_t operation)
{
    return operation >= SPOOL_NVTX_MEMORY_HEAP_REGISTER && operation <= SPOOL_NVTX_MEMORY_HEAP_RESET;
}

static bool is_of_region(uint16_t operation)
{
    return (operation >= SPOOL_NVTX_MEMORY_REGION_REGISTER && operation <= SPOOL_NVTX_MEMORY_PERMISSIONS_ASSIGN) ||
           operation == SPOOL_NVTX_MEMORY_INITIALIZED;
}

int nvtx_heaps_apply(struct nvtx_heaps *heaps, const struct spool_nvtx_memory *record, const struct nvtx_heap **heap,
                     const struct nvtx_region **region)
{
    bool of_heap = is_of_heap(record->head.flags), of_region = is_of_region(record->head.flags);
    *heap = NULL;
    *region = NULL;
    heaps->changed_count = 0;
    if (heaps->registered > heaps->lived + NVTX_HEAPS_GONE && forget_gone(heaps) != 0)
        return -1;
    if ((of_heap && change_heap(heaps, record) != 0) || (of_region && change_region(heaps, record) != 0))
        return -1;
    const uint64_t *index = NULL;
    if (of_region)
        index = map_get(&heaps->region_of, payload_key(record->domain, region_handle(record)));
    if (index && *index) {
        *region = &heaps->regions.items[*index - 1];
        *heap = &heaps->items.items[(*region)->heap];
    }
    if (of_heap) {
        index = map_get(&heaps->heap_of, payload_key(record->domain, record->heap));
        *heap = index && *index ? &heaps->items.items[*index - 1] : NULL;
    }
    return 0;
}
