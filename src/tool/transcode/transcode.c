#include "tool/transcode/transcode.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include <zlib.h>

#include "base/log.h"
#include "tool/gzip/peek.h"
#include "tool/pftrace/reader.h"
#include "tool/transcode/sources.h"
#include "tool/write/output.h"
#include "tool/write/writer.h"

enum kind { KIND_JSON, KIND_PFTRACE };

/* By its first bytes, not by its name. Gives -1 after error(). */
static int look(const char *path, enum kind *kind)
{
    char bytes[16];
    struct stat facts;
    bool there = stat(path, &facts) == 0;
    if (there ? !S_ISREG(facts.st_mode) : strcmp(path, "-") == 0)
        return error("cannot convert '%s': it is read twice, so it must be a file, not a pipe or a device", path);
    gzFile file = gzopen(path, "rb");
    if (!file)
        return error("cannot open '%s': %s", path, strerror(errno));
    int size = gzread(file, bytes, sizeof(bytes));
    gzclose(file);
    if (size < 0)
        return error("cannot read '%s': it is damaged, or not a whole gzip file", path);
    if (size == 0)
        return error("'%s' is empty: a trace is needed", path);
    *kind = pftrace_begins(bytes, (size_t)size) ? KIND_PFTRACE : KIND_JSON;
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

int transcode(const char *input, const char *path, bool arrows_on_slices, struct transcode_summary *summary)
{
    enum kind kind = KIND_JSON;
    struct output output;
    struct writer writer;
    if (look(input, &kind) != 0 || output_open(&output, path) != 0)
        return -1;
    writer_init(&writer, writer_format_for(path, arrows_on_slices), &output.sink);
    int result = kind == KIND_PFTRACE ? replay_pftrace(input, &writer) : replay_json(input, &writer);
    writer_release(&writer);
    *summary = (struct transcode_summary){.events = writer.events};
    if (result == 0)
        return output_commit(&output, &summary->bytes);
    output_discard(&output);
    return -1;
}
