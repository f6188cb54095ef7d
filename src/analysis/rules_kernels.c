/*
 * Rules about kernels by themselves: matrix products without tensor cores, and shapes that leave multiprocessors empty.
 */
#include <string.h>

#include "common/settings.h"
#include "analysis/findings.h"

/* --- kernels by name and shape --- */

struct shape_key {
    uint64_t name, device, blocks, threads, registers, shared_bytes;
};

struct shape {
    int64_t count, time; /* ns */
    int64_t longest;     /* ns */
    struct finding_place place;
};

struct shapes {
    struct dense_map keys; /* struct shape_key */
    ARRAY(struct shape) items;
};

static int64_t product(const int64_t size[3])
{
    int64_t all = 1;
    for (unsigned i = 0; i < 3; i++)
        if (size[i] <= 0 || __builtin_mul_overflow(all, size[i], &all))
            return 0;
    return all;
}

static int shapes_event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct shapes *shapes = state;
    (void)trace;
    const struct shape_key key = {
        .name = event->name,
        .device = (uint64_t)trace_event_device(event),
        .blocks = (uint64_t)product(event->grid),
        .threads = (uint64_t)product(event->block),
        .registers = (uint64_t)event->registers,
        .shared_bytes = (uint64_t)event->shared_bytes,
    };
    struct shape *shape = dense_map_item(&shapes->keys, &key, &shapes->items);
    if (!shape)
        return -1;
    shape->count++;
    shape->time += event->duration;
    if (shape->count > 1 && event->duration <= shape->longest)
        return 0;
    shape->longest = event->duration;
    shape->place = finding_nowhere();
    shape->place.time = event->start;
    shape->place.until = event->start + event->duration;
    return 0;
}

static void shapes_release(void *state)
{
    struct shapes *shapes = state;
    dense_map_release(&shapes->keys);
    array_release(&shapes->items);
}

static bool has_any(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strstr(name, *words))
            return true;
    return false;
}

/* Kernels of libraries choose few large blocks on purpose, and stay on a multiprocessor. */
static bool is_of_library(const char *name)
{
    static const char *const words[] = {"gemm",  "Gemm", "GEMM", "nvjet",  "cutlass", "cudnn", "fmha",
                                        "flash", "xmma", "nccl", "splitK", "conv",    NULL};
    return has_any(name, words);
}

/* What a multiprocessor of the device holds of blocks of this shape; 0: not known. */
static int64_t blocks_at_once(const struct trace_device *device, const struct shape_key *key)
{
    enum { WARP = 32, REGISTERS_TOGETHER = 256, SHARED_OF_SYSTEM = 1024, BLOCKS = 32 };
    int64_t threads = ((int64_t)key->threads + WARP - 1) / WARP * WARP;
    if (device->threads <= 0 || threads <= 0)
        return 0;
    int64_t blocks = device->threads / threads < BLOCKS ? device->threads / threads : BLOCKS;
    int64_t of_warp =
        ((int64_t)key->registers * WARP + REGISTERS_TOGETHER - 1) / REGISTERS_TOGETHER * REGISTERS_TOGETHER;
    if ((int64_t)key->registers > 0 && device->registers > 0 &&
        device->registers / (of_warp * (threads / WARP)) < blocks)
        blocks = device->registers / (of_warp * (threads / WARP));
    int64_t shared = (int64_t)key->shared_bytes + SHARED_OF_SYSTEM;
    if ((int64_t)key->shared_bytes > 0 && device->shared_bytes > 0 && device->shared_bytes / shared < blocks)
        blocks = device->shared_bytes / shared;
    return blocks;
}

static const struct trace_device *device_of(const struct trace *trace, const struct shape_key *key)
{
    for (size_t i = 0; i < trace->devices.count; i++)
        if (trace_device_id(trace, i) == (int64_t)key->device)
            return &trace->devices.items[i];
    return NULL;
}

/* A shape and what it costs, to keep the worst. */
struct worst {
    int64_t cost, count, time, worst_cost;
    const struct shape *shape;
    const struct shape_key *key;
    const struct trace_device *device;
};

