/* Groups the communicators of all processes by their id, finds the ranks of each, and writes "distributedInfo". */
#include "trace/meaning/collectives/distributed.h"

#include "common/json_out.h"
#include "common/log.h"
#include "trace/meaning/collectives/collectives.h"
#include "trace/meaning/nvtx/nvtx_data.h"
#include "trace/meaning/nvtx/nvtx_names.h"

#define MEMBERS_MOST 1024 /* ranks of a group that are listed; larger groups are not */
#define MEMBERS_SHOWN 30  /* ranks shown with each kernel, as Kineto does */
#define GROUPS_MOST 256   /* groups of a process that are described */

/* --- the ranks of communicators --- */

/* A communicator whose ranks are in several processes. */
struct group {
    int64_t ranks;
    int64_t found;     /* how many members are known */
    uint32_t *members; /* RANKS of them: rank in the job + 1, 0: unknown */
    bool contradicts;  /* two processes claim to be one member */
};

struct groups {
    struct map by_id; /* -> index + 1 */
    ARRAY(struct group) items;
};

static bool is_described(const struct collective_communicator *communicator)
{
    return communicator->domain == COLLECTIVE_NCCL && communicator->ranks > 0;
}

/* Whether the communicator has all ranks of the job. */
static bool is_world(const struct process *process, const struct collective_communicator *communicator)
{
    return communicator->here == 1 && communicator->ranks == (int64_t)process->file.header.world_size;
}

static struct group *group_put(struct groups *groups, const struct collective_communicator *communicator)
{
    uint64_t *index = map_put(&groups->by_id, communicator->id, NULL);
    if (!index)
        return NULL;
    if (*index == 0) {
        struct group group = {.ranks = communicator->ranks,
                              .members = calloc((size_t)communicator->ranks, sizeof(*group.members))};
        if (!group.members || !ADD(array_push, &groups->items, group)) {
            free(group.members);
            return NULL;
        }
        *index = groups->items.count;
    }
    return &groups->items.items[*index - 1];
}

static int add_member(struct groups *groups, const struct process *process,
                      const struct collective_communicator *communicator)
{
    uint32_t rank = process->file.header.rank;
    bool known = rank != 0 && is_described(communicator) && communicator->here == 1 && communicator->rank >= 0 &&
                 communicator->rank < communicator->ranks && communicator->ranks <= MEMBERS_MOST;
    if (!known || is_world(process, communicator))
        return 0;
    struct group *group = group_put(groups, communicator);
    if (!group)
        return -1;
    if (group->ranks != communicator->ranks || group->members[communicator->rank] != 0) {
        group->contradicts = true;
        return 0;
    }
    group->members[communicator->rank] = rank;
    group->found++;
    return 0;
}

static void put_members(struct buffer *out, const uint32_t *members, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (i > 0)
            buffer_text(out, ", ");
        buffer_u64(out, members ? members[i] - 1 : (uint64_t)i);
    }
}

static int keep(struct conversion *conversion, struct buffer *text, struct nvtx_text *kept)
{
    uint32_t number = text->failure ? NAMES_NO_MEMORY : names_put(&conversion->names, text->data, text->length);
    text->length = 0;
    if (number == NAMES_NO_MEMORY)
        return -1;
    const struct name *name = names_get(&conversion->names, number);
    *kept = nvtx_text_of(name->text, (uint32_t)name->length);
    return 0;
}

/* Sets the texts of a communicator's ranks. MEMBERS NULL: all ranks of the job. */
static int set_members(struct conversion *conversion, struct collective_communicator *communicator,
                       const uint32_t *members)
{
    int64_t shown = communicator->ranks < MEMBERS_SHOWN ? communicator->ranks : MEMBERS_SHOWN;
    struct buffer text;
    int result = 0;
    buffer_init_memory(&text);
    buffer_char(&text, '[');
    put_members(&text, members, shown);
    buffer_text(&text, shown < communicator->ranks ? ", ...]" : "]");
    result = keep(conversion, &text, &communicator->members_shown);
    if (result == 0 && communicator->ranks <= MEMBERS_MOST) {
        put_members(&text, members, communicator->ranks);
        result = keep(conversion, &text, &communicator->members);
    }
    buffer_release(&text);
    return result;
}

static int set_group(struct conversion *conversion, const struct groups *groups, const struct process *process,
                     struct collective_communicator *communicator)
{
    const uint64_t *index = map_get(&groups->by_id, communicator->id);
    const struct group *group = index ? &groups->items.items[*index - 1] : NULL;
    if (!is_described(communicator))
        return 0;
    if (is_world(process, communicator))
        return set_members(conversion, communicator, NULL);
    bool all = group && !group->contradicts && group->found == group->ranks && communicator->here == 1;
    return all ? set_members(conversion, communicator, group->members) : 0;
}

int distributed_resolve(struct conversion *conversion)
{
    struct groups groups = {0};
    int result = 0;
    for (unsigned pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < conversion->processes.count && result == 0; i++) {
            const struct process *process = conversion_process(conversion, i);
            struct communication *collectives = process->collectives;
            for (size_t k = 0; k < collectives->communicators.count && result == 0; k++) {
                struct collective_communicator *communicator = &collectives->communicators.items[k];
                result = pass == 0 ? add_member(&groups, process, communicator)
                                   : set_group(conversion, &groups, process, communicator);
            }
        }
    for (size_t i = 0; i < groups.items.count; i++)
        free(groups.items.items[i].members);
    array_release(&groups.items);
    map_release(&groups.by_id);
    return result == 0 ? 0 : error_no_memory("the ranks of communicators");
}

