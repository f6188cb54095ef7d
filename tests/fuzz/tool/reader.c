/*
 * The reader of trace files: the input is one, plain or gzip. Converted it is refused by the same reader, or becomes
 * valid JSON, a database, and stacks.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tool/files.h"

#include "analysis/stack_files.h"
#include "common/map.h"
#include "trace/fields_receiver.h"
#include "trace/json/reader.h"
#include "trace/meaning/sources.h"

struct seen {
    const struct interner *strings;
};

static void touch_text(const struct seen *seen, uint32_t text)
{
    FUZZ_HOLDS(text == EVENT_NO_TEXT || text < seen->strings->count);
    if (text != EVENT_NO_TEXT)
        fuzz_touch(interned(seen->strings, text), strlen(interned(seen->strings, text)));
}

static int see_event(void *context, struct event_fields *event)
{
    const struct seen *seen = context;
    const uint32_t texts[] = {event->name,
                              event_kernel(event)->mangled_name,
                              event_range(event)->domain,
                              event_memory(event)->kind,
                              event_memory(event)->fault,
                              event_memory(event)->held_by_kind,
                              event_compilation(event)->function,
                              event_compilation(event)->ending,
                              event->label};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        touch_text(seen, texts[i]);
    FUZZ_HOLDS(event->phase != 'X' || (event->name != EVENT_NO_TEXT && event->duration >= 0));
    FUZZ_HOLDS(event->start == FIELD_ABSENT || event->start - INT64_MAX / 2 <= 0);
    if (event_id_is_text(event->process))
        touch_text(seen, (uint32_t)event_id_value(event->process));
    return 0;
}

static int see_metadata(void *context, const char *key, const struct cJSON *value)
{
    (void)context;
    fuzz_touch(key, strlen(key));
    FUZZ_HOLDS(value != NULL);
    return 0;
}

static void convert_further(const char *path, int result)
{
    struct convert_summary summary;
    struct stack_files_summary stacks;
    FUZZ_HOLDS(convert_file(path, fuzz_path("made.sqlite"), &summary) == result);
    FUZZ_HOLDS(stack_files_convert(path, fuzz_path("made.folded"), &stacks) == result);
    FUZZ_HOLDS(stack_files_convert(path, fuzz_path("made.speedscope.json"), &stacks) == result);
    FUZZ_HOLDS(result != 0 || fuzz_is_json(fuzz_path("made.speedscope.json")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct interner strings = {0};
    struct seen seen = {.strings = &strings};
    const struct fields_receiver receiver = {.context = &seen, .event = see_event, .metadata = see_metadata};
    const char *path = fuzz_file("trace.json", data, size);
    int result = json_read_fields(path, &strings, &receiver, 3);
    interner_release(&strings);
    struct convert_summary summary;
    if (sources_is_pftrace(path))
        return 0;
    FUZZ_HOLDS(convert_file(path, fuzz_path("made.json"), &summary) == result);
    FUZZ_HOLDS(result != 0 || fuzz_is_json(fuzz_path("made.json")));
    FUZZ_HOLDS(convert_file(path, fuzz_path("made.pftrace"), &summary) == result);
    if (size % 16 == 0) /* as a database takes longer than all else */
        convert_further(path, result);
    return 0;
}
