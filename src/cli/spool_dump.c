/*
 * Walks over the chunks of each spool as the passes do, and prints what the decoders make of each record. The names of
 * the records are those of trace/spool/record_table.h.
 */
#include "cli/spool_dump.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/log.h"
#include "trace/spool/agent_records.h"
#include "trace/spool/cupti.h"
#include "trace/spool/record_table.h"
#include "trace/spool/spool_directory.h"
#include "trace/spool/spool_file.h"

#define CUPTI_NAME(kind, event, ...) [EVENT_##event] = #event,
#define AGENT_NAME(record, event, ...) [EVENT_##event] = #event,
#define ALSO(...)
static const char *const event_names[EVENT_TYPE_COUNT] = {[EVENT_TYPE_NONE] = "-", CUPTI_RECORDS(CUPTI_NAME, ALSO)};
static const char *const agent_names[EVENT_TYPE_COUNT] = {[EVENT_TYPE_NONE] = "-", AGENT_RECORDS(AGENT_NAME, ALSO)};
#undef ALSO
#undef AGENT_NAME
#undef CUPTI_NAME

#define TEXT_MOST 200 /* bytes of a record's text that are printed */

static void put_text(struct buffer *out, const char *text, size_t length)
{
    buffer_text(out, " \"");
    for (size_t i = 0; i < length && i < TEXT_MOST; i++)
        buffer_char(out, text[i] >= ' ' && text[i] <= '~' ? text[i] : '.');
    buffer_text(out, length > TEXT_MOST ? "\"…" : "\"");
}

static void put_event(struct buffer *out, const struct event *event, const char *name, uint64_t offset)
{
    buffer_format(out, "    +%-8" PRIu64 " %-16s", offset, name ? name : "?");
    if (event->start || event->end)
        buffer_format(out, " %" PRIu64 "+%" PRId64, event->start, (int64_t)(event->end - event->start));
    if (event->in_flight)
        buffer_text(out, " in flight");
    if (event->thread)
        buffer_format(out, " thread %" PRIu32, event->thread);
    if (event->correlation)
        buffer_format(out, " correlation %" PRIu32, event->correlation);
    if (event_is_gpu_work(event->type))
        buffer_format(out, " device %" PRIu32 " context %" PRIu32 " stream %" PRId32, event->device, event->context,
                      (int32_t)event->stream);
    if (event->text_length > 0)
        put_text(out, event->text, event->text_length);
    buffer_char(out, '\n');
}

static void dump_cupti(struct buffer *out, const struct spool_part *part, const uint16_t *sizes,
                       struct spool_scratch *scratch)
{
    struct cupti_walk walk;
    const uint8_t *data = spool_part_data(part, scratch);
    cupti_walk_begin(&walk, part, data, sizes);
    while (cupti_walk_next(&walk)) {
        struct event event = {0};
        if (cupti_kind_decoded(walk.kind))
            cupti_decode(&event, &walk);
        buffer_format(out, "    kind %-3" PRIu32, walk.kind);
        put_event(out, &event, event_names[event.type], (uint64_t)((const uint8_t *)walk.record - data));
    }
    if (walk.damaged)
        buffer_text(out, "    damaged: the rest cannot be read\n");
}

static void dump_agent(struct buffer *out, const struct spool_part *part)
{
    struct agent_walk walk;
    agent_walk_begin(&walk, part);
    while (agent_walk_next(&walk)) {
        struct event event = {0};
        agent_decode(&event, &walk, part->thread);
        buffer_format(out, "    type %-3u", walk.record->type);
        put_event(out, &event, agent_names[event.type], (uint64_t)((const uint8_t *)walk.record - part->data));
    }
    if (walk.damaged)
        buffer_format(out, "    damaged: %" PRIu64 " records cannot be read\n", walk.damaged);
}

static void dump_file(struct buffer *out, const struct spool_file *file, const char *path)
{
    const struct spool_header *header = &file->header;
    uint16_t sizes[SPOOL_CUPTI_KINDS];
    struct spool_scratch scratch = {0};
    cupti_record_sizes(sizes, header);
    buffer_format(out, "%s: pid %" PRIu32 " \"%s\", CUPTI %" PRIu32 ", started %" PRIu64 ", %s\n", path, header->pid,
                  header->program, header->cupti_version, header->started,
                  header->finished ? "ended by itself" : "did not end by itself");
    for (size_t i = 0; i < file->parts.count; i++) {
        const struct spool_part *part = &file->parts.items[i];
        static const char *const states[] = {"ready", "in use", "done", "drained"};
        buffer_format(out, "  chunk %" PRIu64 ": %s, %s, %zu bytes, thread %" PRIu32 "\n", part->sequence,
                      part->type == SPOOL_CUPTI ? "CUPTI's" : "the agent's",
                      part->drained ? "packed" : states[part->state & 3], part->size, part->thread);
        if (part->type == SPOOL_CUPTI)
            dump_cupti(out, part, sizes, &scratch);
        else
            dump_agent(out, part);
    }
    spool_scratch_release(&scratch);
}

int spool_dump(const char *path)
{
    struct spool_directory spools;
    struct buffer out;
    int status = spool_directory_read(&spools, path);
    buffer_init(&out, buffer_drain_fd, BUFFER_FD(STDOUT_FILENO));
    for (size_t i = 0; i < spools.count && status == 0; i++) {
        const struct spool_place *place = &spools.places[i];
        struct spool_file file;
        int opened = place->ended ? spool_file_open_ended(&file, spools.ended_path, place->ended - 1, NULL)
                                  : spool_file_open(&file, place->path, NULL);
        status = opened < 0 ? -1 : 0;
        if (opened != 0)
            continue;
        dump_file(&out, &file, place->ended ? spools.ended_path : place->path);
        spool_file_close(&file);
    }
    int failure = buffer_finish(&out);
    buffer_release(&out);
    spool_directory_release(&spools);
    return failure ? error("cannot write to standard output: %s", strerror(failure)) : status;
}
