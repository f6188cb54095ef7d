/*
 * Writes the fields that dumps of PyTorch 2.11 have, version "2.10" of the format.
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

/* The dumps that are being written. */
struct flight_output {
    struct flight_job job;
    const char *folder;
    bool replace;
    struct flight_files_summary *summary;
};

/* --- Python's pickle, protocol 2: items follow one another, and so do keys and values --- */

/* The opcodes are those of Python's module pickletools. */
enum {
    PROTOCOL = 0x80,
    STOP = '.',
    TUPLE2 = 0x86,
    UNICODE = 'X',
    INTEGER32 = 'J',
    LONG1 = 0x8a,
    REAL = 'G',
    NEW_TRUE = 0x88,
    NEW_FALSE = 0x89,
    NONE = 'N',
};
#define BEGIN_DICT "}("
#define END_DICT "u"
#define BEGIN_LIST "]("
#define END_LIST "e"

static void opcode(struct buffer *out, unsigned code)
{
    buffer_char(out, (char)code);
}

static void put_little_endian(struct buffer *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        opcode(out, value >> 8 * i & 0xff);
}

/* Writes TEXT to OUT, with invalid UTF-8 replaced, or nothing if OUT is NULL. Returns the number of bytes. */
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

/* Writes TIME as ns since 1970; FIELD_ABSENT becomes None. */
static void put_time(struct buffer *out, const struct flight_job *job, const char *key, int64_t time)
{
    pickle_text(out, key);
    if (time == FIELD_ABSENT)
        opcode(out, NONE);
    else
        pickle_i64(out, time + job->trace.base);
}

/* Writes the name of a group to NAME and returns it: "0x5d2c…", or "0x5d2c… 1->3" for sends from rank 1 to 3. */
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
    buffer_text(out, BEGIN_DICT);
    for (size_t i = 0; i < job->groups.count; i++) {
        const struct flight_group *group = &job->groups.items[i];
        if (flight_place(group, rank) < 0)
            continue;
        list.length = 0;
        for (size_t k = 0; k < group->ranks.count; k++)
            buffer_format(&list, "%s%" PRId64, k > 0 ? ", " : "[", group->ranks.items[k]);
        buffer_bytes(&list, "]", 2);
        pickle_text(out, group_name(job, group, name));
        buffer_text(out, BEGIN_DICT);
        put_key(out, "name", name);
        put_key(out, "desc", "undefined");
        put_key(out, "ranks", list.failure ? "[]" : list.data);
        buffer_text(out, END_DICT);
    }
    buffer_text(out, END_DICT);
    out->failure = out->failure ? out->failure : list.failure;
    buffer_release(&list);
}

/* Writes the shape and type of a tensor under the keys SIZES and TYPES: [[ELEMENTS]] and ["Float"]. */
static void put_tensor(struct buffer *out, const char *sizes, const char *types, int64_t elements, const char *type)
{
    pickle_text(out, sizes);
    buffer_text(out, BEGIN_LIST);
    buffer_text(out, BEGIN_LIST);
    pickle_i64(out, elements);
    buffer_text(out, END_LIST);
    buffer_text(out, END_LIST);
    pickle_text(out, types);
    buffer_text(out, BEGIN_LIST);
    pickle_text(out, type);
    buffer_text(out, END_LIST);
}

