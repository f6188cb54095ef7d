/*
 * Writes arguments. Integers in JSON text, from other traces, keep all digits that a 64-bit integer has; other numbers
 * become doubles, as readers of JSON have them. Arrays, objects and numbers beyond these stay JSON text.
 *
 * Figures that Perfetto's scripts and its view of compute kernels need besides a launch's arguments (total sizes, waves,
 * how many blocks each resource of a multiprocessor allows) depend only on the launch's shape and the GPU. They are
 * written once for each interned kernel, marked PFTRACE_OWN_DERIVED, and our reader drops them.
 */
#include "trace/pftrace/writer_args.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/protobuf.h"
#include "common/text.h"
#include "trace/json/events.h"

/* Arguments that are equal for all launches of a kernel with one shape, all copies of a stream, or a graph's node. */
static const bool shared_keys[ARG_KEY_COUNT] = {
    [ARG_DEVICE] = true,
    [ARG_CONTEXT] = true,
    [ARG_STREAM] = true,
#define NUMBER(name, ...) [ARG_##name] = true,
    KERNEL_NUMBERS(NUMBER)
#undef NUMBER
        [ARG_SHARED_MEMORY] = true,
    [ARG_DYNAMIC_SHARED_MEMORY] = true,
    [ARG_SHARED_MEMORY_CONFIG] = true,
    [ARG_BLOCKS_PER_SM] = true,
    [ARG_WARPS_PER_SM] = true,
    [ARG_GRID] = true,
    [ARG_BLOCK] = true,
    [ARG_OCCUPANCY] = true,
    [ARG_GRAPH] = true,
    [ARG_FROM_DEVICE] = true,
    [ARG_FROM_CONTEXT] = true,
    [ARG_TO_DEVICE] = true,
    [ARG_TO_CONTEXT] = true,
    [ARG_CAPTURED_IN] = true,
};

#define TEXT_INTERNED_MAX 64    /* bytes; longer texts hardly occur twice */
#define TEXTS_INTERNED_MAX 4096 /* in one sequence */

static uint64_t name_iid(struct pftrace_put *put, enum arg_key key, const char *name, size_t length)
{
    struct pftrace_sequence *sequence = put->sequence;
    if (key != ARG_OTHER && sequence->arg_name_iids[key] != 0)
        return sequence->arg_name_iids[key];
    bool is_new;
    uint32_t table = put->shared ? PB_INTERNED_COMPUTE_ARG_NAMES : PB_INTERNED_ANNOTATION_NAMES;
    uint64_t iid = pftrace_intern(sequence, PFTRACE_ARG_NAMES, table, name, length, &is_new);
    if (key != ARG_OTHER && iid < 256)
        sequence->arg_name_iids[key] = (uint8_t)iid;
    return iid;
}

static uint64_t arg_name_iid(struct pftrace_put *put, const struct arg *arg)
{
    if (arg->key == ARG_OTHER)
        return name_iid(put, arg->key, arg->other, arg->other_length);
    if (arg->key == ARG_REGISTERS && put->shared)
        return name_iid(put, arg->key, PFTRACE_REGISTERS, strlen(PFTRACE_REGISTERS));
    return name_iid(put, arg->key, arg_words[arg->key].text, arg_words[arg->key].length);
}

/* --- DebugAnnotation --- */

static void put_annotation_value(struct pftrace_put *put, const struct arg *arg)
{
    struct buffer *body = put->body;
    char text[64];
    size_t length;
    uint64_t iid;
    bool is_new;
    switch (arg->type) {
    case ARG_TYPE_U64: protobuf_put_u64(body, PB_ANNOTATION_UINT, arg->u64); break;
    case ARG_TYPE_I64: protobuf_put_u64(body, PB_ANNOTATION_INT, (uint64_t)arg->i64); break;
    case ARG_TYPE_REAL: protobuf_put_double(body, PB_ANNOTATION_DOUBLE, arg->real); break;
    case ARG_TYPE_TRUE:
    case ARG_TYPE_FALSE: protobuf_put_u64(body, PB_ANNOTATION_BOOL, arg->type == ARG_TYPE_TRUE); break;
    case ARG_TYPE_HEX: protobuf_put_u64(body, PB_ANNOTATION_POINTER, arg->u64); break;
    case ARG_TYPE_RAW: protobuf_put_bytes(body, PB_ANNOTATION_JSON, arg->text, arg->length); break;
    case ARG_TYPE_SIZE3:
        length = (size_t)snprintf(text, sizeof(text), "[%d,%d,%d]", arg->size3[0], arg->size3[1], arg->size3[2]);
        protobuf_put_bytes(body, PB_ANNOTATION_JSON, text, length);
        break;
    default: /* ARG_TYPE_TEXT */
        iid = 0;
        if (arg->length <= TEXT_INTERNED_MAX && put->sequence->next_iid[PFTRACE_TEXTS] < TEXTS_INTERNED_MAX)
            iid = pftrace_intern(put->sequence, PFTRACE_TEXTS, PB_INTERNED_STRING_VALUES, arg->text, arg->length,
                                 &is_new);
        if (iid != 0)
            protobuf_put_u64(body, PB_ANNOTATION_STRING_IID, iid);
        else
            protobuf_put_bytes(body, PB_ANNOTATION_STRING, arg->text, arg->length);
        break;
    }
}

