/*
 * Writes a report to a file, which appears under its name when it is complete, or to standard output through a pager.
 */
#include "cli/page_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "cli/pager.h"
#include "cli/progress.h"
#include "common/text.h"
#include "trace/output.h"

int page_file_check(const char *path, bool other_format)
{
    if (other_format)
        return error("--html writes a page, and --format asks for another format: use one of them");
    if (text_ends_with(path, ".html") || text_ends_with(path, ".htm"))
        return 0;
    /* A trace that stands where the page's name was forgotten is not to be replaced by a page. */
    return error("--html: '%s' does not end in .html (try --html report.html)", path);
}

/* Writes to standard output, or to a pager, which starts when progress is no longer shown. */
static int write_text(struct progress *progress, int (*write)(void *context, struct buffer *out), void *context)
{
    struct pager pager = {.progress = progress};
    struct buffer out;
    buffer_init(&out, pager_drain, &pager);
    int status = write(context, &out);
    int failure = buffer_finish(&out);
    progress_end(progress);
    buffer_release(&out);
    pager_end(&pager);
    return failure ? error("cannot write to standard output: %s", strerror(failure)) : status;
}

int page_file_write(const char *path, const char *traces, int (*write)(void *context, struct buffer *out),
                    void *context)
{
    struct output output;
    struct progress progress;
    uint64_t bytes;
    progress_begin(&progress, "reading %s", traces);
    if (!path)
        return write_text(&progress, write, context);
    end_when_asked(NULL, EXIT_FAILURE, "'%s' was not written", path);
    int opened = output_open(&output, path), status = opened < 0 ? -1 : write(context, &output.buffer);
    progress_end(&progress);
    if (opened < 0)
        return -1;
    if (status < 0) {
        output_discard(&output);
        return status;
    }
    return output_commit(&output, &bytes) < 0 ? -1 : status;
}
