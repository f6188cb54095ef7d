#include "trace/pftrace/pftrace_args.h"

#include <stdio.h>
#include <string.h>

#include "common/number.h"
#include "common/protobuf.h"
#include "trace/pftrace/arg.h"

const struct pftrace_key pftrace_keys[ARG_KEY_COUNT] = {
#define KEY(name, text) [ARG_##name] = {text, sizeof(text) - 1},
    ARG_KEYS(KEY)
#undef KEY
};

/* Those that are the same for all launches of a kernel of one shape, or of all copies of a stream. */
static const bool shared_keys[ARG_KEY_COUNT] = {
    [ARG_DEVICE] = true,        [ARG_CONTEXT] = true,       [ARG_STREAM] = true,       [ARG_REGISTERS] = true,
    [ARG_SHARED_MEMORY] = true, [ARG_BLOCKS_PER_SM] = true, [ARG_WARPS_PER_SM] = true, [ARG_GRID] = true,
    [ARG_BLOCK] = true,         [ARG_OCCUPANCY] = true,     [ARG_GRAPH] = true,        [ARG_FROM_DEVICE] = true,
    [ARG_FROM_CONTEXT] = true,  [ARG_TO_DEVICE] = true,     [ARG_TO_CONTEXT] = true,
};

#define TEXT_INTERNED_MAX 64    /* bytes; longer ones hardly come twice */
#define TEXTS_INTERNED_MAX 4096 /* of a sequence */

static void intern_entry(struct pftrace_sequence *sequence, uint32_t table, uint64_t iid, const char *text,
                         size_t length)
{
    size_t entry = protobuf_begin(&sequence->interned, table);
    protobuf_put_u64(&sequence->interned, PB_INTERNED_IID, iid);
    protobuf_put_bytes(&sequence->interned, PB_INTERNED_NAME, text, length);
    protobuf_end(&sequence->interned, entry);
}

static uint64_t name_iid(struct pftrace_put *put, enum arg_key key, const char *name, size_t length)
{
    struct pftrace_sequence *sequence = put->sequence;
    if (key < ARG_KEY_COUNT && sequence->arg_name_iids[key] != 0)
        return sequence->arg_name_iids[key];
    bool is_new;
    uint64_t iid = pftrace_iid(sequence, PFTRACE_ARG_NAMES, hash_bytes(name, length), &is_new);
    if (iid != 0 && is_new)
        intern_entry(sequence, put->shared ? PB_INTERNED_COMPUTE_ARG_NAMES : PB_INTERNED_ANNOTATION_NAMES, iid, name,
                     length);
    if (key < ARG_KEY_COUNT && iid < 256)
        sequence->arg_name_iids[key] = (uint8_t)iid;
    return iid;
}

/* 0: the text is too long, or there are too many. */
static uint64_t text_iid(struct pftrace_put *put, const char *text, size_t length)
{
    bool is_new;
    if (length > TEXT_INTERNED_MAX || put->sequence->next_iid[PFTRACE_TEXTS] >= TEXTS_INTERNED_MAX)
        return 0;
    uint64_t iid = pftrace_iid(put->sequence, PFTRACE_TEXTS, hash_bytes(text, length), &is_new);
    if (iid != 0 && is_new)
        intern_entry(put->sequence, PB_INTERNED_STRING_VALUES, iid, text, length);
    return iid;
}

/* --- DebugAnnotation --- */

static void put_annotation_value(struct pftrace_put *put, const struct pftrace_arg *arg)
{
    struct sink *body = put->body;
    char text[64];
    size_t length;
    uint64_t iid;
    switch (arg->kind) {
    case PFTRACE_ARG_U64: protobuf_put_u64(body, PB_ANNOTATION_UINT, arg->u64); break;
    case PFTRACE_ARG_I64: protobuf_put_u64(body, PB_ANNOTATION_INT, (uint64_t)arg->i64); break;
    case PFTRACE_ARG_REAL: protobuf_put_double(body, PB_ANNOTATION_DOUBLE, arg->real); break;
    case PFTRACE_ARG_BOOL: protobuf_put_u64(body, PB_ANNOTATION_BOOL, arg->u64); break;
    case PFTRACE_ARG_HEX: protobuf_put_u64(body, PB_ANNOTATION_POINTER, arg->u64); break;
    case PFTRACE_ARG_JSON: protobuf_put_bytes(body, PB_ANNOTATION_JSON, arg->text, arg->length); break;
    case PFTRACE_ARG_SIZE3:
        length = (size_t)snprintf(text, sizeof(text), "[%d,%d,%d]", arg->size3[0], arg->size3[1], arg->size3[2]);
        protobuf_put_bytes(body, PB_ANNOTATION_JSON, text, length);
        break;
    case PFTRACE_ARG_TEXT:
        iid = text_iid(put, arg->text, arg->length);
        if (iid != 0)
            protobuf_put_u64(body, PB_ANNOTATION_STRING_IID, iid);
        else
            protobuf_put_bytes(body, PB_ANNOTATION_STRING, arg->text, arg->length);
        break;
    }
}