static void put_annotation(struct pftrace_put *put, const struct arg *arg)
{
    size_t begun = protobuf_begin(put->body, PB_EVENT_ANNOTATIONS);
    protobuf_put_u64(put->body, PB_ANNOTATION_NAME_IID, arg_name_iid(put, arg));
    put_annotation_value(put, arg);
    protobuf_end(put->body, begun);
}

/* --- GpuRenderStageEvent.ExtraComputeArg --- */

static void put_compute_value(struct buffer *body, const struct arg *arg)
{
    char text[64], *at;
    switch (arg->type) {
    case ARG_TYPE_TRUE:
    case ARG_TYPE_FALSE:
        protobuf_put_text(body, PB_COMPUTE_ARG_STRING, arg->type == ARG_TYPE_TRUE ? "true" : "false");
        protobuf_put_u64(body, PFTRACE_OWN_JSON, 1);
        break;
    case ARG_TYPE_U64: protobuf_put_u64(body, PB_COMPUTE_ARG_UINT, arg->u64); break;
    case ARG_TYPE_I64: protobuf_put_u64(body, PB_COMPUTE_ARG_INT, (uint64_t)arg->i64); break;
    case ARG_TYPE_REAL: protobuf_put_double(body, PB_COMPUTE_ARG_DOUBLE, arg->real); break;
    case ARG_TYPE_HEX:
        at = number_hex(text, arg->u64);
        protobuf_put_bytes(body, PB_COMPUTE_ARG_STRING, text, (size_t)(at - text));
        break;
    default: /* ARG_TYPE_TEXT, ARG_TYPE_RAW */
        protobuf_put_bytes(body, PB_COMPUTE_ARG_STRING, arg->text, arg->length);
        if (arg->type == ARG_TYPE_RAW)
            protobuf_put_u64(body, PFTRACE_OWN_JSON, 1);
        break;
    }
}

static void put_compute_arg(struct pftrace_put *put, const struct arg *arg)
{
    bool shared = shared_keys[arg->key] || (arg->key == ARG_QUEUED && arg->type == ARG_TYPE_U64 && arg->u64 == 0);
    struct buffer *body = shared ? put->shared : put->body;
    size_t begun = protobuf_begin(body, shared ? PB_KERNEL_ARGS : PB_LAUNCH_ARGS);
    protobuf_put_u64(body, PB_COMPUTE_ARG_NAME_IID, arg_name_iid(put, arg));
    put_compute_value(body, arg);
    protobuf_end(body, begun);
}

/* Records an argument that is a number for pftrace_put_figures() and the event's context and GPU. */
static void note_number(struct pftrace_put *put, enum arg_key key, uint64_t value)
{
    uint32_t small = value <= UINT32_MAX ? (uint32_t)value : 0;
    switch (key) {
    case ARG_DEVICE: put->device = value <= INT32_MAX ? value : put->device; break;
    case ARG_CONTEXT: put->context = value; break;
    case ARG_REGISTERS: put->launch.registers = small; break;
    case ARG_SHARED_MEMORY: put->launch.shared = small; break;
    case ARG_SHARED_MEMORY_CONFIG: put->launch.shared_config = small; break;
    case ARG_DYNAMIC_SHARED_MEMORY:
        put->launch.dynamic = small;
        put->launch.has_dynamic = true;
        break;
    default: break;
    }
}

static void put_gpu_op_arg(struct pftrace_put *put, const struct arg *arg)
{
    if (arg->type == ARG_TYPE_U64)
        note_number(put, arg->key, arg->u64);
    if (arg->type == ARG_TYPE_SIZE3) {
        memcpy(arg->key == ARG_GRID ? put->launch.grid : put->launch.block, arg->size3, sizeof(put->launch.grid));
        for (int i = 0; i < 3; i++) {
            char name[32];
            int length =
                snprintf(name, sizeof(name), "%s%c", arg->key == ARG_GRID ? PFTRACE_GRID : PFTRACE_BLOCK, 'x' + i);
            size_t begun = protobuf_begin(put->shared, PB_KERNEL_ARGS);
            protobuf_put_u64(put->shared, PB_COMPUTE_ARG_NAME_IID, name_iid(put, ARG_OTHER, name, (size_t)length));
            protobuf_put_u64(put->shared, PB_COMPUTE_ARG_UINT, (uint32_t)arg->size3[i]);
            protobuf_end(put->shared, begun);
        }
    } else {
        put_compute_arg(put, arg);
    }
}

