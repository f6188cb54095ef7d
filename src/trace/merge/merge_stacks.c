/*
 * Call stacks of all traces as one tree: a frame that two traces have below the same frames is one.
 */
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "trace/json/text.h"
#include "trace/merge/merge_parts.h"

/* Bytes that all frames may take in the metadata, which readers hold whole; stacks beyond are left out. */
#define FRAMES_BYTES_MOST ((size_t)16 << 20)
#define DEPTH_MOST 512 /* a tree that was made up may go round in a circle */

/* A frame of the trace at hand. */
struct frame {
    uint32_t number, parent;
    struct json_text text;
    uint32_t new_number; /* 0: not yet */
};

struct adding {
    struct merge_stacks *stacks;
    ARRAY(struct frame) frames; /* by number */
    struct buffer text;
};

static bool read_number(struct json_text text, uint32_t *number)
{
    uint64_t value = 0;
    if (json_is_string(text))
        text = (struct json_text){text.at + 1, text.length - 2};
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9' || value > UINT32_MAX)
            return false;
        value = value * 10 + (uint64_t)(text.at[i] - '0');
    }
    *number = (uint32_t)value;
    return text.length > 0 && value > 0 && value < UINT32_MAX;
}

static bool is_parent(struct json_text key)
{
    return key.length == 6 && memcmp(key.at, "parent", 6) == 0;
}

static int by_number(const void *left, const void *right)
{
    const struct frame *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

static int read_frames(struct adding *adding, struct json_text tree)
{
    struct json_text key, value, inner_key, inner;
    if (tree.length < 2 || *tree.at != '{')
        return 0;
    for (const char *at = tree.at + 1, *end = tree.at + tree.length; json_member(&at, end, &key, &value);) {
        uint32_t number;
        struct frame *frame = *value.at == '{' && read_number(key, &number) ? array_push(&adding->frames) : NULL;
        if (!frame && *value.at == '{' && read_number(key, &number))
            return error_no_memory("call stacks");
        if (!frame)
            continue;
        *frame = (struct frame){.number = number, .text = value};
        for (const char *in = value.at + 1, *stop = value.at + value.length;
             json_member(&in, stop, &inner_key, &inner);)
            if (is_parent(inner_key))
                read_number(inner, &frame->parent);
    }
    if (adding->frames.count > 0)
        qsort(adding->frames.items, adding->frames.count, sizeof(*adding->frames.items), by_number);
    return 0;
}

static struct frame *find_frame(struct adding *adding, uint32_t number)
{
    const struct frame wanted = {.number = number};
    return adding->frames.count == 0
               ? NULL
               : bsearch(&wanted, adding->frames.items, adding->frames.count, sizeof(*adding->frames.items), by_number);
}

/* The members of FRAME but for its parent, each behind a comma. */
static void put_members(struct buffer *out, const struct frame *frame)
{
    struct json_text key, value;
    const char *end = frame->text.at + frame->text.length;
    out->length = 0;
    for (const char *at = frame->text.at + 1; json_member(&at, end, &key, &value);) {
        if (is_parent(key))
            continue;
        buffer_text(out, out->length > 0 ? ",\"" : "\"");
        buffer_bytes(out, key.at, key.length);
        buffer_text(out, "\":");
        buffer_bytes(out, value.at, value.length);
    }
}

static int put_frame(struct adding *adding, struct frame *frame, uint32_t parent)
{
    struct merge_stacks *stacks = adding->stacks;
    struct buffer *frames = &stacks->frames;
    bool is_new;
    put_members(&adding->text, frame);
    if (adding->text.failure)
        return error_no_memory("call stacks");
    const uint64_t key[] = {parent, hash_bytes(adding->text.data, adding->text.length)};
    uint64_t hash = hash_bytes(key, sizeof(key)), *number = map_get(&stacks->known, hash);
    if (!number && frames->length > FRAMES_BYTES_MOST) {
        stacks->full = true;
        return 0;
    }
    if (!(number = map_put(&stacks->known, hash, &is_new)))
        return error_no_memory("call stacks");
    if (is_new) {
        *number = map_count(&stacks->known);
        buffer_format(frames, ",\"%u\":{", (uint32_t)*number);
        buffer_bytes(frames, adding->text.data, adding->text.length);
        if (parent != 0)
            buffer_format(frames, "%s\"parent\":%u", adding->text.length > 0 ? "," : "", parent);
        buffer_char(frames, '}');
    }
    frame->new_number = (uint32_t)*number;
    return 0;
}

/* A frame after those that called it. */
static int add_frame(struct adding *adding, struct frame *frame, unsigned depth)
{
    struct frame *parent = frame->parent != 0 ? find_frame(adding, frame->parent) : NULL;
    if (frame->new_number != 0 || depth > DEPTH_MOST)
        return 0;
    if (parent && add_frame(adding, parent, depth + 1) != 0)
        return -1;
    return parent && parent->new_number == 0 ? 0 : put_frame(adding, frame, parent ? parent->new_number : 0);
}

int merge_stacks_add(struct merge_stacks *stacks, struct json_text text)
{
    struct adding adding = {.stacks = stacks};
    buffer_init_memory(&adding.text);
    stacks->numbers.count = 0;
    int result = read_frames(&adding, text);
    for (size_t i = 0; i < adding.frames.count && result == 0; i++) {
        struct frame *frame = &adding.frames.items[i];
        result = add_frame(&adding, frame, 0);
        struct merge_stack *number = result == 0 && frame->new_number != 0 ? array_push(&stacks->numbers) : NULL;
        if (number)
            *number = (struct merge_stack){frame->number, frame->new_number};
        else if (result == 0 && frame->new_number != 0)
            result = error_no_memory("call stacks");
    }
    array_release(&adding.frames);
    buffer_release(&adding.text);
    return result;
}

void merge_stacks_release(struct merge_stacks *stacks)
{
    map_release(&stacks->known);
    buffer_release(&stacks->frames);
    array_release(&stacks->numbers);
}

uint32_t merge_stacks_find(const struct merge_stack *numbers, size_t count, uint64_t number)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (numbers[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && numbers[low].number == number ? numbers[low].new_number : 0;
}
