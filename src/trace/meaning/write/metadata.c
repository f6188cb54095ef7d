/*
 * The metadata: keys as in Kineto's traces, and all of ours below "gputrace", including how processes ended that did
 * not run their exit handlers. PCI addresses of GPUs come from the text files of NVIDIA's kernel module.
 */
#include "trace/meaning/write/metadata.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>

#include "common/json_out.h"
#include "common/log.h"
#include "trace/meaning/base/stacks.h"
#include "trace/meaning/collectives/collective_calls.h"
#include "trace/meaning/collectives/collectives_write.h"
#include "trace/meaning/collectives/distributed.h"
#include "trace/meaning/host/cpu.h"
#include "trace/meaning/host/plugins.h"
#include "trace/meaning/launches/launches.h"
#include "trace/meaning/memory/pools.h"
#include "trace/meaning/nvtx/nvtx_counters.h"
#include "trace/meaning/nvtx/nvtx_names.h"
#include "trace/meaning/write/missed.h"
#include "trace/spool/cupti.h"

int index_crash_record(struct process *process, const struct event *event)
{
    if (!process_index_span(process, event))
        return 0;
    return ADD(array_push, &process->crash_records, *event) ? 0 : error_no_memory("crashes");
}

static const char *process_state(const struct conversion *conversion, const struct process *process)
{
    const struct spool_header *header = &process->file.header;
    const struct process *image = header->process_started != 0 ? conversion_latest_image(conversion, process) : NULL;
    if (header->state == SPOOL_FINISHED)
        return "finished";
    if (image && image->file.header.started > header->started)
        return "became another program";
    if (process->file.is_written)
        return "still runs";
    return "ended without its exit handlers";
}

static void put_time(const struct conversion *conversion, struct json_out *json, uint64_t time)
{
    json_key(json, "ts");
    json_us(json, (int64_t)(time - conversion->base));
}

static void put_signal(const struct conversion *conversion, const struct process *process, struct json_out *json,
                       const struct event *event)
{
    const struct spool_crash *crash = event->record;
    json_key_object(json, "death");
    json_put_i64(json, "signal", crash->signal);
    json_put_text(json, "words", strsignal(crash->signal));
    json_put_i64(json, "code", crash->code);
    json_put_i64(json, "thread", event->thread);
    int32_t number = crash->signal;
    bool by_kernel = number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE;
    if (crash->code > 0 && by_kernel) /* faults that the kernel raises have an address */
        json_put_hex(json, "address", crash->address);
    if (crash->sender != 0)
        json_put_i64(json, "sender", crash->sender);
    put_time(conversion, json, event->start);
    /* The stack of the thread, and the place that it is known by. */
    const struct recorded_stack *stack = stacks_get(process->stacks, CRASH_STACK);
    if (stack && stack->leaf != 0) {
        json_put_u64(json, "stack", stack->leaf);
        json_put_text(json, "called at", interned(&process->conversion->stacks.places, stack->place));
    }
    json_end(json);
}

static void put_object(const struct process *process, struct json_out *json, const struct event *event)
{
    static const char *const words[] = {
        [SPOOL_CALL_OF_STREAM] = "stream", [SPOOL_CALL_OF_EVENT] = "event", [SPOOL_CALL_OF_CONTEXT] = "context"};
    const struct spool_open_call *call = event->record;
    uint32_t what = call->what;
    if (what == SPOOL_CALL_OF_NOTHING || what >= sizeof(words) / sizeof(*words))
        return;
    json_put_text(json, "waits_for", words[what]);
    const uint64_t *stream = what == SPOOL_CALL_OF_STREAM ? map_get(&process->stream_of_handle, call->object) : NULL;
    if (stream)
        json_put_i64(json, "stream", (int64_t)*stream - 1);
    if (what != SPOOL_CALL_OF_CONTEXT)
        json_put_hex(json, "handle", call->object);
}