/* Adds up what COST says of each shape that takes long enough to count. */
static struct worst judge(const struct shapes *shapes, const struct findings *findings,
                          int64_t (*cost)(const struct trace_device *device, const struct shape_key *key, int64_t time))
{
    struct worst worst = {0};
    for (size_t i = 0; i < shapes->items.count; i++) {
        const struct shape *shape = &shapes->items.items[i];
        const struct shape_key *key = dense_map_row(&shapes->keys, i);
        const struct trace_device *device = device_of(findings->trace, key);
        bool counts = device && key->blocks > 0 && device->multiprocessors > 0 &&
                      shape->time / shape->count >= FINDING_KERNEL_NS &&
                      !is_of_library(interned(&findings->trace->strings, (uint32_t)key->name));
        int64_t wasted = counts ? cost(device, key, shape->time) : 0;
        worst.cost += wasted;
        worst.count += wasted > 0 ? shape->count : 0;
        worst.time += wasted > 0 ? shape->time : 0;
        if (wasted > worst.worst_cost) {
            worst.worst_cost = wasted;
            worst.shape = shape;
            worst.key = key;
            worst.device = device;
        }
    }
    return worst;
}

static struct finding *add_worst(struct findings *findings, const struct worst *worst)
{
    struct finding *finding =
        worst->shape ? finding_add(findings, worst->cost, worst->cost, &worst->shape->place) : NULL;
    if (finding)
        finding->count = worst->count;
    return finding;
}

/* --- matrix products in float32 --- */

/* cuBLAS and cutlass name what their kernels multiply: sgemm, simt and ffma are float32 outside of the tensor cores. */
static bool is_float32_product(const char *name)
{
    static const char *const words[] = {"simt_sgemm", "_sgemm_", "f32f32_f32f32_f32", NULL};
    static const char *const tensor_words[] = {"tf32", "tensorop", "hmma", "s1688", "s16816", NULL};
    return has_any(name, words) && !has_any(name, tensor_words);
}

struct float32 {
    ARRAY(char) is_product; /* by name: 1 it is not, 2 it is, 0 not asked yet */
    int64_t count, time, longest;
    struct finding_place place;
};

static int float32_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct float32 *float32 = state;
    if (op->category != CATEGORY_KERNEL)
        return 0;
    while (float32->is_product.count <= op->name)
        if (!array_push(&float32->is_product))
            return -1;
    char *known = &float32->is_product.items[op->name];
    if (!*known)
        *known = is_float32_product(interned(&trace->strings, op->name)) ? 2 : 1;
    if (*known == 1)
        return 0;
    float32->count++;
    float32->time += op->end - op->start;
    if (op->end - op->start > float32->longest) {
        float32->longest = op->end - op->start;
        float32->place = finding_at_op(op);
    }
    return 0;
}

static int float32_find(void *state, struct findings *findings)
{
    const struct float32 *float32 = state;
    struct finding *finding = finding_add(findings, float32->time, float32->time / 4 * 3, &float32->place);
    if (!finding)
        return 0;
    finding->count = float32->count;
    return finding_say(finding, "%s matrix products are computed in float32 without tensor cores",
                       amount_count(float32->count).text);
}

static void float32_release(void *state)
{
    array_release(&((struct float32 *)state)->is_product);
}

const struct rule rule_float32_matmul = {
    .id = "float32-matmul",
    .advice = "Use TF32 where float32 results may have 10 bits of precision less: torch.set_float32_matmul_precision("
              "\"high\"), or cublasSetMathMode(CUBLAS_TF32_TENSOR_OP_MATH); or bfloat16 by torch.autocast.",
    .section = "kernels",
    .sources = {TRACE_KERNEL},
    .state_size = sizeof(struct float32),
    .op = float32_op,
    .find = float32_find,
    .release = float32_release,
};

/* --- fewer blocks than multiprocessors --- */

static int64_t empty_cost(const struct trace_device *device, const struct shape_key *key, int64_t time)
{
    int64_t blocks = (int64_t)key->blocks, all = device->multiprocessors;
    return blocks * 100 > all * FINDING_GRID_PERCENT ? 0
                                                     : (int64_t)((double)time * (double)(all - blocks) / (double)all);
}

static int tiny_find(void *state, struct findings *findings)
{
    struct worst worst = judge(state, findings, empty_cost);
    struct finding *finding = add_worst(findings, &worst);
    return finding
               ? finding_say(
                     finding,
                     "%s kernels have fewer blocks than the GPU has multiprocessors: most of all %s, with %s "
                     "of %s",
                     amount_count(worst.count).text, finding_name(findings->trace, (uint32_t)worst.key->name).text,
                     amount_count((int64_t)worst.key->blocks).text, amount_count(worst.device->multiprocessors).text)
               : 0;
}

