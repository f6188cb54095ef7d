/*
 * Call stacks of events, as Perfetto has them. Frames are read from the metadata before all events; each sequence
 * interns those of the stacks that its events have.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "common/protobuf.h"
#include "trace/pftrace/writer.h"

#define FRAMES_MAX 512 /* of a stack: one that was made up may go round in a circle */

/* --- the frames of the trace --- */

static char *text_of(const cJSON *frame, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(frame, key));
    return text ? strdup(text) : NULL;
}

static uint64_t number_of(const cJSON *frame, const char *key)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(frame, key);
    return cJSON_IsNumber(value) && value->valuedouble > 0 && value->valuedouble < UINT32_MAX
               ? (uint64_t)value->valuedouble
               : 0;
}

static bool read_frame(struct pftrace_rows *rows, const cJSON *frame)
{
    const char *offset = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(frame, "offset"));
    uint64_t number = strtoull(frame->string, NULL, 10);
    uint64_t *index = number != 0 ? map_put(&rows->frame_of_number, number, NULL) : NULL;
    struct pftrace_frame *read = index ? array_push(&rows->frames) : NULL;
    if (!read)
        return number == 0;
    *index = rows->frames.count;
    *read = (struct pftrace_frame){.function = text_of(frame, "name"),
                                   .module = text_of(frame, "category"),
                                   .file = text_of(frame, "file"),
                                   .line = (uint32_t)number_of(frame, "line"),
                                   .parent = number_of(frame, "parent"),
                                   .offset = offset ? strtoull(offset, NULL, 0) : 0};
    return true;
}

void pftrace_read_frames(struct sink *sink, const char *value, size_t size)
{
    struct pftrace_state *state = sink->state;
    cJSON *frames = cJSON_ParseWithLength(value, size);
    for (const cJSON *frame = cJSON_IsObject(frames) ? frames->child : NULL; frame; frame = frame->next)
        if (!read_frame(&state->own_rows, frame))
            pftrace_fail(sink);
    cJSON_Delete(frames);
}

void pftrace_frames_release(struct pftrace_rows *rows)
{
    for (size_t i = 0; i < rows->frames.count; i++) {
        free(rows->frames.items[i].function);
        free(rows->frames.items[i].module);
        free(rows->frames.items[i].file);
    }
    array_release(&rows->frames);
    map_release(&rows->frame_of_number);
}

/* --- what a sequence interns --- */

static size_t length_of(const char *text)
{
    return text ? strlen(text) : 0;
}

/* A mapping of which only the file is known. */
static uint64_t mapping_iid(struct pftrace_sequence *sequence, const char *module)
{
    bool is_new;
    uint64_t iid =
        pftrace_intern(sequence, PFTRACE_MAPPINGS, PB_INTERNED_MAPPING_PATHS, module, length_of(module), &is_new);
    if (iid == 0 || !is_new)
        return iid;
    size_t entry = protobuf_begin(&sequence->interned, PB_INTERNED_MAPPINGS);
    protobuf_put_u64(&sequence->interned, PB_INTERNED_IID, iid);
    protobuf_put_u64(&sequence->interned, PB_MAPPING_PATH_STRING_IDS, iid);
    protobuf_end(&sequence->interned, entry);
    return iid;
}

static uint64_t frame_iid(struct pftrace_sequence *sequence, uint64_t number, const struct pftrace_frame *frame)
{
    bool is_new, ignored;
    uint64_t iid = pftrace_iid(sequence, PFTRACE_FRAMES, number, &is_new);
    if (iid == 0 || !is_new)
        return iid;
    struct buffer *interned = &sequence->interned;
    uint64_t function = pftrace_intern(sequence, PFTRACE_FUNCTIONS, PB_INTERNED_FUNCTION_NAMES, frame->function,
                                       length_of(frame->function), &ignored);
    uint64_t source = pftrace_intern(sequence, PFTRACE_SOURCES, PB_INTERNED_SOURCE_PATHS, frame->file,
                                     length_of(frame->file), &ignored);
    uint64_t mapping = frame->line == 0 ? mapping_iid(sequence, frame->module) : 0;
    size_t entry = protobuf_begin(interned, PB_INTERNED_FRAMES);
    protobuf_put_u64(interned, PB_INTERNED_IID, iid);
    if (function != 0)
        protobuf_put_u64(interned, PB_FRAME_FUNCTION_NAME_ID, function);
    if (mapping != 0) {
        protobuf_put_u64(interned, PB_FRAME_MAPPING_ID, mapping);
        protobuf_put_u64(interned, PB_FRAME_REL_PC, frame->offset);
    }
    if (source != 0)
        protobuf_put_u64(interned, PB_FRAME_SOURCE_PATH_IID, source);
    if (frame->line > 0)
        protobuf_put_u64(interned, PB_FRAME_LINE_NUMBER, frame->line);
    protobuf_end(interned, entry);
    return iid;
}

uint64_t pftrace_callstack(const struct pftrace_rows *rows, struct pftrace_sequence *sequence, uint64_t number)
{
    uint64_t iids[FRAMES_MAX], *index = map_get(&rows->frame_of_number, number);
    bool is_new;
    size_t count = 0;
    uint64_t iid = index ? pftrace_iid(sequence, PFTRACE_CALLSTACKS, number, &is_new) : 0;
    if (iid == 0 || !is_new)
        return iid;
    for (; index && count < FRAMES_MAX; index = number != 0 ? map_get(&rows->frame_of_number, number) : NULL) {
        const struct pftrace_frame *frame = &rows->frames.items[*index - 1];
        iids[count++] = frame_iid(sequence, number, frame);
        number = frame->parent;
    }
    size_t entry = protobuf_begin(&sequence->interned, PB_INTERNED_CALLSTACKS);
    protobuf_put_u64(&sequence->interned, PB_INTERNED_IID, iid);
    while (count > 0)
        protobuf_put_u64(&sequence->interned, PB_CALLSTACK_FRAME_IDS, iids[--count]);
    protobuf_end(&sequence->interned, entry);
    return iid;
}
