#include "cli/report_readers.h"

#include "cli/event_records.h"
#include "cli/report_pftrace.h"
#include "trace/build/passes.h"
#include "trace/json/reader.h"
#include "trace/spool/spool_directory.h"
#include "symbols/symbols.h"
#include "trace/transcode.h"

static int read_spools(const char *path, struct interner *strings, const struct event_sink *sink)
{
    struct event_feed feed;
    struct symbols *symbols = symbols_new(0); /* NULL: stacks stay addresses */
    struct frame_namer namer = symbols_namer(symbols);
    struct convert_stream stream = {.format = &event_records, .take = event_feed_take, .context = &feed};
    struct convert_options options = {
        .spool_directory = path,
        .stream = &stream,
        .output = path,
        .namer = symbols ? &namer : NULL,
        .workers = sink->workers,
    };
    struct convert_summary summary;
    event_feed_init(&feed, strings, sink);
    int status = convert_spool(&options, &summary);
    if (status == 0)
        convert_plugins_release(&summary.plugins);
    event_feed_release(&feed);
    symbols_free(symbols);
    return status;
}

const struct report_reader report_readers[] = {
    {spool_directory_is, read_spools},
    {transcode_is_pftrace, report_pftrace},
    {NULL, NULL},
};