/* --- the arguments of an event --- */

/* Writes or holds back ARG, whose type annotations must have. */
static void put_arg(struct pftrace_put *put, const struct arg *arg)
{
    if (arg->key == ARG_CORRELATION && put->hold_correlation && arg->type == ARG_TYPE_U64) {
        put->correlation = arg->u64;
        put->has_correlation = true;
    } else if (put->shared) {
        put_gpu_op_arg(put, arg);
    } else if (arg->key == ARG_STACK && arg->type == ARG_TYPE_U64) {
        put->stack = arg->u64;
        put_annotation(put, arg);
    } else if (arg->key == ARG_CBID && put->hold_correlation && arg->type == ARG_TYPE_U64 && arg->u64 < UINT32_MAX) {
        put->cbid = arg->u64 + 1;
    } else {
        put_annotation(put, arg);
    }
}

void pftrace_put_correlation(struct pftrace_put *put, uint64_t correlation)
{
    const struct arg arg = {.key = ARG_CORRELATION, .type = ARG_TYPE_U64, .u64 = correlation};
    if (put->shared)
        put_compute_arg(put, &arg);
    else
        put_annotation(put, &arg);
}

static void set_text(struct arg *arg, enum arg_type type, const char *text, size_t length)
{
    arg->type = type;
    arg->text = text;
    arg->length = length;
}

/* --- arguments that are JSON text --- */

struct scratch {
    struct buffer name, text;
};

static void put_member(struct pftrace_put *put, struct json_text name, struct json_text value, struct scratch *scratch)
{
    struct json_text plain = json_plain(name, &scratch->name);
    struct arg arg = {.key = arg_key_find(plain.at, plain.length), .other = plain.at, .other_length = plain.length};
    struct json_text text;
    switch (*value.at) {
    case '"':
        text = json_plain(json_inside(value), &scratch->text);
        set_text(&arg, ARG_TYPE_TEXT, text.at, text.length);
        break;
    case 't': arg.type = ARG_TYPE_TRUE; break;
    case 'f': arg.type = ARG_TYPE_FALSE; break;
    case '{':
    case '[':
    case 'n':
        if (put->shared && (arg.key == ARG_GRID || arg.key == ARG_BLOCK) && json_triple(value, arg.size3))
            arg.type = ARG_TYPE_SIZE3;
        else
            set_text(&arg, ARG_TYPE_RAW, value.at, value.length);
        break;
    default: json_number(value, &arg); break;
    }
    put_arg(put, &arg);
}

static void put_members(struct pftrace_put *put, const struct arg *arg)
{
    struct json_text key, value;
    struct scratch scratch;
    buffer_init_memory(&scratch.name);
    buffer_init_memory(&scratch.text);
    for (const char *at = arg->text, *end = at + arg->length; json_member(&at, end, &key, &value);)
        put_member(put, key, value, &scratch);
    if (scratch.name.failure || scratch.text.failure)
        put->body->failure = ENOMEM;
    buffer_release(&scratch.name);
    buffer_release(&scratch.text);
}

/* --- all arguments --- */

static void put_list(struct pftrace_put *put, const struct arg *args, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct arg arg = args[i];
        uint32_t color = (uint32_t)arg.u64;
        switch (arg.type) {
        case ARG_TYPE_MEMBERS: put_members(put, &arg); continue;
        case ARG_TYPE_LIST: put_list(put, arg.list->items, arg.list->count); continue;
        case ARG_TYPE_FIXED: /* rounded to six decimals, as in JSON */
            arg.type = ARG_TYPE_REAL;
            arg.real = arg.real > 0 ? round(fmin(arg.real, 1e12) * 1e6) / 1e6 : 0;
            break;
        case ARG_TYPE_REAL: /* NaN and infinity become texts, as in JSON */
            if (isnan(arg.real))
                set_text(&arg, ARG_TYPE_TEXT, "NaN", 3);
            else if (isinf(arg.real))
                set_text(&arg, ARG_TYPE_TEXT, arg.real > 0 ? "Infinity" : "-Infinity", arg.real > 0 ? 8 : 9);
            break;
        case ARG_TYPE_COLOR:
            put->text->length = 0;
            buffer_format(put->text, color >> 24 == 0xff ? "#%06x" : "#%08x",
                          color >> 24 == 0xff ? color & 0xffffff : color);
            set_text(&arg, ARG_TYPE_TEXT, put->text->data, put->text->length);
            break;
        case ARG_TYPE_TEXT: arg.text = buffer_valid_text(put->text, arg.text, &arg.length); break;
        case ARG_TYPE_JSON:
            put->text->length = 0;
            args[i].json.put(put->text, &args[i].json);
            set_text(&arg, ARG_TYPE_RAW, put->text->data, put->text->length);
            break;
        default: break;
        }
        put_arg(put, &arg);
    }
}

