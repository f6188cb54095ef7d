/* Reads a trace, builds the tree of stacks.h, and walks over it depth-first to write the file. */
#include "analysis/stack_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/base/cost_sum.h"
#include "analysis/base/options.h"
#include "analysis/engine/trace_reader.h"
#include "analysis/stacks/stacks.h"
#include "analysis/engine/trace.h"
#include "common/buffer.h"
#include "common/json_out.h"
#include "common/log.h"
#include "common/array.h"
#include "common/map.h"
#include "trace/meaning/sources.h"
#include "trace/fields_receiver.h"
#include "trace/output.h"
#include "trace/sink.h"

/* The names of a tree's nodes as the format of the file shows them. */
struct shown {
    const struct gpu_stacks *stacks;
    const struct trace *trace;
    struct interner names;
    uint32_t *name_of; /* the number in `names` of each node's name, by the node's index */
};

static bool has_own(const struct gpu_stack_node *node)
{
    return node->count > 0;
}

/* Formats the names of all nodes of STACKS. CLEAN changes a name in place; NULL leaves names as they are. Returns 0, or
 * -1: no memory. */
static int shown_init(struct shown *shown, const struct gpu_stacks *stacks, const struct trace *trace,
                      void (*clean)(struct buffer *name))
{
    *shown = (struct shown){.stacks = stacks, .trace = trace};
    size_t count = stacks->nodes.count;
    struct buffer text;
    if (count == 0)
        return 0;
    buffer_init_memory(&text);
    shown->name_of = malloc(count * sizeof(*shown->name_of));
    int status = shown->name_of ? 0 : -1;
    for (size_t i = 0; i < count && status == 0; i++) {
        text.length = 0;
        gpu_stacks_put_name(&text, trace, &stacks->nodes.items[i]);
        if (clean)
            clean(&text);
        shown->name_of[i] = text.failure ? INTERN_NO_MEMORY : intern(&shown->names, text.data, text.length);
        status = shown->name_of[i] == INTERN_NO_MEMORY ? -1 : 0;
    }
    buffer_release(&text);
    return status;
}

static void shown_release(struct shown *shown)
{
    interner_release(&shown->names);
    free(shown->name_of);
}

/* Sets PATH to the nodes (index + 1) from the root to NODE. Returns their number. */
static size_t path_to(const struct gpu_stacks *stacks, uint32_t node, uint32_t path[STACKS_DEPTH + 4])
{
    size_t depth = stacks->nodes.items[node - 1].depth;
    for (size_t i = depth + 1; i-- > 0; node = stacks->nodes.items[node - 1].parent)
        path[i] = node;
    return depth + 1;
}

/* --- speedscope: https://github.com/jlfwong/speedscope, file-format-spec.ts. Each GPU is a "sampled" profile: a sample
 * is a stack, and its weight is the stack's GPU time --- */

/* Returns the node after NODE in the tree of ROOT, or 0 if NODE is the last one. */
static uint32_t next_below(const struct gpu_stacks *stacks, uint32_t root, uint32_t node)
{
    uint32_t next = gpu_stacks_next(stacks, node);
    return next && next != stacks->nodes.items[root - 1].next ? next : 0;
}

static void put_profile(struct json_out *json, const struct shown *shown, uint32_t root)
{
    const struct gpu_stack_node *nodes = shown->stacks->nodes.items;
    int64_t sum = 0;
    for (uint32_t node = root; node; node = next_below(shown->stacks, root, node))
        sum_add(&sum, nodes[node - 1].ns);
    json_begin_object(json);
    json_put_text(json, "type", "sampled");
    json_put_text(json, "name", root ? interned(&shown->names, shown->name_of[root - 1]) : "no GPU operation");
    json_put_text(json, "unit", "nanoseconds");
    json_put_i64(json, "startValue", 0);
    json_put_i64(json, "endValue", sum);
    json_key_array(json, "samples");
    for (uint32_t node = root; node; node = next_below(shown->stacks, root, node))
        if (has_own(&nodes[node - 1])) {
            uint32_t path[STACKS_DEPTH + 4];
            size_t count = path_to(shown->stacks, node, path);
            json_begin_array_flat(json);
            for (size_t i = 1; i < count; i++) /* the first node is the GPU */
                json_u64(json, shown->name_of[path[i] - 1]);
            json_end(json);
        }
    json_end(json);
    json_key(json, "weights");
    json_begin_array_flat(json);
    for (uint32_t node = root; node; node = next_below(shown->stacks, root, node))
        if (has_own(&nodes[node - 1]))
            json_i64(json, nodes[node - 1].ns);
    json_end(json);
    json_end(json);
}

