/*
 * Rules about single kernels: matrix products without tensor cores; and grids, waves and occupancy that leave
 * multiprocessors empty. The latter count only the time in which a kernel ran alone on its GPU, because other kernels
 * may use the multiprocessors that it leaves empty.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/base/cost_sum.h"
#include "analysis/engine/findings.h"
#include "analysis/engine/trace_known.h"
#include "analysis/names/name_facts.h"

static bool has_any(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strstr(name, *words))
            return true;
    return false;
}

/* --- matrix products in float32 --- */

struct float32 {
    struct name_facts names;
    struct offences products;
};

static int float32_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct float32 *float32 = state;
    const struct trace_device *device = &trace->devices.items[op->device];
    bool before_tf32 = device->major > 0 && device->major < 8;
    if (op->category != CATEGORY_KERNEL || before_tf32)
        return 0;
    if (name_facts_find(&float32->names, &trace->strings, op->name) & NAME_FLOAT32)
        offences_add_op(&float32->products, op, op->end - op->start);
    return 0;
}

static int float32_find(void *state, struct findings *findings)
{
    const struct offences *products = &((const struct float32 *)state)->products;
    return finding_format(finding_of(findings, products, offences_cost(products) / 8 * 7),
                          "%s matrix product%s computed in float32 without tensor cores",
                          amount_count(products->count).text, amount_word(products->count, " is", "s are"));
}

const struct rule rule_float32_matmul = {
    .of_gpu = true,
    .id = "float32-matmul",
    .advice =
        "Where 10 of the 23 bits of a mantissa are enough, use TF32: torch.set_float32_matmul_precision(\"high\") "
        "or cublasSetMathMode(CUBLAS_TF32_TENSOR_OP_MATH). Or use bfloat16: torch.autocast.",
    .section = "kernels",
    .sources = {TRACE_KERNEL},
    .state_size = sizeof(struct float32),
    .op = float32_op,
    .find = float32_find,
    .release = finding_array_release,
};

/* --- kernels by name and number of blocks --- */

struct shape_key {
    uint64_t name, blocks;
    uint64_t device; /* the number of the device, not its index */
};

struct shape {
    /* The block shape of these kernels. If the kernels differ, rules about blocks skip them. */
    struct block_shape block;
    bool known, differs;
    struct offences kernels; /* kernels of at least FINDING_KERNEL_NS */
    int64_t alone;           /* ns in which no other kernel ran */
};

/* A kernel that may still run. */
struct running {
    int64_t end;
    uint32_t shape; /* index + 1; 0: the kernel is too short to count */
};

struct shapes {
    struct dense_map keys; /* struct shape_key */
    ARRAY(struct shape) items;
    uint32_t device; /* of the kernels that are being read */
    struct running last, second;
    int64_t at; /* the start of the last kernel */
};

static int shapes_event(void *state, const struct trace *trace, const struct event_fields *event)
{
    struct shapes *shapes = state;
    if (event->duration < FINDING_KERNEL_NS || event->phase != 'X')
        return 0;
    const struct kernel_fields *kernel = event_kernel(event);
    const struct shape_key key = {.name = event->name,
                                  .blocks = (uint64_t)gpu_op_size(kernel->grid),
                                  .device = (uint64_t)trace_event_device(event)};
    struct shape *shape = dense_map_item(&shapes->keys, &key, &shapes->items);
    if (!shape)
        return -1;
    const struct block_shape block = {gpu_op_size(kernel->block), kernel->registers, kernel->shared_bytes};
    shape->differs |= shape->known && memcmp(&shape->block, &block, sizeof(block)) != 0;
    shape->known = true;
    shape->block = block;
    return 0;
}

/* Adds the time up to TIME in which the kernel that ends last ran alone, after the second to last had ended. */
static void count_alone(struct shapes *shapes, int64_t time)
{
    int64_t from = shapes->second.end > shapes->at ? shapes->second.end : shapes->at;
    int64_t to = shapes->last.end < time ? shapes->last.end : time;
    if (!shapes->last.shape || to <= from)
        return;
    struct shape *shape = &shapes->items.items[shapes->last.shape - 1];
    shape->alone = sum_of(shape->alone, to - from);
}

static int shapes_op(void *state, const struct trace *trace, const struct timeline_op *op)
{
    struct shapes *shapes = state;
    struct shape *shape = NULL;
    int64_t length = op->end - op->start;
    if (op->category != CATEGORY_KERNEL && op->category != CATEGORY_GPU_GRAPH)
        return 0;
    if (op->category == CATEGORY_KERNEL && length >= FINDING_KERNEL_NS) {
        const struct shape_key key = {
            .name = op->name, .blocks = (uint64_t)op->size, .device = (uint64_t)trace_device_id(trace, op->device)};
        shape = dense_map_item(&shapes->keys, &key, &shapes->items);
        if (!shape)
            return -1;
        offences_add_op(&shape->kernels, op, length);
    }
    if (op->device != shapes->device) {
        count_alone(shapes, INT64_MAX);
        shapes->last = shapes->second = (struct running){.end = op->start};
        shapes->device = op->device;
    } else
        count_alone(shapes, op->start);
    struct running started = {op->end, (shape ? (uint32_t)(shape - shapes->items.items) + 1 : 0)};
    if (started.end > shapes->last.end) {
        shapes->second = shapes->last;
        shapes->last = started;
    } else if (started.end > shapes->second.end)
        shapes->second = started;
    shapes->at = op->start;
    return 0;
}