static void put_open_call(const struct conversion *conversion, const struct process *process, struct json_out *json,
                          const struct event *event)
{
    const struct spool_open_call *call = event->record;
    const char *function = api_name(EVENT_API_DRIVER, call->cbid);
    json_begin_object(json);
    json_put_i64(json, "thread", event->thread);
    json_put_text(json, "function", function ? function : "a driver call");
    put_time(conversion, json, event->start);
    json_put_i64(json, "correlation", process_correlation(process, event->correlation));
    put_object(process, json, event);
    json_end(json);
}

static void write_crash_records(const struct conversion *conversion, const struct process *process,
                                struct json_out *json)
{
    const struct spool_header *header = &process->file.header;
    const struct event *crash = NULL;
    if (header->state == SPOOL_FINISHED)
        return;
    /* The agent's service thread reads the clocks in every round: the process was alive at the last time. */
    if (header->clock_looked > header->started_monotonic) {
        json_key_object(json, "alive");
        put_time(conversion, json, header->started + (header->clock_looked - header->started_monotonic));
        json_end(json);
    }
    json_key_array(json, "open_calls");
    for (size_t i = 0; i < process->crash_records.count; i++) {
        const struct event *event = &process->crash_records.items[i];
        const struct launch *launch = event->correlation ? launches_get(process->launches, event->correlation) : NULL;
        /* CUPTI records a call when it returns: such a call is not open, even if the agent could not record its end. */
        bool returned = launch && launch->from != LAUNCH_UNKNOWN;
        if (event->type == EVENT_CRASH)
            crash = event;
        else if (!returned)
            put_open_call(conversion, process, json, event);
    }
    json_end(json);
    if (crash)
        put_signal(conversion, process, json, crash);
}

static bool is_gpu(const char *folder, const char *name, const char *uuid)
{
    char path[512], line[256], found[64];
    bool is_known = false;
    int length = snprintf(path, sizeof(path), "%s/%s/information", folder, name);
    FILE *information = length > 0 && (size_t)length < sizeof(path) ? fopen(path, "re") : NULL;
    if (!information)
        return false;
    while (!is_known && fgets(line, sizeof(line), information))
        is_known = sscanf(line, "GPU UUID: %63s", found) == 1;
    fclose(information);
    return is_known && strcmp(found, uuid) == 0;
}

bool pci_address_find(const char *folder, const char *uuid, char address[PCI_ADDRESS_BYTES])
{
    const struct dirent *entry;
    bool found = false;
    DIR *gpus = opendir(folder);
    if (!gpus)
        return false;
    while (!found && (entry = readdir(gpus))) {
        size_t length = strlen(entry->d_name);
        found = entry->d_name[0] != '.' && length < PCI_ADDRESS_BYTES && is_gpu(folder, entry->d_name, uuid);
        if (found)
            memcpy(address, entry->d_name, length + 1);
    }
    closedir(gpus);
    return found;
}

#define SCHEMA_VERSION 1

