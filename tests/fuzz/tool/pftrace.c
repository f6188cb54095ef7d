/*
 * The reader of .pftrace: the input is one, plain or gzip; and what it gives, written as JSON.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tool/files.h"

#include "base/map.h"
#include "tool/pftrace/reader.h"
#include "tool/transcode/transcode.h"

static void touch(const struct pftrace_event *event, const struct interner *strings)
{
    FUZZ_HOLDS(event->name_number == UINT32_MAX || event->name_number < strings->count);
    FUZZ_HOLDS(event->what != PFTRACE_SLICE || event->end >= event->start);
    fuzz_touch(event->name, strlen(event->name));
    fuzz_touch(event->category, strlen(event->category));
    if (event->text)
        fuzz_touch(event->text, event->length + 1);
    for (size_t i = 0; i < event->arg_count; i++) {
        const struct pftrace_arg *arg = &event->args[i];
        fuzz_touch(arg->name, arg->name_length);
        if (arg->kind == PFTRACE_ARG_TEXT || arg->kind == PFTRACE_ARG_JSON)
            fuzz_touch(arg->text, arg->length);
    }
    fuzz_touch(event->arrows, event->arrow_count * sizeof(*event->arrows));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct interner strings = {0};
    struct pftrace_event event;
    struct transcode_summary summary;
    const char *path = fuzz_file("trace.pftrace", data, size);
    struct pftrace_reader *reader = pftrace_open(path, &strings);
    if (reader) {
        while (pftrace_next(reader, &event) > 0)
            touch(&event, &strings);
        pftrace_close(reader);
    }
    interner_release(&strings);
    transcode(fuzz_path("trace.pftrace"), fuzz_path("trace.json"), &summary);
    return 0;
}