const struct rule rule_tiny_grids = {
    .id = "tiny-grids",
    .advice =
        "Give the kernel more and smaller blocks, work on several inputs in one launch, or run such kernels at the "
        "same time in several streams.",
    .section = "kernels --by-grid",
    .sources = {TRACE_KERNEL},
    .state_size = sizeof(struct shapes),
    .categories = CATEGORY_BIT(CATEGORY_KERNEL),
    .event = shapes_event,
    .find = tiny_find,
    .release = shapes_release,
};

/* --- a last wave of few blocks --- */

static int64_t tail_cost(const struct trace_device *device, const struct shape_key *key, int64_t time)
{
    int64_t wave = blocks_at_once(device, key) * device->multiprocessors, blocks = (int64_t)key->blocks;
    if (wave <= 0 || blocks <= wave)
        return 0;
    int64_t waves = (blocks + wave - 1) / wave, last = blocks - (waves - 1) * wave;
    if (waves > FINDING_TAIL_WAVES || last * 100 > wave * FINDING_TAIL_PERCENT)
        return 0;
    return (int64_t)((double)time * (double)(wave - last) / (double)(wave * waves));
}

static int tail_find(void *state, struct findings *findings)
{
    struct worst worst = judge(state, findings, tail_cost);
    struct finding *finding = add_worst(findings, &worst);
    if (!finding)
        return 0;
    int64_t wave = blocks_at_once(worst.device, worst.key) * worst.device->multiprocessors;
    return finding_say(finding,
                       "%s kernels end with a wave of few blocks: most of all %s, whose %s blocks fill the GPU "
                       "(%s at once) %.2f times",
                       amount_count(worst.count).text, finding_name(findings->trace, (uint32_t)worst.key->name).text,
                       amount_count((int64_t)worst.key->blocks).text, amount_count(wave).text,
                       (double)worst.key->blocks / (double)wave);
}

const struct rule rule_tail_waves = {
    .id = "tail-waves",
    .advice = "Choose a grid that is a multiple of what the GPU runs at once, or let fewer blocks loop over the work.",
    .section = "kernels --by-grid",
    .sources = {TRACE_KERNEL},
    .state_of = &rule_tiny_grids,
    .find = tail_find,
};

/* --- low occupancy --- */

static int64_t occupancy_percent(const struct trace_device *device, const struct shape_key *key)
{
    int64_t blocks = blocks_at_once(device, key);
    int64_t threads = blocks * (((int64_t)key->threads + 31) / 32 * 32);
    return device->threads > 0 ? threads * 100 / device->threads : 100;
}

/* Half of what is missing to half of the threads: more seldom helps. */
static int64_t occupancy_cost(const struct trace_device *device, const struct shape_key *key, int64_t time)
{
    bool known = (int64_t)key->registers > 0 && device->registers > 0;
    int64_t percent = known ? occupancy_percent(device, key) : 100;
    bool fills = (int64_t)key->blocks >= device->multiprocessors;
    return fills && percent > 0 && percent <= FINDING_OCCUPANCY_PERCENT
               ? (int64_t)((double)time * (double)(50 - percent) / 100)
               : 0;
}

static int occupancy_find(void *state, struct findings *findings)
{
    struct worst worst = judge(state, findings, occupancy_cost);
    struct finding *finding = worst.shape ? finding_add(findings, worst.time, worst.cost, &worst.shape->place) : NULL;
    if (!finding)
        return 0;
    const struct shape_key *key = worst.key;
    finding->count = worst.count;
    return finding_say(finding,
                       "%s kernels keep few threads on each multiprocessor: most of all %s, %lld %% of the "
                       "possible, with %lld registers per thread and %s shared memory per block of %lld threads",
                       amount_count(worst.count).text, finding_name(findings->trace, (uint32_t)key->name).text,
                       (long long)occupancy_percent(worst.device, key), (long long)key->registers,
                       amount_bytes((int64_t)key->shared_bytes > 0 ? (int64_t)key->shared_bytes : 0).text,
                       (long long)key->threads);
}

const struct rule rule_low_occupancy = {
    .id = "low-occupancy",
    .advice = "Limit registers with __launch_bounds__, use less shared memory per block, or another block size; then "
              "measure, as more threads do not help every kernel.",
    .section = "kernels --by-grid",
    .sources = {TRACE_KERNEL},
    .state_of = &rule_tiny_grids,
    .find = occupancy_find,
};