/* Writes a profile even if the trace has no GPU operation, because speedscope cannot open a file without profiles. */
static int write_speedscope(struct buffer *buffer, const struct gpu_stacks *stacks, const struct trace *trace,
                            const char *input)
{
    struct shown shown;
    struct json_out json;
    const char *slash = strrchr(input, '/');
    int status = shown_init(&shown, stacks, trace, NULL);
    json_out_init(&json, buffer, true);
    json_begin_object(&json);
    json_put_text(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_put_text(&json, "exporter", "gputrace " GPUTRACE_VERSION);
    json_put_text(&json, "name", slash && slash[1] ? slash + 1 : input);
    json_put_i64(&json, "activeProfileIndex", 0);
    if (status == 0) {
        json_key_object(&json, "shared");
        json_key_array(&json, "frames");
        for (uint32_t i = 0; i < shown.names.count; i++) {
            json_begin_object_flat(&json);
            json_put_text(&json, "name", interned(&shown.names, i));
            json_end(&json);
        }
        json_end(&json);
        json_end(&json);
    }
    json_key_array(&json, "profiles");
    if (!stacks->first)
        put_profile(&json, &shown, 0);
    for (uint32_t root = stacks->first; root && status == 0; root = stacks->nodes.items[root - 1].next)
        put_profile(&json, &shown, root);
    json_end(&json);
    json_end(&json);
    buffer_char(buffer, '\n');
    shown_release(&shown);
    return status;
}

/* --- folded stacks: "outer;inner;call;kernel NANOSECONDS", a line for each stack of all GPUs, in the order of their
 * bytes --- */

/* Replaces ';', which ends a name, and control characters, which may end the line. */
static void clean_name(struct buffer *name)
{
    for (size_t i = 0; i < name->length; i++) {
        unsigned char c = (unsigned char)name->data[i];
        name->data[i] = c == ';' ? ',' : c < ' ' || c == 0x7f ? ' ' : name->data[i];
    }
}

/* Sets FOLDED to the tree of SHOWN without the level of GPUs. Siblings with one name become one node. Returns 0, or -1:
 * no memory. */
static int fold(struct gpu_stacks *folded, const struct shown *shown)
{
    size_t count = shown->stacks->nodes.count;
    uint32_t *made = count ? calloc(count, sizeof(*made)) : NULL;
    int status = count && !made ? -1 : 0;
    *folded = (struct gpu_stacks){.most = SIZE_MAX};
    for (size_t i = 0; i < count && status == 0; i++) {
        const struct gpu_stack_node *node = &shown->stacks->nodes.items[i];
        if (node->kind == STACK_GPU)
            continue;
        enum stack_kind kind = has_own(node) ? STACK_KERNEL : STACK_RANGE;
        made[i] = gpu_stacks_node(folded, made[node->parent - 1], kind, shown->name_of[i], 0);
        if (!made[i]) {
            status = -1;
            break;
        }
        sum_add(&folded->nodes.items[made[i] - 1].ns, node->ns);
        folded->nodes.items[made[i] - 1].count += node->count;
    }
    free(made);
    return status;
}

/* A node to be sorted. END is the text that follows its name in the line: ";", or " NANOSECONDS" after the last
 * name. */
struct sibling {
    const char *name;
    char end[24];
    uint32_t node, parent;
};

static int by_line(const void *left, const void *right)
{
    const struct sibling *one = left, *other = right;
    const char *a = one->name, *a_end = one->end, *b = other->name, *b_end = other->end;
    if (one->parent != other->parent)
        return ORDER(one->parent, other->parent);
    for (;; a++, b++) {
        if (!*a)
            a = a_end, a_end = "";
        if (!*b)
            b = b_end, b_end = "";
        if (*a != *b || !*a)
            return (unsigned char)*a - (unsigned char)*b;
    }
}

static int sort_siblings(struct gpu_stacks *folded, const struct interner *names)
{
    struct gpu_stack_node *nodes = folded->nodes.items;
    size_t count = folded->nodes.count;
    struct sibling *siblings = count ? malloc(count * sizeof(*siblings)) : NULL;
    if (count && !siblings)
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct sibling *sibling = &siblings[i];
        *sibling = (struct sibling){interned(names, nodes[i].name), ";", (uint32_t)i + 1, nodes[i].parent};
        if (has_own(&nodes[i]))
            snprintf(sibling->end, sizeof(sibling->end), " %lld", (long long)nodes[i].ns);
    }
    if (count > 1)
        qsort(siblings, count, sizeof(*siblings), by_line);
    gpu_stacks_link(folded);
    for (size_t i = 0; i < count; i++) {
        bool last = i + 1 == count || siblings[i + 1].parent != siblings[i].parent,
             begins = i == 0 || siblings[i - 1].parent != siblings[i].parent;
        nodes[siblings[i].node - 1].next = last ? 0 : siblings[i + 1].node;
        if (begins)
            *(siblings[i].parent ? &nodes[siblings[i].parent - 1].inner : &folded->first) = siblings[i].node;
    }
    free(siblings);
    return 0;
}

