#include "trace/transcode.h"

#include <string.h>
#include <sys/stat.h>

#include "common/log.h"
#include "trace/gzip/source.h"
#include "trace/pftrace/reader.h"
#include "trace/json/replay.h"
#include "trace/pftrace/replay.h"
#include "trace/output.h"
#include "trace/sink.h"

/* Gives 0, or -1 after error(). */
static int check_readable_twice(const char *path)
{
    struct stat facts;
    bool there = stat(path, &facts) == 0;
    if (there ? !S_ISREG(facts.st_mode) : strcmp(path, "-") == 0)
        return error("cannot convert '%s': it is read twice, so it must be a file, not a pipe or a device", path);
    return 0;
}

bool transcode_is_pftrace(const char *path)
{
    char bytes[16];
    size_t at = 0, length = peek(path, bytes, sizeof(bytes));
    while (at < length && strchr(" \n\r\t", bytes[at]) && bytes[at])
        at++;
    bool json = at == length || bytes[at] == '{' || bytes[at] == '['; /* white space may stand before it */
    return !json && pftrace_begins(bytes, length);
}

int transcode(const char *input, const char *path, struct transcode_summary *summary)
{
    struct output output;
    struct writer writer;
    if (check_readable_twice(input) != 0 || output_open(&output, path) != 0)
        return -1;
    writer_init(&writer, writer_format_for(path), &output.buffer);
    int result = transcode_is_pftrace(input) ? replay_pftrace(input, &writer) : replay_json(input, &writer);
    writer_release(&writer);
    *summary = (struct transcode_summary){.events = writer.events};
    if (result == 0)
        return output_commit(&output, &summary->bytes);
    output_discard(&output);
    return -1;
}