/* --- distributedInfo --- */

/* HTA finds the rank with the pattern `"rank":\s+(\d+)`: the blank after the colon matters. */
static void put_number(struct buffer *out, const char *key, int64_t value)
{
    buffer_text(out, out->data[out->length - 1] == '{' ? "\"" : ", \"");
    buffer_text(out, key);
    buffer_text(out, "\": ");
    buffer_i64(out, value);
}

static void put_begin(struct buffer *out, bool nccl, int64_t rank, int64_t world_size)
{
    buffer_text(out, nccl ? "{\"backend\": \"nccl\"" : "{");
    put_number(out, "rank", rank);
    if (world_size > 0)
        put_number(out, "world_size", world_size);
}

static void put_config(struct buffer *out, const struct process *process)
{
    const struct communication *collectives = process->collectives;
    struct json_out json;
    struct buffer groups;
    size_t count = 0;
    buffer_init_memory(&groups);
    json_out_init(&json, &groups, false);
    json_begin_array(&json);
    for (size_t i = 0; i < collectives->communicators.count; i++) {
        const struct collective_communicator *communicator = &collectives->communicators.items[i];
        if (is_described(communicator) && count++ < GROUPS_MOST) {
            json_begin_object(&json);
            json_put_hex(&json, "pg_name", communicator->id);
            if (communicator->name.text) {
                json_put_text_n(&json, "pg_desc", communicator->name.text, communicator->name.length);
            }
            json_put_text(&json, "backend_config", "cuda:nccl");
            json_put_i64(&json, "pg_size", communicator->ranks);
            if (communicator->members.text) {
                json_key_array(&json, "ranks");
                json_raw(&json, communicator->members.text, communicator->members.length);
                json_end(&json);
            }
            json_end(&json);
        }
    }
    json_end(&json);
    if (count > 0 && !groups.failure) {
        put_number(out, "pg_count", (int64_t)count);
        buffer_text(out, ", \"pg_config\": ");
        buffer_bytes(out, groups.data, groups.length);
    }
    buffer_release(&groups);
    struct nvtx_text version = process->collectives->version;
    if (!version.text)
        return;
    buffer_text(out, ", \"nccl_version\": ");
    json_out_init(&json, out, false);
    json_string_n(&json, version.text, version.length);
}

static bool has_groups(const struct process *process)
{
    const struct communication *collectives = process->collectives;
    for (size_t i = 0; i < collectives->communicators.count; i++)
        if (is_described(&collectives->communicators.items[i]))
            return true;
    return false;
}

void distributed_put_process(struct buffer *out, const struct process *process)
{
    const struct spool_header *header = &process->file.header;
    if (header->rank == 0 || !has_groups(process))
        return;
    put_begin(out, true, (int64_t)header->rank - 1, header->world_size);
    put_config(out, process);
    buffer_char(out, '}');
}

static int is_nccl(void *nvtx, uint64_t domain, uint64_t *value)
{
    struct nvtx_text name = nvtx_domain_name(nvtx, (uint32_t)domain);
    (void)value;
    return name.text && name.length == strlen("NCCL") && memcmp(name.text, "NCCL", name.length) == 0;
}

struct distributed {
    int64_t rank, world_size;      /* -1: unknown */
    bool nccl;                     /* NCCL's NVTX was recorded */
    const struct process *process; /* the last one that has communicators */
    bool several;
};

/* Finds the rank of the trace: the processes', or else the launcher's. Returns false if there is none, or several. */
static bool find_distributed(const struct conversion *conversion, struct distributed *found)
{
    *found = (struct distributed){.rank = -1, .world_size = -1};
    for (size_t i = 0; i < conversion->processes.count; i++) {
        const struct process *process = conversion_process(conversion, i);
        const struct spool_header *header = &process->file.header;
        bool groups = has_groups(process);
        found->nccl = found->nccl || map_each(&process->nvtx->domains, is_nccl, process->nvtx) != 0;
        found->several = found->several || (groups && found->process);
        found->process = groups ? process : found->process;
        if (header->rank == 0)
            continue;
        if (found->rank >= 0 && found->rank != (int64_t)header->rank - 1)
            return false;
        found->rank = (int64_t)header->rank - 1;
        if (header->world_size != 0)
            found->world_size = header->world_size;
    }
    const struct session_note *session = conversion->session;
    if (found->rank < 0)
        found->rank = session->rank;
    if (found->world_size < 0 && found->rank == session->rank)
        found->world_size = session->world_size;
    return found->rank >= 0;
}

void distributed_put(struct buffer *out, const struct conversion *conversion)
{
    struct distributed found;
    if (!find_distributed(conversion, &found))
        return;
    put_begin(out, found.nccl, found.rank, found.world_size);
    if (found.process && !found.several)
        put_config(out, found.process);
    buffer_char(out, '}');
}
