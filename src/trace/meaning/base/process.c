/*
 * What several topics ask about a process: whether a time can be right, which row a thread or stream has, and which
 * names were given. And session.json, the launcher's note about the run.
 */
#include "trace/meaning/base/process.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json_out.h"
#include "common/log.h"

/*
 * A time of a process may be this much before its start (clocks are set back) or after; anything else comes from a
 * damaged record. A double, in which readers of JSON keep times, is exact to the nanosecond over this range.
 */
#define TIME_BEFORE (24 * 3600 * NS_PER_S)
#define TIME_AFTER (UINT64_C(100) * 24 * 3600 * NS_PER_S)

bool is_same_process(const struct spool_header *a, const struct spool_header *b)
{
    return a->pid == b->pid && a->pid_namespace == b->pid_namespace && a->process_started == b->process_started;
}

void process_walked(const struct process *process, const struct spool_part *part, uint64_t *walked)
{
    *walked += part->size;
    if (*walked < PROCESS_EVICT_BYTES)
        return;
    process_evict(process);
    *walked = 0;
}

bool process_was_to_record(const struct process *process, uint64_t bits)
{
    uint64_t recorded = process->file.header.trace_bits;
    return recorded == 0 || (recorded & bits) != 0;
}

bool process_knows_time(const struct process *process, uint64_t time)
{
    uint64_t started = process->file.header.started;
    if (started < TIME_BEFORE || started > UINT64_MAX / 2)
        return time != 0 && time < UINT64_MAX / 2; /* the header itself is damaged */
    return time >= started - TIME_BEFORE && time < started + TIME_AFTER;
}

bool process_knows_span(const struct process *process, const struct event *event)
{
    return event->end >= event->start && process_knows_time(process, event->start) &&
           process_knows_time(process, event->end);
}

int process_gpu_pid(struct process *process, uint32_t device, uint32_t *pid)
{
    for (size_t i = 0; i < process->gpus.count; i++) {
        if (process->gpus.items[i].device == device) {
            *pid = process->gpus.items[i].pid;
            return 0;
        }
    }
    struct process_gpu *gpu = array_push(&process->gpus);
    if (!gpu)
        return error_no_memory("rows");
    gpu->device = device;
    if (rows_gpu_pid(&process->conversion->rows, process->index, device, &gpu->pid) != 0)
        return -1;
    *pid = gpu->pid;
    return 0;
}

struct track *process_stream(struct process *process, enum track_kind kind, uint32_t device, uint32_t context,
                             uint32_t stream)
{
    bool is_new;
    struct track *track = tracks_put(&process->tracks, kind, device, context, stream, &is_new);
    if (track && is_new && process_gpu_pid(process, device, &track->pid) != 0)
        return NULL;
    return track;
}

struct track *process_thread(struct process *process, enum track_kind kind, uint32_t number)
{
    struct track *track = tracks_put(&process->tracks, kind, 0, 0, number, NULL);
    if (track)
        track->pid = process->pid;
    return track;
}

uint32_t process_device(const struct process *process, uint32_t device, uint32_t context)
{
    if (device != EVENT_NO_DEVICE)
        return device;
    const uint64_t *known = map_get(&process->device_of_context, context);
    if (known && *known)
        return (uint32_t)*known - 1;
    return process->gpus.count ? process->gpus.items[0].device : 0;
}

const struct device *process_device_info(const struct process *process, uint32_t device)
{
    for (size_t i = 0; i < process->devices.count; i++)
        if (process->devices.items[i].id == device)
            return &process->devices.items[i];
    return NULL;
}

const struct given_name *process_name(const struct process *process, const struct map *names, uint64_t object)
{
    return FIND_ITEM(&process->names, names, object);
}

bool process_is_of_autograd(const struct process *process, uint32_t thread)
{
    static const char autograd[] = "pt_autograd";
    const struct given_name *name = process_name(process, &process->name_of_thread, thread);
    return name && name->length >= strlen(autograd) && memcmp(name->text, autograd, strlen(autograd)) == 0;
}

int put_given_name(struct process *process, struct map *map, uint64_t object, const struct event *event,
                   bool by_program)
{
    struct given_name *name = PUT_ITEM(&process->names, map, object);
    if (!name)
        return error_no_memory("names");
    if (name->by_program != by_program ? name->by_program : event->start < name->time)
        return 0; /* a name by the program beats others, then the latest name wins */
    *name = (struct given_name){
        .time = event->start, .by_program = by_program, .text = event->text, .length = event->text_length};
    return 0;
}

void widen_process_time(struct process *process, uint64_t start, uint64_t end)
{
    if (process->first_time == 0 || start < process->first_time)
        process->first_time = start;
    if (end > process->last_time)
        process->last_time = end;
}

bool process_index_span(struct process *process, const struct event *event)
{
    bool known = process_knows_span(process, event);
    if (known)
        widen_process_time(process, event->start, event->end);
    else
        process->losses.undecoded++;
    return known;
}

uint64_t process_image_key(const struct process *process)
{
    const struct spool_header *header = &process->file.header;
    uint64_t key[] = {header->pid, header->pid_namespace, header->process_started};
    return hash_bytes(key, sizeof(key));
}

