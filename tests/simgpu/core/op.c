#include "core/op.h"

#include <stdlib.h>
#include <string.h>

#include "core/config.h"
#include "core/memory.h"

/* Bytes per ns, about those of an H200. */
static const double copy_rate[] = {
    [CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN] = 10, [CUPTI_ACTIVITY_MEMCPY_KIND_HTOD] = 48,
    [CUPTI_ACTIVITY_MEMCPY_KIND_DTOH] = 46,    [CUPTI_ACTIVITY_MEMCPY_KIND_HTOA] = 40,
    [CUPTI_ACTIVITY_MEMCPY_KIND_ATOH] = 40,    [CUPTI_ACTIVITY_MEMCPY_KIND_ATOA] = 1000,
    [CUPTI_ACTIVITY_MEMCPY_KIND_ATOD] = 1000,  [CUPTI_ACTIVITY_MEMCPY_KIND_DTOA] = 1000,
    [CUPTI_ACTIVITY_MEMCPY_KIND_DTOD] = 1800,  [CUPTI_ACTIVITY_MEMCPY_KIND_HTOH] = 10,
    [CUPTI_ACTIVITY_MEMCPY_KIND_PTOP] = 300,
};

enum {
    SET_RATE = 2500, /* bytes per ns */
    THREADS_AT_ONCE = 132 * 2048,
    KERNEL_LEAST = 1500, /* ns */
    KERNEL_WAVE = 800,   /* ns for each wave of blocks that fills the device */
    COPY_LEAST = 1300,
    SET_LEAST = 1100
};

uint64_t op_copy_bytes(const struct op_copy *copy)
{
    return (uint64_t)copy->width * copy->height * copy->depth;
}

uint64_t op_set_bytes(const struct op_set *set)
{
    return (uint64_t)set->width * set->height * set->element;
}

static char op_side(const struct op_place *place)
{
    switch ((int)place->kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED: return 'H';
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY: return 'A';
    default: return 'D';
    }
}

CUpti_ActivityMemcpyKind op_copy_kind(const struct op_copy *copy)
{
    static const struct {
        char from, to;
        CUpti_ActivityMemcpyKind kind;
    } kinds[] = {
        {'H', 'D', CUPTI_ACTIVITY_MEMCPY_KIND_HTOD}, {'D', 'H', CUPTI_ACTIVITY_MEMCPY_KIND_DTOH},
        {'H', 'A', CUPTI_ACTIVITY_MEMCPY_KIND_HTOA}, {'A', 'H', CUPTI_ACTIVITY_MEMCPY_KIND_ATOH},
        {'A', 'A', CUPTI_ACTIVITY_MEMCPY_KIND_ATOA}, {'A', 'D', CUPTI_ACTIVITY_MEMCPY_KIND_ATOD},
        {'D', 'A', CUPTI_ACTIVITY_MEMCPY_KIND_DTOA}, {'H', 'H', CUPTI_ACTIVITY_MEMCPY_KIND_HTOH},
    };
    char from = op_side(&copy->from), to = op_side(&copy->to);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i].from == from && kinds[i].to == to)
            return kinds[i].kind;
    return copy->from.device == copy->to.device ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD : CUPTI_ACTIVITY_MEMCPY_KIND_PTOP;
}

static uint64_t op_kernel_duration(const struct op_kernel *kernel)
{
    if (kernel->told.duration)
        return kernel->told.duration;
    if (config()->kernel_ns)
        return config()->kernel_ns;
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++)
        threads *= (uint64_t)kernel->grid[i] * kernel->block[i];
    return KERNEL_LEAST + threads * KERNEL_WAVE / THREADS_AT_ONCE;
}

uint64_t op_duration(const struct op *op)
{
    switch ((int)op->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return op_kernel_duration(&op->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return COPY_LEAST + (uint64_t)((double)op_copy_bytes(&op->copy) / copy_rate[op_copy_kind(&op->copy)]);
    case CU_GRAPH_NODE_TYPE_MEMSET: return SET_LEAST + op_set_bytes(&op->set) / SET_RATE;
    default: return 0;
    }
}

static void op_run_copy(struct op_copy *copy)
{
    for (size_t z = 0; z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++)
            memmove(copy->to.address + z * copy->to.slice + y * copy->to.pitch,
                    copy->from.address + z * copy->from.slice + y * copy->from.pitch, copy->width);
    free(copy->staged);
    copy->staged = NULL;
}

static void op_run_set(const struct op_set *set)
{
    for (size_t y = 0; y < set->height; y++) {
        uint8_t *row = set->to.address + y * set->to.pitch;
        if (set->element == 1)
            memset(row, (int)set->value, set->width);
        else
            for (size_t x = 0; x < set->width; x++)
                memcpy(row + x * set->element, &set->value, set->element); /* little endian: the low bytes */
    }
}

static void op_run_host(const struct op_host *host)
{
    if (host->callback)
        host->callback(host->stream, CUDA_SUCCESS, host->data);
    else
        host->function(host->data);
}

static uint64_t op_value_read(const struct op_value *value)
{
    return value->bytes == 4 ? __atomic_load_n((const uint32_t *)value->address, __ATOMIC_ACQUIRE)
                             : __atomic_load_n((const uint64_t *)value->address, __ATOMIC_ACQUIRE);
}

static void op_run_value(const struct op_value *value)
{
    if (value->write && value->bytes == 4)
        __atomic_store_n((uint32_t *)value->address, (uint32_t)value->value, __ATOMIC_RELEASE);
    else if (value->write)
        __atomic_store_n((uint64_t *)value->address, value->value, __ATOMIC_RELEASE);
}

bool op_waits(const struct op *op)
{
    if (op->type == CU_GRAPH_NODE_TYPE_KERNEL)
        return op->kernel.told.count > 0;
    return op->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP && !op->value.write;
}

bool op_holds(const struct op *op)
{
    uint64_t is = op_value_read(&op->value), wanted = op->value.value;
    uint64_t mask = op->value.bytes == 4 ? UINT32_MAX : UINT64_MAX;
    switch (op->value.flags) {
    case CU_STREAM_WAIT_VALUE_EQ: return is == wanted;
    case CU_STREAM_WAIT_VALUE_AND: return (is & wanted) != 0;
    case CU_STREAM_WAIT_VALUE_NOR: return (~(is | wanted) & mask) != 0;
    default: return op->value.bytes == 4 ? (int32_t)(is - wanted) >= 0 : (int64_t)(is - wanted) >= 0; /* GEQ, cyclic */
    }
}

void op_enter(struct op *op, uint64_t start)
{
    for (size_t i = 0; i < op->kernel.told.count; i++)
        meeting_enter(&op->kernel.told.meetings[i], start);
}

bool op_complete(const struct op *op, uint64_t *latest)
{
    for (size_t i = 0; i < op->kernel.told.count; i++)
        if (!meeting_complete(&op->kernel.told.meetings[i], latest))
            return false;
    return true;
}

void op_run(struct op *op)
{
    switch ((int)op->type) {
    case CU_GRAPH_NODE_TYPE_MEMCPY: op_run_copy(&op->copy); break;
    case CU_GRAPH_NODE_TYPE_MEMSET: op_run_set(&op->set); break;
    case CU_GRAPH_NODE_TYPE_HOST: op_run_host(&op->host); break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: op_run_value(&op->value); break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE: memory_give_back((void *)(uintptr_t)op->memory); break;
    default: break;
    }
}