static void put_annotation(struct pftrace_put *put, enum arg_key key, const struct pftrace_arg *arg)
{
    size_t begun = protobuf_begin(put->body, PB_EVENT_ANNOTATIONS);
    protobuf_put_u64(put->body, PB_ANNOTATION_NAME_IID, name_iid(put, key, arg->name, arg->name_length));
    put_annotation_value(put, arg);
    protobuf_end(put->body, begun);
}

/* --- GpuRenderStageEvent.ExtraComputeArg --- */

static void put_compute_value(struct sink *body, const struct pftrace_arg *arg)
{
    char text[64], *at;
    switch (arg->kind) {
    case PFTRACE_ARG_BOOL:
        protobuf_put_text(body, PB_COMPUTE_ARG_STRING, arg->u64 ? "true" : "false");
        protobuf_put_u64(body, PFTRACE_OWN_JSON, 1);
        break;
    case PFTRACE_ARG_U64: protobuf_put_u64(body, PB_COMPUTE_ARG_UINT, arg->u64); break;
    case PFTRACE_ARG_I64: protobuf_put_u64(body, PB_COMPUTE_ARG_INT, (uint64_t)arg->i64); break;
    case PFTRACE_ARG_REAL: protobuf_put_double(body, PB_COMPUTE_ARG_DOUBLE, arg->real); break;
    case PFTRACE_ARG_TEXT: protobuf_put_bytes(body, PB_COMPUTE_ARG_STRING, arg->text, arg->length); break;
    case PFTRACE_ARG_HEX:
        at = number_hex(text, arg->u64);
        protobuf_put_bytes(body, PB_COMPUTE_ARG_STRING, text, (size_t)(at - text));
        break;
    case PFTRACE_ARG_JSON:
        protobuf_put_bytes(body, PB_COMPUTE_ARG_STRING, arg->text, arg->length);
        protobuf_put_u64(body, PFTRACE_OWN_JSON, 1);
        break;
    case PFTRACE_ARG_SIZE3: break; /* three arguments: put_sizes() */
    }
}

static void put_compute_arg(struct pftrace_put *put, enum arg_key key, const struct pftrace_arg *arg)
{
    bool shared = key < ARG_KEY_COUNT &&
                  (shared_keys[key] || (key == ARG_QUEUED && arg->kind == PFTRACE_ARG_U64 && arg->u64 == 0));
    struct sink *body = shared ? put->shared : put->body;
    size_t begun = protobuf_begin(body, shared ? PB_KERNEL_ARGS : PB_LAUNCH_ARGS);
    protobuf_put_u64(body, PB_COMPUTE_ARG_NAME_IID, name_iid(put, key, arg->name, arg->name_length));
    put_compute_value(body, arg);
    protobuf_end(body, begun);
}

static void put_sizes(struct pftrace_put *put, enum arg_key key, const struct pftrace_arg *arg)
{
    for (int i = 0; i < 3; i++) {
        char name[32];
        int length = snprintf(name, sizeof(name), "%s%c", key == ARG_GRID ? PFTRACE_GRID : PFTRACE_BLOCK, 'x' + i);
        size_t begun = protobuf_begin(put->shared, PB_KERNEL_ARGS);
        protobuf_put_u64(put->shared, PB_COMPUTE_ARG_NAME_IID, name_iid(put, ARG_KEY_COUNT, name, (size_t)length));
        protobuf_put_u64(put->shared, PB_COMPUTE_ARG_UINT, (uint32_t)arg->size3[i]);
        protobuf_end(put->shared, begun);
    }
}

static void put_work_arg(struct pftrace_put *put, enum arg_key key, struct pftrace_arg *arg)
{
    if (key == ARG_DEVICE && arg->kind == PFTRACE_ARG_U64 && arg->u64 <= INT32_MAX)
        put->device = arg->u64;
    if (key == ARG_CONTEXT && arg->kind == PFTRACE_ARG_U64)
        put->context = arg->u64;
    if (key == ARG_REGISTERS) {
        arg->name = PFTRACE_REGISTERS;
        arg->name_length = strlen(PFTRACE_REGISTERS);
    }
    if (arg->kind == PFTRACE_ARG_SIZE3)
        put_sizes(put, key, arg);
    else
        put_compute_arg(put, key, arg);
}

/* --- the arguments of an event --- */

void pftrace_put_arg(struct pftrace_put *put, enum arg_key key, struct pftrace_arg *arg)
{
    if (key == ARG_CORRELATION && put->hold_correlation && arg->kind == PFTRACE_ARG_U64) {
        put->correlation = arg->u64;
        put->has_correlation = true;
    } else if (put->shared) {
        put_work_arg(put, key, arg);
    } else if (key == ARG_CBID && put->hold_correlation && arg->kind == PFTRACE_ARG_U64 && arg->u64 < UINT32_MAX) {
        put->cbid = arg->u64 + 1;
    } else {
        put_annotation(put, key, arg);
    }
}

void pftrace_put_correlation(struct pftrace_put *put, uint64_t correlation)
{
    struct pftrace_arg arg = {.name = pftrace_keys[ARG_CORRELATION].text,
                              .name_length = pftrace_keys[ARG_CORRELATION].length,
                              .kind = PFTRACE_ARG_U64,
                              .u64 = correlation};
    if (put->shared)
        put_compute_arg(put, ARG_CORRELATION, &arg);
    else
        put_annotation(put, ARG_CORRELATION, &arg);
}