static int write_folded(struct buffer *buffer, const struct gpu_stacks *stacks, const struct trace *trace)
{
    struct shown shown;
    struct gpu_stacks folded = {0};
    int status = shown_init(&shown, stacks, trace, clean_name);
    status = status ?: fold(&folded, &shown);
    status = status ?: sort_siblings(&folded, &shown.names);
    for (uint32_t node = status == 0 ? folded.first : 0; node; node = gpu_stacks_next(&folded, node))
        if (has_own(&folded.nodes.items[node - 1])) {
            uint32_t path[STACKS_DEPTH + 4];
            size_t count = path_to(&folded, node, path);
            for (size_t i = 0; i < count; i++) {
                if (i > 0)
                    buffer_char(buffer, ';');
                buffer_text(buffer, interned(&shown.names, folded.nodes.items[path[i] - 1].name));
            }
            buffer_char(buffer, ' ');
            buffer_i64(buffer, folded.nodes.items[node - 1].ns);
            buffer_char(buffer, '\n');
        }
    gpu_stacks_release(&folded);
    shown_release(&shown);
    return status;
}

/* --- a trace --- */

int stack_files_convert(const char *input, const char *path, struct stack_files_summary *summary)
{
    static const struct report_options options;
    struct gpu_stacks stacks = {0};
    struct output output;
    struct trace trace;
    *summary = (struct stack_files_summary){0};
    if (output_open(&output, path) != 0)
        return -1;
    trace_init(&trace, &options);
    const struct fields_receiver receiver = {
        .context = &trace, .event = trace_receive_event, .metadata = trace_receive_metadata};
    trace.wanted.calls = trace.wanted.gpu_ops = trace.wanted.ranges = true;
    trace.wanted.launched_ops = trace.wanted.host_frames = trace.wanted.stacks = true;
    stacks.by_frames = true;
    int status = sources_read_fields(input, &trace.strings, &receiver, &(struct sources_options){0});
    if (status == 0 && (trace_finish(&trace, 1) < 0 || gpu_stacks_gather(&stacks, &trace) < 0))
        status = error_no_memory("stacks");
    bool folded = file_format_of(path)->content == FILE_FOLDED;
    if (status == 0 && (folded ? write_folded(&output.buffer, &stacks, &trace)
                               : write_speedscope(&output.buffer, &stacks, &trace, input)) < 0)
        status = error_no_memory("stacks");
    for (size_t i = 0; i < stacks.nodes.count; i++) {
        summary->gpu_ops += stacks.nodes.items[i].count;
        summary->stacks += has_own(&stacks.nodes.items[i]);
    }
    gpu_stacks_release(&stacks);
    trace_release(&trace);
    if (status == 0)
        return output_commit(&output, &summary->bytes);
    output_discard(&output);
    return -1;
}
