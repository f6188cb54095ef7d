/*
 * Call stacks of all traces as one tree: a frame that two traces have below the same frames is one.
 */
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/lookup.h"
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
    if (text.length > 0 && json_is_string(text))
        text = (struct json_text){text.at + 1, text.length - 2};
    bool fits = merge_read_number(text, &value) && value > 0 && value < UINT32_MAX;
    *number = fits ? (uint32_t)value : 0;
    return fits;
}

ORDER_BY(by_number, struct frame, number)

static int read_frames(struct adding *adding, struct json_text tree)
{
    struct json_text key, value;
    if (tree.length < 2 || *tree.at != '{')
        return 0;
    for (const char *at = tree.at + 1, *end = tree.at + tree.length; json_member(&at, end, &key, &value);) {
        struct frame frame = {.text = value};
        if (*value.at != '{' || !read_number(key, &frame.number))
            continue;
        read_number(json_find(value, "parent"), &frame.parent);
        if (!ADD(array_push, &adding->frames, frame))
            return error_no_memory("call stacks");
    }
    if (adding->frames.count > 0)
        qsort(adding->frames.items, adding->frames.count, sizeof(*adding->frames.items), by_number);
    return 0;
}

/* The members of FRAME but for its parent, each behind a comma. */
static void put_members(struct buffer *out, const struct frame *frame)
{
    struct json_text key, value;
    const char *end = frame->text.at + frame->text.length;
    out->length = 0;
    for (const char *at = frame->text.at + 1; json_member(&at, end, &key, &value);) {
        if (json_is(key, "parent"))
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
    struct frame *frames = adding->frames.items; /* with FRAME among them */
    size_t count = adding->frames.count, place = COUNT_BEFORE(count, i, frames[i].number < frame->parent);
    bool has_parent = frame->parent != 0 && place < count && frames[place].number == frame->parent;
    struct frame *parent = has_parent ? &frames[place] : NULL;
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
        const struct merge_stack number = {frame->number, frame->new_number};
        if (result == 0 && number.new_number != 0 && !ADD(array_push, &stacks->numbers, number))
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
    size_t place = COUNT_BEFORE(count, i, numbers[i].number < number);
    return place < count && numbers[place].number == number ? numbers[place].new_number : 0;
}