/* Writes the UUID as nvidia-smi shows it, and the address on the PCI bus, if this machine has the GPU. */
static void put_uuid(struct json_out *json, const uint8_t uuid[16])
{
    static const uint8_t unknown[16];
    char address[PCI_ADDRESS_BYTES], text[64], *at = text + sprintf(text, "GPU-");
    if (memcmp(uuid, unknown, sizeof(unknown)) == 0)
        return;
    for (int i = 0; i < 16; i++)
        at += sprintf(at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
    json_put_text(json, "uuid", text);
    if (pci_address_find(PCI_ADDRESS_FOLDER, text, address))
        json_put_text(json, "pciBusId", address);
}

static void put_device(const struct conversion *conversion, const struct process *process, const struct device *device,
                       struct json_out *json)
{
    uint32_t number = pointer_names_find(&process->symbols, device->name, UINT64_MAX);
    const struct name *name = number == NAMES_NO_MEMORY ? NULL : names_get(&conversion->names, number);
    uint64_t threads = (uint64_t)device->max_warps_per_multiprocessor * device->warp_size;
    json_begin_object(json);
    json_put_u64(json, "id", device->id);
    json_put_text_n(json, "name", name ? name->text : "", name ? name->length : 0);
    put_uuid(json, device->uuid);
    json_put_u64(json, "totalGlobalMem", device->memory_bytes);
    json_put_u64(json, "computeMajor", device->major);
    json_put_u64(json, "computeMinor", device->minor);
    json_put_u64(json, "maxThreadsPerBlock", device->max_threads_per_block);
    json_put_u64(json, "maxThreadsPerMultiprocessor", threads);
    json_put_u64(json, "regsPerBlock", device->registers_per_block);
    json_put_u64(json, "warpSize", device->warp_size);
    json_put_u64(json, "sharedMemPerBlock", device->shared_per_block);
    json_put_u64(json, "numSms", device->multiprocessors);
    json_put_u64(json, "regsPerMultiprocessor", device->registers_per_multiprocessor);
    json_put_u64(json, "sharedMemPerMultiprocessor", device->shared_per_multiprocessor);
    json_end(json);
}

static bool reported_before(const struct conversion *conversion, size_t process, const struct device *device)
{
    for (size_t i = 0; i < process; i++) {
        const struct device *known = process_device_info(conversion_process(conversion, i), device->id);
        if (known && memcmp(known->uuid, device->uuid, sizeof(known->uuid)) == 0)
            return true;
    }
    return false;
}

static void put_losses(const struct convert_losses *losses, struct json_out *json)
{
    json_key_object(json, "losses");
#define LOSS(field, one, several) json_put_u64(json, #field, losses->field);
    CONVERT_LOSSES(LOSS)
#undef LOSS
    json_end(json);
}

static void put_process(const struct conversion *conversion, const struct process *process, struct json_out *json)
{
    const struct spool_header *header = &process->file.header;
    json_begin_object(json);
    json_put_u64(json, "pid", process->pid);
    if (process->pid != header->pid)
        json_put_u64(json, "system_pid", header->pid);
    json_put_u64(json, "parent_pid", header->parent_pid);
    if (header->rank != 0)
        json_put_u64(json, "rank", header->rank - 1);
    if (header->local_rank != 0)
        json_put_u64(json, "local_rank", header->local_rank - 1);
    if (header->world_size != 0)
        json_put_u64(json, "world_size", header->world_size);
    if (header->node_rank != 0)
        json_put_u64(json, "node_rank", header->node_rank - 1);
    struct buffer text;
    buffer_init_memory(&text);
    distributed_put_process(&text, process);
    if (text.length > 0 && !text.failure) {
        json_key(json, "distributedInfo");
        json_raw(json, text.data, text.length);
    }
    buffer_release(&text);
    if (conversion->session->host)
        json_put_text(json, "host", conversion->session->host);
    json_put_text(json, "program", header->program);
    json_put_text(json, "command", header->command);
    json_put_text(json, "state", process_state(conversion, process));
    write_crash_records(conversion, process, json);
    json_put_u64(json, "started", header->started);
    json_put_u64(json, "finished", header->finished);
    json_put_u64(json, "cupti_version", header->cupti_version);
    json_put_u64(json, "correlation_offset", process->launches->offset);
    json_key_object(json, "gpu_pids");
    for (size_t i = 0; i < process->gpus.count; i++) {
        char device[16];
        snprintf(device, sizeof(device), "%u", process->gpus.items[i].device);
        json_put_u64(json, device, process->gpus.items[i].pid);
    }
    json_end(json);
    put_pools(process->pools, json);
    put_losses(&process->losses, json);
    json_end(json);
}

/* Bounds on the JSON of processes, since readers hold the metadata in memory. Plain processes, without GPUs, losses and
 * crashes, are left out first; their rows still have names. */
#define PLAIN_BYTES_MAX ((size_t)3 << 20)
#define PROCESSES_BYTES_MAX ((size_t)6 << 20)

static void write_processes(const struct conversion *conversion, struct json_out *json)
{
    static const struct convert_losses no_losses;
    size_t before = json->buffer->length, left_out = 0;
    json_key_array(json, "processes");
    for (size_t i = 0; i < conversion->processes.count; i++) {
        const struct process *process = conversion_process(conversion, i);
        if (cpu_row_is_named(conversion, process, NULL))
            continue;
        bool is_plain = process->file.header.state == SPOOL_FINISHED && process->gpus.count == 0 &&
                        process->crash_records.count == 0 &&
                        memcmp(&process->losses, &no_losses, sizeof(no_losses)) == 0;
        if (json->buffer->length - before < (is_plain ? PLAIN_BYTES_MAX : PROCESSES_BYTES_MAX))
            put_process(conversion, process, json);
        else
            left_out++;
    }
    json_end(json);
    if (left_out > 0)
        json_put_u64(json, "processes_left_out", left_out);
}

/* State for writing the notes of all processes. A warning is printed as well, unless the agent printed it. */
struct noting {
    struct json_out *json;
    struct interner warned; /* texts of all notes: each is printed once */
};

static void add_note(struct noting *noting, const struct process *process, const char *text, size_t length, bool warned)
{
    json_begin_object(noting->json);
    json_put_u64(noting->json, "pid", process->pid);
    json_put_text_n(noting->json, "text", text, length);
    json_end(noting->json);
    size_t known = noting->warned.count;
    uint32_t number = intern(&noting->warned, text, length);
    if (number != INTERN_NO_MEMORY && noting->warned.count > known && !warned)
        warning("%s", interned(&noting->warned, number));
}

/* The library for MPI marks calls that it does not record: adds a note about them. */
static void put_unrecorded(struct process *process, const struct event *event)
{
    static const char start[] = "not recorded: ";
    char text[COLLECTIVES_NOTE];
    struct nvtx_text message = nvtx_message(process->nvtx, event);
    size_t before = strlen(start);
    if (collective_domain_named(nvtx_domain_name(process->nvtx, event->nvtx.domain)) != COLLECTIVE_MPI ||
        !message.text || message.length <= before || memcmp(message.text, start, before) != 0)
        return;
    int length = snprintf(text, sizeof(text), "--mpi: calls of %.*s are not recorded", (int)(message.length - before),
                          message.text + before);
    if (length > 0 && (size_t)length < sizeof(text))
        add_note(process->conversion->noting, process, text, (size_t)length, false);
}

static int put_note(struct process *process, const struct event *event)
{
    const struct spool_note *note = event->record;
    if (event->type == EVENT_NVTX && event->nvtx.what == SPOOL_NVTX_MARK)
        put_unrecorded(process, event);
    if (event->type == EVENT_NOTE && note->head.flags != SPOOL_NOTE_VERBOSE)
        add_note(process->conversion->noting, process, event->text, event->text_length,
                 note->head.flags == SPOOL_NOTE_WARNED);
    return 0;
}

static void put_notes(struct conversion *conversion, struct json_out *json)
{
    struct noting noting = {.json = json};
    conversion->noting = &noting;
    json_key_array(json, "notes");
    for (size_t i = 0; i < conversion->processes.count; i++) {
        struct process *process = conversion_process(conversion, i);
        char about_nccl[COLLECTIVES_NOTE];
        process_walk_agent_records(process, put_note, NULL);
        if (collectives_note(process, about_nccl))
            add_note(&noting, process, about_nccl, strlen(about_nccl), false);
    }
    json_end(json);
    conversion->noting = NULL;
    interner_release(&noting.warned);
}

static void put_gputrace(struct conversion *conversion, struct json_out *json)
{
    json_begin_object(json);
    json_put_text(json, "version", GPUTRACE_VERSION);
    session_note_put(conversion->session, json);
    if (conversion->options->exit_text)
        json_put_text(json, "exit", conversion->options->exit_text);
    put_losses(&conversion->losses, json);
    write_missed(conversion, json);
    put_notes(conversion, json);
    put_plugins(&conversion->plugins, json);
    write_nvtx_resources(conversion, json);
    put_nvtx_counters(conversion, json);
    /* {readable name: symbol}, once for each kernel instead of an argument of each launch. If several symbols have one
     * readable name, the first is written. */
    const struct names *names = &conversion->names;
    struct map written = {0};
    json_key_object(json, "symbols");
    for (uint32_t i = 0; i < names->demangled.count; i++) {
        const struct name *readable = &names->items.items[names->demangled.items[i]];
        const struct interned *symbol = interner_at(&names->mangled, i);
        bool same = readable->length == symbol->length && memcmp(readable->text, symbol->text, symbol->length) == 0;
        bool is_new = false;
        if (same || !map_put(&written, names->demangled.items[i], &is_new) || !is_new)
            continue;
        json_key_text(json, readable->text, readable->length);
        json_string_n(json, symbol->text, symbol->length);
    }
    json_end(json);
    map_release(&written);
    write_processes(conversion, json);
    json_end(json);
}

/* A value that is composed in memory and then passed to the format, unless it is empty. */
struct value {
    struct buffer buffer;
    struct json_out json;
};

static struct json_out *value_begin(struct value *value)
{
    buffer_init_memory(&value->buffer);
    json_out_init(&value->json, &value->buffer, false);
    return &value->json;
}

static int value_end(struct value *value, struct conversion *conversion, const char *key)
{
    int failure = buffer_finish(&value->buffer);
    if (failure == 0 && value->buffer.length > 0)
        conversion->sink.format->metadata(&conversion->sink, key, value->buffer.data, value->buffer.length);
    buffer_release(&value->buffer);
    return failure == 0 ? 0 : error_no_memory("the trace's metadata");
}

static void write_number(struct conversion *conversion, const char *key, int64_t number)
{
    char text[NUMBER_SPACE];
    size_t length = (size_t)(number_i64(text, number) - text);
    conversion->sink.format->metadata(&conversion->sink, key, text, length);
}

int write_metadata(struct conversion *conversion)
{
    static const char unit[] = "\"ms\"";
    const struct spool_header *header = NULL;
    struct value value;
    write_number(conversion, "schemaVersion", SCHEMA_VERSION);
    struct json_out *json = value_begin(&value);
    json_begin_array(json);
    for (size_t i = 0; i < conversion->processes.count; i++) {
        const struct process *process = conversion_process(conversion, i);
        if (!header && process->file.header.cupti_version != 0)
            header = &process->file.header;
        for (size_t k = 0; k < process->devices.count; k++)
            if (!reported_before(conversion, i, &process->devices.items[k]))
                put_device(conversion, process, &process->devices.items[k], json);
    }
    json_end(json);
    if (value_end(&value, conversion, "deviceProperties") != 0)
        return -1;
    if (header) {
        write_number(conversion, "cupti_version", header->cupti_version);
        /* 0: unknown, as for a runtime that is linked statically. The key is written anyway: readers expect it. */
        write_number(conversion, "cuda_runtime_version", header->runtime_version);
        if (header->driver_version != 0)
            write_number(conversion, "cuda_driver_version", header->driver_version);
    }
    value_begin(&value);
    distributed_put(&value.buffer, conversion);
    if (value_end(&value, conversion, "distributedInfo") != 0)
        return -1;
    conversion->sink.format->metadata(&conversion->sink, "displayTimeUnit", unit, sizeof(unit) - 1);
    write_number(conversion, "baseTimeNanoseconds", (int64_t)conversion->base);
    json_string(value_begin(&value), conversion->options->output);
    if (value_end(&value, conversion, "traceName") != 0)
        return -1;
    write_stacks(conversion);
    put_gputrace(conversion, value_begin(&value));
    return value_end(&value, conversion, "gputrace");
}