static void shapes_release(void *state)
{
    struct shapes *shapes = state;
    dense_map_release(&shapes->keys);
    array_release(&shapes->items);
}

/* Whether few large blocks are intended: libraries use persistent kernels, and kernels that communicate leave most
 * multiprocessors to kernels that compute. */
static bool chooses_its_grid(const char *name)
{
    static const char *const words[] = {"gemm", "Gemm",  "GEMM",  "nvjet",  "cutlass",       "cudnn",
                                        "fmha", "flash", "xmma_", "splitK", "implicit_conv", NULL};
    return has_any(name, words) || communication_is_kernel(name);
}

/* Whether the kernel is of a library whose callers cannot choose a grid or block. */
static bool is_of_library(const char *name)
{
    static const char *const words[] = {"at::native::", "at_cuda_detail::", "cub::", "thrust::", NULL};
    return chooses_its_grid(name) || has_any(name, words);
}

/* Sums over the shapes of one GPU about which a rule has a finding, and the shape with the largest gain. */
struct judged {
    int64_t alone, gain, count, worst_gain;
    const struct shape *worst;
    const struct shape_key *key;
    const struct trace_device *device;
};

/* Returns how many ns of a shape's time can be saved. */
typedef int64_t gain_function(const struct trace_device *device, const struct shape_key *key,
                              const struct shape *shape);
typedef bool name_function(const char *name);

/* Sums the gains of all shapes by GPU, and returns the sums of the GPU that has the largest gain. The first call also
 * finishes the times of the last kernels. */
static struct judged judge(struct shapes *shapes, const struct trace *trace, gain_function *gain_of,
                           name_function *is_excused)
{
    struct judged most = {0}, *sums = calloc(trace->devices.count + 1, sizeof(*sums));
    count_alone(shapes, INT64_MAX);
    shapes->last = (struct running){0};
    for (size_t i = 0; sums && i < shapes->items.count; i++) {
        const struct shape *shape = &shapes->items.items[i];
        const struct shape_key *key = dense_map_row(&shapes->keys, i);
        const struct trace_device *device = &trace->devices.items[shape->kernels.device];
        bool counts = shape->kernels.count > 0 && key->blocks > 0 && device->multiprocessors > 0;
        int64_t gain = counts ? gain_of(device, key, shape) : 0;
        if (gain <= 0 || is_excused(interned(&trace->strings, (uint32_t)key->name)))
            continue;
        struct judged *sum = &sums[shape->kernels.device];
        sum->device = device;
        sum->alone = sum_of(sum->alone, shape->alone);
        sum->gain = sum_of(sum->gain, gain);
        sum->count += shape->kernels.count;
        if (gain > sum->worst_gain) {
            sum->worst_gain = gain;
            sum->worst = shape;
            sum->key = key;
        }
    }
    for (size_t i = 0; sums && i < trace->devices.count; i++)
        most = sums[i].gain > most.gain ? sums[i] : most;
    free(sums);
    return most;
}

static struct finding *add_worst(struct findings *findings, const struct judged *judged, int64_t cost)
{
    bool enough = judged->worst && cost >= FINDING_SHAPE_NS;
    return enough ? finding_add(findings, cost, judged->gain, judged->count, &judged->worst->kernels.worst) : NULL;
}

static int64_t share_of(int64_t time, int64_t part, int64_t whole)
{
    return whole_of((double)time * (double)part / (double)whole);
}

/* --- fewer blocks than multiprocessors --- */

static int64_t empty_gain(const struct trace_device *device, const struct shape_key *key, const struct shape *shape)
{
    int64_t blocks = (int64_t)key->blocks, all = device->multiprocessors;
    return blocks * 100 < all * FINDING_GRID_PERCENT ? share_of(shape->alone, all - blocks, all) : 0;
}

static int tiny_find(void *state, struct findings *findings)
{
    struct judged judged = judge(state, findings->trace, empty_gain, chooses_its_grid);
    struct finding *finding = add_worst(findings, &judged, judged.gain);
    if (!finding)
        return 0;
    return finding_format(
        finding,
        "%s kernel%s most multiprocessors of the GPU empty: most of all %s, whose grid has %s "
        "block%s for %s multiprocessors",
        amount_count(judged.count).text, amount_word(judged.count, " leaves", "s leave"),
        finding_name(findings->trace, (uint32_t)judged.key->name).text, amount_count((int64_t)judged.key->blocks).text,
        amount_word((int64_t)judged.key->blocks, "", "s"), amount_count(judged.device->multiprocessors).text);
}

