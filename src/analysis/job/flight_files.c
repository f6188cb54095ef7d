/*
 * The fields of a dump are those of PyTorch 2.11, version "2.10" of the format.
 */
#include "analysis/job/flight_files.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/job/flight_job.h"
#include "common/buffer.h"
#include "common/log.h"
#include "common/text.h"
#include "trace/output.h"

#define DUMP_VERSION "2.10"

/* What is written. */
struct flight_output {
    struct flight_job job;
    const char *folder;
    bool replace;
    struct flight_files_summary *summary;
};

/* --- Python's pickle, protocol 2. Keys and values follow one another, as items do --- */

/* The opcodes are those of Python's module pickletools. */
enum {
    PROTOCOL = 0x80,
    STOP = '.',
    MARK = '(',
    EMPTY_DICT = '}',
    SET_ITEMS = 'u',
    EMPTY_LIST = ']',
    APPENDS = 'e',
    TUPLE2 = 0x86,
    UNICODE = 'X',
    INTEGER32 = 'J',
    LONG1 = 0x8a,
    REAL = 'G',
    NEW_TRUE = 0x88,
    NEW_FALSE = 0x89,
    NONE = 'N',
};

static void opcode(struct buffer *out, unsigned code)
{
    buffer_char(out, (char)code);
}

static void put_little_endian(struct buffer *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        opcode(out, value >> 8 * i & 0xff);
}

static void pickle_begin_dict(struct buffer *out)
{
    opcode(out, EMPTY_DICT);
    opcode(out, MARK);
}

static void pickle_end_dict(struct buffer *out)
{
    opcode(out, SET_ITEMS);
}

static void pickle_begin_list(struct buffer *out)
{
    opcode(out, EMPTY_LIST);
    opcode(out, MARK);
}

static void pickle_end_list(struct buffer *out)
{
    opcode(out, APPENDS);
}

/* Writes TEXT; NULL: nowhere. Returns its bytes. */
static size_t put_characters(struct buffer *out, const char *text)
{
    size_t sum = 0;
    for (size_t left = strlen(text), size; left > 0; text += size, left -= size) {
        size = utf8_size(text, left);
        const char *shown = size ? text : UTF8_REPLACEMENT;
        size_t length = size ? size : strlen(UTF8_REPLACEMENT);
        if (out)
            buffer_bytes(out, shown, length);
        sum += length;
        size = size ? size : 1;
    }
    return sum;
}

static void pickle_text(struct buffer *out, const char *text)
{
    opcode(out, UNICODE);
    put_little_endian(out, put_characters(NULL, text), 4);
    put_characters(out, text);
}

static void pickle_i64(struct buffer *out, int64_t value)
{
    if (value >= INT32_MIN && value <= INT32_MAX) {
        opcode(out, INTEGER32);
        put_little_endian(out, (uint64_t)value, 4);
    } else {
        opcode(out, LONG1);
        opcode(out, 8);
        put_little_endian(out, (uint64_t)value, 8);
    }
}

static void pickle_real(struct buffer *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    opcode(out, REAL);
    for (unsigned i = 8; i-- > 0;)
        opcode(out, bits >> 8 * i & 0xff);
}

static void pickle_bool(struct buffer *out, bool value)
{
    opcode(out, value ? NEW_TRUE : NEW_FALSE);
}

/* --- a file --- */

static void put_key(struct buffer *out, const char *key, const char *text)
{
    pickle_text(out, key);
    pickle_text(out, text);
}

static void put_number(struct buffer *out, const char *key, int64_t number)
{
    pickle_text(out, key);
    pickle_i64(out, number);
}

/* FIELD_ABSENT is None. */
static void put_time(struct buffer *out, const struct flight_job *job, const char *key, int64_t time)
{
    pickle_text(out, key);
    if (time == FIELD_ABSENT)
        opcode(out, NONE);
    else
        pickle_i64(out, time + job->trace.base);
}

