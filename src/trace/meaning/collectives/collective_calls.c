/*
 * NVTX ranges of communication: which domains have them, which functions there are, and the entries of payloads.
 *
 * NCCL 2.28 has these entries; versions before 2.25 have no communicator. MPI's entries are those of gputrace's own
 * library for MPI.
 */
#include "trace/meaning/collectives/collective_calls.h"

#include <ctype.h>

#include "trace/meaning/nvtx/nvtx_data.h"
#include "trace/meaning/nvtx/payload_view.h"
#include "trace/spool/agent_records.h"

enum member {
    MEMBER_COMMUNICATOR,
    MEMBER_REDUCTION,
    MEMBER_BYTES, /* the numbers of struct collective_facts, in its order */
    MEMBER_PEER,
    MEMBER_ROOT,
    MEMBER_RANKS,
    MEMBER_RANK,
    MEMBER_DEVICE,
    MEMBER_SEQUENCE,
    MEMBER_SENT,
    MEMBER_RECEIVED,
    MEMBER_SOURCE,
    MEMBERS
};

static const struct {
    const char *name, *prefix; /* of the domain, and of its functions in lower case */
    const char *members[MEMBERS];
    const char *group_start, *group_end;
} domains[COLLECTIVE_DOMAINS] = {
    [COLLECTIVE_NCCL] = {.name = "NCCL",
                         .prefix = "nccl",
                         .members = {"NCCL communicator ID", "Reduction operation", "Message size [bytes]", "Peer rank",
                                     "Root", "No. of ranks", "Rank", "CUDA device"},
                         .group_start = "ncclGroupStart",
                         .group_end = "ncclGroupEnd"},
    [COLLECTIVE_MPI] = {.name = "MPI",
                        .prefix = "mpi_",
                        .members = {"communicator", NULL, "bytes", "peer", "root", "ranks", "rank", NULL, "sequence",
                                    "bytes sent", "bytes received", "source"}},
};

#define ONE COLLECTIVE_ONE_SHARE
#define ALL COLLECTIVE_ALL_SHARES
#define SAID COLLECTIVE_SHARES_SAID

static const struct collective_function functions[] = {
    {"allreduce", "allreduce", COLLECTIVE_KERNEL_ALL_REDUCE, ONE, ONE, COLLECTIVE_OF_ALL},
    {"broadcast", "broadcast", COLLECTIVE_KERNEL_BROADCAST, ONE, ONE, COLLECTIVE_OF_ALL},
    {"bcast", "broadcast", COLLECTIVE_KERNEL_BROADCAST, ONE, ONE, COLLECTIVE_OF_ALL},
    {"reduce", "reduce", COLLECTIVE_KERNEL_REDUCE, ONE, ONE, COLLECTIVE_OF_ALL},
    {"allgather", "_allgather_base", COLLECTIVE_KERNEL_ALL_GATHER, ONE, ALL, COLLECTIVE_OF_ALL},
    {"reducescatter", "_reduce_scatter_base", COLLECTIVE_KERNEL_REDUCE_SCATTER, ALL, ONE, COLLECTIVE_OF_ALL},
    {"alltoall", "all_to_all", COLLECTIVE_KERNEL_SEND_RECV, ALL, ALL, COLLECTIVE_OF_ALL},
    {"gather", "gather", COLLECTIVE_KERNEL_SEND_RECV, ONE, ALL, COLLECTIVE_OF_ALL},
    {"scatter", "scatter", COLLECTIVE_KERNEL_SEND_RECV, ALL, ONE, COLLECTIVE_OF_ALL},
    {"send", "send", COLLECTIVE_KERNEL_SEND_RECV, ONE, ONE, COLLECTIVE_SENDS},
    {"recv", "recv", COLLECTIVE_KERNEL_SEND_RECV, ONE, ONE, COLLECTIVE_RECEIVES},
    /* MPI only. */
    {"allgatherv", "_allgather_base", COLLECTIVE_NO_KERNEL, ONE, SAID, COLLECTIVE_OF_ALL},
    {"reduce_scatter", "_reduce_scatter_base", COLLECTIVE_NO_KERNEL, SAID, ONE, COLLECTIVE_OF_ALL},
    {"reduce_scatter_block", "_reduce_scatter_base", COLLECTIVE_NO_KERNEL, ALL, ONE, COLLECTIVE_OF_ALL},
    {"alltoallv", "all_to_allv", COLLECTIVE_NO_KERNEL, ONE, SAID, COLLECTIVE_OF_ALL},
    {"alltoallw", "all_to_allv", COLLECTIVE_NO_KERNEL, ONE, SAID, COLLECTIVE_OF_ALL},
    {"gatherv", "gather", COLLECTIVE_NO_KERNEL, ONE, SAID, COLLECTIVE_OF_ALL},
    {"scatterv", "scatter", COLLECTIVE_NO_KERNEL, SAID, ONE, COLLECTIVE_OF_ALL},
    {"scan", "scan", COLLECTIVE_NO_KERNEL, ONE, ONE, COLLECTIVE_OF_ALL},
    {"exscan", "scan", COLLECTIVE_NO_KERNEL, ONE, ONE, COLLECTIVE_OF_ALL},
    {"barrier", "barrier", COLLECTIVE_NO_KERNEL, ONE, ONE, COLLECTIVE_OF_ALL},
    {"bsend", "send", COLLECTIVE_NO_KERNEL, ONE, ONE, COLLECTIVE_SENDS},
    {"ssend", "send", COLLECTIVE_NO_KERNEL, ONE, ONE, COLLECTIVE_SENDS},
    {"rsend", "send", COLLECTIVE_NO_KERNEL, ONE, ONE, COLLECTIVE_SENDS},
    {"sendrecv", "sendrecv", COLLECTIVE_NO_KERNEL, ONE, SAID, COLLECTIVE_EXCHANGES},
    {"sendrecv_replace", "sendrecv", COLLECTIVE_NO_KERNEL, ONE, SAID, COLLECTIVE_EXCHANGES},
    {"mrecv", "recv", COLLECTIVE_NO_KERNEL, ONE, ONE, COLLECTIVE_RECEIVES},
};