const struct rule rule_tiny_grids = {
    .of_gpu = true,
    .id = "tiny-grids",
    .advice =
        "Give the kernel more and smaller blocks, work on several inputs in one launch (a larger batch), or run such "
        "kernels at the same time in several streams.",
    .section = "kernels --by-grid",
    .sources = {TRACE_KERNEL},
    .state_size = sizeof(struct shapes),
    .categories = CATEGORY_BIT(CATEGORY_KERNEL),
    .event = shapes_event,
    .op = shapes_op,
    .find = tiny_find,
    .release = shapes_release,
};

/* --- a last wave of few blocks --- */

static int64_t wave_of(const struct trace_device *device, const struct shape *shape)
{
    return shape->differs ? 0 : device->multiprocessors * device_blocks(device, &shape->block);
}

/* Returns the time of the empty part of the last wave, less the time in which other kernels ran and may have used
 * it. */
static int64_t tail_gain(const struct trace_device *device, const struct shape_key *key, const struct shape *shape)
{
    int64_t wave = wave_of(device, shape), blocks = (int64_t)key->blocks;
    if (wave <= 0 || blocks <= wave || blocks > wave * FINDING_TAIL_WAVES)
        return 0;
    int64_t waves = (blocks + wave - 1) / wave, last = blocks - (waves - 1) * wave;
    if (last * 100 > wave * FINDING_TAIL_PERCENT)
        return 0;
    return share_of(shape->kernels.sum, wave - last, wave * waves) - (shape->kernels.sum - shape->alone);
}

static int tail_find(void *state, struct findings *findings)
{
    struct judged judged = judge(state, findings->trace, tail_gain, is_of_library);
    struct finding *finding = add_worst(findings, &judged, judged.gain);
    if (!finding)
        return 0;
    int64_t wave = wave_of(judged.device, judged.worst);
    int64_t blocks = (int64_t)judged.key->blocks, waves = (blocks + wave - 1) / wave;
    return finding_format(
        finding,
        "The last wave of %s kernel%s has few blocks: the GPU runs %s blocks of %s at once, and its grid "
        "of %s takes %lld waves, the last with %s",
        amount_count(judged.count).text, amount_word(judged.count, "", "s"), amount_count(wave).text,
        finding_name(findings->trace, (uint32_t)judged.key->name).text, amount_count(blocks).text, (long long)waves,
        amount_count(blocks - (waves - 1) * wave).text);
}

const struct rule rule_tail_waves = {
    .of_gpu = true,
    .id = "tail-waves",
    .advice = "Choose a grid that is a multiple of what the GPU runs at once, or let that many blocks loop over the "
              "work.",
    .section = "kernels --by-grid",
    .sources = {TRACE_KERNEL},
    .state_of = &rule_tiny_grids,
    .find = tail_find,
};

/* --- low occupancy --- */

static int64_t percent_of(const struct trace_device *device, const struct shape *shape)
{
    bool known = !shape->differs && shape->block.registers > 0 && device->registers > 0;
    return known ? device_occupancy(device, &shape->block) : 0;
}

/* The estimate assumes that the speed of a kernel is proportional to its occupancy up to 50 %. Higher occupancy seldom
 * helps. */
static int64_t occupancy_gain(const struct trace_device *device, const struct shape_key *key, const struct shape *shape)
{
    enum { ENOUGH_PERCENT = 50 };
    int64_t percent = percent_of(device, shape);
    bool fills = (int64_t)key->blocks >= device->multiprocessors;
    return fills && percent > 0 && percent <= FINDING_OCCUPANCY_PERCENT
               ? share_of(shape->alone, ENOUGH_PERCENT - percent, ENOUGH_PERCENT)
               : 0;
}

static int occupancy_find(void *state, struct findings *findings)
{
    struct judged judged = judge(state, findings->trace, occupancy_gain, is_of_library);
    struct finding *finding = add_worst(findings, &judged, judged.alone);
    if (!finding)
        return 0;
    const struct shape *shape = judged.worst;
    return finding_format(
        finding,
        "%s kernel%s few threads on each multiprocessor: %s has an occupancy of %lld %%, with blocks of %lld "
        "threads, %lld registers per thread and %s of shared memory per block",
        amount_count(judged.count).text, amount_word(judged.count, " runs", "s run"),
        finding_name(findings->trace, (uint32_t)judged.key->name).text, (long long)percent_of(judged.device, shape),
        (long long)shape->block.threads, (long long)shape->block.registers,
        amount_bytes(shape->block.shared_bytes > 0 ? shape->block.shared_bytes : 0).text);
}

const struct rule rule_low_occupancy = {
    .of_gpu = true,
    .id = "low-occupancy",
    .advice = "Limit registers with __launch_bounds__, use less shared memory per block, or another block size; then "
              "measure, as more threads do not help every kernel.",
    .section = "kernels --by-grid",
    .sources = {TRACE_KERNEL},
    .state_of = &rule_tiny_grids,
    .find = occupancy_find,
};