const struct process *conversion_latest_image(const struct conversion *conversion, const struct process *process)
{
    const uint64_t *index = map_get(&conversion->images, process_image_key(process));
    const struct process *image = index ? conversion->processes.items[*index] : NULL;
    return image && is_same_process(&image->file.header, &process->file.header) ? image : NULL;
}

/* Memory of processes is evicted after so many of them. */
#define EVICT_PROCESSES 2048

void conversion_evict(const struct conversion *conversion, size_t passed)
{
    if (passed % EVICT_PROCESSES == EVICT_PROCESSES - 1)
        spill_evict(&conversion->memory);
}

/* --- session.json. If it is missing or not JSON, the trace has no facts about the run --- */

#define SESSION_MAX (16 * 1024 * 1024)
#define SESSION_DEPTH 16       /* of nested values that are copied; deeper ones are left out */
#define SESSION_VALUES 1000000 /* some 80 bytes of memory each */

/* Reads a regular file. O_NONBLOCK and O_NOCTTY: opening a pipe or a terminal must not block or have effects. */
static int read_all(struct buffer *text, const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno != ENOENT)
        warning("cannot read '%s': %m", path);
    if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
        warning("'%s' is not a regular file: the trace has no facts about the run", path);
        close(fd);
        fd = -1;
    }
    ssize_t got = fd < 0 ? -1 : 1;
    while (got > 0 && text->length < SESSION_MAX) {
        char *space = buffer_reserve(text, 4096);
        got = space ? read(fd, space, 4096) : -1;
        buffer_advance(text, got > 0 ? (size_t)got : 0);
    }
    if (fd >= 0)
        close(fd);
    return got < 0 || text->failure ? -1 : 0;
}

/* Whether cJSON's tree of TEXT fits into memory. Counts the separators outside of strings, one for each value. */
static bool is_bounded(const char *text, size_t length)
{
    size_t values = 0;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        if (quoted && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted)
            values += text[i] == ',' || text[i] == '[' || text[i] == '{';
    }
    return values <= SESSION_VALUES;
}

static int64_t number_of(const cJSON *json, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, key);
    if (cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < INT32_MAX)
        return (int64_t)item->valuedouble;
    return -1;
}

void session_note_read(struct session_note *session, const char *directory)
{
    *session = (struct session_note){.rank = -1, .world_size = -1};
    char *path = NULL;
    struct buffer text;
    if (asprintf(&path, "%s/%s", directory, SPOOL_SESSION_FILE) < 0)
        return;
    buffer_init_memory(&text);
    if (read_all(&text, path) == 0) {
        session->json = is_bounded(text.data, text.length) ? cJSON_ParseWithLength(text.data, text.length) : NULL;
        if (!cJSON_IsObject((cJSON *)session->json))
            warning("'%s' is not a JSON object: the trace has no facts about the run", path);
        session->rank = number_of(session->json, "rank");
        session->world_size = number_of(session->json, "world_size");
        session->host = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(session->json, "host"));
    }
    buffer_release(&text);
    free(path);
}

static const cJSON *option_of(const struct session_note *session, const char *name)
{
    const cJSON *options = cJSON_GetObjectItemCaseSensitive(session->json, "options");
    return cJSON_GetObjectItemCaseSensitive(options, name);
}

const char *session_note_text(const struct session_note *session, const char *option)
{
    return cJSON_GetStringValue(option_of(session, option));
}

uint64_t session_note_number(const struct session_note *session, const char *option)
{
    const cJSON *value = option_of(session, option);
    bool fits = cJSON_IsNumber(value) && value->valuedouble > 0 && value->valuedouble < 9e18;
    return fits ? (uint64_t)value->valuedouble : 0;
}

static void put_value(struct json_out *json, const cJSON *value, int depth)
{
    double number = cJSON_IsNumber(value) ? value->valuedouble : 0;
    bool object = cJSON_IsObject(value);
    if (object || cJSON_IsArray(value)) {
        if (object)
            json_begin_object(json);
        else
            json_begin_array(json);
        for (const cJSON *item = depth > 0 ? value->child : NULL; item; item = item->next) {
            if (object)
                json_key_text(json, item->string, strlen(item->string));
            put_value(json, item, depth - 1);
        }
        json_end(json);
    } else if (cJSON_IsString(value)) {
        json_string(json, value->valuestring);
    } else if (cJSON_IsNumber(value) && number > -9e18 && number < 9e18 && (double)(int64_t)number == number) {
        json_i64(json, (int64_t)number);
    } else if (cJSON_IsNumber(value)) {
        json_double(json, number, -1);
    } else if (cJSON_IsBool(value)) {
        json_bool(json, cJSON_IsTrue(value));
    } else {
        json_string(json, NULL);
    }
}

void session_note_put(const struct session_note *session, struct json_out *json)
{
    static const char *const keys[] = {"command", "host", "started", "clock", "options"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(session->json, keys[i]);
        if (!value)
            continue;
        json_key(json, keys[i]);
        put_value(json, value, SESSION_DEPTH);
    }
}
