#include "tests/fuzz/tool/convert_all.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tool/files.h"

#include "common/map.h"
#include "trace/meaning/passes/passes.h"
#include "trace/fields_receiver.h"
#include "trace/json/reader.h"

struct seen {
    uint64_t events;
};

static int see_event(void *context, struct event_fields *event)
{
    struct seen *seen = context;
    seen->events += event->phase != 'M' && !strchr("sf", event->phase);
    return 0;
}

static int see_metadata(void *context, const char *key, const struct cJSON *value)
{
    (void)context, (void)key, (void)value;
    return 0;
}

/* Stands in for the files that stacks lie in. */
static int name_stack(void *data, const struct mapping_text *maps, const uint64_t *addresses, size_t count,
                      struct stack_frame *frames)
{
    (void)data;
    fuzz_touch(maps->text, maps->length);
    for (size_t i = 0; i < count; i++)
        frames[i].function = addresses[i] & 1 ? "function" : NULL;
    return 0;
}

void fuzz_convert_all(void)
{
    const struct frame_namer namer = {.name = name_stack};
    const char *trace = fuzz_path("trace");
    const struct convert_options options = {
        .spool_directory = fuzz_directory(), .output = trace, .exit_text = "exit 0", .namer = &namer};
    struct convert_summary summary = {0};
    if (convert_spool(&options, &summary) != 0)
        return; /* there is no file, and the reason was printed */
    FUZZ_HOLDS(fuzz_is_json(trace));
    struct interner strings = {0};
    struct seen seen = {0};
    const struct fields_receiver receiver = {.context = &seen, .event = see_event, .metadata = see_metadata};
    FUZZ_HOLDS(json_read_fields(trace, &strings, &receiver, 0) == 0);
    interner_release(&strings);
    convert_plugins_release(&summary.plugins);
}