/* "0x5d2c…", and of sends "0x5d2c… 1->3". */
static const char *group_name(const struct flight_job *job, const struct flight_group *group, char name[256])
{
    const char *communicator = trace_text(&job->trace, group->one.communicator);
    if (group->one.source < 0)
        snprintf(name, 256, "%s", communicator);
    else
        snprintf(name, 256, "%.200s %" PRId32 "->%" PRId32, communicator, group->one.source, group->one.target);
    return name;
}

static void put_groups(struct buffer *out, const struct flight_job *job, int64_t rank)
{
    struct buffer list;
    char name[256];
    buffer_init_memory(&list);
    pickle_text(out, "pg_config");
    pickle_begin_dict(out);
    for (size_t i = 0; i < job->groups.count; i++) {
        const struct flight_group *group = &job->groups.items[i];
        if (flight_place(group, rank) < 0)
            continue;
        list.length = 0;
        for (size_t k = 0; k < group->ranks.count; k++)
            buffer_format(&list, "%s%" PRId64, k > 0 ? ", " : "[", group->ranks.items[k]);
        buffer_bytes(&list, "]", 2);
        pickle_text(out, group_name(job, group, name));
        pickle_begin_dict(out);
        put_key(out, "name", name);
        put_key(out, "desc", "undefined");
        put_key(out, "ranks", list.failure ? "[]" : list.data);
        pickle_end_dict(out);
    }
    pickle_end_dict(out);
    out->failure = out->failure ? out->failure : list.failure;
    buffer_release(&list);
}

/* [[ELEMENTS]], and ["Float"]. */
static void put_tensor(struct buffer *out, const char *sizes, const char *types, int64_t elements, const char *type)
{
    pickle_text(out, sizes);
    pickle_begin_list(out);
    pickle_begin_list(out);
    pickle_i64(out, elements);
    pickle_end_list(out);
    pickle_end_list(out);
    pickle_text(out, types);
    pickle_begin_list(out);
    pickle_text(out, type);
    pickle_end_list(out);
}

static void put_entry(struct buffer *out, const struct flight_job *job, const struct flight_entry *entry,
                      int64_t number)
{
    const struct flight_group *group = &job->groups.items[entry->group];
    const struct collective *own = &entry->own;
    const char *state = flight_state(job, entry);
    bool done = own->start != FIELD_ABSENT, pair = own->source >= 0;
    char name[256];
    pickle_begin_dict(out);
    put_number(out, "record_id", number);
    put_number(out, "pg_id", entry->group);
    put_key(out, "process_group", group_name(job, group, name));
    pickle_text(out, "undefined");
    opcode(out, TUPLE2); /* of the last two */
    put_number(out, "collective_seq_id", own->sequence);
    put_number(out, "p2p_seq_id", pair ? own->sequence : 0);
    put_number(out, "op_id", number);
    /* "nccl:all_reduce", "nccl:send 0->1": from the first rank of the group to the second. */
    int place = (int)flight_place(group, own->rank); /* of two ranks */
    if (own->kind == COLLECTIVE_SEND)
        snprintf(name, sizeof(name), "nccl:send %d->%d", place, 1 - place);
    else if (own->kind == COLLECTIVE_RECV)
        snprintf(name, sizeof(name), "nccl:recv %d<-%d", place, 1 - place);
    else
        snprintf(name, sizeof(name), "nccl:%s", flight_word(own->kind));
    put_key(out, "profiling_name", name);
    put_time(out, job, "time_created_ns", entry->time);
    if (done) {
        pickle_text(out, "duration_ms");
        pickle_real(out, (double)own->duration / 1e6);
    }
    const char *type = own->dtype == EVENT_NO_TEXT ? "Byte" : trace_text(&job->trace, own->dtype);
    int64_t each = collective_type_bytes(type), ranks = (int64_t)group->ranks.count;
    int64_t whole = own->bytes == FIELD_ABSENT ? 0 : own->bytes / (each > 0 ? each : 1), part = whole / ranks;
    bool spreads = own->kind == COLLECTIVE_REDUCESCATTER || own->kind == COLLECTIVE_SCATTER;
    bool collects = own->kind == COLLECTIVE_ALLGATHER || own->kind == COLLECTIVE_GATHER;
    put_tensor(out, "input_sizes", "input_dtypes", collects ? part : spreads ? part * ranks : whole, type);
    put_tensor(out, "output_sizes", "output_dtypes", spreads ? part : collects ? part * ranks : whole, type);
    put_key(out, "state", state);
    put_time(out, job, "time_discovered_started_ns", own->start);
    put_time(out, job, "time_discovered_completed_ns", done ? own->start + own->duration : FIELD_ABSENT);
    pickle_text(out, "retired");
    pickle_bool(out, strcmp(state, "completed") == 0);
    put_number(out, "timeout_ms", 0);
    pickle_text(out, "is_p2p");
    pickle_bool(out, pair);
    pickle_text(out, "frames");
    pickle_begin_list(out);
    pickle_end_list(out);
    pickle_end_dict(out);
}

