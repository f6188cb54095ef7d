/*
 * The reader of .pftrace: the input is one, plain or gzip; what it gives, written as JSON; and a report on it, whose
 * threads read what the one alone reads. The same again once the input's sections are compressed, whose checksums would
 * hide from the fuzzer what is in them.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tool/files.h"
#include "tests/trace/pftrace/pftrace_file.h"

#include "common/map.h"
#include "common/buffer.h"
#include "trace/gzip/gzip.h"
#include "trace/pftrace/packets.h"
#include "trace/pftrace/reader.h"
#include "trace/fields_receiver.h"
#include "trace/meaning/sources.h"

static void touch_args(const struct arg *args, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        FUZZ_HOLDS(args[i].key < ARG_KEY_COUNT);
        if (args[i].key == ARG_OTHER)
            fuzz_touch(args[i].other, args[i].other_length);
        if (args[i].type == ARG_TYPE_TEXT || args[i].type == ARG_TYPE_RAW)
            fuzz_touch(args[i].text, args[i].length);
    }
}

static void touch(const struct pftrace_event *event)
{
    FUZZ_HOLDS(event->what != PFTRACE_SLICE || event->end >= event->start);
    fuzz_touch(event->name, event->name_length + 1);
    FUZZ_HOLDS(event->category < CATEGORY_COUNT);
    if (event->category == CATEGORY_OTHER)
        fuzz_touch(event->other_category, strlen(event->other_category));
    if (event->text)
        fuzz_touch(event->text, event->length + 1);
    touch_args(event->args, event->arg_count);
    if (event->shared)
        touch_args(event->shared->args.items, event->shared->args.count);
    fuzz_touch(event->flows, event->flow_count * sizeof(*event->flows));
}

/* Sums that differ if two readings differ. */
struct sums {
    uint64_t events, metadata, starts;
};

static int take_event(void *context, struct event_fields *event)
{
    struct sums *sums = context;
    sums->events++;
    sums->starts = sums->starts * 31 + (uint64_t)event->start + event->name;
    return 0;
}

static int take_metadata(void *context, const char *key, const struct cJSON *value)
{
    struct sums *sums = context;
    sums->metadata += strlen(key) + (value != NULL);
    return 0;
}

static struct sums report(const char *path, unsigned workers, int *status)
{
    struct sums sums = {0};
    struct interner strings = {0};
    struct fields_receiver receiver = {.context = &sums, .event = take_event, .metadata = take_metadata};
    struct sink *sink = fields_sink_new(&strings, &receiver);
    *status = sink ? pftrace_read(path, sink, workers) : -1;
    fields_sink_free(sink);
    interner_release(&strings);
    return sums;
}

static void report_twice(const char *path)
{
    int alone_status, status;
    struct sums alone = report(path, 1, &alone_status), several = report(path, 3, &status);
    FUZZ_HOLDS(status == alone_status);
    FUZZ_HOLDS(status != 0 || memcmp(&alone, &several, sizeof(alone)) == 0);
}

static void read_all(const void *data, size_t size)
{
    struct interner strings = {0};
    const struct pftrace_event *event;
    const char *path = fuzz_file("trace.pftrace", data, size);
    struct pftrace_file file;
    if (pftrace_file_open(&file, path, &strings))
        while (pftrace_file_next(&file, &event) > 0)
            touch(event);
    pftrace_file_close(&file);
    interner_release(&strings);
    report_twice(fuzz_path("trace.pftrace"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct gzip *gzip;
    struct convert_summary summary;
    struct buffer compressed;
    size_t done;
    read_all(data, size);
    if (convert_file(fuzz_path("trace.pftrace"), fuzz_path("trace.json"), &summary) == 0)
        FUZZ_HOLDS(fuzz_is_json(fuzz_path("trace.json")));
    gzip = gzip ? gzip : gzip_new(GZIP_STREAMS);
    buffer_init_memory(&compressed);
    FUZZ_HOLDS(pftrace_compress(gzip, &compressed, (const char *)data, size, true, &done) == 0 && done == size);
    read_all(compressed.data, compressed.length);
    buffer_release(&compressed);
    return 0;
}
