/*
 * Plugins in the metadata: who they are, what their callbacks took, what they have to say.
 */
#include "common/json_out.h"
#include "trace/build/conversion.h"

static void put_u64(struct json_out *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_u64(json, value);
}

static void put_text(struct json_out *json, const char *key, const char *text)
{
    json_key(json, key);
    json_string(json, text);
}

static void put_line(const struct convert_line *line, struct json_out *json)
{
    json_begin_object(json);
    json_key(json, "text");
    json_string_n(json, line->text, line->length);
    if (line->frame_count > 0) {
        json_key(json, "stack");
        json_begin_array(json);
        for (size_t i = 0; i < line->frame_count; i++)
            put_frame(&line->frames[i], json);
        json_end(json);
    }
    json_end(json);
}

static void put_plugin(const struct convert_plugin *plugin, struct json_out *json)
{
    json_begin_object(json);
    put_text(json, "name", plugin->name);
    put_u64(json, "pid", plugin->pid);
    put_u64(json, "calls", plugin->calls);
    put_u64(json, "time_ns", plugin->ns);
    json_key(json, "lines");
    json_begin_array(json);
    for (size_t i = 0; i < plugin->line_count; i++)
        put_line(&plugin->lines[i], json);
    json_end(json);
    json_end(json);
}

void put_plugins(const struct convert_plugins *plugins, struct json_out *json)
{
    json_begin_array(json);
    for (size_t i = 0; i < plugins->count; i++)
        put_plugin(&plugins->items[i], json);
    json_end(json);
}