#define FUNCTIONS (sizeof(functions) / sizeof(*functions))
#define WORD_MAX 32
#define KERNEL_WORD "DevKernel_" /* in names of NCCL's kernels */

static bool is_text(struct nvtx_text text, const char *word)
{
    return text.text && word && text.length == strlen(word) && memcmp(text.text, word, text.length) == 0;
}

enum collective_domain collective_domain_named(struct nvtx_text name)
{
    unsigned domain = 0;
    while (domain < COLLECTIVE_DOMAINS && !is_text(name, domains[domain].name))
        domain++;
    return (enum collective_domain)domain;
}

static const struct collective_function *function_named(const char *word)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (strcmp(functions[i].call, word) == 0)
            return &functions[i];
    return NULL;
}

/* MPI's functions that return at once begin with an i, as MPI_Iallreduce; functions with 64-bit counts end with _c, as
 * MPI_Allreduce_c. */
const struct collective_function *collective_function_of(enum collective_domain domain, const char *text, size_t length)
{
    const char *prefix = domains[domain].prefix;
    size_t before = strlen(prefix);
    char word[WORD_MAX];
    if (length <= before || length >= WORD_MAX)
        return NULL;
    for (size_t i = 0; i < length; i++)
        word[i] = (char)tolower((unsigned char)text[i]);
    word[length] = '\0';
    if (strncmp(word, prefix, before) != 0)
        return NULL;
    if (domain == COLLECTIVE_MPI && strcmp(&word[length - 2], "_c") == 0)
        word[length - 2] = '\0';
    const struct collective_function *function = function_named(word + before);
    return function || domain != COLLECTIVE_MPI || word[before] != 'i' ? function : function_named(word + before + 1);
}

/* Names are such as "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)" and "ncclSymkDevKernel_AllReduce_…". */
enum collective_kernels collective_kernel_named(const char *name, size_t length)
{
    static const char *const words[COLLECTIVE_KERNELS] = {
        [COLLECTIVE_KERNEL_ALL_REDUCE] = "AllReduce",
        [COLLECTIVE_KERNEL_BROADCAST] = "Broadcast",
        [COLLECTIVE_KERNEL_REDUCE] = "Reduce",
        [COLLECTIVE_KERNEL_ALL_GATHER] = "AllGather",
        [COLLECTIVE_KERNEL_REDUCE_SCATTER] = "ReduceScatter",
        [COLLECTIVE_KERNEL_SEND_RECV] = "SendRecv",
    };
    const char *at = memmem(name, length, KERNEL_WORD, sizeof(KERNEL_WORD) - 1);
    if (!at)
        return COLLECTIVE_NO_KERNEL;
    at += sizeof(KERNEL_WORD) - 1;
    size_t left = length - (size_t)(at - name);
    for (unsigned i = COLLECTIVE_NO_KERNEL + 1; i < COLLECTIVE_KERNELS; i++) {
        size_t size = strlen(words[i]);
        if (size <= left && memcmp(at, words[i], size) == 0 && (size == left || !isalnum((unsigned char)at[size])))
            return (enum collective_kernels)i;
    }
    return COLLECTIVE_NO_KERNEL;
}

/* --- types --- */

/* NCCL has one kernel for signed and unsigned integers of a size, so that the names of kernels lack these types. */
const struct collective_type collective_types[COLLECTIVE_TYPES] = {
    {"ncclInt8", NULL, "Char", 1},
    {"ncclUint8", NULL, "Byte", 1},
    {"ncclInt32", NULL, "Int", 4},
    {"ncclUint32", NULL, "UInt32", 4},
    {"ncclInt64", NULL, "Long", 8},
    {"ncclUint64", NULL, "UInt64", 8},
    {"ncclFloat16", "f16", "Half", 2},
    {"ncclFloat32", "f32", "Float", 4},
    {"ncclFloat64", "f64", "Double", 8},
    {"ncclBfloat16", "bf16", "BFloat16", 2},
    {"ncclFloat8e4m3", "f8e4m3", "Float8_e4m3fn", 1},
    {"ncclFloat8e5m2", "f8e5m2", "Float8_e5m2", 1},
};