static void put_entry(struct buffer *out, const struct flight_job *job, const struct flight_entry *entry,
                      int64_t number)
{
    const struct flight_group *group = &job->groups.items[entry->group];
    const struct collective *own = &entry->own;
    const char *state = flight_state(job, entry);
    bool done = own->start != FIELD_ABSENT, pair = own->source >= 0;
    char name[256];
    buffer_text(out, BEGIN_DICT);
    put_number(out, "record_id", number);
    put_number(out, "pg_id", entry->group);
    put_key(out, "process_group", group_name(job, group, name));
    pickle_text(out, "undefined");
    opcode(out, TUPLE2); /* pg_id and description are a pair: the last two items */
    put_number(out, "collective_seq_id", own->sequence);
    put_number(out, "p2p_seq_id", pair ? own->sequence : 0);
    put_number(out, "op_id", number);
    /* "nccl:all_reduce", "nccl:send 0->1": from the first rank of the group to the second. */
    int place = (int)flight_place(group, own->rank); /* 0 or 1: a send has two ranks */
    if (own->kind == COLLECTIVE_SEND)
        snprintf(name, sizeof(name), "nccl:send %d->%d", place, 1 - place);
    else if (own->kind == COLLECTIVE_RECV)
        snprintf(name, sizeof(name), "nccl:recv %d<-%d", place, 1 - place);
    else
        snprintf(name, sizeof(name), "nccl:%s", flight_words[own->kind]);
    put_key(out, "profiling_name", name);
    put_time(out, job, "time_created_ns", entry->time);
    if (done) {
        pickle_text(out, "duration_ms");
        double ms = (double)own->duration / 1e6;
        uint64_t bits;
        memcpy(&bits, &ms, sizeof(bits));
        opcode(out, REAL);
        for (unsigned i = 8; i-- > 0;)
            opcode(out, bits >> 8 * i & 0xff);
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
    opcode(out, strcmp(state, "completed") == 0 ? NEW_TRUE : NEW_FALSE);
    put_number(out, "timeout_ms", 0);
    pickle_text(out, "is_p2p");
    opcode(out, pair ? NEW_TRUE : NEW_FALSE);
    pickle_text(out, "frames");
    buffer_text(out, BEGIN_LIST);
    buffer_text(out, END_LIST);
    buffer_text(out, END_DICT);
}

/* Writes the file of RANK, whose entries are *NEXT and the following ones of WALK. Sets *NEXT to the first entry of
 * another rank, or NULL. Returns 0, or -1 after error(). */
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
    buffer_text(&output.buffer, BEGIN_DICT);
    put_key(&output.buffer, "version", DUMP_VERSION);
    put_groups(&output.buffer, &files->job, rank);
    pickle_text(&output.buffer, "pg_status");
    buffer_text(&output.buffer, BEGIN_DICT);
    buffer_text(&output.buffer, END_DICT);
    pickle_text(&output.buffer, "entries");
    buffer_text(&output.buffer, BEGIN_LIST);
    for (; *next && (*next)->rank == rank; *next = sorter_next(walk))
        if (flight_is_comparable(&files->job, *next))
            put_entry(&output.buffer, &files->job, *next, number++);
        else
            files->summary->left_out++;
    files->summary->entries += (uint64_t)number;
    buffer_text(&output.buffer, END_LIST);
    buffer_text(&output.buffer, END_DICT);
    opcode(&output.buffer, STOP);
    return output_commit(&output, &bytes);
}

int flight_files_convert(const char *input, const char *folder, bool replace, struct flight_files_summary *summary)
{
    struct flight_output files = {.folder = folder, .replace = replace, .summary = summary};
    *summary = (struct flight_files_summary){0};
    flight_job_init(&files.job);
    struct flight_job *job = &files.job;
    int status = flight_job_read(job, input);
    summary->ranks = job->ranks.count;
    summary->left_out = job->left_out;
    if (status == 0 && job->ranks.count == 0)
        status = error("'%s' has no communication of ranks whose numbers are known", input);
    if (status == 0 && mkdir(folder, 0777) != 0 && errno != EEXIST)
        status = error("cannot make the folder '%s': %s", folder, strerror(errno));
    if (status == 0) {
        struct sorter_walk walk;
        sorter_walk_begin(&walk, &job->entries);
        const struct flight_entry *next = sorter_next(&walk);
        for (size_t i = 0; i < job->ranks.count && status == 0; i++)
            status = write_rank(&files, job->ranks.items[i], &walk, &next);
        int walked = sorter_walk_end(&walk);
        status = status ? status : walked ? error_no_memory("operations") : 0;
    }
    flight_job_release(job);
    return status;
}