void pftrace_put_args(struct pftrace_put *put, const struct args *args)
{
    if (args)
        put_list(put, args->items, args->count);
}

/* --- figures of a launch --- */

struct figures {
    struct pftrace_sequence *sequence;
    struct buffer *kernel;
};

static size_t begin_figure(const struct figures *out, const char *name)
{
    bool is_new;
    size_t begun = protobuf_begin(out->kernel, PB_KERNEL_ARGS);
    protobuf_put_u64(
        out->kernel, PB_COMPUTE_ARG_NAME_IID,
        pftrace_intern(out->sequence, PFTRACE_ARG_NAMES, PB_INTERNED_COMPUTE_ARG_NAMES, name, strlen(name), &is_new));
    protobuf_put_u64(out->kernel, PFTRACE_OWN_DERIVED, 1);
    return begun;
}

static void put_count(const struct figures *out, const char *name, uint64_t value)
{
    size_t begun = begin_figure(out, name);
    protobuf_put_u64(out->kernel, PB_COMPUTE_ARG_UINT, value);
    protobuf_end(out->kernel, begun);
}

static void put_real(const struct figures *out, const char *name, double value)
{
    size_t begun = begin_figure(out, name);
    protobuf_put_double(out->kernel, PB_COMPUTE_ARG_DOUBLE, value);
    protobuf_end(out->kernel, begun);
}

/* Writes how many blocks of THREADS threads each resource of a multiprocessor allows, and the waves of BLOCKS blocks,
 * if all limits are known. */
static void put_limits(const struct figures *out, const struct pftrace_gpu *gpu, const struct pftrace_launch *launch,
                       uint32_t threads, uint64_t blocks)
{
    const struct multiprocessor *one = &gpu->multiprocessor;
    uint32_t warps = (threads + one->warp_size - 1) / one->warp_size;
    uint32_t held = multiprocessor_blocks(one, threads, launch->registers, launch->shared);
    if (one->warps == 0 || one->registers == 0 || one->shared_bytes == 0 || held == 0)
        return;
    put_count(out, "occupancy_limit_blocks", one->blocks);
    put_count(out, "occupancy_limit_warps", one->warps / warps);
    put_count(out, "occupancy_limit_registers", multiprocessor_warps_by_registers(one, launch->registers) / warps);
    put_count(out, "occupancy_limit_shared_mem", multiprocessor_blocks_by_shared(one, launch->shared));
    put_real(out, "sm__maximum_warps_per_active_cycle_pct", 100.0 * held * warps / one->warps);
    if (gpu->multiprocessors > 0)
        put_real(out, "waves_per_multiprocessor", (double)blocks / gpu->multiprocessors / held);
}

static bool product(const uint32_t size[3], uint64_t *result)
{
    return !__builtin_mul_overflow((uint64_t)size[0] * size[1], (uint64_t)size[2], result);
}

void pftrace_put_figures(const struct pftrace_rows *rows, const struct pftrace_put *put, struct buffer *kernel)
{
    const struct pftrace_launch *launch = &put->launch;
    const struct figures out = {put->sequence, kernel};
    const struct pftrace_gpu *gpu = put->device < rows->gpus.count ? &rows->gpus.items[put->device] : NULL;
    uint64_t threads, blocks, all;
    if (!product(launch->block, &threads) || !product(launch->grid, &blocks) || threads == 0 ||
        __builtin_mul_overflow(threads, blocks, &all))
        return;
    put_count(&out, "workgroup_size", threads);
    put_count(&out, "grid_size", blocks);
    put_count(&out, "thread_count", all);
    if (launch->dynamic <= launch->shared && (launch->has_dynamic || launch->shared == 0)) {
        put_count(&out, "shared_mem_static", launch->shared - launch->dynamic);
        put_count(&out, "shared_mem_dynamic", launch->dynamic);
    }
    if (launch->shared_config > 0)
        put_count(&out, "shared_mem_config_size", launch->shared_config);
    if (gpu && gpu->multiprocessor.warp_size > 0 && threads <= UINT16_MAX)
        put_limits(&out, gpu, launch, (uint32_t)threads, blocks);
}