/* The type is a word behind the function: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)",
 * "ncclSymkDevKernel_AllReduce_AGxLL_R_sum_bf16(…)". NCCL 2.19 and later have a kernel for each type, but one kernel
 * for all types if the function only moves data. */
unsigned collective_type_of_kernel(const char *name, size_t length)
{
    const char *at = memmem(name, length, KERNEL_WORD, sizeof(KERNEL_WORD) - 1), *end = name + length;
    while (at && at < end) {
        const char *word = at, *stop = word;
        while (stop < end && isalnum((unsigned char)*stop))
            stop++;
        for (unsigned i = 0; i < COLLECTIVE_TYPES; i++)
            if (is_text((struct nvtx_text){word, (uint32_t)(stop - word)}, collective_types[i].kernel))
                return i + 1;
        at = stop < end && *stop == '_' ? stop + 1 : NULL;
    }
    return 0;
}

enum collective_group collective_group_of(enum collective_domain domain, const char *text, size_t length)
{
    struct nvtx_text name = {text, (uint32_t)length};
    if (is_text(name, domains[domain].group_start))
        return COLLECTIVE_GROUP_STARTS;
    return is_text(name, domains[domain].group_end) ? COLLECTIVE_GROUP_ENDS : COLLECTIVE_NO_GROUP;
}

/* --- payloads --- */

static void set_number(struct collective_facts *facts, unsigned member, const struct payload_number *number)
{
    bool fits =
        number->kind == PAYLOAD_NUMBER_SIGNED || (number->kind == PAYLOAD_NUMBER_UNSIGNED && number->u64 <= INT64_MAX);
    if (member >= MEMBER_BYTES)
        facts->numbers[member - MEMBER_BYTES] = fits ? number->i64 : COLLECTIVE_NOT_SAID;
    if (member != MEMBER_COMMUNICATOR)
        return;
    facts->has_communicator = number->kind != PAYLOAD_NUMBER_REAL && number->u64 != 0;
    facts->communicator = number->u64;
}

/* Returns the name of a value of an enumeration, with text NULL if it has none. */
static struct nvtx_text value_name(const struct payload_described *schema, uint64_t value)
{
    for (uint32_t i = 0; i < schema->layout.count; i++)
        if (schema->entries[i].detail == value)
            return schema->words[i].name;
    return (struct nvtx_text){NULL, 0};
}

static void read_field(struct collective_facts *facts, enum collective_domain kind, const struct payload_view *view,
                       const struct payload_cursor *cursor, struct payload_field *field)
{
    const struct payload_described *schema = (const struct payload_described *)cursor->schema;
    struct nvtx_text name = schema->words[field->index].name;
    struct payload_number number;
    uint64_t size = 0;
    unsigned member = 0;
    while (member < MEMBERS && !is_text(name, domains[kind].members[member]))
        member++;
    if (member == MEMBERS || field->pointer || field->form != PAYLOAD_ONE)
        return;
    const uint8_t *bytes = payload_view_bytes(view, cursor, field, &size);
    if (!bytes || size < field->unit)
        return;
    if (field->nested && field->nested->kind == PAYLOAD_ENUM && member == MEMBER_REDUCTION)
        facts->reduction =
            value_name((const struct payload_described *)field->nested, payload_load(bytes, field->unit));
    else if (!field->nested && payload_number(&number, field->entry->type, bytes))
        set_number(facts, member, &number);
}

static void read_payloads(struct collective_facts *facts, enum collective_domain kind, const struct nvtx *nvtx,
                          const void *record, uint32_t thread)
{
    struct payload_view view;
    const struct event event = agent_read(record, thread);
    if (event.nvtx.payload_type != SPOOL_NVTX_PAYLOAD_PIECES)
        return;
    payload_view_open(&view, nvtx, event.nvtx.domain, event.nvtx.payload);
    for (size_t i = 0; i < view.reader.blob_count; i++) {
        const struct payload_described *schema = payload_view_described(&view, view.blobs[i].schema);
        struct payload_cursor cursor;
        struct payload_field field;
        if (!view.blobs[i].bytes || !schema || schema->layout.kind == PAYLOAD_ENUM)
            continue;
        payload_begin(&cursor, &view.reader, &schema->layout, view.blobs[i].bytes, view.blobs[i].size, 0);
        while (payload_next(&cursor, &field))
            read_field(facts, kind, &view, &cursor, &field);
    }
}

void collective_facts_read(struct collective_facts *facts, enum collective_domain kind, const struct nvtx *nvtx,
                           const struct nvtx_range *range)
{
    *facts = (struct collective_facts){0};
    for (size_t i = 0; i < sizeof(facts->numbers) / sizeof(*facts->numbers); i++)
        facts->numbers[i] = COLLECTIVE_NOT_SAID;
    read_payloads(facts, kind, nvtx, range->record, range->thread);
    if (range->end_record)
        read_payloads(facts, kind, nvtx, range->end_record, range->end_thread);
}