/* Writes the file of RANK, whose entries are NEXT and those after it in WALK. Sets *NEXT to the first of another rank.
 */
static int write_rank(const struct flight_output *files, int64_t rank, struct sorter_walk *walk,
                      const struct flight_entry **next)
{
    char path[PATH_MAX];
    struct output output;
    struct stat status;
    uint64_t bytes;
    int64_t number = 0;
    int length = snprintf(path, sizeof(path), "%s/rank_%" PRId64, files->folder, rank);
    if (length < 0 || (size_t)length >= sizeof(path))
        return error("'%s' is too long a name", files->folder);
    if (!files->replace && lstat(path, &status) == 0)
        return error("'%s' is there already: --force replaces it", path);
    if (output_open(&output, path) != 0)
        return -1;
    opcode(&output.buffer, PROTOCOL);
    opcode(&output.buffer, 2);
    pickle_begin_dict(&output.buffer);
    put_key(&output.buffer, "version", DUMP_VERSION);
    put_groups(&output.buffer, &files->job, rank);
    pickle_text(&output.buffer, "pg_status");
    pickle_begin_dict(&output.buffer);
    pickle_end_dict(&output.buffer);
    pickle_text(&output.buffer, "entries");
    pickle_begin_list(&output.buffer);
    for (; *next && (*next)->rank == rank; *next = sorter_next(walk))
        if (flight_is_comparable(&files->job, *next))
            put_entry(&output.buffer, &files->job, *next, number++);
        else
            files->summary->left_out++;
    files->summary->entries += (uint64_t)number;
    pickle_end_list(&output.buffer);
    pickle_end_dict(&output.buffer);
    opcode(&output.buffer, STOP);
    return output_commit(&output, &bytes);
}

static int convert(struct flight_output *files, const char *input)
{
    if (flight_job_read(&files->job, input) < 0)
        return -1;
    *files->summary = (struct flight_files_summary){.ranks = files->job.ranks.count, .left_out = files->job.left_out};
    if (files->job.ranks.count == 0)
        return error("'%s' has no communication of ranks whose numbers are known", input);
    struct sorter_walk walk;
    int status = 0;
    if (mkdir(files->folder, 0777) != 0 && errno != EEXIST)
        return error("cannot make the folder '%s': %s", files->folder, strerror(errno));
    sorter_walk_begin(&walk, &files->job.entries);
    const struct flight_entry *next = sorter_next(&walk);
    for (size_t i = 0; i < files->job.ranks.count && status == 0; i++)
        status = write_rank(files, files->job.ranks.items[i], &walk, &next);
    int walked = sorter_walk_end(&walk);
    return status ? status : walked ? error_no_memory("operations") : 0;
}

int flight_files_convert(const char *input, const char *folder, bool replace, struct flight_files_summary *summary)
{
    struct flight_output files = {.folder = folder, .replace = replace, .summary = summary};
    *summary = (struct flight_files_summary){0};
    flight_job_init(&files.job);
    int status = convert(&files, input);
    flight_job_release(&files.job);
    return status;
}
