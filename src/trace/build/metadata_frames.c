/*
 * Frames of call stacks in the metadata.
 */
#include "common/json_out.h"
#include "common/number.h"
#include "trace/build/conversion.h"

static void put_text(struct json_out *json, const char *key, const char *text)
{
    json_key(json, key);
    json_string(json, text);
}

static void put_hex(struct json_out *json, const char *key, uint64_t value)
{
    char number[NUMBER_ROOM];
    json_key(json, key);
    json_string_n(json, number, (size_t)(number_hex(number, value) - number));
}

/* Only what is known. */
static void put_function(const struct stack_frame *frame, struct json_out *json)
{
    if (frame->function)
        put_text(json, "function", frame->function);
    if (frame->file)
        put_text(json, "file", frame->file);
    if (frame->line == 0)
        return;
    json_key(json, "line");
    json_u64(json, frame->line);
}

/* The calls that the compiler put into a frame's function, innermost first. */
static void put_inlined(const struct stack_frame *frame, struct json_out *json)
{
    json_key(json, "inlined");
    json_begin_array(json);
    for (size_t i = 0; i < frame->inlined_count; i++) {
        json_begin_object(json);
        put_function(&frame->inlined[i], json);
        json_end(json);
    }
    json_end(json);
}

void put_frame(const struct stack_frame *frame, struct json_out *json)
{
    json_begin_object(json);
    put_hex(json, "address", frame->address);
    put_function(frame, json);
    if (frame->module) {
        put_text(json, "module", frame->module);
        put_hex(json, "offset", frame->offset);
    }
    if (frame->inlined_count > 0)
        put_inlined(frame, json);
    json_end(json);
}
